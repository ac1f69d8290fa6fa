"""Tables out: predictions whole, decisions appended whole, and the log of one round is the table of
the next."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import elfair
from elfair.certificate.codes import REFUTABLE
from elfair.errors import DataError, InputError
from elfair.records.tables import FORMATS
from elfair.study import StudyFile, fit_study, read_table
from elfair.study.writing import append_decisions, decisions, predictions, write_table

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from awkward import write_loans, write_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "loans.csv")
    write_study(folder / "study.toml", "loans.csv")
    outcome = fit_study(StudyFile.load(folder / "study.toml"))
    outcome.estimator.save(folder / "model.elfair")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return elfair.load(folder / "model.elfair")


@pytest.fixture(scope="module")
def people(folder):
    table = read_table(folder / "loans.csv").table
    known = ["found job?", "Approved?", "p(decision)", "savings, 2 yrs on"]
    return table.drop_columns(known).slice(0, 500)


@pytest.mark.parametrize("suffix", FORMATS)
def test_predictions_come_back_as_they_were_drawn(model, people, tmp_path, suffix):
    drawn = predictions(model, people, random_state=3)
    write_table(drawn, tmp_path / f"drawn{suffix}")
    read = read_table(tmp_path / f"drawn{suffix}").table
    assert read.to_pydict() == drawn.to_pydict()
    yes = np.array(read["p(yes)"])
    assert np.all((yes > 0) & (yes < 1))
    np.testing.assert_allclose(yes + np.array(read["p(no)"]), 1)
    share = np.mean(np.array(read["decision"]) == "yes")
    assert abs(share - yes.mean()) < 4 * np.sqrt((yes * (1 - yes)).mean() / 500)


def test_a_log_grows_and_its_propensities_are_those_of_the_decisions(model, people, tmp_path):
    log = tmp_path / "log.csv"
    for _ in range(2):
        append_decisions(decisions(model, people), log)
    read = read_table(log).table
    assert read.num_rows == 1000
    added = ["Approved?", "p(decision)", "decided_at", "model"]  # as the study calls them
    assert read.column_names == [*people.column_names, *added]
    assert set(read["model"].to_pylist()) == {model.certificate_.digests.model}
    wanted = predictions(model, people)
    yes = np.tile(np.array(wanted["p(yes)"]), 2)
    taken = np.array(read["Approved?"]) == "yes"
    np.testing.assert_allclose(np.array(read["p(decision)"]), np.where(taken, yes, 1 - yes))
    assert taken[:500].tolist() != taken[500:].tolist()  # fresh each time


def test_the_log_is_the_table_of_the_next_round(model, folder, tmp_path):
    """With the impact, once it is seen, the study needs another source and nothing else."""
    table = read_table(folder / "loans.csv").table
    people = table.drop_columns(["Approved?", "p(decision)", "savings, 2 yrs on"])
    append_decisions(decisions(model, people, random_state=0), tmp_path / "log.csv")
    log = read_table(tmp_path / "log.csv").table
    rng = np.random.default_rng(0)
    later = (np.array(log["Approved?"]) == "yes") + rng.normal(size=log.num_rows)
    write_table(log.append_column("savings, 2 yrs on", [later]), tmp_path / "round2.csv")
    study = (folder / "study.toml").read_text(encoding="utf-8").replace("loans.csv", "round2.csv")
    outcome = fit_study(StudyFile.loads(study, folder=tmp_path), accept_violated=REFUTABLE)
    fit = {a.name: a.status for a in outcome.certificate.assumptions}
    assert fit["propensities fit the decisions"] == "checked"


def test_where_a_study_has_the_probability_of_each_class_so_has_its_log(folder, tmp_path):
    table = read_table(folder / "loans.csv").table
    p, yes = np.array(table["p(decision)"]), np.array(table["Approved?"]) == "yes"
    for name, values in {"P yes": np.where(yes, p, 1 - p), "P no": np.where(yes, 1 - p, p)}.items():
        table = table.append_column(name, [values])
    write_table(table, tmp_path / "loans.csv")
    study = (folder / "study.toml").read_text(encoding="utf-8")
    study = study.replace('propensity = "p(decision)"', 'behavior = { yes = "P yes", no = "P no" }')
    outcome = fit_study(StudyFile.loads(study, folder=tmp_path))
    outcome.estimator.save(tmp_path / "model.elfair")
    people = table.drop_columns(["Approved?", "p(decision)", "P yes", "P no"])
    log = decisions(elfair.load(tmp_path / "model.elfair"), people)
    taken = np.where(np.array(log["Approved?"]) == "yes", log["P yes"], log["P no"])
    np.testing.assert_array_equal(taken, np.array(log["propensity"]))


def test_a_log_of_other_columns_is_left_alone(model, people, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("name,decision\nAnn,yes\n")
    with pytest.raises(DataError, match="logs name, decision; these decisions have person id"):
        append_decisions(decisions(model, people), log)
    assert log.read_text() == "name,decision\nAnn,yes\n"
    with pytest.raises(InputError, match=r"must be a \.csv file"):
        append_decisions(decisions(model, people), tmp_path / "log.parquet")


def test_a_disk_that_fills_up_adds_no_decision(model, people, tmp_path, monkeypatch):
    log = tmp_path / "log.csv"
    append_decisions(decisions(model, people), log)
    before = log.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"^no decision was added: .* No space left on device\."):
        append_decisions(decisions(model, people), log)
    assert log.read_bytes() == before


def test_a_log_that_ends_within_a_line_is_not_written_on(model, people, tmp_path):
    log = tmp_path / "log.csv"
    append_decisions(decisions(model, people), log)
    log.write_bytes(log.read_bytes()[:-3])
    with pytest.raises(DataError, match="ends in the middle of a line"):
        append_decisions(decisions(model, people), log)


def test_what_would_hide_a_column_is_refused(model, people):
    with pytest.raises(DataError, match=r"has a column 'Approved\?' already"):
        decisions(model, people.append_column("Approved?", [["?"] * 500]))
    with pytest.raises(DataError, match="no column 'housing'"):
        decisions(model, people.drop_columns(["housing"]))
    with pytest.raises(DataError, match="'housing' is missing, and the model has not learnt what"):
        decisions(model, people.set_column(6, "housing", [["tent"] * 500]))


def test_a_table_of_no_known_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end with one of \.csv"):
        write_table(pa.table({"a": [1]}), tmp_path / "a.xlsx")


def test_a_model_that_was_not_made_from_a_study_says_so(people):
    from elfair.populations import FosterCare

    draw = FosterCare().sample(500, seed=0)
    plain = elfair.ELFClassifier().fit(draw.features, draw.label)
    with pytest.raises(InputError, match="not made from a study"):
        decisions(plain, people)


def test_a_name_with_a_line_break_would_spoil_the_log(tmp_path):
    table = pa.table({"a\nb": ["x"], "decision": [0]})
    with pytest.raises(DataError, match="line break"):
        append_decisions(table, tmp_path / "log.csv")
    assert list(tmp_path.iterdir()) == []
