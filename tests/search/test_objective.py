"""Expressions as objectives: values by hand, derivatives, ends, and what cannot be maximised."""

from __future__ import annotations

import numpy as np
import pytest

import elfair
from elfair import LoggedData
from elfair.errors import ConstraintError, InputError
from elfair.language.build import col
from elfair.language.expressions import Expression, Mean
from elfair.language.tree import find
from elfair.search.goals import OBJECTIVES
from elfair.search.objective import Shortfall, read_objective
from elfair.statistics import Baselines, Estimation, Impact, mean_part

N = 40
TEXTS = [
    "E[impact]",
    "PR",
    "accuracy[T == 1]",
    "0.5 * TPR + 0.5 * TNR",
    "E[impact] - 2 * P[decision == 1 | T == 0]",
    "min(E[impact | T == 0], E[impact | T == 1])",
    "E[impact] - 3 * abs(PR[T == 0] - PR[T == 1]) + 1",
    "max(E[impact | T == 0], 0.3, E[impact | T == 1] - E_logged[impact | T == 1])",
    "-max(PR, min(accuracy, 2 * E[impact]))",
]


def make_data(n_classes):
    rng = np.random.default_rng(n_classes)
    every = rng.dirichlet(np.full(n_classes, 3.0), size=N)
    decision = (rng.random(N)[:, None] > every.cumsum(axis=1)).sum(axis=1)
    return LoggedData(
        rng.normal(size=(N, 1)),
        np.arange(N) % n_classes,
        sensitive_features={"T": rng.integers(0, 2, N)},
        decision=decision,
        propensity=every[np.arange(N), decision],
        impact=rng.normal(1, 1, N),
        classes=range(n_classes),
        positive=n_classes - 1,
    )


def make(text, data, **options):
    expression = read_objective(text, OBJECTIVES)
    baselines = Baselines(Estimation(), data)
    rows = [mean_part(mean, data, baselines).rows for mean in find(expression, Mean)]
    return Shortfall(expression, rows, **options)


def random_free(n_classes, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=N)[:, 1:].T


def by_hand(data, free):
    """What each statistic of TEXTS is, from its definition; of the impact, weights multiply what is
    left of it after what to expect of a person.
    """
    every = np.vstack([1 - free.sum(axis=0), free])
    rows, t, top = np.arange(N), data.sensitive["T"], data.classes.size - 1
    weight = every[data.decision_index, rows] / data.propensity
    impact, hit = data.impacts["impact"], every[data.label_index, rows]

    def gain(given, inside):
        # These are the rows that it was fitted to: each is predicted from the others.
        q = Baselines(Estimation(), data).level(Impact("impact"), given).left_out
        return np.mean(q + weight[inside] * (impact[inside] - q))

    e = gain(None, np.full(N, True))
    e0, e1 = (gain(col("T") == group, t == group) for group in (0, 1))
    pr, pr0, pr1 = every[top].mean(), every[top, t == 0].mean(), every[top, t == 1].mean()
    positive, one = data.label_index == top, every[1, t == 0].mean()
    tpr, tnr = every[top, positive].mean(), 1 - every[top, ~positive].mean()
    return [
        e,
        pr,
        hit[t == 1].mean(),
        0.5 * tpr + 0.5 * tnr,
        e - 2 * one,
        min(e0, e1),
        e - 3 * abs(pr0 - pr1) + 1,
        max(e0, 0.3, e1 - impact[t == 1].mean()),
        -max(pr, min(hit.mean(), 2 * e)),
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_smaller_shortfall_is_a_larger_value(n_classes):
    data = make_data(n_classes)
    policies = [random_free(n_classes, seed) for seed in range(3)]
    values = np.array([by_hand(data, free) for free in policies])
    for column, text in enumerate(TEXTS):
        loss = make(text, data)
        reached = loss._high - loss._range * np.array([loss.value(free) for free in policies])
        np.testing.assert_allclose(reached, values[:, column], atol=1e-12, err_msg=text)
        assert loss._range > 0


@pytest.mark.parametrize("softness", [0.0, 0.05])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("text", TEXTS)
def test_gradients_against_finite_differences(text, n_classes, softness):
    loss, free = make(text, make_data(n_classes), softness=softness), random_free(n_classes)
    gradient, step = loss.gradient(free), 1e-6
    for k, i in np.ndindex(*free.shape):
        ahead, behind = free.copy(), free.copy()
        ahead[k, i] += step
        behind[k, i] -= step
        numeric = (loss.value(ahead) - loss.value(behind)) / (2 * step)
        assert gradient[k, i] == pytest.approx(numeric, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("text", TEXTS)
def test_leading_axes_are_policies(text):
    loss = make(text, make_data(3), softness=0.01)
    population = np.array([random_free(3, seed) for seed in range(4)])
    together = loss.value(population)
    assert together.shape == (4,)
    np.testing.assert_allclose(together, [loss.value(free) for free in population])


@pytest.mark.parametrize("text", TEXTS)
def test_no_policy_leaves_the_range(text):
    loss = make(text, make_data(3))
    corners = np.random.default_rng(0).integers(0, 3, size=(200, N))
    free = np.array([corners == 1, corners == 2], dtype=float).swapaxes(0, 1)
    shortfall = loss.value(free)
    assert (shortfall >= -1e-12).all()
    assert (shortfall <= loss.maximum + 1e-12).all()


@pytest.mark.parametrize("text", ["E[impact]", "-PR", "0.5 * E[impact | T == 0]"])
def test_the_ends_of_one_average_are_reached(text):
    loss = make(text, make_data(3))
    towards = np.vstack([np.zeros(N), loss.gradient(random_free(3))])
    for chosen, expected in ((towards.argmin(axis=0), 0.0), (towards.argmax(axis=0), 1.0)):
        free = np.array([chosen == 1, chosen == 2], dtype=float)
        assert loss.value(free) == pytest.approx(expected, abs=1e-12)


def test_a_soft_kink_is_near_the_hard_one():
    data, free = make_data(2), random_free(2)
    for text in TEXTS:
        hard = make(text, data).value(free)
        assert make(text, data, softness=1e-3).value(free) == pytest.approx(hard, abs=3e-3)
    same = make("min(PR, PR)", data)
    np.testing.assert_allclose(same.gradient(free), make("PR", data).gradient(free))


def test_the_unit_of_an_impact_does_not_matter():
    data, free = make_data(2), random_free(2)
    before = make("min(E[impact | T == 0], E[impact | T == 1])", data, softness=0.01)
    value, gradient = before.value(free), before.gradient(free)
    data.impacts["impact"] *= 1e6
    after = make("min(E[impact | T == 0], E[impact | T == 1])", data, softness=0.01)
    assert after.value(free) == pytest.approx(value)
    np.testing.assert_allclose(after.gradient(free), gradient)


def test_trees_and_text_are_the_same():
    tree = elfair.E("impact") - 2 * elfair.PR
    assert read_objective(tree, OBJECTIVES) == read_objective("E[impact] - 2 * PR", OBJECTIVES)
    assert read_objective(elfair.PR, OBJECTIVES) == read_objective("PR", OBJECTIVES)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("E[impact] >= 0", "inequality"),
        (elfair.E("impact") >= 0, "without an inequality"),
        ("0.5", "holds no statistic"),
        ("2 * 3", "holds no statistic"),
        (0.5, "holds no statistic"),
        ("E_logged[impact]", "does not depend on the new model"),
        ("E_logged[impact] + E_logged[decision == 1]", "does not depend on the new model"),
        ("profit", r"to make an impact large, write 'E\[profit\]'"),
        ("logloss", "did you mean 'log_loss'"),
        ("acuracy", "did you mean 'accuracy'"),
        ("E[impact", "too soon"),
        (None, "Got None"),
        (["accuracy"], "statistic or a number"),
    ],
)
def test_what_is_no_objective(objective, words):
    with pytest.raises(InputError, match=words) as caught:
        read_objective(objective, OBJECTIVES)
    assert str(caught.value).count("\nHint: ") == 1


def test_a_node_without_a_rule_says_so():
    class Strange(Expression):
        def __str__(self):
            return "strange(...)"

    rows = make("PR", make_data(2))._rows
    with pytest.raises(ConstraintError, match=r"'strange\(...\)' cannot be maximised"):
        Shortfall(elfair.PR() + Strange(), rows)
