"""What candidate rows predict of the fairness test, and what the search asks of it.

A *target* says how far inside its constraints a candidate must be. A *requirement* is one claim on
the candidate rows (`elfair.search.requirements`). Its *prediction* under a policy is a smooth
function of the policy, with a derivative.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import inf, isfinite, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri

from elfair.bounds import Sample
from elfair.bounds import base as bounds
from elfair.bounds.base import dot, mean_of
from elfair.search.changing import Change
from elfair.search.shrinkage import ShrunkMean
from elfair.statistics.doubt import by_means
from elfair.statistics.hidden import Hidden
from elfair.statistics.plan import Tail
from elfair.types import Floats

#: The default xi, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01
#: The power of the most cautious model, which is tested first.
HIGHEST_POWER = 0.999
#: The powers of less cautious models, tested after the wanted one. The last is the least cautious
#: that candidate rows support: they put its g below 0 by about half a standard error.
LOWER_POWERS = (0.6, 0.25)
#: A spread below this share of a row's terms is rounding: then the bound must look at the rows.
ROUNDING = 1e-13


class Factors(NamedTuple):
    """The factors of a weighted sum of predicted levels, and a constant.

    Parameters
    ----------
    upper, mean, error, spread : float
        The factors of these fields of `Levels`.
    constant : float
        Added to the sum.
    """

    upper: float
    mean: float = 0.0
    error: float = 0.0
    spread: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True)
class Target:
    """How far inside its constraints a candidate must be.

    Parameters
    ----------
    power : float, optional
        The wanted probability that each claim passes the test.
    inflation : float, optional
        The paper's way instead: the factor by which the predicted width of the bound is stretched.
    xi : float, optional
        The margin that makes the solution rate tend to 1; by default a share of the spread.

    Examples
    --------
    >>> Target(power=0.5, xi=0.25).factors
    Factors(upper=1.0, mean=0.0, error=0.0, spread=0.0, constant=0.25)
    """

    power: float | None = None
    inflation: float | None = None
    xi: float | None = None

    @property
    def of_ladder(self) -> list[Target]:
        """The targets of a ladder, the most demanding first; the paper's has only one.

        Examples
        --------
        >>> [target.power for target in Target(power=0.95).of_ladder]
        [0.999, 0.95, 0.6, 0.25]
        """
        own = self.power
        if own is None:
            return [self]
        powers = {max(own, HIGHEST_POWER), own, *(power for power in LOWER_POWERS if power < own)}
        return [replace(self, power=power) for power in sorted(powers, reverse=True)]

    @property
    def factors(self) -> Factors:
        """The factors of the excess, which is at most 0 if a candidate meets its target."""
        share, margin = (XI_SHARE, 0.0) if self.xi is None else (0.0, self.xi)
        if self.inflation is None:
            assert self.power is not None
            return Factors(1.0, 0.0, float(ndtri(self.power)), share, margin)
        return Factors(self.inflation, 1 - self.inflation, 0.0, share / 4, margin / 4)


class Levels(NamedTuple):
    """What is predicted of a bound.

    Parameters
    ----------
    upper : float
        The bound; infinite if the rows say nothing about their spread.
    mean : float
        The mean of g.
    error : float
        The standard error of the predicted bound: that of the test, and that of the prediction.
    spread : float
        The standard deviation of a row, all parts together.
    test_error : float
        The standard error of the test alone.
    optimism : float
        What the bound contains to allow for the luck of the search.
    """

    upper: float
    mean: float
    error: float
    spread: float
    test_error: float
    optimism: float


@dataclass
class Prediction(ABC):
    """What is predicted of one claim's test under one policy.

    Parameters
    ----------
    factors : Factors
        What the target asks for.
    """

    factors: Factors

    @cached_property
    @abstractmethod
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""

    @abstractmethod
    def pull_back(self, by: Factors, n: int) -> Floats:
        """The derivative of a weighted sum of the levels by the free numbers, of shape
        (channels, n); that of the excess if the factors are its own.
        """

    @property
    def spread(self) -> float:
        """The standard deviation of a row, all parts together."""
        return self.levels.spread

    @property
    def excess(self) -> float:
        """How far the claim misses its target; at most 0 if it meets it."""
        upper, mean, error, spread, *_ = self.levels
        if not isfinite(upper):  # never good enough, but the mean still shows a direction
            return abs(mean) + 1.0
        factors = self.factors
        level = factors.upper * upper + factors.mean * mean + factors.constant
        return level + factors.error * error + factors.spread * spread

    @property
    def score(self) -> float:
        """How many standard errors the bound is below 0: the test passes with Phi(score)."""
        if self.levels.error == 0:
            return inf if self.levels.upper <= 0 else -inf
        return -self.levels.upper / self.levels.error

    @property
    def log_pass(self) -> float:
        """The logarithm of the predicted probability that the test passes."""
        return float(log_ndtr(self.score))

    def log_pass_gradient(self, n: int) -> Floats:
        """The derivative of `log_pass` by the free numbers, where the score is finite."""
        # d log Phi(s) / ds = phi(s) / Phi(s), which grows like -s on the far left.
        slope = sqrt(2 / pi) / float(erfcx(-self.score / sqrt(2)))
        upper, error = self.levels.upper, self.levels.error
        return np.asarray(slope * self.pull_back(Factors(-1 / error, error=upper / error**2), n))


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
        self.rows = [part.rows.guessed for part in tail.parts]
        if shrunk is None:
            shrunk = [ShrunkMean(part.rows, 1.0) for part in tail.parts]
        self.shrunk = [
            rows if each.rows is part.rows else each.rows
            for rows, part, each in zip(self.rows, tail.parts, shrunk, strict=True)
        ]
        sizes = [rows.stands_for * rows.size for rows in self.rows]
        self.n_test = [test_ratio * size for size in sizes]
        self._others = [search_ratio * size for size in sizes]
        # Variances in units of a row's: of the shrunk mean, and of its distance from the test's.
        known = [each.share / others for each, others in zip(shrunk, self._others, strict=True)]
        self.error_shares = [1 / n + share for n, share in zip(self.n_test, known, strict=True)]
        if error_ratio is not None:
            self.error_shares = [1 / (error_ratio * size) for size in sizes]
        # A search that fits p parameters to n rows finds an average that is better than the truth
        # by about p / n standard deviations of a row (measured on the foster-care-like population
        # at 500 to 4,096 rows): it finds whatever luck there is.
        self.optimism = [n_parameters * share for share in known]
        #: What all rows say of the mean beyond what those at hand do; see `anchor`.
        self._beyond = 0.0
        self._moments: tuple[float, float] | None = None
        self._doubt = tail.doubt
        if len(self.rows) == 1 and self.rows[0].doubt is None and self.rows[0].shift == 1:
            width = self.rows[0].high - self.rows[0].low
            self._moments = self._bound.moment_factors(width, self._delta, self.n_test[0])

    def anchor(self, free: Floats, mean: float) -> None:
        """From now on, shift means so that this policy has the mean that more rows give it.

        What is left of the luck of the rows at hand is what they say of the difference between two
        policies, which is small for policies that are alike.
        """
        self._beyond += mean - self.predict(free).mean

    def predict(self, free: Floats) -> TailPrediction:
        """The prediction under one policy."""
        g, varies, means, spreads, centred, insides = self._beyond, True, [], [], [], []
        changes = [Change(rows) for rows in self.rows]
        for rows, shrunk, change in zip(self.rows, self.shrunk, changes, strict=True):
            inside = rows.inside(free)
            mean, spread, away = _moments_of(change.of(rows.values_inside(inside)))
            if spread <= ROUNDING * rows.mean_size:  # then the mean is certain, too
                mean, spread, away = _moments_of(change.of(rows.exact_values(free)))
                g, varies = g + mean, False
            elif shrunk is rows:
                g += mean
            else:
                total = float(np.einsum("ki,ki", shrunk.slope, inside))
                g += shrunk.mean_offset + total / away.size + change.cost
            means.append(mean)
            spreads.append(spread)
            centred.append(away)
            insides.append(inside)
        if self._moments is not None and varies:
            constant, slope = self._moments
            slopes = [slope + self.optimism[0]]
            return TailPrediction(
                self.factors, self, free, g, constant, slopes, spreads, centred, changes
            )
        hidden = []
        if self._bound.guarded:
            raw = [c if of.raw is None else of.raw for c, of in zip(centred, changes, strict=True)]
            hidden = list(map(Hidden, self.rows, insides, raw))
        guarded = [
            {"least_variance": h.least_variance, "worst": h.worst_by_weight, "others": others}
            for h, others in zip(hidden, self._others, strict=False)
        ] or [{}] * len(self.rows)
        samples = [
            Sample(c + mean, change.low, change.high, s or None, rows.places, **known)
            for rows, mean, c, s, known, change in zip(
                self.rows, means, centred, spreads, guarded, changes, strict=True
            )
        ]
        if (doubt := self._doubt(free)) is not None:
            samples.append(doubt)
        if not hidden:
            predicted = self._predicted(samples)
            margin = predicted.upper - sum(means)
            known = self.factors, self, free, g, margin, self.optimism, spreads, centred, changes
            return TailPrediction(*known, predicted)
        predicted = self._predicted(samples)
        guards = [
            _Guard(h, h.rare_cost(n, self._delta), sample.least_variance > spread**2)
            for h, n, sample, spread in zip(hidden, self.n_test, samples, spreads, strict=False)
        ]
        spreads = [max(s, sqrt(x.least_variance)) for s, x in zip(spreads, samples, strict=False)]
        margin = predicted.upper + sum(guard.cost for guard in guards) - sum(means)
        known = self.factors, self, free, g, margin, self.optimism, spreads, centred, changes
        return TailPrediction(*known, predicted, guards)

    def _predicted(self, samples: list[Sample]) -> bounds.Prediction:
        # A doubt about propensities has the rows that it has.
        sizes = [*self.n_test, *(float(each.n) for each in samples[len(self.rows) :])]
        return self._bound.predict(samples, self._delta, sizes, disjoint=self._disjoint)

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
        mean = mean + self._beyond
        factors = self.factors
        by_spread = factors.upper * (slope + self.optimism[0]) + factors.spread
        by_spread += factors.error * sqrt(self.error_shares[0])
        excess: Floats = (factors.upper + factors.mean) * mean + by_spread * spread
        excess += factors.upper * constant + factors.constant
        for i in np.flatnonzero(flat):
            excess[i] = self.predict(free[i]).excess
        return excess


def _moments_of(values: Floats) -> tuple[float, float, Floats]:
    """Mean and standard deviation; the values become their distances from the mean."""
    mean = mean_of(values)
    values -= mean
    return mean, sqrt(dot(values, values) / (values.size - 1)), values


class _Guard(NamedTuple):
    """What the rows of one part may hide under a policy, as the search foresees it.

    Parameters
    ----------
    hidden : Hidden
        What they may hide.
    cost : float
        What decisions that are too rare add to the bound.
    hides_variance : bool
        Whether rows show less than their known variance.
    """

    hidden: Hidden
    cost: float
    hides_variance: bool

    def slope(self, upper: float, by_variance: float, by_worst: float) -> Floats | float:
        """The derivative of a sum by the free numbers of the rows inside, beyond what rows show.

        Parameters
        ----------
        upper : float
            How much the bound counts in the sum.
        by_variance, by_worst : float
            The derivatives of the sum by the known variance and by the worst row.
        """
        total: Floats | float = 0.0
        if self.hides_variance:
            total = by_variance * self.hidden.least_variance_slope
        if by_worst:
            total = total + by_worst * self.hidden.worst_by_weight_slope
        if self.cost:
            total = total + upper * self.hidden.rare_cost_slope(self.cost)
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
    changes : list of Change
        What a change of people did to them.
    predicted : elfair.bounds.base.Prediction, optional
        The bound and its derivatives; by default, only the slopes count.
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
    changes: list[Change]
    predicted: bounds.Prediction | None = None
    guards: list[_Guard] = field(default_factory=list)

    @cached_property
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""
        stretched = sum(a * b for a, b in zip(self.slopes, self.spreads, strict=True))
        shares = zip(self.requirement.error_shares, self.spreads, strict=True)
        tested = zip(self.requirement.n_test, self.spreads, strict=True)
        lucky = zip(self.requirement.optimism, self.spreads, strict=True)
        return Levels(
            self.mean + self.margin + stretched,
            self.mean,
            sqrt(sum(share * spread**2 for share, spread in shares)),
            sqrt(sum(spread**2 for spread in self.spreads)),
            sqrt(sum(spread**2 / n for n, spread in tested)),
            sum(optimism * spread for optimism, spread in lucky),
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
            hidden = guard is not None and guard.hides_variance
            weights = away * (0.0 if hidden else by_variance / (away.size - 1))
            predicted = self.predicted
            if predicted is not None:  # what the bound adds to the average of the rows
                weights += by.upper * (predicted.by_values[k] - 1 / away.size)
            slope, steep = rows.slope_inside(rows.inside(self.free)), self.changes[k].slope
            weights = steep * weights + (steep - 1) * by_mean  # what a change of people costs
            by_free = (
                slope * rows.by_rows(weights)
                + (slope if shrunk is rows else shrunk.slope) * by_mean
            )
            if guard is not None and predicted is not None and predicted.by_worst:
                by_known = by_variance / 2 + by.upper * predicted.by_least_variance[k]
                by_free = by_free + guard.slope(
                    by.upper, by_known, by.upper * predicted.by_worst[k]
                )
            if predicted is not None and rows.doubt is not None:
                by_totals = by.upper * by_means(predicted.by_values[-1]) / rows.size
                by_free = by_free + rows.doubt.slope(by_totals, len(slope))
            total.append(rows.scatter(by_free, n))
        return reduce(np.add, total)
