"""The ledger: shared by processes, never overspent, and silent about everybody."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys

import numpy as np
import pytest

from elfair import ELFClassifier, Ledger, LoggedData, SpentError, certify
from elfair.data.identity import Identity
from elfair.data.ledger import usual_ledger
from elfair.data.looks import Look
from elfair.errors import InputError

PEOPLE = Identity(frozenset({"digest"}), None, False, (), 7)


def given(test, declared=1, rows=PEOPLE, after=""):
    return lambda secret: Look(rows, test, declared, after=after)


def table(seed=0, n=300, **more):
    rng = np.random.default_rng(seed)
    return LoggedData(
        rng.normal(size=(n, 2)),
        decision=rng.integers(0, 2, n),
        propensity=np.full(n, 0.5),
        impact=rng.normal(size=n),
        **more,
    )


def test_looks_are_kept_between_objects_and_the_same_test_is_the_same_look(tmp_path):
    path = tmp_path / "made" / "with it" / "ledger.db"
    assert [Ledger(path).enter(given(test)) for test in "abac"] == [1, 2, 1, 3]
    assert [(e.look.test, e.people) for e in Ledger(path).entries()] == [
        ("a", 7), ("b", 7), ("c", 7)
    ]  # fmt: skip
    assert Ledger(tmp_path / "none.db").entries() == []
    assert not (tmp_path / "none.db").exists()


def test_what_was_known_of_rows_is_known_again(tmp_path):
    ledger, kept = Ledger(tmp_path / "ledger.db"), []

    def look(secret):
        kept.append(Identity.of(table(row_id=np.arange(300) * 10_007), secret))
        return Look(kept[-1], "one", 1)

    ledger.enter(look)
    ((rows,), (entry,)) = kept, ledger.entries()
    again = entry.look.rows
    assert (again.whole, again.named, again.n) == (rows.whole, True, 300)
    assert np.array_equal(again.ids, rows.ids)
    assert [kind for kind, _ in again.views] == [kind for kind, _ in rows.views]
    for (_, one), (_, two) in zip(again.views, rows.views, strict=True):
        assert one.zeros == two.zeros
        assert np.array_equal(one.tokens, two.tokens)
        assert np.array_equal(one.counts, two.counts)


@pytest.mark.parametrize("where", ["fit", "certify"])
def test_fit_and_certify_count_in_a_ledger(tmp_path, where):
    model = np.full(300, 0.7)

    def looked(seed, data, ledger):
        asked = {"constraints": "E[impact] >= E_logged[impact] - 1", "random_state": seed}
        if where == "certify":
            return certify(model, data, **asked, ledger=ledger)
        clf = ELFClassifier(**asked, objective="E[impact]", accept_violated=["opened_once"])
        return clf.fit(data, ledger=ledger).certificate_

    path = tmp_path / "ledger.db"
    assert looked(0, table(), path).openings == 1
    assert looked(0, table(), str(path)).openings == 1
    with pytest.warns() if where == "certify" else _silence():
        assert looked(1, table(), Ledger(path)).openings == 2
    assert looked(1, table(seed=1), Ledger(path)).openings == 1  # other people
    with pytest.raises(InputError, match=r"ledger must be a Ledger.*Got int"):
        looked(2, table(), 7)


def _silence():
    from contextlib import nullcontext

    return nullcontext()


SPEND = """
import sys
from elfair import Ledger, SpentError
from elfair.data.identity import Identity
from elfair.data.looks import Look
people = Identity(frozenset({"digest"}), None, False, ())
ledger = Ledger(sys.argv[1])
for test in range(int(sys.argv[3])):
    try:
        print(ledger.enter(lambda secret: Look(people, f"{sys.argv[2]} {test}", 12)))
    except SpentError:
        print("spent")
"""


def test_processes_never_overspend_what_was_declared(tmp_path):
    """Four processes ask for 40 looks at once; 12 were declared."""
    path, asked = tmp_path / "ledger.db", [sys.executable, "-c", SPEND]
    running = [
        subprocess.Popen([*asked, path, str(k), "10"], stdout=subprocess.PIPE, text=True)
        for k in range(4)
    ]
    said = [line for each in running for line in each.communicate()[0].split()]
    assert all(each.returncode == 0 for each in running)
    assert sorted(int(each) for each in said if each != "spent") == [*range(1, 13)]
    assert said.count("spent") == 28
    assert len(Ledger(path).entries()) == 12


def test_a_process_that_is_killed_leaves_a_ledger_that_works(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger(path).enter(given("a", 12))
    killed = SPEND.replace(
        "for test",
        "import os\nfrom elfair.data import ledger as of\n"
        "of._add = lambda database, look: os.kill(os.getpid(), 9)\nfor test",
    )
    done = subprocess.run([sys.executable, "-c", killed, path, "k", "1"], check=False)
    assert done.returncode == -9
    assert Ledger(path).enter(given("b", 12)) == 2


def test_the_key_is_for_its_owner_and_the_ledger_is_of_no_use_without_it(tmp_path):
    path = tmp_path / "ledger.db"
    names = np.array([f"person {k} of Sometown" for k in np.random.default_rng(0).permutation(300)])
    certify(np.full(300, 0.5), table(unit=names), "E[impact] >= -9", ledger=path)
    key = path.with_name("ledger.db.key")
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each != key)
    assert b"Sometown" not in content
    assert table().impact("impact")[0].tobytes() not in content
    key.unlink()
    with pytest.raises(InputError, match=r"the key .* of the ledger is missing"):
        Ledger(path).enter(given("b"))
    key.write_bytes(b"short")
    with pytest.raises(InputError, match="is not the key of a ledger"):
        Ledger(path).enter(given("b"))


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("income,impact\n" * 400)
    for used in (lambda: Ledger(path).enter(given("a")), Ledger(path).entries):
        with pytest.raises(InputError, match="not as elfair wrote it") as caught:
            used()
        assert str(caught.value).count("Hint:") == 1
    assert path.read_text() == "income,impact\n" * 400


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE identities SET content = x'0102'",
        "UPDATE identities SET content = x'' WHERE kind LIKE 'view%'",
        "UPDATE identities SET content = zeroblob(100000) WHERE kind LIKE 'view%'",
        "UPDATE identities SET content = zeroblob(300000000) WHERE kind = 'names'",
        "UPDATE identities SET content = 'text'",
        "UPDATE identities SET content = x'ff' WHERE kind = 'whole'",
        "UPDATE identities SET kind = 'other'",
        "UPDATE identities SET look = 7",
        "UPDATE looks SET declared = 'many'",
        "UPDATE looks SET declared = 0",
        "UPDATE looks SET people = 0.5",
        "UPDATE looks SET test = x'00'",
    ],
)
def test_what_elfair_did_not_write_is_one_error_and_no_look(change, tmp_path):
    """A look that is not understood must not be a look at nobody."""
    ledger = Ledger(tmp_path / "ledger.db")
    people = table(row_id=np.arange(300) * 10_007)
    ledger.enter(lambda secret: Look(Identity.of(people, secret), "one", 1))
    with sqlite3.connect(ledger.path) as database:
        assert database.execute(change).rowcount
    before = ledger.path.read_bytes()
    for used in (ledger.entries, lambda: ledger.enter(given("two"))):
        with pytest.raises(InputError, match="not as elfair wrote it"):
            used()
    assert ledger.path.read_bytes() == before


def test_of_strangers_nothing_is_kept_in_memory(tmp_path, monkeypatch):
    """A session may look at thousands of tables; only those of the same people are compared."""
    ledger, seen = Ledger(tmp_path / "ledger.db"), []
    number = Look.number
    monkeypatch.setattr(
        Look, "number", lambda self, looks: seen.append(looks) or number(self, looks)
    )
    for test, seed in enumerate([0, 1, 0, 2]):
        ledger.enter(lambda secret, t=test, s=seed: Look(Identity.of(table(s), secret), f"{t}", 1))
    assert [[bool(each.rows.views) for each in looks] for looks in seen] == [
        [], [False], [True, False], [False, False, False]
    ]  # fmt: skip
    assert [each.look.number([e.look for e in ledger.entries()]) for each in ledger.entries()] == [
        1, 1, 2, 1
    ]  # fmt: skip


def test_a_pipe_is_no_ledger(tmp_path):
    os.mkfifo(tmp_path / "ledger.db")
    with pytest.raises(InputError, match="plain file"):
        Ledger(tmp_path / "ledger.db").entries()


def test_a_folder_that_cannot_be_written_means_no_test(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no test is made, since it was not counted"):
        Ledger(tmp_path / "file" / "ledger.db").enter(given("a"))


def test_what_is_refused_is_not_entered(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    assert [ledger.enter(given(test, 2)) for test in "ab"] == [1, 2]
    with pytest.raises(SpentError):
        ledger.enter(given("c", 2))
    with pytest.raises(InputError, match="looks=2 was declared before"):
        ledger.enter(given("d", 3))
    assert len(ledger.entries()) == 2


def test_fresh_rows_are_those_of_people_whom_no_test_of_a_chain_saw(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    data = table(row_id=np.arange(300))

    def look(rows, test, after=""):
        return lambda secret: Look(Identity.of(data.take(rows), secret), test, 1, after=after)

    ledger.enter(look(np.arange(100), "one"))
    ledger.enter(look(np.arange(100, 150), "two", after="one"))
    ledger.enter(look(np.arange(250, 300), "elsewhere"))
    assert np.flatnonzero(ledger.fresh(data, "two")).tolist() == [*range(150, 300)]
    assert np.flatnonzero(ledger.fresh(data, "one")).tolist() == [*range(100, 300)]
    with pytest.raises(InputError, match="does not know whom the earlier test was about"):
        ledger.fresh(data, "never made")


def test_the_usual_ledger_is_one_for_each_user(monkeypatch, tmp_path):
    monkeypatch.setenv("ELFAIR_LEDGER", "here.db")
    assert usual_ledger().name == "here.db"
    monkeypatch.delenv("ELFAIR_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert usual_ledger() == tmp_path / "elfair" / "ledger.db"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert usual_ledger().parts[-4:] == ("Library", "Application Support", "elfair", "ledger.db")


def test_the_ledger_is_a_database_that_others_can_read(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger(path).enter(given("a", 3))
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT test, declared FROM looks").fetchall() == [("a", 3)]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
