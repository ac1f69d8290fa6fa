"""Rows that are repeated: each copy would count as one more person.

People may well be alike in every column, if columns are few and have few values. Copies are told by
two signs that such people do not give:

* They share a value that no other row has. An impact, a propensity or a feature that is measured
  finely has hardly any value twice; where people share one by chance, they differ elsewhere.
* Every row is there twice, or every row is there six times.

A column that numbers or names the rows, such as an index that was taken for a feature, tells copies
apart, but says nothing of people: it does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elfair.errors import DataError
from elfair.records.text import count
from elfair.types import Array, Booleans, Floats, Index

if TYPE_CHECKING:
    from elfair.data.table import LoggedData

#: More copies than this, as a share of rows, are refused. (A tenth of the rows doubled makes a
#: bound at delta = .1 err about .12; below, `check` warns.)
MOST_COPIES = 0.1
#: Fewer different rows than this say nothing: all of them may be there twice by chance.
FEWEST_DIFFERENT = 20
#: Among so many rows, a value that is there twice is looked for first.
SEEN = 1_000


def check_not_repeated(data: LoggedData) -> None:
    """Raise if many rows are copies of others, and nothing says whom rows are about.

    Parameters
    ----------
    data : LoggedData
        All rows; what they say about impacts is not used, only whether they are equal.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> check_not_repeated(LoggedData(np.repeat(x, 3, axis=0)))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: 200 of 300 rows are copies: they equal another row in every column...
    Hint: keep one row for each person; or name the column that says whom a row is about as unit...
    >>> check_not_repeated(LoggedData(np.repeat(x.round(), 3, axis=0)))  # people may be alike
    """
    if data.unit is not None or data.row_id is not None or data.n < 2 * FEWEST_DIFFERENT:
        return
    n_copies = copies(data)
    if n_copies > MOST_COPIES * data.n:
        raise DataError(
            f"{count(n_copies)} of {count(data.n)} rows are copies: they equal another row in "
            "every column. Bounds would count each copy as one more person.",
            hint="keep one row for each person; or name the column that says whom a row is about "
            "as unit (then bounds count people); or, if these are different people who are alike, "
            "name their identifier as row_id.",
        )


def copies(data: LoggedData) -> int:
    """How many rows are copies of others.

    Parameters
    ----------
    data : LoggedData
        The rows.
    """
    if _all_differ(_columns(data)):
        return 0
    row, alone = _rows(data)
    sizes = np.bincount(row)
    if sizes.size < FEWEST_DIFFERENT:
        return 0
    if np.gcd.reduce(sizes) > 1:
        return data.n - sizes.size
    return int((sizes - 1)[alone].sum())


def check_not_seen(data: LoggedData, fresh: Booleans) -> None:
    """Raise if fresh rows are copies of earlier ones, whatever their identifiers say.

    Parameters
    ----------
    data : LoggedData
        Earlier rows and fresh ones.
    fresh : ndarray of bool
        Which of them are fresh.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> x = np.random.default_rng(0).normal(size=(10, 1))
    >>> data = LoggedData(np.concatenate([x, x[:3]]), row_id=np.arange(13))
    >>> check_not_seen(data, np.arange(13) >= 10)
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: 3 of 3 fresh rows are copies: they equal an earlier row in every ...
    Hint: leave out the rows that came again: only people who took no part ...
    """
    row, alone = _rows(data)
    earlier = np.zeros(alone.size, dtype=np.bool_)
    earlier[row[~fresh]] = True
    n_fresh, n_copies = int(fresh.sum()), int((earlier & alone)[row[fresh]].sum())
    if n_copies > MOST_COPIES * n_fresh:
        raise DataError(
            f"{count(n_copies)} of {count(n_fresh)} fresh rows are copies: they equal an earlier "
            "row in every column, under another identifier.",
            hint="leave out the rows that came again: only people who took no part in an earlier "
            "stage are fresh.",
        )


def _rows(data: LoggedData) -> tuple[Index, Booleans]:
    """The number of each row among the different ones, and which of these hold a value that no
    other one holds.
    """
    columns = [_codes(column) for column in _columns(data)]
    # Rows are numbered by all their columns, one column after the other.
    row = np.zeros(data.n, dtype=np.intp)
    for codes in columns:
        row = _codes(row * (int(codes.max()) + 1) + codes)
    first = np.unique(row, return_index=True)[1]
    alone = np.zeros(first.size, dtype=np.bool_)
    for codes in columns:
        # How many different rows hold the value that this one holds.
        holding = np.bincount(codes[first], minlength=int(codes.max()) + 1)
        alone |= holding[codes[first]] == 1
    return row, alone


def names_rows(column: Array) -> bool:
    """Whether a column numbers the rows (in their order, or without gaps), or is text that is
    different in each.

    Examples
    --------
    >>> names_rows(np.array([4.0, 7.0, 9.0])), names_rows(np.array([2, 0, 1]))
    (True, True)
    >>> names_rows(np.array([4.0, 9.0, 7.0])), names_rows(np.array([0.5, 1.7, 2.1]))
    (False, False)
    """
    if column.dtype.kind in "OU":
        return bool(np.unique(column.astype(str)).size == column.size)
    if column.dtype.kind not in "iuf":
        return False
    numbers = column.astype(np.float64)
    if not np.isfinite(numbers).all() or (numbers % 1).any():
        return False
    steps, ordered = np.diff(numbers), np.diff(np.sort(numbers))
    counts = (steps > 0).all() or (steps < 0).all()
    return bool(counts or (ordered == 1).all())


def _columns(data: LoggedData) -> list[Array]:
    """Everything that is known of each row."""
    named = [names_rows(data.feature(name)) for name in data.feature_names]
    known: list[Array | Floats | None] = [
        *(each for each, names in zip(data.comparable, named, strict=True) if not names),
        *data.sensitive.values(),
        *data.as_numbers,
        data.propensity,
        data.sample_weight,
        *data.impacts.values(),
    ]
    return [each for each in known if each is not None]


def _all_differ(columns: list[Array]) -> bool:
    """Whether some column alone shows that no row equals another: it then holds no value twice."""
    return any(_holds_none_twice(each) for each in columns if each.dtype.kind == "f")


def _holds_none_twice(column: Array) -> bool:
    if np.unique(column[:SEEN]).size < min(SEEN, column.size):
        return False
    ordered = np.sort(column)
    return bool((ordered[1:] > ordered[:-1]).all())  # which also is false of missing values


def _codes(column: Array) -> Array:
    """The number of each row's value; missing ones share one."""
    comparable = column.astype(str) if column.dtype.kind == "O" else column
    return np.asarray(np.unique(comparable, return_inverse=True)[1].astype(np.intp))
