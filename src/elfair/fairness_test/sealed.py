"""The fairness test (algorithms 1 and 3): the only reader of the sealed half."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import ConstraintResult
from elfair.data import LoggedData
from elfair.data.split import SealedHalf, looking_again
from elfair.fairness_test.diagnostics import FEW_ROWS
from elfair.fairness_test.evidence import badness, bounded, evidence_of
from elfair.statistics import Rows
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.types import Floats

#: By how much folds that learn from each other's rows stretch the width of a bound. Where g hardly
#: depends on the policy, each fold's model points where the other folds were lucky, and the errors
#: of the folds no longer average out: in the Gaussian limit the variance of the average is then up
#: to twice that of independent rows (benchmarks/crossfit.py).
SHARED_ROWS = sqrt(2)


@dataclass(frozen=True)
class Outcome:
    """What the test saw.

    Parameters
    ----------
    results : tuple of ConstraintResult
        One for each claim, the worst first.
    data : LoggedData
        The rows that were tested.
    free : ndarray of shape (channels, n)
        The free numbers of the policy on these rows.
    """

    results: tuple[ConstraintResult, ...]
    data: LoggedData
    free: Floats

    @property
    def passed(self) -> bool:
        """Whether every bound is at most 0: only then the model is let out."""
        return all(result.passed for result in self.results)


def run_on_sealed(
    plan: Plan,
    sealed: SealedHalf,
    policy: Callable[[LoggedData], Floats],
    learnt: Learnt | None = None,
) -> Outcome:
    """Open the sealed half and test a policy on it.

    Parameters
    ----------
    plan : Plan
        What is tested, fixed beforehand.
    sealed : SealedHalf
        The held-out rows.
    policy : callable
        The free numbers of a policy that held-out rows had no part in, of shape (channels, n).
    learnt : Learnt, optional
        From `learn_from`, on other rows.
    """
    return run_on_folds([Trial(plan, sealed, policy, learnt)])


def run_in_turn(trials: Iterable[Trial]) -> Turns:
    """Open the sealed half once and test policies in the given order until one fails.

    If some policies violate a claim, the first of them in line has to pass its test before any of
    them can be let out; so the probability of that is at most the claim's delta, however many
    policies there are.

    Parameters
    ----------
    trials : iterable of Trial
        In an order that held-out rows had no part in, all on the same sealed half. It is read no
        further than the test goes.
    """
    data, last, place, tested = None, None, 0, 0
    for trial in trials:
        if data is None:
            sealed, data = trial.sealed, trial.sealed.open()
        assert trial.sealed is sealed
        claims, free = trial.plan.compile(data), trial.policy(data)
        passed, tested = _passes(claims, data, free, trial.learnt), tested + 1
        if passed or last is None:
            last, place = (trial, claims, free), tested
        if not passed:
            break
    assert data is not None
    assert last is not None
    trial, claims, free = last
    return Turns(_run(claims, data, free, trial.learnt, 1.0), trial.plan, place, tested)


def opened_before(halves: Sequence[SealedHalf]) -> LoggedData:
    """The rows of a test that was made before and is only checked, in the order of the test."""
    with looking_again():
        return LoggedData.joined([sealed.open() for sealed in halves])


@dataclass(frozen=True)
class Turns:
    """What came of testing policies one after the other.

    Parameters
    ----------
    outcome : Outcome
        Of the last policy that passed; of the first, if even that one failed.
    plan : Plan
        What it was tested for.
    place : int
        Its place in the line, from 1.
    tested : int
        How many were tested.
    """

    outcome: Outcome
    plan: Plan
    place: int
    tested: int


@dataclass(frozen=True)
class Trial:
    """A policy and the sealed rows that had no part in it; see `run_on_sealed`."""

    plan: Plan
    sealed: SealedHalf
    policy: Callable[[LoggedData], Floats]
    learnt: Learnt | None = None


def run_on_folds(trials: Sequence[Trial]) -> Outcome:
    """Open sealed folds, test each with its own policy, and bound the average over all rows.

    Since every g is affine in the policy, the average is about the policy that picks one of the
    tested ones at random, as often as the shares of the folds' rows say. One fold is the usual
    test.

    Parameters
    ----------
    trials : sequence of Trial
        One for each fold; their plans test the same claims.
    """
    folds = [trial.sealed.open() for trial in trials]
    frees = [trial.policy(data) for trial, data in zip(trials, folds, strict=True)]
    compiled = [trial.plan.compile(data) for trial, data in zip(trials, folds, strict=True)]
    starts = np.cumsum([0, *(data.n for data in folds)])
    claims = [_joined(of_folds, starts) for of_folds in zip(*compiled, strict=True)]
    data = LoggedData.joined(folds)
    learnt = trials[0].learnt
    if learnt is not None and len(trials) > 1:  # rows that one fold tests, the others learn from
        learnt = replace(learnt, n=0)
    stretch = SHARED_ROWS if len(trials) > 1 else 1.0
    return _run(claims, data, np.concatenate(frees, axis=1), learnt, stretch)


def _joined(claims: Sequence[CompiledClaim], starts: NDArray[np.intp]) -> CompiledClaim:
    """A claim on several folds, as a claim on their rows one after the other."""
    if len(claims) == 1:
        return claims[0]
    tails = [
        _joined_tail(of_folds, starts)
        for of_folds in zip(*(claim.tails for claim in claims), strict=True)
    ]
    return replace(claims[0], tails=tuple(tails))


def _joined_tail(tails: Sequence[Tail], starts: NDArray[np.intp]) -> Tail:
    parts = []
    for of_folds in zip(*(tail.parts for tail in tails), strict=True):
        rows = [part.rows for part in of_folds]
        joined = Rows(
            np.concatenate([r.index + start for r, start in zip(rows, starts, strict=False)]),
            np.concatenate([r.offset for r in rows]),
            np.concatenate([r.slope for r in rows], axis=1),
            min(r.low for r in rows),
            max(r.high for r in rows),
        )
        parts.append(replace(of_folds[0], rows=joined))
    return replace(tails[0], parts=tuple(parts))


@dataclass(frozen=True)
class Learnt:
    """What rows that are not tested say of the test.

    Parameters
    ----------
    n : int
        How many such rows there are.
    scales : list of lists of float or None
        For each claim and each part of its tails, the spread of a row.
    sizes : list of lists of int
        For each claim and each part of its tails, how many rows meet the condition.
    """

    n: int
    scales: list[list[float | None]]
    sizes: list[list[int]]


def learn_from(plan: Plan, rows: LoggedData, free: Floats) -> Learnt:
    """Look at rows that are not tested, under the policy that will be."""
    claims = plan.compile(rows)
    return Learnt(
        rows.n,
        [[float(p.rows.values(free).std(ddof=1)) or None for p in claim.parts] for claim in claims],
        [[p.rows.index.size for p in claim.parts] for claim in claims],
    )


def _run(
    claims: Sequence[CompiledClaim],
    data: LoggedData,
    free: Floats,
    learnt: Learnt | None,
    stretch: float,
) -> Outcome:
    learnt = learnt or _nothing(claims)
    results = [
        evidence_of(claim, data, free, scales, sizes, learnt.n + data.n, stretch)
        for claim, scales, sizes in zip(claims, learnt.scales, learnt.sizes, strict=True)
    ]
    # The worst first: by how many spreads of a row the bound is above 0.
    results.sort(key=lambda result: -badness(result))
    return Outcome(tuple(results), data, free)


def _nothing(claims: Sequence[CompiledClaim]) -> Learnt:
    """What is known without rows to learn from."""
    return Learnt(
        0,
        [[None] * len(claim.parts) for claim in claims],
        [[FEW_ROWS] * len(claim.parts) for claim in claims],
    )


def _passes(
    claims: Sequence[CompiledClaim], data: LoggedData, free: Floats, learnt: Learnt | None
) -> bool:
    """Whether `_run` would say that every claim passed."""
    return all(
        bounded(claim, data, free, scales, 1.0).upper <= 0
        for claim, scales in zip(claims, (learnt or _nothing(claims)).scales, strict=True)
    )
