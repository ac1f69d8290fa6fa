"""A population like the foster-care data of the ELF paper, whose truth can be computed.

The paper's own data are restricted. In this stand-in a logistic regression is about 90 % accurate
and harms group 1, and since the law of every variable is known, the accuracy and the expected
impact of any policy are integrals rather than estimates from a test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from elfair.errors import InputError
from elfair.experiments import foster_care_law as law
from elfair.experiments.draw import Draw
from elfair.experiments.population import (
    GROUPS,
    Policy,
    Truth,
    check_alpha,
    check_group,
    check_seed,
    check_size,
    no_worse_than_logged,
)
from elfair.experiments.rules import BehaviorModel


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
    of up to 50 on standardised features is exact to 1e-6. Any other policy that jumps, such as a
    tree, does so between the nodes of the quadrature: its truth is good to about 1e-3.

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
        """Refuse an alpha that is not a share, and a switch that is neither on nor off."""
        check_alpha(self.alpha)
        for name in ("strict", "clipped"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(
                    f"'{name}' must be True or False. Got {getattr(self, name)!r} instead.",
                    hint="leave it out for False.",
                )

    @property
    def behavior(self) -> BehaviorModel:
        """The model that took the logged decisions."""
        shift = law.STRICT_SHIFT if self.strict else 0.0
        return BehaviorModel(law.BEHAVIOR_INTERCEPT + shift, law.BEHAVIOR_COEFFICIENTS)

    @property
    def constraints(self) -> list[str]:
        """No worse than the behaviour model for each group, and an accuracy of at least 0.75."""
        return [*no_worse_than_logged(), "accuracy >= 0.75"]

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
            Seed of `numpy.random.default_rng`, at least 0.

        Returns
        -------
        Draw
        """
        check_size(n)
        check_seed(seed)
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
        return Draw(
            features=features,
            label=label,
            group=group,
            decision=decision,
            propensity=np.where(decision == 1, chances[:, 1], chances[:, 0]),
            impact=law.impact(self.alpha, decision, group, deviation),
            feature_names=law.FEATURE_NAMES,
        )

    def rates(self, policy: Policy) -> law.Rates:
        """What of a policy's truth is the same in all variants of the population.

        Each method here, of any variant, takes it in place of the policy: a model that is scored
        at many alphas is then integrated once.

        Examples
        --------
        >>> once = FosterCare().rates(lambda X: X[:, 0])
        >>> [round(FosterCare(alpha=a).truth(once).impact[1], 6) for a in (0.0, 0.5, 1.0)]
        [1.0, 0.75, 0.5]
        """
        return law.rates(policy)

    def accuracy(self, policy: Policy | law.Rates) -> float:
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
        return law.rates(policy).accuracy

    def positive_rate(self, policy: Policy | law.Rates, group: int) -> float:
        """P(decision == 1 | T == group) when the policy decides; see `accuracy` for `policy`."""
        return law.rates(policy).positive[check_group(group)]

    def impact(self, policy: Policy | law.Rates, group: int) -> float:
        """E[impact | T == group] when the policy decides; see `accuracy` for `policy`."""
        return self.truth(policy).impact[check_group(group)]

    def violations(self, policy: Policy | law.Rates) -> dict[int, float]:
        """E_logged[impact | T == group] - E[impact | T == group] by group; above 0: violated.

        See `accuracy` for `policy`.

        Examples
        --------
        >>> population = FosterCare()
        >>> population.violations(population.behavior)
        {0: 0.0, 1: 0.0}
        """
        return dict(self.truth(policy).violation)

    def truth(self, policy: Policy | law.Rates) -> Truth:
        """Accuracy, impacts and violations together; see `accuracy` for `policy`."""
        found, logged = law.rates(policy), _logged_rates(self.behavior)
        # Clipping is symmetric, so it leaves the mean of the noise as it is.
        noise = (1 - self.alpha) * law.NOISE_MEAN
        return Truth(
            accuracy=found.accuracy,
            impact={t: float(self.alpha * found.positive[t] + noise[t]) for t in GROUPS},
            violation={t: self.alpha * (logged.positive[t] - found.positive[t]) for t in GROUPS},
        )


@lru_cache(maxsize=2)
def _logged_rates(behavior: BehaviorModel) -> law.Rates:
    """The rates of the log: there are only two behaviour models."""
    return law.rates(behavior)
