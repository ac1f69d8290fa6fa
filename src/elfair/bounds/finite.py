"""What the finite-sample bounds share: sums of means are brought back to one mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import inf

import numpy as np

from elfair.bounds.base import (
    Array,
    Bound,
    Moments,
    Sample,
    require_delta,
    require_prediction,
    require_samples,
)
from elfair.errors import DataError


class FiniteSampleBound(Bound):
    """A bound with a proof for one mean of i.i.d. rows, carried over to sums of means.

    Disjoint samples become i.i.d. blocks; samples that share rows are bounded one by one, each at
    an equal share of delta (a union bound), and added up.
    """

    kind = "finite-sample"

    def upper(self, samples: Sequence[Sample], delta: float, *, disjoint: bool = True) -> Array:
        """Upper bound on the sum of the means; see `Bound.upper`."""
        self._require(samples, delta)
        for sample in samples:
            require_inside(sample)
        if len(samples) == 1:
            return self._upper(samples[0], delta)
        if disjoint:
            return self._upper_disjoint(samples, delta)
        parts = [self._upper(sample, delta / len(samples)) for sample in samples]
        return np.asarray(sum(parts), dtype=np.float64)

    def predict(
        self,
        samples: Sequence[Sample],
        delta: float,
        n: Sequence[float],
        *,
        disjoint: bool = True,
    ) -> tuple[float, list[Array]]:
        """Predicted upper bound and gradients; see `Bound.predict`."""
        require_prediction(samples, n)
        self._require(samples, delta)
        if min(n) <= 0:  # no rows, no bound; the mean still says which way to go
            return inf, [np.full(sample.n, 1 / sample.n) for sample in samples]
        if len(samples) > 1 and disjoint:
            return self._predict_disjoint(samples, delta, n)
        share = delta / len(samples)
        parts = [
            self._predict(sample, share, rows) for sample, rows in zip(samples, n, strict=True)
        ]
        return sum(value for value, _ in parts), [gradient for _, gradient in parts]

    def upper_of_moments(
        self,
        moments: Sequence[Moments],
        delta: float,
        *,
        disjoint: bool = True,
        error: float | None = None,
    ) -> float | None:
        """See `Bound.upper_of_moments`."""
        if len(moments) == 1 or disjoint:
            return self._of_moments(moments, delta)
        parts = [self._of_moments([each], delta / len(moments)) for each in moments]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def _of_moments(self, moments: Sequence[Moments], delta: float) -> float | None:
        """The bound for disjoint samples, where moments are enough."""
        return None

    def _require(self, samples: Sequence[Sample], delta: float) -> None:
        require_delta(delta)
        require_samples(samples)
        for sample in samples:
            self.check(sample)

    @abstractmethod
    def _upper(self, sample: Sample, delta: float) -> Array:
        """The bound for one sample."""

    @abstractmethod
    def _predict(self, sample: Sample, delta: float, n: float) -> tuple[float, Array]:
        """The prediction for one sample."""

    def _upper_disjoint(self, samples: Sequence[Sample], delta: float) -> Array:
        return self._upper(join(samples, block_sizes(samples, [s.n for s in samples])), delta)

    def _predict_disjoint(
        self, samples: Sequence[Sample], delta: float, n: Sequence[float]
    ) -> tuple[float, list[Array]]:
        sizes = block_sizes(samples, n)
        value, gradient = self._predict(join(samples, sizes), delta, min(n))
        return value, share_out(gradient, samples, sizes)


def block_sizes(samples: Sequence[Sample], n: Sequence[float]) -> list[int]:
    """How many rows of each sample make one block, where ``n[k]`` rows of each are tested.

    The smallest sample gives one row to a block. (No block takes more than half the rows at hand:
    that binds only in a prediction from few rows.)
    """
    fewest = min(n)
    return [
        max(1, min(int(rows // fewest), sample.n // 2))
        for sample, rows in zip(samples, n, strict=True)
    ]


def join(samples: Sequence[Sample], sizes: Sequence[int]) -> Sample:
    """One sample of i.i.d. blocks whose mean is the sum of the means of disjoint samples.

    Block j adds up, over the samples k, the mean of the rows j b_k ... (j + 1) b_k - 1 of k.

    * Its expectation is the sum over k of E[Z_k].
    * Blocks are i.i.d. given the group sizes: no row is in two blocks or (the samples are disjoint)
      in two terms, every block has the same make-up, and which rows go where, or are left over,
      depends on the group sizes alone.
    * Its ends: a mean of b numbers in [low_k, high_k] is in [low_k, high_k], and intervals add up,
      so a block is in [sum low_k, sum high_k]. (An unknown end stays unknown: the sum is infinite.)
    """
    count = min(sample.n // size for sample, size in zip(samples, sizes, strict=True))
    parts = [
        sample.values[..., : count * size]
        .reshape(*sample.values.shape[:-1], count, size)
        .mean(axis=-1)
        for sample, size in zip(samples, sizes, strict=True)
    ]
    scale: float | None = 0.0
    for sample, size in zip(samples, sizes, strict=True):
        if sample.scale is None or scale is None:
            scale = None
        else:
            scale = float(np.hypot(scale, sample.scale / np.sqrt(size)))
    return Sample(
        np.asarray(sum(parts), dtype=np.float64),
        low=sum(sample.low for sample in samples),
        high=sum(sample.high for sample in samples),
        scale=scale,
    )


def share_out(gradient: Array, samples: Sequence[Sample], sizes: Sequence[int]) -> list[Array]:
    """The gradient with respect to the rows, from the one with respect to the blocks of `join`."""
    gradients = []
    for sample, size in zip(samples, sizes, strict=True):
        of_rows = np.zeros(sample.n)
        of_rows[: gradient.size * size] = np.repeat(gradient / size, size)
        gradients.append(of_rows)
    return gradients


def require_inside(sample: Sample) -> None:
    """Raise `DataError` where a row is outside its declared ends: the proof would be void."""
    least, most = float(sample.values.min()), float(sample.values.max())
    # Rounding in the rows' own arithmetic must not look like a broken declaration.
    slack = 1e-9 * max(1.0, abs(least), abs(most))
    if least < sample.low - slack or most > sample.high + slack:
        raise DataError(
            f"Rows must be inside their declared ends [{sample.low}, {sample.high}]. "
            f"Got rows from {least} to {most} instead.",
            hint="impact_range= or propensity_floor= does not fit the data; widen it only if "
            "the wider one was true before the data were seen.",
        )
