"""The one forecast, from candidate rows alone: that of the search itself.

`check` and `plan_rows` search on candidate rows exactly as ``fit`` would. So they show the chance
to pass that ``fit`` will find and that the certificate records (`elfair.search.ranking` says how it
is made). With fewer rows than today, the search gets a part of the candidate rows. `ChanceCurve`
goes beyond today's rows.

What each statement could achieve *alone* needs models of its own. The best of many models looks
better, on the rows it was found on, than it is. So these are found on two thirds of the candidate
rows and judged on the others, each third in turn.

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
from scipy.special import ndtr, ndtri

from elfair.data import LoggedData
from elfair.data.units import permuted, whole_units
from elfair.errors import DataError
from elfair.estimators.fit import Request
from elfair.fairness_test.evidence import SHARED_ROWS, is_silent
from elfair.planning.alone import MEAN, Bench
from elfair.planning.curve import ChanceCurve, Scores
from elfair.planning.visible import VisibleRows
from elfair.records.progress import Progress, parts
from elfair.search import Found, Selection, Target
from elfair.search.judging import FURTHEST, Judge, Judged, in_folds
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


#: How far a forecast is after the search, as progress is told.
FIRST_SEARCH = 0.2
#: A chance above this is called likely.
LIKELY = 0.8
#: How many standard errors the lowest possible g has to be above 0 before no number of rows is said
#: to be enough: wrong one time in twenty at worst.
ERRORS = 1.645
#: By how much the number of rows for another bound may differ, as far as anybody asks.
MOST_GROWTH = 16.0


class Foreseen(NamedTuple):
    """What a search on some candidate rows foresees of the model that would be tested first; one
    value for each statement.

    Parameters
    ----------
    chances : ndarray
        The chance to pass.
    judged : list of Judged
        What the rows that were searched say.
    """

    chances: Floats
    judged: list[Judged]

    @classmethod
    def of(cls, found: Found, luck: float) -> Foreseen:
        """From what was found; ``luck`` is the number of test rows for each row searched."""
        return cls(found.chances, found.promised(luck))


class Alone(NamedTuple):
    """What rows that had no part in them say about the best models for each statement alone.

    Parameters
    ----------
    lowest, likeliest : list of Judged
        For each statement, under the model with the lowest bound on it, and under the one most
        likely to pass it.
    """

    lowest: list[Judged]
    likeliest: list[Judged]


@dataclass(frozen=True)
class Forecaster:
    """Searches for models on candidate rows, as ``fit`` would, and says what to expect of them.

    Parameters
    ----------
    visible : VisibleRows
        The rows.
    request : Request
        What ``fit`` would be asked for.
    plan : Plan
        The test, with points and constants chosen on all candidate rows, so every trial is about
        the same statements.
    now : Foreseen
        What the search on all candidate rows foresees.
    ends : list of ndarray
        The first and the last model of the ladder, on candidate rows; empty if importance weights
        enter no statement.
    silent : tuple of bool
        For each statement, whether its rows do not vary, so the test has no bound for it.
    """

    visible: VisibleRows
    request: Request
    plan: Plan
    now: Foreseen
    ends: list[Floats]
    silent: tuple[bool, ...]

    @classmethod
    def of(cls, visible: VisibleRows, request: Request) -> Forecaster:
        """Search on all candidate rows, as ``fit`` would, to forecast the test that follows."""
        selection, plan = visible.prepare(visible.candidate, request)
        rows, n_test = selection.task.rows(visible.candidate), _tested(visible, request)
        with Progress("searching as fit would", end=FIRST_SEARCH) as progress:
            found = _search(selection, plan, rows, visible, request, 1.0, progress)
        logged = found.policy.logged(rows)
        ends = [found.ladder[0], *found.ladder[1:][-1:]]
        free = [found.policy.free(end.theta, logged) for end in ends]
        plan = settle(plan, rows, free[0], n_test)
        compiled = plan.compile(visible.candidate)
        silent = tuple(
            any(
                is_silent(tail, [part.rows.are_silent for part in tail.parts])
                for tail in claim.tails
            )
            for claim in compiled
        )
        weighted = any(part.weighted for claim in compiled for part in claim.parts)
        now = Foreseen.of(found, n_test / rows.n)
        # A copy of the plan: what it has compiled does not travel between processes.
        return cls(visible, request, replace(plan), now, free if weighted else [], silent)

    @property
    def chance(self) -> float:
        """The chance that a fit of these rows releases a model."""
        return float(np.where(self.silent, 0.0, self.now.chances).prod())

    @property
    def n_test(self) -> int:
        """On how many rows a bound is computed; a stretched bound is one on fewer rows."""
        return _tested(self.visible, self.request)

    def smaller(self, ratio: float, seed: int) -> Foreseen | None:
        """What is foreseen for a part of today's rows; None where a group is too small in it."""
        rows = self.visible.candidate
        order = permuted(rows, seed)
        rows = rows.take(np.sort(order[: whole_units(rows, order, round(ratio * rows.n))]))
        try:
            selection, plan = self.visible.prepare(rows, self.request)
            plan = replace(plan, claims=self.plan.claims)
            rows = selection.task.rows(rows)
            found = _search(selection, plan, rows, self.visible, self.request, ratio)
            return Foreseen.of(found, ratio * self.n_test / rows.n)
        except DataError:
            return None

    def alone(self) -> list[Alone]:
        """What each statement could achieve; raise where a group is too small to be divided."""
        halves = in_folds(self.visible.candidate, self.request.seed)
        with Progress("looking at each statement alone", start=FIRST_SEARCH) as progress:
            return [self._alone(*half, progress) for half in parts(list(halves))]

    def _alone(self, found_on: Index, judged_on: Index, progress: Callable[[], None]) -> Alone:
        seen, unseen = (self.visible.candidate.take(rows) for rows in (found_on, judged_on))
        selection, plan = self.visible.prepare(seen, self.request)
        plan = replace(plan, claims=self.plan.claims)
        judge = Judge(plan, unseen, self.n_test)
        bench = Bench(selection, plan, selection.task.rows(seen), self.n_test)
        lowest, likeliest = [], []
        for j in parts(range(len(plan.claims))):
            low = bench.lowest(j, bench.starts)
            likely = bench.likeliest(j, [low, *bench.starts])
            lowest.append(judge.of(bench.policy, [low])[0][j])
            likeliest.append(judge.of(bench.policy, [likely])[0][j])
            progress()
        return Alone(lowest, likeliest)

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

    def _scores(self, rows: int, trials: Sequence[Foreseen | None]) -> Scores:
        """What some trials come to on average; a group that is too small counts as failed."""
        done, none = [trial for trial in trials if trial is not None], np.zeros(len(self.silent))
        if not done:
            return Scores(rows, len(trials), none - FURTHEST, none, none, none + 1)
        factors = self._target.factors

        def mean(of: Callable[[Judged], float]) -> Floats:
            every = [[of(judged) for judged in trial.judged] for trial in done]
            return np.asarray(np.mean(every, axis=0))

        share = np.maximum(0.0, mean(lambda judged: judged.share))  # of stretched bounds, none
        luck = self._luck * share * rows / self.visible.everyone.n
        # A chance is an average over the luck of candidate rows, which a score does not contain.
        chances = np.sum([trial.chances for trial in done], axis=0) / len(trials)
        score = np.clip(ndtri(chances), -FURTHEST, FURTHEST) * np.sqrt(self._noise + luck)
        return Scores(
            rows,
            len(trials),
            np.where(self.silent, -inf, score),
            mean(lambda judged: judged.width),
            mean(lambda judged: judged.errors(factors.spread * judged.spread + factors.constant)),
            share,
        )

    @property
    def _target(self) -> Target:
        """The target of the model that is tested first."""
        target = self.request.selection().target
        ladder = self.request.parameters["candidates"] > 1 and not self.request.crossfit
        return target.of_ladder[0] if ladder else target

    @property
    def _luck(self) -> float:
        """The variance of candidate rows' luck, in variances of the test at today's rows."""
        return self.n_test / int(self.visible.candidate.n)

    @property
    def _noise(self) -> float:
        """The variance of a score through the test; below 1 where a bound is stretched."""
        return 1 / SHARED_ROWS**2 if self.request.crossfit else 1.0

    def curve(
        self, rows: int, trials: Sequence[Foreseen | None], larger: Sequence[Scores] = ()
    ) -> ChanceCurve:
        """The chance by the number of rows, from trials at one number and what is known of larger
        ones, up to today's.
        """
        factors = self._target.factors
        return ChanceCurve(
            [self._scores(rows, trials), *larger],
            luck=self._luck,
            noise=self._noise,
            apart=not self.request.crossfit,
            target=(factors.error, -factors.mean),
            seed=self.request.seed,
        )

    def statements(
        self, known: Sequence[StatementCheck], alone: Sequence[Alone]
    ) -> tuple[StatementCheck, ...]:
        """Statements with their forecasts: of all together and, if it is known, of each alone."""
        found = []
        for j, (each, silent) in enumerate(zip(known, self.silent, strict=True)):
            together = self._together(j, silent)
            each = replace(each, together=together)
            if alone:
                lowest, likeliest = (
                    self._of_kind([getattr(of, kind)[j] for of in alone], silent)
                    for kind in Alone._fields
                )
                # Where several models are all but certain to pass, the lowest bound is the best.
                best = max(
                    lowest, likeliest, together, key=lambda of: (round(of.chance, 2), -of.upper)
                )
                each = replace(each, alone=best, reach=self._reach(j, best, each.delta))
            found.append(each)
        return tuple(found)

    def _together(self, j: int, silent: bool) -> StatementForecast:
        """The bound to expect is the one that passes with the chance that is foreseen."""
        judged, chance = self.now.judged[j], float(self.now.chances[j])
        if silent or not isfinite(judged.upper):
            return StatementForecast(judged.estimate, inf, 0.0)
        upper = -judged.error * float(np.clip(ndtri(chance), -FURTHEST, FURTHEST))
        return StatementForecast(upper - judged.width * judged.error, upper, chance)

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

    def _reach(self, j: int, alone: StatementForecast, delta: float) -> Reach:
        if alone.chance >= delta:
            return "likely" if alone.chance >= LIKELY else "uncertain"
        # A model that changes nothing passes as often.
        never = isfinite(alone.upper) and self._never(j)
        return "out_of_reach" if never else "too_few_rows"

    def _never(self, claim: int) -> bool:
        """Whether g is above 0 for the model with the lowest g, beyond doubt.

        That model is found and looked at on the same rows, so its g is, if anything, too low.
        """
        selection, _ = self.visible.prepare(self.visible.candidate, self.request)
        rows, n_test = selection.task.rows(self.visible.candidate), self.n_test
        bench = Bench(selection, self.plan, rows, n_test)
        best = bench.lowest(claim, bench.starts, MEAN)
        levels = bench.predict(claim, best).levels
        by_candidates = sqrt(n_test / (n_test + rows.n))  # the rest of the error is the test's
        return levels.mean > ERRORS * levels.error * by_candidates


def _tested(visible: VisibleRows, request: Request) -> int:
    """See `Forecaster.n_test`."""
    return round(visible.everyone.n / SHARED_ROWS**2) if request.crossfit else visible.n_held_out


def _search(
    selection: Selection,
    plan: Plan,
    rows: LoggedData,
    visible: VisibleRows,
    request: Request,
    ratio: float,
    progress: Callable[[], None] = lambda: None,
) -> Found:
    """Search as ``fit`` would, if there were this share of today's rows."""
    n_test, models = (
        max(2, round(ratio * _tested(visible, request))),
        request.parameters["candidates"],
    )
    if not request.crossfit:
        return selection.run(rows, plan, n_test, models=models, progress=progress)
    n_error = round(ratio * visible.everyone.n)
    return selection.run(rows, plan, n_test, n_error=n_error, progress=progress)
