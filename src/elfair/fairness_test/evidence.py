"""What the tested rows say of a claim: its bound, and all that the certificate keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, sqrt

import numpy as np
from scipy.special import ndtri

from elfair.bounds import Moments, Sample, get_bound
from elfair.bounds.student import standard_error
from elfair.certificate import ConstraintResult, GroupRecord, PartRecord, TailRecord
from elfair.data import LoggedData
from elfair.fairness_test.diagnostics import allowing, statement_warnings
from elfair.language.intervals import Formula
from elfair.statistics import Part
from elfair.statistics.decisions import decisions_of
from elfair.statistics.hidden import Hidden, worst_row
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.statistics.rows import Learnt
from elfair.types import Floats, Index

#: By how much folds that learn from each other's rows stretch the width of a bound. Where g hardly
#: depends on the policy, each fold's model points where the other folds were lucky, and the errors
#: of the folds no longer average out: in the Gaussian limit the variance of the average is then up
#: to twice that of independent rows (benchmarks/crossfit.py).
SHARED_ROWS = sqrt(2)
#: The weights of a group in which no weights enter.
NO_WEIGHTS = (None,) * 7
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
    upper : float
        The bound.
    """

    compiled: CompiledClaim
    data: LoggedData
    stretch: float
    tails: list[_Tested]
    groups: list[GroupRecord]
    upper: float

    @property
    def passed(self) -> bool:
        """Whether the claim passes."""
        return self.upper <= 0

    def result(
        self, candidate_sizes: Sequence[int], n_all: int, break_even: float | None
    ) -> ConstraintResult:
        """The record of the claim's test.

        Parameters
        ----------
        candidate_sizes : sequence of int
            How many candidate rows meet the condition of each part.
        n_all : int
            How many rows there are, those that are not tested included.
        break_even : float or None
            Up to which odds ratio of confounding it passes.
        """
        compiled, claim = self.compiled, self.compiled.claim
        records = tuple(tail.record for tail in self.tails)
        estimate, spread = claim_estimate(compiled.formula, records)
        return ConstraintResult(
            constraint=claim.conjunct.parent,
            statement=claim.conjunct.text,
            delta=claim.delta,
            passed=self.passed,
            estimate=estimate,
            upper=self.upper,
            spread=spread,
            kind=compiled.kind,
            tails=records,
            n=np.unique(np.concatenate([part.rows.places for part in compiled.parts])).size,
            groups=tuple(self.groups),
            rows_needed=self._rows_needed(estimate, n_all),
            break_even=break_even,
            warnings=statement_warnings(compiled, records, self.groups, candidate_sizes, self.data),
        )

    def _rows_needed(self, estimate: float, n_all: int) -> int | None:
        """The smallest multiple of today's rows at which the bound would pass with high
        probability.
        """
        if any(is_silent(tail) for tail in self.compiled.tails):
            return None
        if estimate >= 0:
            # Rows that are 0 by construction pass however few they are.
            zero = estimate == 0 and all(tail.record.upper == 0 for tail in self.tails)
            return n_all if zero else None
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
        groups = [replace(group, n=ceil(times * group.n)) for group in self.groups]
        for tail in self.tails:
            record = tail.at(times, groups, self.stretch)
            error = sqrt(sum(max(p.variance, p.least_variance) / p.n for p in record.parts))
            uppers.append(record.upper + z * error)
        return claim_upper(self.compiled.formula, uppers) <= 0


def bounded(
    compiled: CompiledClaim,
    data: LoggedData,
    free: Floats,
    learnt: Sequence[Learnt | None],
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
    learnt : sequence of Learnt or None
        What other rows say about a row of each part.
    stretch : float
        By how much the width of each bound is stretched.
    """
    groups = _groups(compiled.parts, data, free)
    tails = []
    for tail, of_parts in zip(compiled.tails, compiled.by_tail(learnt), strict=True):
        # A statement passes below 0; where its bound is made of several, each has its own target.
        alone = compiled.formula is None and (tail.disjoint or len(tail.parts) == 1)
        samples = [
            part.rows.sample(free, known, aims_at_0=alone)
            for part, known in zip(tail.parts, of_parts, strict=True)
        ]
        tails.append(_tested(tail, samples, data, free, groups, stretch))
    upper = claim_upper(compiled.formula, [tail.record.upper for tail in tails])
    return Bounded(compiled, data, stretch, tails, groups, upper)


def claim_upper(formula: Formula | None, uppers: Sequence[float]) -> float:
    """The bound on a claim, from the bounds on its linear forms.

    Parameters
    ----------
    formula : Formula or None
        How the linear forms make the claim; None if there is one.
    uppers : sequence of float
        Their bounds.
    """
    return uppers[0] if formula is None else formula.upper(uppers)[0]


def claim_estimate(formula: Formula | None, tails: Sequence[TailRecord]) -> tuple[float, float]:
    """The estimate of a claim and the spread of a row, from those of its linear forms."""
    if formula is None:
        return tails[0].estimate, tails[0].spread
    estimate, slopes = formula.value([tail.estimate for tail in tails])
    spreads = [a * tail.spread for a, tail in zip(slopes, tails, strict=True)]
    return estimate, sqrt(sum(spread**2 for spread in spreads))


@dataclass(frozen=True)
class _Tested:
    """A tail and what the tested rows say of it."""

    tail: Tail
    samples: list[Sample]
    record: TailRecord

    def at(self, times: float, groups: Sequence[GroupRecord], stretch: float) -> TailRecord:
        """What to expect on a multiple of these rows, if there were more like these."""
        parts = tuple(replace(part, n=ceil(times * part.n)) for part in self.record.parts)
        record = replace(self.record, parts=parts, error=self.record.error / sqrt(times))
        upper = upper_of(record)
        if upper is None:
            bound, sizes = self.tail.bound, [part.n for part in parts]
            of_more = bound.predict(self.samples, record.delta, sizes, disjoint=record.disjoint)
            upper = of_more.upper
        record = replace(record, upper=upper)
        return replace(record, upper=allowing(record, groups, stretch))


def upper_of(record: TailRecord) -> float | None:
    """What a bound makes of the moments of its rows; None if it needs the rows.

    Examples
    --------
    >>> part = PartRecord("everyone", 40, 0.0, 1.0, 2.0, 60, -inf, inf, 0.0, None)
    >>> tail = TailRecord("PR - 0.5", 0.1, "ttest", 0.0, 0.2061, 0.1581, True, (part,))
    >>> round(upper_of(tail), 4)
    0.2061
    """
    moments = [
        Moments(p.n, p.mean, p.variance, p.largest, p.low, p.high, p.least_variance, p.others)
        for p in record.parts
    ]
    shared_error = None if record.disjoint else record.error
    return get_bound(record.bound).upper_of_moments(
        moments, record.delta, shared_error=shared_error
    )


def _tested(
    tail: Tail,
    samples: list[Sample],
    data: LoggedData,
    free: Floats,
    groups: Sequence[GroupRecord],
    stretch: float,
) -> _Tested:
    """A tail and its bound, which allows for what its rows cannot show."""
    if tail.bound.guarded:
        samples = [
            replace(
                sample,
                least_variance=Hidden.under(part.rows, free).least_variance,
                worst=max(sample.worst, worst_row(part.rows, free)),
            )
            for part, sample in zip(tail.parts, samples, strict=True)
        ]
    parts = tuple(map(_part_record, tail.parts, samples))
    upper = float(tail.bound.upper(samples, tail.delta, disjoint=tail.disjoint))
    if is_silent(tail):
        upper = inf
    record = TailRecord(
        form=str(tail.form),
        delta=tail.delta,
        bound=tail.bound.name,
        estimate=float(sum(part.mean for part in parts)),
        upper=upper,
        error=standard_error(samples, disjoint=tail.disjoint),
        disjoint=tail.disjoint,
        parts=parts,
    )
    return _Tested(tail, samples, replace(record, upper=allowing(record, groups, stretch)))


def _part_record(part: Part, sample: Sample) -> PartRecord:
    weighted = part.rows.weighted
    return PartRecord(
        condition=part.condition,
        n=sample.n,
        mean=float(sample.values.mean()),
        variance=float(sample.variance),
        largest=float(sample.largest),
        others=int(sample.others),
        low=sample.low,
        high=sample.high,
        least_variance=sample.least_variance,
        worst=None if weighted is None else weighted.worst,
    )


def is_silent(tail: Tail) -> bool:
    """Whether a bound that trusts the spread of rows has rows that say nothing of it."""
    return tail.bound.kind == "asymptotic" and any(part.rows.are_silent for part in tail.parts)


def _groups(parts: Sequence[Part], data: LoggedData, free: Floats) -> list[GroupRecord]:
    """One record for each condition; the weights count if they enter anywhere."""
    index = {part.condition: (part.rows.index, part.rows.size) for part in parts}
    weighted = {part.condition for part in parts if part.weighted}
    return [
        GroupRecord(
            name,
            size,
            *(weights_of(rows, data, free) if name in weighted else NO_WEIGHTS),
        )
        for name, (rows, size) in index.items()
    ]


def weights_of(
    index: Index, data: LoggedData, free: Floats
) -> tuple[float, float, float, float, float | None, float | None, float]:
    """The importance weights of some rows under a policy, as `GroupRecord` keeps them.

    Parameters
    ----------
    index : ndarray of int
        Which rows.
    data, free
        See `bounded`.
    """
    of_rows = decisions_of(data).weights(free, index)
    weights, rarest = of_rows.of_units, of_rows.rarest
    squares = float(weights @ weights)
    return (
        float(weights.sum() ** 2 / squares) if squares else 0.0,
        float(weights.mean()),
        sqrt(of_rows.variance / weights.size),
        float(of_rows.values.max()),
        *((None, None) if rarest is None else (rarest.new, rarest.logged)),
        of_rows.moved,
    )
