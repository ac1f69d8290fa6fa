"""A table of people as it is, with the place of every row: from a file, a query or memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from elfair.errors import DataError, InputError
from elfair.records.tables import DelimitedText
from elfair.study.sources import OpenTable, SourceTable, open_tables, read_opened


@dataclass(frozen=True)
class Roster:
    """A table of people, and where each row is.

    Parameters
    ----------
    table : pyarrow.Table
        All rows and columns; those of text files as they were written.
    name : str
        Where it came from, without secrets.
    places : tuple of str
        Where each row is, as people find it.
    is_text : bool
        Whether it came from text files.
    torn : mapping of int to str
        The rows of text files that do not have as many fields as there are columns, and what is
        wrong with them.
    """

    table: Any
    name: str
    places: tuple[str, ...]
    is_text: bool
    torn: Mapping[int, str]


def read_roster(people: Any, *, query: str | None = None) -> Roster:
    """A table of people, whatever holds it.

    Parameters
    ----------
    people : str, Path, SourceTable, pyarrow table, data frame or mapping
        A file, the address of a database, or a table in memory.
    query : str, optional
        The query, if it is the address of a database.

    Examples
    --------
    >>> roster = read_roster({"age": [30, 41]})
    >>> roster.table.to_pydict(), roster.places
    ({'age': [30, 41]}, ('row 0', 'row 1'))
    """
    if isinstance(people, str | Path):
        return _of_files(open_tables(people, query=query))
    if isinstance(people, SourceTable):
        places = tuple(map(people.place, range(people.table.num_rows)))
        is_text = set(people.as_written) >= set(people.table.column_names)
        return Roster(people.table, people.name, places, is_text, {})
    table = _arrow(people)
    if not table.num_rows:
        raise DataError("the table has no rows.", hint="every row is one person.")
    return Roster(table, "the table", tuple(f"row {k}" for k in range(table.num_rows)), False, {})


def _arrow(people: Any) -> Any:
    import pyarrow as pa

    if isinstance(people, pa.Table):
        return people
    if isinstance(people, Mapping):
        return pa.table(dict(people))
    frame = nw.from_native(people, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        try:
            return frame.to_arrow().select(frame.columns)  # without the row labels of pandas
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # a column of texts and numbers
            return pa.table({name: _mixed(frame[name]) for name in frame.columns})
    raise InputError(
        f"people must be a file, the address of a database or a table. Got "
        f"{type(people).__name__} instead.",
        hint="pass a path, a data frame or a pyarrow table, one row for each person.",
    )


def _mixed(series: Any) -> Any:
    """A column as Arrow has it; one of several kinds of values, as their texts."""
    import pyarrow as pa

    absent, values = series.is_null().to_list(), series.to_list()
    values = [None if gone else value for gone, value in zip(absent, values, strict=True)]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if each is None else str(each) for each in values])


def _of_files(opened: list[OpenTable]) -> Roster:
    """All rows of files, or of a query; torn lines among them."""
    import pyarrow as pa

    if not all(each.is_text for each in opened):
        read = read_opened(opened)
        return Roster(read.table, read.name, _places(opened, read), False, {})
    names = opened[0].names
    for each in opened[1:]:
        if each.names != names:
            read_opened(opened)  # says which column is missing where
    rows: list[list[str]] = []
    places: list[str] = []
    torn: dict[int, str] = {}
    for each in opened:
        assert each.path is not None
        text = DelimitedText(each.path.read_bytes(), each.name)
        of = f" of {each.name}" if len(opened) > 1 else ""
        kept = [k for k, name in enumerate(text.names) if name]
        for line, fields in text.records():
            if len(fields) != len(text.names):
                torn[len(rows)] = (
                    f"the line has {len(fields)} fields, but the first line names "
                    f"{len(text.names)} columns: {fields!r}"
                )
                fields = [*fields, *[""] * len(text.names)]
            rows.append([fields[k] for k in kept])
            places.append(f"line {line:,}{of}")
    name = ", ".join(each.name for each in opened)
    if not rows:
        raise DataError(f"{name} has no rows.", hint="every row is one person.")
    columns = zip(*rows, strict=True)
    table = pa.table(
        {name: pa.array(c, pa.string()) for name, c in zip(names, columns, strict=True)}
    )
    return Roster(table, name, tuple(places), True, torn)


def _places(opened: list[OpenTable], read: SourceTable) -> tuple[str, ...]:
    return tuple(
        f"row {k + 1:,}{f' of {part.name}' if len(opened) > 1 else ''}"
        for part in read.parts
        for k in range(part.n)
    )
