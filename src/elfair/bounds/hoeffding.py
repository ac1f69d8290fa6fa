"""Hoeffding's inequality: only the ends of a row matter, not its spread."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from elfair.bounds.base import Array, Moments, Sample, require_delta
from elfair.bounds.finite import FiniteSampleBound


class Hoeffding(FiniteSampleBound):
    """Mean plus ``(high - low) sqrt(ln(1/delta) / (2 n))``.

    Examples
    --------
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5], low=-1, high=1)
    >>> round(float(Hoeffding().upper([rows], 0.1)), 4)
    1.073
    """

    name = "hoeffding"
    needs = "both ends of a row"
    needs_low = needs_high = True

    def _upper(self, sample: Sample, delta: float) -> Array:
        return self._upper_disjoint([sample], delta)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        value, gradients = self._predict_disjoint([sample], delta, [n])
        return value, gradients[0]

    # The inequality holds for independent rows with different ends, so that all rows of disjoint
    # samples count, and no blocks are needed.
    def _upper_disjoint(self, samples: Sequence[Sample], delta: float) -> Array:
        mean = sum(sample.values.mean(axis=-1) for sample in samples)
        return np.asarray(
            mean + _margin([s.high - s.low for s in samples], delta, [s.n for s in samples])
        )

    def _of_moments(self, moments: Sequence[Moments], delta: float) -> float | None:
        mean = sum(each.mean for each in moments)
        return mean + _margin([m.high - m.low for m in moments], delta, [m.n for m in moments])

    def _predict_disjoint(
        self, samples: Sequence[Sample], delta: float, n: Sequence[float]
    ) -> tuple[float, list[Array]]:
        mean = sum(float(sample.values.mean()) for sample in samples)
        gradients = [np.full(sample.n, 1 / sample.n) for sample in samples]
        return mean + _margin(_widths(samples), delta, n), gradients

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        require_delta(delta)
        return width * sqrt(log(1 / delta) / (2 * n)), 0.0


def _margin(widths: Sequence[float], delta: float, n: Sequence[float]) -> float:
    squares = sum(width**2 / rows for width, rows in zip(widths, n, strict=True))
    return sqrt(log(1 / delta) / 2 * squares)


def _widths(samples: Sequence[Sample]) -> list[float]:
    return [sample.high - sample.low for sample in samples]
