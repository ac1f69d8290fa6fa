"""What a reader sees first: the promise, what it does not rest on, a few numbers."""

from __future__ import annotations

from elfair.certificate import NOT_STATED, Certificate, violation
from elfair.report.account import RESTS_ON
from elfair.report.blocks import Alarm, Block, Bullets, Paragraph, Section
from elfair.report.strips import statements
from elfair.report.words import confidence, count, plural, rate

#: Warnings beyond these are about single statements, and stand beside them.
MOST_WARNED = 5
NONE_FOUND = (
    "No model is let out: none could be shown to keep all statements. That is a result, and no "
    "error; it does not say that no such model exists."
)
NOT_SHOWN = (
    "This model is not let out: it could not be shown to keep all statements. That is a result, "
    "and no error; it does not say that the model breaks them."
)
TITLE = "Bounds on expected delayed impact"


def title(certificate: Certificate) -> str:
    """What the study is called."""
    named = certificate.provenance.title
    return TITLE if named == NOT_STATED else named


def about(certificate: Certificate) -> tuple[str, ...]:
    """When, from what and by which program."""
    of = certificate.provenance
    said = [of.issued, of.source]
    programs = [f"{v.name} {v.version}" for v in certificate.versions if v.name == "elfair"]
    return tuple(each for each in (*said, *programs) if each != NOT_STATED)


def tone(certificate: Certificate) -> str:
    """Whether a model was found, none, or nothing was tested."""
    if not certificate.constraints:
        return "nothing"
    return "found" if certificate.passed else "none"


def opening(certificate: Certificate) -> tuple[Block, ...]:
    """The promise in plain words, and loudly what shakes it."""
    return (*_alarms(certificate), *(Paragraph(said) for said in _promise(certificate)))


def _promise(certificate: Certificate) -> list[str]:
    if not certificate.constraints:
        return ["Nothing was tested, and nothing is promised about this model."]
    often = rate(certificate.joint_delta)
    stable = ", if the search is stable" if certificate.split == "crossfit" else ""
    promise = [
        f"What {confidence(certificate.joint_delta)} confidence means, if all that it rests on "
        f'holds (see "{RESTS_ON}"){stable}: were all this repeated again and again, each time with '
        "other people from the same population, then a model that breaks one of the statements "
        f"below would be let out in at most {often} of all repetitions. That counts also the "
        "repetitions in which no model is let out, and it does not say that this very model keeps "
        f"them with probability {confidence(certificate.joint_delta)}: where no model can keep "
        "them, every model that is let out breaks them."
    ]
    asymptotic = any(result.kind == "asymptotic" for result in certificate.constraints)
    promise.append(
        "It is about expected impact, averaged over groups, and not about single people; about "
        "these statements, as they are written, and not about fairness in every sense. "
        + (
            "It holds in the limit of many rows; with few rows that rate may be exceeded somewhat."
            if asymptotic
            else "It holds for any number of rows."
        )
    )
    if not certificate.passed:
        promise.insert(0, NONE_FOUND if certificate.candidate else NOT_SHOWN)
    return promise


def _alarms(certificate: Certificate) -> list[Alarm]:
    shaken, alarms = certificate.violated, []
    if shaken:
        verb = "does" if len(shaken) == 1 else "do"
        alarms.append(
            Alarm(
                f"{plural(len(shaken), 'assumption')} {verb} NOT hold: the stated confidence is "
                "not backed",
                (Bullets(tuple(f"{each.name}: {each.evidence}." for each in shaken)),),
            )
        )
    # What is violated is said above, in the same words; what is about one statement stands there.
    above = {violation(each) for each in shaken}
    other = [said for said in certificate.warnings if said not in above]
    of_statements = {said for result in certificate.constraints for said in result.warnings}
    other.sort(key=lambda said: said in of_statements)
    if other:
        shown = [f"{said}." for said in other[:MOST_WARNED]]
        if more := other[MOST_WARNED:]:
            shown.append(f"And {len(more)} more, beside the statements in numbers.")
        alarms.append(Alarm("Do not overlook", (Bullets(tuple(shown)),)))
    return alarms


def facts(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """A few numbers, and what they are."""
    if not certificate.constraints:
        return ((count(certificate.n), "rows, all for the search"),)
    passed = sum(result.passed for result in certificate.constraints)
    sizes = [group.n for result in certificate.constraints for group in result.groups]
    return (
        (f"{passed} of {len(certificate.constraints)}", "statements passed"),
        (confidence(certificate.joint_delta), "confidence"),
        (count(certificate.n_fairness), "held-out rows"),
        (count(min(sizes, default=0)), "rows in the smallest group"),
    )


def at_a_glance(certificate: Certificate) -> Section | None:
    """Every statement in one picture."""
    if not certificate.constraints:
        return None
    return Section(
        "statements", "Every statement at a glance", (statements(certificate.constraints),)
    )
