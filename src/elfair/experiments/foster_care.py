"""A population like the foster-care data of the ELF paper, whose truth can be computed.

The paper's own data are restricted. In this stand-in a logistic regression is about 90 % accurate
and harms group 1, and since the law of every variable is known, the accuracy and the expected
impact of any policy are integrals rather than estimates from a test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from elfair.errors import InputError
from elfair.experiments import foster_care_law as law
from elfair.experiments.draw import Draw, FloatArray, IntArray
from elfair.experiments.population import Policy, Truth


@dataclass(frozen=True)
class BehaviorModel:
    """The logistic model that took the logged decisions.

    Examples
    --------
    >>> model = BehaviorModel(0.0, (1.0, 0.0, 0.0, 0.0, 0.0))
    >>> model.predict_proba([[0.0, 1.0, 1.0, 0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    intercept: float
    coefficients: tuple[float, ...]

    @property
    def classes_(self) -> IntArray:
        """The decisions, in the order of the columns of `predict_proba`."""
        return np.array([0, 1])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probability of each decision, of shape (n, 2), for the features X1..X5 in this order."""
        features = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != len(self.coefficients):
            raise InputError(
                f"X must have shape (n, {len(self.coefficients)}). Got {features.shape} instead.",
                hint="pass the features X1..X5 alone, without the group and the label.",
            )
        score = features @ np.array(self.coefficients) + self.intercept
        # The second sigmoid, rather than 1 - p, keeps small probabilities of decision 0 exact.
        return np.column_stack([expit(-score), expit(score)])


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
    The truth of a logistic policy is exact to 1e-6 up to coefficients of 30 on standardised
    features. A thresholded policy jumps between the nodes of the quadrature: its truth is good
    to about 1e-3.

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
        """Refuse an alpha that is not a share."""
        if not 0 <= self.alpha <= 1:
            raise InputError(
                f"The 'alpha' parameter of FosterCare must be in [0, 1]. Got {self.alpha!r} "
                "instead.",
                hint="0 means that decisions have no impact, 1 that nothing else has.",
            )

    @property
    def behavior(self) -> BehaviorModel:
        """The model that took the logged decisions."""
        shift = law.STRICT_SHIFT if self.strict else 0.0
        return BehaviorModel(law.BEHAVIOR_INTERCEPT + shift, law.BEHAVIOR_COEFFICIENTS)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group, and an accuracy of at least 0.75."""
        no_worse = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in law.GROUPS]
        return [*no_worse, "accuracy >= 0.75"]

    @property
    def impact_range(self) -> tuple[float, float] | None:
        """The smallest and the largest possible impact; None when the noise is not clipped."""
        if not self.clipped:
            return None
        low = (law.NOISE_MEAN - law.NOISE_CLIP * law.NOISE_SD).min()
        high = (law.NOISE_MEAN + law.NOISE_CLIP * law.NOISE_SD).max()
        return float((1 - self.alpha) * low), float(self.alpha + (1 - self.alpha) * high)

    @property
    def propensity_floor(self) -> float:
        """The smallest probability that the behaviour model gives to a decision, over all x."""
        # Its score is linear, so the extremes lie at corners of the box of possible features.
        corners = np.array(list(product(*[(0.0, 1.0)] * 3, *[law.NORMAL_CLIP] * 2)))
        return float(self.behavior.predict_proba(corners).min())

    def sample(self, n: int, seed: int) -> Draw:
        """Logged decisions, a function of the population, `n` and `seed` alone.

        Populations that differ in their parameters share all random numbers of a seed.

        Parameters
        ----------
        n : int
            How many people, at least 1.
        seed : int
            Seed of `numpy.random.default_rng`.

        Returns
        -------
        Draw
        """
        if not isinstance(n, Integral) or n < 1:
            raise InputError(
                f"n must be a whole number of at least 1. Got {n!r} instead.",
                hint="n counts the people to sample.",
            )
        rng = np.random.default_rng(seed)
        group = (rng.random(n) < law.GROUP_PROBABILITY[1]).astype(np.int64)
        binary = rng.random((n, 3)) < law.BINARY_PROBABILITY[group]
        normal = law.NORMAL_MEAN[group] + law.NORMAL_SD * rng.standard_normal((n, 2))
        features = np.hstack([binary, normal.clip(*law.NORMAL_CLIP)])
        label = (rng.random(n) < law.label_probability(features, group)).astype(np.int64)
        chances = self.behavior.predict_proba(features)
        decision = (rng.random(n) < chances[:, 1]).astype(np.int64)
        deviation = rng.standard_normal(n)
        if self.clipped:
            deviation = deviation.clip(-law.NOISE_CLIP, law.NOISE_CLIP)
        noise = law.NOISE_MEAN[group] + law.NOISE_SD[group] * deviation
        return Draw(
            features=features,
            label=label,
            group=group,
            decision=decision,
            propensity=np.where(decision == 1, chances[:, 1], chances[:, 0]),
            impact=self.alpha * decision + (1 - self.alpha) * noise,
            feature_names=law.FEATURE_NAMES,
        )

    def accuracy(self, policy: Policy) -> float:
        """P(decision == Y) when the policy decides.

        Parameters
        ----------
        policy : callable or object with ``predict_proba``
            A callable takes the features (m, 5) and returns the probability of decision 1, of
            shape (m,); ``predict_proba`` returns both probabilities, of shape (m, 2).

        Returns
        -------
        float
        """
        return law.grid().accuracy_of_zero + float(law.grid().accuracy_gain @ _decide_one(policy))

    def positive_rate(self, policy: Policy, group: int) -> float:
        """P(decision == 1 | T == group) when the policy decides; see `accuracy` for `policy`."""
        return float(law.grid().weight[_checked(group)] @ _decide_one(policy))

    def impact(self, policy: Policy, group: int) -> float:
        """E[impact | T == group] when the policy decides; see `accuracy` for `policy`."""
        # Clipping is symmetric, so it leaves the mean of the noise as it is.
        noise = (1 - self.alpha) * law.NOISE_MEAN[_checked(group)]
        return float(self.alpha * self.positive_rate(policy, group) + noise)

    def violations(self, policy: Policy) -> dict[int, float]:
        """E_logged[impact | T == group] - E[impact | T == group] by group; above 0: violated.

        See `accuracy` for `policy`.

        Examples
        --------
        >>> population = FosterCare()
        >>> population.violations(population.behavior)
        {0: 0.0, 1: 0.0}
        """
        loss = self.alpha * (self._logged_rates - law.grid().weight @ _decide_one(policy))
        return {group: float(loss[group]) for group in law.GROUPS}

    def truth(self, policy: Policy) -> Truth:
        """Accuracy, impacts and violations together; see `accuracy` for `policy`."""
        impact = {group: self.impact(policy, group) for group in law.GROUPS}
        return Truth(self.accuracy(policy), impact, self.violations(policy))

    @cached_property
    def _logged_rates(self) -> FloatArray:
        """P(D = 1 | T) in the log, by group."""
        return law.grid().weight @ _decide_one(self.behavior)


def _decide_one(policy: Policy) -> FloatArray:
    """The policy's probability of decision 1 at each point of the grid."""
    points = law.grid().points
    expected: tuple[int, ...]
    if hasattr(policy, "predict_proba"):
        what, expected = "policy.predict_proba(X)", (len(points), 2)
        values = np.asarray(policy.predict_proba(points), dtype=np.float64)
    else:
        what, expected = "policy(X)", (len(points),)
        values = np.asarray(policy(points), dtype=np.float64)
    if values.shape != expected:
        raise InputError(
            f"{what} must have shape {expected} for {len(points)} rows. Got {values.shape} "
            "instead.",
            hint="predict_proba returns one column for each of the decisions 0 and 1; a callable "
            "returns the probability of decision 1.",
        )
    one = values[:, 1] if values.ndim == 2 else values
    # Written so that a NaN fails; the margin is for rounding.
    if not (one.min() >= -1e-9 and one.max() <= 1 + 1e-9):
        raise InputError(
            f"{what} must be probabilities in [0, 1]. Got values from {one.min()} to {one.max()} "
            "instead.",
            hint="scores become probabilities by a sigmoid or a softmax.",
        )
    return one


def _checked(group: int) -> int:
    """The group, if there is one of this name."""
    if group not in law.GROUPS:
        raise InputError(
            f"group must be one of {list(law.GROUPS)}. Got {group!r} instead.",
            hint="group is a value of the column T.",
        )
    return group
