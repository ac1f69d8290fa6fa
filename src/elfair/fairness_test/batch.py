"""One function of a batch of rows: what the test of a model needs to know of them.

The rows of a table in memory are one batch. Of more rows than memory holds, every batch is asked by
itself, and `merge` (`elfair.statistics.sums`) makes one of what they give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np

from elfair.data import LoggedData
from elfair.data.digests import Keys
from elfair.statistics import Impact, Part
from elfair.statistics.decisions import decisions_of
from elfair.statistics.doubt import doubted
from elfair.statistics.hidden import Hidden
from elfair.statistics.plan import CompiledClaim, Tail
from elfair.statistics.rows import Learnt, Rows
from elfair.statistics.sums import ClaimSums, PartSums, Spread, TailSums, Together, WeightSums
from elfair.statistics.unseen import seen_of
from elfair.statistics.weights import Weights
from elfair.types import Floats, Index


def sums_of(
    compiled: CompiledClaim, data: LoggedData, free: Floats, learnt: Sequence[Learnt | None]
) -> ClaimSums:
    """What the rows of a batch say of a claim.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on these rows.
    data : LoggedData
        The rows.
    free : ndarray of shape (channels, n)
        The policy on them.
    learnt : sequence of Learnt or None
        What other rows say about a row of each part.
    """
    parts = compiled.parts
    weighted = {part.condition: part.rows for part in parts if part.weighted}
    return ClaimSums(
        tuple(
            _of_tail(tail, data, free, known)
            for tail, known in zip(compiled.tails, compiled.by_tail(learnt), strict=True)
        ),
        {part.condition: part.rows.size for part in parts},
        {name: _weights_inside(rows, data, free) for name, rows in weighted.items()},
        _count_places([part.rows.places for part in parts]),
        tuple(
            _rows_beyond(impact, part, data)
            for tail in compiled.tails
            if tail.bound.kind == "asymptotic"
            for part in tail.parts
            for impact in part.impacts
        ),
    )


def add_up(one: Sequence[ClaimSums], other: Sequence[ClaimSums]) -> list[ClaimSums]:
    """What two batches say of some claims."""
    return [a.merged(b) for a, b in zip(one, other, strict=True)]


def rare_of(
    sums: ClaimSums, compiled: CompiledClaim, free: Floats
) -> dict[str, tuple[float, float]]:
    """What the rows of a batch say of decisions that are rare by the weights of all rows.

    Parameters
    ----------
    sums : ClaimSums
        What all rows say.
    compiled, free
        See `sums_of`.
    """
    inside = {part.condition: part.rows for part in compiled.parts if part.weighted}
    return {
        name: _weights(inside[name], free).rare(of.typical)
        for name, of in sums.weights.items()
        if of.typical is not None
    }


def weights_of(index: Index, data: LoggedData, free: Floats) -> WeightSums:
    """The importance weights of some rows under a policy.

    Parameters
    ----------
    index : ndarray of int
        Which rows.
    data, free
        See `sums_of`.
    """
    weights = decisions_of(data).weights(free, index)
    sums = _with_doubt(weights, data, index)
    return sums if sums.typical is None else sums.with_rare(weights.rare(sums.typical))


def _of_tail(
    tail: Tail, data: LoggedData, free: Floats, learnt: Sequence[Learnt | None]
) -> TailSums:
    exact = [part.rows.exact_values(free) for part in tail.parts]
    values = [
        part.rows.worst_case(of_part, 0.0 if known is None else known.threshold)[0]
        for part, of_part, known in zip(tail.parts, exact, learnt, strict=True)
    ]
    parts = []
    for part, here, each in zip(tail.parts, exact, values, strict=True):
        hidden = Hidden(part.rows, part.rows.inside(free), here) if tail.bound.guarded else None
        kept: tuple[tuple[Keys, Floats], ...] = ()
        if data.order is not None and not tail.by_sums:
            kept = ((data.order[part.rows.index], each),)
        parts.append(_of_part(part, each, hidden, kept))
    if tail.disjoint:
        return TailSums(tuple(parts))
    places = [part.rows.places for part in tail.parts]
    pairs = combinations(range(len(parts)), 2)
    together = (Together.of((places[k], places[m]), (values[k], values[m])) for k, m in pairs)
    return TailSums(tuple(parts), tuple(together))


def _of_part(
    part: Part, values: Floats, hidden: Hidden | None, kept: tuple[tuple[Keys, Floats], ...]
) -> PartSums:
    rows = part.rows
    return PartSums(
        Spread.of(values),
        float(values.min(initial=inf)),
        float(values.max(initial=-inf)),
        rows.are_silent,
        None if rows.weighted is None else rows.weighted.worst,
        None if hidden is None else hidden.sums,
        kept,
    )


def _count_places(of_parts: Sequence[Index]) -> int:
    """How many different places some parts have."""
    if len(of_parts) == 1:
        return of_parts[0].size
    met = np.zeros(max(int(places.max(initial=-1)) for places in of_parts) + 1, dtype=np.bool_)
    for places in of_parts:
        met[places] = True
    return int(met.sum())


def _weights(rows: Rows, free: Floats) -> Weights:
    assert rows.weighted is not None
    return rows.weighted.law.weights(rows.inside(free))


def _weights_inside(rows: Rows, data: LoggedData, free: Floats) -> WeightSums:
    return _with_doubt(_weights(rows, free), data, rows.index)


def _with_doubt(of_rows: Weights, data: LoggedData, index: Index) -> WeightSums:
    return replace(of_rows.sums, doubt=_doubt_of_mean(of_rows, data, index))


def _doubt_of_mean(of_rows: Weights, data: LoggedData, index: Index) -> float:
    """What estimated propensities add to the variance of a mean weight."""
    if data.doubts is None or data.propensity is None:
        return 0.0
    others = of_rows.values * (data.propensity[index] / data.doubts[index].T)
    sample = doubted(np.array([of_rows.average(each) for each in others]))
    return float(sample.variance) / sample.n


def _rows_beyond(impact: Impact, part: Part, data: LoggedData) -> float:
    """How many rows decide the average of a function of an impact."""
    if impact.derived is None:
        return inf
    index = part.rows.index
    seen = seen_of(impact, data)[index]
    return impact.derived.deciding(data.impacts[impact.name][index][seen])
