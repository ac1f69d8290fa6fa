"""A population like the foster-care data of the ELF paper, whose truth can be computed.

The paper's own data are restricted. In this stand-in a logistic regression is about 90 % accurate
and harms group 1. The law of every variable is known, so the accuracy and the expected impact of
any policy are integrals rather than estimates from a test set. The laws of features and label do
not depend on the decisions, so all variants of the population share the grids of these integrals,
and the rates of a policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from scipy.special import expit

from elfair.errors import InputError
from elfair.populations.base import (
    GROUPS,
    Decider,
    Draw,
    Truth,
    chance_of_one,
    check_alpha,
    check_group,
    check_seed,
    check_size,
    no_worse_than_logged,
)
from elfair.populations.quadrature import clipped_normal, half_planes
from elfair.populations.rules import LinearRule, LogisticModel, Mixture
from elfair.types import Floats, Integers

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
# Coarse grids are enough for most policies, which are smooth. The steepest that a search can find,
# with coefficients of 50 on standardised features, need the finest. A grid is exact to 1e-6 if it
# differs from the one before by less than this (see the tests).
COARSEST = 4
FINER_PANELS = ((8, 1e-6), (16, 1e-5), (24, np.inf))

CELLS = np.array(list(product([0.0, 1.0], repeat=3)))  # all values of X1..X3
_CHANCE = BINARY_PROBABILITY[:, None, :]
CELL_PROBABILITY = np.where(CELLS == 1, _CHANCE, 1 - _CHANCE).prod(axis=2)  # one row for each group


def label_probability(features: Floats, group: Integers) -> Floats:
    """P(Y = 1 | x, T)."""
    score = features @ LABEL_COEFFICIENTS + LABEL_INTERCEPT[group]
    probability: Floats = expit(LABEL_SLOPE * score)
    return probability


def impact(alpha: float, decision: Integers, group: Integers, deviation: Floats) -> Floats:
    """The paper's delayed impact; `deviation` is the noise in standard deviations."""
    noise = NOISE_MEAN[group] + NOISE_SD[group] * deviation
    impact: Floats = alpha * decision + (1 - alpha) * noise
    return impact


@dataclass(frozen=True, eq=False)
class Grid:
    """The law of the features as weighted points, to compute expectations.

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

    points: Floats
    weight: Floats
    label: Floats

    @cached_property
    def accuracy_of_zero(self) -> float:
        """P(Y = 0), the accuracy of a policy that never decides 1."""
        return float(GROUP_PROBABILITY @ (self.weight * (1 - self.label)).sum(axis=1))

    @cached_property
    def accuracy_gain(self) -> Floats:
        """The gain in accuracy of deciding 1 rather than 0 at each point."""
        return GROUP_PROBABILITY @ (self.weight * (2 * self.label - 1))


@lru_cache(maxsize=6)
def grid(panels: int = PANELS) -> Grid:
    """The population's quadrature grid: X1..X3 enumerated, X4 and X5 integrated.

    Parameters
    ----------
    panels : int, default=16
        Panels along each of X4 and X5; fewer are faster and less precise.

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
    """A grid of the points where a rule decides 1; its weights sum to P(D = 1 | T).

    Examples
    --------
    >>> first = LinearRule(-0.5, np.array([1.0, 0.0, 0.0, 0.0, 0.0]))  # X1 == 1
    >>> decided_one(first).weight.sum(axis=1).round(9)
    array([0.62, 0.5 ])
    """
    slopes = np.asarray(rule.coefficients, dtype=np.float64)
    if slopes.shape != (len(FEATURE_NAMES),):
        raise InputError(
            f"A rule for this population needs {len(FEATURE_NAMES)} coefficients. Got shape "
            f"{slopes.shape} instead.",
            hint=f"the features are {', '.join(FEATURE_NAMES)}.",
        )
    offsets = CELLS @ slopes[:3] + rule.intercept
    plane, plane_weight = half_planes(offsets, slopes[3:], NORMAL_MEAN, NORMAL_SD, *NORMAL_CLIP)
    points = np.hstack([np.repeat(CELLS, plane.shape[1], axis=0), plane.reshape(-1, 2)])
    return _grid(points, CELL_PROBABILITY[:, :, None] * plane_weight)


@dataclass(frozen=True)
class Rates:
    """The decisions of a policy in short, the same in all variants of the population.

    Parameters
    ----------
    accuracy : float
        P(decision == Y).
    positive : tuple of float
        P(decision == 1 | T), by group.
    """

    accuracy: float
    positive: tuple[float, float]


def rates(policy: Decider | Rates) -> Rates:
    """The rates of a policy; rates that were computed before are returned as they are.

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


def _as_rates(found: Floats) -> Rates:
    accuracy, zero, one = found.tolist()
    return Rates(accuracy, (zero, one))


def _grid_rates(policy: Decider, panels: int) -> Floats:
    """Accuracy and the positive rate of each group."""
    whole = grid(panels)
    one = chance_of_one(policy, whole.points)
    return np.append(whole.accuracy_of_zero + whole.accuracy_gain @ one, whole.weight @ one)


def _rule_rates(rule: LinearRule) -> Floats:
    """Accuracy and positive rates of a rule that decides without chance."""
    side = decided_one(rule)
    accuracy = grid(COARSEST).accuracy_of_zero + side.accuracy_gain.sum()
    return np.append(accuracy, side.weight.sum(axis=1))


def _grid(points: Floats, weight: Floats) -> Grid:
    """A grid from points and their weights by cell."""
    label = np.array([label_probability(points, np.array(group)) for group in GROUPS])
    return Grid(points=points, weight=weight.reshape(len(GROUPS), -1), label=label)


@dataclass(frozen=True)
class FosterCare:
    """A population of decisions about young people in foster care, with known truth.

    The group T is 1 with probability 0.45. X1..X3 are binary, X4 and X5 are normal clipped to
    [-1, 2], all of them independent given T. The label Y is a logistic function of the features
    and the group, the logged decision D is sampled from a logistic model of the features alone,
    and the impact is ``alpha * D + (1 - alpha) * noise``, where the noise is N(2, 0.5) in group 0
    and N(1, 1) in group 1 (mean and standard deviation).

    Parameters
    ----------
    alpha : float in [0, 1], default=0.9
        How much the decision matters for the impact.
    strict : bool, default=False
        Raise the behaviour model's intercept by 0.3. More logged decisions are then 1, and a
        policy that aims at accuracy alone harms both groups rather than group 1 only.
    clipped : bool, default=False
        Clip the noise to its mean +- 3 standard deviations, so that the impact has a range.

    Notes
    -----
    The truth of a `LinearRule`, of a `Mixture` of them, and of a logistic policy with coefficients
    of up to 50 on standardised features is exact to 1e-6. Other policies that jump, such as a tree,
    do so between the nodes of the quadrature; their truth is exact to about 1e-3.

    Examples
    --------
    >>> population = FosterCare(alpha=0.9)
    >>> round(population.accuracy(population.behavior), 4)
    0.7093
    >>> always = lambda X: np.ones(len(X))
    >>> round(population.impact(always, group=1), 6)  # 0.9 + 0.1 * 1
    1.0
    >>> population.sample(5, seed=0).decision.shape
    (5,)
    """

    alpha: float = 0.9
    strict: bool = False
    clipped: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        check_alpha(self.alpha)
        for name in ("strict", "clipped"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(
                    f"'{name}' must be True or False. Got {getattr(self, name)!r} instead.",
                    hint="the default is False.",
                )

    @property
    def behavior(self) -> LogisticModel:
        """The model that took the logged decisions."""
        shift = STRICT_SHIFT if self.strict else 0.0
        return LogisticModel(BEHAVIOR_INTERCEPT + shift, BEHAVIOR_COEFFICIENTS)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group, and an accuracy of at least 0.75."""
        return [*no_worse_than_logged(), "accuracy >= 0.75"]

    @property
    def impact_range(self) -> tuple[float, float] | None:
        """The smallest and the largest possible impact; None if the noise is not clipped."""
        if not self.clipped:
            return None
        low = (NOISE_MEAN - NOISE_CLIP * NOISE_SD).min()
        high = (NOISE_MEAN + NOISE_CLIP * NOISE_SD).max()
        return float((1 - self.alpha) * low), float(self.alpha + (1 - self.alpha) * high)

    @property
    def propensity_floor(self) -> float:
        """The smallest probability that the behaviour model gives any decision."""
        # Its score is linear, so the extremes are at corners of the box of possible features.
        corners = np.array(list(product(*[(0.0, 1.0)] * 3, *[NORMAL_CLIP] * 2)))
        return float(self.behavior.predict_proba(corners).min())

    def sample(self, n: int, seed: int) -> Draw:
        """Logged decisions, a function of the population, `n` and `seed` alone.

        Populations with different parameters share all random numbers of a seed.

        Parameters
        ----------
        n : int
            How many people, at least 1.
        seed : int
            Seed of `numpy.random.default_rng`, at least 0.

        Returns
        -------
        Draw
        """
        check_size(n)
        check_seed(seed)
        rng = np.random.default_rng(seed)
        group = (rng.random(n) < GROUP_PROBABILITY[1]).astype(np.int64)
        binary = rng.random((n, 3)) < BINARY_PROBABILITY[group]
        normal = NORMAL_MEAN[group] + NORMAL_SD * rng.standard_normal((n, 2))
        features = np.hstack([binary, normal.clip(*NORMAL_CLIP)])
        label = (rng.random(n) < label_probability(features, group)).astype(np.int64)
        chances = self.behavior.predict_proba(features)
        decision = (rng.random(n) < chances[:, 1]).astype(np.int64)
        deviation = rng.standard_normal(n)
        if self.clipped:
            deviation = deviation.clip(-NOISE_CLIP, NOISE_CLIP)
        return Draw(
            features=features,
            label=label,
            group=group,
            decision=decision,
            propensity=np.where(decision == 1, chances[:, 1], chances[:, 0]),
            impact=impact(self.alpha, decision, group, deviation),
            feature_names=FEATURE_NAMES,
        )

    def rates(self, policy: Decider) -> Rates:
        """The part of a policy's truth that all variants of the population share.

        Each method of any variant accepts it in place of the policy, so a model that is scored at
        many alphas is integrated once.

        Examples
        --------
        >>> once = FosterCare().rates(lambda X: X[:, 0])
        >>> [round(FosterCare(alpha=a).truth(once).impact[1], 6) for a in (0.0, 0.5, 1.0)]
        [1.0, 0.75, 0.5]
        """
        return rates(policy)

    def accuracy(self, policy: Decider | Rates) -> float:
        """P(decision == Y) when the policy decides.

        Parameters
        ----------
        policy : callable, object with ``predict_proba``, or what `rates` returned
            A callable takes the features (m, 5) and returns the probability of decision 1, of
            shape (m,); ``predict_proba`` returns both probabilities, of shape (m, 2).

        Returns
        -------
        float
        """
        return rates(policy).accuracy

    def positive_rate(self, policy: Decider | Rates, group: int) -> float:
        """P(decision == 1 | T == group) when the policy decides; see `accuracy` for `policy`."""
        return rates(policy).positive[check_group(group)]

    def impact(self, policy: Decider | Rates, group: int) -> float:
        """E[impact | T == group] when the policy decides; see `accuracy` for `policy`."""
        return self.truth(policy).impact[check_group(group)]

    def violations(self, policy: Decider | Rates) -> dict[int, float]:
        """E_logged[impact | T == group] - E[impact | T == group] by group; above 0: violated.

        See `accuracy` for `policy`.

        Examples
        --------
        >>> population = FosterCare()
        >>> population.violations(population.behavior)
        {0: 0.0, 1: 0.0}
        """
        return dict(self.truth(policy).violation)

    def truth(self, policy: Decider | Rates) -> Truth:
        """Accuracy, impacts and violations together; see `accuracy` for `policy`."""
        found, logged = rates(policy), _logged_rates(self.behavior)
        # Clipping is symmetric, so it does not change the mean of the noise.
        noise = (1 - self.alpha) * NOISE_MEAN
        return Truth(
            accuracy=found.accuracy,
            impact={t: float(self.alpha * found.positive[t] + noise[t]) for t in GROUPS},
            violation={t: self.alpha * (logged.positive[t] - found.positive[t]) for t in GROUPS},
        )


@lru_cache(maxsize=2)
def _logged_rates(behavior: LogisticModel) -> Rates:
    """The rates of a behaviour model; there are only two of them."""
    return rates(behavior)
