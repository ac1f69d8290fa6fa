"""Digests of a whole table that stay when its columns are changed in several ways at once.

Somebody may shuffle the rows, reorder and rescale the columns, recode decisions, turn an impact
into a loss, and leave out a feature, all at once. What stays is how an outcome and another column
go together. So each value is replaced by its place in its column, from either end, or, where values
are few, by how often it occurs; and the rows of two or three such columns are counted.

Independent draws of one population never have the same counts, unless there is little to count:
two columns of yes and no, or columns of which one follows from the other. Whether there is enough
is seen on two random halves of the table, which are themselves independent draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from elfair.data.digests import Keys, mix
from elfair.types import Floats, Index

#: Of a column with more values places count, of another how often each occurs.
FEW = 20
#: A pair of columns is looked at if halves agree by chance with a probability below exp of minus
#: this, as far as the counts in which they differ tell.
SURE = 30.0
#: The most columns beside the outcomes: more would take long, and say nothing new.
MOST = 12


def whole_digests(
    outcomes: Sequence[Floats], known: Sequence[Floats], features: Sequence[Floats]
) -> Iterator[bytes]:
    """A digest of each outcome with one or two other columns, wherever there is enough to count.

    Parameters
    ----------
    outcomes : sequence of ndarray
        Impacts, or else the label: what nobody designed. Two designed columns go together alike in
        all tables of one design.
    known : sequence of ndarray
        Label and decision, as far as they are no outcomes.
    features : sequence of ndarray
        Features and groups.
    """
    if not outcomes:
        return
    n = outcomes[0].size
    order = np.random.default_rng(0).permutation(n)
    halves = [order[: n // 2], order[n // 2 : 2 * (n // 2)]]
    known = [*outcomes, *known]
    columns = [*known, *features[:MOST]]
    places = [_places(each) for each in columns]
    of_halves = [
        [_of_half(*pair, half) for pair in zip(columns, places, strict=True)] for half in halves
    ]
    last, everything = len(known) - 1, tuple(range(len(columns)))
    sets = {tuple(range(len(known))), everything}
    for outcome in range(len(outcomes)):
        sets |= {(outcome, other) for other in everything if other != outcome}
        sets |= {(outcome, last, other) for other in everything[len(known) :]}
    for chosen in sorted(sets):
        one, other = (_counts([half[k] for k in chosen]) for half in of_halves)
        if _evidence(one, other) >= SURE:
            values, counts = _counts([places[k] for k in chosen])
            content = b"alike" + values.tobytes() + counts.astype("<u8").tobytes()
            yield hashlib.sha256(content).digest()


def _of_half(column: Floats, places: Keys, half: Index) -> Keys:
    """The places of some rows. Few values keep those of the whole table: two tables may have as
    many of each by chance or by design, which is no evidence.
    """
    few = np.unique(column).size <= FEW
    return places[half] if few else _places(column[half])


def _places(column: Floats) -> Keys:
    """A key for each row that is the same in any order of rows, and on any scale."""
    values, place, times = np.unique(column, return_inverse=True, return_counts=True)
    if values.size <= FEW:
        return mix(times.astype(np.uint64))[place]
    ends = np.cumsum(times)
    ends_of = np.sort([ends - times, column.size - ends], axis=0).astype(np.uint64)
    return mix(mix(ends_of[0]) + np.uint64(3) * ends_of[1])[place]


def _counts(keys: Sequence[Keys]) -> tuple[Keys, Index]:
    """How many rows have each combination, in whatever order the columns stand."""
    together = mix(sum(keys[1:], start=keys[0]))
    values, counts = np.unique(together, return_counts=True)
    return values, counts


def _evidence(one: tuple[Keys, Index], other: tuple[Keys, Index]) -> float:
    """Minus the logarithm of the chance to agree, by the counts that halves do not have in common.

    Two draws give c rows to a combination with a probability of about 1 / sqrt(4 pi c).
    """
    _, here, there = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    differs = np.ones(one[0].size, dtype=np.bool_)
    differs[here[one[1][here] == other[1][there]]] = False
    return float(np.log(4 * np.pi * one[1][differs]).sum() / 2)
