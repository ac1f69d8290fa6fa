"""The process beside a command: it waits for its end, and writes down how it ended.

It is a process of its own, so a job goes on and is known again if the server is killed. The lock
that says the job is alive is inherited from the server: there is no moment without it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from elfair.records.files import write_whole


def main(folder: Path, lock: int) -> None:
    """Run the command of a job.

    Parameters
    ----------
    folder : Path
        The job, see `elfair.serve.jobs`.
    lock : int
        The descriptor of the file that is locked while the job is alive.
    """
    asked = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    # Cancelling interrupts all processes of the job; this one outlives the command to say so. (To
    # ignore the signal would be inherited by the command.)
    signal.signal(signal.SIGINT, _outlive)
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        done = subprocess.run(
            # -P: the folder that is served holds no code of this program, whatever lies there.
            [sys.executable, "-P", "-u", "-m", "elfair.cli", *asked["arguments"]],
            cwd=folder.parents[2],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=[lock],
            check=False,
        )
    write_whole(folder / "code", str(done.returncode))


def _outlive(*_: Any) -> None:
    """What this process does when all others of the job are stopped."""


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
