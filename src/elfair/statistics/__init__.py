"""From the leaves of an expression to rows that are affine in the policy."""

from elfair.statistics.baselines import Baselines
from elfair.statistics.compiled import Part, compile_form, logged_average, mean_part
from elfair.statistics.impact_estimators import Estimation
from elfair.statistics.impacts import Impact, asks_for_cost, impact_of, is_decided
from elfair.statistics.rows import Rows
