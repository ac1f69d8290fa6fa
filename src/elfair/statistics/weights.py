"""Importance weights under one policy, and what is known of them before decisions are drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from elfair.policies.gaussian import DENSITY, MEAN, SQUARE
from elfair.statistics.sums import Spread, WeightSums
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
    guess : bool, default False
        Whether the share of the behaviour model is a guess.
    """

    new: float
    logged: float
    which: Booleans
    guess: bool = False


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
    def of_units(self) -> Floats:
        """The weights, added up by unit in proportion to the mass of rows."""
        return (
            self.values if self.units is None else self.units.added(self.units.share * self.values)
        )

    def average(self, of_rows: Floats) -> float:
        """The average of some numbers, one for each row."""
        return float(of_rows.mean()) if self.units is None else self.units.averages(of_rows)

    @cached_property
    def rarest(self) -> Rarest | None:
        """The decisions that were the rarest for what the policy makes of them; None if that is not
        known, as of numbers: the density of a single decision says too little.
        """
        return None

    @property
    def moved(self) -> float:
        """The share of decisions that the policy takes otherwise than the behaviour model: the
        distance in total variation, which is E|w - 1| / 2.
        """
        return self.average(np.abs(self.values - 1)) / 2

    @cached_property
    def typical(self) -> tuple[float, float] | None:
        """Two sums over rows, from which the threshold of rare decisions follows; None if nobody
        knows which are rare.
        """
        return None

    def rare(self, typical: tuple[float, float]) -> tuple[float, float]:
        """The sums of the probabilities of decisions that are rare by the typical weight of these
        rows and others, under the policy and the behaviour model.
        """
        raise NotImplementedError

    @property
    def sums(self) -> WeightSums:
        """All of it that tests ask about, as sums over the rows (or units)."""
        known, of_units, units = self.variances, self.of_units, self.units
        if known is None:
            by_variance = None
        else:
            by_variance = float(known.sum() if units is None else known @ units.share**2)
        seen = None
        if units is not None or known is None:
            one = self.values if units is None else units.gather(units.share * self.values)
            seen = Spread.of(one)
        return WeightSums(
            n=of_units.size,
            total=float(of_units.sum()),
            squares=float(of_units @ of_units),
            seen=seen,
            known=by_variance,
            largest=float(self.values.max(initial=-np.inf)),
            moved=self.moved * of_units.size if of_units.size else 0.0,
            typical=self.typical,
        )


class WeightLaw(Protocol):
    """Knows how some rows were decided about, and so their weights under any policy."""

    def weights(self, inside: Floats) -> Weights:
        """The weights under a policy, given by its free numbers of these rows."""

    def guessed(self, classes: int) -> WeightLaw:
        """The same with a guess at what was not logged. Only forecasts may use it: on other rows,
        decisions may be absent that these happen to show, and no test of these rows can tell.
        """


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
    likely : ndarray of shape (classes, m), optional
        A guess at ``behavior`` where it is not known. It only tells which decisions are rare.

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
    likely: Floats | None = None

    def weights(self, inside: Floats) -> ClassWeights:
        """See `WeightLaw.weights`."""
        first = 1 - (inside[:1] if len(inside) == 1 else inside.sum(axis=0, keepdims=True))
        return ClassWeights(np.concatenate([first, inside]), self)

    def guessed(self, classes: int) -> ClassLaw:
        """See `WeightLaw.guessed`: decisions that were not taken share what is left of the
        probability as they share the rows.

        Examples
        --------
        >>> law = ClassLaw(None, np.array([0, 0, 1, 2]), np.array([0.5, 0.5, 0.4, 0.2]))
        >>> law.guessed(3).likely[:, 0]
        array([0.5 , 0.25, 0.25])
        """
        if self.behavior is not None:
            return self
        share = np.bincount(self.taken, minlength=classes) + 0.5  # one never seen is not impossible
        likely = np.tile(share[:, None], self.taken.size)
        likely[self.at_taken] = 0.0
        likely *= (1 - self.propensity) / likely.sum(axis=0)
        likely[self.at_taken] = self.propensity
        return replace(self, likely=likely)

    @cached_property
    def at_taken(self) -> tuple[Index, Index]:
        """Where a table of classes and rows holds the logged decisions."""
        return self.taken, np.arange(self.taken.size)

    @cached_property
    def rarity(self) -> Floats | None:
        """The inverse of each class's probability, or of a guess at it; 0 if it was impossible."""
        behavior = self.likely if self.behavior is None else self.behavior
        if behavior is None:
            return None
        one, possible = np.ones_like(behavior), behavior > 0
        return np.divide(one, behavior, out=np.zeros_like(one), where=possible)


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
    def _by_class(self) -> Floats | None:
        """The weight that each decision would have."""
        return None if self._law.rarity is None else self._new * self._law.rarity

    @cached_property
    def typical(self) -> tuple[float, float] | None:
        """See `Weights.typical`: decisions count by the square of their weights."""
        weights = self._by_class
        if weights is None:
            return None
        squares = np.square(weights)
        squares *= self._new
        if self.units is not None:
            squares *= self.units.share
        return float(np.vdot(squares, weights)), float(np.add.reduce(squares, axis=None))

    def _is_rare(self, typical: tuple[float, float]) -> Booleans:
        """The decisions with at least half of the typical weight."""
        assert self._by_class is not None
        return np.asarray(self._by_class * typical[1] >= 0.5 * typical[0])

    def rare(self, typical: tuple[float, float]) -> tuple[float, float]:
        """See `Weights.rare`."""
        return self._summed(self._is_rare(typical))

    def _summed(self, rare: Booleans) -> tuple[float, float]:
        behavior = self._law.likely if self._behavior is None else self._behavior
        assert behavior is not None
        which = rare.astype(np.float64)
        if self.units is not None:
            which *= self.units.share
        return float(np.vdot(self._new, which)), float(np.vdot(behavior, which))

    @cached_property
    def rarest(self) -> Rarest | None:
        """Those with at least half of the typical weight: if such rows happen to be absent, nothing
        shows what the policy changes.
        """
        if self.typical is None:
            return None
        rare = self._is_rare(self.typical)
        m = rare.shape[1] if self.units is None else self.units.count
        new, logged = self._summed(rare)
        return Rarest(new / m, logged / m, rare, guess=self._behavior is None)


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

    def guessed(self, classes: int) -> DensityLaw:
        """See `WeightLaw.guessed`: nothing to go by."""
        return self


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


def _free(by_class: Floats) -> Floats:
    """Derivatives by the free numbers, the probabilities of all classes but the first."""
    return np.asarray(by_class[1:] - by_class[0])
