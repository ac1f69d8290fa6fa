"""Starts are logistic regressions, the same as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from elfair.policies import SoftmaxPolicy
from elfair.search.gradient import fit_log_loss, fit_propensities


def make(n_classes, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2, 3, size=(n, 3))
    scores = X @ rng.normal(size=(3, n_classes)) / 3 + rng.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("n", [40, 1000])
def test_two_classes_are_scikit_learns(n):
    X, label = make(2, n)
    policy = SoftmaxPolicy.standardised(X, 2)
    inputs = policy.inputs(X)
    theta = fit_log_loss(policy, inputs, label)
    theirs = LogisticRegression(C=1.0, tol=1e-8).fit(inputs.design[1:].T, label)
    np.testing.assert_allclose(theta, [*theirs.intercept_, *theirs.coef_[0]], atol=5e-3)


def test_three_classes_are_a_penalised_likelihood():
    # scikit-learn penalises the coefficients of all three classes, we those of the last two
    # against the first: the same likelihood, another zero point of the penalty.
    X, label = make(3, 150)
    policy = SoftmaxPolicy.standardised(X, 3)
    inputs = policy.inputs(X)
    theta = fit_log_loss(policy, inputs, label)

    def cost(theta):
        b = np.vstack([np.zeros(4), theta.reshape(2, 4)])
        logits = b @ inputs.design
        chosen = logits[label, np.arange(150)]
        return (np.logaddexp.reduce(logits) - chosen).sum() + 0.5 * (b[:, 1:] ** 2).sum()

    best = minimize(cost, np.zeros(8), tol=1e-10)
    np.testing.assert_allclose(theta, best.x, atol=5e-3)
    # With many rows no penalty matters, and all three agree.
    X, label = make(3, 20_000)
    policy = SoftmaxPolicy.standardised(X, 3)
    inputs = policy.inputs(X)
    theirs = LogisticRegression(C=1.0, tol=1e-6).fit(inputs.design[1:].T, label)
    free = policy.free(fit_log_loss(policy, inputs, label), inputs)
    proba = theirs.predict_proba(inputs.design[1:].T)[:, 1:].T
    np.testing.assert_allclose(free, proba, atol=5e-3)


def test_classes_that_can_be_told_apart_perfectly_stay_finite():
    X = np.linspace(-1, 1, 50)[:, None]
    policy = SoftmaxPolicy.standardised(X, 2)
    theta = fit_log_loss(policy, policy.inputs(X), (X[:, 0] > 0).astype(np.intp))
    assert 1 < theta[1] < 20


def test_beside_a_behaviour_model_a_start_is_a_policy_of_its_own():
    X, label = make(2, 200)
    alone, mixed = (SoftmaxPolicy.standardised(X, 2, mixed=m) for m in (False, True))
    behavior = np.full((200, 2), 0.5)
    theta = fit_log_loss(mixed, mixed.inputs(X, behavior), label)
    assert theta[-1] == 1
    np.testing.assert_allclose(theta[:-1], fit_log_loss(alone, alone.inputs(X), label), atol=1e-3)


def test_a_start_respects_the_support():
    X, label = make(2, 200)
    behavior = np.full((200, 2), 0.5)
    behavior[label == 0] = [1.0, 0.0]
    behavior[::7] = 0.5
    policy = SoftmaxPolicy.standardised(X, 2, mixed=True)
    inputs = policy.inputs(X, behavior)
    free = policy.free(fit_log_loss(policy, inputs, label), inputs)
    assert (free[0, behavior[:, 1] == 0] == 0).all()


def drawn_by_an_old_model(n_classes, n, *, seed=0):
    """People, decisions of a softmax with exploration about them, and all its probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(2, 3, size=(n, 3))
    odds = np.exp(X @ rng.normal(size=(3, n_classes)) / 6)
    old = 0.9 * odds / odds.sum(axis=1, keepdims=True) + 0.1 / n_classes
    return X, (rng.random(n)[:, None] > old.cumsum(axis=1)).sum(axis=1), old


def test_propensities_tell_more_of_an_old_model_than_its_decisions():
    X, taken, old = drawn_by_an_old_model(30, 1_500)
    policy = SoftmaxPolicy.standardised(X, 30)
    inputs, own = policy.inputs(X), old[np.arange(1_500), taken]
    calls = []
    thetas = [
        fit_propensities(policy, inputs, taken, own, lambda: calls.append(1)),
        fit_log_loss(policy, inputs, taken),
    ]
    away = [
        np.abs(policy.probabilities(theta, X, None) - old).sum(axis=1).mean() for theta in thetas
    ]
    assert away[0] < 0.25 * away[1]
    assert len(calls) > 5


def test_propensities_beside_a_behaviour_model():
    X, taken, old = drawn_by_an_old_model(5, 300)
    policy = SoftmaxPolicy.standardised(X, 5, mixed=True)
    theta = fit_propensities(policy, policy.inputs(X, old), taken, old[np.arange(300), taken])
    assert theta[-1] == 1
