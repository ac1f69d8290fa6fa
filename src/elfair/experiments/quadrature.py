"""Integrals against normal variables that are clipped to an interval.

Clipping moves the mass of each tail into a point at the end of the interval, so a rule for a
clipped normal has the two ends as nodes, beside those that integrate the density in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

FloatArray = NDArray[np.float64]

# High enough that a smooth integrand gains more from order than from panels, low enough that a
# step somewhere in the interval spoils only one short panel.
ORDER = 16

# Over a whole interval of eight standard deviations, on either side of a line.
LINE_ORDER = 32


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
    edges = np.linspace(low, high, panels + 1)
    inner, length = _gauss_legendre(edges[:-1], edges[1:], ORDER)
    mean = np.asarray(means, dtype=np.float64)[:, None]
    weights = np.hstack(
        [
            ndtr((low - mean) / sd),
            _density(inner.ravel(), mean, sd) * length.ravel(),
            ndtr((mean - high) / sd),
        ]
    )
    return np.concatenate([[low], inner.ravel(), [high]]), weights


def half_planes(
    offsets: FloatArray,
    slopes: FloatArray,
    means: FloatArray,
    sd: float,
    low: float,
    high: float,
    order: int = LINE_ORDER,
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for pairs of clipped normals, on one side of each of several lines.

    What is smooth on that side is integrated to many digits, although cut off at the line: no node
    lies on the other side, and panels end where the line enters and leaves the square.

    Parameters
    ----------
    offsets : array of shape (lines,)
        The side of a line is where ``offset + slopes @ x > 0``.
    slopes : array of shape (2,)
        The same for all lines; one or both may be 0.
    means : array of shape (pairs, 2)
        Means of each pair of independent variables before clipping; all pairs share the nodes.
    sd : float
        Their common standard deviation before clipping.
    low, high : float
        The interval of both variables.
    order : int, default=32
        Nodes of each Gauss-Legendre rule.

    Returns
    -------
    nodes : array of shape (lines, m, 2)
    weights : array of shape (pairs, lines, m)
        ``weights[p, l] @ f(nodes[l])`` is E[f(X) 1{X is on the side of line l}] for the pair p.

    Examples
    --------
    >>> both = np.zeros((1, 2))  # two standard normals, of which x0 + x1 > 1
    >>> nodes, weights = half_planes(np.array([-1.0]), np.ones(2), both, 1.0, -9.0, 9.0)
    >>> bool(np.isclose(weights.sum(), ndtr(-1 / np.sqrt(2)), atol=1e-9))
    True
    """
    # As a function of the other feature, the steeper one crosses the line with a slope of at most
    # 1: the integral over it is then a smooth function of the other one, between two kinks.
    inner = int(abs(slopes[1]) >= abs(slopes[0]))
    along, across = slopes[1 - inner], slopes[inner]
    ends = np.array([low, high])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kinks = -(offsets[:, None] + across * ends) / along
    kinks = np.sort(np.nan_to_num(kinks, nan=low).clip(low, high))
    edges = np.hstack([np.full_like(kinks[:, :1], low), kinks, np.full_like(kinks[:, :1], high)])
    outer, length = _gauss_legendre(edges[:, :-1], edges[:, 1:], order)
    outer, length = outer.reshape(len(offsets), -1), length.reshape(len(offsets), -1)
    outer = np.hstack([edges[:, :1], outer, edges[:, -1:]])

    level = offsets[:, None] + along * outer
    if across == 0:  # so is `along`: all or nothing
        start, stop = np.where(level > 0, low, high), np.full_like(level, high)
    else:
        with np.errstate(over="ignore"):
            crossing = (-level / across).clip(low, high)
        start = crossing if across > 0 else np.full_like(level, low)
        stop = np.full_like(level, high) if across > 0 else crossing
    between, width = _gauss_legendre(start, stop, order)
    at_ends = np.broadcast_to(ends, (*level.shape, 2))
    across_nodes = np.concatenate([between, at_ends], axis=2)
    is_decided = (level[:, :, None] + across * ends) > 0

    mean = means[:, 1 - inner, None, None]
    weight = np.concatenate(
        [
            np.broadcast_to(ndtr((low - mean) / sd), (len(means), len(offsets), 1)),
            _density(outer[:, 1:-1], mean, sd) * length,
            np.broadcast_to(ndtr((mean - high) / sd), (len(means), len(offsets), 1)),
        ],
        axis=2,
    )
    mean = means[:, inner, None, None, None]
    tails = np.concatenate([ndtr((low - mean) / sd), ndtr((mean - high) / sd)], axis=3)
    conditional = np.concatenate([_density(between, mean, sd) * width, tails * is_decided], axis=3)
    weights = weight[..., None] * conditional
    nodes = np.empty((*across_nodes.shape, 2))
    nodes[..., 1 - inner], nodes[..., inner] = outer[:, :, None], across_nodes
    return nodes.reshape(len(offsets), -1, 2), weights.reshape(len(means), len(offsets), -1)


def _gauss_legendre(
    start: FloatArray, stop: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for each interval, along a new last axis."""
    unit_nodes, unit_weights = _unit_rule(order)
    half = (stop - start)[..., None] / 2
    return start[..., None] + half * (unit_nodes + 1), half * unit_weights


@lru_cache(maxsize=8)
def _unit_rule(order: int) -> tuple[FloatArray, FloatArray]:
    """The rule for [-1, 1]."""
    return np.polynomial.legendre.leggauss(order)


def _density(x: FloatArray, mean: FloatArray, sd: float) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    return density
