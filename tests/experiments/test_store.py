"""The store: nothing is lost, nothing is mixed, nothing is changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from elfair.errors import InputError
from elfair.experiments.experiment import Experiment
from elfair.experiments.store import FORMAT, Store
from elfair.experiments.trial import TrialRecord

TEXT = """
title = "An experiment"
population = "foster-care"
methods = ["elfair", "logistic-regression"]
settings = { alpha = [0.5, 0.9] }
sizes = [{ n = [256], seeds = 2 }]
"""
EXPERIMENT = Experiment.parse(TEXT)
RETURNED = TrialRecord(
    "elfair", '{"alpha": 0.9}', 256, 0, "returned", 0.8, {"0": -0.1, "1": 0.2}, 0.25, None
)
NONE = replace(RETURNED, seed=1, outcome="no solution", accuracy=None, violations={})
FAILED = replace(NONE, method="logistic-regression", outcome="failed", error="ValueError: no\n  x")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.sqlite"


def sql(path, text):
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(text).fetchall()


def filled(path, trials=(RETURNED, NONE, FAILED)):
    with Store.open(path, EXPERIMENT) as store:
        store.add(trials, source="a")


def by_key(trials):
    return sorted(trials, key=lambda trial: (trial.method, trial.seed))


def test_what_goes_in_comes_out(path):
    filled(path)
    experiment, trials = Store.read(path)
    assert experiment == EXPERIMENT
    assert by_key(trials) == [RETURNED, NONE, FAILED]


def test_a_closed_store_is_one_file(path):
    filled(path)
    Store.read(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_columns_are_those_that_were_promised(path):
    filled(path, [RETURNED])
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM trials").fetchone())
    assert row.pop("finished").startswith("20")
    assert row == {
        **{"method": "elfair", "settings": '{"alpha": 0.9}', "n": 256, "seed": 0, "attempt": 0},
        **{"outcome": "returned", "accuracy": 0.8, "violations": '{"0": -0.1, "1": 0.2}'},
        **{"seconds": 0.25, "error": None, "source": "a"},
    }


def test_a_trial_is_written_once(path):
    filled(path, [RETURNED])
    with Store.open(path, EXPERIMENT) as store:
        store.add([replace(RETURNED, accuracy=0.1), NONE], source="b")
    assert by_key(Store.read(path)[1]) == [RETURNED, NONE]


def test_the_last_attempt_counts(path):
    filled(path, [replace(FAILED, seed=0), FAILED])
    with Store.open(path, EXPERIMENT) as store:
        better = replace(RETURNED, method=FAILED.method)
        store.add([better], attempt=1, source="a")
        assert store.attempts() == {
            (FAILED.method, FAILED.settings, 256, 0): (1, "returned"),
            (FAILED.method, FAILED.settings, 256, 1): (0, "failed"),
        }
    assert by_key(Store.read(path)[1]) == [better, FAILED]
    assert sql(path, "SELECT COUNT(*) FROM trials") == [(3,)]


def test_rows_of_one_task_are_written_together_or_not_at_all(path):
    with Store.open(path, EXPERIMENT) as store:
        with pytest.raises(sqlite3.IntegrityError, match="outcome"):
            store.add([RETURNED, replace(NONE, outcome="unheard of")], source="a")
        assert store.attempts() == {}
        store.add([RETURNED], source="a")  # and the store goes on
    assert Store.read(path)[1] == [RETURNED]


def test_a_full_disk_is_called_that_and_the_store_goes_on(path):
    with Store.open(path, EXPERIMENT) as store:
        store.add([RETURNED], source="a")
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        long = [replace(FAILED, seed=seed, error="x" * 5000) for seed in range(20)]
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            store.add(long, source="a")
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.add([NONE], source="a")
    assert by_key(Store.read(path)[1]) == [RETURNED, NONE]


@pytest.mark.parametrize("statement", ["UPDATE trials SET accuracy = 1", "DELETE FROM trials"])
def test_rows_are_only_ever_added(path, statement):
    filled(path)
    with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
        sql(path, statement)


def test_what_was_committed_is_seen_by_others_at_once(path):
    with Store.open(path, EXPERIMENT) as store:
        store.add([RETURNED], source="a")
        assert Store.read(path)[1] == [RETURNED]
        store.add([NONE], source="a")
        assert len(Store.read(path)[1]) == 2


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"elfair", ', "", "methods"),
        ("[0.5, 0.9]", "[0.5]", "settings"),
        ("[256]", "[512]", "sizes"),
        ("seeds = 2", "seeds = 3", "sizes"),
        ("sizes =", "delta = 0.2\nsizes =", "delta"),
    ],
)
def test_a_store_of_another_experiment_is_refused_and_stays_as_it_was(path, old, new, key):
    filled(path)
    before = path.read_bytes()
    other = Experiment.parse(TEXT.replace(old, new))
    for use in (lambda: Store.open(path, other), lambda: Store.read(path, other)):
        with pytest.raises(InputError, match="another experiment") as caught:
            use()
        said = [line.split(":")[0].strip() for line in str(caught.value).split("\n")[1:-1]]
        assert said == [key]
        assert "Hint: name another --store" in str(caught.value)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_new_title_is_no_other_experiment(path):
    filled(path)
    renamed = Experiment.parse(TEXT.replace("An experiment", "A new title"))
    Store.open(path, renamed).close()
    experiment, trials = Store.read(path, renamed)
    assert (experiment.title, len(trials)) == ("A new title", 3)


@pytest.mark.parametrize("content", [b"title = 'not a store'\n" * 50, b"\0" * 5000])
def test_a_file_that_is_no_store_is_refused_and_stays_as_it_was(path, content):
    path.write_bytes(content)
    for use in (lambda: Store.open(path, EXPERIMENT), lambda: Store.read(path)):
        with pytest.raises(InputError, match="must be an intact store of trials"):
            use()
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_refused(path):
    sql(path, "CREATE TABLE trials (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="the database of another program"):
        Store.open(path, EXPERIMENT)
    assert path.read_bytes() == before


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_a_truncated_store_is_refused(path, share):
    filled(path, [replace(RETURNED, seed=seed) for seed in range(500)])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    for use in (lambda: Store.open(path, EXPERIMENT), lambda: Store.read(path)):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_a_store_damaged_in_the_middle_is_refused(path):
    filled(path, [replace(RETURNED, seed=seed) for seed in range(500)])
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes(4096)
    path.write_bytes(content)
    for use in (lambda: Store.open(path, EXPERIMENT), lambda: Store.read(path)):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_a_store_of_a_newer_format_is_refused(path):
    filled(path)
    sql(path, f"UPDATE meta SET value = '{FORMAT + 1}' WHERE key = 'format'")
    with pytest.raises(InputError, match=r"has format 2.*\nHint: install a newer elfair"):
        Store.read(path)


@pytest.mark.parametrize("begun", ["", "PRAGMA journal_mode = WAL"])
def test_a_store_whose_making_was_killed_is_made_anew(path, begun):
    path.touch()
    if begun:
        sql(path, begun)
        assert path.stat().st_size > 0
    filled(path)
    assert len(Store.read(path)[1]) == 3


def test_a_file_made_by_another_process_meanwhile_is_looked_at(path, monkeypatch):
    filled(path)
    monkeypatch.setattr(type(path), "exists", lambda self: False)
    with pytest.raises(InputError, match="another experiment") as refused:
        Store.open(path, Experiment.parse(TEXT.replace("seeds = 2", "seeds = 3")))
    assert refused.tb is not None  # which keeps what is open, open
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_places_that_do_not_exist(path):
    with pytest.raises(InputError, match="There is no store"):
        Store.read(path)
    with pytest.raises(InputError, match="folder that exists"):
        Store.open(path.parent / "nowhere" / "trials.sqlite", EXPERIMENT)


def test_a_place_that_cannot_be_written(path):
    path.mkdir()
    for place, kind in ((path, "a folder"), ("/dev/null", "a device")):
        with pytest.raises(InputError, match=f"must be a plain file. .* which is {kind}"):
            Store.open(place, EXPERIMENT)
    (path / "x.sqlite-wal").mkdir()  # where the log must go
    with pytest.raises(InputError, match="a file that can be written"):
        Store.open(path / "x.sqlite", EXPERIMENT)


def test_two_runs_do_not_share_a_store(path):
    with Store.open(path, EXPERIMENT) as one, Store.open(path, EXPERIMENT) as other:
        with one.alone():
            with pytest.raises(InputError, match="Only one run at a time"), other.alone():
                pass
            one.add([RETURNED], source="a")
        with other.alone():  # once the first has ended
            other.add([NONE], source="a")
    assert len(Store.read(path)[1]) == 2
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_versions_of_the_source_are_counted(path):
    filled(path)
    with Store.open(path, EXPERIMENT) as store:
        store.add([replace(RETURNED, seed=5)], source="b")
        store.add([replace(FAILED, outcome="no solution", error=None)], attempt=1, source="a")
    assert Store.sources(path) == {"a": 3, "b": 1}  # of a trial, the last attempt
    assert Store.versions(path) == {"elfair": {"a": 2, "b": 1}, "logistic-regression": {"a": 1}}


def test_versions_of_a_users_module_are_told_apart(path):
    own = [replace(RETURNED, method="mine:it", seed=seed) for seed in range(3)]
    filled(path, [RETURNED])
    with Store.open(path, EXPERIMENT) as store:
        store.add(own[:2], source="a+one")
        assert Store.sources(path) == {"a": 3}
        store.add(own[2:], source="a+two")
    assert Store.sources(path) == {"mine:it one": 2, "mine:it two": 1}
    with Store.open(path, EXPERIMENT) as store:
        store.add([NONE], source="b")
    assert Store.sources(path) == {"a": 4, "b": 1, "mine:it one": 2, "mine:it two": 1}


def test_a_store_can_be_read_where_nothing_can_be_written(path, monkeypatch):
    """As root may write anywhere, what SQLite is asked for is looked at."""
    filled(path)
    connect, asked = sqlite3.connect, []

    def watched(name, **options):
        asked.append(str(name))
        return connect(name, **options)

    monkeypatch.setattr("elfair.experiments.store.os.access", lambda *_: False)
    monkeypatch.setattr("elfair.experiments.store.sqlite3.connect", watched)
    path.chmod(0o444)
    assert len(Store.read(path)[1]) == 3
    assert asked == [f"{path.as_uri()}?mode=ro&immutable=1"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    # Where a run is writing, its log is read too.
    monkeypatch.undo()
    path.chmod(0o644)
    with Store.open(path, EXPERIMENT) as store:
        store.add([replace(RETURNED, seed=9)], source="a")
        monkeypatch.setattr("elfair.experiments.store.os.access", lambda *_: False)
        assert len(Store.read(path)[1]) == 4


def test_a_store_can_be_read_without_the_module_of_a_method(path):
    experiment = Experiment(**{**EXPERIMENT.tables(), "methods": ["no_module_of_this_name:mine"]})
    with Store.open(path, experiment) as store:
        store.add([replace(NONE, method="no_module_of_this_name:mine")], source="a")
    read, trials = Store.read(path)
    assert (read, len(trials)) == (experiment, 1)
