"""Student's t bound, and Welch's for sums of means."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, sqrt

import numpy as np
from scipy.special import stdtrit

from elfair.bounds import base
from elfair.bounds.base import Prediction, Samples, dot, mean_of
from elfair.errors import InputError
from elfair.types import Booleans, Floats, Index

#: A standard deviation below this share of the mean is rounding, not spread.
ROUNDING = 1e-13


class StudentT(base.Bound):
    """Mean plus ``s t(1 - delta; n - 1) / sqrt(n)``: valid in the limit of many rows.

    Sums of disjoint samples follow Welch, with Satterthwaite's degrees of freedom. If samples share
    rows, the variance of the sum includes their covariance (the delta method: each row's influence
    adds up over the samples that it is in), with the degrees of freedom of the smallest sample.

    Rows that do not vary tell nothing about their spread: the bound is +inf, unless all of them are
    exactly 0, as they are by construction if the new model is the behaviour model.

    Examples
    --------
    >>> from elfair.bounds import Sample
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5])
    >>> round(float(StudentT().upper([rows], 0.1)), 4)
    0.4728
    """

    name = "ttest"
    kind = "asymptotic"
    needs = ()
    too_few = 1

    def _upper_of_sum(self, samples: Samples, delta: float, disjoint: bool) -> Floats:
        return self._bounded(samples, None if disjoint else joint_variance(samples), delta)

    def upper_of_moments(
        self, moments: base.HasMoments, delta: float, *, shared_error: float | None = None
    ) -> float | None:
        """See `Bound.upper_of_moments`."""
        joint = None if shared_error is None else np.asarray(shared_error**2)
        return float(self._bounded(moments, joint, delta))

    def _bounded(self, moments: base.HasMoments, joint: Floats | None, delta: float) -> Floats:
        """The bound, with the variance of the sum of the means if samples overlap (``joint``)."""
        return _upper(moments, joint, delta)

    def _predict_sum(
        self, samples: Samples, delta: float, n: Sequence[float], disjoint: bool
    ) -> Prediction:
        means = [mean_of(sample.values) for sample in samples]
        # The search calls this in its inner loop: each array becomes a gradient in place.
        centred = [s.values - mean for s, mean in zip(samples, means, strict=True)]
        variances = [dot(c, c) / (c.size - 1) for c in centred]
        flat = [bool(is_flat(sqrt(v), m)) for v, m in zip(variances, means, strict=True)]
        mute = any(f and bool(s.values.any()) for f, s in zip(flat, samples, strict=True))
        if mute or all(flat):
            return Prediction(inf if mute else 0.0, base.slopes_of_means(samples))
        if disjoint:
            margin, slopes = welch(variances, n, delta)
            for c, slope in zip(centred, slopes, strict=True):
                c *= 2 * slope / (c.size - 1)
                c += 1 / c.size
            return Prediction(sum(means) + margin, centred)
        influence, places = influences(samples, centred, n)
        variance = dot(influence, influence)
        if variance <= ROUNDING**2 * sum(v / k for v, k in zip(variances, n, strict=True)):
            return Prediction(inf, base.slopes_of_means(samples))
        margin = sqrt(variance) * float(stdtrit(min(n) - 1, 1 - delta))
        gradients = []
        for sample, rows, place in zip(samples, n, places, strict=True):
            of_rows = influence[place]
            of_rows -= of_rows.mean()
            of_rows *= margin / variance / sqrt(rows * (sample.n - 1))
            of_rows += 1 / sample.n
            gradients.append(of_rows)
        return Prediction(sum(means) + margin, gradients)

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        return (0.0, float(stdtrit(n - 1, 1 - delta)) / sqrt(n)) if n > 1 else None


def _upper(moments: base.HasMoments, joint: Floats | None, delta: float) -> Floats:
    """The bound, with the variance of the sum of the means if samples overlap (``joint``)."""
    n, means = [each.n for each in moments], [each.mean for each in moments]
    spreads = [np.sqrt(each.variance) for each in moments]
    flat = [is_flat(s, m) for s, m in zip(spreads, means, strict=True)]
    terms = [s**2 / rows for s, rows in zip(spreads, n, strict=True)]
    if joint is None:
        variance = np.asarray(sum(terms))
        freedom = satterthwaite(terms, variance, n)
    else:
        # Rows that cancel tell as little as rows that do not vary.
        cancelled = (joint <= ROUNDING**2 * sum(terms)) & (np.asarray(sum(terms)) > 0)
        variance = np.where(cancelled, inf, joint)
        freedom = np.asarray(min(n) - 1.0)
    bound = np.asarray(sum(means)) + np.sqrt(variance) * stdtrit(freedom, 1 - delta)
    mute = [f & ((s != 0) | (m != 0)) for f, s, m in zip(flat, spreads, means, strict=True)]
    return np.where(reduce(np.logical_or, mute), inf, bound)


def joint_variance(samples: Samples) -> Floats:
    """The variance of a sum of means of samples that share rows."""
    centred = [sample.values - sample.mean[..., None] for sample in samples]
    influence, _ = influences(samples, centred, [sample.n for sample in samples])
    return np.asarray(np.sum(influence**2, axis=-1))


def is_flat(spread: Floats | float, mean: Floats | float) -> Booleans:
    """Whether rows do not vary, up to rounding."""
    return np.less_equal(spread, ROUNDING * np.abs(mean))


def satterthwaite(terms: Sequence[Floats], variance: Floats, n: Sequence[float]) -> Floats:
    """The degrees of freedom of a sum of variances of means (1, unused, if nothing varies)."""
    below = np.asarray(sum(t**2 / (k - 1) for t, k in zip(terms, n, strict=True)))
    safe = np.where(below > 0, below, 1.0)
    return np.where(below > 0, variance**2 / safe, 1.0)


def welch(
    variances: Sequence[float], n: Sequence[float], delta: float
) -> tuple[float, list[float]]:
    """The margin of the predicted bound, and its slope in each sample's variance."""
    terms = [v / k for v, k in zip(variances, n, strict=True)]
    total = sum(terms)
    below = sum(t * t / (k - 1) for t, k in zip(terms, n, strict=True))
    freedom = total * total / below
    quantile = float(stdtrit(freedom, 1 - delta))
    root = sqrt(total)
    if len(terms) == 1:  # the degrees of freedom are n - 1 whatever the variance
        return root * quantile, [quantile / (2 * root * n[0])]
    step = 1e-4 * freedom
    ahead, behind = stdtrit([freedom + step, freedom - step], 1 - delta)
    bend = root * float(ahead - behind) / (2 * step)
    slopes = []
    for t, k in zip(terms, n, strict=True):
        of_freedom = 2 * total / below - 2 * freedom * t / ((k - 1) * below)
        slopes.append((quantile / (2 * root) + bend * of_freedom) / k)
    return root * quantile, slopes


def influences(
    samples: Samples, centred: Sequence[Floats], n: Sequence[float]
) -> tuple[Floats, list[Index]]:
    """Each row's influence on the sum of the means, and the places of each sample's rows in it.

    The sum of its squares is the variance of the sum of the means of ``n[k]`` rows each: Welch's
    for disjoint samples, that of the mean of the row-wise sum for samples on the same rows.
    """
    where = [sample.rows for sample in samples]
    if any(rows is None or np.unique(rows).size != rows.size for rows in where):
        raise InputError(
            "Samples that overlap must name their rows, each row once. Got samples without 'rows', "
            "or with a repeated row, instead.",
            hint="pass Sample(..., rows=positions), or disjoint=True if no row is in two samples.",
        )
    union, place = np.unique(
        np.concatenate([r for r in where if r is not None]), return_inverse=True
    )
    places = np.split(place, np.cumsum([sample.n for sample in samples])[:-1])
    influence = np.zeros((*centred[0].shape[:-1], union.size))
    for c, at, rows in zip(centred, places, n, strict=True):
        influence[..., at] += c / sqrt(rows * (c.shape[-1] - 1))
    return influence, places
