"""Whom to follow up, if there is money for some: chances that make the widest bound narrow.

A row with an impact that is seen with probability p stands for it with a residual r / p (r is the
impact less what is expected of it), so it adds c^2 r^2 (1 / p - 1) to the variance of a statement,
where c = new w + logged is what the impact counts in the row. For a fixed number of people this is
least if p is proportional to the root of c^2 r^2, on average over people who are treated alike
(Neyman's allocation). People are divided by group, decision and early outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from elfair.data import LoggedData
from elfair.data.unseen import Unseen
from elfair.errors import DataError, InputError
from elfair.estimators.base import ELFEstimator
from elfair.estimators.parameters import Parameter
from elfair.language.conditions import EVERYONE, Condition, uses_label, who
from elfair.language.evaluation import holds
from elfair.planning.forecast import Forecaster
from elfair.planning.visible import VisibleRows, require_plannable
from elfair.records.allowed import number
from elfair.statistics.claims import conditions_of
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impacts import Impact
from elfair.statistics.unseen import expected_impact
from elfair.types import Floats, Index

#: No one's chance is smaller than this part of the average: who looks alike on few rows may not be.
FLOOR = 0.25
#: However few were seen of a pilot, this part of a variance is there if all are.
LEAST_REST = 0.1
#: A cell in which fewer people were seen is taken to be like all.
FEWEST = 10
BUDGET = Parameter(
    "budget", number("(0, 1)"), {}, "the share of people that can be followed up", 0.3
)


@dataclass(frozen=True)
class FollowUpCell:
    """People who are followed up with one chance.

    Parameters
    ----------
    who : str
        Their groups, decision and early outcome.
    n : int
        How many of the candidate rows they are.
    chance : float
        The proposed probability.
    """

    who: str
    n: int
    chance: float


@dataclass(frozen=True)
class FollowUpStatement:
    """What following up only some costs one statement.

    Parameters
    ----------
    statement : str
        The statement.
    rows, rows_uniform : float
        How many times as many rows give a bound of the same width as if everyone were seen: with
        the proposed chances, and with the same chance for everyone.
    power_all, power, power_uniform : float
        The chance that it passes as forecast from candidate rows: if everyone is seen, with the
        proposed chances, and with the same chance for everyone.
    """

    statement: str
    rows: float
    rows_uniform: float
    power_all: float
    power: float
    power_uniform: float


@dataclass(frozen=True)
class FollowUpPlan:
    """Whom to follow up; see `plan_follow_up`.

    Parameters
    ----------
    budget : float
        The share of people that can be followed up.
    cells : tuple of FollowUpCell
        The proposed chances.
    statements : tuple of FollowUpStatement
        What that costs.
    """

    budget: float
    cells: tuple[FollowUpCell, ...]
    statements: tuple[FollowUpStatement, ...]
    _cells: Any = field(repr=False, default=None)

    def chances(self, data: LoggedData, early: Mapping[str, Any] | None = None) -> Floats:
        """The proposed chance of each row of a table: draw with it, and log it as ``follow_up``.

        Parameters
        ----------
        data : LoggedData
            Whoever was decided about; impacts are not needed.
        early : mapping of str to array, optional
            The early outcomes, if the plan is by one.
        """
        of_cell = {each.who: each.chance for each in self.cells}
        known = {name: np.asarray(values, dtype=float) for name, values in (early or {}).items()}
        return np.array([of_cell.get(name, 1.0) for name in self._cells.names(data, known)])

    def facts(self) -> dict[str, Any]:
        """The plan for programs."""
        return {
            "budget": self.budget,
            "cells": [asdict(each) for each in self.cells],
            "statements": [asdict(each) for each in self.statements],
        }

    def text(self) -> str:
        """The plan for a terminal."""
        lines = [f"Whom to follow up, if {self.budget:.0%} of people can be:", ""]
        width = max(len(each.who) for each in self.cells)
        lines += [f"  {each.who:{width}}  {each.chance:.3f}" for each in self.cells]
        lines += ["", "What it costs, against seeing everyone (in brackets, one chance for all):"]
        for each in self.statements:
            lines.append(f"  {each.statement}")
            lines.append(
                f"    {each.rows:.2f} times as many rows for as narrow a bound ("
                f"{each.rows_uniform:.2f}); chance to pass {each.power:.2f} "
                f"({each.power_uniform:.2f}), of {each.power_all:.2f}"
            )
        return "\n".join(
            [
                *lines,
                "",
                "Draw for each person with the chance above, and write that chance into a column, "
                "also for people who were not drawn:",
                "  [columns]",
                '  follow_up = "follow_up_chance"',
                "  [rows]",
                '  missing_impact = "at random"',
                "",
                "- Chances to pass are forecasts from candidate rows; whoever was drawn must be "
                "seen.",
            ]
        )


def plan_follow_up(estimator: ELFEstimator, data: LoggedData, budget: float) -> FollowUpPlan:
    """Propose with which probability to follow up whom, from candidate rows.

    Parameters
    ----------
    estimator : ELFClassifier
        What is to be fitted, with its constraints.
    data : LoggedData
        A pilot. If impacts are missing at random in it, the first early outcome divides people,
        too.
    budget : float
        The share of people that can be followed up.

    Examples
    --------
    >>> from elfair import ELFClassifier
    >>> from elfair.populations import FosterCare
    >>> population = FosterCare(alpha=0.9)
    >>> draw = population.sample(2000, seed=1)
    >>> data = LoggedData(draw.features, draw.label, **draw.logged)
    >>> plan = plan_follow_up(ELFClassifier(population.constraints), data, 0.5)
    >>> all(0.1 < each.chance <= 1 for each in plan.cells)
    True
    """
    BUDGET.check(budget)
    require_plannable(estimator, data)
    request = estimator.request(data)
    if request.crossfit or data.decision_index is None or data.behavior is data.propensity is None:
        raise InputError(
            "whom to follow up is planned for decisions that are classes, with split='random'.",
            hint="give decision and propensity, and split='random'.",
        )
    visible = VisibleRows.of(data, request)
    forecaster = Forecaster.of(visible, request)
    if not forecaster.ends:
        raise DataError(
            "no statement is about an impact under the new model: nobody needs to be followed up.",
            hint="ask for something about E[impact].",
        )
    rows = visible.candidate
    cells = _Cells.of(rows, conditions_of(forecaster.plan.claims))
    names = cells.names(rows, {} if rows.unseen is None else rows.unseen.early)
    different, index = np.unique(names, return_inverse=True)
    added, spread = _added(forecaster, rows, index)
    seen = np.bincount(index, _all_seen(rows)) / np.bincount(index)
    usual = np.sqrt(np.sum(added / spread[:, None], axis=0))  # each statement counts alike
    sizes = np.bincount(index)
    share = sizes / sizes.sum()
    chances = _within(usual, share, budget)
    statements = []
    for j, claim in enumerate(forecaster.plan.claims):
        if not added[j].any():
            continue
        more = [float(np.sum(share * added[j] * (1 / p - 1))) for p in (chances, budget)]
        # Of a pilot that lacks impacts itself, the rest of the variance is that of all being seen.
        lacking = float(np.sum(share * added[j] * (1 / np.clip(seen, FLOOR / 10, 1) - 1)))
        whole = max(spread[j] - lacking, LEAST_REST * spread[j])
        all_seen = _power(float(forecaster.now.chances[j]), claim.delta, whole / spread[j])
        rows_of, uniform = 1 + more[0] / whole, 1 + more[1] / whole
        statements.append(
            FollowUpStatement(
                claim.conjunct.text,
                rows_of,
                uniform,
                all_seen,
                _power(all_seen, claim.delta, rows_of),
                _power(all_seen, claim.delta, uniform),
            )
        )
    proposed = zip(different.tolist(), sizes.tolist(), chances.tolist(), strict=True)
    return FollowUpPlan(
        float(budget), tuple(FollowUpCell(*each) for each in proposed), tuple(statements), cells
    )


@dataclass(frozen=True)
class _Cells:
    """How people are divided."""

    conditions: tuple[Condition, ...]
    early: str
    cut: float

    @classmethod
    def of(cls, rows: LoggedData, asked: tuple[Condition | None, ...]) -> _Cells:
        named = tuple(each for each in asked if each is not None and not uses_label(each))
        for name, values in ({} if rows.unseen is None else rows.unseen.early).items():
            return cls(named, name, float(np.median(values)))
        return cls(named, "", 0.0)

    def names(self, data: LoggedData, early: Mapping[str, Floats]) -> list[str]:
        """The cell of each row."""
        inside = [(who(each), holds(each, data)) for each in self.conditions]
        if self.early and self.early not in early:
            raise InputError(
                f"the plan is by the early outcome '{self.early}', which was not given.",
                hint=f"pass early={{'{self.early}': ...}}.",
            )
        every = []
        assert data.decision is not None
        for i, decision in enumerate(data.decision.tolist()):
            groups = [name for name, rows in inside if rows[i]] or [EVERYONE]
            said = [" and ".join(groups), f"decision {decision}"]
            if self.early:
                side = ">" if early[self.early][i] > self.cut else "<="
                said.append(f"{self.early} {side} {self.cut:.4g}")
            every.append(", ".join(said))
        return every


def _added(forecaster: Forecaster, rows: LoggedData, index: Index) -> tuple[Floats, Floats]:
    """For each statement and cell the mean of c^2 r^2, and for each statement the variance of its
    rows if everyone is seen; both on the scale of the sum over all rows.
    """
    free, plan = forecaster.ends[0], forecaster.plan
    complete = forecaster.plan.compile(rows)
    count = int(index.max()) + 1
    added, spread = np.zeros((len(plan.claims), count)), np.ones(len(plan.claims))
    for j, claim in enumerate(complete):
        total = 0.0
        for part in claim.parts:
            inside, values = part.rows.index, part.rows.values(free)
            scale = rows.n / max(1, inside.size)
            total += float(values.var()) * scale
            weights = decisions_of(rows).weights(free, inside).values
            for impact, (new, logged) in part.impacts.items():
                c = scale * (new * weights + logged)
                residual = _residual(impact, rows)[inside]
                there = ~np.isnan(residual)
                square = np.where(there, c * np.nan_to_num(residual), 0.0) ** 2
                seen = np.bincount(index[inside], there, count)
                per_seen = np.bincount(index[inside], square, count) / np.maximum(seen, 1)
                per_seen = np.where(seen < FEWEST, square.sum() / max(1, there.sum()), per_seen)
                share = np.bincount(index[inside], minlength=count) / np.bincount(index)
                added[j] += per_seen * share
        spread[j] = total or 1.0
    return added, spread


def _all_seen(rows: LoggedData) -> Floats:
    """1 where every impact was seen."""
    known = [] if rows.unseen is None else list(rows.unseen.seen.values())
    every = np.logical_and.reduce([np.ones(rows.n, dtype=np.bool_), *known])
    return np.asarray(every, dtype=np.float64)


def _residual(impact: Impact, rows: LoggedData) -> Floats:
    """Impacts less what other rows let expect of them; NaN where they are missing."""
    values = impact.values(rows)
    if rows.unseen is None:  # as if a lottery had chosen everyone
        everyone = np.ones(rows.n)
        seen = {impact.name: ~np.isnan(values)}
        rows = rows.changed(unseen=Unseen("at random", seen, {}, everyone, 1.0))
    expected = expected_impact(impact, rows, impact.ends({}), None)
    return np.asarray(values - expected)


def _within(usual: Floats, share: Floats, budget: float) -> Floats:
    """Chances in proportion to some numbers, none above 1 or below the floor, that cost the budget.

    Examples
    --------
    >>> _within(np.array([1.0, 3.0]), np.array([0.5, 0.5]), 0.4).round(3)
    array([0.2, 0.6])
    """
    low, high = 0.0, 1.0 / max(float(usual[usual > 0].min(initial=1.0)), 1e-300)
    floor = FLOOR * budget
    for _ in range(100):
        middle = (low + high) / 2
        chances = np.clip(middle * usual, floor, 1.0)
        low, high = (middle, high) if float(share @ chances) < budget else (low, middle)
    return np.asarray(np.clip(low * usual, floor, 1.0))


def _power(power: float, delta: float, times: float) -> float:
    """The chance to pass if the variance of a row is so many times as large."""
    if not 0 < power < 1:
        return power
    allowed = float(ndtri(1 - delta))
    return float(ndtr((float(ndtri(power)) + allowed) / np.sqrt(times) - allowed))
