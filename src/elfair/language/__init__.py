"""The language of constraints: text or Python -> tree -> linear statements about averages.

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
    PR,
    TNR,
    TPR,
    E,
    E_logged,
    P,
    accuracy,
    col,
    decision,
    label,
    maximum,
    minimum,
    mse,
)
from elfair.language.conditions import (
    And,
    Column,
    Compare,
    Condition,
    Decision,
    Label,
    Literal,
    Member,
    Not,
    Operand,
    Or,
    Positive,
)
from elfair.language.conjunction import Conjunct, Linear, conjuncts
from elfair.language.disjoint import are_disjoint
from elfair.language.evaluation import Table, holds
from elfair.language.expressions import (
    Abs,
    All,
    AtMost,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Scaled,
    Statement,
    Sum,
)
from elfair.language.names import columns_used, impacts_used, uses_decision, uses_label
from elfair.language.parsing import parse
from elfair.language.rates import SquaredError
from elfair.language.tree import Node, Span, point_at

__all__ = [
    "FNR",
    "FPR",
    "PR",
    "TNR",
    "TPR",
    "Abs",
    "All",
    "And",
    "AtMost",
    "Column",
    "Compare",
    "Condition",
    "Conjunct",
    "Decision",
    "E",
    "E_logged",
    "Expression",
    "Label",
    "Linear",
    "Literal",
    "Max",
    "Mean",
    "Member",
    "Min",
    "Node",
    "Not",
    "Number",
    "Operand",
    "Or",
    "P",
    "Positive",
    "Scaled",
    "Span",
    "SquaredError",
    "Statement",
    "Sum",
    "Table",
    "accuracy",
    "are_disjoint",
    "col",
    "columns_used",
    "conjuncts",
    "decision",
    "holds",
    "impacts_used",
    "label",
    "maximum",
    "minimum",
    "mse",
    "parse",
    "point_at",
    "uses_decision",
    "uses_label",
]
