"""What is chosen for the policy that will be tested, on rows that are not tested.

Statistics beyond the mean reduce to averages at chosen points. Each is the best value, over some
point, of something that is linear in averages:

* quantile_a >= v where P(I < v) <= a, and quantile_a <= v where P(I > v) <= 1 - a;
* CVaR_a >= v - E[max(v - I, 0)] / a for every v, with equality at the quantile (Rockafellar and
  Uryasev 2000);
* CVaR_a <= u where E[I - u; I <= v] <= 0 for some v with P(I <= v) >= a;
* var <= E[(I - m)^2] for every m, with equality at the mean; the difference is (E[I] - m)^2.

So a bound needs no band around the whole distribution, which would have to hold everywhere at once:
one average at one point, at the full delta, is enough. *Any* point is valid if it does not depend
on the tested rows; candidate rows, under the policy that will be tested, give a good one.

The constant of the paired form: E[I | c] = k + E[w (I - k) | c] for every constant k. If only the
impact's range is declared, a finite-sample bound needs k at an end of it: only then is one end of a
row known for all weights. If the largest weight is declared as well, both ends are known for any k.
The mean then gives the least spread, and the end of the range the shorter rows; which one gives the
tighter bound depends on weights, rows and bound. So both are tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from elfair.data import LoggedData
from elfair.language import distribution
from elfair.language.conjunction import conjuncts, linear_form
from elfair.language.expressions import AtMost, Expression, Mean, Number, Statistic, substitute
from elfair.language.intervals import ABOVE, Formula, needs
from elfair.language.tree import point_at
from elfair.statistics.claims import Claim
from elfair.statistics.compiled import compile_form, mean_part
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impact_estimators import Baselines, Estimation
from elfair.statistics.impacts import asks_for_cost, impact_of
from elfair.statistics.plan import Plan, Tail
from elfair.types import Floats

#: The logarithm of an infinite bound.
LARGEST = 1e3


def centred(plan: Plan, data: LoggedData, free: Floats, n_test: int) -> Plan:
    """The plan with the constants that promise the tightest bounds; see `settle`."""
    means = [mean for claim in plan.claims for mean in claim.means]
    weighted = any(impact_of(mean, data) is not None for mean in means)
    if not (weighted and plan.baselines.estimation.may_center):
        return plan
    options = [plan.centred_at("range"), plan.centred_at("mean")]
    ratio = n_test / max(1, data.n)

    def width(option: Plan) -> float:
        tails = [tail for claim in option.compile(data) for tail in claim.tails]
        return sum(_log_width(tail, free, ratio) for tail in tails)

    return min(options, key=width)


def _log_width(tail: Tail, free: Floats, ratio: float) -> float:
    """The logarithm of the expected width of a bound."""
    values = [part.rows.exact_values(free) for part in tail.parts]
    samples = tail.samples(values, [float(row.std(ddof=1)) or None for row in values])
    sizes = [ratio * row.size for row in values]
    upper, _ = tail.bound.predict(samples, tail.delta, sizes, disjoint=tail.disjoint)
    width = upper - sum(float(row.mean()) for row in values)
    if width == inf:
        return LARGEST
    return log(width) if width > 0 else 0.0


#: Digits of a point that the constraint does not determine: enough to be near the best one.
DIGITS = 6
#: The largest distance of a side condition from its limit that is tried, in standard errors.
MOST_ERRORS = 8.0
#: The rounding error that shared-out numbers may leave, as a share of them.
ROUNDING = 1e-11


def settle(plan: Plan, data: LoggedData, free: Floats, n_test: int) -> Plan:
    """The plan with statistics beyond the mean reduced to averages, and with the best constants.

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
    if plan.is_settled:
        return plan
    claims: list[Claim] = []
    for claim in plan.claims:
        if claim.statistics:
            claims += _Settling(plan, claim, data, free, n_test / max(1, data.n)).claims()
        else:
            claims.append(claim)
    if plan.statistics:
        plan = replace(plan, claims=tuple(claims))
    return centred(plan, data, free, n_test)


class _Stood(NamedTuple):
    """What replaces a statistic, and the conditions under which it is on the needed side."""

    stand_in: Expression
    conditions: tuple[AtMost, ...] = ()


@dataclass
class _Settling:
    """One claim, and the rows to choose its points on."""

    plan: Plan
    claim: Claim
    data: LoggedData
    free: Floats
    test_ratio: float
    _in_order: dict[Statistic, tuple[Floats, Floats]] = field(default_factory=dict)

    def claims(self) -> list[Claim]:
        """Claims about averages that together imply the claim."""
        traded = [s for s in self._sides if self._is_traded(s)]
        stood = {s: self._own(s) for s in self._sides if s not in traded}
        numbers: dict[Statistic, float] = {}
        if traded:
            # Numbers replace these: the easier it is for each to be on its side of its number, the
            # harder the rest of the claim. Make all of them equally easy.
            low, high = -MOST_ERRORS, MOST_ERRORS
            for _ in range(30):
                middle = (low + high) / 2
                at = stood | {s: self._beside(s, self._number(s, middle)) for s in traded}
                low, high = (middle, high) if self._holds(at, middle) else (low, middle)
            numbers = self._used_up(stood, {s: self._number(s, low) for s in traded})
            stood |= {s: self._beside(s, numbers[s], errors=low) for s in traded}
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

    def _is_traded(self, statistic: Statistic) -> bool:
        from_above = self._sides[statistic] == ABOVE
        cvar = isinstance(statistic, distribution.ConditionalValueAtRisk)
        return isinstance(statistic, distribution.Quantile) or (cvar and from_above)

    # -- replacements ---------------------------------------------------------------------------

    def _own(self, statistic: Statistic) -> _Stood:
        """Averages at the point that is best whatever the rest of the claim is."""
        of, given = statistic.of, statistic.given
        values, weights = self._sorted(statistic)
        total = float(weights.sum()) or 1.0
        if isinstance(statistic, distribution.ConditionalValueAtRisk):
            reached = int(np.searchsorted(np.cumsum(weights), statistic.share * total))
            point = _rounded(float(values[min(reached, values.size - 1)]))
            return _Stood(point - Mean(distribution.Deficit(of, point), given) / statistic.share)
        point = _rounded(float(values @ weights) / total)
        square: Expression = Mean(distribution.Squared(of, point), given)
        if self._sides[statistic] != ABOVE:
            square = square - (Mean(of, given) - point) * (Mean(of, given) - point)
        return _Stood(square)

    def _beside(self, statistic: Statistic, number: float, errors: float = 0.0) -> _Stood:
        """A number, and the conditions under which the statistic is on its side of it."""
        of, given = statistic.of, statistic.given
        assert isinstance(statistic, distribution.Quantile | distribution.ConditionalValueAtRisk)

        def beyond(point: float, op: str) -> Expression:
            return Mean(distribution.Threshold(of, point, op), given)

        conditions: tuple[AtMost, ...] = (beyond(number, "<") <= statistic.share,)
        if self._sides[statistic] == ABOVE:
            most = round(1 - statistic.share, 12)
            conditions = (beyond(number, ">") <= most,)
            if isinstance(statistic, distribution.ConditionalValueAtRisk):
                point = self._edge(statistic, errors)
                below = Mean(distribution.LowerTail(of, point, number), given)
                conditions = (beyond(point, ">") <= most, below <= 0)
        return _Stood(Number(number), conditions)

    # -- numbers --------------------------------------------------------------------------------

    def _number(self, statistic: Statistic, errors: float) -> float:
        """The tightest number such that, on these rows, the statistic is on its side by so many
        standard errors more than the test requires.
        """
        edge = self._edge(statistic, errors)
        if isinstance(statistic, distribution.Quantile):
            return edge
        values, weights = self._sorted(statistic)
        inside = np.where(values <= edge, weights, 0.0)
        margin = self._margin(values.size, errors)
        low, high = float(values[0]), float(values[-1])
        for _ in range(40):
            middle = (low + high) / 2
            rows = inside * (values - middle)
            met = float(rows.mean() + rows.std() * margin) <= 0
            low, high = (low, middle) if met else (middle, high)
        return _rounded(high)

    def _edge(self, statistic: Statistic, errors: float) -> float:
        """The same for the quantile behind a statistic."""
        assert isinstance(statistic, distribution.Quantile | distribution.ConditionalValueAtRisk)
        values, weights = self._sorted(statistic)
        n, share = values.size, statistic.share
        if self._sides[statistic] == ABOVE:
            share, values, weights = 1 - share, values[::-1], weights[::-1]
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        # For each distinct value, the weight strictly beyond it.
        beyond, squares = (np.append(0.0, np.cumsum(of))[first] / n for of in (weights, weights**2))
        spread = np.sqrt(np.maximum(squares - beyond**2, 0.0))
        met = beyond + spread * self._margin(n, errors) <= share * float(weights.mean() or 1.0)
        tightest: int = np.flatnonzero(met)[-1] if met.any() else 0
        return _rounded(float(values[first[tightest]]))

    def _margin(self, n: int, errors: float) -> float:
        """What the bound and so much luck add to a mean, in standard deviations of a row."""
        tested = max(1.0, n * self.test_ratio)
        return float(ndtri(1 - self.claim.delta)) / sqrt(tested) + errors * sqrt(1 / tested + 1 / n)

    def _sorted(self, statistic: Statistic) -> tuple[Floats, Floats]:
        """The sorted impacts inside the condition, and their weights."""
        if statistic not in self._in_order:
            self._in_order[statistic] = in_order(statistic, self.data, self.free)
        return self._in_order[statistic]

    # -- the rest of the claim ------------------------------------------------------------------

    def _main(self, stood: Mapping[Statistic, _Stood]) -> Expression:
        return substitute(
            self.claim.conjunct.form.expression, {s: each.stand_in for s, each in stood.items()}
        )

    def _holds(self, stood: Mapping[Statistic, _Stood], errors: float) -> bool:
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

    def _used_up(
        self, stood: Mapping[Statistic, _Stood], numbers: dict[Statistic, float]
    ) -> dict[Statistic, float]:
        """The numbers, which share what they leave over if nothing else is left of the claim."""
        beside = {s: _Stood(Number(number)) for s, number in numbers.items()}
        main = linear_form(self._main({**stood, **beside}))
        weights = {node: weight for weight, node in self.claim.conjunct.form.terms}
        if main.terms or not set(numbers) <= set(weights):
            return numbers
        each = -main.constant / len(numbers)
        if len(numbers) == 1:  # the constraint's own number, to the last digit
            nothing = {s: _Stood(Number(0.0)) for s in numbers}
            rest = linear_form(self._main({**stood, **nothing})).constant
            return {s: -rest / weights[s] for s in numbers}
        return {s: _rounded(number + each / weights[s], 12) for s, number in numbers.items()}


def in_order(statistic: Statistic, data: LoggedData, free: Floats | None) -> tuple[Floats, Floats]:
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
    (array([2., 3.]), array([1.5, 0.5]))
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
    values = impact.values(data)[index]
    weights = np.ones(data.n) if free is None else decisions_of(data).weights(free)
    order = np.argsort(values, kind="stable")
    return values[order], weights[index][order]


def _rounded(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}")
