"""A linear form of the language, compiled to rows that are affine in the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.language import conditions
from elfair.language.conditions import Condition, SquaredError, uses_decision
from elfair.language.conjunction import Linear
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.language.tree import point_at
from elfair.statistics.decisions import LoggedDecisions, decisions_of
from elfair.statistics.impact_estimators import Baselines, Term
from elfair.statistics.impacts import Impact, asks_for_cost, impact_of
from elfair.types import Floats, Index

#: A row smaller than this share of its terms is 0; what is left is rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rows:
    """The rows of one statistic: z_i = offset_i + sum_k slope_ki * free_ki.

    The *free* numbers of a policy describe it completely on a row. For a classifier they are the
    probabilities of all classes but the first, because probabilities sum to 1; for numeric
    decisions, see `elfair.statistics.decisions`.

    Parameters
    ----------
    index : ndarray of shape (m,)
        The rows of the data set that meet the condition.
    offset : ndarray of shape (m,)
        The part of each row that no policy changes.
    slope : ndarray of shape (channels, m)
        What each free number adds.
    low, high : float
        The ends of a row under any policy: by declaration, never by observation.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2]), np.array([1.0, 1.0]), np.array([[-1.0, 2.0]]), -1.0, 3.0)
    >>> rows.values(np.array([[0.5, 0.9, 0.25]]))
    array([0.5, 1.5])
    """

    index: Index
    offset: Floats
    slope: Floats
    low: float
    high: float

    def values(self, free: Floats) -> Floats:
        """The rows under a policy, or under several at once along leading axes.

        Parameters
        ----------
        free : ndarray of shape (..., channels, n)
            The free numbers of every row of the data set.
        """
        return self.values_inside(self.inside(free))

    def inside(self, free: Floats) -> Floats:
        """The free numbers of the rows that meet the condition."""
        return free if self.index.size == free.shape[-1] else free[..., self.index]

    def values_inside(self, inside: Floats) -> Floats:
        """The rows, from the free numbers of the rows that meet the condition."""
        values: Floats = inside[..., 0, :] * self.slope[0]
        for k in range(1, len(self.slope)):
            values += inside[..., k, :] * self.slope[k]
        values += self.offset
        return values

    @cached_property
    def mean_offset(self) -> float:
        """The part of the average that no policy changes."""
        return float(self.offset.mean())

    @cached_property
    def mean_size(self) -> float:
        """The average size of what no policy changes: the scale of rounding errors."""
        return float(np.abs(self.offset).mean())

    def exact_values(self, free: Floats) -> Floats:
        """The rows for the fairness test: a row that differs from 0 only by rounding is 0.

        A policy equal to the behaviour model makes each paired row 0 by construction, and the
        bounds must see that.
        """
        values = self.values(free)
        terms = np.abs(self.slope * free[..., self.index])
        size = np.abs(self.offset) + np.sum(terms, axis=-2)
        return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)

    @property
    def are_silent(self) -> bool:
        """Whether each row is 0 under any policy: what is averaged was never observed, although it
        may occur.
        """
        return not (self.offset.any() or self.slope.any())

    def scatter(self, by_free: Floats, n: int) -> Floats:
        """Derivatives by the free numbers of the rows inside, as derivatives by those of all."""
        if self.index.size == n:
            return by_free
        gradient = np.zeros((len(self.slope), n))
        gradient[:, self.index] = by_free
        return gradient

    def pull_back(self, weights: Floats, n: int) -> Floats:
        """The derivatives by the free numbers, from the derivatives by the rows."""
        return self.scatter(self.slope * weights, n)


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
    index = np.flatnonzero(holds(given, data))
    require_rows(given, index.size, data.n, data)
    everyone = index.size == data.n
    decisions = decisions_of(data)
    by_slot = np.zeros((decisions.slots, index.size))
    offset = np.full(index.size, constant)
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
            offset += coefficient * _logged(mean, data, decisions)[index]
        else:
            unchanged, by_decision = decisions.term(mean)
            offset += coefficient * unchanged[index]
            by_slot += coefficient * by_decision[:, index]
        ends = sorted(coefficient * end for end in _ends(mean, data))
        low, high = low + ends[0], high + ends[1]
    for impact, (new, logged) in impacts.items():
        part = data if everyone else data.take(index)
        if not new:
            offset += logged * impact.values(part)
            declared = impact.ends(baselines.estimation.ranges)
            limits = min(logged * end for end in declared), max(logged * end for end in declared)
        elif direct:
            _add_predicted(by_slot, offset, part, baselines.model(impact).of(part), new, logged)
            limits = -np.inf, np.inf
        else:
            term = Term(impact, given, new, logged)
            estimator = baselines.estimation.impact_estimator
            limits = estimator.add_rows(term, by_slot, offset, part, baselines)
        low, high = low + limits[0], high + limits[1]
    rows = Rows(index, *decisions.free(offset, by_slot), low, high)
    return Part(given, rows, impacts)


def _ends(mean: Mean, data: LoggedData) -> tuple[float, float]:
    """The ends of one row of an event, a cost, a decision or a squared error."""
    if isinstance(mean.of, Condition):
        return 0.0, 1.0
    if asks_for_cost(mean, data):
        assert data.cost is not None
        return float(data.cost.min()), float(data.cost.max())
    return (0.0 if isinstance(mean.of, SquaredError) else -np.inf), np.inf


def _add_predicted(
    by_slot: Floats, offset: Floats, data: LoggedData, table: Floats, new: float, logged: float
) -> None:
    """Add an outcome model's prediction of new * E[impact] + logged * E_logged[impact]."""
    decisions = decisions_of(data)
    decisions.add_predicted(by_slot, offset, table, new)
    expected = decisions.under_behavior(table)
    offset += logged * (decisions.at_logged(table) if expected is None else expected)


def require_rows(given: Condition | None, count: int, n: int, known: LoggedData) -> None:
    """Raise if fewer than 2 of n rows meet a condition; the error shows the values in ``known``."""
    if count < 2:
        what = conditions.EVERYONE if given is None else f"the condition '{given}'"
        raise DataError(
            f"{what} is met by {count} of the {n} rows of one part of the data; at least "
            f"2 are needed in each.{shown_values(given, known)}",
            hint="check the values it compares with, merge small groups or leave them out "
            "(groups=), or collect more rows.",
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
    return float(values[inside].mean())
