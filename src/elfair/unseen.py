"""What weights tell of rows that are not there.

E[w] = 1 whatever the new model is. Where it decides as hardly anybody was decided about, the rows
that would show what comes of that (rare, with huge weights) are missing. Weights then average less
than 1, or, where few decisions are reversed, hardly vary; the rows of reversed decisions have a
weight of 0. A bound that trusts the spread of rows passes whatever an outcome model makes up, or
whatever is left. A finite-sample bound does not trust it.
"""

from __future__ import annotations

from elfair.certificate import GroupRecord

#: A mean weight below this share, and so many standard errors away from it, says that the rest of
#: the new model's decisions is nowhere among the tested rows.
SEEN_SHARE, UNSEEN_ERRORS = 0.9, 4.0
#: Rows that show less of the known variance of weights than this are not those that count. Reversed
#: decisions have a weight of 0 and show 1 / w of it, where w is the weight of the rows that are not
#: there: it is about weights above 33. With weights of 20 (one decision in ten taken blindly) the t
#: bound keeps its level by itself: tests/guarantees/test_second_round.py.
SEEN_VARIANCE = 0.03
#: Variances below this are those of a policy that is the behaviour model.
ROUNDING = 1e-9


def is_unseen(group: GroupRecord) -> bool:
    """Whether weights average so much less than 1 that rows are missing.

    Parameters
    ----------
    group : GroupRecord
        A group, where not all behaviour probabilities are known.

    Examples
    --------
    >>> is_unseen(GroupRecord("everyone", 400, 350.0, 0.5, 0.05, 1.1))
    True
    """
    if group.mean_weight is None or group.mean_weight_error is None:
        return False
    return group.mean_weight + UNSEEN_ERRORS * group.mean_weight_error < SEEN_SHARE


def hidden_variance(group: GroupRecord) -> float:
    """The variance of a weight that rows do not show, where it is most of it; 0 where it is not.

    Parameters
    ----------
    group : GroupRecord
        A group, where all behaviour probabilities are known: then so is the variance of a weight.

    Examples
    --------
    >>> round(hidden_variance(GroupRecord("everyone", 400, 399.0, 0.998, 0.4, 1.1)))
    64
    """
    if group.mean_weight is None or group.mean_weight_error is None or not group.ess:
        return 0.0
    variance = group.n * group.mean_weight_error**2
    square = group.n * group.mean_weight**2 / group.ess
    seen = square - 2 * group.mean_weight + 1  # the mean of (w - 1)^2
    if variance <= ROUNDING or seen >= SEEN_VARIANCE * variance:
        return 0.0
    return variance - seen
