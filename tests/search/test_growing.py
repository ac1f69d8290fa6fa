"""A search that stops growing."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, no_worse
from elfair.populations import FosterCare
from elfair.search import growing, selection

CONSTRAINTS = [no_worse("T"), "accuracy >= 0.75"]


def fitted(n=12_000, rare=None, **parameters):
    draw = FosterCare(alpha=0.9).sample(n, seed=1)
    group = draw.group if rare is None else (np.arange(n) % rare == 0).astype(int)
    return ELFClassifier(CONSTRAINTS, **parameters).fit(
        draw.features, draw.label, sensitive_features={"T": group}, decision=draw.decision,
        propensity=draw.propensity, impact=draw.impact,
    )  # fmt: skip


@pytest.fixture
def soon(monkeypatch):
    """Few rows count as many."""
    monkeypatch.setattr(selection, "MANY_ROWS", 2_000)
    monkeypatch.setattr(growing, "FIRST_ROWS", 1_000)
    monkeypatch.setattr(growing, "GROUP_ROWS", 200)


def test_few_rows_are_all_searched():
    model = fitted(3_000)
    assert model.certificate_.search.rows == model.certificate_.n_candidate
    assert "The search stopped at" not in model.explain(details=True)


def test_a_search_of_many_rows_stops_and_says_where(soon):
    model = fitted()
    search, n = model.certificate_.search, model.certificate_.n_candidate
    assert model.solution_found_
    assert 1_000 < search.rows < n
    assert f"The search stopped at {search.rows:,} of {n:,} candidate rows" in model.explain(
        details=True
    )
    again = fitted()
    np.testing.assert_array_equal(again.fitted_.models[0].theta, model.fitted_.models[0].theta)


def test_it_finds_nearly_what_a_search_on_all_rows_finds(soon, monkeypatch):
    some = fitted()
    monkeypatch.setattr(selection, "MANY_ROWS", 10**9)
    every = fitted()
    truth = FosterCare(alpha=0.9).truth
    assert truth(some).accuracy > truth(every).accuracy - 0.005
    assert every.certificate_.search.rows == every.certificate_.n_candidate


def test_it_goes_on_while_that_gains(soon, monkeypatch):
    first = fitted().certificate_.search.rows
    monkeypatch.setattr(growing, "GAIN", -1.0)  # any loss is then a gain
    monkeypatch.setattr(growing, "GAINED_CHANCE", -np.inf)
    search = fitted().certificate_
    assert search.search.rows == search.n_candidate > first


def test_a_group_of_few_is_not_lost(soon):
    # 1,000 rows hold about 5 of them, which no search can do anything with.
    model = fitted(rare=200)
    small = [each for each in model.certificate_.constraints if "T == 1" in each.statement]
    assert small
    assert model.certificate_.search.rows < model.certificate_.n_candidate


def test_an_anchored_problem_predicts_the_mean_that_more_rows_give(make_problem, candidate_rows):
    rows = candidate_rows(2_000, seed=0)
    problem = make_problem(rows)
    theta = np.linspace(-1, 1, problem.policy.n_parameters)
    before, far = problem.predictions(theta), problem.predictions(theta / 2)
    wanted = [[prediction.mean + 0.25] for prediction in before]
    problem.anchor(theta, wanted)
    after, farther = problem.predictions(theta), problem.predictions(theta / 2)
    for prediction, (mean,), old in zip(after, wanted, before, strict=True):
        assert prediction.mean == pytest.approx(mean)
        assert prediction.levels.upper == pytest.approx(old.levels.upper + 0.25)
    # The difference between two models stays what the rows say.
    for new, old in zip(farther, far, strict=True):
        assert new.mean == pytest.approx(old.mean + 0.25)
