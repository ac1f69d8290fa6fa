"""Constrained gradient steps, for policies with more parameters than the rows can determine.

A network fits any luck there is in the rows it is trained on, and no allowance of p / n repairs
that. So the candidate rows are divided once more. Gradients come from *training* rows. *Judging*
rows, which no gradient ever sees, say how strongly each constraint must pull, and which of the
models along the way is the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data import LoggedData
from elfair.data.units import permuted, whole_units
from elfair.policies.torch_module import TorchPolicy
from elfair.records.progress import parts
from elfair.search.goals import LogLoss, Preferred
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem, Steps, silent
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.types import Floats, Index

if TYPE_CHECKING:
    from elfair.search.selection import View

#: The share of candidate rows that judge.
JUDGING_SHARE = 0.4
#: The most steps towards given classes, and how many without progress are enough.
FITTING_STEPS = 600
PATIENCE = 60
#: Steps under the constraints.
STEPS = 300
#: The size of a step; under the constraints it shrinks to nothing, to let the last ones settle.
STEP = 0.02
#: How strongly a constraint pulls for each spread of a row by which it misses its target: at once,
#: and how much that grows with every step that misses it.
STIFFNESS = 2.0
GROWTH = 0.2


def steps_search(
    view: View, target: Target, known: Sequence[Floats] = ()
) -> tuple[Candidate, Problem]:
    """The best model for one target that constrained gradient steps find.

    ``n_error`` of the view plays no part: judging rows and the test are taken to err independently,
    which is on the safe side.

    Parameters
    ----------
    view : View
        Candidate rows, the plan and the family of models.
    target : Target
        How far inside its constraints a candidate must be.
    known : sequence of ndarray
        Parameters to start from, before the usual starts.

    Returns
    -------
    candidate : Candidate
    problem : Problem
        How judging rows judge models.
    """
    data, plan, policy, n_test = view.data, view.plan, view.policy, view.n_test
    task = view.selection.task
    order = permuted(data, view.selection.seed)
    cut = whole_units(data, order, max(1, round(JUDGING_SHARE * data.n)))
    judging, training = (data.take(np.sort(part)) for part in (order[:cut], order[cut:]))
    requirements = requirements_of(plan.compile(judging), target, n_test / judging.n)
    judge = Problem(policy, policy.logged(judging), task.loss(judging), requirements, view.progress)
    inputs = policy.logged(training)
    best: Candidate | None = None
    for start in (*known, *_starts(view, training, judging)):
        # Smoothed labels and shrunk means leave less luck to learn.
        free, compiled = policy.free(start, inputs), plan.compile(training)
        shrunk = shrunk_means(plan, compiled, training, [free])
        requirements = requirements_of(compiled, target, n_test / training.n, shrunk=shrunk)
        learner = Problem(policy, inputs, task.loss(training, free), requirements)
        found = constrained_steps(learner, judge, start)
        if found.better_than(best):
            best = found
        if found.meets_target:
            break
    assert best is not None
    return best, judge


def constrained_steps(learner: Problem, judge: Problem, start: Floats) -> Candidate:
    """The best model on the way from a start, under an augmented Lagrangian.

    Parameters
    ----------
    learner : Problem
        How training rows judge models: gradients come from here.
    judge : Problem
        How judging rows judge the same claims: how far each misses its target, and which model is
        best.
    start : ndarray
        Parameters to start from.

    Returns
    -------
    Candidate
        As the judging rows see it.
    """
    adam, theta = _Adam(start), start
    low, high = learner.policy.box
    best = judge.look_at(start)
    multipliers = np.zeros(len(judge.requirements))
    for step in parts(range(STEPS)):
        # In spreads of a row: that puts all claims on one scale.
        spreads = np.array([p.spread or 1.0 for p in judge.predictions(theta)])
        missed = judge.look_at(theta).excess / spreads
        pull = np.maximum(0.0, multipliers + STIFFNESS * missed)
        multipliers = np.maximum(0.0, multipliers + GROWTH * missed)
        gradient = learner.weighted_gradient(theta, np.append(1.0, pull / spreads))
        theta = np.clip(theta - STEP * (1 - step / STEPS) * adam.direction(gradient), low, high)
        seen = judge.look_at(theta)
        best = seen if seen.better_than(best) else best
        judge.progress()
    return best


def fit_by_steps(
    policy: TorchPolicy,
    training: tuple[Any, Index | Floats],
    judging: tuple[Any, Index | Floats],
    progress: Steps = silent,
) -> Floats:
    """The parameters, on the way to the best fit of training rows, that fit judging rows best.

    Parameters
    ----------
    policy : TorchPolicy
        The family of models.
    training, judging : (inputs, ndarray)
        The rows, and the index of each row's class, or the probability of each class.
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
            gradient[-1] = 0.0  # a start is not mixed with the behaviour model
        theta = theta - STEP * adam.direction(gradient)
        progress()
    return best


def _starts(view: View, training: LoggedData, judging: LoggedData) -> Iterator[Floats]:
    """A model that takes the preferred decisions; if that leads nowhere, one that imitates the
    behaviour model.
    """
    policy: TorchPolicy = view.policy
    task: Any = view.selection.task  # a classifier's: only these can be trained

    def fitted(*preferred: Preferred) -> Floats:
        if not all(each.rows.size for each in preferred):
            return policy.start
        seen, unseen = (
            (policy.logged(data.take(each.rows)), each.classes)
            for data, each in zip((training, judging), preferred, strict=True)
        )
        return fit_by_steps(policy, seen, unseen, view.progress)

    yield fitted(task.goal.preferred(training), task.goal.preferred(judging))
    done, others = training.decision_index, judging.decision_index
    if done is not None and others is not None:
        yield fitted(*(Preferred(np.arange(each.size), each) for each in (done, others)))


class _Adam:
    """Steps of about the same size in each parameter, whatever the size of its gradient."""

    def __init__(self, like: Floats) -> None:
        self._mean, self._square, self._count = np.zeros_like(like), np.zeros_like(like), 0

    def direction(self, gradient: Floats) -> Floats:
        """The recent average of gradients, divided by their recent size."""
        self._count += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._count)
        size = np.sqrt(self._square / (1 - 0.999**self._count))
        return np.asarray(mean / (size + 1e-8))
