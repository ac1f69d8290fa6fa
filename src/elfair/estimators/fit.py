"""What a fit does, from top to bottom: split, tuning, plan, search, test, certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elfair.bounds import AUTO, bound_in_folds, get_bound
from elfair.certificate import Assumption, Certificate, SearchRecord
from elfair.certificate.people import PeopleRecord
from elfair.data import LoggedData
from elfair.data.repeats import check_not_repeated
from elfair.data.split import Split
from elfair.data.units import count_units
from elfair.errors import BoundError, InputError
from elfair.fairness_test.evidence import SHARED_ROWS
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.language.evaluation import holds
from elfair.policies.models import Fitted
from elfair.records.progress import Progress, parts
from elfair.search import Found, Selection, Target, Task
from elfair.search.estimator import constant_policies, estimators_for, tightest
from elfair.search.threads import one_thread
from elfair.search.tuning import tune
from elfair.statistics import Baselines
from elfair.statistics.claims import Claim, conditions_of
from elfair.statistics.compiled import require_rows
from elfair.statistics.confounding import GRID
from elfair.statistics.facts import SplitBatches
from elfair.statistics.impact_estimators import declared_estimation, get_impact_estimator
from elfair.statistics.plan import Plan
from elfair.statistics.require_overlap import require_overlap
from elfair.statistics.require_seen import require_seen

#: How far a fit is after tuning, if there is any, and after the search, as progress is told.
TUNING, SEARCHING = 0.5, 0.9
#: From the parameters of an estimator, and a seed, to what a search is for.
MakeTask = Callable[[Mapping[str, Any], int], Task]


@one_thread(everything=True)  # scorers, too, sum up in another order on several threads
def fit_model(data: LoggedData, request: Request) -> Fitted:
    """Search for a model, and test it if there is anything to test.

    Parameters
    ----------
    data : LoggedData
        All rows.
    request : Request
        What is asked for.
    """
    if request.claims:
        check_not_repeated(data)
    split = request.split(data)
    require_seen(request.claims, split.everyone)
    _check_sizes(request.claims, split)
    tuned = _tuned(request, split)
    request = request.with_parameters(tuned)
    selection = request.selection()
    # Where nothing is tested, all rows are for the search.
    halves = [fold.candidate for fold in split.folds] or [split.everyone]
    candidates = [selection.task.rows(half) for half in halves]
    plans = tuple(request.plan(rows, split.everyone) for rows in candidates)
    count, pairs = request.parameters["candidates"], zip(candidates, plans, strict=True)
    with Progress("looking for a model", start=TUNING if tuned else 0.0, end=SEARCHING):
        every = parts(list(pairs))
        searches = [_search(selection, rows, plan, split, count) for rows, plan in every]
    found = zip(searches, candidates, strict=True)
    test = FairnessTest(
        split,
        plans,
        tuple(
            Ladder.on(rows, each.policy, [candidate.theta for candidate in each.ladder])
            for each, rows in found
        ),
        search=_search_record(selection, searches),
        losses=[each.loss for each in searches[0].ladder] if len(split.folds) == 1 else (),
        declared=(*selection.task.assumptions(), *request.outside),
        looks=request.parameters["looks"],
        accept_violated=tuple(request.parameters["accept_violated"]),
    )
    with Progress("testing on held-out rows", start=SEARCHING):
        certificate = test.run()
    return _fitted(test, certificate, tuned)


@one_thread(everything=True)
def fit_in_batches(split: SplitBatches, request: Request) -> Fitted:
    """Search for a model on the candidate rows in memory, and test it on rows in batches.

    Parameters
    ----------
    split : SplitBatches
        All rows, of which candidate rows are in memory.
    request : Request
        What is asked for.
    """
    request = replace(request, seed=split.seed)
    request.check_batches()
    check_not_repeated(split.candidate)
    parameters, selection = request.parameters, request.selection()
    rows = selection.task.rows(split.candidate)
    plan, people = plan_in_batches(split, request.claims, parameters, rows)
    found = _search(selection, rows, plan, split, parameters["candidates"])
    test = FairnessTest(
        split,
        (plan,),
        (Ladder.on(rows, found.policy, [each.theta for each in found.ladder]),),
        search=_search_record(selection, [found]),
        losses=[each.loss for each in found.ladder],
        declared=(*selection.task.assumptions(), *request.outside),
        looks=parameters["looks"],
        accept_violated=tuple(parameters["accept_violated"]),
        people=people,
    )
    return _fitted(test, test.run(), {})


def plan_in_batches(
    split: SplitBatches,
    claims: tuple[Claim, ...],
    parameters: Mapping[str, Any],
    candidate: LoggedData | None = None,
) -> tuple[Plan, PeopleRecord]:
    """What is tested of rows that are read in batches, and whom it is about. One pass over all rows
    sees whether they agree with what was declared.

    Parameters
    ----------
    split : SplitBatches
        All rows.
    claims : tuple of Claim
        What must hold.
    parameters : mapping
        Those of an estimator or of `certify`.
    candidate : LoggedData, optional
        The candidate rows as the search sees them.
    """
    candidate = split.candidate if candidate is None else candidate
    _require_in_batches(parameters)
    if any(claim.impact_conditions(candidate) for claim in claims):
        split.check_taken()
    names = estimators_for(parameters["estimator"], candidate)
    declared = {**parameters, "estimator": names[0]}
    checked = split.checked(claims, lambda batch: declared_estimation(batch, declared))
    for given, left in checked.held_out.items():
        require_rows(given, left, split.n_tested, candidate)
    baselines = Baselines(declared_estimation(candidate, declared), candidate)
    plan = Plan.in_batches(claims, parameters["bound"], baselines, checked.misfit)
    if len(names) > 1:
        plan = tightest(plan, names, candidate, split.n_tested, constant_policies)
    # If a model passes, it is tested at further odds ratios of confounding.
    plan.require_batches(split.n_tested, max(parameters.get("candidates", 1), len(GRID)))
    return plan, checked.people


def _require_in_batches(parameters: Mapping[str, Any]) -> None:
    """Refuse what needs all rows in memory."""
    wanted = {"split": "random", "preprocessor": None, "candidate_tuning": None}
    odd = {
        name: value for name, value in wanted.items() if parameters.get(name, value) not in (value,)
    }
    estimator = parameters["estimator"]
    if estimator != AUTO and get_impact_estimator(estimator).replaces_logged:
        odd["estimator"] = AUTO
    if parameters["bound"] == "growth":  # what it won is for rows that come later, in memory
        odd["bound"] = "betting"
    for name, value in odd.items():
        raise InputError(
            f"{name}={parameters[name]!r} needs all rows in memory.",
            hint=f"use {name}={value!r}, or read the rows into memory: LoggedData(...).",
        )


def _search(selection: Selection, rows: LoggedData, plan: Plan, split: Split, count: int) -> Found:
    """Find at most so many models to test, on some candidate rows, by the plan of the test."""
    n_test, n_error, count = split.n_tested, None, count if split.folds else 1
    if split.kind == "crossfit":
        # A stretched bound is one on fewer rows. The rows that one fold tests are those that the
        # others are searched on: what a search believes and what the test finds err together, and
        # only the error of all rows is left.
        n_test, n_error, count = round(split.everyone.n / SHARED_ROWS**2), split.everyone.n, 1
    with Progress() as progress:
        return selection.run(rows, plan, n_test, models=count, n_error=n_error, progress=progress)


def _tuned(request: Request, split: Split) -> dict[str, Any]:
    """What `candidate_tuning` chooses, inside the candidate rows."""
    grid = request.parameters["candidate_tuning"]
    if not grid or not split.folds:
        return {}

    def make(choice: Mapping[str, Any], rows: LoggedData) -> tuple[Selection, Plan]:
        chosen = request.with_parameters(choice)
        return chosen.selection(), chosen.plan(rows, split.everyone)

    with Progress("trying parameters", end=TUNING):
        return tune(grid, split.candidate, split.n_tested, make, request.seed)


def _check_sizes(claims: tuple[Claim, ...], split: Split) -> None:
    """Refuse a group that is too small for the test, before the search and before any opening.

    What is not in the candidate half is in the sealed one, which stays closed.
    """
    data = split.everyone
    for fold in split.folds:
        for given in conditions_of(claims):
            found_on = fold.candidate
            left = count_units(data, holds(given, data))
            left -= count_units(found_on, holds(given, found_on))
            require_rows(given, left, count_units(data) - count_units(found_on), data)


def _search_record(selection: Selection, searches: Sequence[Found]) -> SearchRecord:
    first = [found.ladder[0] for found in searches]
    return SearchRecord(
        method=selection.method,
        objective=selection.task.objective,
        models=len(first),
        loss=float(np.mean([candidate.loss for candidate in first])),
        forecast=min(found.forecast for found in searches),
        meets_target=all(candidate.meets_target for candidate in first),
        evaluations=sum(found.evaluations for found in searches),
        on_ladder=1,
        tested=1,
        place=1,
        rows=max(found.rows for found in searches),
    )


def _fitted(test: FairnessTest, certificate: Certificate, tuned: dict[str, Any]) -> Fitted:
    """The models at the place on the ladder that the certificate names."""
    assert certificate.search is not None
    place = certificate.search.place - 1
    every = zip(*(ladder.models for ladder in test.ladders), strict=True)
    return Fitted(
        tuple(ladder.models[place] for ladder in test.ladders),
        test.split.shares,
        tuple(model for of_folds in every for model in of_folds),
        certificate,
        tuned,
    )


@dataclass(frozen=True)
class Request:
    """What is asked of a fit, whatever its rows.

    Parameters
    ----------
    claims : tuple of Claim
        What must hold; without any, all rows are for the search.
    parameters : mapping
        Those of the estimator.
    seed : int
        Seed of the split and of the search.
    task : callable
        Maps parameters and a seed to what the search is for.
    thresholds : tuple of float
        The t of each P[decision >= t] in claims or task, if decisions are numbers.
    outside : tuple of Assumption
        What was fitted outside the seal.
    """

    claims: tuple[Claim, ...]
    parameters: Mapping[str, Any]
    seed: int
    task: MakeTask
    thresholds: tuple[float, ...] = ()
    outside: tuple[Assumption, ...] = ()

    def with_parameters(self, choice: Mapping[str, Any]) -> Request:
        """The same with some parameters replaced."""
        return replace(self, parameters={**self.parameters, **choice})

    @property
    def crossfit(self) -> bool:
        """Whether every row is tested, by a model found on the others."""
        return bool(self.claims) and self.parameters["split"] == "crossfit"

    @property
    def bound(self) -> str:
        """The bound asked for; for cross-fitting "auto" can only be the one without a proof."""
        asked: str = self.parameters["bound"]
        return bound_in_folds(asked) if self.crossfit else asked

    def check_crossfit(self) -> None:
        """Refuse what cross-fitting has no proof or no rows for.

        The test of each fold is the usual one: given the other folds, its rows are independent of
        its model. The average over all folds is unbiased, and close to normal if single rows hardly
        move the search (Bayle, Bayle, Janson and Mackey 2020); if they do, the stretched bound
        allows for it. No finite-sample proof is known.
        """
        if not self.crossfit:
            return
        if get_bound(self.bound).kind != "asymptotic":
            raise BoundError(
                f"split='crossfit' has no finite-sample proof, as bound='{self.bound}' needs one.",
                hint="use split='random' with this bound, or bound='guarded'.",
            )
        if self.parameters["candidate_tuning"]:
            raise InputError(
                "candidate_tuning needs one candidate half; split='crossfit' has one for each "
                "fold.",
                hint="tune with split='random', or leave candidate_tuning out.",
            )
        if (shift := self.parameters["shift"]) > 1:
            raise InputError(
                f"shift={shift:g} needs one model for all rows; split='crossfit' has one for each "
                "fold.",
                hint="use split='random', or leave shift out.",
            )
        if beyond := [each for claim in self.claims for each in claim.statistics]:
            raise InputError(
                f"'{beyond[0]}' needs one candidate half to choose its points on; "
                "split='crossfit' has one for each fold.",
                hint="use split='random'.",
            )

    def seen(self, data: LoggedData) -> LoggedData:
        """The rows, with all that statistics must know about them."""
        return data.changed(thresholds=self.thresholds, average=self.parameters["average"])

    def split(self, data: LoggedData) -> Split:
        """The rows, divided."""
        parameters, data = self.parameters, self.seen(data)
        given = {"seed": self.seed, "preprocessor": parameters["preprocessor"]}
        if not self.claims:  # there is nothing to hold rows out for
            return Split.of(data, "none", **given)
        share, folds = parameters["candidate_fraction"], parameters["folds"]
        return Split.of(data, parameters["split"], share=share, folds=folds, **given)

    def selection(self) -> Selection:
        """The search."""
        parameters = self.parameters
        target = Target(parameters["power"], parameters["inflation"], parameters["xi"])
        task = self.task(parameters, self.seed)
        return Selection(task.method(parameters["search"]), task, target, self.seed)

    def plan(self, candidate: LoggedData, everyone: LoggedData) -> Plan:
        """What is searched for and tested. Constants are learnt from candidate rows; all rows must
        agree with what was declared.
        """
        require_overlap(self.claims, candidate)
        names = estimators_for(self.parameters["estimator"], candidate)
        declared = {**self.parameters, "bound": self.bound, "estimator": names[0]}
        baselines = Baselines(declared_estimation(everyone, declared), candidate)
        plan = Plan.make(self.claims, self.bound, baselines, everyone)
        if len(names) == 1 or self.crossfit:  # each fold would choose for itself
            return plan
        n_test = everyone.n - candidate.n
        return tightest(plan, names, candidate, n_test, constant_policies)

    def check_batches(self) -> None:
        """Refuse to read rows in batches if nothing is tested."""
        if not self.claims:
            raise InputError(
                "without constraints nothing is tested, and no row need be read in batches.",
                hint="read the rows into memory: LoggedData(...).",
            )
