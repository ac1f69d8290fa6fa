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
* A change of people (`elfair.statistics.shift`) makes a row steeper or less steep, by at most its
  likelihood ratio S: the variance is at least 1 / S^2 of the above.
* Units: u and (w - 1) r add up over the rows of a unit, each times the row's share a. Decisions
  about the rows of one unit are taken to be drawn independently of each other given x, so that the
  second term is E[sum of v(x) (a r)^2]. If they are drawn together, rows vary more than this; the
  variance is only a floor.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, inf, log

import numpy as np

from elfair.bounds.base import dot
from elfair.statistics.rows import Rows
from elfair.statistics.sums import TYPICAL, HiddenSums, Spread
from elfair.types import Floats


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

    @cached_property
    def sums(self) -> HiddenSums | None:
        """All of it, as sums over the rows; None if their weights are 1."""
        weighted, weights = self._rows.weighted, self._weights
        if weighted is None or weights is None:
            return None
        known, unweighted, by_weights = weights.variances, Spread(), None
        if known is not None:
            by_residuals = weights.values - 1
            by_residuals *= weighted.residual
            unweighted = Spread.of(self._values - self._rows.gathered(by_residuals))
            by_weights = dot(known, weighted.squares)
        away = (weights.values - 1) ** 2 if known is None else known
        return HiddenSums(
            n=self._rows.size,
            rows=weighted.residual.size,
            unweighted=unweighted,
            by_weights=by_weights,
            residuals=weighted.sum_of_squares,
            away=float(np.add.reduce(away)) if self._squares is None else dot(away, self._squares),
            reach=weighted.reach,
            shift=self._rows.shift,
        )

    @property
    def least_variance(self) -> float:
        """See `HiddenSums.least_variance`."""
        return 0.0 if self.sums is None else self.sums.least_variance

    @property
    def least_variance_slope(self) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m).

        The variance of a row with a weight of 1 counts as constant: only rates that are tested
        together with impacts change it.
        """
        assert self._weights is not None
        assert self._rows.weighted is not None
        squares = self._rows.weighted.squares
        known = squares / (self._rows.size * self._rows.shift**2)
        return np.asarray(self._weights.variance_slopes * known)

    @property
    def worst_by_weight(self) -> float:
        """See `HiddenSums.worst_by_weight`."""
        return -inf if self.sums is None else self.sums.worst_by_weight

    @property
    def worst_by_weight_slope(self) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m)."""
        weighted, weights = self._rows.weighted, self._weights
        assert weighted is not None
        assert weights is not None
        assert self.sums is not None
        if weights.variances is not None:
            slopes = weights.variance_slopes
        else:
            slopes = 2 * (weights.values - 1) * weights.slopes
        share = TYPICAL * weighted.reach.largest / (2 * self.sums.distance * self._rows.size)
        return np.asarray(
            slopes * share if self._squares is None else slopes * self._squares * share
        )

    def rare_cost(self, n: float, delta: float) -> float:
        """What the decisions that n rows may not show can add to the average, at the worst
        residual. If their share is a guess, the test charges what its weights lack: all of it if
        none of these rows is there, so that the chance of that counts.
        """
        if self._weights is None or self._weights.rarest is None:
            return 0.0
        assert self._rows.weighted is not None
        new, logged, _, guess = self._weights.rarest
        share = new * exp(-n * logged) if guess else rare_share(new, logged, n, delta)
        return share * max(0.0, self._rows.weighted.worst)

    def rare_cost_slope(self, cost: float) -> Floats:
        """Its derivative by the free numbers of the rows inside, of shape (channels, m), where it
        is not 0: it grows in proportion to how often the policy takes these decisions.
        """
        assert self._weights is not None
        assert self._weights.rarest is not None
        taken = self._weights.rarest.which.astype(np.float64)
        share = cost / (self._weights.rarest.new * self._rows.size)
        units = self._rows.units
        return np.asarray(
            (taken[1:] - taken[0]) * (share if units is None else share * units.share)
        )

    @property
    def _squares(self) -> Floats | None:
        """The squares of the shares of rows in the values of units; None without units."""
        return None if self._rows.units is None else np.square(self._rows.units.share)


def worst_row(rows: Rows, free: Floats) -> float:
    """A row as large as rows under a policy can well be: the largest of them, or the largest
    residual in the table with a typical weight. (The search may have found a policy that leaves the
    largest residuals of its own rows alone.)
    """
    inside = rows.inside(free)
    values = rows.exact_inside(inside)
    worst, _, _ = rows.worst_case(values.max(keepdims=True), rows.threshold(values))
    return max(float(worst[0]), Hidden(rows, inside, values).worst_by_weight)


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
