"""Each bound against its formula, worked out on its own; and what is special to one of them."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtr

from elfair.bounds import FINITE_SAMPLE, Sample, get_bound
from elfair.bounds.betting import _bets
from elfair.bounds.finite_sample import block_sizes, join
from elfair.errors import InputError

Z = np.array([0.3, -0.9, 0.1, -0.4, 0.2, -0.6, -0.2])


def test_student_is_the_t_interval() -> None:
    bound = float(get_bound("ttest").upper([Sample(Z)], 0.1))
    # The bound is where the t statistic has probability 0.9: n - 1 in both places.
    statistic = (bound - Z.mean()) / sqrt(sum((Z - Z.mean()) ** 2) / 6 / 7)
    assert stdtr(6, statistic) == pytest.approx(0.9, abs=1e-10)


def test_hoeffding_is_its_formula_also_for_sums() -> None:
    a, b = Sample(Z, low=-1, high=0.5), Sample(Z[:4] / 2, low=-0.5, high=1)
    bound = get_bound("hoeffding")
    assert bound.upper([a], 0.05) == pytest.approx(Z.mean() + 1.5 * sqrt(log(20) / 14))
    both = Z.mean() + Z[:4].mean() / 2 + sqrt(log(20) / 2 * (2.25 / 7 + 2.25 / 4))
    assert bound.upper([a, b], 0.05) == pytest.approx(both)


def test_bernstein_is_its_formula() -> None:
    expected = Z.mean() + sqrt(2 * Z.var(ddof=1) * log(40) / 7) + 7 * 1.5 * log(40) / 18
    bound = get_bound("bernstein").upper([Sample(Z, low=-1, high=0.5)], 0.05)
    assert bound == pytest.approx(expected)


def test_anderson_is_an_integral_over_the_band() -> None:
    y = np.sort(0.5 - Z)
    eps = sqrt(log(2) / 14)
    grid = (np.arange(200_000) + 0.5) * (y[-1] / 200_000)
    heights = np.maximum(0, 1 - np.searchsorted(y, grid, side="right") / 7 - eps)
    bound = get_bound("anderson").upper([Sample(Z, high=0.5)], 0.5)
    assert bound == pytest.approx(0.5 - heights.sum() * y[-1] / 200_000, abs=1e-4)


def aimed(y: np.ndarray, m: float, delta: float, scale: float) -> list[float]:
    """The bets, row after row, as the statistics are written down (at most 100 rows)."""
    capital, squares, bets = 1.0, scale**2, []
    for t, row in enumerate(y):
        missing, left = log(1 / delta) - log(capital), len(y) - t
        if missing <= 0:
            missing, left = log(1 / delta), len(y)
        bets.append(sqrt(2 * missing / (left * squares / (t + 1))))
        capital *= 1 + min(bets[-1], 0.95 / m) * (row - m)
        squares += (row - m) ** 2
    return bets


def wealth(y: np.ndarray, bets: list[float], m: float) -> float:
    """The largest wealth on the way."""
    return float(np.cumprod(1 + np.minimum(bets, 0.95 / m) * (y - m)).max())


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.4])
def test_betting_ends_where_the_wealth_stops_reaching_one_over_delta(shift: float) -> None:
    z = 1 - np.random.default_rng(0).exponential(size=80) - shift
    high = 1.0 - shift
    lower = high - float(get_bound("betting").upper([Sample(z, high=high, scale=0.9)], 0.1))
    assert 0 < lower < (high - z).mean()
    bets = aimed(high - z, high, 0.1, 0.9)  # they aim at a mean of 0
    assert wealth(high - z, bets, lower * (1 - 1e-6)) >= 10
    assert wealth(high - z, bets, lower * (1 + 1e-6)) < 10


def test_betting_aims_where_the_mean_is_expected() -> None:
    betting, z = get_bound("betting"), np.random.default_rng(5).normal(size=(2000, 200)) - 2
    at = [
        float(np.median(betting.upper([Sample(z, high=6.0, scale=1.0, expected=each)], 0.1)))
        for each in (-2.0, None, 1.0)
    ]
    assert at[0] < min(at[1:]) - 0.02


def test_betting_bears_zeros_spikes_and_many_rows() -> None:
    betting = get_bound("betting")
    assert betting.upper([Sample(np.full(50, 1.0), high=1.0)], 0.1) == 1.0  # Y = 0: nothing won
    spike = np.zeros(50)
    spike[7] = -1e12
    assert np.isfinite(betting.upper([Sample(spike, high=0.0, scale=1.0)], 0.1))
    many = np.random.default_rng(2).random(1_000_000)
    bound = betting.upper([Sample(many - 0.6, low=-0.6, high=0.4)], 0.05)
    assert many.mean() - 0.6 < bound < many.mean() - 0.6 + 0.001


def test_a_bet_knows_the_rows_before_it_and_no_other() -> None:
    y = np.random.default_rng(3).exponential(size=30)
    before = _bets(y, 1.2, 0.1)
    y[12] += 5
    after = _bets(y, 1.2, 0.1)
    np.testing.assert_array_equal(before[:13], after[:13])
    assert (before[13:] != after[13:]).all()


def test_flat_rows_say_nothing_under_t_unless_they_are_zero() -> None:
    t = get_bound("ttest")
    for constant in (-0.1, 0.1, 1e-9):
        assert t.upper([Sample(np.full(10, constant))], 0.1) == inf
        assert t.predict([Sample(np.full(10, constant))], 0.1, [10])[0] == inf
    assert t.upper([Sample(np.zeros(10))], 0.1) == 0
    value, (gradient,), *_ = t.predict([Sample(np.zeros(10))], 0.1, [10])
    assert value == 0
    np.testing.assert_allclose(gradient, 0.1)
    # One mute sample makes the sum mute; one that is 0 by construction does not.
    assert t.upper([Sample(Z), Sample(np.full(5, 0.2))], 0.1) == inf
    assert t.upper([Sample(Z), Sample(np.zeros(5))], 0.1) == pytest.approx(
        float(t.upper([Sample(Z)], 0.1))
    )


def test_welch_has_satterthwaites_degrees_of_freedom() -> None:
    a, b = Sample(Z), Sample(3 * Z[:4])
    terms = Z.var(ddof=1) / 7, 9 * Z[:4].var(ddof=1) / 4
    freedom = sum(terms) ** 2 / (terms[0] ** 2 / 6 + terms[1] ** 2 / 3)
    bound = float(get_bound("ttest").upper([a, b], 0.1))
    statistic = (bound - Z.mean() - 3 * Z[:4].mean()) / sqrt(sum(terms))
    assert stdtr(freedom, statistic) == pytest.approx(0.9, abs=1e-10)


def test_the_delta_method_agrees_with_what_it_generalises() -> None:
    t, at = get_bound("ttest"), np.arange(14)
    one, other = (np.append(half, -half) for half in (Z, Z[::-1] ** 2))  # without skewness
    # On the same rows: the mean of the row-wise sums.
    same = t.upper([Sample(one, rows=at), Sample(other, rows=at)], 0.1, disjoint=False)
    assert same == pytest.approx(float(t.upper([Sample(one + other)], 0.1)))
    # The order in which a sample lists its rows does not matter.
    turned = [Sample(one, rows=at), Sample(other[::-1], rows=at[::-1])]
    assert t.upper(turned, 0.1, disjoint=False) == pytest.approx(float(same))
    # On disjoint rows: Welch's variance, with the degrees of freedom of the smaller sample.
    apart = t.upper([Sample(one, rows=at), Sample(other, rows=at + 14)], 0.1, disjoint=False)
    assert apart >= t.upper([Sample(one), Sample(other)], 0.1)
    # Rows that cancel are as mute as rows that do not vary.
    opposite = [Sample(one, rows=at), Sample(-one, rows=at)]
    assert t.upper(opposite, 0.1, disjoint=False) == inf
    assert t.predict(opposite, 0.1, [9, 9], disjoint=False)[0] == inf


def test_overlapping_samples_must_say_which_rows_they_hold() -> None:
    t = get_bound("ttest")
    with pytest.raises(InputError, match=r"(?s)overlap.*rows=positions"):
        t.upper([Sample(Z), Sample(Z)], 0.1, disjoint=False)
    twice = Sample(Z, rows=np.zeros(7, dtype=int))
    with pytest.raises(InputError, match="a repeated row"):
        t.upper([twice, twice], 0.1, disjoint=False)


@pytest.mark.parametrize("name", FINITE_SAMPLE)
def test_overlapping_samples_share_delta(name: str) -> None:
    bound = get_bound(name)
    a, b = Sample(Z, -1, 1, 0.4), Sample(Z**2, 0, 1, 0.3)
    expected = bound.upper([a], 0.05) + bound.upper([b], 0.05)
    assert bound.upper([a, b], 0.1, disjoint=False) == pytest.approx(float(expected))


def test_blocks_have_the_right_rows_ends_and_scale() -> None:
    few, many = np.array([1.0, 2.0, 3.0]), np.arange(10.0, 18.0)
    samples = [Sample(few, 0, 5, 2.0), Sample(many, 10, 20, 3.0)]
    assert block_sizes(samples, [3, 8]) == [1, 2]
    joined = join(samples, [1, 2])
    np.testing.assert_allclose(joined.values, [1 + 10.5, 2 + 12.5, 3 + 14.5])
    assert (joined.low, joined.high) == (10, 25)
    assert joined.scale == pytest.approx(sqrt(4 + 9 / 2))
    assert join([Sample(few), Sample(many, 10, 20, 3.0)], [1, 2]).scale is None


# -- the guards of the t bound -------------------------------------------------------------------


def plain(values: np.ndarray, variance: float | None = None) -> float:
    """Student's bound, by its definition."""
    spread = np.sqrt(np.var(values, ddof=1) if variance is None else variance)
    n = values.size
    return float(values.mean() + spread * stats.t.ppf(0.9, n - 1) / np.sqrt(n))


def guarded(values: np.ndarray, **known: float) -> float:
    return float(get_bound("guarded").upper([Sample(values, **known)], 0.1))


def allowing(values: np.ndarray, away: float, least: float = 0.0) -> float:
    """The bound that allows for one more row so far above the mean, by its definition."""
    n = values.size
    variance = max(np.var(values, ddof=1) + away**2 / (n + 1), least)
    return float(values.mean() + away / (n + 1) + stats.t.ppf(0.9, n - 1) * np.sqrt(variance / n))


def test_the_guarded_bound_takes_no_variance_below_the_known_one() -> None:
    away = Z.max() - Z.mean()
    assert guarded(Z, least_variance=0.01) == pytest.approx(allowing(Z, away))
    assert guarded(Z, least_variance=9.0) == pytest.approx(allowing(Z, away, 9.0))
    assert guarded(np.zeros(7), least_variance=9.0) == pytest.approx(plain(np.zeros(7), 9.0))


def test_the_guarded_bound_puts_one_more_row_at_the_worst_end() -> None:
    assert guarded(Z) == pytest.approx(allowing(Z, Z.max() - Z.mean()))
    assert guarded(Z, worst=3.0) == pytest.approx(allowing(Z, 3.0 - Z.mean()))
    assert guarded(Z, worst=3.0, high=7.0) == pytest.approx(allowing(Z, 7.0 - Z.mean()))
    # Never below the t bound on one more row.
    assert guarded(Z, high=7.0) > plain(np.append(Z, 7.0))


@pytest.mark.parametrize(
    ("others", "share"),
    [(0, 0.0), (Z.size // 2, (Z.size // 2) / Z.size), (Z.size, 1.0), (999, 1.0)],
)
def test_only_what_is_beyond_normal_counts_if_other_rows_show_it(others, share) -> None:
    normal = share * stats.norm.ppf(1 - 1 / Z.size) * np.std(Z, ddof=1)
    away = 3.0 - Z.mean() - normal
    assert away > 0
    assert guarded(Z, worst=3.0, others=others) == pytest.approx(allowing(Z, away))
    # A known end is the end.
    assert guarded(Z, worst=3.0, others=others, high=7.0) == guarded(Z, high=7.0)


def test_rows_that_are_no_larger_than_normal_ones_cost_nothing() -> None:
    rows = np.tile([-1.0, 1.0], 200)
    assert guarded(rows, worst=1.0, others=600) == pytest.approx(plain(rows))


def test_rows_at_a_known_end_vary() -> None:
    # So rows that do not vary say something, and rows of 0 no longer say everything.
    assert guarded(np.full(99, -0.5), high=0.5) == pytest.approx(allowing(np.full(99, -0.5), 1.0))
    assert guarded(np.zeros(9), high=1.0) > 0
    assert guarded(np.zeros(9)) == guarded(np.zeros(9), high=0.0) == 0
