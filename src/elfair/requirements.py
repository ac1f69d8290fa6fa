"""What candidate rows predict of the fairness test: smooth functions of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from elfair.bounds import Sample
from elfair.constraints import CompiledClaim
from elfair.errors import InputError
from elfair.statistics import Rows

Floats = NDArray[np.float64]

#: A spread below this share of a row's terms is rounding: then the bound has to look at the rows.
ROUNDING = 1e-13
#: xi, where none is given, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01


class Terms(NamedTuple):
    """The excess as a sum: a factor for each thing that is predicted, and a constant.

    Parameters
    ----------
    upper, mean, error, spread : float
        The factors of these attributes of a `Prediction`.
    constant : float
        What is added to them.
    """

    upper: float
    mean: float = 0.0
    error: float = 0.0
    spread: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True)
class Target:
    """How far inside the constraints a candidate is to be.

    Parameters
    ----------
    power : float, optional
        The wanted probability that each claim passes the test.
    inflation : float, optional
        The paper's way instead: the factor by which the predicted width of the bound is stretched.
    xi : float, optional
        The margin that makes the solution rate tend to 1; a share of the spread unless given.

    Examples
    --------
    >>> Target(power=0.5, xi=0.25).terms
    Terms(upper=1.0, mean=0.0, error=0.0, spread=0.0, constant=0.25)
    """

    power: float | None = None
    inflation: float | None = None
    xi: float | None = None

    def __post_init__(self) -> None:
        if (self.power is None) == (self.inflation is None):
            raise InputError(
                f"give either power or inflation. Got power={self.power!r} and "
                f"inflation={self.inflation!r}.",
                hint="power=0.95 is the default; the paper's way is power=None, inflation=2.0.",
            )
        for name in ("power", "inflation", "xi"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | float | np.number):
                raise InputError(
                    f"{name} must be a number or None. Got {value!r} instead.",
                    hint="power=0.95, inflation=None and xi=None are the defaults.",
                )
        if self.power is not None and not 0 < self.power < 1:
            raise InputError(
                f"power must be in (0, 1). Got {self.power!r} instead.",
                hint="0.95 asks for a 95 % chance that each constraint passes.",
            )
        if self.inflation is not None and not self.inflation > 0:
            raise InputError(
                f"inflation must be positive. Got {self.inflation!r} instead.",
                hint="the paper uses 2.0.",
            )
        if self.xi is not None and not self.xi >= 0:
            raise InputError(
                f"xi must be at least 0. Got {self.xi!r} instead.",
                hint="leave it out for a hundredth of the standard deviation.",
            )

    @property
    def terms(self) -> Terms:
        """What must be at most 0 for a candidate that meets its target."""
        share, margin = (XI_SHARE, 0.0) if self.xi is None else (0.0, self.xi)
        if self.inflation is None:
            assert self.power is not None
            return Terms(1.0, 0.0, float(ndtri(self.power)), share, margin)
        return Terms(self.inflation, 1 - self.inflation, 0.0, share / 4, margin / 4)


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


class Requirement:
    """A claim as the search sees it: what candidate rows predict of its test.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the candidate rows.
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
        compiled: CompiledClaim,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
        *,
        beliefs: Sequence[Belief] | None = None,
        n_parameters: int = 0,
        error_ratio: float | None = None,
    ) -> None:
        self._bound, self._delta = compiled.bound, compiled.claim.delta
        self._disjoint = compiled.disjoint
        self.terms = target.terms
        self.rows = [part.rows for part in compiled.parts]
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

    def predict(self, free: Floats) -> Prediction:
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
            return Prediction(self, believed, constant, slopes, spreads, centred)
        samples = [
            Sample(away + mean, rows.low, rows.high, spread or None, rows.index)
            for rows, mean, away, spread in zip(self.rows, means, centred, spreads, strict=True)
        ]
        upper, gradients = self._bound.predict(
            samples, self._delta, self._n_test, disjoint=self._disjoint
        )
        margin = upper - sum(means)
        return Prediction(self, believed, margin, self._optimism, spreads, centred, gradients)

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


@dataclass(frozen=True)
class Prediction:
    """What is predicted of one claim's test under one policy.

    Parameters
    ----------
    requirement : Requirement
        Where it comes from.
    mean : float
        What is believed of g.
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

    requirement: Requirement
    mean: float
    margin: float
    slopes: list[float]
    spreads: list[float]
    centred: list[Floats]
    gradients: list[Floats] | None = None

    @cached_property
    def upper(self) -> float:
        """The predicted bound; infinite for rows that say nothing of their spread."""
        spreads = zip(self.slopes, self.spreads, strict=True)
        return self.mean + self.margin + sum(slope * spread for slope, spread in spreads)

    @cached_property
    def spread(self) -> float:
        """The standard deviation of a row, all parts together."""
        return sqrt(sum(spread**2 for spread in self.spreads))

    @cached_property
    def error(self) -> float:
        """The standard error of the predicted bound."""
        shares = zip(self.requirement.error_shares, self.spreads, strict=True)
        return sqrt(sum(share * spread**2 for share, spread in shares))

    @property
    def excess(self) -> float:
        """What must be at most 0 for a candidate that meets its target."""
        if not isfinite(self.upper):  # never good enough; the mean still says which way to go
            return abs(self.mean) + 1.0
        terms = self.requirement.terms
        levels = terms.upper * self.upper + terms.mean * self.mean + terms.constant
        return levels + terms.error * self.error + terms.spread * self.spread

    @property
    def score(self) -> float:
        """How many standard errors the bound is below 0: the test passes with Phi(score)."""
        if self.error == 0:
            return inf if self.upper <= 0 else -inf
        return -self.upper / self.error

    def excess_gradient(self, n: int) -> Floats:
        """The derivative of the excess by the free probabilities, of shape (classes - 1, n)."""
        return self._pull_back(self.requirement.terms, n)

    def score_gradient(self, n: int) -> Floats:
        """The derivative of a finite score by the free probabilities."""
        return self._pull_back(Terms(-1 / self.error, error=self.upper / self.error**2), n)

    def _pull_back(self, by: Terms, n: int) -> Floats:
        """The derivative of a sum of upper, mean, error and spread."""
        requirement, total = self.requirement, []
        for k, (rows, trusted) in enumerate(
            zip(requirement.rows, requirement.believed, strict=True)
        ):
            away, spread = self.centred[k], self.spreads[k]
            by_mean = (by.upper + by.mean) / away.size
            by_variance = 0.0
            if spread > 0:
                by_variance = by.upper * self.slopes[k] / spread + by.spread / self.spread
                by_variance += by.error * requirement.error_shares[k] / self.error
            weights = away * (by_variance / (away.size - 1))
            if self.gradients is not None:  # what the bound adds to the average of the rows
                weights += by.upper * (self.gradients[k] - 1 / away.size)
            if trusted is rows:
                total.append(rows.pull_back(weights + by_mean, n))
            else:
                total.append(rows.scatter(rows.slope * weights + trusted.slope * by_mean, n))
        return reduce(np.add, total)
