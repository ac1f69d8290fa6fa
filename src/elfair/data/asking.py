"""Who asks: errors speak of rows and of settings as their reader knows them.

In Python, rows count from 0 and a table has parameters. At the command line, a row is a line of a
file, and what can be changed is a key of the study file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from elfair.errors import DataError, all_of

T = TypeVar("T")

#: Where a row is, if a study is read; None in Python.
_PLACE: ContextVar[Callable[[int], str] | None] = ContextVar("place", default=None)


@contextmanager
def asked_by_study(place: Callable[[int], str]) -> Iterator[None]:
    """Where the rows of a study are read.

    Parameters
    ----------
    place : callable
        Where a row is, as people find it.

    Examples
    --------
    >>> with asked_by_study(lambda row: f"line {row + 2}"):
    ...     place(0), in_terms("pass decision=.", study="name decision in [columns].")
    ('line 2', 'name decision in [columns].')
    """
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def place(row: int) -> str:
    """Where a row is, in the words of whoever asks.

    Parameters
    ----------
    row : int
        The row, counted from 0.

    Examples
    --------
    >>> place(1234)
    'row 1234'
    """
    find = _PLACE.get()
    return f"row {row}" if find is None else find(int(row))


def in_terms(python: str, *, study: str) -> str:
    """The words that fit whoever asks.

    Parameters
    ----------
    python : str
        For those who call from Python.
    study : str
        For those who have a study file.

    Examples
    --------
    >>> in_terms("pass decision=.", study="name decision in [columns].")
    'pass decision=.'
    """
    return python if _PLACE.get() is None else study


class Mistakes:
    """All that is wrong with a table, to be said at once.

    Examples
    --------
    >>> noted = Mistakes()
    >>> noted([1], lambda: 1), noted(None, lambda: 1)
    (1, None)
    >>> noted.raise_all()
    """

    def __init__(self) -> None:
        self.found: list[DataError] = []

    def __call__(self, given: object, read: Callable[[], T]) -> T | None:
        """What is read of something that was given; None if nothing was, or if it is wrong.

        Parameters
        ----------
        given : object
            What was given.
        read : callable
            Reads it.
        """
        try:
            return None if given is None else read()
        except DataError as error:
            self.found.append(error)
            return None

    def raise_all(self) -> None:
        """Raise one error that lists all mistakes, if there are any."""
        if self.found:
            raise all_of("the table", self.found)
