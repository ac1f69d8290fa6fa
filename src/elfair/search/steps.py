"""Constrained gradient steps, for policies with more parameters than rows can pin down.

A network fits any luck there is in the rows it is trained on, and no allowance of p / n repairs
that. So the candidate half is divided once more: gradients come from *training* rows, while
*judging* rows, which no gradient ever sees, say how strongly each constraint has to pull, and which
of all policies on the way is put forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.policies import Policy
from elfair.policies.torch_module import TorchPolicy
from elfair.search.forecast import forecast
from elfair.search.loss import LogLoss
from elfair.search.prediction import Requirement
from elfair.search.problem import Candidate, Problem
from elfair.search.selection import Found, Selection
from elfair.search.targets import Target
from elfair.search.task import Classification, Goal, Wanted
from elfair.statistics.plan import Plan
from elfair.types import Floats, Index

#: The share of candidate rows that judge.
JUDGING_SHARE = 0.4
#: Steps towards given classes, at most, and how many without progress are enough.
FITTING_STEPS = 600
PATIENCE = 60
#: Steps under the constraints.
STEPS = 300
#: The size of a step; under the constraints it shrinks to nothing, so that the last ones settle.
STEP = 0.02
#: How strongly a constraint pulls for each spread of a row by which it misses its target: at once,
#: and ever more while it is missed.
STIFFNESS = 2.0
GROWTH = 0.2


@dataclass(frozen=True)
class Steps(Selection):
    """Looks for a candidate by constrained gradient steps; see `Selection`."""

    def _searched(
        self,
        policy: Policy,
        data: LoggedData,
        plan: Plan,
        n_test: int,
        progress: Callable[[], None],
        n_error: int | None,
        targets: Sequence[Target],
        known: Sequence[Floats] = (),
    ) -> Found:
        """The best policy for one plan and the first target: training more takes too long.

        ``n_error`` has no part in it: what judging rows say is taken to err independently of the
        test, which is on the safe side.
        """
        assert isinstance(policy, TorchPolicy)
        assert isinstance(self.task, Classification)
        order = np.random.default_rng(self.seed).permutation(data.n)
        cut = max(1, round(JUDGING_SHARE * data.n))
        judging, training = (data.take(np.sort(part)) for part in (order[:cut], order[cut:]))
        rows = _Rows(policy, training, judging, progress)
        judge = Problem(
            policy,
            rows.judging_inputs,
            self.task.loss(judging),
            [Requirement(c, targets[0], n_test / judging.n) for c in plan.compile(judging)],
        )
        best: Candidate | None = None
        for start in (*known, *rows.starts(self.task.goal)):
            learner = self._learner(rows, plan, n_test, start)
            found = constrained_steps(learner, judge, start, progress)
            if found.better_than(best):
                best = found
            if found.meets_target:
                break
        assert best is not None
        return Found([best], judge.evaluations, judge)

    def _learner(self, rows: _Rows, plan: Plan, n_test: int, start: Floats) -> Problem:
        """Where gradients come from: labels smoothed and averages forecast, as far as they can be,
        so that there is less luck to learn.
        """
        training, free = rows.training, rows.policy.free(start, rows.inputs)
        compiled = plan.compile(training)
        beliefs = forecast(plan, compiled, training, [free])
        requirements = [
            Requirement(claim, self.target, n_test / training.n, beliefs=belief)
            for claim, belief in zip(compiled, beliefs, strict=True)
        ]
        return Problem(rows.policy, rows.inputs, self.task.loss(training, free), requirements)


def constrained_steps(
    learner: Problem,
    judge: Problem,
    start: Floats,
    progress: Callable[[], None] = lambda: None,
) -> Candidate:
    """The best policy on the way from a start, under an augmented Lagrangian.

    Parameters
    ----------
    learner : Problem
        The training rows' view: gradients come from here.
    judge : Problem
        The judging rows' view of the same claims: how far each misses its target, and which policy
        is best.
    start : ndarray
        Parameters to start from.
    progress : callable
        Called after each step.

    Returns
    -------
    Candidate
        As the judge sees it.
    """
    adam, theta = _Adam(start), start
    low, high = learner.policy.box
    best = judge.look_at(start)
    multipliers = np.zeros(len(judge.requirements))
    for step in range(STEPS):
        # In spreads of a row, so that all claims are on one scale.
        spreads = np.array([p.spread or 1.0 for p in judge.predictions(theta)])
        missed = judge.look_at(theta).excess / spreads
        pull = np.maximum(0.0, multipliers + STIFFNESS * missed)
        multipliers = np.maximum(0.0, multipliers + GROWTH * missed)
        gradient = learner.weighted_gradient(theta, np.append(1.0, pull / spreads))
        theta = np.clip(theta - STEP * (1 - step / STEPS) * adam.direction(gradient), low, high)
        seen = judge.look_at(theta)
        best = seen if seen.better_than(best) else best
        progress()
    return best


def fit_by_steps(
    policy: TorchPolicy,
    training: tuple[Any, Index],
    judging: tuple[Any, Index],
    progress: Callable[[], None] = lambda: None,
) -> Floats:
    """The policy that predicts given classes best on the judging rows, of those on the way to the
    best one on the training rows.

    Parameters
    ----------
    policy : TorchPolicy
        The family of policies.
    training, judging : (inputs, ndarray)
        Rows, and the index of each row's class.
    progress : callable
        Called after each step.
    """
    (inputs, label), (unseen, other) = training, judging
    loss, judge = LogLoss(label, policy.n_classes), LogLoss(other, policy.n_classes)
    theta = best = policy.start
    least, since, adam = np.inf, 0, _Adam(theta)
    for _ in range(FITTING_STEPS):
        value = float(judge.value(policy.free(theta, unseen)))
        if value < least:
            best, least, since = theta, value, 0
        since += 1
        if since > PATIENCE:
            break
        free = policy.free(theta, inputs)
        gradient = policy.pull_back(theta, inputs, free, loss.gradient(free)[None])[0]
        if policy.mixed:
            gradient[-1] = 0.0  # a start is a policy of its own
        theta = theta - STEP * adam.direction(gradient)
        progress()
    return best


class _Rows:
    """Training and judging rows, and where a search on them starts."""

    def __init__(
        self,
        policy: TorchPolicy,
        training: LoggedData,
        judging: LoggedData,
        progress: Callable[[], None],
    ) -> None:
        self.policy, self.training, self.judging = policy, training, judging
        self.inputs, self.judging_inputs = policy.logged(training), policy.logged(judging)
        self.progress = progress

    def starts(self, goal: Goal) -> Iterator[Floats]:
        """A policy that decides as the goal wants; if that leads nowhere, one that imitates the
        behaviour model; and, where it is known, the behaviour model itself.
        """
        yield self._fitted(goal.wanted(self.training), goal.wanted(self.judging))
        done, others = self.training.decision_index, self.judging.decision_index
        if done is not None and others is not None:
            familiar = self._fitted(
                Wanted(np.arange(done.size), done), Wanted(np.arange(others.size), others)
            )
            yield familiar
            if self.policy.mixed:
                yield np.append(familiar[:-1], 0.0)

    def _fitted(self, training: Wanted, judging: Wanted) -> Floats:
        if not (training.rows.size and judging.rows.size):
            return self.policy.start
        seen, unseen = (
            (self.policy.logged(data.take(wanted.rows)), wanted.classes)
            for data, wanted in ((self.training, training), (self.judging, judging))
        )
        return fit_by_steps(self.policy, seen, unseen, self.progress)


class _Adam:
    """Steps of about one size in each parameter, whatever the size of its gradient."""

    def __init__(self, like: Floats) -> None:
        self._mean, self._square, self._count = np.zeros_like(like), np.zeros_like(like), 0

    def direction(self, gradient: Floats) -> Floats:
        """The average gradient by its average size, both of late."""
        self._count += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._count)
        size = np.sqrt(self._square / (1 - 0.999**self._count))
        return np.asarray(mean / (size + 1e-8))
