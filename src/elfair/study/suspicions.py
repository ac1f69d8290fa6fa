"""What a table must not hold when a study is read: each with its column, its count and its cure.

None of this is guessed away. Numbers that are not numbers, codes for "missing" among numbers, one
decision in two spellings and a line of totals would change a result without a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data.spelling import plain, stands_for_missing
from elfair.errors import DataError, listed
from elfair.records.tables import comma_hint, has_decimal_comma, is_plain_number
from elfair.records.toml import toml
from elfair.study.defects import written
from elfair.study.keys import CleanKeys, ColumnKeys
from elfair.types import Array, Index

if TYPE_CHECKING:
    from elfair.study.file import StudyFile
    from elfair.study.reading import ReadTable

#: Ways to write a date that are tried for a hint.
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
#: Numbers that no measurement has by chance. (-1 and -9 may be meant; `elfair check` names them.)
CODE = re.compile(r"-(66|77|88|99)|-?9{3,7}|-?8{3,7}")
#: A sum of fewer numbers than this may be equal to the last one by chance.
FEWEST_SUMMED = 10


def suspicions(table: ReadTable, study: StudyFile) -> Iterator[DataError]:
    """Everything in a table that is probably not what the study takes it for.

    Parameters
    ----------
    table : ReadTable
        The columns as they were read.
    study : StudyFile
        Which column is what.
    """
    rows, columns = np.flatnonzero(table.kept), study.columns
    yield from _total(table, study)
    for name in numeric(columns):
        column = table.columns[name]
        if column.dtype.kind == "O":
            yield from _no_numbers(table, name, rows, is_feature=name in columns.features)
        elif column.dtype.kind in "iuf" and name in (*columns.impact, *columns.features):
            declared = study.clean.get(name, CleanKeys()).values.values()
            yield from _codes(table, name, rows, declared)
    yield from _classes(table, columns, rows)


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
    drawn = columns.propensity, columns.behavior_mean, columns.behavior_spread, columns.follow_up
    others = (*columns.impact, *columns.early, *columns.behavior.values(), columns.sample_weight)
    every = [*features, *others, *drawn]
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
    if all(map(has_decimal_comma, odd)):
        return comma_hint(toml(name), odd)
    missing = [text for text in odd if stands_for_missing(text, {})]
    numbers = [text for text in texts if text not in missing]
    keys: dict[str, Any] = written(numbers) if numbers else {}
    rest = [text for text in odd if text not in missing]
    if missing and not rest:
        keys = {"missing": missing}
    elif keys and missing:
        keys["missing"] = missing
    if keys:
        lines = ", ".join(f"{key} = {toml(value)}" for key, value in keys.items())
        return f"write {lines} in [clean.{toml(name)}]."
    forms = [form for form in DATES if rest and all(_is_date(text, form) for text in rest)]
    if not forms or len(rest) < len(numbers):
        return None
    told = " or ".join(f"date = {toml(form)}" for form in forms)
    return f"these look like dates: write {told} in [clean.{toml(name)}]."


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text.strip(), form)
    except ValueError:
        return False
    return True


def _codes(
    table: ReadTable, name: str, rows: Index, declared: Sequence[Any] | Any
) -> Iterator[DataError]:
    """Numbers such as -999 that probably mean missing."""
    values, counts = np.unique(table.columns[name][rows], return_counts=True)
    counted = dict(zip(values.tolist(), counts.tolist(), strict=True))
    known = {each for each in declared if not isinstance(each, str)}
    for value in counted:
        if value in known or not CODE.fullmatch(f"{value:.7g}"):
            continue
        if not stands_for_missing(value, counted):
            continue
        first = rows[np.flatnonzero(table.columns[name][rows] == value)[0]]
        where = _of_rows(counted[value], rows.size, table.source.place(int(first)))
        yield DataError(
            f"column {name!r} is {value:g} in {where}, far from all other values: it probably "
            "means missing.",
            hint=f"write missing = [{value:g}] in [clean.{toml(name)}]; if it is meant as it is, "
            f'values = {{ "{value:g}" = {value:g} }}.',
        )


def _classes(table: ReadTable, columns: ColumnKeys, rows: Index) -> Iterator[DataError]:
    """Decisions, or labels, that differ by capitals or spaces alone."""
    named = {name: table.columns[name][rows] for name in (columns.decision, columns.label) if name}
    texts = {
        name: Counter(each for each in column.tolist() if isinstance(each, str))
        for name, column in named.items()
    }
    every: Counter[str] = sum(texts.values(), Counter())
    meant: dict[str, str] = {}
    for value in every:  # the most frequent spelling is what the others mean
        usual = meant.get(plain(value), value)
        meant[plain(value)] = max(
            usual, value, key=lambda each: (every[each], each == each.strip())
        )
    for name, counts in texts.items():
        wrong = {each: meant[plain(each)] for each in counts if meant[plain(each)] != each}
        if wrong:
            first = next(int(k) for k in rows if table.columns[name][k] in wrong)
            n = sum(counts[each] for each in wrong)
            where = _of_rows(n, rows.size, table.source.place(first))
            yield DataError(
                f"column {name!r} has several spellings of one value: {listed(wrong)} beside "
                f"{listed(dict.fromkeys(wrong.values()))}, in {where}. Each would be a decision of "
                "its own.",
                hint=f"write values = {toml(wrong)} in [clean.{toml(name)}].",
            )


def _total(table: ReadTable, study: StudyFile) -> Iterator[DataError]:
    """A last line that holds the sum of all others."""
    n, columns = table.kept.size, study.columns
    if n <= FEWEST_SUMMED or not table.kept[-1]:
        return
    summed = [name for name in numeric(columns) if _is_sum(table.columns[name])]
    if not summed:
        return
    keep = next((name for name in summed if name in columns.features), None)
    last = float(np.asarray(table.columns[summed[0] if keep is None else keep])[-1])
    leave = f" or leave it out: keep = [{toml(f'`{keep}` < {last:g}')}] in [rows]." if keep else ""
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
