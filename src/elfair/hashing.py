"""64-bit keys that look random and depend on nothing but what goes in."""

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
