"""Integrals against normal variables that are clipped to an interval.

Clipping moves the mass of each tail into a point at the end of the interval, so a rule for a
clipped normal has the two ends as nodes, beside those that integrate the density in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

FloatArray = NDArray[np.float64]

# High enough that a smooth integrand gains more from order than from panels, low enough that a
# step somewhere in the interval spoils only one short panel.
ORDER = 16


def clipped_normal(
    means: Sequence[float], sd: float, low: float, high: float, panels: int
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for normal variables clipped to an interval.

    Parameters
    ----------
    means : sequence of float
        Mean of each variable before clipping; all of them share the nodes.
    sd : float
        Their common standard deviation before clipping.
    low, high : float
        The ends of the interval.
    panels : int
        How many equal panels carry a Gauss-Legendre rule of order 16 each.

    Returns
    -------
    nodes : array of shape (k,)
        Increasing; the first is `low` and the last is `high`.
    weights : array of shape (len(means), k)
        ``weights[j] @ f(nodes)`` approximates the expectation of f of variable j.

    Examples
    --------
    >>> nodes, weights = clipped_normal([0.0], sd=1.0, low=0.0, high=8.0, panels=4)
    >>> float(weights[0, 0])  # half of the mass is clipped to 0
    0.5
    >>> round(float(weights[0] @ nodes**2), 9)
    0.5
    """
    unit_nodes, unit_weights = np.polynomial.legendre.leggauss(ORDER)
    edges = np.linspace(low, high, panels + 1)
    half = (high - low) / (2 * panels)
    inner = (edges[:-1, None] + half * (unit_nodes + 1)).ravel()
    mean = np.asarray(means, dtype=np.float64)[:, None]
    density = np.exp(-0.5 * ((inner - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    weights = np.hstack(
        [
            ndtr((low - mean) / sd),
            density * np.tile(half * unit_weights, panels),
            ndtr((mean - high) / sd),
        ]
    )
    return np.concatenate([[low], inner, [high]]), weights
