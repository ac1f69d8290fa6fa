"""Fits to labels that only some decisions reveal: objectives weigh those that are seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from elfair import ELFClassifier, LoggedData


def logged(n: int = 4_000) -> LoggedData:
    """Label 1 has 41 %, but 66 % of those who are seen; no feature says to whom it belongs."""
    rng = np.random.default_rng(5)
    group = rng.random(n) < 0.3
    label = rng.random(n) < np.where(group, 0.9, 0.2)
    chance = np.where(group, 0.9, 0.2)
    decision = rng.random(n) < chance
    assert label[decision].mean() > 0.6
    return LoggedData(
        rng.normal(size=(n, 2)),
        np.where(decision, label, np.nan),
        label_seen_for=[1],
        decision=decision.astype(int),
        propensity=np.where(decision, chance, 1 - chance),
        sensitive_features={"T": group.astype(int)},
    )


def average(**parameters) -> float:
    data = logged()
    clf = ELFClassifier("PR <= 0.99", candidates=3, **parameters).fit(data)
    return float(clf.predict_proba(data.features)[:, 1].mean())


def test_log_loss_gives_a_label_the_share_that_it_has_among_everyone():
    assert average(objective="log_loss") == pytest.approx(0.41, abs=0.06)


@pytest.mark.parametrize("objective", ["accuracy", "TPR + TNR", "PPV"])
def test_other_objectives_run(objective):
    assert 0 <= average(objective=objective) <= 0.99


def test_accuracy_prefers_the_label_that_most_people_have():
    assert average(objective="accuracy") < 0.3


def test_a_scorer_is_fitted_to_rows_with_a_label():
    data = logged()
    clf = ELFClassifier("accuracy >= 0.3", scorer=LogisticRegression(), candidates=3).fit(data)
    assert clf.predict_proba(data.features).shape == (data.n, 2)
