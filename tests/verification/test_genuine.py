"""Certificates of every kind that elfair wrote: nothing fails, and only what must be is skipped."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from attacker import keeping

import elfair
from elfair import ELFClassifier, LoggedData, certify, load, verify
from elfair.certificate import GroupCount, LeftOut, Provenance, SplitKind, Version
from elfair.certificate.codes import ASSUMPTIONS, WarningCode
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import InputError
from elfair.verification.context import Context
from elfair.verification.recomputation import recomputed

ALWAYS = {"signature", "source file", "search", "openings"}
#: A statement about a quantile or a variance puts what candidate rows show into its text.
BEYOND = {
    "bernstein": {"bounds"},
    **{kind: {"formulas"} for kind in ("quantiles", "t", "variance from below")},
}
#: Bounds that no moments give.
NEED_ROWS = {"anderson", "betting", "growth"}
FOREIGN = {"certify", "certify, nothing set aside", "certify, betting", "certify, a cut-off"}


def names(verification, status):
    return {check.name for check in verification.checks if check.status == status}


def beyond(certificate):
    """What a record cannot show of its bounds: by default those on rates and events."""
    bounds = {tail.bound for result in certificate.constraints for tail in result.tails}
    return {"bounds"} if bounds & NEED_ROWS else set()


def test_the_kinds_below_are_all_kinds(kinds):
    assert len(kinds) >= 30
    assert set(BEYOND) | FOREIGN <= set(kinds)


def test_a_genuine_certificate_verifies(case, kind):
    certificate, data, model = case(kind)
    verification = verify(certificate.to_json(), data=data, model=model)
    assert verification.passed, verification.text()
    declared = ALWAYS | BEYOND.get(kind, set()) | beyond(certificate)
    if kind in FOREIGN:  # nothing was searched for
        declared -= {"search"}
    if kind == "no constraints":  # nothing was opened
        declared -= {"openings"}
    assert names(verification, "skipped") == declared
    assert not verification.complete


def test_the_record_alone_is_checked_without_rows_or_models(case, kind):
    verification = verify(case(kind).certificate)
    assert verification.passed, verification.text()
    levels = {c.level for c in verification.checks if c.status == "passed"}
    assert levels == {"digests", "arithmetic"}
    recomputed = [c for c in verification.checks if c.level == "recomputation"]
    assert recomputed
    assert all(check.status == "skipped" and check.detail for check in recomputed)


def test_every_assumption_warning_and_split_is_among_them(case, kinds):
    """Verification must know each of them."""
    certificates = [case(kind).certificate for kind in kinds]
    assumed = {each.code for of in certificates for each in of.assumptions}
    assert assumed | {"left_out_alike"} == set(ASSUMPTIONS)  # that one is in test_studies.py
    warned = {each.code for of in certificates for each in of.warnings}
    splits = {of.split for of in certificates}
    assert splits | {"continued"} == set(get_args(SplitKind))  # and that in test_continuing.py
    assert warned | {"variance_hidden"} == set(get_args(WarningCode))  # and this in test_unseen.py


def test_there_are_certificates_that_passed_and_others_that_did_not(case, kinds):
    """Else the tests above would say little."""
    passed = [case(kind).certificate.passed for kind in kinds]
    assert 15 <= sum(passed) < len(passed) - 3
    places = [c.place for kind in kinds if (c := case(kind).certificate.search) is not None]
    assert max(places) > 1


@pytest.mark.parametrize("kind_", ["many deltas, python", "crossfit", "regression", "tuned"])
def test_fitting_again_finds_the_same_models(case, kind_):
    certificate, data, model = case(kind_)
    verification = verify(certificate, data=data, model=model, refit=True)
    assert verification.passed, verification.text()
    assert "search" in names(verification, "passed")


def test_fitting_again_is_skipped_in_other_versions(case):
    certificate, data, model = case("dr")
    versions = (*certificate.versions[:-1], Version("scikit-learn", "0.1"))
    other = replace(certificate, versions=versions)
    model = keeping(model, other)
    verification = verify(other, data=data, model=model, refit=True)
    (search,) = (c for c in verification.checks if c.name == "search")
    assert search.status == "skipped"
    assert "scikit-learn 0.1" in search.detail
    assert verification.falls_short
    assert (verification.passed, verification.complete) == (True, False)
    last = verification.text().splitlines()[-1]
    assert last == "NOT COMPLETE: the search could not be repeated"
    not_asked = verify(other, data=data, model=model)
    assert not not_asked.falls_short
    assert "NOT COMPLETE" not in not_asked.text()
    assert "(refit)" in not_asked.text()  # a word of the command and of Python


def test_a_model_found_otherwise_is_seen_by_fitting_again(case):
    certificate, data, model = case("dr")
    other = ELFClassifier(**{**model.get_params(deep=False), "power": 0.5})
    other.fitted_ = model.fitted_
    (search,) = (
        c
        for c in verify(certificate, data=data, model=other, refit=True).checks
        if c.name == "search"
    )
    assert search.status == "failed"
    assert "found other models" in search.detail


def test_models_that_saw_held_out_rows_are_seen_by_fitting_again():
    """The estimator searched on nine rows in ten, and the record says that it were six."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 12)), rng.integers(0, 2, 60)  # nothing can be learnt
    model = ELFClassifier(
        "accuracy >= 0.55", bound="ttest", candidates=1, candidate_fraction=0.9, random_state=1
    ).fit(X, y)
    data, certificate = LoggedData(X, y), model.certificate_
    assert certificate.passed  # by luck, on six rows
    forged = replace(
        certificate,
        terms=replace(certificate.terms, candidate_share=0.6),
        search=replace(certificate.search, rows=36),
    )
    forged = recomputed(Context(forged, data, model))
    assert forged.passed
    assert forged.n_held_out == 24
    model = keeping(model, forged)
    assert verify(forged, data=data, model=model).passed  # which is why there is a refit
    verification = verify(forged, data=data, model=model, refit=True)
    assert names(verification, "failed") == {"search"}


def test_a_scorer_that_came_fitted_is_seen_by_fitting_again(case):
    certificate, data, model = case("scorer that came fitted")
    kept = tuple(a for a in certificate.assumptions if a.code != "scorer_not_fitted")
    assert len(kept) == len(certificate.assumptions) - 1
    forged = recomputed(Context(replace(certificate, assumptions=kept), data, model))
    forged = replace(forged, trade_off=certificate.trade_off)
    (search,) = (
        c for c in verify(forged, data=data, model=model, refit=True).checks if c.name == "search"
    )
    assert search.status == "failed"
    assert "scorer_not_fitted" in search.detail
    (search,) = (
        c
        for c in verify(certificate, data=data, model=model, refit=True).checks
        if c.name == "search"
    )
    assert search.status == "passed", search.detail


@pytest.mark.parametrize("kind_", ["default", "crossfit", "regression", "scorer", "no solution"])
def test_a_saved_model_verifies(case, kind_, tmp_path):
    _, data, model = case(kind_)
    model.save(tmp_path / "model.elfair")
    loaded = load(tmp_path / "model.elfair", trusted=["sklearn.tree._tree.Tree"])
    verification = verify(loaded.certificate_, data=data, model=loaded)
    assert verification.passed, verification.text()
    assert names(verification, "skipped") == ALWAYS | beyond(model.certificate_)


def test_a_module_verifies():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X, decision = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    given = {"decision": decision, "propensity": np.full(400, 0.5), "impact": X[:, 0] + decision}
    clf = ELFClassifier("E[impact] >= -5", scorer=torch.nn.Linear(2, 2))
    clf.fit(X, decision, **given)
    data = LoggedData(X, decision, **given)
    verification = verify(clf.certificate_, data=data, model=clf)
    assert verification.passed, verification.text()


def test_an_outcome_model_that_is_not_at_hand_is_a_reason_to_skip():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X, decision = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    data = LoggedData(X, decision=decision, propensity=np.full(400, 0.5), impact=X[:, 0] + decision)
    matrix = np.tile([0.4, 0.6], (400, 1))
    tree = DecisionTreeRegressor(max_depth=2)
    certificate = certify(matrix, data, "E[impact] >= -5", estimator="dr", outcome_model=tree)
    verification = verify(certificate, data=data, model=matrix)
    assert verification.passed
    (results,) = (c for c in verification.checks if c.name == "results")
    assert results.status == "skipped"
    assert "DecisionTreeRegressor" in results.detail


def test_an_estimators_own_outcome_model_is_used():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X, decision = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    given = {"decision": decision, "propensity": np.full(400, 0.5), "impact": X[:, 0] + decision}
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    clf = ELFClassifier(
        "E[impact] >= -5", estimator="dr", outcome_model=tree, objective="E[impact]", candidates=2
    )
    clf.fit(X, **given)
    verification = verify(clf.certificate_, data=LoggedData(X, **given), model=clf)
    assert verification.passed, verification.text()
    assert names(verification, "skipped") == ALWAYS


def test_what_people_say_and_rows_left_out_are_part_of_a_genuine_certificate(case, tmp_path):
    certificate, data, model = case("many deltas, python")
    table = tmp_path / "loans.csv"
    table.write_bytes(b"a,b\n1,2\n")
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    left_out = (LeftOut("no impact", 5, (GroupCount("T == 0", 5),)),)
    read = Provenance("Loans", "2024", "loans.csv", digest, certificate.n + 5, left_out)
    said = certificate.stating(chosen_by="the board", why="law", provenance=read)
    verification = verify(said.to_json(), data=data, model=model, source=table)
    assert verification.passed, verification.text()
    assert "source file" in names(verification, "passed")
    table.write_bytes(b"a,b\n1,3\n")
    assert names(verify(said, source=table), "failed") == {"source file"}
    wrong = replace(said, provenance=replace(read, rows_read=certificate.n))
    assert "numbers of rows" in names(verify(wrong), "failed")


def test_to_verify_is_not_to_look(case):
    certificate, data, model = case("certify")  # which may look at its rows here
    with counted_in(LooksOfProcess()):
        assert verify(certificate, data=data, model=model).passed
        assert certify(model, data, "PR >= 0.01").openings == 1


def test_nothing_but_verification_looks_again():
    """Or held-out rows could be opened without being counted."""
    source = Path(elfair.__file__).parent
    callers = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        for name in ("looking_again", "opened_before")
        if name in path.read_text(encoding="utf-8")
    }
    assert {name for name in callers if not name.startswith("verification")} == {
        "data/looks.py",
        "fairness_test/test.py",
    }


def test_text_bytes_files_and_records_are_read_alike(case, tmp_path):
    certificate = case("default").certificate
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json(), encoding="utf-8")
    every = [certificate, certificate.to_json(), certificate.to_json().encode(), path, str(path)]
    assert len({verify(each).to_json() for each in every}) == 1


def test_what_is_shown_names_each_check_and_counts_them(case):
    verification = verify(case("default").certificate)
    text = verification.text()
    assert text.splitlines()[0] == "digests"
    for check in verification.checks:
        assert f"{check.status:<8} {check.name}" in text
    assert "skipped" in text.splitlines()[-1]
    document = json.loads(verification.to_json())
    assert document["passed"] is True
    assert document["complete"] is False
    assert len(document["checks"]) == len(verification.checks)


@pytest.mark.parametrize(
    "certificate",
    ["", "nowhere.json", b"\xff\xfe", b"", "{}", "{", None, 3, "{" * 10_000, '{"a": 1}', "\0"],
)
def test_what_cannot_be_read_is_one_failed_check(certificate):
    verification = verify(certificate)
    assert [(c.name, c.status) for c in verification.checks] == [("record", "failed")]
    assert verification.checks[0].detail
    assert "NOT VERIFIED" in verification.text()


@pytest.mark.parametrize("data", ["loans.csv", 3, [[0.0]]])
def test_data_that_are_no_rows_are_refused(case, data):
    with pytest.raises(InputError, match="must be a LoggedData, or a ContinuousData") as told:
        verify(case("default").certificate, data=data)
    assert "verify_files" in told.value.hint


@pytest.mark.parametrize("model", ["model", 3, [[0.5]], object()])
def test_models_that_are_none_fail_and_do_not_crash(case, model):
    for kind in ("default", "certify", "crossfit", "no constraints"):
        certificate, data, _ = case(kind)
        verification = verify(certificate, data=data, model=model, source="nowhere")
        assert {"model", "results"} <= names(verification, "failed")
        assert not verification.passed


def test_one_of_a_kind_is_singular(case):
    data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    text = verify(certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")).text()
    assert "1 statement asked for, 1 tested" in text
    assert not re.search(r"\b1 (statements|warnings|bounds|linear forms|groups|checks)\b", text)


def test_what_is_printed_is_the_text_and_what_is_inspected_is_short(case):
    verification = verify(case("default").certificate)
    assert str(verification) == verification.text()
    assert len(repr(verification)) < 120
    assert repr(verification).startswith("Verification(passed=True, complete=False, ")
