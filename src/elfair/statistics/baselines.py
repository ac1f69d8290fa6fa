"""The baselines q of impacts: what to expect of a person, learnt from rows that are not tested."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.data.by_table import ByTable
from elfair.data.features import Encoding
from elfair.data.subsample import meeting
from elfair.language.conditions import Condition
from elfair.statistics.confounding import quantile
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impact_estimators import Estimation, ImpactEstimator, Term
from elfair.statistics.impacts import Impact, Level, OutcomeModel, QuadraticModel
from elfair.statistics.shift import Wrong
from elfair.statistics.units import Units
from elfair.statistics.unseen import completed, expected_impact, half_widths
from elfair.statistics.weights import WeightLaw
from elfair.types import Floats

#: Columns that no estimator of impact asks for in the rows of a condition.
NOT_ASKED = dict.fromkeys(("label", "label_index", "row_id", "unit", "scores", "raw"))


class People:
    """Those who meet a condition, and how they were decided about: looked up once for all models,
    odds ratios and pictures.

    Parameters
    ----------
    inside : ndarray of bool
        Which rows of the data are about them.
    stands_for : float
        See `Rows`.
    units : Units or None
        Whose rows they are.
    """

    def __init__(self, given: Condition | None, data: LoggedData) -> None:
        self.inside, self.stands_for = meeting(given, data)
        self.index = np.flatnonzero(self.inside)
        self.units = Units.of(data, self.index)
        self._rows: LoggedData | None = None
        self._law: WeightLaw | None = None

    def rows_of(self, data: LoggedData) -> LoggedData:
        """Their rows, with what estimators of impact ask of them."""
        if self.index.size == data.n:
            return data
        if self._rows is None:
            asked = data.changed(**NOT_ASKED)
            self._rows = asked.take(self.index)
        return self._rows

    def law_of(self, data: LoggedData) -> WeightLaw:
        """How they were decided about."""
        if self._law is None:
            self._law = decisions_of(data).law(self.index)
        return self._law


class Baselines:
    """The baselines q of all impacts, learnt from candidate rows when first needed.

    Parameters
    ----------
    estimation : Estimation
        How impacts are estimated.
    candidate : LoggedData
        Rows that are not tested.
    personal : bool, default False
        See `QuadraticModel`.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], [0, 1], decision=[0, 1], impact=[2.0, 4.0])
    >>> Baselines(Estimation(), data).level(Impact("impact"), None).of(data)
    array([3., 3.])
    """

    def __init__(
        self, estimation: Estimation, candidate: LoggedData, *, personal: bool = False
    ) -> None:
        self.estimation = estimation
        self._personal = personal
        self.candidate = candidate
        self._levels: dict[tuple[Impact, Condition | None], Level] = {}
        self._models: dict[Impact, OutcomeModel | QuadraticModel] = {}
        self._residuals: dict[tuple[Impact, Condition | None], list[Floats]] = {}
        self._people: ByTable[dict[Condition | None, People]] = ByTable()
        self._expected_of: ByTable[dict[Any, Floats]] = ByTable()

    def learnt_from(self, data: LoggedData) -> bool:
        """Whether they were learnt from these rows."""
        return data is self.candidate

    @cached_property
    def plain(self) -> Baselines:
        """The same for rows without caps."""
        return self._with(replace(self.estimation, finite_sample=False))

    def at(self, what: Wrong, ratio: float) -> Baselines:
        """The same for another odds ratio of confounding, or likelihood ratio of a shift."""
        if getattr(self.estimation, what) == ratio:
            return self
        change: dict[str, Any] = {what: ratio}
        return self._with(replace(self.estimation, **change))

    def _with(self, estimation: Estimation) -> Baselines:
        """The same by another estimation; what was learnt of impacts does not depend on it."""
        other = Baselines(estimation, self.candidate, personal=self._personal)
        other._levels, other._models, other.encoding = self._levels, self._models, self.encoding
        other._residuals = self._residuals
        other._people, other._expected_of = self._people, self._expected_of
        return other

    def people(self, given: Condition | None, data: LoggedData) -> People:
        """Those who meet a condition."""
        known = self._people.setdefault(data, {})
        if given not in known:
            known[given] = People(given, data)
        return known[given]

    def expected(self, impact: Impact, given: Condition | None, data: LoggedData) -> Floats:
        """The impact to expect of each of some people inside a condition, whatever is decided."""
        known = self._expected_of.setdefault(data, {})
        if (impact, given) not in known:
            known[impact, given] = self.level(impact, given).of(data)
        return known[impact, given]

    def level(self, impact: Impact, given: Condition | None) -> Level:
        """The impact to expect of people inside a condition, whatever is decided."""
        if (impact, given) not in self._levels:
            people = self.people(given, self.candidate)
            inside = people.rows_of(self.candidate)
            values = self._expected(impact)[people.index]
            self._levels[impact, given] = Level.fit(inside, values, self.encoding)
        return self._levels[impact, given]

    def values(self, impact: Impact, data: LoggedData) -> Floats:
        """An impact in each row, or what stands for it if it was not seen for everyone."""
        limits, regressor = impact.ends(self.estimation.ranges), self.estimation.outcome_model
        return completed(impact, data, self.candidate, limits, regressor)

    def half_widths(self, impact: Impact, data: LoggedData) -> Floats | None:
        """How far the worst of what is missing is from what stands for it; see `half_widths`."""
        limits, regressor = impact.ends(self.estimation.ranges), self.estimation.outcome_model
        return half_widths(impact, data, self.candidate, limits, regressor)

    def _expected(self, impact: Impact) -> Floats:
        """What regressions learn from."""
        limits, regressor = impact.ends(self.estimation.ranges), self.estimation.outcome_model
        return expected_impact(impact, self.candidate, limits, regressor)

    def shift(self, term: Term, estimator: ImpactEstimator) -> Floats:
        """What to add to q for each decision, so that it is near the quantile at which confounding
        does the most: one regression serves all odds ratios.
        """
        key = term.impact, term.given
        if key not in self._residuals:
            people = self.people(term.given, self.candidate)
            values = self.values(term.impact, self.candidate)[people.index]
            rows, own = people.rows_of(self.candidate), term._replace(values=values, own=True)
            k, table = estimator.subtracted(own, rows, self)
            residual = own.values - k
            if table is not None:
                residual -= decisions_of(rows).at_logged(table)
            taken = [rows.decision_index == a for a in range(rows.classes.size)]
            self._residuals[key] = [np.sort(residual[each]) for each in taken]
        Lambda = self.estimation.Lambda
        level = (1.0 if term.new < 0 else Lambda) / (1 + Lambda)
        return np.array([quantile(each, level) for each in self._residuals[key]])

    @cached_property
    def encoding(self) -> Encoding:
        """What outcome models see of a row."""
        return Encoding.learn(self.candidate)

    def model(self, impact: Impact) -> Any:
        """The regression of an impact on features, groups and decision."""
        if impact not in self._models:
            values = self._expected(impact)
            known = self.candidate, values, self.encoding, self.estimation.outcome_model
            if self.candidate.decision_kind == "numbers":
                self._models[impact] = QuadraticModel.fit(*known, self._personal)
            else:
                limits = impact.ends(self.estimation.ranges)
                self._models[impact] = OutcomeModel.fit(*known, limits)
        return self._models[impact]
