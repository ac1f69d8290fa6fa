"""Rows that are affine in the policy: what every statistic becomes on a data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A row that is smaller than this share of the terms it is the sum of is 0, and the rest rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rows:
    """The rows of one statistic: z_i = offset_i + sum_a slope_ai * pi(a | x_i).

    Probabilities sum to 1, so those of all classes but the first say everything; ``slope`` has one
    line for each of these *free* probabilities. Where decisions are numbers, it has one for each of
    the policy's free numbers: see `elfair.statistics.decisions`.

    Parameters
    ----------
    index : ndarray of shape (m,)
        Which rows of the data set meet the condition.
    offset : ndarray of shape (m,)
        The part of each row that no policy changes.
    slope : ndarray of shape (classes - 1, m)
        What each free probability adds.
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
        free : ndarray of shape (..., classes - 1, n)
            The free probabilities of every row of the data set.
        """
        return self.values_inside(self.inside(free))

    def inside(self, free: Floats) -> Floats:
        """The free probabilities of the rows that meet the condition."""
        return free if self.index.size == free.shape[-1] else free[..., self.index]

    def values_inside(self, inside: Floats) -> Floats:
        """The rows, from the free probabilities of those that meet the condition."""
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

    def scatter(self, by_probability: Floats, n: int) -> Floats:
        """Derivatives by the free probabilities of the rows inside, as derivatives by all."""
        if self.index.size == n:
            return by_probability
        gradient = np.zeros((len(self.slope), n))
        gradient[:, self.index] = by_probability
        return gradient

    def pull_back(self, weights: Floats, n: int) -> Floats:
        """The derivative by the free probabilities, from the derivative by the rows."""
        return self.scatter(self.slope * weights, n)
