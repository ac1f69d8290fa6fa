"""Models that decide outright: a line drawn through the features, or a draw among several.

A decision that jumps is the hard case for quadrature, so that populations know these by name and
integrate them on each side of the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elfair.errors import InputError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Decision 1 where intercept + coefficients @ x is above 0, and else 0.

    Examples
    --------
    >>> LinearRule(-1.0, np.array([2.0])).predict_proba([[0.0], [1.0]])
    array([[1., 0.],
           [0., 1.]])
    """

    intercept: float
    coefficients: FloatArray

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The probability of the decisions 0 and 1: each 0 or 1."""
        features = np.asarray(X, dtype=np.float64)
        one = features @ np.asarray(self.coefficients) + self.intercept > 0
        return np.column_stack([~one, one]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Mixture:
    """One of several rules, drawn anew for each decision.

    Parameters
    ----------
    rules : sequence of LinearRule
        What is drawn from.
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

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The probability of the decisions 0 and 1."""
        drawn = zip(self.rules, self.shares, strict=True)
        return np.asarray(sum(share * rule.predict_proba(X) for rule, share in drawn))
