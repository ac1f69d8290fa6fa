"""Tuning inside the candidate half: which combination, judged on which rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from elfair.estimators.parameters import PARAMETERS
from elfair.search import Selection, Target
from elfair.search import tuning as searching
from elfair.search.classification import Classification
from elfair.search.goals import PredictLabel
from elfair.search.judging import FOLDS
from elfair.search.requirements import Requirement
from elfair.search.tuning import tune


def maker(make_plan, seen):
    def make(parameters, rows):
        seen.append((parameters, rows))
        target = Target(power=parameters.get("power", 0.9))
        return Selection(
            "gradient", Classification(PredictLabel("accuracy")), target, 0
        ), make_plan(rows)

    return make


def test_a_hopeless_target_is_not_chosen(candidate_rows, make_plan):
    # Power 0.05 asks for models that fail nearly always; their accuracy does not make up for it.
    data, seen = candidate_rows(600, 0), []
    chosen = tune({"power": [0.05, 0.95]}, data, 400, maker(make_plan, seen), 0)
    assert chosen == {"power": 0.95}
    assert tune({"power": [0.95, 0.05]}, data, 400, maker(make_plan, []), 0) == chosen


def test_each_combination_is_searched_without_the_rows_it_is_judged_on(candidate_rows, make_plan):
    data, seen = candidate_rows(300, 1), []
    tune({"power": [0.5, 0.9]}, data, 200, maker(make_plan, seen), 3)
    assert len(seen) == 2 * FOLDS
    for _, rows in seen:
        assert rows.n == 200
    # Every row is left out once for each combination.
    used = np.concatenate([rows.features[:, 3] for _, rows in seen])
    values, counts = np.unique(used, return_counts=True)
    assert set(values) == set(data.features[:, 3])
    assert (counts % (2 * (FOLDS - 1)) == 0).all()


def test_the_worth_is_the_chance_to_pass_times_what_is_gained(
    candidate_rows, make_plan, monkeypatch
):
    data, worths = candidate_rows(300, 2), []
    judge = searching._delivered
    monkeypatch.setattr(
        searching,
        "_delivered",
        lambda *given: worths.append((given, judge(*given))) or worths[-1][1],
    )
    tune({"power": [0.9]}, data, 200, maker(make_plan, []), 0)
    for (make, parameters, kept, judged, n_test), worth in worths:
        assert kept.n + judged.n == data.n
        selection, plan = make(parameters, kept)
        search = selection.run(kept, plan, n_test)
        policy, found = search.policy, search.best
        free = policy.free(found.theta, policy.inputs(judged.features))
        accuracy = np.where(judged.label_index == 1, free[0], 1 - free[0]).mean()
        chances = [
            ndtr(Requirement(claim, selection.target, n_test / judged.n).predict(free).score)
            for claim in plan.compile(judged)
        ]
        assert worth == pytest.approx(np.prod(chances) * accuracy)


def test_what_decides_the_promise_cannot_be_tuned():
    tunable = {each.name for each in PARAMETERS if each.tunable}
    assert not {"delta", "bound", "impact_range", "propensity_floor", "constraints"} & tunable
