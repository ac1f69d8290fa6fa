"""What worlds are made of: people with known truth, and promises about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int_]
Version: TypeAlias = Literal["edge", "beyond", "twin"]
VERSIONS: tuple[Version, ...] = ("edge", "beyond", "twin")
DELTA = 0.1
#: How many people the truth is an average over, and rows the oracle's variance.
CROWD, MANY = 50_000, 100_000


@dataclass(frozen=True)
class People:
    """Some people: what a model sees, their group, and what each decision does to them.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        What a model sees.
    group : ndarray of shape (n,)
        The sensitive attribute.
    behavior : ndarray of shape (n, classes)
        The old model's probability of each decision.
    mean : ndarray of shape (n, classes)
        The mean impact of each decision.
    labels : ndarray of shape (n, classes)
        The probability of each label.
    """

    features: Floats
    group: Integers
    behavior: Floats
    mean: Floats
    labels: Floats

    def decided(self, new: Floats) -> Floats:
        """By how much the mean impact of each person is lower under a new model."""
        harm: Floats = ((self.behavior - new) * self.mean).sum(axis=1)
        return harm


#: ``about(x, group, version)``: the old model, mean impacts and probabilities of labels.
About: TypeAlias = Callable[[Floats, Integers, Version], tuple[Floats, Floats, Floats]]
#: ``noise(rng, x, decision, version)``: what is added to a mean impact; its own mean is 0.
Noise: TypeAlias = Callable[[np.random.Generator, Floats, Integers, Version], Floats]
#: ``good(features)``: the probabilities of decisions under a model.
Model: TypeAlias = Callable[[Floats], Floats]


def uniform(width: float = 1.0) -> Noise:
    """Impacts that lie within half a width of their means."""
    return lambda rng, x, decision, version: rng.uniform(-width / 2, width / 2, decision.size)


def two(one: Floats) -> Floats:
    """The probabilities of both decisions, from that of decision 1."""
    return np.column_stack([1 - one, one])


def drawn(rng: np.random.Generator, probabilities: Floats) -> Integers:
    """A class for each row."""
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    chosen: Integers = (rng.random(len(probabilities))[:, None] > below).sum(axis=1)
    return chosen


@dataclass(frozen=True)
class Log:
    """Logged decisions about some people, perhaps with the probability of every decision."""

    people: People
    decision: Integers
    impact: Floats
    label: Integers
    told: bool = False

    @property
    def columns(self) -> dict[str, Any]:
        """What `ELFClassifier.fit` and `LoggedData` take beside features and labels."""
        behavior = self.people.behavior
        known = {"behavior": behavior} if self.told else {"propensity": self.of_decision(behavior)}
        return known | {
            "sensitive_features": {"group": self.people.group},
            "decision": self.decision,
            "impact": self.impact,
        }

    def of_decision(self, table: Floats) -> Floats:
        """The entry of each row's decision."""
        taken: Floats = table[np.arange(self.decision.size), self.decision]
        return taken


@dataclass(frozen=True, eq=False)
class Population:
    """People whose decisions are classes.

    Parameters
    ----------
    about, noise : callable
        What decisions do to people, on average and by chance.
    shares : sequence of float
        The share of each group; groups do not differ in the numbers that describe people.
    width : int
        How many standard normal numbers describe a person.
    seen : callable
        ``seen(x)``, what the model sees of these numbers.
    told : bool
        Whether the log holds the old model's probability of every decision.
    """

    about: About
    noise: Noise = field(default_factory=uniform)
    shares: Sequence[float] = (1.0,)
    width: int = 2
    seen: Callable[[Floats], Floats] = lambda x: x
    told: bool = False

    def people(self, x: Floats, group: Integers, version: Version) -> People:
        """People, from the numbers that describe them and their groups."""
        return People(self.seen(x), group, *self.about(x, group, version))

    def crowd(self, version: Version) -> People:
        """So many people that their averages are the truth, the same ones in each group."""
        return _crowd(self, version)

    def log(self, n: int, rng: np.random.Generator, version: Version) -> Log:
        """Decisions of the old model about n people."""
        x = rng.normal(size=(n, self.width))
        people = self.people(x, rng.choice(len(self.shares), n, p=self.shares), version)
        decision = drawn(rng, people.behavior)
        noise = self.noise(rng, x, decision, version)
        log = Log(people, decision, noise, drawn(rng, people.labels), self.told)
        return replace(log, impact=log.of_decision(people.mean) + noise)


@cache
def _crowd(population: Population, version: Version) -> People:
    groups = len(population.shares)
    x = np.random.default_rng(7).normal(size=(max(CROWD // groups, 5_000), population.width))
    group = np.repeat(np.arange(groups), len(x))
    return population.people(np.tile(x, (groups, 1)), group, version)


# -- what is promised --------------------------------------------------------------------------


class Promise(ABC):
    """A statement of which the truth is known."""

    text: str

    @abstractmethod
    def truth(self, crowd: People, new: Floats) -> float:
        """By how much a model breaks it: g, which is below 0 where there is something to spare."""

    @abstractmethod
    def rows(self, log: Log, new: Floats) -> Floats:
        """Rows whose mean is g."""


@dataclass(frozen=True)
class NoWorse(Promise):
    """The mean impact of a group (of everybody, for None) is no lower than under the old model."""

    group: int | None = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The constraint."""
        given = "" if self.group is None else f" | group == {self.group}"
        return f"E[impact{given}] >= E_logged[impact{given}]"

    def _inside(self, people: People) -> npt.NDArray[np.bool_]:
        everybody: npt.NDArray[np.bool_] = people.group >= 0
        return everybody if self.group is None else people.group == self.group

    def truth(self, crowd: People, new: Floats) -> float:
        """The mean harm."""
        return float(crowd.decided(new)[self._inside(crowd)].mean())

    def rows(self, log: Log, new: Floats) -> Floats:
        """Paired rows, around the mean."""
        weight = log.of_decision(new) / log.of_decision(log.people.behavior)
        inside = self._inside(log.people)
        impact = log.impact[inside]
        rows: Floats = (1 - weight[inside]) * (impact - impact.mean())
        return rows


@dataclass(frozen=True)
class Rate(Promise):
    """A bound on how often decision 1 is taken, perhaps among one group and those of one label.

    Parameters
    ----------
    limit : float
        The bound.
    sign : {1, -1}
        1 for an upper bound, -1 for a lower one.
    label, group : int, optional
        Whom it is about.
    """

    limit: float
    sign: Literal[1, -1] = 1
    label: int | None = None
    group: int | None = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The constraint."""
        given = {"label": self.label, "group": self.group}
        words = " and ".join(f"{key} == {at}" for key, at in given.items() if at is not None)
        relation = "<=" if self.sign > 0 else ">="
        return f"P[decision == 1{' | ' if words else ''}{words}] {relation} {self.limit!r}"

    def truth(self, crowd: People, new: Floats) -> float:
        """The distance from the limit."""
        weight = np.ones(len(new)) if self.label is None else crowd.labels[:, self.label]
        if self.group is not None:
            weight = weight * (crowd.group == self.group)
        return self.sign * float(np.average(new[:, 1], weights=weight) - self.limit)

    def rows(self, log: Log, new: Floats) -> Floats:
        """The model's probability for each person whom it is about."""
        inside = np.ones(len(new), dtype=bool)
        if self.label is not None:
            inside &= log.label == self.label
        if self.group is not None:
            inside &= log.people.group == self.group
        rows: Floats = self.sign * (new[inside, 1] - self.limit)
        return rows


@dataclass(frozen=True)
class WorstTenth(Promise):
    """The mean impact of the tenth who fare worst is at least a number."""

    limit: float

    @property
    def text(self) -> str:  # type: ignore[override]
        """The constraint."""
        return f"CVaR[impact, 0.1] >= {self.limit!r}"

    def truth(self, crowd: People, new: Floats) -> float:
        """Not known from means alone: the worlds with this promise are built for one model."""
        raise NotImplementedError

    def rows(self, log: Log, new: Floats) -> Floats:
        """Rows at the best point."""
        weight = log.of_decision(new) / log.of_decision(log.people.behavior)
        order = np.argsort(log.impact)
        below = np.cumsum(weight[order]) / weight.sum()
        point = log.impact[order][np.searchsorted(below, 0.1)]
        rows: Floats = self.limit - point + 10 * weight * np.maximum(point - log.impact, 0)
        return rows


def passes(rows: Floats, tested: float, of: int) -> float:
    """How often a t test that knows the variance passes.

    Parameters
    ----------
    rows : ndarray
        Those of `of` people whom a statement is about.
    tested : float
        How many people are tested.
    of : int
        How many people there are.
    """
    error = rows.std() / sqrt(rows.size * tested / of)
    return float(norm.cdf(-rows.mean() / error - norm.ppf(1 - DELTA)))
