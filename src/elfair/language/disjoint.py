"""Whether two conditions exclude each other whatever the data are."""

from __future__ import annotations

from collections.abc import Iterable
from operator import eq, ge, gt, le, lt, ne

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

_TESTS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
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
    for one, other in ((first, second), (second, first)):
        if isinstance(one, And):
            return any(are_disjoint(part, other) for part in one.parts)
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
    if sign in ("<", "<=") and test in (">", ">=") and _numbers((*values, *constants)):
        high, low = values[0].value, constants[0].value  # type: ignore[attr-defined]
        return bool(high < low or (high == low and (sign == "<" or test == ">")))
    return False


def _meets(value: Operand, test: str, constants: tuple[Operand, ...]) -> bool:
    if test in ("==", "!="):
        # The positive class is some value: only its equality with itself is certain.
        if any(isinstance(c, Positive) != isinstance(value, Positive) for c in constants):
            return True
        # By value, since true and 1 are the same in a column of truth values.
        found = any(_value(value) == _value(constant) for constant in constants)
        return found == (test == "==")
    if not _numbers((value, *constants)):
        return True
    return bool(_TESTS[test](value.value, constants[0].value))  # type: ignore[attr-defined]


def _numbers(operands: Iterable[Operand]) -> bool:
    return all(isinstance(o, Literal) and isinstance(o.value, int | float) for o in operands)


def _value(operand: Operand) -> object:
    return operand.value if isinstance(operand, Literal) else operand
