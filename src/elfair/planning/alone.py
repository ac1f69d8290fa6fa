"""The best model for one statement alone, as far as some rows can tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.search import Selection
from elfair.search.gradient import minimised
from elfair.search.prediction import Factors, Prediction
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.statistics.plan import Plan
from elfair.types import Floats

#: The bound, and what is believed of g, as sums of what is predicted.
BOUND, MEAN = Factors(1.0), Factors(0.0, mean=1.0)
#: Steps of a search from one start, at most.
MOST_STEPS = 40
#: A chance to pass that is not worth improving.
SURE = float(np.log(0.999))


class Bench:
    """Some candidate rows, on which models are made as good as possible for one statement.

    Parameters
    ----------
    selection : Selection
        The family of models, and where a search for them starts.
    plan : Plan
        The statements, about averages.
    rows : LoggedData
        The rows, as the task wants them seen.
    n_test : int
        How many rows the test will have.
    """

    def __init__(self, selection: Selection, plan: Plan, rows: LoggedData, n_test: int) -> None:
        self._task, self._plan, self._rows = selection.task, plan, rows
        self.policy: Any = self._task.policy(rows)
        self._inputs = self.policy.logged(rows)
        compiled = plan.compile(rows)
        likely = self._task.likely(self.policy, self._inputs, rows, self._best)
        policies = [self.policy.free(theta, self._inputs) for theta in likely]
        self._requirements = requirements_of(
            compiled,
            selection.target,
            n_test / rows.n,
            shrunk=shrunk_means(plan, compiled, rows, policies),
            n_parameters=self.policy.n_parameters,
        )

    @cached_property
    def _best(self) -> Floats:
        return self._task.best(self.policy, self._inputs, self._rows)

    @cached_property
    def starts(self) -> Sequence[Floats]:
        """Where a search starts."""
        return self._task.starts(self.policy, self._inputs, self._rows, self._best)

    def predict(self, claim: int, theta: Floats) -> Prediction:
        """What is predicted of a statement's test."""
        return self._requirements[claim].predict(self.policy.free(theta, self._inputs))

    def lowest(self, claim: int, starts: Sequence[Floats], of: Factors = BOUND) -> Floats:
        """The model whose bound on g (or something else that is predicted) is lowest."""

        def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
            free = self.policy.free(theta, self._inputs)
            prediction = self._requirements[claim].predict(free)
            upper, mean, *_ = prediction.levels
            finite = bool(np.isfinite(upper))
            # Without a bound, the mean still says which way to go.
            value = of.upper * upper + of.mean * mean if finite else abs(mean) + 1.0
            by = of if finite else MEAN
            gradient = self._pulled(theta, free, prediction.pull_back(by, self._rows.n))
            return value / unit, gradient / unit

        # In spreads of a row: impacts may be in cents or in millions.
        unit = self.predict(claim, starts[0]).spread or 1.0
        return self._minimised(value_and_gradient, starts)

    def likeliest(self, claim: int, starts: Sequence[Floats]) -> Floats:
        """The model that is most likely to pass."""

        def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
            free = self.policy.free(theta, self._inputs)
            prediction = self._requirements[claim].predict(free)
            score = prediction.score
            if not np.isfinite(score):
                return (0.0 if score > 0 else 1e9), np.zeros_like(theta)
            by_free = prediction.log_pass_gradient(self._rows.n)
            return -prediction.log_pass, -self._pulled(theta, free, by_free)

        return self._minimised(value_and_gradient, starts, enough=-SURE)

    def _pulled(self, theta: Floats, free: Floats, by_free: Floats) -> Floats:
        return np.asarray(self.policy.pull_back(theta, self._inputs, free, by_free[None])[0])

    def _minimised(
        self, value_and_gradient: Any, starts: Sequence[Floats], enough: float = -np.inf
    ) -> Floats:
        best, least = starts[0], np.inf
        for start in starts:
            theta, value = minimised(value_and_gradient, start, self.policy.box, MOST_STEPS)
            if value < least:
                best, least = theta, value
            if least <= enough:
                break
        return best
