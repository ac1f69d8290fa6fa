"""Student's t bound, guarded against what rows happen not to show.

The plain bound trusts the spread of the rows. It passes far too often where the rows that matter
are rare: decisions that were hardly ever taken, losses that hardly ever happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from elfair.bounds import base
from elfair.bounds.base import Prediction, Samples, dot, mean_of
from elfair.bounds.student import (
    ROUNDING,
    StudentT,
    influences,
    is_flat,
    satterthwaite,
    welch,
)
from elfair.types import Floats


class GuardedT(StudentT):
    """Student's bound, with no variance below the known one, and with room for a row not seen.

    * The variance of a row is at least the one that such rows are known to have
      (``least_variance``).
    * Mean and variance allow for one more row: at the upper end of a row or, where no end is known,
      as far out as the largest row that was seen, among other rows too (``worst``), exceeds what is
      normal. If a loss of that size has the probability p, none is among n rows with the
      probability exp(-n p); one more row of the size r allows for that, because it raises the bound
      by about r (1 + t) / n. The plain bound is right for normal rows. The largest of n of them
      lies about k = z(1 - 1/n) spreads above their mean, so that only what is beyond counts. If
      there are fewer other rows than n, they say less about how large rows can be, and k is smaller
      in proportion.

    Examples
    --------
    >>> from elfair.bounds import Sample
    >>> rows = [-0.5, 0.5, -0.5, 0.5]
    >>> round(float(GuardedT().upper([Sample(rows)], 0.1)), 4)
    0.607
    >>> round(float(GuardedT().upper([Sample(rows, worst=0.5, others=4)], 0.1)), 4)
    0.4966
    >>> round(float(StudentT().upper([Sample(rows)], 0.1)), 4)
    0.4728
    """

    name = "guarded"
    guarded = True

    def _bounded(self, moments: base.HasMoments, joint: Floats | None, delta: float) -> Floats:
        return _upper(moments, joint, delta)

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """None: the largest row counts, too."""
        return None

    def _predict_sum(
        self, samples: Samples, delta: float, n: Sequence[float], disjoint: bool
    ) -> Prediction:
        means = [mean_of(sample.values) for sample in samples]
        centred = [s.values - mean for s, mean in zip(samples, means, strict=True)]
        variances = [dot(c, c) / (c.size - 1) for c in centred]
        longer = list(map(_Longer, samples, means, variances, n))
        if any(is_flat(sqrt(each.variance), each.mean) and each.mean for each in longer):
            return Prediction(inf, base.slopes_of_means(samples))
        if not any(each.variance for each in longer):
            return Prediction(0.0, base.slopes_of_means(samples))
        slopes_of_shared = None
        if disjoint:
            margin, slopes = welch([each.variance for each in longer], n, delta)
        else:
            influence, places = influences(samples, centred, n)
            shared = dot(influence, influence)
            shared -= sum(v / k for v, k in zip(variances, n, strict=True))
            variance = shared + sum(e.variance / k for e, k in zip(longer, n, strict=True))
            margin = sqrt(variance) * float(stdtrit(min(n) - 1, 1 - delta))
            by_variance = margin / (2 * variance)
            slopes = [by_variance / k for k in n]
            slopes_of_shared = [
                by_variance * _by_shared(influence[place], c, k)
                for place, c, k in zip(places, centred, n, strict=True)
            ]
        gradients = [e.gradient(c, s) for e, c, s in zip(longer, centred, slopes, strict=True)]
        if slopes_of_shared is not None:
            gradients = [a + b for a, b in zip(gradients, slopes_of_shared, strict=True)]
        return Prediction(
            sum(each.mean for each in longer) + margin,
            gradients,
            [each.by_least_variance(slope) for each, slope in zip(longer, slopes, strict=True)],
            [each.by_worst(slope) for each, slope in zip(longer, slopes, strict=True)],
        )


def _by_shared(influence: Floats, centred: Floats, n: float) -> Floats:
    """The derivative, by the rows of one sample, of what overlap adds to the variance."""
    of_rows = influence - influence.mean()
    of_rows *= 2 / sqrt(n * (centred.size - 1))
    return np.asarray(of_rows - centred * (2 / (n * (centred.size - 1))))


class _Longer:
    """The moments to expect of n rows and one more, and their derivatives by the rows at hand."""

    def __init__(self, sample: base.Sample, mean: float, variance: float, n: float) -> None:
        self._n, self._spread, self._normal = n, sqrt(variance), 0.0
        self._at = None  # the row at hand that the one more row is like
        self._like_others = False
        if isfinite(sample.high):
            self._away = sample.high - mean
        else:
            self._normal = normal_largest(n, sample.others)
            self._away = max(0.0, float(sample.largest) - mean - self._normal * self._spread)
            place = int(sample.values.argmax())
            if sample.values[place] > sample.worst:
                self._at = place
            self._like_others = self._at is None
        self.mean = mean + self._away / (n + 1)
        seen = variance + self._away**2 / (n + 1)
        self.variance = max(seen, sample.least_variance)
        self._known = self.variance > seen

    def gradient(self, centred: Floats, by_variance: float) -> Floats:
        """The derivative of the mean plus ``by_variance`` times the variance."""
        size, by_away = centred.size, self._by_away(by_variance)
        by_centred = 0.0 if self._known else by_variance * 2 / (size - 1)
        if self._normal and self._spread > 0:
            by_centred -= by_away * self._normal / (self._spread * (size - 1))
        gradient = centred * by_centred
        gradient += (1 - by_away) / size
        if self._at is not None:
            gradient[self._at] += by_away
        return gradient

    def by_least_variance(self, by_variance: float) -> float:
        """Its derivative by the variance that rows are known to have."""
        return by_variance if self._known else 0.0

    def by_worst(self, by_variance: float) -> float:
        """Its derivative by how large a row can well be."""
        return self._by_away(by_variance) if self._like_others else 0.0

    def _by_away(self, by_variance: float) -> float:
        if not self._away:
            return 0.0
        seen = 0.0 if self._known else by_variance * 2 * self._away
        return (1 + seen) / (self._n + 1)


def normal_largest(n: float, others: float) -> float:
    """About how many spreads the largest of n normal rows lies above their mean, in proportion if
    there are fewer other rows than n.

    Examples
    --------
    >>> [round(normal_largest(100, others), 2) for others in (0, 50, 100, 150)]
    [0.0, 1.16, 2.33, 2.33]
    """
    return float(ndtri(1 - 1 / n)) * min(1.0, others / n)


def _upper(moments: base.HasMoments, joint: Floats | None, delta: float) -> Floats:
    """The bound, with the variance of the sum of the means if samples overlap (``joint``)."""
    n = [float(each.n) for each in moments]
    means, variances = zip(*map(_with_row, moments), strict=True)
    terms = [v / k for v, k in zip(variances, n, strict=True)]
    total = np.asarray(sum(terms))
    if joint is None:
        freedom = satterthwaite(terms, total, n)
    else:
        # Rows that cancel tell as little as rows that do not vary.
        apart = np.asarray(sum(each.variance / each.n for each in moments))
        total = total + np.where((joint <= ROUNDING**2 * apart) & (apart > 0), inf, joint) - apart
        freedom = np.asarray(min(n) - 1.0)
    bound = np.asarray(sum(means)) + np.sqrt(total) * stdtrit(freedom, 1 - delta)
    mute = [is_flat(np.sqrt(v), m) & (m != 0) for v, m in zip(variances, means, strict=True)]
    return np.where(reduce(np.logical_or, mute), inf, bound)


def _with_row(of: Any) -> tuple[Floats, Floats]:
    """Mean and variance that allow for one more row."""
    n, mean = of.n, np.asarray(of.mean)
    if isfinite(of.high):
        away = of.high - mean
    else:
        normal = normal_largest(n, of.others) * np.sqrt(of.variance)
        away = np.maximum(0.0, of.largest - mean - normal)
    variance = np.maximum(of.variance + away**2 / (n + 1), of.least_variance)
    return mean + away / (n + 1), variance
