"""Coefficients on the scale of given features: they give the probabilities of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import ELFClassifier
from elfair.policies.coefficients import coefficients
from elfair.policies.gaussian import GaussianPolicy
from elfair.policies.models import Model


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal([3.0, 100.0], [1.0, 20.0], size=(n, 2))
    return X, (X[:, 0] + X[:, 1] / 20 + rng.normal(size=n) > 8).astype(int)


def test_they_are_the_log_odds_of_a_classifier():
    X, y = rows()
    clf = ELFClassifier("accuracy >= 0.5", exploration=1e-9).fit(X, y)
    assert clf.coef_.shape == (1, 2)
    odds = X @ clf.coef_[0] + clf.intercept_[0]
    p = clf.predict_proba(X)[:, 1]
    inside = (p > 1e-4) & (p < 1 - 1e-4)
    assert inside.sum() > 50
    np.testing.assert_allclose(odds[inside], np.log(p / (1 - p))[inside], rtol=1e-3, atol=1e-3)
    assert clf.coef_names_ == ["x0", "x1"]


def test_of_several_decisions_each_but_the_first_has_a_row():
    X, y = rows()
    y = y + (X[:, 0] > 4)
    clf = ELFClassifier("accuracy >= 0.4", exploration=1e-9).fit(X, y)
    assert clf.coef_.shape == (2, 2)
    p = clf.predict_proba(X)
    odds = X @ clf.coef_.T + clf.intercept_
    seen = p.min(axis=1) > 1e-4
    np.testing.assert_allclose(odds[seen], np.log(p[:, 1:] / p[:, :1])[seen], rtol=1e-2, atol=1e-2)


def test_they_give_the_mean_of_a_policy_over_numbers():
    X, y = rows()
    policy = GaussianPolicy.standardised(X, X[:, 0] + y, smallest=0.5, largest=2.0)
    theta = np.array([1.0, -2.0, 3.0, 5.0])
    found = coefficients((Model(policy, theta),), ["a", "b"])
    mean, _ = policy.moments(theta, X)
    np.testing.assert_allclose(X @ found.weights[0] + found.intercepts[0], mean)
    assert found.names == ["a", "b"]
    # Means that bend towards the usual decision are not linear.
    bent = replace(policy, reach=1.0, usual=np.zeros(3))
    assert coefficients((Model(bent, theta),), ["a", "b"]) is None


def test_other_models_have_none():
    X, y = rows()
    for parameters in ({"policy": "tree"}, {"split": "crossfit"}):
        clf = ELFClassifier("accuracy >= 0.4", **parameters).fit(X, y)
        assert not hasattr(clf, "coef_")
    assert not hasattr(ELFClassifier("accuracy >= 0.4"), "coef_")
    none = ELFClassifier("accuracy >= 0.999").fit(X, y)
    assert not none.solution_found_
    with pytest.raises(AttributeError, match="only a model that was released"):
        _ = none.coef_


def test_a_notebook_shows_the_result_below_the_diagram():
    X, y = rows()
    clf = ELFClassifier("accuracy >= 0.4")
    assert "Solution found" not in clf._repr_html_()
    shown = clf.fit(X, y)._repr_html_()
    assert "sk-top-container" in shown
    assert "Solution found" in shown
