"""Runs of experiments: each missing trial runs once, however a run ends in between."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from itertools import product

import pytest

from elfair.errors import InputError
from elfair.experiments import runner
from elfair.experiments.experiment import Experiment
from elfair.experiments.runner import RunStoppedError, Tally, batches_of, run
from elfair.experiments.store import Store
from elfair.experiments.trial import module_digest, source_digest

#: Methods of a user's own, in a module beside the experiment. Each fit leaves a line in a file.
METHODS = """
import os
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Always:
    def predict_proba(self, X):
        return np.tile([0.0, 1.0], (len(X), 1))


class Own:
    label = "own"

    def __init__(self, name, uses_impact):
        self.name, self.uses_impact = name, uses_impact

    def fit(self, draw, constraints, *, delta, seed):
        with open(HERE / "fits", "a") as file:
            file.write(f"{self.name} {len(draw.label)} {seed}\\n")
        return self.outcome(seed)

    def outcome(self, seed):
        return Always()


class Crashing(Own):
    def outcome(self, seed):
        if seed % 2 and not (HERE / "repaired").exists():
            raise RuntimeError(f"seed {seed} is odd")
        return Always() if seed else None


class Deadly(Own):
    def outcome(self, seed):
        if seed == 2:
            os.kill(os.getpid(), 9)
        return Always()


dynamic, static = Own("dynamic", True), Own("static", False)
crashing, deadly = Crashing("crashing", False), Deadly("deadly", True)
"""


class Experiments:
    """Makes experiments with a user's methods in a folder, and counts their fits."""

    def __init__(self, folder):
        self.folder = folder
        self.module = f"own_{abs(hash(folder))}"  # a name of its own: modules stay imported
        (folder / f"{self.module}.py").write_text(METHODS)

    def __call__(self, *methods, alpha=(0.5, 0.9), seeds=3):
        path = self.folder / "experiment.toml"
        names = [f"{self.module}:{each}" if "-" not in each else each for each in methods]
        path.write_text(f"""
title = "An experiment"
population = "foster-care"
methods = {json.dumps(names)}
settings = {{ alpha = {list(alpha)} }}
sizes = [{{ n = [50, 100], seeds = {seeds} }}]
""")
        return Experiment.load(path)


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Experiments(tmp_path)


def fits(experiment):
    return Counter((experiment.folder / "fits").read_text().split("\n")[:-1])


def rows(path):
    """All that a store holds, but for times."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT method, settings, n, seed, attempt, outcome, accuracy, violations, error "
            "FROM trials ORDER BY method, settings, n, seed, attempt"
        ).fetchall()


def go(*arguments, **options):
    return run(*arguments, quiet=True, **options)


def test_every_trial_is_run_once(experiment, tmp_path):
    made = experiment("dynamic", "static")
    assert go(made, tmp_path / "s.sqlite") == Tally(24, 0)
    trials = Store.read(tmp_path / "s.sqlite")[1]
    assert {(t.method, t.settings, t.n, t.seed) for t in trials} == set(
        product(made.methods, made.combinations, (50, 100), range(3))
    )
    assert len(trials) == made.trials
    # A static method serves both settings with one fit.
    assert fits(experiment) == {
        **{f"dynamic {n} {seed}": 2 for n in (50, 100) for seed in range(3)},
        **{f"static {n} {seed}": 1 for n in (50, 100) for seed in range(3)},
    }
    assert Store.sources(tmp_path / "s.sqlite") == {source_digest(): 24}
    source = f"{source_digest()}+{module_digest(made.methods[0])}"
    assert Store.versions(tmp_path / "s.sqlite") == {name: {source: 12} for name in made.methods}


def test_a_second_run_runs_nothing(experiment, tmp_path):
    made = experiment("dynamic")
    go(made, tmp_path / "s.sqlite")
    before = fits(experiment)
    assert go(made, tmp_path / "s.sqlite") == Tally(0, 0)
    assert fits(experiment) == before


def test_a_resumed_run_runs_what_is_missing_alone(experiment, tmp_path, monkeypatch):
    made = experiment("dynamic", "static")
    perform, calls = runner.perform_in_worker, []

    def interrupted(batch, paths):
        if len(calls) == 7:
            raise KeyboardInterrupt
        calls.append(batch)
        return perform(batch, paths)

    monkeypatch.setattr(runner, "perform_in_worker", interrupted)
    with pytest.raises(KeyboardInterrupt):
        go(made, tmp_path / "s.sqlite")
    kept = rows(tmp_path / "s.sqlite")
    assert len(kept) == sum(len(batch.settings) for batch in calls)
    monkeypatch.setattr(runner, "perform_in_worker", perform)
    assert go(made, tmp_path / "s.sqlite") == Tally(made.trials - len(kept), 0)
    go(made, tmp_path / "whole.sqlite")
    assert rows(tmp_path / "s.sqlite") == rows(tmp_path / "whole.sqlite")
    assert set(fits(experiment).values()) == {2, 4}  # once for each store, at each setting


def test_results_so_far_cover_all_cells(experiment):
    made = experiment("dynamic", "static")
    batches = list(batches_of(made, {}, dict(zip(made.methods, (True, False), strict=True))))
    assert len(batches) == 3 * 2 * (2 + 1)
    assert [batch.seed for batch in batches] == sorted(batch.seed for batch in batches)
    cells = {(batch.method, batch.n) for batch in batches[: len(batches) // 3]}
    assert cells == set(product(made.methods, (50, 100)))


def test_sizes_with_fewer_seeds_end_earlier():
    made = Experiment.parse("""
title = "An experiment"
population = "foster-care"
methods = ["elfair"]
sizes = [{ n = [50], seeds = 3 }, { n = [100], seeds = 1 }]
""")
    batches = batches_of(made, {}, {"elfair": True})
    assert [(batch.n, batch.seed) for batch in batches] == [(50, 0), (100, 0), (50, 1), (50, 2)]


# Failures.


def test_a_crash_is_recorded_and_the_run_goes_on(experiment, tmp_path):
    made = experiment("crashing", "dynamic")
    assert go(made, tmp_path / "s.sqlite") == Tally(24, 4)
    trials = Store.read(tmp_path / "s.sqlite")[1]
    outcomes = {(t.seed, t.outcome) for t in trials if t.method.endswith("crashing")}
    assert outcomes == {(0, "no solution"), (1, "failed"), (2, "returned")}
    errors = {t.error.split("\n")[0] for t in trials if t.error}
    assert errors == {"RuntimeError: seed 1 is odd"}
    assert all((t.error is None) == (t.outcome != "failed") for t in trials)


def test_what_failed_is_run_again_only_if_asked(experiment, tmp_path):
    made = experiment("crashing")
    store = tmp_path / "s.sqlite"
    go(made, store)
    assert go(made, store) == Tally(0, 0)
    assert go(made, store, retry_failed=True) == Tally(4, 4)  # it fails again
    (tmp_path / "repaired").touch()
    assert go(made, store, retry_failed=True) == Tally(4, 0)
    assert go(made, store, retry_failed=True) == Tally(0, 0)
    trials = Store.read(store)[1]
    assert len(trials) == made.trials
    assert {t.outcome for t in trials} == {"no solution", "returned"}
    attempts = Counter(row[4] for row in rows(store))
    assert attempts == {0: 12, 1: 4, 2: 4}  # and what was before is still there
    assert fits(experiment)["crashing 50 1"] == 3


def test_a_killed_worker_ends_the_run_with_advice(experiment, tmp_path):
    made = experiment("deadly")
    store = tmp_path / "s.sqlite"
    with pytest.raises(RunStoppedError, match="run the same command to continue") as caught:
        go(made, store, jobs=2)
    assert f"{len(rows(store))} trials of this run are stored" in str(caught.value)
    assert not any(row[3] == 2 for row in rows(store))


def test_a_full_disk_ends_the_run_with_advice(experiment, tmp_path, monkeypatch):
    made = experiment("dynamic")
    add, calls = Store.add, []

    def full(self, trials, **options):
        calls.append(trials)
        if len(calls) == 3:
            raise sqlite3.OperationalError("database or disk is full")
        add(self, trials, **options)

    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(RunStoppedError, match=r"disk is full\)\. 2 trials of this run are stored"):
        go(made, tmp_path / "s.sqlite")
    monkeypatch.setattr(Store, "add", add)
    assert go(made, tmp_path / "s.sqlite") == Tally(made.trials - 2, 0)


def test_a_second_run_at_the_same_time_is_refused(experiment, tmp_path):
    made = experiment("dynamic")
    with (
        Store.open(tmp_path / "s.sqlite", made) as other,
        other.alone(),
        pytest.raises(InputError, match="in use by another run"),
    ):
        go(made, tmp_path / "s.sqlite")
    assert not (tmp_path / "fits").exists()


def test_methods_that_are_not_installed_are_said_before_any_trial(
    experiment, tmp_path, monkeypatch
):
    made = experiment("dynamic")

    def missing(name):
        raise InputError(f"{name} is not installed.", hint="install it.")

    monkeypatch.setattr("elfair.experiments.baselines.get_method", missing)
    with pytest.raises(InputError, match="dynamic is not installed"):
        go(made, tmp_path / "s.sqlite")
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize("jobs", [0, -2])
def test_a_number_of_jobs_that_makes_no_sense(experiment, tmp_path, jobs):
    with pytest.raises(InputError, match="jobs must be at least 1"):
        go(experiment("dynamic"), tmp_path / "s.sqlite", jobs=jobs)
    assert not (tmp_path / "s.sqlite").exists()


def test_an_address_where_no_cluster_is(experiment, tmp_path):
    with pytest.raises(InputError, match="address of a running scheduler"):
        go(experiment("dynamic"), tmp_path / "s.sqlite", dask="no such thing")
    assert not (tmp_path / "s.sqlite").exists()


def test_what_is_no_experiment_is_refused_with_the_way_to_one(tmp_path):
    with pytest.raises(
        InputError, match=r"Got 'figure-3' instead.\nHint: Experiment.load\('figure-3'\)"
    ):
        go("figure-3", tmp_path / "s.sqlite")
    with pytest.raises(InputError, match=r"Got None instead.\nHint: Experiment.load reads"):
        go(None, tmp_path / "s.sqlite")
    assert not (tmp_path / "s.sqlite").exists()


def test_a_experiment_made_in_python_is_checked_before_it_is_run(experiment, tmp_path):
    made = experiment("dynamic")
    wrong = Experiment(**{**made.tables(), "population": "foster-car", "methods": ["elfear"] * 2})
    with pytest.raises(InputError, match="the experiment has 3 mistakes") as caught:
        go(wrong, tmp_path / "s.sqlite")
    for said in ("did you mean 'foster-care'", "did you mean 'elfair'", "Got 'elfear' 2 times"):
        assert said in str(caught.value)
    assert not (tmp_path / "s.sqlite").exists()


# The same in parallel, on a cluster, and killed.

REAL = ("elf-paper", "logistic-regression", "crashing", "dynamic")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An experiment with methods of all kinds, and its store after an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        made = Experiments(folder)(*REAL, seeds=5)
        assert go(made, folder / "whole.sqlite") == Tally(4 * 2 * 2 * 5, 8)
        yield made, rows(folder / "whole.sqlite"), folder / "experiment.toml"


def test_a_dask_cluster_gives_the_same_store(whole, tmp_path):
    from distributed import LocalCluster

    made, expected, _ = whole
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        tally = go(made, tmp_path / "dask.sqlite", dask=cluster.scheduler_address)
    assert tally == Tally(len(expected), 8)
    assert rows(tmp_path / "dask.sqlite") == expected


COMMAND = """
import sys
from elfair.experiments.runner import run
from elfair.experiments.experiment import Experiment
run(Experiment.load(sys.argv[1]), sys.argv[2], jobs=int(sys.argv[3]), quiet=True)
"""


def count(path):
    """How many trials a store holds by now."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def test_a_run_killed_three_times_gives_the_same_store(whole, tmp_path):
    made, expected, file = whole
    store = tmp_path / "killed.sqlite"
    stored = [0]
    # The first kill hits the creation of the store; the others come at random moments.
    for jobs in (1, 2, 1):
        more = random.randint(1, 20) if store.exists() else 0
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(file), str(store), str(jobs)],
            start_new_session=True,
        )
        while count(store) < stored[-1] + more or not store.exists():
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.005)
        time.sleep(random.random() * 0.05)
        os.killpg(process.pid, signal.SIGKILL)  # workers too
        assert process.wait() == -signal.SIGKILL
        stored.append(count(store))
    assert stored == sorted(stored)  # nothing is lost by a kill
    assert stored[-1] < len(expected)
    assert go(made, store).finished == len(expected) - stored[-1]
    assert rows(store) == expected
