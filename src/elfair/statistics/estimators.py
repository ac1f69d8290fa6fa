"""What is taken out of the impact before it is weighted: nothing, a constant, or a model of it.

All three estimators are one: E[I^pi | c] = E[ sum_a pi(a) q(a) + w (I - q(D)) | c ] for any q that
the tested rows had no part in. Plain importance sampling has q = 0, the paired form a constant k,
and the doubly robust form a regression of the impact on features, groups and decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from elfair.data import LoggedData
from elfair.data.features import Encoding
from elfair.language import Condition, holds
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impacts import Impact, OutcomeModel, QuadraticModel

Estimator = Literal["is", "paired", "dr"]


@dataclass(frozen=True)
class Estimation:
    """How impacts are estimated, and what was declared about them.

    Parameters
    ----------
    estimator : {"is", "paired", "dr"}
        Plain importance sampling, the paired difference, or doubly robust.
    center : {"auto", "range", "mean"}
        The constant of the paired form: the end of the declared range ("range") or the mean of
        candidate rows ("mean"). "auto" is the first where a range is declared and else the second;
        under a finite-sample bound with the largest weight declared as well, whichever promises the
        tighter bounds.
    ranges : mapping of str to (float, float)
        The declared range of each impact that has one.
    largest_weight : float
        1 / (smallest behaviour probability), declared; infinite if nothing was declared.
    outcome_model : scikit-learn regressor, optional
        What the doubly robust form fits; ridge regression unless given.
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

    def learns_from(self, impact: Impact) -> bool:
        """Whether the baseline of an impact is learnt from rows that are then not tested."""
        if self.estimator == "dr" or self.may_center:
            return True
        return self.estimator == "paired" and not self.at_range_end(impact)

    @property
    def may_center(self) -> bool:
        """Whether there is a choice: a finite-sample bound knows both ends of a row wherever the
        constant is. See `elfair.statistics.beyond_the_mean`.
        """
        known = self.finite_sample and bool(self.ranges) and bool(np.isfinite(self.largest_weight))
        return known and self.center == "auto" and self.estimator == "paired"

    def at_range_end(self, impact: Impact) -> bool:
        """Whether the constant sits at an end of the impact's range."""
        known = bool(np.isfinite(impact.ends(self.ranges)).all())
        return known and self.center != "mean"


class Baselines:
    """The baselines q of all impacts, learnt from candidate rows when they are first asked for.

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
        """The constant k for E[impact | given], where it enters g with the given sign.

        At an end of the range: the low one where a large impact is good (g falls with it), so that
        w (I - k) is never negative and no weight, however large, makes the bound err.
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
        """The same with constants in one place."""
        return Baselines(replace(self.estimation, center=center), self._candidate)

    @cached_property
    def encoding(self) -> Encoding:
        """What the outcome models see of a row."""
        return Encoding.learn(self._candidate)

    def model(self, impact: Impact) -> Any:
        """The regression of an impact on features, groups and decision; what its ``of`` gives,
        `elfair.statistics.decisions` can read.
        """
        if impact not in self._models:
            self._models[impact] = decisions_of(self._candidate).outcome_model.fit(
                self._candidate,
                impact,
                self.encoding,
                self.estimation.outcome_model,
                impact.ends(self.estimation.ranges),
                self._personal,
            )
        return self._models[impact]
