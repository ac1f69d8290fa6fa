"""The splits of a tree: exact against brute force, on functions and on predicted bounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from elfair import ELFClassifier, InputError, LoggedData
from elfair.policies.tree import TreePolicy
from elfair.search import Target, trees
from elfair.search.classification import Classification, TreeFamily
from elfair.search.goals import PredictLabel
from elfair.search.partitions import PENALTY, Function, Partitions
from elfair.search.problem import silent
from elfair.search.selection import Selection, View
from elfair.search.splits import Allowed, Splits


def every_tree(X, splits, depth):
    """The leaves of each tree, straight from the definition: lists of masks of rows."""
    left = [X[:, c] < t for c, t in zip(splits.columns, splits.thresholds, strict=True)]
    yield [np.ones(len(X), dtype=bool)]
    below = [None, *left] if depth == 2 else [None]
    for first, one, two in product(left, below, below):
        leaves = []
        for half, split in ((first, one), (~first, two)):
            leaves += [half] if split is None else [half & split, half & ~split]
        yield leaves


def enough(leaves, decision, n_classes, rows):
    counts = [(leaf & (decision == a)).sum() for leaf in leaves for a in range(n_classes)]
    return len(leaves) == 1 or min(counts) >= rows


def linear_program(leaves, functions, n_classes):
    """The best value of one tree: an independent formulation, in free probabilities alone."""
    free, claims = len(leaves) * (n_classes - 1), max(f.claim for f in functions) + 1
    rows, limits = [], []
    for function in functions:
        sums = [function.slopes[k][leaf].sum() for leaf in leaves for k in range(n_classes - 1)]
        above = [-1.0 if j == function.claim else 0.0 for j in range(-1, claims)]
        rows.append([*sums, *above])
        limits.append(-function.constant)
    for place in range(len(leaves)):
        inside = [float(k // (n_classes - 1) == place) for k in range(free)]
        rows.append([*inside, *[0.0] * (claims + 1)])
        limits.append(1.0)
    cost = [*[0.0] * free, 1.0, *[PENALTY] * claims]
    bounds = [(0, 1)] * free + [(None, None)] + [(0, None)] * claims
    return linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds).fun


@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_is_that_of_brute_force(seed):
    rng, n, n_classes, depth = np.random.default_rng(seed), 60, 2 + seed % 2, 1 + (seed > 0)
    X, decision = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, n_classes, n)
    data = LoggedData(X, decision=decision, classes=list(range(n_classes)))
    splits = Splits.of(X)
    partitions = Partitions(splits, Allowed.of(splits, data, 3, depth))
    functions = [
        Function(rng.normal(size=(n_classes - 1, n)) / n, rng.normal(0.02, 0.05), claim)
        for claim in [-1] * (1 + seed % 2) + [0, 0, 1, 1, 2][: 2 + seed % 4]
    ]
    for function in functions:
        partitions.add(function)
    known = [
        linear_program(leaves, functions, n_classes)
        for leaves in every_tree(X, splits, depth)
        if enough(leaves, decision, n_classes, 3)
    ]
    found = partitions.best(1e-9)
    assert found.value == pytest.approx(min(known), abs=1e-6)
    assert found.bound <= min(known) + 1e-9
    assert found.solved < (len(known) / 2 if depth > 1 else len(known))  # it looks at few of them
    leaf = partitions.leaf(found.tree)
    assert enough([leaf == k for k in range(leaf.max() + 1)], decision, n_classes, 3)


def small_view(make_plan, seed):
    """A small table on which a constraint binds, and a search for trees by the t bound."""
    rng, n = np.random.default_rng(seed), 400
    X = np.column_stack([rng.integers(0, 3, n), 2 * rng.integers(0, 2, n)]).astype(float)
    label = (rng.random(n) < 0.15 + 0.35 * X[:, 0]).astype(int)
    decision = rng.integers(0, 2, n)
    impact = decision * (0.6 * X[:, 1] - 0.7) + rng.normal(0, 0.5, n)
    data = LoggedData(X, label, decision=decision, propensity=[0.5] * n, impact=impact)
    plan = make_plan(data, "E[impact] >= E_logged[impact] + 0.02", bound="ttest")
    task = Classification(PredictLabel("accuracy"), TreeFamily(depth=2, leaf_rows=5))
    selection = Selection("gradient", task, Target(power=0.9), 0)
    return View(selection, task.policy(data), data, plan, 300, None, silent)


def best_of(leaves, problem, blind):
    """The smallest loss of one tree that meets the constraint, by another optimiser."""

    def free(p):
        every = sum(leaf * share for leaf, share in zip(leaves, p, strict=True))
        return np.asarray((1 - blind) * every + blind / 2)[None]

    (requirement,) = problem.requirements
    limit = {"type": "ineq", "fun": lambda p: -requirement.predict(free(p)).excess}
    found = [
        minimize(
            lambda p: float(problem.loss.value(free(p))),
            np.full(len(leaves), start),
            bounds=[(0, 1)] * len(leaves),
            constraints=[limit],
            method="SLSQP",
            options={"ftol": 1e-9},
        )
        for start in (0.3, 0.7)
    ]
    return min((each.fun for each in found if limit["fun"](each.x) > -1e-6), default=np.inf)


@pytest.mark.parametrize("seed", [0, 1])
def test_with_a_t_bound_the_whole_search_is_exact(make_plan, monkeypatch, seed):
    monkeypatch.setattr(trees, "SMALL_GAIN", 0.0)
    view = small_view(make_plan, seed)
    data, blind = view.data, view.policy.exploration
    splits = Splits.of(data.features)
    allowed = Allowed.of(splits, data, 5)
    problem, familiar = trees._problem(view, Partitions(splits, allowed), 2)
    partitions = Partitions(splits, allowed)
    found = trees._Search(partitions, problem, view).run(familiar)
    (slope,) = problem.loss.gradient(familiar)
    known = [
        best_of(leaves, problem, blind)
        for leaves in every_tree(data.features, splits, 2)
        if enough(leaves, data.decision_index, 2, 5)
    ]
    alone = min(
        sum(float(min(0.0, slope[leaf].sum())) for leaf in leaves)
        for leaves in every_tree(data.features, splits, 2)
    )  # the best loss without the constraint, less that of decision 0 for everyone
    alone += float(problem.loss.value(np.zeros((1, data.n))))
    assert min(known) > alone + 0.005  # the constraint matters
    assert found.value == pytest.approx(min(known), abs=1e-3)


def test_splits_that_gain_nothing_are_left_out(make_plan):
    view = small_view(make_plan, 3)
    label = (view.data.features[:, 0] >= 1).astype(int)
    view.data = LoggedData(view.data.features, label, decision=view.data.decision)
    view.plan = make_plan(view.data, "accuracy >= 0.5", bound="ttest")
    policy, theta = trees.grown(view)
    assert [[turn.column for turn in way] for way in policy.ways] == [[0], [0]]
    assert policy.of_leaves(theta)[:, 1].round(1).tolist() == [0.0, 1.0]


def test_thresholds_are_all_that_divide_rows_or_quantiles():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 500), rng.normal(size=500), np.zeros(500)])
    splits = Splits.of(X)
    assert np.bincount(splits.columns, minlength=3).tolist() == [1, 32, 0]
    below = [(X[:, 1] < t).mean() for t in splits.thresholds[1:]]
    assert np.abs(below - np.arange(1, 33) / 33).max() < 0.01
    wide = Splits.of(rng.normal(size=(500, 60)))
    assert wide.count == 360  # six for each column: at most 400 in all


def test_sums_of_two_splits_are_those_of_their_rows():
    rng = np.random.default_rng(1)
    X, weights = rng.integers(0, 5, (200, 3)).astype(float), rng.normal(size=200)
    splits = Splits.of(X)
    left = np.array([X[:, c] < t for c, t in zip(splits.columns, splits.thresholds, strict=True)])
    expected = (left * weights) @ left.T
    np.testing.assert_allclose(splits.together(weights), expected, atol=1e-12)
    assert all((splits.left(k) == left[k]).all() for k in range(splits.count))


def test_a_leaf_has_enough_rows_of_each_decision_and_a_unit_counts_once():
    rng = np.random.default_rng(2)
    X, decision = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    units = np.repeat(np.arange(60), 5)
    for unit, least in ((None, 20), (units, 4)):
        data = LoggedData(X, decision=decision, unit=unit)
        splits = Splits.of(X)
        allowed = Allowed.of(splits, data, least)
        share = 1.0 if unit is None else 0.2
        for split in range(splits.count):
            left = splits.left(split)
            counts = [(half & (decision == a)).sum() for half in (left, ~left) for a in (0, 1)]
            assert allowed.first[split] == (min(counts) * share >= least - 1e-9)


def logged(n=1_500, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    decision = rng.integers(0, n_classes, n)
    return {
        "X": X,
        "y": np.minimum((X[:, 0] > 0) + (X[:, 1] > 0) * (X[:, 0] > 0), n_classes - 1).astype(int),
        "decision": decision,
        "propensity": np.full(n, 1 / n_classes),
        "impact": decision * 0.5 + rng.normal(size=n),
    }


@pytest.mark.parametrize("n_classes", [3, 10])
def test_trees_choose_among_several_decisions(n_classes):
    given = logged(3_000, n_classes=n_classes)
    clf = ELFClassifier("accuracy >= 0.5", policy="tree", leaf_rows=5, classes=range(n_classes))
    clf.fit(**given)
    assert clf.solution_found_
    assert clf.score(given["X"], given["y"]) > 0.9
    assert clf.predict_proba(given["X"]).shape == (3_000, n_classes)


def test_the_ladder_has_one_tree_and_says_it():
    clf = ELFClassifier("E[impact] >= E_logged[impact] - 0.3", policy="tree", depth=1)
    clf.fit(**logged())
    policies = {id(model.policy) for model in clf.fitted_.ladder}
    assert len(policies) == 1
    policy = clf.fitted_.models[0].policy
    assert isinstance(policy, TreePolicy)
    assert len(policy.ways) == 2
    assert clf.rule_.startswith("If x0 < ")
    assert clf.rule_.splitlines()[1].startswith("Otherwise: 1 ")
    assert clf.rule_ in clf.certificate_.explain()


def test_a_known_behaviour_model_is_mixed_in_and_said():
    given = logged()
    del given["propensity"]

    old = DummyClassifier(strategy="uniform").fit([[0], [0]], [0, 1])
    clf = ELFClassifier("E[impact] >= E_logged[impact]", policy="tree").fit(**given, behavior=old)
    assert clf.fitted_.models[0].policy.mixed
    (rule,) = clf.certificate_.rules
    assert ("The old model decides in" in clf.rule_) == (rule.new < 1)


def test_what_a_tree_cannot_do_is_refused():
    with pytest.raises(InputError, match="policy='tree' takes no scorer"):
        ELFClassifier(policy="tree", scorer=GaussianNB()).fit(**logged())
    with pytest.raises(InputError, match="policy='tree' needs search='gradient'"):
        ELFClassifier(policy="tree", search="cmaes").fit(**logged())
    with pytest.raises(AttributeError, match="only policy='tree' has a rule"):
        _ = ELFClassifier("accuracy >= 0.4").fit(**logged()).rule_
