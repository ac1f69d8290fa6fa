"""The study file inside a certificate, and the rows that it left out, held against the record."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from elfair import Certificate, load, verify
from elfair.certificate import GroupCount, LeftOut
from elfair.certificate.codes import left_out_alike
from elfair.certificate.promise import in_words
from elfair.errors import InputError
from elfair.policies.models import digests
from elfair.report import Report
from elfair.study import StudyFile, fit_study
from elfair.verification import verify_files
from elfair.verification.checks import CHECKS

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from attacker import keeping, repaired, rewritten, with_models
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
        keeping(load(model), certificate).save(folder / "forged.elfair")
        model = folder / "forged.elfair"
    report = None if certificate is not None else folder / "results" / "report.html"
    return verify_files(path, data=folder / "loans.csv", model=model, report=report)


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
    if name == "usual":  # there every check can be made, but two of what it does not have
        elsewhere = {"behaviour model", "stage before"}
        assert made_now[1:] == [each for each in listed if each[1] not in elsewhere]


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
    "shift": ("seed = 3", "seed = 3\nshift = 1.2"),
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


def test_other_names_than_the_study_has_are_seen(usual):
    certificate = Certificate.load(usual / "results" / "certificate.json")
    assert failed(verify(certificate.stating(names={"people": "angels"}))) == {"study file"}


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
    forged = replace(forged, in_words=in_words(forged))
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


def swapped(folder, change, *, mend=False):
    """The model's file, rewritten: by somebody who knows how, its digests are right again."""
    model = load(folder / "results" / "model.elfair")
    fitted = change(model)
    rewritten(model, repaired(fitted) if mend else fitted).save(folder / "swapped.elfair")
    return folder / "swapped.elfair"


def another_in_line(model):
    trained = model.fitted_
    place = next(
        place
        for place, digest in enumerate(digests(trained.ladder))
        if digest != trained.certificate.digests.model
    )
    return replace(trained, models=(trained.ladder[place],))


def of_setting(**changes):
    def change(model):
        setting = replace(model.fitted_.setting, **{k: f(model) for k, f in changes.items()})
        return with_models(model, setting=setting)

    return change


def other_features(model):
    first, second, *rest = model.encoding_["features"]
    return {**model.encoding_, "features": [second, first, *rest]}


SWAPS = {
    "another model in line": another_in_line,
    "classes the other way": of_setting(classes=lambda model: model.classes_[::-1]),
    "another encoding": of_setting(encoding=other_features),
    "features the other way": of_setting(features=lambda m: m.fitted_.setting.features[::-1]),
}


@pytest.mark.parametrize("name", SWAPS)
def test_a_file_that_decides_otherwise_than_was_tested_is_refused(usual, name):
    """As it is by `load` and all that loads; with every digest mended, by `verify`."""
    certificate = usual / "results" / "certificate.json"
    with pytest.raises(InputError, match=r"is about another|fit together|digests"):
        load(swapped(usual, SWAPS[name]))
    model = swapped(usual, SWAPS[name], mend=True)
    found = verify_files(certificate, data=usual / "loans.csv", model=model)
    assert not found.passed
    try:
        digest = load(model).certificate_.digests.model
    except InputError:
        return  # refused, although mended
    assert digest != Certificate.load(certificate).digests.model  # `decide` would log another one


def test_a_rejected_model_that_says_that_it_passed_is_refused(tmp_path):
    write_loans(tmp_path / "loans.csv", n=400)
    asked = '[[constraints]]\ntext = "accuracy >= 0.99"\n'
    write_study(tmp_path / "study.toml", "loans.csv", constraints=asked)
    fit_study(StudyFile.load(tmp_path / "study.toml")).write(tmp_path / "results")
    honest = checked(tmp_path)
    assert honest.passed
    assert not honest.released
    path = tmp_path / "results" / "rejected.elfair"
    model = load(path)
    certificate = model.certificate_
    better = tuple(replace(each, passed=True, upper=-1.0) for each in certificate.constraints)
    for forged in (
        replace(certificate, passed=True),
        replace(certificate, passed=True, constraints=better),
    ):
        keeping(model, forged).save(path)
        with pytest.raises(InputError, match="contradicts itself"):
            load(path)
        assert "model file" in failed(checked(tmp_path))


def test_false_bounds_are_not_shown(usual):
    model = load(usual / "results" / "model.elfair")
    certificate = model.certificate_
    place = next(
        k for k, each in enumerate(certificate.constraints) if each.tails[0].bound == "guarded"
    )
    for shift in (-1.0, -0.01):
        results = list(certificate.constraints)
        result = results[place]
        tail = replace(result.tails[0], upper=result.tails[0].upper + shift)
        results[place] = replace(result, tails=(tail,), upper=result.upper + shift)
        forged = replace(certificate, constraints=tuple(results))
        keeping(model, forged).save(usual / "false.elfair")
        with pytest.raises(InputError, match="contradicts itself"):
            load(usual / "false.elfair")


def test_another_certificate_in_the_file_is_seen(usual):
    model = load(usual / "results" / "model.elfair")
    stated = model.certificate_.stating(why="because we may")
    keeping(model, stated).save(usual / "stated.elfair")
    found = verify_files(usual / "results" / "certificate.json", model=usual / "stated.elfair")
    assert failed(found) == {"certificate in the model"}


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_that_says_something_else_is_seen(usual, form, tmp_path):
    certificate = usual / "results" / "certificate.json"
    report, path = Report(Certificate.load(certificate)), tmp_path / f"report.{form}"
    text = report.html() if form == "html" else report.markdown()
    path.write_text(text, encoding="utf-8")
    assert not failed(verify_files(certificate, report=path))
    path.write_text(text.replace("90", "99", 1), encoding="utf-8")
    assert failed(verify_files(certificate, report=path)) == {"report"}
    path.write_text(text + " ", encoding="utf-8")
    assert failed(verify_files(certificate, report=path)) == {"report"}


def test_a_report_of_another_version_is_not_called_the_same(usual, tmp_path):
    record = Certificate.load(usual / "results" / "certificate.json")
    versions = tuple(
        replace(each, version="0.0") if each.name == "elfair" else each for each in record.versions
    )
    replace(record, versions=versions).save(tmp_path / "old.json")
    found = verify_files(tmp_path / "old.json", report=usual / "results" / "report.html")
    assert found.falls_short
    assert not failed(found)
    assert found.text().endswith("NOT COMPLETE: the report was not compared")
