"""Softmax policies: probabilities, support, mixtures, and their derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair.policies import PolicyInputs, SoftmaxPolicy
from elfair.policies.softmax import EXPLORATION, LARGEST_PARAMETER, SMALLEST_SHARE

N, WIDTH = 40, 3


def behavior_of(rng, n_classes, *, masked):
    table = rng.dirichlet(np.ones(n_classes), size=N)
    if masked:
        # Every kind of gap: the first class, the last one, all but one.
        table[:6, 0] = 0
        table[6:12, -1] = 0
        table[12:15, :-1] = 0
        table /= table.sum(axis=1, keepdims=True)
    return table


def make(n_classes, kind, seed=0, exploration=EXPLORATION):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 3.0, size=(N, WIDTH))
    policy = SoftmaxPolicy.standardised(X, n_classes, mixed=kind != "plain")
    policy = replace(policy, exploration=exploration)
    behavior = None
    if kind != "plain":
        behavior = behavior_of(rng, n_classes, masked=kind == "masked")
    theta = rng.normal(size=policy.n_parameters)
    if policy.mixed:
        theta[-1] = 0.3
    return policy, policy.inputs(X, behavior), theta, X, behavior


KINDS = ["plain", "mixed", "masked"]
CASES = [(k, kind) for k in (2, 3, 4) for kind in KINDS]


def by_hand(policy, theta, X, behavior, exploration):
    """Row by row, as the definition says."""
    rows = []
    for i, x in enumerate(X):
        features = np.append(1.0, (x - policy.center) / policy.scale)
        logits = [0.0]
        for a in range(policy.n_classes - 1):
            logits.append(float(theta[a * (WIDTH + 1) : (a + 1) * (WIDTH + 1)] @ features))
        odds = np.exp(logits)
        if behavior is not None:
            odds = odds * (behavior[i] > 0)
        possible = (odds > 0) / (odds > 0).sum()
        probabilities = (1 - exploration) * odds / odds.sum() + exploration * possible
        if behavior is not None:
            probabilities = (1 - theta[-1]) * behavior[i] + theta[-1] * probabilities
        rows.append(probabilities[1:])
    return np.array(rows).T


@pytest.mark.parametrize("exploration", [2e-4, 0.2])
@pytest.mark.parametrize(("n_classes", "kind"), CASES)
def test_probabilities_are_those_of_the_definition(n_classes, kind, exploration):
    policy, inputs, theta, X, behavior = make(n_classes, kind, exploration=exploration)
    free = policy.free(theta, inputs)
    np.testing.assert_allclose(free, by_hand(policy, theta, X, behavior, exploration), atol=1e-13)


def test_unless_told_otherwise_one_decision_in_5000_is_taken_blindly():
    X = np.zeros((1, 1))
    assert SoftmaxPolicy(2, X[0], X[0]).exploration == 2e-4
    assert SoftmaxPolicy.standardised(X, 2).exploration == 2e-4


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_smallest_probability_is_the_exploration_by_the_number_of_classes(n_classes):
    policy, _, _, X, _ = make(n_classes, "plain", exploration=0.2)
    for sign in (-1, 1):
        theta = np.full(policy.n_parameters, sign * LARGEST_PARAMETER)
        every = policy.probabilities(theta, X, None)
        np.testing.assert_allclose(every.min(), 0.2 / n_classes, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_blind_decisions_are_among_those_with_support(n_classes):
    policy, _, theta, X, behavior = make(n_classes, "masked", exploration=0.2)
    theta[:] = LARGEST_PARAMETER
    theta[-1] = 1.0  # nothing of the behaviour model
    every, possible = policy.probabilities(theta, X, behavior), behavior > 0
    assert (every[~possible] == 0).all()
    floor = 0.2 / possible.sum(axis=1, keepdims=True)
    assert (every >= np.where(possible, floor, 0.0) - 1e-12).all()
    room, counts = np.where(possible, every - floor, np.inf), possible.sum(axis=1)
    for count in {n_classes - 1, n_classes} - {1}:  # one that is alone has probability 1
        assert abs(room[counts == count].min()) < 1e-9


@pytest.mark.parametrize("exploration", [2e-4, 0.2])
@pytest.mark.parametrize(("n_classes", "kind"), CASES)
def test_pull_back_against_finite_differences(n_classes, kind, exploration):
    policy, inputs, theta, *_ = make(n_classes, kind, seed=1, exploration=exploration)
    # Three functions at once: their gradients must not mix.
    weights = np.random.default_rng(2).normal(size=(3, n_classes - 1, N))
    gradients = policy.pull_back(theta, inputs, policy.free(theta, inputs), weights)
    step = 1e-6
    for i in range(policy.n_parameters):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        change = policy.free(ahead, inputs) - policy.free(behind, inputs)
        numeric = np.einsum("jkn,kn->j", weights, change) / (2 * step)
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("n_classes", "kind"), CASES)
def test_a_population_is_its_policies_one_by_one(n_classes, kind):
    policy, inputs, theta, *_ = make(n_classes, kind)
    rng = np.random.default_rng(3)
    population = np.array([theta + 0.1 * rng.normal(size=theta.size) for _ in range(5)])
    together = policy.free(population, inputs)
    assert together.shape == (5, n_classes - 1, N)
    for one, free in zip(population, together, strict=True):
        np.testing.assert_allclose(free, policy.free(one, inputs), rtol=1e-14)


@pytest.mark.parametrize("size", [1.0, LARGEST_PARAMETER, 1e5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_support_no_probability_however_large_the_parameters(n_classes, size):
    policy, inputs, _, _, behavior = make(n_classes, "masked")
    for seed in range(5):
        theta = size * np.random.default_rng(seed).choice([-1.0, 1.0], size=policy.n_parameters)
        theta[-1] = 1.0
        free = policy.free(theta, inputs)
        every = np.vstack([1 - free.sum(axis=0), free])
        assert np.isfinite(every).all()
        assert (every[behavior.T == 0] <= 1e-15).all()
        assert (free[behavior.T[1:] == 0] == 0).all()
        np.testing.assert_allclose(every.sum(axis=0), 1)
        only = (behavior > 0).sum(axis=1) == 1
        np.testing.assert_allclose(every[:, only], behavior[only].T)


def test_extreme_parameters_give_probabilities():
    policy, inputs, _, *_ = make(3, "plain")
    for sign in (-1, 1):
        free = policy.free(np.full(policy.n_parameters, sign * 1e4), inputs)
        assert ((free >= 0) & (free <= 1)).all()
        assert (free.sum(axis=0) <= 1 + 1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_of_the_softmax_is_exactly_the_behaviour_model(n_classes):
    policy, inputs, theta, _, behavior = make(n_classes, "masked")
    for share in (0.0, SMALLEST_SHARE / 2):
        theta[-1] = share
        np.testing.assert_array_equal(policy.free(theta, inputs), behavior.T[1:])
    theta[-1] = 2 * SMALLEST_SHARE
    assert (policy.free(theta, inputs) != behavior.T[1:]).any()


def test_the_box_keeps_the_share_a_share():
    policy, *_ = make(3, "mixed")
    low, high = policy.box
    assert policy.n_parameters == low.size == high.size == 2 * (WIDTH + 1) + 1
    assert (low[-1], high[-1]) == (0.0, 1.0)
    assert (low[:-1] == -LARGEST_PARAMETER).all()
    assert (high[:-1] == LARGEST_PARAMETER).all()


def test_features_are_standardised_by_the_rows_given_first():
    X = np.array([[0.0, 7.0], [4.0, 7.0]])
    policy = SoftmaxPolicy.standardised(X, 2)
    inputs = policy.inputs(np.array([[2.0, 8.0], [6.0, 7.0]]))
    # (2 - 2) / 2 and (6 - 2) / 2; a column that does not vary keeps its unit.
    np.testing.assert_array_equal(inputs.design, [[1, 1], [0, 2], [1, 0]])


def test_support_is_remembered_only_where_something_lacks_it():
    full = PolicyInputs(np.ones((1, 2)), np.array([[0.5, 0.2], [0.5, 0.8]]))
    assert full.support is None
    gap = PolicyInputs(np.ones((1, 2)), np.array([[0.0, 0.2], [1.0, 0.8]]))
    np.testing.assert_array_equal(gap.support, [[False, True], [True, True]])
