"""What a long computation says while it runs: what of how much is done, and the time left.

It speaks to whoever listens: a line on a terminal, an output in a notebook, or lines of text or of
JSON, which the command line asks for. What ended is also an entry of the logger "elfair".
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol, Self, TextIO, TypeVar

from elfair.records.text import plural, spoken

Item = TypeVar("Item")

logger = logging.getLogger("elfair")
logger.addHandler(logging.NullHandler())

#: Seconds of silence before any progress is shown: most computations are over by then.
PATIENCE = 2.0
#: Seconds between two lines of text, of JSON, and between two pictures of one line.
PAUSE, JSON_PAUSE, BLINK = 10.0, 1.0, 0.2
#: Seconds after which the time is told again, in the midst of a long step.
TICK = 0.5
#: Before so much is done, the time left is anybody's guess.
LEAST_DONE = 0.03


@dataclass(frozen=True)
class Moment:
    """How far a computation is.

    Parameters
    ----------
    what : str
        What is being done.
    done : float
        The share of all work that is done, from 0 to 1.
    of : str
        The same in words, such as "12 steps" or "3 of 40 trials".
    seconds : float
        Since the beginning.
    left : float or None
        How many seconds the rest takes, if all goes on as before; None if that is not yet known.

    Examples
    --------
    >>> print(Moment("looking for a model", 0.25, "40 steps", 5.0, 15.0))
    looking for a model: 25 %, 40 steps, 5 s; about 15 s left
    """

    what: str
    done: float
    of: str
    seconds: float
    left: float | None

    @property
    def time_left(self) -> str:
        """How long the rest takes, in words."""
        return "time left not yet known" if self.left is None else f"about {spoken(self.left)} left"

    def __str__(self) -> str:
        said = f"{self.what}: {100 * self.done:.0f} %, {self.of}, {spoken(self.seconds)}"
        return f"{said}; {self.time_left}"


class Listener(Protocol):
    """Whom progress is told."""

    def __call__(self, moment: Moment) -> None:
        """Show how far it is."""

    def close(self) -> None:
        """Nothing comes any more."""


class Nobody:
    """Nobody listens."""

    def __call__(self, moment: Moment) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing was shown."""


class Lines:
    """Lines for people or for programs, on a stream that is no terminal.

    Parameters
    ----------
    stream : text stream, optional
        Where they go; standard error unless given.
    as_json : bool, default False
        Whether each is a JSON object.
    """

    def __init__(self, stream: TextIO | None = None, *, as_json: bool = False) -> None:
        self._stream, self._json = stream or sys.stderr, as_json
        self._said, self._what = monotonic(), ""

    def __call__(self, moment: Moment) -> None:
        """Print a line now and then."""
        now = monotonic()
        new = self._json and moment.what != self._what
        if new or now - self._said >= (JSON_PAUSE if self._json else PAUSE):
            self._said, self._what = now, moment.what
            line = json.dumps({"progress": asdict(moment)}) if self._json else str(moment)
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """Each line is complete."""


class Terminal:
    """A bar that is drawn again and again, and gone at the end."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._drawn = 0.0

    def __call__(self, moment: Moment) -> None:
        """Draw it again."""
        if self._bar is not None and monotonic() - self._drawn < BLINK:
            return
        self._drawn = monotonic()
        time, left = spoken(moment.seconds), moment.time_left
        shown: dict[str, Any] = {"what": moment.what, "of": moment.of, "time": time, "left": left}
        if self._bar is None:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=1.0, **shown)
            self._bar.start()
        self._bar.update(self._task, completed=moment.done, **shown)

    def close(self) -> None:
        """Give the terminal back."""
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn
    from rich.progress import Progress as Bar

    columns = "{task.fields[what]}", BarColumn(), "{task.percentage:.0f} %"
    details = "{task.fields[of]},", "{task.fields[time]}; {task.fields[left]}"
    return Bar(*columns, *details, console=Console(stderr=True), transient=True)


class Notebook:
    """One output of a notebook, which changes."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = 0.0

    def __call__(self, moment: Moment) -> None:
        """Show it in place of what was there."""
        if self._handle is None or monotonic() - self._drawn >= BLINK:
            self._drawn = monotonic()
            bar = f'<progress value="{moment.done:.3f}" aria-label="progress"></progress>'
            self._show({"text/plain": str(moment), "text/html": f"{bar} {moment}"})

    def close(self) -> None:
        """Leave nothing behind."""
        if self._handle is not None:
            self._show({"text/plain": "", "text/html": ""})

    def _show(self, said: dict[str, str]) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        if self._handle is None:
            self._handle = display(said, raw=True, display_id=True)
        else:
            self._handle.update(said, raw=True)


def whoever_is_there() -> Listener:
    """A notebook, or else a terminal, or else nobody."""
    if "ipykernel" in sys.modules:
        return Notebook()
    return Terminal() if sys.stderr.isatty() else Nobody()


_listener: ContextVar[Callable[[], Listener]] = ContextVar("listener", default=whoever_is_there)
_active: ContextVar[Progress | None] = ContextVar("active", default=None)


def present() -> Listener:
    """Whoever listens to the next computation."""
    return _listener.get()()


@contextmanager
def listening(listener: Callable[[], Listener]) -> Iterator[None]:
    """Tell somebody else.

    Parameters
    ----------
    listener : callable
        Makes the listener of each computation.

    Examples
    --------
    >>> with listening(Nobody), Progress("reading") as progress:
    ...     progress()
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """Counts steps, and says how far a computation is; one inside another is a part of it.

    Parameters
    ----------
    what : str
        What is being done; for a part, what the whole is doing unless given.
    start, end : float
        From where to where the work of the whole goes meanwhile, in shares of it.

    Examples
    --------
    >>> with Progress("a study") as whole:
    ...     with Progress("reading", end=0.2) as first:
    ...         first()
    ...     with Progress("searching", start=0.2) as second:
    ...         for _ in parts("four"):
    ...             second()
    ...         print(first.steps, second.steps, f"{second.done:.2f}")
    1 4 1.00
    """

    def __init__(self, what: str = "", *, start: float = 0.0, end: float = 1.0) -> None:
        self.what, self.steps = what, 0
        self._low, self._high = start, end

    def __enter__(self) -> Self:
        self._began, self._outer = monotonic(), _active.get()
        if self._outer is None:
            self._talk = _Talk(present())
        else:
            outer = self._outer
            self._talk, self.what = outer._talk, self.what or outer.what
            self._low, self._high = outer._at(self._low), outer._at(self._high)
        self._token = _active.set(self)
        self._talk(self.what, self._low)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _active.reset(self._token)
        if self._outer is None:
            self._talk.close()
        if kind is None and self.what and (self._outer is None or self.what != self._outer.what):
            steps = f", {plural(self.steps, 'step')}" * bool(self.steps)
            logger.info("%s: %s%s", self.what, spoken(monotonic() - self._began), steps)

    def __call__(self) -> None:
        """Count one more step."""
        self.steps += 1
        self._talk.steps += 1
        active = _active.get() or self
        self._talk(active.what, active._low)

    @property
    def done(self) -> float:
        """The share of all work that is done."""
        return self._low

    def _at(self, share: float) -> float:
        return self._low + share * (self._high - self._low)

    def _parts(self, items: Sequence[Item], weights: Sequence[float]) -> Iterator[Item]:
        low, span, whole, passed = self._low, self._high - self._low, sum(weights), 0.0
        for item, weight in zip(items, weights, strict=True):
            self._low = low + span * passed / whole
            passed += weight
            self._high = low + span * passed / whole
            self._talk(self.what, self._low)
            yield item
        self._low = self._high = low + span


class _Talk:
    """What is told of a whole computation; now and then also while a long step takes its time."""

    def __init__(self, listener: Listener) -> None:
        self.steps = 0
        self._listener, self._began, self._done, self._what = listener, monotonic(), 0.0, ""
        self._ended, self._lock = Event(), Lock()
        if not isinstance(listener, Nobody):
            Thread(target=self._tick, daemon=True).start()

    def __call__(self, what: str, done: float) -> None:
        self._what, self._done = what, max(self._done, done)
        self._tell()

    def _tell(self) -> None:
        seconds, done = monotonic() - self._began, self._done
        if seconds >= PATIENCE and not self._ended.is_set():
            left = seconds * (1 / done - 1) if done >= LEAST_DONE else None
            with self._lock:
                self._listener(Moment(self._what, done, plural(self.steps, "step"), seconds, left))

    def _tick(self) -> None:
        while not self._ended.wait(TICK):
            self._tell()

    def close(self) -> None:
        self._ended.set()
        with self._lock:
            self._listener.close()


def parts(items: Iterable[Item], weights: Sequence[float] = ()) -> Iterator[Item]:
    """Work through items, each of which is a part of what is being done.

    Parameters
    ----------
    items : iterable
        The items.
    weights : sequence of float
        How much work each of them is; all the same unless given.

    Examples
    --------
    >>> list(parts("ab")), list(parts("ab", weights=[2, 1]))
    (['a', 'b'], ['a', 'b'])
    """
    every, active = list(items), _active.get()
    if active is None:
        yield from every
    else:
        yield from active._parts(every, weights or [1.0] * len(every))
