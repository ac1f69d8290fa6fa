"""Which rows of the data meet a condition, and whether two conditions can have rows in common.

The logic has three values (Kleene's): a comparison with a missing value is neither true nor false,
and `not` leaves it so. A row meets a condition only where the condition is known to be true.

Values are numbers, text or true/false, and compare by kind: a number never equals text, and the
error says how to write it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np

from elfair.errors import ConstraintError, did_you_mean, listed
from elfair.language import conditions
from elfair.language.conditions import (
    OPERATORS,
    Column,
    Compare,
    Condition,
    Literal,
    Operand,
    Positive,
)
from elfair.language.tree import Node, find, point_at
from elfair.types import Array, Booleans

NUMBERS, TEXT, TRUTH = "numbers", "text", "true/false values"

_FILLERS = {NUMBERS: 0, TEXT: "", TRUTH: False}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]*)?")
_SHOWN_NAMES = 10


class DataLike(Protocol):
    """What the language needs to know about the data. Missing values are NaN, None or NaT."""

    #: The number of rows.
    n: int
    #: The true class of each row, or None if there are no labels.
    label: Array | None
    #: All classes, sorted.
    classes: Array
    #: The positive class, or None if nothing says which one it is.
    positive: Any

    @property
    def names(self) -> Sequence[str]:
        """The columns that conditions may use."""

    def column(self, name: str) -> Array:
        """The values of a column: numbers, true/false or text."""


def holds(condition: Condition | None, data: DataLike, decision: object = None) -> Booleans:
    """The rows that meet a condition.

    Parameters
    ----------
    condition : Condition or None
        Every row meets None.
    data : DataLike
        The rows.
    decision : object, optional
        What ``decision`` stands for if the condition is an event: a class, or an array.

    Returns
    -------
    ndarray of bool, shape (data.n,)
        True where the condition is known to be true.

    Raises
    ------
    ConstraintError
        If a column does not exist, or is compared with a value of another kind.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from elfair import col
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


def known(condition: Condition, data: DataLike) -> tuple[Booleans, Booleans]:
    """The rows of which a condition is known to be true, and those of which it is false."""
    return _Evaluation(data, None).truth(condition)


class _Truth(NamedTuple):
    """Where a condition is known to be true, and where it is known to be false."""

    true: Booleans
    false: Booleans

    def opposite(self) -> _Truth:
        return _Truth(self.false, self.true)


def _both(parts: list[_Truth]) -> _Truth:
    true, false = zip(*parts, strict=True)
    return _Truth(np.logical_and.reduce(true), np.logical_or.reduce(false))


def _either(parts: list[_Truth]) -> _Truth:
    return _both([part.opposite() for part in parts]).opposite()


class _Evaluation:
    def __init__(self, data: DataLike, decision: object) -> None:
        self._data = data
        self._decision = decision

    def truth(self, condition: Condition) -> _Truth:
        match condition:
            case conditions.Not(part):
                return self.truth(part).opposite()
            case conditions.And(parts):
                return _both([self.truth(part) for part in parts])
            case conditions.Or(parts):
                return _either([self.truth(part) for part in parts])
            case conditions.Member(left, values):
                return _either([self._compared(Compare(left, "==", each)) for each in values])
            case Compare():
                return self._compared(condition)
        raise TypeError(f"expected a condition. Got {condition!r} instead.")

    def _compared(self, condition: Compare) -> _Truth:
        left, right = self._values(condition.left), self._values(condition.right)
        if left.kind is None or right.kind is None:
            nowhere = np.zeros(self._data.n, dtype=np.bool_)
            return _Truth(nowhere, nowhere)
        check_comparable(condition, left, right)
        with np.errstate(over="ignore"):  # a literal beyond float32 rightly compares as infinity
            met = OPERATORS[condition.op](left.data, right.data)
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
            case Positive() if self._data.positive is not None:
                return values_of(self._data.positive)
            case Column(name) if name in self._data.names:
                return values_of(self._data.column(name))
            case conditions.Label() if self._data.label is not None:
                return values_of(self._data.label)
            case conditions.Decision() if self._decision is not None:
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
        if isinstance(operand, conditions.Label):
            return point_at(
                "the label is needed here, but y was not given.",
                operand.span,
                "pass y, or leave out label and the rates that compare with it, such as accuracy.",
            )
        if isinstance(operand, Positive):
            return _unknown_positive(operand, self._data)
        return point_at(
            "'decision' has no value here: this is a condition, not an event.",
            operand.span,
            "write it before the bar, as in P[decision == 1 | race == 'A'].",
        )


def require_positive(node: Node, data: DataLike) -> None:
    """Raise if it uses the positive class, and nothing says which class that is.

    Parameters
    ----------
    node : Node
        A condition or an expression.
    data : DataLike
        What it is about.

    Examples
    --------
    >>> from elfair import PR, LoggedData
    >>> require_positive(PR(), LoggedData([[0.0], [1.0]], ["approve", "deny"]))
    Traceback (most recent call last):
        ...
    elfair.errors.ConstraintError: you must say which decision counts as positive. Classes: ...
    Hint: pass positive='approve' or positive='deny' to ELFClassifier or LoggedData; ...
    """
    if data.positive is None and data.classes.size:  # without classes, other errors say more
        for each in find(node, Positive):
            raise _unknown_positive(each, data)


def _unknown_positive(operand: Positive, data: DataLike) -> ConstraintError:
    shown = [repr(each) for each in data.classes.tolist()]
    choices = " or ".join(f"positive={each}" for each in [*shown[:2], *(["..."] * bool(shown[2:]))])
    return point_at(
        f"you must say which decision counts as positive. Classes: {listed(data.classes)}.",
        operand.span,
        f"pass {choices} to ELFClassifier or LoggedData; in a study file, positive is a key of "
        "[model].",
    )


@dataclass(frozen=True)
class Values:
    """A column or a single value, ready to be compared.

    Parameters
    ----------
    kind : str or None
        `NUMBERS`, `TEXT`, `TRUTH`, or words for anything else; None if all values are missing.
    data : array or scalar
        The values; the entry of a missing value means nothing.
    missing : array of bool, or False
        Where a value is missing.
    """

    kind: str | None
    data: Any
    missing: Booleans | bool = False


def values_of(data: object) -> Values:
    """Find the kind and the missing values of a column or of a single value.

    Examples
    --------
    >>> import numpy as np
    >>> found = values_of(np.array(["a", None, "b"], dtype=object))
    >>> found.kind, found.missing
    ('text', array([False,  True, False]))
    """
    if not isinstance(data, np.ndarray):
        return Values(_kind_of(type(data)), data)
    if data.dtype.kind not in "OT":
        missing = is_missing(data)
        return Values(None if missing.all() else _kind_of(data.dtype.type), data, missing)
    data = data.astype(object)  # a copy of objects, or of numpy's own variable-width text
    missing = is_missing(data)
    kinds = sorted({_kind_of(found) for found in set(map(type, data[~missing]))})
    if len(kinds) == 1:
        data[missing] = _FILLERS.get(kinds[0])
        return Values(kinds[0], data, missing)
    return Values(f"a mix of {' and '.join(kinds)}" if kinds else None, data, missing)


def is_missing(column: Array) -> Booleans:
    """Where a column holds NaN, NaT or None.

    Examples
    --------
    >>> import numpy as np
    >>> is_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if column.dtype.kind in "fc":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind != "O" or set(map(type, column)) <= {str, int, bool}:
        return np.zeros(column.shape, dtype=np.bool_)
    return np.fromiter(map(_differs_from_itself, column), np.bool_, len(column))


def _differs_from_itself(value: Any) -> bool:
    """Only a missing value differs from itself; pandas' NA refuses to compare, which reveals it."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def _kind_of(found: type) -> str:
    if issubclass(found, (bool, np.bool_)):
        return TRUTH
    if issubclass(found, (Real, Decimal)):
        return NUMBERS
    return TEXT if issubclass(found, str) else f"{found.__name__} values"


def check_comparable(condition: Compare, left: Values, right: Values) -> None:
    """Raise if the two sides of a comparison are of different kinds, or have no order."""
    for operand, values in ((condition.left, left), (condition.right, right)):
        if values.kind not in (NUMBERS, TEXT, TRUTH):
            raise point_at(
                f"{_called(operand)} holds {values.kind}, which a condition cannot compare; "
                f"it compares {NUMBERS}, {TEXT} or {TRUTH}.",
                operand.span,
                "convert it to one of these first.",
            )
    if not _same_kind(condition, left, right):
        raise _mismatch(condition, left, right)
    if condition.op not in ("==", "!=") and left.kind != NUMBERS:
        raise point_at(
            f"'{condition.op}' orders numbers; {_called(_named(condition))} holds {left.kind}.",
            condition.span,
            "use ==, != or in.",
        )


def _same_kind(condition: Compare, left: Values, right: Values) -> bool:
    if {left.kind, right.kind} != {NUMBERS, TRUTH}:
        return left.kind == right.kind
    # 0 and 1 commonly stand for false and true, so true/false values also compare with those two
    # numbers; a literal true or false still needs true/false values.
    written = [side for side in (condition.left, condition.right) if isinstance(side, Literal)]
    if not written:
        return True
    return not isinstance(written[0].value, bool) and written[0].value in (0, 1)


def _mismatch(condition: Compare, left: Values, right: Values) -> ConstraintError:
    for literal, kind in ((condition.left, right.kind), (condition.right, left.kind)):
        if isinstance(literal, Literal):
            return point_at(
                f"{_called(_named(condition))} holds {kind}; it is compared with {literal}.",
                literal.span,
                _advice(condition, literal, kind),
            )
    return point_at(
        f"{_called(condition.left)} holds {left.kind}, and {_called(condition.right)} "
        f"holds {right.kind}; they cannot be compared.",
        condition.span,
        "compare columns of one kind.",
    )


def _advice(condition: Compare, literal: Literal, kind: str | None) -> str:
    """How to write the literal to make it of the given kind."""

    def rewritten(value: str | float | bool) -> str:
        other, new = str(_named(condition)), str(Literal(value))
        sides = (new, other) if literal is condition.left else (other, new)
        return f"write {sides[0]} {condition.op} {sides[1]}"

    value = literal.value
    if kind == TEXT:
        return f"{rewritten(str(literal))} in quotes."
    if kind == TRUTH:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return f"{rewritten(value.lower() == 'true')} without quotes."
        return "compare it with true or false, or with 1 or 0."
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return "compare it with a number."
        number = float(value)
        return f"{rewritten(int(number) if number.is_integer() else number)} without quotes."
    return f"{rewritten(int(value))}."


def _named(condition: Compare) -> Operand:
    return condition.right if isinstance(condition.left, Literal) else condition.left


def _called(operand: Operand) -> str:
    if isinstance(operand, Column):
        return f"column '{operand.name}'"
    return "the positive class" if isinstance(operand, Positive) else f"'{operand}'"


def are_disjoint(first: Condition | None, second: Condition | None) -> bool:
    """Whether no row of any data can meet both conditions.

    True is certain; False means "not certain". Everyone meets None.

    Examples
    --------
    >>> from elfair import col
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
        if isinstance(one, conditions.Or):
            return all(are_disjoint(part, other) for part in one.parts)
    if isinstance(first, conditions.And) or isinstance(second, conditions.And):
        # The parts of either side may decide: an `or` inside the other side needs all of it.
        return any(
            are_disjoint(part, other)
            for one, other in ((first, second), (second, first))
            if isinstance(one, conditions.And)
            for part in one.parts
        )
    left, right = _atom(first), _atom(second)
    if left is None or right is None or left[0] != right[0]:
        return False
    return _exclude(left[1:], right[1:]) or _exclude(right[1:], left[1:])


def _atom(condition: Condition) -> tuple[Operand, str, tuple[Any, ...]] | None:
    """A comparison of one operand with constants: operand, sign, constants (== any of them)."""
    if isinstance(condition, conditions.Not):
        inner = _atom(condition.part)
        return inner and (inner[0], conditions.OPPOSITE[inner[1]], inner[2])
    if isinstance(condition, conditions.Member):
        return condition.left, "==", tuple(map(_constant, condition.values))
    if isinstance(condition, Compare):
        if isinstance(condition.right, Literal | Positive):
            return condition.left, condition.op, (_constant(condition.right),)
        if isinstance(condition.left, Literal | Positive):
            mirrored = conditions.MIRRORED[condition.op]
            return condition.right, mirrored, (_constant(condition.left),)
    return None


def _constant(operand: Literal | Positive) -> Any:
    return operand.value if isinstance(operand, Literal) else operand


def _exclude(one: tuple[str, tuple[Any, ...]], other: tuple[str, tuple[Any, ...]]) -> bool:
    """Whether every value that meets the first comparison fails the second."""
    (sign, values), (test, constants) = one, other
    if sign == "==":
        return not any(_meets(value, test, constants) for value in values)
    # Two half-lines that point away from each other.
    if sign in ("<", "<=") and test in (">", ">="):
        high, low = values[0], constants[0]
        if not _are_numbers(high, low) or _is_huge(high) or _is_huge(low):
            return False
        if sign == "<=" and test == ">=":
            return bool(high < low) and not _alike(high, low)
        return bool(high <= low)
    return False


def _meets(value: Any, test: str, constants: tuple[Any, ...]) -> bool:
    """Whether a column can hold something that equals the value and meets the test."""
    if any(isinstance(c, Positive) != isinstance(value, Positive) for c in constants):
        return True  # the positive class can be any value
    if any(map(_is_huge, (value, *constants))):
        return True
    if test == "!=":
        return value not in constants
    if test == "==":
        return any(_alike(value, constant) for constant in constants)
    if not _are_numbers(value, *constants):
        return True
    met = bool(OPERATORS[test](value, constants[0]))
    return met or ("=" in test and _alike(value, constants[0]))


def _alike(first: Any, second: Any) -> bool:
    """Whether some column cannot tell the two apart: 32-bit columns round what they compare."""
    if _are_numbers(first, second):
        return bool(np.float32(first) == np.float32(second))
    return bool(first == second)


def _is_huge(value: Any) -> bool:
    """Whether integers and 64-bit floats disagree about what equals it."""
    return _are_numbers(value) and abs(value) >= 2**53


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) for value in values)
