"""Worlds that are unlike foster care: does the promise hold on them, and are models still found?

Each world comes in two versions. In the *edge* version no model improves on the old one: whatever a
model changes harms some group, or changes nothing, and a released model is a failure. In its twin,
there is something to gain, and refusing everything is a failure.

    python benchmarks/worlds.py                    # 500 seeds a cell
    python benchmarks/worlds.py --seeds 20 --only reversal

Every world knows the mean impact of each decision on each person, so the harm of a model is known
up to the choice of 200,000 people.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import exp, sqrt
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit

from elfair import ELFClassifier

DELTA = 0.1
SIZES = (300, 1_000, 4_000)
CROWD = 200_000


@dataclass
class People:
    """Some people: what a model sees of them, their group, and what each decision does to them.

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
    label : ndarray of shape (n,)
        The best decisions.
    """

    features: np.ndarray
    group: np.ndarray
    behavior: np.ndarray
    mean: np.ndarray
    label: np.ndarray


Noise = Callable[[np.random.Generator, People, np.ndarray], np.ndarray]


def gaussian(spread: float) -> Noise:
    """Impacts that spread alike around their means."""

    def noise(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
        return rng.normal(0, spread, decision.size)

    return noise


@dataclass(frozen=True)
class World:
    """A population with known truth.

    Parameters
    ----------
    name : str
        What it is called.
    people : callable
        ``people(n, rng, better)``; in the twin, `better`, there is something to gain.
    noise : callable
        ``noise(rng, people, decision)``: what is added to the mean impact. Its own mean is 0.
    origin : str
        "issue" if its kind was known to break the t bound, "own" if it was invented here.
    """

    name: str
    people: Callable[[int, np.random.Generator, bool], People]
    noise: Noise = field(default_factory=lambda: gaussian(0.5))
    origin: str = "own"

    def sample(self, n: int, seed: int, better: bool) -> tuple[People, dict[str, Any]]:
        """Logged decisions about n people, as `ELFClassifier.fit` takes them."""
        rng = np.random.default_rng([seed, n, better, *self.name.encode()])
        people = self.people(n, rng, better)
        chosen = (rng.random(n)[:, None] > np.cumsum(people.behavior, axis=1)[:, :-1]).sum(axis=1)
        impact = people.mean[np.arange(n), chosen] + self.noise(rng, people, chosen)
        return people, {
            "sensitive_features": {"group": people.group},
            "decision": chosen,
            "propensity": people.behavior[np.arange(n), chosen],
            "impact": impact,
        }

    def harm(self, model: Any, better: bool) -> float:
        """By how much the group that fares worst is worse off than under the old model."""
        crowd = self.people(CROWD, np.random.default_rng([7, *self.name.encode()]), better)
        change = (crowd.behavior - model.predict_proba(crowd.features)) * crowd.mean
        each = change.sum(axis=1)
        return max(float(each[crowd.group == g].mean()) for g in np.unique(crowd.group))

    def constraints(self) -> list[str]:
        """No group may be worse off."""
        groups = np.unique(self.people(1_000, np.random.default_rng(0), False).group)
        return [f"E[impact | group == {g}] >= E_logged[impact | group == {g}]" for g in groups]


def two(one: np.ndarray) -> np.ndarray:
    """The probabilities of both decisions, from that of decision 1."""
    return np.column_stack([1 - one, one])


def _reversal(epsilon: float) -> Callable[[int, np.random.Generator, bool], People]:
    """An epsilon-greedy log that nearly always takes decision 1. Some people's impact is low whatever
    is decided, and their labels ask for the decision that they hardly ever got; it harms them.
    """

    def people(n: int, rng: np.random.Generator, better: bool) -> People:
        x = rng.normal(size=(n, 2))
        odd = x[:, 0] > 1.645
        behavior = two(np.full(n, 1 - epsilon))
        level = np.where(odd, -1.5, 0.5)
        effect = np.where(odd & better, 0.8, -0.05)
        mean = np.column_stack([level + effect, level])
        group = (rng.random(n) < 0.5).astype(int)
        return People(x, group, behavior, mean, np.where(odd, 0, 1))

    return people


def _plain(epsilon: float) -> Callable[[int, np.random.Generator, bool], People]:
    """An epsilon-greedy log, and decisions that do nothing; in the twin they help those with x > 0."""

    def people(n: int, rng: np.random.Generator, better: bool) -> People:
        x = rng.normal(size=(n, 2))
        usual = (x[:, 1] > 0).astype(int)
        behavior = two(np.where(usual == 1, 1 - epsilon, epsilon))
        level = 0.5 * x[:, 0]
        gain = np.where(x[:, 0] > 0, 0.6, -0.6) if better else np.zeros(n)
        mean = np.column_stack([level, level + gain])
        label = (x[:, 0] > 0).astype(int)
        return People(x, (rng.random(n) < 0.5).astype(int), behavior, mean, label)

    return people


def _catastrophe(n: int, rng: np.random.Generator, better: bool) -> People:
    """Decision 1 pays a little, and raises the risk of a loss of 40 from 0.1 % to 0.8 %."""
    x = rng.normal(size=(n, 2))
    behavior = two(expit(0.5 * x[:, 0]))
    pay = 0.6 if better else 0.26
    mean = np.column_stack([np.full(n, -0.04), np.full(n, pay - 0.04 if better else pay - 0.32)])
    label = (rng.random(n) < expit(x[:, 0])).astype(int)
    return People(x, (rng.random(n) < 0.5).astype(int), behavior, mean, label)


def _losses(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
    risk = np.where(decision == 1, 0.008, 0.001)
    if people.mean[0, 1] > 0.1:  # the twin: no catastrophes at all
        return rng.normal(0, 0.5, decision.size)
    return rng.normal(0, 0.5, decision.size) - 40 * ((rng.random(decision.size) < risk) - risk)


def _three(n: int, rng: np.random.Generator, better: bool) -> People:
    """Three decisions, one of them rare: good for one group and bad for the other."""
    x = rng.normal(size=(n, 2))
    group = (rng.random(n) < 0.5).astype(int)
    behavior = np.tile([0.49, 0.49, 0.02], (n, 1))
    gain = np.full(n, 0.6) if better else np.where(group == 1, 0.3, -0.3)
    mean = np.column_stack([np.zeros(n), np.zeros(n), np.where(x[:, 0] > 0.5, gain, -0.1)])
    label = np.where(x[:, 0] > 0.5, 2, (x[:, 1] > 0).astype(int))
    return People(x, group, behavior, mean + 0.3 * x[:, [1]], label)


def _many_groups(n: int, rng: np.random.Generator, better: bool) -> People:
    """Ten groups, the smallest with 2 % of the people; a feature tells half of them apart."""
    sizes = np.array([0.02, 0.03, 0.05, 0.05, 0.1, 0.1, 0.1, 0.15, 0.2, 0.2])
    group = rng.choice(10, n, p=sizes)
    x = rng.normal(size=(n, 2))
    behavior = two(expit(x[:, 0]))
    gain = np.full(n, 0.7) if better else np.where(group % 2 == 0, 0.15, -0.15)
    mean = np.column_stack([np.zeros(n), gain])
    label = (rng.random(n) < expit(x[:, 0] + x[:, 1])).astype(int)
    return People(x, group, behavior, mean, label)


def _opposed(n: int, rng: np.random.Generator, better: bool) -> People:
    """What helps one group harms the other, and no feature tells them apart."""
    x = rng.normal(size=(n, 3))
    group = (rng.random(n) < 0.5).astype(int)
    behavior = two(expit(0.7 * x[:, 0]))
    gain = np.where(x[:, 1] > 0, 0.6, -0.6) if better else np.where(group == 1, 0.1, -0.1)
    mean = np.column_stack([np.zeros(n), gain])
    label = (rng.random(n) < expit(2 * x[:, 1])).astype(int)
    return People(x, group, behavior, mean, label)


def _minority(n: int, rng: np.random.Generator, better: bool) -> People:
    """A tenth of the people lose what the others gain; labels say that everybody gains."""
    x = rng.normal(size=(n, 2))
    group = (rng.random(n) < 0.1).astype(int)
    behavior = two(expit(0.5 * x[:, 0] - 0.5))
    gain = np.full(n, 0.5) if better else np.where(group == 1, -0.2, 0.3)
    mean = np.column_stack([np.zeros(n), gain])
    label = (rng.random(n) < expit(1 + x[:, 0])).astype(int)
    return People(x, group, behavior, mean, label)


def _uneven(n: int, rng: np.random.Generator, better: bool) -> People:
    """Propensities from 1 % to 99 %; those with the extreme ones are worst off."""
    x = rng.normal(size=(n, 2))
    one = np.clip(expit(3 * x[:, 0]), 0.01, 0.99)
    gain = np.where(x[:, 1] > 0, 0.5, -0.5) if better else np.zeros(n)
    level = -np.abs(x[:, 0])
    label = (rng.random(n) < expit(2 * x[:, 1] - x[:, 0])).astype(int)
    mean = np.column_stack([level, level + gain])
    return People(x, (rng.random(n) < 0.5).astype(int), two(one), mean, label)


def skewed(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
    """Losses that are lognormal."""
    return 0.6 * (exp(0.5) - rng.lognormal(0, 1, decision.size))


def heavier_with_one(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
    """Impacts of decision 1 have much heavier tails: Student's t with 2.5 degrees of freedom."""
    heavy = rng.standard_t(2.5, decision.size) / sqrt(5)
    return np.where(decision == 1, 1.2 * heavy, rng.normal(0, 0.3, decision.size))


def mostly_zero(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
    """A windfall for one person in 50; nothing for the others."""
    return 5 * ((rng.random(decision.size) < 0.02) - 0.02)


def debts(rng: np.random.Generator, people: People, decision: np.ndarray) -> np.ndarray:
    """A debt for one person in 30, twice as often with decision 1, which its mean allows for."""
    risk = np.where(decision == 1, 0.05, 0.025)
    return -6 * ((rng.random(decision.size) < risk) - risk) + rng.normal(0, 0.1, decision.size)


WORLDS = [
    World("reversal .05", _reversal(0.05), origin="issue"),
    World("reversal .02", _reversal(0.02), origin="issue"),
    World("epsilon-greedy", _plain(0.05), origin="issue"),
    World("catastrophe", _catastrophe, _losses, origin="issue"),
    World("three decisions", _three, origin="issue"),
    World("ten groups", _many_groups, origin="issue"),
    World("lognormal losses", _opposed, skewed, origin="issue"),
    World("opposed groups", _opposed),
    World("minority", _minority),
    World("uneven propensities", _uneven),
    World("heavy tails", _opposed, heavier_with_one),
    World("windfalls", _opposed, mostly_zero),
    World("debts", _minority, debts),
    World("epsilon-greedy debts", _plain(0.1), debts),
]


def trial(world: World, n: int, better: bool, parameters: dict[str, Any], seed: int) -> tuple:
    """Whether a model is released, and whether it harms."""
    people, logged = world.sample(n, seed, better)
    clf = ELFClassifier(world.constraints(), delta=DELTA, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(people.features, people.label, **logged)
    if not clf.solution_found_:
        return False, False
    # Where nothing can be gained, a model that changes anything is a false one.
    return True, world.harm(clf, better) >= (0 if better else -1e-9)


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
        released, harmful = np.mean(outcomes, axis=0)
        kind = "twin" if better else "edge"
        print(
            f"{world.name:22} {kind} {n:6,}  released {released:.3f}  harm {harmful:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
