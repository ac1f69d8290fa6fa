"""What a study that is not finished has yet to run, in words.

How far a study is, and where its time goes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from elfair.experiments.cells import Cell, in_words
from elfair.experiments.progress import Timing, spoken
from elfair.experiments.study import Study
from elfair.experiments.trial import TrialRecord

#: How many things that were not begun are named; the others are counted.
MOST_NAMED = 6


class Planned(Protocol):
    """What is to be run: each method at each choice of settings, with so many seeds at each n."""

    @property
    def methods(self) -> Sequence[str]:
        """Names of the methods."""
        ...

    @property
    def combinations(self) -> Sequence[str]:
        """Every choice of settings, as records have it."""
        ...

    @property
    def seeds(self) -> Mapping[int, int]:
        """The number of seeds by size."""
        ...

    @property
    def trials(self) -> int:
        """How many trials there are in all."""
        ...


def unfinished(study: Planned, cells: Iterable[Cell], labels: Mapping[str, str]) -> tuple[str, ...]:
    """A warning of what is missing; nothing where all trials were run.

    Parameters
    ----------
    study : Study
        What is to be run.
    cells : iterable of Cell
        What was; a trial that crashed was run.
    labels : mapping of str to str
        What each method is called.

    Examples
    --------
    >>> from elfair.experiments.study import Study
    >>> study = Study.parse('''
    ... title = "A study"
    ... population = "lending"
    ... methods = ["elfair", "elf-paper"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> print(*unfinished(study, [], {"elf-paper": "ELF (paper)"}))
    this study is not finished: 0 of 4 trials were run. No trials yet of elfair; ELF (paper).
    """
    run = {(cell.method, cell.settings, cell.n): cell.trials + cell.crashed for cell in cells}
    if sum(run.values()) >= study.trials:
        return ()
    missing = _missing(study, run, labels)
    said = f"this study is not finished: {sum(run.values()):,} of {study.trials:,} trials were run."
    if missing:
        more = len(missing) - MOST_NAMED
        named = "; ".join(missing[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
        said += f" No trials yet of {named}."
    return (said,)


def _missing(
    study: Planned, run: Mapping[tuple[str, str, int], int], labels: Mapping[str, str]
) -> list[str]:
    """What has no trials: whole methods, then whole sizes of others, then single cells."""
    begun = {method for method, _, _ in run}
    whole = [labels.get(method, method) for method in study.methods if method not in begun]
    lacking: dict[str, list[str]] = {}
    for method in study.methods:
        if method in begun:
            for where in _places(study, method, run):
                lacking.setdefault(where, []).append(labels.get(method, method))
    every = "the others" if whole else "any method"
    return whole + [
        f"{every if len(who) == len(begun) > 1 else ' and '.join(who)} at {where}"
        for where, who in lacking.items()
    ]


def _places(study: Planned, method: str, run: Mapping[tuple[str, str, int], int]) -> Iterator[str]:
    """Where one method has no trials."""
    lacking = {
        n: [settings for settings in study.combinations if (method, settings, n) not in run]
        for n in study.seeds
    }
    if whole := [n for n, where in lacking.items() if len(where) == len(study.combinations)]:
        yield f"n = {', '.join(f'{n:,}' for n in whole)}"
    for n, where in lacking.items():
        for settings in where if n not in whole else ():
            yield f"n = {n:,}, {in_words(json.loads(settings))}"


#: How many different errors are shown.
MOST_ERRORS = 10


@dataclass(frozen=True)
class Standing:
    """How far some trials are.

    Attributes
    ----------
    total, done, crashed : int
        All of them; those that finished (without the crashed); those that crashed.
    spent : float
        Processor seconds of their fits so far.
    left : float or None
        An estimate of those to come; None while nothing was measured.
    """

    total: int
    done: int
    crashed: int
    spent: float
    left: float | None

    @property
    def pending(self) -> int:
        """Those that were not run yet."""
        return self.total - self.done - self.crashed


def status(study: Study, trials: Sequence[TrialRecord]) -> dict[tuple[str, int], Standing]:
    """How far each cell is: each method at each size, over all settings and seeds.

    Parameters
    ----------
    study : Study
        All that is to be run.
    trials : sequence of TrialRecord
        What has been.

    Examples
    --------
    >>> study = Study.load("figure-3")
    >>> trial = TrialRecord("elfair", '{"alpha": 1}', 256, 0, "no solution", None, {}, 0.5, None)
    >>> cell = status(study, [trial])["elfair", 512]
    >>> cell.pending, cell.left  # 11 settings, 100 seeds, a second each
    (1100, 1100.0)
    """
    timing = Timing(trials)
    count = Counter((trial.method, trial.n, trial.outcome == "failed") for trial in trials)
    found = {}
    for method in study.methods:
        for n, seeds in study.seeds.items():
            total = seeds * len(study.combinations)
            done, crashed = count[method, n, False], count[method, n, True]
            left = timing.left({(method, n): total - done - crashed})
            found[method, n] = Standing(total, done, crashed, timing.spent(method, n), left)
    return found


def by_method(cells: dict[tuple[str, int], Standing]) -> dict[str, Standing]:
    """The same with all sizes together."""
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


def described(study: Study, trials: Sequence[TrialRecord]) -> str:
    """The status by method, with all of them in the last line, and the errors of what crashed.

    Parameters
    ----------
    study : Study
        All that is to be run.
    trials : sequence of TrialRecord
        What has been.
    """
    methods = by_method(status(study, trials))
    total = _together(methods.values())
    table = [["method", "done", "crashed", "pending", "spent", "share", "about left"]]
    table += [_row(name, each, total.spent) for name, each in methods.items()]
    table.append(_row("all", total, total.spent))
    run = total.done + total.crashed
    lines = [study.title, f"{run:,} of {study.trials:,} trials; times are processor time of fits"]
    return "\n".join([*lines, "", *_aligned(table), *_errors(trials)])


def _errors(trials: Sequence[TrialRecord]) -> list[str]:
    """The first line of each error, the most frequent first."""
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
    """Lines with the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
