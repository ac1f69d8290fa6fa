"""The empirical Bernstein bound of Maurer and Pontil (2009)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt

import numpy as np

from elfair.bounds.base import Array, Moments, Sample, dot, require_delta
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
        constant, slope = _factors(sample.high - sample.low, delta, sample.n)
        spread = sample.values.std(axis=-1, ddof=1)
        return np.asarray(sample.values.mean(axis=-1) + slope * spread + constant)

    def _of_moments(self, moments: Sequence[Moments], delta: float) -> float | None:
        if len(moments) > 1:  # blocks of rows
            return None
        (of,) = moments
        constant, slope = _factors(of.high - of.low, delta, of.n)
        return of.mean + slope * sqrt(of.variance) + constant

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        m = sample.n
        mean = float(sample.values.mean())
        if n <= 1:
            return inf, np.full(m, 1 / m)
        gradient = sample.values - mean
        spread = sqrt(dot(gradient, gradient) / (m - 1))
        constant, slope = _factors(sample.high - sample.low, delta, n)
        if spread > 0:
            gradient *= slope / (spread * (m - 1))
        gradient += 1 / m
        return mean + slope * spread + constant, gradient

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        require_delta(delta)
        return _factors(width, delta, n) if n > 1 else None


def _factors(width: float, delta: float, n: float) -> tuple[float, float]:
    """What is added to the mean: a constant, and a share of the standard deviation."""
    level = log(2 / delta)
    return 7 * width * level / (3 * (n - 1)), sqrt(2 * level / n)
