"""What a study found: a cell for each (settings, method, n), with standard errors."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from elfair.errors import InputError
from elfair.experiments.cells import Cell, Rate, check_records, count_cell, in_words
from elfair.experiments.efficiency import Efficiency, Question, data_efficiency
from elfair.experiments.status import Planned, unfinished
from elfair.experiments.trial import TrialRecord

#: Methods whose failure rate is promised to be at most delta for each group.
GUARANTEED = ("elfair", "elfair-dr", "elfair-crossfit")
#: The method of the paper: its tau is estimated and treated as known, which carries no guarantee.
PAPER = "elf-paper"
#: How many standard errors above delta a failure rate may lie by chance; see `Promise`.
ALLOWED_ERRORS = 4.0
#: With fewer trials than this in each cell a promise cannot be called kept: the limit is too far
#: away (27 % for delta = 10 %, and above 100 % for a single trial).
LEAST_TRIALS = 50


class StudyLike(Planned, Protocol):
    """What a summary needs of a study."""

    @property
    def title(self) -> str:
        """What the study is about."""
        ...

    @property
    def population(self) -> str:
        """Name of the population."""
        ...

    @property
    def delta(self) -> float:
        """Admissible probability of failing a group."""
        ...

    @property
    def efficiency(self) -> Sequence[Question]:
        """What is asked about data efficiency."""
        ...


@dataclass(frozen=True)
class Promise:
    """The largest failure rate of a method over cells and groups, against what is promised.

    A rate is held against delta + 4 sqrt(delta (1 - delta) / m). The standard error is the one
    *at delta*: were the promise just kept, the count of failures would be at most binomial
    (m, delta), so that this is the spread which chance alone may bring; the error at the rate
    seen would grow with the failures and forgive them. Four of them, since the largest of some
    hundred rates is looked at: with delta = 0.1, one that is just kept goes beyond by chance with
    probability 1e-4 in 500 trials, and below 3e-4 in 100 or more.

    A rate beyond its limit is reported before a larger one, of fewer trials, within it; apart from
    these, only cells of at least `LEAST_TRIALS` trials count, where there are any. Where no trial
    fails anyone all of them are alike, and the one with the fewest trials speaks for all.
    """

    method: str
    cell: Cell
    group: str
    rate: Rate
    limit: float
    guaranteed: bool

    @property
    def kept(self) -> bool:
        """Whether every cell lies within its limit."""
        return self.rate.value <= self.limit

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.guaranteed:
            return "no guarantee"
        if not self.kept:
            return "BROKEN"
        return "kept" if self.rate.trials >= LEAST_TRIALS else "too few trials to tell"


@dataclass(frozen=True)
class Summary:
    """What a study found.

    Parameters
    ----------
    title, population, delta
        Of the study.
    planned : int
        How many trials the study has; all that were run are in `cells`.
    labels : mapping of str to str
        What each method of the study is called in tables and figures.
    groups : tuple of str
        Every group whose impact is known.
    cells : tuple of Cell
        By settings, then method in the study's order, then n.
    efficiency : tuple of Efficiency
        Answers to the study's questions about data efficiency.
    warnings : tuple of str
        What a reader must not overlook.
    """

    title: str
    population: str
    delta: float
    planned: int
    labels: Mapping[str, str]
    groups: tuple[str, ...]
    cells: tuple[Cell, ...]
    efficiency: tuple[Efficiency, ...]
    warnings: tuple[str, ...]

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The settings met, in order."""
        return tuple(dict.fromkeys(cell.settings for cell in self.cells))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods met, in the study's order."""
        shown = {cell.method for cell in self.cells}
        return tuple(name for name in self.labels if name in shown)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes met."""
        return tuple(sorted({cell.n for cell in self.cells}))

    def line(self, settings: str, method: str) -> tuple[Cell, ...]:
        """The cells of one method at one choice of settings, by n."""
        return self._lines.get((settings, method), ())

    @cached_property
    def _lines(self) -> dict[tuple[str, str], tuple[Cell, ...]]:
        lines: dict[tuple[str, str], tuple[Cell, ...]] = {}
        for cell in self.cells:
            key = (cell.settings, cell.method)
            lines[key] = (*lines.get(key, ()), cell)
        return lines

    def name_of(self, settings: str) -> str:
        """Settings in words: those that differ within the study, or all where none does; the
        population where there are none.
        """
        swept = self._swept or set(json.loads(settings))
        known = {k: v for k, v in json.loads(settings).items() if k in swept}
        return in_words(known) if known else self.population

    @property
    def fixed(self) -> str:
        """The settings that all cells share, in words; empty where `name_of` tells them all."""
        if not self._swept:
            return ""
        first = json.loads(self.settings[0])
        return in_words({k: v for k, v in first.items() if k not in self._swept})

    @cached_property
    def _swept(self) -> set[str]:
        seen: dict[str, set[str]] = defaultdict(set)
        for text in self.settings:
            for name, value in json.loads(text).items():
                seen[name].add(json.dumps(value))
        return {name for name, values in seen.items() if len(values) > 1}

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time went: processor seconds by method, crashed trials included."""
        return {
            method: math.fsum(cell.total_seconds for cell in self.cells if cell.method == method)
            for method in self.methods
        }

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The check of what elfair promises, and the paper's method beside it."""
        found = []
        for method in self.methods:
            if method not in (*GUARANTEED, PAPER):
                continue
            rates = [
                Promise(method, cell, group, rate, self._limit(rate.trials), method != PAPER)
                for cell in self.cells
                if cell.method == method and cell.trials
                for group, rate in cell.failures.items()
            ]
            enough = [p for p in rates if p.rate.trials >= LEAST_TRIALS or not p.kept] or rates
            if enough:
                found.append(max(enough, key=_telling))
        return tuple(found)

    def _limit(self, trials: int) -> float:
        return self.delta + ALLOWED_ERRORS * math.sqrt(self.delta * (1 - self.delta) / trials)

    def text(self) -> str:
        """Tables for the terminal, at most 100 columns wide."""
        from elfair.experiments.tables import as_text

        return as_text(self)

    def markdown(self) -> str:
        """The same tables in Markdown."""
        from elfair.experiments.tables import as_markdown

        return as_markdown(self)

    def csv(self) -> str:
        """One line for each cell, at full precision."""
        from elfair.experiments.tables import as_csv

        return as_csv(self)


def summarize(
    study: StudyLike,
    records: Iterable[TrialRecord],
    labels: Mapping[str, str] | None = None,
    *,
    sources: Collection[str] = (),
) -> Summary:
    """Count and average the trials of a study.

    Parameters
    ----------
    study : Study
        What was asked.
    records : iterable of TrialRecord
        What was found, in any order; the study need not be finished.
    labels : mapping of str to str, optional
        What each method is called; unless given, what it calls itself, or its name where it cannot
        be imported.
    sources : collection of str, optional
        Versions (or digests) of the code that ran the trials; more than one is warned of.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from elfair.experiments.study import Study
    >>> study = Study.parse('''
    ... title = "A study"
    ... population = "lending"
    ... methods = ["elfair"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> violations = {"0": -0.1, "1": 0.2}
    >>> trials = [
    ...     TrialRecord("elfair", "{}", 256, 0, "returned", 0.875, violations, 0.02, None),
    ...     TrialRecord("elfair", "{}", 256, 1, "no solution", None, {}, 0.02, None),
    ... ]
    >>> [cell] = summarize(study, trials).cells
    >>> cell.returned.value, cell.accuracy.value, cell.failures["1"].value
    (0.5, 0.875, 0.5)
    """
    trials = list(records)
    groups = check_records(trials, study.methods)
    by_cell: dict[tuple[str, str, int], list[TrialRecord]] = defaultdict(list)
    for record in trials:
        by_cell[record.settings, record.method, record.n].append(record)
    place = {method: index for index, method in enumerate(study.methods)}
    order = sorted(by_cell, key=lambda key: (_by_value(key[0]), place[key[1]], key[2]))
    cells = tuple(count_cell(*key, by_cell[key], groups) for key in order)
    if labels is None:
        from elfair.experiments.baselines.registry import label_of

        labels = {name: label_of(name) for name in study.methods}
    warnings = list(unfinished(study, cells, labels))
    if len(set(sources)) > 1:
        warnings.append(
            f"these trials were run by {len(set(sources))} versions of the code: "
            f"{', '.join(sorted(set(sources)))}."
        )
    answers = []
    for question in study.efficiency:
        try:
            answers.append(data_efficiency(trials, question))
        except InputError as error:  # a study that is not finished cannot answer yet
            warnings.append(str(error).partition("\n")[0])
    return Summary(
        title=study.title,
        population=study.population,
        delta=study.delta,
        planned=study.trials,
        labels={method: labels.get(method, method) for method in study.methods},
        groups=groups,
        cells=cells,
        efficiency=tuple(answers),
        warnings=tuple(warnings),
    )


def _by_value(settings: str) -> list[tuple[str, float, str]]:
    """A key that sorts settings by their numbers, not by their digits."""
    return [
        (name, value, "") if isinstance(value, int | float) else (name, math.inf, json.dumps(value))
        for name, value in sorted(json.loads(settings).items())
    ]


def _telling(promise: Promise) -> tuple[bool, float, int]:
    """A key whose largest tells most: beyond its limit, then by rate, then by trials."""
    trials = promise.rate.trials
    return (not promise.kept, promise.rate.value, trials if promise.rate.count else -trials)
