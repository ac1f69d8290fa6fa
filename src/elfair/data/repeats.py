"""Rows that are repeated: each copy would count as one more person.

People may well be alike in every column, if columns are few and have few values. Copies are told by
two signs that such people do not give:

* They share a value that no other row has. An impact, a propensity or a feature that is measured
  finely has hardly any value twice; where people share one by chance, they differ elsewhere.
* Every row is there twice, or every row is there six times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elfair.errors import DataError
from elfair.records.text import count
from elfair.types import Array, Floats

if TYPE_CHECKING:
    from elfair.data.table import LoggedData

#: More copies than this, as a share of rows, are refused. (A tenth of the rows doubled makes a
#: bound at delta = .1 err about .12; below, `check` warns.)
MOST_COPIES = 0.1
#: Fewer different rows than this say nothing: all of them may be there twice by chance.
FEWEST_DIFFERENT = 20


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
    columns = [_codes(column) for column in _columns(data)]
    # Rows are numbered by all their columns, one column after the other.
    row = np.zeros(data.n, dtype=np.intp)
    for codes in columns:
        row = _codes(row * (int(codes.max()) + 1) + codes)
    sizes = np.bincount(row)
    if sizes.size < FEWEST_DIFFERENT:
        return 0
    if np.gcd.reduce(sizes) > 1:
        return data.n - sizes.size
    first = np.unique(row, return_index=True)[1]
    alone = np.zeros(sizes.size, dtype=np.bool_)
    for codes in columns:
        # How many different rows hold the value that this one holds.
        holding = np.bincount(codes[first], minlength=int(codes.max()) + 1)
        alone |= holding[codes[first]] == 1
    return int((sizes - 1)[alone].sum())


def _columns(data: LoggedData) -> list[Array]:
    """Everything that is known of each row."""
    known: list[Array | Floats | None] = [
        *data.comparable,
        *data.sensitive.values(),
        *data.as_numbers,
        data.propensity,
        data.sample_weight,
        *data.impacts.values(),
    ]
    return [each for each in known if each is not None]


def _codes(column: Array) -> Array:
    """The number of each row's value; missing ones share one."""
    comparable = column.astype(str) if column.dtype.kind == "O" else column
    return np.asarray(np.unique(comparable, return_inverse=True)[1].astype(np.intp))
