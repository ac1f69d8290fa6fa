"""Where the constant of the paired form goes, when a finite-sample bound may have it anywhere.

E[I | c] = k + E[w (I - k) | c] for every constant k. With only the impact's range declared, a
finite-sample bound needs k at an end of it: only then is one end of a row known whatever the
weights are. With the largest weight declared as well, both ends are known for any k. The mean then
leaves the least spread, and the end of the range the shorter rows; which of them gives the tighter
bound depends on weights, rows and bound. So both are tried on rows that are not tested, under the
policy that will be.
"""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import NDArray

from elfair.constraints import Plan, Tail
from elfair.data import LoggedData
from elfair.statistics import impact_of

Floats = NDArray[np.float64]

#: The logarithm that stands for a bound without end.
LARGEST = 1e3


def centred(plan: Plan, data: LoggedData, free: Floats, n_test: int) -> Plan:
    """The plan with its constants where the bounds promise to be tightest.

    Parameters
    ----------
    plan : Plan
        What is to be tested.
    data : LoggedData
        Rows that are not tested.
    free : ndarray of shape (channels, n)
        The policy that will be tested, on these rows.
    n_test : int
        On how many rows it will be.

    Returns
    -------
    Plan
        The same plan where there is nothing to choose.
    """
    means = [mean for claim in plan.claims for mean in claim.means]
    weighted = any(impact_of(mean, data) is not None for mean in means)
    if not (weighted and plan.baselines.estimation.may_center):
        return plan
    options = [plan.centred_at("range"), plan.centred_at("mean")]
    ratio = n_test / max(1, data.n)
    return min(options, key=lambda option: _width(option, data, free, ratio))


def _width(plan: Plan, data: LoggedData, free: Floats, ratio: float) -> float:
    """How wide the bounds promise to be, all tails together."""
    tails = [tail for claim in plan.compile(data) for tail in claim.tails]
    return sum(_log_width(tail, free, ratio) for tail in tails)


def _log_width(tail: Tail, free: Floats, ratio: float) -> float:
    values = [part.rows.exact_values(free) for part in tail.parts]
    samples = tail.samples(values, [float(row.std(ddof=1)) or None for row in values])
    sizes = [ratio * row.size for row in values]
    upper, _ = tail.bound.predict(samples, tail.delta, sizes, disjoint=tail.disjoint)
    width = upper - sum(float(row.mean()) for row in values)
    if width == inf:
        return LARGEST
    return log(width) if width > 0 else 0.0
