"""What a tree alone can tell, without any data.

What it refers to; whether an expression is never negative; whether two conditions exclude each
other. And an expression with some of its parts replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add

import numpy as np

from elfair.language import build
from elfair.language.conditions import (
    MIRRORED,
    OPERATORS,
    OPPOSITE,
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
from elfair.language.distribution import Derived, LowerTail, Variance
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
    """Whether it refers to the label.

    Examples
    --------
    >>> from elfair.language import PR, TPR
    >>> uses_label(TPR()), uses_label(PR())
    (True, False)
    """
    return any(isinstance(each, Label) for each in walk(node))


def uses_decision(node: Node) -> bool:
    """Whether it refers to the decision.

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
    """The impacts that it averages.

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
    """The expression with parts replaced, simplified as if it had been written that way.

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
    """1 if the expression is never negative, -1 if it is never positive, 0 if that is not certain.

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


def are_disjoint(first: Condition | None, second: Condition | None) -> bool:
    """Whether no row of any data can meet both conditions.

    True is certain; False means "not certain". Everyone meets None.

    Examples
    --------
    >>> from elfair.language import col
    >>> are_disjoint(col("race") == "A", col("race") == "B")
    True
    >>> are_disjoint((col("age") < 30) & (col("sex") == 1), col("age") >= 30)
    True
    >>> are_disjoint(col("race") == "A", col("sex") == 1)
    False
    """
    if first is None or second is None:
        return False
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Or):
            return all(are_disjoint(part, other) for part in one.parts)
    if isinstance(first, And) or isinstance(second, And):
        # The parts of either side may decide: an `or` inside the other side needs all of it.
        return any(
            are_disjoint(part, other)
            for one, other in ((first, second), (second, first))
            if isinstance(one, And)
            for part in one.parts
        )
    left, right = _atom(first), _atom(second)
    if left is None or right is None or left[0] != right[0]:
        return False
    return _exclude(left[1:], right[1:]) or _exclude(right[1:], left[1:])


_Atom = tuple[Operand, str, tuple[Operand, ...]]


def _atom(condition: Condition) -> _Atom | None:
    """A comparison of one operand with constants: operand, sign, constants (== any of them)."""
    if isinstance(condition, Not):
        inner = _atom(condition.part)
        if inner is None:
            return None
        operand, sign, values = inner
        return operand, OPPOSITE[sign], values
    if isinstance(condition, Member):
        return condition.left, "==", tuple(condition.values)
    if isinstance(condition, Compare):
        if isinstance(condition.right, Literal | Positive):
            return condition.left, condition.op, (condition.right,)
        if isinstance(condition.left, Literal | Positive):
            return condition.right, MIRRORED[condition.op], (condition.left,)
    return None


def _exclude(one: tuple[str, tuple[Operand, ...]], other: tuple[str, tuple[Operand, ...]]) -> bool:
    """Whether every value that meets the first comparison fails the second."""
    (sign, values), (test, constants) = one, other
    if sign == "==":
        return not any(_meets(value, test, constants) for value in values)
    # Two half-lines that point away from each other.
    if sign in ("<", "<=") and test in (">", ">="):
        high, low = values[0], constants[0]
        if not _numbers((high, low)) or _is_huge(high) or _is_huge(low):
            return False
        if sign == "<=" and test == ">=":
            return _orders(high, "<", low) and not _alike(high, low)
        return _orders(high, "<=", low)
    return False


def _meets(value: Operand, test: str, constants: tuple[Operand, ...]) -> bool:
    """Whether a column can hold something that equals the value and meets the test."""
    if any(isinstance(c, Positive) != isinstance(value, Positive) for c in constants):
        return True  # the positive class can be any value
    if any(map(_is_huge, (value, *constants))):
        return True
    if test == "!=":
        return value not in constants
    if test == "==":
        return any(_alike(value, constant) for constant in constants)
    if not _numbers((value, *constants)):
        return True
    return _orders(value, test, constants[0]) or ("=" in test and _alike(value, constants[0]))


def _alike(first: Operand, second: Operand) -> bool:
    """Whether some column cannot tell the two apart: 32-bit columns round what they compare."""
    if _numbers((first, second)):
        return bool(np.float32(_number(first)) == np.float32(_number(second)))
    return first == second


def _is_huge(operand: Operand) -> bool:
    """Whether integers and 64-bit floats disagree about what equals it."""
    return _numbers((operand,)) and abs(_number(operand)) >= 2**53


def _orders(first: Operand, sign: str, second: Operand) -> bool:
    return bool(OPERATORS[sign](_number(first), _number(second)))


def _number(operand: Operand) -> float:
    assert isinstance(operand, Literal)
    assert not isinstance(operand.value, str)
    return operand.value


def _numbers(operands: Iterable[Operand]) -> bool:
    return all(isinstance(o, Literal) and not isinstance(o.value, str) for o in operands)
