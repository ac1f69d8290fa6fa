"""What was measured later and has a table of its own, joined to the log by identifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from elfair.errors import DataError, did_you_mean, listed
from elfair.records.tables import filled_rows
from elfair.records.toml import toml
from elfair.study.cleaning import clean_column
from elfair.study.keys import CleanKeys, LaterKeys
from elfair.study.reach import Reach
from elfair.study.sources import (
    OpenTable,
    SourceTable,
    check_columns,
    digest_of,
    open_tables,
    read_opened,
)

#: The identifier of each row; None for a row that is empty.
Keys: TypeAlias = Sequence[tuple[Any, ...] | None]


def read_joined(
    opened: Sequence[OpenTable],
    wanted: Sequence[str],
    later: LaterKeys | None,
    clean: Mapping[str, CleanKeys],
    folder: Path,
    reach: Reach,
) -> SourceTable:
    """The columns of a study as they were written, from its table and the one that came later.

    Parameters
    ----------
    opened : sequence of OpenTable
        The table of the study.
    wanted : sequence of str
        The columns that are needed.
    later : LaterKeys or None
        The table that came later, if there is one.
    clean : mapping of str to CleanKeys
        How columns are written: identifiers are compared as they are read.
    folder : Path
        Where relative paths begin.
    reach : Reach
        What the study may read.
    """
    if later is None:
        return read_opened(opened, wanted, True)
    on = [later.on] if isinstance(later.on, str) else list(later.on)
    second = open_tables(later.source, query=later.query, folder=folder, reach=reach)
    first_has = {name for each in opened for name in each.names}
    second_has = {name for each in second for name in each.names}
    both = [name for name in wanted if name in first_has & second_has and name not in on]
    if both:
        raise DataError(
            f"the table of [data] and that of [later] both have {listed(both)}.",
            hint="rename the column in one of them, or leave it out there.",
        )
    of_first = [name for name in wanted if name not in second_has or name in on]
    of_second = [name for name in wanted if name in second_has and name not in on]
    if not of_second:
        raise DataError(
            "the table of [later] has none of the columns that the study names; its columns: "
            f"{listed(sorted(second_has), 30)}.",
            hint=did_you_mean(
                next((name for name in wanted if name not in first_has), ""),
                second_has,
                "name its column as impact of [columns].",
            ),
        )
    for tables, where in ((opened, "[data]"), (second, "[later]")):
        names = {name for each in tables for name in each.names}
        check_columns(on, names, f"the table of {where}", "check on in [later].")
    table = read_opened(opened, [*of_first, *on], True)
    of_later = read_opened(second, [*of_second, *on], True)
    keys = _keys(table, on, clean, "[data]"), _keys(of_later, on, clean, "[later]")
    return _joined((table, of_later), keys, on, of_second)


def _joined(
    tables: tuple[SourceTable, SourceTable],
    both_keys: tuple[Keys, Keys],
    on: Sequence[str],
    columns: Sequence[str],
) -> SourceTable:
    (table, later), (keys, later_keys) = tables, both_keys
    n_keys, n_later = (sum(key is not None for key in each) for each in (keys, later_keys))
    places = {key: k for k, key in enumerate(later_keys) if key is not None}
    found = [None if key is None else places.get(key) for key in keys]
    n_found = sum(each is not None for each in found)
    if not n_found:
        raise DataError(
            f"no row of {later.name} belongs to one of {table.name} by {listed(on)}: for example "
            f"{listed(_shown([*places]))} and {listed(_shown([*filter(None, keys)]))}.",
            hint=_written_alike(on, [*keys, *later_keys]),
        )
    import pyarrow as pa

    take = pa.array(found, pa.int64())
    whole = table.table
    for name in columns:
        whole = whole.append_column(name, later.table.column(name).take(take))
    changes = (
        *table.changes,
        *later.changes,
        f"{', '.join(map(repr, columns))} of {later.name} joined by {', '.join(map(repr, on))}: "
        f"{n_found:,} of {n_keys:,} rows have them; {n_later - n_found:,} of its {n_later:,} rows "
        "belong to none",
    )
    digests = [each for each in (table.digest, later.digest) if each is not None]
    as_written = table.as_written | (later.as_written - set(on))
    return replace(
        table,
        table=whole,
        name=f"{table.name}, {later.name}",
        digest=digest_of(digests) if len(digests) == 2 else None,
        as_written=as_written,
        changes=changes,
        names=table.names | later.names,
    )


def _written_alike(on: Sequence[str], keys: Keys) -> str:
    """What to do if no identifier of one table is in the other."""
    parts = zip(on, zip(*(key for key in keys if key is not None), strict=True), strict=True)
    for name, values in parts:
        texts = [value for value in values if isinstance(value, str)]
        if 0 < len(texts) < len(values) and all(map(str.isdecimal, texts)):
            return (
                "one table has lost the zeros that these numbers begin with: write decimal = "
                f'"." in [clean.{toml(name)}], which reads 007 and 7.0 as the same number.'
            )
    return "check on in [later], and that identifiers are written alike."


def _keys(
    table: SourceTable, on: Sequence[str], clean: Mapping[str, CleanKeys], where: str
) -> Keys:
    """The identifiers of a table; none may be missing or repeated. An empty row has none."""
    columns = []
    for name in on:
        keys, is_text = clean.get(name, CleanKeys()), name in table.as_written
        column = table.table.column(name)
        read = clean_column(column, name, keys, is_text=is_text, place=table.place)
        if read.mistakes:
            raise read.mistakes[0]
        columns.append(read.values)
    empty = ~filled_rows(table.table)
    found = [
        None if nothing else key
        for key, nothing in zip(
            zip(*(column.to_pylist() for column in columns), strict=True), empty, strict=True
        )
    ]
    absent = [k for k, key in enumerate(found) if key is not None and None in key]
    if absent:
        raise DataError(
            f"{listed(on)} is missing in {len(absent):,} of {len(found):,} rows of the table of "
            f"{where} (the first is {table.place(absent[0])}).",
            hint="an identifier must be known in both tables.",
        )
    counts = Counter(key for key in found if key is not None)
    doubled = [key for key, count in counts.items() if count > 1]
    if doubled:
        rows = sum(counts[key] for key in doubled)
        raise DataError(
            f"{listed(on)} must identify the rows of the table of {where}. It repeats "
            f"{len(doubled):,} values, in {rows:,} rows, such as {listed(_shown(doubled))}.",
            hint="name more columns that tell rows apart, such as on = ['customer', 'date'].",
        )
    return found


def _shown(keys: Sequence[Any]) -> list[Any]:
    return [key[0] if len(key) == 1 else key for key in keys[:2]]
