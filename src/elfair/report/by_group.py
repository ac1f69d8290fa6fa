"""What each group gets: impact, decisions, and how far the new model is from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from elfair.certificate import Certificate
from elfair.certificate.pictures import GroupPicture, Histogram
from elfair.records.text import count, edge_words, number, rate
from elfair.report import charts
from elfair.report.blocks import Block, Code, Folded, Paragraph, Subsection, Table, group_name
from elfair.report.charts import MOST_DRAWN
from elfair.statistics.impact_estimators import get_impact_estimator


def impact(certificate: Certificate) -> Iterator[Block]:
    """Each impact in each group, under the old and the new model."""
    names = list(
        dict.fromkeys(each.impact for group in certificate.groups for each in group.impacts)
    )
    first = names[0] if names else ""
    if names:
        yield Paragraph(_how_estimated(certificate))
    for name in names:
        pictures = [
            (group_name(group.condition), each)
            for group in certificate.groups
            for each in group.impacts
            if each.impact == name
        ]
        table = Table(
            f"Mean of {name} by group, with intervals of 90 % confidence each",
            ("group", "old", "from", "to", "new", "from", "to"),
            tuple(
                (
                    group,
                    *(number(v) for i in (of.logged, of.new) for v in (i.estimate, i.low, i.high)),
                )
                for group, of in pictures
            ),
        )
        # The first impact is drawn on the first page.
        drawn = pictures[:MOST_DRAWN] if name != first or certificate.objections else []
        chart = [charts.impacts(drawn, name)] if drawn else []
        few = not_all_drawn(len(pictures)) if drawn else ()
        yield Subsection(Code(name), (*few, *chart, table))


def _how_estimated(certificate: Certificate) -> str:
    """Readers who compute it themselves, in the simplest way, get slightly different numbers."""
    return (
        "The old model's mean is the mean of the logged rows. The new model's mean is estimated "
        f"from the same rows by {get_impact_estimator(certificate.estimator).words}."
    )


def decisions(certificate: Certificate) -> Iterator[Block]:
    """What each group gets decided, by the old and the new model."""
    groups = [group for group in certificate.groups if group.decisions]
    if not groups:
        return
    names, share = [each.decision for each in groups[0].decisions], bool(certificate.classes)
    for k, name in enumerate(names):
        if len(names) == 2 and k == 0:  # of two decisions, one says everything about the other
            continue
        pictures = [(group_name(group.condition), group.decisions[k]) for group in groups]
        chart = charts.decisions(pictures[:MOST_DRAWN], share=share)
        title = ("decision ", Code(name)) if share else "mean decision"
        yield Subsection(title, (*not_all_drawn(len(pictures)), chart))
    shown: Callable[[float], str] = rate if share else number
    yield folded(
        Table(
            "Decisions of the old and the new model",
            ("group", *(f"{name}, {model}" for name in names for model in ("old", "new"))),
            tuple(
                (
                    group_name(group.condition),
                    *(shown(v) for each in group.decisions for v in (each.logged, each.new)),
                )
                for group in groups
            ),
        )
    )


def weights(certificate: Certificate) -> Iterator[Block]:
    """How far the new model is from the log."""
    weighted = [group for group in certificate.groups if group.weights is not None]
    if not weighted:
        return
    drawn = weighted[:MOST_DRAWN]
    bins = _bins([group.weights for group in weighted if group.weights is not None])
    yield from not_all_drawn(len(weighted), "the certificate")
    yield charts.weights(drawn, bins)
    yield folded(_counts("importance weight", drawn, "weights", bins, edge_words))
    both = [group for group in drawn if group.propensities and group.probabilities]
    if both and both[0].propensities:
        bins, of = range(len(both[0].propensities.counts)), "model's probability of the decision"
        yield charts.overlap(both)
        yield folded(
            _counts(f"the old {of}", both, "propensities", bins, number),
            _counts(f"the new {of}", both, "probabilities", bins, number),
        )


def _bins(histograms: Sequence[Histogram]) -> range:
    """From the first bin that is not empty to the last, and those beside a weight of 1."""
    one = histograms[0].edges.index(1.0)
    full = [k for h in histograms for k, n in enumerate(h.counts) if n]
    return range(min([*full, one - 1]), max([*full, one]) + 1)


def _counts(
    by: str, groups: Sequence[GroupPicture], of: str, bins: range, words: Callable[[float], str]
) -> Table:
    """A row for each bin that is not empty, a column for each group."""
    found: list[Histogram] = [getattr(group, of) for group in groups]
    edges = found[0].edges
    return Table(
        f"Rows by {by}; ranges that are not shown are empty",
        ("from ... to", *(group.condition for group in groups)),
        tuple(
            (f"{words(edges[k])} to {words(edges[k + 1])}", *(count(h.counts[k]) for h in found))
            for k in bins
            if any(h.counts[k] for h in found)
        ),
    )


def folded(*tables: Table) -> Folded:
    """The numbers of a chart, for readers who want them."""
    return Folded("The numbers", tables)


def not_all_drawn(n: int, where: str = "the table", what: str = "groups") -> Iterator[Paragraph]:
    """Say that a chart shows only some of so many groups, if that is so."""
    if n > MOST_DRAWN:
        yield Paragraph(f"The first {MOST_DRAWN} of {n} {what} are drawn; {where} has all of them.")
