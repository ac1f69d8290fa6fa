"""Looks at held-out rows: which tests were made of which rows, and which look each of them is.

A test that fails and is tried again with other settings is no longer a test of 1 - delta. So every
test is entered in a list before any held-out row is opened. The same test of the same rows again
is the same look: nothing new is learnt of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from elfair.data.digests import rows_digest
from elfair.data.table import LoggedData
from elfair.errors import InputError, UnlikelyError

#: Below this chance, a look is not worth what it costs: held-out rows are tested once.
LEAST_CHANCE = 0.05


@dataclass(frozen=True)
class Look:
    """One test, before it is made.

    Parameters
    ----------
    rows : tuple of str
        Digests of the rows; see `rows_of`. Tests with a common digest are tests of the same rows.
    test : str
        A digest of what is tested, with which models, on which of the rows.
    declared : int
        How many looks at these rows were declared before the first.
    chance : float, optional
        The chance to pass that rows outside the test give it.
    """

    rows: tuple[str, ...]
    test: str
    declared: int
    chance: float | None = field(default=None, compare=False)

    def require_chance(self, least: float) -> None:
        """Raise if its chance is known, and smaller than this.

        Examples
        --------
        >>> Look(("rows",), "one", 1, chance=0.01).require_chance(0.05)
        Traceback (most recent call last):
            ...
        elfair.errors.UnlikelyError: Not tested: candidate rows give a model a chance of 0.01 ...
        Hint: ...
        """
        if self.chance is not None and self.chance < least:
            raise UnlikelyError(
                f"Not tested: candidate rows give a model a chance of {self.chance:.2f} to pass, "
                f"below {least:g}. No held-out row was opened, and no look was counted.",
                hint="collect more rows (elfair plan says how many), ask for less, or test all the "
                "same: elfair fit --anyway.",
            )

    def number(self, earlier: Sequence[Look]) -> int:
        """Which look at its rows it is, from 1; raise if another number of looks was declared.

        Parameters
        ----------
        earlier : sequence of Look
            All looks that were entered before, in their order.

        Examples
        --------
        >>> first, second = (Look(("rows",), test, 1) for test in ("one", "two"))
        >>> first.number([]), second.number([first]), first.number([first, second])
        (1, 2, 1)
        """
        same = [each for each in earlier if not set(each.rows).isdisjoint(self.rows)]
        if same and same[0].declared != self.declared:
            raise InputError(
                f"looks={same[0].declared} was declared before the first look at these rows, and "
                f"cannot be changed after it. Got looks={self.declared} instead.",
                hint=f"test new rows, and declare looks={self.declared} before the first look at "
                "them.",
            )
        tests = [*dict.fromkeys(each.test for each in same)]
        return tests.index(self.test) + 1 if self.test in tests else len(tests) + 1


def rows_of(data: LoggedData) -> tuple[str, ...]:
    """Digests by which the rows of a table are known again, whatever becomes of the other columns.

    One is of decisions and outcomes, for each impact: features, groups, other impacts and splits
    may change between tests of the same rows. Without impacts it is of features and labels. One is
    of all of these.

    Parameters
    ----------
    data : LoggedData
        All rows, those for the search included.

    Examples
    --------
    >>> income = [10.0, 11.5, 9.0]
    >>> one = LoggedData([[0.0], [1.0], [2.0]], decision=[0, 1, 1], impact=income)
    >>> other = LoggedData([[5.0], [5.0], [3.0]], decision=[1, 1, 0], impact=income[::-1])
    >>> bool(set(rows_of(one)) & set(rows_of(other)))
    True
    """
    label, decision = data.as_numbers
    outcomes = [[decision, impact] for impact in data.impacts.values()]
    digests = [rows_digest(columns, data.n) for columns in outcomes or [[label, *data.comparable]]]
    return tuple(each.hex() for each in (*digests, data.digest()))


class Looks(Protocol):
    """A list of tests that only grows."""

    def enter(self, look: Look) -> int:
        """Write down a test that is about to be made, and return which look at its rows it is."""
        ...


class LooksOfProcess:
    """The tests that were made in one process.

    Examples
    --------
    >>> looks = LooksOfProcess()
    >>> [looks.enter(Look(("rows",), test, 1)) for test in ("one", "two", "one")]
    [1, 2, 1]
    """

    def __init__(self) -> None:
        self._made: dict[str, dict[Look, int]] = {}
        self._count, self._turn = 0, Lock()

    def enter(self, look: Look) -> int:
        """See `Looks.enter`."""
        with self._turn:
            of_rows = [self._made.setdefault(digest, {}) for digest in look.rows]
            turns = {each: turn for looks in of_rows for each, turn in looks.items()}
            number = look.number(sorted(turns, key=turns.__getitem__))
            for looks in of_rows:
                looks.setdefault(look, self._count)
            self._count += 1
        return number


@dataclass(frozen=True)
class _Before:
    """What was counted when a test was made for the first time."""

    number: int

    def enter(self, look: Look) -> int:
        return self.number


_looks: ContextVar[Looks] = ContextVar("looks", default=LooksOfProcess())  # noqa: B039


def enter(look: Look) -> int:
    """Enter a test where tests are counted now; see `Looks.enter`."""
    return _looks.get().enter(look)


@contextmanager
def counted_in(looks: Looks) -> Iterator[None]:
    """Count tests in this list.

    Parameters
    ----------
    looks : Looks
        The list; a new `LooksOfProcess` for methods that are compared on the same simulated rows.

    Examples
    --------
    >>> with counted_in(LooksOfProcess()):
    ...     enter(Look(("rows",), "one", 1))
    1
    """
    token = _looks.set(looks)
    try:
        yield
    finally:
        _looks.reset(token)


@contextmanager
def looking_again(number: int) -> Iterator[None]:
    """Make a test that was made before, and is only checked: nothing is counted.

    Parameters
    ----------
    number : int
        Which look it was.

    Examples
    --------
    >>> with looking_again(2):
    ...     enter(Look(("rows",), "one", 1))
    2
    """
    with counted_in(_Before(number)):
        yield
