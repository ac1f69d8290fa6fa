"""What a test needs to know of its rows: sums, which add up over batches of rows.

A batch of rows and a model give some numbers for each statement, however many rows there are. Those
of two batches combine into those of both, in any order: so it does not matter whether the rows are
in memory, in files or on several machines. Means and squares are combined as Chan, Golub and
LeVeque (1979) do it, which loses no digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from math import inf, nan, sqrt
from typing import Protocol, Self, TypeVar

import numpy as np

from elfair.data.digests import Keys
from elfair.types import Floats, Index

#: A sum of means that varies less than this share of what its terms do hardly varies: what is left
#: may be rounding.
CANCELLED = 1e-12
#: The worst residual counts with this share of the typical distance of a weight from 1. Chosen with
#: two populations of benchmarks/worlds.py in view, at 300 rows: with 0.5, "no insurance" breaks its
#: promise .16 of the time in 100 trials at the edge (.13 with 0.75); with 1, the twin of "three
#: values" returns a model .15 of the time (.43 with 0.7; a t test that knows the variance, .57).
TYPICAL = 0.7
#: A row smaller than this share of its terms is 0; what is left is rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Mergeable(Protocol):
    """What batches of rows give, and what of several gives that of all their rows."""

    def merged(self, other: Self) -> Self:
        """That of the rows of both."""


M = TypeVar("M", bound=Mergeable)


def merge(parts: Sequence[M]) -> M:
    """That of all rows, from those of all batches.

    Examples
    --------
    >>> merge([Spread.of(np.array([1.0, 3.0])), Spread.of(np.array([5.0]))])
    Spread(n=3, mean=3.0, squares=8.0)
    """
    return reduce(lambda one, other: one.merged(other), parts)


def _each(one: Sequence[M], other: Sequence[M]) -> tuple[M, ...]:
    return tuple(a.merged(b) for a, b in zip(one, other, strict=True))


def _known(one: M | None, other: M | None) -> M | None:
    return one if other is None else other if one is None else one.merged(other)


def _both(combine: Callable[[float, float], float], a: float | None, b: float | None) -> float:
    assert a is not None
    assert b is not None
    return combine(a, b)


@dataclass(frozen=True)
class Spread:
    """How many numbers there are, their mean, and the sum of the squares of their distances from
    it.

    Examples
    --------
    >>> Spread.of(np.array([1.0, 3.0])).variance
    2.0
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """That of some numbers."""
        if not values.size:
            return cls()
        mean = float(np.add.reduce(values)) / values.size
        return cls(values.size, mean, float(np.add.reduce(np.square(values - mean))))

    def merged(self, other: Spread) -> Spread:
        """See `Mergeable`."""
        if not self.n or not other.n:
            return self if self.n else other
        n, away = self.n + other.n, other.mean - self.mean
        squares = self.squares + other.squares + away**2 * (self.n * other.n / n)
        return Spread(n, self.mean + away * (other.n / n), squares)

    @property
    def variance(self) -> float:
        """Their variance (divided by n - 1)."""
        return self.squares / (self.n - 1) if self.n > 1 else nan


@dataclass(frozen=True)
class Together:
    """How the rows that two samples share vary together.

    Parameters
    ----------
    n : int
        How many rows they share.
    means : (float, float)
        The mean of these rows in each sample.
    products : float
        The sum of the products of their distances from these means.
    """

    n: int = 0
    means: tuple[float, float] = (0.0, 0.0)
    products: float = 0.0

    @classmethod
    def of(cls, places: tuple[Index, Index], values: tuple[Floats, Floats]) -> Together:
        """From the places of the rows of both samples, and their values."""
        _, first, second = np.intersect1d(*places, assume_unique=True, return_indices=True)
        if not first.size:
            return cls()
        a, b = values[0][first], values[1][second]
        means = float(a.mean()), float(b.mean())
        return cls(first.size, means, float(np.add.reduce((a - means[0]) * (b - means[1]))))

    def merged(self, other: Together) -> Together:
        """See `Mergeable`."""
        if not self.n or not other.n:
            return self if self.n else other
        n = self.n + other.n
        a, b = (theirs - mine for mine, theirs in zip(self.means, other.means, strict=True))
        share = other.n / n
        products = self.products + other.products + a * b * self.n * share
        return Together(n, (self.means[0] + a * share, self.means[1] + b * share), products)

    def covariance(self, one: Spread, other: Spread) -> float:
        """What it adds to the variance of the sum of the means of both samples, less a factor 2."""
        a, b = self.means[0] - one.mean, self.means[1] - other.mean
        sizes = one.n * (one.n - 1) * other.n * (other.n - 1)
        return (self.products + self.n * a * b) / sqrt(sizes)


@dataclass(frozen=True)
class Reach:
    """How large what weights multiply can be: inside a condition, and of an impact anywhere.

    Parameters
    ----------
    residual : float
        The size of the largest residual inside the condition.
    impacts : tuple of (float, float, float, Spread)
        For each impact: what it is multiplied by, its smallest and largest value in the whole
        table, and its values inside the condition.
    """

    residual: float
    impacts: tuple[tuple[float, float, float, Spread], ...] = ()

    @property
    def largest(self) -> float:
        """The size of the largest of them."""
        away = (
            factor * max(high - of.mean, of.mean - low)
            for factor, low, high, of in self.impacts
            if of.n
        )
        return max(self.residual, *away) if self.impacts else self.residual

    def times(self, factor: float) -> Reach:
        """That of rows which are larger by a factor."""
        impacts = tuple((factor * by, low, high, of) for by, low, high, of in self.impacts)
        return Reach(factor * self.residual, impacts)

    def merged(self, other: Reach) -> Reach:
        """See `Mergeable`."""
        impacts = tuple(
            (factor, min(low, least), max(high, most), of.merged(more))
            for (factor, low, high, of), (_, least, most, more) in zip(
                self.impacts, other.impacts, strict=True
            )
        )
        return Reach(max(self.residual, other.residual), impacts)


@dataclass(frozen=True)
class HiddenSums:
    """What rows can do by their weights; see `elfair.statistics.hidden`.

    Parameters
    ----------
    n, rows : int
        How many values there are (rows, or units), and how many rows.
    unweighted : Spread
        The rows with a weight of 1.
    by_weights : float or None
        The sum of the variances of weights times squared residuals; None if they are not known.
    residuals : float
        The sum of squared residuals.
    away : float
        The sum of the squared distances of weights from 1.
    reach : Reach
        How large residuals can be.
    shift : float, default 1
        Up to which likelihood ratio the people to come may differ.
    """

    n: int
    rows: int
    unweighted: Spread
    by_weights: float | None
    residuals: float
    away: float
    reach: Reach
    shift: float = 1.0

    @property
    def least_variance(self) -> float:
        """The variance of the rows if impacts do not depend on decisions; 0 if it is not known."""
        if self.by_weights is None:
            return 0.0
        least = (self.unweighted.variance + self.by_weights / self.n) / self.shift**2
        # Of the behaviour model itself, only rounding is left.
        return least if least > ROUNDING**2 * self.residuals / self.rows else 0.0

    @property
    def distance(self) -> float:
        """The typical distance of a weight from 1."""
        return sqrt(self.away / self.n)

    @property
    def worst_by_weight(self) -> float:
        """The largest residual in the table with nearly a typical weight; -inf if weights are 1."""
        return TYPICAL * self.reach.largest * self.distance if self.distance > ROUNDING else -inf

    def merged(self, other: HiddenSums) -> HiddenSums:
        """See `Mergeable`."""
        known = None
        if self.by_weights is not None and other.by_weights is not None:
            known = self.by_weights + other.by_weights
        return HiddenSums(
            self.n + other.n,
            self.rows + other.rows,
            self.unweighted.merged(other.unweighted),
            known,
            self.residuals + other.residuals,
            self.away + other.away,
            self.reach.merged(other.reach),
            self.shift,
        )


@dataclass(frozen=True)
class WeightSums:
    """The importance weights of some rows under a policy.

    Parameters
    ----------
    n : int
        How many there are: of rows, or of units.
    total, squares : float
        Their sum, and that of their squares.
    seen : Spread or None
        How they vary, if it takes rows to tell.
    known : float or None
        The sum of their known variances.
    largest : float
        The largest weight of a row; -inf without rows.
    moved : float
        The sum of how far decisions move.
    typical : (float, float) or None
        What the threshold of rare decisions follows from; see `elfair.statistics.weights`.
    rare : (float, float) or None
        The sums of the probabilities of rare decisions, under the new and the old model; None if
        nobody knows, or if they were not added up yet.
    doubt : float, default 0
        What estimated propensities add to the variance of the mean weight.
    """

    n: int
    total: float
    squares: float
    seen: Spread | None
    known: float | None
    largest: float
    moved: float
    typical: tuple[float, float] | None = None
    rare: tuple[float, float] | None = None
    doubt: float = 0.0

    def merged(self, other: WeightSums) -> WeightSums:
        """See `Mergeable`; what is rare follows from the weights of all rows, and is left out."""
        typical = None
        if self.typical is not None and other.typical is not None:
            typical = self.typical[0] + other.typical[0], self.typical[1] + other.typical[1]
        return WeightSums(
            self.n + other.n,
            self.total + other.total,
            self.squares + other.squares,
            _known(self.seen, other.seen),
            None if self.known is None or other.known is None else self.known + other.known,
            max(self.largest, other.largest),
            self.moved + other.moved,
            typical,
        )

    def with_rare(self, rare: tuple[float, float] | None) -> WeightSums:
        """The same, once the probabilities of rare decisions were added up."""
        return replace(self, rare=rare)

    @property
    def ess(self) -> float:
        """The effective sample size."""
        return self.total**2 / self.squares if self.squares else 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean weight, if the propensities are correct: by what is known
        of weights, or else by what rows show. Of a unit's mean weight, by the larger of both:
        decisions about its rows may have been drawn together.
        """
        of = [0.0 if self.known is None else self.known / self.n]
        if self.seen is not None:
            of.append(self.seen.variance)
        return sqrt(max(of) / self.n + self.doubt)


@dataclass(frozen=True)
class PartSums:
    """The rows of a statement inside one condition, under one model.

    Parameters
    ----------
    values : Spread
        The rows, or units.
    least, most : float
        The smallest and the largest of them.
    silent : bool
        Whether each is 0 under any policy.
    worst : float or None
        The largest of what weights multiply; None if weights do not enter.
    hidden : HiddenSums or None
        What weights can do, if the bound asks for it and weights enter.
    rows : tuple of (ndarray, ndarray)
        For a bound that needs every row: the keys that say in which order rows are tested, and the
        rows. Empty if sums are enough, or if the rows are in memory.
    """

    values: Spread
    least: float
    most: float
    silent: bool
    worst: float | None = None
    hidden: HiddenSums | None = None
    rows: tuple[tuple[Keys, Floats], ...] = ()

    @property
    def in_order(self) -> Floats:
        """All rows, in the order of the test."""
        keys, rows = (np.concatenate(each) for each in zip(*self.rows, strict=True))
        return rows[np.argsort(keys, kind="stable")]

    def merged(self, other: PartSums) -> PartSums:
        """See `Mergeable`."""
        worst = None if self.worst is None else _both(max, self.worst, other.worst)
        return PartSums(
            self.values.merged(other.values),
            min(self.least, other.least),
            max(self.most, other.most),
            self.silent and other.silent,
            worst,
            _known(self.hidden, other.hidden),
            (*self.rows, *other.rows),
        )


@dataclass(frozen=True)
class TailSums:
    """A linear form under one model.

    Parameters
    ----------
    parts : tuple of PartSums
        Its rows, by condition.
    together : tuple of Together
        How those of each two parts vary together, if these may share rows; else empty.
    """

    parts: tuple[PartSums, ...]
    together: tuple[Together, ...] = ()

    def merged(self, other: TailSums) -> TailSums:
        """See `Mergeable`."""
        return TailSums(_each(self.parts, other.parts), _each(self.together, other.together))

    @property
    def variance(self) -> float:
        """The variance of the sum of the means of its parts."""
        each = [part.values for part in self.parts]
        apart = sum(of.variance / of.n for of in each)
        if not self.together:
            return apart
        pairs = zip(combinations(each, 2), self.together, strict=True)
        variance = apart + 2 * sum(both.covariance(*of) for of, both in pairs)
        return variance if variance > CANCELLED * apart else 0.0


@dataclass(frozen=True)
class ClaimSums:
    """A statement under one model: all that its test needs of a batch of rows.

    Parameters
    ----------
    tails : tuple of TailSums
        The linear forms that make it.
    groups : mapping of str to int
        How many values there are in each of its groups.
    weights : mapping of str to WeightSums
        The weights of the groups in which they enter.
    met : int
        How many rows (or units) meet any of its conditions.
    beyond : tuple of float
        How many rows decide each average of a function of an impact; infinity if every row counts.
    """

    tails: tuple[TailSums, ...]
    groups: Mapping[str, int]
    weights: Mapping[str, WeightSums]
    met: int
    beyond: tuple[float, ...] = field(default=())

    def with_rare(self, rare: Mapping[str, tuple[float, float]]) -> ClaimSums:
        """The same, once the probabilities of rare decisions were added up; see `WeightSums`."""
        known = {name: of.with_rare(rare.get(name)) for name, of in self.weights.items()}
        return replace(self, weights=known)

    def merged(self, other: ClaimSums) -> ClaimSums:
        """See `Mergeable`."""
        return ClaimSums(
            _each(self.tails, other.tails),
            {name: n + other.groups[name] for name, n in self.groups.items()},
            {name: of.merged(other.weights[name]) for name, of in self.weights.items()},
            self.met + other.met,
            tuple(a + b for a, b in zip(self.beyond, other.beyond, strict=True)),
        )
