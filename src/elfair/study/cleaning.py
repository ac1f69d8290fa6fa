"""Columns as people write them, read as they are meant: missing values, other words, numbers.

Every value is read by itself, so new people are read as the logged ones were. A value that is not
written as declared is a mistake, never a guess. `elfair.study.numerals` reads numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from elfair.errors import DataError, listed
from elfair.records.tables import MISSING, is_plain_number, typed
from elfair.records.text import plural
from elfair.records.toml import toml
from elfair.study.keys import CleanKeys
from elfair.study.notation import DATES, date_hint, is_date, lines_for, notation, question
from elfair.study.numerals import Unread, mixed, number_reader, said

#: A number that is not text, as text.
_PLAIN = re.compile(r"-?\d+(\.0+)?")


#: What the values of a column are.
Kind: TypeAlias = Literal["number", "text"]


@dataclass
class CleanColumn:
    """A column as it was read, and an account of what was changed.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        The column.
    changes : list of str
        What was changed, and in how many rows.
    mistakes : list of DataError
        Values that are not written as declared.
    unread : list of int
        The rows of such values, which are missing in ``values``.
    """

    values: Any
    changes: list[str] = field(default_factory=list)
    mistakes: list[DataError] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


def clean_column(
    column: Any,
    name: str,
    keys: CleanKeys,
    *,
    missing: Sequence[Any] = (),
    is_text: bool = False,
    place: Callable[[int], str] = "row {}".format,
    kind: Kind | None = None,
) -> CleanColumn:
    """Read a column as a study declares it.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column, as it was written if it came from a text file.
    name : str
        Its name.
    keys : CleanKeys
        How it is written.
    missing : sequence
        Values that mean missing in every column.
    is_text : bool, default False
        Whether the column came from a text file.
    place : callable
        Where a row is, for messages.
    kind : {"number", "text"}, optional
        What every value must be, if that is known; a value of another kind is not read. Otherwise
        texts become numbers if all of them are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> keys = CleanKeys(percent=True, decimal=",", missing=("n/a",))
    >>> read = clean_column(pa.chunked_array([["12,5 %", "n/a", "7 %"]]), "p", keys)
    >>> read.values.to_pylist()
    [0.125, None, 0.07]
    >>> read.changes
    ["'n/a' of 'p' is missing: 1 row", "'p' was read as numbers, in per cent, written 1,5"]
    """
    import pyarrow as pa
    from pyarrow import compute

    if is_text or (kind is not None and _is_of(column.type, "text")):
        words = pa.array(MISSING if is_text else [""], column.type)
        absent = compute.is_in(compute.utf8_trim_whitespace(column), value_set=words)
        column = compute.if_else(absent, pa.scalar(None, column.type), column)
    if not missing and keys == CleanKeys():
        plain = typed(column) if is_text and kind != "text" else column
        if kind is None or _is_of(plain.type, kind):
            return CleanColumn(plain)
    encoded = compute.dictionary_encode(column).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    counted = {
        each["values"]: each["counts"] for each in compute.value_counts(encoded.indices).to_pylist()
    }
    distinct = encoded.dictionary.to_pylist()
    reading = _Reading(name, keys, [*keys.missing, *missing], is_text, kind)
    values = reading.read(distinct, [counted.get(k, 0) for k in range(len(distinct))])
    wrong = {k for k, each in enumerate(values) if isinstance(each, Unread)}
    rows = [k for k, each in enumerate(encoded.indices.to_pylist()) if each in wrong]
    if wrong:
        odd = dict.fromkeys(distinct[k] for k in sorted(wrong))
        values = [None if isinstance(each, Unread) else each for each in values]
        reading.mistakes.append(reading.unread(odd, len(rows), len(encoded), place(rows[0])))
    if len(reading.mistakes) > bool(wrong):
        return CleanColumn(column, reading.changes, reading.mistakes)
    made = pa.array(_one_kind(values)).take(encoded.indices)
    return CleanColumn(pa.chunked_array([made]), reading.changes, reading.mistakes, rows)


def _is_of(arrow: Any, kind: Kind) -> bool:
    """Whether all values of a column are of a kind, or missing; a date is a number of days."""
    from pyarrow import types

    if types.is_null(arrow):
        return True
    if kind == "text":
        return bool(types.is_string(arrow) or types.is_large_string(arrow))
    numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_temporal
    return any(each(arrow) for each in numbers)


class _Reading:
    """Reads the different values of one column."""

    def __init__(
        self,
        name: str,
        keys: CleanKeys,
        missing: Sequence[Any],
        is_text: bool,
        kind: Kind | None = None,
    ) -> None:
        self.name, self.keys, self.is_text, self.kind = name, keys, is_text, kind
        self.missing = {compared(each) for each in missing}
        self.changes: list[str] = []
        self.mistakes: list[DataError] = []
        #: The different texts about which nothing is declared one by one.
        self.texts: list[str] = []

    def read(self, distinct: Sequence[Any], counts: Sequence[int]) -> list[Any]:
        """What each value means; `Unread` for one that is not written as declared."""
        values: list[Any] = list(distinct)
        left = []  # the places of values about which nothing is declared
        said: dict[str, int] = {}
        for k, value in enumerate(distinct):
            if value is None:
                continue
            text = compared(value)
            exact = value if isinstance(value, str) else text
            if text in self.missing:
                values[k] = None
                said[f"{value!r} of {self.name!r} is missing"] = counts[k]
            elif exact in self.keys.values:
                values[k] = self.keys.values[exact]
                said[f"{value!r} of {self.name!r} is {values[k]!r}"] = counts[k]
            else:
                left.append(k)
        self.changes += [f"{what}: {plural(n, 'row')}" for what, n in said.items()]
        others = [distinct[k] for k in left]
        texts = {distinct[k]: counts[k] for k in left if isinstance(distinct[k], str)}
        self.texts = list(texts)
        if self.keys.is_number and (wrong := mixed(self.name, self.keys, texts)) is not None:
            self.mistakes.append(wrong)
        for k, value in zip(left, self._others(others), strict=True):
            values[k] = value
        if self.kind is not None:
            return [each if self._fits(each) else Unread() for each in values]
        self._check_kinds(values, distinct, counts)
        return values

    def _fits(self, value: Any) -> bool:
        """Whether a value is of the kind that all must be."""
        return value is None or isinstance(value, str) == (self.kind == "text")

    def _others(self, values: list[Any]) -> list[Any]:
        """The values that are neither missing nor have another word."""
        if self.keys.date is not None:
            self.changes.append(f"{self.name!r} was read as dates, written {self.keys.date}")
            return [_date(value, self.keys.date) for value in values]
        if self.keys.is_number:
            self.changes.append(f"{self.name!r} was read as numbers{said(self.keys)}")
            read = number_reader(self.keys)
            return [read(value) for value in values]
        if self.kind == "text":
            return values
        if self.kind == "number":
            read = number_reader(CleanKeys())
            return [read(v) if isinstance(v, str) and is_plain_number(v) else v for v in values]
        if self.is_text and values:
            import pyarrow as pa

            known: list[Any] = typed(pa.chunked_array([pa.array(values, pa.string())])).to_pylist()
            return known
        return values

    def _check_kinds(
        self, values: Sequence[Any], distinct: Sequence[Any], counts: Sequence[int]
    ) -> None:
        """Note if a column has become a mix of texts and numbers."""
        kinds: dict[str, list[int]] = {}
        for k, value in enumerate(values):
            if value is not None and not isinstance(value, Unread):
                kind = type(value).__name__
                kinds.setdefault("number" if kind in ("int", "float") else kind, []).append(k)
        if len(kinds) < 2:
            return
        few = min(kinds.values(), key=lambda places: sum(counts[k] for k in places))
        rest = [k for k in range(len(values)) if k not in few and values[k] is not None]
        shown = [
            f"{listed([distinct[k] for k in places], 5)} in "
            f"{plural(sum(counts[k] for k in places), 'row')}"
            for places in (few, rest)
        ]
        odd, other = distinct[few[0]], values[rest[0]]
        self.mistakes.append(
            DataError(
                f"column {self.name!r} would hold both numbers and text: {shown[0]}, beside "
                f"{shown[1]}.",
                hint=f"in [clean.{toml(self.name)}], give all of them the same kind of value, such "
                f"as values = {toml({compared(odd): other})}, or list what means missing: "
                f"missing = {toml([odd])}",
            )
        )

    def unread(self, odd: dict[Any, None], n: int, of: int, where: str) -> DataError:
        """What is wrong with values that are not written as declared."""
        return DataError(
            f"column {self.name!r} must hold {held(self.keys)}. It does not in {n:,} of {of:,} "
            f"rows (the first is {where}): {listed(odd, 5)}.",
            hint=self._cure(odd),
        )

    def _cure(self, odd: dict[Any, None]) -> str:
        """What would read values that are not written as declared."""
        texts = [each for each in odd if isinstance(each, str)]
        where = f"[clean.{toml(self.name)}]"
        if len(texts) == len(odd) and self.keys.date is not None:
            if every := date_hint(self.name, self.texts):
                return f"all of its values fit another form; {every}"
            forms = [form for form in DATES if all(is_date(text, form) for text in texts)]
            if forms:
                return (
                    f"these are written {' or '.join(forms)}, the others {self.keys.date}: write "
                    "them in one way in the table."
                )
        elif len(texts) == len(odd) and self.keys.is_number:
            if keys := notation(self.texts):
                return f"instead of what it says now, {lines_for(self.name, keys)}"
            if asked := question(self.name, self.texts):
                return asked
        some = list(odd)[:5]
        return (
            f"if these values mean missing, write missing = {toml(some)} in {where}; if they mean "
            f"something else, values = {toml({compared(some[0]): 0})}."
        )


def held(keys: CleanKeys) -> str:
    """What a column must hold that is read as numbers or dates, in words.

    Parameters
    ----------
    keys : CleanKeys
        How it is written.

    Examples
    --------
    >>> held(CleanKeys(decimal=",")), held(CleanKeys(date="%d.%m.%Y"))
    ('numbers, written 1,5', 'dates written %d.%m.%Y')
    """
    return f"dates written {keys.date}" if keys.date else f"numbers{said(keys)}"


def compared(value: Any) -> str:
    """A value as it is compared: numbers without zeros behind the point, texts without spaces.

    Parameters
    ----------
    value : object
        The value.

    Examples
    --------
    >>> compared(7.0), compared("7 "), compared("007")
    ('7', '7', '007')
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip()
    return text.split(".")[0] if _PLAIN.fullmatch(text) else text


def _date(value: Any, form: str) -> Any:
    if isinstance(value, str):
        try:
            return datetime.strptime(value.strip(), form)
        except ValueError:
            return Unread()
    return value if isinstance(value, datetime) else Unread()


def _one_kind(values: list[Any]) -> list[Any]:
    """Whole and other numbers as one kind of number."""
    if {type(each) for each in values} >= {int, float}:
        return [float(each) if isinstance(each, int) else each for each in values]
    return values
