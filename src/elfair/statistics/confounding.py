"""What confounding can do to importance weights, up to an odds ratio Lambda.

People alike in all columns may still differ in something that swayed the decision and the impact.
Let e be the probability of a person's decision given that, too, and beta the logged one. If the
odds of e are at most Lambda times those of beta and at least 1 / Lambda times, then

    1 + (1 / beta - 1) / Lambda  <=  1 / e  <=  1 + Lambda (1 / beta - 1).

(This is the marginal sensitivity model; Tan 2006.) For any q, the impact of a new model pi has the
mean of sum_a pi(a) q(x, a) + pi(D) / e (I - q(x, D)), because 1{D = a} / e has the mean 1 for each
a. Nobody knows e, so the worst 1 / e of each row takes its place: the larger one if the row is bad,
else the smaller one. No e can be worse than this on average, and with q near the 1 / (1 + Lambda)
quantile of the impact given x and decision some e is about as bad (Dorn and Guo 2023). Only the
range of 1 / e is used. So the same holds if nothing is hidden and logged propensities are wrong.
"""

from __future__ import annotations

import numpy as np

from elfair.types import Floats

#: The odds ratios that a break-even value is looked for among, in this order.
GRID = (1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)


def least_share(propensity: Floats, Lambda: float) -> Floats:
    """The smallest 1 / e, as a share of 1 / propensity."""
    return propensity + (1 - propensity) / Lambda


def added_share(propensity: Floats, Lambda: float) -> Floats:
    """What the largest 1 / e has more than the smallest, as a share of 1 / propensity."""
    return (1 - propensity) * (Lambda - 1 / Lambda)


def worst_residual(residual: Floats, propensity: Floats, Lambda: float) -> Floats:
    """What a logged weight must multiply to be at least the true weight times a residual.

    Parameters
    ----------
    residual : ndarray of shape (m,)
        What the true weight multiplies; large is bad.
    propensity : ndarray of shape (m,)
        The logged probability of the logged decision.
    Lambda : float
        The odds ratio.

    Examples
    --------
    >>> worst_residual(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 2.0)
    array([ 1.5 , -0.75])
    """
    if Lambda == 1:
        return residual
    bad = np.maximum(residual, 0.0)
    least, added = least_share(propensity, Lambda), added_share(propensity, Lambda)
    return np.asarray(least * residual + added * bad)


def quantile(ordered: Floats, level: float) -> float:
    """A quantile of numbers in ascending order; 0 if there are fewer than 2.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, 3.0]), 0.5), quantile(np.array([9.0]), 0.5)
    (2.0, 0.0)
    """
    return float(ordered[int(level * ordered.size)]) if ordered.size > 1 else 0.0
