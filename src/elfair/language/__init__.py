"""The language of constraints: text or Python -> tree -> one-sided statements about averages.

Examples
--------
>>> from elfair.language import conjuncts
>>> [each.text for each in conjuncts("E[impact | race == 'Black'] >= 0 and accuracy >= 0.75")]
["E[impact | race == 'Black'] >= 0", 'accuracy >= 0.75']
"""

from __future__ import annotations

from elfair.language.build import (
    FNR,
    FPR,
    IQR,
    PR,
    TNR,
    TPR,
    CVaR,
    E,
    E_logged,
    P,
    accuracy,
    col,
    decision,
    label,
    maximum,
    median,
    minimum,
    mse,
    quantile,
    var,
)
from elfair.language.conditions import (
    EVERYONE,
    Column,
    Compare,
    Condition,
    Decision,
    Label,
    Literal,
    Member,
    Operand,
    SquaredError,
    who,
)
from elfair.language.conjunction import Conjunct, Linear, conjuncts, linear_form
from elfair.language.distribution import (
    ConditionalValueAtRisk,
    Deficit,
    Derived,
    LowerTail,
    Quantile,
    Squared,
    Threshold,
)
from elfair.language.evaluation import holds
from elfair.language.expressions import (
    Abs,
    AtMost,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Product,
    Quotient,
    Scaled,
    Statement,
    Statistic,
    Sum,
)
from elfair.language.parsing import parse, parse_expression
from elfair.language.tree import find, point_at
from elfair.language.walks import (
    are_disjoint,
    columns_used,
    impacts_used,
    substitute,
    uses_decision,
    uses_label,
)
