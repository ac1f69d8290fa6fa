"""What rows can do by their weights, whether or not these rows show it.

A row is z = u + (w - 1) r: r is what its weight w multiplies, and u is the row with a weight of 1.
Weights have mean 1 and, where the behaviour model is known, a known variance v(x), whatever is
decided. If the impact does not depend on the decision, neither do u and r, so that

    Var(z) = Var(u) + E[v(x) r^2].

Rows of decisions that are reversed have w = 0; the rows with large weights that would contradict
them may happen to be absent. Then rows show less than this.

* Paired, E[impact] against E_logged[impact]: r is the impact less q(x), and u is constant.
* A fixed threshold: r is the same, and u varies like the impact.
* Doubly robust: r is the error of the outcome model for the decision that was taken, and u is what
  the model expects the new decisions to change (with a fixed threshold, plus r).
* Several impacts in one condition: r and u are sums. Several conditions: each has its own rows.
* An event, or what stands in for a quantile or a deficit, is a function of an impact, and no more.
* Units: u and (w - 1) r add up over the rows of a unit, each times the row's share a. Decisions
  about the rows of one unit are taken to be drawn independently of each other given x, so that the
  second term is E[sum of v(x) (a r)^2]. If they are drawn together, rows vary more than this; the
  variance is only a floor.
"""

from __future__ import annotations

from functools import cached_property
from math import inf, log, sqrt

import numpy as np

from elfair.bounds.base import dot, mean_of, variance_of
from elfair.statistics.rows import ROUNDING, Rows
from elfair.types import Floats

#: The worst residual counts with this share of the typical distance of a weight from 1. Chosen with
#: two populations of benchmarks/worlds.py in view, at 300 rows: with 0.5, "no insurance" breaks its
#: promise .16 of the time in 100 trials at the edge (.13 with 0.75); with 1, the twin of "three
#: values" returns a model .15 of the time (.43 with 0.7; a t test that knows the variance, .57).
TYPICAL = 0.7


class Hidden:
    """What some rows under one policy may hide.

    Parameters
    ----------
    rows : Rows
        The rows.
    inside : ndarray of shape (channels, m)
        The policy, by its free numbers of these rows.
    values : ndarray of shape (m,)
        The rows (or units) under the policy, up to a constant.
    """

    def __init__(self, rows: Rows, inside: Floats, values: Floats) -> None:
        self._rows, self._values = rows, values
        weighted = rows.weighted
        self._weights = None if weighted is None else weighted.law.weights(inside)

    @classmethod
    def under(cls, rows: Rows, free: Floats) -> Hidden:
        """From the free numbers of every row of the data set."""
        inside = rows.inside(free)
        return cls(rows, inside, rows.values_inside(inside))

    @property
    def least_variance(self) -> float:
        """The variance of the rows if impacts do not depend on decisions; 0 if it is not known."""
        if self._weights is None or self._weights.variances is None:
            return 0.0
        weighted = self._rows.weighted
        assert weighted is not None
        unweighted = self._weights.values - 1
        unweighted *= weighted.residual
        unweighted = self._values - self._rows.gathered(unweighted)
        by_weights = dot(self._weights.variances, weighted.squares) / unweighted.size
        least = variance_of(unweighted) + by_weights
        # Of the behaviour model itself, only rounding is left.
        return least if least > ROUNDING**2 * mean_of(weighted.squares) else 0.0

    @property
    def least_variance_slope(self) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m).

        The variance of a row with a weight of 1 counts as constant: only rates that are tested
        together with impacts change it.
        """
        assert self._weights is not None
        assert self._rows.weighted is not None
        squares = self._rows.weighted.squares
        return np.asarray(self._weights.variance_slopes * squares / self._rows.size)

    @property
    def worst_by_weight(self) -> float:
        """The largest residual in the table with nearly a typical weight; -inf if weights are 1."""
        if self._rows.weighted is None or self._distance <= ROUNDING:
            return -inf
        return TYPICAL * self._rows.weighted.largest * self._distance

    @property
    def worst_by_weight_slope(self) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m)."""
        weighted, weights = self._rows.weighted, self._weights
        assert weighted is not None
        assert weights is not None
        if weights.variances is not None:
            slopes = weights.variance_slopes
        else:
            slopes = 2 * (weights.values - 1) * weights.slopes
        share = TYPICAL * weighted.largest / (2 * self._distance * self._rows.size)
        return np.asarray(
            slopes * share if self._squares is None else slopes * self._squares * share
        )

    def rare_cost(self, n: float, delta: float) -> float:
        """What the decisions that n rows may not show can add to the average, at the worst
        residual.
        """
        if self._weights is None or self._weights.rarest is None:
            return 0.0
        assert self._rows.weighted is not None
        share = rare_share(self._weights.rarest.new, self._weights.rarest.logged, n, delta)
        return share * max(0.0, self._rows.weighted.worst)

    @property
    def rare_cost_slope(self) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m)."""
        assert self._weights is not None
        assert self._weights.rarest is not None
        assert self._rows.weighted is not None
        taken = self._weights.rarest.which.astype(np.float64)
        share = max(0.0, self._rows.weighted.worst) / self._rows.size
        units = self._rows.units
        return np.asarray(
            (taken[1:] - taken[0]) * (share if units is None else share * units.share)
        )

    @cached_property
    def _distance(self) -> float:
        """The typical distance of a weight from 1."""
        assert self._weights is not None
        squares = self._weights.variances
        if squares is None:
            squares = (self._weights.values - 1) ** 2
        if self._squares is None:
            return sqrt(mean_of(squares))
        return sqrt(dot(squares, self._squares) / self._rows.size)

    @property
    def _squares(self) -> Floats | None:
        """The squares of the shares of rows in the values of units; None without units."""
        return None if self._rows.units is None else np.square(self._rows.units.share)


def worst_row(rows: Rows, free: Floats) -> float:
    """A row as large as rows under a policy can well be: the largest of them, or the largest
    residual in the table with a typical weight. (The search may have found a policy that leaves the
    largest residuals of its own rows alone.)
    """
    largest = float(rows.exact_values(free).max())
    return max(largest, Hidden.under(rows, free).worst_by_weight)


def rare_share(new: float, logged: float, n: float, delta: float) -> float:
    """The share of a policy's decisions that rows may not show at all: that of the rarest ones, if
    all rows with them are absent with a probability above delta.

    Parameters
    ----------
    new, logged : float
        How often the policy takes these decisions, and how often the behaviour model does.
    n : float
        The number of rows.
    delta : float
        The probability with which a bound may err.

    Examples
    --------
    >>> rare_share(0.05, 0.0025, 400, 0.1), rare_share(0.05, 0.0025, 4000, 0.1)
    (0.05, 0.0)
    """
    return new if n * logged < -log(delta) else 0.0
