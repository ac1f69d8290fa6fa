"""The search where decisions are many: along a few directions in the space of all parameters.

A softmax over a hundred decisions has thousands of parameters: more than logged rows determine,
and more than sequential quadratic programming can handle. But few directions matter: the old model,
the best model by the objective, and for each statement the decisions that it asks for, person by
person. The search only finds how far to go in each.

The directions are learnt from candidate rows, which they therefore fit better than any others. So
the search sees candidate rows along *left-out* directions: each fold along those that the other
folds give. The models that are tested use the directions of all candidate rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data import LoggedData
from elfair.data.units import numbered
from elfair.policies import PolicyInputs, SoftmaxPolicy
from elfair.search.gradient import gradient_path, gradient_search
from elfair.search.pooling import pooled
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem
from elfair.statistics import Baselines, Estimation, Part, compile_form
from elfair.types import Booleans, Floats, Index

if TYPE_CHECKING:
    from elfair.search.selection import View

#: Decisions are many if there are more than this.
MANY = 8
#: Folds of the candidate rows for left-out directions.
FOLDS = 5
#: How far the search goes in each direction. Beyond, a softmax is nearly a step function, and its
#: average rests on a few rows with large weights.
FURTHEST = 5.0
#: How precisely models are found: with many decisions, losses differ by little.
PRECISION = 1e-5
#: How far the most cautious model is from the old one, in logits.
CAUTION = 0.5
#: Logits that vary by less than this give no direction; so small a share of slopes is rounding.
TINY = 1e-9


def is_many(policy: Any) -> bool:
    """Whether a policy chooses among many decisions, so that the search follows directions."""
    return isinstance(policy, SoftmaxPolicy) and policy.n_classes > MANY


@dataclass(frozen=True)
class NarrowInputs(PolicyInputs):
    """The rows as a narrow policy sees them.

    Parameters
    ----------
    design, behavior
        See `PolicyInputs`.
    fold : ndarray of shape (n,)
        The fold of each row.
    """

    fold: Index

    @cached_property
    def folds(self) -> list[tuple[Index, Floats]]:
        """The rows of each fold, and their design."""
        every = [np.flatnonzero(self.fold == k) for k in range(FOLDS)]
        return [(rows, self.design[:, rows]) for rows in every]

    def take(self, rows: Index) -> NarrowInputs:
        """Some of the rows."""
        behavior = None if self.behavior is None else self.behavior[:, rows]
        return NarrowInputs(self.design[:, rows], behavior, self.fold[rows])


@dataclass(frozen=True)
class NarrowPolicy(SoftmaxPolicy):
    """The softmax policies whose parameters are sums of a few directions.

    Parameters
    ----------
    n_classes, center, scale, mixed, exploration
        See `SoftmaxPolicy`.
    directions : ndarray of shape (directions, weights)
        Weights of a softmax policy.
    left_out : ndarray of shape (folds, directions, weights)
        The same as the rows outside each fold give them; these count inside it.
    """

    directions: Floats = field(kw_only=True)
    left_out: Floats = field(kw_only=True)

    @property
    def _n_weights(self) -> int:
        return len(self.directions)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The lowest and highest value of each parameter."""
        low, high = super().box
        return np.maximum(low, -FURTHEST), np.minimum(high, FURTHEST)

    def widened(self, theta: Floats) -> Floats:
        """The parameters of the softmax policy that this model becomes."""
        count = self._n_weights
        return np.append(theta[:count] @ self.directions, theta[count:])

    def _logits(self, theta: Floats, inputs: Any) -> Floats:
        logits = np.empty((self.n_classes - 1, inputs.design.shape[1]))
        of_folds = np.tensordot(theta[: self._n_weights], self.left_out, (0, 1))
        for (rows, design), weights in zip(inputs.folds, of_folds, strict=True):
            logits[:, rows] = weights.reshape(self.n_classes - 1, -1) @ design
        return logits

    def _by_weights(self, theta: Floats, inputs: Any, by_logit: Floats) -> Floats:
        total = np.zeros((len(by_logit), self._n_weights))
        for (rows, design), directions in zip(inputs.folds, self.left_out, strict=True):
            by_weights = by_logit[:, :, rows].reshape(-1, rows.size) @ design.T
            total += by_weights.reshape(len(by_logit), -1) @ directions.T
        return total


def narrow_search(
    view: View, some: Index | None, targets: Sequence[Target], known: Sequence[Floats]
) -> tuple[list[Candidate], Problem]:
    """The best models along a few directions, one for each target.

    If there are several targets, a more cautious model comes first: the old one, moved a little
    towards what every statement asks for. How far the others went, they went by the word of rows
    with large weights.

    Parameters
    ----------
    view : View
        Candidate rows, the plan and the family of models.
    some : ndarray, optional
        The rows to search on, by default all; all of them give directions.
    targets : sequence of Target
        How far inside its constraints each candidate must be, the most demanding first.
    known : sequence of ndarray
        Parameters to start from instead of the best model's.

    Returns
    -------
    candidates : list of Candidate
    problem : Problem
        How the rows judge models.
    """
    ways = Directions.of(view, some, known)
    inputs, rows = ways.inputs, view
    if some is not None:
        inputs, rows = inputs.take(some), replace(view, data=view.data.take(some))
    inner = replace(rows, policy=ways.policy)
    inner.inputs = inputs
    starts = ways.starts(inner)
    problem = inner.smooth_problem(starts[0], starts)
    if len(targets) > 1:
        found = gradient_path(problem, starts, targets, PRECISION)
        found.insert(0, problem.look_at(ways.cautious))
    else:
        found = [gradient_search(problem, starts)]
    low, high = view.policy.box
    widened = [
        replace(each, theta=np.clip(ways.policy.widened(each.theta), low, high)) for each in found
    ]
    return widened, problem.of(view.policy, rows.inputs)


@dataclass(frozen=True)
class Directions:
    """The directions that matter on some candidate rows.

    Parameters
    ----------
    policy : NarrowPolicy
        The policies along them: first along whole models, then along what the objective asks for,
        then along what statements ask for.
    inputs : NarrowInputs
        The rows.
    old : int or None
        The place of the model that imitates the old one.
    best : int or None
        The place of the model to start from.
    n_models, n_wishes : int
        The numbers of models, and of directions that the objective asks for.
    """

    policy: NarrowPolicy
    inputs: NarrowInputs
    old: int | None
    best: int | None
    n_models: int
    n_wishes: int

    @classmethod
    def of(cls, view: View, some: Index | None, known: Sequence[Floats]) -> Directions:
        """Learn them; fits that take many steps use only some of the rows."""
        task: Any = view.selection.task  # a classifier's: only these choose among classes
        policy, data = view.policy, view.data
        fitted = view if some is None else replace(view, data=data.take(some))
        models = list(known)
        if not known and task.goal.fits_labels:
            models.append(fitted.best)
        best = 0 if models else None
        if data.decision_index is not None:
            models.append(task.familiar(policy, fitted.inputs, fitted.data, view.progress))
        old = None if data.decision_index is None else len(models) - 1
        whole = [theta[: policy.n_parameters - policy.mixed] for theta in models]
        place, first = numbered(data)
        fold = np.random.default_rng(view.selection.seed).permutation(first.size) % FOLDS
        inputs = NarrowInputs(view.inputs.design, view.inputs.behavior, fold[place])
        of_goal = [_ways(part, data, inputs, policy.n_classes) for part in task.goal.parts(data)]
        of_claims = []
        for part in _parts(view):
            of_claims.append(_ways(part, data, inputs, policy.n_classes))
            view.progress()
        wishes, duties = ([way for ways in each for way in ways] for each in (of_goal, of_claims))
        every = np.array([*(np.tile(theta, (FOLDS + 1, 1)) for theta in whole), *wishes, *duties])
        narrow = NarrowPolicy(
            policy.n_classes,
            policy.center,
            policy.scale,
            policy.mixed,
            policy.exploration,
            directions=every[:, 0],
            left_out=np.moveaxis(every[:, 1:], 1, 0),
        )
        return cls(narrow, inputs, old, best, len(models), len(wishes))

    @cached_property
    def _old(self) -> Floats:
        theta = np.zeros(self.policy.n_parameters)
        if self.old is not None:
            theta[self.old] = 1.0
        if self.policy.mixed:
            theta[-1] = 1.0
        return theta

    @property
    def _duties(self) -> slice:
        return slice(self.n_models + self.n_wishes, len(self.policy.directions))

    @property
    def cautious(self) -> Floats:
        """The old model, moved a little towards what every statement asks for."""
        theta = self._old.copy()
        # Two directions for each statement.
        theta[self._duties] = CAUTION / max(1, (self._duties.stop - self._duties.start) // 2)
        return theta

    def starts(self, view: View) -> list[Floats]:
        """The best model, if it was fitted; and the old model, moved towards what the objective and
        the statements ask for.
        """
        moved = self._old.copy()
        moved[self._duties] = 1.0
        loss = view.selection.task.loss(view.data)
        for place in range(self.n_models, self.n_models + self.n_wishes):
            steps = [moved.copy() for _ in range(2)]
            for step, by in zip(steps, (1.0, -1.0), strict=True):
                step[place] = by
            moved = min(steps, key=lambda s: float(loss.value(self.policy.free(s, view.inputs))))
        if self.best is None:
            return [moved]
        best = np.zeros_like(moved)
        best[self.best] = 1.0
        best[len(self.policy.directions) :] = 1.0
        return [best, moved]


def _parts(view: View) -> list[Part]:
    """The rows of all statements, without caps: those do not change a mean."""
    baselines, averages = Baselines(Estimation(), view.data), view.plan.logged_averages
    forms = [tail.form for claim in view.plan.compile(view.data) for tail in claim.tails]
    every = [compile_form(form, view.data, baselines, averages) for form in forms]
    return [part for parts in every for part in parts]


def _ways(part: Part, data: LoggedData, inputs: NarrowInputs, n_classes: int) -> list[Floats]:
    """The directions that lower the average of a part, of shape (1 + folds, weights): by all rows,
    and by those outside each fold. The first is the same for everyone, the second differs from
    person to person: the latter is harder to learn. Together they change logits by about 1.
    """
    whole = _effects(part, data, inputs, n_classes, np.ones(data.n, dtype=bool))
    logits = whole @ inputs.design
    size = float(np.sqrt(np.mean((logits - logits.mean(axis=0)) ** 2)))
    if size <= TINY:
        return []
    left_out = [_effects(part, data, inputs, n_classes, inputs.fold != k) for k in range(FOLDS)]
    every = np.array([whole, *left_out]) / -size
    level = every.copy()
    level[:, :, 1:] = 0.0
    return [each.reshape(FOLDS + 1, -1) for each in (level, every - level)]


def _effects(
    part: Part, data: LoggedData, inputs: NarrowInputs, n_classes: int, used: Booleans
) -> Floats:
    """How decisions change the average of a part, as a linear function of a person: of shape
    (classes - 1, width), against the first class, by some of the rows.
    """
    rows = part.rows
    inside = used[rows.index]
    index = rows.index[inside]
    design, slope = inputs.design[:, index], rows.slope[:, inside]
    effects, known = np.zeros((n_classes, len(design))), slope
    if rows.weighted is not None:
        assert data.decision_index is not None
        assert data.propensity is not None
        residual, taken = rows.weighted.residual[inside], data.decision_index[index]
        effects = pooled(design, residual, taken, n_classes)
        by_class = np.zeros((n_classes, index.size))
        by_class[taken, np.arange(index.size)] = residual / data.propensity[index]
        known = slope - (by_class[1:] - by_class[0])  # what needs no weight
    total = effects[1:] - effects[0]
    if np.abs(known).max(initial=0.0) > TINY * np.abs(slope).max(initial=0.0):
        gram = design @ design.T + np.eye(len(design))
        total += np.linalg.solve(gram, design @ known.T).T
    return np.asarray(total)
