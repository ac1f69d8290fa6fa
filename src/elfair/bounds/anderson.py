"""Anderson's bound: the mean under the least favourable distribution inside a DKW band."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from elfair.bounds.base import Array, Sample, dot, require_delta
from elfair.bounds.finite import FiniteSampleBound
from elfair.errors import BoundError


class Anderson(FiniteSampleBound):
    """``high`` minus the integral over y >= 0 of ``max(0, 1 - F(y) - eps)``, Y = high - Z.

    F is the empirical distribution function of Y, and ``eps = sqrt(ln(1/delta) / (2 n))`` the
    one-sided band of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, which is proved for
    ``delta <= 1/2``. Only the upper end of a row is needed.

    Examples
    --------
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5], high=1)
    >>> round(float(Anderson().upper([rows], 0.1)), 4)
    0.7682
    """

    name = "anderson"
    needs = "the upper end of a row"
    needs_high = True

    def _require(self, samples: Sequence[Sample], delta: float) -> None:
        require_delta(delta)
        if delta > 0.5:
            raise BoundError(
                f"The 'anderson' bound is proved for delta <= 0.5. Got {delta} instead.",
                hint="use a smaller delta, or bound='betting'.",
            )
        super()._require(samples, delta)

    def _upper(self, sample: Sample, delta: float) -> Array:
        weights = _weights(sample.n, delta, sample.n)
        # Ascending z is descending y, so that the weights run backwards.
        kept = np.sort(sample.values, axis=-1) @ weights[::-1]
        return np.asarray(sample.high * (1 - weights.sum()) + kept)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        # The bound is a functional of F and of eps. The rows at hand stand for F; only eps knows
        # how many rows will be tested.
        weights = _weights(sample.n, delta, n)
        gradient = np.empty(sample.n)
        gradient[np.argsort(-sample.values, kind="stable")] = weights
        value = sample.high * (1 - float(weights.sum())) + dot(sample.values, gradient)
        return value, gradient


def _weights(m: int, delta: float, n: float) -> Array:
    """Weight of each of m ordered y, smallest first: the fall of ``max(0, 1 - F - eps)`` there."""
    eps = sqrt(log(1 / delta) / (2 * n))
    steps = np.maximum(0.0, 1 - np.arange(m + 1) / m - eps)
    return np.asarray(steps[:-1] - steps[1:])
