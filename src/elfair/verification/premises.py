"""Level 2: assumptions that follow from numbers, and warnings that follow from both."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from elfair.assumptions import (
    ALWAYS,
    LABEL,
    OF_WEIGHTS,
    PROPENSITIES_FIT,
    STABLE,
    SUPPORT,
    TAU,
    of_floor,
    of_normality,
    of_people,
    of_ranges,
    of_split,
    of_weights,
)
from elfair.bounds import get_bound
from elfair.certificate import Assumption, Certificate, ConstraintResult, opened_once, violation
from elfair.certificate.record import left_out_alike
from elfair.certification import BEHAVIOR_MODEL, is_behavior_model
from elfair.language import uses_label
from elfair.remarks import of_groups, of_hidden, of_unseen
from elfair.report.words import plural
from elfair.unseen import hidden_variance, is_unseen
from elfair.verification.checks import Check, make, require
from elfair.verification.claims import claims_of


def premise_checks(record: Certificate) -> list[Check]:
    """What the promise rests on, and what is said about it."""
    return [
        make("arithmetic", "assumptions", partial(_check_assumptions, record)),
        make("arithmetic", "warnings", partial(_check_warnings, record)),
    ]


def _check_assumptions(record: Certificate) -> str:
    names = [each.name for each in record.assumptions]
    require(len(set(names)) == len(names), "an assumption comes twice")
    if not record.terms.claims:
        require(not names, "nothing was promised, and yet something is assumed")
        return "none"
    found = {each.name: each for each in record.assumptions}
    expected = list(_expected(record))
    for each in expected:
        require(each.name in found, f"'{each.name}' is missing")
        require(
            found[each.name] == each,
            f"'{each.name}' is {found[each.name].status} ({found[each.name].evidence}), and should "
            f"be {each.status} ({each.evidence})",
        )
    if _is_weighted(record):
        require(SUPPORT in found, f"'{SUPPORT}' is missing")
        known = found[SUPPORT].status == "checked"
        fits = PROPENSITIES_FIT in found
        require(fits == known, f"'{PROPENSITIES_FIT}' is {'not ' if fits else ''}to be expected")
    return f"{len(expected)} of {len(names)} follow from the record"


def _expected(record: Certificate) -> Iterator[Assumption]:
    """The assumptions of which the record says everything."""
    means = [mean for claim in claims_of(record.terms) for mean in claim.means]
    weighted, terms = _is_weighted(record), record.terms
    groups = [group for result in record.constraints for group in result.groups]
    behavior = knows_behavior(record)
    yield opened_once(record.openings)
    yield of_split(record.split)
    if record.split == "crossfit":
        yield STABLE
    if record.estimator == "is" and any(mean.logged for mean in means):
        yield TAU
    if weighted:
        yield of_weights(groups, record.split, behavior)
        yield from OF_WEIGHTS
        if terms.impact_ranges:
            yield of_ranges({each.impact: (each.low, each.high) for each in terms.impact_ranges})
        if terms.propensity_floor is not None:
            yield of_floor(terms.propensity_floor)
    if any(map(uses_label, means)):
        yield LABEL
    yield of_people(record.roles.row_id)
    yield from ALWAYS
    if get_bound(record.bound).kind == "asymptotic":
        yield of_normality(groups, behavior)
    if record.provenance.left_out:
        yield left_out_alike(record.provenance)


def knows_behavior(record: Certificate) -> bool:
    """Whether all probabilities of the behaviour model were known."""
    return any(each.name == SUPPORT and each.status == "checked" for each in record.assumptions)


def _is_weighted(record: Certificate) -> bool:
    groups = [group for result in record.constraints for group in result.groups]
    return any(group.mean_weight is not None for group in groups)


def _check_warnings(record: Certificate) -> str:
    violated = [violation(each) for each in record.violated]
    said = [each for each in record.warnings if each.startswith("assumption violated: ")]
    require(set(said) == set(violated), f"warnings of {said} for violated {violated}")
    behavior = record.passed and is_behavior_model(record.constraints)
    require(
        (BEHAVIOR_MODEL in record.warnings) == behavior,
        f"'{BEHAVIOR_MODEL}' is {'missing' if behavior else 'not true'}",
    )
    for result in record.constraints:
        for text in result.warnings:
            require(text in record.warnings, f"'{text}' is missing")
        for text in _remarks(result, record):
            require(text in result.warnings, f"'{result.statement}' lacks '{text}'")
    return plural(len(record.warnings), "warning")


def _remarks(result: ConstraintResult, record: Certificate) -> list[str]:
    """The remarks that follow from the groups' numbers."""
    judged, known = result.kind == "asymptotic", knows_behavior(record)
    unseen = [group for group in result.groups if judged and not known and is_unseen(group)]
    hidden = [group for group in result.groups if judged and known and hidden_variance(group)]
    return of_unseen(unseen) + of_hidden(hidden) + of_groups(result.groups)
