"""Whom to follow up."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.errors import DataError, InputError
from elfair.planning import plan_follow_up

TEXT = "E[impact | T == 1] >= E_logged[impact | T == 1] - 5"
BUDGET = 0.3


def people(n, seed, chances=None):
    """With decision 1, impacts of group 1 are uncertain; others are nearly known."""
    rng = np.random.default_rng(seed)
    group, decision, x = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=(n, 1))
    spread = np.where((group == 1) & (decision == 1), 3.0, 0.3)
    impact = x[:, 0] + spread * rng.normal(size=n)
    given = {"sensitive_features": {"T": group}, "decision": decision}
    if chances is not None:
        column = chances(LoggedData(x, **given)) if callable(chances) else np.full(n, chances)
        impact = np.where(rng.random(n) < column, impact, np.nan)
        given |= {"missing_impact": "at random", "follow_up": column}
    return LoggedData(x, propensity=np.full(n, 0.5), impact=impact, **given)


def plan(budget=BUDGET, text=TEXT, data=None):
    model = ELFClassifier(text, objective="E[impact]", candidates=1)
    return plan_follow_up(model, people(1_500, 0) if data is None else data, budget)


@pytest.fixture(scope="module")
def proposed():
    return plan()


def test_chances_cost_the_budget_and_go_where_impacts_are_uncertain(proposed):
    sizes = np.array([each.n for each in proposed.cells])
    chances = np.array([each.chance for each in proposed.cells])
    assert sizes @ chances / sizes.sum() == pytest.approx(BUDGET, abs=0.01)
    by = {each.who: each.chance for each in proposed.cells}
    assert by["T == 1, decision 1"] == max(by.values()) > 2 * by["T == 1, decision 0"]
    assert min(by.values()) >= BUDGET / 4 - 1e-9


def test_a_proposal_beats_one_chance_for_all(proposed):
    """On new people, at the same cost; the plan says by about how much."""
    widths = {"plan": [], "uniform": [], "all": []}
    for seed in range(12):
        for name, chances in (("plan", proposed.chances), ("uniform", BUDGET), ("all", None)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                data = people(3_000, 100 + seed, chances)
                made = certify(np.full(3_000, 0.9), data, TEXT, bound="ttest", looks=36)
            (result,) = made.constraints
            widths[name].append(result.upper - result.estimate)
    of_plan, uniform, full = (np.mean(widths[name]) ** 2 for name in ("plan", "uniform", "all"))
    assert of_plan < 0.8 * uniform
    (statement,) = proposed.statements
    assert statement.rows < statement.rows_uniform
    assert statement.rows == pytest.approx(of_plan / full, rel=0.35)
    assert statement.rows_uniform == pytest.approx(uniform / full, rel=0.35)


def test_the_text_says_what_to_log_and_what_it_costs(proposed):
    text = proposed.text()
    for words in ("T == 1, decision 1", "follow_up = ", "times as many rows", "missing_impact"):
        assert words in text
    assert proposed.facts()["cells"][0].keys() == {"who", "n", "chance"}


def test_an_early_outcome_divides_people():
    rng = np.random.default_rng(1)
    n = 1_500
    early, decision = rng.normal(size=n), rng.integers(0, 2, n)
    impact = early + np.where(early > 0, 3.0, 0.2) * rng.normal(size=n)
    data = LoggedData(
        rng.normal(size=(n, 1)),
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=np.where(rng.random(n) < 0.6, impact, np.nan),
        missing_impact="at random",
        early={"month": early},
    )
    found = plan(0.4, "E[impact] >= -5", data)
    high = [each.chance for each in found.cells if "month >" in each.who]
    low = [each.chance for each in found.cells if "month <=" in each.who]
    assert min(high) > max(low)
    with pytest.raises(InputError, match="early outcome 'month'"):
        found.chances(data)
    assert found.chances(data, {"month": early}).mean() == pytest.approx(0.4, abs=0.05)


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(InputError, match="budget"):
        plan(1.5)
    with pytest.raises(DataError, match="nobody needs to be followed up"):
        plan(text="PR <= 0.9")
