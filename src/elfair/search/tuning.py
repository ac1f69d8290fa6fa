"""Choosing parameters on candidate rows, where trying costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.search.prediction import requirements_of
from elfair.search.problem import Problem
from elfair.search.selection import Selection
from elfair.statistics.beyond_the_mean import settle
from elfair.statistics.plan import Plan
from elfair.types import Booleans

#: What can be tuned: everything that acts on candidate rows alone.
TUNABLE = (
    "power", "inflation", "xi", "search", "estimator", "center", "outcome_model", "scorer"
)  # fmt: skip
FOLDS = 3


def tune(
    grid: Mapping[str, Sequence[Any]],
    candidate: LoggedData,
    n_test: int,
    make: Callable[[Mapping[str, Any], LoggedData], tuple[Selection, Plan]],
    seed: int,
) -> dict[str, Any]:
    """The parameters of the grid that do best on rows their search did not see.

    Each combination is searched on all folds of the candidate rows but one, and judged on that one
    by how much of the objective it is expected to deliver: the predicted probability that all tests
    pass, times how far its loss is below the largest possible one.

    Parameters
    ----------
    grid : mapping of str to sequence
        The values to try for each parameter.
    candidate : LoggedData
        The candidate rows.
    n_test : int
        The number of test rows.
    make : callable
        Maps parameters and rows to a search and the plan of a test.
    seed : int
        Seed of the folds.

    Returns
    -------
    dict
        The best combination.
    """
    from sklearn.model_selection import ParameterGrid

    folds = np.random.default_rng(seed).permutation(candidate.n) % FOLDS
    worth: list[tuple[float, dict[str, Any]]] = []
    for parameters in ParameterGrid(dict(grid)):
        delivered = [
            _delivered(make, parameters, candidate, folds == fold, n_test) for fold in range(FOLDS)
        ]
        worth.append((float(np.mean(delivered)), parameters))
    return max(worth, key=lambda pair: pair[0])[1]


def _delivered(
    make: Callable[[Mapping[str, Any], LoggedData], tuple[Selection, Plan]],
    parameters: Mapping[str, Any],
    candidate: LoggedData,
    unseen: Booleans,
    n_test: int,
) -> float:
    seen, judged = (candidate.take(np.flatnonzero(rows)) for rows in (~unseen, unseen))
    selection, plan = make(parameters, seen)
    seen = selection.task.rows(seen)
    found = selection.run(seen, plan, n_test)
    policy, theta = found.policy, found.best.theta
    plan = settle(plan, seen, policy.free(theta, policy.logged(seen)), n_test)
    inputs = policy.logged(judged)
    loss = selection.task.at(judged, policy.free(theta, inputs)).loss(judged)
    requirements = requirements_of(plan.compile(judged), selection.target, n_test / judged.n)
    view = Problem(policy, inputs, loss, requirements).look_at(theta)
    return float(np.exp(view.log_pass)) * (loss.maximum - view.loss)
