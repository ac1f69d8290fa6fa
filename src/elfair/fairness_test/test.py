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
from elfair.certificate.explanation import verdict
from elfair.certificate.parts import StageRecord
from elfair.certificate.people import PeopleRecord
from elfair.certificate.pictures import TradeOff
from elfair.data import LoggedData
from elfair.data.looks import Look, enter
from elfair.data.split import Split
from elfair.data.stages import fresh_rows
from elfair.fairness_test.drawing import Shown
from elfair.fairness_test.evidence import Bounded, Outcome, badness
from elfair.fairness_test.issue import identity_of_test, issue_certificate
from elfair.fairness_test.ladder import Ladder, Rung, fate_of
from elfair.fairness_test.opened import InMemory, Opened, opened_for
from elfair.records.progress import logger
from elfair.records.text import count
from elfair.search.threads import one_thread
from elfair.statistics import confounding, shift
from elfair.statistics.plan import Plan
from elfair.statistics.shift import Wrong


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
    stage : StageRecord, optional
        That it continues an earlier test.
    before : tuple of tuples of float
        The e-values that this gave each claim of each model.
    after : str
        What a list of looks calls it.
    people : PeopleRecord, optional
        Whom statements speak of, if not all rows are in memory.
    """

    split: Split
    plans: tuple[Plan, ...]
    ladders: tuple[Ladder, ...]
    search: SearchRecord | None = None
    losses: Sequence[float] = ()
    declared: tuple[Assumption, ...] = ()
    looks: int = 1
    accept_violated: tuple[AssumptionCode, ...] = ()
    stage: StageRecord | None = None
    before: tuple[tuple[float, ...], ...] = ()
    after: str = ""
    people: PeopleRecord | None = None

    @one_thread()
    def run(self) -> Certificate:
        """Open the sealed rows, test the models in turn, and write the certificate."""
        if not self.split.folds:
            return issue_certificate(self, self.nothing(), 0)
        rungs = self.rungs()
        first = next(rungs)  # what cannot be tested is said before a look is counted
        # The search knew nothing of what a stage goes on with.
        chance = None if self.search is None or self.stage else self.search.forecast

        def look(secret: bytes) -> Look:
            fresh = None if self.stage is None else fresh_rows(self.stage, self.split.n_read)
            rows, test = self.split.identity(secret, fresh), identity_of_test(self)
            return Look(rows, test, self.looks, chance, self.after)

        number = enter(look)
        issued = issue_certificate(self, run_in_turn(chain([first], rungs), self.before), number)
        rows = count(issued.n_held_out)
        logger.info("look %d, at %s held-out rows: %s", number, rows, verdict(issued))
        return issued

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
        plan = self.plans[0]
        return Outcome((), Shown.of(plan, nobody, np.empty((0, 0))), plan)


def run_in_turn(rungs: Iterable[Sequence[Rung]], before: Sequence[Sequence[float]] = ()) -> Outcome:
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
        held-out rows had no part in. It is read no further than the test goes; with bets for growth
        to its end, because what they win counts at the next stage.
    before : sequence of sequences of float
        The e-value of each claim of each model from earlier stages, if there were any.
    """
    rungs = iter(rungs)
    first = next(rungs)
    opened, kept, tested, over = opened_for(first), None, 0, False
    wealth: list[tuple[float, ...]] = []
    for place, of_folds in opened.ahead(enumerate(chain([first], rungs))):
        bounds = opened.bounds(of_folds, before[place] if before else None)
        wealth.append(tuple(each.wealth for each in bounds if each.wealth is not None))
        if over:
            continue
        passed, tested = all(bound.passed for bound in bounds), tested + 1
        if passed or kept is None:
            kept = of_folds, tested, bounds
        over = not passed
        if over and not wealth[-1]:
            break
    assert kept is not None
    of_folds, place, bounds = kept
    learnt = opened.learnt(of_folds)
    n_all = learnt.n + opened.n
    # Earlier stages won what they did at the ratios of the test, and at no other.
    even = _Even(opened, of_folds, bounds, further=not before)
    each = zip(bounds, learnt.sizes, even.of_lambda(), even.of_shift(), strict=True)
    results = [bound.result(sizes, n_all, *evens) for bound, sizes, *evens in each]
    results.sort(key=lambda result: -badness(result))  # the worst statement first
    won = tuple(each for each in wealth if each)
    return Outcome(tuple(results), opened.shown(of_folds), of_folds[0].plan, place, tested, won)


@dataclass(frozen=True)
class _Even:
    """How wrong what a test takes for granted may be before each claim of a model no longer passes:
    None if it does not pass at all, or if nothing of it enters the claim.

    From the ratio of the test on, those of a grid are tried in turn, up to the first failure. If a
    claim is violated at some of them, it is violated at all larger ones: too large a value is found
    only if the *first* of these passes, which has probability at most delta, however long the grid
    is.
    """

    opened: Opened
    rungs: Sequence[Rung]
    bounds: Sequence[Bounded]
    further: bool

    def of_lambda(self) -> list[float | None]:
        """The odds ratio of confounding."""
        data, concerned = self.opened.like, []
        if data.decision_kind == "classes":
            concerned = [
                k
                for k, each in enumerate(self.bounds)
                if each.compiled.weighted
                # Nor does it say how far the weights of labels may be wrong.
                if not (data.revealed and each.compiled.claim.asks_for_label(data))
            ]
        return self._found("Lambda", confounding.GRID, concerned)

    def of_shift(self) -> list[float | None]:
        """The likelihood ratio of a change of people."""
        allowed = len(self.rungs) == 1 and self.rungs[0].plan.allows_shift
        return self._found("shift", shift.GRID, range(len(self.bounds) if allowed else 0))

    def _found(
        self, what: Wrong, grid: Sequence[float], concerned: Sequence[int]
    ) -> list[float | None]:
        even: list[float | None] = [None] * len(self.bounds)
        start = getattr(self.rungs[0].plan.baselines.estimation, what)
        passing = [k for k in concerned if self.bounds[k].passed]
        for k in passing:
            even[k] = start
        cases = (
            ((ratio, passing), [rung.at(passing, what, ratio) for rung in self.rungs])
            for ratio in grid
            if ratio > start and passing and self.further
        )
        for (ratio, asked), of_folds in self.opened.ahead(cases):
            found = zip(asked, self.opened.bounds(of_folds), strict=True)
            passing = [k for k, bound in found if k in passing and bound.passed]
            for k in passing:
                even[k] = ratio
        return even


def opened_before(split: Split) -> LoggedData:
    """The rows of a test that was made before and is only checked, in the order of the test."""
    if not split.folds:
        return split.everyone.take(np.arange(0))
    return InMemory([fold.sealed for fold in split.folds]).data
