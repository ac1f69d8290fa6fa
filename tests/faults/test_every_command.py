"""The commands that `test_every_call` leaves out: going on, looks, rows set aside, keys, monitors,
and what the workbench writes.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import stat
from pathlib import Path

import pytest
from harness import LOOK, faults, remove
from invariants import strays, whole_results

from elfair import Certificate
from elfair.certificate.envelope import Envelope, make_keys, signed_by

GO_ON = ("fit", "growing.toml", "--continue", "grown", "--ledger", "book.db")
KEYS = {"board.pem", "board.pub.pem"}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def kinds(folder: Path) -> list[str]:
    """The names of files without their numbers, which go up with each attempt."""
    return sorted(re.sub(r"\d+", "", name) for name in files(folder))


def looks(run, folder, name="book.db"):
    ended = run(folder, "ledger", "--ledger", name, "--json")
    assert ended.status == 0, ended.said
    return [each["look"] for each in json.loads(ended.said)["looks"]]


def test_a_stage_is_written_whole_and_is_one_look(run, fresh):
    for folder, ended in faults(run, fresh, *GO_ON, every=9):
        stage = folder / "grown-2"
        assert whole_results(folder / "grown", released=False) == "Loans, as they came"
        if stage.exists():
            assert whole_results(stage) == "Loans, as they came"
            shutil.rmtree(stage)
        else:
            assert ended.status != 0
        again = run(folder, *GO_ON)
        assert again.status == 0, again.said
        record = Certificate.load(stage / "certificate.json")
        assert (record.openings, record.stage.number) == (1, 2)
        assert looks(run, folder) == [1, 1]
        assert strays(folder) == []


@pytest.mark.parametrize("is_new", [True, False], ids=["a new ledger", "a ledger"])
def test_a_look_is_counted_before_it_is_made_and_once(run, fresh, is_new):
    def fit(study):
        how = ("--overwrite", "--ledger", "looks.db", "--accept-violated", "opened_once")
        return ("fit", study, *how)

    def prepare(folder):
        if not is_new:
            for name in ("book.db", "book.db.key"):
                shutil.copy(folder / name, folder / name.replace("book", "looks"))

    before = [] if is_new else [1]
    for folder, ended in faults(run, fresh, *fit("study.toml"), prepare=prepare, every=13):
        tested = whole_results(folder / "results") == "Loans, as they came"
        if (folder / "looks.db").exists():  # reading it must not need a repair
            assert len(looks(run, folder, "looks.db")) in (
                {len(before) + 1} if tested else {len(before), len(before) + 1}
            )
        assert tested or ended.status != 0
        # The same test again is the same look, and another seed is a further one.
        for study in ("study.toml", "study.toml", "seed.toml"):
            again = run(folder, *fit(study))
            assert again.status == 0, again.said
        assert looks(run, folder, "looks.db")[len(before) :] == [len(before) + k for k in (1, 2)]
        assert strays(folder) == []


def incomplete(folder: Path) -> None:
    """Three of the people cannot be decided about."""
    path = folder / "people.csv"
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    for k in (3, 7, 11):
        rows[k][1] = "unknown"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def people(path: Path, column: str = "person id") -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row[column] for row in csv.DictReader(file)]


@pytest.mark.parametrize("is_new", [True, False], ids=["new files", "files"])
def test_log_and_rows_set_aside_hold_everybody_once(run, fresh, is_new):
    decide = ("decide", "results/model.elfair", "people.csv", "--log", "log.csv", "--skip-invalid")

    def prepare(folder):
        incomplete(folder)
        if is_new:
            remove("log.csv")(folder)
        else:
            (folder / "rejected.csv").write_bytes(before)

    folder = fresh()
    incomplete(folder)
    assert run(folder, *decide).status == 0
    assert len(people(folder / "rejected.csv")) == 3
    before = (folder / "rejected.csv").read_bytes().replace(b"P001", b"P009")  # of other people
    for folder, ended in faults(run, fresh, *decide, prepare=prepare, every=4):
        run(folder, "decide", "results/model.elfair", "others.csv", "--log", "log.csv")
        logged = people(folder / "log.csv")
        there = any(each.startswith("P001") for each in logged)
        assert there or ended.status != 0
        assert run(folder, *decide).status == (2 if there else 0)  # in the log already
        ids = [f"P{1000 + k:06d}" for k in range(20)]
        aside = people(folder / "rejected.csv")
        assert sorted(each for each in people(folder / "log.csv") + aside if each in ids) == ids
        assert len(aside) == (3 if is_new else 6)
        assert strays(folder) == []


def test_predictions_and_rows_set_aside_are_whole(run, fresh):
    predict = ("predict", "results/model.elfair", "people.csv", "--output", "new.csv", "--seed")
    predict = (*predict, "1", "--skip-invalid", "--overwrite")

    def prepare(folder):
        incomplete(folder)
        for name in ("new.csv", "rejected.csv"):
            (folder / name).write_bytes(b"old")

    folder = fresh()
    prepare(folder)
    assert run(folder, *predict).status == 0
    whole = {name: shown(folder / name) for name in ("new.csv", "rejected.csv")}
    for folder, ended in faults(run, fresh, *predict, prepare=prepare, every=3):
        for name, new in whole.items():
            assert shown(folder / name) in ([new] if ended.status == 0 else [new, b"old"])
        assert run(folder, *predict).status == 0
        assert {name: shown(folder / name) for name in whole} == whole
        assert strays(folder) == []


def shown(path: Path) -> bytes:
    """A file without the times in it."""
    return re.sub(rb"20\d\d-\d\d-\d\dT[\d:+]+", b"", path.read_bytes())


def test_a_private_key_is_there_with_its_public_one_or_not_at_all(run, fresh):
    def prepare(folder):
        for name in KEYS:
            (folder / name).unlink()

    for folder, ended in faults(run, fresh, "keygen", "--output", "board.pem", prepare=prepare):
        there = KEYS & set(files(folder))
        assert there in ([KEYS] if ended.status == 0 else [set(), {"board.pub.pem"}, KEYS])
        if there == KEYS:
            assert stat.S_IMODE((folder / "board.pem").stat().st_mode) == 0o600
        elif there or ended.killed:
            for name in there:
                (folder / name).unlink()
            make_keys(folder / "board.pem")
        else:
            continue
        sign = ("sign", "results/certificate.json", "--key", "board.pem", "--output", "signed.json")
        assert run(folder, *sign).status == 0
        envelope = Envelope.read((folder / "signed.json").read_text(encoding="utf-8"))
        assert len(signed_by(envelope, [folder / "board.pub.pem"])[0]) == 1
        assert strays(folder) == []


def test_a_monitor_counts_each_row_once_and_its_report_is_whole(run, fresh):
    folder = fresh()
    before = files(folder / "watch")
    assert run(folder, *LOOK).status == 0
    after, kept = files(folder / "watch"), kinds(folder / "watch")
    said = run(folder, *LOOK, "--json").said
    assert json.loads(said)["counted"] == 20
    assert before["report.html"] != after["report.html"]
    for folder, ended in faults(run, fresh, *LOOK, every=4):
        watch = folder / "watch"
        report = (watch / "report.html").read_bytes()
        allowed = [after["report.html"]]
        assert report in (allowed if ended.status == 0 else [*allowed, before["report.html"]])
        again = run(folder, *LOOK, "--json")
        assert (again.status, again.said) == (0, said)
        assert kinds(watch) == kept
        assert files(watch)["report.html"] == after["report.html"]


def test_a_first_look_leaves_a_monitor_or_nothing_in_the_way(run, fresh):
    folder = fresh()
    remove("watch")(folder)
    assert run(folder, *LOOK).status == 0
    kept, report = kinds(folder / "watch"), files(folder / "watch")["report.html"]
    for folder, _ in faults(run, fresh, *LOOK, prepare=remove("watch"), every=5):
        again = run(folder, *LOOK)
        assert again.status == 0, again.said
        assert kinds(folder / "watch") == kept
        assert files(folder / "watch")["report.html"] == report


def test_the_workbench_saves_a_study_whole(run, fresh):
    text = "# edited\n" + (fresh() / "study.toml").read_text(encoding="utf-8") * 3
    save = ("workbench", "save", "study.toml", text)
    for folder, ended in faults(run, fresh, *save):
        found = (folder / "study.toml").read_text(encoding="utf-8")
        assert found == text if ended.status == 0 else found in (text, text[9:][: len(found)])
        assert run(folder, *save).status == 0
        assert (folder / "study.toml").read_text(encoding="utf-8") == text
        assert strays(folder) == []


def test_the_workbench_receives_a_table_whole(run, fresh):
    text = (fresh() / "loans.csv").read_text(encoding="utf-8")
    receive = ("workbench", "receive", "new.csv", text)
    for folder, ended in faults(run, fresh, *receive):
        path = folder / "new.csv"
        if path.exists():
            assert path.read_text(encoding="utf-8") == text
            path.unlink()
        else:
            assert ended.status != 0
        assert run(folder, *receive).status == 0
        assert path.read_text(encoding="utf-8") == text
