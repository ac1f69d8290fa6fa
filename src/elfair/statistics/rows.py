"""Rows that are affine in the policy: what every statistic becomes on a data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from elfair.types import Floats

#: A row that is smaller than this share of the terms it is the sum of is 0, and the rest rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rows:
    """The rows of one statistic: z_i = offset_i + sum_k slope_ki * free_ki.

    The *free* numbers of a policy say everything about it on a row. Of a classifier, they are the
    probabilities of all classes but the first, as probabilities sum to 1; where decisions are
    numbers, see `elfair.statistics.decisions`.

    Parameters
    ----------
    index : ndarray of shape (m,)
        Which rows of the data set meet the condition.
    offset : ndarray of shape (m,)
        The part of each row that no policy changes.
    slope : ndarray of shape (channels, m)
        What each free number adds.
    low, high : float
        Ends that no row can leave whatever the policy does, by declaration and never by
        observation.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2]), np.array([1.0, 1.0]), np.array([[-1.0, 2.0]]), -1.0, 3.0)
    >>> rows.values(np.array([[0.5, 0.9, 0.25]]))
    array([0.5, 1.5])
    """

    index: NDArray[np.intp]
    offset: Floats
    slope: Floats
    low: float
    high: float

    def values(self, free: Floats) -> Floats:
        """The rows under a policy, or under several at once along leading axes.

        Parameters
        ----------
        free : ndarray of shape (..., channels, n)
            The free numbers of every row of the data set.
        """
        return self.values_inside(self.inside(free))

    def inside(self, free: Floats) -> Floats:
        """The free numbers of the rows that meet the condition."""
        return free if self.index.size == free.shape[-1] else free[..., self.index]

    def values_inside(self, inside: Floats) -> Floats:
        """The rows, from the free numbers of those that meet the condition."""
        values: Floats = inside[..., 0, :] * self.slope[0]
        for k in range(1, len(self.slope)):
            values += inside[..., k, :] * self.slope[k]
        values += self.offset
        return values

    @cached_property
    def mean_offset(self) -> float:
        """The part of the average that no policy changes."""
        return float(self.offset.mean())

    @cached_property
    def mean_size(self) -> float:
        """The size of what no policy changes, against which rounding is measured."""
        return float(np.abs(self.offset).mean())

    def exact_values(self, free: Floats) -> Floats:
        """The rows for the fairness test: what differs from 0 by rounding alone is 0.

        A policy equal to the behaviour model makes each paired row 0 by construction, which the
        bounds must be able to see.
        """
        values = self.values(free)
        terms = np.abs(self.slope * free[..., self.index])
        size = np.abs(self.offset) + np.sum(terms, axis=-2)
        return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)

    @property
    def are_silent(self) -> bool:
        """Whether each row is 0 whatever the policy: what is averaged was not seen at all, which
        is not to say that it never occurs.
        """
        return not (self.offset.any() or self.slope.any())

    def scatter(self, by_free: Floats, n: int) -> Floats:
        """Derivatives by the free numbers of the rows inside, as derivatives by all."""
        if self.index.size == n:
            return by_free
        gradient = np.zeros((len(self.slope), n))
        gradient[:, self.index] = by_free
        return gradient

    def pull_back(self, weights: Floats, n: int) -> Floats:
        """The derivative by the free numbers, from the derivative by the rows."""
        return self.scatter(self.slope * weights, n)
