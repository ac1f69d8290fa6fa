"""What an experiment found: its trials counted and averaged, with standard errors.

A cell holds all trials of one method at one size and one choice of settings.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from elfair.errors import InputError
from elfair.experiments.efficiency import Efficiency, data_efficiency
from elfair.experiments.experiment import in_words
from elfair.experiments.progress import unfinished
from elfair.experiments.trial import TrialRecord
from elfair.records.json import to_json

if TYPE_CHECKING:
    from elfair.experiments.experiment import Experiment

#: Methods that promise a failure rate of at most delta for each group.
GUARANTEED = ("elfair", "elfair-dr", "elfair-crossfit")
#: The paper's method. It treats its estimated tau as known, which carries no guarantee.
PAPER = "elf-paper"
#: How many standard errors above delta a failure rate can lie by chance; see `Promise`.
ALLOWED_ERRORS = 4.0
#: With fewer trials than this in each cell a promise cannot be called kept: the limit is too high
#: (27 % for delta = 10 %, and above 100 % for a single trial).
LEAST_TRIALS = 50
#: A violation up to this size is rounding in the truth: the group is not worse off.
ROUNDING = 1e-9

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Proportion:
    """How often something happened, with its uncertainty.

    The standard error is the plain one, sqrt(p (1 - p) / m): tables show it beside a rate. If the
    count is 0 or all, it is 0 and says nothing, so tables show the far end of Wilson's 95 %
    interval instead; a CSV file always holds both. Figures show `band`, Wilson's interval at one
    standard error: about the rate -+ one standard error, and never empty.

    Examples
    --------
    >>> rate = Proportion(0, 500)
    >>> rate.value, rate.standard_error
    (0.0, 0.0)
    >>> round(rate.interval[1], 4)
    0.0076
    >>> [round(end, 4) for end in rate.band]
    [0.0, 0.002]
    """

    count: int
    trials: int

    @property
    def value(self) -> float:
        """The share; NaN without trials."""
        return self.count / self.trials if self.trials else math.nan

    @property
    def standard_error(self) -> float:
        """Sqrt(p (1 - p) / m)."""
        return math.sqrt(self.value * (1 - self.value) / self.trials) if self.trials else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval (E. B. Wilson, JASA 22, 1927)."""
        return self._wilson(_Z95)

    @property
    def band(self) -> tuple[float, float]:
        """Wilson's interval at one standard error, for figures."""
        return self._wilson(1.0)

    def _wilson(self, z: float) -> tuple[float, float]:
        if not self.trials:
            return (0.0, 1.0)
        total = self.trials + z**2
        middle = (self.count + z**2 / 2) / total
        spread = self.count * (self.trials - self.count) / self.trials
        half = z * math.sqrt(spread + z**2 / 4) / total
        return (max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True)
class Average:
    """An average with its standard error; NaN if there are too few values.

    Examples
    --------
    >>> Average.of([0.5, 1.0]).value
    0.75
    >>> Average.of([0.5]).standard_error
    nan
    """

    value: float
    standard_error: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Average:
        """The average of some values."""
        count = len(values)
        error = np.std(values, ddof=1) / math.sqrt(count) if count > 1 else math.nan
        value = np.mean(values) if count else math.nan
        return cls(float(value), float(error), count)

    @property
    def band(self) -> tuple[float, float]:
        """One standard error either way; NaN for a single value, whose error is unknown."""
        return (self.value - self.standard_error, self.value + self.standard_error)


@dataclass(frozen=True)
class CellSummary:
    """All trials of one method at one size and one choice of settings.

    Rates are shares of all trials that did not crash: a method that returns nothing harms nobody.
    """

    settings: str
    method: str
    n: int
    trials: int
    crashed: int
    returned: Proportion
    accuracy: Average
    failures: Mapping[str, Proportion]
    any_failure: Proportion
    median_seconds: float
    total_seconds: float
    first_error: str | None


def count_cell(
    settings: str, method: str, n: int, records: Sequence[TrialRecord], groups: Sequence[str]
) -> CellSummary:
    """Count and average the trials of one cell."""
    ordered = sorted(records, key=lambda record: record.seed)  # rounding of sums depends on it
    whole = [record for record in ordered if record.outcome != "failed"]
    crashes = [record for record in ordered if record.outcome == "failed"]
    models = [record for record in whole if record.outcome == "returned"]
    failed = [[record.violations[group] > ROUNDING for group in groups] for record in models]
    return CellSummary(
        settings=settings,
        method=method,
        n=n,
        trials=len(whole),
        crashed=len(crashes),
        returned=Proportion(len(models), len(whole)),
        accuracy=Average.of([record.accuracy for record in models if record.accuracy is not None]),
        failures={
            group: Proportion(sum(each[index] for each in failed), len(whole))
            for index, group in enumerate(groups)
        },
        any_failure=Proportion(sum(any(each) for each in failed), len(whole)),
        median_seconds=float(np.median([r.seconds for r in whole])) if whole else math.nan,
        total_seconds=math.fsum(record.seconds for record in records),
        first_error=crashes[0].error if crashes else None,
    )


def check_records(records: Sequence[TrialRecord], methods: Sequence[str]) -> tuple[str, ...]:
    """Check the records, and return their groups: nothing odd may count as "not failed"."""
    groups = {group for record in records for group in record.violations}
    seen = set()
    for record in records:
        trial = (record.method, record.settings, record.n, record.seed)
        odd = None
        if trial in seen:
            odd = "appears twice"
        elif record.method not in methods:
            odd = f"has a method that is not in the experiment: {', '.join(methods)}"
        elif record.outcome not in ("returned", "no solution", "failed"):
            odd = f"has an unknown outcome, {record.outcome!r}"
        elif record.outcome == "returned":
            values = [record.accuracy, *record.violations.values()]
            if set(record.violations) != groups or not all(
                value is not None and math.isfinite(value) for value in values
            ):
                odd = "returned a model, but its accuracy or the violation of a group is missing"
        if odd:
            raise InputError(
                f"The trial (method, settings, n, seed) = {trial} {odd}.",
                hint="the runner did not write this store, or it belongs to another experiment.",
            )
        seen.add(trial)
    return tuple(sorted(groups, key=lambda group: (len(group), group)))


@dataclass(frozen=True)
class Promise:
    """The largest failure rate of a method over cells and groups, compared with its promise.

    A rate is compared with delta + 4 sqrt(delta (1 - delta) / m). The standard error is the one *at
    delta*: if the promise is just kept, the count of failures is at most binomial (m, delta), so
    this is the spread that chance explains. The error at the observed rate would grow with the
    failures and excuse them. It takes four of them because this is the largest of some hundred
    rates: with delta = 0.1, a promise that is just kept exceeds the limit by chance with
    probability 1e-4 in 500 trials, and below 3e-4 in 100 or more.

    A rate above its limit is reported before a larger one within its limit, from fewer trials.
    Apart from these, only cells with at least `LEAST_TRIALS` trials count, if there are any. If no
    trial harms anyone, all cells are alike, and the one with the fewest trials is reported.
    """

    method: str
    cell: CellSummary
    group: str
    rate: Proportion
    limit: float
    guaranteed: bool

    @property
    def kept(self) -> bool:
        """Whether every cell is within its limit."""
        return self.rate.value <= self.limit

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if not self.guaranteed:
            return "no guarantee"
        if not self.kept:
            return "BROKEN"
        return "kept" if self.rate.trials >= LEAST_TRIALS else "too few trials to tell"


@dataclass(frozen=True)
class Summary:
    """What an experiment found.

    Parameters
    ----------
    title, population, delta
        Those of the experiment.
    planned : int
        How many trials the experiment has; those that were run are in `cells`.
    labels : mapping of str to str
        The label of each method in tables and figures.
    groups : tuple of str
        Every group whose impact is known.
    cells : tuple of CellSummary
        By settings, then method in the experiment's order, then n.
    efficiency : tuple of Efficiency
        Answers to the experiment's questions about data efficiency.
    warnings : tuple of str
        What a reader has to know.
    """

    title: str
    population: str
    delta: float
    planned: int
    labels: Mapping[str, str]
    groups: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    efficiency: tuple[Efficiency, ...]
    warnings: tuple[str, ...]

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The settings of the cells, in order."""
        return tuple(dict.fromkeys(cell.settings for cell in self.cells))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods of the cells, in the experiment's order."""
        shown = {cell.method for cell in self.cells}
        return tuple(name for name in self.labels if name in shown)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the cells."""
        return tuple(sorted({cell.n for cell in self.cells}))

    def line(self, settings: str, method: str) -> tuple[CellSummary, ...]:
        """The cells of one method at one choice of settings, by n."""
        return self._lines.get((settings, method), ())

    @cached_property
    def _lines(self) -> dict[tuple[str, str], tuple[CellSummary, ...]]:
        lines: dict[tuple[str, str], tuple[CellSummary, ...]] = {}
        for cell in self.cells:
            key = (cell.settings, cell.method)
            lines[key] = (*lines.get(key, ()), cell)
        return lines

    def name_of(self, settings: str) -> str:
        """Settings in words: those that differ within the experiment, or all if none does.

        Without settings it is the name of the population.
        """
        swept = self._swept or set(json.loads(settings))
        known = {k: v for k, v in json.loads(settings).items() if k in swept}
        return in_words(known) if known else self.population

    @property
    def fixed(self) -> str:
        """The settings that all cells share, in words; empty if `name_of` includes them."""
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
        """Processor seconds by method, crashed trials included."""
        return {
            method: math.fsum(cell.total_seconds for cell in self.cells if cell.method == method)
            for method in self.methods
        }

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The check of what elfair promises, with the paper's method for comparison."""
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

    def to_json(self) -> str:
        """The whole record, for programs."""
        return to_json(self)

    def csv(self) -> str:
        """One line for each cell, at full precision."""
        from elfair.experiments.tables import as_csv

        return as_csv(self)


def summarize(
    experiment: Experiment,
    records: Iterable[TrialRecord],
    labels: Mapping[str, str] | None = None,
    *,
    sources: Collection[str] = (),
) -> Summary:
    """Count and average the trials of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    records : iterable of TrialRecord
        Its trials, in any order. The experiment need not be finished.
    labels : mapping of str to str, optional
        The label of each method. The default is its own label, or its name if it cannot be
        imported.
    sources : collection of str, optional
        Versions (or digests) of the code that ran the trials; more than one gives a warning.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from elfair.experiments.experiment import Experiment
    >>> experiment = Experiment.parse('''
    ... title = "An experiment"
    ... population = "lending"
    ... methods = ["elfair"]
    ... sizes = [{ n = [256], seeds = 2 }]
    ... ''')
    >>> violations = {"0": -0.1, "1": 0.2}
    >>> trials = [
    ...     TrialRecord("elfair", "{}", 256, 0, "returned", 0.875, violations, 0.02, None),
    ...     TrialRecord("elfair", "{}", 256, 1, "no solution", None, {}, 0.02, None),
    ... ]
    >>> [cell] = summarize(experiment, trials).cells
    >>> cell.returned.value, cell.accuracy.value, cell.failures["1"].value
    (0.5, 0.875, 0.5)
    """
    trials = list(records)
    groups = check_records(trials, experiment.methods)
    by_cell: dict[tuple[str, str, int], list[TrialRecord]] = defaultdict(list)
    for record in trials:
        by_cell[record.settings, record.method, record.n].append(record)
    place = {method: index for index, method in enumerate(experiment.methods)}
    order = sorted(by_cell, key=lambda key: (_by_value(key[0]), place[key[1]], key[2]))
    cells = tuple(count_cell(*key, by_cell[key], groups) for key in order)
    if labels is None:
        from elfair.experiments.baselines import label_of

        labels = {name: label_of(name) for name in experiment.methods}
    warnings = list(unfinished(experiment, cells, labels))
    if len(set(sources)) > 1:
        warnings.append(
            f"these trials were run by {len(set(sources))} versions of the code: "
            f"{', '.join(sorted(set(sources)))}."
        )
    answers = []
    for question in experiment.efficiency:
        try:
            answers.append(data_efficiency(trials, question))
        except InputError as error:  # an unfinished experiment cannot answer yet
            warnings.append(str(error).partition("\n")[0])
    return Summary(
        title=experiment.title,
        population=experiment.population,
        delta=experiment.delta,
        planned=experiment.trials,
        labels={method: labels.get(method, method) for method in experiment.methods},
        groups=groups,
        cells=cells,
        efficiency=tuple(answers),
        warnings=tuple(warnings),
    )


def _by_value(settings: str) -> list[tuple[str, float, str]]:
    """A key that sorts settings by their numbers rather than by their digits."""
    return [
        (name, value, "") if isinstance(value, int | float) else (name, math.inf, json.dumps(value))
        for name, value in sorted(json.loads(settings).items())
    ]


def _telling(promise: Promise) -> tuple[bool, float, int]:
    """A key whose largest value is reported: above its limit, then by rate, then by trials."""
    trials = promise.rate.trials
    return (not promise.kept, promise.rate.value, trials if promise.rate.count else -trials)
