"""All trials of one method at one size and one choice of settings, counted and averaged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elfair.errors import InputError
from elfair.experiments.trial import TrialRecord

#: A violation up to here is rounding in the truth, not a group that is worse off.
ROUNDING = 1e-9

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Rate:
    """How often something happened, and how well that is known.

    The standard error is the plain one, sqrt(p (1 - p) / m): tables show it beside a rate. Where
    the count is 0 or all it is 0 and says nothing, so that tables show the far end of Wilson's 95 %
    interval there instead; a CSV file holds both everywhere. Figures show `band`, Wilson's interval
    at one standard error, which is about the rate -+ one where it says something, and never empty.

    Examples
    --------
    >>> rate = Rate(0, 500)
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
class Mean:
    """An average with its standard error; NaN where there is too little to tell.

    Examples
    --------
    >>> Mean.of([0.5, 1.0]).value
    0.75
    >>> Mean.of([0.5]).standard_error
    nan
    """

    value: float
    standard_error: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The average of these."""
        count = len(values)
        error = np.std(values, ddof=1) / math.sqrt(count) if count > 1 else math.nan
        value = np.mean(values) if count else math.nan
        return cls(float(value), float(error), count)

    @property
    def band(self) -> tuple[float, float]:
        """One standard error either way; NaN for a single value, whose error is not known."""
        return (self.value - self.standard_error, self.value + self.standard_error)


@dataclass(frozen=True)
class Cell:
    """All trials of one method at one size and one choice of settings.

    Rates are shares of all trials that did not crash: a method that returns nothing fails nobody.
    """

    settings: str
    method: str
    n: int
    trials: int
    crashed: int
    returned: Rate
    accuracy: Mean
    failures: Mapping[str, Rate]
    any_failure: Rate
    median_seconds: float
    total_seconds: float
    first_error: str | None


def count_cell(
    settings: str, method: str, n: int, records: Sequence[TrialRecord], groups: Sequence[str]
) -> Cell:
    """Count and average the trials of one cell."""
    ordered = sorted(records, key=lambda record: record.seed)  # sums depend on it, by rounding
    whole = [record for record in ordered if record.outcome != "failed"]
    crashes = [record for record in ordered if record.outcome == "failed"]
    models = [record for record in whole if record.outcome == "returned"]
    failed = [[record.violations[group] > ROUNDING for group in groups] for record in models]
    return Cell(
        settings=settings,
        method=method,
        n=n,
        trials=len(whole),
        crashed=len(crashes),
        returned=Rate(len(models), len(whole)),
        accuracy=Mean.of([record.accuracy for record in models if record.accuracy is not None]),
        failures={
            group: Rate(sum(each[index] for each in failed), len(whole))
            for index, group in enumerate(groups)
        },
        any_failure=Rate(sum(any(each) for each in failed), len(whole)),
        median_seconds=float(np.median([r.seconds for r in whole])) if whole else math.nan,
        total_seconds=math.fsum(record.seconds for record in records),
        first_error=crashes[0].error if crashes else None,
    )


def check_records(records: Sequence[TrialRecord], methods: Sequence[str]) -> tuple[str, ...]:
    """The groups, once each record makes sense: nothing odd may pass for "not failed"."""
    groups = {group for record in records for group in record.violations}
    seen = set()
    for record in records:
        trial = (record.method, record.settings, record.n, record.seed)
        odd = None
        if trial in seen:
            odd = "is there twice"
        elif record.method not in methods:
            odd = f"is of a method that the study does not have: {', '.join(methods)}"
        elif record.outcome not in ("returned", "no solution", "failed"):
            odd = f"has an outcome that is not known, {record.outcome!r}"
        elif record.outcome == "returned":
            values = [record.accuracy, *record.violations.values()]
            if set(record.violations) != groups or not all(
                value is not None and math.isfinite(value) for value in values
            ):
                odd = "returned a model, but its accuracy or the violation of a group is not known"
        if odd:
            raise InputError(
                f"The trial (method, settings, n, seed) = {trial} {odd}.",
                hint="the store is not one that the runner wrote, or of another study.",
            )
        seen.add(trial)
    return tuple(sorted(groups, key=lambda group: (len(group), group)))


def in_words(settings: Mapping[str, object]) -> str:
    """Settings as one would say them.

    Examples
    --------
    >>> in_words({"alpha": 0.9, "strict": False})
    'alpha = 0.9, strict = false'
    """
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )
