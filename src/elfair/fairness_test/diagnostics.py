"""What rows cannot show, and the warnings of a statement's test.

E[w] = 1 whatever the new model is. Where it takes decisions almost absent from the log, the rows
that would show their impact (rare, with huge weights) may be missing, and the average of the others
is about something else. The t bound then takes the worst seen for what is missing. A finite-sample
bound needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, sqrt

from scipy.special import stdtrit

from elfair.bounds import get_bound
from elfair.certificate import GroupRecord, PartRecord, TailRecord, WarningRecord
from elfair.statistics.hidden import rare_share
from elfair.statistics.plan import CompiledClaim

#: Below this many rows of a condition there is no t bound, unless the upper end of a row is known:
#: with skewed losses it passed .14 of the time at the edge with 8 rows, .11 with 16.
FEW_ROWS = 10
#: Where fewer held-out rows lie beyond the point of a quantile or of a deficit, the t bound on it
#: passes too often (.15 instead of .1 for 20 rows of 400, .12 for 80 of 1,600).
FEW_BEYOND = 50
#: If rows show less than this share of the variance that they are known to have, a reader is told.
SEEN_VARIANCE = 0.5


def unseen_share(group: GroupRecord, delta: float) -> float:
    """The share of the new model's decisions whose impact rows of a group may not show at all.

    If the behaviour model is known: that of decisions which are too rare (`rare_share`). Otherwise:
    what the mean weight lacks of 1, beyond chance.

    Parameters
    ----------
    group : GroupRecord
        The group.
    delta : float
        The probability with which a bound may err.

    Examples
    --------
    >>> known = GroupRecord("everyone", 400, 350.0, 0.97, 0.05, 1.1, 0.05, 0.0025)
    >>> unseen_share(known, 0.1)
    0.05
    >>> round(unseen_share(GroupRecord("everyone", 400, 350.0, 0.5, 0.05, 1.1), 0.1), 2)
    0.49
    """
    if group.mean_weight is None or group.ess is None:
        return 0.0
    if group.rare_new is not None and group.rare_logged is not None:
        return rare_share(group.rare_new, group.rare_logged, group.n, delta)
    # By the weights that were seen, whatever is known of others: if they are all too small, they
    # must look too small. n / ESS - 1 is their variance, in squares of their mean.
    seen = group.n / group.ess - 1 if group.ess else 0.0
    error = group.mean_weight * sqrt(max(0.0, seen) / (group.n - 1))
    return max(0.0, 1 - group.mean_weight - float(stdtrit(group.n - 1, 1 - delta)) * error)


def unseen_cost(parts: Sequence[PartRecord], groups: Sequence[GroupRecord], delta: float) -> float:
    """What decisions that rows do not show may add to a linear form: their share, at the worst
    residual seen.

    Parameters
    ----------
    parts : sequence of PartRecord
        The parts of the form.
    groups : sequence of GroupRecord
        The groups of the statement.
    delta : float
        See `unseen_share`.
    """
    by_name = {group.condition: group for group in groups}
    return sum(
        max(0.0, part.worst) * unseen_share(by_name[part.condition], delta)
        for part in parts
        if part.worst is not None
    )


def has_too_few_rows(part: PartRecord) -> bool:
    """Whether a part has too few rows for a t bound. Rows of 0 are no exception: if the new model
    differs from the old one only about a few people, none of them may be among a few rows.

    Examples
    --------
    >>> has_too_few_rows(PartRecord("T == 1", 8, 0.0, 1.0, 2.0, 12, -inf, inf, 0.0, None))
    True
    """
    return part.n < FEW_ROWS and part.high == inf


def allowing(record: TailRecord, groups: Sequence[GroupRecord], stretch: float) -> float:
    """The bound on a linear form, which allows for what its rows cannot show.

    Parameters
    ----------
    record : TailRecord
        The form, with the bound that follows from its rows.
    groups : sequence of GroupRecord
        The groups of the statement.
    stretch : float
        By how much the width of the bound is stretched.
    """
    upper = record.estimate + stretch * (record.upper - record.estimate)
    if not get_bound(record.bound).guarded:
        return upper
    if any(map(has_too_few_rows, record.parts)):
        return inf
    return upper + unseen_cost(record.parts, groups, record.delta)


def record_warnings(
    tails: Sequence[TailRecord], groups: Sequence[GroupRecord]
) -> list[WarningRecord]:
    """The warnings that follow from the record of a statement.

    Parameters
    ----------
    tails : sequence of TailRecord
        Its linear forms.
    groups : sequence of GroupRecord
        Its groups.
    """
    by_name = {group.condition: group for group in groups}
    found = [
        warning
        for tail in tails
        if get_bound(tail.bound).guarded
        for part in tail.parts
        for warning in _part_warnings(part, by_name[part.condition], tail.delta)
    ]
    found += [
        WarningRecord(
            "few_effective_rows",
            f"the weights of '{group.condition}' leave an effective sample size of "
            f"{group.ess:.0f}: a few people decide the result",
            group.condition,
        )
        for group in groups
        if group.ess is not None and group.ess < FEW_ROWS <= group.n
    ]
    found += [
        WarningRecord(
            "few_held_out_rows",
            f"only {group.n:,} held-out rows meet '{group.condition}' (below {FEW_ROWS}): too few "
            "for a t bound, unless the ends of a row are known",
            group.condition,
        )
        for group in groups
        if group.n < FEW_ROWS
    ]
    return list(dict.fromkeys(found))


def _part_warnings(part: PartRecord, group: GroupRecord, delta: float) -> Iterator[WarningRecord]:
    """What the t bound of a part allows for."""
    name = part.condition
    if part.worst is not None and (share := unseen_share(group, delta)):
        why = f"their weights average {group.mean_weight:.3g} instead of 1"
        if group.rare_logged is not None:
            why = f"the log should hold {group.n * group.rare_logged:.1f} rows of them"
        yield WarningRecord(
            "decisions_unseen",
            f"{share:.1%} of the new model's decisions about '{name}' are almost absent from the "
            f"log ({why}): the bound takes the worst impact seen for theirs",
            name,
        )
    if part.variance < SEEN_VARIANCE * part.least_variance:
        yield WarningRecord(
            "variance_hidden",
            f"the weights of '{name}' are known to vary far more than these rows show: the bound "
            "allows for it",
            name,
        )


def statement_warnings(
    compiled: CompiledClaim,
    tails: Sequence[TailRecord],
    groups: Sequence[GroupRecord],
    candidate_sizes: Sequence[int],
    beyond: Sequence[float],
) -> tuple[WarningRecord, ...]:
    """All warnings about the test of one statement.

    Parameters
    ----------
    compiled : CompiledClaim
        The statement on the held-out rows.
    tails, groups
        See `record_warnings`.
    candidate_sizes : sequence of int
        How many candidate rows meet the condition of each part.
    beyond : sequence of float
        See `elfair.statistics.sums.ClaimSums`.
    """
    found = record_warnings(tails, groups)
    averages = [
        (part, impact)
        for tail in compiled.tails
        if tail.bound.kind == "asymptotic"
        for part in tail.parts
        for impact in part.impacts
    ]
    found += [
        WarningRecord(
            "few_beyond_point",
            f"only {count:,} held-out rows lie beyond the point of '{impact.derived}' (below "
            f"{FEW_BEYOND}): the t bound passes too often there, a finite-sample bound does not",
            part.condition,
        )
        for (part, impact), count in zip(averages, beyond, strict=True)
        if count < FEW_BEYOND
    ]
    found += [
        WarningRecord(
            "few_candidate_rows",
            f"only {size:,} candidate rows meet '{part.condition}' (below {FEW_ROWS})",
            part.condition,
        )
        for part, size in zip(compiled.parts, candidate_sizes, strict=True)
        if size < FEW_ROWS
    ]
    return tuple(dict.fromkeys(found))
