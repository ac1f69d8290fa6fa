"""When decisions were taken, for a split by time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.data.asking import in_terms, place
from elfair.data.columns import as_floats, complete_column
from elfair.errors import DataError
from elfair.types import Array, Index

if TYPE_CHECKING:
    from elfair.data.table import LoggedData


def read_time(values: Any, n: int) -> Array:
    """A time for each row: a date, with or without a time of day, or a number. Text is taken for a
    date as ISO 8601 writes it; a time without a zone counts as UTC.

    Examples
    --------
    >>> read_time(["2024-05-01", "2023-01-31T08:30:00+02:00"], 2)
    array(['2024-05-01T00:00:00', '2023-01-31T06:30:00'], dtype='datetime64[s]')
    """
    column = complete_column(values, n, "time")
    if column.dtype.kind == "M":
        return column
    if column.dtype.kind in "iuf":
        return as_floats(column, "time")
    moments = [_moment(each) for each in column.tolist()]
    if None in moments:
        raise DataError(
            "time must hold dates or numbers, which have an order. Got "
            f"{column[moments.index(None)]!r} in {place(moments.index(None))} instead.",
            hint="write dates as 2024-05-31, or as 2024-05-31T08:30:00+02:00.",
        )
    return np.array(moments, dtype="datetime64[s]")


def _moment(value: object) -> datetime | None:
    """A date or a text that stands for one, in UTC; None if it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def period_of(data: LoggedData) -> str:
    """From when to when some rows are, in words.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> period_of(LoggedData(np.zeros((3, 1)), time=[2021, 2019, 2020]))
    '2019 to 2021'
    """
    assert data.time is not None
    first, last = data.time.min(), data.time.max()
    if data.time.dtype.kind != "M":
        return f"{first:.15g} to {last:.15g}"
    return f"{first} to {last}"


def last_times(data: LoggedData, place: Index) -> Array:
    """The last time of each unit.

    Parameters
    ----------
    data : LoggedData
        The rows.
    place : ndarray of shape (rows,)
        The number of each row's unit.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> last_times(LoggedData(np.zeros((3, 1)), time=[5, 1, 9]), np.array([0, 0, 1]))
    array([5., 9.])
    """
    if data.time is None:
        raise DataError(
            "split='time' needs the time of each row, which was not given.",
            hint=in_terms(
                "pass time=, the column that says when decisions were taken.",
                study="name time in [columns], the column that says when decisions were taken.",
            ),
        )
    last = np.empty(int(place.max(initial=-1)) + 1, dtype=data.time.dtype)
    order = np.argsort(data.time, kind="stable")
    last[place[order]] = data.time[order]  # the latest row of each unit is written last
    return last
