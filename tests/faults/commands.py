"""Run commands of elfair, each in a fork of this process, and let something go wrong in them.

Started by harness.py with faults.c preloaded. Reads a JSON object from each line of its input,
and answers with one. A fork saves the second that importing takes.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import elfair.certificate.envelope
import elfair.cli
import elfair.estimators
import elfair.experiments.figures
import elfair.experiments.runner
import elfair.experiments.summary
import elfair.monitoring.page
import elfair.report
import elfair.study.outcome
import elfair.study.writing
from elfair.errors import ElfairError
from elfair.serve.workspace import Workspace


def run(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Run commands at the same time, each in a fork, and tell how they ended."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / str(each) for each, _ in enumerate(asked["commands"])]
        started = []
        for arguments, place in zip(asked["commands"], places, strict=True):
            started.append(child := os.fork())
            if not child:
                _command(asked, arguments, place)
        if asked["kill_after"] is not None:
            time.sleep(asked["kill_after"])
            for child in started:
                os.kill(child, signal.SIGKILL)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in started]
        return [
            {"status": status, "said": _read(place, ".said"), "calls": _read(place, ".calls")}
            for status, place in zip(statuses, places, strict=True)
        ]


def _read(place: Path, suffix: str) -> str:
    path = place.with_suffix(suffix)
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _command(asked: dict[str, Any], arguments: list[str], place: Path) -> None:
    """Be the process of a command; this does not return."""
    status = 70
    try:
        output, listed = (
            os.open(place.with_suffix(suffix), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            for suffix in (".said", ".calls")
        )
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(asked["environment"])
        os.chdir(asked["folder"])
        ctypes.CDLL(None).faults_arm(
            os.fsencode(asked["folder"]),
            ctypes.c_long(asked["at"]),
            *(ctypes.c_int(each) for each in (asked["fault"], asked["code"], listed)),
        )
        _work(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _work(arguments: list[str]) -> None:
    """A command of the terminal, or what the workbench does when a page asks for it."""
    if arguments[0] != "workbench":
        elfair.cli.main(arguments)
        return
    space, (action, name, text) = Workspace(Path()), arguments[1:]
    try:
        if action == "save":
            space.write_text(name, text)
        else:
            asyncio.run(space.receive(name, _in_pieces(text.encode())))
    except (ElfairError, OSError) as error:  # which the page shows
        print(f"Error: {error}" if isinstance(error, ElfairError) else f"Error: {error}\nHint: -")
        raise SystemExit(2) from None


async def _in_pieces(content: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(content), 1 << 14):
        yield content[at : at + (1 << 14)]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
