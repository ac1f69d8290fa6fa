"""What values are: numbers, text or true/false, with the missing ones apart.

Values compare by kind: a number never meets a text, and the error says how to write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from elfair.errors import ConstraintError
from elfair.language.conditions import Column, Compare, Literal, Operand, Positive
from elfair.language.tree import point_at

NUMBERS, TEXT, TRUTH = "numbers", "text", "true/false values"

_FILLERS = {NUMBERS: 0, TEXT: "", TRUTH: False}
_MISSING_TYPES = ("NaTType", "NAType")  # pandas' own, known by name: pandas is not imported here


@dataclass(frozen=True)
class Values:
    """A column or a single value, ready to be compared.

    Parameters
    ----------
    kind : str or None
        `NUMBERS`, `TEXT`, `TRUTH`, or words for anything else; None where all values are missing.
    data : array or scalar
        The values; what stands in the place of a missing one means nothing.
    missing : array of bool, or False
        Where a value is missing.
    """

    kind: str | None
    data: Any
    missing: npt.NDArray[np.bool_] | bool = False


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
    if data.dtype.kind in "OT":  # objects, and numpy's own variable-width text
        return _values_of_objects(data.astype(object))  # a copy
    missing = np.isnat(data) if data.dtype.kind in "mM" else data != data
    kind = _kind_of(data.dtype.type)
    return Values(None if missing.all() else kind, data, missing)


def _values_of_objects(data: npt.NDArray[np.object_]) -> Values:
    if set(map(type, data)) == {str}:  # the usual case, and ten times as fast
        return Values(TEXT, data, np.zeros(len(data), dtype=np.bool_))
    missing = np.fromiter(map(_is_missing, data), dtype=np.bool_, count=len(data))
    kinds = sorted({_kind_of(found) for found in set(map(type, data[~missing]))})
    if len(kinds) == 1:
        data[missing] = _FILLERS.get(kinds[0])
        return Values(kinds[0], data, missing)
    return Values(f"a mix of {' and '.join(kinds)}" if kinds else None, data, missing)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in _MISSING_TYPES or bool(value != value)


def _kind_of(found: type) -> str:
    if issubclass(found, (bool, np.bool_)):
        return TRUTH
    if issubclass(found, (Real, Decimal)):
        return NUMBERS
    return TEXT if issubclass(found, str) else f"{found.__name__} values"


_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]*)?")


def check_comparable(condition: Compare, left: Values, right: Values) -> None:
    """Raise where the two sides of a comparison are of different kinds, or have no order."""
    for operand, values in ((condition.left, left), (condition.right, right)):
        if values.kind not in (NUMBERS, TEXT, TRUTH):
            raise point_at(
                f"{_called(operand)} holds {values.kind}, which a condition cannot compare; "
                f"it compares {NUMBERS}, {TEXT} or {TRUTH}.",
                operand.span,
                "turn it into one of these before it is passed.",
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
    # 0 and 1 are usual for false and true, so true/false values meet those two numbers as well;
    # a written true or false still asks for true/false values.
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
    """How to write the literal so that it is of the kind."""

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
