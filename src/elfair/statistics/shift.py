"""What a change of people can do to an average, up to a likelihood ratio.

Let g be the average of z over the people of a condition, and let tomorrow's people be others: each
kind of person among them is r times as frequent, with 1 / S <= r <= S and the mean 1. Then g will
be E[r z], and for any number h

    E[r z]  =  h + E[r (z - h)]  <=  E[h + (z - h) / S + (S - 1 / S) max(0, z - h)].

Inside the last brackets is a row again: rows that are transformed so have a mean that no such
change can exceed, and any bound on a mean holds for it. With h at the S / (1 + S) quantile of z,
some r makes both sides equal; so h is learnt from other rows under the same policy. The transform
is convex in the row, hence in the policy.

* r may depend on all that a person is before anyone decides: features, group, and the impact that
  each decision would have. So what decisions bring about may change, too, within the same ratio.
* If only features change, r depends on them alone. By Jensen's inequality the transformed rows are
  then conservative: they pay for the noise of impacts and of weights, too.
* r compares people of one condition with each other. How many people meet the condition may change
  by any factor. Of a difference of two groups, both are at their worst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from elfair.errors import DataError
from elfair.types import Floats

if TYPE_CHECKING:
    from elfair.data import LoggedData

#: What a test takes for granted, and may be wrong up to a ratio.
Wrong = Literal["Lambda", "shift"]
#: The likelihood ratios that a break-even value is looked for among, in this order.
GRID = (1.02, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)


def threshold(values: Floats, shift: float) -> float:
    """The h with which transformed rows have the least mean.

    Examples
    --------
    >>> threshold(np.array([3.0, 1.0, 2.0]), 2.0)
    3.0
    """
    place = min(int(values.size * shift / (1 + shift)), values.size - 1)
    return float(np.partition(values, place)[place])


def worst_case(values: Floats, shift: float, h: float) -> Floats:
    """Rows whose mean no change of people within a likelihood ratio can exceed.

    Parameters
    ----------
    values : ndarray
        The rows; large is bad.
    shift : float
        The likelihood ratio.
    h : float
        A number that these rows had no part in.

    Examples
    --------
    >>> worst_case(np.array([-1.0, 0.0, 1.0]), 2.0, 0.0)
    array([-0.5,  0. ,  2. ])
    """
    away = values - h
    return np.asarray(h + np.maximum(away / shift, away * shift))


def steepness(values: Floats, shift: float, h: float) -> Floats:
    """By how much a transformed row grows with the row."""
    return np.where(values > h, shift, 1 / shift)


def obstacle(data: LoggedData, *, replaces_logged: bool) -> str:
    """What stands in the way of a transformation of rows; nothing, as a rule.

    Parameters
    ----------
    data : LoggedData
        The rows.
    replaces_logged : bool
        Whether the old model's average enters as a number, which would have to change, too.
    """
    if replaces_logged:
        return "an estimator that takes the old model's average for a known number"
    if data.unlogged is not None:
        return "estimated propensities"
    if data.sample_weight is not None or (data.unit_index is not None and data.average == "row"):
        return "units that count differently (sample_weight=, or average='row')"
    return ""


def check_shift(shift: float, against: str) -> None:
    """Raise if a change of people is asked for where rows cannot be transformed."""
    if shift > 1 and against:
        raise DataError(
            f"shift={shift:g} is not supported together with {against}.",
            hint="leave out shift, or the other; shift=1 is the default.",
        )
