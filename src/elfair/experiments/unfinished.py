"""What a study that is not finished has yet to run, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
