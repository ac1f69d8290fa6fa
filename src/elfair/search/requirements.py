"""Claims on the candidate rows, which predict their tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from math import isfinite, sqrt
from typing import Any

import numpy as np

from elfair.language.intervals import Formula
from elfair.search.prediction import (
    Factors,
    Levels,
    Prediction,
    TailPrediction,
    TailRequirement,
    Target,
)
from elfair.search.shrinkage import ShrunkMean
from elfair.statistics.plan import CompiledClaim
from elfair.types import Floats


class Requirement:
    """A claim on the candidate rows, which predict its test.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the candidate rows.
    shrunk : sequence of ShrunkMean, optional
        One for each part of each tail.
    target, test_ratio, search_ratio, n_parameters, error_ratio
        See `TailRequirement`.
    """

    def __init__(
        self,
        compiled: CompiledClaim,
        target: Target,
        test_ratio: float,
        search_ratio: float = 1.0,
        *,
        shrunk: Sequence[ShrunkMean] | None = None,
        **options: Any,
    ) -> None:
        self._formula = compiled.formula
        by_tail = compiled.by_tail(shrunk) if shrunk else [None] * len(compiled.tails)
        self._tails = [
            TailRequirement(tail, target, test_ratio, search_ratio, shrunk=means, **options)
            for tail, means in zip(compiled.tails, by_tail, strict=True)
        ]

    def aim(self, target: Target) -> None:
        """Ask for another target from now on."""
        for tail in self._tails:
            tail.factors = target.factors

    def anchor(self, free: Floats, means: Sequence[float]) -> None:
        """See `TailRequirement.anchor`."""
        for tail, mean in zip(self._tails, means, strict=True):
            tail.anchor(free, mean)

    def predict(self, free: Floats) -> Prediction:
        """The prediction under one policy."""
        tails = [tail.predict(free) for tail in self._tails]
        if self._formula is None:
            return tails[0]
        return CombinedPrediction(self._formula, tails[0].factors, tails)

    def excess(self, free: Floats) -> Floats:
        """The excess of each of many policies, of shape (size,)."""
        if self._formula is None:
            return self._tails[0].excess(free)
        return np.array([self.predict(one).excess for one in free])


def requirements_of(
    compiled: Sequence[CompiledClaim],
    target: Target,
    test_ratio: float,
    search_ratio: float = 1.0,
    *,
    shrunk: Sequence[Sequence[ShrunkMean]] | None = None,
    **options: Any,
) -> list[Requirement]:
    """The requirement of each claim; see `Requirement`."""
    of_claims = [None] * len(compiled) if shrunk is None else shrunk
    return [
        Requirement(claim, target, test_ratio, search_ratio, shrunk=means, **options)
        for claim, means in zip(compiled, of_claims, strict=True)
    ]


class CombinedPrediction(Prediction):
    """What is predicted of a bound that combines the bounds on several tails.

    The formula counts as linear between a prediction and its test. The two tails of a variable err
    together; different variables err independently.
    """

    def __init__(self, formula: Formula, factors: Factors, tails: Sequence[TailPrediction]) -> None:
        super().__init__(factors)
        self._formula, self._tails = formula, tails
        self._upper, self._by_upper = formula.upper([tail.levels.upper for tail in tails])
        self._mean, self._by_mean = formula.value([tail.mean for tail in tails])
        # For each variable: its first tail, and how much its error and its spread count.
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
        """See `Levels`."""
        of = [tail.levels for tail in self._tails]
        errors = [(of[first], share) for first, share, _ in self._variables]
        return Levels(
            self._upper,
            self._mean,
            sqrt(sum((share * each.error) ** 2 for each, share in errors)),
            sqrt(sum((share * of[first].spread) ** 2 for first, _, share in self._variables)),
            sqrt(sum((share * each.test_error) ** 2 for each, share in errors)),
            sum(float(by) * each.optimism for by, each in zip(self._by_upper, of, strict=True)),
        )

    def pull_back(self, by: Factors, n: int) -> Floats:
        """See `Prediction.pull_back`."""
        levels = self.levels
        if not isfinite(levels.upper):  # then only the mean shows a direction: down
            by = Factors(0.0, mean=1.0)
        shares = [
            Factors(by.upper * float(upper), mean=by.mean * float(mean))
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
