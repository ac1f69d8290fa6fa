"""Ways to try elfair on a world: a classifier or a regressor is searched for, or a model is given.

A world comes in three versions. At the *edge* whatever labels ask for does nothing, or harms some
group: a released model that does not truly improve things is a failure. *Beyond* is near the edge,
on its wrong side. In the *twin* there is something to gain, and refusing everything is a failure.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, prod
from typing import Any, Literal, NamedTuple

import numpy as np

from elfair import ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import DataError
from elfair.policies.gaussian import normal_density
from worlds_people import (
    CROWD,
    DELTA,
    MANY,
    VERSIONS,
    Floats,
    Model,
    NoWorse,
    Population,
    Promise,
    Version,
    passes,
)

SIZES = (300, 1_000, 4_000)
#: A model that changes nothing for the better is no better than the old one, up to rounding.
ROUNDING = 1e-9


class Outcome(NamedTuple):
    """What came of one trial.

    Parameters
    ----------
    released, broken : bool
        Whether a model was released, and whether it breaks a promise.
    forecast : float or None
        The chance that candidate rows gave it; None if nothing was searched for.
    """

    released: bool
    broken: bool
    forecast: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class World(ABC):
    """A world on which elfair can be tried.

    Parameters
    ----------
    name : str
        What it is called.
    origin : str
        "issue" if its kind was known to break the t bound, "own" if it was invented here, "fresh"
        if no bound, guard or search was ever chosen with its results in view.
    summary : str
        What is special about it, in one line.
    sizes : sequence of int
        How many rows it is tried with.
    least : int
        The fewest rows with which the twin is tried. With fewer, hardly five tested rows show what
        the new model would do, and no test that takes nothing for granted can tell.
    ends : (float, float), optional
        The range that no impact leaves.
    floor : float, optional
        The smallest probability of any decision under the old model.
    blind : callable
        From a number of rows to the share of tables, at the edge, that hold none of the losses
        which the world is about. Nothing distinguishes such a table from one of a twin without
        losses, so who returns models there cannot refuse them here, unless the range is declared.
    """

    name: str
    origin: Literal["issue", "own", "fresh"]
    summary: str
    sizes: Sequence[int] = SIZES
    least: int = 0
    ends: tuple[float, float] | None = None
    floor: float | None = None
    blind: Callable[[int], float] = lambda n: 0.0

    def rng(self, n: int, version: Version, seed: int) -> np.random.Generator:
        """Chance that belongs to one trial."""
        return np.random.default_rng([seed, n, VERSIONS.index(version), *self.name.encode()])

    def trial(self, n: int, version: Version, parameters: Mapping[str, Any], seed: int) -> Outcome:
        """Try it once.

        Parameters
        ----------
        n : int
            How many rows.
        version : {"edge", "beyond", "twin"}
            Which version of the world.
        parameters : mapping
            Those of the estimator, or of `certify`, that are not left at their defaults.
        seed : int
            Which trial.
        """
        # Other parameters on the same rows are another study.
        with warnings.catch_warnings(), counted_in(LooksOfProcess()):
            warnings.simplefilter("ignore")
            try:
                return self._tried(n, version, dict(parameters), seed)
            except DataError:  # too few rows of a group: refused
                return Outcome(False, False)

    @abstractmethod
    def _tried(self, n: int, version: Version, parameters: dict[str, Any], seed: int) -> Outcome:
        pass

    @abstractmethod
    def rows(self, version: Version, n: int) -> list[Floats]:
        """Very many rows of each promise, under the model that is good for the twin."""

    def tested(self, n: int) -> float:
        """How many people are tested: 4 in 10 are held out."""
        return 0.4 * n

    def oracle(self, n: int) -> float:
        """How often a t test that knows the variance passes a good model of the twin."""
        return prod(passes(rows, self.tested(n), MANY) for rows in self.rows("twin", n))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted(World):
    """A classifier is searched for.

    Parameters
    ----------
    population : Population
        Whom it decides about.
    promises : sequence of Promise
        What must hold.
    good : callable
        A model that improves things in the twin.
    parameters : mapping
        What the world asks for beside constraints.
    """

    population: Population
    promises: Sequence[Promise] = (NoWorse(),)
    good: Model
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def _tried(self, n: int, version: Version, parameters: dict[str, Any], seed: int) -> Outcome:
        log = self.population.log(n, self.rng(n, version, seed), version)
        given = {**self.parameters, **parameters}
        clf = ELFClassifier(
            [each.text for each in self.promises],
            delta=DELTA,
            random_state=seed,
            classes=list(range(log.people.behavior.shape[1])),
            **given,
        )
        clf.fit(log.people.features, log.label, **log.columns)
        forecast = clf.certificate_.search.forecast
        if not clf.solution_found_:
            return Outcome(False, False, forecast)
        crowd = self.population.crowd(version)
        new = clf.predict_proba(crowd.features)
        broken = max(each.truth(crowd, new) for each in self.promises) > -ROUNDING
        return Outcome(True, broken, forecast)

    def rows(self, version: Version, n: int) -> list[Floats]:
        """As for every world; they do not depend on n."""
        log = self.population.log(MANY, np.random.default_rng(11), version)
        return [each.rows(log, self.good(log.people.features)) for each in self.promises]


@dataclass(frozen=True, kw_only=True, eq=False)
class Certified(World):
    """A given model is tested, which breaks its promise by construction, but for the twin.

    Parameters
    ----------
    population : callable
        From a number of rows to people.
    promise : callable
        From a version to what must hold.
    good : callable
        From a number of rows and a version to the model.
    table : callable
        How many rows the table has, if that is not n.
    learns : bool
        Whether a fifth of the rows is set aside.
    """

    population: Callable[[int], Population]
    promise: Callable[[Version], Promise]
    good: Callable[[int, Version], Model]
    table: Callable[[int], int] = lambda n: n
    learns: bool = True

    def _tried(self, n: int, version: Version, parameters: dict[str, Any], seed: int) -> Outcome:
        population, rng = self.population(n), self.rng(n, version, seed)
        log = population.log(self.table(n), rng, version)
        classes = list(range(log.people.behavior.shape[1]))
        data = LoggedData(log.people.features, log.label, classes=classes, **log.columns)
        new = self.good(n, version)(log.people.features)
        text = self.promise(version).text
        passed = certify(new, data, text, delta=DELTA, random_state=seed, **parameters).passed
        return Outcome(passed, passed and version != "twin")

    def rows(self, version: Version, n: int) -> list[Floats]:
        """As for every world."""
        log = self.population(n).log(MANY, np.random.default_rng(11), version)
        return [self.promise(version).rows(log, self.good(n, version)(log.people.features))]

    def tested(self, n: int) -> float:
        """How many people are tested: all, or 8 in 10."""
        return self.table(n) * (0.8 if self.learns else 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dosed(World):
    """A regressor is searched for; old decisions are normal around 0, with a spread of 1.

    Parameters
    ----------
    impact : callable
        ``impact(x, dose, version)``, the mean impact.
    wanted : callable
        ``wanted(x)``, the labels.
    good : callable
        The mean of a model that improves things in the twin; its spread is 0.6.
    odd : float
        The share of people for whom the third feature is 1.
    skewed : bool
        Whether losses are lognormal.
    """

    impact: Callable[[Floats, Floats, Version], Floats]
    wanted: Callable[[Floats], Floats]
    good: Callable[[Floats], Floats]
    odd: float = 0.05
    skewed: bool = False

    def features(self, n: int, rng: np.random.Generator) -> Floats:
        """What describes n people: two normal numbers, and whether they are odd."""
        return np.column_stack([rng.normal(size=(n, 2)), rng.random(n) < self.odd])

    def _log(self, n: int, rng: np.random.Generator, version: Version) -> tuple[Floats, ...]:
        x, dose = self.features(n, rng), rng.normal(size=n)
        noise = exp(0.5) - rng.lognormal(size=n) if self.skewed else rng.uniform(-0.8, 0.8, n)
        return x, dose, self.impact(x, dose, version) + noise

    def _tried(self, n: int, version: Version, parameters: dict[str, Any], seed: int) -> Outcome:
        rng = self.rng(n, version, seed)
        x, dose, impact = self._log(n, rng, version)
        label = self.wanted(x) + rng.normal(0, 0.3, n)
        reg = ELFRegressor(NoWorse().text, delta=DELTA, random_state=seed, **parameters).fit(
            x,
            label,
            decision=dose,
            propensity=normal_density(dose, 0.0, 1.0),
            behavior_mean=0.0,
            behavior_spread=1.0,
            impact=impact,
        )
        released = reg.solution_found_
        broken = released and self._harm(reg, version) > -ROUNDING
        return Outcome(released, broken, reg.certificate_.search.forecast)

    def _harm(self, reg: ELFRegressor, version: Version) -> float:
        """By how much the mean impact is lower than before, by quadrature over decisions."""
        x = self.features(CROWD // 5, np.random.default_rng(7))
        at, weight = np.polynomial.hermite_e.hermegauss(21)
        weight = weight / weight.sum()

        def value(mean: Floats, spread: float) -> float:
            dose = mean[:, None] + spread * at
            means = [self.impact(x, each, version).mean() for each in dose.T]
            return float(np.array(means) @ weight)

        models = zip(reg.fitted_.shares, reg.fitted_.models, strict=True)
        new = sum(s * value(*model.policy.moments(model.theta, x)) for s, model in models)
        return value(np.zeros(len(x)), 1.0) - new

    def rows(self, version: Version, n: int) -> list[Floats]:
        """As for every world; they do not depend on n."""
        x, dose, impact = self._log(MANY, np.random.default_rng(11), version)
        weight = normal_density(dose, self.good(x), 0.6) / normal_density(dose, 0.0, 1.0)
        return [(1 - weight) * (impact - impact.mean())]
