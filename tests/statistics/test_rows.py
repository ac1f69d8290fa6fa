"""Affine rows: their values, their exact zeros, and derivatives through them."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.statistics import Rows
from elfair.statistics.decisions import decisions_of
from elfair.statistics.hidden import Hidden
from elfair.statistics.rows import Weighted
from elfair.statistics.sums import Reach

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


@pytest.mark.parametrize("classes", [2, 3])
def test_the_known_variance_of_weights_is_that_of_all_decisions_that_could_be_drawn(classes):
    rng = np.random.default_rng(3)
    behavior = 0.9 * rng.dirichlet(np.ones(classes), 8) + 0.1 / classes
    new = rng.dirichlet(np.full(classes, 0.3), 8)
    data = LoggedData(
        np.zeros((8, 1)),
        decision=np.zeros(8, dtype=int),
        behavior=behavior,
        impact=np.arange(8.0),
        classes=list(range(classes)),
    )
    weights = new / behavior
    mean = np.sum(behavior * weights, axis=1)
    np.testing.assert_allclose(mean, 1)
    expected = np.sum(behavior * (weights - 1) ** 2, axis=1)
    law, free = decisions_of(data).law(), new[:, 1:].T
    found = law.weights(free).variances
    np.testing.assert_allclose(found, expected)
    slopes = law.weights(free).variance_slopes
    for k in range(classes - 1):
        step = np.zeros_like(free)
        step[k] = 1e-6
        ahead, behind = (law.weights(free + s).variances for s in (step, -step))
        np.testing.assert_allclose(slopes[k], (ahead - behind) / 2e-6, rtol=1e-5)


def test_the_least_variance_of_rows_is_theirs_if_decisions_do_nothing():
    """Over all decisions that could be drawn, for impacts that no decision changes."""
    rng = np.random.default_rng(4)
    n, k = 400, 0.3
    behavior, new = (np.column_stack([1 - p, p]) for p in rng.uniform(0.05, 0.95, (2, n)))
    impact = rng.normal(size=n)
    weights = new / behavior
    for logged in (1.0, 0.0):  # no worse than logged, and a fixed threshold
        rows = -(k + weights * (impact - k)[:, None]) + logged * impact[:, None]
        mean = np.sum(behavior * rows, axis=1).mean()
        truth = np.sum(behavior * (rows - mean) ** 2, axis=1).mean()
        data = LoggedData(
            np.zeros((n, 1)), decision=[0] * n, behavior=behavior, impact=impact, classes=[0, 1]
        )
        residual = -(impact - k)
        law, free = decisions_of(data).law(), new[:, 1:].T
        taken = rows[:, 0]
        of = Rows(
            np.arange(n),
            taken,
            np.zeros((1, n)),
            -np.inf,
            np.inf,
            (),
            Weighted(residual, law, 1.0, Reach(1.0)),
        )
        assert Hidden.under(of, free).least_variance == pytest.approx(truth, rel=0.01)
