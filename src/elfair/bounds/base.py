"""What a bound is: from a sample of rows, an upper confidence bound on their mean.

Large rows are bad: the constraint is ``g = E[z] <= 0``, and it passes if the upper bound is at
most 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import isabstract
from math import inf, isfinite
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from elfair.errors import BoundError, DataError, InputError
from elfair.types import Floats, Index

#: What a bound holds for, from the strongest promise on: any number of rows, or their limit.
Kind = Literal["finite-sample", "asymptotic"]


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of one statistic inside one condition.

    Parameters
    ----------
    values : array of shape (..., n)
        One number for each row. Leading axes are independent repetitions.
    low, high : float
        Known ends of a row: declared or structural, never the sample's own minimum or maximum.
    scale : float, optional
        The typical spread (standard deviation) of a row, learnt from *other* rows, for "betting".
    rows : array of shape (n,), optional
        The distinct positions of the rows in the data set, for t bounds if samples overlap.
    expected : float, optional
        About where the mean should be, learnt from *other* rows, for "betting"; by default its bets
        aim at 0, below which a statement passes.
    likely : float, optional
        The mean of *other* rows, for "growth".
    least_variance : float, default 0
        A variance that such rows are known to have even if these do not show it, for "guarded".
    worst : float, default -inf
        A row as large as such rows can well be, by *other* rows, for "guarded".
    others : float, default 0
        How many other rows that is the largest of.

    Examples
    --------
    >>> Sample([0.25, -0.5, 0.0], low=-1, high=1).n
    3
    """

    values: Floats
    low: float = -inf
    high: float = inf
    scale: float | None = None
    rows: Index | None = None
    expected: float | None = None
    likely: float | None = None
    least_variance: float = 0.0
    worst: float = -inf
    others: float = 0

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        object.__setattr__(self, "values", values)
        # One pass and no temporary array: any NaN or infinity makes the sum infinite or NaN.
        require_bounded(values.shape[-1] if values.ndim else 0, float(values.sum()))
        if not self.low <= self.high:
            raise InputError(
                f"The ends of a row must satisfy low <= high. Got low={self.low}, "
                f"high={self.high} instead.",
                hint="impact_range is (lowest, highest).",
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.values.shape[-1])

    @property
    def mean(self) -> Floats:
        """The mean of the rows of each repetition."""
        return np.asarray(self.values.mean(axis=-1))

    @property
    def variance(self) -> Floats:
        """Their variance (divided by n - 1)."""
        return np.asarray(self.values.var(axis=-1, ddof=1))

    @property
    def largest(self) -> Floats:
        """The largest row of each repetition, or the worst by other rows."""
        return np.asarray(np.maximum(self.values.max(axis=-1), self.worst))


@dataclass(frozen=True)
class Moments:
    """What a record keeps of a sample.

    Parameters
    ----------
    n : int
        The number of rows.
    mean, variance : float
        Their mean and variance (divided by n - 1).
    largest : float
        See `Sample.largest`.
    low, high : float
        Known ends of a row.
    least_variance, others : float, default 0
        See `Sample`.

    Examples
    --------
    >>> Moments(4, 0.0, 1 / 3, 0.5, low=-1, high=1).n
    4
    """

    n: int
    mean: float
    variance: float
    largest: float
    low: float = -inf
    high: float = inf
    least_variance: float = 0.0
    others: float = 0


def require_bounded(n: int, total: float) -> None:
    """Raise unless there are 2 rows, and all of them are finite, by their sum or mean."""
    if n < 2:
        raise DataError(
            f"A bound needs at least 2 rows inside the condition. Got {n} instead.",
            hint="widen the condition, or log more decisions for it.",
        )
    if not isfinite(total):
        raise DataError(
            "The rows of a bound must be finite numbers. Got some that are NaN or infinite "
            "instead.",
            hint="look for missing impacts, and for propensities of 0.",
        )


Samples: TypeAlias = Sequence[Sample]
#: A sample also has moments.
HasMoments: TypeAlias = Sequence[Sample | Moments]


class Prediction(NamedTuple):
    """A bound to expect, and its derivatives by all that it depends on.

    Parameters
    ----------
    upper : float
        The bound.
    by_values : sequence of arrays
        Its derivatives by the values of each sample.
    by_least_variance, by_worst : sequence of float
        Those by these numbers of each sample; empty if they do not count.
    """

    upper: float
    by_values: Sequence[Floats]
    by_least_variance: Sequence[float] = ()
    by_worst: Sequence[float] = ()


class Bound(ABC):
    """A one-sided upper confidence bound on a mean, or on a sum of means.

    A subclass without one of the attributes is a `TypeError`.

    Attributes
    ----------
    name : str
        The value of ``bound=``.
    kind : {"finite-sample", "asymptotic"}
        Whether the level holds for every number of rows, or only in the limit.
    needs : tuple of {"low", "high"}
        The ends of a row that must be known before seeing it.

    Examples
    --------
    >>> from elfair.bounds import get_bound
    >>> bound = get_bound("hoeffding")
    >>> bound.kind, bound.needs
    ('finite-sample', ('low', 'high'))
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    needs: ClassVar[tuple[Literal["low", "high"], ...]]
    #: Whether it allows for what rows happen not to show.
    guarded: ClassVar[bool] = False
    #: From so few test rows nothing can be predicted.
    too_few: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        missing = [name for name in Bound.__annotations__ if not hasattr(cls, name)]
        if missing and not isabstract(cls):
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")

    def check(self, sample: Sample) -> None:
        """Raise `BoundError` if an end that the proof needs is unknown."""
        missing = [end for end in self.needs if not isfinite(getattr(sample, end))]
        if missing:
            # The impact range alone gives the good end of g; the bad end of a weighted row also
            # needs the largest weight.
            remedy = "impact_range=(lowest, highest)"
            if "low" in missing:
                remedy += " and propensity_floor="
            ends = " and ".join({"low": "lower", "high": "upper"}[end] for end in self.needs)
            raise BoundError(
                f"The {self.name!r} bound needs the {ends} end of a row, finite. "
                f"Got low={sample.low}, high={sample.high} instead ({' and '.join(missing)} "
                "not known).",
                hint=f"declare {remedy}, or use bound='guarded' (asymptotic).",
            )

    def upper(self, samples: Samples, delta: float, *, disjoint: bool = True) -> Floats:
        """The upper bound, at level ``delta``, on the sum of the means of the samples.

        Parameters
        ----------
        samples : sequence of Sample
            Usually one.
        delta : float
            The largest probability that the sum of the means is above the bound.
        disjoint : bool
            Whether no row of the data set is in two samples.

        Returns
        -------
        array
            Shaped like the leading axes of the values.
        """
        self._require(samples, delta)
        return np.asarray(self._upper_of_sum(samples, delta, disjoint or len(samples) == 1))

    def predict(
        self, samples: Samples, delta: float, n: Sequence[float], *, disjoint: bool = True
    ) -> Prediction:
        """The upper bound to expect from a test with ``n[k]`` rows of sample k.

        Only candidate selection uses it: it affects power, never validity.

        Returns
        -------
        Prediction
        """
        self._require(samples, delta)
        if len(n) != len(samples) or any(sample.values.ndim != 1 for sample in samples):
            raise InputError(
                "A prediction needs one-dimensional samples and one number of rows for each. Got "
                f"{[sample.values.shape for sample in samples]} and {list(n)} instead.",
                hint="n holds the expected number of test rows inside each condition.",
            )
        if min(n) <= self.too_few:
            return Prediction(inf, slopes_of_means(samples))
        return self._predict_sum(samples, delta, n, disjoint or len(samples) == 1)

    @abstractmethod
    def _upper_of_sum(self, samples: Samples, delta: float, disjoint: bool) -> Floats:
        """See `upper`; one sample counts as disjoint."""

    @abstractmethod
    def _predict_sum(
        self, samples: Samples, delta: float, n: Sequence[float], disjoint: bool
    ) -> Prediction:
        """See `predict`; one sample counts as disjoint."""

    def upper_of_moments(
        self, moments: HasMoments, delta: float, *, shared_error: float | None = None
    ) -> float | None:
        """The value of `upper`, from moments alone.

        Parameters
        ----------
        moments : sequence of Moments
            The moments of each sample.
        delta : float
            See `upper`.
        shared_error : float, optional
            If samples share rows: the standard error of the sum of the means.

        Returns
        -------
        float or None
            None if the bound needs to see every row.

        Examples
        --------
        >>> from elfair.bounds import get_bound
        >>> moments = [Moments(4, 0.0, 1 / 3, 0.5)]
        >>> round(get_bound("ttest").upper_of_moments(moments, 0.1), 4)
        0.4728
        >>> get_bound("betting").upper_of_moments(moments, 0.1) is None
        True
        """
        return None

    def moment_factors(self, width: float, delta: float, n: float) -> tuple[float, float] | None:
        """The (a, b) for which the predicted bound on one mean is ``mean + a + b * s``.

        Parameters
        ----------
        width : float
            The distance ``high - low`` between a row's ends.
        delta : float
            The level of the bound.
        n : float
            The expected number of test rows.

        Returns
        -------
        (float, float) or None
            None if the bound depends on more than mean and standard deviation.
        """
        return None

    def _require(self, samples: Samples, delta: float) -> None:
        if not 0 < delta < 1:
            raise InputError(
                f"The 'delta' of a bound must be in (0, 1). Got {delta!r} instead.",
                hint="0.05 and 0.1 are common.",
            )
        if not samples:
            raise InputError(
                "A bound needs at least one sample. Got none instead.",
                hint="pass a list, even for one sample.",
            )
        for sample in samples:
            self.check(sample)


def slopes_of_means(samples: Samples) -> list[Floats]:
    """The derivatives of the means: where there is no bound, they show which way is better."""
    return [np.full(sample.n, 1 / sample.n) for sample in samples]


def mean_of(values: Floats) -> float:
    """The mean of an array, without the preparations of numpy's own: a search asks very often."""
    return float(np.add.reduce(values, axis=None)) / values.size


def variance_of(values: Floats) -> float:
    """The variance (divided by n - 1) of a one-dimensional array."""
    centred = values - mean_of(values)
    return dot(centred, centred) / (values.size - 1)


def dot(a: Floats, b: Floats) -> float:
    """The inner product, on one thread.

    At the lengths of a search, waking the threads of BLAS costs more than it saves: on a busy
    machine with 2 cores, 12 ms instead of 0.03 ms for 60,000 rows.
    """
    return float(np.einsum("i,i->", a, b))
