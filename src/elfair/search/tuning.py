"""candidate_tuning: parameters of the search, chosen on rows that it did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.records.progress import parts
from elfair.search.judging import in_folds
from elfair.search.problem import Problem
from elfair.search.requirements import requirements_of
from elfair.search.selection import Selection
from elfair.statistics.plan import Plan
from elfair.statistics.settling import settle


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

    halves = [
        (candidate.take(seen), candidate.take(unseen)) for seen, unseen in in_folds(candidate, seed)
    ]

    def worth(parameters: Mapping[str, Any]) -> float:
        each = [_delivered(make, parameters, seen, judge, n_test) for seen, judge in halves]
        return float(np.mean(each))

    best: dict[str, Any] = max(parts(ParameterGrid(dict(grid))), key=worth)
    return best


def _delivered(
    make: Callable[[Mapping[str, Any], LoggedData], tuple[Selection, Plan]],
    parameters: Mapping[str, Any],
    seen: LoggedData,
    judged: LoggedData,
    n_test: int,
) -> float:
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
