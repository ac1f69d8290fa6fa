"""What candidate rows predict of the fairness test: smooth functions of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from elfair.bounds import Sample
from elfair.constraints import CompiledClaim
from elfair.errors import InputError
from elfair.statistics import Rows

Floats = NDArray[np.float64]

#: xi, where none is given, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01


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
    >>> Target(power=0.95).z
    1.6448...
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
    def z(self) -> float:
        """How many standard errors of margin the power asks for."""
        return 0.0 if self.power is None else float(ndtri(self.power))


class Prediction(Protocol):
    """What is predicted of one claim's test under one policy.

    Attributes
    ----------
    excess : float
        What must be at most 0 for a candidate that meets its target.
    score : float
        How many standard errors the predicted bound is below 0: the test passes with probability
        Phi(score).
    spread : float
        The standard deviation of a row.
    """

    @property
    def excess(self) -> float: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def spread(self) -> float: ...  # noqa: D102

    def excess_gradient(self, n: int) -> Floats:
        """The derivative of the excess by the free probabilities, of shape (classes - 1, n)."""

    def score_gradient(self, n: int) -> Floats:
        """The derivative of the score by the free probabilities."""


class Requirement(Protocol):
    """A claim as the search sees it."""

    def predict(self, free: Floats) -> Prediction:
        """What is predicted under one policy."""

    def excess(self, free: Floats) -> Floats:
        """The excess of each policy of a population, of shape (size,)."""


@dataclass(frozen=True)
class Belief:
    """What the search believes of the mean of some rows, where it knows better than their average.

    Parameters
    ----------
    rows : Rows
        Rows whose average is believed to be the mean.
    share : float
        The variance of that average, as a share of the variance of the average it stands for.
    """

    rows: Rows
    share: float


def make_requirement(
    compiled: CompiledClaim,
    target: Target,
    test_ratio: float,
    search_ratio: float = 1.0,
    *,
    beliefs: Sequence[Belief] | None = None,
    n_parameters: int = 0,
) -> Requirement:
    """What the search must meet so that a claim is likely to pass.

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
    """
    if beliefs is None:
        beliefs = [Belief(part.rows, 1.0) for part in compiled.parts]
    if len(compiled.parts) == 1:
        rows = compiled.parts[0].rows
        n_test = test_ratio * rows.index.size
        factors = compiled.bound.moment_factors(rows.high - rows.low, compiled.claim.delta, n_test)
        if factors is not None:
            n_search, share = search_ratio * rows.index.size, beliefs[0].share
            error = sqrt(1 / n_test + share / n_search)
            # A search that fits p parameters to n rows finds an average that is better than the
            # truth by about p / n standard deviations of a row (measured on the foster-care-like
            # population at 500 to 4,096 rows): what luck there is to find, it finds.
            optimism = share * n_parameters / n_search
            return MomentRequirement(
                rows, target, factors[0], factors[1] + optimism, error, beliefs[0].rows
            )
    return RowRequirement(compiled, target, test_ratio, search_ratio, beliefs)


class MomentRequirement:
    """A requirement that depends on the mean m and standard deviation s of one set of rows alone.

    The predicted bound is m + a + b s, its standard error e s, and so the excess is again a sum of
    m, a constant and a multiple of s.

    Parameters
    ----------
    rows : Rows
        The rows of g.
    target : Target
        How far inside a candidate is to be.
    constant, slope : float
        a and b.
    error : float
        e.
    believed : Rows
        Rows whose average is taken for m.
    """

    def __init__(
        self,
        rows: Rows,
        target: Target,
        constant: float,
        slope: float,
        error: float,
        believed: Rows,
    ) -> None:
        self.rows, self.believed = rows, believed
        self.constant, self.slope, self.error = constant, slope, error
        share = XI_SHARE if target.xi is None else 0.0
        margin = target.xi or 0.0
        if target.inflation is None:
            self.excess_constant = constant + margin
            self.excess_slope = slope + target.z * error + share
        else:
            self.excess_constant = target.inflation * constant + margin / 4
            self.excess_slope = target.inflation * slope + share / 4

    def predict(self, free: Floats) -> MomentPrediction:
        """What is predicted under one policy."""
        inside = self.rows.inside(free)
        centred = self.rows.values_inside(inside)
        mean = float(centred.mean())
        centred -= mean
        spread = sqrt(float(np.einsum("i,i", centred, centred)) / (centred.size - 1))
        if self.believed is not self.rows:
            total = float(np.einsum("ki,ki", self.believed.slope, inside))
            mean = self.believed.mean_offset + total / centred.size
        return MomentPrediction(self, mean, spread, centred)

    def excess(self, free: Floats) -> Floats:
        """The excess of each policy of a population."""
        values = self.rows.values(free)
        mean, spread = self.believed.values(free).mean(axis=-1), values.std(axis=-1, ddof=1)
        return _hold_back(mean + self.excess_constant + self.excess_slope * spread, mean, spread)


def _hold_back(excess: Floats, mean: Floats, spread: Floats) -> Floats:
    """Rows that do not vary and are not 0 cannot be bounded by their spread: never good enough."""
    return np.where((spread <= 1e-13 * np.abs(mean)) & (mean != 0), np.abs(mean) + 1.0, excess)


@dataclass(frozen=True)
class MomentPrediction:
    """See `Prediction`."""

    requirement: MomentRequirement
    mean: float
    spread: float
    centred: Floats

    @property
    def excess(self) -> float:
        """See `Prediction`."""
        r = self.requirement
        value = self.mean + r.excess_constant + r.excess_slope * self.spread
        return float(_hold_back(np.asarray(value), np.asarray(self.mean), np.asarray(self.spread)))

    @property
    def score(self) -> float:
        """See `Prediction`."""
        r = self.requirement
        if self.spread == 0:
            return inf if self.mean == 0 and r.constant == 0 else -inf
        return -(self.mean + r.constant + r.slope * self.spread) / (r.error * self.spread)

    def excess_gradient(self, n: int) -> Floats:
        """See `Prediction`."""
        return self._pull_back(1.0, self.requirement.excess_slope, n)

    def score_gradient(self, n: int) -> Floats:
        """See `Prediction`."""
        if self.spread == 0:
            return self._pull_back(-1.0, 0.0, n)
        r = self.requirement
        by_mean = -1 / (r.error * self.spread)
        return self._pull_back(by_mean, -by_mean * (self.mean + r.constant) / self.spread, n)

    def _pull_back(self, by_mean: float, by_spread: float, n: int) -> Floats:
        rows, believed, size = self.requirement.rows, self.requirement.believed, self.centred.size
        weights = self.centred * (by_spread / (self.spread * (size - 1)) if self.spread else 0.0)
        if believed is rows:
            return rows.pull_back(weights + by_mean / size, n)
        return rows.scatter(rows.slope * weights + believed.slope * (by_mean / size), n)


class RowRequirement:
    """A requirement on several sets of rows, or under a bound that looks at each row.

    Parameters
    ----------
    compiled, target, test_ratio, search_ratio, beliefs
        See `make_requirement`.
    """

    def __init__(
        self,
        compiled: CompiledClaim,
        target: Target,
        test_ratio: float,
        search_ratio: float,
        beliefs: Sequence[Belief],
    ) -> None:
        self.compiled = compiled
        self.beliefs = beliefs
        self.target = target
        self._disjoint = compiled.disjoint
        sizes = [part.rows.index.size for part in compiled.parts]
        self._n_test = [test_ratio * size for size in sizes]
        # The variance of (mean of the test) - (mean of the candidate rows), in units of a row's.
        self.error_shares = [
            1 / (test_ratio * m) + belief.share / (search_ratio * m)
            for m, belief in zip(sizes, beliefs, strict=True)
        ]

    def predict(self, free: Floats) -> RowPrediction:
        """What is predicted under one policy."""
        values = [part.rows.values(free) for part in self.compiled.parts]
        means = [float(rows.mean()) for rows in values]
        centred = [rows - mean for rows, mean in zip(values, means, strict=True)]
        variances = [float(np.einsum("i,i", rows, rows)) / (rows.size - 1) for rows in centred]
        samples = [
            Sample(row, part.rows.low, part.rows.high, sqrt(variance) or None, part.rows.index)
            for part, row, variance in zip(self.compiled.parts, values, variances, strict=True)
        ]
        upper, gradients = self.compiled.bound.predict(
            samples, self.compiled.claim.delta, self._n_test, disjoint=self._disjoint
        )
        mean = sum(means)
        if not isfinite(upper):  # rows that do not vary; the mean still says which way to go
            upper = mean + abs(mean) + 1.0
        error = sqrt(sum(a * v for a, v in zip(self.error_shares, variances, strict=True)))
        believed = sum(float(belief.rows.values(free).mean()) for belief in self.beliefs)
        mean, upper = believed, upper + believed - mean
        return RowPrediction(self, mean, upper, sqrt(sum(variances)), error, centred, gradients)

    def excess(self, free: Floats) -> Floats:
        """The excess of each policy of a population."""
        return np.array([self.predict(one).excess for one in free])


@dataclass(frozen=True)
class RowPrediction:
    """See `Prediction`."""

    requirement: RowRequirement
    mean: float
    upper: float
    spread: float
    error: float
    centred: list[Floats]
    gradients: list[Floats]

    @property
    def excess(self) -> float:
        """See `Prediction`."""
        target = self.requirement.target
        xi = XI_SHARE * self.spread if target.xi is None else target.xi
        if target.inflation is None:
            return self.upper + target.z * self.error + xi
        return self.mean + target.inflation * (self.upper - self.mean) + xi / 4

    @property
    def score(self) -> float:
        """See `Prediction`."""
        if self.error == 0:
            return inf if self.upper <= 0 else -inf
        return -self.upper / self.error

    def excess_gradient(self, n: int) -> Floats:
        """See `Prediction`."""
        target = self.requirement.target
        by_xi = XI_SHARE if target.xi is None else 0.0
        if target.inflation is None:
            return self._pull_back(n, 1.0, 0.0, target.z, by_xi)
        return self._pull_back(n, target.inflation, 1 - target.inflation, 0.0, by_xi / 4)

    def score_gradient(self, n: int) -> Floats:
        """See `Prediction`."""
        if self.error == 0:
            return self._pull_back(n, -1.0, 0.0, 0.0, 0.0)
        return self._pull_back(n, -1 / self.error, 0.0, self.upper / self.error**2, 0.0)

    def _pull_back(
        self, n: int, by_upper: float, by_mean: float, by_error: float, by_spread: float
    ) -> Floats:
        total = np.zeros(())
        requirement = self.requirement
        for part, belief, share, centred, gradient in zip(
            requirement.compiled.parts,
            requirement.beliefs,
            requirement.error_shares,
            self.centred,
            self.gradients,
            strict=True,
        ):
            slope = 0.0
            if self.spread > 0:
                slope = by_error * share / self.error + by_spread / self.spread
            # What the bound adds to the average of the rows, and then the mean as believed.
            weights = by_upper * (gradient - 1 / centred.size)
            weights += slope / (centred.size - 1) * centred
            total = total + part.rows.pull_back(weights, n)
            by_belief = np.asarray((by_upper + by_mean) / centred.size)
            total = total + belief.rows.pull_back(by_belief, n)
        return np.asarray(total)
