"""Looks at held-out rows: which tests were made of which people, and which look each of them is.

A test that fails and is tried again with other settings is no longer a test of 1 - delta. So every
test is entered in a list before any held-out row is opened. The same test of the same rows again
is the same look: nothing new is learnt of the rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Lock
from typing import Protocol

from elfair.data.identity import Identity
from elfair.errors import InputError, SpentError, UnlikelyError

#: Below this chance, a look is not worth what it costs: held-out rows are tested once.
LEAST_CHANCE = 0.05


@dataclass(frozen=True, eq=False)
class Look:
    """One test, before it is made.

    Parameters
    ----------
    rows : Identity
        By what its rows are known: those that are searched on included.
    test : str
        A digest of what is tested, with which models, on which of the rows.
    declared : int
        How many looks at these rows were declared before the first.
    chance : float, optional
        The chance to pass that rows outside the test give it.
    after : str, default ""
        The test that it continues on fresh rows.
    """

    rows: Identity
    test: str
    declared: int
    chance: float | None = field(default=None)
    after: str = ""

    def require_chance(self, least: float) -> None:
        """Raise if its chance is known, and smaller than this.

        Examples
        --------
        >>> Look(NOBODY, "one", 1, chance=0.01).require_chance(0.05)
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
                "same: elfair fit --anyway; in Python, a Ledger with a smaller least_chance.",
            )

    def number(self, earlier: Sequence[Look]) -> int:
        """Which look at its people it is, from 1; raise if it may not be made.

        Parameters
        ----------
        earlier : sequence of Look
            All looks that were entered before, in their order.

        Examples
        --------
        >>> people = Identity(frozenset({"digest"}), None, False, ())
        >>> first, second = (Look(people, test, 1) for test in ("one", "two"))
        >>> first.number([]), second.number([first]), first.number([first, second])
        (1, 2, 1)
        """
        self._check_fresh(earlier)
        others = self.others(earlier)
        if others and others[0].declared != self.declared:
            raise InputError(
                f"looks={others[0].declared} was declared before the first look at these rows, and "
                f"cannot be changed after it. Got looks={self.declared} instead.",
                hint=f"test new rows, and declare looks={self.declared} before the first look at "
                "them.",
            )
        number = 1 + len(others)
        if number > self.declared > 1:
            raise SpentError(
                f"Not tested: {self.declared} looks at these rows were declared, and all of them "
                "were made. No held-out row was opened.",
                hint="test new rows; elfair ledger lists the looks that were made.",
            )
        return number

    def others(self, earlier: Sequence[Look]) -> list[Look]:
        """The looks before this one that count: one of each line of stages.

        A stage belongs to the line of the stage that it continues. If that one was continued
        before, in another way, a second line begins, which is a further look at what both lines
        have in common: who may choose between stages after he saw them chooses the luckiest.

        Parameters
        ----------
        earlier : sequence of Look
            All looks that were entered before, in their order.
        """
        before = _until(earlier, self.test)
        lines = lines_of([*before, self])
        mine = lines[self.test]
        found: dict[str, Look] = {}
        for each, shares in zip(before, self.rows.known_among(_rows(before)), strict=True):
            if shares:
                found.setdefault(lines[each.test], each)
        line = chain(before, self.after)
        if line and mine == self.test:  # a second way to go on
            for each in before:
                if root_of(before, each) == root_of(before, line[0]):
                    found.setdefault(lines[each.test], each)
        if line:
            for each in line[0].others(before):
                found.setdefault(lines[each.test], each)
        found.pop(mine, None)
        return sorted(found.values(), key=before.index)

    def _check_fresh(self, earlier: Sequence[Look]) -> None:
        """Raise if a stage saw some of these people: betting twice on a row proves nothing."""
        line = chain(_until(earlier, self.test), self.after)
        if any(self.rows.known_among(_rows(line))):
            raise InputError(
                "fresh rows are about people whom an earlier stage saw, under other identifiers. "
                "A test can go on only with people who took no part in it.",
                hint="leave out the rows that came again; elfair compares what rows hold, not only "
                "their identifiers.",
            )


#: What no other rows have in common with.
NOBODY = Identity(frozenset(), None, False, ())


def _rows(looks: Sequence[Look]) -> list[Identity]:
    return [each.rows for each in looks]


def _until(looks: Sequence[Look], test: str) -> list[Look]:
    """The looks that were entered before a test; all of them if it was not entered."""
    return [*takewhile(lambda look: look.test != test, looks)]


def chain(looks: Sequence[Look], test: str) -> list[Look]:
    """A test and those that it continues, the last first; those that are not listed are left out.

    Examples
    --------
    >>> looks = [Look(NOBODY, "one", 1), Look(NOBODY, "two", 1, after="one")]
    >>> [look.test for look in chain(looks, "two")]
    ['two', 'one']
    """
    by_test = {look.test: look for look in reversed(looks)}
    found: list[Look] = []
    while test in by_test:
        found.append(by_test.pop(test))
        test = found[-1].after
    return found


def root_of(looks: Sequence[Look], look: Look) -> str:
    """What the first stage of a test continues, or else the first stage itself."""
    first = chain([*looks, look], look.test)[-1]
    return first.after or first.test


def lines_of(looks: Sequence[Look]) -> dict[str, str]:
    """The line of stages that each test belongs to, named after its first stage.

    Examples
    --------
    >>> tests = [("one", ""), ("two", "one"), ("fork", "one"), ("three", "two")]
    >>> lines_of([Look(NOBODY, test, 1, after=after) for test, after in tests])
    {'one': 'one', 'two': 'one', 'fork': 'fork', 'three': 'one'}
    """
    lines: dict[str, str] = {}
    continued: set[str] = set()
    for look in looks:
        goes_on = look.after in lines and look.after not in continued
        lines.setdefault(look.test, lines[look.after] if goes_on else look.test)
        continued.add(look.after)
    return lines


class Looks(Protocol):
    """A list of tests that only grows."""

    def enter(self, made: Callable[[bytes], Look]) -> int:
        """Write down a test that is about to be made, and return which look at its rows it is.

        Parameters
        ----------
        made : callable
            From the secret of the list to the look.
        """
        ...


class LooksOfProcess:
    """A list in memory, for tests that no other process knows of.

    Examples
    --------
    >>> looks, people = LooksOfProcess(), Identity(frozenset({"digest"}), None, False, ())
    >>> tests = [Look(people, test, 1) for test in ("one", "two", "one")]
    >>> [looks.enter(lambda secret, look=look: look) for look in tests]
    [1, 2, 1]
    """

    def __init__(self) -> None:
        self._made: dict[str, Look] = {}
        self._secret, self._turn = secrets.token_bytes(32), Lock()

    def enter(self, made: Callable[[bytes], Look]) -> int:
        """See `Looks.enter`."""
        look = made(self._secret)
        with self._turn:
            number = look.number([*self._made.values()])
            self._made.setdefault(look.test, look)
        return number


@dataclass(frozen=True)
class _Before:
    """What was counted when a test was made for the first time."""

    number: int

    def enter(self, made: Callable[[bytes], Look]) -> int:
        return self.number


_looks: ContextVar[Looks | None] = ContextVar("looks", default=None)


def enter(made: Callable[[bytes], Look]) -> int:
    """Enter a test where tests are counted now; see `Looks.enter`."""
    looks = _looks.get()
    if looks is None:
        from elfair.data.session import LooksOfSession  # which keeps looks in a ledger

        looks = LooksOfSession()
    return looks.enter(made)


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
    ...     enter(lambda secret: Look(NOBODY, "one", 1))
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
    ...     enter(lambda secret: Look(NOBODY, "one", 1))
    2
    """
    with counted_in(_Before(number)):
        yield
