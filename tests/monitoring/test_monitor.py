"""What a monitor counts, how it says so, and that its state survives everything."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

import monitoring as worlds
from counting import FULL
from elfair import DataError, ImpactMonitor, InputError, load
from elfair.cli import main
from elfair.monitoring.statements import CERTIFIED, WEIGHTED
from elfair.study import StudyFile, fit_study

KILLS = 100 if FULL else 8
LATER = worlds.START + timedelta(days=99)


@pytest.fixture(scope="module")
def model(model_file):
    return load(model_file)


@pytest.fixture
def log(model):
    """A log of 500 people, all of them due, of whom a fifth is never seen."""
    rng = np.random.default_rng(1)
    table = worlds.decided(model, 500, worlds.helps, rng)
    return worlds.as_known(table, rng.random(500) >= 0.8, 99)


def watch(model, folder, **changed):
    given = {"delay": 30, "missing": "at random", "follow_up": 0.8, **changed}
    return ImpactMonitor(model, folder, **given)


def write(table, path):
    (csv.write_csv if path.suffix == ".csv" else parquet.write_table)(table, path)
    return path


def plain(table):
    """As a CSV file has it."""
    times = pa.array([worlds.START.isoformat()] * table.num_rows)
    place = table.column_names.index(worlds.TIME)
    table = table.set_column(place, worlds.TIME, times)
    place = table.column_names.index(worlds.MODEL)
    return table.set_column(place, worlds.MODEL, table[worlds.MODEL].cast(pa.string()))


def kept(folder):
    state = json.loads((folder / "state.json").read_text())
    return {name: state[name] for name in ("counted", "missing", "sides", "said", "taught")}


def close(one, two):
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(close(one[k], two[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(close, one, two))
    return one == two or (isinstance(one, float) and np.isclose(one, two, rtol=1e-7, atol=1e-9))


def test_what_rows_show_does_not_depend_on_how_they_are_divided_among_looks(model, log, tmp_path):
    path = write(log, tmp_path / "log.parquet")
    once = watch(model, tmp_path / "once").look(path, now=LATER)
    for n in (7, 90, 91, 500):
        write(log.slice(0, n), path)
        often = watch(model, tmp_path / "often").look(path, now=LATER)
    assert often.counted == once.counted == 500
    one, two = kept(tmp_path / "once"), kept(tmp_path / "often")
    assert close(one["sides"], two["sides"])
    assert [each.compared for each in once.statements] == ["", WEIGHTED]


def test_estimates_are_near_the_truth(model, tmp_path):
    rng = np.random.default_rng(2)
    table = worlds.decided(model, 20_000, worlds.helps, rng)
    path = write(worlds.as_known(table, rng.random(20_000) >= 0.8, 99), tmp_path / "log.parquet")
    status = watch(model, tmp_path / "state").look(path, now=LATER)
    x = rng.normal(size=400_000)
    yes = model.predict_proba(pa.table({"x": x}))[:, 1]
    gain = 0.25 * np.sign(x) * (yes - 0.5)
    truth = [0.5 - 0.55 - float((0.25 * np.sign(x) * yes).mean()), -float(gain.mean())]
    for statement, g in zip(status.statements, truth, strict=True):
        look = statement.looks[-1]
        assert abs(look.estimate - g) < 0.012
        assert look.lower < g < look.upper
        assert statement.state == "holding"


def test_every_source_of_rows_gives_the_same(model, log, tmp_path):
    table = plain(log)
    write(table, tmp_path / "log.csv")
    folder = tmp_path / "parts"
    folder.mkdir()
    write(log.slice(0, 200), folder / "a.parquet")
    write(log.slice(200), folder / "b.parquet")
    with sqlite3.connect(tmp_path / "log.db") as database:
        database.execute(f"create table log ({', '.join(map(repr, table.column_names))})")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        database.executemany(f"insert into log values ({marks})", rows)
    states = []
    for name, source, query in (
        ("text", tmp_path / "log.csv", None),
        ("folder", folder, None),
        ("database", f"sqlite:///{tmp_path}/log.db", "select * from log"),
    ):
        watch(model, tmp_path / name).look(source, query=query, now=LATER)
        states.append(kept(tmp_path / name)["sides"])
    assert close(states[0], states[1])
    assert close(states[0], states[2])


def test_no_row_counts_twice(model, log, tmp_path):
    path, state = tmp_path / "log.parquet", tmp_path / "state"
    write(pa.concat_tables([log, log]), path)
    assert watch(model, state).look(path, now=LATER).counted == 500
    before = kept(state)["sides"]
    assert watch(model, state).look(path, now=LATER + timedelta(days=9)).counted == 500
    assert kept(state)["sides"] == before


def changed(table, name, row, value):
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(
        table.column_names.index(name), name, pa.array(values, table[name].type)
    )


def test_a_changed_row_is_an_error_that_names_it(model, log, tmp_path):
    path, state = write(log, tmp_path / "log.parquet"), tmp_path / "state"
    watch(model, state).look(path, now=LATER)
    seen = int(np.flatnonzero(np.asarray(log["savings"].is_valid()))[0])
    for name, value in (("savings", 0.123), ("T", 7), ("x", 5.0)):
        write(changed(log, name, seen, value), path)
        with pytest.raises(DataError, match=f"row of '{seen}' has changed"):
            watch(model, state).look(path, now=LATER)
    write(pa.concat_tables([log, changed(log, "x", 3, 5.0)]), path)
    with pytest.raises(DataError, match="'3' is in the log several times"):
        watch(model, tmp_path / "other").look(path, now=LATER)


def test_a_young_row_is_pending_and_must_stay_as_it_is(model, log, tmp_path):
    path, state = write(log, tmp_path / "log.parquet"), tmp_path / "state"
    early = worlds.START + timedelta(days=29)
    status = watch(model, state).look(path, now=early)
    assert (status.counted, status.pending, status.missing) == (0, 500, 0)
    write(changed(log, "x", 3, 5.0), path)
    with pytest.raises(DataError, match="row of '3' has changed"):
        watch(model, state).look(path, now=early)
    write(log.slice(10), path)
    status = watch(model, state).look(path, now=LATER)
    assert (status.counted, status.pending, status.gone) == (490, 0, 10)


def test_an_impact_that_comes_too_late_is_noted_and_does_not_count(model, log, tmp_path):
    path, state = write(log, tmp_path / "log.parquet"), tmp_path / "state"
    watch(model, state).look(path, now=LATER)
    before = kept(state)["sides"]
    missing = int(np.flatnonzero(np.asarray(log["savings"].is_null()))[0])
    write(changed(log, "savings", missing, 0.5), path)
    status = watch(model, state).look(path, now=LATER)
    assert status.late == 1
    assert kept(state)["sides"] == before


def test_a_feature_that_was_changed_before_the_first_look_shows_in_the_propensity(
    model, log, tmp_path
):
    path = write(changed(log, "x", 3, 3.0), tmp_path / "log.parquet")
    with pytest.raises(DataError, match="another program decided"):
        watch(model, tmp_path / "state").look(path, now=LATER)


def test_an_impact_outside_the_declared_range_is_an_error(model, log, tmp_path):
    path = write(changed(log, "savings", 3, 1.5), tmp_path / "log.parquet")
    with pytest.raises(DataError, match="outside the range"):
        watch(model, tmp_path / "state").look(path, now=LATER)


def test_missing_impacts_need_a_declaration(model, log, tmp_path):
    path = write(log, tmp_path / "log.parquet")
    with pytest.raises(DataError, match="is due, and missing"):
        watch(model, tmp_path / "a", missing=None, follow_up=None).look(path, now=LATER)
    status = watch(model, tmp_path / "b", missing="drop", follow_up=None).look(path, now=LATER)
    assert status.statements[0].rows == 500 - status.missing
    worst = watch(model, tmp_path / "c", missing="worst case", follow_up=None)
    wide, narrow = worst.look(path, now=LATER), status
    for one, two in zip(wide.statements, narrow.statements, strict=True):
        assert one.looks[-1].upper >= two.looks[-1].upper


def test_other_settings_are_refused(model, log, tmp_path):
    path = write(log, tmp_path / "log.parquet")
    watch(model, tmp_path / "state").look(path, now=LATER)
    with pytest.raises(InputError, match=r"alpha=0\.1"):
        watch(model, tmp_path / "state", alpha=0.2).look(path, now=LATER)


def test_a_model_that_hardly_explores_is_compared_with_the_certified_average(tmp_path):
    worlds.released(tmp_path, worlds.STUDY.replace("exploration = 0.2\n", ""))
    model = load(tmp_path / "results" / "model.elfair")
    path = write(
        worlds.decided(model, 500, worlds.helps, np.random.default_rng(4)), tmp_path / "new.parquet"
    )
    status = watch(model, tmp_path / "state").look(path, now=LATER)
    assert status.statements[1].compared == CERTIFIED


def test_without_the_old_probabilities_the_certified_average_stands(tmp_path):
    worlds.released(tmp_path)
    text = worlds.STUDY.replace("{no = 0.5, yes = 0.5}", '"p"')
    table = parquet.read_table(tmp_path / "log.parquet")
    parquet.write_table(table.append_column("p", pa.array([0.5] * 3000)), tmp_path / "log.parquet")
    (tmp_path / "study.toml").write_text(text)
    model = fit_study(StudyFile.load(tmp_path / "study.toml")).estimator
    rng = np.random.default_rng(3)
    new = worlds.decided(model, 3000, worlds.helps, rng)
    new = new.rename_columns(["p" if name == "propensity" else name for name in new.column_names])
    path = write(new, tmp_path / "new.parquet")
    status = watch(model, tmp_path / "state", missing="drop", follow_up=None).look(path, now=LATER)
    _, compared = status.statements
    assert compared.compared == CERTIFIED
    look = compared.looks[-1]
    assert look.lower < look.estimate < look.upper
    assert compared.state != "violated"


def test_a_monitor_that_is_killed_again_and_again_ends_in_the_same_state(
    model, log, tmp_path, monkeypatch
):
    monkeypatch.setattr("elfair.monitoring.reading.ROWS", 60)
    path, killed = write(log, tmp_path / "log.parquet"), tmp_path / "killed"
    start = time.perf_counter()
    watch(model, tmp_path / "whole").look(path, now=LATER)
    seconds, chance = time.perf_counter() - start, random.Random(0)
    for _ in range(KILLS):
        child = os.fork()
        if not child:
            watch(model, killed).look(path, now=LATER)
            os._exit(0)
        time.sleep(chance.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (killed / "state.json").exists() and chance.random() < 0.2:
            for each in killed.iterdir():  # begin anew, to be killed early as well
                each.unlink()
    watch(model, killed).look(path, now=LATER)
    assert kept(killed) == kept(tmp_path / "whole")


def test_the_command_gives_an_alarm_by_its_exit_code(model_file, model, tmp_path):
    rng = np.random.default_rng(5)

    def harms(x, took, rng):
        return worlds.helps(x, took, rng) * 0.6

    good, bad = (plain(worlds.decided(model, 400, world, rng)) for world in (worlds.helps, harms))
    for name, table, code in (("good", good, 0), ("bad", bad, 6)):
        path = write(table, tmp_path / f"{name}.csv")
        given = ["monitor", str(model_file), str(path), "--delay", "30", "--missing", "drop",
                 "--state", str(tmp_path / name), "--now", "2026-06-01"]  # fmt: skip
        told = CliRunner().invoke(main, [*given, "--json"])
        assert told.exit_code == code, told.output
        facts = json.loads(told.output)
        assert facts["alarm"] is (code == 6)
        assert (tmp_path / name / "report.html").read_text().count("<polyline") == 2
        told = CliRunner().invoke(main, given)
        assert told.exit_code == code
        assert told.output.startswith("ALARM" if code else "No statement")
