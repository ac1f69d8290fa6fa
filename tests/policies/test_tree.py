"""A tree is a softmax policy on its leaves."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.policies.tree import TreePolicy

COLUMNS, THRESHOLDS = np.array([1, -1, 0]), np.array([0.5, 0.0, -1.0])


@pytest.fixture
def people():
    return np.random.default_rng(0).normal(size=(50, 2))


def test_every_person_is_in_the_leaf_whose_conditions_hold(people):
    tree = TreePolicy.grown(people, 2, columns=COLUMNS, thresholds=THRESHOLDS)
    leaf = tree.leaf(people)
    assert len(tree.ways) == 3
    for k, way in enumerate(tree.ways):
        holds = np.ones(len(people), dtype=bool)
        for turn in way:
            holds &= (people[:, turn.column] >= turn.threshold) == turn.above
        assert (holds == (leaf == k)).all()
        assert holds.any()


@pytest.mark.parametrize("mixed", [False, True])
def test_gradients_are_those_of_differences(people, mixed):
    tree = TreePolicy.grown(people, 3, columns=COLUMNS, thresholds=THRESHOLDS, mixed=mixed)
    rng = np.random.default_rng(1)
    behavior = rng.dirichlet(np.ones(3), len(people)) if mixed else None
    inputs, theta = tree.inputs(people, behavior), rng.normal(size=tree.n_parameters)
    if mixed:
        theta[-1] = 0.4
    towards = rng.normal(size=(1, 2, len(people)))
    found = tree.pull_back(theta, inputs, tree.free(theta, inputs), towards)[0]
    step = 1e-6
    for k in range(theta.size):
        at = [theta + side * step * np.eye(theta.size)[k] for side in (1, -1)]
        up, down = (float(np.vdot(towards[0], tree.free(each, inputs))) for each in at)
        assert found[k] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_probabilities_are_those_of_the_leaf_and_explore(people):
    tree = TreePolicy.grown(people, 2, columns=COLUMNS, thresholds=THRESHOLDS)
    theta = np.array([-50.0, 0.3, 50.0])
    every = tree.probabilities(theta, people, None)
    np.testing.assert_allclose(every, tree.of_leaves(theta)[tree.leaf(people)], atol=1e-12)
    assert every.min() == pytest.approx(tree.exploration / 2)


def test_raising_a_decision_raises_it_in_every_leaf(people):
    tree = TreePolicy.grown(people, 3, columns=COLUMNS, thresholds=THRESHOLDS)
    theta = np.random.default_rng(3).normal(size=tree.n_parameters)
    for decision in range(3):
        before, after = (tree.of_leaves(t) for t in (theta, tree.raised(theta, decision, 1.0)))
        assert (after[:, decision] > before[:, decision]).all()
