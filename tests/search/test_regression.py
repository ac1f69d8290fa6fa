"""The task of a regression: its loss, its policy, its starts, and what shrunk means make of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from elfair.data import ContinuousData
from elfair.errors import DataError
from elfair.populations import Dosage
from elfair.search import Problem, Target
from elfair.search.regression import Regression, SquaredLoss
from elfair.search.requirements import requirements_of
from elfair.search.shrinkage import shrunk_means
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.decisions import thresholds_of
from elfair.statistics.plan import Plan

TASK = Regression("mse", (0.1, 0.9), 1.5)
CONSTRAINTS = (
    "E[impact | T == 1] >= E_logged[impact | T == 1]",
    "P[decision >= 5 | T == 0] >= 0.2",
    "abs(E[decision | T == 0] - E[decision | T == 1]) <= 0.5",
    "mse[T == 1] <= 3",
)


def rows(n=400, seed=0, constraints=CONSTRAINTS, **changes):
    draw = Dosage().sample(n, seed)
    claims = read_constraints(constraints, 0.1)
    given = {
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "behavior_spread": 1.0,
        "impact": draw.impact,
        **changes,
    }
    data = ContinuousData(draw.features, given.pop("y", draw.label), **given)
    return data.changed(
        thresholds=thresholds_of(mean for c in claims for _, mean in c.conjunct.form.terms)
    )


def plan_of(data, estimator="paired", constraints=CONSTRAINTS):
    baselines = Baselines(Estimation(estimator), data)
    claims = read_constraints(constraints, 0.1)
    return Plan.make(claims, "ttest", baselines, data)


# -- loss --------------------------------------------------------------------------------------


def test_the_loss_is_the_expected_squared_error_as_a_share():
    data = rows()
    policy = TASK.policy(data)
    theta = np.array([2.0, 5.0, -3.0, 1.0, 4.0])
    mean, spread = policy.moments(theta, data.features)
    expected = np.mean((data.label - mean) ** 2 + spread**2) / data.label.var()
    loss = TASK.loss(data)
    free = policy.free(theta, policy.logged(data))
    assert float(loss.value(free)) == pytest.approx(expected)
    population = np.array([free, free[:, ::-1]])
    np.testing.assert_allclose(loss.value(population)[0], expected)
    step = 1e-4 * np.random.default_rng(0).normal(size=free.shape)
    change = loss.value(free + step) - loss.value(free - step)
    assert np.vdot(loss.gradient(free), 2 * step) == pytest.approx(float(change))


def test_the_worst_that_counts_is_twice_as_bad_as_the_log_or_the_mean():
    label = np.array([0.0, 2.0])
    assert SquaredLoss(label).maximum == 2.0
    assert SquaredLoss(label, np.array([0.5, 2.0])).maximum == 2.0
    assert SquaredLoss(label, np.array([3.0, 5.0])).maximum == 18.0


# -- policy and starts -------------------------------------------------------------------------


def test_the_spread_is_within_its_shares_of_the_smallest_known():
    policy = Regression("mse", (0.2, 0.5), 1.5).policy(rows(behavior_spread=np.linspace(2, 4, 400)))
    assert (policy.smallest, policy.largest) == pytest.approx((0.4, 1.0))


def test_no_mean_is_out_of_reach_of_the_usual_decision():
    """However far labels are from logged decisions; and what no impact is estimated for is free."""
    task = Regression("mse", (0.2, 0.5), 1.5)
    spread = np.linspace(2, 4, 400)
    data = rows(behavior_spread=spread, behavior_mean=5.0, propensity=None)
    data = data.changed(label=data.label + 1_000)
    policy = task.policy(data)
    assert policy.reach == pytest.approx(1.5 * 2)
    best = task.best(policy, policy.logged(data), data)
    mean, _ = policy.moments(best, data.features)
    np.testing.assert_allclose(mean, 5 + policy.reach)
    assert task.policy(rows(impact=None)).reach == np.inf


def test_without_a_behaviour_model_the_unit_is_what_labels_have_beyond_a_line():
    data = rows(behavior_spread=None)
    fitted = LinearRegression().fit(data.features, data.label)
    unit = (data.label - fitted.predict(data.features)).std()
    policy = TASK.policy(data)
    assert (policy.smallest, policy.largest) == pytest.approx((0.1 * unit, 0.9 * unit))


def test_labels_on_a_line_leave_some_spread():
    data = rows(y=np.arange(400.0), behavior_spread=None)
    data.matrix = np.arange(400.0)[:, None]
    assert TASK.policy(data).smallest == pytest.approx(1e-4 * data.label.std())


def test_the_best_policy_is_least_squares_with_little_spread():
    data = rows(impact=None)
    policy = TASK.policy(data)
    inputs = policy.logged(data)
    best = TASK.best(policy, inputs, data)
    fitted = LinearRegression().fit(data.features, data.label)
    mean, spread = policy.moments(best, data.features)
    np.testing.assert_allclose(mean, fitted.predict(data.features))
    assert spread == pytest.approx(0.1)
    first, middle, familiar = TASK.starts(policy, inputs, data, best)
    assert first is best
    np.testing.assert_allclose(2 * middle, best + familiar)
    imitated = LinearRegression().fit(data.features, data.usual).predict(data.features)
    mean, spread = policy.moments(familiar, data.features)
    np.testing.assert_allclose(mean, imitated)
    assert spread == pytest.approx(0.9)


def test_without_decisions_there_is_nobody_to_imitate():
    data = rows(decision=None, propensity=None)
    policy = TASK.policy(data)
    inputs = policy.logged(data)
    best = TASK.best(policy, inputs, data)
    assert len(TASK.starts(policy, inputs, data, best)) == 1


def test_labels_are_needed():
    with pytest.raises(DataError, match="objective='mse' needs labels"):
        TASK.check(rows(y=None))


# -- the search's view -------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["paired", "dr"])
@pytest.mark.parametrize("shrinking", [False, True])
def test_gradients_against_finite_differences(estimator, shrinking):
    data = rows(200)
    policy, plan = TASK.policy(data), plan_of(data, estimator)
    inputs, compiled = policy.logged(data), plan.compile(data)
    theta = np.array([1.0, 4.0, 2.0, -1.0, 5.0])
    shrunk = None
    if shrinking:
        shrunk = shrunk_means(plan, compiled, data, [policy.free(theta, inputs)])
    requirements = requirements_of(compiled, Target(power=0.95), 0.7, shrunk=shrunk)
    problem = Problem(policy, inputs, TASK.loss(data), requirements)
    gradients = problem.loss_and_excess_gradients(theta).copy()
    log_pass = problem.log_pass_gradient(theta).copy()
    step = 1e-5
    for i in range(theta.size):
        seen = []
        for sign in (1, -1):
            moved = theta.copy()
            moved[i] += sign * step
            candidate = problem.look_at(moved)
            seen.append(np.array([candidate.loss, *candidate.excess, candidate.log_pass]))
        numeric = (seen[0] - seen[1]) / (2 * step)
        np.testing.assert_allclose(gradients[:, i], numeric[:-1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(log_pass[i], numeric[-1], rtol=1e-4, atol=1e-4)


def test_populations_have_the_excess_of_their_policies():
    data = rows(200)
    policy = TASK.policy(data)
    inputs = policy.logged(data)
    rng = np.random.default_rng(1)
    population = 10 * np.column_stack([rng.normal(size=(4, 4)) * 0.3, rng.random(4)])
    free = policy.free(population, inputs)
    for claim in plan_of(data).compile(data):
        (requirement,) = requirements_of([claim], Target(power=0.95), 0.7)
        expected = [requirement.predict(one).excess for one in free]
        np.testing.assert_allclose(requirement.excess(free), expected, rtol=1e-9)


def test_a_right_model_of_the_impact_makes_means_sharper():
    """Impacts are quadratic in the dose: the shrunk mean's error is that of few coefficients."""
    text = "E[impact] >= E_logged[impact]"
    population = Dosage()
    policy = theta = None
    errors = {"rows": [], "shrunk": []}
    shares = []
    for seed in range(60):
        data = rows(300, seed, text)
        if policy is None:
            policy = TASK.policy(data)
            theta = TASK.best(policy, policy.logged(data), data) + np.array([0, 0, 0, 0, 3.0])
        free = policy.free(theta, policy.logged(data))
        plan = plan_of(data, constraints=text)
        (claim,) = compiled = plan.compile(data)
        ((mean,),) = shrunk_means(plan, compiled, data, [free])
        at = np.vstack([np.zeros(3), np.eye(3)])
        means, spread = policy.moments(theta, at)
        linear = type(population.behavior)(float(means[0]), means[1:] - means[0], spread)
        truth = 0.6 * population.violation(linear, 0) + 0.4 * population.violation(linear, 1)
        errors["rows"].append(claim.parts[0].rows.values(free).mean() - truth)
        errors["shrunk"].append(mean.rows.values(free).mean() - truth)
        shares.append(mean.share)
    spread = {name: np.std(values) for name, values in errors.items()}
    assert spread["shrunk"] < 0.7 * spread["rows"]
    assert abs(np.mean(errors["shrunk"])) <= 4 * spread["shrunk"] / np.sqrt(60)
    # What it says of its own error is about right.
    claimed = np.sqrt(np.mean(shares)) * spread["rows"]
    assert 0.6 * spread["shrunk"] <= claimed <= 1.6 * spread["shrunk"]
