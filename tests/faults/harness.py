"""Commands of elfair in which a call that changes files goes wrong.

faults.c sees each call of the C library that changes files below a folder. So the calls of a
command are counted, not listed by hand, and each of them can go wrong in each way.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from counting import FULL

HERE = Path(__file__).parent
#: What may happen at a call, with its number in faults.c and the error.
FAULTS = {
    "killed before": (1, 0),
    "killed amid": (2, 0),
    "fails once": (3, errno.EIO),
    "is refused": (3, errno.EACCES),
    "fills the disk": (4, errno.ENOSPC),
    "ends the disk": (5, errno.EIO),
}
#: A look of the monitor.
LOOK = (
    *("monitor", "results/model.elfair", "measured.csv", "--delay", "0", "--state", "watch"),
    *("--now", "2030-01-01"),
)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (below 0 for a signal), its words, and its calls."""

    status: int
    said: str
    calls: str

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL

    @property
    def n_calls(self) -> int:
        return len(self.calls.splitlines())

    def require_clear(self) -> None:
        """Unless it was killed or went well, its words are one error of elfair, with one hint."""
        if self.killed or self.status == 0:
            return
        first = [line.split(":")[0] for line in self.said.splitlines()]
        assert self.status in (1, 2), self
        assert (first.count("Error"), first.count("Hint")) == (1, 1), self.said


class Commands:
    """Runs commands; see commands.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(
        self, folder: Path, *arguments: str, at: int = 0, fault: str | None = None, **how: Any
    ) -> Ended:
        """Run a command in a folder; at the call with this number the fault happens."""
        (ended,) = self.together(folder, [arguments], at=at, fault=fault, **how)
        return ended

    def together(
        self,
        folder: Path,
        commands: Sequence[Sequence[str]],
        *,
        at: int = 0,
        fault: str | None = None,
        kill_after: float | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Ended]:
        """Run commands at the same time."""
        number, code = (0, 0) if fault is None else FAULTS[fault]
        asked = {
            "folder": str(folder),
            "commands": commands,
            "at": at,
            "fault": number,
            "code": code,
            "kill_after": kill_after,
            "environment": dict(environment),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return [Ended(**each) for each in json.loads(self._process.stdout.readline())]


def shim(folder: Path) -> Path:
    """Compile faults.c."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are put into calls of the C library on Linux, by a C compiler (cc)")
    made = folder / "faults.so"
    source = str(HERE / "faults.c")
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(made), source, "-ldl"]
    subprocess.run([compiler, *options], check=True)
    return made


@contextmanager
def commands(shim: Path) -> Iterator[Commands]:
    """What runs commands."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "commands.py")],
        env={**os.environ, "LD_PRELOAD": str(shim), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Commands(process)
        assert process.stdin is not None
        process.stdin.close()


def write_people(path: Path, first: int, n: int = 20) -> list[str]:
    """Write a table of new people, counted from `first`; return their identifiers."""
    with (path.parent / "loans.csv").open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    ids = [f"P{first + i:06d}" for i in range(n)]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names[:8])
        table.writerows([each, *rows[i][1:8]] for i, each in enumerate(ids))
    return ids


def write_measured(log: Path, path: Path, n: int) -> None:
    """Write the first rows of a log, with what was measured of each."""
    with log.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*names, "found job?", "savings, 2 yrs on"])
        table.writerows([*row, ("no", "yes")[k % 2], f"{k}.5"] for k, row in enumerate(rows[:n]))


def faults(
    run: Commands,
    fresh: Callable[[], Path],
    *arguments: str,
    prepare: Callable[[Path], None] = lambda folder: None,
    every: int = 1,
    **environment: str,
) -> Iterator[tuple[Path, Ended]]:
    """Run a command once for each of its calls and faults, in a new folder; yield how it ended."""

    def once(**how):
        folder = fresh()
        prepare(folder)
        return folder, run(folder, *arguments, environment=environment, **how)

    _, well = once()
    assert well.status == 0, well.said
    assert well.n_calls > 3
    happened = 0
    for at, call in enumerate(well.calls.splitlines(), 1):
        for fault in FAULTS if FULL else _some(at, call, every):
            folder, ended = once(at=at, fault=fault)
            print(f"call {at} ({call}) {fault}: {ended.status}")
            happened += ended.killed or ended.status != 0
            ended.require_clear()
            yield folder, ended
    assert happened, "no fault had any consequence"
    print(f"{well.n_calls} calls")


def _some(at: int, call: str, every: int) -> list[str]:
    """The faults of a call in the reduced size; half a write is one of them."""
    names = list(FAULTS)
    chosen = {names[at % len(names)], *(["killed amid"] if call.startswith("write ") else [])}
    return sorted(chosen) if at % every == 0 else []


def remove(name: str) -> Callable[[Path], None]:
    def removing(folder: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return removing
