"""Choosing parameters inside the candidate half, where any amount of trying is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.search.prediction import Requirement
from elfair.search.problem import Problem
from elfair.search.selection import Selection
from elfair.statistics.beyond_the_mean import settle
from elfair.statistics.plan import Plan

#: What can be tuned: everything that acts in the candidate half alone.
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

    Each combination is searched on some folds of the candidate half and judged on the remaining
    one: by how much of the objective it is expected to deliver, which is the predicted probability
    that all tests pass times how far its loss is below the largest there can be.

    Parameters
    ----------
    grid : mapping of str to sequence
        The values to try of each parameter.
    candidate : LoggedData
        The candidate half.
    n_test : int
        How many rows the test will have.
    make : callable
        From parameters and rows to a search and the plan of a test.
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
    unseen: np.typing.NDArray[np.bool_],
    n_test: int,
) -> float:
    seen, judged = (candidate.take(np.flatnonzero(rows)) for rows in (~unseen, unseen))
    selection, plan = make(parameters, seen)
    seen = selection.task.rows(seen)
    policy, found, _ = selection.run(seen, plan, n_test)
    plan = settle(plan, seen, policy.free(found.theta, policy.logged(seen)), n_test)
    task = selection.task.at(judged, policy.free(found.theta, policy.logged(judged)))
    loss = task.loss(judged)
    view = Problem(
        policy,
        policy.logged(judged),
        loss,
        [Requirement(c, selection.target, n_test / judged.n) for c in plan.compile(judged)],
    ).look_at(found.theta)
    return float(np.exp(view.log_pass)) * (loss.maximum - view.loss)
