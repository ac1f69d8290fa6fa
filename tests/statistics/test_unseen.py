"""What stands for a missing impact."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData
from elfair.errors import DataError
from elfair.language.conditions import Column
from elfair.language.distribution import Threshold
from elfair.statistics import Baselines, Estimation, Impact
from elfair.statistics.claims import read_constraints
from elfair.statistics.compiled import compile_form
from elfair.statistics.impact_estimators import declared_estimation
from elfair.statistics.unseen import Logistic, limits_of

RANGE = {"impact": (-1.0, 1.0)}


def make(seed=0, n=400, **changes):
    rng = np.random.default_rng(seed)
    x, decision = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    early = x[:, 0] + decision + rng.normal(size=n)
    impact = np.tanh(early + rng.normal(size=n))
    seen = rng.random(n) < 1 / (1 + np.exp(-early))
    given = {
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": np.where(seen, impact, np.nan),
        "missing_impact": "at random",
        "early": {"early": early},
    }
    return LoggedData(x, **{**given, **changes}), impact, early


def test_the_mean_of_what_stands_for_it_is_that_of_the_impact():
    candidate, _, _ = make(0, 4_000)
    other, impact, _ = make(1, 40_000)
    values = Baselines(Estimation(), candidate).values(Impact("impact"), other)
    assert abs(values.mean() - impact.mean()) < 0.02
    assert abs(np.nanmean(other.impacts["impact"]) - impact.mean()) > 0.1  # those seen fared well


def test_what_is_known_of_follow_up_gives_ends_that_no_value_leaves():
    rng = np.random.default_rng(3)
    n = 500
    impact = np.where(rng.random(n) < 0.5, rng.choice([-1.0, 1.0], n), np.nan)
    data, _, _ = make(2, n, impact=impact, follow_up=0.5)
    low, high = limits_of(Impact("impact"), data, RANGE["impact"])
    assert (low, high) == (-3.0, 3.0)
    values = Baselines(Estimation(ranges=RANGE), data).values(Impact("impact"), data)
    assert low <= values.min()
    assert values.max() <= high


@pytest.mark.parametrize("estimator", ["paired", "dr"])
@pytest.mark.parametrize(
    "text",
    [
        "E[impact] >= E_logged[impact]",
        "E[impact] <= E_logged[impact]",
        "E[impact] >= 0",
        "2 * E[impact] + E_logged[impact] <= 1",
    ],
)
def test_no_missing_value_within_the_range_makes_a_row_worse(estimator, text):
    data, _, _ = make(missing_impact="worst case", early=None)
    (claim,) = read_constraints(text, 0.1)
    free = np.random.default_rng(1).random((1, data.n))
    estimation = Estimation(estimator, RANGE, finite_sample=True)

    (part,) = compile_form(claim.conjunct.form, data.changed(), Baselines(estimation, data), {})
    worst = part.rows
    missing = ~data.unseen.seen["impact"]
    filled = [
        rows_with(data, np.where(missing, end, data.impacts["impact"]), claim, estimation)
        for end in (-1.0, 0.0, 1.0)
    ]
    values = worst.values(free)
    assert all((values >= each.values(free) - 1e-9).all() for each in filled)
    at_an_end = np.maximum(filled[0].values(free), filled[2].values(free))
    np.testing.assert_allclose(values, at_an_end, atol=1e-9)
    assert values.max() <= worst.high


def rows_with(data, values, claim, estimation):
    """The rows as if these impacts had been seen, with the baselines of the missing ones."""
    there = data.changed(impacts={"impact": values}, unseen=None)
    (part,) = compile_form(claim.conjunct.form, there, Baselines(estimation, data), {})
    return part.rows


def test_a_function_of_a_missing_impact_stands_for_itself():
    candidate, _, _ = make(0, 4_000)
    other, impact, _ = make(1, 40_000)
    below = Impact("impact", Threshold(Column("impact"), 0.0, "<"))
    values = Baselines(Estimation(), candidate).values(below, other)
    assert abs(values.mean() - (impact < 0).mean()) < 0.02
    clf = ELFClassifier("median[impact] >= -1", objective="E[impact]", candidates=1)
    assert clf.fit(candidate).certificate_.constraints[0].statement == "P[impact < -1] <= 0.5"


@pytest.mark.parametrize(
    ("changes", "parameters", "words"),
    [
        ({}, {"estimator": "is"}, "needs every impact"),
        ({"missing_impact": "worst case", "early": None}, {}, "needs the range"),
    ],
)
def test_what_cannot_be_estimated_is_refused(changes, parameters, words):
    data, _, _ = make(**changes)
    given = {"bound": "auto", "estimator": "paired", "impact_range": None, **parameters}
    with pytest.raises(DataError, match=words):
        declared_estimation(data, given)


def test_logistic_regression_finds_the_coefficients():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    chance = 1 / (1 + np.exp(-(0.5 + x @ [1.0, -2.0])))
    model = Logistic.fit(x, rng.random(20_000) < chance)
    assert np.abs(model.predict(x) - chance).max() < 0.05
