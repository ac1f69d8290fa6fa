"""Sealed rows after they were opened: in memory, or batch by batch.

What is in memory is opened at once, and models are asked about in turn. Of rows that are read in
batches, one pass asks about all models in line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from elfair.data import LoggedData
from elfair.data.batches import SealedBatches
from elfair.data.split import SealedHalf
from elfair.fairness_test.batch import add_up, rare_of, sums_of
from elfair.fairness_test.drawing import Shown
from elfair.fairness_test.evidence import SHARED_ROWS, Bounded, bounded, by_sums
from elfair.fairness_test.ladder import Learnt, Rung
from elfair.statistics import Rows
from elfair.statistics.decisions import decisions_of
from elfair.statistics.doubt import Doubt
from elfair.statistics.plan import CompiledClaim, Tail
from elfair.statistics.rows import Weighted
from elfair.statistics.sums import ClaimSums, Reach
from elfair.statistics.units import Units
from elfair.types import Floats, Index

#: A model for each fold, and what its test is about.
Case = TypeVar("Case", bound=tuple[Any, Sequence[Rung]])


class Opened(ABC):
    """The rows of a test."""

    #: How many there are.
    n: int
    #: Some of them.
    like: LoggedData

    def ahead(self, cases: Iterable[Case]) -> Iterable[Case]:
        """The same cases, once it is known that they will be asked about."""
        return cases

    @abstractmethod
    def bounds(self, rungs: Sequence[Rung], before: Sequence[float] | None = None) -> list[Bounded]:
        """The bound on each claim about one model (or about one a fold).

        Parameters
        ----------
        rungs : sequence of Rung
            Its test on each fold.
        before : sequence of float, optional
            The e-value that earlier rows gave each claim.
        """

    @abstractmethod
    def learnt(self, rungs: Sequence[Rung]) -> Learnt:
        """What other rows say about a model."""

    @abstractmethod
    def shown(self, rungs: Sequence[Rung]) -> Shown:
        """What a certificate shows of the rows under a model."""


class InMemory(Opened):
    """The rows of all folds, one fold after the other."""

    def __init__(self, halves: Sequence[SealedHalf]) -> None:
        self.halves = list(halves)
        self.folds = [sealed.open() for sealed in halves]
        self.data = self.like = LoggedData.joined(self.folds)
        self.n = self.data.n
        self.starts = np.cumsum([0, *(data.n for data in self.folds)])

    def bounds(self, rungs: Sequence[Rung], before: Sequence[float] | None = None) -> list[Bounded]:
        """See `Opened.bounds`."""
        claims, free, learnt = self._claims(rungs), self._free(rungs), self.learnt(rungs)
        stretch = SHARED_ROWS if len(rungs) > 1 else 1.0
        return [
            bounded(claim, self.data, free, of_rows, stretch, start)
            for claim, of_rows, start in zip(
                claims, learnt.rows, before or [1.0] * len(claims), strict=True
            )
        ]

    def learnt(self, rungs: Sequence[Rung]) -> Learnt:
        """See `Opened.learnt`."""
        learnt = rungs[0].learnt or Learnt.nothing(self._claims(rungs))
        if len(rungs) > 1:  # rows that one fold tests, the others learn from
            learnt = replace(learnt, n=0)
        return learnt

    def shown(self, rungs: Sequence[Rung]) -> Shown:
        """See `Opened.shown`."""
        return Shown.of(rungs[0].plan, self.data, self._free(rungs))

    def _free(self, rungs: Sequence[Rung]) -> Floats:
        """The free numbers of one model (or of one a fold) on these rows."""
        frees = [rung.policy(data) for rung, data in zip(rungs, self.folds, strict=True)]
        return frees[0] if len(frees) == 1 else np.concatenate(frees, axis=1)

    def _claims(self, rungs: Sequence[Rung]) -> list[CompiledClaim]:
        """Every claim on these rows."""
        assert [rung.sealed for rung in rungs] == self.halves
        pairs = zip(rungs, self.folds, strict=True)
        compiled = [rung.plan.compile(data) for rung, data in pairs]
        return [
            joined(of_folds, self.starts, self.data) for of_folds in zip(*compiled, strict=True)
        ]


class InBatches(Opened):
    """Rows that are read in batches, of one fold."""

    def __init__(self, sealed: SealedBatches, like: LoggedData) -> None:
        self._sealed, self.n, self.like = sealed, sealed.n, like
        self._known: dict[int, tuple[Rung, list[CompiledClaim], list[ClaimSums]]] = {}

    def ahead(self, cases: Iterable[Case]) -> Iterable[Case]:
        """See `Opened.ahead`: one pass for all of them, and one for what is rare."""
        cases = list(cases)
        rungs = [rung for _, (rung,) in cases]
        compiled = [rung.plan.compile(self.like) for rung in rungs]
        known = [
            rung.learnt or Learnt.nothing(claims)
            for rung, claims in zip(rungs, compiled, strict=True)
        ]
        sums: list[list[ClaimSums]] = []
        for data in self._sealed.batches() if rungs else ():
            found = [
                [
                    sums_of(claim, data, free, of_rows)
                    for claim, of_rows in zip(rung.plan.compile(data), learnt.rows, strict=True)
                ]
                for rung, learnt in zip(rungs, known, strict=True)
                for free in [rung.policy(data)]
            ]
            sums = found if not sums else [add_up(*pair) for pair in zip(sums, found, strict=True)]
        if any(of.typical for each in sums for claim in each for of in claim.weights.values()):
            sums = self._with_rare(rungs, sums)
        for rung, claims, of in zip(rungs, compiled, sums, strict=True):
            self._known[id(rung)] = rung, claims, of
        return cases

    def _with_rare(
        self, rungs: Sequence[Rung], sums: list[list[ClaimSums]]
    ) -> list[list[ClaimSums]]:
        total: list[list[dict[str, Floats]]] = []
        for data in self._sealed.batches():
            found = [
                [
                    {name: np.array(of) for name, of in rare_of(whole, claim, free).items()}
                    for whole, claim in zip(of_model, rung.plan.compile(data), strict=True)
                ]
                for rung, of_model in zip(rungs, sums, strict=True)
                for free in [rung.policy(data)]
            ]
            if not total:
                total = found
                continue
            for mine, theirs in zip(total, found, strict=True):
                for one, other in zip(mine, theirs, strict=True):
                    for name in one:
                        one[name] = one[name] + other[name]
        return [
            [
                whole.with_rare({name: (float(a), float(b)) for name, (a, b) in rare.items()})
                for whole, rare in zip(of_model, found_of, strict=True)
            ]
            for of_model, found_of in zip(sums, total, strict=True)
        ]

    def bounds(self, rungs: Sequence[Rung], before: Sequence[float] | None = None) -> list[Bounded]:
        """See `Opened.bounds`."""
        assert before is None
        (rung,) = rungs
        _, claims, sums = self._known[id(rung)]
        each = zip(claims, sums, self.learnt(rungs).rows, strict=True)
        return [by_sums(claim, of, of_rows, 1.0) for claim, of, of_rows in each]

    def learnt(self, rungs: Sequence[Rung]) -> Learnt:
        """See `Opened.learnt`."""
        (rung,) = rungs
        return rung.learnt or Learnt.nothing(self._known[id(rung)][1])

    def shown(self, rungs: Sequence[Rung]) -> Shown:
        """See `Opened.shown`."""
        (rung,) = rungs
        batches = ((data, rung.policy(data)) for data in self._sealed.batches())
        return Shown.of_batches(rung.plan, self.like, batches, self.n)


def opened_for(rungs: Sequence[Rung]) -> Opened:
    """Open the sealed rows of some models, one a fold."""
    sealed = rungs[0].sealed
    if isinstance(sealed, SealedBatches):
        return InBatches(sealed, rungs[0].plan.baselines.candidate)
    return InMemory([rung.sealed for rung in rungs])


def joined(claims: Sequence[CompiledClaim], starts: Index, data: LoggedData) -> CompiledClaim:
    """A claim on several folds, as a claim on their rows one after the other.

    Parameters
    ----------
    claims : sequence of CompiledClaim
        The claim on each fold, without capped terms.
    starts : ndarray
        Where the rows of each fold begin.
    data : LoggedData
        The rows of all folds.
    """
    if len(claims) == 1:
        return claims[0]
    tails = [
        _joined_tail(of_folds, starts, data)
        for of_folds in zip(*(claim.tails for claim in claims), strict=True)
    ]
    return replace(claims[0], tails=tuple(tails))


def _joined_tail(tails: Sequence[Tail], starts: Index, data: LoggedData) -> Tail:
    parts = []
    for of_folds in zip(*(tail.parts for tail in tails), strict=True):
        rows, units = _same_scale([part.rows for part in of_folds])
        index = np.concatenate([r.index + start for r, start in zip(rows, starts, strict=False)])
        joined = Rows(
            index,
            np.concatenate([r.offset for r in rows]),
            np.concatenate([r.slope for r in rows], axis=1),
            min(r.low for r in rows),
            max(r.high for r in rows),
            weighted=_joined_weights([r.weighted for r in rows], data, index),
            units=units,
            doubt=Doubt.joined([r.doubt for r in rows]),
        )
        parts.append(replace(of_folds[0], rows=joined))
    return replace(tails[0], parts=tuple(parts))


def _joined_weights(
    weighted: Sequence[Weighted | None], data: LoggedData, index: Index
) -> Weighted | None:
    known = [each for each in weighted if each is not None]
    if not known:
        return None
    residual = np.concatenate([each.residual for each in known])
    worst = max(each.worst for each in known)
    reach = Reach(max(each.reach.largest for each in known))
    return Weighted(residual, decisions_of(data).law(index), worst, reach)


def _same_scale(rows: Sequence[Rows]) -> tuple[list[Rows], Units | None]:
    """The rows of several folds, with shares as if they were one, and their units."""
    parts = [each.units for each in rows if each.units is not None]
    if not parts:
        return list(rows), None
    units, scaled, start = Units.joined(parts), [], 0
    for each, part in zip(rows, parts, strict=True):
        factor, weighted = float(units.share[start] / part.share[0]), each.weighted
        if weighted is not None:
            weighted = replace(weighted, residual=factor * weighted.residual)
        offset, slope, doubt = factor * each.offset, factor * each.slope, each.doubt
        doubt = None if doubt is None else doubt.times(np.array(factor))
        scaled.append(replace(each, offset=offset, slope=slope, weighted=weighted, doubt=doubt))
        start += part.place.size
    return scaled, units
