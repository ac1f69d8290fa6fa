"""What the tested rows say of a claim: its bound, and all that the certificate keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil, inf, isfinite, sqrt

from scipy.special import ndtri

from elfair.bounds import Bound, Moments, Sample, get_bound
from elfair.bounds.base import require_bounded
from elfair.bounds.finite_sample import require_between
from elfair.bounds.growth import Growth
from elfair.certificate import ConstraintResult, GroupRecord, PartRecord, TailRecord
from elfair.data import LoggedData
from elfair.fairness_test.batch import rare_of, sums_of
from elfair.fairness_test.diagnostics import allowing, statement_warnings
from elfair.fairness_test.drawing import Shown
from elfair.language.intervals import Formula
from elfair.statistics import Part
from elfair.statistics.plan import CompiledClaim, Plan, Tail
from elfair.statistics.rows import Learnt
from elfair.statistics.sums import ClaimSums, PartSums, TailSums, WeightSums
from elfair.types import Floats

#: By how much folds that learn from each other's rows stretch the width of a bound. Where g hardly
#: depends on the policy, each fold's model points where the other folds were lucky, and the errors
#: of the folds no longer average out: in the Gaussian limit the variance of the average is then up
#: to twice that of independent rows (benchmarks/crossfit.py).
SHARED_ROWS = sqrt(2)
#: What stands where a part of a record has its condition, for what estimated propensities add.
DOUBT = "estimated propensities"
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
    rows : Shown
        The rows that were tested.
    plan : Plan
        What the model was tested for.
    place : int, default 1
        Its place on the ladder, from 1.
    tested : int, default 1
        How many models were tested.
    wealth : tuple of tuples of float
        The e-value of each claim of each model, in the order of the plan, if bets were for growth.
    """

    results: tuple[ConstraintResult, ...]
    rows: Shown
    plan: Plan
    place: int = 1
    tested: int = 1
    wealth: tuple[tuple[float, ...], ...] = ()

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
        The claim on the tested rows, or on some of them.
    sums : ClaimSums
        What all of these say.
    stretch : float
        By how much the width of each bound is stretched.
    tails : list of _Tested
        The linear forms that make the claim.
    groups : list of GroupRecord
        The rows that it is about.
    upper : float
        The bound.
    wealth : float or None
        Its e-value now, if bets were for growth.
    """

    compiled: CompiledClaim
    sums: ClaimSums
    stretch: float
    tails: list[_Tested]
    groups: list[GroupRecord]
    upper: float
    wealth: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the claim passes."""
        return self.upper <= 0

    @property
    def estimate(self) -> float:
        """The estimate of g."""
        return claim_estimate(self.compiled.formula, [tail.record for tail in self.tails])[0]

    def result(
        self,
        candidate_sizes: Sequence[int],
        n_all: int,
        break_even: float | None,
        break_even_shift: float | None,
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
        break_even_shift : float or None
            Up to which likelihood ratio of a change of people it passes.
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
            n=self.sums.met,
            groups=tuple(self.groups),
            rows_needed=self._rows_needed(estimate, n_all),
            break_even=break_even,
            break_even_shift=break_even_shift,
            warnings=statement_warnings(
                compiled, records, self.groups, candidate_sizes, self.sums.beyond
            ),
        )

    def _rows_needed(self, estimate: float, n_all: int) -> int | None:
        """The smallest multiple of today's rows at which the bound would pass with high
        probability.
        """
        if any(tail.silent for tail in self.tails):
            return None
        if estimate >= 0:
            # Rows that are 0 by construction pass however few they are.
            zero = estimate == 0 and all(tail.record.upper == 0 for tail in self.tails)
            return n_all if zero else None
        high = 2.0 / min(sample.n for tail in self.tails for sample in tail.record.samples)
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
            error = sqrt(sum(max(p.variance, p.least_variance) / p.n for p in record.samples))
            uppers.append(record.upper + z * error)
        return claim_upper(self.compiled.formula, uppers) <= 0


def bounded(
    compiled: CompiledClaim,
    data: LoggedData,
    free: Floats,
    learnt: Sequence[Learnt | None],
    stretch: float,
    before: float = 1.0,
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
    before : float, default 1
        The e-value that earlier rows gave the claim: with it, these need win only 1 / delta divided
        by it, and nothing more if that is less than 1.
    """
    if before != 1:
        compiled = _going_on(compiled, before)
    # The rows are one batch.
    sums = sums_of(compiled, data, free, learnt)
    sums = sums.with_rare(rare_of(sums, compiled, free))
    doubts = [tail.doubt(free) for tail in compiled.tails]
    # A statement passes below 0; where its bound is made of several, each has its own target.
    one = compiled.formula is None
    samples = [
        cache(partial(_samples, tail, free, of_parts, doubt, one))
        for tail, of_parts, doubt in zip(
            compiled.tails, compiled.by_tail(learnt), doubts, strict=True
        )
    ]
    found = by_sums(compiled, sums, learnt, stretch, samples, doubts)
    bound, delta = found.tails[0].tail.bound, compiled.claim.delta
    if not isinstance(bound, Growth):
        return found
    if before * delta >= 1:  # it passed at an earlier stage
        return replace(found, upper=min(found.upper, 0.0), wealth=before)
    won = before * bound.wealth(samples[0](), found.tails[0].tail.delta)
    return replace(found, wealth=won)


def _samples(
    tail: Tail, free: Floats, learnt: Sequence[Learnt | None], doubt: Sample | None, one: bool
) -> list[Sample]:
    """The rows of a tail, for a bound that needs more than sums."""
    alone = one and (tail.disjoint or len(tail.parts) == 1)
    samples = [
        part.rows.sample(free, known, aims_at_0=alone)
        for part, known in zip(tail.parts, learnt, strict=True)
    ]
    return samples if doubt is None else [*samples, doubt]


def by_sums(
    compiled: CompiledClaim,
    sums: ClaimSums,
    learnt: Sequence[Learnt | None],
    stretch: float,
    samples: Sequence[Callable[[], Sequence[Sample]]] = (),
    doubts: Sequence[Sample | None] = (),
) -> Bounded:
    """The upper bound on a claim, from sums over all tested rows.

    Parameters
    ----------
    compiled : CompiledClaim
        The claim on these rows, or on some of them.
    sums : ClaimSums
        What all of them say.
    learnt, stretch
        See `bounded`.
    samples : sequence of callables
        What gives the rows of each tail, for bounds that need more than sums; by default the rows
        that batches kept.
    doubts : sequence of Sample or None
        What estimated propensities may be off by, for each tail.
    """
    groups = [group_record(name, n, sums.weights.get(name)) for name, n in sums.groups.items()]
    of_tails = zip(compiled.tails, sums.tails, compiled.by_tail(learnt), strict=True)
    one = compiled.formula is None
    every = zip(
        compiled.tails,
        sums.tails,
        compiled.by_tail(learnt),
        samples or [cache(partial(_kept_samples, *of_tail, one)) for of_tail in of_tails],
        doubts or [None] * len(compiled.tails),
        strict=True,
    )
    tails = [_tested(*of_tail, groups, stretch) for of_tail in every]
    upper = claim_upper(compiled.formula, [tail.record.upper for tail in tails])
    return Bounded(compiled, sums, stretch, tails, groups, upper)


def _kept_samples(
    tail: Tail, sums: TailSums, learnt: Sequence[Learnt | None], one: bool
) -> list[Sample]:
    """The rows of a tail that batches kept, for a bound that needs more than sums."""
    alone = one and (tail.disjoint or len(tail.parts) == 1)
    return [
        part.rows.sample_of(of.in_order, known, None, aims_at_0=alone)
        for part, of, known in zip(tail.parts, sums.parts, learnt, strict=True)
    ]


def _going_on(compiled: CompiledClaim, before: float) -> CompiledClaim:
    """A claim with what is left to win after an earlier stage."""
    deltas = [tail.delta * before for tail in compiled.tails]
    tails = [
        replace(tail, delta=delta if delta < 1 else 0.5)
        for tail, delta in zip(compiled.tails, deltas, strict=True)
    ]
    return replace(compiled, tails=tuple(tails))


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
    samples: Callable[[], Sequence[Sample]]
    record: TailRecord
    silent: bool

    def at(self, times: float, groups: Sequence[GroupRecord], stretch: float) -> TailRecord:
        """What to expect on a multiple of these rows, if there were more like these."""
        parts = tuple(replace(part, n=ceil(times * part.n)) for part in self.record.parts)
        doubt = self.record.doubt
        if doubt is not None:  # more rows teach more about propensities, too
            doubt = replace(doubt, variance=doubt.variance / times, largest=0.0)
        error = self.record.error / sqrt(times)
        record = replace(self.record, parts=parts, doubt=doubt, error=error)
        upper = upper_of(record)
        if upper is None:
            bound, sizes = self.tail.bound, [part.n for part in parts]
            of_more = bound.predict(self.samples(), record.delta, sizes, disjoint=record.disjoint)
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
        for p in record.samples
    ]
    shared_error = None if record.disjoint else record.error
    return get_bound(record.bound).upper_of_moments(
        moments, record.delta, shared_error=shared_error
    )


def _tested(
    tail: Tail,
    sums: TailSums,
    learnt: Sequence[Learnt | None],
    samples: Callable[[], Sequence[Sample]],
    doubt: Sample | None,
    groups: Sequence[GroupRecord],
    stretch: float,
) -> _Tested:
    """A tail and its bound, which allows for what its rows cannot show."""
    each = zip(tail.parts, sums.parts, learnt, strict=True)
    parts = tuple(_part_record(*of, tail.bound) for of in each)
    added = 0.0 if doubt is None else float(doubt.variance) / doubt.n
    record = TailRecord(
        form=str(tail.form),
        delta=tail.delta,
        bound=tail.bound.name,
        estimate=float(sum(part.mean for part in parts)),
        upper=inf,
        error=sqrt(sums.variance + added),
        disjoint=tail.disjoint,
        parts=parts,
        doubt=None if doubt is None else _doubt_record(doubt),
    )
    silent = is_silent(tail, [part.silent for part in sums.parts])
    if not silent:
        upper = upper_of(record)
        if upper is None:
            upper = float(tail.bound.upper(samples(), tail.delta, disjoint=tail.disjoint))
        record = replace(record, upper=upper)
    record = replace(record, upper=allowing(record, groups, stretch))
    return _Tested(tail, samples, record, silent)


def _part_record(part: Part, sums: PartSums, learnt: Learnt | None, bound: Bound) -> PartRecord:
    require_bounded(sums.values.n, sums.values.mean)
    low, high = part.rows.ends(0.0 if learnt is None else learnt.threshold)
    if bound.needs:
        require_between(sums.least, sums.most, low, high)
    worst, least_variance = -inf if learnt is None else learnt.worst, 0.0
    if bound.guarded and sums.hidden is not None:
        least_variance = sums.hidden.least_variance
        worst = max(worst, sums.hidden.worst_by_weight)
    return PartRecord(
        condition=part.condition,
        n=sums.values.n,
        mean=sums.values.mean,
        variance=sums.values.variance,
        largest=max(sums.most, worst),
        others=0 if learnt is None else learnt.n,
        low=low,
        high=high,
        least_variance=least_variance,
        worst=sums.worst,
    )


def _doubt_record(doubt: Sample) -> PartRecord:
    return PartRecord(
        condition=DOUBT,
        n=doubt.n,
        mean=float(doubt.values.mean()),
        variance=float(doubt.variance),
        largest=float(doubt.largest),
        others=int(doubt.others),
        low=doubt.low,
        high=doubt.high,
        least_variance=doubt.least_variance,
        worst=None,
    )


def is_silent(tail: Tail, silent: Sequence[bool]) -> bool:
    """Whether a bound that trusts the spread of rows has rows that say nothing of it.

    Parameters
    ----------
    tail : Tail
        A linear form.
    silent : sequence of bool
        Whether the rows of each of its parts are 0 under any policy.
    """
    return tail.bound.kind == "asymptotic" and any(silent)


def group_record(name: str, n: int, weights: WeightSums | None) -> GroupRecord:
    """The rows inside one condition; their weights count if they enter.

    Parameters
    ----------
    name : str
        The condition.
    n : int
        How many rows (or units) meet it.
    weights : WeightSums or None
        Their weights; the probabilities of rare decisions are added up.
    """
    if weights is None:
        return GroupRecord(name, n, None, None, None, None)
    new, logged = (None, None) if weights.rare is None else weights.rare
    return GroupRecord(
        name,
        n,
        weights.ess,
        weights.total / weights.n,
        weights.error,
        weights.largest,
        rare_new=None if new is None else new / weights.n,
        rare_logged=None if logged is None else logged / weights.n,
        moved=weights.moved / weights.n,
    )
