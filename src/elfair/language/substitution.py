"""An expression with some of its parts replaced."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

from elfair.language import build
from elfair.language.expressions import (
    Abs,
    Expression,
    Max,
    Min,
    Product,
    Quotient,
    Scaled,
    Sum,
)


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
