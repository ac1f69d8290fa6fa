"""At the edge of the truth, no statement beyond the mean passes more than delta of the time.

The population lives in benchmarks/beyond_the_mean.py. ELFAIR_GUARANTEES=full runs 2,000 draws a
cell, for every bound and size.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import beyond_the_mean as population  # the script in benchmarks/; see conftest.py
from counting import FULL, check_rare
from elfair import LoggedData, certify
from elfair.language.build import BEYOND_THE_MEAN
from elfair.statistics.decisions import decisions_of

SIZES = population.SIZES if FULL else population.SIZES[:1]
BOUNDS = population.BOUNDS if FULL else ("ttest", "betting")
DELTA = population.DELTA


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("name", population.EDGES)
def test_at_the_edge_a_statement_passes_at_most_delta_of_the_time(
    name: str, bound: str, n: int
) -> None:
    allowed = DELTA + (0.02 if bound == "ttest" else 0.0)
    check_rare(population.passes_at_the_edge, name, bound, n, allowed=allowed, full=2_000)


def test_every_statistic_has_its_edge() -> None:
    for name in {make.__name__ for make in BEYOND_THE_MEAN.values()}:
        assert any(text.startswith(f"{name}[") for text in population.EDGES.values()), name


@pytest.mark.parametrize(
    ("inside", "n"),
    [
        ("quantile[impact, 0.1] >= 0.15", 2_000),
        ("CVaR[impact, 0.1] >= 0.04", 2_000),
        ("CVaR[impact, 0.1] <= 0.5", 2_000),
        ("var[impact] <= 0.08", 2_000),
        ("var[impact] >= 0.02", 2_000),
        ("IQR[impact] <= 0.5", 2_000),
        ("IQR[impact] >= 0.15", 2_000),
        ("median[impact | g == 1] - median[impact | g == 0] >= -0.1", 2_000),
        ("E[impact | g == 0] * E[impact | g == 1] >= 0.3", 2_000),
        ("E[impact | g == 0] >= 0.4 or E[impact | g == 1] >= 0.9", 2_000),
    ],
)
def test_well_inside_it_passes_so_that_the_test_above_means_something(inside: str, n: int) -> None:
    passed = [population.passes(inside, "betting", n, seed) for seed in range(20)]
    assert np.mean(passed) >= 0.9


def test_the_truth_is_the_truth() -> None:
    # By brute force: weighted samples of a million rows against the closed forms.
    data, policy = population.draw(1_000_000, seed=1)
    weights = decisions_of(data).weights(policy[None]).values
    impact = data.impacts["impact"]
    n = impact.size

    def close(rows: np.ndarray, truth: float) -> bool:
        return abs(rows.mean() - truth) <= 4 * rows.std() / sqrt(n)

    group = data.sensitive["g"] == 1
    for share in (0.1, 0.5, 0.75):
        v = population.quantile(share)
        assert close(weights * (impact <= v), share)
        # The worst share's mean, as an average of rows that does not estimate the quantile.
        assert close(weights * (v - np.maximum(v - impact, 0) / share), population.cvar(share))
    assert close(weights * group * (impact <= population.quantile(0.5, 1)) * 2, 0.5)
    assert close(weights * impact**2, population.moment(2))
    assert close(weights * (impact - population.moment(1)) ** 2, population.variance())


def test_one_average_at_one_point_beats_a_band() -> None:
    seen = [population.both((2_000, seed)) for seed in range(5 if FULL else 3)]
    for name, truth in population.TRUTH.items():
        mine, band = (np.mean([pair[k][name] for pair in seen]) for k in (0, 1))
        assert abs(mine - truth()) < abs(band - truth()), name


@pytest.mark.parametrize("bound", ["ttest", "betting"])
def test_an_either_or_of_two_scales_is_not_settled_by_the_larger_one(bound: str) -> None:
    # What rounding may leave over of a median of 400 million is more than all of a score.
    passed = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 400
        income = np.where(rng.random(n) < 0.7, 4e8, 1e8)
        score = np.where(rng.random(n) < 0.7, 0.4, 0.0)
        data = LoggedData(
            np.zeros((n, 1)),
            decision=rng.integers(0, 2, n),
            propensity=np.full(n, 0.5),
            impact={"income": income, "score": score},
        )
        text = "median[income] >= 1e9 or median[score] >= 0.5"  # they are 4e8 and 0.4
        passed.append(certify(np.full(n, 0.5), data, text, bound=bound, delta=DELTA).passed)
    assert np.mean(passed) <= DELTA


@pytest.mark.parametrize("name", population.EDGES)
@pytest.mark.parametrize("estimator", ["paired", "dr"])
def test_estimates_at_the_edge_are_zero_up_to_their_errors(name: str, estimator: str) -> None:
    """On many rows the chosen points are near the best ones, so g is 0 there, or just above.

    Where several statements stand for one constraint (an IQR, a difference of medians, CVaR from
    above), at least one of them is then not below 0.
    """
    n = 200_000 if FULL else 100_000
    data, policy = population.draw(n, seed=7)
    record = certify(policy, data, population.EDGES[name], estimator=estimator)
    off = [
        (result.estimate, result.spread / sqrt(min(group.n for group in result.groups)))
        for result in record.constraints
    ]
    worst, error = max(off)
    assert worst >= -4 * error
    if len(off) == 1:
        assert worst <= 4 * error + 1e-3
