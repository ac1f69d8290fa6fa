"""Candidate selection as a problem: a loss to make small, requirements to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from elfair.policies import Policy
from elfair.search.loss import Loss
from elfair.search.prediction import Prediction, Requirement
from elfair.search.targets import Target
from elfair.types import Floats

#: By how much an excess may be above 0, in spreads of a row.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A policy that candidate selection puts forward.

    Parameters
    ----------
    theta : ndarray
        Its parameters.
    loss : float
        Its loss on candidate rows.
    excess : ndarray
        For each claim, how far it misses its target (at most 0 when it meets it).
    log_pass : float
        The logarithm of the predicted probability that it passes every test.
    meets_target : bool
        Whether every claim is predicted to pass with the wanted probability.
    """

    theta: Floats
    loss: float
    excess: Floats
    log_pass: float
    meets_target: bool

    def better_than(self, other: Candidate | None) -> bool:
        """Meeting the target comes first; then the loss, or else the chance to pass."""
        if other is None or self.meets_target != other.meets_target:
            return other is None or self.meets_target
        if self.meets_target:
            return self.loss < other.loss
        return self.log_pass > other.log_pass


class Problem:
    """The candidate rows' view of policies; remembers the last policy it looked at.

    Parameters
    ----------
    policy : Policy
        The family of policies.
    inputs
        The candidate rows, as the policy wants them.
    loss : Loss
        What to make small.
    requirements : sequence of Requirement
        What to meet.
    """

    def __init__(
        self,
        policy: Policy,
        inputs: Any,
        loss: Loss,
        requirements: Sequence[Requirement],
    ) -> None:
        self.policy = policy
        self.inputs = inputs
        self.loss = loss
        self.requirements = requirements
        self._at: bytes = b""
        self.evaluations = 0

    def aim(self, target: Target) -> None:
        """From now on, ask for another target."""
        for requirement in self.requirements:
            requirement.aim(target)
        self._at = b""

    def look_at(self, theta: Floats) -> Candidate:
        """Evaluate one policy."""
        if theta.tobytes() != self._at:
            self._at = theta.tobytes()
            self._gradients: Floats | None = None
            self._free = self.policy.free(theta, self.inputs)
            self._predictions = [r.predict(self._free) for r in self.requirements]
            self._candidate = Candidate(
                theta.copy(),
                float(self.loss.value(self._free)),
                np.array([p.excess for p in self._predictions]),
                float(sum(log_ndtr(p.score) for p in self._predictions)),
                # In spreads of a row: next to the behaviour model everything is small.
                all(p.excess <= TOLERANCE * p.spread for p in self._predictions),
            )
            self.evaluations += 1
        return self._candidate

    def loss_at(self, theta: Floats) -> float:
        """The loss of one policy, of which nothing else is asked."""
        return float(self.loss.value(self.policy.free(theta, self.inputs)))

    def predictions(self, theta: Floats) -> list[Prediction]:
        """What is predicted of each claim's test under one policy."""
        self.look_at(theta)
        return self._predictions

    def loss_and_excess_gradients(self, theta: Floats) -> Floats:
        """Derivatives by theta: the loss first, then the excess of each requirement."""
        self.look_at(theta)
        if self._gradients is None:
            self._gradients = self.policy.pull_back(
                theta, self.inputs, self._free, self._loss_and_excess_by_free()
            )
        return self._gradients

    def weighted_gradient(self, theta: Floats, weights: Floats) -> Floats:
        """The derivative of a weighted sum of the loss (first) and the excesses: one pull-back,
        where each of them takes a pass through a whole network.
        """
        self.look_at(theta)
        by_free = np.tensordot(weights, self._loss_and_excess_by_free(), 1)[None]
        return np.asarray(self.policy.pull_back(theta, self.inputs, self._free, by_free)[0])

    def _loss_and_excess_by_free(self) -> Floats:
        n = self._free.shape[-1]
        excesses = [prediction.excess_gradient(n) for prediction in self._predictions]
        return np.stack([self.loss.gradient(self._free), *excesses])

    def log_pass_gradient(self, theta: Floats) -> Floats:
        """The derivative of the predicted (log) probability of passing every test."""
        self.look_at(theta)
        n = self._free.shape[-1]
        by_free = np.zeros((1, *self._free.shape))
        for prediction in self._predictions:
            if np.isfinite(prediction.score):
                # d log Phi(s) / ds = phi(s) / Phi(s), which grows like -s on the far left.
                slope = np.exp(-0.5 * prediction.score**2 - log_ndtr(prediction.score)) / np.sqrt(
                    2 * np.pi
                )
                by_free[0] += slope * prediction.score_gradient(n)
        return np.asarray(self.policy.pull_back(theta, self.inputs, self._free, by_free)[0])
