"""The model on the table: what it decides on, and about whom it decides otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from elfair.certificate import Certificate
from elfair.certificate.effects import EffectRecord, on_the_table
from elfair.certificate.rules import sentences
from elfair.records.text import count, number, rate
from elfair.report.blocks import Block, Bullets, Paragraph, Table, group_name


def decides(certificate: Certificate) -> Iterator[Block]:
    """What it decides on, in sentences: for a board."""
    rule = sentences(certificate.rules, certificate.classes) if certificate.passed else []
    if said := (*rule, *on_the_table(certificate)):
        yield Bullets(said)


def on_table(certificate: Certificate) -> Iterator[Block]:
    """The same in numbers: effects, partial dependence, and decisions by band and group."""
    effects = certificate.effects
    if not effects:
        return
    yield Paragraph(
        "This describes candidate rows, not held-out ones, and no promise rests on it. The feature "
        "that changes most comes first; features without any effect are left out."
    )
    shown = _shown(certificate)
    if any(each.standardised for each in effects):
        yield _standardised(certificate)
    yield Table(
        "What the model would decide if everybody had a value of this band, and everything else "
        "stayed as it is (partial dependence)",
        ("feature", "band", *(_named(certificate, k) for k in shown)),
        tuple(
            (each.feature, band.band, *(_said(certificate, band.partial[k]) for k in shown))
            for each in effects
            for band in each.bands
        ),
        words=2,
    )
    yield from (_crossed(certificate, each) for each in effects if _crosses(each))


def _standardised(certificate: Certificate) -> Table:
    names = certificate.classes[1:] or ("the mean decision",)
    of = f", against '{certificate.classes[0]}'" if certificate.classes else ""
    what = "the logarithm of the odds" if certificate.classes else "the mean decision"
    return Table(
        f"What one standard deviation of a feature adds to {what}{of}",
        ("feature", *names),
        tuple(
            (each.feature, *map(number, each.standardised))
            for each in certificate.effects
            if each.standardised
        ),
        words=1,
    )


def _crosses(effect: EffectRecord) -> bool:
    """Whether logged decisions about the people of its bands are known."""
    return any(cell.old for band in effect.bands for cell in band.cells)


def _crossed(certificate: Certificate, effect: EffectRecord) -> Table:
    shown = _shown(certificate)
    return Table(
        f"Decisions of the old and the new model by {effect.feature} and group",
        (
            *("band", "group", "rows"),
            *(f"{_named(certificate, k)}, {model}" for k in shown for model in ("old", "new")),
            "changed",
        ),
        tuple(
            (
                band.band,
                group_name(cell.condition),
                count(cell.n),
                *(_said(certificate, of[k]) for k in shown for of in (cell.old, cell.new)),
                "" if cell.moved is None else rate(cell.moved),
            )
            for band in effect.bands
            for cell in band.cells
            if cell.old
        ),
        words=2,
    )


def _shown(certificate: Certificate) -> range:
    """The places of the decisions to show: of two, one says everything about the other."""
    n = max(1, len(certificate.classes))
    return range(1, 2) if n == 2 else range(n)


def _named(certificate: Certificate, place: int) -> str:
    return certificate.classes[place] if certificate.classes else "mean decision"


def _said(certificate: Certificate, value: float) -> str:
    return rate(value) if certificate.classes else number(value)
