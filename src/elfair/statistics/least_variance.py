"""What rows can do by their weights, whether or not these rows show it.

A row is z = u + (w - 1) r: r is what its weight w multiplies, and u is the row with a weight of 1.
Weights have mean 1 and, where the behaviour model is known, a known variance v(x), whatever is
decided. If the impact does not depend on the decision, neither do u and r, so that

    Var(z) = Var(u) + E[v(x) r^2].

Rows of decisions that are reversed have w = 0; the rows with large weights that would contradict
them may happen to be absent. Then rows show less than this.

* Paired, E[impact] against E_logged[impact]: r is the impact less q(x), and u is constant.
* A fixed threshold: r is the same, and u varies like the impact.
* Doubly robust: r is the error of the outcome model for the decision that was taken, and u is what
  the model expects the new decisions to change (with a fixed threshold, plus r).
* Several impacts in one condition: r and u are sums. Several conditions: each has its own rows.
* An event, or what stands in for a quantile or a deficit, is a function of an impact, and no more.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from elfair.statistics.rows import ROUNDING, Rows
from elfair.types import Floats

#: The worst residual counts with this share of the typical distance of a weight from 1. Chosen with
#: the populations of benchmarks/worlds.py in view: a larger share holds the level no better.

TYPICAL = 0.5


def least_variance(rows: Rows, free: Floats) -> float:
    """The variance of rows under a policy if impacts do not depend on decisions; 0 if it is not
    known.

    Parameters
    ----------
    rows : Rows
        The rows.
    free : ndarray of shape (channels, n)
        The policy.
    """
    if rows.weighted is None:
        return 0.0
    residual, law, _ = rows.weighted
    variances = law.weight_variances(free, rows.index)
    if variances is None:
        return 0.0
    unweighted = rows.values(free) - (law.weights(free)[rows.index] - 1) * residual
    least = float(unweighted.var(ddof=1) + np.mean(variances * residual**2))
    # Of the behaviour model itself, only rounding is left.
    return least if least > ROUNDING**2 * float(np.mean(residual**2)) else 0.0


def least_variance_slope(rows: Rows, free: Floats) -> Floats:
    """Its derivative by the free numbers of the rows inside, of shape (channels, m).

    The variance of a row with a weight of 1 counts as constant: only rates that are tested together
    with impacts change it.
    """
    assert rows.weighted is not None
    residual, law, _ = rows.weighted
    return np.asarray(law.weight_variance_slopes(free, rows.index) * residual**2 / residual.size)


def worst_row(rows: Rows, free: Floats) -> float:
    """A row as large as rows under a policy can well be: the largest of them, or the largest
    residual in the table with a typical weight. (The search may have found a policy that leaves the
    largest residuals of its own rows alone.)
    """
    largest = float(rows.exact_values(free).max())
    if rows.weighted is None:
        return largest
    law = rows.weighted.law
    variances = law.weight_variances(free, rows.index)
    if variances is None:
        variances = (law.weights(free)[rows.index] - 1) ** 2
    distance = sqrt(float(variances.mean()))
    if distance <= ROUNDING:
        return largest
    return max(largest, TYPICAL * distance * rows.weighted.largest)
