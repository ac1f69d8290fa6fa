"""Beyond the mean of an impact: statistics of its distribution, and functions of it to average.

The statistics are what a user asks for. The functions (is the impact below a point, how far below)
have averages that bound them; see `elfair.statistics.beyond_the_mean`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from elfair.language.conditions import OPERATORS, Column
from elfair.language.expressions import Statistic
from elfair.language.tree import Node, number_text, point_at
from elfair.types import Floats


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
    def of(self, values: Floats) -> Floats:
        """Its values, from those of the impact."""

    @abstractmethod
    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Its range, from that of the impact."""


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

    def __str__(self) -> str:
        return f"{_distance(self.impact, self.point)}^2"


def _distance(impact: Column, number: float) -> str:
    return f"({impact} {'+' if number < 0 else '-'} {number_text(abs(number))})"


@dataclass(frozen=True)
class _OfShare(Statistic):
    """A statistic of a share of people."""

    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise point_at(
                f"a share of people must be strictly between 0 and 1. Got {self.share:g} instead.",
                self.span,
                "the lowest tenth is quantile[impact, 0.1]; its mean is CVaR[impact, 0.1].",
            )


@dataclass(frozen=True)
class Quantile(_OfShare):
    """The smallest value that the impact does not exceed with probability ``share``.

    Examples
    --------
    >>> print(Quantile(Column("impact"), share=0.1))
    quantile[impact, 0.1]
    """

    def __str__(self) -> str:
        if self.share == 0.5:
            return f"median[{self.of}{_bar(self)}]"
        return f"quantile[{self.of}, {number_text(self.share)}{_bar(self)}]"


@dataclass(frozen=True)
class ConditionalValueAtRisk(_OfShare):
    """The mean impact of the worst ``share`` of people.

    Examples
    --------
    >>> print(ConditionalValueAtRisk(Column("impact"), share=0.1))
    CVaR[impact, 0.1]
    """

    share: float = 0.05

    def __str__(self) -> str:
        return f"CVaR[{self.of}, {number_text(self.share)}{_bar(self)}]"


@dataclass(frozen=True)
class Variance(Statistic):
    """The variance of the impact.

    Examples
    --------
    >>> print(Variance(Column("impact")))
    var[impact]
    """

    sign = 1

    def __str__(self) -> str:
        return f"var[{self.of}{_bar(self)}]"


def _bar(node: Statistic) -> str:
    return "" if node.given is None else f" | {node.given}"
