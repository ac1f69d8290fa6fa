"""The empirical Bernstein bound of Maurer and Pontil (2009)."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from elfair.bounds.base import Array, Sample, dot, require_delta
from elfair.bounds.finite import FiniteSampleBound


class EmpiricalBernstein(FiniteSampleBound):
    """Mean plus ``s sqrt(2 L / n) + 7 (high - low) L / (3 (n - 1))`` with ``L = ln(2/delta)``.

    Examples
    --------
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5], low=-1, high=1)
    >>> round(float(EmpiricalBernstein().upper([rows], 0.1)), 4)
    5.3666
    """

    name = "bernstein"
    needs = "both ends of a row"
    needs_low = needs_high = True

    def _upper(self, sample: Sample, delta: float) -> Array:
        level, n = log(2 / delta), sample.n
        spread = sample.values.std(axis=-1, ddof=1)
        last = 7 * (sample.high - sample.low) * level / (3 * (n - 1))
        return np.asarray(sample.values.mean(axis=-1) + spread * sqrt(2 * level / n) + last)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        m, level = sample.n, log(2 / delta)
        mean = float(sample.values.mean())
        if n <= 1:
            return inf, np.full(m, 1 / m)
        gradient = sample.values - mean
        spread = sqrt(dot(gradient, gradient) / (m - 1))
        slope = sqrt(2 * level / n)
        last = 7 * (sample.high - sample.low) * level / (3 * (n - 1))
        if spread > 0:
            gradient *= slope / (spread * (m - 1))
        gradient += 1 / m
        return mean + slope * spread + last, gradient

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        require_delta(delta)
        level = log(2 / delta)
        if n <= 1:
            return None
        return 7 * width * level / (3 * (n - 1)), sqrt(2 * level / n)
