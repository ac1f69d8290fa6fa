"""What a search solves: a task on some rows, as a loss to minimise and requirements to meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.policies import Policy
from elfair.search.goals import Loss
from elfair.search.prediction import Prediction, Target
from elfair.search.requirements import Requirement
from elfair.statistics.plan import CompiledClaim
from elfair.types import Floats

#: How far above 0 an excess may be, in spreads of a row.
TOLERANCE = 1e-9
#: A model that takes a smaller share of decisions otherwise than the old one is no new model.
LEAST_MOVE = 0.005
#: Its chance to pass counts as this logarithm: any other model is worth more.
USELESS = -50.0
Steps = Callable[[], None]


def silent() -> None:
    """Report no progress."""


class Task(Protocol):
    """What a search is for; this is all that differs between kinds of decisions."""

    @property
    def objective(self) -> str:
        """What to optimise, as the user wrote it."""

    def method(self, asked: str) -> str:
        """The search (of `SEARCHES`) that runs when the user asks for one."""

    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions that the family of policies adds to a certificate."""

    def rows(self, data: LoggedData) -> LoggedData:
        """Candidate rows as the search sees them."""

    def check(self, data: LoggedData) -> None:
        """Raise if the rows lack something that the task needs."""

    def policy(self, data: LoggedData) -> Policy:
        """The family of models, scaled by candidate rows."""

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """What to minimise; it may be smoothed towards ``model``, the free numbers of a policy that
        was fitted to these rows.
        """

    def at(self, data: LoggedData, free: Floats | None) -> Task:
        """The task at a policy (by default, at the behaviour model): the task itself, unless its
        objective must be replaced by averages that depend on the policy.
        """

    def best(self, policy: Any, inputs: Any, data: LoggedData, progress: Steps = silent) -> Floats:
        """The best model by the objective, regardless of constraints."""

    def starts(self, policy: Any, inputs: Any, data: LoggedData, best: Floats) -> Sequence[Floats]:
        """Where a search begins, the best model first."""

    def likely(self, policy: Any, inputs: Any, data: LoggedData, best: Floats) -> Sequence[Floats]:
        """Models like those between the best one and one that meets the constraints."""

    def simple(
        self, policy: Any, inputs: Any, data: LoggedData, compiled: Sequence[CompiledClaim]
    ) -> Sequence[Floats]:
        """Models that follow a simple rule; as many, and in the same order, for any rows. If there
        are too many rules, the claims on these rows say which ones look best.
        """

    def fits(self, policy: Any, best: Floats) -> Sequence[Floats]:
        """If what is best is a fit to labels: models that need no search, the sharpest fit last."""

    def judging_loss(self, data: LoggedData, model: Floats) -> Loss:
        """What to minimise, by rows that had no part in a model: as little noisy as can be, without
        taking the model's word for anything.
        """


class Plain:
    """What most families have in common: all is learnt from candidate rows, taken as they are."""

    def method(self, asked: str) -> str:
        """The one that the user asked for."""
        return asked

    def assumptions(self) -> tuple[Assumption, ...]:
        """None."""
        return ()

    def rows(self, data: LoggedData) -> LoggedData:
        """The rows as they are."""
        return data

    def fits(self, policy: Any, best: Floats) -> Sequence[Floats]:
        """None: what is best is not a fit to labels."""
        return ()


@dataclass(frozen=True)
class Candidate:
    """A model that a search considers.

    Parameters
    ----------
    theta : ndarray
        Its parameters.
    loss : float
        Its loss on candidate rows.
    excess : ndarray
        For each claim, how far it misses its target (at most 0 if it meets it).
    log_pass : float
        The logarithm of the predicted probability that every claim passes.
    meets_target : bool
        Whether every claim is predicted to pass with the wanted probability.
    """

    theta: Floats
    loss: float
    excess: Floats
    log_pass: float
    meets_target: bool

    def better_than(
        self, other: Candidate | None, loss: float = 0.0, log_pass: float = 0.0
    ) -> bool:
        """Meeting the target comes first; then the loss, or else the probability of passing.

        The loss must be smaller, or the logarithm of the probability larger, by more than is given.
        """
        if other is None or self.meets_target != other.meets_target:
            return other is None or self.meets_target
        if self.meets_target:
            return self.loss < other.loss - loss
        return self.log_pass > other.log_pass + log_pass


class Problem:
    """How candidate rows judge the models of a policy; it remembers the last model.

    Parameters
    ----------
    policy : Policy
        The family of models.
    inputs
        The candidate rows, in the form that the policy works on.
    loss : Loss
        What to minimise.
    requirements : sequence of Requirement
        What to meet.
    progress : callable
        A search calls it after each step.
    moved : callable, optional
        The share of decisions that a policy, given by its free numbers, takes otherwise than the
        old model. The old model itself breaks no promise, but it is not what anybody searches for.
    """

    def __init__(
        self,
        policy: Policy,
        inputs: Any,
        loss: Loss,
        requirements: Sequence[Requirement],
        progress: Steps = silent,
        moved: Callable[[Floats], float] = lambda _: 1.0,
    ) -> None:
        self.policy = policy
        self.inputs = inputs
        self.loss = loss
        self.requirements = requirements
        self.progress = progress
        self._moved = moved
        self._at: bytes = b""
        self.evaluations = 0

    def aim(self, target: Target) -> None:
        """Ask for another target from now on."""
        for requirement in self.requirements:
            requirement.aim(target)
        self._at = b""

    def anchor(self, theta: Floats, means: Sequence[Sequence[float]]) -> None:
        """From now on, predict from the means that more rows give one model: those of each tail of
        each claim.
        """
        free = self.policy.free(theta, self.inputs)
        for requirement, of_tails in zip(self.requirements, means, strict=True):
            requirement.anchor(free, of_tails)
        self._at = b""

    def of(self, policy: Policy, inputs: Any) -> Problem:
        """How the same rows judge the models of another policy."""
        other = Problem(
            policy, inputs, self.loss, self.requirements, self.progress, moved=self._moved
        )
        other.evaluations = self.evaluations
        return other

    def look_at(self, theta: Floats) -> Candidate:
        """Evaluate one model."""
        if theta.tobytes() != self._at:
            self._at = theta.tobytes()
            self._gradients: Floats | None = None
            self._free = self.policy.free(theta, self.inputs)
            self._predictions = [r.predict(self._free) for r in self.requirements]
            new = self._moved(self._free) >= LEAST_MOVE
            self._candidate = Candidate(
                theta.copy(),
                float(self.loss.value(self._free)),
                np.array([p.excess for p in self._predictions]),
                float(sum(p.log_pass for p in self._predictions)) if new else USELESS,
                # In spreads of a row: next to the behaviour model everything is small.
                new and all(p.excess <= TOLERANCE * p.spread for p in self._predictions),
            )
            self.evaluations += 1
        return self._candidate

    def loss_at(self, theta: Floats) -> float:
        """The loss of one model, without its predictions."""
        return float(self.loss.value(self.policy.free(theta, self.inputs)))

    def predictions(self, theta: Floats) -> list[Prediction]:
        """The prediction of each claim's test under one model."""
        self.look_at(theta)
        return self._predictions

    def log_pass_by_claim(self, theta: Floats) -> Floats:
        """The logarithm of the predicted probability that each claim passes under one model."""
        if self.look_at(theta).log_pass == USELESS:  # it is the old model
            return np.full(len(self._predictions), USELESS / len(self._predictions))
        return np.array([each.log_pass for each in self._predictions])

    def loss_and_excess_gradients(self, theta: Floats) -> Floats:
        """Derivatives by theta: the loss first, then the excess of each requirement."""
        self.look_at(theta)
        if self._gradients is None:
            self._gradients = self.policy.pull_back(
                theta, self.inputs, self._free, self._loss_and_excess_by_free()
            )
        return self._gradients

    def weighted_gradient(self, theta: Floats, weights: Floats) -> Floats:
        """The derivative of a weighted sum of the loss (first) and the excesses, in a single
        pull-back: each takes a pass through a whole network.
        """
        self.look_at(theta)
        by_free = np.tensordot(weights, self._loss_and_excess_by_free(), 1)[None]
        return np.asarray(self.policy.pull_back(theta, self.inputs, self._free, by_free)[0])

    def _loss_and_excess_by_free(self) -> Floats:
        n = self._free.shape[-1]
        excesses = [each.pull_back(each.factors, n) for each in self._predictions]
        return np.stack([self.loss.gradient(self._free), *excesses])

    def log_pass_gradient(self, theta: Floats) -> Floats:
        """The derivative of the logarithm of the predicted probability that every claim passes."""
        self.look_at(theta)
        n = self._free.shape[-1]
        by_free = np.zeros((1, *self._free.shape))
        for prediction in self._predictions:
            if np.isfinite(prediction.score):
                by_free[0] += prediction.log_pass_gradient(n)
        return np.asarray(self.policy.pull_back(theta, self.inputs, self._free, by_free)[0])
