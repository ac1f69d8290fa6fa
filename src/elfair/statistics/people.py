"""Whom the statements speak of: the people in no group that a statement names, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elfair.certificate.people import OddGroup, PeopleRecord
from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.spelling import likely_meant, stands_apart, stands_for_missing
from elfair.language.conditions import Column, Compare, Condition, Literal, columns_used
from elfair.language.evaluation import holds
from elfair.records.text import count
from elfair.statistics.claims import Claim, without_label
from elfair.types import Array, Booleans, Index

#: More values of a column than this are shown as a range, or counted.
MOST_VALUES = 10


def people_of(
    claims: Sequence[Claim], data: LoggedData, counts: Index | None = None
) -> PeopleRecord:
    """Who is in no group that a statement names, and what looks like a mistake in groups.

    A statement names a group if it is about an impact or a rate under the new model, inside a
    condition. What the condition says of the label has no part in it: a statement about TPR names
    the whole group. Statements about everyone name no group. Of a column, a value is named by the
    conditions that compare this column.

    Parameters
    ----------
    claims : sequence of Claim
        The statements.
    data : LoggedData
        All rows; their impacts and labels are not used.
    counts : ndarray of int, optional
        How many rows are like each of these; 1 by default.

    Examples
    --------
    >>> from elfair.statistics.claims import read_constraints
    >>> race = ["Black"] * 5 + ["black "] * 2 + [None]
    >>> data = LoggedData(np.zeros((8, 1)), sensitive_features={"race": race})
    >>> people = people_of(read_constraints("E[impact | race == 'Black'] >= 0", 0.1), data)
    >>> people.unnamed
    3
    >>> [(each.group, each.n, each.perhaps) for each in people.groups]
    [("race is 'black '", 2, "meant 'Black'"), ('race is missing', 1, '')]
    """
    conditions = dict.fromkeys(map(without_label, _conditions(claims)))
    named = [given for given in conditions if given is not None]
    if not named:
        return PeopleRecord(0, ())
    met = {given: holds(given, data) for given in named}
    used = {given: columns_used(given) for given in named}
    alike = np.ones(data.n, dtype=np.int64) if counts is None else counts
    columns = [
        _Column.of(
            name, data, alike, np.any([met[each] for each in named if name in used[each]], axis=0)
        )
        for name in data.names
        if any(name in each for each in used.values())
    ]
    odd = [group for column in columns for group in column.odd]
    unnamed = ~np.any(list(met.values()), axis=0)
    rest = unnamed.copy()
    for column in columns:
        rest &= ~column.never[column.codes]
    return PeopleRecord(int(alike[unnamed].sum()), (*odd, *_combinations(columns, rest, alike)))


def _conditions(claims: Sequence[Claim]) -> Iterator[Condition | None]:
    for claim in claims:
        yield from (mean.given for mean in claim.means if not mean.logged)
        yield from (each.given for each in claim.statistics)


@dataclass(frozen=True)
class _Column:
    """A column that conditions compare, and how many rows with each value these conditions name."""

    name: str
    values: list[Any]  # None if it is missing
    codes: Index  # the position of each row's value among them
    rows: Index  # how many rows hold each value
    named: Index  # how many of them meet such a condition

    @classmethod
    def of(cls, name: str, data: LoggedData, alike: Index, met: Booleans) -> _Column:
        values, codes = _coded(data.column(name))
        rows = np.bincount(codes, alike, len(values)).astype(np.intp)
        named = np.bincount(codes[met], alike[met], len(values)).astype(np.intp)
        return cls(name, values, codes, rows, named)

    @property
    def never(self) -> Booleans:
        """The values that no row has whose group is named."""
        return np.equal(self.named, 0)

    @cached_property
    def counts(self) -> dict[Any, int]:
        pairs = zip(self.values, self.rows.tolist(), strict=True)
        return {value: n for value, n in pairs if value is not None}

    @property
    def odd(self) -> Iterator[OddGroup]:
        """Values that no statement names, and named ones that look like a mistake."""
        known = {
            value: n
            for (value, n), named in zip(self._pairs, self.named, strict=True)
            if named and value is not None
        }
        found, others = [], []
        for (value, n), named in zip(self._pairs, self.named.tolist(), strict=True):
            perhaps = "" if value is None else self._perhaps(value, n, known, bool(named))
            if perhaps or value is None:
                found += [OddGroup(self._is(value), n, bool(named), perhaps, self._equals(value))]
            elif not named:
                others.append(value)
        found = [each for each in found if not each.named or each.perhaps]
        yield from (each for each in found if each.perhaps)
        yield from self._unnamed(others)
        yield from (each for each in found if not each.perhaps)

    @property
    def _pairs(self) -> list[tuple[Any, int]]:
        return list(zip(self.values, self.rows.tolist(), strict=True))

    def _perhaps(self, value: Any, n: int, known: dict[Any, int], named: bool) -> str:
        if stands_for_missing(value, self.counts) or stands_apart(value, self.counts):
            return "stands for missing"
        # Of two named values that look alike, the rarer one is the odd one.
        among = {v: m for v, m in known.items() if not named or (m, repr(v)) > (n, repr(value))}
        meant = likely_meant(value, {**among, value: n})
        return "" if meant is None else f"meant {meant!r}"

    def _unnamed(self, values: list[Any]) -> Iterator[OddGroup]:
        """Values that no statement names, for no reason that shows."""
        values = sorted(values, key=lambda value: -self.counts[value])
        if len(values) > MOST_VALUES and all(not isinstance(value, str) for value in values):
            yield OddGroup(self.range_of(values), sum(self.counts[v] for v in values), False, "")
            return
        for value in values[:MOST_VALUES]:
            yield OddGroup(self._is(value), self.counts[value], False, "", self._equals(value))
        if more := values[MOST_VALUES:]:
            text = f"{self.name} is one of {count(len(more))} other values"
            yield OddGroup(text, sum(self.counts[value] for value in more), False, "")

    def _is(self, value: Any) -> str:
        return f"{self.name} is {'missing' if value is None else _shown(value)}"

    def _equals(self, value: Any) -> str:
        """The condition that rows with this value meet; missing values meet none."""
        if value is None:
            return ""
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        return str(Compare(Column(self.name), "==", Literal(plain)))

    def range_of(self, values: Sequence[Any]) -> str:
        """Many numbers, by the smallest and the largest."""
        return f"{self.name} is from {_shown(min(values))} to {_shown(max(values))}"

    def texts(self, rows: Index) -> list[tuple[str, str]]:
        """What some rows hold, and the condition that says so; '' if that is too much to say."""
        codes = self.codes[rows]
        here = [self.values[code] for code in np.unique(codes)]
        numbers = [value for value in here if value is not None and not isinstance(value, str)]
        if len(here) <= MOST_VALUES:
            found = {code: self.values[code] for code in np.unique(codes).tolist()}
            words = {code: (self._is(v), self._equals(v)) for code, v in found.items()}
        elif numbers:
            span = self.range_of(numbers)
            words = {
                code: (self._is(None) if value is None else span, "")
                for code, value in enumerate(self.values)
            }
        else:
            return [("", "")] * len(rows)
        return [words[code] for code in codes.tolist()]


def _combinations(columns: Sequence[_Column], rest: Booleans, alike: Index) -> Iterator[OddGroup]:
    """People of whom each value is named, but not together."""
    rows = np.flatnonzero(rest)
    if not rows.size:
        return
    texts = zip(*(column.texts(rows) for column in columns), strict=True)
    counts: dict[tuple[str, str], int] = {}
    for row, like_it in zip(texts, alike[rows].tolist(), strict=True):
        group = " and ".join(text for text, _ in row if text)
        condition = " and ".join(c for _, c in row) if all(c for _, c in row) else ""
        counts[group, condition] = counts.get((group, condition), 0) + like_it
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    yield from (OddGroup(group, n, False, "", c) for (group, c), n in ordered[:MOST_VALUES])
    if more := ordered[MOST_VALUES:]:
        text = f"one of {count(len(more))} other combinations"
        yield OddGroup(text, sum(n for _, n in more), False, "")


def _coded(column: Array) -> tuple[list[Any], Index]:
    """The different values of a column, None for missing, and the position of each row's."""
    missing = is_missing(column)
    if column.dtype.kind in "biuf":
        values, codes = np.unique(column[~missing], return_inverse=True)
        plain = values.tolist()
    else:
        places: dict[Any, int] = {}
        known = column[~missing].tolist()
        codes = np.fromiter((places.setdefault(v, len(places)) for v in known), np.intp, len(known))
        plain = list(places)
    every = np.full(column.shape, len(plain), dtype=np.intp)
    every[~missing] = codes
    return ([*plain, None] if missing.any() else plain), every


def _shown(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return repr(int(value) if whole else value)
