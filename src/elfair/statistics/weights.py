"""Importance weights: how much more often the new model takes the logged decision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elfair.data import LoggedData

Floats = NDArray[np.float64]


def importance_weights(data: LoggedData, free: Floats) -> Floats:
    """pi(D | x) / beta(D | x) for the logged decision D of each row.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], decision=[0, 1], propensity=[0.5, 0.8])
    >>> importance_weights(data, np.array([[0.25, 0.4]])).tolist()
    [1.5, 0.5]
    """
    assert data.decision_index is not None
    assert data.propensity is not None
    every = np.vstack([1 - free.sum(axis=0), free])
    weights: Floats = every[data.decision_index, np.arange(data.n)] / data.propensity
    return weights
