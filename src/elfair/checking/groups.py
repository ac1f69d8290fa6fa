"""What is known of the people of one condition before the test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import GroupRecord
from elfair.checking.halves import Halves
from elfair.checking.record import DecisionShare, GroupCheck, Overlap, WeightForecast
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.evidence import NO_WEIGHTS, weights_of
from elfair.language import Condition, holds, who

Floats = NDArray[np.float64]

#: The bins of propensities.
EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def describe(
    given: Condition | None,
    halves: Halves,
    left_out: LoggedData | None,
    models: Sequence[Floats],
) -> GroupCheck:
    """The people of one condition.

    Parameters
    ----------
    given : Condition or None
        The condition; None means everyone.
    halves : Halves
        The rows.
    left_out : LoggedData, optional
        The rows whose impact is missing.
    models : sequence of ndarray of shape (channels, n)
        The first and the last model of the line-up on candidate rows; empty where none is known.
    """
    size, rows = halves.size(given), halves.known(given)
    inside = np.flatnonzero(holds(given, rows))
    candidates = np.flatnonzero(holds(given, halves.candidate))
    n_test = size.held_out or 0
    return GroupCheck(
        condition=who(given),
        candidate=size.candidate,
        held_out=size.held_out,
        expected=size.expected,
        share=inside.size / max(1, rows.n),
        left_out=0 if left_out is None else int(holds(given, left_out).sum()),
        decisions=_decisions(rows, inside),
        overlap=_overlap(rows, inside),
        weights=tuple(
            WeightForecast(
                model="first" if place == 0 else "last",
                mean=seen.mean,
                mean_error=seen.mean_error,
                largest=seen.largest,
                ess=seen.ess * n_test / candidates.size,
            )
            for place, free in enumerate(models)
            if candidates.size > 1
            for seen in [weights_of(candidates, halves.candidate, free)]
        ),
    )


def as_record(group: GroupCheck) -> GroupRecord:
    """The group as the assumptions of a certificate want it, under the first model."""
    n = group.held_out or 0
    if not group.weights:
        return GroupRecord(group.condition, n, *NO_WEIGHTS)
    first = group.weights[0]
    return GroupRecord(group.condition, n, first.ess, first.mean, first.mean_error, first.largest)


def _decisions(rows: LoggedData, inside: NDArray[np.intp]) -> tuple[DecisionShare, ...]:
    if rows.decision_index is None or not inside.size:
        return ()
    taken = np.bincount(rows.decision_index[inside], minlength=rows.classes.size)
    return tuple(
        DecisionShare(str(name), float(count / inside.size))
        for name, count in zip(rows.classes, taken, strict=True)
    )


def _overlap(rows: LoggedData, inside: NDArray[np.intp]) -> Overlap | None:
    if rows.propensity is None or isinstance(rows, ContinuousData) or not inside.size:
        return None
    propensity = rows.propensity[inside]
    low, quartile, median = (float(q) for q in np.quantile(propensity, [0.05, 0.25, 0.5]))
    smallest = float(propensity.min())
    bins = np.searchsorted(EDGES, propensity) - 1  # above one edge, up to the next
    counts = np.bincount(bins, minlength=len(EDGES) - 1)
    return Overlap(
        smallest, low, quartile, median, 1 / smallest, EDGES, tuple(int(c) for c in counts)
    )
