"""What the search takes for a mean: an average of rows, shrunk towards an outcome model.

A search that trusts the average of weighted rows finds policies that are lucky on these very rows.
An outcome model leaves far less noise to be lucky with, but it is biased where it is wrong. The
shrunk mean lies between the two: the average that the model predicts, plus as much of the weighted
residuals as stands out of their own noise. Only the search uses it; the test trusts no model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.language.expressions import Mean
from elfair.policies.gaussian import MEAN, SQUARE
from elfair.statistics import Baselines, Estimation, Impact, Part, Rows, compile_form, mean_part
from elfair.statistics.impacts import OutcomeModel, QuadraticModel
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.types import Floats

#: With this many rows, an objective gives weighted rows at least as much weight as the model.
DOUBTED_ROWS = 4_000


class ShrunkMean(NamedTuple):
    """What the search takes for the mean of some rows.

    Parameters
    ----------
    rows : Rows
        The rows whose average it is: the same rows, or better informed ones.
    share : float
        Its variance, as a share of the variance of the average that it replaces.
    """

    rows: Rows
    share: float


def shrunk_means(
    plan: Plan,
    compiled: Sequence[CompiledClaim],
    data: LoggedData,
    policies: Sequence[Floats],
) -> list[list[ShrunkMean]]:
    """What the search takes for the mean of each part of each claim's tails.

    Parameters
    ----------
    plan : Plan
        What will be tested.
    compiled : sequence of CompiledClaim
        Its rows on the candidate rows.
    data : LoggedData
        The candidate rows.
    policies : sequence of ndarray of shape (channels, n)
        Free numbers of policies like those that the search will visit.
    """
    if not any(part.weighted for claim in compiled for part in claim.parts):
        return [[ShrunkMean(part.rows, 1.0) for part in claim.parts] for claim in compiled]
    outcome = _Outcome.of(Baselines(Estimation(), data), data)

    def of_tail(tail: Tail) -> list[ShrunkMean]:
        if any(
            part.at_worst for part in tail.parts
        ):  # no model predicts what a missing impact is at worst
            return [ShrunkMean(part.rows, 1.0) for part in tail.parts]
        form, averages = tail.form, plan.logged_averages
        # Capped terms do not change a mean: rows without them tell as much of it.
        plain = compile_form(form, data, outcome.baselines, averages)
        direct = compile_form(form, data, outcome.baselines, averages, direct=True)
        return [
            outcome.shrunk(part if part.rows.capped else tested, predicted.rows, policies)
            for tested, part, predicted in zip(tail.parts, plain, direct, strict=True)
        ]

    return [[mean for tail in claim.tails for mean in of_tail(tail)] for claim in compiled]


def shrunk_rows(means: Sequence[Mean], data: LoggedData, policies: Sequence[Floats]) -> list[Rows]:
    """Rows whose averages are the shrunk means of an objective.

    Parameters
    ----------
    means : sequence of Mean
        What is averaged.
    data, policies
        As for `shrunk_means`; without policies, the outcome model alone counts.
    """
    baselines = Baselines(Estimation(), data, personal=True)
    parts = [mean_part(mean, data, baselines) for mean in means]
    if not any(part.weighted for part in parts):
        return [part.rows for part in parts]
    predicted = [mean_part(mean, data, baselines, direct=True).rows for mean in means]
    if not policies:
        return predicted
    outcome = _Outcome.of(baselines, data)
    # No test corrects an objective: if the model is wrong in a way that these policies do not
    # show, the weighted rows must win in the end.
    return [
        outcome.shrunk(part, rows, policies, least=(n := rows.size) / (n + DOUBTED_ROWS)).rows
        for part, rows in zip(parts, predicted, strict=True)
    ]


class _Outcome(ABC):
    """Regressions of the impacts on candidate rows, and how uncertain a mean is under them."""

    def __init__(self, baselines: Baselines, data: LoggedData) -> None:
        self.baselines = baselines
        self.data = data

    @staticmethod
    def of(baselines: Baselines, data: LoggedData) -> _Outcome:
        return (_OfNumbers if data.decision_kind == "numbers" else _OfClasses)(baselines, data)

    def shrunk(
        self, part: Part, predicted: Rows, policies: Sequence[Floats], least: float = 0.0
    ) -> ShrunkMean:
        """The average of a part, shrunk towards what the model predicts."""
        rows = part.rows
        if not part.weighted:
            return ShrunkMean(rows, 1.0)
        evidence, variances = [], []
        for free in policies:
            weighted, direct = rows.values(free), predicted.values(free)
            residual = weighted - direct
            noise = float(residual.var())
            evidence.append(float(residual.mean()) ** 2 * rows.size / (noise or 1.0))
            # Rows of one unit may err alike: their regressions are as uncertain as if rows were
            # units.
            uncertain = float(direct.var()) + rows.index.size * self._variance(part, free)
            variances.append((uncertain, noise, float(weighted.var())))
        # The residuals of a right model have evidence 1 on average: Stein's positive part.
        strength = float(np.mean(evidence))
        kept = max(least, 1 - 1 / strength) if strength > 0 else least
        shares = [
            float(np.clip((direct + kept**2 * residual) / weighted, 0.0, 1.0))
            if weighted > 0
            else 1.0
            for direct, residual, weighted in variances
        ]
        offset = kept * rows.offset + (1 - kept) * predicted.offset
        slope = kept * rows.slope + (1 - kept) * predicted.slope
        made = Rows(rows.index, offset, slope, -np.inf, np.inf, units=rows.units)
        return ShrunkMean(made, float(np.mean(shares)))

    @abstractmethod
    def _variance(self, part: Part, free: Floats) -> float:
        """The variance of the predicted average due to the regressions' coefficients."""


class _OfClasses(_Outcome):
    """A regression for each class."""

    def __init__(self, baselines: Baselines, data: LoggedData) -> None:
        super().__init__(baselines, data)
        self._inputs = np.column_stack([np.ones(data.n), baselines.encoding.of(data)])
        self._noises: dict[tuple[Impact, int], float] = {}
        assert data.decision_index is not None
        self._taken = [data.decision_index == a for a in range(data.classes.size)]
        self._inverse = [
            np.linalg.pinv(self._inputs[taken].T @ self._inputs[taken]) for taken in self._taken
        ]

    def _variance(self, part: Part, free: Floats) -> float:
        data, index = self.data, part.rows.index
        every = np.vstack([1 - free.sum(axis=0), free])
        inputs, total = self._inputs[index], 0.0
        for impact, (new, logged) in part.impacts.items():
            model = self.baselines.model(impact)
            for a, taken in enumerate(self._taken):
                if not taken.any():
                    continue
                weight = new * every[a, index]
                if data.behavior is not None:
                    weight = weight + logged * data.behavior[index, a]
                else:
                    weight = weight + logged * taken[index]
                if part.rows.units is not None:
                    weight = weight * part.rows.units.share
                direction = weight @ inputs / part.rows.size
                noise = self._noise(model, impact, a)
                total += noise * float(direction @ self._inverse[a] @ direction)
        return total

    def _noise(self, model: OutcomeModel, impact: Impact, a: int) -> float:
        if (impact, a) not in self._noises:
            taken = self._taken[a]
            known = model.inputs(self.data)[taken]
            residual = self.baselines.values(impact, self.data)[taken] - model.regressions[
                a
            ].predict(known)
            self._noises[impact, a] = float(residual.var())
        return self._noises[impact, a]


class _OfNumbers(_Outcome):
    """One regression, quadratic in the decision."""

    def __init__(self, baselines: Baselines, data: LoggedData) -> None:
        super().__init__(baselines, data)
        assert data.decision is not None
        self._decision = data.decision
        self._known = baselines.encoding.of(data)
        self._noises: dict[Impact, float] = {}

    def _variance(self, part: Part, free: Floats) -> float:
        index, total = part.rows.index, 0.0
        for impact, (new, logged) in part.impacts.items():
            model: QuadraticModel = self.baselines.model(impact)
            c, u = model.center, model.scale
            mean, square = free[MEAN], free[SQUARE]
            expected = (mean - c) / u, (square - 2 * c * mean + c**2) / u**2
            taken = self._inputs(model, *model.powers(self._decision, c, u))
            decided = self._inputs(model, *expected)
            units = part.rows.units
            mass = None if units is None else units.mass
            direction = np.average(new * decided[index] + logged * taken[index], 0, mass)
            inverse = np.linalg.pinv(taken.T @ taken)
            total += self._noise(model, impact, taken) * float(direction @ inverse @ direction)
        return total

    def _inputs(self, model: QuadraticModel, first: Floats, second: Floats) -> Floats:
        inputs = model.inputs(self._known, first, second)
        return np.column_stack([np.ones(self.data.n), inputs])

    def _noise(self, model: QuadraticModel, impact: Impact, taken: Floats) -> float:
        if impact not in self._noises:
            residual = self.baselines.values(impact, self.data) - model.regression.predict(
                taken[:, 1:]
            )
            self._noises[impact] = float(residual.var())
        return self._noises[impact]
