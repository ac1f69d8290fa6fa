"""A linear form of the language, compiled to rows that are affine in the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from elfair.data import LoggedData
from elfair.data.costs import COST
from elfair.data.units import count_units
from elfair.errors import DataError
from elfair.language import conditions
from elfair.language.conditions import Condition, SquaredError, uses_decision, uses_label
from elfair.language.conjunction import Linear, not_of_label
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.language.tree import point_at
from elfair.statistics.baselines import Baselines
from elfair.statistics.decisions import LoggedDecisions, decisions_of
from elfair.statistics.doubt import Doubt
from elfair.statistics.impact_estimators import Estimation, Sum, Term, add_worst_case
from elfair.statistics.impacts import Ends, Impact, asks_for_cost, impact_of
from elfair.statistics.labels import asks_for_label, under_behavior, weigh
from elfair.statistics.rows import Rows, Weighted
from elfair.statistics.sums import Reach, Spread
from elfair.statistics.units import Units
from elfair.statistics.unseen import limits_of
from elfair.types import Floats, Index


@dataclass(frozen=True)
class Part:
    """The rows of g inside one condition.

    Parameters
    ----------
    given : Condition or None
        The condition; None means everyone.
    rows : Rows
        The rows of g: large is bad.
    impacts : mapping of Impact to (float, float)
        For each impact, the coefficients of E[impact] and of E_logged[impact].
    at_worst : bool, default False
        Whether some missing impact counts at its worst.
    """

    given: Condition | None
    rows: Rows
    impacts: Mapping[Impact, tuple[float, float]]
    at_worst: bool = False

    @property
    def weighted(self) -> bool:
        """Whether importance weights enter."""
        return any(new for new, _ in self.impacts.values())

    @property
    def condition(self) -> str:
        """The condition, for people."""
        return conditions.who(self.given)


def compile_form(
    form: Linear,
    data: LoggedData,
    baselines: Baselines,
    logged_averages: Mapping[Mean, float],
    *,
    direct: bool = False,
) -> tuple[Part, ...]:
    """Turn g = constant + sum of means into one `Part` for each condition in g.

    The means of one condition share their rows and become a single variable (this is what "paired"
    means); the constant joins the first part.

    Parameters
    ----------
    form : Linear
        The form g, with averages only.
    data : LoggedData
        The rows.
    baselines : Baselines
        What to subtract from impacts.
    logged_averages : mapping of Mean to float
        Under plain importance sampling, the averages that replace ``E_logged[...]``.
    direct : bool, default False
        Trust the outcome model and leave the weighted residuals out. This is biased if the model is
        wrong, so only the search uses it.

    Returns
    -------
    tuple of Part
    """
    constant = form.constant
    by_condition: dict[Condition | None, list[tuple[float, Mean]]] = {}
    for coefficient, mean in form.means:
        if mean in logged_averages:
            constant += coefficient * logged_averages[mean]
        else:
            by_condition.setdefault(mean.given, []).append((coefficient, mean))
    if not by_condition:
        by_condition[None] = []
    parts = []
    for given, terms in by_condition.items():
        parts.append(_part(given, terms, constant, data, baselines, direct))
        constant = 0.0
    return tuple(parts)


def mean_part(mean: Mean, data: LoggedData, baselines: Baselines, *, direct: bool = False) -> Part:
    """The rows of one average; see `compile_form`."""
    return _part(mean.given, [(1.0, mean)], 0.0, data, baselines, direct)


def _part(
    given: Condition | None,
    terms: list[tuple[float, Mean]],
    constant: float,
    data: LoggedData,
    baselines: Baselines,
    direct: bool,
) -> Part:
    if data.revealed and given is not None and uses_label(given):
        raise not_of_label(terms[0][1])
    people = baselines.people(given, data)
    index, units, decisions = people.index, people.units, decisions_of(data)
    if data.whole:
        count = index.size if data.unit_index is None else count_units(data, people.inside)
        require_rows(given, count, count_units(data), data)
    size = index.size
    rows = Sum(np.full(size, constant), np.zeros((decisions.slots, size)), np.zeros(size))
    impacts: dict[Impact, tuple[float, float]] = {}
    at_worst = False
    events: list[tuple[float, Mean]] = []
    for coefficient, mean in terms:
        if (impact := impact_of(mean, data)) is None:
            events.append((coefficient, mean))
            continue
        if not mean.logged:
            _require(mean, data, decisions, *decisions.needed)
        new, logged = impacts.get(impact, (0.0, 0.0))
        if mean.logged:
            impacts[impact] = new, logged + coefficient
        else:
            impacts[impact] = new + coefficient, logged
    low, high = _add_events(events, rows, constant, data, index, baselines.estimation)
    for impact, (new, logged) in impacts.items():
        part = people.rows_of(data)
        values, limits = baselines.values(impact, data), impact.ends(baselines.estimation.ranges)
        term = Term(impact, given, new, logged, values[index], baselines.learnt_from(data))
        if not new:
            rows.offset += logged * term.values
            ends = _times(logged, limits_of(impact, data, limits))
        elif direct:
            _add_predicted(rows, part, baselines.model(impact).of(part), new, logged)
            ends = -np.inf, np.inf
        else:
            estimator = baselines.estimation.impact_estimator
            ends = estimator.add_rows(term, rows, part, baselines)
        half = baselines.half_widths(impact, data)
        if half is not None and half[index].any():
            add_worst_case(term, rows, part, half[index], baselines.estimation.Lambda)
            at_worst = True
        low, high = low + ends[0], high + ends[1]
    free = decisions.free(rows.offset, rows.by_slot)
    new = any(new for new, _ in impacts.values())
    weighted = None
    if new:
        reach = _reach(impacts, rows.weighted, data, baselines, index)
        law, worst = people.law_of(data), float(rows.weighted.max(initial=-np.inf))
        weighted = Weighted(rows.weighted, law, worst, reach)
    made = Rows(index, *free, low, high, tuple(rows.capped), weighted, stands_for=people.stands_for)
    if rows.doubt is not None:
        assert data.decision_index is not None
        made = replace(made, doubt=Doubt(rows.doubt, data.decision_index[index]))
    made = made.of_units(units).at_shift(baselines.estimation.shift)
    return Part(given, made, impacts, at_worst)


def _add_events(
    terms: list[tuple[float, Mean]],
    rows: Sum,
    constant: float,
    data: LoggedData,
    index: Index,
    estimation: Estimation,
) -> Ends:
    """Add averages of events, costs and decisions to rows that hold a constant; return the ends.

    Where labels are seen only for some decisions, rows about them are weighed, together with all
    that does not depend on what was decided.
    """
    by_label = [mean for _, mean in terms if data.revealed and asks_for_label(mean, data)]
    weighed = [term for term in terms if by_label and (not term[1].logged or term[1] in by_label)]
    ranges = estimation.ranges
    ends = _added(weighed, rows, (constant, constant), data, index, ranges)
    if weighed:
        ends = weigh(rows, ends, data, index, estimation.propensity_floor)
    rest = [term for term in terms if term not in weighed]
    return _added(rest, rows, ends, data, index, ranges)


def _added(
    terms: list[tuple[float, Mean]],
    rows: Sum,
    ends: Ends,
    data: LoggedData,
    index: Index,
    ranges: Mapping[str, Ends],
) -> Ends:
    decisions = decisions_of(data)
    for coefficient, mean in terms:
        if mean.logged and not (data.revealed and asks_for_label(mean, data)):
            rows.offset += coefficient * _logged(mean, data, decisions)[index]
        else:
            unchanged, by_decision = decisions.term(mean)
            if mean.logged:
                rows.offset += coefficient * under_behavior(mean, by_decision, data)[index]
            else:
                rows.offset += coefficient * unchanged[index]
                rows.by_slot += coefficient * by_decision[:, index]
        low, high = _times(coefficient, _ends(mean, data, ranges))
        ends = ends[0] + low, ends[1] + high
    return ends


def _reach(
    impacts: Mapping[Impact, tuple[float, float]],
    residual: Floats,
    data: LoggedData,
    baselines: Baselines,
    index: Index,
) -> Reach:
    """How large residuals can be: inside the condition, or of an impact anywhere."""
    known = []
    for impact, (new, _) in impacts.items():
        values = baselines.values(impact, data)
        inside = Spread(index.size, float(values[index].mean())) if index.size else Spread()
        known.append((abs(new), float(values.min()), float(values.max()), inside))
    return Reach(float(np.abs(residual).max(initial=0.0)), tuple(known))


def _times(factor: float, ends: Ends) -> Ends:
    low, high = sorted(factor * end for end in ends)
    return low, high


def _ends(mean: Mean, data: LoggedData, ranges: Mapping[str, Ends]) -> Ends:
    """The ends of one row of an event, a cost, a decision or a squared error. Columns show what
    some people cost, and not what anybody could: their ends are declared, or not known.
    """
    if isinstance(mean.of, Condition):
        return 0.0, 1.0
    if asks_for_cost(mean, data):
        if data.person_cost is not None:
            return ranges.get(COST, (-np.inf, np.inf))
        assert data.cost is not None
        return float(data.cost.min()), float(data.cost.max())
    return (0.0 if isinstance(mean.of, SquaredError) else -np.inf), np.inf


def _add_predicted(rows: Sum, data: LoggedData, table: Floats, new: float, logged: float) -> None:
    """Add an outcome model's prediction of new * E[impact] + logged * E_logged[impact]."""
    decisions = decisions_of(data)
    decisions.add_predicted(rows.by_slot, rows.offset, table, new)
    expected = decisions.under_behavior(table)
    rows.offset += logged * (decisions.at_logged(table) if expected is None else expected)


def require_rows(given: Condition | None, count: int, n: int, known: LoggedData) -> None:
    """Raise if fewer than 2 of n rows (or units) meet a condition; the error shows the values in
    ``known``.
    """
    if count < 2:
        what = conditions.EVERYONE if given is None else f"the condition '{given}'"
        rows = "rows" if known.unit_index is None else "units"
        raise DataError(
            f"{what} is met by {count:,} of the {n:,} {rows} of one part of the data; at least "
            f"2 are needed in each.{shown_values(given, known)}",
            hint="check the values it compares with, merge small groups or leave them out "
            f"(groups=), or collect more {rows}.",
        )


def shown_values(given: Condition | None, data: LoggedData) -> str:
    """The values in the columns of a condition, if there are only a few."""
    shown = []
    for name in sorted(conditions.columns_used(given)) if given is not None else ():
        values = sorted({str(value) for value in data.column(name).tolist()})
        if len(values) <= 10:
            shown.append(f" '{name}' holds {', '.join(values)}.")
    return "".join(shown)


def _logged(mean: Mean, data: LoggedData, decisions: LoggedDecisions) -> Floats:
    """What is averaged, for the logged decision of each row."""
    if uses_decision(mean.of) or asks_for_cost(mean, data):
        _require(mean, data, decisions, "decision")
    return decisions.logged(mean)


def _require(mean: Mean, data: LoggedData, decisions: LoggedDecisions, *columns: str) -> None:
    """Raise, pointing at the text, if a mean needs a column that was not given."""
    for name in columns:
        if getattr(data, name) is None:
            raise point_at(
                f"'{mean}' needs {name}, which was not given.",
                mean.span,
                hint=f"pass {name}=, {decisions.needed[name]}.",
            )


def logged_average(mean: Mean, data: LoggedData) -> float:
    """The average over the data that the paper uses as if it were the known E_logged[...]."""
    inside = holds(mean.given, data)
    impact = impact_of(mean, data)
    values = _logged(mean, data, decisions_of(data)) if impact is None else impact.values(data)
    if not inside.any():
        raise DataError(
            f"no row meets the condition '{mean.given}'.",
            hint="check the values it compares with.",
        )
    index = np.flatnonzero(inside)
    units = Units.of(data, index)
    return float(values[index].mean()) if units is None else units.averages(values[index])
