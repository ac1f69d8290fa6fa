"""A batch of people: whom a model can decide about, and why not the others.

Every row is judged by itself, so one bad value never stops a batch. A level that the model does not
know counts as missing, and what is missing is left to the preparation that the model learnt. Every
other row is used as it is, or is set aside with its reasons: none is lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elfair.data.columns import Columns, is_missing, table_columns
from elfair.errors import DataError, InputError, all_of, listed
from elfair.estimators.base import ELFEstimator
from elfair.language.conditions import Column, Compare, Literal, Member
from elfair.language.parsing import parse_condition
from elfair.language.tree import find
from elfair.records.text import plural
from elfair.study.cleaning import Kind, clean_column, compared, held
from elfair.study.derived import outside
from elfair.study.encoding import TableEncoding
from elfair.study.keys import CleanKeys
from elfair.study.reading import TableReading
from elfair.study.roster import Roster, read_roster
from elfair.study.sources import check_columns
from elfair.types import Booleans

#: The columns of rows that are set aside, before their own.
ASIDE = ("rejected_at", "rejected_from", "rejected_place", "rejected_reason")


class Reason(NamedTuple):
    """Why a row cannot be used.

    Parameters
    ----------
    what : str
        What is wrong; the same for all rows of which it is.
    got : str
        What this row has; empty if there is nothing to show.
    """

    what: str
    got: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.got}" if self.got else self.what


@dataclass(frozen=True)
class Batch:
    """People as a table has them: those whom a model can decide about, and the others.

    Parameters
    ----------
    roster : Roster
        All rows, as they are.
    reasons : mapping of int to tuple of Reason
        The rows that cannot be used, and why.
    features : pyarrow.Table or None
        The features of the others, as the model was fitted with them; None if there are none.
    notes : tuple of str
        What was left to the model's preparation, and in how many rows.
    """

    roster: Roster
    reasons: Mapping[int, tuple[Reason, ...]]
    features: Any
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.roster.places)

    @cached_property
    def usable(self) -> Booleans:
        """The rows that the model can decide about."""
        return np.array([k not in self.reasons for k in range(self.n)])

    @property
    def people(self) -> Any:
        """Those rows, as they are: a pyarrow table."""
        return self.roster.table.filter(self.usable)

    @property
    def rejected(self) -> Any:
        """The other rows with their cells as they are, their places and all reasons: a pyarrow
        table.
        """
        import pyarrow as pa

        rows = sorted(self.reasons)
        aside = self.roster.table.filter(~self.usable)
        require_free(ASIDE, aside.column_names)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        said = ["; ".join(map(str, self.reasons[k])) for k in rows]
        columns = zip(
            ASIDE,
            ([now] * len(rows), [self.roster.name] * len(rows),
             [self.roster.places[k] for k in rows], said),
            strict=True,
        )  # fmt: skip
        told = {name: pa.array(values, pa.string()) for name, values in columns}
        return pa.table({**told, **dict(zip(aside.column_names, aside.columns, strict=True))})

    def summary(self) -> list[str]:
        """Every reason, with the number of its rows, the first of them and what they have."""
        rows: dict[str, list[int]] = defaultdict(list)
        got: dict[str, dict[str, None]] = defaultdict(dict)
        for k in sorted(self.reasons):
            for reason in self.reasons[k]:
                rows[reason.what].append(k)
                got[reason.what][reason.got] = None
        lines = []
        for what, places in rows.items():
            shown = [each for each in got[what] if each]
            more = ["..."] if shown[5:] else []
            seen = f": {', '.join([*shown[:5], *more])}" if shown else ""
            where = f"{len(places):,} of {self.n:,} rows (the first is {self._place(places[0])})"
            lines.append(f"{what}, in {where}{seen}")
        return lines

    def _place(self, row: int) -> str:
        return self.roster.places[row]

    def require_whole(self, how: str = "pass read_batch(...)") -> None:
        """Raise if some row cannot be used: one error names every reason.

        Parameters
        ----------
        how : str
            How to decide about the others alone, in the words of whoever asks.
        """
        self._refuse(not self.usable.all(), f"correct them; or set them aside: {how}.")

    def require_some(self) -> None:
        """Raise if no row can be used."""
        self._refuse(not self.usable.any(), "correct them; nothing was decided or written.")

    def _refuse(self, wrong: bool, hint: str) -> None:
        if not wrong:
            return
        points = "\n".join(f"  - {line}." for line in self.summary())
        raise DataError(
            f"{self.roster.name}: {len(self.reasons):,} of {self.n:,} rows cannot be decided "
            f"about:\n{points}",
            hint=hint,
        )


def read_batch(
    model: ELFEstimator,
    people: Any,
    *,
    query: str | None = None,
    identify: bool = True,
    log: str | Path | None = None,
) -> Batch:
    """People as a table has them, judged row by row: whom the model can decide about.

    Parameters
    ----------
    model : ELFClassifier or ELFRegressor
        Made from a study, which says how to read the table.
    people : str, Path, pyarrow table, data frame or mapping
        One row for each person: a file, the address of a database, or a table in memory.
    query : str, optional
        The query, if it is the address of a database.
    identify : bool, default True
        Whether nobody may be there twice, if the study names an identifier.
    log : str or Path, optional
        A log of decisions: nobody who is in it may be decided about again.

    Returns
    -------
    Batch
        Pass it to `decisions` or `predictions`, which use the rows that can be used, and its
        ``rejected`` to `append_decisions`.
    """
    record = getattr(model, "encoding_", None)
    if record is None:
        raise InputError(
            "this model does not say how a table becomes features: it was not made from a study.",
            hint="load it in Python, and pass the features to its decide().",
        )
    model.require_solution()
    roster = people if isinstance(people, Roster) else read_roster(people, query=query)
    return _Judge(model, record, roster).batch(identify=identify, log=log)


class _Judge:
    """Judges the rows of one table."""

    def __init__(self, model: ELFEstimator, record: Mapping[str, Any], roster: Roster) -> None:
        self._encoding = TableEncoding.from_dict(record)
        self._reading = TableReading.from_dict(
            record.get("reading") or TableReading((), {}, (), ()).to_dict()
        )
        self._row_id = record.get("row_id")
        self._complete = all(each.preparation is None for each in model.fitted_.models)
        self._roster, self._n = roster, len(roster.places)
        self._reasons: dict[int, list[Reason]] = defaultdict(list)
        self._notes: list[str] = []

    def batch(self, *, identify: bool, log: str | Path | None) -> Batch:
        wanted = [feature.column for feature in self._encoding.features]
        columns = self._read(wanted)
        for row, words in self._roster.torn.items():
            self._reasons[row] = [Reason("the line is torn", words)]
        empty = self._empty()
        if identify and self._row_id is not None:
            self._identify(log, ~empty)
        self._outside(columns)
        features = {name: columns[name] for name in wanted}
        absent = {name: is_missing(column) for name, column in features.items()}
        self._levels(features)
        self._missing(features, absent)
        for row in np.flatnonzero(empty).tolist():
            self._reasons[row] = [Reason("the row is empty")]
        usable = np.array([k not in self._reasons for k in range(self._n)])
        encoded = None
        if usable.any():
            encoded = self._encoding.encode({n: c[usable] for n, c in features.items()})
        reasons = {k: tuple(dict.fromkeys(v)) for k, v in self._reasons.items()}
        return Batch(self._roster, reasons, encoded, tuple(self._notes))

    def _note(self, rows: Iterable[int], what: str, values: Iterable[Any] | None = None) -> None:
        """Set rows aside."""
        shown = [""] * self._n if values is None else [repr(each) for each in values]
        for row in rows:
            if row not in self._roster.torn:
                self._reasons[row].append(Reason(what, shown[row]))

    def _read(self, wanted: list[str]) -> Columns:
        """The columns, with what cannot be read missing and set aside."""
        import pyarrow as pa

        reading, table = self._reading, self._roster.table
        raw = reading.raw(wanted)
        hint = "the model was fitted with this column."
        check_columns(raw, table.column_names, self._roster.name, hint)
        kinds, cleaned, mistakes = self._kinds(), {}, list[DataError]()
        for name in raw:
            keys = reading.clean.get(name, CleanKeys())
            column = clean_column(
                table.column(name), name, keys, missing=reading.missing,
                is_text=self._roster.is_text, place=self._roster.places.__getitem__,
                kind=kinds.get(name),
            )  # fmt: skip
            cleaned[name] = column.values
            if column.unread:
                words = "text" if kinds.get(name) == "text" else held(keys)
                what = f"column {name!r} must hold {words}"
                self._note(column.unread, what, table.column(name).to_pylist())
            else:
                mistakes += column.mistakes
        if mistakes:
            raise all_of(self._roster.name, mistakes)
        columns = table_columns(pa.table(cleaned), "the table") or {}
        for name in reading.by_name:
            columns[name] = self._derived(name, columns)
        return columns

    def _derived(self, name: str, columns: Columns) -> Any:
        derived = self._reading.by_name[name]
        unnamed = derived.unnamed(columns)
        if not unnamed.any():
            return derived.made(columns)
        of = columns[derived.of[0]]
        what = f"a value of column {derived.of[0]!r} has no name in {name!r} of [derived]"
        self._note(np.flatnonzero(unnamed).tolist(), what, of.tolist())
        known = of.astype(object)
        known[unnamed] = None
        return derived.made({**columns, derived.of[0]: known})

    def _kinds(self) -> dict[str, Kind]:
        """What columns of the table hold, as far as the study tells."""
        kinds: dict[str, set[Kind]] = defaultdict(set)
        reading = self._reading
        for feature in self._encoding.features:
            text = bool(feature.levels) and isinstance(feature.levels[0], str)
            kinds[feature.column].add("text" if text else "number")
        texts = [*reading.keep, *(each.condition for each in reading.derived if each.condition)]
        for each in reading.derived:
            if each.bins:
                kinds[each.of[0]].add("number")
        for name, value in (pair for text in texts for pair in _comparisons(text)):
            if not isinstance(value, bool):
                kinds[name].add("text" if isinstance(value, str) else "number")
        dates = {name for name, keys in reading.clean.items() if keys.date is not None}
        return {
            name: next(iter(of)) for name, of in kinds.items() if len(of) == 1 and name not in dates
        }

    def _empty(self) -> Booleans:
        columns = self._roster.table.columns
        absent = [_blank(column.to_pylist()) for column in columns]
        return np.logical_and.reduce(absent) if absent else np.zeros(self._n, dtype=np.bool_)

    def _identify(self, log: str | Path | None, filled: Booleans) -> None:
        """Set people aside who are there twice, who are in the log, or who have no identifier."""
        name, table = str(self._row_id), self._roster.table
        if name not in table.column_names:
            raise DataError(
                f"{self._roster.name} has no column {name!r}, by which the study identifies "
                "people: nobody could tell whether somebody is decided about twice.",
                hint=f"add the column {name!r}; `elfair predict` draws without deciding.",
            )
        values = table.column(name).to_pylist()
        absent = _blank(values)
        what = f"column {name!r}, which identifies people, is missing"
        self._note(np.flatnonzero(absent & filled).tolist(), what)
        known = set() if log is None else logged_people(log, name)
        ids = {k: compared(values[k]) for k in np.flatnonzero(~absent).tolist()}
        self._note(
            [k for k, person in ids.items() if person in known],
            f"{name!r} is in the log {str(log)!r} already", values,
        )  # fmt: skip
        twice = {person for person, count in Counter(ids.values()).items() if count > 1}
        rows: dict[str, list[int]] = defaultdict(list)
        for k, person in ids.items():
            if person in twice:
                rows[person].append(k)
        for of in rows.values():
            cells = {tuple(map(str, table.take([k]).to_pylist()[0].values())) for k in of}
            if len(cells) == 1:
                self._note(of[1:], f"{name!r} is there already, with the same values", values)
            else:
                self._note(of, f"{name!r} is there several times, with different values", values)

    def _outside(self, columns: Columns) -> None:
        """Set people aside for whom the model was not certified."""
        for text in self._reading.keep:
            false, unknown = outside(text, columns, self._n)
            whom = "the model was not certified for people of whom"
            self._note(np.flatnonzero(false).tolist(), f"{whom} {text} does not hold")
            self._note(np.flatnonzero(unknown).tolist(), f"{whom} nobody knows whether {text}")

    def _levels(self, features: Columns) -> None:
        """Levels that the model does not know count as missing."""
        for feature in self._encoding.features:
            column = features[feature.column]
            unknown = feature.unknown(column)
            if unknown.any():
                odd = dict.fromkeys(column[unknown].tolist())
                self._notes.append(
                    f"column {feature.column!r} holds levels that the model does not know, which "
                    f"count as missing: {listed(odd, 5)}, in {plural(int(unknown.sum()), 'row')}"
                )
                known = column.astype(object)
                known[unknown] = None
                features[feature.column] = known

    def _missing(self, features: Columns, absent: Mapping[str, Booleans]) -> None:
        """What is missing is for the preparation of the model, if it learnt one; ``absent`` is what
        was missing before unknown levels were.
        """
        for feature in self._encoding.features:
            name = feature.column
            missing = np.flatnonzero(is_missing(features[name])).tolist()
            missing = [k for k in missing if k not in self._reasons]
            if self._complete and len(feature.names) == 1:
                what = f"column {name!r} is missing, and the model has not learnt what to do then"
                self._note(missing, f"{what}: all rows that it was fitted to have one")
            elif handled := sum(bool(absent[name][k]) for k in missing):
                self._notes.append(
                    f"column {name!r} is missing, which the model's preparation handles: "
                    f"{plural(handled, 'row')}"
                )
        for name, column in features.items():
            if column.dtype.kind == "f" and np.isinf(column).any():
                self._note(
                    np.flatnonzero(np.isinf(column)).tolist(), f"column {name!r} is infinite"
                )


def logged_people(log: str | Path, name: str) -> set[str]:
    """The identifiers in a log, as they are compared; none if there is no log yet.

    Parameters
    ----------
    log : str or Path
        The log.
    name : str
        The column of identifiers.
    """
    if not Path(log).exists() or not Path(log).stat().st_size:
        return set()
    known = read_roster(Path(log)).table
    return (
        set(map(compared, known.column(name).to_pylist())) if name in known.column_names else set()
    )


def require_free(names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if a table has columns already that are to be added to it.

    Parameters
    ----------
    names : iterable of str
        The columns to add.
    taken : iterable of str
        Those that it has.

    Examples
    --------
    >>> require_free(["decision"], ["age", "sex"])
    """
    for name in names:
        if name in taken:
            raise DataError(
                f"the table has a column {name!r} already, which this would add.", hint="rename it."
            )


def _blank(values: list[Any]) -> Booleans:
    """Which values are missing, or nothing but spaces."""
    return np.array(
        [each is None or each != each or not str(each).strip() for each in values], dtype=np.bool_
    )


def _comparisons(text: str) -> list[tuple[str, Any]]:
    """The columns of a condition, each with a value that it is compared with."""
    condition = parse_condition(text)
    sides: list[list[Any]] = [[each.left, each.right] for each in find(condition, Compare)]
    sides += [[each.left, *each.values] for each in find(condition, Member)]
    return [
        (column.name, literal.value)
        for each in sides
        for column in each
        for literal in each
        if isinstance(column, Column) and isinstance(literal, Literal)
    ]
