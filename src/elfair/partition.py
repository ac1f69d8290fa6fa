"""The split into a candidate half, free for any use, and a sealed half that is opened once."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from elfair.columns import Array
from elfair.data import LoggedData
from elfair.errors import DataError, InputError

#: How often each held-out half was opened in this process, by the digest of its rows.
_openings: Counter[bytes] = Counter()


class SealedHalf:
    """Held-out rows that nothing can look at, except by opening them, which is counted.

    Only the fairness test opens the half. An opening is counted by the content of the rows, so that
    a second ``fit`` on the same rows and seed counts as the second opening it is.

    Parameters
    ----------
    data : LoggedData
        The held-out rows, in the (seeded, random) order in which they will be tested.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> sealed = SealedHalf(data)
    >>> sealed.n, sealed.openings
    (3, 0)
    >>> sealed.open() is data
    True
    >>> sealed.openings
    1
    """

    def __init__(self, data: LoggedData) -> None:
        self.__data = data
        self.__digest = data.digest()
        self.n = data.n

    @property
    def openings(self) -> int:
        """How often these rows have been opened in this process."""
        return _openings[self.__digest]

    def open(self) -> LoggedData:
        """Break the seal: the rows, for the fairness test."""
        _openings[self.__digest] += 1
        return self.__data


def partition(
    data: LoggedData,
    *,
    candidate_fraction: float = 0.6,
    seed: int = 0,
    stratified: bool = False,
) -> tuple[LoggedData, SealedHalf]:
    """Split the rows into a candidate half and a sealed fairness half.

    Each row gets a pseudo-random key that depends on the seed and on its index (or declared row id)
    alone, and the rows with the smallest keys become candidates: a simple random split of fixed
    size that does not move when constraints, features or the order of columns change.

    Parameters
    ----------
    data : LoggedData
        All rows.
    candidate_fraction : float, default 0.6
        The share of rows that the search may use.
    seed : int, default 0
        What the keys depend on.
    stratified : bool, default False
        Split within each combination of label and sensitive values, as the paper does. This ties
        the halves together, so that the bounds lose their proof; see the documentation.

    Returns
    -------
    (LoggedData, SealedHalf)
        The candidate rows in their original order, and the sealed rows in the order of their keys.

    Examples
    --------
    >>> data = LoggedData(np.arange(10.0)[:, None], [0, 1] * 5)
    >>> candidate, sealed = partition(data, seed=3)
    >>> candidate.n, sealed.n
    (6, 4)
    """
    if not 0 < candidate_fraction < 1:
        raise InputError(
            f"candidate_fraction must be between 0 and 1. Got {candidate_fraction!r}.",
            hint="0.6 is the usual choice.",
        )
    keys = row_keys(data, seed)
    strata = _strata(data) if stratified else np.zeros(data.n, dtype=np.intp)
    chosen = np.zeros(data.n, dtype=bool)
    for stratum in range(int(strata.max(initial=0)) + 1):
        rows = np.flatnonzero(strata == stratum)
        size = round(candidate_fraction * rows.size)
        if 0 < size < rows.size:
            chosen[rows[np.argpartition(keys[rows], size - 1)[:size]]] = True
        elif size:
            chosen[rows] = True
    held_out = np.flatnonzero(~chosen)
    if not chosen.any() or not held_out.size:
        raise DataError(
            f"{data.n} rows cannot be split into two halves at candidate_fraction="
            f"{candidate_fraction!r}.",
            hint="more rows are needed.",
        )
    # In the order of the keys: a seeded permutation, which the betting bound relies on.
    held_out = held_out[np.argsort(keys[held_out], kind="stable")]
    return data.take(np.flatnonzero(chosen)), SealedHalf(data.take(held_out))


def row_keys(data: LoggedData, seed: int) -> NDArray[np.uint64]:
    """A 64-bit key for each row, from the seed and the row's index or declared id alone."""
    if data.row_id is None:
        identity = np.arange(data.n, dtype=np.uint64)
    elif data.row_id.dtype.kind in "iu":
        identity = data.row_id.astype(np.uint64)
    else:
        identity = np.fromiter((_text_key(value) for value in data.row_id), dtype=np.uint64)
    start = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return _mix(_mix(identity ^ start[0]) + start[1])


def _mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of the splitmix64 generator (Steele, Lea and Flood 2014): a bijection of 64-bit
    numbers whose output bits each depend on every input bit.
    """
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _text_key(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(str(value).encode(), digest_size=8).digest(), "little")


def _strata(data: LoggedData) -> NDArray[np.intp]:
    """The number of each row's combination of label and sensitive values."""
    columns: list[Array] = list(data.sensitive.values())
    if data.label is not None:
        columns.append(data.label)
    strata = np.zeros(data.n, dtype=np.intp)
    for column in columns:
        _, codes = np.unique(column.astype(str), return_inverse=True)
        _, strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)
    return strata
