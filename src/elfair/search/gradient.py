"""Where a search starts: at policies that are fitted without constraints.

Constrained search with analytic gradients, from several starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.policies import PolicyInputs, SoftmaxPolicy
from elfair.search.loss import LogLoss
from elfair.search.problem import Candidate, Problem
from elfair.search.targets import Target
from elfair.types import Floats

#: The penalty of a fitted start, in rows: enough to keep separable classes finite.
RIDGE = 1.0


def fit_log_loss(policy: SoftmaxPolicy, inputs: PolicyInputs, label: NDArray[np.intp]) -> Floats:
    """The parameters of the policy that predicts the given classes best (logistic regression).

    Parameters
    ----------
    policy : SoftmaxPolicy
        The family of policies.
    inputs : PolicyInputs
        The rows.
    label : ndarray of shape (n,)
        The index of each row's class.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> policy = SoftmaxPolicy.standardised(X, 2)
    >>> theta = fit_log_loss(policy, policy.inputs(X), np.array([0, 0, 1, 1]))
    >>> bool(theta[1] > 0.5)
    True
    """
    from scipy.optimize import minimize

    loss = LogLoss(label, policy.n_classes)
    penalised = np.ones(policy.n_parameters)
    penalised[: (policy.n_classes - 1) * inputs.design.shape[0] : inputs.design.shape[0]] = 0.0
    if policy.mixed:
        penalised[-1] = 0.0

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        free = policy.free(theta, inputs)
        weight = RIDGE / label.size * penalised * theta
        gradient = policy.pull_back(theta, inputs, free, loss.gradient(free)[None])[0] + weight
        if policy.mixed:
            gradient[-1] = 0.0  # a start is a policy of its own
        return float(loss.value(free)) + 0.5 * float(weight @ theta), gradient

    start = np.zeros(policy.n_parameters)
    if policy.mixed:
        start[-1] = 1.0
    low, high = policy.box
    result = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 100},
    )
    return np.asarray(result.x, dtype=np.float64)


# Sequential quadratic programming starts from a curvature of 1, while a loss of 0.1 that changes
# over parameters of size 10 has one of about 0.001. Measured on the foster-care-like population,
# these units save a third of the evaluations and end at a smaller loss.
LOSS_UNITS = 50.0
EXCESS_UNITS = 10.0
PRECISION = 1e-6
#: How far a search that got stuck may go from its start when it tries again.
SHORT = 5.0
#: Room to a constraint, in spreads of a row, that a good policy has no reason to leave.
ROOM = 0.01
#: Evaluations from one start, at most: an infeasible problem would go on and on.
MOST_EVALUATIONS = 100


def gradient_search(
    problem: Problem,
    starts: Sequence[Floats],
    *,
    precision: float = PRECISION,
    progress: Callable[[], None] = lambda: None,
) -> Candidate:
    """The best policy that sequential quadratic programming finds from the given starts.

    Where that gets stuck, it is tried in short steps. Where no policy meets its target even so, the
    predicted probability of passing is made as large as it gets, and if that meets the target after
    all, the search for a small loss goes on from there.

    Parameters
    ----------
    problem : Problem
        The candidate rows' view.
    starts : sequence of ndarray
        Parameters to start from.
    precision : float
        The change of the loss at which the search from one start ends.
    progress : callable
        Called after each evaluation.

    Returns
    -------
    Candidate
    """
    search = _Search(problem, precision, progress)
    for start in starts:
        search.minimise_loss(start)
    assert search.best is not None
    if search.is_stuck(search.best):
        search.minimise_loss(starts[0], reach=SHORT)
        if not search.best.meets_target:
            search.maximise_pass_probability(search.best.theta)
        if search.best.meets_target:
            search.minimise_loss(search.best.theta)
    return search.best


def gradient_path(
    problem: Problem,
    likely: Sequence[Floats],
    others: Callable[[], Sequence[Floats]],
    targets: Sequence[Target],
    precision: float = PRECISION,
    progress: Callable[[], None] = lambda: None,
) -> list[Candidate]:
    """The best policy for each of several targets.

    The least demanding target is begun with, and each policy is where the search for the next one
    starts: every one of them is then near, and several starts are needed only where one gets stuck.

    Parameters
    ----------
    problem : Problem
        The candidate rows' view; it is left aiming at the first target.
    likely : sequence of ndarray
        Parameters to start from, those of the best policy without constraints first. The first
        target is looked for from all of them.
    others : callable
        Gives more starts, for a first target that is not reached from there.
    targets : sequence of Target
        The most demanding one first.
    precision, progress
        See `gradient_search`.

    Returns
    -------
    list of Candidate
        One for each target; all but the first may miss theirs.
    """
    found: list[Candidate] = []
    for target in reversed(targets):
        problem.aim(target)
        search = _Search(problem, precision, progress)
        search.minimise_loss(found[-1].theta if found else likely[0])
        assert search.best is not None
        found.append(search.best)
    for start in likely[1:]:
        search.minimise_loss(start)
        found[-1] = search.best or found[-1]
    if search.is_stuck(found[-1]):
        again = [found[-1].theta, *others()]
        found[-1] = gradient_search(problem, again, precision=precision, progress=progress)
    return found[::-1]


class _Search:
    """Runs scipy's optimisers on a problem and keeps the best candidate they ever saw."""

    def __init__(self, problem: Problem, precision: float, progress: Callable[[], None]) -> None:
        self.problem = problem
        self.precision = precision
        self.progress = progress
        self.best: Candidate | None = None
        self.least_loss = inf
        self.limit = 0

    def look_at(self, theta: Floats) -> Candidate:
        seen = self.problem.look_at(theta)
        if seen.better_than(self.best):
            self.best = seen
        self.least_loss = min(self.least_loss, seen.loss)
        self.progress()
        if self.problem.evaluations > self.limit:
            raise _EnoughError
        return seen

    def is_stuck(self, best: Candidate) -> bool:
        """Whether a step led so far out that the policy hardly changes any more.

        For certain if the best policy leaves room to every constraint and yet others have a smaller
        loss; perhaps if no policy meets its target.
        """
        spreads = np.array([p.spread for p in self.problem.predictions(best.theta)])
        room = bool((best.excess < -ROOM * spreads).all())
        return not best.meets_target or (room and best.loss > self.least_loss + self.precision)

    def minimise_loss(self, start: Floats, reach: float = inf) -> None:
        from scipy.optimize import minimize

        self.limit = self.problem.evaluations + MOST_EVALUATIONS
        self.look_at(start)
        # In spreads of a row, so that all claims are on one scale.
        spreads = np.array([p.spread or 1.0 for p in self.problem.predictions(start)])
        units = EXCESS_UNITS / spreads
        # It ends as soon as constraints are met to this precision, so aim that much inside: a
        # policy that misses its target by a hair is no candidate.
        precision = self.precision * LOSS_UNITS
        gradients = self.problem.loss_and_excess_gradients
        constraints = {
            "type": "ineq",
            "fun": lambda theta: -self.look_at(theta).excess * units - precision,
            "jac": lambda theta: -gradients(theta)[1:] * units[:, None],
        }
        self._until_enough(
            minimize,
            lambda theta: self.look_at(theta).loss * LOSS_UNITS,
            start,
            jac=lambda theta: gradients(theta)[0] * LOSS_UNITS,
            method="SLSQP",
            bounds=self._bounds(start, reach),
            constraints=[constraints] if units.size else [],
            options={"maxiter": MOST_EVALUATIONS, "ftol": precision},
        )

    def maximise_pass_probability(self, start: Floats) -> None:
        from scipy.optimize import minimize

        def unlikely(theta: Floats) -> float:
            seen = self.look_at(theta)
            if seen.meets_target:  # from here on a small loss is worth more
                raise _EnoughError
            return -seen.log_pass

        self.limit = self.problem.evaluations + MOST_EVALUATIONS
        self._until_enough(
            minimize,
            unlikely,
            start,
            jac=lambda theta: -self.problem.log_pass_gradient(theta),
            method="L-BFGS-B",
            bounds=self._bounds(start),
            options={"maxiter": MOST_EVALUATIONS},
        )

    def _bounds(self, start: Floats, reach: float = inf) -> Any:
        low, high = self.problem.policy.box
        near = np.maximum(low, start - reach), np.minimum(high, start + reach)
        return list(zip(*near, strict=True))

    def _until_enough(self, minimize: Any, *arguments: Any, **options: Any) -> None:
        with suppress(_EnoughError):
            minimize(*arguments, **options)


class _EnoughError(Exception):
    """No more evaluations are wanted; the best candidate is remembered anyway."""
