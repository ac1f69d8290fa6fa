"""The plan of a fairness test: claims, their rows, and the bound on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from elfair.bounds import AUTO, Bound, Kind, Moments, Sample, bound_for, get_bound, weakest
from elfair.data import LoggedData
from elfair.data.by_table import ByTable
from elfair.data.propensities import Misfit, misfit, require_taken
from elfair.errors import BoundError, InputError
from elfair.language.conjunction import Linear
from elfair.language.distribution import Statistic
from elfair.language.evaluation import are_disjoint
from elfair.language.expressions import Mean
from elfair.language.intervals import Formula
from elfair.language.tree import point_at
from elfair.statistics import Baselines, Part, compile_form, is_decided, logged_average
from elfair.statistics.claims import Claim, label_free_claim
from elfair.statistics.doubt import doubted
from elfair.statistics.impact_estimators import ImpactEstimator
from elfair.statistics.labels import check_unconfounded
from elfair.statistics.shift import Wrong, check_shift, obstacle
from elfair.types import Floats

T = TypeVar("T")

#: Of rows that are read in batches, so many numbers are kept for bounds that need every row.
MOST_KEPT = 50_000_000
#: 0.7 + 0.2 + 0.1 is below 1 only by rounding.
ROUNDING = 1e-12


def _check_decided(claim: Claim, data: LoggedData) -> None:
    """Refuse a statement that is only about people, which no model changes."""
    new = [mean for mean in claim.means if not mean.logged]
    if new and not claim.statistics and not any(is_decided(mean, data) for mean in new):
        raise point_at(
            f"'{claim.conjunct.text}' does not depend on what a model decides.",
            claim.conjunct.source,
            hint="use an impact, a rate such as PR, or an event about the decision.",
        )


@dataclass(frozen=True)
class Plan:
    """Everything that the fairness test will do, fixed before the held-out rows are opened.

    Parameters
    ----------
    claims : tuple of Claim
        What is tested.
    bound : str
        The name of the bound on each, or "auto".
    baselines : Baselines
        What to subtract from impacts, learnt from other rows.
    logged_averages : mapping of Mean to float
        Under plain importance sampling, the numbers that replace ``E_logged[...]``.
    misfit : Misfit, optional
        How far logged decisions are from their probabilities, and how far chance allows.
    """

    claims: tuple[Claim, ...]
    bound: str
    baselines: Baselines
    logged_averages: Mapping[Mean, float]
    misfit: Misfit | None = None

    @classmethod
    def make(
        cls,
        claims: tuple[Claim, ...],
        bound: str,
        baselines: Baselines,
        everyone: LoggedData,
        possible: NDArray[np.bool_] | None = None,
    ) -> Plan:
        """Fix the plan; raise if propensities cannot have produced the logged decisions.

        All rows give the paper's tau, and show whether the log fits its propensities; the latter
        does not use the impacts of held-out rows. ``possible`` are the decisions that the new model
        may take, if that is known.
        """
        for claim in claims:
            _check_decided(claim, everyone)
        weighted = any(claim.impact_conditions(everyone) for claim in claims)
        if weighted:
            require_taken(everyone, possible)
        if everyone.revealed and any(claim.asks_for_label(everyone) for claim in claims):
            weighted = True
            check_unconfounded(baselines.estimation.Lambda)
        replaces = baselines.estimation.impact_estimator.replaces_logged
        check_shift(baselines.estimation.shift, obstacle(everyone, replaces_logged=replaces))
        averages: dict[Mean, float] = {}
        if replaces:
            averages = {
                mean: logged_average(mean, everyone)
                for claim in claims
                for mean in claim.means
                if mean.logged
            }
        fit = misfit(everyone) if weighted else None
        if fit is not None and not fit.is_chance:
            raise fit.refusal
        return cls(claims, bound, baselines, averages, fit)

    @classmethod
    def in_batches(
        cls, claims: tuple[Claim, ...], bound: str, baselines: Baselines, fit: Misfit | None
    ) -> Plan:
        """The same for rows that are read in batches, of which all said whether they fit their
        propensities.
        """
        candidate = baselines.candidate
        for claim in claims:
            _check_decided(claim, candidate)
        if not any(claim.impact_conditions(candidate) for claim in claims):
            return cls(claims, bound, baselines, {})
        if candidate.propensity is not None and fit is None:
            raise InputError(
                "of more than two decisions, rows that are read in batches need the probability "
                "of every one.",
                hint="behavior= names a column for each decision.",
            )
        if fit is not None and not fit.is_chance:
            raise fit.refusal
        return cls(claims, bound, baselines, {}, fit)

    def require_batches(self, n_test: int, models: int) -> None:
        """Raise if something that is asked cannot be tested in batches.

        Parameters
        ----------
        n_test : int
            How many rows are tested.
        models : int
            How many models at most.
        """
        if self.statistics:
            raise point_at(
                f"'{self.statistics[0]}' cannot be tested in batches yet: only averages can.",
                self.statistics[0].span,
                hint="ask for an average, or read the rows into memory: LoggedData(...).",
            )
        tails = [tail for of in self.compile(self.baselines.candidate) for tail in of.tails]
        kept = [tail for tail in tails if not tail.by_sums]
        if n_test * models * sum(len(tail.parts) for tail in kept) > MOST_KEPT:
            raise BoundError(
                f"bound='{kept[0].bound.name}' needs every row of '{kept[0].form} <= 0' at once, "
                f"and {n_test:,} rows of up to {models} models are too many for that.",
                hint="use bound='guarded' (asymptotic) or bound='hoeffding', which need sums; or "
                "fewer candidates=.",
            )

    def estimated(self, estimator: str, candidate: LoggedData) -> Plan:
        """The same with another estimator of impact, which learns from these rows."""
        estimation = replace(self.baselines.estimation, estimator=estimator)
        return replace(self, baselines=Baselines(estimation, candidate))

    def at(self, places: Sequence[int], what: Wrong, ratio: float) -> Plan:
        """The same for the claims at some places, if more is wrong than was asked for; see
        `Baselines.at`.
        """
        claims = tuple(self.claims[k] for k in places)
        plan = replace(self, claims=claims, baselines=self.baselines.at(what, ratio))
        if what == "shift":  # the rows are the same; only what becomes of them differs
            for data, known in self._known.items():
                plan._known[data] = [known[k].at_shift(ratio) for k in places]
        return plan

    @cached_property
    def allows_shift(self) -> bool:
        """Whether its rows can allow for a change of people."""
        replaces = self.baselines.estimation.impact_estimator.replaces_logged
        return not obstacle(self.baselines.candidate, replaces_logged=replaces)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics in the claims; see `elfair.statistics.settling`."""
        return tuple(each for claim in self.claims for each in claim.statistics)

    def compile(self, data: LoggedData) -> list[CompiledClaim]:
        """The rows of every claim on some data."""
        if data not in self._known:
            self._known[data] = [self._compiled(claim, data) for claim in self.claims]
        return self._known[data]

    @cached_property
    def _known(self) -> ByTable[list[CompiledClaim]]:
        """A cache: several models are tested, and examined, on the same rows."""
        return ByTable()

    def _compiled(self, claim: Claim, data: LoggedData) -> CompiledClaim:
        if data.revealed:
            claim = label_free_claim(claim)
        conjunct = claim.conjunct
        if conjunct.form.is_linear:
            tail = self._tail(claim, data)
            low = sum(part.rows.low for part in tail.parts)
            said = conjunct.form.terms and not claim.stands_in
            if said and low > ROUNDING * abs(conjunct.form.constant):
                raise point_at(
                    f"'{conjunct.text}' can never hold: {conjunct.form} is above 0 whatever the "
                    "model decides.",
                    conjunct.source,
                    hint="check the number and the direction; a rate is between 0 and 1.",
                )
            return CompiledClaim(claim, (tail,))
        if self.bound == "growth":
            raise not_one_average(conjunct.text)
        formula = Formula(conjunct.form)
        if not formula.tails:
            raise point_at(
                f"the statistics in '{conjunct.text}' cancel out; nothing is left to test.",
                conjunct.source,
                "compare two different statistics, or one with a number.",
            )
        share = claim.delta / len(formula.tails)
        tails = [Claim(replace(conjunct, form=form), share) for form in formula.tails]
        return CompiledClaim(claim, tuple(self._tail(tail, data) for tail in tails), formula)

    def _tail(self, claim: Claim, data: LoggedData) -> Tail:
        form = claim.conjunct.form
        parts = compile_form(form, data, self.baselines, self.logged_averages)
        if self.bound == AUTO:
            bound = bound_for([part.rows.high for part in parts])
            if bound.guarded and self.baselines.estimation.ranges:  # caps are then of no use
                parts = compile_form(form, data, self.baselines.plain, self.logged_averages)
        else:
            bound = get_bound(self.bound)
        estimator = self.baselines.estimation.impact_estimator
        tail = Tail(form, claim.delta, parts, bound)
        tail.check_bound(estimator)
        if self.bound == "growth" and not tail.disjoint:
            raise not_one_average(claim.conjunct.text)
        return tail


def not_one_average(text: str) -> BoundError:
    """Bets for growth multiply the e-values of stages, so all stages must test the same average."""
    return BoundError(
        f"bound='growth' bets on one average, or on a sum of averages over groups that share "
        f"nobody. '{text}' is made of several.",
        hint="use bound='betting', which cannot be continued; or state it about one group.",
    )


@dataclass(frozen=True)
class CompiledClaim:
    """A claim on some data, with the tails that test it.

    Parameters
    ----------
    claim : Claim
        The claim.
    tails : tuple of Tail
        A single one, at the claim's own delta, if the claim is linear in averages.
    formula : Formula, optional
        How several tails combine into one bound.
    """

    claim: Claim
    tails: tuple[Tail, ...]
    formula: Formula | None = None

    def at_shift(self, shift: float) -> CompiledClaim:
        """The same at another likelihood ratio of a change of people."""
        return replace(self, tails=tuple(tail.at_shift(shift) for tail in self.tails))

    @property
    def kind(self) -> Kind:
        """The weakest kind of bound among its tails."""
        return weakest(tail.bound.kind for tail in self.tails)

    @property
    def weighted(self) -> bool:
        """Whether it depends on what the old model did."""
        return any(part.weighted for part in self.parts)

    @property
    def parts(self) -> list[Part]:
        """The rows of all tails."""
        return [part for tail in self.tails for part in tail.parts]

    def by_tail(self, of_parts: Sequence[T]) -> list[Sequence[T]]:
        """What belongs to the parts, in the order of `parts`, divided by tail."""
        ends = np.cumsum([0, *(len(tail.parts) for tail in self.tails)])
        return [of_parts[start:end] for start, end in pairwise(ends)]


@dataclass(frozen=True)
class Tail:
    """A linear form that is bounded from above on some data.

    Parameters
    ----------
    form : Linear
        The form.
    delta : float
        The probability with which the bound may err.
    parts : tuple of Part
        Its rows, by condition.
    bound : Bound
        The bound.
    """

    form: Linear
    delta: float
    parts: tuple[Part, ...]
    bound: Bound

    def at_shift(self, shift: float) -> Tail:
        """The same at another likelihood ratio of a change of people."""
        parts = [replace(part, rows=part.rows.at_shift(shift)) for part in self.parts]
        return replace(self, parts=tuple(parts))

    def doubt(self, free: Floats) -> Sample | None:
        """What estimated propensities may be off by, under a policy; None if they are known."""
        known = [part.rows for part in self.parts if part.rows.doubt is not None]
        if not known:
            return None
        means = [rows.doubt.totals(rows.inside(free)) / rows.size for rows in known if rows.doubt]
        return doubted(np.sum(means, axis=0))

    @cached_property
    def disjoint(self) -> bool:
        """Whether no person can meet the conditions of two parts, and no unit has rows in two."""
        return all(
            are_disjoint(first.given, second.given) and not _share_units(first, second)
            for i, first in enumerate(self.parts)
            for second in self.parts[:i]
        )

    @cached_property
    def by_sums(self) -> bool:
        """Whether its bound follows from sums over rows."""
        each = [Moments(2, 0.0, 1.0, 1.0, part.rows.low, part.rows.high) for part in self.parts]
        error = None if self.disjoint else 1.0
        return self.bound.upper_of_moments(each, self.delta, shared_error=error) is not None

    def check_bound(self, estimator: ImpactEstimator) -> None:
        """Refuse a bound whose proof does not cover these rows."""
        if not self.bound.needs:
            return
        if any(part.rows.units and not part.rows.units.alike for part in self.parts):
            raise BoundError(
                f"bound='{self.bound.name}' needs a known end of what is averaged; the sum over "
                "the rows of a unit has none, nor has a row times its sample_weight.",
                hint="use average='unit' without sample_weight=, or bound='guarded' (asymptotic).",
            )
        if any(part.rows.doubt is not None for part in self.parts):
            raise BoundError(
                f"bound='{self.bound.name}' needs propensities that are known; these are "
                "estimated, so no proof covers a finite number of rows.",
                hint="use bound='auto' or bound='guarded' (asymptotic).",
            )
        unbounded = any(part.weighted and part.rows.high == inf for part in self.parts)
        if unbounded and estimator.learns == "model":
            raise BoundError(
                f"bound='{self.bound.name}' needs rows with a known end; rows of "
                f"estimator='{estimator.name}' have one only if the range of the impact and the "
                "behaviour model's probability of every decision are known.",
                hint="declare impact_range= and pass behavior=, or use estimator='paired' or "
                "bound='guarded'.",
            )
        for part in self.parts:
            self.bound.check(Sample(np.zeros(2), part.rows.low, part.rows.high))


def _share_units(first: Part, second: Part) -> bool:
    """Whether some unit has rows in both parts."""
    units = first.rows.units is not None
    return units and bool(np.isin(first.rows.places, second.rows.places).any())
