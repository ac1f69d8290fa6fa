"""The task of making an expression large by decisions that are numbers: which dose helps most.

Nothing is known of doses that nobody was given, and a model of the impact, continued beyond them,
promises anything. The search therefore stays where logged decisions reach.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language import Expression, Mean, SquaredError, impacts_used, mse, point_at
from elfair.policies import GaussianPolicy
from elfair.policies.gaussian import FINENESS, GaussianInputs
from elfair.search.loss import Loss
from elfair.search.maximisation import Maximise
from elfair.search.objective import averages, read_objective
from elfair.search.regression import Regression, imitation
from elfair.statistics.decisions import MEAN

Floats = NDArray[np.float64]

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
        assert isinstance(data, ContinuousData)
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
