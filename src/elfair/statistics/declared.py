"""What you declare about impacts and propensities, held against the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elfair.bounds import get_bound
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.statistics.estimators import Estimation

#: A probability that is below a declared floor by this share is below it by rounding.
ROUNDING = 1e-12


def declared_estimation(
    data: LoggedData,
    *,
    bound: str,
    estimator: Any,
    center: Any,
    impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None,
    propensity_floor: float | None = None,
    outcome_model: Any = None,
) -> Estimation:
    """How impacts are estimated; raise where the data contradict what was declared."""
    return Estimation(
        estimator,
        center,
        _ranges(data, impact_range),
        _largest_weight(data, propensity_floor),
        outcome_model,
        get_bound(bound).kind == "finite-sample",
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
        seen = values[~np.isnan(values)]  # before the test, held-out impacts are hidden
        outside = ~((seen >= low) & (seen <= high))
        if outside.any():
            rows = "rows" if seen.size == data.n else "candidate rows"
            raise DataError(
                f"impact '{name}' leaves its declared range [{low:g}, {high:g}] in "
                f"{outside.sum()} of {seen.size} {rows} (it goes from {seen.min():g} to "
                f"{seen.max():g}).",
                hint="the declaration is wrong: widen the range to what is possible.",
            )
        ranges[data.impact_key(name)] = (low, high)
    return ranges


def _largest_weight(data: LoggedData, floor: float | None) -> float:
    if floor is None:
        return np.inf
    known = [p for p in (data.propensity, data.behavior) if p is not None]
    for probabilities in known:
        # 1 - 0.9 is below 0.1 by rounding alone.
        under = ~(probabilities >= floor * (1 - ROUNDING)) & (probabilities > 0)
        if under.any():
            raise DataError(
                f"propensity_floor is {floor:g}, but {under.sum()} behaviour probabilities are "
                f"below it; the smallest is {probabilities[under].min():g}.",
                hint="the declaration is wrong: declare the smallest probability that can occur.",
            )
    return 1 / floor
