"""Keys of rows, and digests that identify rows, files and models on any machine."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.errors import InputError

Keys = NDArray[np.uint64]

#: With what the digest of rows begins that were read in batches.
ANY_ORDER = "any order: "
#: So many numbers fit the fastest cache of a processor, a few times.
BLOCK = 8_192


def mix(keys: Keys) -> Keys:
    """Mix keys by the finaliser of splitmix64 (Steele, Lea and Flood 2014): a bijection of 64-bit
    numbers in which every output bit depends on every input bit.

    Parameters
    ----------
    keys : ndarray of uint64
        The keys; they are not changed.

    Examples
    --------
    >>> mix(np.array([0], dtype=np.uint64))
    array([16294208416658607535], dtype=uint64)
    """
    mixed = keys.copy()
    for block in blocks(mixed.size):
        mix_in_place(mixed[block])
    return mixed


def mix_in_place(keys: Keys) -> None:
    """The same for keys that nobody else needs, and few enough to stay in the cache."""
    keys += np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(30)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(27)
    keys *= np.uint64(0x94D049BB133111EB)
    keys ^= keys >> np.uint64(31)


def blocks(n: int) -> Iterator[slice]:
    """Parts of n rows that stay in the processor's cache while they are worked on."""
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def text_keys(values: Iterable[object]) -> Keys:
    """A key for each value, from its text.

    Examples
    --------
    >>> text_keys(["a", "b", "a"]).argsort(kind="stable").tolist() in ([0, 2, 1], [1, 0, 2])
    True
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuU":
        # Of few different values, one digest each is enough. (Equal objects may differ as text.)
        different, place = np.unique(values, return_inverse=True)
        if different.size < values.size:
            return text_keys(different.tolist())[place]
    digests = (hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in values)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def rows_digest(columns: Iterable[NDArray[Any] | None], n: int) -> bytes:
    """A fingerprint of n rows that does not depend on their order; an absent column counts.

    If most rows are alike, their order counts: otherwise two tables with as many rows of each kind
    would be taken for one.

    Examples
    --------
    >>> rows_digest([np.array([1.0, 2.0])], 2) == rows_digest([np.array([2.0, 1.0])], 2)
    True
    """
    keys = np.zeros(n, dtype=np.uint64)
    for column in columns:
        if column is not None:
            keys ^= np.ascontiguousarray(column, dtype=np.float64).view(np.uint64)
        keys = mix(keys)
    ordered = np.sort(keys)
    kinds = int((ordered[1:] != ordered[:-1]).sum()) + 1
    known = ordered if 2 * kinds > n else keys
    return hashlib.blake2b(known.tobytes(), digest_size=16).digest()


@dataclass(frozen=True)
class RowSums:
    """A fingerprint of rows that come in batches, in any order: sums of 64-bit keys of rows.

    It tells whether rows are the same as before. Unlike SHA-256, it does not keep somebody out who
    looks for other rows with the same sums.

    Parameters
    ----------
    n : int
        How many rows there are.
    sums : tuple of int
        The sum of their keys in each of two systems of keys.

    Examples
    --------
    >>> one = RowSums.of([np.array([1.0, 2.0]), np.array(["a", "b"])])
    >>> other = RowSums.of([np.array([2.0]), np.array(["b"])])
    >>> one == other.merged(RowSums.of([np.array([1.0]), np.array(["a"])]))
    True
    """

    n: int = 0
    sums: tuple[int, ...] = (0, 0)

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any] | None]) -> RowSums:
        """That of the rows of some columns; an absent column counts."""
        n = next(len(column) for column in columns if column is not None)
        numbers = [None if column is None else _keys_of_values(column) for column in columns]
        sums = []
        for start in (1, 2):
            keys = np.full(n, start, dtype=np.uint64)
            for block in blocks(n):
                for column in numbers:
                    if column is not None:
                        keys[block] ^= column[block]
                    mix_in_place(keys[block])
            sums.append(int(np.add.reduce(keys)))
        return cls(n, tuple(sums))

    def merged(self, other: RowSums) -> RowSums:
        """That of both."""
        sums = (int((a + b) % 2**64) for a, b in zip(self.sums, other.sums, strict=True))
        return RowSums(self.n + other.n, tuple(sums))

    def digest(self, names: Sequence[str]) -> str:
        """It as text, which depends on the names of the columns as well."""
        said = "\n".join([*names, str(self.n), *map(str, self.sums)])
        return ANY_ORDER + hashlib.sha256(said.encode()).hexdigest()


def _keys_of_values(column: NDArray[Any]) -> Keys:
    if column.dtype.kind in "biuf" and not _is_wide(column):
        return np.ascontiguousarray(column, dtype=np.float64).view(np.uint64)
    if column.dtype.kind in "iu":
        return column.astype(np.uint64)
    return text_keys(column)


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of the bytes of a file.

    Examples
    --------
    >>> file_digest(os.devnull)[:8]
    'e3b0c442'
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def columns_digest(columns: Iterable[tuple[str, NDArray[Any] | None]]) -> str:
    """SHA-256 of named columns, in their order; an absent column counts.

    Equal numbers have equal digests whatever their type; so does equal text.

    Parameters
    ----------
    columns : iterable of (str, ndarray or None)
        Names and values.

    Examples
    --------
    >>> first = columns_digest([("x", np.array([1, 2]))])
    >>> first == columns_digest([("x", np.array([1.0, 2.0]))])
    True
    >>> first == columns_digest([("x", np.array([1.0, 2.5]))])
    False
    """
    digest = hashlib.sha256()
    for name, column in columns:
        _update(digest, name.encode())
        if column is None:
            _update(digest, b"absent")
        elif column.dtype.kind in "biuf" and not _is_wide(column):
            _update(digest, f"numbers {column.shape}".encode())
            digest.update(np.ascontiguousarray(column, dtype="<f8").data)
        else:
            _update(digest, f"values {column.shape}".encode())
            values = [_value(each) for each in column.ravel().tolist()]
            digest.update(np.array([len(each) for each in values], dtype="<i8").data)
            digest.update(b"".join(values))
    return digest.hexdigest()


def _update(digest: Any, part: bytes) -> None:
    """Add a part with its length, so two different sequences of parts never look the same."""
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


def _is_wide(column: NDArray[Any]) -> bool:
    """Whether some whole number does not fit a float: long identifiers must stay different."""
    if column.dtype.kind not in "iu" or column.dtype.itemsize < 8 or not column.size:
        return False
    return int(column.max()) > 2**53 or int(column.min()) < -(2**53)


def _value(value: object) -> bytes:
    """A value with its kind: the text "1" is not the number 1, but numpy's 1 is Python's 1."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, int) and abs(value) > 2**53:
        return b"n" + repr(value).encode()
    if isinstance(value, bool | int | float):
        return b"n" + repr(float(value)).encode()
    return b"o" + repr(value).encode()


#: The most levels of a value that a digest follows; Python gives up after about a thousand calls.
DEEPEST = 100
_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def content_digest(value: object) -> str:
    """The SHA-256 of what a value holds: the same in every process and on every machine.

    It covers numbers, text, arrays, containers, records, and objects such as fitted scikit-learn
    models, by their state. Any number that differs gives another digest. These do not count: the
    order of keys, the memory layout of an array, whether a number is numpy's or Python's, the
    version of scikit-learn, and the state of random generators (numpy's global one is shared by the
    whole process and changes with every draw).

    A class counts by its import path, or by the ``digest_tag`` that it declares. A class with a
    method ``digest_content`` counts by what that returns instead of its state.

    Parameters
    ----------
    value : object
        Anything whose parts can be read. A torch module counts by its state alone.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> content_digest({"a": 1, "b": np.zeros(2)}) == content_digest({"b": np.zeros(2), "a": 1})
    True
    >>> content_digest([0.1]) == content_digest([0.1 + 1e-16])
    False
    """
    sink = hashlib.sha256()
    _Walk(sink.update).visit(value)
    return sink.hexdigest()


class _Walk:
    """One walk through a value. Each part is written as a tag, its length and its bytes, so two
    different values are never written alike.
    """

    def __init__(self, write: Callable[[bytes], object], path: tuple[int, ...] = ()) -> None:
        self._write, self._path = write, list(path)

    def visit(self, value: Any) -> None:
        """Write a value down."""
        if value is None or isinstance(value, bool | np.bool_):
            self._part(b"constant", str(value).encode())
        elif isinstance(value, int | np.integer) and not isinstance(value, Enum | np.timedelta64):
            self._part(b"int", str(int(value)).encode())
        elif isinstance(value, float | np.floating) and not isinstance(value, np.longdouble):
            self._part(b"float", struct.pack("<d", value))
        elif isinstance(value, str):
            self._part(b"text", str.__str__(value).encode("utf-8", "surrogatepass"))
        elif isinstance(value, bytes | bytearray):
            self._part(b"bytes", bytes(value))
        elif isinstance(value, np.ndarray | np.generic) and not isinstance(
            value, np.ma.MaskedArray
        ):
            self._array(np.asarray(value))
        elif isinstance(value, _GENERATORS):
            self._part(b"generator", _name(type(value)))
        elif isinstance(value, np.ufunc):
            self._part(b"name", value.__name__.encode())
        elif isinstance(value, type | ModuleType | BuiltinFunctionType):
            self._part(b"name", _name(value))
        elif isinstance(value, FunctionType):
            self._function(value)
        else:
            self._inside(value)

    def _inside(self, value: Any) -> None:
        """Write a value that has parts; one that contains itself, by how far up it is."""
        if id(value) in self._path:
            self._part(b"above", str(len(self._path) - self._path.index(id(value))).encode())
            return
        if len(self._path) >= DEEPEST:
            raise InputError(
                f"a model must not be nested deeper than {DEEPEST} levels to have a digest. Got a "
                f"{type(value).__name__} below that.",
                hint="is one of its attributes a chain, such as a linked list?",
            )
        self._path.append(id(value))
        if isinstance(value, tuple | list):
            self._many(b"tuple" if isinstance(value, tuple) else b"list", value)
        elif isinstance(value, dict):
            self._unordered(b"dict", value.items())
        elif isinstance(value, set | frozenset):
            self._unordered(b"set", value)
        elif hasattr(type(value), "digest_content"):
            self._part(b"record", _name(type(value)))
            self.visit(value.digest_content())
        elif is_dataclass(value):
            self._part(b"record", _name(type(value)))
            self._many(b"fields", [(f.name, getattr(value, f.name)) for f in fields(value)])
        elif is_module(value):
            self._unordered(b"module", _tensors(value).items())
        else:
            self._object(value)
        self._path.pop()

    def _object(self, value: Any) -> None:
        """Write what pickle would save of an object: the only way into compiled objects."""
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise InputError(
                "every part of a model must be readable to have a digest. Got a "
                f"{type(value).__name__} in it ({error}).",
                hint="leave it out of what __getstate__ returns.",
            ) from None
        if isinstance(reduced, str):
            self._part(b"name", _path(type(value).__module__, reduced))
            return
        maker, args, state, *items = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):
            state = {name: part for name, part in state.items() if name != "_sklearn_version"}
        self._part(b"object", _name(type(value)))
        self._many(b"parts", [maker, args, state, *(part and list(part) for part in items)])

    def _function(self, function: FunctionType) -> None:
        """Write a function's name; if nothing can be imported by that name, also its code."""
        self._part(b"name", _name(function))
        if "<" in function.__qualname__ or function.__module__ == "__main__":
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
            self._code(function.__code__)
            self._inside([cells, function.__defaults__, function.__kwdefaults__])

    def _code(self, code: CodeType) -> None:
        self._part(b"code", code.co_code)
        self._many(b"names", code.co_names)
        for constant in code.co_consts:
            self._code(constant) if isinstance(constant, CodeType) else self.visit(constant)

    def _array(self, array: NDArray[Any]) -> None:
        if array.dtype.names is not None:  # field by field: the gaps hold leftovers of memory
            self._many(b"columns", [(name, array[name]) for name in array.dtype.names])
        elif array.dtype.hasobject:
            self._part(b"objects", str(array.shape).encode())
            self._many(b"list", array.ravel().tolist())
        else:
            kind = array.dtype.newbyteorder("<")
            self._part(b"array", f"{kind.str}{array.shape}".encode())
            self._part(b"values", np.ascontiguousarray(array, dtype=kind).tobytes())

    def _many(self, tag: bytes, values: Collection[Any]) -> None:
        self._part(tag, str(len(values)).encode())
        for value in values:
            self.visit(value)

    def _unordered(self, tag: bytes, values: Iterable[Any]) -> None:
        self._part(tag, b"".join(sorted(self._apart(value) for value in values)))

    def _apart(self, value: Any) -> bytes:
        sink = hashlib.sha256()
        _Walk(sink.update, tuple(self._path)).visit(value)
        return sink.digest()

    def _part(self, tag: bytes, content: bytes) -> None:
        self._write(b"%s %d:" % (tag, len(content)))
        self._write(content)


def _name(named: Any) -> bytes:
    """What a class or function is called in a digest: the tag that it declares, or its import path.

    A tag has no dot, so it is never a path. A subclass does not inherit it: two classes that decide
    differently must not have one name.
    """
    tag = vars(named).get("digest_tag") if isinstance(named, type) else None
    if isinstance(tag, str):
        return tag.encode()
    return _path(getattr(named, "__module__", None), getattr(named, "__qualname__", named.__name__))


def _path(module: str | None, name: str) -> bytes:
    """An import path. Those of elfair are refused: with them, moving a class to another module
    would change the digest of every model.
    """
    path = f"{module or ''}.{name}"
    if path.lstrip(".").split(".")[0] == "elfair":
        raise TypeError(f"{path} declares no digest_tag, so no digest can hold it")
    return path.encode()


def is_module(value: object) -> bool:
    """Whether a value is a torch.nn.Module; torch is not imported for this.

    Examples
    --------
    >>> is_module("a module")
    False
    """
    torch: Any = sys.modules.get("torch")  # no module exists before torch is imported
    return torch is not None and isinstance(value, torch.nn.Module)


def _tensors(module: Any) -> dict[str, Any]:
    """The state of a torch module: tensors as arrays, anything else as it is."""
    state = module.state_dict()
    return {
        name: kept.detach().cpu().numpy() if hasattr(kept, "detach") else kept
        for name, kept in state.items()
    }
