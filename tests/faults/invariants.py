"""What must hold of files, whatever happened to the process that wrote them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import elfair
from elfair import Certificate
from elfair.experiments.store import Store
from elfair.experiments.trial import TrialRecord

#: What a process may leave behind that was killed, until the next one has run.
LEFT = (".elfair-", ".results.elfair-", "-wal", "-shm", "-journal", ".running", "-pending")


def whole_results(folder: Path, *, released: bool = True) -> str:
    """The title of the study that results are of: all files are of one fit, and whole."""
    model = "model.elfair" if released else "rejected.elfair"
    assert {path.name for path in folder.iterdir()} == {model, "certificate.json", "report.html"}
    certificate = Certificate.load(folder / "certificate.json")
    assert elfair.load(folder / model).certificate_ == certificate
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert certificate.provenance.title in page
    return certificate.provenance.title


def logged(log: Path) -> list[str]:
    """The people in a log, of which each line is whole."""
    header, *rows = csv.reader(io.StringIO(log.read_text(encoding="utf-8"), newline=""))
    assert log.read_bytes().endswith(b"\n")
    assert {len(row) for row in rows} <= {len(header)}
    assert len({row[-1] for row in rows}) <= 1  # the digest of the model, at the end of the line
    return [row[0] for row in rows]


def check_batches(log: Path, batches: Mapping[str, Sequence[str]], told: Collection[str]) -> None:
    """All people of a batch are in the log, once, or none; those of batches told of are there."""
    people = logged(log)
    assert len(people) == len(set(people)), "somebody was decided about twice"
    there = set(people)
    for name, batch in batches.items():
        found = there & set(batch)
        assert len(found) in (0, len(batch)), f"half of {name} is in the log"
        assert found or name not in told, f"{name} was said to be in the log"
        there -= found
    assert not there


def trials_of(store: Path) -> list[tuple[str, int, int, str, float | None]]:
    """The trials of a store, without their times."""

    def of(trial: TrialRecord) -> tuple[str, int, int, str, float | None]:
        return trial.method, trial.n, trial.seed, trial.outcome, trial.accuracy

    return sorted(of(trial) for trial in Store.read(store)[1])


def strays(folder: Path) -> list[str]:
    """What lies in a folder, and belongs to a process that has ended; a monitor keeps its lock."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if any(mark in path.name for mark in LEFT) and path.name != ".elfair-lock"
    )
