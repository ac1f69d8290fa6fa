"""What a certificate promises, in words: who may expect what, how sure that is, and who is left.

The words come from the trees of the constraints, so nobody can bend them: verification makes them
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from elfair.certificate.codes import are_violated
from elfair.certificate.people import OddGroup
from elfair.errors import ConstraintError
from elfair.language.conditions import EVERYONE
from elfair.language.parsing import parse, parse_condition
from elfair.language.people import Speech
from elfair.language.sentences import lowered, quoted, sentences
from elfair.records.text import count, sentence, shown_count

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate

NOTHING = "Nothing was tested, and nothing is promised about this model."


def in_words(certificate: Certificate) -> tuple[str, ...]:
    """The promise in sentences, what was asked for first.

    Parameters
    ----------
    certificate : Certificate
        The result.

    Examples
    --------
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> for words in in_words(certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")):
    ...     print(words)
    The share of right decisions about all people is expected to be at least 70 % (at most 10 % \
risk of a wrong release).
    """
    if not certificate.constraints:
        return (NOTHING,)
    return tuple(map(sentence, _released(certificate) if certificate.passed else _not(certificate)))


def speech_of(certificate: Certificate) -> Speech:
    """How sentences about a certificate speak.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    return Speech(
        certificate.names,
        certificate.classes,
        certificate.terms.positive,
        certificate.roles.impacts,
        drawn=bool(certificate.terms.lottery),
    )


def group_in_words(condition: str, speech: Speech) -> str:
    """A group as sentences call it.

    Parameters
    ----------
    condition : str
        Its condition, as records have it.
    speech : Speech
        How the study speaks.

    Examples
    --------
    >>> from elfair.language.naming import Names
    >>> speech = Speech(Names(people="applicants"))
    >>> group_in_words("race == 'A'", speech), group_in_words("everyone", speech)
    ('applicants whose race is A', 'all applicants')
    """
    if condition == EVERYONE:
        return speech.whom([None])
    try:
        return speech.whom([parse_condition(condition)])
    except ConstraintError:
        return condition


def not_covered(certificate: Certificate) -> list[str]:
    """Whom no statement speaks of, each with their number.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    speech = speech_of(certificate)
    found = [_odd(each, speech) for each in certificate.people.groups if not each.named]
    if outside := certificate.provenance.outside:
        n = 0 if any(not each.n for each in outside) else sum(each.n for each in outside)
        found.append(f"{speech.names.people} outside the study ({shown_count(n)})")
    behavior = certificate.terms.behavior
    if behavior is not None and behavior.left:
        rare = "for whom some decision is too rare in the table"
        found.append(f"{speech.names.people} {rare} ({count(behavior.left)})")
    return found


def _odd(group: OddGroup, speech: Speech) -> str:
    who = group_in_words(group.condition, speech) if group.condition else group.group
    perhaps = f", perhaps {group.perhaps}" if group.perhaps else ""
    return f"{who} ({shown_count(group.n)}{perhaps})"


def _released(certificate: Certificate) -> Iterator[str]:
    said = asked_in_words((each.constraint for each in certificate.terms.claims), certificate)
    risk = f"{100 * certificate.joint_delta:g} % risk of a wrong release"
    sure = f"{risk}{''.join(f', {each}' for each in _provided(certificate))}"
    if len(said) == 1:
        yield f"{said[0]} (at most {sure})"
    else:
        yield from said
        yield f"There is at most {sure}, for all of this together"
    if certificate.accepted:
        yield (
            f"This risk is NOT justified: {are_violated(certificate.accepted)}, which was accepted"
        )
    if others := not_covered(certificate):
        yield f"Not covered: {', '.join(others)}"


def _provided(certificate: Certificate) -> Iterator[str]:
    """On what the risk depends most."""
    if certificate.terms.Lambda > 1:
        wrong = f"by an odds ratio of up to {certificate.terms.Lambda:g}"
        yield f"even if the logged probabilities are wrong {wrong}"
    if certificate.terms.shift > 1:
        kind = "even if any kind of person becomes"
        yield f"{kind} {certificate.terms.shift:g} times as frequent, or as rare"
    if any(each.code == "behavior_estimated" for each in certificate.assumptions):
        yield "if the estimated behaviour model is right"


def _not(certificate: Certificate) -> Iterator[str]:
    """What was asked for, if no model is released."""
    if certificate.objections:
        why = are_violated(certificate.objections)
        yield f"No model is released, and nothing is promised: {why}"
        asked = (claim.constraint for claim in certificate.terms.claims)
        yield from (f"Asked for: {lowered(each)}" for each in asked_in_words(asked, certificate))
        return
    yield "No model is released, and nothing is promised"
    failed = {result.constraint for result in certificate.failed}
    for title, shown in (("Not shown", False), ("Shown, but that is not enough", True)):
        of = (
            c.constraint for c in certificate.terms.claims if (c.constraint not in failed) == shown
        )
        yield from (f"{title}: {lowered(each)}" for each in asked_in_words(of, certificate))


def asked_in_words(constraints: Iterable[str], certificate: Certificate) -> list[str]:
    """What some constraints of a certificate say, in sentences without their full stops.

    Parameters
    ----------
    constraints : iterable of str
        Their texts.
    certificate : Certificate
        How it speaks.
    """
    statements, unread = [], []
    for text in dict.fromkeys(constraints):
        try:
            statements.append(parse(text))
        except ConstraintError:  # of a record that nobody has verified yet
            unread.append(quoted(text))
    return sentences(statements, speech_of(certificate)) + unread
