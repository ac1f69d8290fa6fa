"""What each group gets: impact, decisions, and how far the new model is from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elfair.certificate import Certificate, GroupPicture, Histogram, ImpactPicture
from elfair.records.text import count, number, rate
from elfair.report import charts
from elfair.report.blocks import (
    Block,
    Code,
    Folded,
    Line,
    Paragraph,
    Section,
    Subsection,
    TableBlock,
    group_name,
)
from elfair.report.charts import MOST_DRAWN


def impact(certificate: Certificate) -> Section | None:
    """Each impact in each group, under the old and the new model."""
    names = dict.fromkeys(each.impact for group in certificate.groups for each in group.impacts)
    if not names:
        return None
    parts = tuple(_impact(certificate, name) for name in names)
    return Section(
        "impact", "Impact by group, old and new", (Paragraph(_how_estimated(certificate)), *parts)
    )


def _impact(certificate: Certificate, name: str) -> Subsection:
    pictures = [
        (group.condition, each)
        for group in certificate.groups
        for each in group.impacts
        if each.impact == name
    ]
    table = TableBlock(
        f"Mean of {name} by group, with intervals of 90 % confidence each",
        ("group", "old", "from", "to", "new", "from", "to"),
        tuple((group_name(group), *_intervals(each)) for group, each in pictures),
    )
    chart = charts.impacts(pictures[:MOST_DRAWN])
    return Subsection(Code(name), (*_not_all_drawn(len(pictures)), chart, folded(table)))


def _intervals(of: ImpactPicture) -> list[str]:
    return [
        number(value)
        for each in (of.logged, of.new)
        for value in (each.estimate, each.low, each.high)
    ]


def _how_estimated(certificate: Certificate) -> str:
    """Readers who compute it themselves, in the simplest way, get slightly different numbers."""
    ways = {
        "is": "plain importance weighting: the mean of weight times impact",
        "paired": "importance weighting around a constant, that is, k plus the mean of weight "
        "times (impact - k), where k is the mean of the group's candidate rows"
        + (", or an end of the declared range" if certificate.terms.impact_ranges else ""),
        "dr": "the doubly robust form: the impact that a model fitted to candidate rows expects "
        "from the new decisions, plus importance weighting of its errors",
    }
    return (
        "The old model's mean is the mean of the logged rows. The new model's mean is estimated "
        f"from the same rows by {ways[certificate.estimator]}."
    )


def decisions(certificate: Certificate) -> Section | None:
    """What each group gets decided, by the old and the new model."""
    names = dict.fromkeys(d.decision for group in certificate.groups for d in group.decisions)
    if not names:
        return None
    share = bool(certificate.classes)
    blocks: list[Block] = []
    # Of two decisions, one says everything about the other.
    for name in list(names)[1:] if len(names) == 2 else names:
        pictures = [
            (group.condition, each)
            for group in certificate.groups
            for each in group.decisions
            if each.decision == name
        ]
        title: Line = ("decision ", Code(name)) if share else "mean decision"
        chart = charts.decisions(pictures[:MOST_DRAWN], share=share)
        blocks.append(Subsection(title, (*_not_all_drawn(len(pictures)), chart)))
    shown: Callable[[float], str] = rate if share else number
    table = TableBlock(
        "Decisions of the old and the new model",
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
    return Section("decisions", "Decisions by group, old and new", (*blocks, folded(table)))


def weights(certificate: Certificate) -> Section | None:
    """How far the new model is from the log."""
    weighted = [group for group in certificate.groups if group.weights is not None]
    if not weighted:
        return None
    drawn = weighted[:MOST_DRAWN]
    bins = _bins([group.weights for group in weighted if group.weights is not None])
    table = _counts("importance weight", drawn, lambda g: g.weights, bins, charts.edge_words)
    blocks: list[Block] = [
        *_not_all_drawn(len(weighted), "the certificate"),
        charts.weights(drawn, bins),
        folded(table),
    ]
    both = [group for group in drawn if group.propensities and group.probabilities]
    if both and both[0].propensities:
        bins, of = range(len(both[0].propensities.counts)), "model's probability of the decision"
        old = _counts(f"the old {of}", both, lambda g: g.propensities, bins, number)
        new = _counts(f"the new {of}", both, lambda g: g.probabilities, bins, number)
        blocks += [charts.overlap(both), folded(old, new)]
    return Section("weights", "Weights and overlap", tuple(blocks))


def _bins(histograms: Sequence[Histogram]) -> range:
    """From the first bin that is not empty to the last, and those beside a weight of 1."""
    one = histograms[0].edges.index(1.0)
    full = [k for h in histograms for k, n in enumerate(h.counts) if n]
    return range(min([*full, one - 1]), max([*full, one]) + 1)


def _counts(
    by: str,
    groups: Sequence[GroupPicture],
    histogram: Callable[[GroupPicture], Histogram | None],
    bins: range,
    words: Callable[[float], str],
) -> TableBlock:
    """A row for each bin that is not empty, a column for each group."""
    found = [each for each in map(histogram, groups) if each is not None]
    edges = found[0].edges
    full = [k for k in bins if any(each.counts[k] for each in found)]
    return TableBlock(
        f"Rows by {by}; ranges that are not shown are empty",
        ("from ... to", *(group.condition for group in groups)),
        tuple(
            (f"{words(edges[k])} to {words(edges[k + 1])}", *(count(h.counts[k]) for h in found))
            for k in full
        ),
    )


def folded(*tables: TableBlock) -> Folded:
    """The numbers of a chart, for readers who want them."""
    return Folded("The numbers", tables)


def _not_all_drawn(groups: int, where: str = "the table") -> tuple[Paragraph, ...]:
    if groups <= MOST_DRAWN:
        return ()
    return (
        Paragraph(f"The first {MOST_DRAWN} of {groups} groups are drawn; {where} has all of them."),
    )
