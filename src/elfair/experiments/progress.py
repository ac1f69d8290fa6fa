"""How long the rest will take, told from what was measured, and a live view of it."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Self

from elfair.experiments.trial import TrialRecord

#: A method and a size: trials of a cell take about the same time.
Cell = tuple[str, int]
#: Seconds between two lines where there is no terminal.
PAUSE = 10.0


class Timing:
    """Processor time by cell, measured or else extrapolated.

    Cells differ a thousandfold in time, so that a count of trials says little.

    Examples
    --------
    >>> timing = Timing()
    >>> timing.add("elfair", 256, 0.25)
    >>> timing.left({("elfair", 256): 2, ("elfair", 1024): 1})  # 4 times the rows, 4 times the time
    1.5
    """

    def __init__(self, trials: Iterable[TrialRecord] = ()) -> None:
        self._sum: dict[Cell, float] = defaultdict(float)
        self._count: Counter[Cell] = Counter()
        for trial in trials:
            self.add(trial.method, trial.n, trial.seconds)

    def add(self, method: str, n: int, seconds: float) -> None:
        """One more trial took so long."""
        self._sum[method, n] += seconds
        self._count[method, n] += 1

    def spent(self, method: str, n: int) -> float:
        """The seconds of all trials of a cell."""
        return self._sum.get((method, n), 0.0)

    def of_trial(self, method: str, n: int) -> float | None:
        """Seconds of one trial of a cell: their mean; before there is one, that of the method's
        nearest size, in proportion to the rows; before there is one, the mean of other methods.
        """
        sizes = [size for name, size in self._count if name == method]
        if sizes:
            # Nearest by ratio: sizes double.
            near = min(sizes, key=lambda size: max(size / n, n / size))
            return self._sum[method, near] / self._count[method, near] * n / near
        others = [self.of_trial(name, n) for name in {name for name, _ in self._count}]
        known = [each for each in others if each is not None]
        return sum(known) / len(known) if known else None

    def left(self, pending: dict[Cell, int]) -> float | None:
        """Seconds of the trials that remain; None while nothing at all is known."""
        each = [(self.of_trial(*cell), count) for cell, count in pending.items() if count]
        if any(seconds is None for seconds, _ in each):
            return None
        return float(sum((seconds or 0.0) * count for seconds, count in each))


class Progress:
    """A live line with trials done, crashes and time left; plain lines where no terminal is.

    Parameters
    ----------
    pending : mapping of (method, n) to int
        Trials that remain.
    timing : Timing
        What is known of their time; it learns as trials finish.
    total : int
        All trials of the study.
    jobs : int
        How many run side by side.
    quiet : bool, default False
        Show nothing.
    """

    def __init__(
        self, pending: dict[Cell, int], timing: Timing, *, total: int, jobs: int, quiet: bool
    ) -> None:
        self.failed = 0
        self.finished = 0
        self._pending, self._timing = Counter(pending), timing
        self._total, self._jobs, self._quiet = total, jobs, quiet
        self._began = self._said = monotonic()
        self._seconds = 0.0
        self._bar: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
            self._line = self._bar.add_task("", total=self._total, crashed=0, left="")
            self._show()
        return self

    def __call__(self, trials: Sequence[TrialRecord]) -> None:
        """These trials have finished."""
        if not self.finished:  # until now workers were starting
            self._began = monotonic()
            self._seconds = -sum(trial.seconds for trial in trials)
        for trial in trials:
            self.finished += 1
            self.failed += trial.outcome == "failed"
            self._pending[trial.method, trial.n] -= 1
            self._timing.add(trial.method, trial.n, trial.seconds)
            self._seconds += trial.seconds
        if self._bar is not None:
            self._show()
        elif not self._quiet and monotonic() - self._said >= PAUSE:
            self._said = monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def left(self) -> float | None:
        """Seconds until all is done.

        Processor time becomes time on the clock by what was seen in this run: drawing, scoring and
        other users of the machine count too.
        """
        seconds = self._timing.left(self._pending)
        if seconds is None or self._seconds <= 0:
            return None if seconds is None else seconds / self._jobs
        return seconds * (monotonic() - self._began) / self._seconds

    def line(self) -> str:
        """All of it in one line."""
        remaining = sum(self._pending.values())
        done = self._total - remaining
        left = self.left()
        return (
            f"{done:,} of {self._total:,} trials, {self.failed:,} crashed, "
            f"{'time left not yet known' if left is None else f'about {spoken(left)} left'}"
        )

    def _show(self) -> None:
        left = self.left()
        self._bar.update(
            self._line,
            completed=self._total - sum(self._pending.values()),
            crashed=self.failed,
            left="" if left is None else f"about {spoken(left)} left",
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        "{task.completed:,} of {task.total:,} trials",
        BarColumn(),
        "{task.fields[crashed]:,} crashed",
        TimeElapsedColumn(),
        "{task.fields[left]}",
        console=Console(stderr=True),
    )


def spoken(seconds: float) -> str:
    """A length of time, as one would say it.

    Examples
    --------
    >>> [spoken(s) for s in (7e-6, 0.04, 12.3, 150, 5000, 200000)]
    ['under 0.01 s', '0.04 s', '12 s', '2.5 min', '1.4 h', '2.3 days']
    """
    if 0 < seconds < 0.01:
        return "under 0.01 s"
    if seconds < 10:
        return f"{seconds:.2g} s"
    for size, unit in ((86400, "days"), (3600, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / (60 if unit == 'min' else size):.1f} {unit}"
    return f"{seconds:.0f} s"
