"""From a study file to results, whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import elfair
from elfair import Certificate, Ledger, LoggedData
from elfair.errors import CertificateWarning, InputError
from elfair.study import StudyFile, fit_study
from elfair.study.outcome import results_in

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from awkward import write_loans, write_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "loans.csv", missing=60)
    write_study(folder / "study.toml", "loans.csv", extra='[rows]\nmissing_impact = "drop"')
    return folder


@pytest.fixture(scope="module")
def outcome(folder):
    return fit_study(StudyFile.load(folder / "study.toml"))


def test_the_certificate_says_where_rows_come_from_and_who_chose(outcome, folder):
    certificate = outcome.certificate
    assert certificate.passed
    said = certificate.provenance
    assert (said.title, said.source) == ("Loans, as they came", "loans.csv")
    assert said.study == (folder / "study.toml").read_text(encoding="utf-8")
    assert said.rows_read == 3000 == certificate.n + 60
    (left_out,) = said.left_out
    assert left_out.n == 60 == sum(group.n for group in left_out.groups)
    assert {group.group for group in left_out.groups} == {"T-group = A", "T-group = B"}
    by_text = {claim.constraint: claim for claim in certificate.terms.claims}
    assert by_text["accuracy >= 0.7"].chosen_by == "not stated"
    assert {c.chosen_by for t, c in by_text.items() if t != "accuracy >= 0.7"} == {
        "the credit board"
    }
    (alike,) = (a for a in certificate.assumptions if a.code == "left_out_alike")
    assert alike.status == "assumed"
    assert "60 of 3,000" in alike.evidence


def test_rows_are_read_into_a_table_once(folder, monkeypatch):
    made, init = [], LoggedData.__init__

    def counted(self, *columns, **more):
        init(self, *columns, **more)
        made.append(self.n)

    monkeypatch.setattr(LoggedData, "__init__", counted)
    fit_study(StudyFile.load(folder / "study.toml"))
    assert sorted(made) == [60, 2940]  # those without impact, and those who take part


def test_results_can_be_used_again(outcome, tmp_path):
    model, certificate, report = outcome.write(tmp_path / "results")
    assert [p.name for p in (model, certificate, report)] == [
        "model.elfair",
        "certificate.json",
        "report.html",
    ]
    assert {p.name for p in tmp_path.iterdir()} == {"results"}
    loaded = elfair.load(model)
    assert loaded.certificate_ == outcome.certificate == Certificate.load(certificate)
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_results_are_replaced_only_when_asked_for(outcome, tmp_path):
    outcome.write(tmp_path / "results")
    with pytest.raises(InputError, match="holds results already"):
        outcome.write(tmp_path / "results")
    outcome.write(tmp_path / "results", overwrite=True)
    (tmp_path / "results" / "thesis.doc").write_text("mine")
    with pytest.raises(InputError, match="holds other files than results"):
        outcome.write(tmp_path / "results", overwrite=True)
    assert (tmp_path / "results" / "thesis.doc").read_text() == "mine"


def test_after_no_solution_nothing_is_called_a_model(folder, tmp_path):
    write_study(
        folder / "strict.toml",
        "loans.csv",
        extra='[rows]\nmissing_impact = "drop"',
        constraints='[[constraints]]\ntext = "accuracy >= 0.99"',
    )
    outcome = fit_study(StudyFile.load(folder / "strict.toml"))
    outcome.write(tmp_path / "results")
    assert {p.name for p in (tmp_path / "results").iterdir()} == {
        "rejected.elfair",
        "certificate.json",
        "report.html",
    }
    rejected = elfair.load(tmp_path / "results" / "rejected.elfair")
    with pytest.raises(elfair.NoSolutionFoundError):
        rejected.predict([[0.0] * 6])


@pytest.mark.parametrize("written", ["report", "model"])
def test_a_disk_that_fills_up_leaves_nothing(outcome, tmp_path, monkeypatch, written):
    from elfair.report import Report

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    if written == "report":
        monkeypatch.setattr(Report, "write_html", full)
    else:
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        outcome.write(tmp_path / "results")
    assert list(tmp_path.iterdir()) == []


def test_other_tests_of_the_same_rows_are_counted_and_the_same_one_is_not(folder, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    first = fit_study(StudyFile.load(folder / "study.toml"), ledger=ledger).certificate
    again = fit_study(StudyFile.load(folder / "study.toml"), ledger=ledger).certificate
    assert (first.openings, again.openings) == (1, 1)
    write_study(
        folder / "seed.toml", "loans.csv", extra='[rows]\nmissing_impact = "drop"\n[test]\nseed = 1'
    )
    with pytest.warns(CertificateWarning, match="opened 2 times"):
        other = fit_study(StudyFile.load(folder / "seed.toml"), ledger=ledger.path).certificate
    assert other.openings == 2
    (once,) = other.objections
    assert once.code == "opened_once"
    assert any("opened 2 times" in warning.text for warning in other.warnings)
    assert [entry.look.declared for entry in ledger.entries()] == [1, 1]


def test_results_that_came_meanwhile_are_not_replaced(outcome, tmp_path, monkeypatch):
    """Somebody copies results to a place that was free when the fit began."""
    results = tmp_path / "results"

    def others(self, path):
        results.mkdir()
        (results / "certificate.json").write_text("theirs")
        path.write_text("ours")

    monkeypatch.setattr("elfair.report.Report.write_html", others)
    with pytest.raises(InputError, match="holds results already"):
        outcome.write(results)
    assert (results / "certificate.json").read_text() == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["results"]


def test_a_link_to_results_stays_one(outcome, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk")
    written = outcome.write(tmp_path / "results", overwrite=True)
    assert (tmp_path / "results").is_symlink()
    assert all(path.is_file() for path in written)
    assert len(list((tmp_path / "disk").iterdir())) == 3


def test_a_file_that_came_during_the_fit_is_not_lost(outcome, tmp_path):
    results = tmp_path / "results"
    outcome.write(results)
    with results_in(results, overwrite=True) as claimed:
        (results / "thesis.doc").write_text("mine")
        with pytest.raises(InputError, match="holds other files than results"):
            outcome.write_to(claimed)
    assert (results / "thesis.doc").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["results"]


def test_while_a_fit_has_a_folder_another_one_is_refused(outcome, tmp_path):
    with (
        results_in(tmp_path / "results"),
        pytest.raises(InputError, match="another process is at work on the results in") as error,
    ):
        outcome.write(tmp_path / "results")
    assert "wait until it has ended" in error.value.hint
    outcome.write(tmp_path / "results")
    assert [each.name for each in tmp_path.iterdir()] == ["results"]
