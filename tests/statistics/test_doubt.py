"""The doubt about estimated propensities is the jackknife's, and the search foresees it."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.data.split import Split
from elfair.search.prediction import Target
from elfair.search.requirements import requirements_of
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    n = 600
    x, group = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    decision = rng.integers(0, 3, n)
    impact = x[:, 0] + (decision == 1) * x[:, 1] + rng.normal(size=n)
    data = LoggedData(
        x, sensitive_features={"T": group}, decision=decision, propensity="estimated", impact=impact
    )
    return Split.of(data, "random", share=0.6, seed=0).candidate


def compiled(rows, text, **settings):
    claims = read_constraints(text, 0.1, rows)
    plan = Plan.make(claims, "auto", Baselines(Estimation(**settings), rows), rows)
    return plan.compile(rows)


@pytest.mark.parametrize("estimator", ["paired", "dr"])
@pytest.mark.parametrize("Lambda", [1.0, 1.5])
def test_leaving_out_a_group_changes_the_average_as_the_doubt_says(rows, estimator, Lambda):
    """Rows made with the propensities of each group left out have the averages of the jackknife."""
    text = "E[impact | T == 1] >= E_logged[impact | T == 1]"
    free = np.random.default_rng(0).dirichlet(np.ones(3), rows.n).T[1:]
    settings = {"estimator": estimator, "Lambda": Lambda}
    claims = read_constraints(text, 0.1, rows)
    baselines = Baselines(Estimation(**settings), rows)
    tail = Plan.make(claims, "auto", baselines, rows).compile(rows)[0].tails[0]
    means = []
    for propensity in rows.doubts.T:
        weights = rows.decision_index == np.arange(3)[:, None]
        behavior = np.where(weights.T, propensity[:, None], rows.behavior)
        other = rows.changed(propensity=propensity, behavior=behavior, doubts=None)
        baselines.learnt_from = lambda data: True
        part = Plan(claims, "auto", baselines, {}).compile(other)[0].parts[0]
        means.append(part.rows.values(free).mean())
    sample, k = tail.doubt(free), len(means)
    expected = (k - 1) / k * np.sum((means - np.mean(means)) ** 2)
    assert float(sample.variance) / sample.n == pytest.approx(expected, rel=1e-9)
    assert float(sample.mean) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "E[impact | T == 1] >= E_logged[impact | T == 1]",
        "E[impact | T == 1] - E[impact | T == 0] >= -1",
        "E[impact | T == 1] - E[impact] >= -1",
    ],
)
def test_the_search_knows_the_slope_of_the_doubt(rows, text):
    (requirement,) = requirements_of(compiled(rows, text), Target(0.9), 0.7)
    start = np.random.default_rng(1).dirichlet(np.ones(3) * 5, rows.n).T[1:]

    def excess(flat):
        return requirement.predict(flat.reshape(start.shape)).excess

    def slope(flat):
        predicted = requirement.predict(flat.reshape(start.shape))
        return predicted.pull_back(predicted.factors, rows.n).ravel()

    along = np.random.default_rng(2).normal(size=start.size)
    step = 1e-6
    ahead, behind = excess(start.ravel() + step * along), excess(start.ravel() - step * along)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope(start.ravel()) @ along, rel=1e-4)
    known = rows.changed(doubts=None)
    (without,) = requirements_of(compiled(known, text), Target(0.9), 0.7)
    assert requirement.predict(start).levels.upper > without.predict(start).levels.upper
