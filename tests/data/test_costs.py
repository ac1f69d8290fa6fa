"""The cost matrix: read by order or by name, never the wrong way round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.data.costs import read_cost
from elfair.errors import ConstraintError, DataError

CLASSES = np.array(["no", "yes"], dtype=object)
NAMED = {"yes": {"no": 5, "yes": 0}, "no": {"yes": 1, "no": 0}}
MATRIX = [[0, 1], [5, 0]]  # label "yes" decided "no" costs 5


@pytest.mark.parametrize(
    "cost",
    [
        MATRIX,
        np.array(MATRIX),
        NAMED,
        pd.DataFrame({"yes": [0, 1], "no": [5, 0]}, index=["yes", "no"]),
    ],
)
def test_a_line_is_a_label_and_a_column_a_decision(cost):
    assert read_cost(cost, CLASSES).tolist() == MATRIX


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([[0, 1]], r"shape \(2, 2\).*Got \(1, 2\)"),
        (np.zeros((3, 3)), r"Got \(3, 3\)"),
        ([0, 1], r"Got \(2,\)"),
        (5.0, "Got 5.0"),
        ([[0, 1], [1]], "shape"),
        ([[0, np.nan], [1, 0]], "finite numbers. Got nan for label 'no' and decision 'yes'"),
        ([[0, 1], [np.inf, 0]], "Got inf for label 'yes' and decision 'no'"),
        ([[0, "x"], [1, 0]], "must hold numbers"),
        ({"no": {"no": 0, "yes": 1}}, "names 'no' as the labels"),
        ({"no": {"no": 0, "yes": 1}, "yes": {"no": 1}}, "names 'no' as the decisions of label"),
        ({"no": {"no": 0, "yes": 1}, "yse": {"no": 1, "yes": 0}}, "did you mean 'yes'"),
        ({0: {0: 0, 1: 1}, 1: {0: 1, 1: 0}}, "text and numbers differ"),
        ({"no": [0, 1], "yes": [1, 0]}, "a mapping of decisions to costs. Got"),
        ({}, "names nothing as the labels"),
        (pd.DataFrame(MATRIX, columns=["no", "yes"]), "names 0, 1 as the labels"),
        (pl.DataFrame({"no": [0, 5], "yes": [1, 0]}), "without an index"),
    ],
)
def test_what_is_no_cost_matrix_is_refused(cost, message):
    with pytest.raises(DataError, match=message) as caught:
        read_cost(cost, CLASSES)
    assert "\nHint: " in str(caught.value)


def table(**more):
    n = 400
    rng = np.random.default_rng(0)
    label, decision = rng.choice(CLASSES, n), rng.choice(CLASSES, n)
    columns = {"decision": decision, "propensity": np.full(n, 0.5), "cost": NAMED, **more}
    return rng.normal(size=(n, 1)), label, columns


def estimate(model, data, text):
    return certify(model, data, text).constraints[0].estimate


def test_the_mean_cost_of_a_model():
    X, label, columns = table()
    data = LoggedData(X, label, **columns)
    p = np.full(data.n, 0.25)  # decides "yes" one time in four
    yes = np.mean(label == "yes")
    assert estimate(p, data, "E[cost] <= 0") == pytest.approx(yes * 0.75 * 5 + (1 - yes) * 0.25)
    assert estimate(p, data, "E[cost | label == 'yes'] <= 0") == pytest.approx(3.75)
    logged = np.mean([NAMED[y][d] for y, d in zip(label, columns["decision"], strict=True)])
    text = "E[cost] <= E_logged[cost]"
    assert estimate(p, data, text) == pytest.approx(yes * 3.75 + (1 - yes) * 0.25 - logged)
    paper = certify(p, data, text, estimator="is", accept_violated=["tau_known"]).constraints[0]
    assert paper.estimate == pytest.approx(yes * 3.75 + (1 - yes) * 0.25 - logged)


def test_the_ends_of_the_matrix_are_those_of_a_row():
    X, label, columns = table()
    data = LoggedData(X, label, **columns)
    result = certify(np.full(data.n, 0.25), data, "E[cost] <= 3", bound="hoeffding").constraints[0]
    margin = 5 * np.sqrt(np.log(10) / (2 * data.n))
    assert result.upper == pytest.approx(result.estimate + margin)
    assert result.kind == "finite-sample"


def test_the_certificate_shows_the_matrix_and_asks_for_labels():
    X, label, columns = table()
    data = LoggedData(X, label, **columns)
    assumptions = certify(np.full(data.n, 0.5), data, "E[cost] <= 9").assumptions
    (shown,) = [a.evidence for a in assumptions if a.name == "cost matrix"]
    assert "5 for label yes and decision no; 0 for label yes and decision yes" in shown
    assert any(a.name == "label known for everyone" for a in assumptions)
    plain = certify(np.full(data.n, 0.5), data, "P[decision == 'yes'] <= 0.9").assumptions
    assert not any(a.name in ("cost matrix", "label known for everyone") for a in plain)


def test_what_is_missing_is_said():
    X, label, columns = table()
    model = np.full(400, 0.5)
    message = r"neither cost= nor person_cost= was given\.\n +E\[cost\](.|\n)*Hint: "
    with pytest.raises(ConstraintError, match=message):
        certify(model, LoggedData(X, label, **{**columns, "cost": None}), "E[cost] <= 1")
    with pytest.raises(ConstraintError, match="needs labels, but y was not given"):
        certify(model, LoggedData(X, **columns), "E[cost] <= 1")
    with pytest.raises(DataError, match="an impact called 'cost', and cost="):
        LoggedData(X, label, impact={"cost": model}, **columns)
    with pytest.raises(DataError, match="without y, decision or classes"):
        LoggedData(X, cost=NAMED)


def test_an_impact_may_be_called_cost_where_there_is_no_matrix():
    X, label, columns = table(cost=None, impact={"cost": np.arange(400.0)})
    data = LoggedData(X, label, **columns)
    result = certify(np.full(400, 0.5), data, "E[cost] <= 900").constraints[0]
    assert result.mean_weight == pytest.approx(1)


def test_a_classifier_keeps_its_cost_below_what_it_was_told():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 2))
    label = np.where(X[:, 0] + 0.7 * rng.normal(size=3000) > 0, "yes", "no").astype(object)
    clf = ELFClassifier("E[cost] <= 0.45", cost=NAMED).fit(X, label)
    assert clf.solution_found_
    p = clf.predict_proba(X)
    mean = np.where(label == "yes", 5 * p[:, 0], p[:, 1]).mean()
    assert mean <= 0.45
    # The other way round it is another constraint: a model that misses no "yes" would fail it.
    unbound = ELFClassifier().fit(X, label).predict_proba(X)
    assert np.where(label == "yes", 5 * unbound[:, 0], unbound[:, 1]).mean() > 0.5
