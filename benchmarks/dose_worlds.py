"""Worlds of doses: does the promise hold where doses do nothing, harm, or are out of reach?

Each world comes in two versions, as in `worlds.py`. At the *edge* no model improves on the old one,
or not where labels ask for it, and a released model that does not truly improve things is a
failure. In its *twin* there is something to gain, and refusing everything is a failure: the
returned share is compared with that of a t test which knows the true variance of its rows, for a
good model.

    python benchmarks/dose_worlds.py                    # 500 seeds a cell, on all processors
    python benchmarks/dose_worlds.py --seeds 20 --only moved --sizes 300 --set reach=2
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit

from elfair import ELFRegressor
from elfair.data.continuous import normal_density
from worlds_people import DELTA, passes

SIZES = (300, 1_000, 4_000)
CROWD = 20_000
#: How many rows tell the true variance.
MANY = 400_000
#: Points and weights of the normal distribution of a new dose around its mean.
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)

Doses = np.ndarray
Rng = np.random.Generator


@dataclass
class People:
    """Some people: what a model sees of them, and how the old model decided about them.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        What a model sees.
    group : ndarray of shape (n,)
        The sensitive attribute.
    ordinary, usual, spread : ndarray of shape (n,)
        A linear function of what a model sees, about what is usual; the mean and the standard
        deviation of the old model's dose.
    label : ndarray of shape (n,)
        The dose that a model is asked to come near to.
    better : bool
        Whether there is something to gain.
    """

    features: np.ndarray
    group: np.ndarray
    ordinary: np.ndarray
    usual: np.ndarray
    spread: np.ndarray
    label: np.ndarray
    better: bool = False

    def away(self, dose: Doses) -> Doses:
        """How many spreads a dose is above the usual one."""
        return np.asarray((dose - self.usual) / self.spread)


def calm(rng: Rng, people: People, dose: Doses) -> Doses:
    """Impacts that spread alike around their means."""
    return rng.normal(0, 0.5, dose.size)


def heavy(rng: Rng, people: People, dose: Doses) -> Doses:
    """Impacts of extreme doses have heavy tails: Student's t with 2.5 degrees of freedom."""
    wild = rng.standard_t(2.5, dose.size)
    return np.where(np.abs(people.away(dose)) > 1, wild, rng.normal(0, 0.3, dose.size))


def catastrophe(rng: Rng, people: People, dose: Doses) -> Doses:
    """High doses bring a loss of 15 to one person in 100, which their mean allows for."""
    risk = np.where(people.away(dose) > 1, 0.01, 0.0)
    return rng.normal(0, 0.3, dose.size) - 15 * ((rng.random(dose.size) < risk) - risk)


def windfalls(rng: Rng, people: People, dose: Doses) -> Doses:
    """A windfall for one person in 50; nothing for the others."""
    return 3 * ((rng.random(dose.size) < 0.02) - 0.02)


def yes_or_no(rng: Rng, people: People, dose: Doses) -> Doses:
    """The impact is 0 or 1; see `likely`."""
    chance = likely(people, dose, better=people.better)
    return (rng.random(dose.size) < chance) - chance


@dataclass(frozen=True)
class World:
    """A population of doses with known truth.

    Parameters
    ----------
    name : str
        What it is called.
    people : callable
        ``people(n, rng)``.
    effect : callable
        ``effect(people, dose, better)``: the mean impact; in the twin, `better`, there is something
        to gain.
    good : callable
        ``good(features)``: by how much a good model of the twin raises the ordinary dose.
    noise : callable
        ``noise(rng, people, dose)``: what is added to the mean impact. Its own mean is 0.
    least : int
        The fewest rows with which the twin is tried. With fewer, hardly five tested people show
        what the new model would do.
    by_group : bool
        Whether neither of two groups may be worse off, or else only everyone together.
    unseen : bool
        Whether it had no part in any choice of elfair's constants.
    """

    name: str
    people: Callable[[int, Rng], People]
    effect: Callable[[People, Doses, bool], Doses]
    good: Callable[[np.ndarray], Doses]
    noise: Callable[[Rng, People, Doses], Doses] = calm
    least: int = 0
    by_group: bool = False
    unseen: bool = False

    def sample(self, n: int, seed: int, better: bool) -> tuple[People, dict[str, Any]]:
        """Logged decisions about n people, as `ELFRegressor.fit` takes them."""
        rng = np.random.default_rng([seed, n, better, *self.name.encode()])
        people = self.people(n, rng)
        people.better = better
        dose = people.usual + people.spread * rng.normal(size=n)
        impact = self.effect(people, dose, better) + self.noise(rng, people, dose)
        density = normal_density(dose, people.usual, people.spread)
        return people, {
            "sensitive_features": {"group": people.group},
            "decision": dose,
            "propensity": density,
            "behavior_spread": people.spread,
            "impact": impact,
        }

    def expected(self, people: People, mean: Doses, spread: Doses, better: bool) -> Doses:
        """The mean impact on each person of doses around a mean."""
        at = [self.effect(people, mean + spread * point, better) for point in POINTS]
        return np.asarray(WEIGHTS @ np.array(at) / WEIGHTS.sum())

    def harm(self, model: Any, better: bool) -> float:
        """By how much the group that fares worst is worse off than under the old model."""
        people = self.people(CROWD, np.random.default_rng([7, *self.name.encode()]))
        new = self.expected(people, *model(people.features), better)
        change = self.expected(people, people.usual, people.spread, better) - new
        return max(float(change[inside].mean()) for inside in self.groups(people))

    def constraints(self) -> list[str]:
        """No group may be worse off."""
        if not self.by_group:
            return ["E[impact] >= E_logged[impact]"]
        return [f"E[impact | group == {g}] >= E_logged[impact | group == {g}]" for g in (0, 1)]

    def groups(self, people: People) -> list[np.ndarray]:
        """Those whom each constraint is about."""
        every = np.ones(people.group.size, dtype=bool)
        return [people.group == g for g in (0, 1)] if self.by_group else [every]

    def oracle(self, n: int) -> float:
        """How often a t test that knows the variance passes a good model of the twin."""
        people, logged = self.sample(MANY, 10**6, better=True)
        mean = people.ordinary + self.good(people.features)
        new = normal_density(logged["decision"], mean, 0.6 * people.spread.min())
        impact = logged["impact"]
        rows = (1 - new / logged["propensity"]) * (impact - impact.mean())
        return prod(passes(rows[inside], 0.4 * n, MANY) for inside in self.groups(people))


def _people(
    rng: Rng, n: int, label: Callable[..., Doses], spread: float | Doses = 1.0, odd: float = 0.0
) -> People:
    """Three features, the last of which tells odd people; groups that no feature tells apart."""
    x = rng.normal(size=(n, 3))
    x[:, 2] = rng.random(n) < odd if odd else x[:, 2]
    usual = 5 + 0.5 * x[:, 0]
    spread = np.broadcast_to(np.asarray(spread, dtype=float), (n,))
    wanted = usual + spread * label(x) + 0.3 * rng.normal(size=n)
    return People(x, (rng.random(n) < 0.5).astype(int), usual, usual, spread, wanted)


def shifted(n: int, rng: Rng) -> People:
    """Labels ask for more: most for some, hardly any for others."""
    return _people(rng, n, lambda x: 0.5 + 0.5 * x[:, 1])


def moved(n: int, rng: Rng) -> People:
    """Labels ask to move one person in 20 three spreads away, and others nowhere."""
    return _people(rng, n, lambda x: 3 * x[:, 2], odd=0.05)


def nothing(people: People, dose: Doses, better: bool) -> Doses:
    """Doses do nothing; in the twin more is better."""
    slope = 0.25 if better else 0.0
    return 0.5 * people.features[:, 0] + slope * people.away(dose)


def harmed(people: People, dose: Doses, better: bool) -> Doses:
    """Odd people's impact is low whatever is done. More helps the others a little and harms them;
    in the twin, it is the odd people whom it helps.
    """
    odd = people.features[:, 2] == 1
    slope = np.where(odd, 0.8, 0.0) if better else np.where(odd, -0.5, 0.15)
    return 0.5 - 2 * odd + slope * people.away(dose)


def opposed(people: People, dose: Doses, better: bool) -> Doses:
    """More is good for one group and bad for the other; in the twin, good for both."""
    slope = 0.3 if better else np.where(people.group == 1, 0.1, -0.1)
    return 0.5 * people.features[:, 1] + slope * people.away(dose)


def cliff(people: People, dose: Doses, better: bool) -> Doses:
    """More is better up to 1.5 spreads above the usual dose, where a cliff undoes it."""
    away = people.away(dose)
    fall = 0.0 if better else 4.0
    return 0.2 * people.features[:, 0] + 0.3 * away - fall * (away > 1.5)


def far(n: int, rng: Rng) -> People:
    """Labels ask for two spreads more."""
    return _people(rng, n, lambda x: 2 + 0.3 * x[:, 1])


def uneven(n: int, rng: Rng) -> People:
    """The old model's spread differs six-fold between people."""
    return _people(rng, n, lambda x: 0.8 * x[:, 1], spread=np.exp(rng.uniform(-0.9, 0.9, n)))


def curved(n: int, rng: Rng) -> People:
    """The usual dose is not linear in what the new model sees."""
    people = shifted(n, rng)
    people.usual = 5 + 1.5 * np.sin(2 * people.features[:, 0])
    people.label = people.usual + 0.5 + 0.5 * people.features[:, 1]
    return people


def likely(people: People, dose: Doses, better: bool) -> Doses:
    """How likely a good outcome is: dose or not; in the twin, the more so with more."""
    return expit(people.features[:, 0] + (1.2 if better else 0.0) * people.away(dose))


def by(shift: float) -> Callable[[np.ndarray], Doses]:
    """The same for everyone."""
    return lambda features: np.full(len(features), shift)


WORLDS = [
    World("null", shifted, nothing, by(0.7)),
    World("moved", moved, harmed, lambda features: 1.2 * features[:, 2], least=1_000),
    World("heavy tails", shifted, nothing, by(0.7), heavy),
    World("uneven spreads", uneven, nothing, by(0.3)),
    World("opposed groups", shifted, opposed, by(0.7), by_group=True, unseen=True),
    World("cliff", far, cliff, by(0.7), unseen=True),
    World("curved", curved, nothing, by(0.5), unseen=True),
    World("yes or no", shifted, likely, by(0.7), yes_or_no, unseen=True),
    World("windfalls", shifted, nothing, by(0.7), windfalls, unseen=True),
    World("catastrophes", shifted, nothing, by(0.7), catastrophe, unseen=True),
]


def trial(
    world: World, n: int, better: bool, parameters: dict[str, Any], seed: int
) -> tuple[bool, bool]:
    """Whether a model is released, and whether it harms."""
    people, logged = world.sample(n, seed, better)
    reg = ELFRegressor(world.constraints(), delta=DELTA, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reg.fit(people.features, people.label, **logged)
    if not reg.solution_found_:
        return False, False
    # Where nothing can be gained, a model that changes anything is a false one.
    return True, world.harm(reg.predict_distribution, better) > -1e-9


def cells(names: Iterable[str], sizes: Iterable[int]) -> Iterable[tuple[World, int, bool]]:
    """Every world, size and version."""
    for world in WORLDS:
        if not names or any(name in world.name for name in names):
            yield from ((world, n, False) for n in sizes)
            yield from ((world, n, True) for n in sizes if n >= world.least)


def read(value: str) -> Any:
    """A parameter from the command line."""
    try:
        return float(value)
    except ValueError:
        return value


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--set", nargs="*", default=(), help="parameters, such as reach=2")
    given = parser.parse_args()
    parameters = {key: read(value) for key, value in (each.split("=") for each in given.set)}
    for world, n, better in cells(given.only, given.sizes):
        outcomes = Parallel(given.jobs)(
            delayed(trial)(world, n, better, parameters, seed) for seed in range(given.seeds)
        )
        released, harmful = np.mean(outcomes, axis=0)
        kind = f"twin, oracle {world.oracle(n):.3f}" if better else "edge"
        figures = f"released {released:.3f}  harm {harmful:.3f}  {kind}"
        print(f"{world.name:15} {n:6,}  {figures}", flush=True)


if __name__ == "__main__":
    main()
