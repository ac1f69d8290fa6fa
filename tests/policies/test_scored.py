"""Policies over a scorer: its log-odds join the features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import InputError
from elfair.policies import SoftmaxPolicy
from elfair.policies.scored import SMALLEST_PROBABILITY, ScoredPolicy, log_odds

RNG = np.random.default_rng(0)
X = RNG.normal(2.0, 3.0, size=(30, 2))
TABLE = RNG.dirichlet([1.0, 1.0, 1.0], size=30)


class Says:
    """A fitted classifier that says what it is told to; its classes come in any order."""

    def __init__(self, table, classes):
        self.table, self.classes_ = np.asarray(table), np.asarray(classes)

    def predict_proba(self, X):
        return self.table[: len(X)]


def policy_over(scorer, classes, **options):
    classes = np.asarray(classes)
    return ScoredPolicy.over(scorer, X, log_odds(scorer, X, classes), classes, **options)


def test_log_odds_are_against_the_first_class_whatever_the_scorers_order():
    scores = log_odds(Says(TABLE, ["c", "a", "b"]), X, np.array(["a", "b", "c"], dtype=object))
    a, b, c = np.maximum(TABLE[:, [1, 2, 0]], SMALLEST_PROBABILITY).T
    np.testing.assert_allclose(scores, np.log(np.column_stack([b / a, c / a])))


def test_certainty_and_unknown_classes_are_clipped():
    scores = log_odds(Says([[1.0, 0.0]] * 30, [0, 2]), X, np.array([0, 1, 2]))
    np.testing.assert_allclose(scores, np.log(SMALLEST_PROBABILITY))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE, r"must be of shape \(30, 2\).*\(0, 1\).*Got shape \(30, 3\)"),
        (TABLE[:20, :2], r"Got shape \(20, 2\)"),
        (np.where(np.arange(30)[:, None] == 7, np.nan, TABLE[:, :2]), r"in 1 of 30 rows"),
        (-TABLE[:, :2], r"negative, missing or infinite values in 30 of 30 rows"),
    ],
)
def test_what_is_not_a_probability_is_refused(table, message):
    with pytest.raises(InputError, match=f"(?s){message}.*Hint"):
        log_odds(Says(table, [0, 1]), X, np.array([0, 1]))


def test_without_weight_on_the_scores_it_is_the_linear_policy():
    policy = policy_over(Says(TABLE, [0, 1, 2]), [0, 1, 2])
    linear = SoftmaxPolicy.standardised(X, 3)
    theta = RNG.normal(size=(2, 3))
    wide = np.hstack([theta, np.zeros((2, 2))]).ravel()
    expected = linear.free(theta.ravel(), linear.inputs(X))
    np.testing.assert_allclose(policy.free(wide, policy.inputs(X)), expected)
    assert policy.n_parameters == linear.n_parameters + 4


@pytest.mark.parametrize("exploration", [2e-4, 0.2])
def test_it_can_trust_the_scorer_to_the_letter(exploration):
    policy = policy_over(Says(TABLE, [0, 1, 2]), [0, 1, 2])
    policy = replace(policy, exploration=exploration)
    theta = np.zeros((2, 5))
    for k in (0, 1):  # undo the standardisation of the class's own log-odds
        theta[k, 3 + k] = policy.scale[2 + k]
        theta[k, 0] = policy.center[2 + k]
    every = np.maximum(TABLE, SMALLEST_PROBABILITY)
    every /= every.sum(axis=1, keepdims=True)
    expected = (1 - exploration) * every + exploration / 3
    np.testing.assert_allclose(policy.probabilities(theta.ravel(), X, None), expected, atol=1e-12)


def test_logged_rows_bring_their_own_scores_and_others_ask_the_scorer():
    policy = policy_over(Says(TABLE[:, :2], [0, 1]), [0, 1])
    data = LoggedData(X, RNG.integers(0, 2, 30))
    np.testing.assert_array_equal(policy.logged(data).design, policy.inputs(X).design)
    data.scores = RNG.normal(size=(30, 1))
    design = policy.logged(data).design
    np.testing.assert_array_equal(design[:3], policy.inputs(X).design[:3])
    np.testing.assert_allclose(design[3] * policy.scale[2] + policy.center[2], data.scores[:, 0])
    some = np.array([4, 1])
    np.testing.assert_allclose(policy.logged(data.take(some)).design, design[:, some])


def test_a_behaviour_model_is_mixed_in():
    policy = policy_over(Says(TABLE[:, :2], [0, 1]), [0, 1], mixed=True)
    behavior = np.column_stack([np.full(30, 0.25), np.full(30, 0.75)])
    theta = np.append(RNG.normal(size=policy.n_parameters - 1), 0.0)
    np.testing.assert_array_equal(policy.probabilities(theta, X, behavior), behavior)
