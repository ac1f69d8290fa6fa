"""What importance weights say about missing rows, and the warnings of a statement's test.

E[w] = 1 whatever the new model is. Where it takes decisions almost absent from the log, the rows
that would show their impact (rare, with huge weights) are missing. Weights then average less than
1; or, if few decisions are reversed, they hardly vary, because the rows of reversed decisions
have a weight of 0. A bound that trusts the spread of rows then passes whatever an outcome model
makes up, or whatever is left. A finite-sample bound does not trust it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from elfair.certificate import GroupRecord, Kind, WarningRecord
from elfair.data import LoggedData
from elfair.statistics import Impact, Part
from elfair.statistics.plan import CompiledClaim

#: A mean weight below this share, and this many standard errors away from it, says that the rest of
#: the new model's decisions is nowhere among the held-out rows.
SEEN_SHARE, UNSEEN_ERRORS = 0.9, 4.0
#: If rows show less than this share of the known variance of weights, the rows that matter are
#: missing. Reversed decisions have a weight of 0 and show 1 / w of it, where w is the weight of the
#: missing rows: so this is about weights above 33. With weights of 20 (one decision in ten taken
#: blindly) the t bound keeps its level by itself: tests/guarantees/test_second_round.py.
SEEN_VARIANCE = 0.03
#: Variances below this are those of a policy that is the behaviour model.
ROUNDING = 1e-9


def hidden_variance(group: GroupRecord) -> float:
    """The variance of a weight that rows do not show, if that is most of it; otherwise 0.

    Parameters
    ----------
    group : GroupRecord
        A group whose behaviour probabilities are all known: then so is the variance of a weight.

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
#: Where fewer held-out rows lie beyond the point of a quantile or of a deficit, the t bound on it
#: passes too often (.15 instead of .1 for 20 rows of 400, .12 for 80 of 1,600).
FEW_BEYOND = 50


def unseen_groups(
    groups: Sequence[GroupRecord], kind: Kind, behavior_known: bool
) -> list[GroupRecord]:
    """The groups whose weights show that rows say nothing about the new model.

    Parameters
    ----------
    groups : sequence of GroupRecord
        The groups of a statement.
    kind : {"finite-sample", "asymptotic"}
        The kind of its bound.
    behavior_known : bool
        Whether the behaviour model's probability of every decision is known.

    Examples
    --------
    >>> group = GroupRecord("everyone", 400, 350.0, 0.5, 0.05, 1.1)
    >>> len(unseen_groups([group], "asymptotic", behavior_known=False))
    1
    """
    if kind != "asymptotic" or behavior_known:
        return []
    return [
        group
        for group in groups
        if group.mean_weight is not None
        and group.mean_weight_error is not None
        and group.mean_weight + UNSEEN_ERRORS * group.mean_weight_error < SEEN_SHARE
    ]


def hidden_variances(
    groups: Sequence[GroupRecord], kind: Kind, behavior_known: bool
) -> dict[str, float]:
    """For each condition whose rows do not show all the variance of their weights, what is missing;
    see `unseen_groups`.
    """
    if kind != "asymptotic" or not behavior_known:
        return {}
    found = {group.condition: hidden_variance(group) for group in groups}
    return {condition: variance for condition, variance in found.items() if variance}


def group_warnings(
    groups: Sequence[GroupRecord], kind: Kind, behavior_known: bool
) -> list[WarningRecord]:
    """The warnings that follow from the groups of a statement; see `unseen_groups`."""
    found = [
        WarningRecord(
            "decisions_unseen",
            f"the weights of '{group.condition}' average {group.mean_weight:.3g} +- "
            f"{group.mean_weight_error:.2g} instead of 1: the new model takes decisions almost "
            "absent from the log, and their impact is not known",
            group.condition,
        )
        for group in unseen_groups(groups, kind, behavior_known)
    ]
    found += [
        WarningRecord(
            "variance_hidden",
            f"the weights of '{condition}' are known to vary far more than these rows show: the "
            "new model takes some decisions almost absent from the log; the bound allows for it",
            condition,
        )
        for condition in hidden_variances(groups, kind, behavior_known)
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
            f"only {group.n} held-out rows meet '{group.condition}' (below {FEW_ROWS})",
            group.condition,
        )
        for group in groups
        if group.n < FEW_ROWS
    ]
    return found


def statement_warnings(
    compiled: CompiledClaim,
    groups: Sequence[GroupRecord],
    candidate_sizes: Sequence[int],
    data: LoggedData,
) -> tuple[WarningRecord, ...]:
    """All warnings about the test of one statement.

    Parameters
    ----------
    compiled : CompiledClaim
        The statement on the held-out rows.
    groups : sequence of GroupRecord
        Its groups.
    candidate_sizes : sequence of int
        How many candidate rows meet the condition of each part.
    data : LoggedData
        The held-out rows.
    """
    kind = compiled.tails[0].bound.kind
    found = group_warnings(groups, kind, data.behavior is not None)
    found += [
        WarningRecord(
            "few_beyond_point",
            f"only {beyond} held-out rows lie beyond the point of '{impact.derived}' (below "
            f"{FEW_BEYOND}): the t bound passes too often there, a finite-sample bound does not",
            part.condition,
        )
        for part in compiled.parts
        for impact in part.impacts
        if kind == "asymptotic" and (beyond := _rows_beyond(impact, part, data)) < FEW_BEYOND
    ]
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


def _rows_beyond(impact: Impact, part: Part, data: LoggedData) -> float:
    """How many rows decide the average of a function of an impact."""
    if impact.derived is None:
        return inf
    return impact.derived.deciding(data.impacts[impact.name][part.rows.index])
