"""What was asked for, read again from the certificate."""

from __future__ import annotations

from collections import Counter

from elfair.certificate import Certificate, ConstraintResult, Terms
from elfair.constraints import Claim
from elfair.errors import ElfairError
from elfair.language import (
    EVERYONE,
    Condition,
    Linear,
    Mean,
    Statistic,
    conjuncts,
    find,
    parse_expression,
)
from elfair.report.words import plural
from elfair.verification.checks import require


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
