"""With a ledger that asks for a chance, a hopeless model is not tested, and costs no look."""

from __future__ import annotations

import pytest

from elfair import ELFClassifier, Ledger
from elfair.errors import UnlikelyError
from elfair.populations import FosterCare


def fit(ledger, seed=2):
    population = FosterCare(alpha=0.2)
    log = population.sample(500, seed=seed)
    clf = ELFClassifier(population.constraints)
    return clf.fit(log.features, log.label, **log.logged, ledger=ledger)


def test_a_hopeless_model_is_not_tested_and_its_rows_are_not_spent(tmp_path):
    path = tmp_path / "ledger.db"
    with pytest.raises(UnlikelyError, match="No held-out row was opened, and no look was counted"):
        fit(Ledger(path, least_chance=0.05))
    assert Ledger(path).entries() == []
    # Whoever wants it all the same has the first look still.
    clf = fit(Ledger(path))
    assert not clf.solution_found_
    assert clf.certificate_.search.forecast < 0.05
    assert clf.certificate_.openings == 1
    assert len(Ledger(path).entries()) == 1


def test_nothing_looks_like_a_result_if_nothing_was_tested(tmp_path):
    population = FosterCare(alpha=0.2)
    log = population.sample(500, seed=2)
    clf = ELFClassifier(population.constraints)
    ledger = Ledger(tmp_path / "ledger.db", least_chance=0.05)
    with pytest.raises(UnlikelyError):
        clf.fit(log.features, log.label, **log.logged, ledger=ledger)
    assert not hasattr(clf, "certificate_")


def test_without_such_a_ledger_every_model_is_tested():
    assert fit(None, seed=3).certificate_.openings == 1
