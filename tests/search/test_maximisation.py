"""The search for a large expression: where it starts, what it trusts, what it reaches."""

from __future__ import annotations

import numpy as np
import pytest

import elfair
from elfair import LoggedData
from elfair.errors import DataError
from elfair.language.expressions import Mean
from elfair.language.tree import find
from elfair.policies import SoftmaxPolicy
from elfair.search import Selection, Target, tuning
from elfair.search.classification import Classification
from elfair.search.goals import Maximise, PredictLabel, goal_of
from elfair.search.selection import ASKED
from elfair.search.shrinkage import DOUBTED_ROWS, shrunk_rows
from elfair.search.tuning import tune
from elfair.statistics import Baselines, Estimation, mean_part

TARGET = Target(power=0.95)


def search_for(objective, method="gradient", target=TARGET):
    task = objective if isinstance(objective, Classification) else task_of(objective)
    return Selection(method, task, target, 0)


def task_of(objective):
    return Classification(goal_of(objective))


def free_of(policy, theta, data):
    return policy.free(theta, policy.logged(data))


def test_which_objective_is_which_goal():
    assert goal_of("log_loss") == PredictLabel("log_loss")
    for accuracy in ("accuracy", " accuracy", elfair.accuracy, "P[decision == label]"):
        assert goal_of(accuracy) == PredictLabel("accuracy")
    text = "E[profit]  -  PR"
    assert goal_of(text).objective == text
    assert goal_of(elfair.E("profit") - elfair.PR).objective == "E[profit] - PR"
    assert goal_of(text) != goal_of("E[profit]")
    assert [goal_of(each).needs_label for each in ("accuracy", "TPR", "PR")] == [True, True, False]


def test_the_first_start_takes_the_arm_that_pays_most(outreach):
    data = LoggedData(**outreach.sample(3_000, 0))
    for text, arm in (
        ("E[profit]", "visit"),
        ("E[health | race == 'B']", "call"),
        ("-E[profit]", "none"),
    ):
        task = task_of(text)
        policy = task.policy(data)
        best = task.best(policy, policy.logged(data), data)
        every = policy.probabilities(best, outreach.X, None)
        column = outreach.arms.tolist().index(arm)
        assert (outreach.share @ every)[column] > 0.8, text
        starts = task.starts(policy, policy.logged(data), data, best)
        assert len(starts) == 3


def test_whom_the_objective_does_not_speak_of_has_no_part_in_the_first_start():
    """Arm 1 is good where x = 1 and bad elsewhere, but for group 0 always very good."""
    rng = np.random.default_rng(0)
    t, x, arm = (rng.integers(0, 2, 400) for _ in range(3))
    data = LoggedData(
        x[:, None],
        sensitive_features={"T": t},
        decision=arm,
        propensity=np.full(400, 0.5),
        impact=(2 * x - 1 + 9 * (t == 0)) * arm,
    )
    for text, least in (("E[impact | T == 1]", 0.0), ("E[impact | T == 0]", 0.9)):
        task = task_of(text)
        policy = task.policy(data)
        free = free_of(policy, task.best(policy, policy.logged(data), data), data)
        assert free[0, x == 1].min() > 0.9
        assert least <= free[0, x == 0].min() <= least + 0.1


def test_a_start_where_no_row_matters(outreach):
    data = LoggedData(**outreach.sample(300, 0), positive="visit")
    task = task_of("-abs(PR - 0.3)")  # soft, both branches count alike: nothing is known
    policy = task.policy(data)
    assert not task.best(policy, policy.logged(data), data).any()
    search = Selection("gradient", task, TARGET, 0).run(data, no_plan(data), 0)
    policy, found = search.policy, search.best
    assert free_of(policy, found.theta, data)[1].mean() == pytest.approx(0.3, abs=2e-3)


def no_plan(data, constraints=()):
    from elfair.statistics.claims import read_constraints
    from elfair.statistics.plan import Plan

    claims = read_constraints(list(constraints), 0.1)
    return Plan.make(claims, "ttest", Baselines(Estimation(), data), data)


def test_impossible_decisions_are_not_dreamt_of(outreach):
    class Careful:
        classes_ = outreach.arms

        def predict_proba(self, X):
            odds = np.where(np.asarray(X)[:, :1] > 0, [[0.5, 0.5, 0.0]], [[0.4, 0.3, 0.3]])
            return odds

    rng = np.random.default_rng(1)
    X = outreach.X[rng.choice(24, size=1_000)]
    table = Careful().predict_proba(X)
    arm = (rng.random(1_000)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    data = LoggedData(X, decision=outreach.arms[arm], behavior=Careful(), impact=arm * 1.0)
    search = search_for("E[impact]")
    result = search.run(data, no_plan(data), 0)
    policy, found = result.policy, result.best
    start = free_of(policy, search.task.best(policy, policy.logged(data), data), data)
    assert start[0, X[:, 0] > 0].mean() > 0.95
    free = free_of(policy, found.theta, data)
    assert (free[1, X[:, 0] > 0] == 0).all()  # no visit
    assert free[0, X[:, 0] > 0].mean() > 0.95  # the best of what is left
    assert free[1, X[:, 0] <= 0].mean() > 0.95


def test_the_worse_off_group_at_its_best_against_every_policy_of_a_grid():
    """Arm 1 helps group 1 and harms group 0: at the kink both are equally well off."""
    rng = np.random.default_rng(2)
    t, x, arm = rng.integers(0, 2, 500), rng.normal(size=(500, 1)), rng.integers(0, 2, 500)
    gain = np.where(t == 1, 1.5 * arm, 1.0 - arm) + 0.3 * arm * x[:, 0] + rng.normal(0, 0.3, 500)
    data = LoggedData(
        x,
        sensitive_features={"T": t},
        decision=arm,
        propensity=np.full(500, 0.5),
        impact=1000 * gain,
    )
    search = search_for("min(E[impact | T == 0], E[impact | T == 1])")
    result = search.run(data, no_plan(data), 0)
    policy, found = result.policy, result.best
    best = search.task.best(policy, policy.logged(data), data)
    shrunk = search.task.loss(data, free_of(policy, best, data))
    grid = np.array([(a, b) for a in np.linspace(-8, 8, 61) for b in np.linspace(-8, 8, 61)])
    least = shrunk.value(free_of(policy, grid, data)).min()
    assert shrunk.value(free_of(policy, found.theta, data)) <= least + 1e-4


def true_values(outreach, task, n, draws, objective):
    reached = []
    for seed in range(draws):
        data = LoggedData(**outreach.sample(n, seed))
        search = Selection("gradient", task, TARGET, 0).run(data, no_plan(data), 0)
        policy, found = search.policy, search.best
        reached.append(
            outreach.value(objective, policy.probabilities(found.theta, outreach.X, None))
        )
    return np.array(reached)


class Lucky(Maximise):
    """The same search, trusting the weighted rows as they are."""

    def loss(self, data, model=None):
        return super().loss(data)


def test_shrunk_means_reach_more_than_luck(outreach):
    outreach.means["profit"] = 0.3 * outreach.means["profit"] ** 2  # less to see in the noise
    shrinking = task_of("E[profit]")
    lucky = Classification(Lucky("E[profit]", shrinking.goal.expression))
    few = [true_values(outreach, task, 150, 60, "profit") for task in (shrinking, lucky)]
    gain = few[0] - few[1]
    assert gain.mean() > 2 * gain.std() / np.sqrt(gain.size)


def test_with_many_rows_the_weighted_rows_are_trusted(outreach):
    data = LoggedData(**outreach.sample(6_000, 0))
    means = find(goal_of("E[profit | race == 'A']").expression, Mean)
    free = np.full((2, data.n), 1 / 3)
    (shrunk,) = shrunk_rows(means, data, [free])
    (predicted,) = shrunk_rows(means, data, [])
    weighted = mean_part(means[0], data, Baselines(Estimation(), data)).rows
    inside = weighted.index.size
    assert inside < data.n
    slopes = [rows.slope.ravel() for rows in (shrunk, predicted, weighted)]
    kept = np.dot(slopes[0] - slopes[1], slopes[2] - slopes[1]) / np.sum(
        (slopes[2] - slopes[1]) ** 2
    )
    assert kept >= inside / (inside + DOUBTED_ROWS) - 1e-12


@pytest.mark.parametrize("method", ASKED)
def test_a_constraint_is_kept_in_mind(outreach, method):
    data = LoggedData(**outreach.sample(1_500, 3))
    text = "E[health | race == 'B'] >= E_logged[health | race == 'B']"
    target = TARGET if method == "gradient" else Target(inflation=2.0)
    search = search_for("E[profit]", method, target).run(data, no_plan(data, [text]), 1_000)
    policy, found = search.policy, search.best
    assert found.meets_target
    every = policy.probabilities(found.theta, outreach.X, None)
    assert outreach.value("profit", every) > outreach.value("profit", outreach.behavior) + 0.05
    in_b = outreach.race == "B"
    assert outreach.value("health", every, in_b) > outreach.value("health", outreach.behavior, in_b)


def test_tuning_judges_by_the_objective_in_shares_of_its_range(outreach, monkeypatch):
    """A search that goes the wrong way is told from one that goes the right way, in any unit."""
    worths = []
    judge = tuning._delivered
    monkeypatch.setattr(
        tuning, "_delivered", lambda *given: worths.append(judge(*given)) or worths[-1]
    )

    def make(parameters, rows):
        right = parameters["power"] == 0.9
        goal = goal_of("E[profit]") if right else Contrary("E[profit]", WRONG)
        return Selection("gradient", Classification(goal), TARGET, 0), no_plan(rows)

    for unit in (1.0, 1e6):
        sample = outreach.sample(900, 4)
        sample["impact"]["profit"] = unit * sample["impact"]["profit"]
        chosen = tune({"power": [0.5, 0.9]}, LoggedData(**sample), 600, make, 0)
        assert chosen == {"power": 0.9}
    assert all(0 < worth < 1 for worth in worths)
    half = len(worths) // 2
    np.testing.assert_allclose(worths[:half], worths[half:], rtol=1e-3)


WRONG = goal_of("-E[profit]").expression


class Contrary(Maximise):
    """It searches for little profit, and is judged by profit."""

    def loss(self, data, model=None):
        return task_of("E[profit]").loss(data) if model is None else super().loss(data, model)


def test_what_was_never_taken_is_not_known(outreach):
    sample = outreach.sample(200, 5)
    data = LoggedData(**sample, classes=["call", "none", "sms", "visit"])
    with pytest.raises(DataError, match=r"(?s)'sms' was never taken in 200 rows.*Hint"):
        goal_of("E[profit]").check_decisions(data)
    goal_of("P[decision == 'sms']").check_decisions(data)  # nothing but the decision is asked for
    goal_of("accuracy").check_decisions(data)
    # A decision that could have been taken, and was not, is bad luck.
    rare = np.tile([0.3, 0.3, 0.001, 0.399], (200, 1))
    sample.pop("propensity")
    lucky = LoggedData(**sample, behavior=rare, classes=["call", "none", "sms", "visit"])
    goal_of("E[profit]").check_decisions(lucky)


def test_labels_are_needed_where_the_objective_speaks_of_them(outreach):
    data = LoggedData(**outreach.sample(100, 6))
    assert isinstance(task_of("E[profit]").policy(data), SoftmaxPolicy)
    with pytest.raises(DataError, match="needs labels"):
        task_of("TPR").check(data)
    task_of("E[profit]").check(data)
