"""The best model for one statement alone, as far as some rows can tell.

What is foreseen of the test, from candidate rows alone.

The best of many models looks better, on the rows it was found on, than it is. So models are found
on some folds of the candidate half and judged on the remaining one, each fold in turn. What remains
is the noise of the candidate rows themselves: where there is nothing to gain, a chance of .3 is
foreseen on average and .1 is true; where there is, models found on fewer rows do a little worse.
On the foster-care population, one statement about group 1, average over draws:

===========  =====  ========================  =============  ========
alpha        rows   on rows it was found on   foreseen here  returned
===========  =====  ========================  =============  ========
0.2           500   .61                       .39            .21
0.2          2000   .81                       .57            .65
0 (no gain)   500   .49                       .31            .08
0 (no gain)  2000   .45                       .28            .08
===========  =====  ========================  =============  ========

Of 57 draws in which a statement was called out of reach (27 of these, 30 with more asked for),
fit returned a model in 2: a test at the edge passes with probability delta, and no more is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from elfair.data import LoggedData
from elfair.fairness_test.evidence import is_silent
from elfair.search import Selection
from elfair.search.forecast import forecast
from elfair.search.prediction import Levels, Prediction, Requirement
from elfair.search.targets import Target, Terms
from elfair.statistics.plan import Plan
from elfair.types import Floats

Reach = Literal["likely", "uncertain", "too_few_rows", "out_of_reach", "no_forecast"]
#: How people read each reach.
SHOWN_REACH: dict[Reach, str] = {
    "likely": "likely",
    "uncertain": "uncertain",
    "too_few_rows": "out of reach at this number of rows",
    "out_of_reach": "out of reach at any number of rows",
    "no_forecast": "no forecast",
}


@dataclass(frozen=True)
class StatementForecast:
    """The forecast of a statement's test, from candidate rows that the model was not found on.

    Parameters
    ----------
    estimate : float
        The estimate of g.
    upper : float
        The upper bound on g to expect on the held-out rows.
    chance : float
        The probability that the bound is at most 0, so the statement passes.
    """

    estimate: float
    upper: float
    chance: float


@dataclass(frozen=True)
class StatementCheck:
    """What candidate rows say about the test of one one-sided statement g <= 0.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which a violated statement may pass.
    rows : int or None
        Held-out rows that will test it; None if that is not known.
    alone : StatementForecast or None
        The best that any model could achieve if only this statement mattered.
    together : StatementForecast or None
        The forecast for the model that the search would test first, which has to pass all
        statements and to do well by the objective.
    reach : {"likely", "uncertain", "too_few_rows", "out_of_reach", "no_forecast"}
        What follows from ``alone``.
    """

    constraint: str
    statement: str
    delta: float
    rows: int | None
    alone: StatementForecast | None
    together: StatementForecast | None
    reach: Reach


#: The bound, and what is believed of g, as sums of what is predicted.
BOUND, MEAN = Terms(1.0), Terms(0.0, mean=1.0)
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
        beliefs = forecast(plan, compiled, rows, policies)
        p = self.policy.n_parameters
        self._requirements = [
            Requirement(claim, selection.target, n_test / rows.n, beliefs=belief, n_parameters=p)
            for claim, belief in zip(compiled, beliefs, strict=True)
        ]

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

    def lowest(self, claim: int, starts: Sequence[Floats], of: Terms = BOUND) -> Floats:
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
            value = float(log_ndtr(score))
            # d log Phi(s) / ds = phi(s) / Phi(s)
            slope = np.exp(-0.5 * score**2 - value) / np.sqrt(2 * np.pi)
            by_free = slope * prediction.score_gradient(self._rows.n)
            return -value, -self._pulled(theta, free, by_free)

        return self._minimised(value_and_gradient, starts, enough=-SURE)

    def _pulled(self, theta: Floats, free: Floats, by_free: Floats) -> Floats:
        return np.asarray(self.policy.pull_back(theta, self._inputs, free, by_free[None])[0])

    def _minimised(
        self, value_and_gradient: Any, starts: Sequence[Floats], enough: float = -np.inf
    ) -> Floats:
        from scipy.optimize import minimize

        bounds = list(zip(*self.policy.box, strict=True))
        best, least = starts[0], np.inf
        for start in starts:
            found = minimize(
                value_and_gradient,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": MOST_STEPS},
            )
            if found.fun < least:
                best, least = np.asarray(found.x, dtype=np.float64), float(found.fun)
            if least <= enough:
                break
        return best


#: Models are found on all but one of these folds, and judged on that one.
FOLDS = 3
#: A chance above this is called likely.
LIKELY = 0.8
#: How many standard errors the best g that there can be has to be above 0, before it is said that
#: no number of rows would do: wrong one time in twenty at worst.
ERRORS = 1.645


class Foreseen(NamedTuple):
    """What is foreseen of one statement; see `StatementCheck`."""

    alone: StatementForecast
    together: StatementForecast
    reach: Reach


def foresee(
    searches: Sequence[tuple[Selection, Plan, LoggedData, LoggedData]],
    whole: tuple[Selection, Plan, LoggedData],
    n_test: int,
) -> list[Foreseen]:
    """What is foreseen of each statement.

    Parameters
    ----------
    searches : sequence of (Selection, Plan, LoggedData, LoggedData)
        For each fold: how models are found, for what, on which rows, and the rows that judge them.
    whole : (Selection, Plan, LoggedData)
        The same for all candidate rows.
    n_test : int
        How many rows the test will have.
    """
    n = whole[2].n
    judged = [_judged(*search, n_test, n) for search in searches]
    shares = np.array([search[3].n / n for search in searches])
    found = []
    compiled = whole[1].compile(whole[2])
    for j, claim in enumerate(whole[1].claims):
        of_kinds = [_joined([fold[kind][j] for fold in judged], shares) for kind in range(3)]
        if any(map(is_silent, compiled[j].tails)):  # as the test says it
            of_kinds = [StatementForecast(each.estimate, np.inf, 0.0) for each in of_kinds]
        *_, together = of_kinds
        # Where several models are as good as certain to pass, the lowest bound is the best.
        alone = max(of_kinds, key=lambda forecast: (round(forecast.chance, 2), -forecast.upper))
        reach: Reach = "likely" if alone.chance >= LIKELY else "uncertain"
        if alone.chance < claim.delta:  # a model that changes nothing passes as often
            reach = "too_few_rows"
            if isfinite(alone.upper) and _never(whole, n_test, j):
                reach = "out_of_reach"
        found.append(Foreseen(alone, together, reach))
    return found


def _judged(
    selection: Selection,
    plan: Plan,
    seen: LoggedData,
    unseen: LoggedData,
    n_test: int,
    n_candidate: int,
) -> list[list[Levels]]:
    """For the lowest bounds, the largest chances, and all statements together: what rows that had
    no part in these models predict of each statement's test.
    """
    bench = Bench(selection, plan, seen, n_test)
    logged, ratios = bench.policy.logged(unseen), (n_test / unseen.n, n_candidate / unseen.n)
    judges = [Requirement(claim, Target(0.5), *ratios) for claim in plan.compile(unseen)]
    line = selection.line_up(seen, plan, n_test, 2)
    first = line.policy.free(line.thetas[0], line.policy.logged(unseen))
    lowest, likeliest, together = [], [], []
    for j, judge in enumerate(judges):
        low = bench.lowest(j, bench.starts)
        likely = bench.likeliest(j, [low, *bench.starts])
        lowest.append(judge.predict(bench.policy.free(low, logged)).levels)
        likeliest.append(judge.predict(bench.policy.free(likely, logged)).levels)
        together.append(judge.predict(first).levels)
    return [lowest, likeliest, together]


def _joined(folds: Sequence[Levels], shares: Floats) -> StatementForecast:
    """What the folds say together: the models of all of them, picked at random."""
    upper = float(shares @ [levels.upper for levels in folds])
    mean = float(shares @ [levels.mean for levels in folds])
    error = sqrt(float(shares @ [levels.error**2 for levels in folds]))
    if not np.isfinite(upper):
        return StatementForecast(mean, np.inf, 0.0)
    chance = float(ndtr(-upper / error)) if error > 0 else float(upper <= 0)
    return StatementForecast(mean, upper, chance)


def _never(whole: tuple[Selection, Plan, LoggedData], n_test: int, claim: int) -> bool:
    """Whether g is above 0 for the model for which it is lowest, beyond doubt.

    That model is looked for and looked at on the same rows, so that its g is, if anything, too low.
    """
    bench = Bench(*whole, n_test)
    best = bench.lowest(claim, bench.starts, MEAN)
    levels = bench.predict(claim, best).levels
    by_candidates = sqrt(n_test / (n_test + whole[2].n))  # the rest of the error is the test's
    return levels.mean > ERRORS * levels.error * by_candidates
