"""A population of decisions that are numbers, whose truth is a formula.

Each person gets a dose. Features are normal and policies are linear with normal noise, so doses are
normal within each group, and every statistic of a policy has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from elfair.data.continuous import normal_density
from elfair.populations.base import check_seed, check_size, no_worse_than_logged
from elfair.types import Floats

GROUP_PROBABILITY = 0.4  # of group 1
FEATURE_MEAN = np.array([[0.0, 0.0, 0.0], [0.5, -0.5, 0.0]])  # by group; standard deviations are 1
LABEL_INTERCEPT, LABEL_SLOPE, LABEL_NOISE = 5.0, np.array([1.0, 0.5, -0.5]), 1.0
LABEL_SHIFT = np.array([0.0, -0.4])  # the group's effect on the label, which no feature shows
BEHAVIOR_SLOPE = np.array([0.6, 0.2, 0.0])
TYPICAL_DOSE = 5.0
EFFECT, COST, IMPACT_NOISE = np.array([0.8, 0.9]), 0.05, 1.0


@dataclass(frozen=True)
class LinearPolicy:
    """The decision is drawn from N(intercept + slope . x, spread^2).

    Examples
    --------
    >>> LinearPolicy(1.0, np.array([1.0, 0.0, 0.0]), 0.5).mean(np.eye(3))
    array([2., 1., 1.])
    """

    intercept: float
    slope: Floats
    spread: float

    def mean(self, X: Floats) -> Floats:
        """The mean decision about each row."""
        return np.asarray(self.intercept + X @ self.slope)


@dataclass(frozen=True, eq=False)
class DosageDraw:
    """Logged decisions sampled from a `Dosage`.

    Attributes
    ----------
    features : array of shape (n, 3)
        The features of each person.
    label : array of shape (n,)
        The ideal dose.
    group : integer array of shape (n,)
        T, 0 or 1.
    decision, propensity, impact : arrays of shape (n,)
        The dose that was given, the density with which it was drawn, and its impact.
    """

    features: Floats
    label: Floats
    group: NDArray[np.int64]
    decision: Floats
    propensity: Floats
    impact: Floats


@dataclass(frozen=True)
class Dosage:
    """A population of doses with known truth.

    The group T is 1 with probability 0.4. Three features are normal; the ideal dose (the label) is
    linear in them, with a shift for group 1 and noise. The behaviour model draws doses around a
    linear mean. With d the dose minus 5, the impact is effect_T * d - 0.05 * d^2 + noise: a model
    that aims at the ideal dose alone gives less than the behaviour model does, and harms people.

    Parameters
    ----------
    level : float, default 5.0
        The intercept of the behaviour model. At 5, aiming at labels alone harms both groups; at
        4.3 it harms no one.
    spread : float, default 1.0
        The standard deviation of the behaviour model's decisions.
    binary : bool, default False
        The impact is 1 if effect_T * d + noise is positive, otherwise 0, so it has a range.

    Examples
    --------
    >>> population = Dosage()
    >>> round(population.impact(population.behavior, 1), 4)
    0.108
    >>> population.sample(5, seed=0).decision.shape
    (5,)
    """

    level: float = 5.0
    spread: float = 1.0
    binary: bool = False

    @property
    def behavior(self) -> LinearPolicy:
        """The model that took the logged decisions."""
        return LinearPolicy(self.level, BEHAVIOR_SLOPE, self.spread)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group."""
        return no_worse_than_logged()

    def sample(self, n: int, seed: int) -> DosageDraw:
        """Logged decisions, a function of the population, `n` and `seed` alone."""
        check_size(n)
        check_seed(seed)
        rng = np.random.default_rng(seed)
        group = (rng.random(n) < GROUP_PROBABILITY).astype(np.int64)
        features = FEATURE_MEAN[group] + rng.standard_normal((n, 3))
        label = LABEL_INTERCEPT + features @ LABEL_SLOPE + LABEL_SHIFT[group]
        label += LABEL_NOISE * rng.standard_normal(n)
        mean = self.behavior.mean(features)
        decision = mean + self.spread * rng.standard_normal(n)
        dose = decision - TYPICAL_DOSE
        impact = EFFECT[group] * dose + IMPACT_NOISE * rng.standard_normal(n)
        impact = (impact > 0).astype(np.float64) if self.binary else impact - COST * dose**2
        density = normal_density(decision, mean, self.spread)
        return DosageDraw(features, label, group, decision, density, impact)

    def mean_decision(self, policy: LinearPolicy, group: int) -> float:
        """E[decision | T == group] when the policy decides."""
        return float(policy.mean(FEATURE_MEAN[[group]])[0])

    def variance(self, policy: LinearPolicy) -> float:
        """The variance of its decisions within a group."""
        return float(policy.slope @ policy.slope) + policy.spread**2

    def share_above(self, policy: LinearPolicy, group: int, threshold: float) -> float:
        """P[decision >= threshold | T == group] when the policy decides."""
        away = self.mean_decision(policy, group) - threshold
        return float(ndtr(away / sqrt(self.variance(policy))))

    def impact(self, policy: LinearPolicy, group: int) -> float:
        """E[impact | T == group] when the policy decides."""
        mean, spread = self.mean_decision(policy, group), sqrt(self.variance(policy))
        return float(self.expected(mean, spread, group))

    def expected(
        self, mean: Floats | float, spread: Floats | float, group: NDArray[np.int64] | int
    ) -> Floats:
        """The expected impact of doses that are drawn around some means, by group."""
        dose, effect = np.asarray(mean) - TYPICAL_DOSE, EFFECT[group]
        if self.binary:  # the probability that benefit and noise, both normal, are positive
            return np.asarray(ndtr(effect * dose / np.hypot(IMPACT_NOISE, effect * spread)))
        return np.asarray(effect * dose - COST * (dose**2 + np.square(spread)))

    def violation(self, policy: LinearPolicy, group: int) -> float:
        """E_logged[impact | T == group] - E[impact | T == group]; above 0: violated."""
        return self.impact(self.behavior, group) - self.impact(policy, group)

    @property
    def least_squares(self) -> LinearPolicy:
        """The linear policy with the least squared error, without any spread."""
        # Only the shift is not linear, and only the mean of the features depends on the group.
        p, gap = GROUP_PROBABILITY, FEATURE_MEAN[1] - FEATURE_MEAN[0]
        covariance = np.eye(3) + p * (1 - p) * np.outer(gap, gap)
        shift = LABEL_SHIFT[1] - LABEL_SHIFT[0]
        slope = LABEL_SLOPE + np.linalg.solve(covariance, p * (1 - p) * shift * gap)
        center = FEATURE_MEAN[0] + p * gap
        label = LABEL_INTERCEPT + center @ LABEL_SLOPE + LABEL_SHIFT[0] + p * shift
        return LinearPolicy(float(label - center @ slope), slope, 0.0)

    def mse(self, policy: LinearPolicy, group: int | None = None) -> float:
        """E[(decision - label)^2], of all people or of a group, when the policy decides."""
        if group is None:
            shares = (1 - GROUP_PROBABILITY, GROUP_PROBABILITY)
            return sum(share * self.mse(policy, t) for t, share in enumerate(shares))
        bias = LABEL_INTERCEPT + FEATURE_MEAN[group] @ LABEL_SLOPE + LABEL_SHIFT[group]
        bias -= self.mean_decision(policy, group)
        missed = policy.slope - LABEL_SLOPE
        return float(bias**2 + missed @ missed) + LABEL_NOISE**2 + policy.spread**2
