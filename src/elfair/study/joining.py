"""What was measured later and has a table of its own, joined to the log by identifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elfair.errors import DataError, did_you_mean, listed
from elfair.records.tables import typed
from elfair.study.keys import LaterKeys
from elfair.study.sources import (
    OpenTable,
    SourceTable,
    check_columns,
    digest_of,
    open_tables,
    read_opened,
)


def read_joined(
    opened: Sequence[OpenTable], wanted: Sequence[str], later: LaterKeys | None, folder: Path
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
    folder : Path
        Where relative paths begin.
    """
    if later is None:
        return read_opened(opened, wanted, True)
    on = [later.on] if isinstance(later.on, str) else list(later.on)
    second = open_tables(later.source, query=later.query, folder=folder)
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
    return _joined(table, read_opened(second, [*of_second, *on], True), on, of_second)


def _joined(
    table: SourceTable, later: SourceTable, on: Sequence[str], columns: Sequence[str]
) -> SourceTable:
    keys, later_keys = _keys(table, on, "[data]"), _keys(later, on, "[later]")
    places = {each: k for k, each in enumerate(later_keys)}
    found = [places.get(each) for each in keys]
    n_found = sum(each is not None for each in found)
    if not n_found:
        raise DataError(
            f"no row of {later.name} belongs to one of {table.name} by {listed(on)}: for example "
            f"{listed(_shown(later_keys))} and {listed(_shown(keys))}.",
            hint="check on in [later], and that identifiers are written alike.",
        )
    import pyarrow as pa

    take = pa.array(found, pa.int64())
    whole = table.table
    for name in columns:
        whole = whole.append_column(name, later.table.column(name).take(take))
    stray = len(later_keys) - n_found
    changes = (
        f"{', '.join(map(repr, columns))} of {later.name} joined by {', '.join(map(repr, on))}: "
        f"{n_found:,} of {len(keys):,} rows have them; {stray:,} of its {len(later_keys):,} rows "
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


def _keys(table: SourceTable, on: Sequence[str], where: str) -> list[Any]:
    """The identifiers of a table; none may be missing or repeated."""
    columns = [
        typed(table.table.column(name)) if name in table.as_written else table.table.column(name)
        for name in on
    ]
    keys = list(zip(*(column.to_pylist() for column in columns), strict=True))
    absent = [k for k, key in enumerate(keys) if None in key]
    if absent:
        raise DataError(
            f"{listed(on)} is missing in {len(absent):,} of {len(keys):,} rows of the table of "
            f"{where} (the first is {table.place(absent[0])}).",
            hint="an identifier must be known in both tables.",
        )
    counts = Counter(keys)
    doubled = [key for key, count in counts.items() if count > 1]
    if doubled:
        rows = sum(counts[key] for key in doubled)
        raise DataError(
            f"{listed(on)} must identify the rows of the table of {where}. It repeats "
            f"{len(doubled):,} values, in {rows:,} rows, such as {listed(_shown(doubled))}.",
            hint="name more columns that tell rows apart, such as on = ['customer', 'date'].",
        )
    return keys


def _shown(keys: Sequence[Any]) -> list[Any]:
    return [key[0] if len(key) == 1 else key for key in keys[:2]]
