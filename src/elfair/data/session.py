"""Where Python counts looks if nobody names a ledger: in one that lasts as long as a session.

A session is a process and the workers that it started. A search over seeds with n_jobs=2 looks as
often at the same people as one with n_jobs=1, so workers count where their parent does: in a ledger
in the folder for temporary files. It is removed when the process ends, and whatever a killed
process left behind is removed by the next session.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from elfair.data.ledger import VARIABLE, Ledger
from elfair.data.looks import Look
from elfair.errors import InputError


class LooksOfSession:
    """The looks of a process and of its workers, or those of the ledger that a variable names."""

    def enter(self, made: Callable[[bytes], Look]) -> int:
        """See `Looks.enter`."""
        if named := os.environ.get(VARIABLE):
            return Ledger(named).enter(made)
        return Ledger(_folder(_session()) / "ledger.db", durable=False).enter(made)


def _session() -> int:
    """The process that this session is named after."""
    is_worker = multiprocessing.current_process().name != "MainProcess"
    return os.getppid() if is_worker else os.getpid()


@cache
def _folder(process: int) -> Path:
    """The folder of a session, which nobody else can read."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    base = Path(tempfile.gettempdir()) / f"elfair-{user}"
    with suppress(OSError):  # the ledger says what is wrong
        base.mkdir(mode=0o700, exist_ok=True)
        _check_own(base)
        _sweep(base)
    folder = base / f"{process}-{_started(process)}"
    if process == os.getpid():
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _check_own(base: Path) -> None:
    """Raise if another user made the folder: he could read the key, or change what was counted."""
    found = base.stat(follow_symlinks=False)
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise InputError(
            f"no test is made, since it was not counted: '{base}' belongs to somebody else, or "
            "others can write there.",
            hint=f"name a ledger: ledger=, or the variable {VARIABLE}.",
        )


def _sweep(base: Path) -> None:
    """Remove what sessions left that were killed."""
    for each in base.iterdir():
        process, _, started = each.name.partition("-")
        if process.isdigit() and started not in ("", _started(int(process))):
            shutil.rmtree(each, ignore_errors=True)


def _started(process: int) -> str:
    """When a process began, so that another one with its number is another session.

    Empty where the system has no /proc, and "ended" if there is no such process.
    """
    if not os.path.exists("/proc/self/stat"):
        return ""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "ended"
