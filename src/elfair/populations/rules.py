"""Models given by a formula: a logistic model, a linear rule, and a mixture of linear rules.

Decisions that jump are hard to integrate. Populations know linear rules and mixtures by their type,
and integrate them on each side of the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from elfair.errors import InputError
from elfair.types import Floats, Integers


@dataclass(frozen=True)
class LogisticModel:
    """A logistic model, such as the one that took the logged decisions.

    Examples
    --------
    >>> model = LogisticModel(0.0, (1.0, 0.0, 0.0, 0.0, 0.0))
    >>> model.predict_proba([[0.0, 1.0, 1.0, 0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    digest_tag: ClassVar[str] = "logistic model"

    intercept: float
    coefficients: tuple[float, ...]

    @property
    def classes_(self) -> Integers:
        """The decisions, in the order of the columns of `predict_proba`."""
        return np.array([0, 1])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each decision, of shape (n, 2)."""
        score = _score(X, self.intercept, self.coefficients)
        # A second sigmoid, not 1 - p, keeps small probabilities of decision 0 precise.
        return np.column_stack([expit(-score), expit(score)])


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Decision 1 if intercept + coefficients @ x is above 0, otherwise 0.

    Examples
    --------
    >>> LinearRule(-1.0, np.array([2.0])).predict_proba([[0.0], [1.0]])
    array([[1., 0.],
           [0., 1.]])
    """

    intercept: float
    coefficients: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(np.append(self.coefficients, self.intercept)).all():
            raise InputError(
                "intercept and coefficients must be finite numbers. Got "
                f"{[self.intercept, *self.coefficients]} instead.",
                hint="such a rule comes from a fit that diverged.",
            )

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of decisions 0 and 1, each 0 or 1."""
        one = _score(X, self.intercept, self.coefficients) > 0
        return np.column_stack([~one, one]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Mixture:
    """One of several rules, drawn for each decision.

    Parameters
    ----------
    rules : sequence of LinearRule
        The rules.
    shares : sequence of float
        How often each is drawn.

    Examples
    --------
    >>> never, always = LinearRule(-1.0, np.zeros(1)), LinearRule(1.0, np.zeros(1))
    >>> Mixture([never, always], [0.75, 0.25]).predict_proba([[0.0]])
    array([[0.75, 0.25]])
    """

    rules: Sequence[LinearRule]
    shares: Sequence[float]

    def __post_init__(self) -> None:
        shares = np.asarray(self.shares, dtype=np.float64)
        total = float(shares.sum())
        if shares.shape != (len(self.rules),) or not (shares >= 0).all() or abs(total - 1) > 1e-9:
            raise InputError(
                f"shares must be {len(self.rules)} numbers of at least 0 that sum to 1, one for "
                f"each rule. Got {list(self.shares)!r} instead.",
                hint="divide them by their sum.",
            )

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of decisions 0 and 1."""
        drawn = zip(self.rules, self.shares, strict=True)
        return np.asarray(sum(share * rule.predict_proba(X) for rule, share in drawn))


def _score(X: ArrayLike, intercept: float, coefficients: ArrayLike) -> Floats:
    """The sum of intercept and coefficients @ x, row by row."""
    features, slopes = np.asarray(X, dtype=np.float64), np.asarray(coefficients)
    if features.ndim != 2 or features.shape[1] != slopes.size:
        raise InputError(
            f"X must have shape (n, {slopes.size}). Got {features.shape} instead.",
            hint="pass the features in their order, without the group and the label.",
        )
    score: Floats = features @ slopes + intercept
    return score
