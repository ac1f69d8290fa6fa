"""What a reader sees first: the promise, what it does not rest on, a few numbers.

What is decided about each group, and what becomes of it.

How the model was found, what it traded, and what to do where none was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elfair.certificate import NOT_STATED, Certificate, GroupPicture, Histogram, violation
from elfair.certificate.advice import (
    MORE_FROM_THE_SAME_ROWS,
    WHAT_NOT_TO_DO,
    Advice,
    advise,
    advise_on_all,
)
from elfair.certificate.explanation import seen
from elfair.records.text import confidence, count, number, plural, rate, sentence
from elfair.report import panels, strips
from elfair.report.account import RESTS_ON
from elfair.report.blocks import (
    Alarm,
    Block,
    Bullets,
    Code,
    Definitions,
    Folded,
    Line,
    Paragraph,
    Part,
    Section,
    Table,
)
from elfair.report.strips import MOST_DRAWN, group_name, statements

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
        promise.insert(0, NONE_FOUND if certificate.search else NOT_SHOWN)
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
        (count(certificate.n_held_out), "held-out rows"),
        (count(min(sizes, default=0)), "rows in the smallest group"),
    )


def at_a_glance(certificate: Certificate) -> Section | None:
    """Every statement in one picture."""
    if not certificate.constraints:
        return None
    return Section(
        "statements", "Every statement at a glance", (statements(certificate.constraints),)
    )


def impact_by_group(certificate: Certificate) -> Section | None:
    """Each impact in each group, under the old and the new model."""
    names = dict.fromkeys(each.impact for group in certificate.groups for each in group.impacts)
    if not names:
        return None
    blocks: list[Block] = [Paragraph(_how_estimated(certificate))]
    for name in names:
        pictures = [
            (group.condition, each)
            for group in certificate.groups
            for each in group.impacts
            if each.impact == name
        ]
        rows = tuple(
            (
                group_name(group),
                *(number(v) for v in (each.logged.estimate, each.logged.low, each.logged.high)),
                *(number(v) for v in (each.new.estimate, each.new.low, each.new.high)),
            )
            for group, each in pictures
        )
        table = Table(
            f"Mean of {name} by group, with intervals of 90 % confidence each",
            ("group", "old", "from", "to", "new", "from", "to"),
            rows,
        )
        blocks.append(
            Part(
                Code(name),
                (
                    *_not_all_drawn(len(pictures)),
                    strips.impacts(pictures[:MOST_DRAWN]),
                    _folded(table),
                ),
            )
        )
    return Section("impact", "Impact by group, old and new", tuple(blocks))


def _how_estimated(certificate: Certificate) -> str:
    """Those who compute it themselves, in the simplest way, get slightly other numbers."""
    ways = {
        "is": "plain importance weighting: the mean of weight times impact",
        "paired": "importance weighting around a constant, that is, k plus the mean of weight "
        "times (impact - k), where k is the mean of the group's candidate rows"
        + (", or an end of the declared range" if certificate.terms.impact_ranges else ""),
        "dr": "the doubly robust form: what a model of the impact, fitted to candidate rows, "
        "expects of the new decisions, plus importance weighting of what it gets wrong",
    }
    return (
        "The old model's mean is that of the rows as they were logged. The new one's is estimated "
        f"from the same rows by {ways[certificate.estimator]}."
    )


def decisions_by_group(certificate: Certificate) -> Section | None:
    """What is decided about each group, by the old and the new model."""
    names = dict.fromkeys(d.decision for group in certificate.groups for d in group.decisions)
    if not names:
        return None
    share = bool(certificate.classes)
    blocks: list[Block] = []
    # Of two decisions, one says all about the other.
    for name in list(names)[1:] if len(names) == 2 else names:
        pictures = [
            (group.condition, each)
            for group in certificate.groups
            for each in group.decisions
            if each.decision == name
        ]
        title: Line = ("decision ", Code(name)) if share else "mean decision"
        picture = strips.decisions(pictures[:MOST_DRAWN], share=share)
        blocks.append(Part(title, (*_not_all_drawn(len(pictures)), picture)))
    shown = rate if share else number
    table = Table(
        "Decisions by group, old and new",
        ("group", *(f"{name}, {model}" for name in names for model in ("old", "new"))),
        tuple(
            (
                group_name(group.condition),
                *(shown(value) for each in group.decisions for value in (each.logged, each.new)),
            )
            for group in certificate.groups
            if group.decisions
        ),
    )
    return Section("decisions", "Decisions by group, old and new", (*blocks, _folded(table)))


def weights_by_group(certificate: Certificate) -> Section | None:
    """How far the new model is from what was logged."""
    weighted = [group for group in certificate.groups if group.weights is not None]
    if not weighted:
        return None
    bins = _bins([group.weights for group in weighted if group.weights is not None])
    blocks: list[Block] = [
        *_not_all_drawn(len(weighted), "the certificate"),
        panels.weights(weighted[:MOST_DRAWN], bins),
        _folded(
            _counts(
                "Rows by importance weight",
                weighted[:MOST_DRAWN],
                lambda g: g.weights,
                bins,
                panels.edge_words,
            )
        ),
    ]
    both = [group for group in weighted if group.propensities and group.probabilities]
    if both:
        every = range(len(both[0].propensities.counts)) if both[0].propensities else range(0)
        blocks += [
            panels.overlap(both[:MOST_DRAWN]),
            _folded(
                _counts(
                    "Rows by the old model's probability of the logged decision",
                    both[:MOST_DRAWN],
                    lambda g: g.propensities,
                    every,
                    number,
                ),
                _counts(
                    "Rows by the new model's probability of the logged decision",
                    both[:MOST_DRAWN],
                    lambda g: g.probabilities,
                    every,
                    number,
                ),
            ),
        ]
    return Section("weights", "Weights and overlap", tuple(blocks))


def _bins(histograms: Sequence[Histogram]) -> range:
    """From the first bin that is not empty to the last, and those beside a weight of 1."""
    one = histograms[0].edges.index(1.0)
    full = [k for h in histograms for k, n in enumerate(h.counts) if n]
    return range(min([*full, one - 1]), max([*full, one]) + 1)


def _counts(
    caption: str,
    groups: Sequence[GroupPicture],
    histogram: Callable[[GroupPicture], Histogram | None],
    bins: range,
    words: Callable[[float], str],
) -> Table:
    """Counts by bin: a row for each bin that is not empty, a column for each group."""
    found = [each for each in map(histogram, groups) if each is not None]
    edges = found[0].edges
    full = [k for k in bins if any(each.counts[k] for each in found)]
    return Table(
        f"{caption}; ranges that are not shown are empty",
        ("from ... to", *(group.condition for group in groups)),
        tuple(
            (f"{words(edges[k])} to {words(edges[k + 1])}", *(count(h.counts[k]) for h in found))
            for k in full
        ),
    )


def _folded(*tables: Table) -> Folded:
    return Folded("The numbers", tables)


def _not_all_drawn(groups: int, where: str = "the table") -> tuple[Paragraph, ...]:
    if groups <= MOST_DRAWN:
        return ()
    return (
        Paragraph(f"The first {MOST_DRAWN} of {groups} groups are drawn; {where} has all of them."),
    )


#: So many failed statements get advice of their own; the worst come first.
MOST_ADVISED = 10


def trade_off(certificate: Certificate) -> Section | None:
    """The objective beside the impact, along the line-up."""
    of, found = certificate.trade_off, certificate.search
    if of is None or found is None or not of.models:
        return None
    blocks: list[Block] = []
    series = of.series[:MOST_DRAWN]
    if len(of.series) > MOST_DRAWN:
        said = f"The first {MOST_DRAWN} of {len(of.series)} are shown; the certificate has all."
        blocks.append(Paragraph(said))
    if len(of.models) == 1:
        blocks.append(Paragraph("One model stood in line: there is no other to compare it with."))
    elif series:
        blocks.append(panels.line_up(series, of.models, found.objective))
    table = Table(
        "The models in line, on candidate rows",
        ("place", "fate", "loss", *(f"{each.impact}, {each.condition}" for each in series)),
        (
            *(
                (
                    str(model.place),
                    model.fate,
                    number(model.loss),
                    *map(number, model.impacts[: len(series)]),
                )
                for model in of.models
            ),
            ("old model", "", "", *(number(each.logged) for each in series)),
        ),
        words=2,
    )
    blocks.append(Folded("The numbers", (table,)))
    return Section("trade-off", "Objective and impact along the line-up", tuple(blocks))


def what_next(certificate: Certificate) -> Section | None:
    """After "no solution found"."""
    wrong = certificate.failed
    if certificate.passed or not wrong:
        return None
    blocks = _advice(advise_on_all(certificate))
    for result in wrong[:MOST_ADVISED]:
        said = Paragraph(f"{seen(result)}.")
        blocks.append(Part(Code(result.statement), (said, *_advice(advise(result)))))
    if more := wrong[MOST_ADVISED:]:
        blocks.append(
            Paragraph(
                f"And {plural(len(more), 'statement')} more that failed, by less; all are in the "
                "table of statements."
            )
        )
    blocks.append(
        Part(
            "More out of the same number of rows",
            (
                Paragraph("To be chosen before the next rows are looked at:"),
                Bullets(MORE_FROM_THE_SAME_ROWS),
                Paragraph(WHAT_NOT_TO_DO),
            ),
        )
    )
    return Section("next", "What to do next", tuple(blocks))


def _advice(found: tuple[Advice, ...]) -> list[Block]:
    return [
        Definitions(
            (
                ("What it says", sentence(each.seen)),
                ("Likely cause", sentence(each.cause)),
                ("What to do", sentence(each.steps)),
            )
        )
        for each in found
    ]


def how_found(certificate: Certificate) -> Section:
    """How the tested model came about."""
    found = certificate.search
    if found is None:
        said = (
            "The model is from elsewhere. Nothing here says how it was made; that it owes nothing "
            "to the rows of the test is assumed, not checked."
        )
        return Section("search", "How the model was found", (Paragraph(said),))
    rows = [
        ("search", found.method),
        ("objective (made large)", found.objective),
        ("loss on candidate rows (made small)", number(found.loss)),
        ("policies looked at", count(found.evaluations)),
        ("predicted probability that the first in line passes", rate(found.predicted_pass)),
        ("had the margin that was asked for", "yes" if found.meets_target else "no"),
    ]
    if found.models > 1:
        said = (
            f"{found.models} models were found, one for each fold, on the rows of the other folds. "
            "For each decision one of them is picked at random."
        )
    elif certificate.constraints:
        said = (
            f"Before held-out rows were opened, {plural(found.on_ladder, 'model')} stood in line, "
            "from the one most likely to pass to the one with the best objective. They were tested "
            f"in that order as long as none failed: {found.tested} of them. All numbers here are "
            f"about the one at place {found.place}."
        )
        rows += [
            ("models lined up", count(found.on_ladder)),
            ("models tested", count(found.tested)),
            ("place of the model in this report", count(found.place)),
        ]
    else:
        said = "One model was looked for, on all rows."
    table = Table("The search", ("what", "value"), tuple(rows), words=2)
    return Section("search", "How the model was found", (Paragraph(said), table))
