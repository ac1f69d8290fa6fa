"""What a fit is asked for, whichever rows it gets, and the search that this comes to.

The way of the data: candidate half, search, sealed half, certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elfair.bounds import get_bound
from elfair.certificate import CandidateRecord
from elfair.data import LoggedData
from elfair.data.split import cross_partition, partition
from elfair.errors import BoundError, InputError
from elfair.fairness_test.issue import Circumstances, declared_estimation, issue_certificate
from elfair.fairness_test.ladder import Line
from elfair.fairness_test.sealed import (
    SHARED_ROWS,
    Outcome,
    Trial,
    learn_from,
    run_in_turn,
    run_on_folds,
)
from elfair.language import holds
from elfair.policies.models import Model, Trained, digests, mixture_digest
from elfair.search import Candidate, Selection
from elfair.search.families import ModuleFamily, search_for_module
from elfair.search.progress import SearchProgress
from elfair.search.targets import Target
from elfair.search.task import Task
from elfair.search.tuning import tune
from elfair.statistics import Baselines, require_rows
from elfair.statistics.plan import Claim, Plan, conditions_of

#: From the parameters of an estimator, and a seed, to what a search is for.
MakeTask = Callable[[Mapping[str, Any], int], Task]


@dataclass(frozen=True)
class Fitting:
    """What is asked of a fit.

    Parameters
    ----------
    claims : tuple of Claim
        What must hold; without any, all rows are for the search.
    parameters : mapping
        Those of the estimator.
    seed : int
        Seed of the split and of the search.
    task : callable
        From parameters and a seed to what the search is for.
    thresholds : tuple of float
        The t of each P[decision >= t] that claims or task ask for, where decisions are numbers.
    """

    claims: tuple[Claim, ...]
    parameters: Mapping[str, Any]
    seed: int
    task: MakeTask
    thresholds: tuple[float, ...] = ()

    @property
    def split(self) -> dict[str, Any]:
        """How rows are divided into halves, as `partition` takes it."""
        return {
            "candidate_fraction": self.parameters["candidate_fraction"],
            "seed": self.seed,
            "stratified": self.parameters["split"] == "stratified",
        }

    @property
    def crossfit(self) -> bool:
        """Whether there are no halves: every row is tested, by a model found on the others."""
        return bool(self.claims) and self.parameters["split"] == "crossfit"

    def selection(self) -> Selection:
        """The search."""
        parameters = self.parameters
        target = Target(parameters["power"], parameters["inflation"], parameters["xi"])
        method, made = parameters["search"], self.task(parameters, self.seed)
        if isinstance(getattr(made, "family", None), ModuleFamily):
            return search_for_module(method, made, target, self.seed)
        return Selection(method, made, target, self.seed)

    def plan(self, candidate: LoggedData, everyone: LoggedData) -> Plan:
        """What is searched for and tested.

        Parameters
        ----------
        candidate : LoggedData
            The rows that constants are learnt from.
        everyone : LoggedData
            All rows, which declarations are held against.
        """
        parameters = self.parameters
        estimation = declared_estimation(
            everyone,
            parameters["bound"],
            parameters["estimator"],
            parameters["center"],
            parameters["impact_range"],
            parameters.get("propensity_floor"),  # the classifier's alone, as is an outcome model
            parameters.get("outcome_model"),
        )
        bound = get_bound(parameters["bound"])
        return Plan.make(self.claims, bound, Baselines(estimation, candidate), everyone)


def train(data: LoggedData, fitting: Fitting) -> Trained:
    """Search for a model, and test it where there is anything to test.

    Parameters
    ----------
    data : LoggedData
        All rows.
    fitting : Fitting
        What is asked for.
    """
    data = data.with_thresholds(fitting.thresholds)
    if not fitting.claims:
        return _searched(data, fitting)
    return (_crossfitted if fitting.crossfit else _searched_and_tested)(data, fitting)


def _searched_and_tested(data: LoggedData, fitting: Fitting) -> Trained:
    parameters, seed = fitting.parameters, fitting.seed
    candidate, sealed = partition(data, **fitting.split)
    _check_sizes(fitting.claims, data, candidate)

    def make(choice: Mapping[str, Any], rows: LoggedData) -> tuple[Selection, Plan]:
        chosen = replace(fitting, parameters={**parameters, **choice})
        return chosen.selection(), chosen.plan(rows, data)

    tuned: dict[str, Any] = {}
    if parameters["candidate_tuning"]:
        tuned = tune(parameters["candidate_tuning"], candidate, sealed.n, make, seed)
    selection, plan = make(tuned, candidate)
    candidate = selection.task.rows(candidate)
    with SearchProgress("looking for a model") as progress:
        lineup = selection.line_up(candidate, plan, sealed.n, parameters["candidates"], progress)
    models = [Model(lineup.policy, theta) for theta in lineup.thetas]
    line = Line(lineup.policy, lineup.thetas)
    turns = run_in_turn(line.trials(plan, candidate, sealed))
    model = models[turns.place - 1]
    losses = [lineup.found.problem.loss_at(theta) for theta in lineup.thetas]
    trade_off, known = line.trade_off(turns, candidate, losses), digests(models)
    record = replace(
        _record(selection, lineup.found.candidates[:1], lineup.found.evaluations),
        loss=trade_off.models[turns.place - 1].loss,
        lined_up=len(models),
        tested=turns.tested,
        place=turns.place,
    )
    certificate = issue_certificate(
        turns.plan,
        turns.outcome,
        Circumstances(
            asked=plan,
            everyone=data,
            aside=candidate,
            share=parameters["candidate_fraction"],
            split=parameters["split"],
            seed=seed,
            openings=sealed.openings,
            model=known[turns.place - 1],
            lineup=known,
            candidate=record,
            trade_off=trade_off,
        ),
        selection.task.assumptions(),
    )
    return Trained((model,), (1.0,), tuple(models), certificate, tuned)


def _crossfitted(data: LoggedData, fitting: Fitting) -> Trained:
    """Every row is tested, by a model that was found on the other folds; their mixture is let out.

    For each fold the test is the usual one: given the other folds, its rows are independent of its
    model. Over all folds the average stays unbiased, and is close to normal when single rows hardly
    move the search (Bayle, Bayle, Janson and Mackey 2020 on cross-validation); where they do, the
    stretched bound allows for it. No finite-sample proof is known, so that only an asymptotic bound
    is allowed.
    """
    claims, parameters, seed = fitting.claims, fitting.parameters, fitting.seed
    bound = get_bound(parameters["bound"])
    if bound.kind != "asymptotic":
        raise BoundError(
            f"split='crossfit' has no finite-sample proof, as bound='{bound.name}' needs one.",
            hint="use split='random' with this bound, or bound='ttest'.",
        )
    if parameters["candidate_tuning"]:
        raise InputError(
            "candidate_tuning needs one candidate half; split='crossfit' has one for each fold.",
            hint="tune with split='random', or leave candidate_tuning out.",
        )
    if beyond := [each for claim in claims for each in claim.statistics]:
        raise InputError(
            f"'{beyond[0]}' needs one candidate half to choose its points on; split='crossfit' has "
            "one for each fold.",
            hint="use split='random'.",
        )
    selection = fitting.selection()
    divided = cross_partition(data, folds=parameters["folds"], seed=seed)
    for others, _ in divided:
        _check_sizes(claims, data, others)
    n_test = round(data.n / SHARED_ROWS**2)  # a stretched bound is one on fewer rows
    models, trials, found, evaluations = [], [], [], 0
    with SearchProgress("looking for models") as progress:
        for every, sealed in divided:
            others = selection.task.rows(every)
            plan = fitting.plan(others, data)
            # The rows that one fold tests are those that the others are searched on: what a search
            # believes and what the test finds err together, and all rows' own error is left.
            policy, candidate, steps = selection.run(others, plan, n_test, progress, n_error=data.n)
            models.append(Model(policy, candidate.theta))
            learnt = learn_from(plan, others, models[-1].free(others))
            trials.append(Trial(plan, sealed, models[-1].free, learnt))
            found.append(candidate)
            evaluations += steps
    outcome = run_on_folds(trials)
    line = digests(models)
    certificate = issue_certificate(
        trials[0].plan,
        outcome,
        Circumstances(
            asked=trials[0].plan,
            everyone=data,
            aside=data,
            share=1 - 1 / len(trials),
            split="crossfit",
            seed=seed,
            openings=trials[0].sealed.openings,
            model=mixture_digest(line),
            lineup=line,
            candidate=_record(selection, found, evaluations),
            folds=len(trials),
            n_aside=max(others.n for others, _ in divided),
        ),
        selection.task.assumptions(),
    )
    shares = tuple(trial.sealed.n / data.n for trial in trials)
    return Trained(tuple(models), shares, tuple(models), certificate, {})


def _check_sizes(claims: tuple[Claim, ...], data: LoggedData, candidate: LoggedData) -> None:
    """A group too small for the test is an error before the search, and before an opening counts.

    What is not in the candidate half is in the sealed one, which stays closed.
    """
    for given in conditions_of(claims):
        left = int(holds(given, data).sum() - holds(given, candidate).sum())
        require_rows(given, left, data.n - candidate.n, data)


def _searched(data: LoggedData, fitting: Fitting) -> Trained:
    """Without constraints there is nothing to hold rows out for."""
    selection, plan = fitting.selection(), fitting.plan(data, data)
    with SearchProgress("looking for a model") as progress:
        policy, found, evaluations = selection.run(selection.task.rows(data), plan, 0, progress)
    model = Model(policy, found.theta)
    nobody = data.take(np.arange(0))
    certificate = issue_certificate(
        plan,
        Outcome((), nobody, np.empty((0, 0))),
        Circumstances(
            asked=plan,
            everyone=data,
            aside=data,
            share=1.0,
            split="none",
            seed=fitting.seed,
            openings=0,
            model=model.digest(),
            lineup=[model.digest()],
            candidate=_record(selection, [found], evaluations),
        ),
    )
    return Trained((model,), (1.0,), (model,), certificate, {})


def _record(selection: Selection, found: Sequence[Candidate], evaluations: int) -> CandidateRecord:
    return CandidateRecord(
        search=selection.method,
        objective=selection.task.objective,
        models=len(found),
        loss=float(np.mean([candidate.loss for candidate in found])),
        predicted_pass=float(np.exp(min(candidate.log_pass for candidate in found))),
        meets_target=all(candidate.meets_target for candidate in found),
        evaluations=evaluations,
        lined_up=1,
        tested=1,
        place=1,
    )
