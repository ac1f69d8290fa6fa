"""Estimators of impact: a class for each, in one table; what they are told and what they learn.

All of them are one: E[I^pi | c] = E[ sum_a pi(a) q(a) + w (I - q(D)) | c ] for any q that does not
depend on the tested rows. They differ in q, and so in the spread and the ends of their rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import isabstract
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from elfair.bounds import get_bound
from elfair.data import LoggedData
from elfair.data.features import Encoding
from elfair.errors import DataError, chosen
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impacts import Ends, Impact, OutcomeModel, QuadraticModel
from elfair.types import Floats

#: A probability below a declared floor by at most this share is below it only by rounding.
ROUNDING = 1e-12
Learns: TypeAlias = Literal["nothing", "mean", "model"]
#: A constant k, and the predictions of an outcome model less k (a table), if there is one.
Subtracted: TypeAlias = tuple[float, Floats | None]


class Term(NamedTuple):
    """A part of g: new * E[impact | given] + logged * E_logged[impact | given]."""

    impact: Impact
    given: Condition | None
    new: float
    logged: float


class ImpactEstimator(ABC):
    """An estimator of impact: what it subtracts before weighting, its rows and their ends.

    A subclass that does not set each of the attributes is a `TypeError`.

    Attributes
    ----------
    name : str
        The value of ``estimator=``.
    note : str
        A few words beside its name in a list of choices; may be empty.
    words : str
        Completes the sentence "the new model's mean is estimated by ...".
    learns : {"nothing", "mean", "model"}
        What it learns from rows that are not tested: the mean impact (unless the constant is an end
        of the range), or an outcome model.
    replaces_logged : bool
        Whether an average replaces ``E_logged[...]``, as in the paper: no bound sees its error.
    one_known_end : bool
        Whether a declared range alone gives its rows one known end, whatever the weights.
    """

    name: ClassVar[str]
    note: ClassVar[str]
    words: ClassVar[str]
    learns: ClassVar[Learns]
    replaces_logged: ClassVar[bool]
    one_known_end: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        missing = [name for name in ImpactEstimator.__annotations__ if name not in vars(cls)]
        if missing and not isabstract(cls):
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")

    @abstractmethod
    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """What it subtracts from impacts before weighting, on rows inside the condition."""

    @abstractmethod
    def ends(self, term: Term, k: float, limits: Ends, largest_weight: float) -> Ends:
        """The ends of a row of a term, if impacts lie inside their limits (infinite if none are
        declared) and k was subtracted.
        """

    def add_rows(
        self, term: Term, by_slot: Floats, offset: Floats, data: LoggedData, baselines: Baselines
    ) -> Ends:
        """Add a term to the rows inside its condition; return its ends."""
        impact, _, new, logged = term
        decisions, estimation = decisions_of(data), baselines.estimation
        k, table = self.subtracted(term, data, baselines)
        away = impact.values(data) - k
        residual = away
        if table is not None:
            taken = decisions.at_logged(table)
            residual = away - taken
            decisions.add_predicted(by_slot, offset, table, new)
            if logged and (expected := decisions.under_behavior(table)) is not None:
                # If all behaviour probabilities are known, remove the luck of the logged draw, too.
                offset += logged * (expected - taken)
        decisions.add_weighted(by_slot, new * residual)
        # In this form k cancels to the last digit if a pair compares like with like.
        offset += logged * away + (new + logged) * k
        limits = impact.ends(estimation.ranges)
        return self.ends(term, k, limits, estimation.largest_weight)


class Paired(ImpactEstimator):
    """q is the mean of candidate rows, or an end of the declared range."""

    name = "paired"
    note = ""
    words = (
        "importance weighting around a constant, that is, k plus the mean of weight times "
        "(impact - k), where k is the mean of the group's candidate rows or an end of the declared "
        "range"
    )
    learns: ClassVar[Learns] = "mean"
    replaces_logged = False
    one_known_end = True

    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """See `Baselines.constant`."""
        return baselines.constant(term.impact, term.given, np.sign(term.new)), None

    def ends(self, term: Term, k: float, limits: Ends, largest_weight: float) -> Ends:
        """A row new * (k + w (I - k)) + logged * I is bilinear in w and I, so the corners."""
        if not np.isfinite(limits).all():
            return -np.inf, np.inf
        corners = []
        for weight, impact in product((0.0, largest_weight), limits):
            weighted = k + (weight * (impact - k) if impact != k else 0.0)
            corners.append(term.new * weighted + term.logged * impact)
        return min(corners), max(corners)


class ImportanceSampling(Paired):
    """The same with 0 instead of the mean."""

    name = "is"
    note = "the paper's"
    words = (
        "plain importance weighting: the mean of weight times impact (with a declared range, "
        "around one of its ends)"
    )
    learns = "nothing"
    replaces_logged = True
    one_known_end = True


class DoublyRobust(ImpactEstimator):
    """q is a regression of the impact on features, groups and decision."""

    name = "dr"
    note = "doubly robust, a regressor's default"
    words = (
        "the doubly robust form: the impact that a model fitted to candidate rows expects from the "
        "new decisions, plus importance weighting of its errors"
    )
    learns = "model"
    replaces_logged = False
    one_known_end = False

    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """The model's predictions, and their average."""
        table = baselines.model(term.impact).of(data)
        return decisions_of(data).centre(table), table

    def ends(self, term: Term, k: float, limits: Ends, largest_weight: float) -> Ends:
        """Baseline and impact lie in the range, so the residual is at most its width in size. Its
        factor new * w + logged is largest at an end of the weights.
        """
        if not np.isfinite([*limits, largest_weight]).all():
            return -np.inf, np.inf
        (low, high), new, logged = limits, term.new, term.logged
        stretch = max(abs(logged), abs(new * largest_weight + logged)) * (high - low)
        levels = [new * a + logged * b for a, b in product(limits, limits)]
        return min(levels) - stretch, max(levels) + stretch


#: By the names that users write.
ESTIMATORS: dict[str, ImpactEstimator] = {
    each.name: each for each in (Paired(), ImportanceSampling(), DoublyRobust())
}


def get_impact_estimator(name: str) -> ImpactEstimator:
    """The estimator of impact with the name that a user writes.

    Examples
    --------
    >>> get_impact_estimator("paired").learns
    'mean'
    """
    return chosen(ESTIMATORS, "estimator", name, "'paired' is a classifier's default.")


@dataclass(frozen=True)
class Estimation:
    """How impacts are estimated, and what was declared about them.

    Parameters
    ----------
    estimator : str
        The name of the estimator of impact.
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

    estimator: str = "paired"
    center: Literal["auto", "range", "mean"] = "auto"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    largest_weight: float = np.inf
    outcome_model: Any = None
    finite_sample: bool = False

    @property
    def impact_estimator(self) -> ImpactEstimator:
        """The estimator of impact; raise if there is none of that name."""
        return get_impact_estimator(self.estimator)

    @property
    def propensity_floor(self) -> float | None:
        """The declared smallest propensity."""
        return 1 / self.largest_weight if np.isfinite(self.largest_weight) else None

    def learns_from(self, impact: Impact) -> bool:
        """Whether the baseline of an impact is learnt from rows that are not tested."""
        learns = self.impact_estimator.learns
        if learns == "mean":
            return self.may_center or not self.at_range_end(impact)
        return learns != "nothing"

    @property
    def may_center(self) -> bool:
        """Whether the constant can be chosen: a finite-sample bound knows both ends of a row
        whatever it is. See `elfair.statistics.settling`.
        """
        known = self.finite_sample and bool(self.ranges) and bool(np.isfinite(self.largest_weight))
        return known and self.center == "auto" and self.impact_estimator.learns == "mean"

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
        if self.estimation.impact_estimator.learns == "nothing":
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
