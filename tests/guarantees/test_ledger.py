"""Looks that are counted keep the promise together, and so do stages of one test that goes on.

Decisions do nothing, or g is exactly 0: whatever is released is an error. ELFAIR_GUARANTEES=full
runs 200 studies of 100 looks, 20,000 of 20 stages on rows, and 500 of 20 stages from fit to model.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from counting import FULL, check_rare, drawn, limit
from elfair import ELFClassifier, Ledger, LoggedData

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import ledger as counted_looks

DELTA = counted_looks.DELTA
LOOKS = 100 if FULL else 12


def test_many_looks_err_together_at_most_delta_of_the_time():
    """With other seeds, models, orders, features, scales and parts of the rows."""
    check_rare(counted_looks.looks, LOOKS, True, allowed=DELTA, full=200, times=4)


def test_looks_that_nobody_counts_err_nearly_always():
    draws = 100 if FULL else 15
    assert np.mean(drawn(counted_looks.looks, draws, 100, False)) > 0.9


def test_the_best_of_ten_models_on_the_rows_that_certify_it_errs_far_more_often():
    draws = 1_000 if FULL else 40
    share = np.mean(drawn(counted_looks.best_of, draws, 10, False))
    assert share > limit(DELTA, draws)
    check_rare(counted_looks.best_of, 10, True, allowed=DELTA, full=1_000, times=4)


@pytest.mark.parametrize("kind", counted_looks.ROWS)
def test_twenty_stages_at_the_edge_err_at_most_delta_of_the_time(kind):
    check_rare(
        counted_looks.released, kind, 0.0, 20, allowed=DELTA, full=5_000,
        bad=lambda stage: stage is not None, times=1.6,
    )  # fmt: skip


def test_ways_to_go_on_from_one_stage_err_together_at_most_delta_of_the_time():
    """Each has other fresh people, so that only the stage before them shows they are related."""
    allowed = {"allowed": DELTA, "full": 5_000, "times": 1.6}
    check_rare(counted_looks.forked, "uniform", 20, True, **allowed)
    draws = 5_000 if FULL else 1_000
    share = np.mean(drawn(counted_looks.forked, draws, "uniform", 20, False))
    assert share > limit(DELTA, draws)


def test_bets_for_growth_leave_more_to_go_on_with_than_bets_that_aim():
    def after_one(bet):
        first = [next(counted_looks.stages("uniform", 0.0, 20, s, bet=bet)) for s in range(200)]
        return np.median([each for each in first if each * DELTA < 1])

    assert after_one("growth") > 0.4 > 0.1 > after_one("aimed")


def table(n, seed):
    rng = np.random.default_rng([seed, 9])
    columns = {
        "X": rng.normal(size=(n, 1)),
        "decision": rng.integers(0, 2, n),
        "propensity": np.full(n, 0.5),
        "impact": rng.random(n),
    }

    def upto(k):
        rows = {name: column[:k] for name, column in columns.items()}
        return LoggedData(**rows, row_id=np.arange(k))

    return upto


def goes_on(stages, seed):
    """Whether a fit, or any stage after it, releases a model where decisions do nothing."""
    upto = table(150 + 60 * stages, seed)
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "ledger.db")
        clf = ELFClassifier(
            "E[impact] >= E_logged[impact]", bound="growth", impact_range=(0, 1), delta=DELTA,
            objective="E[impact]", random_state=seed,
        ).fit(upto(150), ledger=book)  # fmt: skip
        for stage in range(1, stages):
            if clf.solution_found_ or clf.certificate_.objections:
                break  # with a violated assumption nothing is released, and nothing can go on
            clf.go_on(upto(150 + 60 * stage), ledger=book)
            assert clf.certificate_.openings == 1
        return clf.solution_found_


def test_a_fit_that_goes_on_in_several_ways_releases_by_the_first_alone():
    upto = table(150 + 60 * 4, seed=3)
    data = upto(150 + 60 * 4)
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "ledger.db")
        clf = ELFClassifier(
            "E[impact] >= E_logged[impact]", bound="growth", impact_range=(0, 1), delta=DELTA,
            objective="E[impact]", random_state=3,
        ).fit(upto(150), ledger=book)  # fmt: skip
        kept, found = (clf.fitted_, clf.certificate_), []
        for way in range(4):
            clf.fitted_, clf.certificate_ = kept
            rows = [*range(150), *range(150 + 60 * way, 210 + 60 * way)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                record = clf.go_on(data.take(np.array(rows)), ledger=book).certificate_
            found.append((record.openings, bool(record.objections)))
    assert found == [(1, False), (2, True), (3, True), (4, True)]


def test_a_fit_that_goes_on_errs_at_most_delta_of_the_time():
    check_rare(goes_on, 20 if FULL else 4, allowed=DELTA, full=500, times=4)
