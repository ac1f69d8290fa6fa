"""From a test to its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from platform import python_version
from typing import TYPE_CHECKING

import numpy as np

from elfair._version import __version__
from elfair.bounds import get_bound, weakest
from elfair.certificate import parts as records
from elfair.certificate.codes import (
    Assumption,
    WarningRecord,
    fitted_outside,
    hardly_new,
    outside_warning,
    violation,
)
from elfair.certificate.parts import NOT_STATED, ConstraintResult, Kind, Version
from elfair.certificate.people import MissingRecord, RevealedRecord, UnitsRecord, UnseenRecord
from elfair.certificate.promise import in_words
from elfair.certificate.record import Certificate, SearchRecord, SplitKind
from elfair.data import LoggedData
from elfair.data.digests import columns_digest, content_digest
from elfair.data.split import Split
from elfair.data.units import count_units, numbered
from elfair.data.unseen import missing_counts
from elfair.errors import CertificateWarning
from elfair.fairness_test.assumptions import facts_of_test, list_assumptions
from elfair.fairness_test.drawing import groups_of
from elfair.fairness_test.effects import effects_of
from elfair.fairness_test.estimated import behavior_record
from elfair.fairness_test.evidence import Outcome
from elfair.fairness_test.rules import rule_of
from elfair.language.expressions import Expression
from elfair.policies.models import mixture_digest
from elfair.search.goals import counts_positive
from elfair.statistics.claims import Claim
from elfair.statistics.people import people_of

if TYPE_CHECKING:
    from elfair.fairness_test.test import FairnessTest


def ladder_digest(digests: Sequence[str]) -> str:
    """The digest of a ladder, from those of its models."""
    return columns_digest([("digest", np.array(digests, dtype=object))])


def issue_certificate(test: FairnessTest, outcome: Outcome, openings: int) -> Certificate:
    """Write down the result of a test.

    Parameters
    ----------
    test : FairnessTest
        The test.
    outcome : Outcome
        What was seen.
    openings : int
        Which look at these rows it was; 0 if nothing was tested.
    """
    plan, data, results = outcome.plan, outcome.rows.like, outcome.results
    split, everyone = test.split, test.split.everyone
    groups = [group for result in results for group in result.groups]
    kind = weakest(result.kind for result in results) if results else None
    facts = facts_of_test(
        plan,
        groups,
        data,
        kind=kind,
        guarded=all_guarded(results),
        split=split.kind,
        openings=openings,
        looks=test.looks,
        units=units_of(split),
        of_models=test.declared,
        unseen=unseen_records(everyone),
        behavior=behavior_record(split),
        revealed=revealed_record(everyone),
        deployed=_deployed(test),
    )
    assumptions = list_assumptions(facts)
    violated = [each for each in assumptions if each.status == "violated"]
    released = outcome.passed and all(each.code in test.accept_violated for each in violated)
    search, trade_off = test.searched(outcome, released=released)
    chosen = [ladder.digests[outcome.place - 1] for ladder in test.ladders]
    joint = joint_delta([result.delta for result in results], split.kind, test.looks)
    notes = [warning for result in results for warning in result.warnings]
    people = test.people or people_of(test.plans[0].claims, everyone)
    notes += [WarningRecord("people_not_named", text) for text in people.said(split.n)]
    held_out, which = split.held_out_digests(data)
    if released and (warning := practically_the_old(results)):
        notes.append(warning)
    notes += map(outside_warning, fitted_outside(assumptions))
    notes += map(violation, violated)
    record = Certificate(
        passed=released,
        constraints=results,
        joint_delta=joint,
        joint_statement=joint_statement(
            kind, joint, split.kind, search, test.looks, estimated=_is_estimated(assumptions)
        ),
        in_words=(),
        assumptions=assumptions,
        warnings=tuple(dict.fromkeys(notes)),
        estimator=plan.baselines.estimation.estimator,
        bound=plan.bound,
        classes=tuple(str(name) for name in data.classes),
        n=split.n,
        n_candidate=split.n_candidate,
        n_held_out=outcome.rows.n,
        split=split.kind,
        seed=split.seed,
        openings=openings,
        terms=_terms(test),
        roles=records.RolesRecord(
            tuple(everyone.feature_names),
            tuple(everyone.sensitive),
            tuple(everyone.impacts),
            () if everyone.unseen is None else tuple(everyone.unseen.early),
            label=everyone.label is not None,
            propensities=everyone.propensity is not None and everyone.unlogged is None,
            row_id=everyone.row_id is not None,
            unit=everyone.unit is not None,
            sample_weight=everyone.sample_weight is not None,
            time=everyone.time is not None,
            person_cost=everyone.cost_of,
        ),
        people=people,
        digests=records.Digests(
            data=split.fingerprint,
            candidate=split.candidate.fingerprint(),
            held_out=held_out,
            split=which,
            model=mixture_digest(chosen, split.shares),
            ladder=_of_ladders(test),
        ),
        search=search,
        groups=outcome.rows.pictures,
        trade_off=trade_off,
        wealth=wealth_records(test, outcome),
        stage=test.stage,
        provenance=records.Provenance(rows_read=split.n_read),
        versions=this_version(),
        rules=tuple(
            rule
            for ladder in (test.ladders if test.search is not None else ())
            for rule in rule_of(ladder, outcome.place, groups_of(plan, data))
        ),
        effects=()
        if test.search is None
        else effects_of(test.ladders[0], outcome.place, groups_of(plan, data)),
    )
    return replace(record, in_words=in_words(record))


def wealth_records(test: FairnessTest, outcome: Outcome) -> tuple[records.WealthRecord, ...]:
    """The e-values of all statements about all models, before and after a test."""
    claims = test.plans[0].claims
    before = test.before or [[1.0] * len(claims)] * len(outcome.wealth)
    return tuple(
        records.WealthRecord(place, claim.conjunct.text, old, new)
        for place, (olds, news) in enumerate(zip(before, outcome.wealth, strict=True), 1)
        for claim, old, new in zip(claims, olds, news, strict=True)
    )


def _is_estimated(assumptions: Sequence[Assumption]) -> bool:
    return any(each.code == "behavior_estimated" for each in assumptions)


def _of_ladders(test: FairnessTest) -> str:
    every = zip(*(ladder.digests for ladder in test.ladders), strict=True)
    return ladder_digest([digest for of_folds in every for digest in of_folds])


def identity_of_test(test: FairnessTest) -> str:
    """The digest of a test before it is made: two tests with the same one have the same result.

    What is accepted of the result has no part in it.
    """
    split, estimation = test.split, test.plans[0].baselines.estimation
    how = (estimation.estimator, test.plans[0].bound, split.kind, split.seed)
    return _identity(_terms(test), (*how, split.fingerprint, _of_ladders(test)), test.stage)


def identity_of_record(record: Certificate) -> str:
    """What `identity_of_test` was before the test of a certificate."""
    how = (record.estimator, record.bound, record.split, record.seed)
    return _identity(record.terms, (*how, record.digests.data, record.digests.ladder), record.stage)


def _identity(
    terms: records.TermsRecord, how: tuple[object, ...], stage: records.StageRecord | None
) -> str:
    claims = tuple(replace(claim, chosen_by=NOT_STATED, why=NOT_STATED) for claim in terms.claims)
    asked = asdict(replace(terms, accept_violated=(), claims=claims))
    return content_digest((asked, *how) if stage is None else (asked, *how, asdict(stage)))


def _terms(test: FairnessTest) -> records.TermsRecord:
    """What was to be tested, before points and constants were chosen for the tested model."""
    asked, split = test.plans[0], test.split
    lottery = split.everyone.lottery
    estimation = asked.baselines.estimation
    model = estimation.outcome_model
    shown = "ridge regression" if model is None else repr(model)
    claims = [(claim.conjunct.parent, claim.conjunct.text, claim.delta) for claim in asked.claims]
    return records.TermsRecord(
        claims=tuple(records.ClaimRecord(*claim, NOT_STATED, NOT_STATED) for claim in claims),
        impact_ranges=tuple(
            records.RangeRecord(name, low, high) for name, (low, high) in estimation.ranges.items()
        ),
        propensity_floor=estimation.propensity_floor,
        lottery=lottery.records(split.everyone.classes) if lottery is not None else (),
        outcome_model=shown if estimation.impact_estimator.learns == "model" else "",
        preparation=_prepared(test),
        candidate_share=split.share,
        folds=max(1, len(split.folds)),
        thresholds=getattr(split.everyone, "thresholds", ()),
        looks=test.looks,
        accept_violated=test.accept_violated,
        positive=positive_decision(
            asked.claims, None if test.search is None else test.search.objective, split.everyone
        ),
        Lambda=estimation.Lambda,
        shift=estimation.shift,
        behavior=behavior_record(split),
        units=units_of(split),
        unseen=unseen_records(split.everyone),
        revealed=revealed_record(split.everyone),
        deployed=_deployed(test),
    )


def units_of(split: Split) -> UnitsRecord | None:
    """The units of all rows; None if rows have neither units nor weights."""
    data = split.everyone
    if data.unit_index is None and data.sample_weight is None:
        return None
    n, sizes = count_units(data), np.bincount(numbered(data)[0])
    seen = 0 if split.kind == "crossfit" or not split.folds else count_units(split.candidate)
    tested = n - seen if split.folds else 0
    return UnitsRecord(
        data.average, n, tested, int(sizes.max(initial=0)), data.sample_weight is not None
    )


def unseen_records(data: LoggedData) -> tuple[UnseenRecord, ...]:
    """The impacts that were not seen for everyone, and of whom they are missing.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], impact=[1.0, None], missing_impact="worst case")
    >>> [(each.impact, each.missing) for each in unseen_records(data)]
    [('impact', 1)]
    """
    of = data.unseen
    if of is None:
        return ()
    drawn = "" if of.how == "worst case" else "estimated" if of.follow_up is None else "declared"
    return tuple(
        UnseenRecord(
            name,
            of.how,
            tuple(of.early),
            drawn,
            data.n,
            of.count(name),
            tuple(MissingRecord(*each) for each in missing_counts(data, name)),
        )
        for name in of.seen
    )


def revealed_record(data: LoggedData) -> RevealedRecord | None:
    """Labels that were seen only for some decisions; None if they were seen for everyone."""
    of = data.revealed
    if of is None:
        return None
    names = tuple(str(each) for each in of.decisions)
    return RevealedRecord(names, data.n, int(of.seen.sum()), float(of.chance[of.seen].min()))


def _deployed(test: FairnessTest) -> str:
    """How a model from elsewhere decides, if it draws nothing."""
    return str(getattr(test.ladders[0].policy, "deployed", ""))


def _prepared(test: FairnessTest) -> tuple[str, ...]:
    """How the tested model makes numbers of features."""
    if test.search is None:
        return ()
    preparation = test.ladders[0].preparation
    return (records.NOT_PREPARED,) if preparation is None else preparation.described


def positive_decision(
    claims: Sequence[Claim], objective: str | Expression | None, data: LoggedData
) -> str | None:
    """The decision that counts as positive; None if no claim and no objective uses it.

    Parameters
    ----------
    claims, objective
        See `elfair.search.goals.counts_positive`.
    data : LoggedData
        The rows.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], [0, 1])
    >>> positive_decision([], "PR", data), positive_decision([], "accuracy", data)
    ('1', None)
    """
    if data.positive is None or not counts_positive(claims, objective):
        return None
    return str(data.positive)


def all_guarded(results: Sequence[ConstraintResult]) -> bool:
    """Whether every asymptotic bound allows for what rows happen not to show."""
    bounds = [get_bound(tail.bound) for result in results for tail in result.tails]
    return all(bound.guarded for bound in bounds if bound.kind == "asymptotic")


def joint_delta(deltas: Sequence[float], split: SplitKind, looks: int = 1) -> float:
    """The probability of a mistake about any of some statements, in any of the declared looks; see
    `joint_statement`.

    Examples
    --------
    >>> joint_delta([0.1, 0.05], "random"), joint_delta([0.05], "random", looks=2)
    (0.1, 0.1)
    """
    of_one = sum(deltas) if split == "crossfit" else max(deltas, default=0.0)
    return min(1.0, looks * of_one)


@cache
def this_version() -> tuple[Version, ...]:
    """What computes now."""
    packages = [Version(name, version(name)) for name in ("numpy", "scipy", "scikit-learn")]
    return (Version("elfair", __version__), Version("python", python_version()), *packages)


def practically_the_old(results: Sequence[ConstraintResult]) -> WarningRecord | None:
    """The warning about a model that changes next to nothing in any group, if it is one."""
    moved = [g.moved for result in results for g in result.groups if g.moved is not None]
    return hardly_new(max(moved)) if moved else None


def warn_reader(certificate: Certificate, *, level: int = 2) -> None:
    """Warn of groups that look like a mistake, and that no model is released because of violated
    assumptions, at the caller this many calls above.
    """
    if certificate.people.mistaken:
        for text in certificate.people.said(certificate.n):
            warnings.warn(f"{text}.", CertificateWarning, stacklevel=level + 1)
    against = certificate.objections
    if not against:
        return
    codes = tuple(each.code for each in against)
    told = "; ".join(f"'{each.name}' does not hold ({each.evidence})" for each in against)
    if {"mean_weight", "propensities_fit"} & set(codes):
        told += (
            ". The propensities are wrong, or the new model takes decisions almost absent from the "
            "log; then no bound computed with them means anything"
        )
    if not certificate.failed:
        told += (
            ". Who wants the model all the same says so, and the certificate says it, too: "
            f"accept_violated={list(codes)!r}"
        )
    warnings.warn(
        f"{'model did not pass' if certificate.search is None else 'no solution found'}: {told}.",
        CertificateWarning,
        stacklevel=level + 1,
    )


def joint_statement(
    kind: Kind | None,
    delta: float,
    split: SplitKind,
    search: SearchRecord | None,
    looks: int = 1,
    *,
    estimated: bool = False,
) -> str:
    """What the certificate promises.

    If the model is independent of the tested rows and violates some statement, that statement's
    test passes it with probability at most its delta, so the largest delta bounds the risk.
    Cross-fitted models have seen each other's rows, and which statement is violated may depend on
    them: there the deltas add up. Over several looks, the probabilities of a mistake add up.
    """
    if kind is None:
        return "Nothing was tested, and nothing is promised."
    which = "the sum of all deltas" if split == "crossfit" else "the largest delta"
    if looks > 1:
        which = f"{looks} times {which}: {looks} looks were declared before the first"
    start = "If the estimated behaviour model is right, the" if estimated else "The"
    promise = (
        f"{start} probability that a model is returned and violates some constraint is at most "
        f"{delta:g} ({which}). This is not conditional on a model being returned, and "
        "the bounds shown are not simultaneous."
    )
    if search is not None and search.on_ladder > 1:
        promise += (
            f" {search.on_ladder} models were ordered from most to least cautious before the "
            "held-out rows were opened, and tested in turn. Testing stops at the first failure. "
            "This needs no correction of delta. The bounds shown are those of one model's test, "
            "not adjusted for its place on the ladder."
        )
    if split == "crossfit":
        promise += " It holds in the limit of many rows, if the search is stable (cross-fitting)."
    elif kind == "asymptotic":
        promise += " It holds in the limit of many rows (asymptotic bound)."
    if estimated:
        promise += (
            " Propensities were not logged but estimated. Bounds allow for the luck of the rows "
            "that they were learnt from, not for a wrong form, nor for anything that swayed "
            "decisions and is not in the table."
        )
    return promise
