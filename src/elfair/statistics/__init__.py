"""Leaves of an expression, compiled to rows that are affine in the policy."""

from elfair.statistics.baseline import Baselines, Estimation, Estimator
from elfair.statistics.compiled import (
    Part,
    asks_for_cost,
    compile_conjunct,
    impact_name,
    logged_average,
    require_rows,
)
from elfair.statistics.rows import Rows

__all__ = [
    "Baselines",
    "Estimation",
    "Estimator",
    "Part",
    "Rows",
    "asks_for_cost",
    "compile_conjunct",
    "impact_name",
    "logged_average",
    "require_rows",
]
