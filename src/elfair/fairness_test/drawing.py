"""Pictures of groups and of the ladder, for the certificate; no promise rests on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from elfair.certificate import pictures
from elfair.certificate.pictures import DecisionPicture, GroupPicture
from elfair.data import LoggedData
from elfair.language.conditions import Column, Condition, who
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.statistics import Impact, Rows, mean_part
from elfair.statistics.claims import conditions_of
from elfair.statistics.decisions import decisions_of
from elfair.statistics.plan import Plan
from elfair.statistics.units import Units
from elfair.types import Array, Floats

#: What each interval alone holds with, if averages are normal.
CONFIDENCE = 0.9
#: Weights are drawn on a logarithmic scale; probabilities are not.
WEIGHT_EDGES = (0.0, *(2.0**k for k in range(-6, 7)), np.inf)
PROBABILITY_EDGES = tuple(k / 20 for k in range(21))


def group_pictures(plan: Plan, data: LoggedData, free: Floats) -> tuple[GroupPicture, ...]:
    """Everyone, and each group that the plan speaks of, on the tested rows.

    Parameters
    ----------
    plan : Plan
        What was tested.
    data : LoggedData
        The rows.
    free : ndarray of shape (channels, n)
        The policy on them.
    """
    return tuple(_picture(given, plan, data, free) for given in groups_of(plan))


def groups_of(plan: Plan) -> tuple[Condition | None, ...]:
    """Everyone, and each group that a plan speaks of."""
    return tuple(dict.fromkeys([None, *conditions_of(plan.claims)]))


def impact_series(plan: Plan, data: LoggedData) -> tuple[list[pictures.SeriesPicture], list[Rows]]:
    """Each impact of each group, and the rows whose mean estimates it under a policy.

    Parameters
    ----------
    plan : Plan
        What is tested.
    data : LoggedData
        Rows that are not.
    """
    series: list[pictures.SeriesPicture] = []
    estimates: list[Rows] = []
    if data.propensity is None:
        return series, estimates
    for given in groups_of(plan):
        rows = _inside(given, data)
        if rows.size < 2:
            continue
        for name in data.impacts:
            logged = float(_observed(plan.baselines.values(Impact(name), data), rows, data).mean())
            series.append(pictures.SeriesPicture(name, who(given), logged))
            estimates.append(_rows(name, given, plan, data))
    return series, estimates


def _rows(name: str, given: Condition | None, plan: Plan, data: LoggedData) -> Rows:
    """The rows whose mean estimates an impact of a group under a policy, without confounding."""
    return mean_part(Mean(Column(name), given), data, plan.baselines.at(1.0)).rows


def _picture(given: Condition | None, plan: Plan, data: LoggedData, free: Floats) -> GroupPicture:
    rows = _inside(given, data)
    weights = propensities = probabilities = None
    impacts: tuple[pictures.ImpactPicture, ...] = ()
    if data.propensity is not None and rows.size > 1:
        weight = decisions_of(data).weights(free, rows).values
        weights = _histogram(weight, WEIGHT_EDGES)
        if data.probability is not None:  # a density has no scale of its own
            propensity = data.probability[rows]
            propensities = _histogram(propensity, PROBABILITY_EDGES)
            probabilities = _histogram(weight * propensity, PROBABILITY_EDGES)
        impacts = tuple(
            pictures.ImpactPicture(
                name,
                _interval(_observed(plan.baselines.values(Impact(name), data), rows, data)),
                _interval(_rows(name, given, plan, data).values(free)),
            )
            for name in data.impacts
        )
    return GroupPicture(
        condition=who(given),
        n=rows.size,
        decisions=_decisions(rows, data, free),
        impacts=impacts,
        weights=weights,
        propensities=propensities,
        probabilities=probabilities,
    )


def _decisions(rows: Array, data: LoggedData, free: Floats) -> tuple[DecisionPicture, ...]:
    if data.decision is None or not rows.size:
        return ()
    return tuple(DecisionPicture(*each) for each in decisions_of(data).compared(free, rows))


def _inside(given: Condition | None, data: LoggedData) -> NDArray[np.intp]:
    return np.flatnonzero(holds(given, data))


def _observed(impact: Floats, rows: NDArray[np.intp], data: LoggedData) -> Floats:
    """The impacts of some rows, or of their units."""
    units = Units.of(data, rows)
    return impact[rows] if units is None else units.gather(units.share * impact[rows])


def _interval(values: Floats) -> pictures.Interval:
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / sqrt(values.size)
    half = float(stdtrit(values.size - 1, (1 + CONFIDENCE) / 2)) * error
    return pictures.Interval(mean, mean - half, mean + half)


def _histogram(values: Floats, edges: Sequence[float]) -> pictures.Histogram:
    """Counts by bin; what lies beyond the edges counts in the outermost bins."""
    # numpy wants finite edges; the last one is then as large as needed.
    finite = [edge if isfinite(edge) else max(float(values.max()), edges[-2]) + 1 for edge in edges]
    counts, _ = np.histogram(np.clip(values, finite[0], finite[-1]), bins=finite)
    return pictures.Histogram(tuple(edges), tuple(int(count) for count in counts))
