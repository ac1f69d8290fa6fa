"""The fairness constraints of Zafar et al.: a score without correlation with the group.

They minimise the mean logistic loss of the score theta.x subject to |cov(T, theta.x)| <= c, where
the covariance is the mean of (T_i - mean T) theta.x_i ("Fairness constraints: mechanisms for fair
classification", AISTATS 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from elfair.errors import DataError, ElfairError
from elfair.populations import Draw, LinearRule
from elfair.types import Floats

#: Newton's method stops when the next step promises to lower the loss by less than this.
PRECISION = 1e-9
#: It usually takes about ten.
MOST_STEPS = 100


@dataclass(eq=False)
class FairnessConstraints:
    """Logistic regression without a penalty, whose score has little covariance with the group.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    covariance : float, default 0
        The largest absolute covariance, c of the formula. Its authors try several values; 0 asks
        for as little disparate impact as this proxy allows, and needs no choice of scale.

    Examples
    --------
    >>> from elfair.populations import FosterCare
    >>> draw = FosterCare().sample(1000, seed=0)
    >>> rule = FairnessConstraints().fit(draw, [], delta=0.1, seed=0)
    >>> score = draw.features @ rule.coefficients + rule.intercept
    >>> bool(abs(np.mean((draw.group - draw.group.mean()) * score)) < 1e-6)
    True
    """

    label: str = "Fairness Constraints"
    covariance: float = 0.0
    uses_impact: bool = False

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> LinearRule:
        """Decide 1 if the score is above 0; see `Method`."""
        theta = least_loss(draw.features, draw.label, draw.group, self.covariance)
        return LinearRule(float(theta[0]), theta[1:])


def least_loss(features: Any, label: Any, group: Any, covariance: float) -> Floats:
    """The intercept and the coefficients with the least mean logistic loss.

    Each step of Newton's method minimises a quadratic model of the loss under the constraint. This
    is a quadratic program in few coefficients, so the time hardly grows with the rows: 25 ms for
    32,768 of them. The same problem with an exponential cone for each row takes 3 s, and sometimes
    ends inaccurately.

    Parameters
    ----------
    features : array of shape (n, d)
        X.
    label, group : arrays of shape (n,)
        Y and T, each 0 or 1.
    covariance : float
        The largest absolute covariance of T and the score.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 1, 1])
    >>> least_loss(np.vstack([X, X, X]), np.hstack([y, y, 1 - y]), [0, 1] * 6, 9.0).round(3)
    array([0.   , 0.693])
    """
    design = np.column_stack([np.ones(len(features)), features])
    label, group = np.asarray(label), np.asarray(group)
    slopes = (group - group.mean()) @ design / len(design)
    model = _QuadraticModel(slopes, covariance)
    theta = np.zeros(design.shape[1])
    for _ in range(MOST_STEPS):
        chance = expit(design @ theta)
        gradient = (chance - label) @ design / len(design)
        curvature = (design.T * (chance * (1 - chance))) @ design / len(design)
        step = model.step(theta, gradient, curvature)
        promise = -float(gradient @ step)
        if promise < PRECISION:
            return theta
        # The first step is too long where the loss is flat. All points in between are allowed.
        loss, size = _loss(design, label, theta), 1.0
        while _loss(design, label, theta + size * step) > loss - 1e-4 * size * promise:
            size /= 2
        theta = theta + size * step
    raise DataError(
        f"Newton's method did not find the least logistic loss in {MOST_STEPS} steps.",
        hint="check the features for a column that is huge, or nearly a copy of others.",
    )


class _QuadraticModel:
    """The quadratic program of one step, compiled once and solved by Clarabel."""

    def __init__(self, slopes: Floats, covariance: float) -> None:
        import cvxpy

        cp: Any = cvxpy  # its type annotations are incomplete
        count = len(slopes)
        self._step = cp.Variable(count)
        self._root, self._gradient = cp.Parameter((count, count)), cp.Parameter(count)
        self._covariance = cp.Parameter()
        self._slopes = slopes
        rise = cp.sum_squares(self._root @ self._step) / 2 + self._gradient @ self._step
        allowed = cp.abs(slopes @ self._step + self._covariance) <= covariance
        self._problem = cp.Problem(cp.Minimize(rise), [allowed])

    def step(self, theta: Floats, gradient: Floats, curvature: Floats) -> Floats:
        """The allowed step from theta that minimises the model."""
        values, vectors = np.linalg.eigh(curvature)
        # A root rather than the matrix: rounding cannot make its square indefinite.
        self._root.value = np.sqrt(values.clip(min=0))[:, None] * vectors.T
        self._gradient.value = gradient
        self._covariance.value = self._slopes @ theta
        self._problem.solve(solver="CLARABEL")
        if self._problem.status != "optimal":
            raise ElfairError(
                f"Clarabel could not solve the quadratic program of a step: "
                f"{self._problem.status}.",
                hint="check the features for a column that is huge, or nearly a copy of others.",
            )
        return np.asarray(self._step.value, dtype=np.float64)


def _loss(design: Floats, label: Any, theta: Floats) -> float:
    return float(np.logaddexp(0.0, (1 - 2 * label) * (design @ theta)).mean())
