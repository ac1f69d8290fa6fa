"""Whether two conditions exclude each other whatever the data are."""

from __future__ import annotations

from collections.abc import Iterable
from operator import ge, gt, le, lt

import numpy as np

from elfair.language.conditions import (
    And,
    Compare,
    Condition,
    Literal,
    Member,
    Not,
    Operand,
    Or,
    Positive,
)

_ORDERS = {"<": lt, "<=": le, ">": gt, ">=": ge}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def are_disjoint(first: Condition | None, second: Condition | None) -> bool:
    """Whether no row, of these data or of others, can meet both conditions.

    Read off the conditions alone, so that True is certain; False means "not for certain". None is
    the condition that everyone meets.

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
        # Either side may be the one whose parts decide: an `or` inside the other needs all of it.
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
    """A comparison of one operand with constants: operand, sign, constants ("==": any of them)."""
    if isinstance(condition, Not):
        inner = _atom(condition.part)
        if inner is None:
            return None
        operand, sign, values = inner
        return operand, _OPPOSITE[sign], values
    if isinstance(condition, Member):
        return condition.left, "==", tuple(condition.values)
    if isinstance(condition, Compare):
        if isinstance(condition.right, Literal | Positive):
            return condition.left, condition.op, (condition.right,)
        if isinstance(condition.left, Literal | Positive):
            return condition.right, _MIRRORED[condition.op], (condition.left,)
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
        return True  # the positive class is some value: it can be any
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
    """Whether some column cannot tell the two apart: one of 32-bit numbers rounds what it meets."""
    if _numbers((first, second)):
        return bool(np.float32(_number(first)) == np.float32(_number(second)))
    return first == second


def _is_huge(operand: Operand) -> bool:
    """Whether whole numbers and 64-bit floating-point ones disagree about what equals it."""
    return _numbers((operand,)) and abs(_number(operand)) >= 2**53


def _orders(first: Operand, sign: str, second: Operand) -> bool:
    return bool(_ORDERS[sign](_number(first), _number(second)))


def _number(operand: Operand) -> float:
    assert isinstance(operand, Literal)
    assert not isinstance(operand.value, str)
    return operand.value


def _numbers(operands: Iterable[Operand]) -> bool:
    return all(isinstance(o, Literal) and not isinstance(o.value, str) for o in operands)
