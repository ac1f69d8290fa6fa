"""What weights tell of rows that are not there.

E[w] = 1 whatever the new model is. Where it decides as hardly anybody was decided about, the rows
that would show what comes of that (rare, with huge weights) are missing. Weights then average less
than 1, or, where few decisions are reversed, hardly vary; the rows of reversed decisions have a
weight of 0. A bound that trusts the spread of rows passes whatever an outcome model makes up, or
whatever is left. A finite-sample bound does not trust it.

What a reader of a test's result must not overlook.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from elfair.certificate import GroupRecord, WarningRecord
from elfair.data import LoggedData
from elfair.language import Deficit, LowerTail, Threshold
from elfair.statistics import Impact, Part
from elfair.statistics.plan import CompiledClaim

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


#: Below this many rows of a condition the certificate warns.
FEW_ROWS = 30
#: Where fewer tested rows lie beyond the point of a quantile or of a deficit, the t bound on it
#: passes too often (.15 instead of .1 for 20 rows of 400, .12 for 80 of 1,600).
FEW_BEYOND = 50


def remarks(
    compiled: CompiledClaim,
    groups: Sequence[GroupRecord],
    unseen: Sequence[GroupRecord],
    candidate_sizes: Sequence[int],
    data: LoggedData,
) -> tuple[WarningRecord, ...]:
    """The warnings of one statement's test.

    Parameters
    ----------
    compiled : CompiledClaim
        The statement on the tested rows.
    groups : sequence of GroupRecord
        Whom it speaks of.
    unseen : sequence of GroupRecord
        Those whose weights show that rows cannot speak for the new model.
    candidate_sizes : sequence of int
        How many candidate rows meet the condition of each part.
    data : LoggedData
        The tested rows.
    """
    found = of_unseen(unseen)
    if compiled.tails[0].bound.kind == "asymptotic":
        if data.behavior is not None:
            found += of_hidden([group for group in groups if hidden_variance(group)])
        found += [
            WarningRecord(
                "few_beyond_point",
                f"only {beyond} held-out rows lie beyond the point of '{impact.derived}' (below "
                f"{FEW_BEYOND}): the t bound passes too often there, a finite-sample bound does "
                "not",
                part.condition,
            )
            for part in compiled.parts
            for impact in part.impacts
            if (beyond := _rows_beyond(impact, part, data)) < FEW_BEYOND
        ]
    found += of_groups(groups)
    found += [
        WarningRecord(
            "few_candidate_rows",
            f"only {size} candidate rows meet '{part.condition}' (below {FEW_ROWS})",
            part.condition,
        )
        for part, size in zip(compiled.parts, candidate_sizes, strict=True)
        if size < FEW_ROWS
    ]
    return tuple(dict.fromkeys(found))


def of_unseen(groups: Sequence[GroupRecord]) -> list[WarningRecord]:
    """That weights show that rows are missing."""
    return [
        WarningRecord(
            "decisions_unseen",
            f"the weights of '{group.condition}' average {group.mean_weight:.3g} +- "
            f"{group.mean_weight_error:.2g} instead of 1: the new model takes decisions almost "
            "absent from the log, and their impact is not known",
            group.condition,
        )
        for group in groups
    ]


def of_hidden(groups: Sequence[GroupRecord]) -> list[WarningRecord]:
    """That weights vary far more than rows show."""
    return [
        WarningRecord(
            "variance_hidden",
            f"the weights of '{group.condition}' are known to vary far more than these rows show: "
            "the new model takes some decisions almost absent from the log; the bound allows for "
            "it",
            group.condition,
        )
        for group in groups
    ]


def of_groups(groups: Sequence[GroupRecord]) -> list[WarningRecord]:
    """That few people decide the result."""
    by_weight = [
        WarningRecord(
            "few_effective_rows",
            f"the weights of '{group.condition}' leave an effective sample size of "
            f"{group.ess:.0f}: a few people decide the result",
            group.condition,
        )
        for group in groups
        if group.ess is not None and group.ess < FEW_ROWS <= group.n
    ]
    by_number = [
        WarningRecord(
            "few_held_out_rows",
            f"only {group.n} held-out rows meet '{group.condition}' (below {FEW_ROWS})",
            group.condition,
        )
        for group in groups
        if group.n < FEW_ROWS
    ]
    return by_weight + by_number


def _rows_beyond(impact: Impact, part: Part, data: LoggedData) -> float:
    """How many rows the average of a function of an impact turns on."""
    if not isinstance(impact.derived, Threshold | Deficit | LowerTail):
        return inf
    beyond = int(np.count_nonzero(impact.values(data)[part.rows.index]))
    if isinstance(impact.derived, Threshold):
        return min(beyond, part.rows.index.size - beyond)
    return beyond
