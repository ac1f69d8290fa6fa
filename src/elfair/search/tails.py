"""What candidate rows predict of the bound on one linear form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import isfinite, sqrt

import numpy as np

from elfair.bounds import Sample
from elfair.search.prediction import Factors, Levels, Prediction, Target
from elfair.search.shrinkage import ShrunkMean
from elfair.statistics.hidden import (
    least_variance,
    least_variance_slope,
    rare_cost,
    worst_by_weight,
)
from elfair.statistics.plan import Tail
from elfair.statistics.rows import Rows
from elfair.types import Floats

#: The step of a derivative, as a share.
SMALL = 1e-6
#: A spread below this share of a row's terms is rounding: then the bound must look at the rows.
ROUNDING = 1e-13


class TailRequirement:
    """A tail of a claim on the candidate rows, which predict its bound.

    Parameters
    ----------
    tail : Tail
        The tail on the candidate rows.
    target : Target
        How far inside its constraints a candidate must be.
    test_ratio : float
        The expected number of test rows for each row at hand.
    search_ratio : float, default 1
        Candidate rows for each row at hand (above 1 if the search works on a part of them).
    shrunk : sequence of ShrunkMean, optional
        One for each part; by default, the average of the rows themselves.
    n_parameters : int, default 0
        The number of parameters that the search will fit to these rows.
    error_ratio : float, optional
        The number of rows whose average errs as much as the prediction, for each row at hand. By
        default, the prediction and the test err independently of each other.
    """

    def __init__(
        self,
        tail: Tail,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
        *,
        shrunk: Sequence[ShrunkMean] | None = None,
        n_parameters: int = 0,
        error_ratio: float | None = None,
    ) -> None:
        self._bound, self._delta, self._disjoint = tail.bound, tail.delta, tail.disjoint
        self.factors = target.factors
        self.rows = [part.rows for part in tail.parts]
        if shrunk is None:
            shrunk = [ShrunkMean(rows, 1.0) for rows in self.rows]
        self.shrunk = [each.rows for each in shrunk]
        self._n_test = [test_ratio * rows.index.size for rows in self.rows]
        self._others = [search_ratio * rows.index.size for rows in self.rows]
        # Variances in units of a row's: of the shrunk mean, and of its distance from the test's.
        known = [
            each.share / (search_ratio * rows.index.size)
            for each, rows in zip(shrunk, self.rows, strict=True)
        ]
        self.error_shares = [1 / n + share for n, share in zip(self._n_test, known, strict=True)]
        if error_ratio is not None:
            self.error_shares = [1 / (error_ratio * rows.index.size) for rows in self.rows]
        # A search that fits p parameters to n rows finds an average that is better than the truth
        # by about p / n standard deviations of a row (measured on the foster-care-like population
        # at 500 to 4,096 rows): it finds whatever luck there is.
        self._optimism = [n_parameters * share for share in known]
        self._moments: tuple[float, float] | None = None
        if len(self.rows) == 1:
            width = self.rows[0].high - self.rows[0].low
            self._moments = self._bound.moment_factors(width, self._delta, self._n_test[0])

    def predict(self, free: Floats) -> TailPrediction:
        """The prediction under one policy."""
        g, varies, means, spreads, centred = 0.0, True, [], [], []
        for rows, shrunk in zip(self.rows, self.shrunk, strict=True):
            inside = rows.inside(free)
            mean, spread, away = _moments_of(rows.values_inside(inside))
            if spread <= ROUNDING * rows.mean_size:  # then the mean is certain, too
                mean, spread, away = _moments_of(rows.exact_values(free))
                g, varies = g + mean, False
            elif shrunk is rows:
                g += mean
            else:
                total = float(np.einsum("ki,ki", shrunk.slope, inside))
                g += shrunk.mean_offset + total / away.size
            means.append(mean)
            spreads.append(spread)
            centred.append(away)
        if self._moments is not None and varies:
            constant, slope = self._moments
            slopes = [slope + self._optimism[0]]
            return TailPrediction(self.factors, self, free, g, constant, slopes, spreads, centred)
        samples = [
            Sample(c + mean, rows.low, rows.high, s or None, rows.index)
            for rows, mean, c, s in zip(self.rows, means, centred, spreads, strict=True)
        ]
        if not self._bound.guarded:
            upper, gradients = self._predicted(samples)
            margin, slopes = upper - sum(means), self._optimism
            return TailPrediction(
                self.factors, self, free, g, margin, slopes, spreads, centred, gradients
            )
        guards = [
            _Guard.of(rows, free, n, self._delta)
            for rows, n in zip(self.rows, self._n_test, strict=True)
        ]
        samples = [
            replace(sample, least_variance=guard.least_variance, worst=guard.worst, others=others)
            for sample, guard, others in zip(samples, guards, self._others, strict=True)
        ]
        upper, gradients = self._predicted(samples)
        for k, guard in enumerate(guards):
            guard.by_worst = self._by("worst", samples, k, upper)
            if guard.least_variance > spreads[k] ** 2:
                guard.by_variance = self._by("least_variance", samples, k, upper)
                spreads[k] = sqrt(guard.least_variance)
        margin = upper + sum(guard.cost for guard in guards) - sum(means)
        return TailPrediction(
            self.factors, self, free, g, margin, self._optimism, spreads, centred, gradients, guards
        )

    def _predicted(self, samples: list[Sample]) -> tuple[float, list[Floats]]:
        return self._bound.predict(samples, self._delta, self._n_test, disjoint=self._disjoint)

    def _by(self, name: str, samples: list[Sample], k: int, upper: float) -> float:
        """The derivative of the bound by what is known of one part apart from its rows."""
        known = getattr(samples[k], name)
        step = SMALL * abs(known)
        if not isfinite(step) or step == 0:
            return 0.0
        more = replace(samples[k], **{name: known + step})
        ahead, _ = self._predicted([*samples[:k], more, *samples[k + 1 :]])
        return (ahead - upper) / step if ahead > upper else 0.0

    def excess(self, free: Floats) -> Floats:
        """The excess of each of many policies, of shape (size,)."""
        if self._moments is None:
            return np.array([self.predict(one).excess for one in free])
        values = self.rows[0].values(free)
        mean, spread = values.mean(axis=-1), values.std(axis=-1, ddof=1)
        flat = spread <= ROUNDING * self.rows[0].mean_size
        if self.shrunk[0] is not self.rows[0]:
            mean = self.shrunk[0].values(free).mean(axis=-1)
        constant, slope = self._moments
        factors = self.factors
        by_spread = factors.upper * (slope + self._optimism[0]) + factors.spread
        by_spread += factors.error * sqrt(self.error_shares[0])
        excess: Floats = (factors.upper + factors.mean) * mean + by_spread * spread
        excess += factors.upper * constant + factors.constant
        for i in np.flatnonzero(flat):
            excess[i] = self.predict(free[i]).excess
        return excess


def _moments_of(values: Floats) -> tuple[float, float, Floats]:
    """Mean and standard deviation; the values become their distances from the mean."""
    mean = float(values.mean())
    values -= mean
    return mean, sqrt(float(np.einsum("i,i", values, values)) / (values.size - 1)), values


@dataclass
class _Guard:
    """What the rows of one part may hide under a policy, as the search foresees it.

    Parameters
    ----------
    least_variance, worst : float
        See `Sample`.
    cost : float
        What decisions that are too rare add to the bound.
    of_worst, of_cost : ndarray of shape (channels, m) or None
        Their derivatives by the free numbers of the rows inside; None for 0.
    by_variance, by_worst : float or None
        The derivatives of the bound; no ``by_variance`` if rows show their variance.
    """

    least_variance: float
    worst: float
    of_worst: Floats | None
    cost: float
    of_cost: Floats | None
    by_variance: float | None = None
    by_worst: float = 0.0

    @classmethod
    def of(cls, rows: Rows, free: Floats, n: float, delta: float) -> _Guard:
        """On candidate rows, for a test on n rows."""
        worst, cost = worst_by_weight(rows, free), rare_cost(rows, free, n, delta)
        return cls(least_variance(rows, free), *worst, *cost)

    def slope(self, upper: float, variance: float, rows: Rows, free: Floats) -> Floats | float:
        """The derivative of a sum by the free numbers of the rows inside, beyond what rows show.

        Parameters
        ----------
        upper, variance : float
            How much the bound and, apart from it, the variance of a row count in the sum.
        rows : Rows
            The rows.
        free : ndarray of shape (channels, n)
            The policy.
        """
        total: Floats | float = 0.0
        if self.by_variance is not None:
            total = (variance + upper * self.by_variance) * least_variance_slope(rows, free)
        if self.of_worst is not None:
            total = total + upper * self.by_worst * self.of_worst
        if self.of_cost is not None:
            total = total + upper * self.of_cost
        return total


@dataclass
class TailPrediction(Prediction):
    """What is predicted of the bound on one linear form.

    Parameters
    ----------
    requirement : TailRequirement
        Where it comes from.
    free : ndarray of shape (channels, n)
        The policy.
    mean : float
        The mean of the form.
    margin : float
        What the bound adds to the mean, apart from the slopes.
    slopes : list of float
        How much of each part's spread the bound adds.
    spreads : list of float
        The standard deviation of a row of each part.
    centred : list of ndarray
        The rows of each part, minus their mean.
    gradients : list of ndarray, optional
        The derivative of the bound by the rows of each part; by default, only the slopes count.
    guards : list of _Guard
        What the rows of each part may hide; empty if the bound does not ask.
    """

    requirement: TailRequirement
    free: Floats
    mean: float
    margin: float
    slopes: list[float]
    spreads: list[float]
    centred: list[Floats]
    gradients: list[Floats] | None = None
    guards: list[_Guard] = field(default_factory=list)

    @cached_property
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""
        stretched = sum(a * b for a, b in zip(self.slopes, self.spreads, strict=True))
        shares = zip(self.requirement.error_shares, self.spreads, strict=True)
        return Levels(
            self.mean + self.margin + stretched,
            self.mean,
            sqrt(sum(share * spread**2 for share, spread in shares)),
            sqrt(sum(spread**2 for spread in self.spreads)),
        )

    def pull_back(self, by: Factors, n: int) -> Floats:
        """See `Prediction.pull_back`."""
        requirement, total = self.requirement, []
        for k, (rows, shrunk) in enumerate(zip(requirement.rows, requirement.shrunk, strict=True)):
            away, spread = self.centred[k], self.spreads[k]
            by_mean = (by.upper + by.mean) / away.size
            by_variance = 0.0
            if spread > 0:
                by_variance = by.upper * self.slopes[k] / spread + by.spread / self.levels.spread
                by_variance += by.error * requirement.error_shares[k] / self.levels.error
            guard = self.guards[k] if self.guards else None
            hidden = guard is not None and guard.by_variance is not None
            weights = away * (0.0 if hidden else by_variance / (away.size - 1))
            if self.gradients is not None:  # what the bound adds to the average of the rows
                weights += by.upper * (self.gradients[k] - 1 / away.size)
            slope = rows.slope_inside(rows.inside(self.free))
            by_free = slope * weights + (slope if shrunk is rows else shrunk.slope) * by_mean
            if guard is not None:
                by_free = by_free + guard.slope(by.upper, by_variance / 2, rows, self.free)
            total.append(rows.scatter(by_free, n))
        return reduce(np.add, total)
