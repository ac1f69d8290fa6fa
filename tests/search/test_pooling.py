"""Pooled regressions: what tells decisions apart stays, and noise goes."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.search.pooling import pooled


def drawn(n, n_decisions, seed, *, spread=(1.0, 0.5, 0.0), noise=1.0):
    """Inputs, values and decisions, and the coefficients behind them."""
    rng = np.random.default_rng(seed)
    inputs = np.vstack([np.ones(n), rng.standard_normal((len(spread) - 1, n))])
    truth = rng.standard_normal((n_decisions, len(spread))) * spread
    taken = rng.integers(0, n_decisions, n)
    values = np.einsum("ni,in->n", truth[taken], inputs) + rng.normal(0, noise, n)
    return inputs, values, taken, truth - truth[taken].mean(axis=0)


def separate(inputs, values, taken, n_decisions):
    """Least squares for each decision on its own."""
    each = [np.linalg.lstsq(inputs[:, taken == a].T, values[taken == a], rcond=None)[0]
            for a in range(n_decisions)]  # fmt: skip
    return np.array(each) - np.mean(each, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_with_few_rows_each_it_is_nearer_to_the_truth_than_regressions_apart(seed):
    inputs, values, taken, truth = drawn(600, 60, seed)
    together = np.mean((pooled(inputs, values, taken, 60) - truth) ** 2)
    apart = np.mean((separate(inputs, values, taken, 60) - truth) ** 2)
    assert together < 0.75 * apart


def test_with_many_rows_each_both_agree():
    inputs, values, taken, _ = drawn(50_000, 10, 0)
    found, apart = pooled(inputs, values, taken, 10), separate(inputs, values, taken, 10)
    np.testing.assert_allclose(found - found.mean(axis=0), apart, atol=0.02)


def test_an_input_that_does_not_matter_is_shrunk_away():
    inputs, values, taken, _ = drawn(2_000, 50, 1)
    found = np.abs(pooled(inputs, values, taken, 50)).mean(axis=0)
    apart = np.abs(separate(inputs, values, taken, 50)).mean(axis=0)
    assert found[2] < 0.4 * apart[2]
    assert found[0] > 0.9 * apart[0]


def test_pure_noise_leaves_nothing():
    inputs, values, taken, _ = drawn(2_000, 50, 2, spread=(0.0, 0.0, 0.0))
    apart = separate(inputs, values, taken, 50)
    assert np.abs(pooled(inputs, values, taken, 50)).mean() < 0.35 * np.abs(apart).mean()


def test_a_decision_that_was_never_taken_is_like_all():
    inputs, values, taken, _ = drawn(500, 10, 3)
    found = pooled(inputs, values, taken, 12)
    np.testing.assert_allclose(found[10:], 0.0, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_values_that_do_not_vary(value):
    inputs, _, taken, _ = drawn(200, 10, 4)
    np.testing.assert_allclose(pooled(inputs, np.full(200, value), taken, 10), 0.0, atol=0.05)


def test_the_unit_of_values_does_not_matter():
    inputs, values, taken, _ = drawn(1_000, 20, 5)
    found = pooled(inputs, values, taken, 20)
    np.testing.assert_allclose(pooled(inputs, 1e6 * values, taken, 20), 1e6 * found, rtol=1e-6)
