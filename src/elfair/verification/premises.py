"""What was asked for, read again from the certificate.

Level 2: assumptions that follow from numbers, and warnings that follow from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from elfair.bounds import get_bound
from elfair.certificate import (
    Assumption,
    Certificate,
    ConstraintResult,
    Terms,
    WarningRecord,
    opened_once,
    violation,
)
from elfair.certificate.assumptions import BEHAVIOR_MODEL
from elfair.certificate.record import left_out_alike
from elfair.errors import ElfairError
from elfair.fairness_test.assumptions import (
    ALWAYS,
    LABEL,
    OF_WEIGHTS,
    STABLE,
    TAU,
    of_floor,
    of_normality,
    of_people,
    of_ranges,
    of_split,
    of_weights,
)
from elfair.fairness_test.diagnostics import (
    hidden_variance,
    is_unseen,
    of_groups,
    of_hidden,
    of_unseen,
)
from elfair.fairness_test.issue import is_behavior_model
from elfair.language import (
    EVERYONE,
    Condition,
    Linear,
    Mean,
    Statistic,
    conjuncts,
    find,
    parse_expression,
    uses_label,
)
from elfair.records.text import plural
from elfair.statistics.plan import Claim
from elfair.verification.checks import Check, make, require


def claims_of(terms: Terms) -> tuple[Claim, ...]:
    """The claims of a certificate, from the constraints as their author wrote them.

    Raises
    ------
    MismatchError
        Where a constraint says something else than the statements written beside it.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> terms = certify([0.2, 0.7] * 200, data, "0.1 <= PR <= 0.9").terms
    >>> [claim.conjunct.text for claim in claims_of(terms)]
    ['PR >= 0.1', 'PR <= 0.9']
    """
    claims: list[Claim] = []
    left = list(terms.claims)
    while left:
        first = left[0]
        whole = conjuncts(first.constraint)
        said, left = left[: len(whole)], left[len(whole) :]
        stated = [(claim.constraint, claim.statement, claim.delta) for claim in said]
        meant = [(first.constraint, each.text, first.delta) for each in whole]
        require(
            stated == meant,
            f"'{first.constraint}' says {[text for _, text, _ in meant]}, each at delta "
            f"{first.delta}; the terms say {[(text, delta) for _, text, delta in stated]}",
        )
        require(0 < first.delta <= 0.5, f"delta is {first.delta}")
        claims += [Claim(each, first.delta) for each in whole]
    return tuple(claims)


def check_answers(record: Certificate) -> str:
    """Each claim has its result, and no result is without a claim."""
    claims = claims_of(record.terms)
    plain = Counter(_key(claim) for claim in claims if not claim.statistics)
    beyond = {(c.conjunct.parent, c.delta) for c in claims if c.statistics}
    left: Counter[tuple[str, str, float]] = Counter()
    for result in record.constraints:
        left[result.constraint, result.statement, result.delta] += 1
    for key, count in plain.items():
        require(left[key] >= count, f"'{key[1]}' at delta {key[2]} has no result")
    left -= plain
    for constraint, statement, delta in left:
        require(
            (constraint, delta) in beyond,
            f"'{statement}' at delta {delta} was tested for '{constraint}', and not asked for",
        )
    answered = {(constraint, delta) for constraint, _, delta in left}
    for constraint, _ in beyond - answered:
        require(False, f"'{constraint}' has no result")
    return f"{plural(len(claims), 'statement')} asked for, {len(record.constraints)} tested"


def _key(claim: Claim) -> tuple[str, str, float]:
    return claim.conjunct.parent, claim.conjunct.text, claim.delta


def form_of(result: ConstraintResult, claims: tuple[Claim, ...]) -> tuple[Linear | None, bool]:
    """What a result is about, and whether that is known to the last digit.

    What stands in for a quantile or the like is known from its text alone, if that can be read; if
    not, it is None.
    """
    for claim in claims:
        if _key(claim) == (result.constraint, result.statement, result.delta):
            return (None, False) if claim.statistics else (claim.conjunct.form, True)
    try:
        whole = conjuncts(result.statement)
    except ElfairError:
        return None, False
    if len(whole) != 1 or find(whole[0].form.expression, Statistic):
        return None, False
    return whole[0].form, False


def condition_of(text: str) -> Condition | None:
    """The condition of a part or a group, from its text.

    Examples
    --------
    >>> print(condition_of("race == 'A'"))
    race == 'A'
    """
    if text == EVERYONE:
        return None
    (mean,) = find(parse_expression(f"PR[{text}]"), Mean)
    return mean.given


def premise_checks(record: Certificate) -> list[Check]:
    """What the promise rests on, and what is said about it."""
    return [
        make("arithmetic", "assumptions", partial(_check_assumptions, record)),
        make("arithmetic", "warnings", partial(_check_warnings, record)),
    ]


def _check_assumptions(record: Certificate) -> str:
    found = {each.code: each for each in record.assumptions}
    require(len(found) == len(record.assumptions), "an assumption comes twice")
    if not record.terms.claims:
        require(not found, "nothing was promised, and yet something is assumed")
        return "none"
    expected = list(_expected(record))
    for each in expected:
        require(each.code in found, f"'{each.name}' is missing")
        said = found[each.code]
        require(
            said == each,
            f"'{each.name}' is {said.status} ({said.evidence}), and should be {each.status} "
            f"({each.evidence})",
        )
    if _is_weighted(record):
        require("support" in found, "'support' is missing")
        known = found["support"].status == "checked"
        fits = "propensities_fit" in found
        require(
            fits == known,
            f"'propensities fit the decisions' is {'not ' if fits else ''}to be expected",
        )
    return f"{len(expected)} of {len(found)} follow from the record"


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
    return any(each.code == "support" and each.status == "checked" for each in record.assumptions)


def _is_weighted(record: Certificate) -> bool:
    groups = [group for result in record.constraints for group in result.groups]
    return any(group.mean_weight is not None for group in groups)


def _check_warnings(record: Certificate) -> str:
    violated = [violation(each) for each in record.violated]
    said = [each for each in record.warnings if each.code == "assumption_violated"]
    require(
        set(said) == set(violated),
        f"the warnings {[each.text for each in said]} should be {[each.text for each in violated]}",
    )
    behavior = record.passed and is_behavior_model(record.constraints)
    require(
        (BEHAVIOR_MODEL in record.warnings) == behavior,
        f"'{BEHAVIOR_MODEL}' is {'missing' if behavior else 'not true'}",
    )
    for result in record.constraints:
        for each in result.warnings:
            require(each in record.warnings, f"'{each}' is missing")
        for each in _remarks(result, record):
            require(each in result.warnings, f"'{result.statement}' lacks '{each}'")
    return plural(len(record.warnings), "warning")


def _remarks(result: ConstraintResult, record: Certificate) -> list[WarningRecord]:
    """The remarks that follow from the groups' numbers."""
    judged, known = result.kind == "asymptotic", knows_behavior(record)
    unseen = [group for group in result.groups if judged and not known and is_unseen(group)]
    hidden = [group for group in result.groups if judged and known and hidden_variance(group)]
    return of_unseen(unseen) + of_hidden(hidden) + of_groups(result.groups)
