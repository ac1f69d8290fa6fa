"""What a condition, expression or statement refers to.

An expression with some of its parts replaced.

Which expressions can be told not to be negative, whatever the data are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

from elfair.language import build
from elfair.language.conditions import Column, Condition, Decision, Label
from elfair.language.derived import Derived, LowerTail
from elfair.language.distribution import Variance
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
from elfair.language.tree import Node, children, walk


def uses_label(node: Node) -> bool:
    """Whether the true class is needed.

    Examples
    --------
    >>> from elfair.language import PR, TPR
    >>> uses_label(TPR()), uses_label(PR())
    (True, False)
    """
    return any(isinstance(each, Label) for each in walk(node))


def uses_decision(node: Node) -> bool:
    """Whether an event of the decision is in it.

    Examples
    --------
    >>> from elfair.language import E, PR
    >>> uses_decision(PR()), uses_decision(E("impact"))
    (True, False)
    """
    return any(isinstance(each, Decision) for each in walk(node))


def columns_used(node: Node) -> set[str]:
    """The columns that conditions and events compare.

    Examples
    --------
    >>> from elfair.language import E, col
    >>> columns_used(E("impact", given=col("race") == "A"))
    {'race'}
    """
    conditions = (each for each in walk(node) if isinstance(each, Condition))
    operands = (operand for condition in conditions for operand in children(condition))
    return {operand.name for operand in operands if isinstance(operand, Column)}


def impacts_used(node: Node) -> set[str]:
    """The impacts that are averaged.

    Examples
    --------
    >>> from elfair.language import E, col
    >>> impacts_used(E("impact", given=col("race") == "A"))
    {'impact'}
    """
    of = (each.of for each in walk(node) if isinstance(each, Mean | Statistic))
    named = (each.impact if isinstance(each, Derived) else each for each in of)
    return {each.name for each in named if isinstance(each, Column)}


def substitute(node: Expression, replaced: Mapping[Expression, Expression]) -> Expression:
    """The expression with parts replaced, as tidy as if it had been written that way.

    Examples
    --------
    >>> from elfair.language import E, Number, median
    >>> print(substitute(E("gain") - 2 * median("gain"), {median("gain"): Number(1.5)}))
    E[gain] - 3
    """
    if node in replaced:
        return replaced[node]

    def of(part: Expression) -> Expression:
        return substitute(part, replaced)

    match node:
        case Sum(parts):
            return reduce(add, map(of, parts))
        case Scaled(factor, part):
            return factor * of(part)
        case Product(left, right):
            return of(left) * of(right)
        case Quotient(top, bottom):
            return of(top) / of(bottom)
        case Max(parts):
            return build.maximum(*map(of, parts))
        case Min(parts):
            return build.minimum(*map(of, parts))
        case Abs(part):
            return abs(of(part))
    return node


def sign_of(node: Expression) -> int:
    """1 if the expression is never negative, -1 if it is never positive, 0 if neither is certain.

    Examples
    --------
    >>> from elfair.language import PR, E
    >>> sign_of(PR()), sign_of(-2 * PR()), sign_of(E("impact")), sign_of(abs(E("impact")))
    (1, -1, 0, 1)
    """
    match node:
        case Number(value):
            return 1 if value >= 0 else -1
        case Mean(of):  # probabilities, deficits and squares are not negative
            return 0 if isinstance(of, Column | Decision | LowerTail) else 1
        case Variance() | Abs():
            return 1
        case Scaled(factor, part):
            return sign_of(part) if factor >= 0 else -sign_of(part)
        case Product(left, right) if left == right:
            return 1
        case Product(left, right) | Quotient(left, right):
            return sign_of(left) * sign_of(right)
        case Sum(parts):
            signs = {sign_of(part) for part in parts}
            return signs.pop() if len(signs) == 1 else 0
        case Max(parts) | Min(parts):
            one = 1 if isinstance(node, Max) else -1
            every = [sign_of(part) for part in parts]
            if one in every:
                return one
            return -one if all(sign == -one for sign in every) else 0
    return 0
