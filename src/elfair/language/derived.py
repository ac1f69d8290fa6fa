"""Functions of an impact, which are averaged like impacts of their own."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from elfair.language.conditions import Column
from elfair.language.tree import Node, number_text

Floats = npt.NDArray[np.float64]

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Derived(Node, ABC):
    """A function of one impact, averaged like an impact of its own.

    Parameters
    ----------
    impact : Column
        The impact's name.
    point : float
        What it is compared with.
    """

    impact: Column
    point: float

    @abstractmethod
    def of(self, values: Floats) -> Floats:
        """The function's values, from the impact's."""

    @abstractmethod
    def ends(self, low: float, high: float) -> tuple[float, float]:
        """The range of the function, from the impact's."""


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

    def of(self, values: Floats) -> Floats:
        """1 where it is, 0 where it is not."""
        return np.asarray(_ORDERS[self.op](values, self.point), dtype=np.float64)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def __str__(self) -> str:
        return f"{self.impact} {self.op} {number_text(self.point)}"


@dataclass(frozen=True)
class Deficit(Derived):
    """By how much the impact is below a point; 0 above it.

    Examples
    --------
    >>> Deficit(Column("impact"), 3.0).of(np.array([1.0, 4.0]))
    array([2., 0.])
    """

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
    """By how much the impact is above a number, where it is at most a point; 0 above the point.

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
        """The difference times whether the impact is at most the point."""
        return np.where(values <= self.point, values - self.number, 0.0)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """0 counts as well, unless every impact is at most the point."""
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

    def of(self, values: Floats) -> Floats:
        """The square of impact - point."""
        return np.asarray((values - self.point) ** 2)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """From the nearest to the farthest end."""
        nearest = min(max(self.point, low), high) - self.point
        return nearest**2, max((low - self.point) ** 2, (high - self.point) ** 2)

    def __str__(self) -> str:
        return f"{_distance(self.impact, self.point)}^2"


def _distance(impact: Column, number: float) -> str:
    return f"({impact} {'+' if number < 0 else '-'} {number_text(abs(number))})"
