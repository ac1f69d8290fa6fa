"""The task of a regression: a Gaussian policy that is to come near the label.

The task of making an expression large by decisions that are numbers: which dose helps most.

Nothing is known of doses that nobody was given, and a model of the impact, continued beyond them,
promises anything. The search therefore stays where logged decisions reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language import Expression, Mean, SquaredError, impacts_used, mse, point_at
from elfair.policies import GaussianPolicy
from elfair.policies.gaussian import FINENESS, LARGEST_PARAMETER, MEAN, SQUARE, GaussianInputs
from elfair.search.goals import Maximise
from elfair.search.loss import Loss
from elfair.search.objective import averages, read_objective
from elfair.types import Floats

#: Labels that a linear model predicts exactly leave this share of their own spread to a decision.
LEAST_SHARE = 1e-3


class SquaredLoss:
    """The mean squared error of a policy, as a share of the variance of the labels.

    Parameters
    ----------
    label : ndarray of shape (n,)
        What decisions are to be near to.
    decision : ndarray of shape (n,), optional
        The logged decisions. What is twice as bad as these, or as always deciding on the average
        label, is the worst that a search takes into account.

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
class Regression:
    """A Gaussian policy that is to come near the label.

    Parameters
    ----------
    objective : str
        What to make good, as the user wrote it: "mse", or what `Dosing` is for.
    spread : (float, float)
        The smallest and largest spread of a decision, as shares of the behaviour model's.
    """

    objective: str
    spread: tuple[float, float]

    def assumptions(self) -> tuple[Assumption, ...]:
        """None beside those of the data: everything is learnt from candidate rows."""
        return ()

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    @property
    def needs_label(self) -> bool:
        """Without labels there is nothing to come near to."""
        return True

    @property
    def means(self) -> tuple[Mean, ...]:
        """The averages that it speaks of, beside the squared error."""
        return ()

    def check(self, data: LoggedData) -> None:
        """Labels may be needed."""
        if self.needs_label and data.label is None:
            raise DataError(
                f"objective='{self.objective}' needs labels; y was not given.",
                hint="pass the labels, or an objective that needs none, such as 'E[impact]'.",
            )

    def policy(self, data: LoggedData) -> GaussianPolicy:
        """A linear mean, and a spread within its shares of the behaviour model's.

        Where nothing weighs decisions, the behaviour model may be unknown: the shares are then of
        how far labels (without any, logged decisions) are from a linear model.
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
        return replace(plain, smallest=smallest, largest=largest)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The mean squared error. Smoothing would change nothing: what labels have beyond a linear
        model is orthogonal to every linear mean.
        """
        assert data.label is not None
        return SquaredLoss(data.label, data.decision)

    def at(self, data: LoggedData, free: Floats | None) -> Regression:
        """Everywhere the same."""
        return self

    def best(self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData) -> Floats:
        """Least squares, with as little spread as is allowed."""
        return imitation(policy, inputs, data.label, spread=0.0)

    def starts(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best policy; one that imitates the behaviour model, with as much spread as is
        allowed; and their middle.
        """
        if data.decision is None:
            return [best]
        familiar = imitation(policy, inputs, data.decision, spread=FINENESS)
        return [best, (best + familiar) / 2, familiar]

    def likely(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """All starts: where the best policy decides, hardly anybody may have been decided about."""
        return self.starts(policy, inputs, data, best)


def least_squares(design: Floats, target: Floats) -> Floats:
    """The coefficients of the nearest linear function.

    Examples
    --------
    >>> least_squares(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), np.array([1.0, 3.0, 5.0]))
    array([1., 2.])
    """
    return np.asarray(np.linalg.lstsq(design.T, target, rcond=None)[0])


def imitation(policy: GaussianPolicy, inputs: GaussianInputs, target: Any, spread: float) -> Floats:
    """The policy whose mean is nearest to some numbers, with a spread from 0 to FINENESS."""
    coefficients = least_squares(inputs.design, (target - policy.level) / policy.unit)
    return np.append(np.clip(coefficients, -LARGEST_PARAMETER, LARGEST_PARAMETER), spread)


#: A mean decision is out of reach where fewer rows than this share, or this number, were decided
#: about as far from what is usual for such a person, on that side.
OUTER_SHARE, OUTER_ROWS = 0.025, 20
#: Where nothing is weighted: how far policies are looked at, in standard deviations of the label.
LOOKED_AT = 2.0
#: What it costs to be a whole spread further away about everyone, in ranges of the objective.
PRICE = 20.0
#: Among how many shifts of the usual decision a search looks for its start.
SHIFTS = 9


def task_of(objective: str | Expression, spread: tuple[float, float]) -> Regression:
    """What an objective asks for: to come near the label, or to make an expression large.

    Examples
    --------
    >>> from elfair.language import E
    >>> [type(task_of(o, (0.2, 0.9))).__name__ for o in ("mse", "-mse", E("impact"))]
    ['Regression', 'Regression', 'Dosing']
    """
    expression = read_objective(objective, ("mse",))
    text = objective if isinstance(objective, str) else str(expression)
    if expression in (mse(), -mse()):
        return Regression(text, spread)
    if isinstance(expression, Mean) and isinstance(expression.of, SquaredError):
        raise point_at(
            f"objective='{text}' would make an error large.",
            expression.span,
            f"write '-{text}'.",
        )
    return Dosing(text, spread, Maximise(text, expression))


class Reach(NamedTuple):
    """How far decisions go that something is known of.

    Parameters
    ----------
    spread : ndarray of shape (n,)
        The unit of the ends for each row: the behaviour model's standard deviation.
    low, high : float
        How far from the usual decision.
    """

    spread: Floats
    low: float
    high: float

    @classmethod
    def of(cls, decision: Floats, usual: Floats, spread: Floats) -> Reach:
        """As far as enough logged decisions are.

        Examples
        --------
        >>> decision = np.linspace(-1, 1, 401)  # 20 of them are below -0.9, and 20 above 0.9
        >>> reach = Reach.of(decision, np.zeros(401), np.full(401, 0.5))
        >>> round(reach.low, 2), round(reach.high, 2)
        (-1.8, 1.8)
        """
        outside = min(0.25, max(OUTER_SHARE, OUTER_ROWS / decision.size))
        low, high = np.quantile((decision - usual) / spread, [outside, 1 - outside])
        return cls(spread, float(low), float(high))


class NearLogged:
    """A loss, and what it costs to decide as hardly anybody was decided about.

    Parameters
    ----------
    loss : Loss
        The loss.
    usual : ndarray of shape (n,)
        The mean of the behaviour model's decision about each row.
    reach : Reach
        How far from it logged decisions are.

    Examples
    --------
    >>> from elfair.search.regression import SquaredLoss
    >>> plain = SquaredLoss(np.array([0.0, 2.0]))
    >>> near = NearLogged(plain, np.array([0.0, 1.0]), Reach(np.ones(2), -2, 2))
    >>> free = np.array([[0, 0], [1, 4], [1, 16]])  # the second mean is a spread too far away
    >>> float(near.value(free) - plain.value(free))
    10.0
    """

    def __init__(self, loss: Loss, usual: Floats, reach: Reach) -> None:
        self._loss = loss
        self._usual = usual
        self._reach = reach
        self.maximum = loss.maximum

    def value(self, free: Floats) -> Floats:
        """The loss with the cost; leading axes of ``free`` are policies."""
        cost = PRICE * np.mean(self._beyond(free) ** 2, axis=-1)
        return np.asarray(self._loss.value(free) + cost)

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free numbers of one policy."""
        gradient = np.array(self._loss.gradient(free))
        gradient[MEAN] += 2 * PRICE * self._beyond(free) / (self._reach.spread * free.shape[-1])
        return gradient

    def _beyond(self, free: Floats) -> Floats:
        """By how many spreads each mean is out of reach, with its sign."""
        spread, low, high = self._reach
        away = (free[..., MEAN, :] - self._usual) / spread
        return np.asarray(away - np.clip(away, low, high))


@dataclass(frozen=True)
class Dosing(Regression):
    """A Gaussian policy that is to make an expression large.

    Parameters
    ----------
    objective, spread
        As for `Regression`.
    goal : Maximise
        What to make large.
    """

    goal: Maximise

    @property
    def needs_label(self) -> bool:
        """Where the expression speaks of the label."""
        return self.goal.needs_label

    @property
    def means(self) -> tuple[Mean, ...]:
        """Those of the expression."""
        return averages(self.goal.expression)

    def check(self, data: LoggedData) -> None:
        """Something has to say what decisions are like, and something must depend on them."""
        super().check(data)
        if data.label is None and data.decision is None:
            raise DataError(
                "nothing says what decisions are like: neither y nor decision was given.",
                hint="pass decision=, the decision that was taken.",
            )
        self.goal.check_decisions(data)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """What is not reached of the range that policies near the logged decisions have."""
        policy = self.policy(data)
        inputs = policy.logged(data)
        shifted, reach = self._shifted(policy, inputs, data)
        loss = self.goal.loss(data, model, policy.free(shifted, inputs))
        if not impacts_used(self.goal.expression):
            return loss  # known whatever is decided
        return NearLogged(loss, policy.moments(shifted[0], data.features)[0], reach)

    def at(self, data: LoggedData, free: Floats | None) -> Dosing:
        """With the goal as it is there."""
        goal = self.goal.at(data, free)
        return self if goal is self.goal else replace(self, goal=goal)

    def best(self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData) -> Floats:
        """The best of some shifts of what is usual."""
        shifted, _ = self._shifted(policy, inputs, data)
        free = policy.free(shifted, inputs)
        loss = self.at(data, None).loss(data, free[0])
        return np.asarray(shifted[int(loss.value(free).argmin())])

    def _shifted(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData
    ) -> tuple[Floats, Reach]:
        """What is usual (without a log, the label); after it, shifts of it for everyone alike."""
        known = data.label if data.decision is None else data.decision
        usual = imitation(policy, inputs, known, spread=FINENESS)
        reach = Reach(np.array([policy.unit * FINENESS]), -LOOKED_AT, LOOKED_AT)
        if data.decision is not None and data.behavior_spread is not None:
            mean, _ = policy.moments(usual, data.features)
            reach = Reach.of(data.decision, mean, data.behavior_spread)
        shifted = np.tile(usual, (1 + SHIFTS, 1))
        shifts = np.linspace(reach.low, reach.high, SHIFTS)
        shifted[1:, 0] += shifts * float(reach.spread.mean()) / policy.unit
        return shifted, reach
