"""Each call of each command that changes a file goes wrong once: nothing is lost, nothing is half.

The calls are counted by running the command, so a new one takes part by itself. The reduced size
gives each call one of the faults, in turn (of slow commands, some calls); ELFAIR_GUARANTEES=full
gives each call each fault.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import faults, remove
from invariants import check_batches, logged, strays, trials_of, whole_results

NEW, OLD = "Loans, as they came", "Old loans, as they came"
FIT = ("fit", "study.toml", "--overwrite")
RUN = ("experiment", "run", "experiment.toml", "--jobs", "1")


@pytest.mark.parametrize(
    ("prepare", "every", "environment"),
    [
        (lambda folder: None, 1, {}),
        (lambda folder: None, 2, {"FAULTS_NO_SWAP": "1"}),
        (remove("results"), 2, {}),
    ],
    ids=["overwrite", "overwrite in two steps", "new"],
)
def test_results_are_the_old_or_the_new_ones(run, fresh, prepare, every, environment):
    results = faults(run, fresh, *FIT, prepare=prepare, every=every, **environment)
    for folder, ended in results:
        # Without a swap, a kill between two renames leaves the old ones beside, for the next fit.
        beside = folder / ".results.elfair-work" / "old"
        kept = folder / "results"
        if environment and not kept.exists():
            kept = beside
        if kept.exists():
            assert whole_results(kept) in ({NEW} if ended.status == 0 else {NEW, OLD})
        else:
            assert ended.status != 0
        again = run(folder, *FIT, environment=environment)
        assert again.status == 0, again.said
        assert whole_results(folder / "results") == NEW
        assert strays(folder) == []


@pytest.mark.parametrize("is_new", [False, True], ids=["a log", "a new log"])
def test_decisions_are_logged_once_or_not_at_all(run, fresh, is_new):
    def decide(people):
        return ("decide", "results/model.elfair", people, "--log", "log.csv")

    prepare = remove("log.csv") if is_new else lambda folder: None
    for folder, ended in faults(run, fresh, *decide("people.csv"), prepare=prepare):
        log, told = folder / "log.csv", {"new"} if ended.status == 0 else set()
        before = log.read_bytes() if log.exists() else b""
        again = run(folder, *decide("others.csv"))
        assert again.status == 0, again.said
        assert log.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
        batches = {
            name: [f"P{first + i:06d}" for i in range(20)]
            for name, first in (("known", 0), ("new", 1000), ("later", 2000))
            if not (is_new and name == "known")
        }
        check_batches(log, batches, told | set(batches) - {"new"})
        there = "P001000" in logged(log)
        if not ended.killed and ended.status:
            assert there == ("do not repeat the command" in ended.said), ended.said
        # Who repeats the command is told, and nobody is decided about twice.
        assert run(folder, *decide("people.csv")).status == (2 if there else 0)
        check_batches(log, batches, batches)
        assert strays(folder) == []


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("drawn.csv", ["predict", "results/model.elfair", "people.csv", "--seed", "1"]),
        ("drawn.parquet", ["predict", "results/model.elfair", "people.csv", "--seed", "1"]),
        ("page.html", ["explain", "results/certificate.json", "--format", "html"]),
        ("table.csv", ["experiment", "summarize", "experiment.toml", "--format", "csv"]),
        ("draft.toml", ["init", "loans.csv"]),
        ("curve.svg", ["plan", "study.toml"]),
        ("signed.json", ["sign", "results/certificate.json", "--key", "board.pem"]),
    ],
)
def test_a_file_is_the_old_or_the_new_one(run, fresh, written, arguments):
    arguments = [*arguments, "--output", written]
    arguments += ["--overwrite"] if arguments[0] == "predict" else []
    arguments += ["--store", "done.sqlite"] if arguments[0] == "experiment" else []
    is_new = arguments[0] == "init"  # which replaces nothing

    def prepare(folder):
        if not is_new:
            (folder / written).write_bytes(b"the old file")

    folder = fresh()
    prepare(folder)
    assert run(folder, *arguments).status == 0
    new = (folder / written).read_bytes()
    every = 1 if arguments[0] in ("predict", "explain", "init", "sign") else 3  # others are slow
    for folder, ended in faults(run, fresh, *arguments, prepare=prepare, every=every):
        path = folder / written
        found = path.read_bytes() if path.exists() else None
        assert found in ([new] if ended.status == 0 else [new, None if is_new else b"the old file"])
        if is_new and found is not None:
            path.unlink()
        assert run(folder, *arguments).status == 0
        assert path.read_bytes() == new
        assert strays(folder) == []


def test_figures_are_whole(run, fresh):
    arguments = ["experiment", "plot", "experiment.toml", "--store", "done.sqlite"]
    arguments += ["--output", "figures"]
    folder = fresh()
    assert run(folder, *arguments).status == 0
    new = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    assert len(new) == 2
    for folder, ended in faults(run, fresh, *arguments, every=5):
        found = {path.name: path.read_bytes() for path in folder.glob("figures/[!.]*")}
        assert found.items() <= new.items()
        assert found == new or ended.status != 0
        assert run(folder, *arguments).status == 0
        assert strays(folder) == []


def test_trials_are_stored_once_or_not_at_all(run, fresh):
    for folder, ended in faults(run, fresh, *RUN, every=3):
        every = trials_of(folder / "done.sqlite")
        store = folder / "experiment.sqlite"
        if ended.status == 0:
            assert trials_of(store) == every
        again = run(folder, *RUN)
        assert again.status == 0, again.said
        assert trials_of(store) == every
        assert strays(folder) == []


@pytest.mark.parametrize(
    "arguments", [FIT, ("decide", "results/model.elfair", "people.csv", "--log", "log.csv")]
)
def test_what_is_written_is_on_the_disk_before_a_step_that_relies_on_it(run, fresh, arguments):
    """No kill shows it, but a power cut would: nothing waits in memory when a name changes."""
    folder = fresh()
    ended = run(folder, *arguments)
    waiting, renamed = set(), set()
    for line in ended.calls.splitlines():
        name, path = line.split(" ", 1)
        if name == "write":
            assert not renamed, f"{renamed} may be forgotten, and {path} is written"
            waiting.add(path)
        elif name == "fsync":
            waiting.discard(path)
            renamed.discard(path)
        elif name in ("rename", "renameat2", "unlink"):
            assert not waiting, f"{waiting} is not on the disk before {line}"
            renamed |= {str(Path(path).parent)} if name != "unlink" else set()
    assert not waiting | renamed
    assert ended.calls.count("fsync") >= 3


# -- the shim sees every call ----------------------------------------------------------------------

CHANGING = (
    "write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate,fsync,fdatasync,rename,"
    "renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod,"
    "fchmod,fchmodat,copy_file_range,sendfile,mknod,mknodat"
)


def family(name: str) -> str:
    return re.sub(r"(64|2|at2?)$", "", name)


@pytest.mark.parametrize("arguments", [FIT, RUN], ids=["fit", "experiment"])
def test_the_kernel_sees_no_call_that_the_shim_does_not(run, fresh, tmp_path, arguments):
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-o", "/dev/null", "true"]).returncode:
        pytest.skip("the calls that the kernel sees are listed by strace, which does not run here")
    folder, trace = fresh(), tmp_path / "trace"
    command = [sys.executable, "-c", "from elfair.cli import main; main()", *arguments]
    watched = [strace, "-f", "-qq", "-y", "-e", f"trace={CHANGING}", "-o", str(trace)]
    subprocess.run([*watched, *command], cwd=folder, check=True, capture_output=True)
    ended = run(fresh(), *arguments)  # in the same folder, made anew
    assert ended.status == 0, ended.said
    by_shim = sorted(family(line.split()[0]) for line in ended.calls.splitlines())
    by_kernel = sorted(
        family(re.split(r"\s+", line)[1].split("(")[0])
        for line in trace.read_text().splitlines()
        if str(folder) in line or re.search(r'\("[^/]', line)
    )
    opened = [each for each in by_shim if each != "open"]
    assert opened == by_kernel
