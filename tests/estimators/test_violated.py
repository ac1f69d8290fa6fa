"""A violated assumption means "no solution found", unless it was accepted; and looks at rows."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import elfair
from elfair import Certificate, ELFClassifier, ELFRegressor, LoggedData, certify, verify
from elfair.certificate.codes import REFUTABLE
from elfair.certificate.explanation import verdict
from elfair.errors import CertificateWarning, InputError, NoSolutionFoundError, SpentError

N = 800
NO_WORSE = "E[impact] >= E_logged[impact]"


def table(seed=0, n=N, **columns):
    """Decision 1 helps everybody, and is the right one for nearly all of them."""
    rng = np.random.default_rng(seed)
    decision = rng.random(n) < 0.5
    given = {
        "sensitive_features": {"T": rng.integers(0, 2, n)},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": decision + 0.5 * rng.normal(size=n),
    } | columns
    return LoggedData(rng.normal(size=(n, 2)), rng.random(n) < 0.9, **given)


def better(n=N):
    return np.full(n, 0.9)


def objected(make, *codes):
    """The result of a test to which there are these objections, and no others."""
    with pytest.warns(CertificateWarning) as caught:
        made = make()
    assert len(caught) == 1
    none = "model did not pass: " if isinstance(made, Certificate) else "no solution found: "
    assert str(caught[0].message).startswith(none)
    assert f"accept_violated={list(codes)!r}" in str(caught[0].message)
    record = made if isinstance(made, Certificate) else made.certificate_
    assert tuple(each.code for each in record.objections) == codes
    assert not record.passed
    assert not record.failed  # every bound is at most 0
    return made


SETTINGS = {
    "tau_known": {"estimator": "is"},
    "halves_independent": {"split": "stratified"},
}


@pytest.mark.parametrize("code", SETTINGS)
@pytest.mark.parametrize("kind", [ELFClassifier, ELFRegressor])
def test_a_fit_that_violates_an_assumption_returns_no_model(code, kind, tmp_path):
    def fit(**more):
        estimator = kind(NO_WORSE, candidates=3, **SETTINGS[code], **more)
        if kind is ELFClassifier:
            return estimator.fit(table())
        rng = np.random.default_rng(0)
        dose = rng.normal(size=N)
        return estimator.fit(
            rng.normal(size=(N, 1)),
            dose + 0.5,
            decision=dose,
            propensity=np.exp(-(dose**2) / 2) / np.sqrt(2 * np.pi),
            behavior_spread=1.0,
            impact=5 * dose + 0.1 * rng.normal(size=N),
        )

    refused = objected(fit, code)
    assert not refused.solution_found_
    name = refused.certificate_.objections[0].name
    with pytest.raises(NoSolutionFoundError, match=rf"an assumption is violated \({name}\)"):
        refused.predict(np.zeros((1, refused.n_features_in_)))
    assert refused.explain().startswith(
        f"No solution found: an assumption is violated ({name}), although the statement passed"
    )
    assert f'accept_violated=["{code}"]' in refused.explain()
    trade_off = refused.certificate_.trade_off
    assert "released" not in {model.fate for model in trade_off.models}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accepted = fit(accept_violated=[code])
    assert accepted.solution_found_
    record = accepted.certificate_
    assert [each.code for each in record.accepted] == [code]
    assert record.terms.accept_violated == (code,)
    # Nothing else than the release depends on it.
    assert record.constraints == refused.certificate_.constraints
    assert record.digests == refused.certificate_.digests
    # Every form in which the model is shown says it.
    headline = f"Solution found, although an assumption is violated ({name}), which was accepted"
    accepted.save(tmp_path / "model.elfair")
    record.save(tmp_path / "certificate.json")
    read = Certificate.load(tmp_path / "certificate.json")
    for certificate in (record, read, elfair.load(tmp_path / "model.elfair").certificate_):
        assert certificate.explain().startswith(headline)
        assert headline in certificate.explain(details=True)
        assert "NOT justified" in certificate.explain()
        assert headline in certificate.to_cyclonedx()
        assert certificate.terms.accept_violated == (code,)
    assert headline in accepted.report().html()
    assert headline in accepted.report().markdown()
    assert "which was accepted" in accepted.report()._repr_html_()


def test_certify_objects_as_fit_does():
    record = objected(lambda: certify(better(), table(), NO_WORSE, estimator="is"), "tau_known")
    assert verdict(record).startswith("Model did not pass: an assumption is violated (tau")
    accepted = certify(better(), table(), NO_WORSE, estimator="is", accept_violated=("tau_known",))
    assert accepted.passed
    assert "which was accepted" in verdict(accepted)


def test_what_is_accepted_does_not_stand_for_anything_else():
    def make():
        return ELFClassifier(
            NO_WORSE, estimator="is", split="stratified", accept_violated=["tau_known"]
        ).fit(table())

    record = objected(make, "halves_independent").certificate_
    assert [each.code for each in record.violated] == ["halves_independent", "tau_known"]
    assert [each.code for each in record.accepted] == ["tau_known"]
    assert "No model is released" in record.explain()
    assert "What does not hold was accepted" in record.explain()


def test_wrong_propensities_release_no_model():
    """They are too large for three decisions, and only weights show it."""
    rng = np.random.default_rng(1)
    n = 4_000
    x = rng.normal(size=n)
    p = np.where(x > 0, 0.9, 0.1)
    decision = (rng.random(n) < p).astype(int)
    behavior = np.tile([0.6, 0.9, 0.3], (n, 1))
    data = LoggedData(
        rng.normal(size=(n, 1)),
        decision=decision,
        propensity=behavior[np.arange(n), decision],
        impact=rng.normal(size=n) + decision,
        classes=[0, 1, 2],
    )
    model = np.column_stack([np.full(n, 0.1), np.full(n, 0.9), np.zeros(n)])
    with pytest.warns(CertificateWarning, match="no bound computed with them means anything"):
        record = certify(model, data, "E[impact] >= -1")
    assert [each.code for each in record.objections] == ["mean_weight"]
    assert not record.failed
    assert not record.passed
    accepted = certify(model, data, "E[impact] >= -1", accept_violated=["mean_weight"])
    assert accepted.passed


def test_a_failed_statement_is_told_beside_the_objection():
    with pytest.warns(CertificateWarning) as caught:
        record = certify(better(), table(), "E[impact] >= E_logged[impact] + 5", estimator="is")
    assert "accept_violated" not in str(caught[0].message)  # there is no model to be had
    assert verdict(record) == (
        "Model did not pass: an assumption is violated (tau is known). Besides, the statement did "
        "not pass the test on 800 held-out rows."
    )


def test_the_paper_accepts_what_it_violates_and_says_so():
    paper = ELFClassifier.paper(NO_WORSE)
    assert paper.accept_violated == ("tau_known", "halves_independent")
    paper.fit(table())
    assert paper.solution_found_
    assert paper.explain().startswith(
        "Solution found, although 2 assumptions are violated (halves independent; tau is known), "
        "which was accepted: "
    )
    refused = ELFClassifier.paper(NO_WORSE, accept_violated=())
    objected(lambda: refused.fit(table()), "halves_independent", "tau_known")


@pytest.mark.parametrize("wrong", [["tau"], "tau_known", ["unconfounded"], [3], None, True])
def test_an_unknown_code_is_an_error_that_lists_the_known_ones(wrong):
    said = "accept_violated must be a list with any of"
    with pytest.raises(InputError, match=said):
        certify(better(), table(), NO_WORSE, accept_violated=wrong)
    with pytest.raises(InputError, match=said) as caught:
        ELFClassifier(NO_WORSE, accept_violated=wrong).fit(table())
    assert all(repr(code) in str(caught.value) for code in REFUTABLE)
    assert str(caught.value).count("Hint:") == 1


def test_a_code_that_is_nearly_right_is_recognised():
    with pytest.raises(InputError, match="did you mean 'tau_known'"):
        ELFClassifier(NO_WORSE, accept_violated=["tau_know"]).fit(table())
    with pytest.raises(InputError, match=r"write accept_violated=\['tau_known'\]"):
        ELFClassifier(NO_WORSE, accept_violated="tau_known").fit(table())


# -- verification ---------------------------------------------------------------------------------


def test_verification_comes_to_the_same_conclusion():
    data = table()
    with pytest.warns(CertificateWarning):
        refused = ELFClassifier(NO_WORSE, estimator="is", candidates=3).fit(data)
    accepted = ELFClassifier(
        NO_WORSE, estimator="is", candidates=3, accept_violated=["tau_known"]
    ).fit(data)
    for clf in (refused, accepted):
        found = verify(clf.certificate_.to_json(), data=data, model=clf, refit=True)
        assert found.passed, found.text()
        assert verdict(clf.certificate_) in found.text()


def test_a_release_in_spite_of_a_violated_assumption_is_rejected():
    data = table()
    accepted = certify(better(), data, NO_WORSE, estimator="is", accept_violated=["tau_known"])
    forged = replace(accepted, terms=replace(accepted.terms, accept_violated=()))
    assert forged.passed
    for given in ({}, {"data": data, "model": better()}):
        found = verify(forged, **given)
        failed = {check.name: check.detail for check in found.checks if check.status == "failed"}
        assert "verdicts" in failed
        assert "tau_known" in failed["verdicts"]


# -- looks ----------------------------------------------------------------------------------------


def test_the_same_fit_again_is_the_same_look(counted):
    first = ELFClassifier(NO_WORSE).fit(table())
    again = ELFClassifier(NO_WORSE).fit(table())
    assert first.solution_found_
    assert again.certificate_ == first.certificate_
    assert clone(again).fit(table()).certificate_ == first.certificate_
    model = first.predict_proba(table().features)
    with pytest.warns(CertificateWarning, match="opened 2 times"):  # certify tests other rows
        certify(model, table(), NO_WORSE)
    # So is another way to the same models.
    assert ELFClassifier(NO_WORSE, power=0.8).fit(table()).certificate_ == first.certificate_
    # However many looks came between.
    assert ELFClassifier(NO_WORSE).fit(table()).certificate_ == first.certificate_


def test_to_accept_what_the_result_shows_is_no_further_look(counted):
    objected(lambda: ELFClassifier(NO_WORSE, estimator="is").fit(table()), "tau_known")
    again = ELFClassifier(NO_WORSE, estimator="is", accept_violated=["tau_known"]).fit(table())
    assert again.certificate_.openings == 1
    assert again.solution_found_


CHANGED = {
    "seed": {"random_state": 1},
    "delta": {"delta": 0.2},
    "constraint": {"constraints": "E[impact] >= E_logged[impact] - 0.1"},
    "estimator": {"estimator": "paired"},
    "bound": {"bound": "betting", "impact_range": (-2, 3)},
    "split": {"split": "crossfit"},
    "share": {"candidate_fraction": 0.5},
    "objective": {"objective": "log_loss"},
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_further_look_with_anything_changed_releases_no_model(what, counted):
    assert ELFClassifier(NO_WORSE).fit(table()).solution_found_
    changed = {"constraints": NO_WORSE, **CHANGED[what]}
    second = objected(lambda: ELFClassifier(**changed).fit(table()), "opened_once")
    (once,) = second.certificate_.objections
    assert "opened 2 times" in once.evidence
    assert "looks=2" in once.evidence  # how to declare them in advance
    accepted = ELFClassifier(**changed, accept_violated=["opened_once"]).fit(table())
    assert accepted.solution_found_
    assert accepted.certificate_.openings == 2
    assert "held-out rows opened once), which was accepted" in accepted.explain()


def test_the_same_rows_in_another_order_are_the_same_rows(counted):
    data = table()
    assert certify(better(), data, NO_WORSE).passed
    order = np.random.default_rng(2).permutation(N)
    objected(lambda: certify(better(), data.take(order), NO_WORSE), "opened_once")


def test_each_model_that_certify_tests_is_a_look(counted):
    assert certify(better(), table(), NO_WORSE).passed
    assert certify(better(), table(), NO_WORSE).openings == 1
    objected(lambda: certify(0.95 * better(), table(), NO_WORSE), "opened_once")
    assert certify(0.95 * better(), table(seed=3), NO_WORSE).passed  # other rows


@pytest.mark.parametrize(
    "changed", [{"bound": "betting"}, {"estimator": "is"}, {"random_state": 1}], ids=str
)
def test_the_same_model_tested_in_another_way_is_a_further_look(changed, counted):
    usual = {"impact_range": (-2, 3), "accept_violated": ["tau_known"]}
    assert certify(better(), table(), NO_WORSE, **usual).passed
    objected(lambda: certify(better(), table(), NO_WORSE, **usual, **changed), "opened_once")


def test_declared_looks_share_delta(counted):
    data = table()

    def look(seed):
        return ELFClassifier(NO_WORSE, delta=0.09, looks=3, random_state=seed).fit(data)

    fits = [look(seed) for seed in range(3)]
    for number, clf in enumerate(fits, 1):
        record = clf.certificate_
        assert clf.solution_found_
        assert record.openings == number
        assert record.terms.looks == 3
        assert [result.delta for result in record.constraints] == [0.09 / 3]
        assert [claim.delta for claim in record.terms.claims] == [0.09 / 3]
        assert record.joint_delta == pytest.approx(0.09)
        assert "0.09 (3 times the largest delta: 3 looks were declared" in record.joint_statement
        assert "at most 0.09 in the limit of many rows, over all 3 looks" in record.explain()
        (once,) = (each for each in record.assumptions if each.code == "opened_once")
        assert (once.status, once.evidence) == (
            "checked", f"look {number} of 3, as declared before the first"
        )  # fmt: skip
        found = verify(record.to_json(), data=data, model=clf, refit=True)
        assert found.passed, found.text()
    assert look(0).certificate_ == fits[0].certificate_
    with pytest.raises(SpentError, match="3 looks at these rows were declared, and all"):
        look(3)


@pytest.mark.parametrize("later", [1, 3])
def test_the_number_of_looks_cannot_be_changed_after_the_first(later, counted):
    assert certify(better(), table(), NO_WORSE, looks=2).passed
    with pytest.raises(InputError, match="looks=2 was declared before the first look"):
        certify(0.95 * better(), table(), NO_WORSE, looks=later)
    with pytest.raises(InputError, match="looks=2 was declared before the first look"):
        ELFClassifier(NO_WORSE, looks=later).fit(table())
    assert certify(0.95 * better(), table(), NO_WORSE, looks=2).openings == 2


def test_other_numbers_of_looks_than_the_tests_had_are_rejected():
    record = certify(better(), table(), NO_WORSE, looks=2)
    assert verify(record, data=table(), model=better()).passed
    for looks in (1, 5):
        forged = replace(record, terms=replace(record.terms, looks=looks))
        failed = {c.name for c in verify(forged).checks if c.status == "failed"}
        assert "joint promise" in failed
    late = replace(record, openings=3)
    assert {"assumptions"} <= {c.name for c in verify(late).checks if c.status == "failed"}


def test_what_is_refused_is_no_look(counted):
    with pytest.raises(InputError):
        certify(better(), table(), NO_WORSE, bound="hoeffding")  # it needs a range
    assert certify(better(), table(), NO_WORSE).openings == 1
