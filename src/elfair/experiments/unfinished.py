"""What a study that is not finished has yet to run, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from elfair.experiments.cells import Cell, in_words

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
    missing = [
        part
        for method in study.methods
        for part in _missing(study, method, labels.get(method, method), run)
    ]
    said = f"this study is not finished: {sum(run.values()):,} of {study.trials:,} trials were run."
    if missing:
        more = len(missing) - MOST_NAMED
        named = "; ".join(missing[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
        said += f" No trials yet of {named}."
    return (said,)


def _missing(
    study: Planned, method: str, label: str, run: Mapping[tuple[str, str, int], int]
) -> list[str]:
    """The cells of one method without trials: all of them, whole sizes, or one by one."""
    lacking = {
        n: [settings for settings in study.combinations if (method, settings, n) not in run]
        for n in study.seeds
    }
    everywhere = [n for n, where in lacking.items() if len(where) == len(study.combinations)]
    if len(everywhere) == len(lacking):
        return [label]
    found = []
    if everywhere:
        found.append(f"{label} at n = {', '.join(f'{n:,}' for n in everywhere)}")
    return found + [
        f"{label} at n = {n:,}, {in_words(json.loads(settings))}"
        for n, where in lacking.items()
        if n not in everywhere
        for settings in where
    ]
