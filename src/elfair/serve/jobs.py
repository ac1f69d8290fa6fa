"""Commands that run beside the server, each in a process of its own, with their state on disk.

A job is a folder ``.elfair/jobs/NAME`` in the served folder: what was asked for (``job.json``),
what the command printed (``out``, ``err``), and how it ended (``code``). While it runs, its
processes hold a lock (``alive``), which ends with them however they end. So a server that was
killed and started again knows every job, and never takes one for running that is not.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from elfair.errors import InputError
from elfair.records.files import locked, write_whole
from elfair.records.json import to_json
from elfair.records.progress import Moment

State = Literal["running", "done", "cancelled", "lost"]
#: The folder of the workbench, inside the served one.
STATE = ".elfair"
#: So many commands may run at once: each may need a processor, and much memory.
MOST_RUNNING = 3
#: How long a cancelled command may clear up before it is killed, in seconds.
PATIENCE = 8.0
#: How much of what a command printed is read: a page shows the end of it.
MOST_SHOWN = 200_000
#: How a line begins by which a command with ``--json`` says how far it is.
_TOLD = '{"progress":'
_NAME = re.compile(r"[a-z0-9]{8,40}")


@dataclass(frozen=True)
class Job:
    """A command that was started.

    Parameters
    ----------
    folder : Path
        Its folder, whose name is the name of the job.
    arguments : tuple of str
        What follows ``elfair`` on the command line.
    about : str
        The file that it is about, for pages that list jobs.
    started : str
        When, in UTC.
    """

    folder: Path
    arguments: tuple[str, ...]
    about: str
    started: str

    @property
    def name(self) -> str:
        """What addresses call it."""
        return self.folder.name

    @property
    def command(self) -> str:
        """The first word: check, plan, fit."""
        return self.arguments[0]

    @property
    def line(self) -> str:
        """The command as people would type it in the served folder."""
        return command_line(self.arguments)

    @property
    def state(self) -> State:
        """Whether it runs, and how it ended; "lost" if nobody wrote that down."""
        # In this order: a job that ends meanwhile has written its code before the lock is free.
        alive, ended = _is_held(self.folder / "alive"), (self.folder / "code").exists()
        if alive and not ended:
            return "running"
        if (self.folder / "cancel").exists():
            return "cancelled"
        return "done" if ended else "lost"

    @property
    def code(self) -> int | None:
        """The exit code; None before the end, and if it is lost."""
        try:
            return int((self.folder / "code").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    @property
    def seconds(self) -> float:
        """For how long it has run, or ran."""
        begin = datetime.fromisoformat(self.started).timestamp()
        ends = [self.folder / name for name in ("code", "cancel", "err")]
        if self.state != "running":
            last = next((path.stat().st_mtime for path in ends if path.exists()), begin)
            return max(0.0, last - begin)
        return max(0.0, time.time() - begin)

    def printed(self, stream: Literal["out", "err"]) -> str:
        """The end of what the command printed."""
        try:
            with (self.folder / stream).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_SHOWN))
                return file.read(MOST_SHOWN).decode("utf-8", "replace")
        except OSError:
            return ""

    @property
    def said(self) -> str:
        """What the command said on the side, less how far it was."""
        lines = self.printed("err").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(_TOLD))

    @property
    def progress(self) -> Moment | None:
        """How far the command was when it last said so."""
        told = (line for line in reversed(self.printed("err").splitlines()))
        try:
            return Moment(**json.loads(next(x for x in told if x.startswith(_TOLD)))["progress"])
        except (StopIteration, ValueError, KeyError, TypeError):
            return None

    def facts(self) -> dict[str, Any] | None:
        """What a command with ``--json`` found; None if it printed something else."""
        try:
            text = (self.folder / "out").read_text(encoding="utf-8")
            found = json.loads(text[text.index("{") :])
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def cancel(self) -> None:
        """Interrupt the command, as Ctrl-C does; kill it if it has not ended in time."""
        if self.state != "running":
            return
        (self.folder / "cancel").touch()
        self._signal(signal.SIGINT)
        threading.Thread(target=self._kill_later, daemon=True).start()

    def _kill_later(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            time.sleep(0.1)
            if self.state != "running":
                return
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        """To all processes of the job. The lock shows that they are there, and that the number
        of their group is not somebody else's by now.
        """
        try:
            group = int((self.folder / "pid").read_text(encoding="utf-8"))
            if self.state == "running":
                os.killpg(group, number)
        except (OSError, ValueError):
            return


def _is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file. Asking does not keep others from asking."""
    import fcntl

    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def command_line(arguments: Sequence[str]) -> str:
    """A command as people would type it.

    Examples
    --------
    >>> command_line(["check", "my study.toml"])
    "elfair check 'my study.toml'"
    """
    return shlex.join(["elfair", *arguments])


class Jobs:
    """The jobs of a folder.

    Parameters
    ----------
    folder : Path
        The served folder, in which commands run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / STATE / "jobs"

    def all(self) -> list[Job]:
        """Every job, the latest first."""
        if not self.folder.is_dir():
            return []
        found = filter(None, (self.get(path.name) for path in self.folder.iterdir()))
        return sorted(found, key=lambda job: job.started, reverse=True)

    def get(self, name: str) -> Job | None:
        """The job of a name, if there is one.

        Parameters
        ----------
        name : str
            Letters and numbers: a name from an address leads nowhere else.
        """
        if _NAME.fullmatch(name) is None:
            return None
        folder = self.folder / name
        try:
            asked = json.loads((folder / "job.json").read_text(encoding="utf-8"))
            return Job(folder, tuple(asked["arguments"]), asked["about"], asked["started"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def latest(self, command: str, about: str) -> Job | None:
        """The last job of a command about a file."""
        found = (job for job in self.all() if (job.command, job.about) == (command, about))
        return next(found, None)

    def running(self) -> list[Job]:
        """The jobs that have not ended."""
        return [job for job in self.all() if job.state == "running"]

    def start(self, arguments: Sequence[str], *, about: str, name: str) -> Job:
        """Run a command; once, however often it is asked for.

        Parameters
        ----------
        arguments : sequence of str
            What follows ``elfair``.
        about : str
            The file that it is about.
        name : str
            A name that the page made up when it was shown: the same page sent twice is the same
            job. The same command, while it runs, is the same job as well.
        """
        if _NAME.fullmatch(name) is None:
            raise InputError("a job has a name of letters and numbers.", hint="reload the page.")
        self.folder.mkdir(parents=True, exist_ok=True)
        ignored = self.folder.parent / ".gitignore"
        if not ignored.exists():
            write_whole(ignored, "*\n")
        with locked(self.folder / "starting"):
            if (known := self.get(name)) is not None:
                return known
            running = self.running()
            for job in running:
                if job.arguments == tuple(arguments):
                    return job
            if len(running) >= MOST_RUNNING:
                raise InputError(
                    f"{len(running)} commands are running already.",
                    hint="wait until one has ended, or cancel one.",
                )
            return self._started(self.folder / name, arguments, about)

    def _started(self, folder: Path, arguments: Sequence[str], about: str) -> Job:
        folder.mkdir()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        asked = {"arguments": list(arguments), "about": about, "started": now}
        with locked(folder / "alive") as alive:
            assert alive is not None
            lock = alive.fileno()
            write_whole(folder / "job.json", to_json(asked))
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "elfair.serve.child", str(folder), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock],  # the lock is the child's as well, and outlives this process
                start_new_session=True,
            )
            write_whole(folder / "pid", str(process.pid))
        threading.Thread(target=process.wait, daemon=True).start()  # or it stays as a zombie
        return Job(folder, tuple(arguments), about, now)
