"""Worlds of our own invention, each with one thing that a table of averages does not show."""

from __future__ import annotations

from math import sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from worlds_base import Dosed, Fitted, World
from worlds_issue import ByVersion, mostly_one, one_way, rare_losses, small_group
from worlds_people import (
    About,
    Floats,
    Integers,
    NoWorse,
    Population,
    Version,
    two,
    uniform,
)

Rng = np.random.Generator
Truth = tuple[Floats, Floats, Floats]


def opposed(effect: ByVersion) -> About:
    """Decision 1 helps group 1, and does something else to group 0; nothing tells them apart."""

    def about(x: Floats, group: Integers, version: Version) -> Truth:
        gain = np.where(group == 0, effect[version], 0.6)
        level = np.where(group == 0, -1.0, 0.0)
        mean = np.column_stack([level, level + gain])
        return two(expit(0.7 * x[:, 0] - 0.5)), mean, two(expit(2 + x[:, 1]))

    return about


def heavier_with_one(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Impacts of decision 1 have heavy tails: Student's t with 2.5 degrees of freedom."""
    heavy = rng.standard_t(2.5, decision.size) / sqrt(5)
    noise: Floats = np.where(decision == 1, 1.5 * heavy, rng.uniform(-0.3, 0.3, decision.size))
    return noise


def lottery(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Decision 0 is a lottery that pays 5 to one person in 50; decision 1 pays for certain."""
    won: Floats = 5 * ((rng.random(decision.size) < 0.02) - 0.02)
    return np.where(decision == 0, won, 0.0)


def claims(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Decision 1 leaves people without insurance: claims are rare and exponential around 8, more
    often of those with a large first number. Its mean allows for them (there are none in the twin).
    """
    risk = 0.03 * 2 * expit(x[:, 0]) * (decision == 1) * (version != "twin")
    claim = rng.exponential(8.0, decision.size) * (rng.random(decision.size) < risk)
    noise: Floats = 8 * risk - claim + rng.uniform(-0.2, 0.2, decision.size)
    return noise


def pareto(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Losses under decision 1 have a Pareto tail: a variance, but no third moment."""
    loss: Floats = np.where(decision == 1, rng.pareto(2.5, decision.size) - 1 / 1.5, 0.0)
    return rng.uniform(-0.2, 0.2, decision.size) - loss


def clusters(x: Floats, group: Integers, version: Version) -> Truth:
    """One person in 10 got decision 1 in one case of 100 (of 10 in the twin), and is asked to; the
    others by chance.
    """
    cluster = x[:, 1] > 1.2816
    effect = {"edge": 0.0, "beyond": -0.1, "twin": 1.2}[version]
    rare = {"edge": 0.01, "beyond": 0.01, "twin": 0.1}[version]
    level = np.where(cluster, -2.0, 0.3)
    mean = np.column_stack([level, level + cluster * effect])
    labels = two(np.where(cluster, 0.95, 0.5))
    return two(np.where(cluster, rare, 0.5)), mean, labels


def steep_level(x: Floats, group: Integers, version: Version) -> Truth:
    """Impacts differ far more between people than decisions could explain; those who fare worst are
    asked to get the decision which is hardly ever taken.
    """
    low = x[:, 0] < -1
    effect = {"edge": 0.0, "beyond": -0.1, "twin": 3.0}[version]
    mean = np.column_stack([3 * x[:, 0], 3 * x[:, 0] + low * effect])
    return two(np.full(len(x), 0.03)), mean, two(np.where(low, 0.95, 0.03))


def rare_twice(x: Floats, group: Integers, version: Version) -> Truth:
    """A decision that is logged 3 % of the time; a group of 6 % has nothing to gain from it. (In
    the twin it has, and the decision is logged 30 % of the time.)
    """
    effect = np.where(group == 1, {"edge": 0.0, "beyond": -0.1, "twin": 1.0}[version], 1.5)
    level = np.where(group == 1, -1.0, 0.0)
    mean = np.column_stack([level, level, level + effect])
    old = [0.4, 0.3, 0.3] if version == "twin" else [0.57, 0.4, 0.03]
    behavior = np.tile(old, (len(x), 1))
    return behavior, mean, np.tile([0.05, 0.05, 0.9], (len(x), 1))


def uneven(x: Floats, group: Integers, version: Version) -> Truth:
    """Propensities from 1 % to 99 %; who has the extreme ones fares worst; labels reverse them."""
    one = np.clip(expit(3 * x[:, 0]), 0.01, 0.99)
    gain = {"edge": 0.0, "beyond": 0.0, "twin": 1.2}[version] * np.sign(x[:, 1])
    harm = 0.05 * (version == "beyond") * np.sign(x[:, 0])
    level = -(x[:, 0] ** 2)
    labels = two(expit(3 * x[:, 1] - 2 * x[:, 0]))
    return two(one), np.column_stack([level, level + gain + harm]), labels


def coins(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """Impacts are -1, 0 or 1: decision 1 makes both ends more likely (not in the twin)."""
    often = np.where((decision == 1) & (version != "twin"), 0.06, 0.01)
    ends: Floats = (rng.random(decision.size) < often) * rng.choice([-1.0, 1.0], decision.size)
    return ends


def insolvency(rng: Rng, x: Floats, decision: Integers, version: Version) -> Floats:
    """One person in 100 loses 1, whatever is decided; nothing else ever happens."""
    lost: Floats = (rng.random(decision.size) < 0.01) - 0.01
    return -lost


def one_in_twenty(effect: ByVersion) -> About:
    """Decision 1 was taken in one case of 20, and is asked for."""

    def about(x: Floats, group: Integers, version: Version) -> Truth:
        mean = np.column_stack([np.zeros(len(x)), np.full(len(x), effect[version])])
        return two(np.full(len(x), 0.05)), mean, two(np.full(len(x), 0.9))

    return about


def hardly_ever(x: Floats, group: Integers, version: Version) -> Truth:
    """Some people got decision 1 in one case of 1,000, and are asked to; others by chance."""
    some = x[:, 0] > 1
    effect = np.where(some, {"edge": -0.2, "beyond": -0.5, "twin": 0.0}[version], 0.0)
    effect = np.where(~some & (version == "twin"), 0.15, effect)
    level = np.where(some, -1.0, 0.2)
    labels = two(np.where(some, 0.9, 0.6))
    return two(np.where(some, 0.001, 0.4)), np.column_stack([level, level + effect]), labels


BOTH = (NoWorse(0), NoWorse(1))


def fitted(
    name: str,
    summary: str,
    population: Population,
    origin: Literal["own", "fresh"] = "own",
    **more: Any,
) -> Fitted:
    """A world in which labels ask for decision 1, nearly always."""
    return Fitted(
        name=name,
        origin=origin,
        summary=summary,
        population=population,
        **{"good": mostly_one, **more},
    )


WORLDS: list[World] = [
    fitted(
        "opposed groups",
        "what helps one group does nothing for the other, and no feature tells them apart",
        Population(opposed({"edge": 0.0, "beyond": -0.1, "twin": 0.25}), shares=(0.5, 0.5)),
        promises=BOTH,
        ends=(-1.6, 1.1),
    ),
    fitted(
        "minority",
        "the same, for a tenth of the people",
        Population(opposed({"edge": 0.0, "beyond": -0.1, "twin": 0.4}), shares=(0.1, 0.9)),
        promises=BOTH,
        least=1_000,
        ends=(-1.6, 1.1),
    ),
    fitted(
        "heavy tails",
        "impacts of decision 1 have no third moment, on either side",
        Population(one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.35}), heavier_with_one),
    ),
    fitted(
        "Pareto losses",
        "losses under decision 1 have no third moment",
        Population(one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.4}), pareto),
    ),
    fitted(
        "lottery",
        "what few people win under decision 0 is what everybody gets under decision 1",
        Population(one_way({"edge": 0.0, "beyond": -0.02, "twin": 0.25}), lottery),
        ends=(-0.12, 5.3),
    ),
    fitted(
        "no insurance",
        "rare claims of any size under decision 1, more often of some people",
        Population(one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.06}), claims),
    ),
    fitted(
        "clusters",
        "one person in 10, who fares badly, was hardly ever decided about as labels ask",
        Population(clusters),
        good=lambda x: two(np.full(len(x), 0.5)),
        least=1_000,
        ends=(-2.6, 1.0),
        floor=0.01,
    ),
    fitted(
        "steep level",
        "those who fare worst by far are asked to get a decision of 3 %",
        Population(steep_level, uniform(0.5)),
        good=lambda x: two(np.where(x[:, 0] < -1, 0.6, 0.03)),
        least=4_000,
    ),
    fitted(
        "rare group, rare decision",
        "a decision of 3 % does nothing for a group of 6 %, and helps the others",
        Population(rare_twice, shares=(0.94, 0.06), told=True),
        promises=BOTH,
        good=lambda x: np.tile([0.1, 0.1, 0.8], (len(x), 1)),
        least=1_000,
        ends=(-1.5, 2.0),
        floor=0.03,
    ),
    fitted(
        "uneven propensities",
        "extreme propensities belong to those who fare worst",
        Population(uneven),
        good=lambda x: two(np.where(x[:, 1] > 0, 0.9, 0.1) * 0.7 + 0.3 * expit(3 * x[:, 0])),
        floor=0.01,
    ),
    fitted(
        "three values",
        "impacts are -1, 0 or 1, and seldom not 0",
        Population(one_way({"edge": 0.0, "beyond": -0.01, "twin": 0.03}), coins),
        ends=(-1.02, 1.11),
    ),
    fitted(
        "insolvency",
        "one person in 100 is ruined whatever is decided; decision 1 is rare",
        Population(one_in_twenty({"edge": 0.0, "beyond": -0.002, "twin": 0.05}), insolvency),
        least=1_000,  # six of 300 rows tell what decision 1 does, and ruin is likely not among them
        ends=(-1.0, 0.1),
        floor=0.05,
    ),
    fitted(
        "hardly ever",
        "labels ask for what some people got in one case of 1,000",
        Population(hardly_ever),
        good=lambda x: two(np.where(x[:, 0] > 1, 0.001, 0.8)),
        ends=(-2.0, 1.2),
        floor=0.001,
    ),
    small_group(
        "few rows, ruin",
        "few rows, and one table in five shows no loss of 20",
        rare_losses(20, 0.02),
        -1.5,
        "own",
        # One person in five got decision 1, in a table of 400.
        blind=lambda n: (1 - 0.02 * 0.194) ** 400,
    ),
    Dosed(
        name="doses, lognormal losses",
        origin="own",
        summary="doses do nothing, and losses are lognormal",
        impact=lambda x, dose, version: {"edge": 0.0, "beyond": -0.05, "twin": 0.4}[version] * dose,
        wanted=lambda x: 0.8 + 0.3 * x[:, 1],
        good=lambda x: 0.7 + 0 * x[:, 0],
        skewed=True,
    ),
]
