"""What stands for a missing impact."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify, check
from elfair.errors import DataError
from elfair.language.conditions import Column
from elfair.language.distribution import Threshold
from elfair.statistics import Baselines, Estimation, Impact
from elfair.statistics.claims import read_constraints
from elfair.statistics.compiled import compile_form
from elfair.statistics.impact_estimators import declared_estimation
from elfair.statistics.seen import Logistic
from elfair.statistics.unseen import limits_of

RANGE = {"impact": (-1.0, 1.0)}


def make(seed=0, n=400, **changes):
    rng = np.random.default_rng(seed)
    x, decision = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    early = x[:, 0] + decision + rng.normal(size=n)
    impact = np.tanh(early + rng.normal(size=n))
    seen = rng.random(n) < 1 / (1 + np.exp(-early / 2))
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


def test_somebody_who_was_seen_against_all_odds_is_taken_as_seen():
    """A probability of being seen that is 0 in floating point divides nothing."""
    candidate, _, early = make(0)
    seen = np.abs(early) < 1.5  # the probability falls to 0 outside
    impact = np.where(seen, np.tanh(early), np.nan)
    candidate, _, _ = make(0, impact=impact)
    odd = early.copy()
    odd[5] = 5000.0  # somebody like nobody else, and seen
    other, _, _ = make(0, impact=np.where(np.arange(400) == 5, 0.25, impact), early={"early": odd})
    values = Baselines(Estimation(), candidate).values(Impact("impact"), other)
    assert values[5] == 0.25
    assert np.isfinite(values).all()


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


def hidden(where, share=0.0, n=1_000, seed=5, **changes):
    """Rows of two groups; ``where`` says whom nobody, or hardly anybody, saw."""
    rng = np.random.default_rng(seed)
    group, decision, x = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=(n, 1))
    never = where(group, decision, x[:, 0])
    seen = rng.random(n) < np.where(never, share, 0.7)
    return LoggedData(
        x,
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=np.where(seen, rng.normal(size=n), np.nan),
        missing_impact="at random",
        **changes,
    )


ABOUT = "E[impact | T == 1] >= E_logged[impact | T == 1] - 1"
NOBODY = {
    "a group": lambda group, decision, x: group == 1,
    "a group with one decision": lambda group, decision, x: (group == 1) & (decision == 1),
}


@pytest.mark.parametrize("share", [0.0, 0.005])
@pytest.mark.parametrize("who", NOBODY)
def test_a_statement_about_people_whom_hardly_anybody_saw_is_refused(who, share):
    data = hidden(NOBODY[who], share)
    words = r"seen in \d of \d+ rows \(T == 1" + (", with decision 1" if "one" in who else r"\)")
    with pytest.raises(DataError, match=words):
        certify(np.full(1_000, 0.9), data, ABOUT)
    model = ELFClassifier(ABOUT, objective="E[impact]", candidates=1)
    with pytest.raises(DataError, match=words):
        model.fit(data)
    assert any("hardly anything says" in each.evidence for each in check(model, data).findings)


def test_what_no_statement_needs_is_not_refused():
    of_one = hidden(NOBODY["a group with one decision"])
    other = "E[impact | T == 0] >= E_logged[impact | T == 0] - 1"
    assert certify(np.full(1_000, 0.6), of_one, other).passed
    # A model that never takes the decision needs nobody who was seen with it.
    never = certify(np.zeros(1_000), of_one, "E[impact | T == 1] >= -1")
    assert never.passed


def test_what_is_missing_where_hardly_anybody_was_seen_counts_at_its_worst():
    data = hidden(lambda group, decision, x: (group == 1) & (np.abs(x) < 0.5))
    hole = (data.sensitive["T"] == 1) & (np.abs(data.features[:, 0]) < 0.5)
    (claim,) = read_constraints("E[impact] >= 0", 0.1)
    estimation = Estimation("paired", {"impact": (-9.0, 9.0)})
    (part,) = compile_form(claim.conjunct.form, data, Baselines(estimation, data), {})
    values = part.rows.values(np.full((1, data.n), 0.5))
    # With weights of 1, a row is minus the impact: 9 where it is at its worst.
    assert np.mean(values[hole] > 8.99) > 0.8
    assert np.mean(values[~hole] > 8.99) < 0.02


def test_an_end_that_nobody_declared_is_where_those_seen_end():
    data = hidden(lambda group, decision, x: (group == 1) & (x > 0))
    half = Baselines(Estimation(), data).half_widths(Impact("impact"), data)
    seen = data.impacts["impact"][data.unseen.seen["impact"]]
    assert half.max() == pytest.approx((seen.max() - seen.min()) / 2)


def test_hardly_anybody_counts_at_the_worst_if_everybody_may_be_seen():
    data = hidden(lambda group, decision, x: x > 99)
    assert Baselines(Estimation(), data).half_widths(Impact("impact"), data).max() == 0
    drawn = hidden(lambda group, decision, x: x > -99, 0.04, follow_up=0.04)
    assert Baselines(Estimation(), drawn).half_widths(Impact("impact"), drawn).max() == 0


@pytest.mark.parametrize("text", ["E[impact] >= E_logged[impact]", "E[impact] >= 0"])
def test_at_an_odds_ratio_no_missing_value_makes_a_row_worse(text):
    data, _, _ = make(missing_impact="worst case", early=None)
    (claim,) = read_constraints(text, 0.1)
    free = np.random.default_rng(1).random((1, data.n))
    estimation = Estimation("paired", RANGE, Lambda=2.0)
    (part,) = compile_form(claim.conjunct.form, data.changed(), Baselines(estimation, data), {})
    missing = ~data.unseen.seen["impact"]
    for end in (-1.0, 0.0, 1.0):
        values = np.where(missing, end, data.impacts["impact"])
        other = rows_with(data, values, claim, estimation)
        assert (part.rows.values(free) >= other.values(free) - 1e-9).all()
