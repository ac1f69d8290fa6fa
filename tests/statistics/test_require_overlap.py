"""Rules inside one group, where nobody logged propensities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from elfair import ELFClassifier, LoggedData, certify, check
from elfair.errors import DataError

ABOUT = "E[impact | T == {}] >= E_logged[impact | T == {}] - 1"
RULES = {
    "a cut-off on a column": lambda x: x[:, 0] > 0.2,
    "a cut-off on a score": lambda x: x[:, 0] + x[:, 1] > 0.2,
    "the same decision for all": lambda x: x[:, 0] > -99,
}


def table(rule, n=1_000, noise=0.0):
    rng = np.random.default_rng(3)
    x, group = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    drawn = rng.random(n) < expit(0.8 * x[:, 0] - 0.4 * x[:, 1])
    ruled = rule(x) ^ (rng.random(n) < noise)
    decision = np.where(group == 1, ruled, drawn).astype(int)
    return LoggedData(
        x,
        sensitive_features={"T": group},
        decision=decision,
        propensity="estimated",
        impact=x[:, 0] + rng.normal(size=n),
    )


@pytest.mark.parametrize("rule", RULES)
def test_a_statement_about_a_group_that_a_rule_decided_about_is_refused(rule):
    data = table(RULES[rule])
    new = np.full(1_000, 0.6)
    for text in (ABOUT.format(1, 1), "E[impact] >= 0"):
        with pytest.raises(DataError, match=r"follow a rule: of \d+ candidate rows"):
            certify(new, data, text, nuisance_fraction=0.4)
    assert certify(new, data, ABOUT.format(0, 0), nuisance_fraction=0.4).constraints


def test_fit_and_check_refuse_it():
    data = table(RULES["a cut-off on a column"])
    model = ELFClassifier(ABOUT.format(1, 1), objective="E[impact]", candidates=1)
    with pytest.raises(DataError, match="T == 1 follow a rule"):
        model.fit(data)
    assert any("follow a rule" in each.evidence for each in check(model, data).findings)


def test_one_decision_in_twenty_against_the_rule_is_an_experiment():
    data = table(RULES["a cut-off on a column"], noise=0.05)
    assert certify(np.full(1_000, 0.6), data, ABOUT.format(1, 1), nuisance_fraction=0.4).constraints
