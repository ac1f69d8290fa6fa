"""Rows in the order in which they are looked at, as pieces that bets are made on.

A *value* is one row of a statement; of a sum of averages over groups that share nobody, it is the
mean of some rows of each group, added up. When a value is complete depends on the groups of rows
alone, never on what rows hold: so each has the mean g, whatever came before it.

The first values are bet on one by one. Later ones are gathered into *pieces*, each half a per cent
of what came before, of which number, sum and sum of squares are kept. So a look at ten million rows
costs hardly more than reading them, and nothing depends on how they were divided among looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from elfair.types import Floats, Index

#: So many values are bet on one by one.
SINGLE = 2_000
#: Later pieces hold one in so many of the values so far.
GATHERED = 200
#: Values of several groups hold more rows as these add up: the square root of their number, less
#: this factor. So there are few of them, and a bet on one still wins what bets on its rows would.
COARSE = 80


class Pieces(NamedTuple):
    """Some pieces, in order.

    Parameters
    ----------
    sizes : ndarray of shape (pieces,)
        How many values each holds.
    total, squares : ndarray of shape (pieces, ...)
        Their sum, and the sum of their squares; further axes are independent repetitions.
    """

    sizes: Index
    total: Floats
    squares: Floats

    def part(self, start: int, stop: int | None) -> Pieces:
        """Some of them."""
        some = slice(start, stop)
        return Pieces(self.sizes[some], self.total[some], self.squares[some])


class Gathering:
    """Gathers values into pieces.

    Examples
    --------
    >>> gathering = Gathering()
    >>> gathering.add(np.ones(2_009)).sizes.size, gathering.open[0]
    (2000, 9)
    >>> gathering.add(np.ones(1)).sizes
    array([10])
    """

    def __init__(self) -> None:
        #: How many values are in finished pieces.
        self.n = 0
        #: Of the piece that is being gathered: number, sum and sum of squares.
        self.open: tuple[int, Any, Any] = (0, 0.0, 0.0)

    def add(self, values: Floats) -> Pieces:
        """The pieces that these values complete."""
        single = min(len(values), max(0, SINGLE - self.n)) if not self.open[0] else 0
        first, rest = values[:single], values[single:]
        counts, totals, squares = [1] * single, [*first], [*np.square(first)]
        self.n += single
        while len(rest):
            count, total, square = self.open
            lacking = max(1, self.n // GATHERED) - count
            some, rest = rest[:lacking], rest[lacking:]
            self.open = (
                count + len(some),
                total + some.sum(axis=0),
                square + np.square(some).sum(axis=0),
            )
            if len(some) < lacking:
                break
            for kept, each in zip((counts, totals, squares), self.open, strict=True):
                kept.append(each)
            self.n, self.open = self.n + self.open[0], (0, 0.0, 0.0)
        shape = (len(counts), *values.shape[1:])
        return Pieces(
            np.array(counts, dtype=np.intp),
            np.reshape(totals, shape).astype(np.float64),
            np.reshape(squares, shape).astype(np.float64),
        )


class Pairing:
    """Makes values of the rows of several groups.

    Parameters
    ----------
    groups : int
        How many there are.

    Examples
    --------
    >>> pairing = Pairing(2)
    >>> pairing.add(np.array([0, 0, 1, 1, 0]), np.array([1.0, 3.0, 10.0, 20.0, 5.0]))
    array([12., 25.])
    """

    def __init__(self, groups: int) -> None:
        #: How many rows of each group are in finished values.
        self.n = 0
        #: Of the value that is being made: the number and the sum of the rows of each group.
        self.count = np.zeros(groups, dtype=np.intp)
        self.total = np.zeros(groups)

    def add(self, group: Index, rows: Floats) -> Floats:
        """The values that these rows complete.

        Parameters
        ----------
        group : ndarray of shape (m,)
            The group of each row.
        rows : ndarray of shape (m,)
            The rows.
        """
        if self.count.size == 1:
            return rows
        places = [np.flatnonzero(group == k) for k in range(self.count.size)]
        sums = [np.concatenate([[0.0], np.cumsum(rows[each])]) for each in places]
        used = [0] * len(places)
        values = []
        while (end := self._end(places, used)) is not None:
            until = [int(np.searchsorted(each, end, side="right")) for each in places]
            value = 0.0
            for k, (start, stop) in enumerate(zip(used, until, strict=True)):
                total = self.total[k] + sums[k][stop] - sums[k][start]
                value += float(total) / (int(self.count[k]) + stop - start)
            values.append(value)
            self.n += self._size
            used = until
            self.count[:], self.total[:] = 0, 0.0
        for k, start in enumerate(used):
            self.count[k] += places[k].size - start
            self.total[k] += sums[k][-1] - sums[k][start]
        return np.array(values)

    @property
    def _size(self) -> int:
        """How many rows of the smallest group the next value has."""
        return max(1, isqrt(self.n) // COARSE)

    def _end(self, places: Sequence[Index], used: Sequence[int]) -> int | None:
        """The row that completes the next value; None if it has not come yet."""
        end = -1
        for k, each in enumerate(places):
            last = used[k] + self._size - int(self.count[k]) - 1
            if last >= each.size:
                return None
            if last >= used[k]:
                end = max(end, int(each[last]))
        return end if end >= 0 else None
