"""The laws of the foster-care-like population, and the grids that integrate them.

Features and label follow these laws whatever decides, so all variants of the population share the
grids, and the rates of a policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from scipy.special import expit

from elfair.errors import InputError
from elfair.experiments.draw import FloatArray, IntArray
from elfair.experiments.population import GROUPS, Policy, chance_of_one
from elfair.experiments.quadrature import clipped_normal, half_planes
from elfair.experiments.rules import LinearRule, Mixture

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

PANELS = 16
# Most policies are so smooth that coarse grids will do; the steepest that a search may find, with
# coefficients of 50 on standardised features, need the finest. Each is exact to 1e-6 if it differs
# from the one before by less than this (see the tests).
COARSEST = 4
FINER_PANELS = ((8, 1e-6), (16, 1e-5), (24, np.inf))

CELLS = np.array(list(product([0.0, 1.0], repeat=3)))  # what X1..X3 can be
_CHANCE = BINARY_PROBABILITY[:, None, :]
CELL_PROBABILITY = np.where(CELLS == 1, _CHANCE, 1 - _CHANCE).prod(axis=2)  # one row for each group


def label_probability(features: FloatArray, group: IntArray) -> FloatArray:
    """P(Y = 1 | x, T)."""
    score = features @ LABEL_COEFFICIENTS + LABEL_INTERCEPT[group]
    probability: FloatArray = expit(LABEL_SLOPE * score)
    return probability


def impact(alpha: float, decision: IntArray, group: IntArray, deviation: FloatArray) -> FloatArray:
    """The paper's delayed impact; `deviation` is the noise in standard deviations."""
    noise = NOISE_MEAN[group] + NOISE_SD[group] * deviation
    impact: FloatArray = alpha * decision + (1 - alpha) * noise
    return impact


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


@lru_cache(maxsize=6)
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
    points = np.hstack([np.repeat(CELLS, len(plane), axis=0), np.tile(plane, (len(CELLS), 1))])
    weight = CELL_PROBABILITY[:, :, None] * plane_weight[:, None, :]
    return _grid(points, weight)


def decided_one(rule: LinearRule) -> Grid:
    """The part of the law in which a rule decides 1, as a grid: its weights sum to P(D = 1 | T).

    Examples
    --------
    >>> first = LinearRule(-0.5, np.array([1.0, 0.0, 0.0, 0.0, 0.0]))  # X1 == 1
    >>> decided_one(first).weight.sum(axis=1).round(9)
    array([0.62, 0.5 ])
    """
    slopes = np.asarray(rule.coefficients, dtype=np.float64)
    if slopes.shape != (len(FEATURE_NAMES),):
        raise InputError(
            f"A rule about this population needs {len(FEATURE_NAMES)} coefficients. Got shape "
            f"{slopes.shape} instead.",
            hint=f"the features are {', '.join(FEATURE_NAMES)}.",
        )
    offsets = CELLS @ slopes[:3] + rule.intercept
    plane, plane_weight = half_planes(offsets, slopes[3:], NORMAL_MEAN, NORMAL_SD, *NORMAL_CLIP)
    points = np.hstack([np.repeat(CELLS, plane.shape[1], axis=0), plane.reshape(-1, 2)])
    return _grid(points, CELL_PROBABILITY[:, :, None] * plane_weight)


@dataclass(frozen=True)
class Rates:
    """What a policy does to people, whatever becomes of it: the same in all variants.

    Parameters
    ----------
    accuracy : float
        P(decision == Y).
    positive : tuple of float
        P(decision == 1 | T), by group.
    """

    accuracy: float
    positive: tuple[float, float]


def rates(policy: Policy | Rates) -> Rates:
    """The rates of a policy, or these themselves if they have been computed before.

    Examples
    --------
    >>> never = LinearRule(-1.0, np.zeros(5))
    >>> rates(never).positive
    (0.0, 0.0)
    """
    if isinstance(policy, Rates):
        return policy
    if isinstance(policy, Mixture):
        drawn = [(s, r) for s, r in zip(policy.shares, policy.rules, strict=True) if s > 0]
        parts = [(part.accuracy, *part.positive) for part in (rates(rule) for _, rule in drawn)]
        return _as_rates(np.array([share for share, _ in drawn]) @ np.array(parts))
    if isinstance(policy, LinearRule):
        return _as_rates(_rule_rates(policy))
    found = _grid_rates(policy, COARSEST)
    for panels, agreement in FINER_PANELS:
        before, found = found, _grid_rates(policy, panels)
        if np.abs(found - before).max() < agreement:
            break
    return _as_rates(found)


def _as_rates(found: FloatArray) -> Rates:
    accuracy, zero, one = found.tolist()
    return Rates(accuracy, (zero, one))


def _grid_rates(policy: Policy, panels: int) -> FloatArray:
    """Accuracy and the positive rate of each group."""
    whole = grid(panels)
    one = chance_of_one(policy, whole.points)
    return np.append(whole.accuracy_of_zero + whole.accuracy_gain @ one, whole.weight @ one)


def _rule_rates(rule: LinearRule) -> FloatArray:
    """The same of a rule that decides outright."""
    side = decided_one(rule)
    accuracy = grid(COARSEST).accuracy_of_zero + side.accuracy_gain.sum()
    return np.append(accuracy, side.weight.sum(axis=1))


def _grid(points: FloatArray, weight: FloatArray) -> Grid:
    """A grid of these points, whose weights come cell by cell."""
    label = np.array([label_probability(points, np.array(group)) for group in GROUPS])
    return Grid(points=points, weight=weight.reshape(len(GROUPS), -1), label=label)
