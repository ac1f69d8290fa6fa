"""What a table must not hold when a study is read: each with its column, its count and its cure.

None of this is guessed away. Numbers that are not numbers, codes for "missing" among numbers, one
decision in two spellings and a line of totals would change a result without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data.columns import is_missing
from elfair.data.spelling import MOST_COMPARED, codes_in, odd_classes, stands_for_missing
from elfair.errors import DataError, listed
from elfair.records.tables import is_plain_number
from elfair.records.toml import class_text, toml
from elfair.study.keys import CleanKeys, ColumnKeys
from elfair.study.notation import (
    MOST_VALUES,
    date_hint,
    lines_for,
    no_numbers,
    notation,
    question,
)
from elfair.types import Array, Index

if TYPE_CHECKING:
    from elfair.study.file import StudyFile
    from elfair.study.reading import ReadTable

#: A sum of fewer numbers than this may be equal to the last one by chance.
FEWEST_SUMMED = 10


def suspicions(table: ReadTable, study: StudyFile) -> Iterator[tuple[str | None, DataError]]:
    """Everything in a table that is probably not what the study takes it for, by column.

    Parameters
    ----------
    table : ReadTable
        The columns as they were read.
    study : StudyFile
        Which column is what.
    """
    rows, columns = np.flatnonzero(table.kept), study.columns
    for error in _total(table, study):
        yield None, error
    for name in numeric(columns):
        if name in table.broken:
            continue
        column = table.columns[name]
        if column.dtype.kind == "O":
            is_feature = name in columns.features
            for error in _no_numbers(table, name, rows, is_feature=is_feature):
                yield name, error
        elif column.dtype.kind in "iuf" and name in (*columns.impact, *columns.features):
            declared = study.clean.get(name, CleanKeys()).values.values()
            is_impact = name in columns.impact
            for error in _codes(table, name, rows, declared, is_impact=is_impact):
                yield name, error
    for error in _classes(table, study, rows):
        yield None, error


def numeric(columns: ColumnKeys) -> list[str]:
    """The columns that must hold numbers.

    Parameters
    ----------
    columns : ColumnKeys
        Which column is what.

    Examples
    --------
    >>> numeric(ColumnKeys(features=("age", "job"), categories={"job": ["a", "b"]}, propensity="p"))
    ['age', 'p']
    """
    features = [name for name in columns.features if name not in columns.categories]
    drawn = columns.drawn_with, columns.behavior_mean, columns.behavior_spread, columns.follow_up
    others = (*columns.impact, *columns.early, *columns.behavior.values(), columns.sample_weight)
    every = [*features, *others, *drawn, *columns.costs]
    return list(dict.fromkeys(name for name in every if isinstance(name, str)))


def _of_rows(n: int, of: int, where: str) -> str:
    return f"{n:,} of {of:,} rows (the first is {where})"


def _no_numbers(
    table: ReadTable, name: str, rows: Index, *, is_feature: bool
) -> Iterator[DataError]:
    """Texts in a column of numbers."""
    column = table.columns[name]
    texts = {k: column[k] for k in rows.tolist() if isinstance(column[k], str)}
    odd = {k: text for k, text in texts.items() if not is_plain_number(text)}
    if not odd and rows.size < column.size:  # people who are not of the study make texts of all
        yield from _no_numbers(table, name, np.arange(column.size), is_feature=is_feature)
    if not odd:
        return
    different = list(dict.fromkeys(odd.values()))
    cure = _cure(name, list(dict.fromkeys(texts.values())), different)
    if cure is None:
        # Words without a single number are levels: the encoding of features says how to declare
        # them.
        if is_feature and len(odd) == len(texts):
            return
        some = toml(different[:5])
        cure = (
            f"if these values mean missing, write missing = {some} in [clean.{toml(name)}]; if "
            f"they mean something else, values = {toml({different[0]: 0})}."
        )
    where = table.source.place(next(iter(odd)))
    yield DataError(
        f"column {name!r} must hold numbers. It does not in "
        f"{_of_rows(len(odd), rows.size, where)}: {listed(different, 5)}.",
        hint=cure,
    )


def _cure(name: str, texts: list[str], odd: list[str]) -> str | None:
    """The keys that would read texts as numbers or dates, if it is clear which."""
    missing = [text for text in odd if stands_for_missing(text, {})]
    numbers = [text for text in texts if text not in missing]
    rest = [text for text in odd if text not in missing]
    if missing and not rest:
        return f"write missing = {toml(missing)} in [clean.{toml(name)}]."
    if keys := notation(numbers):
        return lines_for(name, {**keys, **({"missing": missing} if missing else {})})
    left = no_numbers(numbers)
    others = [text for text in numbers if text not in left]
    told = _numbers_or_dates(name, others) if left and others else None
    if told is not None:
        some = left[:MOST_VALUES]
        return (
            f"{told.removesuffix('.')}; for {listed(some, 5)}, write there missing = "
            f"{toml([*missing, *some])} if that means missing, or values = {toml({some[0]: 0})} if "
            "it means something else."
        )
    asked = question(name, numbers)
    if asked is not None or len(rest) < len(numbers):
        return asked
    return date_hint(name, rest)


def _numbers_or_dates(name: str, texts: list[str]) -> str | None:
    """The text of a hint: how texts of one kind are read."""
    if keys := notation(texts):
        return lines_for(name, keys)
    return question(name, texts) or date_hint(name, texts)


def _codes(
    table: ReadTable, name: str, rows: Index, declared: Collection[Any], *, is_impact: bool
) -> Iterator[DataError]:
    """Numbers such as -999 that probably mean missing."""
    known = {each for each in declared if not isinstance(each, str)}
    codes = codes_in(table.columns[name][rows].astype(np.float64), small=is_impact)
    for value, n in codes.items():
        if value in known:
            continue
        first = rows[np.flatnonzero(table.columns[name][rows] == value)[0]]
        where = _of_rows(n, rows.size, table.source.place(int(first)))
        yield DataError(
            f"column {name!r} is {value:.15g} in {where}, far from all other values: it probably "
            "means missing.",
            hint=f"write missing = [{value:.15g}] in [clean.{toml(name)}]; if it is meant as it "
            f'is, values = {{ "{value:.15g}" = {value:.15g} }}.',
        )


def _classes(table: ReadTable, study: StudyFile, rows: Index) -> Iterator[DataError]:
    """Decisions, or labels, that are probably slips of others."""
    if study.kind == "regressor" or "classes" in study.model:
        return
    columns = study.columns
    roles = [name for name in (columns.decision, columns.label) if name]
    named = {name: table.columns[name][rows] for name in roles if name not in table.broken}
    counts = {name: Counter(column[~is_missing(column)].tolist()) for name, column in named.items()}
    every: Counter[Any] = sum(counts.values(), Counter())
    if len(every) > MOST_COMPARED:
        return
    if len(counts) == 2 and len(every) == sum(map(len, counts.values())):
        yield from _other_words(counts, rows.size)
    odd = odd_classes(every)
    for name in counts:
        declared = set(study.clean.get(name, CleanKeys()).values.values())
        wrong = {v: meant for v, meant in odd.items() if v in counts[name] and v not in declared}
        for told in ({v: m for v, m in wrong.items() if m is not None},
                     {v: m for v, m in wrong.items() if m is None}):  # fmt: skip
            if told:
                yield _slips(table, name, rows, told, sum(counts[name][v] for v in told))


def _other_words(counts: Mapping[str, Counter[Any]], n: int) -> Iterator[DataError]:
    """Labels that are never decisions, because they say the same in other words."""
    (decision, decided), (label, labels) = counts.items()
    values = sorted(labels, key=str), sorted(decided, key=str)
    if not all(isinstance(value, str) for value in [*labels, *decided]):
        return  # whether text or numbers are meant is said later
    keys = toml(dict(zip(*values, strict=False)))
    yield DataError(
        f"columns {decision!r} and {label!r} share no value, in {n:,} rows: {decision!r} holds "
        f"{listed(values[1], 5)}, and {label!r} {listed(values[0], 5)}. A label is the decision "
        "that would have been right.",
        hint=f"say which is which, such as values = {keys} in [clean.{toml(label)}], or the other "
        "way round; or, if it is something else, leave label out of [columns].",
    )


def _slips(table: ReadTable, name: str, rows: Index, odd: dict[Any, Any], n: int) -> DataError:
    """What is wrong with values that would be decisions of their own."""
    first = next(int(k) for k in rows if table.columns[name][k] in odd)
    where = _of_rows(n, rows.size, table.source.place(first))
    keys, as_is = f"[clean.{toml(name)}]", toml({class_text(v): v for v in odd})
    if None in odd.values():
        return DataError(
            f"column {name!r} is {listed(odd)} in {where}: it probably means missing. As it is, it "
            "would be a decision of its own.",
            hint=f"write missing = {toml(list(odd))} in {keys}; if it is meant as it is, values = "
            f"{as_is}.",
        )
    return DataError(
        f"column {name!r} has several spellings of one value: {listed(odd)} beside "
        f"{listed(dict.fromkeys(odd.values()))}, in {where}. Each would be a decision of its own.",
        hint=f"write values = {toml(odd)} in {keys}; if they are what they seem, values = {as_is}.",
    )


def _total(table: ReadTable, study: StudyFile) -> Iterator[DataError]:
    """A last line that holds the sum of all others."""
    n, columns = table.kept.size, study.columns
    if n <= FEWEST_SUMMED or not table.kept[-1]:
        return
    readable = [name for name in numeric(columns) if name not in table.broken]
    summed = [name for name in readable if _is_sum(table.columns[name])]
    if not summed:
        return
    keep = next((name for name in summed if name in columns.features), None)
    last = float(np.asarray(table.columns[summed[0] if keep is None else keep])[-1])
    leave = (
        f" or leave it out: keep = [{toml(f'`{keep}` < {last:.15g}')}] in [rows]." if keep else ""
    )
    yield DataError(
        f"the last row ({table.source.place(n - 1)}) holds the sum of all others, in 1 of {n:,} "
        f"rows: column {listed(summed)}. It is a line of totals, not a person.",
        hint=f"delete that line of the table{',' if leave else '.'}{leave}",
    )


def _is_sum(column: Array) -> bool:
    if column.dtype.kind not in "iuf":
        return False
    known = column[~np.isnan(column)] if column.dtype.kind == "f" else column
    if known.size <= FEWEST_SUMMED or known[-1] != column[-1]:
        return False
    others, last = known[:-1].astype(np.float64), float(known[-1])
    # Numbers that are rounded make sums that are rounded.
    near = abs(float(others.sum()) - last) <= 1e-9 * float(np.abs(others).sum()) + 1e-12
    return bool(near and abs(last) > np.abs(others).max())
