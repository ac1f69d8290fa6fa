"""Where what is printed cannot go, nothing but that is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import elfair

# From wherever it is run, the elfair that is tested.
HERE = {**os.environ, "PYTHONPATH": str(Path(elfair.__file__).parents[1])}
ELFAIR = [sys.executable, "-c", "from elfair.cli import main; main()"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["init", "t.csv"], ["--version"]])
def test_a_full_disk_is_one_message(arguments, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,3\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*ELFAIR, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=HERE,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Error: what the command says could not be printed: No space left on device.",
        "Hint: files that it wrote are whole; print to a place with room.",
    ]


def test_a_pipe_that_closes_ends_it_without_a_word():
    with subprocess.Popen(
        [*ELFAIR, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=HERE
    ) as running:
        running.stdout.close()
        said = running.stderr.read()
    assert said == ""
    assert running.returncode == 1


def test_no_stdout_at_all_is_no_mistake(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,3\n")
    # The file descriptor is closed before Python looks at it, as >&- does.
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *ELFAIR, "init", "t.csv"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=HERE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "study.toml").exists()
