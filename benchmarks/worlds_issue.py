"""Worlds of the kinds on which the t bound was known to break."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import exp
from typing import Literal

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from worlds_base import SIZES, Certified, Dosed, Fitted, World
from worlds_people import (
    About,
    Floats,
    Integers,
    Model,
    Noise,
    NoWorse,
    Population,
    Rate,
    Version,
    WorstTenth,
    two,
    uniform,
)

#: By how much something is worse beyond the edge, and better in the twin, is written like this.
ByVersion = dict[Version, float]
ODD = 1.645  # one person in 20 has a first number above it
SOME = 0.5  # and three in ten above this


def reversal(epsilon: float) -> About:
    """Decisions follow the second number, nearly always. One person in 20 fares badly whatever is
    decided, the worse the further out; labels ask for the decision that such people hardly ever
    got. It harms them. In the twin there are more such people, and it helps.
    """
    effect: ByVersion = {"edge": -0.05, "beyond": -0.2, "twin": 0.6}

    def about(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
        odd, one = x[:, 0] > (SOME if version == "twin" else ODD), x[:, 1] > 0
        out = np.where(version == "twin", 0.0, 1.5 + 6 * (x[:, 0] - ODD) ** 2)
        level = np.where(odd, np.maximum(-out, -12), 0.5)
        change = odd * effect[version]
        mean = np.column_stack([level + change * one, level + change * ~one])
        behavior = two(np.where(one, 1 - epsilon, epsilon))
        return behavior, mean, two((odd ^ one).astype(float))

    return about


def with_signs(x: Floats) -> Floats:
    """What a linear model needs to tell decisions of the old model, and to reverse some."""
    signs = [(x[:, 0] > limit) * np.sign(x[:, 1]) for limit in (ODD, SOME)]
    return np.column_stack([x, x[:, 1] > 0, *signs])


def reversed_odd(epsilon: float) -> Model:
    """A model that reverses most decisions about those who fare badly, and no others."""
    return lambda x: two(np.where(x[:, 0] > SOME, 0.9 - 0.8 * x[:, 3], abs(x[:, 3] - epsilon)))


def reverse_odd(epsilon: float) -> Fitted:
    """The world of `reversal`."""
    return Fitted(
        name=f"reversal {epsilon:g}",
        origin="issue",
        summary="nearly certain decisions are reversed for one person in 20, who fares badly",
        population=Population(reversal(epsilon), width=3, seen=with_signs),
        good=reversed_odd(epsilon),
        least=round(45 / epsilon),
        ends=(-12.7, 1.2),
        floor=epsilon,
    )


def greedy(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """Decisions follow one number, labels another; decisions do nothing but in the twin."""
    one = np.where(x[:, 1] > 0, 0.95, 0.05)
    gain = {"edge": 0.0, "beyond": 0.0, "twin": 0.6}[version] * np.sign(x[:, 0])
    # Beyond the edge, those harmed are the ones whom labels would have decided about otherwise.
    harm = 0.03 * (version == "beyond") * np.where(x[:, 0] > 0, -1.0, 1.0)
    level = 0.8 * np.clip(x[:, 0], -3, 3)
    mean = np.column_stack([level, level + gain + harm])
    return two(one), mean, two(expit(3 * x[:, 0]))


def catastrophe(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """Decision 1 pays, and raises the risk of a loss of 40 from .1 % to .8 % (not in the twin)."""
    pay = {"edge": 0.0, "beyond": -0.1, "twin": 0.1}[version]
    mean = np.column_stack([np.zeros(len(x)), np.full(len(x), pay)])
    return two(expit(0.5 * x[:, 0])), mean, two(expit(1 + x[:, 0]))


def losses(rng: np.random.Generator, x: Floats, decision: Integers, version: Version) -> Floats:
    """The noise of `catastrophe`."""
    risk = np.where(decision == 1, 0.008, 0.001) * (version != "twin")
    rare = 40 * ((rng.random(decision.size) < risk) - risk)
    small: Floats = rng.uniform(-0.5, 0.5, decision.size)
    return small - rare


def third(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """A rare third decision is good for one group and bad for the other, or good for both."""
    bad = {"edge": -0.05, "beyond": -0.2, "twin": 0.8}[version]
    wanted = x[:, 0] > {"edge": 0.5, "beyond": 0.5, "twin": -1.0}[version]
    nothing = np.zeros(len(x))
    rare = wanted * np.where(group == 1, 0.8, bad)
    mean = np.column_stack([nothing, nothing, rare]) - 0.8 * wanted[:, None]
    other = np.where(wanted, 0.05, 0.5)
    labels = np.column_stack([other, other, np.where(wanted, 0.9, 0.0)])
    return np.tile([0.49, 0.49, 0.02], (len(x), 1)), mean, labels


def third_for_many(x: Floats) -> Floats:
    """More of the third decision for those who are asked to get it."""
    some = np.where(x[:, 0] > -1, 0.5, 0.02)
    return np.column_stack([(1 - some) / 2, (1 - some) / 2, some])


def one_of_three(name: str, summary: str, told: bool = False) -> Fitted:
    """The world of `third`."""
    return Fitted(
        name=name,
        origin="issue",
        summary=summary,
        population=Population(third, shares=(0.5, 0.5), told=told),
        promises=(NoWorse(0), NoWorse(1)),
        good=third_for_many,
        least=1_250,
        ends=(-1.5, 0.6),
        floor=0.02,
    )


def twenty(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """Decision 1 is good for all groups but the smallest."""
    smallest = {"edge": 0.0, "beyond": -0.2, "twin": 2.0}[version]
    gain = np.where(group == 0, smallest, 2.0)
    level = np.where(group == 0, -0.5, 0.0) + 0.3 * x[:, 0]
    mean = np.column_stack([level, level + gain])
    return two(np.full(len(x), 0.5)), mean, two(np.full(len(x), 0.95))


def one_way(effect: ByVersion, usual: float = 0.0) -> About:
    """Labels ask for decision 1. It does nothing at the edge; `usual` is its log-odds."""

    def about(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
        mean = np.column_stack([np.zeros(len(x)), np.full(len(x), effect[version])])
        return two(expit(usual + 0.5 * x[:, 0])), mean, two(expit(1 + x[:, 0]))

    return about


def lognormal(rng: np.random.Generator, x: Floats, decision: Integers, version: Version) -> Floats:
    """Losses that are lognormal."""
    loss: Floats = rng.lognormal(0, 1, decision.size)
    return exp(0.5) - loss


#: CVaR[impact, 0.1] of `lognormal`: the mean of the tenth of largest losses is known.
WORST = float(exp(0.5) * (1 - 10 * norm.cdf(1 - norm.ppf(0.9))))


def mostly_one(x: Floats) -> Floats:
    """Decision 1 nearly always."""
    return two(np.full(len(x), 0.9))


@cache
def sharp(share: float) -> Model:
    """A softmax that is nearly a step in the first number, and decides 1 for a share of people."""

    def often(center: float) -> float:
        got, _ = quad(lambda v: expit(12 * (v - center)) * norm.pdf(v), -9, 9, points=[center])
        return float(got) - share

    center = brentq(often, -5, 5, xtol=1e-14)
    return lambda x: two(expit(12 * (x[:, 0] - center)))


def untold(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """Features tell nothing of labels: the rate of a label is that of everybody."""
    half = two(np.full(len(x), 0.5))
    return half, np.zeros((len(x), 2)), half


def rate(
    name: str,
    share: float,
    sign: Literal[1, -1],
    limits: ByVersion,
    sizes: Sequence[int] = SIZES,
    **whom: int,
) -> Certified:
    """A sharp softmax whose rate is exactly at the limit."""
    shares = (0.92, 0.08) if whom else (1.0,)
    return Certified(
        name=name,
        origin="issue",
        summary="a rate of a given sharp softmax, exactly at its limit",
        population=lambda n: Population(untold, shares=shares),
        promise=lambda version: Rate(limits[version], sign, **whom),
        good=lambda n, version: sharp(share),
        sizes=sizes,
        least=1_000 if whom else 200,
        learns=False,
    )


def searched_rate(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
    """Labels follow features, but in the small group they tell little of them, or nothing."""
    steep = {"edge": 1.0, "beyond": 0.0, "twin": 8.0}[version]
    labels = two(expit(np.where(group == 1, steep, 8.0) * x[:, 0]))
    return two(np.full(len(x), 0.5)), np.zeros((len(x), 2)), labels


def few(about: About, noise: Noise) -> Callable[[int], Population]:
    """A group of which about n of 400 rows are tested."""
    return lambda n: Population(about, noise, shares=(1 - n / 320, n / 320))


def rare_losses(size: float, share: float) -> Noise:
    """Decision 1 loses so much in a share of cases, which its mean allows for (not in the twin)."""

    def noise(rng: np.random.Generator, x: Floats, decision: Integers, version: Version) -> Floats:
        risk = share * (decision == 1) * (version != "twin")
        rare = size * ((rng.random(decision.size) < risk) - risk)
        small: Floats = rng.uniform(-0.5, 0.5, decision.size)
        return small - rare

    return noise


def odd_among(n: int, version: Version) -> float:
    """25 of n people have a first number above it: 20 of them are tested; in the twin, 120."""
    return float(norm.ppf(1 - {"edge": 25, "beyond": 25, "twin": 150}[version] / n))


def some_odd(n: int, epsilon: float) -> Population:
    """Some people fare badly whatever is decided, and their decisions are reversed."""
    effect: ByVersion = {"edge": 0.0, "beyond": -0.1, "twin": 1.5}

    def about(x: Floats, group: Integers, version: Version) -> tuple[Floats, Floats, Floats]:
        odd = x[:, 0] > odd_among(n, version)
        level = np.where(odd, -1.5, 0.5)
        mean = np.column_stack([level + odd * effect[version], level])
        return two(np.full(len(x), 1 - epsilon)), mean, two(np.where(odd, 0.0, 1.0))

    return Population(about)


def reverse_some(epsilon: float) -> Certified:
    """The world of `some_odd`."""

    def model(n: int, version: Version) -> Model:
        odd = odd_among(n, version)
        return lambda x: two(np.where(x[:, 0] > odd, 0.01, 1 - epsilon))

    return Certified(
        name=f"20 reversed {epsilon:g}",
        origin="issue",
        summary="a given model reverses nearly certain decisions about 20 people who fare badly",
        population=lambda n: some_odd(n, epsilon),
        promise=lambda version: NoWorse(),
        good=model,
        ends=(-2.1, 1.0),
        floor=epsilon,
    )


def small_group(
    name: str,
    summary: str,
    noise: Noise,
    usual: float,
    origin: Literal["issue", "own"] = "issue",
    blind: Callable[[int], float] = lambda n: 0.0,
) -> Certified:
    """A given model, and a promise about a group of few rows."""
    return Certified(
        name=name,
        origin=origin,
        summary=summary,
        population=few(one_way({"edge": 0.0, "beyond": -0.1, "twin": 0.6}, usual), noise),
        promise=lambda version: NoWorse(1),
        good=lambda n, version: mostly_one,
        table=lambda n: 400,
        sizes=(8, 20, 80),
        least=80,
        blind=blind,
    )


FLAT: ByVersion = {"edge": 0.0, "beyond": 0.0, "twin": 0.0}


def dose_effect(effect: ByVersion, level: float) -> Callable[[Floats, Floats, Version], Floats]:
    """Odd people fare worse, and more of a dose changes that by so much; others do not change."""
    return lambda x, dose, version: x[:, 2] * (level + effect[version] * dose) + 0.5 * x[:, 0]


WORLDS: list[World] = [
    reverse_odd(0.05),
    reverse_odd(0.02),
    Fitted(
        name="epsilon-greedy",
        origin="issue",
        summary="nearly certain decisions that do nothing are reversed for half of the people",
        population=Population(greedy),
        good=lambda x: two(np.where(x[:, 0] > 0, 0.95, 0.05)),
        ends=(-3.6, 3.6),
        floor=0.05,
    ),
    Fitted(
        name="catastrophe",
        origin="issue",
        summary="decision 1 raises the risk of a loss of 40 from .1 % to .8 %, and pays for it",
        population=Population(catastrophe, losses),
        good=mostly_one,
        ends=(-41, 1.5),
        blind=lambda n: (1 - (0.008 + 0.001) / 2) ** n,
    ),
    one_of_three(
        "three decisions", "a decision that is logged 2 % of the time is good for one group only"
    ),
    one_of_three(
        "three decisions, told", "the same, where the log holds the probability of each", told=True
    ),
    Fitted(
        name="twenty groups",
        origin="issue",
        summary="twenty groups, some of 15 rows in 1,000; the smallest has nothing to gain",
        population=Population(twenty, shares=(0.015,) * 4 + (0.05875,) * 16),
        promises=tuple(NoWorse(group) for group in range(20)),
        good=mostly_one,
        sizes=(1_000, 4_000),
        least=4_000,
    ),
    Fitted(
        name="lognormal losses",
        origin="issue",
        summary="losses are lognormal",
        population=Population(one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.6}), lognormal),
        good=mostly_one,
    ),
    Certified(
        name="lognormal, given",
        origin="issue",
        summary="lognormal losses under a given model",
        population=lambda n: Population(
            one_way({"edge": 0.0, "beyond": -0.05, "twin": 0.6}), lognormal
        ),
        promise=lambda version: NoWorse(),
        good=lambda n, version: mostly_one,
        sizes=(500, 1_000, 4_000),
    ),
    Certified(
        name="worst tenth",
        origin="issue",
        summary="the worst tenth of lognormal losses under a given model",
        population=lambda n: Population(one_way(FLAT), lognormal),
        promise=lambda version: WorstTenth(
            WORST + {"edge": 0.0, "beyond": 0.1, "twin": -2.0}[version]
        ),
        good=lambda n, version: mostly_one,
        sizes=(500, 1_000, 4_000),
    ),
    rate("rare rate", 0.02, 1, {"edge": 0.02, "beyond": 0.018, "twin": 0.06}, (10, 50, 200, 1_000)),
    rate("FPR, given", 0.05, 1, {"edge": 0.05, "beyond": 0.045, "twin": 0.15}, label=0, group=1),
    rate("TPR, given", 0.9, -1, {"edge": 0.9, "beyond": 0.92, "twin": 0.75}, label=1, group=1),
    Fitted(
        name="FPR, searched",
        origin="issue",
        summary="accuracy asks for more false positives than a group of 8 % may have",
        population=Population(searched_rate, shares=(0.92, 0.08)),
        promises=(Rate(0.05, 1, label=0, group=1),),
        good=sharp(0.4),
        least=3_000,
    ),
    reverse_some(0.05),
    reverse_some(0.02),
    small_group("few rows", "a group of few rows", uniform(), -1.5),
    small_group("few rows, losses", "few rows, and losses of 8", rare_losses(8, 0.08), 0.0),
    Dosed(
        name="doses, nothing",
        origin="issue",
        summary="doses do nothing",
        impact=lambda x, dose, version: (
            0.5 * np.clip(x[:, 0], -3, 3)
            + {"edge": 0.0, "beyond": -0.05, "twin": 0.15}[version] * dose
        ),
        wanted=lambda x: 0.7 + 0.5 * x[:, 1],
        good=lambda x: 0.7 + 0 * x[:, 0],
        ends=(-2.3, 2.3),  # at the edge
    ),
    Dosed(
        name="doses, moved",
        origin="issue",
        summary="one person in 20, who fares badly, is moved three spreads away",
        impact=dose_effect({"edge": -0.05, "beyond": -0.2, "twin": 1.5}, -2.0),
        wanted=lambda x: 3 * x[:, 2],
        good=lambda x: x[:, 2],
        least=1_000,  # six of 300 rows are about these people
    ),
]
