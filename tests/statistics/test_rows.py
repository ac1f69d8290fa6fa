"""Affine rows: their values, their exact zeros, and derivatives through them."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.statistics import Rows

N = 30


def make(k, size, seed=0):
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(N, size, replace=False))
    slope = rng.normal(size=(k, size))
    return Rows(index, rng.normal(size=size), slope, -np.inf, np.inf)


def probabilities(k, shape=(), seed=1):
    p = np.random.default_rng(seed).dirichlet(np.ones(k + 1), size=(*shape, N))
    return np.moveaxis(p, -1, -2)[..., 1:, :]


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("size", [7, N])
def test_values_are_offset_plus_slope_times_probability(k, size):
    rows, free = make(k, size), probabilities(k)
    expected = [
        rows.offset[j] + sum(rows.slope[a, j] * free[a, i] for a in range(k))
        for j, i in enumerate(rows.index)
    ]
    np.testing.assert_allclose(rows.values(free), expected)
    np.testing.assert_allclose(rows.exact_values(free), expected)
    assert rows.mean_offset == pytest.approx(rows.offset.mean())
    assert rows.mean_size == pytest.approx(np.abs(rows.offset).mean())


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("size", [7, N])
def test_leading_axes_are_policies(k, size):
    rows, free = make(k, size), probabilities(k, (2, 3))
    for method in (rows.values, rows.exact_values):
        together = method(free)
        assert together.shape == (2, 3, size)
        for i, j in np.ndindex(2, 3):
            np.testing.assert_array_equal(together[i, j], method(free[i, j]))


def test_values_leave_the_probabilities_alone():
    rows, free = make(1, N), probabilities(1)
    before = free.copy()
    rows.values(free)
    rows.exact_values(free)
    np.testing.assert_array_equal(free, before)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("size", [7, N])
def test_derivatives_against_finite_differences(k, size):
    rows, free = make(k, size), probabilities(k)
    weights = np.random.default_rng(2).normal(size=size)
    gradient = rows.scatter(rows.slope_inside(rows.inside(free)) * weights, N)
    assert gradient.shape == free.shape
    for a, i in np.ndindex(*free.shape):
        ahead = free.copy()
        ahead[a, i] += 1.0  # affine: any step is exact
        change = weights @ (rows.values(ahead) - rows.values(free))
        assert gradient[a, i] == pytest.approx(change, abs=1e-12)


def test_rounding_is_not_a_row_but_a_small_row_is():
    p = np.array([0.1, 0.7, 1 / 3])
    impact = np.array([3e5, -2.0, 1e-4])
    rows = Rows(np.arange(3), impact, (-impact / p)[None], -np.inf, np.inf)
    np.testing.assert_array_equal(rows.exact_values(p[None]), 0)
    moved = p * (1 + 1e-12)
    assert (rows.exact_values(moved[None]) != 0).all()
    np.testing.assert_array_equal(rows.exact_values(moved[None]), rows.values(moved[None]))


def test_rounding_is_measured_against_terms_of_either_sign():
    """A mean may be negative: 0.1 + 0.2 - 0.3 is 0 but for rounding."""
    rows = Rows(np.arange(2), np.full(2, 0.1 + 0.2), np.ones((1, 2)), -np.inf, np.inf)
    assert rows.values(np.array([[-0.3, -0.2]]))[0] != 0
    np.testing.assert_allclose(rows.exact_values(np.array([[-0.3, -0.2]])), [0.0, 0.1])
    assert rows.exact_values(np.array([[-0.3, -0.2]]))[0] == 0
