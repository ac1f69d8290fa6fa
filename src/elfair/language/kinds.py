"""What values are: numbers, text or true/false, with the missing ones apart."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

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
