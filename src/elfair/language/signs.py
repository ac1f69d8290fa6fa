"""Which expressions can be told not to be negative, whatever the data are."""

from __future__ import annotations

from elfair.language.conditions import Column, Decision
from elfair.language.derived import LowerTail
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
    Sum,
)


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
