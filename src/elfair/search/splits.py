"""The splits that a tree may have, and fast sums over the leaves that two of them make.

A split puts the people whose value in a column is below a threshold on its left. The thresholds of
a column are all that divide its candidate rows differently; or, if there are more than so many,
those at equally spaced quantiles. A search that looks at each of them is exact on this grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.data.units import numbered
from elfair.types import Booleans, Floats, Index

#: The most thresholds of a column, and of all columns together (but each column has one).
MOST_THRESHOLDS = 32
MOST_SPLITS = 400


def round_between(low: float, high: float) -> float:
    """The number with the fewest digits that is above one number and at most another.

    Examples
    --------
    >>> round_between(19_873.0, 20_112.0), round_between(0.0, 1.0), round_between(-0.31, -0.26)
    (20000.0, 1.0, -0.3)
    """
    gap = high - low
    if not 0 < gap < np.inf:
        return high
    for exponent in range(floor(log10(gap)) + 1, floor(log10(gap)) - 17, -1):
        unit = Decimal(1).scaleb(exponent)
        rounded = float((Decimal(high) / unit).to_integral_value("ROUND_FLOOR") * unit)
        if low < rounded <= high:
            return rounded
    return high


@dataclass(frozen=True)
class Splits:
    """The splits of some rows, by column and then by threshold.

    Parameters
    ----------
    columns, thresholds : ndarray of shape (splits,)
        The column and the threshold of each.
    below : ndarray of shape (splits, bins)
        Whether each bin is on the left of each split. The bins of a column lie between its
        thresholds.
    bins : sparse array of shape (n, bins)
        The bin of each row in each column.
    """

    columns: Index
    thresholds: Floats
    below: Floats
    bins: Any

    @classmethod
    def of(cls, X: Floats) -> Splits:
        """The grid of some (candidate) rows.

        Examples
        --------
        >>> splits = Splits.of(np.array([[0.0, 18.0], [1.0, 31.0], [1.0, 45.0]]))
        >>> splits.columns.tolist(), splits.thresholds.tolist()
        ([0, 1, 1], [1.0, 30.0, 40.0])
        """
        from scipy.sparse import csr_array, hstack

        most = _most_thresholds(X)
        grids = [_thresholds(column, most) for column in X.T]
        sizes = [grid.size + 1 for grid in grids]
        below = np.zeros((sum(grid.size for grid in grids), sum(sizes)))
        codes, row, start = [], 0, 0
        for column, grid, size in zip(X.T, grids, sizes, strict=True):
            here = below[row : row + grid.size, start : start + size]
            here[:] = np.arange(size) <= np.arange(grid.size)[:, None]
            place = np.searchsorted(grid, column, side="right")
            ones = np.ones(place.size), (np.arange(place.size), place)
            codes.append(csr_array(ones, shape=(place.size, size)))
            row, start = row + grid.size, start + size
        columns = np.repeat(np.arange(len(grids)), [grid.size for grid in grids])
        return cls(columns, np.concatenate(grids), below, csr_array(hstack(codes)))

    @property
    def count(self) -> int:
        """How many splits there are."""
        return self.columns.size

    def together(self, weights: Floats) -> Floats:
        """For each two splits, the sum of weights of the rows on the left of both.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            The weight of each row.

        Examples
        --------
        >>> splits = Splits.of(np.array([[0.0, 18.0], [1.0, 31.0], [1.0, 45.0]]))
        >>> splits.together(np.array([1.0, 10.0, 100.0]))
        array([[ 1.,  1.,  1.],
               [ 1.,  1.,  1.],
               [ 1.,  1., 11.]])
        """
        scaled = self.bins.multiply(weights[:, None]).tocsr()
        return np.asarray(self.below @ (scaled.T @ self.bins).toarray() @ self.below.T)

    def left(self, split: int) -> Booleans:
        """Whether each row is on the left of a split."""
        return np.asarray(self.bins @ self.below[split] > 0)


def _thresholds(column: Floats, most: int) -> Floats:
    """At most so many thresholds of a column: the roundest that divide its rows in the same way."""
    values = np.unique(column)
    high = values[1:]
    if high.size > most:
        shares = np.arange(1, most + 1) / (most + 1)
        high = np.unique(np.quantile(column, shares, method="higher"))
        high = high[high > values[0]]
    low = values[np.searchsorted(values, high) - 1]
    return np.array([round_between(*pair) for pair in zip(low, high, strict=True)])


def _most_thresholds(X: Floats) -> int:
    """The most thresholds of a column with which all columns together do not have too many."""
    distinct = np.array([np.unique(column).size - 1 for column in X.T])
    counts = range(MOST_THRESHOLDS, 1, -1)
    fits = (most for most in counts if np.minimum(distinct, most).sum() <= MOST_SPLITS)
    return next(fits, 1)


@dataclass(frozen=True)
class Allowed:
    """Which splits leave enough rows of each logged decision in every leaf.

    Parameters
    ----------
    first : ndarray of shape (splits,)
        Whether each split may divide all rows.
    left, right : ndarray of shape (splits, splits)
        Whether the second may divide the people on the left, or on the right, of the first.
    """

    first: Booleans
    left: Booleans
    right: Booleans

    @classmethod
    def of(cls, splits: Splits, data: LoggedData, rows: int, depth: int = 2) -> Allowed:
        """With at least so many rows; without logged decisions, of whatever decision. A tree of
        depth 1 has no split below its first one.
        """
        deeper = np.full((splits.count, splits.count), depth > 1)
        every = cls(np.ones(splits.count, bool), deeper, deeper.copy())
        for weights in _counted(data):
            both = splits.together(weights)
            of, total = np.diag(both), weights.sum()
            every.first[:] &= (of >= rows) & (total - of >= rows)
            every.left[:] &= (both >= rows) & (of[:, None] - both >= rows)
            other = of[None, :] - both
            every.right[:] &= (other >= rows) & (total - of[:, None] - other >= rows)
        return every


def _counted(data: LoggedData) -> Iterator[Floats]:
    """How much each row counts, for each decision; the rows of a unit count as one."""
    place, first = numbered(data)
    counts = 1 / np.bincount(place, minlength=first.size)[place]
    if data.decision_index is None:
        yield counts
        return
    for decision in range(data.classes.size):
        yield counts * (data.decision_index == decision)
