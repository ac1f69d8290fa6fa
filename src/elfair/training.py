"""The way of the data: candidate half, search, sealed half, certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.bounds import get_bound
from elfair.certificate import CandidateRecord, Certificate
from elfair.certification import declared_estimation, issue_certificate
from elfair.constraints import Claim, Plan
from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.fairness_test import Outcome, learn_from, run_on_sealed
from elfair.partition import partition
from elfair.policies import SoftmaxPolicy
from elfair.requirements import Target
from elfair.search import Candidate, Selection
from elfair.search.progress import SearchProgress
from elfair.search.tuning import tune
from elfair.statistics import Baselines

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """The one model that was tested, and the record of its test.

    Parameters
    ----------
    policy : SoftmaxPolicy
        The family of the model.
    theta : ndarray
        Its parameters.
    certificate : Certificate
        What the test said.
    tuned : dict
        What `tune` chose.
    """

    policy: SoftmaxPolicy
    theta: Floats
    certificate: Certificate
    tuned: dict[str, Any]

    def probabilities(self, features: Floats, behavior: Floats | None) -> Floats:
        """The probability of every decision, of shape (n, classes).

        Parameters
        ----------
        features : ndarray of shape (n, d)
            The people to be decided about.
        behavior : ndarray of shape (n, classes), optional
            What the behaviour model says of them, where it is kept.
        """
        free = self.policy.free(self.theta, self.policy.inputs(features, behavior))
        every: Floats = np.clip(np.vstack([1 - free.sum(axis=0), free]).T, 0.0, 1.0)
        if behavior is not None:
            every[behavior <= 0] = 0.0  # exactly: no rounding lets an impossible decision through
        return every


def train(
    data: LoggedData, claims: tuple[Claim, ...], parameters: Mapping[str, Any], seed: int
) -> Trained:
    """Search for a model, and test it where there is anything to test.

    Parameters
    ----------
    data : LoggedData
        All rows.
    claims : tuple of Claim
        What must hold; without any, all rows are for the search.
    parameters : mapping
        Those of `ELFClassifier`.
    seed : int
        Seed of the split and of the search.
    """
    if parameters["split"] not in ("random", "stratified"):
        raise InputError(
            f"split must be 'random' or 'stratified'. Got {parameters['split']!r} instead.",
            hint="'random' is the default; 'stratified' is the paper's.",
        )
    if claims:
        return _searched_and_tested(data, claims, parameters, seed)
    return _searched(data, parameters, seed)


def _searched_and_tested(
    data: LoggedData, claims: tuple[Claim, ...], parameters: Mapping[str, Any], seed: int
) -> Trained:
    candidate, sealed = partition(
        data,
        candidate_fraction=parameters["candidate_fraction"],
        seed=seed,
        stratified=parameters["split"] == "stratified",
    )

    def make(choice: Mapping[str, Any], rows: LoggedData) -> tuple[Selection, Plan]:
        # Checked against all rows, learnt from the given ones alone.
        chosen = {**parameters, **choice}
        return _selection(chosen, seed), _plan(chosen, claims, rows, data)

    tuned: dict[str, Any] = {}
    if parameters["candidate_tuning"]:
        tuned = tune(parameters["candidate_tuning"], candidate, sealed.n, make, seed)
    selection, plan = make(tuned, candidate)
    with SearchProgress("looking for a model") as progress:
        policy, found, evaluations = selection.run(candidate, plan, sealed.n, progress)

    def free(rows: LoggedData) -> Floats:
        return policy.free(found.theta, policy.inputs(rows.features, rows.behavior))

    outcome = run_on_sealed(plan, sealed, free, learn_from(plan, candidate, free(candidate)))
    certificate = issue_certificate(
        plan,
        outcome,
        n_candidate=candidate.n,
        split=parameters["split"],
        seed=seed,
        openings=sealed.openings,
        candidate=_record(selection, found, evaluations),
    )
    return Trained(policy, found.theta, certificate, tuned)


def _searched(data: LoggedData, parameters: Mapping[str, Any], seed: int) -> Trained:
    """Without constraints there is nothing to hold rows out for."""
    selection, plan = _selection(parameters, seed), _plan(parameters, (), data, data)
    with SearchProgress("looking for a model") as progress:
        policy, found, evaluations = selection.run(data, plan, 0, progress)
    certificate = issue_certificate(
        plan,
        Outcome((), data.take(np.arange(0))),
        n_candidate=data.n,
        split="none",
        seed=seed,
        openings=0,
        candidate=_record(selection, found, evaluations),
    )
    return Trained(policy, found.theta, certificate, {})


def _record(selection: Selection, found: Candidate, evaluations: int) -> CandidateRecord:
    return CandidateRecord(
        search=selection.method,
        objective=selection.objective,
        loss=found.loss,
        predicted_pass=float(np.exp(found.log_pass)),
        meets_target=found.meets_target,
        evaluations=evaluations,
    )


def _selection(parameters: Mapping[str, Any], seed: int) -> Selection:
    target = Target(parameters["power"], parameters["inflation"], parameters["xi"])
    return Selection(parameters["search"], parameters["objective"], target, seed)


def _plan(
    parameters: Mapping[str, Any],
    claims: tuple[Claim, ...],
    candidate: LoggedData,
    everyone: LoggedData,
) -> Plan:
    estimation = declared_estimation(
        everyone,
        parameters["estimator"],
        parameters["center"],
        parameters["impact_range"],
        parameters["propensity_floor"],
        parameters["outcome_model"],
    )
    bound = get_bound(parameters["bound"])
    return Plan.make(claims, bound, Baselines(estimation, candidate), everyone)
