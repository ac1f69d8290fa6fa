"""People in production: every row is decided about or set aside with a reason, and none is lost."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import elfair
from elfair.cli import main
from elfair.errors import DataError, InputError
from elfair.study import StudyFile, fit_study, read_batch
from elfair.study.batches import ASIDE
from elfair.study.writing import append_decisions, decisions, predictions

sys.path.insert(0, str(Path(__file__).parent))
from messy import Table, clean_table, study_text, write

MORE = """
[clean.income]
thousands = "."
decimal = ","
unit = "EUR"
missing = ["n/a"]
[derived]
age_band = { of = "age", bins = [30, 60] }
region = { of = "zone", values = { 1 = "north", 2 = "south" } }
"""
COLUMNS = ["customer", "age", "income", "housing", "zone"]


def table(n: int = 600, seed: int = 0) -> Table:
    """The clean table, with money as people write it, some of it missing, and two more columns."""
    rng = np.random.default_rng(seed)
    made = clean_table(n, seed)
    money = [f"{int(each):,} EUR".replace(",", ".") for each in made["income"]]
    made["income"] = ["n/a" if k % 17 == 0 else each for k, each in enumerate(money)]
    made["housing"] = rng.choice(["own", "rent", "free"], n).tolist()
    made["zone"] = rng.choice(["1", "2"], n).tolist()
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    write(table(), folder / "loans.csv")
    text = (
        study_text(more=MORE)
        .replace("[rows]", '[rows]\nkeep = ["age >= 18"]')
        .replace(
            'features = ["age", "income"]',
            'features = ["age", "income", "housing", "region"]\n'
            'categories = { housing = ["own", "rent", "free"], region = ["north", "south"] }',
        )
    )
    outcome = fit_study(StudyFile.loads(text, folder=folder))
    assert outcome.certificate.passed
    outcome.write(folder / "results")
    return folder / "results" / "model.elfair"


@pytest.fixture(scope="module")
def loaded(model):
    return elfair.load(model)


def people(n: int = 40, seed: int = 1) -> Table:
    made = table(n, seed)
    made["customer"] = [f"N{seed:03d}{k:04d}" for k in range(n)]
    return {name: made[name] for name in COLUMNS}


def run(*arguments, code=0):
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    assert done.exit_code == code, done.output
    return done.output


def rows_of(path):
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


#: What may befall a row: how it is written, and whether it can still be decided about.
BEFALLS = {
    "nothing": ({}, True),
    "a new level": ({"housing": "caravan"}, True),
    "a missing number": ({"income": ""}, True),
    "a code for missing": ({"income": "n/a"}, True),
    "a missing level": ({"housing": ""}, True),
    "all is missing": ({"income": "", "housing": "", "zone": ""}, True),
    "text in a number": ({"age": "unknown"}, False),
    "money in another form": ({"income": "12,345.00 EUR"}, False),
    "a value without a name": ({"zone": "7"}, False),
    "a child": ({"age": "12"}, False),
    "nobody knows the age": ({"age": ""}, False),
    "no identifier": ({"customer": " "}, False),
    "an empty line": (dict.fromkeys(COLUMNS, ""), False),
}


@pytest.mark.parametrize("seed", range(6))
def test_log_and_reject_file_together_hold_every_row_of_random_batches(model, tmp_path, seed):
    rng = np.random.default_rng(seed)
    log, aside = tmp_path / "log.csv", tmp_path / "rejected.csv"
    told: list[tuple[str, ...]] = []
    for day in range(3):
        made = people(int(rng.integers(5, 30)), seed=10 * seed + day)
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*made.values(), strict=True)]
        usable = []
        for row in rows:
            what = rng.choice(list(BEFALLS))
            row |= BEFALLS[what][0]
            usable.append(BEFALLS[what][1])
        if rng.random() < 0.5:  # somebody twice, and somebody of the day before
            rows.append(dict(rows[0]))
            usable.append(False)
        lines = [[row[name] for name in COLUMNS] for row in rows]
        if rng.random() < 0.5:
            lines.append(["T1", "30", "1.000 EUR", "own", "1", "left, over"])  # a torn line
            usable.append(False)
        path = tmp_path / f"day{day}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *lines])
        logged, rejected = len(rows_of(log)), len(rows_of(aside))
        if not any(usable):
            continue
        if not all(usable):
            before = log.read_bytes() if log.exists() else b""
            assert "cannot be decided about" in run("decide", model, path, "--log", log, code=2)
            assert before == (log.read_bytes() if log.exists() else b"")
        run("decide", model, path, "--log", log, "--skip-invalid")
        assert len(rows_of(log)) - logged == sum(usable)
        assert len(rows_of(aside)) - rejected == len(usable) - sum(usable)
        told += [tuple(line[:5]) for line in lines]
    held = [tuple(row[name] for name in COLUMNS) for row in rows_of(log) + rows_of(aside)]
    assert sorted(held) == sorted(told)
    assert all(row[name] for row in rows_of(aside) for name in ASIDE)
    ids = [row["customer"] for row in rows_of(log)]
    assert len(set(ids)) == len(ids)
    # Nobody is decided about twice.
    assert "no row" not in (
        said := run("decide", model, path, "--log", log, "--skip-invalid", code=2)
    )
    assert "is in the log" in said


def test_every_reason_has_its_line_and_its_value(model, tmp_path):
    made = people(6)
    made["age"][1], made["income"][1] = "unknown", "a lot"
    made["age"][3] = "12"
    made["customer"][4] = made["customer"][5]
    write(made, tmp_path / "people.csv")
    said = run("decide", model, tmp_path / "people.csv", "--log", tmp_path / "log.csv", code=2)
    assert "people.csv: 4 of 6 rows cannot be decided about" in said
    assert "column 'age' must hold numbers, in 1 of 6 rows (the first is line 3): 'unknown'" in said
    assert "column 'income' must hold numbers, with 'EUR', written 1.000,5" in said
    assert "age >= 18 does not hold, in 1 of 6 rows (the first is line 5)" in said
    assert "several times, with different values, in 2 of 6 rows (the first is line 6)" in said
    assert said.rstrip().endswith("set them aside: --skip-invalid.")
    assert said.count("Hint:") == 1
    assert not (tmp_path / "log.csv").exists()
    said = run(
        "decide", model, tmp_path / "people.csv", "--log", tmp_path / "log.csv", "--skip-invalid"
    )
    assert "2 decisions appended" in said
    assert "4 rows set aside in" in said
    aside = rows_of(tmp_path / "rejected.csv")
    assert [row["rejected_place"] for row in aside] == ["line 3", "line 5", "line 6", "line 7"]
    assert aside[0]["income"] == "a lot"
    assert "'unknown'" in aside[0]["rejected_reason"]
    assert "'a lot'" in aside[0]["rejected_reason"]


def test_new_levels_and_missing_values_are_said(model, tmp_path):
    made = people(5)
    made["housing"][0], made["income"][1] = "caravan", ""
    write(made, tmp_path / "people.csv")
    said = run("predict", model, tmp_path / "people.csv", "--output", tmp_path / "drawn.csv")
    assert "'housing' holds levels that the model does not know" in said
    assert "'caravan', in 1 row" in said
    assert "column 'income' is missing, which the model's preparation handles: 2 rows" in said
    assert said.count("Note:") == 2


def test_a_file_without_the_identifier_of_the_study_is_refused(model, tmp_path):
    made = people(3)
    del made["customer"]
    write(made, tmp_path / "people.csv")
    for more in ([], ["--skip-invalid"]):
        said = run(
            "decide", model, tmp_path / "people.csv", "--log", tmp_path / "log.csv", *more, code=2
        )
        assert "no column 'customer', by which the study identifies people" in said
    run("predict", model, tmp_path / "people.csv", "--output", tmp_path / "drawn.csv")


def test_raw_tables_in_python_are_decided_about_as_at_the_command_line(loaded, tmp_path):
    made = people(30)
    made["housing"][3], made["income"][4] = "caravan", ""
    write(made, tmp_path / "people.csv")
    wanted = decisions(loaded, tmp_path / "people.csv", random_state=3)
    frames = {
        "path": str(tmp_path / "people.csv"),
        "pandas": pd.read_csv(tmp_path / "people.csv"),
        "texts": pd.read_csv(tmp_path / "people.csv", dtype=str, keep_default_na=False),
        "polars": pl.read_csv(tmp_path / "people.csv"),
        "arrow": pa.table(made),
    }
    for name, frame in frames.items():
        drawn = decisions(loaded, frame, random_state=3)
        assert drawn["decision"].to_pylist() == wanted["decision"].to_pylist(), name
        assert drawn["p"].to_pylist() == wanted["p"].to_pylist(), name
    batch = read_batch(loaded, frames["pandas"].assign(age=[*["young"] * 2, *made["age"][2:]]))
    assert batch.usable.tolist() == [False] * 2 + [True] * 28
    assert batch.rejected.column("rejected_place").to_pylist() == ["row 0", "row 1"]
    assert predictions(loaded, batch).num_rows == 28
    with pytest.raises(DataError, match="2 of 30 rows cannot be decided about"):
        predictions(loaded, frames["pandas"].assign(age=[*["young"] * 2, *made["age"][2:]]))


def test_identifiers_are_compared_as_they_are_meant(loaded, tmp_path):
    made = pd.DataFrame(people(2)).assign(customer=[7.0, 8.0])
    log = tmp_path / "log.csv"
    append_decisions(decisions(loaded, made), log, row_id="customer")
    again = read_batch(loaded, made.assign(customer=["7", " 9"]), log=log)
    assert again.usable.tolist() == [False, True]


def test_a_disk_that_fills_up_adds_neither_decisions_nor_rejects(loaded, tmp_path, monkeypatch):
    import elfair.study.writing as writing

    made = people(4)
    made["age"][0] = "old"
    batch = read_batch(loaded, pa.table(made))
    log, aside = tmp_path / "log.csv", tmp_path / "rejected.csv"
    append_decisions(decisions(loaded, batch), log, rejected=batch.rejected, reject_file=aside)
    before = log.read_bytes(), aside.read_bytes()
    made["age"][0] = "unknown"
    batch = read_batch(loaded, pa.table(made))
    real, calls = writing.append_whole, []

    def full(file, end, data):
        calls.append(end)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(file, end, data)

    monkeypatch.setattr(writing, "append_whole", full)
    with pytest.raises(InputError, match="no decision was added"):
        append_decisions(decisions(loaded, batch), log, rejected=batch.rejected, reject_file=aside)
    assert (log.read_bytes(), aside.read_bytes()) == before
    with pytest.raises(InputError, match="need a file beside the log"):
        append_decisions(decisions(loaded, batch), log, rejected=batch.rejected, reject_file=log)


def test_who_repeats_a_command_that_was_stopped_does_not_set_rows_aside_twice(loaded, tmp_path):
    made = people(4)
    log, aside = tmp_path / "log.csv", tmp_path / "rejected.csv"

    def append(age):
        made["age"][0] = age
        batch = read_batch(loaded, pa.table(made))
        append_decisions(decisions(loaded, batch), log, rejected=batch.rejected, reject_file=aside)
        return aside.read_bytes()

    once = append("old")
    log.unlink()  # as if the process had been killed between both files
    assert append("old") == once
    assert append("unknown").count(b"\n") == 3


def test_codes_with_zeros_stay_text_even_if_a_batch_has_none(loaded, tmp_path):
    """What a column holds is known from the study, not from the rows of a batch."""
    made = people(3)
    made["housing"] = ["1", "2", "3"]
    write(made, tmp_path / "people.csv")
    batch = read_batch(loaded, tmp_path / "people.csv")
    assert batch.usable.all()
    assert "'1', '2', '3', in 3 rows" in batch.notes[0]
    numbers = read_batch(loaded, pa.table({**made, "housing": [1, 2, 3]}))
    assert not numbers.usable.any()
    assert "must hold text" in numbers.summary()[0]


# -- the model itself takes a table as it is ----------------------------------------------------


def frames_of(made, tmp_path):
    write(made, tmp_path / "people.csv")
    return {
        "pandas": pd.read_csv(tmp_path / "people.csv"),
        "texts": pd.read_csv(tmp_path / "people.csv", dtype=str, keep_default_na=False),
        "polars": pl.read_csv(tmp_path / "people.csv"),
        "arrow": pa.table(made),
    }


def test_a_model_decides_about_raw_tables_of_any_kind_as_its_study_reads_them(loaded, tmp_path):
    made = people(30)
    made["housing"][0], made["income"][1] = "caravan", ""
    wanted = decisions(loaded, pa.table(made), random_state=3)
    every = predictions(loaded, pa.table(made))
    for name, frame in frames_of(made, tmp_path).items():
        drawn = loaded.decide(frame, random_state=3)
        assert drawn.decision.tolist() == wanted["decision"].to_pylist(), name
        assert drawn.propensity.tolist() == wanted["p"].to_pylist(), name
        assert loaded.predict(frame, random_state=3).tolist() == drawn.decision.tolist(), name
        probabilities = loaded.predict_proba(frame)
        for k, each in enumerate(loaded.classes_):
            assert probabilities[:, k].tolist() == every[f"p({each})"].to_pylist(), name


def test_other_columns_and_their_order_do_not_matter_to_a_model(loaded):
    made = pd.DataFrame(people(10))
    again = made[made.columns[::-1]].drop(columns="customer").assign(note="hello")
    assert (loaded.predict_proba(made) == loaded.predict_proba(again)).all()


def test_one_error_names_all_columns_that_a_model_misses(loaded):
    made = pd.DataFrame(people(10)).drop(columns=["income", "zone"])
    with pytest.raises(DataError, match="the table has no column 'income', 'zone'"):
        loaded.decide(made)


def test_one_error_names_all_rows_that_a_model_cannot_decide_about(loaded):
    made = pd.DataFrame(people(10)).assign(age=["12", "old", *["40"] * 8])
    with pytest.raises(DataError, match="2 of 10 rows cannot be decided about") as error:
        loaded.predict(made)
    assert "age >= 18 does not hold" in str(error.value)
    assert "column 'age' must hold numbers, in" in str(error.value)
    rest = read_batch(loaded, made, identify=False).people  # as the hint says
    assert len(loaded.predict(rest)) == 8


def test_a_table_is_cleaned_also_if_it_has_the_features_alone_and_under_their_names(tmp_path):
    """An amount in per cent is one, whether or not other columns are there."""
    made = clean_table()
    made["income"] = [f"{float(each) / 1000:.3f} %" for each in made["income"]]
    write(made, tmp_path / "loans.csv")
    text = study_text(more='[clean.income]\nunit = "%"\n')
    outcome = fit_study(StudyFile.loads(text, folder=tmp_path))
    raw = pd.DataFrame(made)[["age", "income"]]
    data = outcome.rows.data
    known = outcome.estimator.fitted_.probabilities(data.features, None)
    np.testing.assert_array_equal(outcome.estimator.predict_proba(raw), known)


def test_a_model_from_a_study_is_a_behaviour_model_for_raw_tables(loaded):
    raw = pd.DataFrame(people(200)).assign(age=40)
    decision = loaded.predict(raw, random_state=1)
    data = elfair.LoggedData(raw[["income", "housing", "zone", "age"]], decision=decision,
                             behavior=loaded)  # fmt: skip
    np.testing.assert_array_equal(data.behavior, loaded.predict_proba(raw))


def test_some_rows_of_a_data_frame_bring_no_column_of_row_labels(loaded):
    some = pd.DataFrame(people(10)).iloc[[1, 4, 8]]
    drawn = decisions(loaded, some, random_state=0)
    assert not [name for name in drawn.column_names if name.startswith("__")]
    assert drawn.num_rows == 3
