"""Runs the tests of what must not break in full size, and prints the table of docs/verification.md.

    python benchmarks/lanes.py [LANE ...]     # hours; without names, all lanes

Each line is printed as soon as its lane has run. A lane that fails says so in the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
KILLS = "tests/faults/test_kills.py"
#: What each lane is, and its tests.
LANES = {
    "kills of decide": ("250 kills", f"{KILLS}::test_a_log_survives_kills"),
    "kills of fit": ("500 kills", f"{KILLS}::test_results_and_the_ledger_survive_kills"),
    "kills of experiment": ("250 kills", f"{KILLS}::test_trials_survive_kills"),
    "kills of the ledger": ("250 kills", f"{KILLS}::test_a_ledger_survives_kills"),
    "mutations": ("500 changes of data, model, certificate, report and split",
                  "tests/verification/test_attacks.py"),
    "honest": ("2,000 genuine certificates verify",
               "tests/verification/test_honest.py::test_whatever_was_made_honestly_verifies"),
    "memory": ("1,000 fits in one process, growth below 5 %", "tests/test_memory.py"),
    "looks": ("200 studies of 100 looks at people for whom decisions do nothing",
              "tests/guarantees/test_ledger.py::"
              "test_many_looks_err_together_at_most_delta_of_the_time"),
}  # fmt: skip


def main(names: list[str]) -> None:
    """Run lanes, one after the other."""
    environment = os.environ | {"ELFAIR_GUARANTEES": "full"}
    print("| lane | size | result | date | minutes |\n|---|---|---|---|---|", flush=True)
    for name in names or LANES:
        size, tests = LANES[name]
        begin = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        minutes, today = (time.monotonic() - begin) / 60, datetime.now(UTC).date()
        result = "passed" if done.returncode == 0 else "FAILED"
        print(f"| {name} | {size} | {result} | {today} | {minutes:.0f} |", flush=True)
        if done.returncode:
            print(done.stdout[-5000:], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
