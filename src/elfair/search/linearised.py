"""Statistics beyond the mean as an objective: what they are to first order at a policy.

At the policy that is looked at, CVaR and variance are averages at their best point (by the envelope
theorem the point's own change does not matter), and a quantile moves as the distribution function
does, divided by the density. A search for such averages, repeated from where it ended, climbs the
statistic itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elfair.data import LoggedData
from elfair.language import (
    ConditionalValueAtRisk,
    Deficit,
    Expression,
    Mean,
    Quantile,
    Squared,
    Statistic,
    Threshold,
    find,
    substitute,
)
from elfair.points import in_order

Floats = NDArray[np.float64]

#: The largest share of people on either side of a quantile from which its density is estimated.
WINDOW = 0.1


def linearised(expression: Expression, data: LoggedData, free: Floats | None) -> Expression:
    """The expression with each statistic replaced by averages.

    Parameters
    ----------
    expression : Expression
        What is to be made large.
    data : LoggedData
        Candidate rows.
    free : ndarray of shape (channels, n), optional
        The policy to which the averages belong; the behaviour model where it is None.
    """
    found = find(expression, Statistic)
    if not found:
        return expression
    return substitute(expression, {each: _averages(each, data, free) for each in found})


def _averages(statistic: Statistic, data: LoggedData, free: Floats | None) -> Expression:
    of, given = statistic.of, statistic.given
    values, weights = in_order(statistic, data, free)
    reached = np.cumsum(weights) / (float(weights.sum()) or 1.0)

    def at(share: float) -> float:
        return float(values[min(int(np.searchsorted(reached, share)), values.size - 1)])

    match statistic:
        case Quantile(share=share):
            half = min(WINDOW, share / 2, (1 - share) / 2)
            point, width = at(share), at(share + half) - at(share - half)
            # Where many impacts are equal, the quantile does not move at all: any direction counts.
            slope = width / (2 * half) or 1.0
            return point - slope * (Mean(Threshold(of, point, "<"), given) - share)
        case ConditionalValueAtRisk(share=share):
            point = at(share)
            return point - Mean(Deficit(of, point), given) / share
    mean = float(values @ weights) / (float(weights.sum()) or 1.0)
    return Mean(Squared(of, mean), given)
