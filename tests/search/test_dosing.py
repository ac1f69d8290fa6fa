"""Making an expression large by numbers: range, reach, starts, gradients, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.data import ContinuousData
from elfair.errors import ConstraintError, DataError, InputError
from elfair.language.build import E, mse
from elfair.policies.gaussian import FINENESS
from elfair.populations import Dosage
from elfair.search import Problem, Selection, Target
from elfair.search.regression import Dosing, Regression, task_of
from elfair.search.selection import ASKED
from elfair.statistics import Baselines, Estimation
from elfair.statistics.decisions import thresholds_of
from elfair.statistics.plan import Plan

SPREAD = (0.2, 0.9)
REACH = 1.75
TEXTS = [
    "E[impact]",
    "E[impact | T == 1]",
    "E[impact] - 0.1 * E[decision]",
    "-mse[T == 1]",
    "min(E[impact | T == 0], E[impact | T == 1])",
    "E[impact] * P[decision >= 5]",
    "E[impact] / (1 + mse)",
    "-abs(E[decision | T == 0] - E[decision | T == 1]) - 0.1 * mse",
    "CVaR[impact, 0.2] + median[impact | T == 0]",
]


def rows(task, n=300, seed=0, **changes):
    draw = Dosage().sample(n, seed)
    given = {
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "behavior_spread": 1.0,
        "impact": draw.impact,
        **changes,
    }
    data = ContinuousData(draw.features, given.pop("y", draw.label), **given)
    return data.changed(thresholds=thresholds_of(task.means))


def searched(task, data, method="gradient"):
    plan = Plan.make((), "ttest", Baselines(Estimation(), data), data)
    search = Selection(method, task, Target(power=0.95), 0).run(data, plan, 0)
    policy, found = search.policy, search.best
    return policy, found


@pytest.mark.parametrize("objective", ["mse", " mse", "-mse", mse(), -mse()], ids=str)
def test_the_squared_error_is_made_small_however_it_is_written(objective):
    task = task_of(objective, SPREAD, REACH)
    assert type(task) is Regression
    assert task.needs_label


def test_the_objective_is_kept_as_written():
    assert task_of("E[impact]  - 2*mse", SPREAD, REACH).objective == "E[impact]  - 2*mse"
    assert task_of(E("impact"), SPREAD, REACH).objective == "E[impact]"
    assert not task_of(E("impact"), SPREAD, REACH).needs_label


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("smoothing", [False, True])
def test_gradients_against_finite_differences(text, smoothing):
    task = task_of(text, SPREAD, REACH)
    data = rows(task)
    policy = task.policy(data)
    inputs = policy.logged(data)
    for theta in (np.array([1.0, 4, 2, -1, 5]), np.array([18.0, 9, 2, -1, 5])):  # near, and far off
        free = policy.free(theta, inputs)
        here = task.at(data, free)
        problem = Problem(policy, inputs, here.loss(data, free if smoothing else None), [])
        gradient = problem.loss_and_excess_gradients(theta)[0].copy()
        step = 1e-5
        numeric = [
            (problem.look_at(theta + move).loss - problem.look_at(theta - move).loss) / (2 * step)
            for move in step * np.eye(theta.size)
        ]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("text", TEXTS[:-1])
def test_policies_near_the_log_lie_in_the_range(text):
    """The loss goes from 0 to 1 over what an outcome model expects of shifted decisions."""
    task = task_of(text, SPREAD, REACH)
    data = rows(task, 4_000)
    policy = task.policy(data)
    inputs = policy.logged(data)
    usual = task.starts(policy, inputs, data, task.best(policy, inputs, data))[-1]
    policies = usual + np.outer([-6, -3, 0, 3, 6], np.eye(5)[0])
    values = task.loss(data, policy.free(usual, inputs)).value(policy.free(policies, inputs))
    assert ((values > -0.1) & (values < 1.1)).all()
    assert task.loss(data).maximum == 2


def test_a_constant_impact_has_no_range():
    task = task_of("E[impact]", SPREAD, REACH)
    data = rows(task, impact=np.ones(300))
    policy = task.policy(data)
    free = policy.free(np.zeros(5), policy.logged(data))
    assert np.isfinite(task.loss(data, free).value(free))


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize(("text", "sign"), [("E[impact]", 1), ("-E[impact]", -1)])
def test_the_search_goes_as_far_as_the_log_reaches(text, sign, method):
    """Impacts rise with the dose far beyond the doses that anybody was given."""
    task = task_of(text, SPREAD, REACH)
    data = rows(task, 2_000)
    policy, found = searched(task, data, method)
    usual = Dosage().behavior.mean(data.features)
    away = sign * (policy.moments(found.theta, data.features)[0] - usual)
    assert 0.75 * REACH < away.mean() < 1.05 * REACH
    assert away.max() < 1.2 * REACH  # the usual decision is estimated


def test_a_model_that_curves_upwards_does_not_pull_the_search_out():
    rng = np.random.default_rng(3)
    task = task_of("E[impact]", SPREAD, REACH)
    data = rows(task, 500)
    data.impacts["impact"] = (data.decision - 5) ** 2 + rng.normal(size=500)
    policy, found = searched(task, data)
    away = policy.moments(found.theta, data.features)[0] - Dosage().behavior.mean(data.features)
    assert 0.5 * REACH < np.abs(away).mean() < 1.1 * REACH


def test_what_is_known_whatever_is_decided_has_no_reach():
    """Labels may be far from logged decisions."""
    task = task_of("-mse - 0 * E[decision]", SPREAD, REACH)
    assert isinstance(task, Dosing)
    data = rows(task, impact=None)
    data.label = data.label + 20
    policy, found = searched(task, data)
    missed = data.label.mean() - policy.moments(found.theta, data.features)[0].mean()
    assert abs(missed) < 0.05


def test_the_first_start_is_the_best_shift_and_the_last_imitates():
    for text, sign in (("E[impact]", 1), ("-E[impact]", -1), ("CVaR[impact, 0.5]", 1)):
        task = task_of(text, SPREAD, REACH)
        data = rows(task, 1_000, y=None)
        policy = task.policy(data)
        inputs = policy.logged(data)
        best = task.best(policy, inputs, data)
        starts = task.starts(policy, inputs, data, best)
        assert starts[0] is best
        first, last = (policy.moments(theta, data.features)[0] for theta in (best, starts[-1]))
        np.testing.assert_allclose(sign * (first - last), REACH, atol=0.15)
        assert last.mean() == pytest.approx(data.usual.mean())


def test_without_labels_the_policy_is_scaled_by_decisions():
    task = task_of("E[impact]", SPREAD, REACH)
    data = rows(task, y=None)
    policy = task.policy(data)
    assert policy.level == pytest.approx(data.decision.mean())
    assert policy.unit == pytest.approx(data.decision.std() / FINENESS)
    assert (policy.smallest, policy.largest) == pytest.approx(SPREAD)


def test_what_is_missing():
    task = task_of("E[impact] - mse", SPREAD, REACH)
    with pytest.raises(DataError, match="needs labels"):
        task.check(rows(task, y=None))
    task = task_of("E[decision]", SPREAD, REACH)
    with pytest.raises(DataError, match="neither y nor decision was given"):
        task.check(rows(task, y=None, decision=None, propensity=None))
    task = task_of("P[T == 1]", SPREAD, REACH)
    with pytest.raises(ConstraintError, match="does not depend on the new model's decisions"):
        task.check(rows(task))


@pytest.mark.parametrize(
    ("objective", "kind", "words"),
    [
        ("msee", InputError, "objective must be 'mse' or an expression to maximise"),
        ("log_loss", InputError, "objective must be 'mse' or an expression"),
        ("impact", InputError, r"to make an impact large, write 'E\[impact\]'"),
        ("mse[T == 1]", ConstraintError, "would make an error large"),
        ("E_logged[impact]", ConstraintError, "does not depend on the new model"),
        ("E[impact] >= 2", ConstraintError, "inequality|>="),
        ("3", ConstraintError, "holds no statistic"),
    ],
)
def test_objectives_that_make_no_sense(objective, kind, words):
    with pytest.raises(kind, match=words) as caught:
        task_of(objective, SPREAD, REACH)
    assert str(caught.value).count("\nHint: ") == 1
