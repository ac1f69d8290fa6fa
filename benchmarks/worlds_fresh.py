"""Worlds that had no part in any choice: they were written after the last one was made.

Whoever changes a bound, a guard or the search with these results in view moves the worlds concerned
to worlds_own.py, and invents others.
"""

from __future__ import annotations

from functools import partial
from math import sqrt

import numpy as np
from scipy.special import expit

from worlds_base import Dosed, World
from worlds_issue import one_way, rare_losses
from worlds_own import fitted
from worlds_people import Floats, Integers, NoWorse, Population, Version, two, uniform

Rng = np.random.Generator
Truth = tuple[Floats, Floats, Floats]


def gamma(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Losses under decision 1 are gamma(1/2): most are next to nothing, some are large."""
    loss = np.where(decision == 1, rng.gamma(0.5, 2.0, decision.size) - 1.0, 0.0)
    noise: Floats = rng.uniform(-0.2, 0.2, decision.size) - loss
    return noise


def student(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Student's t with 3 degrees of freedom, with a variance of 1."""
    noise: Floats = rng.standard_t(3, decision.size) / sqrt(3)
    return noise


def two_peaks(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """All or nothing: 1 or -1, whatever is decided."""
    noise: Floats = rng.choice([-1.0, 1.0], decision.size)
    return noise


def unequal(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Some people's impacts vary ten times as much as others'."""
    noise: Floats = np.exp(1.2 * np.clip(x[:, 1], -2, 2)) * rng.normal(size=decision.size)
    return noise


def by_decision(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """The rarer a decision, the longer the tail of its losses."""
    scale = np.array([0.2, 0.5, 1.0, 1.5])[decision]
    noise: Floats = scale * (1 - rng.exponential(1.0, decision.size))
    return noise


def rare_one(x: Floats, group: Integers, version: Version) -> Truth:
    """Decision 1 was taken in one case of 12; labels ask for it."""
    effect = {"edge": 0.0, "beyond": -0.1, "twin": 0.7}[version]
    mean = np.column_stack([np.zeros(len(x)), np.full(len(x), effect)])
    return two(np.full(len(x), 1 / 12)), mean, two(np.full(len(x), 0.85))


def four(x: Floats, group: Integers, version: Version) -> Truth:
    """Four decisions, each rarer than the one before; half of the people are asked to get the
    rarest, and fare worse than the others whatever is decided.
    """
    half = x[:, 0] > 0
    gain = {"edge": 0.0, "beyond": -0.1, "twin": 1.5}[version]
    level = np.where(half, -1.0, 0.5)
    mean = np.column_stack([level, level, level, level + half * gain])
    labels = np.where(half[:, None], [0.05, 0.05, 0.1, 0.8], [0.7, 0.2, 0.07, 0.03])
    old = [0.7, 0.2, 0.07, 0.03] if version != "twin" else [0.4, 0.2, 0.2, 0.2]
    return np.tile(old, (len(x), 1)), mean, labels


def steep(x: Floats, group: Integers, version: Version) -> Truth:
    """Propensities from 3 % to 97 %; those whose impacts vary most are decided about afresh."""
    one = np.clip(expit(2 * x[:, 0] + x[:, 1]), 0.03, 0.97)
    gain = {"edge": 0.0, "beyond": -0.1, "twin": 2.0}[version] * np.sign(x[:, 1])
    level = 0.5 * x[:, 0]
    mean = np.column_stack([level, level + gain])
    return two(one), mean, two(expit(4 * x[:, 1]))


def third_of_three(x: Floats, group: Integers, version: Version) -> Truth:
    """Decision 1 helps two groups, and does something else to the third, one person in 7."""
    other = {"edge": 0.0, "beyond": -0.1, "twin": 0.5}[version]
    gain = np.where(group == 2, other, 0.5)
    level = np.array([0.3, 0.0, -0.6])[group] + 0.4 * x[:, 0]
    mean = np.column_stack([level, level + gain])
    return two(expit(0.8 * x[:, 1])), mean, two(expit(1.5 + x[:, 0]))


fresh = partial(fitted, origin="fresh")

WORLDS: list[World] = [
    fresh(
        "fraud",
        "one case in 50 of decision 1 is a fraud of 12, which its mean allows for",
        Population(one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.2}), rare_losses(12, 0.02)),
        ends=(-12.7, 1.0),
    ),
    fresh(
        "gamma, rare decision",
        "losses of a decision of 8 % are gamma(1/2)",
        Population(rare_one, gamma),
        floor=1 / 12,
    ),
    fresh(
        "Student, two groups",
        "impacts of both groups have no third moment",
        Population(one_way({"edge": 0.0, "beyond": -0.1, "twin": 0.4}), student, (0.6, 0.4)),
        promises=(NoWorse(0), NoWorse(1)),
    ),
    fresh(
        "two peaks",
        "all or nothing, and a tenth of the people count alone",
        Population(
            one_way({"edge": 0.0, "beyond": -0.1, "twin": 0.8}), two_peaks, shares=(0.9, 0.1)
        ),
        promises=(NoWorse(1),),
        ends=(-1.1, 1.8),
    ),
    fresh(
        "four decisions",
        "half of the people are asked to get what was decided in 3 % of cases",
        Population(four, by_decision, told=True),
        good=lambda x: np.where(x[:, :1] > 0, [0.1, 0.1, 0.1, 0.7], [0.4, 0.2, 0.2, 0.2]),
        floor=0.03,
    ),
    fresh(
        "unequal spreads",
        "those whose impacts vary most are decided about afresh, against steep propensities",
        Population(steep, unequal),
        good=lambda x: two(np.where(x[:, 1] > 0, 0.9, 0.1)),
        floor=0.03,
    ),
    fresh(
        "third group",
        "what helps two groups does nothing for the third, one person in 7",
        Population(third_of_three, uniform(2.0), shares=(0.5, 0.36, 0.14)),
        promises=tuple(map(NoWorse, range(3))),
        ends=(-4.5, 4.5),
    ),
    Dosed(
        name="doses, two spreads",
        origin="fresh",
        summary="one person in 7 is asked to get two spreads more, and loses by it at the edge",
        impact=lambda x, dose, version: (
            {"edge": -0.1, "beyond": -0.3, "twin": 0.8}[version] * dose * x[:, 2] - x[:, 2]
        ),
        wanted=lambda x: 2 * x[:, 2] + 0.1 * x[:, 1],
        good=lambda x: x[:, 2],
        odd=1 / 7,
        skewed=True,
    ),
]
