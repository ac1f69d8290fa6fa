"""Which rows of a table meet a condition.

The logic has three values (Kleene's): a comparison with a missing value is neither true nor false,
and `not` leaves it so. A row meets a condition only where the condition is known to be true.

Whether two conditions exclude each other whatever the data are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from elfair.errors import ConstraintError, did_you_mean
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
from elfair.language.tree import point_at
from elfair.language.values import Values, check_comparable, values_of

Rows = npt.NDArray[np.bool_]

_SHOWN_NAMES = 10
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class DataLike(Protocol):
    """What the language needs to know of data.

    Missing values are NaN, None or NaT; ``label`` is None where there is none.
    """

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def names(self) -> Sequence[str]:
        """The columns that conditions may use."""

    @property
    def label(self) -> npt.NDArray[Any] | None:
        """The true class of each row."""

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes, sorted."""

    @property
    def positive(self) -> object:
        """The positive class."""

    def column(self, name: str) -> npt.NDArray[Any]:
        """The values of a column: numbers, true/false or text."""


@dataclass(frozen=True)
class _Truth:
    """Where a condition is known to be true, and where it is known to be false."""

    true: Rows
    false: Rows


def holds(condition: Condition | None, data: DataLike, decision: object = None) -> Rows:
    """The rows which meet a condition.

    Parameters
    ----------
    condition : Condition or None
        None is met by every row.
    data : DataLike
        The rows.
    decision : object, optional
        What ``decision`` stands for, where the condition is an event: a class, or an array.

    Returns
    -------
    ndarray of bool, shape (data.n,)
        True where the condition is known to be true.

    Raises
    ------
    ConstraintError
        If a column is not there, or is compared with a value of another kind.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from elfair.language import col
    >>> age = np.array([17.0, 21.0, np.nan])
    >>> data = SimpleNamespace(n=3, names=["age"], column={"age": age}.get, label=None, positive=1)
    >>> holds(col("age") >= 18, data)
    array([False,  True, False])
    >>> holds(~(col("age") >= 18), data)
    array([ True, False, False])
    """
    if condition is None:
        return np.ones(data.n, dtype=np.bool_)
    return _Evaluation(data, decision).truth(condition).true


class _Evaluation:
    def __init__(self, data: DataLike, decision: object) -> None:
        self._data = data
        self._decision = decision

    def truth(self, condition: Condition) -> _Truth:
        match condition:
            case Not(part):
                inner = self.truth(part)
                return _Truth(inner.false, inner.true)
            case And(parts):
                return _both([self.truth(part) for part in parts])
            case Or(parts):
                return _either([self.truth(part) for part in parts])
            case Member(left, values):
                return _either([self._compared(Compare(left, "==", each)) for each in values])
            case Compare():
                return self._compared(condition)
        raise TypeError(f"a condition was expected. Got {condition!r} instead.")

    def _compared(self, condition: Compare) -> _Truth:
        left, right = self._values(condition.left), self._values(condition.right)
        if left.kind is None or right.kind is None:
            nowhere = np.zeros(self._data.n, dtype=np.bool_)
            return _Truth(nowhere, nowhere)
        check_comparable(condition, left, right)
        with np.errstate(over="ignore"):  # a literal beyond float32 compares as infinity: rightly
            met = _OPERATORS[condition.op](left.data, right.data)
        met, known = np.broadcast_arrays(met, np.logical_not(left.missing | right.missing))
        shape = (self._data.n,)
        return _Truth(
            np.broadcast_to(known & met, shape).astype(np.bool_),
            np.broadcast_to(known & ~met, shape).astype(np.bool_),
        )

    def _values(self, operand: Operand) -> Values:
        match operand:
            case Literal(value):
                return values_of(value)
            case Positive():
                return values_of(self._data.positive)
            case Column(name) if name in self._data.names:
                return values_of(self._data.column(name))
            case Label() if self._data.label is not None:
                return values_of(self._data.label)
            case Decision() if self._decision is not None:
                return values_of(self._decision)
        raise self._unavailable(operand)

    def _unavailable(self, operand: Operand) -> ConstraintError:
        if isinstance(operand, Column):
            names = list(self._data.names)
            shown = ", ".join([*names[:_SHOWN_NAMES], *(["..."] if names[_SHOWN_NAMES:] else [])])
            return point_at(
                f"no column '{operand.name}'; columns: {shown or 'none'}.",
                operand.span,
                did_you_mean(
                    operand.name,
                    names,
                    f"give the column a name in sensitive_features={{'{operand.name}': ...}}; if "
                    f"it is a value, put it in quotes: '{operand.name}'.",
                ),
            )
        if isinstance(operand, Label):
            return point_at(
                "the label is needed here, but y was not given.",
                operand.span,
                "pass y, or leave out label, accuracy, TPR, FPR, TNR and FNR.",
            )
        return point_at(
            "'decision' has no value here: this is a condition, not an event.",
            operand.span,
            "ask for it before the bar, as in P[decision == 1 | race == 'A'].",
        )


def _both(parts: list[_Truth]) -> _Truth:
    return _Truth(
        np.logical_and.reduce([part.true for part in parts]),
        np.logical_or.reduce([part.false for part in parts]),
    )


def _either(parts: list[_Truth]) -> _Truth:
    return _Truth(
        np.logical_or.reduce([part.true for part in parts]),
        np.logical_and.reduce([part.false for part in parts]),
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
