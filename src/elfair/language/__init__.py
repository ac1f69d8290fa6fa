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
    who,
)
from elfair.language.conjunction import Conjunct, Linear, conjuncts, linear_form
from elfair.language.derived import Deficit, Derived, LowerTail, Squared, Threshold
from elfair.language.disjoint import are_disjoint
from elfair.language.distribution import ConditionalValueAtRisk, Quantile, Variance
from elfair.language.evaluation import Table, holds
from elfair.language.expressions import (
    Abs,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Product,
    Quotient,
    Scaled,
    Statistic,
    Sum,
)
from elfair.language.names import columns_used, impacts_used, uses_decision, uses_label
from elfair.language.parsing import parse, parse_expression
from elfair.language.rates import SquaredError
from elfair.language.signs import sign_of
from elfair.language.statements import All, AnyOf, AtMost, Statement
from elfair.language.substitution import substitute
from elfair.language.tree import Node, Span, find, point_at

__all__ = [
    "EVERYONE",
    "FNR",
    "FPR",
    "IQR",
    "PR",
    "TNR",
    "TPR",
    "Abs",
    "All",
    "And",
    "AnyOf",
    "AtMost",
    "CVaR",
    "Column",
    "Compare",
    "Condition",
    "ConditionalValueAtRisk",
    "Conjunct",
    "Decision",
    "Deficit",
    "Derived",
    "E",
    "E_logged",
    "Expression",
    "Label",
    "Linear",
    "Literal",
    "LowerTail",
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
    "Product",
    "Quantile",
    "Quotient",
    "Scaled",
    "Span",
    "Squared",
    "SquaredError",
    "Statement",
    "Statistic",
    "Sum",
    "Table",
    "Threshold",
    "Variance",
    "accuracy",
    "are_disjoint",
    "col",
    "columns_used",
    "conjuncts",
    "decision",
    "find",
    "holds",
    "impacts_used",
    "label",
    "linear_form",
    "maximum",
    "median",
    "minimum",
    "mse",
    "parse",
    "parse_expression",
    "point_at",
    "quantile",
    "sign_of",
    "substitute",
    "uses_decision",
    "uses_label",
    "var",
    "who",
]
