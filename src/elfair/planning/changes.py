"""Whether people, decisions and overlap changed between the early and the late part of a log.

Columns are cut into kinds of people: each value of a few, or the quarters of numbers. If nothing
changed, a kind has the same share in both parts. The exact confidence limits of two binomial shares
(Clopper and Pearson 1934) bound by how much one of them is larger, as a ratio; all kinds, in all
conditions and both directions, share the probability of a mistake. This is the ratio that ``shift``
is about (`elfair.statistics.shift`): a change can only be larger than what rows show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.units import numbered
from elfair.language.conditions import Condition, who
from elfair.language.evaluation import holds
from elfair.types import Array, Booleans, Index

#: The probability of a false alarm, over everything that is compared.
FALSE_ALARM = 0.05
#: Of a column with more values, only so many of the most frequent ones are compared.
MOST_VALUES = 20
#: Fewer rows on a side say nothing.
FEWEST_ROWS = 30


class Change(NamedTuple):
    """The largest change that rows show.

    Parameters
    ----------
    kind : str
        Which kind of people.
    among : str
        Among whom.
    early, late : float
        Their share in either part.
    ratio : float
        By what factor it changed at least.
    """

    kind: str
    among: str
    early: float
    late: float
    ratio: float


def largest_change(data: LoggedData, conditions: Sequence[Condition | None]) -> Change | None:
    """The change that is largest for certain, between the early and the late half of some rows;
    None if there is none, or if nothing says when rows were decided.

    Of a unit, the last row is compared. Rows of one time stay together.

    Parameters
    ----------
    data : LoggedData
        The rows.
    conditions : sequence of Condition or None
        Among whom people are compared.

    Examples
    --------
    >>> home = np.repeat(["own", "rent"], 200)
    >>> data = LoggedData(np.zeros((400, 1)), sensitive_features={"home": home}, time=range(400))
    >>> print(largest_change(data, [None]).kind)
    home = own
    """
    if data.time is None:
        return None
    data = data.take(_last_rows(data))
    assert data.time is not None
    middle = np.sort(data.time)[data.n // 2]
    late = data.time >= middle
    if late.all():  # more than half of all rows are of the first time
        late = data.time > middle
    kinds = list(_kinds(data))
    compared = [
        (name, given, kind[inside & ~late], kind[inside & late])
        for given in conditions
        for inside in [holds(given, data)]
        if min((inside & late).sum(), (inside & ~late).sum()) >= FEWEST_ROWS
        for name, kind in kinds
    ]
    changes = [
        Change(name, who(given), float(first.mean()), float(last.mean()), ratio)
        for name, given, first, last in compared
        if (ratio := _least_ratio(first, last, FALSE_ALARM / (2 * len(compared)))) > 1
    ]
    return max(changes, key=lambda change: change.ratio, default=None)


def _last_rows(data: LoggedData) -> Index:
    """The last row of each unit."""
    assert data.time is not None
    place, first = numbered(data)
    last = np.empty(first.size, dtype=np.intp)
    order = np.argsort(data.time, kind="stable")
    last[place[order]] = order
    return last


def _kinds(data: LoggedData) -> Iterator[tuple[str, Booleans]]:
    """Kinds of people and decisions, and who belongs to each."""
    for name in data.names:
        yield from _cut(name, data.column(name))
    if data.decision is not None:
        yield from _cut("decision", data.decision)
    if data.propensity is not None:
        yield from _cut("propensity", data.propensity)


def _cut(name: str, column: Array) -> Iterator[tuple[str, Booleans]]:
    missing = is_missing(column)
    if missing.any():
        yield f"{name} is missing", missing
    seen = column[~missing]
    if seen.dtype.kind in "iuf" and np.unique(seen).size > MOST_VALUES:
        quarters = np.unique(np.quantile(seen, [0.25, 0.5, 0.75], method="inverted_cdf"))
        values = np.where(missing, np.nan, column.astype(np.float64))
        for low, high in zip([-np.inf, *quarters], [*quarters, np.inf], strict=True):
            said = [f"above {low:.4g}"] if low > -np.inf else []
            said += [f"up to {high:.4g}"] if high < np.inf else []
            yield f"{name} {' and '.join(said)}", (values > low) & (values <= high)
        return
    written = column.astype(str)
    values, counts = np.unique(written[~missing], return_counts=True)
    for value in values[np.argsort(-counts, kind="stable")[:MOST_VALUES]]:
        yield f"{name} = {value}", (written == value) & ~missing


def _least_ratio(first: Booleans, last: Booleans, alpha: float) -> float:
    """By what factor a share differs at least, in the direction in which it does."""
    counts = [(int(each.sum()), each.size) for each in (first, last)]
    (fewer, n), (more, m) = sorted(counts, key=lambda count: count[0] / count[1])
    if more == 0 or fewer == n:
        return 1.0
    # Either limit may be wrong with half of what each direction has.
    least = betaincinv(more, m - more + 1, alpha / 2)
    most = betaincinv(fewer + 1, n - fewer, 1 - alpha / 2)
    return float(least / most)
