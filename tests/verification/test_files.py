"""Certificates that were made from study files: the study inside them is held against them."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from elfair import load, verification
from elfair.certificate import Certificate
from elfair.data.split import Split
from elfair.errors import InputError
from elfair.study import StudyFile, fit_study
from elfair.verification import verify_files

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from attacker import keeping
from awkward import write_loans, write_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "loans.csv", n=1500, missing=30)
    write_study(folder / "study.toml", "loans.csv", extra='[rows]\nmissing_impact = "drop"')
    fit_study(StudyFile.load(folder / "study.toml")).write(folder / "results")
    return folder


@pytest.fixture
def checked(folder, tmp_path):
    """The checks of a certificate that was changed and whose digest was made right again."""

    def run(change=lambda record: record, data="loans.csv", model="results/model.elfair"):
        record = Certificate.load(folder / "results" / "certificate.json")
        forged = change(record)
        forged.save(tmp_path / "certificate.json")
        keeping(load(folder / model), forged).save(tmp_path / "model.elfair")
        found = verify_files(
            tmp_path / "certificate.json", data=folder / data, model=tmp_path / "model.elfair"
        )
        return {check.name: check for check in found.checks}

    return run


def failed(checks):
    return {name for name, check in checks.items() if check.status == "failed"}


def test_a_genuine_one_passes_at_every_level(checked):
    checks = checked()
    assert failed(checks) == set()
    assert {name for name, check in checks.items() if check.status == "skipped"} == {
        "signature",
        "bounds",  # of rates, which need every row
        "search",
        "openings",
    }


def test_everything_is_read_once(folder, monkeypatch):
    calls = Counter()

    def count(owner, name):
        act = getattr(owner, name)

        def counted(*given, **named):
            calls[name] += 1
            return act(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    count(verification, "read_certificate")
    count(StudyFile, "loads")
    count(StudyFile, "read")
    count(Split, "of")
    results = folder / "results"
    found = verify_files(
        results / "certificate.json", data=folder / "loans.csv", model=results / "model.elfair"
    )
    assert found.passed, found.text()
    assert calls == {"read_certificate": 1, "loads": 1, "read": 1, "of": 1}


def test_a_file_with_the_same_rows_is_told_from_other_rows(folder, tmp_path):
    (tmp_path / "again.csv").write_bytes((folder / "loans.csv").read_bytes().rstrip(b"\n"))
    found = verify_files(folder / "results" / "certificate.json", data=tmp_path / "again.csv")
    assert failed({check.name: check for check in found.checks}) == {"source file"}
    assert "the rows are the same, but the file is not" in found.text().splitlines()[-1]
    assert not found.passed


def _without(record, name):
    """A statement removed with everything that speaks of it."""
    kept = [c for c in record.terms.claims if c.statement != name]
    results = [r for r in record.constraints if r.statement != name]
    return replace(
        record,
        terms=replace(record.terms, claims=tuple(kept)),
        constraints=tuple(results),
    )


def _provenance(**changes):
    return lambda record: replace(record, provenance=replace(record.provenance, **changes))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda r: _without(r, "accuracy >= 0.7"), "study file"),
        (lambda r: r.stating(why="so the board decided"), "study file"),
        (lambda r: r.stating(chosen_by="a bank's customers"), "study file"),
        (_provenance(rows_read=1470), "rows left out"),
        (_provenance(left_out=()), "rows left out"),
        (_provenance(title="All loans"), "study file"),
        (lambda r: replace(r, seed=1), "study file"),
        (
            lambda r: replace(r, search=replace(r.search, objective="log_loss")),
            "study file",
        ),
    ],
)
def test_what_the_study_does_not_say_is_found(checked, change, name):
    assert name in failed(checked(change))


def test_what_is_not_there_is_bad_input(folder):
    certificate = folder / "results" / "certificate.json"
    for arguments, words in (
        ((folder / "none.json",), "no certificate"),
        ((certificate, folder / "none.csv"), "no table"),
        ((certificate, None, folder / "none.elfair"), "no model"),
    ):
        certificate, data, model = (*arguments, None, None)[:3]
        with pytest.raises(InputError, match=words):
            verify_files(certificate, data=data, model=model)


def test_a_table_or_a_model_that_cannot_be_read_is_a_check_that_failed(checked, folder):
    (folder / "broken.csv").write_text("person id,x\n1,2\n")
    (folder / "broken.elfair").write_bytes(b"nothing")
    assert {"table", "source file"} <= failed(checked(data="broken.csv"))
    found = verify_files(folder / "results" / "certificate.json", model=folder / "broken.elfair")
    assert failed({check.name: check for check in found.checks}) == {"model file"}


def test_a_certificate_made_in_python_needs_python(folder, tmp_path):
    record = Certificate.load(folder / "results" / "certificate.json")
    bare = replace(record, provenance=replace(record.provenance, study=""))
    bare.save(tmp_path / "certificate.json")
    with pytest.raises(InputError, match="not made from a study file"):
        verify_files(tmp_path / "certificate.json", data=folder / "loans.csv")


def test_a_query_from_a_certificate_is_shown_and_never_asked_by_itself(
    folder, tmp_path, monkeypatch
):
    (tmp_path / "loans.csv").write_bytes((folder / "loans.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    query = "select * from 'loans.csv' order by \"person id\""
    write_study(tmp_path / "study.toml", "duckdb://")
    text = (tmp_path / "study.toml").read_text(encoding="utf-8")
    asking = text.replace('"duckdb://"', f"\"duckdb://\"\nquery = '''{query}'''")
    (tmp_path / "study.toml").write_text(
        asking + '\n[rows]\nmissing_impact = "drop"\n', encoding="utf-8"
    )
    fit_study(StudyFile.load(tmp_path / "study.toml")).write(tmp_path / "results")
    certificate = tmp_path / "results" / "certificate.json"
    with pytest.raises(InputError) as caught:
        verify_files(certificate, data="duckdb://")
    assert query in str(caught.value)
    found = verify_files(
        certificate, data="duckdb://", query=query, model=tmp_path / "results" / "model.elfair"
    )
    assert found.passed
    fewer = verify_files(certificate, data="duckdb://", query=query + " limit 100")
    assert not fewer.passed
    # A file takes no query, and a query no file.
    with pytest.raises(InputError, match="takes no query"):
        verify_files(certificate, data=folder / "loans.csv", query=query)
    with pytest.raises(InputError, match="no database to ask"):
        verify_files(certificate, query=query)
