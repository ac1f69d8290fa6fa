"""Stochastic linear regression: a decision is a number, drawn around a mean that is linear in the
features as long as it stays within reach of the usual decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from elfair.data import LoggedData
from elfair.data.continuous import normal_density
from elfair.policies.models import standardisation
from elfair.types import Floats

#: What statistics need to know of such a policy on each row, in this order: the density at the
#: logged decision, the mean, the mean square, then P(decision >= t) for each threshold t.
DENSITY, MEAN, SQUARE, FIRST_THRESHOLD = range(4)
#: A parameter of this size moves the mean by one standard deviation of the label, or the spread
#: from its smallest to its largest value. The squared error then has the curvature with which the
#: gradient search begins. (With parameters of order 1 and 30 features, the search ended far from
#: the optimum.)
FINENESS = 10.0
#: Parameters stay within this box: a mean 50 standard deviations of the label away.
LARGEST_PARAMETER = 50 * FINENESS
#: A mean this many reaches away is as good as infinitely far away, and its powers do not overflow.
OUT_OF_REACH = 1e4


@dataclass(frozen=True)
class GaussianPolicy:
    """The decision is drawn from N(mu(x), sigma^2), with mu linear in the standardised features.

    If it has a reach, a mean that is far from the usual decision bends towards it: z reaches away,
    it becomes z / (1 + z^4)^(1/4) reaches. So no mean is further away than the reach, and nothing
    need be known about a new person but the features.

    The last parameter, in [0, 10], moves the spread from its smallest to its largest value in equal
    ratios. The largest must stay below the spread of the behaviour model: otherwise importance
    weights of decisions far from the mean have no bound.

    Parameters
    ----------
    center, scale : ndarray of shape (d,)
        The standardisation of features.
    level, unit : float
        The mean is level + unit * (theta_0 + theta . x).
    smallest, largest : float
        The smallest and largest spread.
    reach : float, default inf
        How far a mean may be from the usual decision.
    usual : ndarray of shape (d + 1,)
        The parameters of the usual decision, which is linear, too; empty without a reach.

    Examples
    --------
    >>> X, y = np.array([[0.0], [2.0]]), np.array([10.0, 14.0])
    >>> policy = GaussianPolicy.standardised(X, y, smallest=0.5, largest=2.0)
    >>> policy.n_parameters
    3
    >>> policy.moments(np.array([0.0, 10.0, 5.0]), X)
    (array([10., 14.]), 1.0)
    """

    digest_tag: ClassVar[str] = "gaussian"

    center: Floats
    scale: Floats
    level: float
    unit: float
    smallest: float
    largest: float
    reach: float = inf
    usual: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def standardised(
        cls, X: Floats, y: Floats, *, smallest: float, largest: float
    ) -> GaussianPolicy:
        """A policy whose features and mean are standardised by the given (candidate) rows."""
        level, unit = float(y.mean()), (float(y.std()) or 1.0) / FINENESS
        return cls(*standardisation(X), level, unit, smallest, largest)

    @property
    def n_parameters(self) -> int:
        """The length of theta."""
        return self.center.size + 2

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The lowest and highest value of each parameter."""
        high = np.full(self.n_parameters, LARGEST_PARAMETER)
        low = -high
        low[-1], high[-1] = 0.0, FINENESS
        return low, high

    def logged(self, data: LoggedData) -> GaussianInputs:
        """Logged rows in the form that the policy works on."""
        return GaussianInputs(self.design(data.features), data.decision, data.thresholds)

    def design(self, X: Floats) -> Floats:
        """A row of ones, then the standardised features, of shape (d + 1, n)."""
        return np.vstack([np.ones(len(X)), ((X - self.center) / self.scale).T])

    def moments(self, theta: Floats, X: Floats) -> tuple[Floats, float]:
        """The mean of the decision about each person, and its standard deviation."""
        return self._mean(theta, self.design(X)), self.spread(theta)

    def spread(self, theta: Floats) -> float:
        """The standard deviation of a decision around its mean."""
        return float(self._spread(theta))

    def free(self, theta: Floats, inputs: GaussianInputs) -> Floats:
        """The density at the logged decision, the mean, the mean square, and the probability of a
        decision at or above each threshold.

        Parameters
        ----------
        theta : ndarray of shape (..., n_parameters)
            Parameters of one model, or of many at once.
        inputs : GaussianInputs
            From `logged`.

        Returns
        -------
        ndarray of shape (..., 3 + thresholds, n)
        """
        mean = self._mean(theta, inputs.design)
        spread = self._spread(theta)[..., None]
        channels = FIRST_THRESHOLD + len(inputs.thresholds)
        free = np.zeros((*mean.shape[:-1], channels, mean.shape[-1]))
        if inputs.decision is not None:
            free[..., DENSITY, :] = normal_density(inputs.decision, mean, spread)
        free[..., MEAN, :] = mean
        free[..., SQUARE, :] = mean**2 + spread**2
        for k, threshold in enumerate(inputs.thresholds, FIRST_THRESHOLD):
            free[..., k, :] = ndtr((mean - threshold) / spread)
        return free

    def pull_back(
        self, theta: Floats, inputs: GaussianInputs, free: Floats, gradients: Floats
    ) -> Floats:
        """Derivatives by theta, from derivatives by the free numbers; see `Policy`."""
        mean, spread = free[MEAN], self.spread(theta)
        by_mean, by_spread = np.zeros_like(free), np.zeros_like(free)
        if inputs.decision is not None:
            away = (inputs.decision - mean) / spread
            by_mean[DENSITY] = free[DENSITY] * away / spread
            by_spread[DENSITY] = free[DENSITY] * (away**2 - 1) / spread
        by_mean[MEAN] = 1.0
        by_mean[SQUARE], by_spread[SQUARE] = 2 * mean, 2 * spread
        for k, threshold in enumerate(inputs.thresholds, FIRST_THRESHOLD):
            by_mean[k] = normal_density(threshold, mean, spread)
            by_spread[k] = by_mean[k] * (threshold - mean) / spread
        by_mean *= self._bend(mean, inputs.design)
        result = np.empty((len(gradients), self.n_parameters))
        result[:, :-1] = np.einsum("jkn,kn->jn", gradients, by_mean) @ inputs.design.T * self.unit
        rate = spread * log(self.largest / self.smallest) / FINENESS
        result[:, -1] = np.einsum("jkn,kn->j", gradients, by_spread) * rate
        return result

    def _mean(self, theta: Floats, design: Floats) -> Floats:
        mean = self.level + self.unit * (theta[..., :-1] @ design)
        if not self.usual.size:
            return np.asarray(mean)
        usual = self._usual(design)
        away = np.clip((mean - usual) / self.reach, -OUT_OF_REACH, OUT_OF_REACH)
        return np.asarray(usual + self.reach * away / (1 + away**4) ** 0.25)

    def _usual(self, design: Floats) -> Floats:
        return np.asarray(self.level + self.unit * (self.usual @ design))

    def _bend(self, mean: Floats, design: Floats) -> Floats | float:
        """The derivative of the mean by what it would be without a reach."""
        if not self.usual.size:
            return 1.0
        away = (mean - self._usual(design)) / self.reach
        return np.asarray(np.maximum(0.0, 1 - away**4) ** 1.25)  # rounding may take it beyond 1

    def _spread(self, theta: Floats) -> Floats:
        way = theta[..., -1] / FINENESS
        return np.asarray(self.smallest * (self.largest / self.smallest) ** way)


@dataclass(frozen=True)
class GaussianInputs:
    """The logged rows as a Gaussian policy sees them.

    Parameters
    ----------
    design : ndarray of shape (d + 1, n)
        A row of ones, then the standardised features.
    decision : ndarray of shape (n,), optional
        The logged decision.
    thresholds : tuple of float
        The numbers that constraints compare the decision with.
    """

    design: Floats
    decision: Floats | None
    thresholds: tuple[float, ...]
