"""A problem as a function of theta: derivatives, memory, and which candidate is better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from elfair.search import Target

CONSTRAINTS = [
    "E[impact | T == 1] >= E_logged[impact | T == 1]",
    "abs(PR[T == 0] - PR[T == 1]) <= 0.3",
    "accuracy >= 0.5",
]


@pytest.mark.parametrize("target", [Target(power=0.9), Target(inflation=2.0, xi=0.1)])
@pytest.mark.parametrize("objective", ["accuracy", "log_loss"])
@pytest.mark.parametrize("kind", ["two classes", "mixed", "three classes"])
def test_gradients_by_theta_against_finite_differences(
    candidate_rows, three_classes, make_problem, target, objective, kind
):
    data = three_classes
    if kind != "three classes":
        data = candidate_rows(120, 3, model=kind == "mixed")
    problem = make_problem(data, CONSTRAINTS, target=target, objective=objective)
    theta = 0.5 * np.random.default_rng(1).normal(size=problem.policy.n_parameters)
    if kind == "mixed":
        theta[-1] = 0.6
    gradients = problem.loss_and_excess_gradients(theta)
    log_pass = problem.log_pass_gradient(theta)
    assert gradients.shape == (5, theta.size)  # the loss, and four statements
    step = 1e-6
    for i in range(theta.size):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        ends = [problem.look_at(end) for end in (ahead, behind)]
        values = [np.append(end.loss, end.excess) for end in ends]
        numeric = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=1e-5, atol=1e-7)
        change = (ends[0].log_pass - ends[1].log_pass) / (2 * step)
        assert log_pass[i] == pytest.approx(change, rel=1e-5, abs=1e-6)


def test_the_pass_probability_is_that_of_every_test(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(200, 0))
    theta = np.zeros(problem.policy.n_parameters)
    scores = [prediction.score for prediction in problem.predictions(theta)]
    assert np.exp(problem.look_at(theta).log_pass) == pytest.approx(np.prod(ndtr(scores)))


def test_a_policy_is_evaluated_once(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(200, 0))
    theta = np.zeros(problem.policy.n_parameters)
    first = problem.look_at(theta)
    problem.loss_and_excess_gradients(theta)
    problem.log_pass_gradient(theta)
    assert problem.look_at(theta) is first
    assert problem.evaluations == 1
    # An optimiser that writes into its own array must be noticed, and must not change the past.
    theta += 0.1
    assert problem.look_at(theta).loss != first.loss
    assert problem.evaluations == 2
    assert (first.theta == 0).all()


def test_which_candidate_is_better(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(200, 0))
    seen = problem.look_at(np.zeros(problem.policy.n_parameters))
    good = replace(seen, meets_target=True, loss=0.2, log_pass=-3.0)
    bad = replace(seen, meets_target=False, loss=0.1, log_pass=-1.0)
    assert good.better_than(None)
    assert bad.better_than(None)
    assert good.better_than(bad)
    assert not bad.better_than(good)
    assert replace(good, loss=0.1, log_pass=-9.0).better_than(good)
    assert replace(bad, log_pass=-0.5, loss=0.9).better_than(bad)
    assert not replace(bad, log_pass=-1.5, loss=0.0).better_than(bad)


def test_next_to_the_behaviour_model_a_small_excess_is_not_good_enough(
    candidate_rows, make_problem
):
    data = candidate_rows(100, 1, model=True)
    problem = make_problem(data, CONSTRAINTS[0], target=Target(power=0.999))
    theta = np.zeros(problem.policy.n_parameters)
    theta[0] = -3.0  # hardly anyone is helped
    theta[-1] = 1e-8
    near = problem.look_at(theta)
    assert 0 < near.excess[0] < 1e-6
    assert not near.meets_target
    theta[-1] = 0.0
    assert problem.look_at(theta).meets_target
    assert problem.look_at(theta).log_pass == 0
