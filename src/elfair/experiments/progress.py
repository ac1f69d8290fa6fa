"""How far an experiment is: how long the rest will take, a live view of a run, what is missing.

Times are processor times of fits that were measured.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from elfair.experiments.experiment import in_words
from elfair.experiments.trial import TrialRecord
from elfair.records.progress import PATIENCE, Listener, Moment
from elfair.records.text import spoken

if TYPE_CHECKING:
    from elfair.experiments.experiment import Experiment
    from elfair.experiments.summary import CellSummary

#: A method and a size. Trials of one cell take about the same time.
CellKey = tuple[str, int]
#: How many methods or cells without trials are named; the others are counted.
MOST_NAMED = 6
#: How many different errors are shown.
MOST_ERRORS = 10


class Timing:
    """Processor time by cell, measured or extrapolated.

    Times of cells differ by a factor of a thousand, so a count of trials says little.

    Examples
    --------
    >>> timing = Timing()
    >>> timing.add("elfair", 256, 0.25)
    >>> timing.left({("elfair", 256): 2, ("elfair", 1024): 1})  # 4 times the rows, 4 times the time
    1.5
    """

    def __init__(self, trials: Iterable[TrialRecord] = ()) -> None:
        self._sum: dict[CellKey, float] = defaultdict(float)
        self._count: Counter[CellKey] = Counter()
        for trial in trials:
            self.add(trial.method, trial.n, trial.seconds)

    def add(self, method: str, n: int, seconds: float) -> None:
        """Add the time of one trial."""
        self._sum[method, n] += seconds
        self._count[method, n] += 1

    def spent(self, method: str, n: int) -> float:
        """Seconds of all trials of a cell."""
        return self._sum.get((method, n), 0.0)

    def of_trial(self, method: str, n: int) -> float | None:
        """Seconds of one trial of a cell, on average.

        Without a measurement, it is that of the method's nearest size, in proportion to the rows.
        Without any trial of the method, it is the mean of other methods.
        """
        sizes = [size for name, size in self._count if name == method]
        if sizes:
            # Nearest by ratio: sizes double.
            near = min(sizes, key=lambda size: max(size / n, n / size))
            return self._sum[method, near] / self._count[method, near] * n / near
        others = [self.of_trial(name, n) for name in {name for name, _ in self._count}]
        known = [each for each in others if each is not None]
        return sum(known) / len(known) if known else None

    def left(self, pending: dict[CellKey, int]) -> float | None:
        """Seconds of the remaining trials; None while nothing was measured."""
        each = [(self.of_trial(*cell), count) for cell, count in pending.items() if count]
        if any(seconds is None for seconds, _ in each):
            return None
        return float(sum((seconds or 0.0) * count for seconds, count in each))


class Progress:
    """Tells whoever listens of finished trials, crashes and time left.

    Parameters
    ----------
    pending : mapping of (method, n) to int
        Remaining trials.
    timing : Timing
        The times measured so far; it is updated as trials finish.
    total : int
        All trials of the experiment.
    jobs : int
        How many trials run at a time.
    listener : Listener
        Whom it tells.
    """

    def __init__(
        self,
        pending: dict[CellKey, int],
        timing: Timing,
        *,
        total: int,
        jobs: int,
        listener: Listener,
    ) -> None:
        self.failed = 0
        self.finished = 0
        self._pending, self._timing = Counter(pending), timing
        self._total, self._jobs, self._listener = total, jobs, listener
        self._started = self._began = monotonic()
        self._seconds = 0.0

    def __enter__(self) -> Self:
        self._tell()
        return self

    def __call__(self, trials: Sequence[TrialRecord]) -> None:
        """Report finished trials."""
        if not self.finished:  # workers were starting until now
            self._began = monotonic()
            self._seconds = -sum(trial.seconds for trial in trials)
        for trial in trials:
            self.finished += 1
            self.failed += trial.outcome == "failed"
            self._pending[trial.method, trial.n] -= 1
            self._timing.add(trial.method, trial.n, trial.seconds)
            self._seconds += trial.seconds
        self._tell()

    def left(self) -> float | None:
        """Seconds until the experiment is finished.

        The ratio of clock time to processor time is measured in this run, so drawing, scoring and
        other users of the machine are included.
        """
        seconds = self._timing.left(self._pending)
        if seconds is None or self._seconds <= 0:
            return None if seconds is None else seconds / self._jobs
        return seconds * (monotonic() - self._began) / self._seconds

    def _tell(self) -> None:
        done = self._total - sum(self._pending.values())
        of = f"{done:,} of {self._total:,} trials, {self.failed:,} crashed"
        seconds, share = monotonic() - self._started, done / self._total if self._total else 1.0
        if seconds >= PATIENCE:
            self._listener(Moment("running trials", share, of, seconds, self.left()))

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def unfinished(
    experiment: Experiment, cells: Iterable[CellSummary], labels: Mapping[str, str]
) -> tuple[str, ...]:
    """A warning about missing trials; empty if all trials were run.

    Parameters
    ----------
    experiment : Experiment
        The whole experiment.
    cells : iterable of CellSummary
        The trials that were run, crashed ones included.
    labels : mapping of str to str
        The label of each method.

    Examples
    --------
    >>> from elfair.experiments.experiment import Experiment
    >>> experiment = Experiment.parse('''
    ... title = "An experiment"
    ... population = "lending"
    ... methods = ["elfair", "elf-paper"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> print(*unfinished(experiment, [], {"elf-paper": "ELF (paper)"}))
    this experiment is not finished: 0 of 4 trials were run. No trials yet of elfair; ELF (paper).
    """
    run = {(cell.method, cell.settings, cell.n): cell.trials + cell.crashed for cell in cells}
    if sum(run.values()) >= experiment.trials:
        return ()
    missing = _missing(experiment, run, labels)
    done = f"{sum(run.values()):,} of {experiment.trials:,} trials were run"
    said = f"this experiment is not finished: {done}."
    if missing:
        more = len(missing) - MOST_NAMED
        named = "; ".join(missing[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
        said += f" No trials yet of {named}."
    return (said,)


def _missing(
    experiment: Experiment, run: Mapping[tuple[str, str, int], int], labels: Mapping[str, str]
) -> list[str]:
    """Where trials are missing: whole methods, then whole sizes of others, then single cells."""
    begun = {method for method, _, _ in run}
    whole = [labels.get(method, method) for method in experiment.methods if method not in begun]
    lacking: dict[str, list[str]] = {}
    for method in experiment.methods:
        if method in begun:
            for where in _places(experiment, method, run):
                lacking.setdefault(where, []).append(labels.get(method, method))
    every = "the others" if whole else "any method"
    return whole + [
        f"{every if len(who) == len(begun) > 1 else ' and '.join(who)} at {where}"
        for where, who in lacking.items()
    ]


def _places(
    experiment: Experiment, method: str, run: Mapping[tuple[str, str, int], int]
) -> Iterator[str]:
    """Where one method has no trials."""
    lacking = {
        n: [settings for settings in experiment.combinations if (method, settings, n) not in run]
        for n in experiment.seeds
    }
    if whole := [n for n, where in lacking.items() if len(where) == len(experiment.combinations)]:
        yield f"n = {', '.join(f'{n:,}' for n in whole)}"
    for n, where in lacking.items():
        for settings in where if n not in whole else ():
            yield f"n = {n:,}, {in_words(json.loads(settings))}"


@dataclass(frozen=True)
class Standing:
    """The progress of some trials.

    Attributes
    ----------
    total, done, crashed : int
        All trials; those that finished without a crash; those that crashed.
    spent : float
        Processor seconds of their fits so far.
    left : float or None
        The estimated seconds of the others; None while nothing was measured.
    """

    total: int
    done: int
    crashed: int
    spent: float
    left: float | None

    @property
    def pending(self) -> int:
        """How many were not run yet."""
        return self.total - self.done - self.crashed


def status(
    experiment: Experiment, trials: Sequence[TrialRecord]
) -> dict[tuple[str, int], Standing]:
    """The progress of each cell: each method at each size, over all settings and seeds.

    Parameters
    ----------
    experiment : Experiment
        The whole experiment.
    trials : sequence of TrialRecord
        The trials that were run.

    Examples
    --------
    >>> from elfair.experiments.experiment import Experiment
    >>> experiment = Experiment.load("figure-3")
    >>> trial = TrialRecord("elfair", '{"alpha": 1}', 256, 0, "no solution", None, {}, 0.5, None)
    >>> cell = status(experiment, [trial])["elfair", 512]
    >>> cell.pending, cell.left  # 11 settings, 100 seeds, a second each
    (1100, 1100.0)
    """
    timing = Timing(trials)
    count = Counter((trial.method, trial.n, trial.outcome == "failed") for trial in trials)
    found = {}
    for method in experiment.methods:
        for n, seeds in experiment.seeds.items():
            total = seeds * len(experiment.combinations)
            done, crashed = count[method, n, False], count[method, n, True]
            left = timing.left({(method, n): total - done - crashed})
            found[method, n] = Standing(total, done, crashed, timing.spent(method, n), left)
    return found


def by_method(cells: dict[tuple[str, int], Standing]) -> dict[str, Standing]:
    """The progress of each method over all sizes."""
    return {
        method: _together(cell for (name, _), cell in cells.items() if name == method)
        for method in dict.fromkeys(method for method, _ in cells)
    }


def _together(parts: Iterable[Standing]) -> Standing:
    each = list(parts)
    lefts = [part.left for part in each]
    return Standing(
        sum(part.total for part in each),
        sum(part.done for part in each),
        sum(part.crashed for part in each),
        sum(part.spent for part in each),
        None if None in lefts else sum(left or 0.0 for left in lefts),
    )


def described(experiment: Experiment, trials: Sequence[TrialRecord]) -> str:
    """The progress of each method and of all together, and the errors of crashed trials.

    Parameters
    ----------
    experiment : Experiment
        The whole experiment.
    trials : sequence of TrialRecord
        The trials that were run.
    """
    methods = by_method(status(experiment, trials))
    total = _together(methods.values())
    table = [["method", "done", "crashed", "pending", "spent", "share", "about left"]]
    table += [_row(name, each, total.spent) for name, each in methods.items()]
    table.append(_row("all", total, total.spent))
    run = total.done + total.crashed
    lines = [
        experiment.title,
        f"{run:,} of {experiment.trials:,} trials; times are processor times of fits",
    ]
    return "\n".join([*lines, "", *_aligned(table), *_errors(trials)])


def facts_of(experiment: Experiment, trials: Sequence[TrialRecord]) -> dict[str, Any]:
    """The same for programs.

    Parameters
    ----------
    experiment, trials
        See `described`.
    """
    methods = by_method(status(experiment, trials))
    crashed = Counter((each.method, (each.error or "").split("\n")[0]) for each in trials)
    return {
        "title": experiment.title,
        "trials": experiment.trials,
        "methods": {**methods, "all": _together(methods.values())},
        "errors": [
            {"method": method, "error": error, "trials": count}
            for (method, error), count in crashed.most_common()
            if error
        ],
    }


def _errors(trials: Sequence[TrialRecord]) -> list[str]:
    """The first line of each error, most frequent first."""
    crashed = Counter((each.method, (each.error or "").split("\n")[0]) for each in trials)
    lines = [
        f"  {count:,} x {method}: {error}"
        for (method, error), count in crashed.most_common()
        if error
    ]
    more = len(lines) - MOST_ERRORS
    lines = [*lines[:MOST_ERRORS], f"  and {more} other errors"] if more > 0 else lines
    return ["", "crashed:", *lines] if lines else []


def _row(method: str, each: Standing, spent: float) -> list[str]:
    counts = [f"{count:,}" for count in (each.done, each.crashed, each.pending)]
    share = f"{each.spent / spent:.1%}" if spent else "-"
    left = "unknown" if each.left is None else spoken(each.left) if each.pending else "-"
    return [method, *counts, spoken(each.spent), share, left]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
