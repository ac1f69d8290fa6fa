"""The one forecast of check and plan: the chance to pass, from candidate rows alone.

The best of many models looks better, on the rows it was found on, than it is. So models are found
on two thirds of the candidate rows, as ``fit`` would, and judged on the others, each third in turn.
The judge, like the search, lets a regression of the impact help as far as its residuals bear it
out; it is fitted to the judging rows. `ChanceCurve` turns their scores into a chance. With fewer
rows than today, the search gets a part of the candidate rows, and all others judge.

What remains is the luck of the candidate rows. Average chances over 7 to 10 draws, three statements
each; *released* is how often the model of all candidate rows passes on 20 fresh test halves:

===================  =====  ====================  ========  ========
population           rows   the search's own [1]  forecast  released
===================  =====  ====================  ========  ========
foster care, 0         500  .06                   .01       .00
foster care, 0        2000  .18                   .04       .01
foster care, 0.2       500  .11                   .07       .09
foster care, 0.2      2000  .66                   .58       .51
foster care, 0.2      5000  .93                   .89       .89
foster care, 0.5       500  .67                   .63       .78
foster care, 0.5      1000  .94                   .91       .96
foster care, 0.9       500  .93                   .91       .96
foster care, 0.9      2000  .96                   .97       .99
squares [2], 0        2000  .23                   .12       .01
squares [2], 0.5      1000  .22                   .11       .03
squares [2], 0.5      4000  .42                   .22       .14
squares [2], 1         500  .17                   .06       .05
squares [2], 1        1500  .52                   .34       .29
squares [2], 2         500  .32                   .15       .29
===================  =====  ====================  ========  ========

[1] What the search predicts on the rows that it searched on. [2] A population that had no part in
the choice of this method; its effect is not linear (`benchmarks/planning.py`).

The forecast of a single draw is off by .11 on foster care and by .18 on squares (root mean square).
The search's own is off by .13 and .26; folds without a regression, as check had them, by .15 and
.19; tests on parts of the candidate rows with a fitted curve, as plan had them, by .16 on foster
care. Five folds instead of three are no better.

Out of reach at this number of rows: a chance below delta, at which a model that changes nothing
passes. Out of reach at any number of rows: g is above 0 beyond doubt for every model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, log2, sqrt
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from elfair.data.units import permuted, whole_units
from elfair.errors import DataError
from elfair.estimators.fit import Request
from elfair.fairness_test.evidence import SHARED_ROWS, is_silent
from elfair.planning.alone import MEAN, Bench
from elfair.planning.curve import ChanceCurve, Scores
from elfair.planning.visible import VisibleRows
from elfair.search import SearchProgress, Target
from elfair.search.judging import FOLDS, FURTHEST, Judge, Judged, in_folds
from elfair.search.requirements import requirements_of
from elfair.statistics import Baselines
from elfair.statistics.plan import CompiledClaim, Plan
from elfair.statistics.settling import settle
from elfair.types import Floats, Index

Reach = Literal["likely", "uncertain", "too_few_rows", "out_of_reach", "no_forecast"]


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
    alone: StatementForecast | None = None
    together: StatementForecast | None = None
    reach: Reach = "no_forecast"


#: A chance above this is called likely.
LIKELY = 0.8
#: How many standard errors the lowest possible g has to be above 0 before no number of rows is said
#: to be enough: wrong one time in twenty at worst.
ERRORS = 1.645
#: By how much the number of rows for another bound may differ, as far as anybody asks.
MOST_GROWTH = 16.0


class JudgedSearch(NamedTuple):
    """One search and its judgement: of all statements together, and of each alone.

    Parameters
    ----------
    together : list of Judged
        For each statement, under the model that the search would test first.
    met : bool
        Whether the search met its target.
    lowest, likeliest : list of Judged
        For each statement, under the model with the lowest bound on it, and under the one most
        likely to pass it; empty unless asked for.
    """

    together: list[Judged]
    met: bool
    lowest: list[Judged]
    likeliest: list[Judged]


@dataclass(frozen=True)
class Forecaster:
    """Searches for models on candidate rows, and judges them on others.

    Parameters
    ----------
    visible : VisibleRows
        The rows.
    request : Request
        What ``fit`` would be asked for.
    plan : Plan
        The test, with points and constants chosen on all candidate rows, so every trial is about
        the same statements.
    ends : list of ndarray
        The first and the last model of the ladder, on candidate rows; empty if importance weights
        enter no statement.
    silent : tuple of bool
        For each statement, whether its rows do not vary, so the test has no bound for it.
    """

    visible: VisibleRows
    request: Request
    plan: Plan
    ends: list[Floats]
    silent: tuple[bool, ...]

    @classmethod
    def of(cls, visible: VisibleRows, request: Request) -> Forecaster:
        """Search on all candidate rows, as ``fit`` would, to forecast the test that follows."""
        selection, plan = visible.prepare(visible.candidate, request)
        rows, n_test = selection.task.rows(visible.candidate), visible.n_held_out
        found = selection.run(rows, plan, n_test, models=request.parameters["candidates"])
        logged = found.policy.logged(rows)
        ends = [found.ladder[0], *found.ladder[1:][-1:]]
        free = [found.policy.free(end.theta, logged) for end in ends]
        plan = settle(plan, rows, free[0], n_test)
        compiled = plan.compile(visible.candidate)
        silent = tuple(any(map(is_silent, claim.tails)) for claim in compiled)
        weighted = any(part.weighted for claim in compiled for part in claim.parts)
        # A copy of the plan: what it has compiled does not travel between processes.
        return cls(visible, request, replace(plan), free if weighted else [], silent)

    @property
    def n_test(self) -> float:
        """On how many rows a bound is computed; a stretched bound is one on fewer rows."""
        if self.request.crossfit:
            return float(self.visible.everyone.n / SHARED_ROWS**2)
        return float(self.visible.n_held_out)

    def today(self, *, alone: bool = True) -> list[JudgedSearch]:
        """Trials for today's number of rows; raise where a group is too small to be divided."""
        halves = in_folds(self.visible.candidate, self.request.seed)
        with SearchProgress("making a forecast") as progress:
            return [self._trial(*half, 1.0, progress, alone) for half in halves]

    def smaller(self, ratio: float, seed: int) -> JudgedSearch | None:
        """A trial for a part of today's rows; None where a group is too small in it."""
        n = self.visible.candidate.n
        order = permuted(self.visible.candidate, seed)
        count = whole_units(self.visible.candidate, order, round(n * ratio * (1 - 1 / FOLDS)))
        try:
            return self._trial(np.sort(order[:count]), np.sort(order[count:]), ratio)
        except DataError:
            return None

    def _trial(
        self,
        found_on: Index,
        judged_on: Index,
        ratio: float,
        progress: Callable[[], None] = lambda: None,
        alone: bool = False,
    ) -> JudgedSearch:
        seen, unseen = (self.visible.candidate.take(rows) for rows in (found_on, judged_on))
        selection, plan = self.visible.prepare(seen, self.request)
        plan = replace(plan, claims=self.plan.claims)
        n_test = max(2, round(ratio * self.n_test))
        n_error = round(ratio * self.visible.everyone.n) if self.request.crossfit else None
        seen = selection.task.rows(seen)
        found = selection.run(seen, plan, n_test, n_error=n_error, progress=progress)
        judge, met = Judge(plan, unseen, n_test), found.best.meets_target
        [together] = judge.of(found.policy, [found.best.theta])
        if not alone:
            return JudgedSearch(together, met, [], [])
        bench = Bench(selection, plan, seen, n_test)
        lowest, likeliest = [], []
        for j in range(len(together)):
            low = bench.lowest(j, bench.starts)
            likely = bench.likeliest(j, [low, *bench.starts])
            lowest.append(judge.of(bench.policy, [low])[0][j])
            likeliest.append(judge.of(bench.policy, [likely])[0][j])
            progress()
        return JudgedSearch(together, met, lowest, likeliest)

    def with_range(self, name: str, ends: tuple[float, float]) -> float | None:
        """By how much the number of test rows has to grow, for bounds of the same width, if the
        range of an impact is declared; None if that turns no approximation into a proof.

        It is about the model that would be tested last, and the statement that needs most.
        """
        rows, estimation = self.visible.candidate, self.plan.baselines.estimation
        declared = replace(estimation, ranges={**estimation.ranges, name: ends})
        proven = replace(self.plan, baselines=Baselines(declared, rows))
        both = zip(self.plan.compile(rows), proven.compile(rows), strict=True)
        changed = [(now, then) for now, then in both if now.kind != then.kind]
        if not self.ends or not changed:
            return None
        return max(self._growth(now, then) for now, then in changed)

    def _growth(self, now: CompiledClaim, then: CompiledClaim) -> float:
        """By how much the number of test rows has to grow for another bound of the same width."""

        def width(claim: CompiledClaim, times: float) -> float:
            ratio = times * self.n_test / self.visible.candidate.n
            levels = requirements_of([claim], Target(0.5), ratio)[0].predict(self.ends[-1]).levels
            return levels.upper - levels.mean

        aim = width(now, 1.0)
        if not 0 < aim < inf:
            return 1.0
        least, most = -log2(MOST_GROWTH), log2(MOST_GROWTH)
        if width(then, MOST_GROWTH) > aim:
            return MOST_GROWTH
        if width(then, 1 / MOST_GROWTH) < aim:
            return 1 / MOST_GROWTH
        return float(2 ** brentq(lambda power: width(then, 2**power) - aim, least, most, xtol=0.01))

    def _scores(self, rows: int, trials: Sequence[JudgedSearch | None]) -> Scores:
        """What some trials come to on average; a group that is too small counts as failed."""
        done, none = [trial for trial in trials if trial is not None], np.zeros(len(self.silent))
        if not done:
            return Scores(rows, len(trials), none - FURTHEST, none, none, none + 1, 0.0, none)
        factors = self.request.selection().target.factors

        def mean(of: Callable[[Judged], float]) -> Floats:
            every = [[of(judged) for judged in trial.together] for trial in done]
            return np.asarray(np.mean(every, axis=0))

        failed, share = 1 - len(done) / len(trials), mean(lambda judged: judged.share)
        met = float(np.mean([trial.met for trial in done]))
        score = (1 - failed) * mean(lambda judged: judged.score) - failed * FURTHEST
        # Few rows judge each of today's trials, so their scores vary by the judges' luck. Theory
        # tells how a search that met its target varies: by the luck of the rows it saw.
        varied = none + self._luck * met * share * (not self.request.crossfit)
        if rows < self.visible.everyone.n and len(done) > 1:
            varied = np.var([[j.score for j in trial.together] for trial in done], axis=0, ddof=1)
        return Scores(
            rows,
            len(trials),
            np.where(self.silent, -inf, score),
            mean(lambda judged: judged.width),
            mean(lambda judged: judged.errors(factors.spread * judged.spread + factors.constant)),
            share,
            met,
            np.where(self.silent, 0.0, varied),
        )

    @property
    def _luck(self) -> float:
        """The variance of candidate rows' luck, in variances of the test at today's rows."""
        return self.n_test / int(self.visible.candidate.n)

    def curve(
        self, rows: int, trials: Sequence[JudgedSearch | None], larger: Sequence[Scores] = ()
    ) -> ChanceCurve:
        """The chance by the number of rows, from trials at one number and what is known of larger
        ones, up to today's.
        """
        crossfit, factors = self.request.crossfit, self.request.selection().target.factors
        return ChanceCurve(
            [self._scores(rows, trials), *larger],
            luck=self._luck,
            noise=1 / SHARED_ROWS**2 if crossfit else 1.0,
            apart=not crossfit,
            target=(factors.error, -factors.mean),
            seed=self.request.seed,
        )

    def statements(
        self, known: Sequence[StatementCheck], trials: Sequence[JudgedSearch], chances: Floats
    ) -> tuple[StatementCheck, ...]:
        """Statements with their forecasts, from today's trials and each one's chance to pass."""
        found = []
        for j, (each, silent) in enumerate(zip(known, self.silent, strict=True)):
            lowest, likeliest, together = (
                self._of_kind([getattr(trial, kind)[j] for trial in trials], silent)
                for kind in ("lowest", "likeliest", "together")
            )
            together = replace(together, chance=float(chances[j]))
            # Where several models are all but certain to pass, the lowest bound is the best.
            alone = max(
                lowest, likeliest, together, key=lambda of: (round(of.chance, 2), -of.upper)
            )
            reach: Reach = "likely" if alone.chance >= LIKELY else "uncertain"
            if alone.chance < each.delta:  # a model that changes nothing passes as often
                never = isfinite(alone.upper) and self._never(j)
                reach = "out_of_reach" if never else "too_few_rows"
            found.append(replace(each, alone=alone, together=together, reach=reach))
        return tuple(found)

    def _of_kind(self, judged: Sequence[Judged], silent: bool) -> StatementForecast:
        """The forecast for models of one kind, one of them picked at random."""
        estimate, upper, share = (
            float(np.mean([getattr(each, name) for each in judged]))
            for name in ("estimate", "upper", "share")
        )
        if silent or not isfinite(upper):
            return StatementForecast(estimate, inf, 0.0)
        spread = sqrt(1 + share * self._luck)
        chance = float(ndtr(np.mean([each.score for each in judged]) / spread))
        return StatementForecast(estimate, upper, chance)

    def _never(self, claim: int) -> bool:
        """Whether g is above 0 for the model with the lowest g, beyond doubt.

        That model is found and looked at on the same rows, so its g is, if anything, too low.
        """
        selection, _ = self.visible.prepare(self.visible.candidate, self.request)
        rows, n_test = selection.task.rows(self.visible.candidate), round(self.n_test)
        bench = Bench(selection, self.plan, rows, n_test)
        best = bench.lowest(claim, bench.starts, MEAN)
        levels = bench.predict(claim, best).levels
        by_candidates = sqrt(n_test / (n_test + rows.n))  # the rest of the error is the test's
        return levels.mean > ERRORS * levels.error * by_candidates
