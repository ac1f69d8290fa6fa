"""The plan of a fairness test, and what candidate rows predict of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from elfair.bounds import Bound, Sample
from elfair.data import LoggedData
from elfair.errors import BoundError, InputError
from elfair.language import Conjunct, Mean, Statement, conjuncts
from elfair.language.disjoint import are_disjoint
from elfair.statistics import Baselines, Part, compile_conjunct, logged_average

Floats = NDArray[np.float64]

#: xi, where none is given, as a share of the standard deviation of a row of g.
XI_SHARE = 0.01


@dataclass(frozen=True)
class Claim:
    """One one-sided statement g <= 0 and the probability with which its test may err.

    Parameters
    ----------
    conjunct : Conjunct
        The statement.
    delta : float
        Inherited from the constraint that it is part of.
    """

    conjunct: Conjunct
    delta: float


def read_constraints(
    constraints: str | Statement | Sequence[str | Statement], delta: float | Sequence[float]
) -> tuple[Claim, ...]:
    """All the one-sided statements of one or several constraints, each with its delta.

    Parameters
    ----------
    constraints : str, Statement or a sequence of them
        Text or trees.
    delta : float or sequence of float
        One for all, or one for each constraint.

    Returns
    -------
    tuple of Claim

    Examples
    --------
    >>> for claim in read_constraints(["abs(PR[T == 0] - PR[T == 1]) <= 0.1", "accuracy >= 0.8"],
    ...                               delta=[0.1, 0.05]):
    ...     print(claim.delta, claim.conjunct.text)
    0.1 PR[T == 0] - PR[T == 1] <= 0.1
    0.1 PR[T == 1] - PR[T == 0] <= 0.1
    0.05 accuracy >= 0.8
    """
    texts = [constraints] if isinstance(constraints, str | Statement) else list(constraints)
    deltas = [delta] * len(texts) if isinstance(delta, int | float | np.number) else list(delta)  # type: ignore[list-item]
    if len(deltas) != len(texts):
        raise InputError(
            f"delta must be one number, or one for each constraint. Got {len(deltas)} for "
            f"{len(texts)} constraints.",
            hint="each statement inside a constraint inherits the delta of its constraint.",
        )
    for value in deltas:
        if not isinstance(value, int | float | np.number) or not 0 < value < 1:
            raise InputError(
                f"delta must be in (0, 1). Got {value!r} instead.",
                hint="delta=0.1 asks for 90 % confidence.",
            )
    return tuple(
        Claim(conjunct, float(value))
        for text, value in zip(texts, deltas, strict=True)
        for conjunct in conjuncts(text)
    )


@dataclass(frozen=True)
class Plan:
    """Everything that the fairness test will do, fixed before the held-out rows are opened.

    Parameters
    ----------
    claims : tuple of Claim
        What is tested.
    bound : Bound
        The bound on each.
    baselines : Baselines
        What is taken out of impacts, learnt from other rows.
    logged_averages : mapping of Mean to float
        Under plain importance sampling, the numbers that stand for ``E_logged[...]``.
    """

    claims: tuple[Claim, ...]
    bound: Bound
    baselines: Baselines
    logged_averages: Mapping[Mean, float]

    @classmethod
    def make(
        cls, claims: tuple[Claim, ...], bound: Bound, baselines: Baselines, everyone: LoggedData
    ) -> Plan:
        """Fix the plan; ``everyone`` is read for the paper's tau alone."""
        averages: dict[Mean, float] = {}
        if baselines.estimation.estimator == "is":
            averages = {
                mean: logged_average(mean, everyone)
                for claim in claims
                for _, mean in claim.conjunct.form.terms
                if mean.logged
            }
        return cls(claims, bound, baselines, averages)

    def compile(self, data: LoggedData) -> list[CompiledClaim]:
        """The rows of every claim on some data."""
        compiled = []
        for claim in self.claims:
            parts = compile_conjunct(
                claim.conjunct, data, self.baselines, self.logged_averages
            )
            compiled.append(CompiledClaim(claim, parts, self.bound))
            compiled[-1].check_bound(self.baselines.estimation.estimator)
        return compiled


@dataclass(frozen=True)
class CompiledClaim:
    """A claim and its rows on some data."""

    claim: Claim
    parts: tuple[Part, ...]
    bound: Bound

    @property
    def disjoint(self) -> bool:
        """Whether no person can meet the conditions of two parts."""
        conditions = [part.given for part in self.parts]
        return all(
            are_disjoint(first, second)
            for i, first in enumerate(conditions)
            for second in conditions[:i]
        )

    def check_bound(self, estimator: str) -> None:
        """Refuse a bound whose proof does not cover these rows."""
        if self.bound.name == "ttest":
            return
        weighted = any(part.weighted for part in self.parts)
        if estimator == "dr" and weighted and self.bound.name in ("anderson", "betting"):
            raise BoundError(
                f"bound='{self.bound.name}' needs rows with one known end; doubly robust rows are "
                "unbounded on both sides.",
                hint="use estimator='paired', or bound='hoeffding' or 'bernstein' with a declared "
                "impact_range and propensity_floor.",
            )
        for part in self.parts:
            self.bound.check(Sample(np.zeros(2), part.rows.low, part.rows.high))

    def samples(self, values: Sequence[Floats], scales: Sequence[float | None]) -> list[Sample]:
        """The rows as the bound wants them."""
        return [
            Sample(row, part.rows.low, part.rows.high, scale, part.rows.index)
            for part, row, scale in zip(self.parts, values, scales, strict=True)
        ]


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


class Requirement:
    """What candidate rows predict of one claim's test: a smooth function of the policy.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the candidate rows.
    target : Target
        How far inside a candidate is to be.
    test_ratio : float
        Expected rows of the test for each row at hand.
    search_ratio : float
        Candidate rows for each row at hand (above 1 when the search works on some of them).
    """

    def __init__(
        self,
        compiled: CompiledClaim,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
    ) -> None:
        self.compiled = compiled
        self.target = target
        self._disjoint = len(compiled.parts) == 1 or compiled.disjoint
        sizes = [part.rows.index.size for part in compiled.parts]
        self._n_test = [test_ratio * size for size in sizes]
        # The variance of (mean of the test) - (mean of the candidate rows), in units of a row's.
        self._error = [
            1 / (test_ratio * size) + 1 / (search_ratio * size) for size in sizes
        ]

    def predict(self, free: Floats) -> Prediction:
        """The predicted bound under one policy, with its derivatives by the rows."""
        values = [part.rows.values(free) for part in self.compiled.parts]
        centred = [rows - rows.mean() for rows in values]
        variances = [float(rows @ rows) / (rows.size - 1) for rows in centred]
        spread = sqrt(sum(variances))
        error = sqrt(sum(a * v for a, v in zip(self._error, variances, strict=True)))
        scales = [sqrt(variance) or None for variance in variances]
        upper, gradients = self.compiled.bound.predict(
            self.compiled.samples(values, scales),
            self.compiled.claim.delta,
            self._n_test,
            disjoint=self._disjoint,
        )
        mean = float(sum(rows.mean() for rows in values))
        if not isfinite(upper):  # rows that do not vary; the mean still says which way to go
            upper = mean + abs(mean) + 1.0
        return Prediction(self, mean, upper, spread, error, centred, gradients)


    def excess(self, free: Floats) -> Floats:
        """The excess of `Prediction` for each policy of a population, without derivatives."""
        return np.array([self.predict(one).excess for one in free])


@dataclass(frozen=True)
class Prediction:
    """A predicted bound on g, and what a candidate's margin below 0 is made of."""

    requirement: Requirement
    mean: float
    upper: float
    spread: float
    error: float
    centred: list[Floats]
    gradients: list[Floats]

    @property
    def score(self) -> float:
        """How many standard errors the predicted bound is below 0: the test passes with
        probability Phi(score).
        """
        if self.error == 0:
            return inf if self.upper <= 0 else -inf
        return -self.upper / self.error

    @property
    def excess(self) -> float:
        """What must be at most 0 for a candidate that meets its target."""
        target = self.requirement.target
        if target.inflation is not None:
            stretched = self.mean + target.inflation * (self.upper - self.mean)
            return stretched + self._xi / 4
        return self.upper + target.z * self.error + self._xi

    @property
    def _xi(self) -> float:
        xi = self.requirement.target.xi
        return XI_SHARE * self.spread if xi is None else xi

    def excess_gradient(self, n: int) -> Floats:
        """The derivative of the excess by the free probabilities, of shape (classes - 1, n)."""
        target, requirement = self.requirement.target, self.requirement
        by_upper, by_mean, by_error = 1.0, 0.0, target.z
        by_spread = XI_SHARE if target.xi is None else 0.0
        if target.inflation is not None:
            by_upper, by_mean, by_error = target.inflation, 1 - target.inflation, 0.0
            by_spread /= 4
        return self._combine(n, requirement._error, by_upper, by_mean, by_error, by_spread)

    def score_gradient(self, n: int) -> Floats:
        """The derivative of the score by the free probabilities."""
        if self.error == 0:
            return self._combine(n, self.requirement._error, -1.0, 0.0, 0.0, 0.0)
        by_upper, by_error = -1 / self.error, self.upper / self.error**2
        return self._combine(n, self.requirement._error, by_upper, 0.0, by_error, 0.0)

    def _combine(
        self,
        n: int,
        shares: list[float],
        by_upper: float,
        by_mean: float,
        by_error: float,
        by_spread: float,
    ) -> Floats:
        total: Floats | None = None
        parts = self.requirement.compiled.parts
        for part, share, centred, gradient in zip(
            parts, shares, self.centred, self.gradients, strict=True
        ):
            slope = 0.0
            if self.spread > 0:
                slope = (by_error * share / self.error + by_spread / self.spread) / (
                    centred.size - 1
                )
            weights = by_upper * gradient + slope * centred
            if by_mean:
                weights += by_mean / centred.size
            pulled = part.rows.pull_back(weights, n)
            total = pulled if total is None else total + pulled
        assert total is not None
        return total
