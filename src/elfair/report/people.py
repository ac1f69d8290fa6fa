"""What is decided about each group, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elfair.certificate import Certificate, GroupPicture, Histogram
from elfair.report import panels, strips
from elfair.report.blocks import Block, Code, Folded, Line, Paragraph, Part, Section, Table
from elfair.report.marks import MOST_DRAWN, group_name
from elfair.report.words import count, number, rate


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
