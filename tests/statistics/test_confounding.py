"""Rows at an odds ratio Lambda bound what the worst confounding can do: checked against it.

The worst case of a small population is a linear programme: 1 / e of each cell between its limits,
such that every decision has its mean 1 given x. A table with one row for each cell, as often as the
cell is likely, makes the mean of rows exact.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from elfair import LoggedData
from elfair.language.conjunction import conjuncts
from elfair.statistics import Baselines, Estimation, compile_form
from elfair.statistics.confounding import worst_residual

VALUES = np.array([-1.0, 0.0, 0.5, 2.0])
TOTAL = 4000


def population(seed, classes=3, people=2):
    """P(x), beta(a | x), P(I | x, a) as numbers of rows, and the table of these rows."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(TOTAL, rng.dirichlet(np.full(people * classes * VALUES.size, 2.0)))
    counts = counts.reshape(people, classes, VALUES.size) + 1
    cells = np.array([index for index in np.ndindex(counts.shape) for _ in range(counts[index])])
    x, a, i = cells.T
    share = counts.sum(axis=2) / counts.sum(axis=(1, 2))[:, None]
    data = LoggedData(
        x[:, None].astype(float),
        sensitive_features={"T": x},
        decision=a,
        behavior=share[x],
        impact=VALUES[i],
        classes=list(range(classes)),
    )
    policy = rng.dirichlet(np.ones(classes), people)
    return counts, share, data, policy


def worst(counts, beta, policy, Lambda, sign=1):
    """The smallest (sign 1) or largest (-1) E[I new] that some confounding can bring about."""
    people = counts.sum(axis=(1, 2)) / counts.sum()
    total = 0.0
    for x, p in enumerate(people):
        for a, b in enumerate(beta[x]):
            given = counts[x, a] / counts[x, a].sum()
            low, high = 1 + (1 / b - 1) / Lambda, 1 + Lambda * (1 / b - 1)
            found = linprog(
                sign * policy[x, a] * b * given * VALUES,
                A_eq=[b * given],
                b_eq=[1.0],
                bounds=[(low, high)] * VALUES.size,
            )
            assert found.status == 0
            total += sign * p * found.fun
    return total


def mean_row(text, data, policy, **estimation):
    (conjunct,) = conjuncts(text)
    others = data.take(np.arange(data.n))  # else each row would be left out of its own q
    baselines = Baselines(Estimation(**estimation), others)
    (part,) = compile_form(conjunct.form, data, baselines, {})
    free = policy[data.sensitive["T"], 1:].T
    values = part.rows.values(free)
    assert values.min() >= part.rows.low - 1e-9
    assert values.max() <= part.rows.high + 1e-9
    return values.mean()


RANGE = {"ranges": {"impact": (-1.0, 2.0)}, "finite_sample": True}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("Lambda", [1.0, 1.3, 2.0, 5.0])
@pytest.mark.parametrize("more", [{}, RANGE, {**RANGE, "largest_weight": 1e3}])
@pytest.mark.parametrize("estimator", ["paired", "dr", "is"])
def test_no_confounding_is_worse_than_the_mean_of_rows(seed, Lambda, more, estimator):
    counts, beta, data, policy = population(seed)
    given = {"estimator": estimator, "Lambda": Lambda, **more}
    least = mean_row("E[impact] >= 0", data, policy, **given)  # g = -E[impact]
    most = mean_row("E[impact] <= 0", data, policy, **given)
    assert -least <= worst(counts, beta, policy, Lambda) + 1e-9
    assert most >= worst(counts, beta, policy, Lambda, sign=-1) - 1e-9
    paired = mean_row("E[impact] >= E_logged[impact]", data, policy, **given)
    logged = data.impact("impact").mean()
    assert paired >= logged - worst(counts, beta, policy, Lambda) - 1e-9
    if Lambda == 1:  # then there is nothing to bound
        assert -least == pytest.approx(worst(counts, beta, policy, 1.0))


@pytest.mark.parametrize("Lambda", [1.5, 3.0])
def test_with_the_quantile_it_is_exactly_the_worst_case(Lambda):
    """One x, so that the shift by decision makes q the quantile itself."""
    counts, beta, data, policy = population(7, people=1)
    for text, sign in (("E[impact] >= 0", 1), ("E[impact] <= 0", -1)):
        found = mean_row(text, data, policy, estimator="paired", Lambda=Lambda)
        assert -sign * found == pytest.approx(worst(counts, beta, policy, Lambda, sign), abs=2e-3)


def test_more_confounding_is_never_better():
    _, _, data, policy = population(3)
    of_lambda = [
        mean_row("E[impact] >= 0", data, policy, estimator="paired", Lambda=Lambda)
        for Lambda in (1.0, 1.1, 1.5, 2.0, 4.0)
    ]
    assert of_lambda == sorted(of_lambda)


def test_wrong_propensities_are_covered_as_confounding_is():
    """Nothing is hidden, but the odds of the logged probabilities are off by up to Lambda."""
    Lambda, rng = 1.8, np.random.default_rng(0)
    counts, beta, data, policy = population(5, classes=2)
    truth = worst(counts, beta, policy, 1.0)
    for _ in range(20):
        odds = beta[:, 1] / beta[:, 0] * Lambda ** rng.uniform(-1, 1, 2)
        wrong = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
        x = data.sensitive["T"]
        told = LoggedData(
            data.features, sensitive_features={"T": x}, decision=data.decision,
            behavior=wrong[x], impact=data.impact("impact"),
        )  # fmt: skip
        for estimator in ("paired", "dr"):
            given = {"estimator": estimator, "Lambda": Lambda}
            assert mean_row("E[impact] >= 0", told, policy, **given) >= -truth - 1e-9
            paired = mean_row("E[impact] >= E_logged[impact]", told, policy, **given)
            assert paired >= data.impact("impact").mean() - truth - 1e-9


def test_at_1_nothing_changes():
    residual = np.array([0.3, -2.0])
    assert worst_residual(residual, np.array([0.2, 0.9]), 1.0) is residual
