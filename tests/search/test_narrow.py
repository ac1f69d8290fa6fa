"""The search where decisions are many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from elfair import ELFClassifier, LoggedData
from elfair.policies import SoftmaxPolicy
from elfair.search import Selection, Target, narrow, selection
from elfair.search.classification import Classification
from elfair.search.goals import goal_of
from elfair.search.narrow import FOLDS, MANY, Directions, NarrowInputs, NarrowPolicy
from elfair.search.problem import silent

NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


class Shelf:
    """People with a taste in two features, items that suit tastes, and an old model that knows
    about one of them. What is liked best is not what does most good.
    """

    def __init__(self, n_items, seed=0):
        rng = np.random.default_rng(seed)
        self.items = rng.standard_normal((n_items, 2))
        self.good = rng.normal(0, 0.4, n_items)

    def effect(self, X):
        return 0.6 * X[:, :2] @ self.items.T + self.good

    def old(self, X):
        odds = np.exp(0.6 * X[:, :1] @ self.items[:, :1].T)
        return 0.8 * odds / odds.sum(axis=1, keepdims=True) + 0.2 / len(self.items)

    def draw(self, n, seed, *, labels=True, behavior=False):
        rng = np.random.default_rng(seed)
        X, effect = (people := rng.standard_normal((n, 4))), self.effect(people)
        old = self.old(X)
        decision = (rng.random(n)[:, None] > old.cumsum(axis=1)).sum(axis=1)
        liked = 2 * effect + 2 * X[:, 2:3] * self.items[:, :1].T + rng.gumbel(size=effect.shape)
        own = np.arange(n), decision
        return {
            "X": X,
            "y": liked.argmax(axis=1) if labels else None,
            "sensitive_features": {"T": rng.integers(0, 2, n)},
            "decision": decision,
            "impact": effect[own] + rng.normal(0, 0.5, n),
            **({"behavior": old} if behavior else {"propensity": old[own]}),
        }


def gains(shelf, clf, n=4_000):
    """By how much the model, the best constant and the oracle truly improve on the old model."""
    X = np.random.default_rng(77).standard_normal((n, 4))
    effect, old = shelf.effect(X), shelf.old(X)
    level = (old * effect).sum(axis=1).mean()
    new = (clf.predict_proba(X) * effect).sum(axis=1).mean()
    return new - level, effect.mean(axis=0).max() - level, effect.max(axis=1).mean() - level


def view_of(data, plan, objective="accuracy", **options):
    task = Classification(goal_of(objective))
    search = Selection("gradient", task, Target(power=0.95), 0)
    policy = task.policy(data)
    return selection.View(search, policy, data, plan, data.n, None, silent, **options)


def narrowed(policy, directions, left_out, n, seed=0):
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    made = NarrowPolicy(
        policy.n_classes,
        policy.center,
        policy.scale,
        policy.mixed,
        directions=directions,
        left_out=left_out,
    )
    return made, fold


@pytest.mark.parametrize("mixed", [False, True])
def test_a_narrow_policy_is_the_wide_one_along_its_directions(mixed):
    rng = np.random.default_rng(0)
    X, behavior = rng.standard_normal((40, 3)), rng.dirichlet(np.ones(10), 40)
    wide = SoftmaxPolicy.standardised(X, 10, mixed=mixed)
    inputs = wide.inputs(X, behavior)
    directions = rng.standard_normal((4, 9 * 4))
    same = np.tile(directions, (FOLDS, 1, 1))
    policy, fold = narrowed(wide, directions, same, 40)
    theta = np.append(rng.standard_normal(4), [0.7] * mixed)
    free = policy.free(theta, NarrowInputs(inputs.design, inputs.behavior, fold))
    np.testing.assert_allclose(free, wide.free(policy.widened(theta), inputs), atol=1e-12)
    # Rows that are taken out stay in their fold.
    rows = np.array([3, 30, 17])
    taken = NarrowInputs(inputs.design, inputs.behavior, fold).take(rows)
    np.testing.assert_allclose(policy.free(theta, taken), free[:, rows], atol=1e-12)


@pytest.mark.parametrize("mixed", [False, True])
def test_its_gradient_is_that_of_left_out_directions(mixed):
    rng = np.random.default_rng(1)
    X, behavior = rng.standard_normal((40, 3)), rng.dirichlet(np.ones(10), 40)
    wide = SoftmaxPolicy.standardised(X, 10, mixed=mixed)
    inputs = wide.inputs(X, behavior)
    left_out = rng.standard_normal((FOLDS, 4, 9 * 4))
    policy, fold = narrowed(wide, left_out[0], left_out, 40)
    seen = NarrowInputs(inputs.design, inputs.behavior, fold)
    theta = np.append(rng.standard_normal(4), [0.7] * mixed)
    weights = rng.standard_normal((2, 9, 40))
    gradient = policy.pull_back(theta, seen, policy.free(theta, seen), weights)
    for k in range(theta.size):
        step = 1e-6 * (np.arange(theta.size) == k)
        change = policy.free(theta + step, seen) - policy.free(theta - step, seen)
        expected = np.einsum("jkn,kn->j", weights, change) / 2e-6
        np.testing.assert_allclose(gradient[:, k], expected, rtol=1e-4, atol=1e-6)


def test_left_out_directions_do_not_know_their_fold(make_plan):
    log = Shelf(12).draw(800, 0)
    data = LoggedData(**log)
    ways = Directions.of(view_of(data, make_plan(data, NO_WORSE)), None, ())
    inside = ways.inputs.fold == 2
    impact = log["impact"].copy()
    impact[inside] = np.random.default_rng(5).permutation(impact[inside])
    other = LoggedData(**{**log, "impact": impact})
    # The same level of the impact for both: only what folds teach about decisions may differ.
    plan = make_plan(data, NO_WORSE)
    again = Directions.of(view_of(other, plan), None, ())
    first, second = ways.policy.left_out, again.policy.left_out
    claims = slice(ways.n_models, None)

    def angle(k):
        a, b = first[k, claims].ravel(), second[k, claims].ravel()
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    assert angle(2) > 0.99  # not exactly 1: what to expect of people comes from all rows
    assert angle(1) < angle(2) - 0.02


def test_eight_decisions_are_few_and_nine_are_many(monkeypatch):
    calls = []

    def spy(*arguments):
        calls.append(arguments)
        return search(*arguments)

    search = narrow.narrow_search
    monkeypatch.setattr(selection, "narrow_search", spy)
    for n_items, are_many in ((MANY, False), (MANY + 1, True)):
        ELFClassifier(NO_WORSE).fit(**Shelf(n_items).draw(900, n_items))
        assert bool(calls) == are_many


@pytest.mark.parametrize("behavior", [False, True])
@pytest.mark.parametrize("objective", ["accuracy", "E[impact]"])
def test_a_model_is_found_that_truly_does_better(objective, behavior):
    shelf = Shelf(30)
    log = shelf.draw(4_000, 1, labels=objective == "accuracy", behavior=behavior)
    clf = ELFClassifier(NO_WORSE, objective=objective).fit(**log)
    assert clf.solution_found_
    assert clf.certificate_.search.forecast > 0.8
    new, constant, oracle = gains(shelf, clf)
    assert new > 0.1 * oracle
    if objective == "E[impact]":
        assert new > 1.2 * constant


def test_the_most_cautious_model_comes_first(make_plan):
    data = LoggedData(**Shelf(20).draw(2_000, 2))
    view = view_of(data, make_plan(data, NO_WORSE))
    found = view.found(view.selection.target.of_ladder)
    assert len(found.candidates) == 5
    moved = [
        found.problem._moved(found.policy.free(c.theta, view.inputs)) for c in found.candidates
    ]
    assert min(moved) == moved[0] < 0.5
    assert found.candidates[0].log_pass > -0.01
    assert found.candidates[-1].loss < found.candidates[0].loss


@pytest.mark.parametrize(("objective", "sign"), [
    ("-E[impact]", -1),
    ("E[impact]", 1),
    ("0 - 2 * E[impact]", -1),
])  # fmt: skip
def test_an_objective_may_want_more_or_less_of_something(make_plan, objective, sign):
    data = LoggedData(**Shelf(20).draw(2_000, 3))
    view = view_of(data, make_plan(data, ["P[decision == 0] <= 0.9"]), objective)
    effect, old = Shelf(20).effect(data.features), Shelf(20).old(data.features)
    level = (effect * old).sum(axis=1).mean()
    ways = Directions.of(view, None, ())
    inner = replace(view, policy=ways.policy)
    inner.inputs = ways.inputs
    (start,) = ways.starts(inner)
    (found,) = view.found([view.selection.target]).candidates
    for theta, least in ((ways.policy.widened(start), 0.1), (found.theta, 0.3)):
        every = view.policy.probabilities(theta, data.features, None)
        assert sign * ((every * effect).sum(axis=1).mean() - level) > least


def test_a_behaviour_model_that_is_kept():
    shelf = Shelf(12)
    log = shelf.draw(2_500, 4)
    old = LogisticRegression(max_iter=50).fit(log["X"], log["decision"])
    log.pop("propensity")
    every = old.predict_proba(log["X"])
    rng = np.random.default_rng(0)
    log["decision"] = (rng.random(2_500)[:, None] > every.cumsum(axis=1)).sum(axis=1)
    effect = shelf.effect(log["X"])[np.arange(2_500), log["decision"]]
    log["impact"] = effect + rng.normal(0, 0.5, 2_500)
    clf = ELFClassifier(NO_WORSE, objective="E[impact]").fit(**log, behavior=old)
    assert clf.solution_found_
    every = clf.predict_proba(log["X"])
    improved = (every - old.predict_proba(log["X"])) * shelf.effect(log["X"])
    assert improved.sum(axis=1).mean() > 0.1


@pytest.mark.parametrize("constraints", [
    ["P[decision == 3] <= 0.02", "accuracy >= 0.1"],
    ["accuracy[T == 0] - accuracy[T == 1] <= 0.1"],
    [],
])  # fmt: skip
def test_without_a_log_labels_are_enough(constraints):
    log = Shelf(15).draw(1_500, 5)
    log = {name: log[name] for name in ("X", "y", "sensitive_features")}
    clf = ELFClassifier(constraints).fit(**log)
    assert clf.solution_found_
    hit = clf.predict_proba(log["X"])[np.arange(1_500), log["y"]].mean()
    assert hit > 0.15
    if "P[decision == 3] <= 0.02" in constraints:
        assert clf.predict_proba(log["X"])[:, 3].mean() < 0.03


def test_a_statement_beyond_the_mean():
    log = Shelf(12).draw(2_000, 6)
    clf = ELFClassifier("quantile[impact, 0.2] >= -2", objective="E[impact]").fit(**log)
    assert clf.solution_found_


def test_of_many_rows_some_are_searched(monkeypatch, make_plan):
    data = LoggedData(**Shelf(12).draw(2_000, 7))
    view = view_of(data, make_plan(data, NO_WORSE))
    (complete,) = view.found([view.selection.target]).candidates
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 500)
    found = view_of(data, make_plan(data, NO_WORSE)).found([view.selection.target])
    assert found.problem.inputs.design.shape[1] == 1_000
    (some,) = found.candidates
    assert some.meets_target
    assert some.loss == pytest.approx(complete.loss, abs=0.05)


def test_a_group_too_small_for_some_rows_is_searched_on_all(monkeypatch, make_plan):
    log = Shelf(12).draw(2_000, 8)
    group = np.zeros(2_000, dtype=int)
    group[[5, 900, 1_700]] = 2
    data = LoggedData(**{**log, "sensitive_features": {"T": group}})
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 10)
    view = view_of(data, make_plan(data, ["E[impact | T == 2] >= E_logged[impact | T == 2]"]))
    found = view.found([view.selection.target])
    assert found.problem.inputs.design.shape[1] == 2_000
