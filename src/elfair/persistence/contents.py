"""What a model file is made of: the zip container, arrays, and plain values as JSON.

Any tool opens the container, but it is written in one way only: members are stored uncompressed,
and everything that a zip file could say in several ways (times, systems, order) is fixed. So the
same members always give the same bytes, and a file with any changed byte differs from what its
members would be written as. Arrays are ``.npy`` files, without pickle; their headers are not
trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from io import BytesIO
from math import isfinite, prod
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from elfair.errors import InputError
from elfair.language.expressions import Expression, Statement
from elfair.language.recipes import Recipe

#: What to do about a file that is not as `save` wrote it.
DAMAGED = "the file was changed or cut short after it was saved: get a new copy."
#: The earliest that a zip file can say.
_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o100644 << 16


def damaged(what: str) -> InputError:
    """The error for a file that is not as `save` wrote it.

    Examples
    --------
    >>> print(damaged("its part 'thetas.npy' is missing."))
    its part 'thetas.npy' is missing.
    Hint: the file was changed or cut short after it was saved: get a new copy.
    """
    return InputError(what, hint=DAMAGED)


def pack(members: Mapping[str, bytes]) -> bytes:
    """The bytes of a container.

    Examples
    --------
    >>> pack({"a": b"1"}) == pack({"a": b"1"})
    True
    """
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, data in members.items():
            entry = ZipInfo(name, _TIME)
            entry.create_system, entry.external_attr = _UNIX, _READABLE
            archive.writestr(entry, data)
    return file.getvalue()


def members_of(data: bytes) -> dict[str, bytes]:
    """The members of a zip file; one that would unpack to more than its own size is refused.

    Examples
    --------
    >>> members_of(pack({"a": b"1", "b": b"2"}))
    {'a': b'1', 'b': b'2'}
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            stored = all(entry.compress_type == ZIP_STORED for entry in entries)
            if stored and sum(entry.file_size for entry in entries) <= len(data):
                return {entry.filename: archive.read(entry) for entry in entries}
    except Exception as error:  # zipfile raises many kinds of errors
        raise damaged(f"it is not a whole zip file ({error}).") from None
    raise damaged("its parts are compressed, or together larger than the file.")


def check_written(data: bytes, members: Mapping[str, bytes]) -> None:
    """Raise unless these bytes are exactly how the members are written.

    Examples
    --------
    >>> check_written(pack({"a": b"1"}), {"a": b"1"})
    """
    if pack(members) != data:
        raise damaged("its bytes are not as elfair writes its parts.")


Array = NDArray[Any]
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def to_npy(array: Array) -> bytes:
    """An array as the bytes of a ``.npy`` file, the same on every machine.

    Examples
    --------
    >>> from_npy(to_npy(np.array([1.0, 2.0])))
    array([1., 2.])
    """
    file = BytesIO()
    tidy = _without_padding(array).astype(array.dtype.newbyteorder("<"), copy=False)
    npy.write_array(file, tidy, allow_pickle=False)
    return file.getvalue()


def from_npy(data: bytes) -> Array:
    """The array of a ``.npy`` file, after checking that its header fits its size."""
    file = BytesIO(data)
    try:
        shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
        claimed = prod(shape) * dtype.itemsize
        if dtype.hasobject or not dtype.itemsize or claimed != len(data) - file.tell():
            raise ValueError(f"its header announces {claimed} bytes of {dtype}")
        return np.asarray(npy.read_array(BytesIO(data), allow_pickle=False))
    except Exception as error:  # numpy raises many kinds of errors
        raise damaged(f"an array in it cannot be read ({error}).") from None


def _without_padding(array: Array) -> Array:
    """With zeros between the fields of a record, instead of whatever memory held there."""
    if array.dtype.names is None:
        return array
    tidy = np.zeros(array.shape, array.dtype)  # zeros_like would not clear the gaps
    for name in array.dtype.names:
        tidy[name] = array[name]
    return tidy


#: Kinds of arrays: true/false values, numbers, dates, durations, text, and other plain values.
_KINDS = "biufMmUO"


@dataclass(frozen=True)
class NotSaved:
    """Takes the place of a parameter that a file cannot hold, such as a scorer.

    No parameter accepts it as a value, so a loaded estimator cannot be fitted again as if the
    parameter had never been set.

    Parameters
    ----------
    what : str
        The type of the object that was there.
    """

    what: str

    def __repr__(self) -> str:
        return f"<not saved: {self.what}>"


def encode(value: Any, *, strict: bool = False) -> Any:
    """A value as JSON. Constraints built in Python become text.

    Parameters
    ----------
    value : object
        Numbers, text, numpy dates, arrays, lists, tuples and mappings.
    strict : bool, default False
        Whether anything else is an error; otherwise `NotSaved` replaces it.

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
            f"a model is saved without pickle, so it can hold plain values only. Got {value!r}, "
            f"of type {what}.",
            hint="use text or numbers for classes.",
        )
    return {"not saved": what}


def decode(document: Any) -> Any:
    """A value from what `encode` made of it."""
    try:
        return _decode(document)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise damaged(f"a value in it cannot be read ({error}).") from None


def _decode(document: Any) -> Any:
    if isinstance(document, list):
        return [_decode(each) for each in document]
    if not isinstance(document, dict):
        return document
    if document.keys() == {"array", "shape", "values"}:
        return _array(document["array"], document["shape"], _decode(document["values"]))
    ((tag, content),) = document.items()
    readers: dict[str, Callable[[Any], Any]] = {
        "float": {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}.__getitem__,
        "tuple": lambda values: tuple(_decode(values)),
        "dict": lambda pairs: {_decode(key): _decode(value) for key, value in pairs},
        "recipe": lambda given: Recipe(*_decode(given)),
        "not saved": lambda what: NotSaved(str(what)),
    }
    return readers[tag](content)


def _array(kind: Any, shape: list[int] | None, values: list[Any]) -> Any:
    if not isinstance(kind, str):
        raise TypeError(f"{kind!r} is not a kind of array")
    dtype = np.dtype(kind)
    if not _is_known(dtype) or (dtype.kind == "U" and kind != "U"):
        raise ValueError(f"arrays of {kind!r} are not known")
    if dtype.kind == "O":
        array = np.fromiter(values, dtype=object)
    else:
        array = np.array(values, dtype=np.int64 if dtype.kind in "Mm" else dtype)
        array = array.view(dtype) if dtype.kind in "Mm" else array
    if shape is None:
        (single,) = array
        return single
    return array.reshape(shape)


def _is_known(dtype: np.dtype[Any]) -> bool:
    # Neither Python nor JSON has floats of more than 64 bits.
    return dtype.kind in _KINDS and (dtype.kind in "UO" or dtype.itemsize <= 8)
