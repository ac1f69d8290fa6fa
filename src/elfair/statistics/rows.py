"""The rows of a statistic: functions of the policy that a bound averages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from elfair.bounds import Sample
from elfair.statistics.doubt import Doubt
from elfair.statistics.shift import threshold, worst_case
from elfair.statistics.sums import ROUNDING, Reach
from elfair.statistics.units import Units
from elfair.statistics.weights import WeightLaw
from elfair.types import Floats, Index


@dataclass(frozen=True)
class Weighted:
    """What importance weights multiply in rows, and what is known about the weights.

    Parameters
    ----------
    residual : ndarray of shape (m,)
        What the weight of each row multiplies (times its share, if rows have units).
    law : WeightLaw
        How the rows were decided about.
    worst : float
        The largest of what weights multiply: what a decision that no row shows may do.
    reach : Reach
        The size of the largest residual in the whole table, inside the condition or not: people
        outside it show what can happen, too.
    """

    residual: Floats
    law: WeightLaw
    worst: float
    reach: Reach

    @cached_property
    def squares(self) -> Floats:
        """The squares of the residuals."""
        return np.square(self.residual)

    @cached_property
    def sum_of_squares(self) -> float:
        """Their sum."""
        return float(np.add.reduce(self.squares))


class Learnt(NamedTuple):
    """What other rows say about the rows of a test.

    Parameters
    ----------
    mean, spread : float
        Mean and standard deviation of a row.
    worst : float
        A row as large as they can well be.
    n : int
        How many other rows (or units) there are.
    threshold : float, default 0
        The h of rows that allow for a change of people.
    """

    mean: float
    spread: float
    worst: float
    n: int
    threshold: float = 0.0


class Capped(NamedTuple):
    """Terms that grow with the probability of a decision only up to a cap:
    sum_a factor_ai * min(lift_ai * pi_ai, cap_ai).

    Parameters
    ----------
    factor, lift, cap : ndarray of shape (classes, m)
        One number for each class and row.

    Examples
    --------
    >>> both = np.ones((2, 1))
    >>> Capped(both, both, np.array([[0.25], [1.0]])).values(np.array([[0.5]]))
    array([0.75])
    """

    factor: Floats
    lift: Floats
    cap: Floats

    def values(self, inside: Floats) -> Floats:
        """The terms of each row under one or more policies."""
        every = _probabilities(inside)
        every *= self.lift
        np.minimum(every, self.cap, out=every)
        every *= self.factor
        return np.asarray(every.sum(axis=-2))

    def slope(self, inside: Floats) -> Floats:
        """Their derivatives by the free numbers of one policy, of shape (channels, m)."""
        grows = self.lift * _probabilities(inside) < self.cap
        each = np.where(grows, self.factor * self.lift, 0.0)
        return np.asarray(each[1:] - each[0])


def _probabilities(inside: Floats) -> Floats:
    """The probabilities of all classes, from those of all but the first."""
    first = 1 - inside.sum(axis=-2, keepdims=True)
    return np.concatenate([first, inside], axis=-2)


@dataclass(frozen=True)
class Rows:
    """The rows of one statistic: z_i = offset_i + sum_k slope_ki * free_ki, and capped terms.

    The *free* numbers of a policy describe it completely on a row. For a classifier they are the
    probabilities of all classes but the first, because probabilities sum to 1; for numeric
    decisions, see `elfair.statistics.decisions`.

    Parameters
    ----------
    index : ndarray of shape (m,)
        The rows of the data set that meet the condition.
    offset : ndarray of shape (m,)
        The part of each row that no policy changes.
    slope : ndarray of shape (channels, m)
        What each free number adds.
    low, high : float
        The ends of a row under any policy: by declaration, never by observation.
    capped : tuple of Capped
        Terms that keep the upper end of a row finite whatever its weight. Only their sum with the
        rest has a meaning: its expectation is affine in the policy although the row is not.
    weighted : Weighted, optional
        What importance weights multiply; None if nothing.
    units : Units, optional
        Whose rows they are. Offset, slope, capped terms and residuals are then multiplied by each
        row's share, and values are those of units; see `of_units`.
    doubt : Doubt, optional
        How they depend on estimated propensities; None if propensities are known.
    stands_for : float, default 1
        For how many rows of a simple random sample each stands; see `elfair.data.subsample`.
    shift : float, default 1
        Up to which likelihood ratio the people to come may differ. Above 1, values are of the
        people in the data, and samples are of rows that allow for the change; see
        `elfair.statistics.shift`.

    Examples
    --------
    >>> rows = Rows(np.array([0, 2]), np.array([1.0, 1.0]), np.array([[-1.0, 2.0]]), -1.0, 3.0)
    >>> rows.values(np.array([[0.5, 0.9, 0.25]]))
    array([0.5, 1.5])
    """

    index: Index
    offset: Floats
    slope: Floats
    low: float
    high: float
    capped: tuple[Capped, ...] = ()
    weighted: Weighted | None = None
    units: Units | None = None
    doubt: Doubt | None = None
    stands_for: float = 1.0
    shift: float = 1.0

    def of_units(self, units: Units | None) -> Rows:
        """The same for units; where these count differently, the value of one has no ends."""
        if units is None:
            return self
        share, weighted = units.share, self.weighted
        if weighted is not None:
            weighted = replace(weighted, residual=weighted.residual * share)
        return replace(
            self,
            offset=self.offset * share,
            slope=self.slope * share,
            low=self.low if units.alike else -np.inf,
            high=self.high if units.alike else np.inf,
            capped=tuple(each._replace(factor=each.factor * share) for each in self.capped),
            weighted=weighted,
            units=units,
            doubt=None if self.doubt is None else self.doubt.times(share),
        )

    def at_shift(self, shift: float) -> Rows:
        """The same for another change of people, which makes the worst rows worse in proportion."""
        more, weighted = shift / self.shift, self.weighted
        if more == 1:
            return self
        if weighted is not None:
            reach = weighted.reach.times(more)
            weighted = replace(weighted, worst=more * weighted.worst, reach=reach)
        return replace(self, shift=shift, weighted=weighted)

    @property
    def guessed(self) -> Rows:
        """The same with a guess at probabilities that were not logged, for forecasts."""
        if self.weighted is None:
            return self
        law = self.weighted.law.guessed(len(self.slope) + 1)
        return replace(self, weighted=replace(self.weighted, law=law))

    @property
    def size(self) -> int:
        """How many values there are: of rows, or of units."""
        return int(self.index.size) if self.units is None else self.units.count

    @property
    def places(self) -> Index:
        """Which rows of the data set, or which units, the values belong to."""
        return self.index if self.units is None else self.units.names

    def gathered(self, of_rows: Floats) -> Floats:
        """Values, from those of rows."""
        return of_rows if self.units is None else self.units.gather(of_rows)

    def by_rows(self, by_values: Floats) -> Floats:
        """Derivatives by rows, from those by values."""
        return by_values if self.units is None else self.units.back(by_values)

    def values(self, free: Floats) -> Floats:
        """The rows under a policy, or under several at once along leading axes.

        Parameters
        ----------
        free : ndarray of shape (..., channels, n)
            The free numbers of every row of the data set.
        """
        return self.values_inside(self.inside(free))

    def inside(self, free: Floats) -> Floats:
        """The free numbers of the rows that meet the condition."""
        return free if self.index.size == free.shape[-1] else free[..., self.index]

    def values_inside(self, inside: Floats) -> Floats:
        """The rows, from the free numbers of the rows that meet the condition."""
        values: Floats = inside[..., 0, :] * self.slope[0]
        for k in range(1, len(self.slope)):
            values += inside[..., k, :] * self.slope[k]
        values += self.offset
        for terms in self.capped:
            values += terms.values(inside)
        return self.gathered(values)

    def slope_inside(self, inside: Floats) -> Floats:
        """The derivatives of the rows by the free numbers of one policy, of shape (channels, m)."""
        return sum((terms.slope(inside) for terms in self.capped), self.slope)

    @cached_property
    def mean_offset(self) -> float:
        """The part of the average that no policy changes."""
        return float(self.offset.sum()) / self.size

    @cached_property
    def mean_size(self) -> float:
        """The average size of what no policy changes: the scale of rounding errors."""
        return float(np.abs(self.offset).sum()) / self.size

    def exact_values(self, free: Floats) -> Floats:
        """The rows for the fairness test: a row that differs from 0 only by rounding is 0.

        A policy equal to the behaviour model makes each paired row 0 by construction, and the
        bounds must see that.
        """
        return self.exact_inside(self.inside(free))

    def exact_inside(self, inside: Floats) -> Floats:
        """The same from the free numbers of the rows that meet the condition."""
        values = self.values_inside(inside)
        if self._largest_size is not None and values.size:
            most = self._largest_size * max(1.0, float(inside.max()), -float(inside.min()))
            if float(np.abs(values).min()) > ROUNDING * most:  # no row is so small
                return values
        size = np.abs(self.offset) + np.sum(np.abs(self.slope * inside), axis=-2)
        for terms in self.capped:
            size += np.sum(np.abs(terms.factor) * terms.cap, axis=-2)
        if self.units is not None:
            size = self.units.added(size)
        return np.where(np.abs(values) <= ROUNDING * size, 0.0, values)

    def sample(self, free: Floats, learnt: Learnt | None, *, aims_at_0: bool = True) -> Sample:
        """The rows for the fairness test, as a sample for a bound.

        Parameters
        ----------
        free : ndarray of shape (channels, n)
            The policy.
        learnt : Learnt or None
            What other rows say.
        aims_at_0 : bool, default True
            Whether the bound on these rows alone decides, as it does if it is at most 0.
        """
        h = 0.0 if learnt is None else learnt.threshold
        values, _, _ = self.worst_case(self.exact_values(free), h)
        return self.sample_of(values, learnt, self.places, aims_at_0=aims_at_0)

    def sample_of(
        self, values: Floats, learnt: Learnt | None, places: Index | None, *, aims_at_0: bool
    ) -> Sample:
        """The same from values, which may be those of more rows.

        Parameters
        ----------
        values : ndarray
            The rows, which allow for a change of people, in the order of the test.
        learnt, aims_at_0
            See `sample`.
        places : ndarray or None
            Which rows of the data set they are.
        """
        low, high = self.ends(0.0 if learnt is None else learnt.threshold)
        if learnt is None:
            return Sample(values, low, high, rows=places)
        return Sample(
            values,
            low,
            high,
            scale=learnt.spread or None,
            rows=places,
            expected=None if aims_at_0 else learnt.mean,
            likely=learnt.mean,
            worst=learnt.worst,
            others=learnt.n,
        )

    def threshold(self, values: Floats) -> float:
        """The h that suits a change of people, by other rows under the same policy."""
        return threshold(values, self.shift) if self.shift > 1 else 0.0

    def worst_case(self, values: Floats, h: float) -> tuple[Floats, float, float]:
        """Values that allow for a change of people, and their ends."""
        low, high = self.ends(h)
        return values if self.shift == 1 else worst_case(values, self.shift, h), low, high

    def ends(self, h: float) -> tuple[float, float]:
        """The ends of values that allow for a change of people."""
        if self.shift == 1:
            return self.low, self.high
        low, high = worst_case(np.array([self.low, self.high]), self.shift, h).tolist()
        return low, high

    @cached_property
    def _largest_size(self) -> float | None:
        """No sum of the sizes of a row's terms is larger, if free numbers are at most 1 in size;
        None where that takes more to tell.
        """
        if self.capped or self.units is not None or not self.offset.size:
            return None
        slopes = (max(float(each.max()), -float(each.min())) for each in self.slope)
        return max(float(self.offset.max()), -float(self.offset.min())) + sum(slopes)

    @property
    def are_silent(self) -> bool:
        """Whether each row is 0 under any policy: what is averaged was never observed, although it
        may occur.
        """
        return not (self.offset.any() or self.slope.any() or self.capped)

    def scatter(self, by_free: Floats, n: int) -> Floats:
        """Derivatives by the free numbers of the rows inside, as derivatives by those of all."""
        if self.index.size == n:
            return by_free
        gradient = np.zeros((len(self.slope), n))
        gradient[:, self.index] = by_free
        return gradient
