"""Worlds of doses: does the promise hold where doses do nothing, harm, or are out of reach?

Each world comes in two versions, as in `worlds.py`. In the *edge* version no model improves on the
old one, and a released model is a failure. In its twin there is something to gain, and refusing
everything is a failure: the returned share is compared with that of a t test which knows the true
mean and variance of its rows, for the same models.

    python benchmarks/dose_worlds.py                    # 500 seeds a cell
    python benchmarks/dose_worlds.py --seeds 20 --only moved
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtr, stdtrit

from elfair import ELFRegressor

DELTA = 0.1
SIZES = (300, 1_000, 4_000)
CROWD = 40_000
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
    usual, spread : ndarray of shape (n,)
        The mean and the standard deviation of the old model's dose.
    label : ndarray of shape (n,)
        The dose that a model is asked to come near to.
    """

    features: np.ndarray
    group: np.ndarray
    usual: np.ndarray
    spread: np.ndarray
    label: np.ndarray

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
    noise : callable
        ``noise(rng, people, dose)``: what is added to the mean impact. Its own mean is 0.
    by_group : bool
        Whether neither of two groups may be worse off, or else only everyone together.
    unseen : bool
        Whether it had no part in any choice of elfair's constants.
    """

    name: str
    people: Callable[[int, Rng], People]
    effect: Callable[[People, Doses, bool], Doses]
    noise: Callable[[Rng, People, Doses], Doses] = calm
    by_group: bool = False
    unseen: bool = False

    def sample(self, n: int, seed: int, better: bool) -> tuple[People, dict[str, Any]]:
        """Logged decisions about n people, as `ELFRegressor.fit` takes them."""
        rng = np.random.default_rng([seed, n, better, *self.name.encode()])
        people = self.people(n, rng)
        dose = people.usual + people.spread * rng.normal(size=n)
        impact = self.effect(people, dose, better) + self.noise(rng, people, dose)
        density = np.exp(-0.5 * people.away(dose) ** 2) / people.spread / sqrt(2 * np.pi)
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

    def informed_power(self, model: Any, n: int, better: bool) -> float:
        """How often a t test on n rows passes for a model, if it knows the true variance of rows.

        Its rows subtract the mean impact of every dose, which it knows, too.
        """
        people, logged = self.sample(CROWD, 10**6, better)
        mean, spread = model(people.features)
        dose = logged["decision"]
        new = np.exp(-0.5 * ((dose - mean) / spread) ** 2) / spread / sqrt(2 * np.pi)
        residual = logged["impact"] - self.effect(people, dose, better)
        rows = self.expected(people, people.usual, people.spread, better)
        rows = rows - self.expected(people, mean, spread, better)
        rows -= (new / logged["propensity"] - 1) * residual
        power = 1.0
        for group in self.groups(people):
            inside = rows[group]
            size = n * inside.size / CROWD
            gain = -sqrt(size) * inside.mean() / inside.std()
            power *= float(ndtr(gain - stdtrit(size - 1, 1 - DELTA)))
        return power


def _people(
    rng: Rng, n: int, label: Callable[..., Doses], spread: float | Doses = 1.0, odd: float = 0.0
) -> People:
    """Three features, the last of which tells odd people; groups that no feature tells apart."""
    x = rng.normal(size=(n, 3))
    x[:, 2] = rng.random(n) < odd if odd else x[:, 2]
    usual = 5 + 0.5 * x[:, 0]
    spread = np.broadcast_to(np.asarray(spread, dtype=float), (n,))
    wanted = usual + spread * label(x) + 0.3 * rng.normal(size=n)
    return People(x, (rng.random(n) < 0.5).astype(int), usual, spread, wanted)


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


WORLDS = [
    World("null", shifted, nothing),
    World("moved", moved, harmed),
    World("heavy tails", shifted, nothing, heavy),
    World("opposed groups", shifted, opposed, by_group=True, unseen=True),
    World("cliff", far, cliff, unseen=True),
    World("catastrophe", shifted, nothing, catastrophe, unseen=True),
    World("uneven spreads", uneven, nothing, unseen=True),
    World("curved", curved, nothing, unseen=True),
]


def trial(
    world: World, n: int, better: bool, parameters: dict[str, Any], seed: int
) -> tuple[bool, bool, float]:
    """Whether a model is released, whether it harms, and how often an informed test passes."""
    people, logged = world.sample(n, seed, better)
    reg = ELFRegressor(world.constraints(), delta=DELTA, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reg.fit(people.features, people.label, **logged)

    def model(features: np.ndarray) -> tuple[Doses, Doses]:
        first = reg.fitted_.ladder[0]
        mean, spread = first.policy.moments(first.theta, features)
        return mean, np.broadcast_to(spread, mean.shape)

    informed = world.informed_power(model, 0.4 * n, better) if better else np.nan
    if not reg.solution_found_:
        return False, False, informed
    # Where nothing can be gained, a model that changes anything is a false one.
    harm = world.harm(reg.predict_distribution, better)
    return True, harm >= (0 if better else -1e-9), informed


def cells(names: Iterable[str], sizes: Iterable[int]) -> Iterable[tuple[World, int, bool]]:
    """Every world, size and version."""
    for world in WORLDS:
        if not names or any(name in world.name for name in names):
            for better in (False, True):
                yield from ((world, n, better) for n in sizes)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--set", nargs="*", default=(), help="parameters, such as bound=ttest")
    given = parser.parse_args()
    parameters = dict(each.split("=") for each in given.set)
    for world, n, better in cells(given.only, given.sizes):
        outcomes = Parallel(given.jobs)(
            delayed(trial)(world, n, better, parameters, seed) for seed in range(given.seeds)
        )
        released, harmful, informed = np.mean(outcomes, axis=0)
        kind = "twin" if better else "edge"
        print(
            f"{world.name:15} {kind} {n:6,}  released {released:.3f}  harm {harmful:.3f}  "
            f"informed {informed:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
