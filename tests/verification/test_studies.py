"""The study file inside a certificate, and the rows that it left out, held against the record."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from elfair import Certificate, load, verify
from elfair.certificate import GroupCount, LeftOut
from elfair.certificate.codes import left_out_alike
from elfair.policies.models import digests
from elfair.study import StudyFile, fit_study
from elfair.verification import verify_files
from elfair.verification.checks import CHECKS

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from awkward import write_loans, write_study

DROP = '[rows]\nmissing_impact = "drop"\n'
IMPACT = "`savings, 2 yrs on`"
SETTINGS = {
    "usual": (DROP + "[test]\nseed = 3\ndelta = 0.1\ncandidates = 2\n", None),
    "crossfit": ("[test]\nsplit = 'crossfit'\nfolds = 3\n", None),
    "declared": (
        "[model]\nobjective = 'log_loss'\n"
        "[test]\nbound = 'hoeffding'\nestimator = 'is'\nimpact_range = [-9, 9]\n"
        "propensity_floor = 0.01\ncandidate_fraction = 0.5\ncandidates = 1\n",
        f"[[constraints]]\ntext = '-8 <= E[{IMPACT}] <= 8'\ndelta = 0.05\nwhy = 'law'\n",
    ),
    "nothing to test": ("", ""),
}


def made(folder, name):
    extra, constraints = SETTINGS[name]
    write_loans(folder / "loans.csv", n=600, missing=40 if DROP in extra else 0)
    write_study(folder / "study.toml", "loans.csv", extra=extra, constraints=constraints)
    fit_study(StudyFile.load(folder / "study.toml")).write(folder / "results")
    return folder


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return made(tmp_path_factory.mktemp("usual"), "usual")


def checked(folder, certificate=None):
    path, (model,) = folder / "results" / "certificate.json", (folder / "results").glob("*.elfair")
    if certificate is not None:
        path = folder / "forged.json"
        certificate.save(path)
    return verify_files(path, data=folder / "loans.csv", model=model)


def failed(verification):
    return {check.name for check in verification.checks if check.status == "failed"}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_genuine_study_verifies(name, tmp_path):
    verification = checked(made(tmp_path, name))
    assert verification.passed, verification.text()
    passed = {check.name for check in verification.checks if check.status == "passed"}
    assert {"study file", "rows left out"} <= passed
    listed = [(level, each) for level, of_level in CHECKS.items() for each in of_level]
    made_now = [(check.level, check.name) for check in verification.checks]
    assert made_now == [each for each in (("digests", "record"), *listed) if each in made_now]
    if name == "usual":  # there every check can be made
        assert made_now[1:] == listed


STUDIES = {
    "delta": ("delta = 0.1", "delta = 0.01"),
    "seed": ("seed = 3", "seed = 4"),
    "text of a constraint": ("accuracy >= 0.7", "accuracy >= 0.99"),
    "named constraint": ('no_worse = "T-group"', 'improvement = "T-group"\nmargin = 5.0'),
    "constraint": ('[[constraints]]\ntext = "accuracy >= 0.7"', ""),
    "who chose": ("the credit board", "the regulator"),
    "why": ("nobody is to be worse off", "the law"),
    "bound": ("seed = 3", "seed = 3\nbound = 'anderson'"),
    "estimator": ("seed = 3", "seed = 3\nestimator = 'dr'"),
    "split": ("seed = 3", "seed = 3\nsplit = 'crossfit'"),
    "share": ("seed = 3", "seed = 3\ncandidate_fraction = 0.3"),
    "range": ("seed = 3", "seed = 3\nimpact_range = [-9, 9]"),
    "Lambda": ("seed = 3", "seed = 3\nLambda = 1.2"),
    "floor": ("seed = 3", "seed = 3\npropensity_floor = 0.01"),
    "search": ("seed = 3", "seed = 3\nsearch = 'cmaes'"),
    "objective": ("[test]", "[model]\nobjective = 'log_loss'\n[test]"),
    "title": ("Loans, as they came", "Loans of all branches"),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_that_says_something_else_is_seen(usual, name):
    certificate = Certificate.load(usual / "results" / "certificate.json")
    old, new = STUDIES[name]
    text = certificate.provenance.study
    assert old in text
    provenance = replace(certificate.provenance, study=text.replace(old, new))
    forged = replace(certificate, provenance=provenance)
    assert failed(checked(usual, forged)) == {"study file"}


def test_what_needs_no_groups_is_seen_without_data(usual):
    certificate = Certificate.load(usual / "results" / "certificate.json")
    (check,) = (c for c in verify(certificate).checks if c.name == "study file")
    assert check.status == "skipped"
    forged = replace(certificate, provenance=replace(certificate.provenance, title="All loans"))
    assert failed(verify(forged)) == {"study file"}


def test_another_positive_decision_than_the_study_names_is_seen(tmp_path, monkeypatch):
    constraints = "[[constraints]]\ntext = 'PR <= 0.97'\n"
    monkeypatch.setitem(
        SETTINGS, "rate", ("[model]\npositive = 'yes'\n[test]\ncandidates = 1\n", constraints)
    )
    folder = made(tmp_path, "rate")
    certificate = Certificate.load(folder / "results" / "certificate.json")
    assert certificate.terms.positive == "yes"
    assert checked(folder).passed
    forged = replace(certificate, terms=replace(certificate.terms, positive="no"))
    assert failed(verify(forged)) == {"study file"}
    assert failed(checked(folder, forged)) == {"study file", "conditions of the test"}
    # Whoever changes the study with it computes other bounds.
    study = certificate.provenance.study.replace("positive = 'yes'", "positive = 'no'")
    both = replace(forged, provenance=replace(certificate.provenance, study=study))
    assert {"data", "results"} <= failed(checked(folder, both))
    # A study that names none was refused, unless a convention tells.
    study = certificate.provenance.study.replace("positive = 'yes'", "")
    none = replace(forged, provenance=replace(certificate.provenance, study=study))
    assert failed(verify(none)) == {"study file"}


def test_rows_left_out_are_counted_again(usual):
    certificate = Certificate.load(usual / "results" / "certificate.json")
    said = certificate.provenance
    (left_out,) = said.left_out
    for changed, n in (
        ((), 0),
        ((replace(left_out, n=3),), 3),
        ((replace(left_out, groups=(GroupCount("T-group = A", 40),)),), 40),
        ((LeftOut("asked to be left out", 40, left_out.groups),), 40),
    ):
        provenance = replace(said, left_out=changed, rows_read=certificate.n + n)
        kept = [a for a in certificate.assumptions if a.code != "left_out_alike"]
        kept += [left_out_alike(provenance)] if changed else []
        forged = replace(certificate, provenance=provenance, assumptions=tuple(kept))
        assert failed(checked(usual, forged)) == {"rows left out"}


def swapped(folder, change):
    """The model's file, rewritten by somebody who knows how; its digests are right again."""
    model = load(folder / "results" / "model.elfair")
    change(model)
    model.save(folder / "swapped.elfair", encoding=model.encoding_)
    return verify_files(
        folder / "results" / "certificate.json",
        data=folder / "loans.csv",
        model=folder / "swapped.elfair",
    )


def another_in_line(model):
    trained = model.fitted_
    place, digest = next(
        (place, digest)
        for place, digest in enumerate(digests(trained.ladder))
        if digest != trained.certificate.digests.model
    )
    certificate = trained.certificate
    named = replace(certificate, digests=replace(certificate.digests, model=digest))
    model.fitted_ = replace(trained, models=(trained.ladder[place],), certificate=named)


def classes_the_other_way(model):
    model.classes_ = model.classes_[::-1]


def other_features(model):
    first, second, *rest = model.encoding_["features"]
    model.encoding_ = {**model.encoding_, "features": [second, first, *rest]}


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (another_in_line, "what decides"),
        (classes_the_other_way, "what decides"),
        (other_features, "features of the model"),
    ],
)
def test_a_file_that_decides_otherwise_than_was_tested_is_seen(usual, change, check):
    assert swapped(usual, lambda model: None).passed
    assert failed(swapped(usual, change)) == {check}


def test_a_rejected_model_that_says_that_it_passed_is_seen(tmp_path):
    write_loans(tmp_path / "loans.csv", n=400)
    asked = '[[constraints]]\ntext = "accuracy >= 0.99"\n'
    write_study(tmp_path / "study.toml", "loans.csv", constraints=asked)
    fit_study(StudyFile.load(tmp_path / "study.toml")).write(tmp_path / "results")
    assert checked(tmp_path).passed
    model = load(tmp_path / "results" / "rejected.elfair")
    model.fitted_ = replace(
        model.fitted_, certificate=replace(model.fitted_.certificate, passed=True)
    )
    model.save(tmp_path / "results" / "rejected.elfair", encoding=model.encoding_)
    assert failed(checked(tmp_path)) == {"what decides"}
