"""How many times fewer rows one method needs to do as well as another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elfair.errors import InputError
from elfair.experiments.trial import TrialRecord
from elfair.types import Floats

if TYPE_CHECKING:
    from elfair.experiments.experiment import EfficiencyQuestion

RESAMPLES = 2_000
#: With fewer seeds than this at a size, a bootstrap over seeds gives far too short intervals.
LEAST_SEEDS = 20
#: Rounding can make two averages of the same numbers differ by this much.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Efficiency:
    """How many rows `method` needs for the solution rate and the accuracy of `against` at n.

    Parameters
    ----------
    method, against, n, settings
        The question; `settings` in the form of the records.
    rate, accuracy : float
        What `against` reaches with n rows, and `method` has to reach.
    rows : float
        How many rows `method` needs for both; infinite if no size of the experiment is enough. If
        the smallest size is enough, it is that size, although fewer rows might be enough as well.
    low, high : float
        95 % bootstrap interval of `ratio`; NaN with fewer than `LEAST_SEEDS` seeds.
    smallest, largest : int
        Sizes of `method` that were run.
    seeds : int
        The smallest number of seeds in any cell that was used.
    """

    method: str
    against: str
    n: int
    settings: str
    rate: float
    accuracy: float
    rows: float
    low: float
    high: float
    smallest: int
    largest: int
    seeds: int

    @property
    def ratio(self) -> float:
        """How many times fewer rows: n / rows; 0 if `method` never reaches the goal."""
        return self.n / self.rows

    @property
    def at_least(self) -> bool:
        """Whether the smallest size is enough, so the ratio is only a lower bound."""
        return self.rows <= self.smallest

    @property
    def reached(self) -> bool:
        """Whether some size is enough."""
        return math.isfinite(self.rows)

    @property
    def interval(self) -> str:
        """The interval in words; an end outside the sizes of the experiment is left open."""
        if self.seeds < LEAST_SEEDS:
            few = f"{self.seeds} seed is" if self.seeds == 1 else f"{self.seeds} seeds are"
            return f"none, since {few} too few; {LEAST_SEEDS} are needed at each size"
        low = _times(self.low) if self.low > 0 else f"below {_times(self.n / self.largest)}"
        end = self.n / self.smallest
        high = f"{_times(self.high)} or more" if self.high >= end * (1 - 1e-9) else None
        if self.high <= 0:
            return low
        if self.low >= end * (1 - 1e-9):
            return f"{_times(end)} or more"
        return f"{low} to {high or _times(self.high)}"

    def sentence(self, labels: Mapping[str, str], where: str) -> str:
        """The answer as one sentence.

        Parameters
        ----------
        labels : mapping of str to str
            The label of each method.
        where : str
            The settings in words.
        """
        method, against = (labels.get(name, name) for name in (self.method, self.against))
        goal = (
            f"the {self.rate:.1%} solution rate and {self.accuracy:.1%} accuracy that {against} "
            f"has at n = {self.n:,} ({where})"
        )
        if not self.reached:
            return (
                f"{method} does not reach {goal} with up to {self.largest:,} rows "
                f"(95 % interval of the ratio: {self.interval})."
            )
        rows = f"{self.smallest:,} or fewer" if self.at_least else f"about {self.rows:,.0f}"
        least = "at least " if self.at_least else ""
        times = f"{_times(self.ratio)} times fewer" if self.ratio >= 1 else _times(self.ratio)
        of_what = "" if self.ratio >= 1 else "a ratio of "
        return (
            f"{method} reaches {goal} with {rows} rows: {of_what}{least}{times} "
            f"(95 % interval: {self.interval})."
        )


def data_efficiency(
    records: Iterable[TrialRecord],
    question: EfficiencyQuestion,
    *,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> Efficiency:
    """Compare the rows that two methods need.

    The solution rate and the accuracy of `method` are averaged at each size, made to increase with
    n (isotonic regression, weighted by trials) and connected by straight lines in log n. The answer
    is the smallest n at which both are at least those of `against` at ``question.n``.

    The interval is a percentile bootstrap over seeds. Methods and sizes share their data sets by
    seed, so a seed is drawn with all its trials. Seeds that were run in different cells are drawn
    separately, so each cell keeps its number of trials. The ratio is the smaller of two, one for
    the rate and one for the accuracy. The smaller of two noisy numbers is too low if both are
    alike, so only the lower end is its quantile. The upper end is the smaller of the two upper
    ends, each at half the error (a union bound). There is no interval if a cell has fewer than 20
    seeds.

    Parameters
    ----------
    records : iterable of TrialRecord
        Trials; crashed ones are ignored.
    question : EfficiencyQuestion
        Which methods are compared, and where.
    resamples : int, default=2000
        Bootstrap samples.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    Efficiency

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def trial(method, n, seed, accuracy):
    ...     return TrialRecord(method, "{}", n, seed, "returned", accuracy, {}, 0.1, None)
    >>> trials = [trial("old", 400, seed, 0.9) for seed in range(9)]
    >>> trials += [trial("new", 100, seed, 0.8) for seed in range(9)]
    >>> trials += [trial("new", 200, seed, 0.9) for seed in range(9)]
    >>> data_efficiency(
    ...     trials, SimpleNamespace(method="new", against="old", n=400, settings={})
    ... ).ratio
    2.0
    """
    settings, trials = _at(records, question)
    target = (question.against, question.n)
    sizes = sorted({r.n for r in trials if r.method == question.method})
    cells = [target, *((question.method, n) for n in sizes)]
    present, returned, accuracy = _by_seed(trials, cells)
    where = f"{question.method} against {question.against} at n = {question.n}"
    if not returned[:, 0].any():
        raise InputError(
            f"The data efficiency of {where} is not known: {question.against} has no trial there "
            f"that returned a model (settings {settings}).",
            hint="ask at a size where it returns models.",
        )
    if not sizes:
        raise InputError(
            f"The data efficiency of {where} is not known: {question.method} has no trials "
            f"(settings {settings}).",
            hint="finish the experiment.",
        )
    log_n = np.log(np.array(sizes, dtype=np.float64))
    as_seen = np.ones((1, len(present)))
    rows = np.exp(_log_rows(as_seen, present, returned, accuracy, log_n)).max()
    seeds = int(present.sum(axis=0).min())
    low = high = math.nan
    if seeds >= LEAST_SEEDS:
        drawn = _weights(present, resamples, np.random.default_rng(random_state))
        ratios = question.n / np.exp(_log_rows(drawn, present, returned, accuracy, log_n))
        # Never between two resamples: one of them may be infinite.
        low = float(np.quantile(ratios.min(axis=1), 0.025, method="lower"))
        high = float(np.quantile(ratios, 1 - 0.025 / 2, axis=0, method="higher").min())
    models = returned[:, 0].sum()
    return Efficiency(
        method=question.method,
        against=question.against,
        n=question.n,
        settings=settings,
        rate=float(models / present[:, 0].sum()),
        accuracy=float(accuracy[:, 0].sum() / models),
        rows=round(float(rows), 9),  # exp(log(256)) is not quite 256
        low=low,
        high=high,
        smallest=sizes[0],
        largest=sizes[-1],
        seeds=seeds,
    )


def _at(
    records: Iterable[TrialRecord], question: EfficiencyQuestion
) -> tuple[str, list[TrialRecord]]:
    """The settings of the question, and the trials there that did not crash."""
    by_settings: dict[str, list[TrialRecord]] = {}
    for record in records:
        if record.method in (question.method, question.against) and record.outcome != "failed":
            by_settings.setdefault(record.settings, []).append(record)
    wanted = dict(question.settings)
    fitting = [
        text for text in by_settings if all(json.loads(text).get(k) == wanted[k] for k in wanted)
    ]
    if len(fitting) != 1:
        found = "match no trial" if not fitting else f"match several: {'; '.join(sorted(fitting))}"
        raise InputError(
            f"The data efficiency of {question.method} against {question.against} at "
            f"n = {question.n} is not known: the settings {json.dumps(wanted)} {found}.",
            hint="name a value for each swept setting.",
        )
    return fitting[0], by_settings[fitting[0]]


def _by_seed(
    trials: list[TrialRecord], cells: list[tuple[str, int]]
) -> tuple[Floats, Floats, Floats]:
    """One row for each seed, one column for each cell: trials, models, and their accuracy."""
    column = {cell: index for index, cell in enumerate(cells)}
    seeds = sorted({record.seed for record in trials})
    row = {seed: index for index, seed in enumerate(seeds)}
    present, returned, accuracy = (np.zeros((len(seeds), len(cells))) for _ in range(3))
    for record in trials:
        if (index := column.get((record.method, record.n))) is None:
            continue
        place = (row[record.seed], index)
        present[place] = 1.0
        if record.accuracy is not None:
            returned[place] = 1.0
            accuracy[place] = record.accuracy
    return present, returned, accuracy


def _weights(present: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """How often each resample draws each seed."""
    weights = np.empty((resamples, len(present)))
    _, pattern = np.unique(present, axis=0, return_inverse=True)
    for each in np.unique(pattern):
        alike = np.flatnonzero(pattern == each)
        even = np.full(len(alike), 1 / len(alike))
        weights[:, alike] = random.multinomial(len(alike), even, size=resamples)
    return weights


def _log_rows(
    weights: Floats,
    present: Floats,
    returned: Floats,
    accuracy: Floats,
    log_n: Floats,
) -> Floats:
    """Log of the rows needed for the rate and for the accuracy, a row for each row of weights.

    The first cell is the target, the others are the sizes of the method.
    """
    trials, models, total = weights @ present, weights @ returned, weights @ accuracy
    rate = models / trials
    mean = np.divide(total, models, out=np.zeros_like(total), where=models > 0)
    enough = _crossing(log_n, _increasing(rate[:, 1:], trials[:, 1:]), rate[:, 0])
    # Below the first size with a model there is no accuracy that could be enough.
    curve = _increasing(mean[:, 1:], np.maximum(models[:, 1:], 1e-9))
    curve[np.cumsum(models[:, 1:], axis=1) == 0] = -np.inf
    return np.column_stack([enough, _crossing(log_n, curve, mean[:, 0])])


def _increasing(values: Floats, weights: Floats) -> Floats:
    """Isotonic regression of each row.

    By its min-max form, fit_j = max over a <= j of min over b >= j of the average of a..b
    (Robertson, Wright and Dykstra, Order Restricted Statistical Inference, 1988, section 1.4).
    """
    size = values.shape[1]
    fit = np.full_like(values, -np.inf)
    for a in range(size):
        sums = np.cumsum((values * weights)[:, a:], axis=1)
        averages = sums / np.cumsum(weights[:, a:], axis=1)
        lowest = np.minimum.accumulate(averages[:, ::-1], axis=1)[:, ::-1]
        fit[:, a:] = np.maximum(fit[:, a:], lowest)
    return fit


def _crossing(x: Floats, curves: Floats, targets: Floats) -> Floats:
    """Where each increasing curve first reaches its target; infinite where it never does."""
    there = curves >= targets[:, None] - _ROUNDING
    first = there.argmax(axis=1)
    before = np.maximum(first - 1, 0)
    rows = np.arange(len(curves))
    left, right = curves[rows, before], curves[rows, first]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (targets - left) / (right - left)
    # There is no line to follow at the first size, or after a size without any model.
    share = np.where((first == 0) | ~np.isfinite(left), 1.0, np.clip(share, 0.0, 1.0))
    place = x[before] + share * (x[first] - x[before])
    return np.where(there.any(axis=1), place, np.inf)


def _times(ratio: float) -> str:
    if ratio < 1:
        return f"{ratio:.2g}"
    return f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"
