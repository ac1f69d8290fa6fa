"""Constrained gradient steps: what they find, and which rows have a say in it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from elfair import ELFClassifier, LoggedData
from elfair.data.digests import is_module
from elfair.errors import InputError
from elfair.policies.torch_module import TorchPolicy
from elfair.populations import FosterCare
from elfair.search import Selection, Target, steps
from elfair.search.classification import Classification, ModuleFamily
from elfair.search.goals import PredictLabel
from elfair.search.steps import fit_by_steps

TARGET = Target(power=0.95)


def linear(seed=0, inputs=5, outputs=2):
    torch.manual_seed(seed)
    return nn.Linear(inputs, outputs).double()


def network(seed=0, inputs=2, hidden=16, outputs=2):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))


def by_steps(module, objective="accuracy", seed=0):
    return Selection(
        "steps", Classification(PredictLabel(objective), ModuleFamily(module)), TARGET, seed
    )


def test_a_weighted_gradient_is_the_weighted_sum_of_gradients(candidate_rows, make_problem):
    problem = make_problem(candidate_rows(200, 0))
    theta = np.random.default_rng(0).normal(size=problem.policy.n_parameters)
    weights = np.array([1.0, 0.5, 2.0, 0.0])
    expected = weights @ problem.loss_and_excess_gradients(theta)
    np.testing.assert_allclose(problem.weighted_gradient(theta, weights), expected)


def test_a_linear_module_does_about_as_well_as_the_linear_search(candidate_rows, make_plan):
    data, fresh = candidate_rows(3_000, 0), candidate_rows(20_000, 1)
    plan = make_plan(data)
    task = Classification(PredictLabel("accuracy"))
    exact = Selection("gradient", task, TARGET, 0).run(data, plan, 2000).best
    result = by_steps(linear()).run(data, plan, 2_000)
    policy, found = result.policy, result.best
    assert exact.meets_target
    assert found.meets_target
    assert result.evaluations > 100
    free = policy.free(found.theta, policy.logged(fresh))[0]
    error = np.where(fresh.label_index == 1, 1 - free, free).mean()
    assert error < exact.loss + 0.03
    # The constraints bind: the most accurate module alone would not do.
    rows = policy.logged(data), data.label_index
    accurate = policy.free(fit_by_steps(policy, rows, rows), policy.logged(fresh))
    compiled = plan.compile(fresh)
    worst = [
        max(c.parts[0].rows.values(p).mean() for c in compiled) for p in (accurate, free[None])
    ]
    assert worst[1] < 0 < worst[0]


def test_gradients_never_see_the_judging_rows(candidate_rows, make_plan, monkeypatch):
    data, seen = candidate_rows(400, 1), {}
    take = LoggedData.take

    def noted(rows, index):
        part = take(rows, index)
        seen.setdefault(len(seen), part)
        return part

    monkeypatch.setattr(LoggedData, "take", noted)
    policies = []
    pull_back = TorchPolicy.pull_back
    monkeypatch.setattr(
        TorchPolicy, "pull_back", lambda *given: policies.append(given[2]) or pull_back(*given)
    )
    search = by_steps(linear()).run(data, make_plan(data), 300)
    policy, found = search.policy, search.best
    judging, training = seen[0], seen[1]
    assert judging.n == 160
    assert training.n == 240
    judged = set(judging.features[:, 3])
    assert not judged & set(training.features[:, 3])
    expected = policy.logged(training).rows
    assert policies
    assert all(torch.equal(inputs.rows, expected) for inputs in policies)
    # What is reported is what the judging rows say.
    free = policy.free(found.theta, policy.logged(judging))[0]
    assert found.loss == pytest.approx(np.where(judging.label_index == 1, 1 - free, free).mean())


def test_fitting_stops_where_rows_that_are_not_fitted_get_worse():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)  # nothing to learn
    policy = TorchPolicy.over(network(hidden=64), X, 2)
    half = (policy.inputs(X[:60]), y[:60]), (policy.inputs(X[60:]), y[60:])

    def loss(theta, rows):
        free = policy.free(theta, rows[0])[0]
        return -np.log(np.where(rows[1] == 1, free, 1 - free)).mean()

    fitted, overfitted = fit_by_steps(policy, *half), fit_by_steps(policy, half[0], half[0])
    assert loss(fitted, half[1]) <= loss(policy.start, half[1])
    assert loss(overfitted, half[0]) < 0.5
    assert loss(overfitted, half[1]) > loss(fitted, half[1]) + 0.2


def test_steps_are_a_function_of_data_and_seed(candidate_rows, make_plan, monkeypatch):
    monkeypatch.setattr(steps, "STEPS", 20)
    data = candidate_rows(300, 2)
    thetas = [
        by_steps(linear(), seed=seed).run(data, make_plan(data), 200).best.theta
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(thetas[0], thetas[1])
    assert (thetas[0] != thetas[2]).any()


@pytest.mark.parametrize("seed", range(3))
def test_with_a_behaviour_model_it_is_the_last_resort(candidate_rows, make_plan, seed):
    data = candidate_rows(60, seed, alpha=0.5, model=True)
    no_worse = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]
    search = by_steps(linear()).run(data, make_plan(data, no_worse), 10)
    policy, found = search.policy, search.best
    assert found.meets_target
    assert 0 <= found.theta[-1] <= 1
    if found.theta[-1] == 0:
        free = policy.free(found.theta, policy.logged(data))
        np.testing.assert_array_equal(free, data.behavior.T[1:])


def xor(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    X, decision = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return {
        "X": X,
        "y": y,
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": (decision == y) + rng.normal(size=n),
    }


CONSTRAINTS = ["E[impact] >= E_logged[impact]", "accuracy >= 0.75"]


def test_a_network_where_a_linear_model_knows_nothing():
    given, fresh = xor(), xor(seed=1)
    module = network()
    before = [value.clone() for value in module.parameters()]
    clf = ELFClassifier(CONSTRAINTS, scorer=module).fit(**given)
    assert clf.solution_found_
    assert clf.score(fresh["X"], fresh["y"]) > 0.85
    assert clf.certificate_.search.method == "steps"
    assert all(map(torch.equal, before, module.parameters()))
    assert not ELFClassifier(CONSTRAINTS).fit(**given).solution_found_
    (scorer,) = (a for a in clf.certificate_.assumptions if a.code == "scorer_not_fitted")
    assert (scorer.status, "Sequential" in scorer.evidence) == ("assumed", True)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(given["X"]), clf.predict_proba(given["X"]))
    assert again.decide(given["X"][:5]).propensity.min() > 0


def test_a_network_for_each_fold():
    given = xor(1_000)
    clf = ELFClassifier(CONSTRAINTS, scorer=network(), split="crossfit", folds=2).fit(**given)
    assert len(clf.fitted_.models) == 2
    assert clf.solution_found_
    assert clf.score(given["X"], given["y"]) > 0.75


def test_three_classes_and_log_loss(three_classes, make_plan):
    plan = make_plan(three_classes, ["E[impact] >= 0", "P[decision == 1] <= 0.9"])
    module = network(inputs=2, outputs=3)
    search = by_steps(module, "log_loss").run(three_classes, plan, 90)
    policy, found = search.policy, search.best
    assert found.meets_target
    assert found.loss < 1.3
    assert found.theta.size == policy.n_parameters == 2 * 16 + 16 + 16 * 3 + 3


def test_a_module_can_be_tuned_against_a_linear_model(monkeypatch):
    monkeypatch.setattr(steps, "STEPS", 100)
    grid = {"scorer": [None, network()]}
    clf = ELFClassifier("accuracy >= 0.7", candidate_tuning=grid).fit(**xor(1_000))
    assert is_module(clf.tuned_["scorer"])


def test_cmaes_is_for_very_small_modules():
    draw, population = FosterCare().sample(1_000, 0), FosterCare()
    clf = ELFClassifier(population.constraints, scorer=linear(), search="cmaes").fit(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        impact=draw.impact,
    )
    assert clf.certificate_.search.method == "cmaes"
    assert clf.certificate_.search.meets_target
    with pytest.raises(InputError, match=r"(?s)at most 200 param.*with 322.*Hint"):
        by_steps(network(hidden=64)).task.method("cmaes")


@pytest.mark.parametrize("scorer", [None, network()])
def test_steps_is_no_search_to_ask_for(scorer):
    with pytest.raises(InputError, match=r"search must be 'gradient' .* or 'cmaes' .* Got 'steps'"):
        ELFClassifier(CONSTRAINTS, scorer=scorer, search="steps").fit(**xor(100))


def test_a_module_with_the_wrong_number_of_outputs():
    with pytest.raises(InputError, match=r"logits of shape \(100, 2\).*Got shape \(100, 3\)"):
        ELFClassifier(CONSTRAINTS, scorer=network(outputs=3)).fit(**xor(300))
