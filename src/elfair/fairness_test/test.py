"""The fairness test (algorithms 1 and 3): the one orchestrator, and only reader of sealed rows.

`fit`, `certify`, cross-fitting and verification all build a `FairnessTest` and run it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from elfair.certificate import Assumption, Certificate, SearchRecord
from elfair.certificate.codes import AssumptionCode
from elfair.certificate.pictures import TradeOff
from elfair.data import LoggedData
from elfair.data.looks import Look, enter, rows_of
from elfair.data.split import SealedHalf, Split
from elfair.fairness_test.evidence import SHARED_ROWS, Bounded, Outcome, badness, bounded
from elfair.fairness_test.issue import identity_of_test, issue_certificate
from elfair.fairness_test.ladder import Ladder, Learnt, Rung, fate_of
from elfair.search.threads import one_thread
from elfair.statistics import Rows
from elfair.statistics.confounding import GRID
from elfair.statistics.decisions import decisions_of
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.statistics.rows import Weighted
from elfair.statistics.units import Units
from elfair.types import Floats, Index


@dataclass(frozen=True)
class FairnessTest:
    """A whole test, fixed before any sealed row is opened.

    Parameters
    ----------
    split : Split
        The rows, divided.
    plans : tuple of Plan
        What was asked for, one plan for each fold: constants are learnt from its candidate rows.
    ladders : tuple of Ladder
        The models, one ladder for each fold.
    search : SearchRecord, optional
        What the search says about the models; None for a model from elsewhere.
    losses : sequence of float, optional
        The loss of each model on the ladder; without them the certificate shows no trade-off.
    declared : tuple of Assumption
        What the models rest on, beside what every test rests on.
    looks : int, default 1
        How many looks at these rows were declared before the first; each claim has its share of
        delta already.
    accept_violated : tuple of str
        The assumptions that may be violated: the model is wanted all the same.
    """

    split: Split
    plans: tuple[Plan, ...]
    ladders: tuple[Ladder, ...]
    search: SearchRecord | None = None
    losses: Sequence[float] = ()
    declared: tuple[Assumption, ...] = ()
    looks: int = 1
    accept_violated: tuple[AssumptionCode, ...] = ()

    @one_thread()
    def run(self) -> Certificate:
        """Open the sealed rows, test the models in turn, and write the certificate."""
        if not self.split.folds:
            return issue_certificate(self, self.nothing(), 0)
        rungs = self.rungs()
        first = next(rungs)  # what cannot be tested is said before a look is counted
        chance = None if self.search is None else self.search.forecast
        rows = rows_of(self.split.everyone)
        number = enter(Look(rows, identity_of_test(self), self.looks, chance))
        return issue_certificate(self, run_in_turn(chain([first], rungs)), number)

    def rungs(self) -> Iterator[Sequence[Rung]]:
        """The tests of each model, one for each fold, from most to least cautious."""
        folds = zip(self.plans, self.ladders, self.split.folds, strict=True)
        return zip(*(ladder.rungs(plan, fold.sealed) for plan, ladder, fold in folds), strict=True)

    def searched(
        self, outcome: Outcome, *, released: bool
    ) -> tuple[SearchRecord | None, TradeOff | None]:
        """What is known about the models after the test, and the trade-off between them."""
        if self.search is None:
            return None, None
        place, tested, ladder = outcome.place, outcome.tested, self.ladders[0]
        count = len(ladder.thetas)
        search = replace(self.search, on_ladder=count, tested=tested, place=place)
        if not self.losses:
            return search, None
        fates = [
            fate_of(k + 1, tested, place, passed=outcome.passed, released=released)
            for k in range(count)
        ]
        trade_off = ladder.trade_off(outcome.plan, fates, self.losses)
        return replace(search, loss=self.losses[place - 1]), trade_off

    def nothing(self) -> Outcome:
        """The outcome if there is nothing to test."""
        nobody = self.split.everyone.take(np.arange(0))
        return Outcome((), nobody, np.empty((0, 0)), self.plans[0])


def run_in_turn(rungs: Iterable[Sequence[Rung]]) -> Outcome:
    """Open the sealed rows once and test models in the given order until one fails.

    If some models violate a claim, the first of them in this order has to pass its test before any
    of them can be released; the probability of that is at most the claim's delta, however many
    models there are.

    If there are several folds, each tests its own model, and the average over all rows is
    bounded. Every g is affine in the policy, so the average is about the policy that picks one of
    these models at random, in proportion to the folds' rows.

    Parameters
    ----------
    rungs : iterable of sequences of Rung
        The tests of each model, one for each fold, all on the same sealed rows, in an order that
        held-out rows had no part in. It is read no further than the test goes.
    """
    opened, kept, tested = None, None, 0
    for of_folds in rungs:
        opened = opened or _Opened([rung.sealed for rung in of_folds])
        claims, free, learnt = opened.claims(of_folds)
        stretch = SHARED_ROWS if len(of_folds) > 1 else 1.0
        bounds = [
            bounded(claim, opened.data, free, of_rows, stretch)
            for claim, of_rows in zip(claims, learnt.rows, strict=True)
        ]
        passed, tested = all(bound.passed for bound in bounds), tested + 1
        if passed or kept is None:
            kept = free, of_folds, tested, bounds, learnt
        if not passed:
            break
    assert opened is not None
    assert kept is not None
    free, of_folds, place, bounds, learnt = kept
    n_all = learnt.n + opened.data.n
    each = zip(bounds, learnt.sizes, _break_even(opened, of_folds, bounds), strict=True)
    results = [bound.result(sizes, n_all, even) for bound, sizes, even in each]
    results.sort(key=lambda result: -badness(result))  # the worst statement first
    return Outcome(tuple(results), opened.data, free, of_folds[0].plan, place, tested)


def _break_even(
    opened: _Opened, rungs: Sequence[Rung], bounds: Sequence[Bounded]
) -> list[float | None]:
    """The odds ratio of confounding up to which each claim of a model passes; None if it does not
    pass at all, or if nothing that confounding could distort enters it.

    From the odds ratio of the test on, those of a fixed grid are tried in turn, up to the first
    failure. If a claim is violated at some of them, it is violated at all larger ones: too large a
    value is found only if the *first* of these passes, which has probability at most delta,
    however long the grid is.
    """
    even: list[float | None] = [None] * len(bounds)
    start = rungs[0].plan.baselines.estimation.Lambda
    passing = []
    if opened.data.decision_kind == "classes":
        passing = [k for k, each in enumerate(bounds) if each.passed and each.compiled.weighted]
    for Lambda in (start, *(each for each in GRID if each > start)):
        if Lambda > start and passing:
            claims, free, learnt = opened.claims([rung.at(Lambda, passing) for rung in rungs])
            passing = [
                k
                for k, claim, of_rows in zip(passing, claims, learnt.rows, strict=True)
                if bounded(claim, opened.data, free, of_rows, bounds[k].stretch).passed
            ]
        for k in passing:
            even[k] = Lambda
    return even


def opened_before(split: Split) -> LoggedData:
    """The rows of a test that was made before and is only checked, in the order of the test."""
    if not split.folds:
        return split.everyone.take(np.arange(0))
    return _Opened([fold.sealed for fold in split.folds]).data


class _Opened:
    """Sealed rows after they were opened: the rows of all folds, one fold after the other."""

    def __init__(self, halves: Sequence[SealedHalf]) -> None:
        self.halves = list(halves)
        self.folds = [sealed.open() for sealed in halves]
        self.data = LoggedData.joined(self.folds)
        self.starts = np.cumsum([0, *(data.n for data in self.folds)])

    def claims(self, rungs: Sequence[Rung]) -> tuple[list[CompiledClaim], Floats, Learnt]:
        """Every claim on these rows, the free numbers of one model (or of one a fold) on them, and
        what other rows say.
        """
        assert [rung.sealed for rung in rungs] == self.halves
        pairs = list(zip(rungs, self.folds, strict=True))
        frees = [rung.policy(data) for rung, data in pairs]
        free = frees[0] if len(frees) == 1 else np.concatenate(frees, axis=1)
        compiled = [rung.plan.compile(data) for rung, data in pairs]
        claims = [
            _joined(of_folds, self.starts, self.data) for of_folds in zip(*compiled, strict=True)
        ]
        learnt = rungs[0].learnt or Learnt.nothing(claims)
        if len(rungs) > 1:  # rows that one fold tests, the others learn from
            learnt = replace(learnt, n=0)
        return claims, free, learnt


def _joined(claims: Sequence[CompiledClaim], starts: Index, data: LoggedData) -> CompiledClaim:
    """A claim on several folds, as a claim on their rows one after the other."""
    if len(claims) == 1:
        return claims[0]
    tails = [
        _joined_tail(of_folds, starts, data)
        for of_folds in zip(*(claim.tails for claim in claims), strict=True)
    ]
    return replace(claims[0], tails=tuple(tails))


def _joined_tail(tails: Sequence[Tail], starts: Index, data: LoggedData) -> Tail:
    parts = []
    for of_folds in zip(*(tail.parts for tail in tails), strict=True):
        rows, units = _same_scale([part.rows for part in of_folds])
        index = np.concatenate([r.index + start for r, start in zip(rows, starts, strict=False)])
        joined = Rows(
            index,
            np.concatenate([r.offset for r in rows]),
            np.concatenate([r.slope for r in rows], axis=1),
            min(r.low for r in rows),
            max(r.high for r in rows),
            weighted=_joined_weights([r.weighted for r in rows], data, index),
            units=units,
        )
        parts.append(replace(of_folds[0], rows=joined))
    return replace(tails[0], parts=tuple(parts))


def _joined_weights(
    weighted: Sequence[Weighted | None], data: LoggedData, index: Index
) -> Weighted | None:
    known = [each for each in weighted if each is not None]
    if not known:
        return None
    residual = np.concatenate([each.residual for each in known])
    worst, largest = (max(getattr(each, name) for each in known) for name in ("worst", "largest"))
    return Weighted(residual, decisions_of(data).law(index), worst, largest)


def _same_scale(rows: Sequence[Rows]) -> tuple[list[Rows], Units | None]:
    """The rows of several folds, with shares as if they were one, and their units."""
    parts = [each.units for each in rows if each.units is not None]
    if not parts:
        return list(rows), None
    units, scaled, start = Units.joined(parts), [], 0
    for each, part in zip(rows, parts, strict=True):
        factor, weighted = float(units.share[start] / part.share[0]), each.weighted
        if weighted is not None:
            weighted = replace(weighted, residual=factor * weighted.residual)
        offset, slope = factor * each.offset, factor * each.slope
        scaled.append(replace(each, offset=offset, slope=slope, weighted=weighted))
        start += part.place.size
    return scaled, units
