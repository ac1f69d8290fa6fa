"""What a model decides on: for each feature, what it changes, about whom, and by how much.

It describes candidate rows, and no promise rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elfair.certificate.promise import speech_of
from elfair.records.text import number, rate

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate


@dataclass(frozen=True)
class CellRecord:
    """Some people, and what is decided about them.

    Parameters
    ----------
    condition : str
        The group; "everyone" if there is none.
    n : int
        How many candidate rows they are.
    old : tuple of float
        The share of each logged decision, in the order of the certificate's classes (of decisions
        that are numbers, their mean); empty if no decisions were logged.
    new : tuple of float
        The same under the new model.
    moved : float or None
        The share of decisions that the new model takes otherwise; None without logged decisions.
    """

    condition: str
    n: int
    old: tuple[float, ...]
    new: tuple[float, ...]
    moved: float | None


@dataclass(frozen=True)
class BandRecord:
    """The people with some values of a feature.

    Parameters
    ----------
    band : str
        The values, in words.
    partial : tuple of float
        What the new model would decide on average if everybody had a value of this band, and
        everything else stayed as it is (partial dependence).
    cells : tuple of CellRecord
        These people, everyone first, and then by group.
    """

    band: str
    partial: tuple[float, ...]
    cells: tuple[CellRecord, ...]


@dataclass(frozen=True)
class EffectRecord:
    """What a feature changes.

    Parameters
    ----------
    feature : str
        Its name.
    effect : float
        How far apart the partial dependence of its bands is, of the decision of which it is most.
    standardised : tuple of float
        Of a linear model and a feature that is a number: what one standard deviation of it adds to
        the logarithm of the odds of each decision but the first (of decisions that are numbers, to
        their mean); else empty.
    bands : tuple of BandRecord
        Its values.
    """

    feature: str
    effect: float
    standardised: tuple[float, ...]
    bands: tuple[BandRecord, ...]


def on_the_table(certificate: Certificate) -> list[str]:
    """What a model decides on and about whom it decides otherwise, in sentences.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    if not (certificate.passed and certificate.effects):
        return []
    return [*_depends(certificate), *_differs(certificate)]


def _depends(certificate: Certificate) -> Iterator[str]:
    """The feature that changes most."""
    first, *others = certificate.effects
    if len(first.bands) < 2 or first.effect == 0:
        return
    decision = widest([band.partial for band in first.bands])
    low, high = (of(first.bands, key=lambda band: band.partial[decision]) for of in (min, max))
    names = certificate.classes
    what = f"the share of '{names[decision]}'" if names else "the mean decision"
    shown = _rounded if names else number
    column, high_band = having(first.feature, high.band, certificate)
    _, low_band = having(first.feature, low.band, certificate)
    yield (
        f"The model decides most by {column}: if everybody had {column} {high_band} instead of "
        f"{low_band}, {what} would be {shown(high.partial[decision])} instead of "
        f"{shown(low.partial[decision])}."
    )
    names_of_others = [having(each.feature, "", certificate)[0] for each in others]
    if further := [name for name in dict.fromkeys(names_of_others) if name != column]:
        yield f"Next {'comes' if len(further) == 1 else 'come'} {', '.join(further)}."


def having(feature: str, band: str, certificate: Certificate) -> tuple[str, str]:
    """What sentences call a column, and some values of it.

    Parameters
    ----------
    feature : str
        The feature; of a category whose levels a study declares, "column=level".
    band : str
        The values.
    certificate : Certificate
        How it speaks.
    """
    column, equals, level = feature.partition("=")
    if equals and band in ("0", "1", ""):
        band = level if band == "1" else f"other than {level}"
    else:
        column = feature
    return speech_of(certificate).column(column), band


def widest(rows: Sequence[Sequence[float]]) -> int:
    """The place in which some rows of numbers differ most.

    Examples
    --------
    >>> widest([(0.2, 0.5, 0.3), (0.3, 0.6, 0.1)])
    2
    """
    apart = [max(of) - min(of) for of in zip(*rows, strict=True)]
    return max(range(len(apart)), key=lambda k: apart[k])


def _differs(certificate: Certificate) -> Iterator[str]:
    """About whom it decides otherwise than the old model, and by how much."""
    everyone = [group for group in certificate.groups if group.decisions][:1]
    cells = [
        (cell.moved, effect.feature, band.band, cell)
        for effect in certificate.effects
        for band in effect.bands
        for cell in band.cells[:1]
        if cell.moved is not None
    ]
    if not (cells and everyone and certificate.classes):
        return
    moved, feature, band, cell = max(cells, key=lambda each: each[0])
    if not moved:
        return
    column, words = having(feature, band, certificate)
    people = speech_of(certificate).names.people
    changes = [new - old for old, new in zip(cell.old, cell.new, strict=True)]
    k = max(range(len(changes)), key=lambda k: abs(changes[k]))
    yield (
        f"It decides most differently from the old model about {people} with {column} {words}: "
        f"{_rounded(moved)} of these decisions change, and the share of '{certificate.classes[k]}' "
        f"goes from {_rounded(cell.old[k])} to {_rounded(cell.new[k])}."
    )


def _rounded(share: float) -> str:
    return rate(round(share, 2))
