"""Quasi-Seldonian classifiers: what they promise holds in truth, and is worth asking for."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from elfair.experiments.baselines.registry import get_method
from elfair.populations import FosterCare
from elfair.populations.foster_care import grid

POPULATION, TRIALS, DELTA = FosterCare(), 40, 0.1


def rates(model):
    """The true positive rate among all, among Y = 1 and among Y = 0, by group."""
    law = grid(panels=4)
    one = np.asarray(model.predict_proba(law.points))[:, 1]
    return {
        kind: (law.weight * among) @ one / (law.weight * among).sum(axis=1)
        for kind, among in [("PR", 1.0), ("TPR", law.label), ("FPR", 1 - law.label)]
    }


def gap(*kinds):
    return lambda rate: max(abs(rate[kind][0] - rate[kind][1]) for kind in kinds)


#: By how much each is violated: above 0, it does not hold.
VIOLATION = {
    "qsa-demographic-parity": lambda rate: gap("PR")(rate) - 0.1,
    "qsa-equalized-odds": lambda rate: gap("TPR", "FPR")(rate) - 0.1,
    "qsa-equal-opportunity": lambda rate: gap("TPR")(rate) - 0.1,
    "qsa-predictive-equality": lambda rate: gap("FPR")(rate) - 0.1,
    "qsa-disparate-impact": lambda rate: 0.8 * max(rate["PR"]) - min(rate["PR"]),
}


def test_the_rates_are_those_of_a_sample():
    draw = POPULATION.sample(200_000, seed=0)
    model = POPULATION.behavior
    one, truth = model.predict_proba(draw.features)[:, 1], rates(model)
    for group in (0, 1):
        here = draw.group == group
        for kind, rows in [("PR", here), ("TPR", here & (draw.label == 1)),
                           ("FPR", here & (draw.label == 0))]:  # fmt: skip
            assert one[rows].mean() == pytest.approx(truth[kind][group], abs=0.01)


@pytest.mark.parametrize("name", VIOLATION)
def test_what_is_returned_is_fair_as_often_as_promised(name):
    method, returned, unfair = get_method(name), 0, 0
    for seed in range(TRIALS):
        model = method.fit(POPULATION.sample(1500, seed), [], delta=DELTA, seed=seed)
        if model is not None:
            returned += 1
            unfair += VIOLATION[name](rates(model)) > 0
    assert unfair / TRIALS <= DELTA + 2 * sqrt(DELTA * (1 - DELTA) / TRIALS)
    assert returned / TRIALS >= 0.5


def test_delta_is_the_one_that_was_given():
    draw = POPULATION.sample(1500, seed=0)
    model = get_method("qsa-disparate-impact").fit(draw, [], delta=0.2, seed=0)
    assert {row.delta for row in model.certificate_.constraints} == {0.2}


@pytest.mark.parametrize("name", VIOLATION)
def test_the_constraint_binds(name):
    """Logistic regression violates it, or is nearer to its edge than 0.02."""
    draw = POPULATION.sample(50_000, seed=0)
    regression = get_method("logistic-regression").fit(draw, [], delta=0.1, seed=0)
    assert VIOLATION[name](rates(regression)) > (-0.02 if name == "qsa-equal-opportunity" else 0.01)
