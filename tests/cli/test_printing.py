"""What commands print: the table of a verdict, and one message where nothing can be printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import elfair
from elfair import LoggedData, certify
from elfair.cli.results import verdict_table

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
        "Error: the output could not be printed: No space left on device.",
        "Hint: all files were written; print to a disk with free space.",
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


TEXTS = [
    "E[impact | T == 0] >= E_logged[impact | T == 0]",
    "abs(PR[T == 0] - PR[T == 1]) <= 0.5",
]


@pytest.fixture(scope="module")
def failed():
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 200)
    data = LoggedData(
        rng.normal(size=(200, 2)),
        rng.integers(0, 2, 200),
        sensitive_features={"T": [1] * 20 + [0] * 180},
        decision=decision,
        propensity=np.full(200, 0.5),
        impact=0.1 * decision + rng.normal(size=200),
    )
    p = np.random.default_rng(1).uniform(0.7, 0.95, 200)
    return certify(p, data, TEXTS, delta=[0.1, 0.05], estimator="is", accept_violated=["tau_known"])


def rendered(certificate, width=200):
    console = Console(file=StringIO(), width=width)
    console.print(verdict_table(certificate))
    return console.file.getvalue()


def test_the_table_shows_statements_as_they_are_written(failed):
    table = rendered(failed)
    # [impact | ...] would be swallowed as markup.
    for result in failed.constraints:
        assert result.statement in table
    lines = [line for line in table.splitlines() if "│" in line]
    assert [re.search(r"(pass|FAIL) │", line).group(1) for line in lines] == [
        "FAIL",
        "pass",
        "pass",
    ]
    assert TEXTS[0] in lines[0]
    assert " 0.1 " in lines[0]
    assert " 0.05 " in lines[1]
    assert f"{failed.constraints[0].upper:.4g}" in lines[0]
