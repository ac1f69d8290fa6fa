"""The task of a regressor: decisions close to the label, or doses that make an expression large.

Nothing is known about doses that nobody was given, and a model of the impact, extrapolated beyond
them, promises anything. So policies stay within the reach of logged decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language.build import mse
from elfair.language.conditions import SquaredError
from elfair.language.expressions import Expression, Mean
from elfair.language.tree import find, point_at
from elfair.policies import GaussianPolicy
from elfair.policies.gaussian import FINENESS, LARGEST_PARAMETER, MEAN, SQUARE, GaussianInputs
from elfair.search.goals import Loss, Maximise, require_label
from elfair.search.objective import read_objective
from elfair.search.problem import Plain, Steps, silent
from elfair.statistics.plan import CompiledClaim
from elfair.types import Floats

#: How far a mean may be from the usual decision, in spreads of the behaviour model. At 1.5 a weight
#: has a standard deviation of 2 to 3, and one decision in 15 was as far away on that side. Chosen
#: on three worlds of benchmarks/dose_worlds.py, by returned models that harm and that help.
REACH = 1.5
#: If a linear model predicts labels exactly, decisions get this share of the labels' own spread.
LEAST_SHARE = 1e-3
#: How far to shift the usual decision, in standard deviations of the label, or in reaches of the
#: policy if that is less (two take a mean almost as far as it can go).
LOOKED_AT = 2.0
#: By how many spreads of the behaviour model simple models move everybody's usual decision.
MOVED = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
#: The number of shifts of the usual decision among which a search looks for its start.
SHIFTS = 9


class SquaredLoss:
    """The mean squared error of a policy, as a share of the variance of the labels.

    Parameters
    ----------
    label : ndarray of shape (n,)
        The numbers that decisions should be close to.
    decision : ndarray of shape (n,), optional
        The logged decisions. The largest loss that a search allows for is twice theirs, or twice
        that of always deciding on the average label.

    Examples
    --------
    >>> loss = SquaredLoss(np.array([0.0, 2.0]))
    >>> float(loss.value(np.array([[0, 0], [1, 1], [1.25, 1.25]])))  # a mean of 1, a spread of 0.5
    1.25
    """

    def __init__(self, label: Floats, decision: Floats | None = None) -> None:
        variance = float(label.var()) or 1.0
        self._offset = float(np.mean(label**2)) / variance
        self._mean_slope = -2 * label / (label.size * variance)
        self._square_slope = 1 / (label.size * variance)
        logged = 0.0 if decision is None else float(np.mean((decision - label) ** 2)) / variance
        self.maximum = 2 * max(1.0, logged)

    def value(self, free: Floats) -> Floats:
        """The mean squared error; leading axes of ``free`` are policies."""
        linear = free[..., MEAN, :] @ self._mean_slope
        square = free[..., SQUARE, :].sum(axis=-1) * self._square_slope
        return np.asarray(self._offset + linear + square)

    def gradient(self, free: Floats) -> Floats:
        """Its derivative, the same for every policy."""
        gradient = np.zeros_like(free)
        gradient[MEAN], gradient[SQUARE] = self._mean_slope, self._square_slope
        return gradient


@dataclass(frozen=True)
class Regression(Plain):
    """The task of deciding close to the label, with a Gaussian policy.

    Parameters
    ----------
    objective : str
        What to optimise, as the user wrote it: "mse", or an expression for `Dosing`.
    spread : (float, float)
        The smallest and largest spread of a decision, as shares of the behaviour model's.
    reach : float
        How far the mean of a decision may be from the usual one, in spreads of the behaviour model.
    """

    objective: str
    spread: tuple[float, float]
    reach: float

    @property
    def needs_label(self) -> bool:
        """Whether it needs labels: always, to be close to them."""
        return True

    @property
    def means(self) -> tuple[Mean, ...]:
        """The averages in the objective, besides the squared error."""
        return ()

    def check(self, data: LoggedData) -> None:
        """Raise if labels are needed and missing."""
        if self.needs_label:
            require_label(self.objective, data.label)

    def policy(self, data: LoggedData) -> GaussianPolicy:
        """A linear mean, and a spread between the given shares of the behaviour model's.

        Where impacts are to be estimated, the mean stays within reach of the usual decision, a
        linear function of the features: then nobody need tell it about a new person.

        If nothing weights decisions, the behaviour model may be unknown. The shares are then of the
        distance of labels (or, without labels, of logged decisions) from a linear model.
        """
        known = data.decision if data.label is None else data.label
        assert known is not None
        plain = GaussianPolicy.standardised(data.features, known, smallest=1.0, largest=1.0)
        if data.behavior_spread is not None:
            whole = float(data.behavior_spread.min())
        else:
            design = plain.design(data.features)
            missed = (known - plain.level) / plain.unit
            missed = missed - least_squares(design, missed) @ design
            whole = plain.unit * max(LEAST_SHARE * FINENESS, float(missed.std()))
        smallest, largest = (whole * share for share in self.spread)
        policy = replace(plain, smallest=smallest, largest=largest)
        usual = data.usual
        if usual is None or data.behavior_spread is None or not data.impacts:
            return policy
        design = policy.design(data.features)
        usual = least_squares(design, (usual - policy.level) / policy.unit)
        return replace(policy, reach=self.reach * whole, usual=usual)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The mean squared error. Smoothing would change nothing: the residuals of a linear model
        are orthogonal to every linear mean.
        """
        assert data.label is not None
        return SquaredLoss(data.label, data.decision)

    def at(self, data: LoggedData, free: Floats | None) -> Regression:
        """The same everywhere."""
        return self

    def best(
        self,
        policy: GaussianPolicy,
        inputs: GaussianInputs,
        data: LoggedData,
        progress: Steps = silent,
    ) -> Floats:
        """Least squares, with the smallest spread."""
        return imitation(policy, inputs, data.label, spread=0.0)

    def starts(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best model; one that imitates the behaviour model, with the largest spread; and the
        midpoint of both.
        """
        usual = data.usual
        if usual is None:
            return [best]
        familiar = imitation(policy, inputs, usual, spread=FINENESS)
        return [best, (best + familiar) / 2, familiar]

    def likely(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """All starts: the best model may take decisions almost absent from the log."""
        return self.starts(policy, inputs, data, best)

    def simple(
        self,
        policy: GaussianPolicy,
        inputs: GaussianInputs,
        data: LoggedData,
        compiled: Sequence[CompiledClaim],
    ) -> Sequence[Floats]:
        """The usual decision, moved by the same for everyone."""
        usual, spread = data.usual, data.behavior_spread
        if usual is None or spread is None:
            return []
        familiar = imitation(policy, inputs, usual, spread=FINENESS)
        step = np.zeros_like(familiar)
        step[0] = float(spread.min()) / policy.unit
        return [familiar + by * step for by in MOVED]

    def judging_loss(self, data: LoggedData, model: Floats) -> Loss:
        """The same for all rows."""
        return self.loss(data, model)


def least_squares(design: Floats, target: Floats) -> Floats:
    """The coefficients of the nearest linear function.

    Examples
    --------
    >>> least_squares(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), np.array([1.0, 3.0, 5.0]))
    array([1., 2.])
    """
    return np.asarray(np.linalg.lstsq(design.T, target, rcond=None)[0])


def imitation(policy: GaussianPolicy, inputs: GaussianInputs, target: Any, spread: float) -> Floats:
    """The model whose mean is nearest to given numbers; its spread goes from 0 to FINENESS."""
    coefficients = least_squares(inputs.design, (target - policy.level) / policy.unit)
    return np.append(np.clip(coefficients, -LARGEST_PARAMETER, LARGEST_PARAMETER), spread)


def task_of(objective: str | Expression, spread: tuple[float, float], reach: float) -> Regression:
    """The task that an objective names: to be close to the label, or to make an expression large.

    Examples
    --------
    >>> from elfair import E
    >>> [type(task_of(o, (0.2, 0.9), 1.5)).__name__ for o in ("mse", "-mse", E("impact"))]
    ['Regression', 'Regression', 'Dosing']
    """
    expression = read_objective(objective, ("mse",))
    text = objective if isinstance(objective, str) else str(expression)
    if expression in (mse(), -mse()):
        return Regression(text, spread, reach)
    if isinstance(expression, Mean) and isinstance(expression.of, SquaredError):
        raise point_at(
            f"objective='{text}' would make an error large.",
            expression.span,
            f"write '-{text}'.",
        )
    return Dosing(text, spread, reach, Maximise(text, expression))


@dataclass(frozen=True)
class Dosing(Regression):
    """The task of making an expression large, with a Gaussian policy.

    Parameters
    ----------
    objective, spread, reach
        As for `Regression`.
    goal : Maximise
        What to make large.
    """

    goal: Maximise

    @property
    def needs_label(self) -> bool:
        """Whether the expression mentions the label."""
        return self.goal.needs_label

    @property
    def means(self) -> tuple[Mean, ...]:
        """The averages of the expression."""
        return find(self.goal.expression, Mean)

    def check(self, data: LoggedData) -> None:
        """Raise if no column shows typical decisions, or if nothing depends on the decisions."""
        super().check(data)
        if data.label is None and data.decision is None:
            raise DataError(
                "typical decisions are unknown: neither y nor decision was given.",
                hint="pass decision=, the logged decision.",
            )
        self.goal.check_decisions(data)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The unreached part of the range of policies near the logged decisions."""
        policy = self.policy(data)
        inputs = policy.logged(data)
        among = policy.free(self._shifted(policy, inputs, data), inputs)
        return self.goal.loss(data, model, among)

    def at(self, data: LoggedData, free: Floats | None) -> Dosing:
        """The task with the goal as it is at a policy."""
        goal = self.goal.at(data, free)
        return self if goal is self.goal else replace(self, goal=goal)

    def best(
        self,
        policy: GaussianPolicy,
        inputs: GaussianInputs,
        data: LoggedData,
        progress: Steps = silent,
    ) -> Floats:
        """The best of some shifts of the usual decision."""
        shifted = self._shifted(policy, inputs, data)
        free = policy.free(shifted, inputs)
        loss = self.at(data, None).loss(data, free[0])
        return np.asarray(shifted[int(loss.value(free).argmin())])

    def _shifted(self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData) -> Floats:
        """The usual decision (without a log, the label), then shifts of it, equal for everyone."""
        known = data.label if (usual := data.usual) is None else usual
        shifted = np.tile(imitation(policy, inputs, known, spread=FINENESS), (1 + SHIFTS, 1))
        furthest = LOOKED_AT * min(FINENESS, policy.reach / policy.unit)
        shifted[1:, 0] += np.linspace(-furthest, furthest, SHIFTS)
        return shifted
