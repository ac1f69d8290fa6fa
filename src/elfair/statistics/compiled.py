"""A linear form of the language, compiled to rows that are affine in the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from elfair.data import LoggedData
from elfair.data.units import count_units
from elfair.errors import DataError
from elfair.language import conditions
from elfair.language.conditions import Condition, SquaredError, uses_decision
from elfair.language.conjunction import Linear
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.language.tree import point_at
from elfair.statistics.baselines import Baselines
from elfair.statistics.decisions import LoggedDecisions, decisions_of
from elfair.statistics.impact_estimators import Sum, Term, add_worst_case
from elfair.statistics.impacts import Ends, Impact, asks_for_cost, impact_of
from elfair.statistics.rows import Rows, Weighted
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
    """

    given: Condition | None
    rows: Rows
    impacts: Mapping[Impact, tuple[float, float]]

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
    inside = holds(given, data)
    index = np.flatnonzero(inside)
    require_rows(given, count_units(data, inside), count_units(data), data)
    units = Units.of(data, index)
    everyone = index.size == data.n
    decisions = decisions_of(data)
    size = index.size
    rows = Sum(np.full(size, constant), np.zeros((decisions.slots, size)), np.zeros(size))
    low = high = constant
    impacts: dict[Impact, tuple[float, float]] = {}
    for coefficient, mean in terms:
        if (impact := impact_of(mean, data)) is not None:
            if not mean.logged:
                _require(mean, data, decisions, *decisions.needed)
            new, logged = impacts.get(impact, (0.0, 0.0))
            if mean.logged:
                impacts[impact] = new, logged + coefficient
            else:
                impacts[impact] = new + coefficient, logged
            continue
        if mean.logged:
            rows.offset += coefficient * _logged(mean, data, decisions)[index]
        else:
            unchanged, by_decision = decisions.term(mean)
            rows.offset += coefficient * unchanged[index]
            rows.by_slot += coefficient * by_decision[:, index]
        ends = _times(coefficient, _ends(mean, data))
        low, high = low + ends[0], high + ends[1]
    for impact, (new, logged) in impacts.items():
        part = data if everyone else data.take(index)
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
        add_worst_case(term, rows, part, limits)
        low, high = low + ends[0], high + ends[1]
    free = decisions.free(rows.offset, rows.by_slot)
    new = any(new for new, _ in impacts.values())
    weighted = None
    if new:
        largest = _largest(impacts, rows.weighted, data, baselines, index)
        law, worst = decisions.law(index), float(rows.weighted.max())
        weighted = Weighted(rows.weighted, law, worst, largest)
    made = Rows(index, *free, low, high, tuple(rows.capped), weighted)
    return Part(given, made.of_units(units), impacts)


def _largest(
    impacts: Mapping[Impact, tuple[float, float]],
    residual: Floats,
    data: LoggedData,
    baselines: Baselines,
    index: Index,
) -> float:
    """The size of the largest residual: inside the condition, or of an impact anywhere."""
    largest = float(np.abs(residual).max())
    for impact, (new, _) in impacts.items():
        values = baselines.values(impact, data)
        away = np.abs(values - values[index].mean()).max()
        largest = max(largest, abs(new) * float(away))
    return largest


def _times(factor: float, ends: Ends) -> Ends:
    low, high = sorted(factor * end for end in ends)
    return low, high


def _ends(mean: Mean, data: LoggedData) -> Ends:
    """The ends of one row of an event, a cost, a decision or a squared error."""
    if isinstance(mean.of, Condition):
        return 0.0, 1.0
    if asks_for_cost(mean, data):
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
            f"{what} is met by {count} of the {n} {rows} of one part of the data; at least "
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
