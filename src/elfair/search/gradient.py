"""Constrained search with analytic gradients, from several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.search.problem import Candidate, Problem

Floats = NDArray[np.float64]

# Sequential quadratic programming starts from a curvature of 1, while a loss of 0.1 that changes
# over parameters of size 10 has one of about 0.001. Measured on the foster-care-like population,
# these units save a third of the evaluations and end at a smaller loss.
LOSS_UNITS = 50.0
EXCESS_UNITS = 10.0
PRECISION = 1e-6
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

    Where no start leads to a policy that meets its target, the predicted probability of passing is
    made as large as it gets; the search for a small loss goes on from there if that meets the
    target after all.

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
    if not search.best.meets_target:
        search.maximise_pass_probability(search.best.theta)
        if search.best.meets_target:
            search.minimise_loss(search.best.theta)
    return search.best


class _Search:
    """Runs scipy's optimisers on a problem and keeps the best candidate they ever saw."""

    def __init__(self, problem: Problem, precision: float, progress: Callable[[], None]) -> None:
        self.problem = problem
        self.precision = precision
        self.progress = progress
        self.best: Candidate | None = None
        self.limit = 0
        low, high = problem.policy.box
        self.box = list(zip(low, high, strict=True))

    def look_at(self, theta: Floats) -> Candidate:
        seen = self.problem.look_at(theta)
        if seen.better_than(self.best):
            self.best = seen
        self.progress()
        if self.problem.evaluations > self.limit:
            raise _TiredError
        return seen

    def minimise_loss(self, start: Floats) -> None:
        from scipy.optimize import minimize

        self.limit = self.problem.evaluations + MOST_EVALUATIONS
        self.look_at(start)
        # In spreads of a row, so that all claims are on one scale.
        spreads = np.array([p.spread or 1.0 for p in self.problem.predictions(start)])
        units = EXCESS_UNITS / spreads
        gradients = self.problem.loss_and_excess_gradients
        constraints = {
            "type": "ineq",
            "fun": lambda theta: -self.look_at(theta).excess * units,
            "jac": lambda theta: -gradients(theta)[1:] * units[:, None],
        }
        self._until_tired(
            minimize,
            lambda theta: self.look_at(theta).loss * LOSS_UNITS,
            start,
            jac=lambda theta: gradients(theta)[0] * LOSS_UNITS,
            method="SLSQP",
            bounds=self.box,
            constraints=[constraints] if units.size else [],
            options={"maxiter": MOST_EVALUATIONS, "ftol": self.precision * LOSS_UNITS},
        )

    def maximise_pass_probability(self, start: Floats) -> None:
        from scipy.optimize import minimize

        self.limit = self.problem.evaluations + MOST_EVALUATIONS
        self._until_tired(
            minimize,
            lambda theta: -self.look_at(theta).log_pass,
            start,
            jac=lambda theta: -self.problem.log_pass_gradient(theta),
            method="L-BFGS-B",
            bounds=self.box,
            options={"maxiter": MOST_EVALUATIONS},
        )

    def _until_tired(self, minimize: Any, *arguments: Any, **options: Any) -> None:
        with suppress(_TiredError):
            minimize(*arguments, **options)


class _TiredError(Exception):
    """Enough evaluations from one start; the best candidate is remembered anyway."""
