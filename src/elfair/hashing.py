"""Keys and digests that depend on nothing but what goes in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def mix(keys: Keys) -> Keys:
    """The finaliser of the splitmix64 generator (Steele, Lea and Flood 2014): a bijection of 64-bit
    numbers whose output bits each depend on every input bit.

    Parameters
    ----------
    keys : ndarray of uint64
        What goes in; it is not changed.

    Examples
    --------
    >>> mix(np.array([0], dtype=np.uint64))
    array([16294208416658607535], dtype=uint64)
    """
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(30)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(27)
    keys *= np.uint64(0x94D049BB133111EB)
    keys ^= keys >> np.uint64(31)
    return keys


def text_keys(values: Iterable[object]) -> Keys:
    """A key for each value, by its text.

    Examples
    --------
    >>> text_keys(["a", "b", "a"]).argsort(kind="stable").tolist() in ([0, 2, 1], [1, 0, 2])
    True
    """
    digests = (hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in values)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def rows_digest(columns: Iterable[NDArray[Any] | None], n: int) -> bytes:
    """A fingerprint of n rows, whatever their order; an absent column takes part as absent.

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
    return hashlib.blake2b(np.sort(keys).tobytes(), digest_size=16).digest()


def columns_digest(columns: Iterable[tuple[str, NDArray[Any] | None]]) -> str:
    """SHA-256 of named columns, in their order; an absent column takes part as absent.

    Equal numbers have equal digests whatever their type, and so has equal text.

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
    """With its length, so that no two sequences of parts are one text."""
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


def _is_wide(column: NDArray[Any]) -> bool:
    """Whether some whole number is not a float: identifiers of 19 digits must not meet."""
    if column.dtype.kind not in "iu" or column.dtype.itemsize < 8 or not column.size:
        return False
    return int(column.max()) > 2**53 or int(column.min()) < -(2**53)


def _value(value: object) -> bytes:
    """A value with its kind: the text "1" is not the number 1; whether a number is numpy's does not
    count.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, int) and abs(value) > 2**53:
        return b"n" + repr(value).encode()
    if isinstance(value, bool | int | float):
        return b"n" + repr(float(value)).encode()
    return b"o" + repr(value).encode()
