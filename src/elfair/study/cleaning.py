"""Columns as people write them, read as they are meant: missing values, other words, numbers.

Every value is read by itself, so new people are read as the logged ones were. A value that is not
written as declared is a mistake, never a guess. Numbers are read by decimal arithmetic: ``12,5 %``
is exactly what ``0.125`` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from elfair.errors import DataError, listed
from elfair.records.tables import MISSING, typed
from elfair.records.text import plural
from elfair.records.toml import toml
from elfair.study.keys import CleanKeys

#: Spaces that look like one another: a space, and those that keep a number on one line.
_SPACES = re.compile("[\u00a0\u2009\u202f]")
#: A number that is not text, as text.
_PLAIN = re.compile(r"-?\d+(\.0+)?")


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
    """

    values: Any
    changes: list[str] = field(default_factory=list)
    mistakes: list[DataError] = field(default_factory=list)


def clean_column(
    column: Any,
    name: str,
    keys: CleanKeys,
    *,
    missing: Sequence[Any] = (),
    is_text: bool = False,
    place: Callable[[int], str] = "row {}".format,
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
        Whether the column came from a text file: texts become numbers if all of them are.
    place : callable
        Where a row is, for messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> keys = CleanKeys(percent=True, decimal=",", missing=("n/a",))
    >>> read = clean_column(pa.chunked_array([["12,5 %", "n/a", "7"]]), "p", keys)
    >>> read.values.to_pylist()
    [0.125, None, 0.07]
    >>> read.changes
    ["'n/a' of 'p' is missing: 1 row", "'p' was read as numbers, in per cent, written 1,5"]
    """
    import pyarrow as pa
    from pyarrow import compute

    if is_text:
        absent = compute.is_in(compute.utf8_trim_whitespace(column), value_set=pa.array(MISSING))
        column = compute.if_else(absent, pa.scalar(None, pa.string()), column)
    if not missing and keys == CleanKeys():
        return CleanColumn(typed(column) if is_text else column)
    encoded = compute.dictionary_encode(column).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    counted = {
        each["values"]: each["counts"] for each in compute.value_counts(encoded.indices).to_pylist()
    }
    distinct = encoded.dictionary.to_pylist()
    reading = _Reading(name, keys, [*keys.missing, *missing], is_text)
    values = reading.read(distinct, [counted.get(k, 0) for k in range(len(distinct))])
    wrong = {k for k, each in enumerate(values) if isinstance(each, Unread)}
    if wrong:
        rows = [k for k, each in enumerate(encoded.indices.to_pylist()) if each in wrong]
        odd = dict.fromkeys(distinct[k] for k in sorted(wrong))
        values = [None if isinstance(each, Unread) else each for each in values]
        reading.mistakes.append(reading.unread(odd, len(rows), len(encoded), place(rows[0])))
    if reading.mistakes:
        return CleanColumn(column, reading.changes, reading.mistakes)
    made = pa.array(_one_kind(values)).take(encoded.indices)
    return CleanColumn(pa.chunked_array([made]), reading.changes)


class Unread:
    """Stands for a value that is not written as declared."""


class _Reading:
    """Reads the different values of one column."""

    def __init__(self, name: str, keys: CleanKeys, missing: Sequence[Any], is_text: bool) -> None:
        self.name, self.keys, self.is_text = name, keys, is_text
        self.missing = {_text(each) for each in missing}
        self.changes: list[str] = []
        self.mistakes: list[DataError] = []

    def read(self, distinct: Sequence[Any], counts: Sequence[int]) -> list[Any]:
        """What each value means; `Unread` for one that is not written as declared."""
        values: list[Any] = list(distinct)
        left = []  # the places of values about which nothing is declared
        said: dict[str, int] = {}
        for k, value in enumerate(distinct):
            if value is None:
                continue
            text = _text(value)
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
        for k, value in zip(left, self._others([distinct[k] for k in left]), strict=True):
            values[k] = value
        self._check_kinds(values, distinct, counts)
        return values

    def _others(self, values: list[Any]) -> list[Any]:
        """The values that are neither missing nor have another word."""
        if self.keys.date is not None:
            self.changes.append(f"{self.name!r} was read as dates, written {self.keys.date}")
            return [_date(value, self.keys.date) for value in values]
        if self.keys.is_number:
            self.changes.append(f"{self.name!r} was read as numbers{_written(self.keys)}")
            read = _number_reader(self.keys)
            return [read(value) for value in values]
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
                f"as values = {toml({_text(odd): other})}, or list what means missing: "
                f"missing = {toml([odd])}",
            )
        )

    def unread(self, odd: dict[Any, None], n: int, of: int, where: str) -> DataError:
        """What is wrong with values that are not written as declared."""
        dates = f"dates written {self.keys.date}"
        what = dates if self.keys.date else f"numbers{_written(self.keys)}"
        some = list(odd)[:5]
        return DataError(
            f"column {self.name!r} must hold {what}. It does not in {n:,} of {of:,} rows (the "
            f"first is {where}): {listed(odd, 5)}.",
            hint=f"if these values mean missing, write missing = {toml(some)} in "
            f"[clean.{toml(self.name)}]; if they mean something else, values = "
            f"{toml({_text(some[0]): 0})}.",
        )


def _text(value: Any) -> str:
    """A value as it is compared: numbers without zeros behind the point, texts without spaces."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip()
    return text.split(".")[0] if _PLAIN.fullmatch(text) else text


def _written(keys: CleanKeys) -> str:
    """How the numbers of a column are written, in words."""
    said = [", in per cent"] if keys.percent else []
    said += [f", times {keys.scale:g}"] if keys.scale is not None else []
    units = keys.units
    said += [f", with {' or '.join(map(repr, units))}"] if units else []
    if keys.decimal or keys.thousands:
        thousands = f"{keys.thousands}000" if keys.thousands else ""
        said.append(f", written 1{thousands}{keys.decimal or '.'}5")
    return "".join(said)


def factor(keys: CleanKeys) -> Decimal:
    """What a number of a column is multiplied by.

    Parameters
    ----------
    keys : CleanKeys
        How it is written.

    Examples
    --------
    >>> factor(CleanKeys(percent=True)), factor(CleanKeys(scale=1000.0))
    (Decimal('0.01'), Decimal('1000.0'))
    """
    scale = Decimal(1) if keys.scale is None else Decimal(repr(keys.scale))
    return scale * Decimal("0.01") if keys.percent else scale


def _number_reader(keys: CleanKeys) -> Callable[[Any], Any]:
    """What reads a number that is written as declared."""
    point, comma = re.escape(keys.decimal or "."), re.escape(keys.thousands or "")
    whole = rf"\d{{1,3}}(?:{comma}\d{{3}})+|\d+" if comma else r"\d+"
    units = [*keys.units, *(["%"] if keys.percent else [])]
    unit = "|".join(re.escape(_SPACES.sub(" ", each).strip()) for each in units)
    around = f"(?:{unit})?" if unit else ""
    digits = rf"({whole}|(?={point}\d))(?:{point}(\d*))?([eE][+-]?\d+)?"
    number = re.compile(rf"([+-]?) ?{around} ?([+-]?){digits} ?{around}")
    times, exact = factor(keys), factor(keys) == 1

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return Unread()
        if isinstance(value, str):
            text = _SPACES.sub(" ", value).replace("\u2212", "-").strip()
            found = number.fullmatch(text)
            if found is None or (found[1] and found[2]):
                return Unread()
            whole = found[3].replace(keys.thousands, "") if keys.thousands else found[3]
            value = f"{found[1]}{found[2]}{whole or 0}.{found[4] or 0}{found[5] or ''}"
            is_whole = found[4] is None and found[5] is None
        else:
            value, is_whole = repr(value), isinstance(value, int)
        try:
            read = Decimal(value) * times
        except InvalidOperation:
            return Unread()
        return int(read) if is_whole and exact else float(read)

    return read


def written(number: float, keys: CleanKeys) -> Any:
    """A number as such a column has it, so that it can be added to the table.

    Parameters
    ----------
    number : float
        What it means.
    keys : CleanKeys
        How the column is written.

    Examples
    --------
    >>> written(0.125, CleanKeys(percent=True)), written(0.125, CleanKeys(decimal=","))
    (12.5, '0,125')
    """
    value = float(Decimal(repr(float(number))) / factor(keys))
    return value if keys.decimal in (None, ".") else repr(value).replace(".", keys.decimal)


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
