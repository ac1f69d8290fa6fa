"""Plain Python values as JSON and back, with their types: classes and parameters."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import isfinite
from typing import Any

import numpy as np

from elfair.errors import InputError
from elfair.language import Expression, Statement
from elfair.recipes import Recipe

#: Kinds of arrays: true/false values, numbers, dates, durations, text, and whatever else is plain.
_KINDS = "biufMmUO"


@dataclass(frozen=True)
class NotSaved:
    """What stands in the place of a parameter that a file cannot hold, such as a scorer.

    Nothing that takes the parameter takes this: an estimator that was loaded cannot be fitted again
    as if it had not been set.

    Parameters
    ----------
    what : str
        The type of the object that was there.
    """

    what: str

    def __repr__(self) -> str:
        return f"<not saved: {self.what}>"


def encode(value: Any, *, strict: bool = False) -> Any:
    """A value as JSON. Constraints that were built in Python become their text.

    Parameters
    ----------
    value : object
        Numbers, text, dates of numpy, arrays, lists, tuples and mappings.
    strict : bool, default False
        Whether anything else is an error; otherwise it is replaced by `NotSaved`.

    Examples
    --------
    >>> encode(("yes", np.int64(1)))
    {'tuple': ['yes', {'array': '<i8', 'shape': None, 'values': [1]}]}
    >>> decode(encode(("yes", np.int64(1))))
    ('yes', np.int64(1))
    >>> decode(encode(print))
    <not saved: builtins.builtin_function_or_method>
    """
    if isinstance(value, np.ndarray | np.generic) and _is_known(value.dtype):
        array, kind = np.asarray(value), value.dtype.newbyteorder("<").str
        # The width of text follows from the text.
        numbers = array.view(np.int64) if array.dtype.kind in "Mm" else array
        return {
            "array": "U" if array.dtype.kind == "U" else kind,
            "shape": None if isinstance(value, np.generic) else list(array.shape),
            "values": [encode(each, strict=strict) for each in numbers.ravel().tolist()],
        }
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"float": str(value)}
    if isinstance(value, Expression | Statement):
        return str(value)
    if isinstance(value, Recipe):
        return {"recipe": encode(astuple(value), strict=strict)}
    if isinstance(value, NotSaved):
        return {"not saved": value.what}
    if type(value) in (list, tuple):
        values = [encode(each, strict=strict) for each in value]
        return values if isinstance(value, list) else {"tuple": values}
    if type(value) is dict:
        return {"dict": [[encode(each, strict=strict) for each in pair] for pair in value.items()]}
    what = f"{type(value).__module__}.{type(value).__qualname__}"
    if strict:
        raise InputError(
            f"a model is saved without pickle, and so with plain values only. Got {value!r}, of "
            f"type {what}.",
            hint="use text or numbers for classes.",
        )
    return {"not saved": what}


def decode(document: Any) -> Any:
    """A value from what `encode` made of it."""
    try:
        return _decode(document)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(
            f"a value in it cannot be read ({error}).", hint="it was changed after it was saved."
        ) from None


def _decode(document: Any) -> Any:
    if isinstance(document, list):
        return [_decode(each) for each in document]
    if not isinstance(document, dict):
        return document
    if document.keys() == {"array", "shape", "values"}:
        return _array(document["array"], document["shape"], _decode(document["values"]))
    ((tag, content),) = document.items()
    if tag == "float":
        return {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[content]
    if tag == "tuple":
        return tuple(_decode(content))
    if tag == "dict":
        return {_decode(key): _decode(value) for key, value in content}
    if tag == "recipe":
        return Recipe(*_decode(content))
    if tag == "not saved":
        return NotSaved(str(content))
    raise KeyError(tag)


def _array(kind: Any, shape: list[int] | None, values: list[Any]) -> Any:
    if not isinstance(kind, str):
        raise TypeError(f"{kind!r} is no kind of array")
    dtype = np.dtype(kind)
    if not _is_known(dtype) or (dtype.kind == "U" and kind != "U"):
        raise ValueError(f"arrays of {kind!r} are not known")
    if dtype.kind == "O":
        array = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):
            array[place] = value
    else:
        array = np.array(values, dtype=np.int64 if dtype.kind in "Mm" else dtype)
        array = array.view(dtype) if dtype.kind in "Mm" else array
    if shape is None:
        (single,) = array
        return single
    return array.reshape(shape)


def _is_known(dtype: np.dtype[Any]) -> bool:
    # A number of more than 64 bits is none that Python or JSON has.
    return dtype.kind in _KINDS and (dtype.kind in "UO" or dtype.itemsize <= 8)
