"""Candidate selection as a whole: starts, fallbacks, and searches on many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import DataError
from elfair.policies import SoftmaxPolicy
from elfair.search import Selection, Target, selection
from elfair.search.classification import Classification
from elfair.search.goals import PredictLabel
from elfair.search.problem import LEAST_MOVE, USELESS, silent
from elfair.search.selection import ASKED, SEARCHES
from elfair.statistics.decisions import decisions_of

NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]
DEFAULT = Selection("gradient", Classification(PredictLabel("accuracy")), Target(power=0.95), 0)
PAPER = Selection("cmaes", Classification(PredictLabel("accuracy")), Target(inflation=2.0), 0)
EVERY = [PAPER if name == "cmaes" else replace(DEFAULT, method=name) for name in ASKED]


@pytest.mark.parametrize("search", EVERY, ids=ASKED)
def test_the_found_policy_is_what_the_record_says(candidate_rows, make_plan, search):
    data = candidate_rows(600, 0)
    steps = 0

    def progress():
        nonlocal steps
        steps += 1

    result = search.run(data, make_plan(data), 400, progress=progress)
    policy, found = result.policy, result.best
    assert found.meets_target
    free = policy.free(found.theta, policy.inputs(data.features))
    error = np.where(data.label_index == 1, 1 - free[0], free[0]).mean()
    # The gradient search looks at smoothed labels.
    assert found.loss == pytest.approx(error, abs=1e-12 if search is PAPER else 0.03)
    assert steps > 0
    assert result.evaluations >= 1


def test_the_search_does_better_than_its_starts_and_the_behaviour_model(candidate_rows, make_plan):
    data = candidate_rows(1000, 1)
    view = view_of(data, make_plan(data), 600)
    (found,) = view.found([DEFAULT.target]).candidates
    problem = view.smooth_problem(view.best, view.starts())
    starts = [problem.look_at(start) for start in view.starts()]
    assert not any(start.meets_target and start.loss <= found.loss for start in starts)
    assert found.meets_target
    assert found.loss < 0.2


def view_of(data, plan, n_test, **options):
    policy = options.pop("policy", None) or policy_for(data)
    return selection.View(DEFAULT, policy, data, plan, n_test, None, silent, **options)


def policy_for(data):
    return SoftmaxPolicy.standardised(data.features, 2, mixed=data.behavior_model is not None)


def test_the_starts_are_label_decision_and_their_middle(candidate_rows, make_plan):
    data = candidate_rows(500, 2)
    view = view_of(data, make_plan(data), 300)
    accurate, middle, familiar = view.starts()
    np.testing.assert_allclose(middle, (accurate + familiar) / 2)

    def likelihood(theta, index):
        free = view.policy.free(theta, view.inputs)[0]
        return np.log(np.where(index == 1, free, 1 - free)).mean()

    assert likelihood(accurate, data.label_index) > likelihood(familiar, data.label_index)
    assert likelihood(familiar, data.decision_index) > likelihood(accurate, data.decision_index)
    known = candidate_rows(500, 2, model=True)
    view = view_of(known, make_plan(known), 300)
    assert [start[-1] for start in view.starts()] == [1, 1, 1]
    # What imitates the old model imitates its probabilities, where they are known.
    away = view.policy.free(view.starts()[-1], view.inputs) - known.behavior.T[1:]
    assert np.abs(away).mean() < 0.02
    undecided = LoggedData(data.features, data.label, sensitive_features=data.sensitive)
    view = view_of(undecided, make_plan(undecided, "PR <= 0.9"), 300)
    assert len(view.starts()) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_old_model_is_not_what_anybody_searches_for(candidate_rows, make_plan, seed):
    # Forty rows show nothing of a new policy, and the old one is no worse than itself.
    data = candidate_rows(40, seed, alpha=0.5, model=True)
    plan = make_plan(data, NO_WORSE)
    found = DEFAULT.run(data, plan, 10, models=20)
    itself = np.append(found.best.theta[:-1], 0.0)
    old = found.problem.look_at(itself)
    assert max(old.excess) <= 0  # it would keep every promise
    assert (old.meets_target, old.log_pass) == (False, USELESS)
    for model in found.ladder:
        free = found.policy.free(model.theta, found.problem.inputs)
        assert decisions_of(data).weights(free).moved >= LEAST_MOVE


def test_many_rows_are_explored_in_part_and_finished_on_all(candidate_rows, make_plan, monkeypatch):
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 1_000)
    data = candidate_rows(6_000, 3)
    plan = make_plan(data)
    search = DEFAULT.run(data, plan, 4_000)
    policy, found = search.policy, search.best
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 3_000)
    complete = DEFAULT.run(data, plan, 4_000).best
    assert found.meets_target
    assert complete.meets_target
    assert found.loss == pytest.approx(complete.loss, abs=0.006)
    # What it says holds on all rows, and not on the explored ones alone.
    view = view_of(data, plan, 4_000, policy=policy)
    view.best = view.starts()[0]
    seen = view.smooth_problem(view.best, [found.theta]).look_at(found.theta)
    assert seen.loss == pytest.approx(found.loss, abs=1e-3)


def test_a_group_too_rare_for_the_explored_rows_is_no_error(candidate_rows, make_plan, monkeypatch):
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 200)
    data = candidate_rows(2_000, 4)
    rare = np.zeros(data.n, dtype=int)
    rare[[3, 50, 800, 1_500]] = 1
    data.sensitive["rare"] = rare
    plan = make_plan(data, ["PR[rare == 1] <= 1.5", "accuracy >= 0.6"])
    found = DEFAULT.run(data, plan, 1_000).best
    assert found.loss < 0.2


def test_rows_that_stand_for_more_know_how_many(candidate_rows, make_plan):
    data = candidate_rows(400, 5)
    plan = make_plan(data)
    alone, many = view_of(data, plan, 4_000), view_of(data, plan, 4_000, n_candidate=6_000)
    theta = np.zeros(alone.policy.n_parameters)
    errors = [
        [prediction.levels.error for prediction in view._problem().predictions(theta)]
        for view in (alone, many)
    ]
    spreads = [prediction.spread for prediction in alone._problem().predictions(theta)]
    shares = [(data.sensitive["T"] == 0).mean(), (data.sensitive["T"] == 1).mean(), 1.0]
    for k, share in enumerate(shares):
        for error, n in zip(errors, (400, 6_000), strict=True):
            expected = spreads[k] * np.sqrt(1 / (share * 4_000) + 1 / (share * n))
            assert error[k] == pytest.approx(expected)


def test_searches_are_a_function_of_data_and_seed(candidate_rows, make_plan, monkeypatch):
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 200)
    data = candidate_rows(500, 6)
    for search in EVERY:
        found = [
            replace(search, seed=seed).run(data, make_plan(data), 300).best.theta
            for seed in (1, 1, 2)
        ]
        np.testing.assert_array_equal(found[0], found[1])
        assert (found[0] != found[2]).any()


def test_without_constraints_it_is_a_plain_classifier(candidate_rows, make_plan):
    data = candidate_rows(500, 7)
    found = DEFAULT.run(data, make_plan(data, []), 0).best
    assert found.meets_target
    assert found.log_pass == 0
    assert found.loss < 0.12


def test_three_classes(three_classes, make_plan):
    for search in EVERY:
        plan = make_plan(three_classes, ["E[impact] >= 0", "P[decision == 1] <= 0.9"])
        result = search.run(three_classes, plan, 90)
        policy, found = result.policy, result.best
        assert found.meets_target
        assert found.theta.size == policy.n_parameters == 6


def test_log_loss_as_the_objective(candidate_rows, make_plan):
    data = candidate_rows(600, 8)
    search = Selection("gradient", Classification(PredictLabel("log_loss")), Target(power=0.95), 0)
    result = search.run(data, make_plan(data), 400)
    policy, found = result.policy, result.best
    free = policy.free(found.theta, policy.inputs(data.features))[0]
    chosen = np.where(data.label_index == 1, free, 1 - free)
    assert found.loss == pytest.approx(-np.log(chosen).mean())
    assert found.meets_target


def test_every_name_in_the_table_leads_to_a_search(candidate_rows, make_plan):
    assert selection.DEFAULT in ASKED
    assert {each.trains or name for name, each in SEARCHES.items()} <= set(SEARCHES)
    assert all(each.about for each in SEARCHES.values())
    data = candidate_rows(50, 9)
    with pytest.raises(KeyError, match="grid"):
        replace(DEFAULT, method="grid").run(data, make_plan(data), 50)


def test_what_cannot_be_searched(candidate_rows):
    data = candidate_rows(50, 9)
    unlabelled = LoggedData(data.features, decision=data.decision, propensity=data.propensity)
    with pytest.raises(DataError, match="needs labels"):
        DEFAULT.task.check(unlabelled)
