"""Rows about labels that only some decisions reveal.

Let S be 1 if the logged decision reveals the label, r its probability given everything that the
decision used, and v = S / r. If the label did not sway the decision beyond that, E[v | x, y] is 1,
and v G has the mean of G for any G(x, y, policy). It needs the label only where S is 1. So a row

    v G + (1 - v) e

with any e(x) stands for G, affine in the policy as G is. G includes what no label enters, and the
constant: at the edge, where the mean of G is 0, weights then move nothing but G's own spread.

G is between low <= 0 and high >= 0, W apart. With e = 0, a row may be as large as high / r. With
e = max(0, high - W r / (1 - r)) it is at most high + W, however small r is: if e is 0, because
high / r = high + high (1 - r) / r, and high is then at most W r / (1 - r); if e is not, because
high / r + (1 - 1 / r) e = high + (1 / r - 1)(high - e). Where S is 0, the row is e <= high. A
declared floor of r replaces W by high (1 / floor - 1) if that is smaller. If r is known only where
S is 1, e = high makes a row at most high.
"""

from __future__ import annotations

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language.conditions import uses_label
from elfair.language.expressions import Mean
from elfair.language.tree import point_at
from elfair.statistics.impact_estimators import Sum
from elfair.statistics.impacts import Ends, asks_for_cost
from elfair.types import Floats, Index


def asks_for_label(mean: Mean, data: LoggedData) -> bool:
    """Whether an average depends on the label.

    Examples
    --------
    >>> from elfair import PR, accuracy
    >>> data = LoggedData([[0.0], [1.0]], [0, 1])
    >>> asks_for_label(accuracy(), data), asks_for_label(PR(), data)
    (True, False)
    """
    # The columns of each person's costs say what a decision costs, whatever the label is.
    return uses_label(mean) or (data.cost_of != "decision" and asks_for_cost(mean, data))


def weigh(rows: Sum, ends: Ends, data: LoggedData, index: Index, floor: float | None) -> Ends:
    """Weigh rows by the probability that their labels are seen: see the module.

    Parameters
    ----------
    rows : Sum
        G inside a condition. It is changed.
    ends : (float, float)
        The ends of G.
    data : LoggedData
        All rows.
    index : ndarray
        The rows inside the condition.
    floor : float or None
        The declared smallest probability of a decision.

    Returns
    -------
    (float, float)
        The ends of the rows now.
    """
    assert data.revealed is not None
    weight, chance = data.revealed.weight[index], data.revealed.chance[index]
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
    width, least = high - low, floor or 0.0
    beyond = min(width, high * (1 / least - 1)) if least else width
    if np.isnan(chance).any():
        filler, highest = np.full(index.size, high), high
    else:
        odds = np.divide(chance, 1 - chance, out=np.full(index.size, np.inf), where=chance < 1)
        cap = np.multiply(width, odds, out=np.full(index.size, np.inf), where=np.isfinite(odds))
        filler, highest = np.maximum(0.0, high - cap), high + (beyond if high else 0.0)
    rows.by_slot *= weight
    rows.offset *= weight
    rows.offset += (1 - weight) * filler
    # At worst, a row is (low - e) / r + e, with e at most high.
    lowest = high - width / least if least else -np.inf
    return lowest, highest


def under_behavior(mean: Mean, by_decision: Floats, data: LoggedData) -> Floats:
    """What is averaged if the behaviour model decides, given the label: its expectation, because
    the logged decision shows no label unless it reveals one.
    """
    if data.behavior is None:
        raise point_at(
            f"'{mean}' needs the behaviour model's probability of every decision: labels are seen "
            "only for some decisions.",
            mean.span,
            hint="pass behavior=, or compare with a number.",
        )
    return np.asarray(np.sum(data.behavior.T * by_decision, axis=0))


def check_unconfounded(Lambda: float) -> None:
    """Raise if weights of labels should allow for wrong propensities: rows would not be affine."""
    if Lambda > 1:
        raise DataError(
            f"Lambda={Lambda:g} is not supported for statements about labels that are seen only "
            "for some decisions.",
            hint="leave out Lambda, or the statements about labels.",
        )
