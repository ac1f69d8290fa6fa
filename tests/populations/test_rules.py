"""Models given by a formula: what they decide, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from elfair.errors import InputError
from elfair.populations import LinearRule, LogisticModel, Mixture

X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def test_a_rule_decides_1_above_its_line_and_not_on_it():
    rule = LinearRule(-1.0, np.array([1.0, 2.0]))
    assert rule.predict_proba(X)[:, 1].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(rule.predict_proba(X).sum(axis=1), 1)


def test_a_mixture_draws_its_rules():
    rules = [LinearRule(-1.0, np.array([1.0, 2.0])), LinearRule(0.5, np.zeros(2))]
    np.testing.assert_allclose(Mixture(rules, [0.4, 0.6]).predict_proba(X)[:, 1], [1, 0.6, 1])


def test_small_probabilities_of_the_logistic_model_are_exact_on_both_sides():
    model = LogisticModel(0.0, (50.0, -50.0))
    low, high = model.predict_proba(X)[:2, 1], model.predict_proba(X)[:2, 0]
    np.testing.assert_allclose([low[0], high[1]], np.exp(-50), rtol=1e-12)


def test_rules_travel_to_other_processes():
    mixture = Mixture([LinearRule(-1.0, np.array([1.0, 2.0]))], [1.0])
    copy = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copy.predict_proba(X), mixture.predict_proba(X))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: LinearRule(np.nan, np.ones(2)), "finite numbers. Got .*nan"),
        (lambda: LinearRule(0.0, np.array([1.0, np.inf])), "finite numbers. Got .*inf"),
        (lambda: LinearRule(0.0, np.ones(3)).predict_proba(X), r"\(n, 3\). Got \(3, 2\)"),
        (lambda: LogisticModel(0.0, (1.0,)).predict_proba(X), r"\(n, 1\). Got \(3, 2\)"),
        (lambda: LinearRule(0.0, np.ones(2)).predict_proba(X[0]), r"Got \(2,\)"),
        (lambda: Mixture([LinearRule(0.0, np.ones(2))], [0.5]), "sum to 1"),
        (lambda: Mixture([LinearRule(0.0, np.ones(2))], [0.5, 0.5]), "1 numbers"),
        (lambda: Mixture([], []), "sum to 1"),
    ],
)
def test_errors_say_what_was_got_and_what_is_allowed(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\nHint: " in str(caught.value)
