"""A study of Parquet files that are read in batches is the study of the same rows in memory."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from elfair.cli import main
from elfair.data import sources
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import DataError, InputError
from elfair.populations import FosterCare
from elfair.study import StudyFile, fit_study

STUDY = """
title = "Loans in many files"
[data]
source = "decisions/*.parquet"
batches = true
[columns]
features = ["x0", "x1", "x2", "x3", "x4"]
label = "y"
sensitive = ["T"]
decision = "d"
propensity = "p"
impact = ["i"]
row_id = "id"
[test]
bound = "guarded"
[[constraints]]
text = "E[impact | T == 1] >= E_logged[impact | T == 1]"
chosen_by = "the board"
[[constraints]]
text = "accuracy >= 0.7"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 700)
    (tmp_path / "decisions").mkdir()
    draw = FosterCare(alpha=0.9).sample(3_000, seed=3)
    X = {f"x{j}": draw.features[:, j] for j in range(5)}
    table = pa.table(
        {"id": np.arange(3_000) * 7 + 1, **X, "T": draw.group, "y": draw.label, "d": draw.decision,
         "p": draw.propensity, "i": draw.logged["impact"]}
    )  # fmt: skip
    for k in range(3):
        some = table.slice(1_000 * k, 1_000)
        parquet.write_table(some, tmp_path / "decisions" / f"{k}.parquet", row_group_size=300)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


def test_the_same_certificate_as_in_memory(folder):
    found = []
    for text in (STUDY, STUDY.replace("batches = true\n", "")):
        with counted_in(LooksOfProcess()):
            found.append(fit_study(StudyFile.loads(text, folder=folder)).certificate)
    one, other = found
    assert one.passed
    assert other.provenance.source_digest == one.provenance.source_digest
    assert other.provenance.rows_read == one.provenance.rows_read == 3_000
    for mine, theirs in zip(one.constraints, other.constraints, strict=True):
        assert mine.upper == pytest.approx(theirs.upper, rel=1e-9)
    assert one.digests.model == other.digests.model
    assert one.terms == other.terms


def test_from_the_command_line(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "study.toml").write_text(STUDY)
    done = invoke("fit", "study.toml", "--output", "results")
    assert done.exit_code == 0, done.output
    record = json.loads((folder / "results" / "certificate.json").read_text())
    assert record["predicate"]["digests"]["data"].startswith("any order: ")
    checked = invoke(
        "verify", "results/certificate.json", "--data", ".",
        "--model", "results/model.elfair",
    )  # fmt: skip
    assert checked.exit_code == 0, checked.output


def test_files_outside_the_folder_are_not_read(folder):
    inside = folder / "inside"
    inside.mkdir()
    text = STUDY.replace("decisions/", "../decisions/")
    with pytest.raises(InputError, match="outside its folder"):
        StudyFile.loads(text, folder=inside).read()


def test_what_needs_all_rows_is_refused_before_anything_is_read():
    text = STUDY.replace("[test]", '[rows]\nkeep = ["x0 > 0"]\n[clean.x1]\ndecimal = ","\n[test]')
    with pytest.raises(InputError, match=r"read in batches cannot have .*\[clean\].*\[rows\]"):
        StudyFile.loads(text)


def test_a_file_that_is_damaged_is_named(folder):
    path = folder / "decisions" / "1.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"1\.parquet"):
        StudyFile.loads(STUDY, folder=folder).read()


def test_a_forecast_asks_for_rows_in_memory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "study.toml").write_text(STUDY)
    done = invoke("check", "study.toml")
    assert done.exit_code != 0
    assert "needs all rows in memory" in done.output
