"""Importance weights under one policy, and what is known of them before decisions are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from elfair.policies.gaussian import DENSITY, MEAN, SQUARE
from elfair.statistics.units import Units
from elfair.types import Booleans, Floats, Index


class Rarest(NamedTuple):
    """The decisions that were the rarest for what a policy makes of them.

    Parameters
    ----------
    new, logged : float
        Their share among all decisions of the policy, and of the behaviour model.
    which : ndarray of bool, of shape (classes, m)
        Which decisions about whom.
    """

    new: float
    logged: float
    which: Booleans


class Weights(ABC):
    """The weights of m rows under one policy."""

    #: Whose rows they are; None if each is about somebody else.
    units: Units | None

    @cached_property
    @abstractmethod
    def values(self) -> Floats:
        """How likely the policy takes each logged decision, divided by its propensity."""

    @property
    @abstractmethod
    def slopes(self) -> Floats:
        """Their derivatives by the free numbers of the rows, of shape (channels, m)."""

    @cached_property
    @abstractmethod
    def variances(self) -> Floats | None:
        """The variance of each weight before its decision was drawn; None if it is not known."""

    @property
    @abstractmethod
    def variance_slopes(self) -> Floats:
        """Their derivatives by the free numbers of the rows, of shape (channels, m)."""

    @property
    def variance(self) -> float:
        """The variance of a weight among these rows, if the propensities are correct: what is known
        of it, or else what the rows show. Of a unit's mean weight, the larger of both: decisions
        about its rows may have been drawn together.
        """
        known = self.variances
        if self.units is None:
            return float(self.values.var(ddof=1) if known is None else known.mean())
        share = self.units.share
        seen = float(self.units.gather(share * self.values).var(ddof=1))
        return seen if known is None else max(seen, float(known @ share**2) / self.units.count)

    @property
    def of_units(self) -> Floats:
        """The weights, added up by unit in proportion to the mass of rows."""
        return (
            self.values if self.units is None else self.units.added(self.units.share * self.values)
        )

    def average(self, of_rows: Floats) -> float:
        """The average of some numbers, one for each row."""
        return float(of_rows.mean()) if self.units is None else self.units.averages(of_rows)

    @cached_property
    @abstractmethod
    def rarest(self) -> Rarest | None:
        """The decisions that were the rarest for what the policy makes of them; None if that is not
        known.
        """

    @property
    def moved(self) -> float:
        """The share of decisions that the policy takes otherwise than the behaviour model: the
        distance in total variation, which is E|w - 1| / 2.
        """
        return self.average(np.abs(self.values - 1)) / 2


class WeightLaw(Protocol):
    """Knows how some rows were decided about, and so their weights under any policy."""

    def weights(self, inside: Floats) -> Weights:
        """The weights under a policy, given by its free numbers of these rows."""


@dataclass(frozen=True)
class ClassLaw:
    """How m rows were decided about, if decisions are classes.

    Parameters
    ----------
    behavior : ndarray of shape (classes, m), optional
        The behaviour model's probability of each class.
    taken : ndarray of shape (m,)
        The index of the logged class.
    propensity : ndarray of shape (m,)
        The probability with which it was taken.
    units : Units, optional
        Whose rows they are.

    Examples
    --------
    >>> law = ClassLaw(np.array([[0.8], [0.2]]), np.array([1]), np.array([0.2]))
    >>> weights = law.weights(np.array([[0.5]]))
    >>> weights.values, weights.variances
    (array([2.5]), array([0.5625]))
    >>> round(weights.moved, 3)
    0.3
    """

    behavior: Floats | None
    taken: Index
    propensity: Floats
    units: Units | None = None

    def weights(self, inside: Floats) -> ClassWeights:
        """See `WeightLaw.weights`."""
        first = 1 - (inside[:1] if len(inside) == 1 else inside.sum(axis=0, keepdims=True))
        return ClassWeights(np.concatenate([first, inside]), self)

    @cached_property
    def at_taken(self) -> tuple[Index, Index]:
        """Where a table of classes and rows holds the logged decisions."""
        return self.taken, np.arange(self.taken.size)

    @cached_property
    def rarity(self) -> Floats | None:
        """The inverse of each class's probability; 0 if it was impossible."""
        if self.behavior is None:
            return None
        one, possible = np.ones_like(self.behavior), self.behavior > 0
        return np.divide(one, self.behavior, out=np.zeros_like(one), where=possible)


class ClassWeights(Weights):
    """Weights of decisions that are classes.

    Parameters
    ----------
    new : ndarray of shape (classes, m)
        The policy's probability of each class.
    law : ClassLaw
        How the rows were decided about.
    """

    def __init__(self, new: Floats, law: ClassLaw) -> None:
        self._new, self._law, self._behavior = new, law, law.behavior
        self.units = law.units

    @cached_property
    def values(self) -> Floats:
        """See `Weights.values`."""
        return np.asarray(self._new[self._law.at_taken] / self._law.propensity)

    @property
    def slopes(self) -> Floats:
        """See `Weights.slopes`."""
        one = np.zeros_like(self._new)
        one[self._law.at_taken] = 1 / self._law.propensity
        return _free(one)

    @cached_property
    def _away(self) -> Floats | None:
        """How far the weight of each possible decision is from 1; 0 if it was impossible."""
        if self._behavior is None or self._law.rarity is None:
            return None
        away: Floats = self._new - self._behavior
        away *= self._law.rarity
        return away

    @cached_property
    def variances(self) -> Floats | None:
        """E[w^2 | x] - 1 = sum_a pi(a)^2 / beta(a) - 1, which is the sum of beta (w - 1)^2."""
        if self._away is None or self._behavior is None:
            return None
        squares = np.square(self._away)
        squares *= self._behavior
        return np.asarray(np.add.reduce(squares, axis=0))

    @property
    def variance_slopes(self) -> Floats:
        """See `Weights.variance_slopes`."""
        assert self._away is not None
        return _free(2 * self._away)

    @property
    def moved(self) -> float:
        """See `Weights.moved`; exact if all probabilities are known."""
        if self._behavior is None:
            return super().moved
        return self.average(np.abs(self._new - self._behavior).sum(axis=0)) / 2

    @cached_property
    def rarest(self) -> Rarest | None:
        """Those with at least half of the typical weight, where decisions count by the square of
        their weights: if such rows happen to be absent, nothing shows what the policy changes.
        """
        if self._law.rarity is None or self._behavior is None:
            return None
        weights = self._new * self._law.rarity
        squares = np.square(weights)
        squares *= self._new
        if self.units is not None:
            squares *= self.units.share
        half = 0.5 * float(np.vdot(squares, weights))
        rare = weights * float(np.add.reduce(squares, axis=None)) >= half
        m, which = rare.shape[1], rare.astype(np.float64)
        if self.units is not None:
            m, which = self.units.count, which * self.units.share
        new, logged = (float(np.vdot(of, which)) / m for of in (self._new, self._behavior))
        return Rarest(new, logged, rare)


@dataclass(frozen=True)
class DensityLaw:
    """How m rows were decided about, if decisions are numbers drawn from normal distributions.

    Parameters
    ----------
    propensity : ndarray of shape (m,)
        The density of the behaviour model at the logged decision.
    usual, spread : ndarray of shape (m,), optional
        The behaviour model's mean and standard deviation.
    units : Units, optional
        Whose rows they are.
    """

    propensity: Floats
    usual: Floats | None
    spread: Floats | None
    units: Units | None = None

    def weights(self, inside: Floats) -> DensityWeights:
        """See `WeightLaw.weights`."""
        return DensityWeights(inside, self)


class DensityWeights(Weights):
    """Weights of decisions that are numbers.

    Parameters
    ----------
    free : ndarray of shape (channels, m)
        What rows see of the policy; see `elfair.policies.gaussian`.
    law : DensityLaw
        How the rows were decided about.
    """

    def __init__(self, free: Floats, law: DensityLaw) -> None:
        self._free, self._propensity = free, law.propensity
        self._usual, self._spread, self.units = law.usual, law.spread, law.units

    @cached_property
    def values(self) -> Floats:
        """See `Weights.values`."""
        return np.asarray(self._free[DENSITY] / self._propensity)

    @property
    def slopes(self) -> Floats:
        """See `Weights.slopes`."""
        slopes = np.zeros_like(self._free)
        slopes[DENSITY] = 1 / self._propensity
        return slopes

    @cached_property
    def _squares(self) -> tuple[Floats, Floats, Floats, Floats] | None:
        """E[w^2 | x] of each row; then mu - m, s^2 and c^2.

        For N(mu, s^2) instead of N(m, b^2), E[w^2 | x] is the integral of the first density squared
        over the second, that is, b^2 / (s c) exp((mu - m)^2 / c^2) with c^2 = 2 b^2 - s^2.
        """
        if self._usual is None or self._spread is None:
            return None
        mean, old = self._free[MEAN], self._spread**2
        own = self._free[SQUARE] - mean**2
        away, rest = mean - self._usual, 2 * old - own
        return old / np.sqrt(own * rest) * np.exp(away**2 / rest), away, own, rest

    @cached_property
    def variances(self) -> Floats | None:
        """See `Weights.variances`."""
        return None if self._squares is None else self._squares[0] - 1

    @property
    def variance_slopes(self) -> Floats:
        """See `Weights.variance_slopes`."""
        assert self._squares is not None
        squares, away, own, rest = self._squares
        by_own = squares * ((away / rest) ** 2 + (1 / rest - 1 / own) / 2)
        slopes = np.zeros_like(self._free)
        # The variance of a policy is its mean square less the square of its mean.
        slopes[MEAN] = squares * 2 * away / rest - 2 * self._free[MEAN] * by_own
        slopes[SQUARE] = by_own
        return slopes

    @cached_property
    def rarest(self) -> Rarest | None:
        """None: the density of a single decision says too little."""
        return None


def _free(by_class: Floats) -> Floats:
    """Derivatives by the free numbers, the probabilities of all classes but the first."""
    return np.asarray(by_class[1:] - by_class[0])
