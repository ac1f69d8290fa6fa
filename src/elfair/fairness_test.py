"""The fairness test (algorithms 1 and 3): the only reader of the sealed half."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from elfair.bounds import Sample
from elfair.certificate import ConstraintResult, GroupRecord
from elfair.constraints import CompiledClaim, Plan, Tail
from elfair.data import LoggedData
from elfair.partition import SealedHalf
from elfair.remarks import FEW_ROWS, remarks
from elfair.statistics import Part, Rows
from elfair.statistics.decisions import decisions_of

Floats = NDArray[np.float64]

#: A mean weight below this share, and so many standard errors away from it, says that the rest of
#: the new model's decisions is nowhere among the tested rows.
SEEN_SHARE, UNSEEN_ERRORS = 0.9, 4.0
#: The chance to pass that "about how many rows would be needed" is about.
PLANNED_POWER = 0.95
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
    """

    results: tuple[ConstraintResult, ...]
    data: LoggedData

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
        _test_claim(claim, data, free, scales, sizes, learnt.n + data.n, stretch)
        for claim, scales, sizes in zip(claims, learnt.scales, learnt.sizes, strict=True)
    ]
    # The worst first: by how many spreads of a row the bound is above 0.
    results.sort(key=lambda result: -_badness(result))
    return Outcome(tuple(results), data)


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
        _bounded(claim, data, free, scales, 1.0).upper <= 0
        for claim, scales in zip(claims, (learnt or _nothing(claims)).scales, strict=True)
    )


def _badness(result: ConstraintResult) -> float:
    if not isfinite(result.upper):
        return inf
    return result.upper / result.spread if result.spread > 0 else result.upper


def _test_claim(
    compiled: CompiledClaim,
    data: LoggedData,
    free: Floats,
    scales: Sequence[float | None],
    candidate_sizes: Sequence[int],
    n_all: int,
    stretch: float,
) -> ConstraintResult:
    claim = compiled.claim
    tails, unseen, upper = _bounded(compiled, data, free, scales, stretch)
    estimate, spread = tails[0].estimate, tails[0].spread
    if compiled.formula is not None:
        estimate, slopes = compiled.formula.value([tail.estimate for tail in tails])
        spread = sqrt(sum((a * tail.spread) ** 2 for a, tail in zip(slopes, tails, strict=True)))
    groups = _groups(compiled.parts, data, free)
    weighted = [group for group in groups if group.mean_weight is not None]
    warnings = remarks(compiled, groups, unseen, candidate_sizes, data)
    return ConstraintResult(
        constraint=claim.conjunct.parent,
        statement=claim.conjunct.text,
        delta=claim.delta,
        passed=upper <= 0,
        estimate=estimate,
        upper=upper,
        spread=spread,
        kind=compiled.tails[0].bound.kind,
        n=np.unique(np.concatenate([part.rows.index for part in compiled.parts])).size,
        ess=min((group.ess or 0.0 for group in weighted), default=None),
        mean_weight=max(
            (group.mean_weight or 0.0 for group in weighted),
            key=lambda weight: abs(weight - 1),
            default=None,
        ),
        max_weight=max((group.max_weight or 0.0 for group in weighted), default=None),
        groups=tuple(groups),
        rows_needed=None if unseen else _rows_needed(compiled, tails, estimate, n_all, stretch),
        warnings=warnings,
    )


class _Bounded(NamedTuple):
    """The bound on a claim, the tails it is made of, and groups in which it means nothing."""

    tails: list[_Tested]
    unseen: list[GroupRecord]
    upper: float


def _bounded(
    compiled: CompiledClaim,
    data: LoggedData,
    free: Floats,
    scales: Sequence[float | None],
    stretch: float,
) -> _Bounded:
    tails = _tested(compiled, free, scales, stretch)
    upper = tails[0].upper
    if compiled.formula is not None:
        upper, _ = compiled.formula.upper([tail.upper for tail in tails])
    unseen = _unseen(compiled, data, free)
    # Where there are any, the spread is that of what an outcome model says: no evidence.
    return _Bounded(tails, unseen, inf if unseen else upper)


def _unseen(compiled: CompiledClaim, data: LoggedData, free: Floats) -> list[GroupRecord]:
    """The groups whose weights show that rows cannot speak for the new model.

    E[w] = 1 whatever the model. Where it decides as hardly anybody was decided about, the rows that
    would show it (rare, with huge weights) are missing; weights then average far less, rows hardly
    vary, and a bound that trusts their spread passes whatever an outcome model makes up. A
    finite-sample bound does not trust it; and where all behaviour probabilities are known, what
    rows are missing is known as well, and is an assumption of the certificate's.
    """
    if compiled.tails[0].bound.kind != "asymptotic" or data.behavior is not None:
        return []
    return [
        group
        for group in _groups(compiled.parts, data, free)
        if group.mean_weight is not None
        and group.mean_weight_error is not None
        and group.mean_weight + UNSEEN_ERRORS * group.mean_weight_error < SEEN_SHARE
    ]


@dataclass(frozen=True)
class _Tested:
    """A tail and what the tested rows say of it."""

    tail: Tail
    values: list[Floats]
    samples: list[Sample]
    estimate: float
    upper: float

    @property
    def spread(self) -> float:
        return sqrt(sum(float(row.var(ddof=1)) for row in self.values))

    def foreseen(self, sizes: Sequence[float], variances: Sequence[float]) -> float:
        """The bound on so many rows like these, of these variances."""
        bound, delta = self.tail.bound, self.tail.delta
        if len(sizes) == 1 and isfinite(self.upper):  # then moments are often enough
            width = self.samples[0].high - self.samples[0].low
            factors = bound.moment_factors(width, delta, sizes[0])
            if factors is not None:
                return self.estimate + factors[0] + factors[1] * sqrt(variances[0])
        upper, _ = bound.predict(self.samples, delta, sizes, disjoint=self.tail.disjoint)
        return upper


def _tested(
    compiled: CompiledClaim, free: Floats, scales: Sequence[float | None], stretch: float
) -> list[_Tested]:
    tested, start = [], 0
    for tail in compiled.tails:
        end = start + len(tail.parts)
        values = [part.rows.exact_values(free) for part in tail.parts]
        samples = tail.samples(values, scales[start:end])
        estimate = float(sum(row.mean() for row in values))
        upper = float(tail.bound.upper(samples, tail.delta, disjoint=tail.disjoint))
        if _is_silent(tail):
            upper = inf
        upper = estimate + stretch * (upper - estimate)
        tested.append(_Tested(tail, values, samples, estimate, upper))
        start = end
    return tested


def _is_silent(tail: Tail) -> bool:
    """Whether a bound that trusts the spread of rows has rows that say nothing of it."""
    return tail.bound.kind == "asymptotic" and any(part.rows.are_silent for part in tail.parts)


def _groups(parts: Sequence[Part], data: LoggedData, free: Floats) -> list[GroupRecord]:
    """One record for each condition; the weights count if they enter anywhere."""
    weighted: dict[str, bool] = {}
    for part in parts:
        weighted[part.condition] = weighted.get(part.condition, False) or part.weighted
    index = {part.condition: part.rows.index for part in parts}
    return [_group(name, index[name], weights, data, free) for name, weights in weighted.items()]


def _group(
    condition: str,
    index: NDArray[np.intp],
    weighted: bool,
    data: LoggedData,
    free: Floats,
) -> GroupRecord:
    if not weighted:
        return GroupRecord(condition, index.size, None, None, None, None)
    decisions = decisions_of(data)
    weights = decisions.weights(free)[index]
    squares = float(weights @ weights)
    return GroupRecord(
        condition,
        index.size,
        ess=float(weights.sum() ** 2 / squares) if squares else 0.0,
        mean_weight=float(weights.mean()),
        mean_weight_error=sqrt(decisions.weight_variance(free, index) / index.size),
        max_weight=float(weights.max()),
    )


def _rows_needed(
    compiled: CompiledClaim,
    tails: Sequence[_Tested],
    estimate: float,
    n_all: int,
    stretch: float,
) -> int | None:
    """The smallest multiple of today's rows at which the bound would pass with high probability."""
    if any(_is_silent(tail) for tail in compiled.tails):
        return None
    if estimate >= 0:
        # Rows that are 0 by construction pass however few they are.
        return n_all if estimate == 0 and all(tail.upper == 0 for tail in tails) else None
    z = float(ndtri(PLANNED_POWER))
    variances = [[float(row.var(ddof=1)) for row in tail.values] for tail in tails]

    def passes(times: float) -> bool:
        # Each tail as far out as bad luck takes it.
        uppers = []
        for tail, of_rows in zip(tails, variances, strict=True):
            sizes = [times * row.size for row in tail.values]
            upper = tail.foreseen(sizes, of_rows)
            error = sqrt(sum(v / n for v, n in zip(of_rows, sizes, strict=True)))
            uppers.append(tail.estimate + stretch * (upper - tail.estimate) + z * error)
        if compiled.formula is None:
            return uppers[0] <= 0
        return compiled.formula.upper(uppers)[0] <= 0

    most = 2.0**40
    high = 2.0 / min(row.size for tail in tails for row in tail.values)
    while not passes(high):
        high *= 2
        if high > most:
            return None
    low = high / 2
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return ceil(high * n_all)
