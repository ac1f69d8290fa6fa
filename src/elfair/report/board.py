"""The first part of a report: what a board reads before it decides.

The promise comes first, then one picture, then whom it covers, who chose what, and what it rests
on most. Everything is said in words; the numbers stand in the second part.
"""

from __future__ import annotations

from collections.abc import Iterator

from elfair.certificate import NOT_STATED, Certificate
from elfair.certificate import advice as of
from elfair.certificate.codes import ASSUMPTIONS, SHOWN_STATUS, AssumptionCode
from elfair.certificate.explanation import would_hold, would_last
from elfair.certificate.pictures import GroupPicture, ImpactPicture
from elfair.certificate.promise import (
    asked_in_words,
    group_in_words,
    in_words,
    not_covered,
    speech_of,
)
from elfair.language.conditions import EVERYONE
from elfair.records.text import confidence, count, number, plural, rate, sentence
from elfair.report import charts
from elfair.report.blocks import Block, Bullets, Definitions, Lead, Line, Paragraph, Table
from elfair.report.by_group import not_all_drawn
from elfair.report.charts import MOST_DRAWN

#: What can go wrong most easily without anybody noticing, in the order in which a board should ask.
MATTER_MOST: tuple[AssumptionCode, ...] = (
    "behavior_estimated",
    "unconfounded",
    "same_population",
    "missing_at_random",
    "left_out_alike",
    "no_interference",
    "label_known",
    "nothing_else",
    "normal_average",
)
#: More would not be read.
MOST_ASSUMED = 5
#: More would push the picture off the first screen.
MOST_ON_TOP = 3
#: Every assumption stands there.
RESTS_ON = "What it rests on"


def lead(certificate: Certificate) -> Iterator[Block]:
    """The promise in words; without one, what to do next."""
    yield Lead(in_words(certificate))
    if not certificate.constraints:
        return
    if certificate.passed:
        # What was accepted although it does not hold leaves no risk to state.
        sure = () if certificate.accepted else (_how_sure(certificate),)
        yield Definitions((*sure, *_not_meant(certificate), *_assumed(certificate)))
    else:
        yield from _first_step(certificate)


def _how_sure(certificate: Certificate) -> tuple[str, str]:
    """That it counts, what the risk is, in frequencies, and for how many rows."""
    released = "A model is released." if certificate.search is not None else "The model passed."
    limit = (
        "in the limit of many rows; with few, it may be somewhat more often"
        if _asymptotic(certificate)
        else "for any number of rows, without approximation"
    )
    return (
        "How sure is that?",
        f"{released} {_how_often(certificate)} would release a model that breaks any part of this "
        f"promise ({limit}).",
    )


def _how_often(certificate: Certificate) -> str:
    often = f"{100 * certificate.joint_delta:g}"
    return f"Of 100 repetitions of the study, each with other people, at most {often}"


def _not_meant(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Who is not covered, as far as the promise does not say it."""
    told, left = not_covered(certificate), certificate.provenance.left_out
    if left:
        n = sum(each.n for each in left) if all(each.n for each in left) else 0
        why = "; ".join(each.reason for each in left)
        rows = f"{plural(n, 'row') if n else 'some rows'} ({why})"
        taken = "The promise takes these people to be like the others."
        if told:
            yield "Who was left out?", f"{sentence(rows)} {taken}"
        else:
            yield "Who is not covered?", f"Only {rows} that were left out. {taken}"
    elif not told:
        yield "Who is not covered?", "Nobody who is in the table."


def _assumed(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What nobody checked, and that matters most."""
    known = {each.code: each for each in certificate.assumptions if each.status == "assumed"}
    asked = [code for code in MATTER_MOST if code in known and code != "left_out_alike"]
    most = asked[:MOST_ON_TOP]
    if most:
        plain = " ".join(map(_first_sentence, most))
        others = len(known) - len(most)
        more = f" And {plural(others, 'more assumption')}, below." if others else ""
        yield "What is assumed?", f"{plain}{more}"


def _asymptotic(certificate: Certificate) -> bool:
    return any(result.kind == "asymptotic" for result in certificate.constraints)


def _first_step(certificate: Certificate) -> Iterator[Block]:
    if certificate.objections:
        found = of.object_to(certificate.objections[0])
    else:
        found = of.advise(certificate.failed[0], certificate)[0]
    broken = [("What is wrong", _refuted(each.code)) for each in certificate.objections]
    next_step = ("What to do next", sentence(found.steps))
    asked = f"{_how_often(certificate)} may release a model that breaks any part of what was asked."
    sure = ("How sure must it be?", asked)
    yield Definitions((*broken, ("Likely cause", sentence(found.cause)), next_step, sure))


def _refuted(code: AssumptionCode) -> str:
    return f"This was assumed, and it is not so: “{_first_sentence(code)}”"


def _first_sentence(code: AssumptionCode) -> str:
    """An assumption in plain words, in short."""
    return f"{ASSUMPTIONS[code].plain.split('. ')[0].rstrip('.')}."


def picture(certificate: Certificate) -> Iterator[Block]:
    """Old and new impact by group: of the first impact, if there are several."""
    groups = list(_impacts(certificate))
    if groups and not certificate.objections:  # then no estimate of the new model means anything
        name = speech_of(certificate).column(groups[0][1].impact)
        yield charts.impacts(groups[:MOST_DRAWN], name)
        yield from not_all_drawn(len(groups), "the second part")


def _impacts(certificate: Certificate) -> Iterator[tuple[Line, ImpactPicture]]:
    """The first impact in each group, by the words for the group."""
    speech = speech_of(certificate)
    for group in certificate.groups:
        for each in group.impacts[:1]:
            yield group_in_words(group.condition, speech), each


def covered(certificate: Certificate) -> Iterator[Block]:
    """Who is covered by a statement, and who is not."""
    if not certificate.constraints:
        return
    speech, named = speech_of(certificate), _named(certificate)
    impacts = len({each.impact for group in named for each in group.impacts})
    headings = ["group", "held-out rows"]
    headings += ["old mean", "new mean, estimated"] if impacts == 1 else []
    yield Table(
        "The people that statements are about",
        tuple(headings),
        tuple(
            (group_in_words(group.condition, speech), count(group.n), *_means(group, impacts))
            for group in named
        ),
    )
    said: list[Line] = [f"Not covered: {each}." for each in not_covered(certificate)]
    for left in certificate.provenance.left_out:
        said.append(
            f"Left out: {plural(left.n, 'row') if left.n else 'a few rows'} ({left.reason}). The "
            "promise takes these people to be like the others."
        )
    if below := certificate.suppressed_below:
        said.append(
            f"What is about fewer than {below} people was left out of this document, and so was "
            "what would tell it by subtraction."
        )
    yield Bullets(tuple(said or ["Nobody else is in the table."]))


def _named(certificate: Certificate) -> list[GroupPicture]:
    """The groups of the statements."""
    asked = {group.condition for result in certificate.constraints for group in result.groups}
    found = [group for group in certificate.groups if group.condition in asked]
    return found or [group for group in certificate.groups if group.condition == EVERYONE]


def _means(group: GroupPicture, impacts: int) -> tuple[str, ...]:
    if impacts != 1:
        return ()
    each = group.impacts[0]
    return number(each.logged.estimate), number(each.new.estimate)


def chosen(certificate: Certificate) -> Iterator[Block]:
    """Who chose what is promised and how sure it must be, and why."""
    by: dict[tuple[str, str, float], list[str]] = {}
    for claim in certificate.terms.claims:
        by.setdefault((claim.chosen_by, claim.why, claim.delta), []).append(claim.constraint)
    if not by:
        return
    yield Table(
        "Who chose what is promised, and the risk of a wrong release",
        ("what", "risk", "chosen by", "why"),
        tuple(
            (" ".join(map(sentence, asked_in_words(texts, certificate))), rate(delta), who, why)
            for (who, why, delta), texts in by.items()
        ),
        words=4,
    )
    if any(NOT_STATED in key[:2] for key in by):
        yield Paragraph("Where it says “not stated”, ask who answers for the choice.")


def rests_on(certificate: Certificate) -> Iterator[Block]:
    """The assumptions that matter most, and how wrong the logged probabilities may be."""
    known = {each.code: each for each in certificate.assumptions}
    shown = [each for each in certificate.assumptions if each.status == "violated"]
    assumed = [known[code] for code in MATTER_MOST if code in known]
    shown += [each for each in assumed if each.status == "assumed"][:MOST_ASSUMED]
    if not shown:
        return
    yield Table(
        "The assumptions that matter most",
        ("assumption", "status", "in plain words"),
        tuple(
            (
                each.name,
                "VIOLATED" if each.status == "violated" else SHOWN_STATUS[each.status],
                ASSUMPTIONS[each.code].plain,
            )
            for each in shown
        ),
        words=3,
    )
    all_of = plural(len(certificate.assumptions), "assumption")
    yield Paragraph(f'The second part lists all {all_of}: see "{RESTS_ON}".')
    values = [r.break_even for r in certificate.constraints if r.break_even is not None]
    if values:
        most = "The statement that depends most on the logged probabilities"
        yield Paragraph(f"{most} {would_hold(min(values))}.")
    values = [r.break_even_shift for r in certificate.constraints if r.break_even_shift is not None]
    if values:
        most = "The statement that depends most on who comes"
        yield Paragraph(f"{most} {would_last(min(values))}.")


def meaning(certificate: Certificate) -> Iterator[Block]:
    """What the confidence means, and what it does not mean."""
    if not certificate.constraints:
        return
    sure, often = confidence(certificate.joint_delta), rate(certificate.joint_delta)
    looks = certificate.terms.looks
    in_looks = f", in any of their {looks} looks," if looks > 1 else ""
    stable = ", a stable search among them" if certificate.split == "crossfit" else ""
    yield Paragraph(
        f"What {sure} confidence means: if the whole study were repeated many times, each time "
        f"with other people from the same population, then at most {often} of the repetitions"
        f"{in_looks} would release a model that violates one of the statements. This "
        f'requires that all assumptions hold{stable} (see "{RESTS_ON}"). Repetitions that release '
        "no model count, too. It does not mean that this model meets the statements with "
        f"probability {sure}: if "
        "no model can meet them, every released model violates them."
    )
    limit = (
        "in the limit of many rows; with few rows the rate may be somewhat higher"
        if _asymptotic(certificate)
        else "for any number of rows"
    )
    yield Paragraph(
        "The promise is about expected impact, averaged over a group, not about single people. It "
        "is about these statements as written, not about fairness in every sense. It holds "
        f"{limit}."
    )
