"""Beyond the mean of an impact: statistics of its distribution, and functions of it to average.

The statistics are what a user asks for. The functions (is the impact below a point, how far below)
have averages that bound them. A statistic can be tested if it is the best value, over a point, of
something that is linear in averages:

* quantile_a >= v where P(I < v) <= a, and quantile_a <= v where P(I > v) <= 1 - a;
* CVaR_a >= v - E[max(v - I, 0)] / a for every v, with equality at the quantile (Rockafellar and
  Uryasev 2000);
* CVaR_a <= u where E[I - u; I <= v] <= 0 for some v with P(I <= v) >= a;
* var <= E[(I - m)^2] for every m, with equality at the mean; the difference is (E[I] - m)^2.

So a bound needs no band around the whole distribution, which would have to hold everywhere at once:
one average at one point, at the full delta, is enough. *Any* point is valid if it does not depend
on the tested rows; `elfair.statistics.settling` chooses a good one on other rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from elfair.language.conditions import OPERATORS, Column, Condition
from elfair.language.expressions import AtMost, Expression, Mean, Number
from elfair.language.tree import Node, number_text, point_at, walk
from elfair.types import Floats

#: Digits of a point that the constraint does not determine: enough to be near the best one.
DIGITS = 6
#: A quantile's density is estimated from at most this share of people on either side.
WINDOW = 0.1


@dataclass(frozen=True)
class Derived(Node, ABC):
    """A function of one impact, averaged as if it were an impact itself.

    Parameters
    ----------
    impact : Column
        The impact's name.
    point : float
        The number that the impact is compared with.
    """

    impact: Column
    point: float

    @abstractmethod
    def __str__(self) -> str:
        """Its text."""

    @abstractmethod
    def of(self, values: Floats) -> Floats:
        """Its values, from those of the impact."""

    @abstractmethod
    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Its range, from that of the impact."""

    def deciding(self, values: Floats) -> float:
        """How many rows decide its average, from the values of the impact: those where it is not 0.
        Infinity if every row counts.
        """
        return int(np.count_nonzero(self.of(values)))


@dataclass(frozen=True)
class Threshold(Derived):
    """Whether the impact is on one side of a point.

    Examples
    --------
    >>> print(Threshold(Column("impact"), 3.0, "<"))
    impact < 3
    >>> Threshold(Column("impact"), 3.0, "<").of(np.array([1.0, 3.0]))
    array([1., 0.])
    """

    op: str
    is_event, sign = True, 1

    def of(self, values: Floats) -> Floats:
        """1 where it is, 0 where it is not."""
        return np.asarray(OPERATORS[self.op](values, self.point), dtype=np.float64)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def deciding(self, values: Floats) -> float:
        """The rows on the side where fewer are."""
        beyond = super().deciding(values)
        return min(beyond, values.size - beyond)

    def __str__(self) -> str:
        return f"{self.impact} {self.op} {number_text(self.point)}"


@dataclass(frozen=True)
class Deficit(Derived):
    """How far the impact is below a point; 0 above it.

    Examples
    --------
    >>> Deficit(Column("impact"), 3.0).of(np.array([1.0, 4.0]))
    array([2., 0.])
    """

    sign = 1

    def of(self, values: Floats) -> Floats:
        """The positive part of point - impact."""
        return np.maximum(self.point - values, 0.0)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """From 0 to the deficit of the lowest impact."""
        return max(self.point - high, 0.0), max(self.point - low, 0.0)

    def __str__(self) -> str:
        return f"max({number_text(self.point)} - {self.impact}, 0)"


@dataclass(frozen=True)
class LowerTail(Derived):
    """The impact minus a number where the impact is at most a point; 0 above the point.

    Examples
    --------
    >>> tail = LowerTail(Column("impact"), 3.0, 0.5)
    >>> print(tail)
    (impact - 0.5) * (impact <= 3)
    >>> tail.of(np.array([1.0, 4.0]))
    array([0.5, 0. ])
    """

    number: float

    def of(self, values: Floats) -> Floats:
        """The difference, or 0 above the point."""
        return np.where(values <= self.point, values - self.number, 0.0)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """The range includes 0 unless every impact is at most the point."""
        if high <= self.point:
            return low - self.number, high - self.number
        return min(low - self.number, 0.0), max(min(high, self.point) - self.number, 0.0)

    def __str__(self) -> str:
        return (
            f"{_distance(self.impact, self.number)} * ({self.impact} <= {number_text(self.point)})"
        )


@dataclass(frozen=True)
class Squared(Derived):
    """The squared distance of the impact from a point.

    Examples
    --------
    >>> Squared(Column("impact"), 3.0).of(np.array([1.0, 4.0]))
    array([4., 1.])
    """

    sign = 1

    def of(self, values: Floats) -> Floats:
        """The square of impact - point."""
        return np.asarray((values - self.point) ** 2)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """From the square of the shortest to that of the longest distance."""
        nearest = min(max(self.point, low), high) - self.point
        return nearest**2, max((low - self.point) ** 2, (high - self.point) ** 2)

    def deciding(self, values: Floats) -> float:
        """Every row counts."""
        return inf

    def __str__(self) -> str:
        return f"{_distance(self.impact, self.point)}^2"


def _distance(impact: Column, number: float) -> str:
    return f"({impact} {'+' if number < 0 else '-'} {number_text(abs(number))})"


@dataclass(frozen=True)
class Ordered:
    """The distribution of an impact under a policy, as some rows show it.

    Parameters
    ----------
    values : ndarray
        The impacts, sorted.
    weights : ndarray
        The importance weights of their rows.

    Examples
    --------
    >>> rows = Ordered(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]))
    >>> rows.mean, rows.quantile(0.75), rows.edge(0.25, 0.0, above=True)
    (2.25, 2.0, 2.0)
    """

    values: Floats
    weights: Floats

    @property
    def mean(self) -> float:
        """The mean impact."""
        return float(self.values @ self.weights) / (float(self.weights.sum()) or 1.0)

    def quantile(self, share: float) -> float:
        """The smallest value that the impact does not exceed with probability ``share``."""
        reached = np.cumsum(self.weights) / (float(self.weights.sum()) or 1.0)
        return float(self.values[min(int(np.searchsorted(reached, share)), self.values.size - 1)])

    def edge(self, share: float, margin: float, above: bool) -> float:
        """The farthest value beyond which there is at most this share of people, even if that share
        is larger by ``margin`` standard deviations of a row. Beyond is above, or below.
        """
        step = -1 if above else 1
        values, weights, n = self.values[::step], self.weights[::step], self.values.size
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        # For each distinct value, the weight strictly beyond it.
        beyond, squares = (np.append(0.0, np.cumsum(of))[first] / n for of in (weights, weights**2))
        spread = np.sqrt(np.maximum(squares - beyond**2, 0.0))
        met = beyond + spread * margin <= share * float(weights.mean() or 1.0)
        tightest: int = np.flatnonzero(met)[-1] if met.any() else 0
        return rounded(float(values[first[tightest]]))


def rounded(value: float, digits: int = DIGITS) -> float:
    """A number that was chosen, without the digits that nobody needs."""
    return float(f"{value:.{digits}g}")


class StandIn(NamedTuple):
    """What replaces a statistic, and the conditions under which it is on the needed side.

    Parameters
    ----------
    expression : Expression
        From above, averages that are never below the statistic; from below, averages that are never
        above it. If there are none, a `Number`.
    conditions : tuple of AtMost
        What shows that the statistic is on the needed side of a number.
    """

    expression: Expression
    conditions: tuple[AtMost, ...] = ()


@dataclass(frozen=True)
class Statistic(Expression, ABC):
    """A number that describes the impact's distribution under the new model.

    Parameters
    ----------
    of : Column
        The impact's name.
    given : Condition, optional
        The rows it is about; None means all rows.
    """

    of: Column
    given: Condition | None = None

    @abstractmethod
    def __str__(self) -> str:
        """Its text, which reads back as the same statistic."""

    @abstractmethod
    def stand_in(self, rows: Ordered, margin: float, number: float | None, above: bool) -> StandIn:
        """What to test in its place, to show that it is at most (from below, at least) something.

        Points are the best ones on the rows. If a number stands in and none is given, it is the
        tightest for which the conditions hold on the rows, even if their averages are worse by
        ``margin`` standard deviations of a row.
        """

    @abstractmethod
    def first_order(self, rows: Ordered) -> Expression:
        """Averages that change as it does, near the policy of the rows: what a search climbs."""

    def _mean(self, of: Node) -> Mean:
        return Mean(of, self.given)

    def _bar(self) -> str:
        return "" if self.given is None else f" | {self.given}"


def statistics_in(node: Node) -> tuple[Statistic, ...]:
    """All statistics beyond the mean in a tree, without repetition.

    Examples
    --------
    >>> from elfair import E, median
    >>> [str(each) for each in statistics_in(E("gain") - 2 * median("gain"))]
    ['median[gain]']
    """
    return tuple(dict.fromkeys(each for each in walk(node) if isinstance(each, Statistic)))


@dataclass(frozen=True)
class _OfShare(Statistic, ABC):
    """A statistic of a share of people."""

    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise point_at(
                f"a share of people must be strictly between 0 and 1. Got {self.share:g} instead.",
                self.span,
                "the lowest tenth is quantile[impact, 0.1]; its mean is CVaR[impact, 0.1].",
            )

    def _few_beyond(self, point: float, above: bool) -> AtMost:
        """That the quantile is at most (from below, at least) a point."""
        share = round(1 - self.share, 12) if above else self.share
        return self._mean(Threshold(self.of, point, ">" if above else "<")) <= share


@dataclass(frozen=True)
class Quantile(_OfShare):
    """The smallest value that the impact does not exceed with probability ``share``.

    Examples
    --------
    >>> print(Quantile(Column("impact"), share=0.1))
    quantile[impact, 0.1]
    """

    def stand_in(self, rows: Ordered, margin: float, number: float | None, above: bool) -> StandIn:
        """A number, if few people are beyond it."""
        if number is None:
            share = 1 - self.share if above else self.share
            number = rows.edge(share, margin, above=above)
        return StandIn(Number(number), (self._few_beyond(number, above=above),))

    def first_order(self, rows: Ordered) -> Expression:
        """It moves like the distribution function divided by the density."""
        half = min(WINDOW, self.share / 2, (1 - self.share) / 2)
        point = rows.quantile(self.share)
        width = rows.quantile(self.share + half) - rows.quantile(self.share - half)
        # If many impacts are equal, the quantile does not move at all: any slope will do.
        slope = width / (2 * half) or 1.0
        return point - slope * (self._mean(Threshold(self.of, point, "<")) - self.share)

    def __str__(self) -> str:
        if self.share == 0.5:
            return f"median[{self.of}{self._bar()}]"
        return f"quantile[{self.of}, {number_text(self.share)}{self._bar()}]"


@dataclass(frozen=True)
class ConditionalValueAtRisk(_OfShare):
    """The mean impact of the worst ``share`` of people.

    Examples
    --------
    >>> print(ConditionalValueAtRisk(Column("impact"), share=0.1))
    CVaR[impact, 0.1]
    """

    share: float = 0.05

    def stand_in(self, rows: Ordered, margin: float, number: float | None, above: bool) -> StandIn:
        """From below, the average deficit from a point; the best point is the quantile. From above,
        a number, if enough people are at most at a point and their mean is at most the number.
        """
        if not above:
            return StandIn(self._below(rounded(rows.quantile(self.share))))
        point = rows.edge(1 - self.share, margin, above=True)
        if number is None:
            number = _mean_below(rows, point, margin)
        tail = self._mean(LowerTail(self.of, point, number)) <= 0
        return StandIn(Number(number), (self._few_beyond(point, above=True), tail))

    def first_order(self, rows: Ordered) -> Expression:
        """At the best point, the change of the point does not matter (the envelope theorem)."""
        return self._below(rows.quantile(self.share))

    def _below(self, point: float) -> Expression:
        return point - self._mean(Deficit(self.of, point)) / self.share

    def __str__(self) -> str:
        return f"CVaR[{self.of}, {number_text(self.share)}{self._bar()}]"


def _mean_below(rows: Ordered, point: float, margin: float) -> float:
    """The mean impact of those who are at most at a point, larger by ``margin`` standard deviations
    of a row; found by halving.
    """
    inside = np.where(rows.values <= point, rows.weights, 0.0)
    low, high = float(rows.values[0]), float(rows.values[-1])
    for _ in range(40):
        middle = (low + high) / 2
        each = inside * (rows.values - middle)
        met = float(each.mean() + each.std() * margin) <= 0
        low, high = (low, middle) if met else (middle, high)
    return rounded(high)


@dataclass(frozen=True)
class Variance(Statistic):
    """The variance of the impact.

    Examples
    --------
    >>> print(Variance(Column("impact")))
    var[impact]
    """

    sign = 1

    def stand_in(self, rows: Ordered, margin: float, number: float | None, above: bool) -> StandIn:
        """The mean squared distance from a point; the best point is the mean."""
        point = rounded(rows.mean)
        square, away = self._mean(Squared(self.of, point)), self._mean(self.of) - point
        return StandIn(square if above else square - away * away)

    def first_order(self, rows: Ordered) -> Expression:
        """At the best point, the change of the point does not matter (the envelope theorem)."""
        return self._mean(Squared(self.of, rows.mean))

    def __str__(self) -> str:
        return f"var[{self.of}{self._bar()}]"
