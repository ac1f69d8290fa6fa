"""What the tested rows say of a claim: its bound, and all that the certificate keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, isfinite, sqrt

import numpy as np
from scipy.special import ndtri

from elfair.bounds import Sample
from elfair.bounds.student import standard_error
from elfair.certificate import ConstraintResult, GroupRecord, PartRecord, TailRecord
from elfair.data import LoggedData
from elfair.fairness_test.diagnostics import hidden_variances, statement_warnings, unseen_groups
from elfair.language.intervals import Formula
from elfair.statistics import Part
from elfair.statistics.decisions import decisions_of
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.types import Floats, Index

#: By how much folds that learn from each other's rows stretch the width of a bound. Where g hardly
#: depends on the policy, each fold's model points where the other folds were lucky, and the errors
#: of the folds no longer average out: in the Gaussian limit the variance of the average is then up
#: to twice that of independent rows (benchmarks/crossfit.py).
SHARED_ROWS = sqrt(2)
#: The weights of a group in which no weights enter.
NO_WEIGHTS = (None, None, None, None)
#: The chance to pass that "about how many rows would be needed" is about.
PLANNED_POWER = 0.95
#: If this many times today's rows are too few, no number is named.
MOST_TIMES = 2.0**40


@dataclass(frozen=True)
class Outcome:
    """The outcome of testing models in turn: the test of the last one that passed, or of the first
    if even that one failed.

    Parameters
    ----------
    results : tuple of ConstraintResult
        One for each claim, the worst first.
    data : LoggedData
        The rows that were tested.
    free : ndarray of shape (channels, n)
        The free numbers of the policy on these rows.
    plan : Plan
        What the model was tested for.
    place : int, default 1
        Its place on the ladder, from 1.
    tested : int, default 1
        How many models were tested.
    """

    results: tuple[ConstraintResult, ...]
    data: LoggedData
    free: Floats
    plan: Plan
    place: int = 1
    tested: int = 1

    @property
    def passed(self) -> bool:
        """Whether every bound is at most 0: only then is the model released."""
        return all(result.passed for result in self.results)


def badness(result: ConstraintResult) -> float:
    """By how many spreads of a row the bound is above 0."""
    if not isfinite(result.upper):
        return inf
    return result.upper / result.spread if result.spread > 0 else result.upper


@dataclass(frozen=True)
class Bounded:
    """The bound on a claim, and what it is made of.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the tested rows.
    data : LoggedData
        These rows.
    stretch : float
        By how much the width of each bound is stretched.
    tails : list of _Tested
        The linear forms that make the claim.
    groups : list of GroupRecord
        The rows that it is about.
    unseen : list of GroupRecord
        The groups whose rows say nothing about the new model; with any of them, the bound is
        infinite.
    upper : float
        The bound.
    """

    compiled: CompiledClaim
    data: LoggedData
    stretch: float
    tails: list[_Tested]
    groups: list[GroupRecord]
    unseen: list[GroupRecord]
    upper: float

    @property
    def passed(self) -> bool:
        """Whether the claim passes."""
        return self.upper <= 0

    def result(self, candidate_sizes: Sequence[int], n_all: int) -> ConstraintResult:
        """The record of the claim's test.

        Parameters
        ----------
        candidate_sizes : sequence of int
            How many candidate rows meet the condition of each part.
        n_all : int
            How many rows there are, those that are not tested included.
        """
        compiled, claim = self.compiled, self.compiled.claim
        records = tuple(tail.record() for tail in self.tails)
        estimate, spread = claim_estimate(compiled.formula, records)
        return ConstraintResult(
            constraint=claim.conjunct.parent,
            statement=claim.conjunct.text,
            delta=claim.delta,
            passed=self.passed,
            estimate=estimate,
            upper=self.upper,
            spread=spread,
            kind=compiled.tails[0].bound.kind,
            tails=records,
            n=np.unique(np.concatenate([part.rows.index for part in compiled.parts])).size,
            groups=tuple(self.groups),
            rows_needed=None if self.unseen else self._rows_needed(estimate, n_all),
            warnings=statement_warnings(compiled, self.groups, candidate_sizes, self.data),
        )

    def _rows_needed(self, estimate: float, n_all: int) -> int | None:
        """The smallest multiple of today's rows at which the bound would pass with high
        probability.
        """
        if any(is_silent(tail) for tail in self.compiled.tails):
            return None
        if estimate >= 0:
            # Rows that are 0 by construction pass however few they are.
            return n_all if estimate == 0 and all(tail.upper == 0 for tail in self.tails) else None
        high = 2.0 / min(sample.n for tail in self.tails for sample in tail.samples)
        while not self._passes(high):
            high *= 2
            if high > MOST_TIMES:
                return None
        low = high / 2
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (low, middle) if self._passes(middle) else (middle, high)
        return ceil(high * n_all)

    def _passes(self, times: float) -> bool:
        """Whether this multiple of today's rows would pass, even if each tail has bad luck."""
        z, uppers = float(ndtri(PLANNED_POWER)), []
        for tail in self.tails:
            sizes = [times * sample.n for sample in tail.samples]
            upper = tail.upper_at(sizes)
            error = sqrt(sum(v / n for v, n in zip(tail.variances, sizes, strict=True)))
            uppers.append(tail.estimate + self.stretch * (upper - tail.estimate) + z * error)
        return claim_upper(self.compiled.formula, uppers, ()) <= 0


def bounded(
    compiled: CompiledClaim,
    data: LoggedData,
    free: Floats,
    scales: Sequence[float | None],
    stretch: float,
) -> Bounded:
    """The upper bound on a claim.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on the tested rows.
    data : LoggedData
        These rows.
    free : ndarray of shape (channels, n)
        The policy on them.
    scales : sequence of float or None
        The spread of a row of each part, as other rows show it.
    stretch : float
        By how much the width of each bound is stretched.
    """
    groups = _groups(compiled.parts, data, free)
    kind, known = compiled.tails[0].bound.kind, data.behavior is not None
    hidden = hidden_variances(groups, kind, known)
    tails = []
    for tail, of_parts in zip(compiled.tails, compiled.by_tail(scales), strict=True):
        samples = tail.samples([part.rows.exact_values(free) for part in tail.parts], of_parts)
        upper = float(tail.bound.upper(samples, tail.delta, disjoint=tail.disjoint))
        tails.append(_tested(tail, samples, upper, data, hidden, stretch))
    unseen = unseen_groups(groups, kind, known)
    upper = claim_upper(compiled.formula, [tail.upper for tail in tails], unseen)
    return Bounded(compiled, data, stretch, tails, groups, unseen, upper)


def claim_upper(
    formula: Formula | None, uppers: Sequence[float], unseen: Sequence[GroupRecord]
) -> float:
    """The bound on a claim, from the bounds on its linear forms.

    Parameters
    ----------
    formula : Formula or None
        How the linear forms make the claim; None if there is one.
    uppers : sequence of float
        Their bounds.
    unseen : sequence of GroupRecord
        The groups whose rows say nothing about the new model. If there are any, the spread is that
        of what an outcome model says, which is no evidence.
    """
    if unseen:
        return inf
    return uppers[0] if formula is None else formula.upper(uppers)[0]


def claim_estimate(formula: Formula | None, tails: Sequence[TailRecord]) -> tuple[float, float]:
    """The estimate of a claim and the spread of a row, from those of its linear forms."""
    if formula is None:
        return tails[0].estimate, tails[0].spread
    estimate, slopes = formula.value([tail.estimate for tail in tails])
    spreads = [a * tail.spread for a, tail in zip(slopes, tails, strict=True)]
    return estimate, sqrt(sum(spread**2 for spread in spreads))


def widened(
    estimate: float, upper: float, error: float, unseen: float, stretch: float = 1.0
) -> float:
    """A bound for an estimate that varies more than its standard error says.

    Parameters
    ----------
    estimate, upper, error : float
        The estimate, the bound, and the standard error from which the bound was computed.
    unseen : float
        The variance that the standard error lacks.
    stretch : float, default 1
        By how much the width of the bound is stretched besides.

    Examples
    --------
    >>> round(widened(0.0, 0.2, 0.1, 0.03), 12)
    0.4
    """
    if unseen:
        width = (upper - estimate) * sqrt(1 + unseen / error**2) if error else inf
        upper = estimate + width
    return estimate + stretch * (upper - estimate)


def _impact_square(part: Part, data: LoggedData, centred: bool) -> float:
    """How large what is weighted is, as far as the rows tell: the mean square of impacts."""
    total = 0.0
    for impact, (new, _) in part.impacts.items():
        values = impact.values(data)[part.rows.index]
        total += new**2 * float(values.var() if centred else np.mean(values**2))
    return total


@dataclass(frozen=True)
class _Tested:
    """A tail and what the tested rows say of it."""

    tail: Tail
    samples: list[Sample]
    estimate: float
    upper: float
    unseen: float

    @cached_property
    def variances(self) -> list[float]:
        return [float(sample.values.var(ddof=1)) for sample in self.samples]

    def record(self) -> TailRecord:
        parts = [
            PartRecord(
                condition=part.condition,
                n=sample.n,
                mean=float(sample.values.mean()),
                variance=variance,
                low=sample.low,
                high=sample.high,
            )
            for part, sample, variance in zip(
                self.tail.parts, self.samples, self.variances, strict=True
            )
        ]
        return TailRecord(
            form=str(self.tail.form),
            delta=self.tail.delta,
            estimate=self.estimate,
            upper=self.upper,
            error=standard_error(self.samples, disjoint=self.tail.disjoint),
            unseen=self.unseen,
            disjoint=self.tail.disjoint,
            parts=tuple(parts),
        )

    def upper_at(self, sizes: Sequence[float]) -> float:
        """The bound to expect on other numbers of rows like these."""
        bound, delta = self.tail.bound, self.tail.delta
        if len(sizes) == 1 and isfinite(self.upper):  # then moments are often enough
            width = self.samples[0].high - self.samples[0].low
            factors = bound.moment_factors(width, delta, sizes[0])
            if factors is not None:
                return self.estimate + factors[0] + factors[1] * sqrt(self.variances[0])
        upper, _ = bound.predict(self.samples, delta, sizes, disjoint=self.tail.disjoint)
        return upper


def _tested(
    tail: Tail,
    samples: list[Sample],
    upper: float,
    data: LoggedData,
    hidden: dict[str, float],
    stretch: float,
) -> _Tested:
    """A tail and its bound, which allows for what the rows do not show."""
    estimate = float(sum(sample.values.mean() for sample in samples))
    if is_silent(tail):
        upper = inf
    # What rows do not show varies as much as weights are known to, around impacts like theirs.
    missing = [
        hidden[part.condition] * _impact_square(part, data, tail.centred) / part.rows.index.size
        for part in tail.parts
        if part.condition in hidden
    ]
    unseen = sum(missing, 0.0)
    error = standard_error(samples, disjoint=tail.disjoint) if unseen else 0.0
    upper = widened(estimate, upper, error, unseen, stretch)
    return _Tested(tail, samples, estimate, upper, unseen)


def is_silent(tail: Tail) -> bool:
    """Whether a bound that trusts the spread of rows has rows that say nothing of it."""
    return tail.bound.kind == "asymptotic" and any(part.rows.are_silent for part in tail.parts)


def _groups(parts: Sequence[Part], data: LoggedData, free: Floats) -> list[GroupRecord]:
    """One record for each condition; the weights count if they enter anywhere."""
    index = {part.condition: part.rows.index for part in parts}
    weighted = {part.condition for part in parts if part.weighted}
    return [
        GroupRecord(
            name, rows.size, *(weights_of(rows, data, free) if name in weighted else NO_WEIGHTS)
        )
        for name, rows in index.items()
    ]


def weights_of(index: Index, data: LoggedData, free: Floats) -> tuple[float, float, float, float]:
    """The importance weights of some rows under a policy, as `GroupRecord` keeps them.

    Parameters
    ----------
    index : ndarray of int
        Which rows.
    data, free
        See `bounded`.
    """
    decisions = decisions_of(data)
    weights = decisions.weights(free)[index]
    squares = float(weights @ weights)
    return (
        float(weights.sum() ** 2 / squares) if squares else 0.0,
        float(weights.mean()),
        sqrt(decisions.weight_variance(free, index) / index.size),
        float(weights.max()),
    )
