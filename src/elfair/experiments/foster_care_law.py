"""The laws of the foster-care-like population, and the grid that integrates them.

Features and label follow these laws whatever decides, so all variants of the population share one
grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from scipy.special import expit

from elfair.experiments.draw import FloatArray, IntArray
from elfair.experiments.quadrature import clipped_normal

GROUPS = (0, 1)
FEATURE_NAMES = ("X1", "X2", "X3", "X4", "X5")
GROUP_PROBABILITY = np.array([0.55, 0.45])

# The laws of the features given the group: one row for each group.
BINARY_PROBABILITY = np.array([[0.62, 0.55, 0.35], [0.50, 0.45, 0.42]])  # X1, X2, X3
NORMAL_MEAN = np.array([[0.50, 0.45], [0.42, 0.40]])  # X4, X5
NORMAL_SD = 0.35
NORMAL_CLIP = (-1.0, 2.0)

# P(Y = 1) = sigmoid(LABEL_SLOPE * (LABEL_COEFFICIENTS @ x + LABEL_INTERCEPT[group])).
LABEL_COEFFICIENTS = np.array([4.0, 3.0, -2.5, 2.0, 1.5])
LABEL_INTERCEPT = np.array([-3.2, -4.8])
LABEL_SLOPE = 2.2

BEHAVIOR_INTERCEPT = -1.5119
BEHAVIOR_COEFFICIENTS = (1.8635, 1.3068, -0.9949, 0.6574, 0.4173)
STRICT_SHIFT = 0.3

NOISE_MEAN = np.array([2.0, 1.0])
NOISE_SD = np.array([0.5, 1.0])
NOISE_CLIP = 3.0  # in standard deviations

# Doubling this moves the truth of a logistic policy with coefficients of 30 on standardised
# features by less than 1e-6 (see the tests).
PANELS = 16


def label_probability(features: FloatArray, group: IntArray) -> FloatArray:
    """P(Y = 1 | x, T)."""
    score = features @ LABEL_COEFFICIENTS + LABEL_INTERCEPT[group]
    probability: FloatArray = expit(LABEL_SLOPE * score)
    return probability


@dataclass(frozen=True, eq=False)
class Grid:
    """The law of the features as weighted points, for exact expectations.

    Attributes
    ----------
    points : array of shape (m, 5)
        Values of X1..X5.
    weight : array of shape (2, m)
        ``weight[t] @ f(points)`` is E[f(X) | T = t].
    label : array of shape (2, m)
        ``label[t]`` is P(Y = 1 | X = points, T = t).

    Examples
    --------
    >>> fine = grid()
    >>> bool(np.allclose(fine.weight.sum(axis=1), 1.0, atol=1e-12))
    True
    """

    points: FloatArray
    weight: FloatArray
    label: FloatArray

    @cached_property
    def accuracy_of_zero(self) -> float:
        """P(Y = 0): the accuracy of the policy that never decides 1."""
        return float(GROUP_PROBABILITY @ (self.weight * (1 - self.label)).sum(axis=1))

    @cached_property
    def accuracy_gain(self) -> FloatArray:
        """Accuracy gained at each point by deciding 1 there rather than 0."""
        return GROUP_PROBABILITY @ (self.weight * (2 * self.label - 1))


@lru_cache(maxsize=4)
def grid(panels: int = PANELS) -> Grid:
    """The population's quadrature grid: X1..X3 enumerated, X4 and X5 integrated.

    Parameters
    ----------
    panels : int, default=16
        Panels along each of X4 and X5: fewer are faster and less exact.

    Returns
    -------
    Grid

    Examples
    --------
    >>> grid(panels=2).points.shape
    (9248, 5)
    """
    nodes, weight_x4 = clipped_normal(list(NORMAL_MEAN[:, 0]), NORMAL_SD, *NORMAL_CLIP, panels)
    _, weight_x5 = clipped_normal(list(NORMAL_MEAN[:, 1]), NORMAL_SD, *NORMAL_CLIP, panels)
    plane = np.column_stack([np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)])
    plane_weight = (weight_x4[:, :, None] * weight_x5[:, None, :]).reshape(len(GROUPS), -1)
    cells = np.array(list(product([0.0, 1.0], repeat=3)))
    chance = BINARY_PROBABILITY[:, None, :]
    cell_weight = np.where(cells == 1, chance, 1 - chance).prod(axis=2)
    points = np.hstack([np.repeat(cells, len(plane), axis=0), np.tile(plane, (len(cells), 1))])
    weight = (cell_weight[:, :, None] * plane_weight[:, None, :]).reshape(len(GROUPS), -1)
    label = np.array([label_probability(points, np.array(group)) for group in GROUPS])
    return Grid(points=points, weight=weight, label=label)
