"""What a reader of a test's result must not overlook."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from elfair.certificate import GroupRecord
from elfair.constraints import CompiledClaim
from elfair.data import LoggedData
from elfair.language import Deficit, LowerTail, Threshold
from elfair.statistics import Impact, Part
from elfair.unseen import hidden_variance

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
) -> tuple[str, ...]:
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
            f"only {beyond} held-out rows lie beyond the point of '{impact.derived}' (below "
            f"{FEW_BEYOND}): the t bound passes too often there, a finite-sample bound does not"
            for part in compiled.parts
            for impact in part.impacts
            if (beyond := _rows_beyond(impact, part, data)) < FEW_BEYOND
        ]
    found += of_groups(groups)
    found += [
        f"only {size} candidate rows meet '{part.condition}' (below {FEW_ROWS})"
        for part, size in zip(compiled.parts, candidate_sizes, strict=True)
        if size < FEW_ROWS
    ]
    return tuple(dict.fromkeys(found))


def of_unseen(groups: Sequence[GroupRecord]) -> list[str]:
    """That weights show that rows are missing."""
    return [
        f"the weights of '{group.condition}' average {group.mean_weight:.3g} +- "
        f"{group.mean_weight_error:.2g} instead of 1: the new model decides as hardly anybody was "
        "decided about, and what comes of it is not known"
        for group in groups
    ]


def of_hidden(groups: Sequence[GroupRecord]) -> list[str]:
    """That weights vary far more than rows show."""
    return [
        f"the weights of '{group.condition}' are known to vary far more than they do among these "
        "rows: the new model takes some decisions that hardly anybody got; the bound allows for it"
        for group in groups
    ]


def of_groups(groups: Sequence[GroupRecord]) -> list[str]:
    """That few people decide the result."""
    by_weight = [
        f"the weights of '{group.condition}' leave an effective sample size of {group.ess:.0f}: a "
        "few people decide the result"
        for group in groups
        if group.ess is not None and group.ess < FEW_ROWS <= group.n
    ]
    by_number = [
        f"only {group.n} held-out rows meet '{group.condition}' (below {FEW_ROWS})"
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
