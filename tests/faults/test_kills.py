"""Kills at any time, one after the other in the same folder, and nobody repairs anything.

ELFAIR_GUARANTEES=full kills 1,000 times; the reduced size about 50 times. One kill in two comes at
a call that changes a file, in the midst of it; the others come at any time.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from harness import Commands, Ended, write_people
from invariants import check_batches, strays, trials_of, whole_results

from counting import FULL
from elfair import Certificate, Ledger
from elfair.data.identity import Identity
from elfair.data.looks import Look
from elfair.records.folders import claimed

KILLS = 250 if FULL else 12
PEOPLE = Identity(frozenset({"digest"}), None, False, (), 7)


class Killer:
    """Runs a command, and kills it in the midst of a call, or at any time."""

    def __init__(self, run: Commands, folder: Path, seed: int) -> None:
        self._run, self._folder, self._random = run, folder, random.Random(seed)
        self._seconds, self._calls, self.kills = 0.0, 1, 0

    def learn(self, *arguments: str) -> None:
        """Let a command end, to know how long it takes and how many calls it makes."""
        start = time.perf_counter()
        ended = self._run(self._folder, *arguments)
        assert ended.status == 0, ended.said
        self._seconds, self._calls = time.perf_counter() - start, ended.n_calls

    def __call__(self, *arguments: str) -> Ended:
        if self._random.random() < 0.5:
            at = self._random.randint(1, self._calls)
            ended = self._run(self._folder, *arguments, at=at, fault="killed amid")
        else:
            after = self._random.uniform(0, 1.1 * self._seconds)
            ended = self._run(self._folder, *arguments, kill_after=after)
        assert ended.killed or ended.status == 0, ended.said
        self.kills += ended.killed
        return ended


def test_a_log_survives_kills(run, fresh):
    folder = fresh()
    killing = Killer(run, folder, seed=1)
    killing.learn("decide", "results/model.elfair", "people.csv", "--log", "log.csv")
    batches = {
        "known": [f"P{i:06d}" for i in range(20)],
        "learnt": [f"P{1000 + i:06d}" for i in range(20)],
    }
    told, first = {*batches}, 10_000
    while killing.kills < KILLS:
        name = f"people from {first}"
        # Some are many: they take more than one page of memory, and longer to write.
        batches[name] = write_people(folder / "people.csv", first, 350 if first % 3 else 20)
        first += 1000
        if not killing("decide", "results/model.elfair", "people.csv", "--log", "log.csv").killed:
            told.add(name)
    last = run(folder, "decide", "results/model.elfair", "others.csv", "--log", "log.csv")
    assert last.status == 0, last.said
    batches["last"] = [f"P{2000 + i:06d}" for i in range(20)]
    check_batches(folder / "log.csv", batches, told | {"last"})
    assert strays(folder) == []


@pytest.mark.parametrize("swaps", [True, False], ids=["one step", "two steps"])
def test_results_and_the_ledger_survive_kills(run, fresh, swaps):
    folder = fresh()
    titles = {"study.toml": "Loans, as they came", "old.toml": "Old loans, as they came"}
    environment = {} if swaps else {"FAULTS_NO_SWAP": "1"}
    killing = Killer(
        lambda *given, **how: run(*given, environment=environment, **how), folder, seed=2 + swaps
    )
    killing.learn("fit", "study.toml", "--overwrite")
    while killing.kills < KILLS:
        study = ("study.toml", "old.toml")[killing.kills % 2]
        ended = killing("fit", study, "--overwrite")
        if swaps or (folder / "results").exists():
            title = whole_results(folder / "results")
            assert title in ({titles[study]} if ended.status == 0 else titles.values())
    # All these fits are one test, and another seed is a second one: none was lost or counted twice.
    other = run(folder, "fit", "seed.toml", "--overwrite", "--accept-violated", "opened_once")
    assert other.status == 0, other.said
    assert whole_results(folder / "results") == titles["study.toml"]
    assert Certificate.load(folder / "results" / "certificate.json").openings == 2
    assert strays(folder) == []


def looks_on_and_on(path: Path, start: int, told: int) -> None:
    """Enter tests of the same people until this process is killed, and tell of each."""
    for test in range(start, start + 10_000):
        number = Ledger(path).enter(lambda secret, test=test: Look(PEOPLE, f"{test}", 10**6))
        os.write(told, f"{test} {number}\n".encode())


def test_a_ledger_survives_kills(tmp_path):
    """Each process enters looks until it is killed, within the first ones or between later ones."""
    path, draw, known = tmp_path / "new" / "ledger.db", random.Random(5), {}
    for kill in range(KILLS):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                looks_on_and_on(path, 10_000 * kill, writer)
            finally:
                os._exit(1)
        os.close(writer)
        time.sleep(draw.choice((0.002, 0.02, 0.1)) * draw.random())
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        with os.fdopen(reader) as said:
            lines = [line.split() for line in said if line.endswith("\n")]
        known |= {test: int(number) for test, number in lines}
        entries = Ledger(path).entries()
        places = {each.look.test: place for place, each in enumerate(entries, 1)}
        assert all(places[test] == number for test, number in known.items()), "a look is lost"
        assert len(entries) <= len(known) + kill + 1, "a look was made up"
        if len(entries) > 300:  # a long list takes long to read
            path, known = tmp_path / f"{kill}" / "ledger.db", {}
    last = Ledger(path).enter(lambda secret: Look(PEOPLE, "last", 10**6))
    assert last == len(Ledger(path).entries())
    leftover = {each.name for each in path.parent.iterdir()} - {"ledger.db", "ledger.db.key"}
    assert not {each for each in leftover if not each.startswith(".elfair-")}
    assert len(leftover) <= 1 + KILLS // 50


def test_trials_survive_kills(run, fresh):
    folder = fresh()
    arguments = ("experiment", "run", "experiment.toml", "--jobs", "1", "--store")
    killing = Killer(run, folder, seed=4)
    killing.learn(*arguments, "learnt.sqlite")
    every, kept, round_ = trials_of(folder / "learnt.sqlite"), 0, 0
    while killing.kills < KILLS:
        store = folder / f"{round_}.sqlite"
        ended = killing(*arguments, store.name)
        if ended.status == 0 or (store.exists() and killing.kills % 3 == 0):
            ended = run(folder, *arguments, store.name)
            assert ended.status == 0, ended.said
            assert trials_of(store) == every
            round_, kept = round_ + 1, 0
        elif ended.killed and "trials" in str(tables(store)):
            before, kept = kept, len(trials_of(store))
            assert kept >= before, "a stored trial is lost"
    run(folder, *arguments, f"{round_}.sqlite")
    assert strays(folder) == []


def tables(store: Path) -> list[str]:
    """The tables of a store, which may have been killed while it was made."""
    import sqlite3
    from contextlib import closing

    if not store.exists():
        return []
    with closing(sqlite3.connect(store)) as connection:
        return [name for (name,) in connection.execute("select name from sqlite_master")]


def test_two_processes_log_one_after_the_other(run, fresh):
    for _ in range(20 if FULL else 3):
        folder = fresh()
        batches = {"known": [f"P{i:06d}" for i in range(20)]}
        decide = []
        for name, first in (("one", 1000), ("two", 2000), ("three", 3000)):
            batches[name] = write_people(folder / f"{name}.csv", first, 300)
            decide.append(["decide", "results/model.elfair", f"{name}.csv", "--log", "log.csv"])
        # The same people come twice: one of these processes is told so.
        ended = run.together(folder, [*decide, decide[0]])
        assert sorted(each.status for each in ended) == [0, 0, 0, 2]
        assert any("is in the log" in each.said for each in ended)
        check_batches(folder / "log.csv", batches, batches)
        assert strays(folder) == []


BUSY = "another process is at work on the results in 'results'"


def test_a_second_fit_for_the_same_folder_says_so(run, fresh):
    folder = fresh()
    with claimed(folder / "results"):
        ended = run(folder, "fit", "study.toml", "--overwrite")
    assert (ended.status, BUSY in ended.said) == (2, True)
    ended.require_clear()
    assert whole_results(folder / "results") == "Old loans, as they came"


def test_of_fits_at_once_one_writes(run, fresh):
    for _ in range(20 if FULL else 2):
        folder = fresh()
        fits = [["fit", each, "--overwrite"] for each in ("study.toml", "old.toml", "study.toml")]
        ended = run.together(folder, fits)
        assert 0 in [each.status for each in ended]
        assert all(each.status == 0 or BUSY in each.said for each in ended)
        whole_results(folder / "results")
        assert strays(folder) == []
