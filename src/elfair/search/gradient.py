"""Constrained search with analytic gradients, from starts that are fitted without constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np

from elfair.policies import PolicyInputs, SoftmaxPolicy
from elfair.records.progress import parts
from elfair.search.goals import LogLoss
from elfair.search.prediction import Target
from elfair.search.problem import Candidate, Problem, Steps, silent
from elfair.types import Floats, Index

#: The penalty of a fitted start, in rows: enough to keep parameters finite if classes separate.
RIDGE = 1.0
#: The same for a fit to probabilities, in which there is no luck.
EXACT_RIDGE = 0.1
#: The most steps of such a fit.
FITTING_STEPS = 100
# Sequential quadratic programming starts from a curvature of 1, while a loss of 0.1 that changes
# over parameters of size 10 has one of about 0.001. Measured on the foster-care-like population,
# these units save a third of the evaluations and end at a smaller loss.
LOSS_UNITS = 50.0
EXCESS_UNITS = 10.0
PRECISION = 1e-6
#: How far a search that got stuck may move from its start when it tries again.
SHORT = 5.0
#: Room in a constraint, in spreads of a row, that a good policy has no reason to leave unused.
ROOM = 0.01
#: The most evaluations from one start, and the most without progress, which is a loss smaller by so
#: much, or a log-probability to pass larger by so much: an infeasible problem would go on and on.
MOST_EVALUATIONS = 100
PATIENCE = 10
SMALL_LOSS = 1e-5
SMALL_CHANCE = 1e-2


def minimised(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    box: tuple[Floats, Floats],
    steps: int,
    progress: Steps = silent,
) -> tuple[Floats, float]:
    """The minimum of a smooth function inside a box, by L-BFGS.

    Parameters
    ----------
    value_and_gradient : callable
        The function and its derivative.
    start : ndarray
        Parameters to start from.
    box : (ndarray, ndarray)
        The lowest and highest value of each parameter.
    steps : int
        The most steps.
    progress : callable
        Called after each step.

    Returns
    -------
    parameters : ndarray
    value : float

    Examples
    --------
    >>> box = np.array([-1.0]), np.array([1.0])
    >>> minimised(lambda x: (float((x[0] - 3) ** 2), 2 * (x - 3)), np.zeros(1), box, 10)
    (array([1.]), 4.0)
    """
    from scipy.optimize import minimize

    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(*box, strict=True)),
        callback=lambda _: progress(),
        options={"maxiter": steps},
    )
    return np.asarray(found.x, dtype=np.float64), float(found.fun)


def fit_log_loss(
    policy: SoftmaxPolicy,
    inputs: PolicyInputs,
    label: Index | Floats,
    progress: Steps = silent,
) -> Floats:
    """The parameters of the model that predicts the given classes best (logistic regression).

    Parameters
    ----------
    policy : SoftmaxPolicy
        The family of models.
    inputs : PolicyInputs
        The rows.
    label : ndarray of shape (n,), or of shape (classes, n)
        The index of each row's class, or the probability of each class.
    progress : callable
        Called after each step.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> policy = SoftmaxPolicy.standardised(X, 2)
    >>> theta = fit_log_loss(policy, policy.inputs(X), np.array([0, 0, 1, 1]))
    >>> bool(theta[1] > 0.5)
    True
    """
    loss = LogLoss(label, policy.n_classes)
    penalised = np.ones(policy.n_parameters)
    if (inputs.design[0] == 1).all():  # the same for everyone; the leaves of a tree are not
        penalised[: (policy.n_classes - 1) * inputs.design.shape[0] : inputs.design.shape[0]] = 0.0
    if policy.mixed:
        penalised[-1] = 0.0

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        free = policy.free(theta, inputs)
        weight = RIDGE / label.shape[-1] * penalised * theta
        gradient = policy.pull_back(theta, inputs, free, loss.gradient(free)[None])[0] + weight
        if policy.mixed:
            gradient[-1] = 0.0  # a start is not mixed with the behaviour model
        return float(loss.value(free)) + 0.5 * float(weight @ theta), gradient

    start, box = policy.indifferent, policy.box
    return minimised(value_and_gradient, start, box, FITTING_STEPS, progress)[0]


def fit_propensities(
    policy: SoftmaxPolicy,
    inputs: PolicyInputs,
    taken: Index,
    propensity: Floats,
    progress: Steps = silent,
) -> Floats:
    """The parameters of the model that takes logged decisions with nearly their propensities.

    If decisions are many, most were taken a few times each, and a model that predicts which ones
    were taken learns their luck. Propensities hold none: this minimises the mean square of the
    logarithm of importance weights.

    Parameters
    ----------
    policy, inputs, progress
        See `fit_log_loss`.
    taken : ndarray of shape (n,)
        The index of each logged decision.
    propensity : ndarray of shape (n,)
        The probability with which it was taken.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> policy = SoftmaxPolicy.standardised(X, 2)
    >>> inputs, taken = policy.inputs(X), np.array([1, 1, 1, 1])
    >>> theta = fit_propensities(policy, inputs, taken, np.array([0.2, 0.3, 0.5, 0.6]))
    >>> policy.free(theta, inputs).round(1)
    array([[0.2, 0.3, 0.5, 0.6]])
    """
    n, places = taken.size, np.arange(taken.size)

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        free = policy.free(theta, inputs)
        every = np.vstack([1 - free.sum(axis=0), free])
        own = every[taken, places]
        away = np.log(own / propensity)
        by_class = np.zeros_like(every)
        by_class[taken, places] = 2 * away / (own * n)
        by_free = (by_class[1:] - by_class[0])[None]
        weight = EXACT_RIDGE / n * theta
        gradient = policy.pull_back(theta, inputs, free, by_free)[0] + weight
        if policy.mixed:
            gradient[-1] = 0.0  # a start is not mixed with the behaviour model
        return float(away @ away) / n + 0.5 * float(weight @ theta), gradient

    start, box = policy.indifferent, policy.box
    return minimised(value_and_gradient, start, box, FITTING_STEPS, progress)[0]


def gradient_search(
    problem: Problem, starts: Sequence[Floats], *, precision: float = PRECISION
) -> Candidate:
    """The best model that sequential quadratic programming finds from the given starts.

    If it gets stuck, it tries again in short steps. If no model meets its target even so, the
    predicted probability of passing is maximised; and if that reaches the target after all, the
    search for a small loss goes on from there.

    Parameters
    ----------
    problem : Problem
        How candidate rows judge models.
    starts : sequence of ndarray
        Parameters to start from.
    precision : float
        The search from one start ends when the loss changes by less.

    Returns
    -------
    Candidate
    """
    search = _Search(problem, precision)
    for start in parts(starts):
        search.minimise_loss(start)
    if search.is_stuck:
        search.minimise_loss(starts[0], reach=SHORT)
        if search.met:
            search.minimise_loss(search.best.theta)
        search.go_for_passing(starts[0], search.best.theta)
    return search.best


def gradient_path(
    problem: Problem,
    likely: Sequence[Floats],
    targets: Sequence[Target],
    precision: float = PRECISION,
) -> list[Candidate]:
    """The best model for each of several targets.

    The search begins with the least demanding target and goes on from each model to the next
    target. Each model is then near the one before. Once a target is missed, the model most likely
    to pass stands for all that demand more.

    Parameters
    ----------
    problem : Problem
        How candidate rows judge models; it is left with the first target.
    likely : sequence of ndarray
        Parameters to start from, those of the best model without constraints first.
    targets : sequence of Target
        The most demanding one first.
    precision
        See `gradient_search`.

    Returns
    -------
    list of Candidate
        One for each target; those that miss theirs come first.
    """
    found: list[Candidate] = []
    for target in parts(list(reversed(targets))):
        problem.aim(target)
        if not found:
            found.append(gradient_search(problem, likely, precision=precision))
        elif not found[-1].meets_target:
            found.append(problem.look_at(found[-1].theta))
        else:
            search = _Search(problem, precision)
            search.minimise_loss(found[-1].theta)
            search.go_for_passing(likely[0])
            found.append(search.best)
    return found[::-1]


class _Search:
    """Runs optimisers on a problem and keeps the best candidate they ever saw."""

    def __init__(self, problem: Problem, precision: float) -> None:
        self.problem = problem
        self.precision = precision
        self.least_loss = inf
        self._best: Candidate | None = None
        self._lately: Candidate | None = None
        self._limit = self._gained = 0

    @property
    def best(self) -> Candidate:
        assert self._best is not None
        return self._best

    @property
    def met(self) -> bool:
        return self.best.meets_target

    def look_at(self, theta: Floats) -> Candidate:
        seen, count = self.problem.look_at(theta), self.problem.evaluations
        if seen.better_than(self._best):
            self._best = seen
        if seen.better_than(self._lately, SMALL_LOSS, SMALL_CHANCE):
            self._lately, self._gained = seen, count
        self.least_loss = min(self.least_loss, seen.loss)
        self.problem.progress()
        if count > min(self._limit, self._gained + PATIENCE):
            raise _EnoughError
        return seen

    def _begin(self) -> None:
        """Begin a run from one start."""
        self._lately = None
        self._limit = self.problem.evaluations + MOST_EVALUATIONS

    @property
    def is_stuck(self) -> bool:
        """Whether a step led so far out that the model hardly changes any more.

        This is certain if the best model leaves room in every constraint although others have a
        smaller loss, and possible if no model meets its target.
        """
        best = self.best
        spreads = np.array([p.spread for p in self.problem.predictions(best.theta)])
        room = bool((best.excess < -ROOM * spreads).all())
        return not best.meets_target or (room and best.loss > self.least_loss + self.precision)

    def minimise_loss(self, start: Floats, reach: float = inf) -> None:
        from scipy import optimize

        minimize: Any = optimize.minimize  # its types do not know these options
        self._begin()
        self.look_at(start)
        # In spreads of a row: that puts all claims on one scale.
        spreads = np.array([p.spread or 1.0 for p in self.problem.predictions(start)])
        units = EXCESS_UNITS / spreads
        # SLSQP stops as soon as constraints are met to this precision, so aim that much inside: a
        # model that misses its target by a hair does not meet it.
        precision = self.precision * LOSS_UNITS
        gradients = self.problem.loss_and_excess_gradients
        constraints = {
            "type": "ineq",
            "fun": lambda theta: -self.look_at(theta).excess * units - precision,
            "jac": lambda theta: -gradients(theta)[1:] * units[:, None],
        }
        low, high = self.problem.policy.box
        near = np.maximum(low, start - reach), np.minimum(high, start + reach)
        with suppress(_EnoughError):
            minimize(
                lambda theta: self.look_at(theta).loss * LOSS_UNITS,
                start,
                jac=lambda theta: gradients(theta)[0] * LOSS_UNITS,
                method="SLSQP",
                bounds=list(zip(*near, strict=True)),
                constraints=[constraints] if units.size else [],
                options={"maxiter": MOST_EVALUATIONS, "ftol": precision},
            )

    def go_for_passing(self, *starts: Floats) -> None:
        """As long as no model meets its target, maximise the probability of passing."""
        for start in starts:
            if not self.met:
                self.maximise_pass_probability(start)
                if self.met:
                    self.minimise_loss(self.best.theta)

    def maximise_pass_probability(self, start: Floats) -> None:
        def unlikely(theta: Floats) -> tuple[float, Floats]:
            seen = self.look_at(theta)
            if seen.meets_target:  # from here on a small loss is worth more
                raise _EnoughError
            return -seen.log_pass, -self.problem.log_pass_gradient(theta)

        self._begin()
        with suppress(_EnoughError):
            minimised(unlikely, start, self.problem.policy.box, MOST_EVALUATIONS)


class _EnoughError(Exception):
    """Stop evaluating; the best candidate is remembered anyway."""
