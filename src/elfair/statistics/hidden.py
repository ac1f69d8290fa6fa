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

from math import inf, log, sqrt

import numpy as np

from elfair.statistics.rows import ROUNDING, Rows
from elfair.types import Floats

#: The worst residual counts with this share of the typical distance of a weight from 1. Chosen with
#: two populations of benchmarks/worlds.py in view, at 300 rows: with 0.5, "no insurance" breaks its
#: promise .16 of the time in 100 trials at the edge (.13 with 0.75); with 1, the twin of "three
#: values" returns a model .15 of the time (.43 with 0.7; a t test that knows the variance, .57).
TYPICAL = 0.7


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
    return max(largest, worst_by_weight(rows, free))


def worst_by_weight(rows: Rows, free: Floats) -> float:
    """The largest residual in the table with nearly a typical weight; -inf if weights are 1."""
    if rows.weighted is None:
        return -inf
    _, law, largest = rows.weighted
    squares = law.weight_variances(free, rows.index)
    if squares is None:
        squares = (law.weights(free)[rows.index] - 1) ** 2
    distance = sqrt(float(squares.mean()))
    return TYPICAL * largest * distance if distance > ROUNDING else -inf


def worst_by_weight_slope(rows: Rows, free: Floats) -> Floats:
    """Its derivative by the free numbers of the rows inside, of shape (channels, m)."""
    assert rows.weighted is not None
    _, law, largest = rows.weighted
    squares = law.weight_variances(free, rows.index)
    if squares is not None:
        slopes = law.weight_variance_slopes(free, rows.index)
    else:
        away = law.weights(free)[rows.index] - 1
        squares, slopes = away**2, 2 * away * law.weight_slopes(rows.index)
    distance = sqrt(float(squares.mean()))
    return np.asarray(slopes * (TYPICAL * largest / (2 * distance * rows.index.size)))


def rare_share(new: float, logged: float, n: float, delta: float) -> float:
    """The share of a policy's decisions that rows may not show at all: that of the rarest ones, if
    all rows with them are absent with a probability above delta.

    Parameters
    ----------
    new, logged : float
        How often the policy takes these decisions, and how often the behaviour model does.
    n : float
        The number of rows.
    delta : float
        The probability with which a bound may err.

    Examples
    --------
    >>> rare_share(0.05, 0.0025, 400, 0.1), rare_share(0.05, 0.0025, 4000, 0.1)
    (0.05, 0.0)
    """
    return new if n * logged < -log(delta) else 0.0


def rare_cost(rows: Rows, free: Floats, n: float, delta: float) -> float:
    """What the decisions that n rows may not show can add to the average, at the worst residual."""
    rarest = None if rows.weighted is None else rows.weighted.law.rarest(free, rows.index)
    if rows.weighted is None or rarest is None:
        return 0.0
    share = rare_share(rarest.new, rarest.logged, n, delta)
    return share * max(0.0, float(rows.weighted.residual.max()))


def rare_cost_slope(rows: Rows, free: Floats) -> Floats:
    """Its derivative by the free numbers of the rows inside, of shape (channels, m)."""
    assert rows.weighted is not None
    rarest = rows.weighted.law.rarest(free, rows.index)
    assert rarest is not None
    taken = rarest.which.astype(np.float64)
    worst = float(rows.weighted.residual.max())
    return np.asarray((taken[1:] - taken[0]) * (worst / rows.index.size))
