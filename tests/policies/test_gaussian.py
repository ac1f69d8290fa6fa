"""Gaussian policies: their free numbers, and the derivatives of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from elfair.data import ContinuousData
from elfair.policies import GaussianPolicy
from elfair.policies.gaussian import FINENESS, LARGEST_PARAMETER, normal_density

N, WIDTH = 30, 2
THRESHOLDS = (-1.0, 2.5)


def make(*, decided=True, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(2.0, 3.0, size=(N, WIDTH)), rng.normal(4.0, 2.0, size=N)
    decision = rng.normal(4.0, 2.0, size=N) if decided else None
    data = ContinuousData(X, y, decision=decision).changed(thresholds=THRESHOLDS)
    policy = GaussianPolicy.standardised(X, y, smallest=0.5, largest=2.0)
    return policy, policy.logged(data), FINENESS * rng.normal(size=WIDTH + 1), data


def theta_of(coefficients, place):
    return np.append(coefficients, FINENESS * place)


@pytest.mark.parametrize(("place", "spread"), [(0.0, 0.5), (0.5, 1.0), (1.0, 2.0)])
def test_free_numbers_are_integrals_of_the_density(place, spread):
    policy, inputs, coefficients, data = make()
    theta = theta_of(coefficients, place)
    free = policy.free(theta, inputs)
    assert free.shape == (3 + len(THRESHOLDS), N)
    for i in range(0, N, 7):
        away = (data.features[i] - policy.center) / policy.scale
        mean = policy.level + policy.unit * (coefficients[0] + coefficients[1:] @ away)

        def density(d, mean=mean):
            return np.exp(-((d - mean) ** 2) / (2 * spread**2)) / np.sqrt(2 * np.pi * spread**2)

        ends = mean - 12 * spread, mean + 12 * spread
        assert free[0, i] == pytest.approx(density(data.decision[i]))
        moments = [quad(lambda d, k=k: d**k * density(d), *ends)[0] for k in (1, 2)]
        np.testing.assert_allclose(free[1:3, i], moments, rtol=1e-8)
        for k, t in enumerate(THRESHOLDS):
            above = quad(density, np.clip(t, *ends), ends[1])[0]
            assert free[3 + k, i] == pytest.approx(above, abs=1e-7)


@pytest.mark.parametrize("decided", [True, False])
@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_pull_back_against_finite_differences(decided, place):
    policy, inputs, coefficients, _ = make(decided=decided, seed=1)
    theta = theta_of(coefficients, place)
    # Three functions at once: their gradients must not mix.
    weights = np.random.default_rng(2).normal(size=(3, 3 + len(THRESHOLDS), N))
    gradients = policy.pull_back(theta, inputs, policy.free(theta, inputs), weights)
    step = 1e-6
    for i in range(policy.n_parameters):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        change = policy.free(ahead, inputs) - policy.free(behind, inputs)
        numeric = np.einsum("jkn,kn->j", weights, change) / (2 * step)
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=1e-6, atol=1e-6)


def test_a_population_is_its_policies_one_by_one():
    policy, inputs, coefficients, _ = make()
    rng = np.random.default_rng(3)
    population = np.array(
        [theta_of(coefficients + 10 * rng.normal(size=3), rng.random()) for _ in "abcd"]
    )
    together = policy.free(population, inputs)
    assert together.shape == (4, 5, N)
    for one, free in zip(population, together, strict=True):
        np.testing.assert_allclose(free, policy.free(one, inputs), rtol=1e-12)


def test_without_logged_decisions_there_is_no_density():
    policy, inputs, coefficients, _ = make(decided=False)
    assert not policy.free(theta_of(coefficients, 0.0), inputs)[0].any()


def test_the_spread_goes_from_end_to_end_in_equal_ratios():
    policy, *_ = make()
    spreads = [policy.spread(np.array([0.0, 0.0, 0.0, place])) for place in (0, 2.5, 5, 7.5, 10)]
    np.testing.assert_allclose(spreads, 0.5 * 2 ** np.array([0, 0.5, 1, 1.5, 2]))
    low, high = policy.box
    assert policy.n_parameters == low.size == high.size == WIDTH + 2
    assert (low[-1], high[-1]) == (0.0, 10.0)
    assert (high[:-1] == LARGEST_PARAMETER).all()


def test_features_and_mean_are_standardised_by_the_rows_given_first():
    X, y = np.array([[0.0, 7.0], [4.0, 7.0]]), np.array([10.0, 16.0])
    policy = GaussianPolicy.standardised(X, y, smallest=0.1, largest=0.2)
    # (6 - 2) / 2 = 2; a column that does not vary keeps its unit: (8 - 7) / 1.
    np.testing.assert_array_equal(policy.design(np.array([[6.0, 8.0]])), [[1], [2], [1]])
    mean, spread = policy.moments(np.array([10.0, 5.0, -10.0, 0.0]), np.array([[6.0, 8.0]]))
    assert mean == pytest.approx([13 + 3 * (1 + 0.5 * 2 - 1)])
    assert spread == 0.1


def test_labels_that_do_not_vary_keep_their_unit():
    policy = GaussianPolicy.standardised(np.eye(2), np.full(2, 3.0), smallest=0.1, largest=0.2)
    assert (policy.level, policy.unit) == (3.0, 0.1)


def test_far_away_the_density_is_zero_and_not_an_error():
    assert normal_density(1e6, np.zeros(1), 0.1) == 0.0


@pytest.mark.parametrize("reach", [1e-9, 0.5, 3.0])
def test_a_mean_bends_within_its_reach_and_has_a_gradient(reach):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    plain = GaussianPolicy.standardised(X, y, smallest=0.1, largest=0.2)
    usual = np.array([1.0, -2.0, 3.0])
    policy = replace(plain, reach=reach, usual=usual)
    middle = plain.level + plain.unit * (usual @ plain.design(X))
    for theta in (np.array([4.0, 5.0, -3.0, 2.0]), np.array([500.0, -500.0, 500.0, 2.0])):
        away = (plain.moments(theta, X)[0] - middle) / reach
        bent = (policy.moments(theta, X)[0] - middle) / reach
        assert (np.abs(bent) <= 1 + 1e-6).all()
        near = np.abs(away) < 0.1
        np.testing.assert_allclose(bent[near], away[near], atol=1e-5)
        np.testing.assert_allclose(bent, away / (1 + away**4) ** 0.25, atol=1e-6)
        data = ContinuousData(X, y, decision=y)
        inputs = policy.logged(data)
        free = policy.free(theta, inputs)
        gradient = policy.pull_back(theta, inputs, free, np.ones((1, *free.shape)))
        assert np.isfinite(gradient).all()
        if reach > 0.1:
            step = 1e-5 * np.eye(4)
            sums = [policy.free(theta + sign * step, inputs).sum(axis=(1, 2)) for sign in (1, -1)]
            np.testing.assert_allclose(
                gradient[0], (sums[0] - sums[1]) / 2e-5, rtol=1e-4, atol=1e-4
            )
    far = policy.moments(theta, 1e150 * X)[0]
    assert np.isfinite(far).all()
