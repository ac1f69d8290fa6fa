"""Logistic regression: its rule, and whom it harms (the pattern of the paper)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from elfair.experiments.baselines.methods import PlainLogistic
from elfair.populations import FosterCare

PLAIN, STRICT = FosterCare(), FosterCare(strict=True)


def fit(n, seed):
    return PlainLogistic().fit(PLAIN.sample(n, seed), [], delta=0.1, seed=seed)


def test_the_rule_decides_as_scikit_learn_does():
    draw, others = PLAIN.sample(500, 0), PLAIN.sample(2000, 1).features
    fitted = LogisticRegression().fit(draw.features, draw.label)
    np.testing.assert_array_equal(fit(500, 0).predict_proba(others)[:, 1], fitted.predict(others))


@pytest.fixture(scope="module")
def harmed():
    """How often each group is harmed, by variant, size and group."""
    rates = {}
    for n, seeds in [(250, 60), (4096, 10)]:
        rules = [fit(n, seed) for seed in range(seeds)]
        for strict, population in [(False, PLAIN), (True, STRICT)]:
            violations = [population.violations(rule) for rule in rules]
            for group in (0, 1):
                rates[strict, n, group] = np.mean([found[group] > 0 for found in violations])
    return rates


@pytest.mark.parametrize(
    ("strict", "n", "group", "low", "high"),
    [
        (False, 250, 1, 0.6, 0.9),
        (False, 4096, 1, 1, 1),
        (False, 250, 0, 0, 0),
        (False, 4096, 0, 0, 0),
        (True, 250, 1, 1, 1),
        (True, 4096, 1, 1, 1),
        (True, 250, 0, 0.4, 0.8),
        (True, 4096, 0, 1, 1),
    ],
)
def test_whom_it_harms(harmed, strict, n, group, low, high):
    assert low <= harmed[strict, n, group] <= high


def test_it_is_ninety_percent_accurate():
    assert PLAIN.accuracy(fit(4096, 0)) == pytest.approx(0.9, abs=0.005)
