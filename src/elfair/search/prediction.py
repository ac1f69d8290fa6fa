"""What candidate rows predict of the fairness test: smooth functions of the policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from elfair.bounds import Sample
from elfair.language.intervals import Formula
from elfair.search.targets import Target, Terms
from elfair.statistics import Rows
from elfair.statistics.plan import CompiledClaim, Tail
from elfair.types import Floats

#: A spread below this share of a row's terms is rounding: then the bound has to look at the rows.
ROUNDING = 1e-13


class Belief(NamedTuple):
    """What the search believes of the mean of some rows.

    Parameters
    ----------
    rows : Rows
        Rows whose average is taken for the mean: the same rows, or some that know better.
    share : float
        The variance of that average, as a share of the variance of the average it stands for.
    """

    rows: Rows
    share: float


class TailRequirement:
    """A tail of a claim as the search sees it: what candidate rows predict of its bound.

    Parameters
    ----------
    tail : Tail
        The tail on the candidate rows.
    target : Target
        How far inside a candidate is to be.
    test_ratio : float
        Expected rows of the test for each row at hand.
    search_ratio : float, default 1
        Candidate rows for each row at hand (above 1 when the search works on some of them).
    beliefs : sequence of Belief, optional
        One for each part; without them, the average of the rows themselves.
    n_parameters : int, default 0
        How many parameters the search will fit to these rows.
    error_ratio : float, optional
        Rows whose average errs as much as the prediction, for each row at hand. Without it, what
        the search believes and what the test finds err independently of each other.
    """

    def __init__(
        self,
        tail: Tail,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
        *,
        beliefs: Sequence[Belief] | None = None,
        n_parameters: int = 0,
        error_ratio: float | None = None,
    ) -> None:
        self._bound, self._delta, self._disjoint = tail.bound, tail.delta, tail.disjoint
        self.terms = target.terms
        self.rows = [part.rows for part in tail.parts]
        if beliefs is None:
            beliefs = [Belief(rows, 1.0) for rows in self.rows]
        self.believed = [belief.rows for belief in beliefs]
        self._n_test = [test_ratio * rows.index.size for rows in self.rows]
        # Variances in units of a row's: of the believed mean, and of its distance from the test's.
        known = [
            belief.share / (search_ratio * rows.index.size)
            for belief, rows in zip(beliefs, self.rows, strict=True)
        ]
        self.error_shares = [1 / n + share for n, share in zip(self._n_test, known, strict=True)]
        if error_ratio is not None:
            self.error_shares = [1 / (error_ratio * rows.index.size) for rows in self.rows]
        # A search that fits p parameters to n rows finds an average that is better than the truth
        # by about p / n standard deviations of a row (measured on the foster-care-like population
        # at 500 to 4,096 rows): what luck there is to find, it finds.
        self._optimism = [n_parameters * share for share in known]
        self._moments: tuple[float, float] | None = None
        if len(self.rows) == 1:
            width = self.rows[0].high - self.rows[0].low
            self._moments = self._bound.moment_factors(width, self._delta, self._n_test[0])

    def predict(self, free: Floats) -> TailPrediction:
        """What is predicted of the test under one policy."""
        believed, varies, means, spreads, centred = 0.0, True, [], [], []
        for rows, trusted in zip(self.rows, self.believed, strict=True):
            inside = rows.inside(free)
            mean, spread, away = _moments_of(rows.values_inside(inside))
            if spread <= ROUNDING * rows.mean_size:  # then the mean is certain, too
                mean, spread, away = _moments_of(rows.exact_values(free))
                believed, varies = believed + mean, False
            elif trusted is rows:
                believed += mean
            else:
                total = float(np.einsum("ki,ki", trusted.slope, inside))
                believed += trusted.mean_offset + total / away.size
            means.append(mean)
            spreads.append(spread)
            centred.append(away)
        if self._moments is not None and varies:
            constant, slope = self._moments
            slopes = [slope + self._optimism[0]]
            return TailPrediction(self, believed, constant, slopes, spreads, centred)
        samples = [
            Sample(away + mean, rows.low, rows.high, spread or None, rows.index)
            for rows, mean, away, spread in zip(self.rows, means, centred, spreads, strict=True)
        ]
        upper, gradients = self._bound.predict(
            samples, self._delta, self._n_test, disjoint=self._disjoint
        )
        margin = upper - sum(means)
        return TailPrediction(self, believed, margin, self._optimism, spreads, centred, gradients)

    def excess(self, free: Floats) -> Floats:
        """The excess of each policy of a population, of shape (size,)."""
        if self._moments is None:
            return np.array([self.predict(one).excess for one in free])
        values = self.rows[0].values(free)
        mean, spread = values.mean(axis=-1), values.std(axis=-1, ddof=1)
        flat = spread <= ROUNDING * self.rows[0].mean_size
        if self.believed[0] is not self.rows[0]:
            mean = self.believed[0].values(free).mean(axis=-1)
        constant, slope = self._moments
        terms = self.terms
        by_spread = terms.upper * (slope + self._optimism[0]) + terms.spread
        by_spread += terms.error * sqrt(self.error_shares[0])
        excess: Floats = (terms.upper + terms.mean) * mean + by_spread * spread
        excess += terms.upper * constant + terms.constant
        for i in np.flatnonzero(flat):
            excess[i] = self.predict(free[i]).excess
        return excess


def _moments_of(values: Floats) -> tuple[float, float, Floats]:
    """Mean and standard deviation; the values become their distances from the mean."""
    mean = float(values.mean())
    values -= mean
    return mean, sqrt(float(np.einsum("i,i", values, values)) / (values.size - 1)), values


class Levels(NamedTuple):
    """What is predicted of a bound.

    Parameters
    ----------
    upper : float
        The bound; infinite for rows that say nothing of their spread.
    mean : float
        What is believed of g.
    error : float
        The standard error of the predicted bound.
    spread : float
        The standard deviation of a row, all parts together.
    """

    upper: float
    mean: float
    error: float
    spread: float


class Prediction(ABC):
    """What is predicted of one claim's test under one policy.

    Parameters
    ----------
    terms : Terms
        What the target asks for.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @cached_property
    @abstractmethod
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""

    @abstractmethod
    def pull_back(self, by: Terms, n: int) -> Floats:
        """The derivative, by the free numbers, of a sum of upper, mean, error and spread."""

    @property
    def spread(self) -> float:
        """The standard deviation of a row, all parts together."""
        return self.levels.spread

    @property
    def excess(self) -> float:
        """What must be at most 0 for a candidate that meets its target."""
        upper, mean, error, spread = self.levels
        if not isfinite(upper):  # never good enough; the mean still says which way to go
            return abs(mean) + 1.0
        terms = self.terms
        level = terms.upper * upper + terms.mean * mean + terms.constant
        return level + terms.error * error + terms.spread * spread

    @property
    def score(self) -> float:
        """How many standard errors the bound is below 0: the test passes with Phi(score)."""
        if self.levels.error == 0:
            return inf if self.levels.upper <= 0 else -inf
        return -self.levels.upper / self.levels.error

    def excess_gradient(self, n: int) -> Floats:
        """The derivative of the excess by the free numbers, of shape (channels, n)."""
        return self.pull_back(self.terms, n)

    def score_gradient(self, n: int) -> Floats:
        """The derivative of a finite score by the free numbers."""
        upper, error = self.levels.upper, self.levels.error
        return self.pull_back(Terms(-1 / error, error=upper / error**2), n)


class TailPrediction(Prediction):
    """What is predicted of the bound on one linear form.

    Parameters
    ----------
    requirement : TailRequirement
        Where it comes from.
    mean : float
        What is believed of the form.
    margin : float
        What the bound adds to it, apart from what the slopes say.
    slopes : list of float
        How much of each part's spread is added as well.
    spreads : list of float
        The standard deviation of a row of each part.
    centred : list of ndarray
        The rows of each part, less their mean.
    gradients : list of ndarray, optional
        The derivative of the bound by the rows of each part; without it, only the slopes count.
    """

    def __init__(
        self,
        requirement: TailRequirement,
        mean: float,
        margin: float,
        slopes: list[float],
        spreads: list[float],
        centred: list[Floats],
        gradients: list[Floats] | None = None,
    ) -> None:
        super().__init__(requirement.terms)
        self.requirement, self.mean, self.margin = requirement, mean, margin
        self.slopes, self.spreads, self.centred = slopes, spreads, centred
        self.gradients = gradients

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

    def pull_back(self, by: Terms, n: int) -> Floats:
        """See `Prediction.pull_back`."""
        requirement, total = self.requirement, []
        for k, (rows, trusted) in enumerate(
            zip(requirement.rows, requirement.believed, strict=True)
        ):
            away, spread = self.centred[k], self.spreads[k]
            by_mean = (by.upper + by.mean) / away.size
            by_variance = 0.0
            if spread > 0:
                by_variance = by.upper * self.slopes[k] / spread + by.spread / self.levels.spread
                by_variance += by.error * requirement.error_shares[k] / self.levels.error
            weights = away * (by_variance / (away.size - 1))
            if self.gradients is not None:  # what the bound adds to the average of the rows
                weights += by.upper * (self.gradients[k] - 1 / away.size)
            if trusted is rows:
                total.append(rows.pull_back(weights + by_mean, n))
            else:
                total.append(rows.scatter(rows.slope * weights + trusted.slope * by_mean, n))
        return reduce(np.add, total)


class Requirement:
    """A claim as the search sees it: what candidate rows predict of its test.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the candidate rows.
    target : Target
        How far inside a candidate is to be.
    test_ratio, search_ratio, n_parameters, error_ratio
        See `TailRequirement`.
    beliefs : sequence of Belief, optional
        One for each part of each tail.
    """

    def __init__(
        self,
        compiled: CompiledClaim,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
        *,
        beliefs: Sequence[Belief] | None = None,
        **options: Any,
    ) -> None:
        self._terms, self._formula = target.terms, compiled.formula
        self._tails: list[TailRequirement] = []
        start = 0
        for tail in compiled.tails:
            end = start + len(tail.parts)
            of_tail = None if beliefs is None else beliefs[start:end]
            self._tails.append(
                TailRequirement(tail, target, test_ratio, search_ratio, beliefs=of_tail, **options)
            )
            start = end

    def aim(self, target: Target) -> None:
        """From now on, ask for another target."""
        self._terms = target.terms
        for tail in self._tails:
            tail.terms = target.terms

    def predict(self, free: Floats) -> Prediction:
        """What is predicted of the test under one policy."""
        tails = [tail.predict(free) for tail in self._tails]
        if self._formula is None:
            return tails[0]
        return CombinedPrediction(self._formula, self._terms, tails)

    def excess(self, free: Floats) -> Floats:
        """The excess of each policy of a population, of shape (size,)."""
        if self._formula is None:
            return self._tails[0].excess(free)
        return np.array([self.predict(one).excess for one in free])


class CombinedPrediction(Prediction):
    """What is predicted of a bound that is made of those on several tails.

    The formula is taken for linear between a prediction and its test; the two tails of a variable
    err together, and variables err independently of each other.
    """

    def __init__(self, formula: Formula, terms: Terms, tails: Sequence[TailPrediction]) -> None:
        super().__init__(terms)
        self._formula, self._tails = formula, tails
        self._upper, self._by_upper = formula.upper([tail.levels.upper for tail in tails])
        self._mean, self._by_mean = formula.value([tail.mean for tail in tails])
        # For each variable: its first tail, and how much of its error and of its spread counts.
        self._variables = [
            (
                variable[0][0],
                sum(side * float(self._by_upper[place]) for place, side in variable),
                float(self._by_mean[variable[0][0]]),
            )
            for variable in formula.variables
        ]

    @cached_property
    def levels(self) -> Levels:
        """The bound, the mean, the error and the spread."""
        of = [tail.levels for tail in self._tails]
        return Levels(
            self._upper,
            self._mean,
            sqrt(sum((share * of[first].error) ** 2 for first, share, _ in self._variables)),
            sqrt(sum((share * of[first].spread) ** 2 for first, _, share in self._variables)),
        )

    def pull_back(self, by: Terms, n: int) -> Floats:
        """See `Prediction.pull_back`."""
        levels = self.levels
        if not isfinite(levels.upper):  # then only the mean says which way to go: down
            by = Terms(0.0, mean=1.0)
        shares = [
            Terms(by.upper * float(upper), mean=by.mean * float(mean))
            for upper, mean in zip(self._by_upper, self._by_mean, strict=True)
        ]
        for first, error, spread in self._variables:
            of = self._tails[first].levels
            shares[first] = shares[first]._replace(
                error=by.error * error**2 * of.error / (levels.error or 1.0),
                spread=by.spread * spread**2 * of.spread / (levels.spread or 1.0),
            )
        pulled = [tail.pull_back(share, n) for tail, share in zip(self._tails, shares, strict=True)]
        return reduce(np.add, pulled)
