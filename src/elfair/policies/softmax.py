"""Stochastic classifiers: a softmax of the features, mixed with the behaviour model if known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit

from elfair.data import LoggedData
from elfair.data.columns import Columns
from elfair.policies.models import standardisation
from elfair.types import Booleans, Floats

#: Parameters stay in this box. Beyond it, a softmax of standardised features is a step function.
LARGEST_PARAMETER = 50.0
#: A mixture with a smaller share of the softmax is exactly the behaviour model. Its rows are then 0
#: by construction, and not only up to rounding.
SMALLEST_SHARE = 1e-9


#: So many rows are standardised together: no copy of a large table is made.
BLOCK = 20_000

#: The default share of decisions taken blindly. No decision is then certain, so the log that the
#: policy leaves is valid input for the next round. It costs about the same share of accuracy.
EXPLORATION = 2e-4


@dataclass(frozen=True)
class SoftmaxPolicy:
    """pi(a | x) proportional to exp(theta_a . x), on features standardised by candidate rows.

    The first class has theta = 0. A share of the decisions is taken blindly, so no decision has a
    probability below ``exploration / n_classes``. If the behaviour model is known, decisions that
    it could not take get probability 0, and a last parameter in [0, 1] mixes it with the softmax: 0
    is the behaviour model itself.

    Parameters
    ----------
    n_classes : int
        How many decisions there are.
    center, scale : ndarray of shape (d,)
        The standardisation.
    mixed : bool
        Whether the policy is mixed with a behaviour model.
    exploration : float in (0, 1), default 2e-4
        The share of the softmax's decisions taken blindly, among the possible ones.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> policy = SoftmaxPolicy.standardised(X, n_classes=2)
    >>> policy.n_parameters
    2
    >>> policy.free(np.array([0.0, 1.0]), policy.inputs(X)).round(3)
    array([[0.269, 0.731]])
    """

    digest_tag: ClassVar[str] = "softmax"

    n_classes: int
    center: Floats
    scale: Floats
    mixed: bool = False
    exploration: float = EXPLORATION

    @classmethod
    def standardised(cls, X: Floats, n_classes: int, *, mixed: bool = False) -> SoftmaxPolicy:
        """A policy whose features are standardised by the given (candidate) rows."""
        return cls(n_classes, *standardisation(X), mixed)

    @property
    def n_parameters(self) -> int:
        """The length of theta."""
        return self._n_weights + self.mixed

    @property
    def _n_weights(self) -> int:
        """The number of parameters of the softmax, without that of the mixture."""
        return (self.n_classes - 1) * self._width

    @property
    def _width(self) -> int:
        """The number of parameters for each class but the first."""
        return self.center.size + 1

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The lowest and highest value of each parameter."""
        high = np.full(self.n_parameters, LARGEST_PARAMETER)
        low = -high
        if self.mixed:
            low[-1], high[-1] = 0.0, 1.0
        return low, high

    @property
    def indifferent(self) -> Floats:
        """The parameters of the softmax that gives all classes the same probability."""
        theta = np.zeros(self.n_parameters)
        if self.mixed:
            theta[-1] = 1.0
        return theta

    def raised(self, theta: Floats, decision: int, by: float) -> Floats:
        """The parameters of a softmax that has the odds of one class raised, in log-odds.

        Examples
        --------
        >>> policy = SoftmaxPolicy(3, np.zeros(1), np.ones(1))
        >>> policy.raised(policy.indifferent, decision=0, by=2.0)
        array([-2.,  0., -2.,  0.])
        """
        raised, width = theta.copy(), self._width
        if decision == 0:
            raised[: self._n_weights : width] -= by
        else:
            raised[(decision - 1) * width] += by
        return np.clip(raised, *self.box)

    def logged(self, data: LoggedData) -> PolicyInputs:
        """Logged rows in the form that the policy works on."""
        return self.inputs(data.features, data.behavior)

    def inputs(
        self, X: Floats, behavior: Floats | None = None, columns: Columns | None = None
    ) -> PolicyInputs:
        """People in the form that the policy works on, prepared once for many thetas."""
        design = np.empty((self.center.size + 1, X.shape[0]))
        design[0] = 1.0
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            design[1:, rows] = ((X[rows] - self.center) / self.scale).T
        if not self.mixed:
            return PolicyInputs(design, None)
        assert behavior is not None
        return PolicyInputs(design, np.ascontiguousarray(behavior.T))

    def probabilities(
        self, theta: Floats, X: Floats, behavior: Floats | None, columns: Columns | None = None
    ) -> Floats:
        """The probability of every decision about each person; see `ClassPolicy`."""
        free = self.free(theta, self.inputs(X, behavior, columns))
        every: Floats = np.clip(np.vstack([1 - free.sum(axis=0), free]).T, 0.0, 1.0)
        if behavior is not None:
            every[behavior <= 0] = 0.0  # exactly: rounding must not make a decision possible
        return every

    def free(self, theta: Floats, inputs: PolicyInputs) -> Floats:
        """The probabilities of all classes but the first.

        Parameters
        ----------
        theta : ndarray of shape (..., n_parameters)
            Parameters of one model, or of many at once.
        inputs : PolicyInputs
            From `inputs`.

        Returns
        -------
        ndarray of shape (..., n_classes - 1, n)
        """
        softmax = self._exploring(theta, inputs)
        if inputs.behavior is None:
            return softmax
        share = theta[..., -1, None, None]
        share = np.where(share < SMALLEST_SHARE, 0.0, share)
        mixture: Floats = (1 - share) * inputs.behavior[1:] + share * softmax
        return mixture

    def pull_back(
        self, theta: Floats, inputs: PolicyInputs, free: Floats, gradients: Floats
    ) -> Floats:
        """Derivatives by theta, from derivatives by the free probabilities; see `Policy`."""
        result = np.empty((len(gradients), self.n_parameters))
        exploring, share = free, 1 - self.exploration
        if inputs.behavior is not None:
            exploring, share = self._exploring(theta, inputs), theta[-1] * (1 - self.exploration)
            towards = exploring - inputs.behavior[1:]
            result[:, -1] = np.einsum("jkn,kn->j", gradients, towards)
        softmax = (exploring - self.exploration * self._uniform(inputs)) / (1 - self.exploration)
        # By the logits of the softmax: p_l (G_l - sum_k G_k p_k).
        average = np.einsum("jkn,kn->jn", gradients, softmax)
        by_logit = softmax * (gradients - average[:, None, :]) * share
        result[:, : self._n_weights] = self._by_weights(theta, inputs, by_logit)
        return result

    def _exploring(self, theta: Floats, inputs: PolicyInputs) -> Floats:
        softmax = self._softmax(theta, inputs)
        softmax *= 1 - self.exploration
        softmax += self.exploration * self._uniform(inputs)
        return softmax

    def _uniform(self, inputs: PolicyInputs) -> Floats | float:
        """The free probabilities of choosing blindly among the possible decisions."""
        if inputs.support is None:
            return 1 / self.n_classes
        return np.asarray(inputs.support[1:] / inputs.support.sum(axis=0))

    def _logits(self, theta: Floats, inputs: PolicyInputs) -> Floats:
        """Logits of all classes but the first (whose is 0), of shape (..., n_classes - 1, n)."""
        classes, width = self.n_classes - 1, inputs.design.shape[0]
        coefficients = theta[..., : classes * width].reshape(*theta.shape[:-1], classes, width)
        return np.asarray(coefficients @ inputs.design)

    def _by_weights(self, theta: Floats, inputs: PolicyInputs, by_logit: Floats) -> Floats:
        """Derivatives by the softmax's parameters, from derivatives by the logits."""
        by_weights = by_logit.reshape(-1, by_logit.shape[-1]) @ inputs.design.T
        return np.asarray(by_weights.reshape(len(by_logit), -1))

    def _softmax(self, theta: Floats, inputs: PolicyInputs) -> Floats:
        logits = self._logits(theta, inputs)
        if self.n_classes == 2 and inputs.support is None:
            return np.asarray(expit(logits, out=logits))
        first = np.zeros(inputs.design.shape[1])
        if inputs.support is not None:
            logits = np.where(inputs.support[1:], logits, -np.inf)
            first = np.where(inputs.support[0], 0.0, -np.inf)
        # The largest among the possible ones, or all of them could underflow.
        top = np.maximum(logits.max(axis=-2, keepdims=True), first)
        odds = np.exp(logits - top)
        return np.asarray(odds / (np.exp(first - top) + odds.sum(axis=-2, keepdims=True)))


@dataclass(frozen=True)
class PolicyInputs:
    """The rows as a policy sees them: standardised features, and the behaviour model if known.

    Parameters
    ----------
    design : ndarray of shape (d + 1, n)
        A row of ones, then the standardised features.
    behavior : ndarray of shape (n_classes, n), optional
        The behaviour model's probabilities for each row.

    Examples
    --------
    >>> PolicyInputs(np.ones((1, 3)), None).support is None
    True
    """

    design: Floats
    behavior: Floats | None

    @cached_property
    def support(self) -> Booleans | None:
        """The decisions that the behaviour model could take; None if it could take all of them."""
        if self.behavior is None or (self.behavior > 0).all():
            return None
        return self.behavior > 0
