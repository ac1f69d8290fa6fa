"""After "no solution found", the same models are tested further on rows that came since."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elfair import ELFClassifier, Ledger, LoggedData, verify
from elfair.data.split import Split
from elfair.data.stages import fresh_rows, fresh_text
from elfair.errors import BoundError, CertificateWarning, ElfairError, InputError
from elfair.estimators.continuing import digest_of

ASKED = {"bound": "growth", "impact_range": (0, 1), "objective": "E[impact]"}
NO_WORSE = "E[impact] >= E_logged[impact] + 0.01"


def upto(n, *, identified=True, gain=0.05):
    rng = np.random.default_rng(3)
    x, decision = rng.normal(size=4000), rng.integers(0, 2, 4000)
    impact = np.clip(0.5 + gain * (2 * decision - 1) + 0.2 * rng.normal(size=4000), 0, 1)
    ids = {"row_id": np.arange(n)} if identified else {}
    return LoggedData(
        x[:n, None], decision=decision[:n], propensity=np.full(n, 0.5), impact=impact[:n], **ids
    )


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def first(book):
    clf = ELFClassifier(NO_WORSE, **ASKED).fit(upto(300), ledger=book)
    assert not clf.solution_found_
    return clf


def test_fresh_rows_multiply_what_earlier_ones_won_and_certificates_chain(first, book):
    before = first.certificate_
    assert [each.before for each in before.wealth] == [1.0] * len(before.wealth)
    assert verify(before, data=upto(300), model=first).passed
    first.go_on(upto(500), ledger=book)
    after = first.certificate_
    assert after.passed
    assert first.predict([[0.0]]).shape == (1,)
    assert (after.stage.number, after.stage.earlier) == (2, digest_of(before))
    assert fresh_rows(after.stage, 500).sum() == 200
    assert (after.n, after.n_held_out, after.openings) == (500, 200, 1)
    assert [each.before for each in after.wealth] == [each.after for each in before.wealth]
    assert after.digests.ladder == before.digests.ladder
    found = verify(after, data=upto(500), model=first, earlier=before)
    assert found.passed, found.text()
    alone = verify(after, data=upto(500), model=first)
    assert ("stage before", "skipped") in {(each.name, each.status) for each in alone.checks}


def test_the_same_stage_again_is_the_same_test_and_another_one_is_a_further_look(first, book):
    fitted, record = first.fitted_, first.certificate_
    once = first.go_on(upto(340), ledger=book).certificate_
    first.fitted_, first.certificate_ = fitted, record
    assert first.go_on(upto(340), ledger=book).certificate_ == once
    first.fitted_, first.certificate_ = fitted, record
    with pytest.warns(CertificateWarning, match="opened 2 times"):
        other = first.go_on(upto(400), ledger=book).certificate_
    assert other.openings == 2
    assert not other.passed


def with_again(rows, n, *, touched=False):
    """The first 300 rows, fresh ones up to n, and some earlier ones under new identifiers."""
    data, again = upto(n), upto(n).take(np.asarray(rows))
    together = {
        name: np.concatenate([getattr(data, name), getattr(again, name)])
        for name in ("features", "decision", "propensity")
    }
    impact = [*data.impact("impact"), *again.impact("impact")]
    if touched:  # no row is a copy any more, and people are the same all the same
        together["features"] = together["features"] + 0.0
        together["features"][n:] += 0.001
    return LoggedData(
        together["features"], decision=together["decision"], propensity=together["propensity"],
        impact=impact, row_id=[*range(n), *range(10_000, 10_000 + len(rows))],
    )  # fmt: skip


def candidates(record):
    """Which of the first 300 rows were searched on."""
    split = Split.of(upto(300), record.split, share=record.n_candidate / record.n, seed=record.seed)
    return np.flatnonzero(np.isin(upto(300).row_id, split.candidate.row_id))


AGAIN = {
    "all earlier rows": (lambda record: range(300), 300),
    "one of two fresh rows": (lambda record: [7], 301),
    "half old, half fresh": (lambda record: range(0, 300, 3), 400),
    "candidate rows of the first stage": (candidates, 300),
}


@pytest.mark.parametrize("touched", [False, True], ids=["copies", "touched"])
@pytest.mark.parametrize("what", AGAIN)
def test_earlier_rows_under_new_identifiers_are_not_fresh(what, touched, first, book):
    which, n = AGAIN[what]
    rows = which(first.certificate_)
    if touched and len(rows) < 20:
        pytest.skip("so few people are known by copies alone")
    with pytest.raises(ElfairError, match=r"are copies|whom an earlier stage saw") as caught:
        first.go_on(with_again(rows, n, touched=touched), ledger=book)
    assert str(caught.value).count("Hint:") == 1
    assert len(book.entries()) == 1
    assert not first.certificate_.stage


def test_neither_are_rows_of_a_later_stage(book):
    never = ELFClassifier("E[impact] >= E_logged[impact] + 0.2", **ASKED)
    never.fit(upto(300), ledger=book).go_on(upto(400), ledger=book)
    with pytest.raises(InputError, match="whom an earlier stage saw"):
        never.go_on(with_again(range(300, 400), 500, touched=True), ledger=book)
    never.go_on(upto(500), ledger=book)
    assert (never.certificate_.stage.number, never.certificate_.openings) == (3, 1)


FORGED = {
    "e-values of the stage before": lambda c: replace(
        c, wealth=tuple(replace(each, before=2 * each.before) for each in c.wealth)
    ),
    "e-values": lambda c: replace(
        c, wealth=tuple(replace(each, after=1.5) for each in c.wealth)
    ),
    "an e-value less": lambda c: replace(c, wealth=c.wealth[1:]),
    "fresh rows": lambda c: replace(
        c, stage=replace(c.stage, fresh=fresh_text(np.arange(500) >= 200))
    ),
    "number of the stage": lambda c: replace(c, stage=replace(c.stage, number=3)),
    "the stage before": lambda c: replace(c, stage=replace(c.stage, earlier="0" * 64)),
    "no stage": lambda c: replace(c, stage=None),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_stage_is_seen(what, first, book):
    before = first.certificate_
    after = first.go_on(upto(500), ledger=book).certificate_
    assert not verify(FORGED[what](after), data=upto(500), model=first, earlier=before).passed


def test_what_cannot_go_on_is_said(first, book, tmp_path):
    def refused(match, clf=first, data=None, ledger=book):
        with pytest.raises(InputError, match=match) as caught:
            clf.go_on(upto(500) if data is None else data, ledger=ledger)
        assert str(caught.value).count("Hint:") == 1

    refused("0 of 300 rows are fresh", data=upto(300))
    refused("has no identifier", data=upto(500, identified=False))
    refused("does not know whom the earlier test", ledger=tmp_path / "other.db")
    refused("not in the table as they were", data=upto(500, gain=0.06))
    refused("Got fresh rows alone", data=upto(500).take(np.arange(300, 500)))
    aimed = ELFClassifier(NO_WORSE, **ASKED | {"bound": "betting"})
    refused("only a test that bets for growth", clf=aimed.fit(upto(300)))
    refused("a model was released", clf=first.go_on(upto(500), ledger=book), data=upto(600))


def test_a_study_that_declares_no_identifier_cannot_go_on(book):
    clf = ELFClassifier(NO_WORSE, **ASKED).fit(upto(300, identified=False), ledger=book)
    with pytest.raises(InputError, match="does not know whom"):
        clf.go_on(upto(500), ledger=book)


def test_statements_of_several_averages_are_refused_before_any_look():
    with pytest.raises(BoundError, match="bets on one average") as caught:
        ELFClassifier("E[impact] * PR >= 0.1", **ASKED, positive=1).fit(upto(300))
    assert str(caught.value).count("Hint:") == 1


def test_models_before_the_released_one_may_have_passed_at_an_earlier_stage(book):
    """One of two statements passes at once: its e-value stays, and it is not tested again."""
    asked = [NO_WORSE, "E[impact] >= 0.2"]
    clf = ELFClassifier(asked, **ASKED).fit(upto(300), ledger=book)
    easy = [each for each in clf.certificate_.wealth if "0.2" in each.statement]
    assert all(each.after >= 10 for each in easy)
    before = clf.certificate_
    clf.go_on(upto(500), ledger=book)
    again = [each for each in clf.certificate_.wealth if "0.2" in each.statement]
    assert [each.after for each in again] == [each.after for each in easy]
    assert clf.solution_found_
    found = verify(clf.certificate_, data=upto(500), model=clf, earlier=before)
    assert found.passed, found.text()
