"""Status: counts by cell, and where the time goes."""

from __future__ import annotations

from dataclasses import replace

from elfair.experiments.status import MOST_ERRORS, by_method, described, status
from elfair.experiments.study import Study
from elfair.experiments.trial import TrialRecord

STUDY = Study.parse("""
title = "A study"
population = "foster-care"
methods = ["elfair", "logistic-regression"]
settings = { alpha = [0.5, 0.9] }
sizes = [{ n = [256, 1024], seeds = 3 }, { n = [4096], seeds = 1 }]
""")
ONE = TrialRecord("elfair", '{"alpha": 0.9}', 256, 0, "returned", 0.8, {"0": 0.1}, 3.0, None)
TRIALS = [
    ONE,
    replace(ONE, seed=1, outcome="no solution", seconds=1.0),
    replace(ONE, seed=2, outcome="failed", error="ValueError: no\n  File x", seconds=2.0),
    replace(ONE, method="logistic-regression", n=4096, seconds=4.0),
]


def test_cells():
    cells = status(STUDY, TRIALS)
    assert len(cells) == 6
    first = cells["elfair", 256]
    assert (first.total, first.done, first.crashed, first.pending) == (6, 2, 1, 3)
    assert (first.spent, first.left) == (6.0, 6.0)
    last = cells["elfair", 4096]
    assert (last.total, last.done, last.pending, last.spent, last.left) == (2, 0, 2, 0.0, 64.0)
    assert sum(cell.total for cell in cells.values()) == STUDY.trials


def test_methods():
    methods = by_method(status(STUDY, TRIALS))
    elfair = methods["elfair"]
    assert (elfair.total, elfair.done, elfair.crashed, elfair.pending) == (14, 2, 1, 11)
    assert (elfair.spent, elfair.left) == (6.0, 6.0 + 6 * 8.0 + 2 * 32.0)
    assert by_method(status(STUDY, []))["elfair"].left is None


def test_the_text_says_where_the_time_goes_and_what_crashed():
    lines = described(STUDY, TRIALS).split("\n")
    assert lines[0] == "A study"
    assert "4 of 28 trials" in lines[1]
    rows = [line.split() for line in lines[3:]]
    assert rows == [
        ["method", "done", "crashed", "pending", "spent", "share", "about", "left"],
        ["elfair", "2", "1", "11", "6", "s", "60.0%", "118", "s"],
        ["logistic-regression", "1", "0", "13", "4", "s", "40.0%", "12", "s"],
        ["all", "3", "1", "24", "10", "s", "100.0%", "2.2", "min"],
        [],
        ["crashed:"],
        ["1", "x", "elfair:", "ValueError:", "no"],
    ]
    assert "unknown" in described(STUDY, [])


def test_many_different_errors_are_cut_short():
    failed = [replace(TRIALS[2], error=f"ValueError: {k}") for k in range(MOST_ERRORS + 3)]
    assert described(STUDY, failed).endswith("\n  and 3 other errors")
