"""Finite-sample bounds, and how sums of means reduce to one mean.

* Hoeffding's inequality: only the ends of a row matter, not its spread.
* The empirical Bernstein bound of Maurer and Pontil (2009).
* Anderson's bound: the mean under the least favourable distribution inside a DKW band.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from elfair.bounds.base import Bound, HasMoments, Prediction, Sample, Samples, dot, slopes_of_means
from elfair.errors import BoundError, DataError
from elfair.types import Floats


class FiniteSampleBound(Bound):
    """A bound with a proof for sums of means of disjoint samples of i.i.d. rows.

    Samples that share rows are bounded one by one, each at an equal share of delta (a union bound),
    and the bounds are added.
    """

    kind = "finite-sample"

    @abstractmethod
    def _upper_disjoint(self, samples: Samples, delta: float) -> Floats:
        """The bound for disjoint samples."""

    @abstractmethod
    def _predict_disjoint(self, samples: Samples, delta: float, n: Sequence[float]) -> Prediction:
        """The prediction for disjoint samples."""

    def _of_moments(self, moments: HasMoments, delta: float) -> Any:
        """The bound for disjoint samples; None if moments are not enough."""
        return None

    def _upper_of_sum(self, samples: Samples, delta: float, disjoint: bool) -> Floats:
        for sample in samples:
            require_inside(sample)
        apart = [samples] if disjoint else [[sample] for sample in samples]
        return np.asarray(sum(self._upper_disjoint(each, delta / len(apart)) for each in apart))

    def _predict_sum(
        self, samples: Samples, delta: float, n: Sequence[float], disjoint: bool
    ) -> Prediction:
        if disjoint:
            return self._predict_disjoint(samples, delta, n)
        share = delta / len(samples)
        parts = [self._predict_disjoint([s], share, [k]) for s, k in zip(samples, n, strict=True)]
        return Prediction(sum(each.upper for each in parts), [each.by_values[0] for each in parts])

    def upper_of_moments(
        self, moments: HasMoments, delta: float, *, shared_error: float | None = None
    ) -> float | None:
        """See `Bound.upper_of_moments`."""
        apart = [moments] if shared_error is None else [[each] for each in moments]
        parts = [self._of_moments(each, delta / len(apart)) for each in apart]
        return None if None in parts else float(sum(parts))


class BlockBound(FiniteSampleBound):
    """A bound with a proof for one mean of i.i.d. rows: disjoint samples become i.i.d. blocks."""

    @abstractmethod
    def _upper(self, sample: Sample, delta: float) -> Floats:
        """The bound for one sample."""

    @abstractmethod
    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Floats]:
        """The prediction for one sample."""

    def _upper_disjoint(self, samples: Samples, delta: float) -> Floats:
        return self._upper(join(samples, block_sizes(samples, [s.n for s in samples])), delta)

    def _predict_disjoint(self, samples: Samples, delta: float, n: Sequence[float]) -> Prediction:
        sizes = block_sizes(samples, n)
        value, gradient = self._predict(join(samples, sizes), delta, min(n))
        return Prediction(value, share_out(gradient, samples, sizes))


def block_sizes(samples: Samples, n: Sequence[float]) -> list[int]:
    """The number of rows of each sample in one block, if ``n[k]`` rows of each are tested.

    The smallest sample gives one row to each block. (No block takes more than half of the given
    rows; this limit matters only for predictions from few rows.)
    """
    fewest = min(n)
    return [
        max(1, min(int(rows // fewest), sample.n // 2))
        for sample, rows in zip(samples, n, strict=True)
    ]


def join(samples: Samples, sizes: Sequence[int]) -> Sample:
    """One sample of i.i.d. blocks whose mean is the sum of the means of disjoint samples.

    Block j adds up, over the samples k, the mean of the rows j b_k ... (j + 1) b_k - 1 of k.

    * Its expectation is the sum over k of E[Z_k].
    * Blocks are i.i.d. given the group sizes: no row is in two blocks or (the samples are disjoint)
      in two terms, every block has the same composition, and the place of each row (or that it is
      left over) depends only on the group sizes.
    * Its ends: a mean of b numbers in [low_k, high_k] is in [low_k, high_k], and intervals add up,
      so a block is in [sum low_k, sum high_k]. (An unknown end stays unknown: the sum is infinite.)
    """
    if len(samples) == 1:  # a block is a row
        return samples[0]
    count = min(sample.n // size for sample, size in zip(samples, sizes, strict=True))
    parts = [
        sample.values[..., : count * size]
        .reshape(*sample.values.shape[:-1], count, size)
        .mean(axis=-1)
        for sample, size in zip(samples, sizes, strict=True)
    ]
    known = [(s.scale, b) for s, b in zip(samples, sizes, strict=True) if s.scale is not None]
    scales = [scale / sqrt(size) for scale, size in known]
    expected = [sample.expected for sample in samples if sample.expected is not None]
    likely = [sample.likely for sample in samples if sample.likely is not None]
    return Sample(
        np.asarray(sum(parts), dtype=np.float64),
        low=sum(sample.low for sample in samples),
        high=sum(sample.high for sample in samples),
        scale=float(np.hypot.reduce(scales)) if len(scales) == len(samples) else None,
        expected=sum(expected) if len(expected) == len(samples) else None,
        likely=sum(likely) if len(likely) == len(samples) else None,
        others=min(s.others / b for s, b in zip(samples, sizes, strict=True)),
    )


def share_out(gradient: Floats, samples: Samples, sizes: Sequence[int]) -> list[Floats]:
    """The gradient by rows, from the gradient by the blocks of `join`."""
    gradients = []
    for sample, size in zip(samples, sizes, strict=True):
        of_rows = np.zeros(sample.n)
        of_rows[: gradient.size * size] = np.repeat(gradient / size, size)
        gradients.append(of_rows)
    return gradients


def require_inside(sample: Sample) -> None:
    """Raise `DataError` where a row is outside its declared ends: the proof would be void."""
    require_between(float(sample.values.min()), float(sample.values.max()), sample.low, sample.high)


def require_between(least: float, most: float, low: float, high: float) -> None:
    """Raise `DataError` if the smallest or the largest row is outside the declared ends."""
    # Rounding in the rows' own arithmetic must not look like a broken declaration.
    slack = 1e-9 * max(1.0, abs(least), abs(most))
    if least < low - slack or most > high + slack:
        raise DataError(
            f"Rows must be inside their declared ends [{low}, {high}]. "
            f"Got rows from {least} to {most} instead.",
            hint="impact_range= or propensity_floor= does not fit the data; widen it only if "
            "the wider one was true before the data were seen.",
        )


class Hoeffding(FiniteSampleBound):
    """Mean plus ``(high - low) sqrt(ln(1/delta) / (2 n))``.

    Examples
    --------
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5], low=-1, high=1)
    >>> round(float(Hoeffding().upper([rows], 0.1)), 4)
    1.073
    """

    name = "hoeffding"
    needs = ("low", "high")

    # The inequality holds for independent rows with different ends, so all rows of disjoint
    # samples count, and no blocks are needed.
    def _of_moments(self, moments: HasMoments, delta: float) -> Any:
        rows = [each.n for each in moments]
        return sum(each.mean for each in moments) + _margin(moments, delta, rows)

    def _upper_disjoint(self, samples: Samples, delta: float) -> Floats:
        return np.asarray(self._of_moments(samples, delta))

    def _predict_disjoint(self, samples: Samples, delta: float, n: Sequence[float]) -> Prediction:
        mean = sum(float(sample.mean) for sample in samples)
        return Prediction(mean + _margin(samples, delta, n), slopes_of_means(samples))

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        return width * sqrt(log(1 / delta) / (2 * n)), 0.0


def _margin(moments: HasMoments, delta: float, n: Sequence[float]) -> float:
    squares = sum((of.high - of.low) ** 2 / rows for of, rows in zip(moments, n, strict=True))
    return sqrt(log(1 / delta) / 2 * squares)


class EmpiricalBernstein(BlockBound):
    """Mean plus ``s sqrt(2 L / n) + 7 (high - low) L / (3 (n - 1))`` with ``L = ln(2/delta)``.

    Examples
    --------
    >>> rows = Sample([-0.5, 0.5, -0.5, 0.5], low=-1, high=1)
    >>> round(float(EmpiricalBernstein().upper([rows], 0.1)), 4)
    5.3666
    """

    name = "bernstein"
    needs = ("low", "high")
    too_few = 1

    def _of_moments(self, moments: HasMoments, delta: float) -> Any:
        if len(moments) > 1:  # blocks of rows
            return None
        (of,) = moments
        constant, slope = _factors(of.high - of.low, delta, of.n)
        return of.mean + slope * np.sqrt(of.variance) + constant

    def _upper(self, sample: Sample, delta: float) -> Floats:
        return np.asarray(self._of_moments([sample], delta))

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Floats]:
        m, mean = sample.n, float(sample.mean)
        gradient = sample.values - mean
        spread = sqrt(dot(gradient, gradient) / (m - 1))
        constant, slope = _factors(sample.high - sample.low, delta, n)
        if spread > 0:
            gradient *= slope / (spread * (m - 1))
        gradient += 1 / m
        return mean + slope * spread + constant, gradient

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """See `Bound.moment_factors`."""
        return _factors(width, delta, n) if n > 1 else None


def _factors(width: float, delta: float, n: float) -> tuple[float, float]:
    """What to add to the mean: a constant, and a multiple of the standard deviation."""
    level = log(2 / delta)
    return 7 * width * level / (3 * (n - 1)), sqrt(2 * level / n)


class Anderson(BlockBound):
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
    needs = ("high",)

    def _require(self, samples: Samples, delta: float) -> None:
        super()._require(samples, delta)
        if delta > 0.5:
            raise BoundError(
                f"The 'anderson' bound is proved for delta <= 0.5. Got {delta} instead.",
                hint="use a smaller delta, or bound='betting'.",
            )

    def _upper(self, sample: Sample, delta: float) -> Floats:
        weights = _weights(sample.n, delta, sample.n)
        # Ascending z is descending y, so the weights run backwards.
        kept = np.sort(sample.values, axis=-1) @ weights[::-1]
        return np.asarray(sample.high * (1 - weights.sum()) + kept)

    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Floats]:
        # The bound is a functional of F and eps. The given rows stand for F; only eps depends on
        # the number of test rows.
        weights = _weights(sample.n, delta, n)
        gradient = np.empty(sample.n)
        gradient[np.argsort(-sample.values, kind="stable")] = weights
        value = sample.high * (1 - float(weights.sum())) + dot(sample.values, gradient)
        return value, gradient


def _weights(m: int, delta: float, n: float) -> Floats:
    """The weight of each of m sorted y (ascending): the drop of ``max(0, 1 - F - eps)`` there."""
    eps = sqrt(log(1 / delta) / (2 * n))
    steps = np.maximum(0.0, 1 - np.arange(m + 1) / m - eps)
    return np.asarray(steps[:-1] - steps[1:])
