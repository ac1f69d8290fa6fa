"""What is chosen for the policy that will be tested, on rows that are not tested.

A statistic beyond the mean is the best value, over some point, of something linear in averages;
each statistic says what to test at a point (`elfair.language.distribution`). Candidate rows, under
the policy that will be tested, give a good point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np
from scipy.special import ndtri

from elfair.data import LoggedData
from elfair.language.conjunction import conjuncts, linear_form
from elfair.language.distribution import Ordered, StandIn, Statistic, rounded
from elfair.language.expressions import AtMost, Expression, Mean, Number, substitute
from elfair.language.intervals import ABOVE, Formula, needs
from elfair.language.tree import point_at
from elfair.statistics.baselines import Baselines
from elfair.statistics.claims import Claim
from elfair.statistics.compiled import compile_form, mean_part
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impact_estimators import Estimation
from elfair.statistics.impacts import asks_for_cost, impact_of
from elfair.statistics.plan import Plan, not_one_average
from elfair.statistics.unseen import seen_of
from elfair.types import Floats

#: The largest distance of a side condition from its limit that is tried, in standard errors.
MOST_ERRORS = 8.0
#: The rounding error that shared-out numbers may leave, as a share of them.
ROUNDING = 1e-11


def settle(plan: Plan, data: LoggedData, free: Floats, n_test: int) -> Plan:
    """The plan with statistics beyond the mean reduced to averages.

    Parameters
    ----------
    plan : Plan
        What will be tested.
    data : LoggedData
        Rows that are not tested.
    free : ndarray of shape (channels, n)
        The policy that will be tested, on these rows.
    n_test : int
        The number of test rows.

    Returns
    -------
    Plan
        The same plan if there is nothing to choose.
    """
    if not plan.statistics:
        return plan
    claims: list[Claim] = []
    for claim in plan.claims:
        if claim.statistics:
            settled = _Settling(plan, claim, data, free, n_test / max(1, data.n)).claims()
            # Violated at one stage's points by one of them, and by another at the next stage's.
            if plan.bound == "growth" and len(settled) > 1:
                raise not_one_average(claim.conjunct.text)
            claims += settled
        else:
            claims.append(claim)
    return replace(plan, claims=tuple(claims))


@dataclass
class _Settling:
    """One claim, and the rows to choose its points on."""

    plan: Plan
    claim: Claim
    data: LoggedData
    free: Floats
    test_ratio: float

    def claims(self) -> list[Claim]:
        """Claims about averages that together imply the claim."""
        stood = {s: self._stand_in(s) for s in self._sides}
        traded = [s for s in stood if isinstance(stood[s].expression, Number)]
        numbers: dict[Statistic, float] = {}
        if traded:
            # Numbers replace these: the easier it is for each to be on its side of its number, the
            # harder the rest of the claim. Make all of them equally easy.
            low, high = -MOST_ERRORS, MOST_ERRORS
            for _ in range(30):
                middle = (low + high) / 2
                at = stood | {s: self._stand_in(s, middle) for s in traded}
                low, high = (middle, high) if self._holds(at, middle) else (low, middle)
            numbers = self._used_up(stood | {s: self._stand_in(s, low) for s in traded})
            stood |= {s: self._stand_in(s, low, numbers[s]) for s in traded}
        statements = [condition for each in stood.values() for condition in each.conditions]
        left = linear_form(main := self._main(stood))
        if left.terms:
            statements.append(AtMost(main, Number(0.0)))
        whole = self.claim.conjunct
        claims = [
            Claim(replace(each, parent=whole.parent, source=whole.source), self.claim.delta, True)
            for statement in statements
            for each in conjuncts(statement)
        ]
        # Rounding leaves something over only where numbers add up: inside an either/or, a number of
        # another scale must not hide that none of them is reached.
        weights = {node: weight for weight, node in whole.form.terms}
        size = sum(abs(weights.get(s, 0.0) * number) for s, number in numbers.items())
        if not left.terms and left.constant > ROUNDING * size:
            # No numbers within reach imply the claim, so it cannot pass.
            claims.append(replace(self.claim, conjunct=replace(whole, form=left)))
        return claims

    @cached_property
    def _sides(self) -> dict[Statistic, int]:
        sides: dict[Statistic, int] = {}
        for node, side in needs(self.claim.conjunct.form):
            if isinstance(node, Statistic) and sides.setdefault(node, side) != side:
                raise point_at(
                    f"'{node}' is needed both from above and from below here, which is not "
                    "supported.",
                    node.span,
                    "multiply out, or split the constraint in two.",
                )
        return sides

    @cached_property
    def _rows(self) -> dict[Statistic, Ordered]:
        return {s: in_order(s, self.data, self.free) for s in self._sides}

    def _stand_in(
        self, statistic: Statistic, errors: float = 0.0, number: float | None = None
    ) -> StandIn:
        """What replaces a statistic: the given number, or the tightest one such that, on these
        rows, the statistic is on its side by so many standard errors more than the test requires.
        """
        rows, above = self._rows[statistic], self._sides[statistic] == ABOVE
        margin = self._margin(rows.values.size, errors)
        return statistic.stand_in(rows, margin, number, above)

    def _margin(self, n: int, errors: float) -> float:
        """What the bound and so much luck add to a mean, in standard deviations of a row."""
        tested = max(1.0, n * self.test_ratio)
        return float(ndtri(1 - self.claim.delta)) / sqrt(tested) + errors * sqrt(1 / tested + 1 / n)

    # -- the rest of the claim ------------------------------------------------------------------

    def _main(self, stood: Mapping[Statistic, StandIn]) -> Expression:
        return substitute(
            self.claim.conjunct.form.expression, {s: each.expression for s, each in stood.items()}
        )

    def _holds(self, stood: Mapping[Statistic, StandIn], errors: float) -> bool:
        """Whether the rest of the claim would hold by as many standard errors."""
        main = linear_form(self._main(stood))
        if not main.terms:
            return main.constant <= 0
        formula = Formula(main)
        uppers = []
        for tail in formula.tails:
            parts = compile_form(tail, self.data, self.plan.baselines, self.plan.logged_averages)
            values = [part.rows.values(self.free) for part in parts]
            margins = [row.std() * self._margin(row.size, errors) for row in values]
            uppers.append(float(sum(row.mean() for row in values) + np.hypot.reduce(margins)))
        return formula.upper(uppers)[0] <= 0

    def _used_up(self, stood: Mapping[Statistic, StandIn]) -> dict[Statistic, float]:
        """The numbers, which share what they leave over if nothing else is left of the claim."""
        found = {s: each.expression for s, each in stood.items()}
        numbers = {s: each.value for s, each in found.items() if isinstance(each, Number)}
        main = linear_form(self._main(stood))
        weights = {node: weight for weight, node in self.claim.conjunct.form.terms}
        if main.terms or not set(numbers) <= set(weights):
            return numbers
        each = -main.constant / len(numbers)
        if len(numbers) == 1:  # the constraint's own number, to the last digit
            nothing = {s: StandIn(Number(0.0)) for s in numbers}
            rest = linear_form(self._main({**stood, **nothing})).constant
            return {s: -rest / weights[s] for s in numbers}
        return {s: rounded(number + each / weights[s], 12) for s, number in numbers.items()}


def in_order(statistic: Statistic, data: LoggedData, free: Floats | None) -> Ordered:
    """The impacts that a statistic is about, sorted, and the importance weights of their rows.

    Parameters
    ----------
    statistic : Statistic
        The statistic.
    data : LoggedData
        The rows.
    free : ndarray of shape (channels, n), optional
        The policy; None means the behaviour model.

    Examples
    --------
    >>> from elfair import col, median
    >>> data = LoggedData([[1.0], [2.0], [1.0]], decision=[0, 1, 1], propensity=[0.5, 0.5, 0.5],
    ...                   impact=[3.0, 1.0, 2.0])
    >>> in_order(median("impact", given=col("x0") == 1), data, np.array([[0.75, 0.5, 0.75]]))
    Ordered(values=array([2., 3.]), weights=array([1.5, 0.5]))
    """
    mean = Mean(statistic.of, statistic.given, span=statistic.span)
    if asks_for_cost(mean, data):
        raise point_at(
            f"'{statistic}' needs the distribution of the cost; only its mean is available.",
            statistic.span,
            "use E[cost], or pass the observed cost as an impact.",
        )
    # Raises if something is missing: rows inside the condition, decisions, propensities.
    index = mean_part(mean, data, Baselines(Estimation(), data)).rows.index
    impact = impact_of(mean, data)
    assert impact is not None
    # A point may be any: where impacts are missing, those that were seen show a good one.
    index = index[seen_of(impact, data)[index]]
    values = impact.values(data)[index]
    weights = np.ones(index.size)
    if free is not None:
        weights = decisions_of(data).weights(free, index).values
    order = np.argsort(values, kind="stable")
    return Ordered(values[order], weights[order])
