"""By what rows are known again: identifiers where there are any, and else several views of columns.

Features, scales, order, splits, formats and a few rows may change between two tests of the same
people. So there is a sketch of each of several views, and one that two tables share is enough:

* Every column that is measured finely, alone: whatever becomes of the others.
* All features, and all features but one if none is measured finely.
* Label, decision and impacts.
* The same and some features by rank, in eighths and in finer parts: whatever the scale.
* The counts of outcomes with other columns, in the whole table: see `elfair.data.alike`.
* Stretches of consecutive rows: people who are alike in every column are known by their order.

Without the secret nothing can be learnt about anybody from what is kept here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from elfair.data.alike import whole_digests
from elfair.data.digests import Keys, blocks, mix, mix_in_place, rows_digest, text_keys
from elfair.data.sketches import FEWEST_VALUES, Sketch
from elfair.data.table import LoggedData
from elfair.types import Array, Floats

#: Tables that have a smaller share of the smaller one's rows in common are different evidence: who
#: divides rows into so small parts can as well divide them into parts without common rows.
LEAST_SHARE = 0.05
#: The most columns that are looked at alone, and the most features that are left out in turn.
MOST_COLUMNS, MOST_LEFT_OUT = 4, 8
#: Impacts and features that are taken by rank, and into how many parts ranks are divided: few for
#: small tables, where the ranks in a part of the rows are far from those in all of them.
RANKED, PARTS = 4, (8, 32)
#: How many consecutive rows make a stretch, and how often its rows must change: in a sorted table
#: everybody's stretches are alike.
STRETCH, CHANGES = 24, 5
#: Whole numbers that fill this share of their range may be row numbers, which every table has.
DENSE = 1 / 20
#: Fewer common values than this are never sure to be more than chance.
FEWEST_COMMON = 10
#: How many bits of a token are not needed to see who is a stranger.
_UNMARKED = np.uint32(14)
#: Up to so many rows, digests of the whole table cost next to nothing.
SMALL = 100_000
#: From how many rows it is told whether a column is measured finely.
SEEN = 5_000


@dataclass(frozen=True, eq=False)
class Identity:
    """What rows are known by.

    Parameters
    ----------
    whole : frozenset of str
        Digests of the whole table, where sketches may not be enough.
    ids : ndarray of uint64 or None
        A keyed hash of each unit or identifier, in ascending order.
    named : bool
        Whether these tell people apart in any table; row numbers do not.
    views : tuple of (str, Sketch)
        A sketch of each view; those of one kind can be compared.
    n : int, default 0
        How many rows there are.
    """

    whole: frozenset[str]
    ids: Keys | None
    named: bool
    views: tuple[tuple[str, Sketch], ...]
    n: int = 0

    @classmethod
    def of(cls, data: LoggedData, secret: bytes) -> Identity:
        """By what the rows of a table are known to who has the secret.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X, income = rng.normal(size=(500, 2)), rng.normal(size=500)
        >>> one = Identity.of(LoggedData(X, impact=income), b"secret")
        >>> other = Identity.of(LoggedData(X[400::-1, :1], impact=7 * income[400::-1]), b"secret")
        >>> round(one.share_of(other), 6)
        1.0
        >>> one.share_of(Identity.of(LoggedData(X + 1, impact=income[::-1]), b"other secret"))
        0.0
        """
        names, ids = ids_of(data, secret), None
        if names is not None:
            ids = np.unique(names)
        given = data.unit if data.unit is not None else data.row_id
        views = tuple(
            (kind, Sketch.of(keys, secret)) for kind, keys in _views(data, _Hashing.of(secret))
        )
        # A large table with a column that is measured finely is known by that alone.
        small = data.n <= SMALL or "column" not in dict(views)
        return cls(
            frozenset(_keyed(each, secret).hex() for each in _whole(data))
            if small
            else frozenset(),
            ids,
            given is not None and not are_row_numbers(given),
            views,
            data.n,
        )

    @classmethod
    def of_batches(cls, batches: Iterable[LoggedData], like: LoggedData, secret: bytes) -> Identity:
        """The same of rows that come in batches, by the views that need no other row: columns,
        outcomes and features.

        Parameters
        ----------
        batches : iterable of LoggedData
            All rows, in any order.
        like : LoggedData
            Enough of them to tell how finely columns are measured.
        secret : bytes
            See `of`.
        """
        hashing, n = _Hashing.of(secret), 0
        impacts, features = (
            [(not _is_design(each), _is_fine(each)) for each in of] for of in _numbers(like)
        )
        least: list[int] = []
        views: list[tuple[str, Sketch]] = []
        for data in batches:
            found = list(_views_of_rows(data, impacts, features, hashing))
            sketches = [(kind, Sketch.of(keys, secret)) for kind, keys in found]
            smallest = [int(keys.min()) for _, keys in found]
            if views:
                pairs = zip(views, sketches, strict=True)
                sketches = [(kind, one.merged(two)) for (kind, one), (_, two) in pairs]
                smallest = [min(pair) for pair in zip(least, smallest, strict=True)]
            views, least, n = sketches, smallest, n + data.n
        fine = sorted(k for k, (kind, _) in enumerate(views) if kind == "column")
        left_out = set(sorted(fine, key=least.__getitem__)[MOST_COLUMNS:])
        kept = tuple(view for k, view in enumerate(views) if k not in left_out)
        return cls(frozenset(), None, False, kept, n)

    def share_of(self, other: Identity) -> float:
        """The share of the smaller table's people who are in both, as far as that is sure."""
        return max(self._shares(other, self._marked()), default=0.0)

    def shares_people(self, other: Identity) -> bool:
        """Whether a test of these rows is a further look at the others."""
        return any(self.known_among([other]))

    def known_among(self, others: Iterable[Identity]) -> Iterator[bool]:
        """Whether a test of these rows is a further look at each of the others."""
        marked: NDArray[np.uint32] | None = None
        for each in others:
            marked = self._marked() if marked is None else marked
            yield any(share >= LEAST_SHARE for share in self._shares(each, marked))

    def _shares(self, other: Identity, marked: NDArray[np.uint32]) -> Iterator[float]:
        """The share of people who are in both, by each view."""
        if not self.whole.isdisjoint(other.whole):
            yield 1.0
        if self.ids is not None and other.ids is not None and self.named and other.named:
            both = np.intersect1d(self.ids, other.ids, assume_unique=True).size
            yield both / min(self.ids.size, other.ids.size)
        for place, (kind, mine) in enumerate(self._by_kind().items()):
            theirs = [sketch for known, sketch in other.views if known == kind]
            tokens = np.concatenate([np.empty(0, np.uint32), *(each.tokens for each in theirs)])
            common = marked[tokens >> _UNMARKED] & np.uint32(1 << place)
            if np.count_nonzero(common) >= FEWEST_COMMON:
                yield from (one.share_of(two) for one, two in product(mine, theirs))

    def _by_kind(self) -> dict[str, list[Sketch]]:
        kinds: dict[str, list[Sketch]] = {}
        for kind, sketch in self.views:
            kinds.setdefault(kind, []).append(sketch)
        return kinds

    def _marked(self) -> NDArray[np.uint32]:
        """In which kinds of views there are tokens that begin so: most others are strangers, and
        need not be compared.
        """
        marked = np.zeros(1 << (32 - int(_UNMARKED)), dtype=np.uint32)
        for place, sketches in enumerate(self._by_kind().values()):
            for each in sketches:
                marked[each.tokens >> _UNMARKED] |= np.uint32(1 << place)
        return marked


def ids_of(data: LoggedData, secret: bytes) -> Keys | None:
    """A keyed hash of each row's unit, or else of its identifier; None if there is neither."""
    known = data.unit if data.unit is not None else data.row_id
    if known is None:
        return None
    hashed = b"".join(_keyed(str(each).encode(), secret, 8) for each in known)
    return np.frombuffer(hashed, dtype="<u8").astype(np.uint64)


def are_row_numbers(ids: Array) -> bool:
    """Whether identifiers may be those of any table: they count rows, or nearly so.

    Examples
    --------
    >>> are_row_numbers(np.arange(1, 100)), are_row_numbers(np.array(["row 7", "row 8"]))
    (True, True)
    >>> are_row_numbers(np.array(["ann", "bob"])), are_row_numbers(np.array([5_311_007, 77]))
    (False, False)
    """
    parts = [re.fullmatch(r"(.*?)(\d*)", str(each), re.DOTALL) for each in ids.tolist()]
    if len({part[1] for part in parts if part}) > 1:
        return False
    numbers = [part[2] for part in parts if part]
    if not all(number.isascii() and 0 < len(number) < 19 for number in numbers):
        return False
    values = np.unique(np.array(numbers, dtype=np.int64))
    return bool(values.size >= DENSE * (int(values[-1]) - int(values[0]) + 1))


def _whole(data: LoggedData) -> Iterator[bytes]:
    """Digests of all rows: decisions and each impact, or features and labels; and all of these."""
    label, decision = data.as_numbers
    outcomes = [[decision, impact] for impact in data.impacts.values()]
    for columns in outcomes or [[label, *data.comparable]]:
        yield rows_digest(columns, data.n)
    yield data.digest()
    impacts = [np.asarray(each) for each in data.impacts.values()]
    measured = [each for each in impacts if not _is_design(each)]
    known = [np.asarray(each) for each in (label, decision) if each is not None]
    if not measured and label is not None:
        measured, known = known[:1], known[1:]
    features = [each for each in _features(data) if not _is_design(each)]
    yield from whole_digests(measured, known, features)


def _keyed(value: bytes, secret: bytes, size: int = 16) -> bytes:
    return hashlib.blake2b(value, key=secret, digest_size=size).digest()


# -- views ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Hashing:
    """How values become keys that depend on the secret."""

    first: np.uint64
    second: np.uint64

    @classmethod
    def of(cls, secret: bytes) -> _Hashing:
        first, second = np.frombuffer(_keyed(b"rows", secret), dtype="<u8").astype(np.uint64)
        return cls(first, second)

    def rows(self, columns: Sequence[Array]) -> Keys:
        """A key for each row, from its values in some columns.

        A sum of values times odd numbers that nobody knows is the same for two different rows with
        a probability of one in millions of millions.
        """
        factors = mix(self.first + np.arange(len(columns), dtype=np.uint64)) | np.uint64(1)
        keys = np.full(columns[0].size, self.second)
        for block in blocks(keys.size):
            for column, factor in zip(columns, factors, strict=True):
                keys[block] += column[block] * factor
            mix_in_place(keys[block])
        return keys

    def stretches(self, rows: Keys) -> Keys:
        """A key for each stretch of consecutive rows, from their keys: a polynomial in a number
        that nobody knows, whose powers cancel to the last bit.
        """
        base, one = self.first | np.uint64(1), np.ones(1, dtype=np.uint64)
        inverse = np.uint64(pow(int(base), -1, 2**64))
        count = rows.size - STRETCH + 1
        powers, back = (
            np.multiply.accumulate(np.concatenate([one, np.full(rows.size - 1, each)]))
            for each in (base, inverse)
        )
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(rows * powers)])
        return mix((sums[STRETCH:] - sums[:count]) * back[:count] + self.second)


def _views(data: LoggedData, hashing: _Hashing) -> Iterator[tuple[str, Keys]]:
    """The keys of each view's rows, by the kind of the view."""
    label, decision = data.as_numbers
    known = [_values(each) for each in (label, decision) if each is not None]
    impacts = [np.asarray(each) for each in data.impacts.values()]
    features = [each for each in _features(data) if not _is_design(each)]
    numbers = [each for each in impacts if not _is_design(each)]
    measured, shown = (list(map(_values, each)) for each in (numbers, features))
    columns = zip((*numbers, *features), (*measured, *shown), strict=True)
    fine = [hashing.rows([values]) for column, values in columns if _is_fine(column)]
    # In an order that does not depend on which other columns there are.
    for keys in sorted(fine, key=lambda keys: int(keys.min()))[:MOST_COLUMNS]:
        yield "column", keys
    if numbers:
        yield "outcomes", hashing.rows([*known, *measured])
    if shown:
        yield "features", hashing.rows(shown)
    if not fine and 2 < len(shown) <= MOST_LEFT_OUT:
        for place in range(len(shown)):
            yield "features", hashing.rows([*shown[:place], *shown[place + 1 :]])
    if not (known or numbers or features) or not data.n:
        return
    taken = [*numbers, *features][:RANKED]
    ranked = {parts: [_ranks(each, parts) for each in taken] for parts in PARTS}
    for parts in PARTS:
        yield f"ranks in {parts}", hashing.rows([*known, *ranked[parts]])
    more = [_ranks(each, PARTS[0]) for each in numbers[RANKED:]]
    outcomes = [*known, *ranked[PARTS[0]][: len(numbers)], *more]
    yield from _stretches(outcomes or ranked[PARTS[-1]], hashing)


def _numbers(data: LoggedData) -> tuple[list[Floats], list[Floats]]:
    """Impacts; and features and groups."""
    return [np.asarray(each) for each in data.impacts.values()], _features(data)


def _views_of_rows(
    data: LoggedData,
    impacts: Sequence[tuple[bool, bool]],
    features: Sequence[tuple[bool, bool]],
    hashing: _Hashing,
) -> Iterator[tuple[str, Keys]]:
    """Those of `_views` that need no other row; of each column it is known whether its values are
    its own, and whether it is measured finely.
    """
    known = [_values(each) for each in data.as_numbers if each is not None]
    parts = []
    for columns, kinds in zip(_numbers(data), (impacts, features), strict=True):
        pairs = zip(columns, kinds, strict=True)
        parts.append([(_values(each), fine) for each, (own, fine) in pairs if own])
    for values, fine in [*parts[0], *parts[1]]:
        if fine:
            yield "column", hashing.rows([values])
    measured, shown = ([values for values, _ in part] for part in parts)
    if measured:
        yield "outcomes", hashing.rows([*known, *measured])
    if shown:
        yield "features", hashing.rows(shown)


def _features(data: LoggedData) -> list[Floats]:
    """Features and groups, each column once."""
    groups = [column for name, column in data.sensitive.items() if name not in data.feature_names]
    texts = [text_keys(column) / 2.0**64 for column in groups]
    return [*data.comparable, *texts]


def _values(column: Array) -> Array:
    """What a column holds, as far as any file keeps it; 1 and 1.0 are the same."""
    with np.errstate(over="ignore", invalid="ignore"):
        floats = np.asarray(column, dtype=np.float32) + np.float32(0)  # -0 is 0
    return floats.view(np.uint32)


def _seen(column: Floats) -> Floats:
    known = column[:: max(1, column.size // SEEN)]
    return np.sort(known[np.isfinite(known)])


def _is_fine(column: Floats) -> bool:
    """Whether many rows have a value of their own."""
    values = _seen(column)
    return np.unique(values).size >= max(FEWEST_VALUES, values.size / 4)


def _is_design(column: Floats) -> bool:
    """Whether its values may be those of any table: row numbers, ranks, or a grid.

    Between independent draws, a gap is far larger or smaller than the next one: the smaller is on
    average 0.39 of the larger. On a grid they are alike.
    """
    values = _seen(np.asarray(column, dtype=np.float64))
    gaps = np.diff(values)
    if values.size < FEWEST_VALUES or not (gaps > 0).all():
        return False
    if (values == np.round(values)).all() and values.size >= DENSE * (values[-1] - values[0]):
        return True
    both = np.sort([gaps[1:], gaps[:-1]], axis=0)
    return float((both[0] / both[1]).mean()) > 0.7


def _ranks(column: Floats, parts: int) -> Array:
    """Which part of the rows each value is in, by rank; of few different values, which it is."""
    column = np.where(np.isnan(column), np.inf, column)  # missing values are alike, and last
    ordered = np.sort(column)
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if new.size < parts:
        starts = ordered[new]
    else:  # each part but the first starts with the value that has so many rows up to it
        starts = ordered[-(-np.arange(1, parts) * column.size // parts)]
    ranks = np.zeros(column.size, dtype=np.uint8)
    for block in blocks(column.size):
        for start in starts:
            ranks[block] += column[block] >= start
    return ranks


def _stretches(columns: Iterable[Array], hashing: _Hashing) -> Iterator[tuple[str, Keys]]:
    """Consecutive rows, wherever a stretch of them is varied enough to be nobody else's."""
    rows = hashing.rows(list(columns))
    count = rows.size - STRETCH + 1
    if count < FEWEST_VALUES:
        return
    changes = np.concatenate([[0], np.cumsum(rows[1:] != rows[:-1])])
    varied = changes[STRETCH - 1 :] - changes[:count] >= CHANGES
    keys = hashing.stretches(rows)[varied]
    if keys.size >= FEWEST_VALUES:
        yield "stretches", keys
