"""What a reader sees first: alarms, the promise in plain words, and a few numbers."""

from __future__ import annotations

from elfair.certificate import NOT_STATED, Certificate
from elfair.records.text import confidence, count, plural, rate
from elfair.report.blocks import Alarm, Block, Bullets, Paragraph

#: Further warnings are about single statements, and stand beside them.
MOST_WARNED = 5
NONE_FOUND = (
    "No model is released: none was shown to keep all statements. This is a valid result, not an "
    "error. It does not mean that no such model exists."
)
NOT_SHOWN = (
    "This model is not released: it was not shown to keep all statements. This is a valid result, "
    "not an error. It does not mean that the model violates them."
)
TITLE = "Bounds on expected delayed impact"
RESTS_ON = "What it rests on"


def title(certificate: Certificate) -> str:
    """What the study is called."""
    named = certificate.provenance.title
    return TITLE if named == NOT_STATED else named


def about(certificate: Certificate) -> tuple[str, ...]:
    """When, from what and by which program."""
    of = certificate.provenance
    programs = [f"{v.name} {v.version}" for v in certificate.versions if v.name == "elfair"]
    return tuple(each for each in (of.issued, of.source, *programs) if each != NOT_STATED)


def tone(certificate: Certificate) -> str:
    """Whether a model was found, none was, or nothing was tested."""
    if not certificate.constraints:
        return "nothing"
    return "found" if certificate.passed else "none"


def opening(certificate: Certificate) -> tuple[Block, ...]:
    """What calls the promise into question, and then the promise."""
    return (*_alarms(certificate), *map(Paragraph, _promise(certificate)))


def _promise(certificate: Certificate) -> list[str]:
    if not certificate.constraints:
        return ["Nothing was tested, and nothing is promised about this model."]
    sure, often = confidence(certificate.joint_delta), rate(certificate.joint_delta)
    stable = ", a stable search among them" if certificate.split == "crossfit" else ""
    asymptotic = any(result.kind == "asymptotic" for result in certificate.constraints)
    limit = (
        "in the limit of many rows; with few rows the rate may be somewhat higher"
        if asymptotic
        else "for any number of rows"
    )
    promise = [
        f"What {sure} confidence means: if the whole study were repeated many times, each time "
        f"with other people from the same population, then at most {often} of the repetitions "
        "would release a model that violates one of the statements below. This requires that all "
        f'assumptions hold{stable} (see "{RESTS_ON}"). Repetitions that release no model count, '
        f"too. It does not mean that this model keeps the statements with probability {sure}: if "
        "no model can keep them, every released model violates them.",
        "The promise is about expected impact, averaged over a group, not about single people. It "
        "is about these statements as written, not about fairness in every sense. It holds "
        f"{limit}.",
    ]
    if not certificate.passed:
        promise.insert(0, NONE_FOUND if certificate.search else NOT_SHOWN)
    return promise


def _alarms(certificate: Certificate) -> list[Alarm]:
    alarms = []
    if violated := certificate.violated:
        verb = "does" if len(violated) == 1 else "do"
        alarms.append(
            Alarm(
                f"{plural(len(violated), 'assumption')} {verb} NOT hold: the stated confidence is "
                "not justified",
                (Bullets(tuple(f"{each.name}: {each.evidence}." for each in violated)),),
            )
        )
    of_statements = {said for result in certificate.constraints for said in result.warnings}
    warnings = [said for said in certificate.warnings if said.code != "assumption_violated"]
    warnings.sort(key=lambda said: said in of_statements)
    if warnings:
        shown = [f"{said}." for said in warnings[:MOST_WARNED]]
        if more := warnings[MOST_WARNED:]:
            shown.append(f"And {plural(len(more), 'more warning')}, beside the statements.")
        alarms.append(Alarm("Do not overlook", (Bullets(tuple(shown)),)))
    return alarms


def facts(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """A few numbers, and what they are."""
    if not certificate.constraints:
        return ((count(certificate.n), "rows, all for the search"),)
    total = len(certificate.constraints)
    sizes = [group.n for result in certificate.constraints for group in result.groups]
    return (
        (f"{total - len(certificate.failed)} of {total}", "statements passed"),
        (confidence(certificate.joint_delta), "confidence"),
        (count(certificate.n_held_out), "held-out rows"),
        (count(min(sizes, default=0)), "rows in the smallest group"),
    )
