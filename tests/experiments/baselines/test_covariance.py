"""Fairness constraints by covariance: the least loss, by another solver too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from elfair.errors import DataError, ElfairError
from elfair.experiments.baselines import covariance as module
from elfair.experiments.baselines.covariance import FairnessConstraints, least_loss
from elfair.populations import FosterCare

POPULATION = FosterCare()


def loss(theta, draw):
    score = theta[0] + draw.features @ theta[1:]
    return np.mean(np.log1p(np.exp(-np.where(draw.label == 1, score, -score))))


def covariance(theta, draw):
    score = theta[0] + draw.features @ theta[1:]
    return np.mean((draw.group - draw.group.mean()) * score)


def solve(draw, bound):
    return least_loss(draw.features, draw.label, draw.group, bound)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [256, 2000])
@pytest.mark.parametrize("bound", [0.0, 0.02, 0.2])
def test_another_solver_finds_the_same_loss(bound, n, seed):
    draw = POPULATION.sample(n, seed)
    rival = minimize(
        loss,
        np.zeros(6),
        args=(draw,),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda theta: bound + np.array([-1, 1]) * covariance(theta, draw),
        },
        options={"ftol": 1e-10, "maxiter": 1000},
    )
    assert rival.success
    theta = solve(draw, bound)
    assert abs(covariance(theta, draw)) == pytest.approx(bound, abs=1e-6)  # it binds
    assert loss(theta, draw) == pytest.approx(rival.fun, abs=1e-5)


def test_without_need_of_the_constraint_it_is_logistic_regression():
    draw = POPULATION.sample(2000, seed=0)
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    plain.fit(draw.features, draw.label)
    np.testing.assert_allclose(
        solve(draw, 1e6), [*plain.intercept_, *plain.coef_[0]], rtol=1e-3, atol=1e-3
    )


def test_the_method_asks_for_no_covariance_at_all():
    draw = POPULATION.sample(4096, seed=0)
    rule = FairnessConstraints().fit(draw, [], delta=0.1, seed=0)
    theta = np.array([rule.intercept, *rule.coefficients])
    np.testing.assert_array_equal(theta, solve(draw, 0.0))
    # The proxy does what it is for: positive rates draw nearer than those of plain regression.
    free = solve(draw, 1e6)
    plain = type(rule)(free[0], free[1:])
    gaps = [POPULATION.positive_rate(r, 0) - POPULATION.positive_rate(r, 1) for r in (rule, plain)]
    assert abs(gaps[0]) < 0.06 < 0.14 < gaps[1]


def test_columns_that_repeat_each_other_do_no_harm():
    draw = POPULATION.sample(500, seed=0)
    twice = least_loss(np.hstack([draw.features] * 2), draw.label, draw.group, 0.0)
    theta = solve(draw, 0.0)
    np.testing.assert_allclose(twice[1:6] + twice[6:], theta[1:], atol=1e-4)


def test_labels_that_a_line_separates_are_separated():
    draw = POPULATION.sample(300, seed=0)
    label = (draw.features[:, 3] > 0.5).astype(int)
    theta = least_loss(draw.features, label, draw.group, 1e6)
    np.testing.assert_array_equal(theta[0] + draw.features @ theta[1:] > 0, label == 1)


def test_what_cannot_be_solved_is_an_error():
    with pytest.raises(ElfairError, match=r"Clarabel could not solve.*infeasible"):
        solve(POPULATION.sample(100, seed=0), -1.0)


def test_to_run_out_of_steps_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 2)
    with pytest.raises(DataError, match="in 2 steps"):
        solve(POPULATION.sample(100, seed=0), 1e6)
