"""How far a study is, and where its time goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from elfair.experiments.progress import Timing, spoken
from elfair.experiments.records import TrialRecord
from elfair.experiments.study import Study

#: How many different errors are shown.
MOST_ERRORS = 10


@dataclass(frozen=True)
class Standing:
    """How far some trials are.

    Attributes
    ----------
    total, done, failed : int
        All of them; those that finished (without the failed); those that failed.
    spent : float
        Processor seconds of their fits so far.
    left : float or None
        An estimate of those to come; None while nothing was measured.
    """

    total: int
    done: int
    failed: int
    spent: float
    left: float | None

    @property
    def pending(self) -> int:
        """Those that were not run yet."""
        return self.total - self.done - self.failed


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
            done, failed = count[method, n, False], count[method, n, True]
            left = timing.left({(method, n): total - done - failed})
            found[method, n] = Standing(total, done, failed, timing.spent(method, n), left)
    return found


def by_method(cells: dict[tuple[str, int], Standing]) -> dict[str, Standing]:
    """The same with all sizes together."""
    found = {}
    for method in dict.fromkeys(method for method, _ in cells):
        own = [cell for (name, _), cell in cells.items() if name == method]
        lefts = [cell.left for cell in own]
        found[method] = Standing(
            sum(cell.total for cell in own),
            sum(cell.done for cell in own),
            sum(cell.failed for cell in own),
            sum(cell.spent for cell in own),
            None if None in lefts else sum(left or 0.0 for left in lefts),
        )
    return found


def described(study: Study, trials: Sequence[TrialRecord]) -> str:
    """The status in two tables, by method and by method and size, and the errors of what failed.

    Parameters
    ----------
    study : Study
        All that is to be run.
    trials : sequence of TrialRecord
        What has been.
    """
    cells = status(study, trials)
    methods = by_method(cells)
    spent = sum(each.spent for each in methods.values())
    heading = ["method", "n", "done", "failed", "pending", "spent", "share", "about left"]
    above = [heading] + [_row(name, "all", each, spent) for name, each in methods.items()]
    below = [heading] + [_row(name, f"{n:,}", each, spent) for (name, n), each in cells.items()]
    done = sum(each.done + each.failed for each in methods.values())
    lines = [study.title, f"{done:,} of {study.trials:,} trials; times are processor time of fits"]
    return "\n".join([*lines, "", *_aligned(above), "", *_aligned(below), *_errors(trials)])


def _errors(trials: Sequence[TrialRecord]) -> list[str]:
    """The first line of each error, the most frequent first."""
    failed = Counter((each.method, (each.error or "").split("\n")[0]) for each in trials)
    lines = [
        f"  {count:,} x {method}: {error}"
        for (method, error), count in failed.most_common()
        if error
    ]
    more = len(lines) - MOST_ERRORS
    lines = [*lines[:MOST_ERRORS], f"  and {more} other errors"] if more > 0 else lines
    return ["", "failed:", *lines] if lines else []


def _row(method: str, n: str, each: Standing, spent: float) -> list[str]:
    counts = [f"{count:,}" for count in (each.done, each.failed, each.pending)]
    share = f"{each.spent / spent:.1%}" if spent else "-"
    left = "unknown" if each.left is None else spoken(each.left) if each.pending else "-"
    return [method, n, *counts, spoken(each.spent), share, left]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
