"""Where the constant goes: whichever place promises the tighter bounds, by untested rows alone."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData, certify
from elfair.bounds import get_bound
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan
from elfair.statistics.settling import centred


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x, decision = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    impact = np.clip(0.6 + 0.1 * decision + 0.1 * rng.normal(size=n), 0, 1)
    return LoggedData(x, decision=decision, propensity=np.full(n, 0.5), impact=impact)


def plan_with(data, floor, bound="betting", **estimation):
    known = Estimation(
        ranges={"impact": (0, 1)}, largest_weight=1 / floor, finite_sample=True, **estimation
    )
    claims = read_constraints("E[impact] >= 0.5", 0.1)
    return Plan.make(claims, get_bound(bound), Baselines(known, data), data)


def width(center, n, floor, seed, bound="betting"):
    (result,) = certify(
        np.full(n, 0.8),
        draw(n, seed),
        "E[impact] >= 0.5",
        bound=bound,
        impact_range=(0, 1),
        propensity_floor=floor,
        center=center,
    ).constraints
    return result.upper - result.estimate


@pytest.mark.parametrize(("n", "floor", "better"), [(600, 0.5, "mean"), (300, 0.002, "range")])
def test_the_tighter_place_is_chosen(n, floor, better):
    data = draw(n, 0)
    chosen = centred(plan_with(data, floor), data, np.full((1, n), 0.8), n)
    assert chosen.baselines.estimation.center == better
    other = "range" if better == "mean" else "mean"
    found = {
        center: np.mean([width(center, n, floor, seed) for seed in range(20)])
        for center in ("auto", better, other)
    }
    assert found["auto"] <= 1.15 * found[better]
    assert found["auto"] < 0.8 * found[other]


def test_how_many_rows_will_be_tested_decides():
    """Long rows cost a bound less, the more rows there are: the same rows, another choice."""
    data = draw(300, 2)
    chosen = [
        centred(plan_with(data, 0.1), data, np.full((1, 300), 0.8), n_test)
        for n_test in (100, 3_000)
    ]
    assert [plan.baselines.estimation.center for plan in chosen] == ["range", "mean"]


def test_where_there_is_nothing_to_choose_the_plan_stays_as_it_is():
    data = draw(100, 1)
    free = np.full((1, 100), 0.8)
    for plan in (plan_with(data, 0.5, center="range"), plan_with(data, 0.5, center="mean")):
        assert plan.is_settled
        assert centred(plan, data, free, 100) is plan
    assert not plan_with(data, 0.5).is_settled


def test_at_the_edge_a_chosen_constant_keeps_the_level():
    # The truth: 0.6 + 0.1 * 0.8 up to clipping, which is far out (4 standard deviations).
    def passes(seed):
        return certify(
            np.full(400, 0.8),
            draw(400, seed),
            "E[impact] >= 0.68",
            delta=0.1,
            bound="betting",
            impact_range=(0, 1),
            propensity_floor=0.5,
        ).passed

    rate = np.mean([passes(1_000 + seed) for seed in range(400)])
    assert 0.005 < rate <= 0.1 + 4 * np.sqrt(0.09 / 400)
