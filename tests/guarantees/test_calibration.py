"""At the edge (g exactly 0) a bound passes at most delta of the time.

The population and its exact truth live in benchmarks/calibration.py, which also writes the tables
of docs/calibration.md. ELFAIR_GUARANTEES=full runs 20,000 draws a cell.
"""

from __future__ import annotations

import os
from math import sqrt

import numpy as np
import pytest

import calibration  # the script in benchmarks/; see conftest.py
from elfair.bounds import FINITE_SAMPLE, Sample, get_bound

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
CASES = [
    (statistic, kind, n) for statistic, kind, n, shift in calibration.cells() if shift == "end"
]


def draws(n: int) -> int:
    return 20_000 if FULL else min(3_000, 400_000 // n)


@pytest.mark.parametrize(("statistic", "kind", "n"), CASES)
def test_at_the_edge_a_bound_passes_at_most_delta_of_the_time(
    statistic: str, kind: str, n: int
) -> None:
    size = draws(n)
    counts = calibration.passes(statistic, kind, n, size, "end", FINITE_SAMPLE)
    counts |= calibration.passes(statistic, kind, n, size, "mean", ("guarded",))
    for delta in calibration.DELTAS:
        limit = delta + 4 * sqrt(delta * (1 - delta) / size)
        for name in (*FINITE_SAMPLE, "guarded"):
            assert counts[f"{name} {delta}"] / size <= limit, (name, delta)


@pytest.mark.parametrize(("statistic", "kind"), calibration.HARD_FOR_T)
def test_the_plain_t_bound_passes_too_often_where_the_documentation_says_so(
    statistic: str, kind: str
) -> None:
    size = draws(200)
    counts = calibration.passes(statistic, kind, 200, size, "mean", ("ttest",))
    assert counts["ttest 0.1"] / size > 0.1 + 4 * sqrt(0.09 / size)


@pytest.mark.parametrize("statistic", calibration.STATISTICS)
@pytest.mark.parametrize("kind", calibration.IMPACTS)
def test_the_populations_are_at_the_edge_and_inside_their_ends(statistic: str, kind: str) -> None:
    for shift in calibration.SHIFTS:
        for part, _ in calibration.parts(statistic, calibration.IMPACTS[kind], 10, shift):
            rows, _ = part.rows((400_000,), np.random.default_rng(5))
            assert abs(rows.mean()) <= 4.5 * rows.std() / sqrt(rows.size)
            if shift == "end":
                assert part.low - 1e-9 <= rows.min()
                assert rows.max() <= part.high + 1e-9


def test_a_bound_that_is_too_small_is_caught() -> None:
    # The same check on half the margin of Hoeffding's bound with the right range: it must fail.
    rng = np.random.default_rng(6)
    values = rng.choice([-0.5, 0.5], size=(20_000, 50))
    upper = get_bound("hoeffding").upper([Sample(values, -0.5, 0.5)], 0.1)
    mean = values.mean(axis=-1)
    limit = 0.1 + 4 * sqrt(0.09 / 20_000)
    assert (upper <= 0).mean() <= limit
    assert (mean + (upper - mean) / 2 <= 0).mean() > limit


def test_a_hair_above_the_edge_is_no_better_than_the_edge() -> None:
    for name in FINITE_SAMPLE:
        values = np.random.default_rng(7).choice([-0.5, 0.5], size=(4_000, 200)) + 1e-6
        upper = get_bound(name).upper([Sample(values, -0.5, 0.5 + 1e-6, 0.5)], 0.1)
        assert (upper <= 0).mean() <= 0.1 + 4 * sqrt(0.09 / 4_000)


@pytest.mark.parametrize("shared", [0, 60, 120])
def test_t_bounds_on_sums_are_exact_for_normal_rows(shared: int) -> None:
    # Two groups of 120 rows with `shared` rows in common, on which the two statistics are strongly
    # correlated: an independent-samples variance would be wrong by a factor of up to 2.
    rng = np.random.default_rng(8)
    size, repeats = 120, 20_000 if FULL else 6_000
    common = rng.standard_normal((repeats, 2 * size - shared))
    noise = rng.standard_normal((repeats, size))
    first, second = np.arange(size), np.arange(size - shared, 2 * size - shared)
    samples = [
        Sample(common[:, first], rows=first),
        Sample(common[:, second] + 0.3 * noise, rows=second),
    ]
    rate = (get_bound("ttest").upper(samples, 0.1, disjoint=shared == 0) <= 0).mean()
    # Both ways: neither too many nor (a margin that is too wide) too few.
    assert abs(rate - 0.1) <= 4 * sqrt(0.09 / repeats) + 0.002


@pytest.mark.parametrize("scale", [None, 0.3, 5.0])
def test_one_look_at_the_wealth_decides_as_the_betting_bound_does(scale: float | None) -> None:
    z = 1 - np.random.default_rng(1).exponential(1.3, size=(400, 40))
    for shift in (-0.3, 0.0, 0.4):
        sample = Sample(z - shift, high=1.0 - shift, scale=scale)
        decided = calibration.betting_passes([sample], 0.1)
        assert 0 < decided.sum() < decided.size
        np.testing.assert_array_equal(decided, get_bound("betting").upper([sample], 0.1) <= 0)
    assert calibration.betting_passes([Sample(z - 1, high=0.0, scale=scale)], 0.1).all()
