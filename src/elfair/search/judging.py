"""What rows that had no part in a model say about its test.

The best of many models looks better, on the rows it was found on, than it is. So models are found
on two thirds of some rows, and judged on the others, each third in turn. The judge, like the
search, lets a regression of the impact help as far as its residuals bear it out; it is fitted to
the judging rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.data.split import row_keys
from elfair.data.subsample import plain_rows
from elfair.data.units import numbered
from elfair.search.prediction import Levels, Target
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.statistics.plan import Plan
from elfair.types import Floats, Index

#: Models are found on all but one of these folds, and judged on that one.
FOLDS = 3
#: A score further out says nothing more: the test passes always, or never.
FURTHEST = 8.0
#: From how many policies a judge learns how far the regression can be trusted.
POLICIES = 5


def in_folds(data: LoggedData, seed: int) -> list[tuple[Index, Index]]:
    """For each fold, the rows outside it, to find models on, and those inside, to judge them. If
    rows have an id, their order does not matter. No fold divides a unit.

    Examples
    --------
    >>> rows = LoggedData(np.zeros((10, 1)))
    >>> [(seen.size, unseen.size) for seen, unseen in in_folds(rows, seed=0)]
    [(6, 4), (7, 3), (7, 3)]
    """
    place, first = numbered(data)
    fold = np.random.default_rng(seed).permutation(first.size) % FOLDS
    if data.row_id is not None or data.unit is not None:
        fold[np.argsort(row_keys(data, seed)[first])] = fold.copy()
    fold = fold[place]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)]


class Judged(NamedTuple):
    """What rows that had no part in a model say about one statement's test.

    Parameters
    ----------
    estimate, upper : float
        The estimate of g, and the bound on it to expect.
    error, spread : float
        The standard error of the test, and the standard deviation of a row.
    share : float
        The variance of the estimate, as a share of what the rows alone would give it.
    """

    estimate: float
    upper: float
    error: float
    spread: float
    share: float

    @classmethod
    def by(cls, levels: Levels, luck: float) -> Judged:
        """From what is predicted, without what it contains to allow for luck; ``luck`` is the
        number of test rows for each row that tells.
        """
        own, upper = levels.test_error, levels.upper - levels.optimism
        share = max(0.0, (levels.error / own) ** 2 - 1) / luck if own > 0 else 1.0
        return cls(levels.mean, upper, own, levels.spread, share)

    @property
    def score(self) -> float:
        """By how many standard errors the bound is below 0."""
        if not isfinite(self.upper):
            return -inf
        if self.error == 0:
            return FURTHEST if self.upper <= 0 else -FURTHEST
        return float(np.clip(-self.upper / self.error, -FURTHEST, FURTHEST))

    @property
    def width(self) -> float:
        """By how many standard errors the bound is above its estimate."""
        return self.errors(self.upper - self.estimate) if isfinite(self.upper) else 0.0

    def errors(self, distance: float) -> float:
        """A distance in standard errors of the test; 0 if there is no error."""
        return distance / self.error if self.error > 0 else 0.0


class Judge:
    """Rows that had no part in some models, and what they say about the test of each statement.

    Parameters
    ----------
    plan : Plan
        The statements, about averages.
    rows : LoggedData
        The rows.
    n_test : int
        How many rows the test will have.
    """

    def __init__(self, plan: Plan, rows: LoggedData, n_test: int) -> None:
        self._plan, self._rows, self._ratio = plan, rows, n_test / plain_rows(rows)
        self._compiled = plan.compile(rows)

    def of(self, policy: Any, thetas: Sequence[Floats]) -> list[list[Judged]]:
        """For each model, one judgement for each statement."""
        inputs = policy.logged(self._rows)
        some = np.unique(np.linspace(0, len(thetas) - 1, POLICIES).round().astype(int))
        shrunk = shrunk_means(
            self._plan,
            self._compiled,
            self._rows,
            [policy.free(thetas[place], inputs) for place in some],
        )
        requirements = requirements_of(self._compiled, Target(0.5), self._ratio, shrunk=shrunk)
        found = []
        for theta in thetas:
            free = policy.free(theta, inputs)
            levels = [requirement.predict(free).levels for requirement in requirements]
            found.append([Judged.by(each, self._ratio) for each in levels])
        return found
