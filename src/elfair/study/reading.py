"""From the table as it is to the columns of a study: cleaned, derived, and of whom it speaks.

The record of this is stored with a model, so new people are read as the logged ones were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from elfair.certificate import GroupCount, LeftOut
from elfair.data.columns import Columns, is_missing, table_columns
from elfair.errors import DataError, InputError
from elfair.language.conditions import columns_used
from elfair.language.parsing import parse_condition
from elfair.records.json import from_plain, to_plain
from elfair.records.toml import class_text
from elfair.study.cleaning import clean_column
from elfair.study.derived import Derived, closure, outside
from elfair.study.keys import CleanKeys
from elfair.study.sources import SourceTable, check_columns
from elfair.types import Booleans

_NOTHING = CleanKeys()


@dataclass(frozen=True)
class TableReading:
    """How the columns of a study are made of those of a table, and which rows take part.

    Parameters
    ----------
    missing : tuple
        Values that mean missing in every column.
    clean : mapping of str to CleanKeys
        How columns are written.
    derived : tuple of Derived
        Columns that are made of others, in order.
    keep : tuple of str
        Conditions that rows must meet.

    Examples
    --------
    >>> import pyarrow as pa
    >>> reading = TableReading(missing=(-9,), clean={}, derived=(), keep=("age >= 18",))
    >>> read = reading.read(SourceTable(pa.table({"age": [17, 30, -9]}), "people", None), ["age"])
    >>> read.kept.tolist()
    [False, True, False]
    >>> [(each.reason, each.n) for each in read.outside]
    [('age >= 18 does not hold', 1), ('whether age >= 18 is not known', 1)]
    >>> TableReading.from_dict(reading.to_dict()) == reading
    True
    """

    missing: tuple[Any, ...]
    clean: Mapping[str, CleanKeys]
    derived: tuple[Derived, ...]
    keep: tuple[str, ...]

    @cached_property
    def by_name(self) -> dict[str, Derived]:
        """The derived columns."""
        return {each.name: each for each in self.derived}

    def restricted(self, wanted: Sequence[str], keep: Sequence[str]) -> TableReading:
        """As much of it as some columns and conditions need.

        Parameters
        ----------
        wanted : sequence of str
            The columns.
        keep : sequence of str
            The conditions.
        """
        raw, made = closure([*wanted, *_compared(keep)], self.by_name)
        clean = {name: keys for name, keys in self.clean.items() if name in raw}
        return TableReading(
            self.missing, clean, tuple(self.by_name[name] for name in made), tuple(keep)
        )

    def raw(self, wanted: Sequence[str]) -> list[str]:
        """The columns of the table that are needed for some columns, and to know who takes part.

        Parameters
        ----------
        wanted : sequence of str
            The columns.
        """
        return closure([*wanted, *_compared(self.keep)], self.by_name)[0]

    def as_written(self, names: Collection[str]) -> list[str]:
        """The columns of a text file that must be read as they were written.

        Parameters
        ----------
        names : collection of str
            All columns.
        """
        return [name for name in names if self.missing or name in self.clean]

    def read(
        self, source: SourceTable, wanted: Sequence[str], groups: Sequence[str] = ()
    ) -> ReadTable:
        """Read a table. What is wrong with it is kept, so that one error can list everything.

        Parameters
        ----------
        source : SourceTable
            The table, with what text files have as it was written.
        wanted : sequence of str
            The columns that are needed.
        groups : sequence of str
            The columns by which rows that take no part are counted.
        """
        import pyarrow as pa

        table, mistakes, changes = source.table, list[DataError](), [*source.changes]
        raw, made = closure([*wanted, *_compared(self.keep)], self.by_name)
        check_columns(raw, table.column_names, source.name, "check the names in the study file.")
        cleaned, broken = {}, set[str]()
        for name in raw:
            column = clean_column(
                table.column(name),
                name,
                self.clean.get(name, _NOTHING),
                missing=self.missing,
                is_text=name in source.as_written,
                place=source.place,
            )
            cleaned[name] = column.values
            changes += column.changes
            mistakes += column.mistakes
            broken |= {name} if column.mistakes else set()
        for name in self.by_name:
            if name in {*table.column_names, *source.names}:
                mistakes.append(_taken(name, source.name))
        columns = table_columns(pa.table(cleaned), "the table") or {}
        for name in made:
            columns[name] = np.full(table.num_rows, None, dtype=object)
            if not broken.isdisjoint(self.by_name[name].of):
                broken.add(name)
                continue
            try:
                columns[name] = self.by_name[name].made(columns)
            except DataError as error:
                mistakes.append(error)
                broken.add(name)
        kept, left_out = self._kept(columns, table.num_rows, groups, raw, broken)
        return ReadTable(
            source, columns, tuple(changes), kept, left_out, tuple(mistakes), frozenset(broken)
        )

    def _kept(
        self,
        columns: Columns,
        n: int,
        groups: Sequence[str],
        raw: Sequence[str],
        broken: Collection[str],
    ) -> tuple[Booleans, tuple[LeftOut, ...]]:
        """The rows that meet all conditions that can be asked, and an account of the others."""
        kept = np.ones(n, dtype=np.bool_)
        account = []
        empty = np.all([is_missing(columns[name]) for name in raw], axis=0)
        if len(raw) > 1 and empty.any():  # as programs write them below a table
            account.append(LeftOut("the row is empty", int(empty.sum()), ()))
            kept &= ~empty
        asked = [text for text in self.keep if _is_readable(text, broken)]
        for text in asked:
            for reason, out in zip(
                (f"{text} does not hold", f"whether {text} is not known"),
                outside(text, columns, n),
                strict=True,
            ):
                lost = out & kept
                if lost.any():
                    counted = counted_by({each: columns[each][lost] for each in groups})
                    account.append(LeftOut(reason, int(lost.sum()), counted))
                kept &= ~lost
        if not kept.any():
            raise DataError(
                f"no row is left: none of {n:,} meets {' and '.join(self.keep)}.",
                hint="check keep in [rows].",
            )
        return kept, tuple(account)

    def to_dict(self) -> dict[str, Any]:
        """The record, as JSON can hold it."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The reading that a record describes; DataError if it describes none."""
        try:
            return from_plain(record, cls)
        except (TypeError, InputError) as error:
            raise DataError(
                f"this does not say how a table is read: {str(error).splitlines()[0]}",
                hint="it comes from TableReading.to_dict().",
            ) from None


@dataclass(frozen=True)
class ReadTable:
    """A table as a study reads it.

    Parameters
    ----------
    source : SourceTable
        The table as it is.
    columns : dict of str to ndarray
        Its columns, cleaned, and those that were derived.
    changes : tuple of str
        What was changed, and in how many rows.
    kept : ndarray of bool
        The rows that take part.
    outside : tuple of LeftOut
        An account of the others.
    mistakes : tuple of DataError
        What is wrong with some of the columns.
    broken : frozenset of str
        These columns, and what is derived of them.
    """

    source: SourceTable
    columns: Columns
    changes: tuple[str, ...]
    kept: Booleans
    outside: tuple[LeftOut, ...]
    mistakes: tuple[DataError, ...] = ()
    broken: frozenset[str] = frozenset()

    def rows(self, which: Booleans) -> Columns:
        """Some rows of all columns."""
        return {name: column[which] for name, column in self.columns.items()}


def _compared(keep: Sequence[str]) -> list[str]:
    return [name for text in keep for name in sorted(columns_used(parse_condition(text)))]


def _is_readable(condition: str, broken: Collection[str]) -> bool:
    """Whether a condition compares no column that cannot be read."""
    return set(broken).isdisjoint(_compared([condition]))


def _taken(name: str, source: str) -> DataError:
    return DataError(
        f"{name!r} of [derived] would replace a column of {source} with the same name.",
        hint="give it another name; [clean] changes the values of a column itself.",
    )


#: What a row without a group is counted under.
NO_GROUP = "(missing)"


def counted_by(groups: Mapping[str, Any]) -> tuple[GroupCount, ...]:
    """How many rows each group has, the largest first.

    Parameters
    ----------
    groups : mapping of str to ndarray
        Columns that name groups.

    Examples
    --------
    >>> counted_by({"sex": np.array(["F", "F", None], dtype=object)})
    (GroupCount(group='sex = F', n=2), GroupCount(group='sex = (missing)', n=1))
    """
    counted = []
    for name, column in groups.items():
        pairs = zip(column.tolist(), is_missing(column), strict=True)
        counts = Counter(NO_GROUP if absent else class_text(value) for value, absent in pairs)
        counted += [GroupCount(f"{name} = {group}", n) for group, n in counts.most_common()]
    return tuple(counted)
