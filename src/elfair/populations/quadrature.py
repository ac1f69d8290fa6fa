"""Integrals against normal variables that are clipped to an interval.

Clipping moves the mass of each tail into a point at the end of the interval, so a rule for a
clipped normal has the two ends as nodes, beside those that integrate the density in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from elfair.types import Floats

# High, since a smooth integrand gains more from order than from panels; but not so high that a step
# somewhere in the interval spoils more than one short panel.
ORDER = 16

# Over a whole interval of eight standard deviations, on either side of a line.
LINE_ORDER = 32


def clipped_normal(
    means: Sequence[float], sd: float, low: float, high: float, panels: int
) -> tuple[Floats, Floats]:
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
    inside = _density(inner.ravel(), mean, sd) * length.ravel()
    weights = _with_ends(inside, mean, sd, np.array([low, high]))
    return np.concatenate([[low], inner.ravel(), [high]]), weights


def half_planes(
    offsets: Floats,
    slopes: Floats,
    means: Floats,
    sd: float,
    low: float,
    high: float,
    order: int = LINE_ORDER,
) -> tuple[Floats, Floats]:
    """Nodes and weights for pairs of clipped normals, on one side of each of several lines.

    A function that is smooth on that side is integrated to many digits, although it is cut off at
    the line: no node is on the other side, and panels end where the line crosses the square.

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
    # The outer integral is over x0, the inner one over x1 up to the line. Where x1 crosses the line
    # depends on x0 smoothly, except at the kinks, where the crossing leaves the interval.
    ends, (along, across) = np.array([low, high]), slopes
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kinks = -(offsets[:, None] + across * ends) / along
    kinks = np.sort(np.nan_to_num(kinks, nan=low).clip(low, high))
    edges = np.insert(kinks, [0, 2], ends, axis=1)
    x0, length = (
        part.reshape(len(offsets), -1)
        for part in _gauss_legendre(edges[:, :-1], edges[:, 1:], order)
    )
    weight = _with_ends(_density(x0, means[:, 0, None, None], sd) * length, means[:, 0], sd, ends)
    x0 = np.insert(x0, [0, x0.shape[1]], ends, axis=1)

    level = offsets[:, None] + along * x0
    start, stop = np.full_like(level, low), np.full_like(level, high)
    if across == 0:  # all or nothing
        start[level <= 0] = high
    else:
        with np.errstate(over="ignore"):
            crossing = (-level / across).clip(low, high)
        start, stop = (crossing, stop) if across > 0 else (start, crossing)
    x1, length = _gauss_legendre(start, stop, order)
    inside = _density(x1, means[:, 1, None, None, None], sd) * length
    x1 = np.insert(x1, [0, order], ends, axis=2)
    inside = _with_ends(inside, means[:, 1], sd, ends)
    inside[..., [0, -1]] *= level[..., None] + across * ends > 0

    nodes = np.stack([np.broadcast_to(x0[..., None], x1.shape), x1], axis=-1)
    weights = weight[..., None] * inside
    return nodes.reshape(len(offsets), -1, 2), weights.reshape(len(means), len(offsets), -1)


def _with_ends(weights: Floats, means: Floats, sd: float, ends: Floats) -> Floats:
    """Weights of inner nodes along the last axis, between the masses of the clipped tails."""
    mean = means.reshape(-1, *[1] * (weights.ndim - 1))
    shape = (*weights.shape[:-1], 1)
    low, high = (ndtr((ends[0] - mean) / sd), ndtr((mean - ends[1]) / sd))
    return np.concatenate(
        [np.broadcast_to(low, shape), weights, np.broadcast_to(high, shape)], axis=-1
    )


def _gauss_legendre(start: Floats, stop: Floats, order: int) -> tuple[Floats, Floats]:
    """Nodes and weights for each interval, along a new last axis."""
    unit_nodes, unit_weights = _unit_rule(order)
    half = (stop - start)[..., None] / 2
    return start[..., None] + half * (unit_nodes + 1), half * unit_weights


@lru_cache(maxsize=8)
def _unit_rule(order: int) -> tuple[Floats, Floats]:
    """The rule for [-1, 1]."""
    return np.polynomial.legendre.leggauss(order)


def _density(x: Floats, mean: Floats, sd: float) -> Floats:
    density: Floats = np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    return density
