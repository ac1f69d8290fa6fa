"""Estimators: what to subtract from an impact before weighting it, and what you declare about it.

All three estimators are one: E[I^pi | c] = E[ sum_a pi(a) q(a) + w (I - q(D)) | c ] for any q that
does not depend on the tested rows. Plain importance sampling has q = 0, the paired form a constant
k, and the doubly robust form a regression of the impact on features, groups and decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from elfair.bounds import get_bound
from elfair.data import LoggedData
from elfair.data.features import Encoding
from elfair.errors import DataError
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.statistics.impacts import Impact, OutcomeModel, QuadraticModel

Estimator = Literal["is", "paired", "dr"]

#: A probability below a declared floor by at most this share is below it only by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimation:
    """How impacts are estimated, and what was declared about them.

    Parameters
    ----------
    estimator : {"is", "paired", "dr"}
        Plain importance sampling, the paired difference, or doubly robust.
    center : {"auto", "range", "mean"}
        The constant of the paired form: an end of the declared range ("range") or the mean of
        candidate rows ("mean"). "auto" is "range" if a range is declared, otherwise "mean"; under a
        finite-sample bound with a declared largest weight, the one that promises tighter bounds.
    ranges : mapping of str to (float, float)
        The declared range of each impact that has one.
    largest_weight : float
        The declared 1 / (smallest behaviour probability); infinite if not declared.
    outcome_model : scikit-learn regressor, optional
        The regression of the doubly robust form; by default ridge regression.
    finite_sample : bool
        Whether the bound holds for every number of rows.

    Examples
    --------
    >>> Estimation().estimator
    'paired'
    """

    estimator: Estimator = "paired"
    center: Literal["auto", "range", "mean"] = "auto"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    largest_weight: float = np.inf
    outcome_model: Any = None
    finite_sample: bool = False

    @property
    def propensity_floor(self) -> float | None:
        """The declared smallest propensity."""
        return 1 / self.largest_weight if np.isfinite(self.largest_weight) else None

    def learns_from(self, impact: Impact) -> bool:
        """Whether the baseline of an impact is learnt from rows that are not tested."""
        if self.estimator == "dr" or self.may_center:
            return True
        return self.estimator == "paired" and not self.at_range_end(impact)

    @property
    def may_center(self) -> bool:
        """Whether the constant can be chosen: a finite-sample bound knows both ends of a row
        whatever it is. See `elfair.statistics.beyond_the_mean`.
        """
        known = self.finite_sample and bool(self.ranges) and bool(np.isfinite(self.largest_weight))
        return known and self.center == "auto" and self.estimator == "paired"

    def at_range_end(self, impact: Impact) -> bool:
        """Whether the constant is an end of the impact's range."""
        known = bool(np.isfinite(impact.ends(self.ranges)).all())
        return known and self.center != "mean"


def declared_estimation(data: LoggedData, parameters: Mapping[str, Any]) -> Estimation:
    """How impacts are estimated, by the parameters of an estimator or of `certify`; raise if the
    data contradict a declaration.
    """
    return Estimation(
        parameters["estimator"],
        parameters["center"],
        _ranges(data, parameters["impact_range"]),
        _largest_weight(data, parameters.get("propensity_floor")),  # a regressor has none
        parameters.get("outcome_model"),
        get_bound(parameters["bound"]).kind == "finite-sample",
    )


def _ranges(
    data: LoggedData,
    declared: tuple[float, float] | Mapping[str, tuple[float, float]] | None,
) -> dict[str, tuple[float, float]]:
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        declared = dict.fromkeys(data.impacts, declared)
    ranges = {}
    for name, ends in declared.items():
        low, high = (float(end) for end in ends)
        values = data.impact(data.impact_key(name))
        seen = values[~np.isnan(values)]  # held-out impacts are hidden before the test
        outside = ~((seen >= low) & (seen <= high))
        if outside.any():
            rows = "rows" if seen.size == data.n else "candidate rows"
            raise DataError(
                f"impact '{name}' leaves its declared range [{low:g}, {high:g}] in "
                f"{outside.sum()} of {seen.size} {rows} (it goes from {seen.min():g} to "
                f"{seen.max():g}).",
                hint="the declaration is wrong: widen the range to all possible values.",
            )
        ranges[data.impact_key(name)] = (low, high)
    return ranges


def _largest_weight(data: LoggedData, floor: float | None) -> float:
    if floor is None:
        return np.inf
    known = [p for p in (data.propensity, data.behavior) if p is not None]
    for probabilities in known:
        # 1 - 0.9 is below 0.1 only by rounding.
        under = ~(probabilities >= floor * (1 - ROUNDING)) & (probabilities > 0)
        if under.any():
            raise DataError(
                f"propensity_floor is {floor:g}, but {under.sum()} behaviour probabilities are "
                f"below it; the smallest is {probabilities[under].min():g}.",
                hint="the declaration is wrong: declare the smallest probability that can occur.",
            )
    return 1 / floor


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
    >>> Baselines(Estimation(), data).constant(Impact("impact"), None, sign=-1)
    3.0
    >>> known = Estimation(ranges={"impact": (0, 9)})
    >>> Baselines(known, data).constant(Impact("impact"), None, sign=-1)
    0.0
    """

    def __init__(
        self, estimation: Estimation, candidate: LoggedData, *, personal: bool = False
    ) -> None:
        self.estimation = estimation
        self._personal = personal
        self._candidate = candidate
        self._means: dict[tuple[Impact, Condition | None], float] = {}
        self._models: dict[Impact, OutcomeModel | QuadraticModel] = {}

    def constant(self, impact: Impact, given: Condition | None, sign: float) -> float:
        """The constant k for E[impact | given], which enters g with the given sign.

        An end of the range is the low one if a large impact is good (g falls with it): w (I - k) is
        then never negative, and no weight, however large, invalidates the bound.
        """
        if self.estimation.at_range_end(impact):
            low, high = impact.ends(self.estimation.ranges)
            return float(low if sign < 0 else high)
        if self.estimation.estimator == "is":
            return 0.0
        if (impact, given) not in self._means:
            values = impact.values(self._candidate)[holds(given, self._candidate)]
            self._means[impact, given] = float(values.mean()) if values.size else 0.0
        return self._means[impact, given]

    def centred_at(self, center: Literal["range", "mean"]) -> Baselines:
        """The same baselines with constants at the range's end or at the mean."""
        return Baselines(replace(self.estimation, center=center), self._candidate)

    @cached_property
    def encoding(self) -> Encoding:
        """What outcome models see of a row."""
        return Encoding.learn(self._candidate)

    def model(self, impact: Impact) -> Any:
        """The regression of an impact on features, groups and decision."""
        if impact not in self._models:
            known = self._candidate, impact, self.encoding, self.estimation.outcome_model
            if self._candidate.decision_kind == "numbers":
                self._models[impact] = QuadraticModel.fit(*known, self._personal)
            else:
                limits = impact.ends(self.estimation.ranges)
                self._models[impact] = OutcomeModel.fit(*known, limits)
        return self._models[impact]
