"""Progress: the time left, told from measured seconds rather than from a count, and the status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elfair.experiments import progress as progress_module
from elfair.experiments.experiment import Experiment
from elfair.experiments.progress import (
    MOST_ERRORS,
    Progress,
    Timing,
    by_method,
    described,
    status,
)
from elfair.experiments.trial import TrialRecord
from elfair.records.progress import Nobody
from elfair.records.text import spoken


def trial(method="slow", n=100, seconds=1.0, outcome="returned"):
    return TrialRecord(method, "{}", n, 0, outcome, None, {}, seconds, None)


def test_cells_that_were_measured_count_with_their_mean():
    timing = Timing([trial(seconds=1.0), trial(seconds=3.0), trial("fast", 100, 0.001)])
    assert timing.of_trial("slow", 100) == 2.0
    assert timing.left({("slow", 100): 10, ("fast", 100): 1000}) == pytest.approx(21.0)
    assert timing.spent("slow", 100) == 4.0


def test_a_cell_that_was_not_is_extrapolated_from_the_nearest_size():
    timing = Timing([trial(n=100, seconds=1.0), trial(n=1000, seconds=5.0)])
    assert timing.of_trial("slow", 2000) == 10.0
    assert timing.of_trial("slow", 400) == 2.0  # 1,000 is nearer than 100, by ratio
    assert timing.of_trial("slow", 200) == 2.0
    assert timing.of_trial("slow", 50) == 0.5


def test_a_method_that_was_not_is_taken_for_an_average_one():
    timing = Timing([trial(n=100, seconds=1.0), trial("fast", 100, 0.5)])
    assert timing.of_trial("new", 200) == 1.5


def test_nothing_known_is_said_as_such():
    assert Timing().left({("slow", 100): 1}) is None
    assert Timing().left({("slow", 100): 0}) == 0.0
    assert Timing().left({}) == 0.0


def test_the_estimate_beats_a_count_on_a_experiment_of_unequal_cells():
    """The methods and sizes of a real experiment: a thousandfold range of times, known exactly."""
    true = {(m, n): c * n for m, c in (("a", 1e-6), ("b", 1e-3)) for n in (256, 1024, 32768)}
    seeds = {256: 50, 1024: 50, 32768: 10}
    trials = [
        trial(method, n, true[method, n])
        for seed in range(50)
        for n in seeds
        if seed < seeds[n]
        for method in ("a", "b")
    ]
    total = sum(each.seconds for each in trials)
    done = trials[: len(trials) // 2]
    pending = {cell: 0 for cell in true}
    for each in trials[len(done) :]:
        pending[each.method, each.n] += 1
    left = total - sum(each.seconds for each in done)
    assert Timing(done).left(pending) == pytest.approx(left)
    by_count = sum(each.seconds for each in done) * (len(trials) - len(done)) / len(done)
    assert abs(by_count - left) > 5 * left


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress_module, "monotonic", clock)
    return clock


class Kept:
    """Keeps what it is told."""

    def __init__(self):
        self.moments = []

    def __call__(self, moment):
        self.moments.append(moment)

    def close(self):
        self.moments.append(None)


def test_processor_time_becomes_time_on_the_clock(clock):
    timing = Timing([trial(seconds=1.0)])
    progress = Progress({("slow", 100): 20}, timing, total=30, jobs=2, listener=Nobody())
    assert progress.left() == 10.0  # 20 seconds of work for two
    clock.now += 1000  # workers start
    progress([trial(seconds=1.0)])
    assert progress.left() == 9.5
    clock.now += 8
    progress([trial(seconds=1.0)] * 4)
    assert progress.left() == 30.0  # but it really takes 2 seconds each: 15 remain
    assert progress.finished == 5


def test_whoever_listens_hears_of_trials_crashes_and_time(clock):
    kept = Kept()
    with Progress({("slow", 100): 20}, Timing(), total=30, jobs=1, listener=kept) as progress:
        progress([trial()])
        clock.now += 10
        progress([trial(outcome="failed")])
    *_, last, closed = kept.moments
    assert str(last).endswith("40 %, 12 of 30 trials, 1 crashed, 10 s; about 3.0 min left")
    assert closed is None


def test_times_are_said_without_powers_of_ten():
    times = [spoken(seconds) for seconds in (0.0, 7.4e-6, 0.0099, 0.01, 0.99999, 9.999, 10.0)]
    assert times == ["0 s", "under 0.01 s", "under 0.01 s", "0.01 s", "1 s", "10 s", "10 s"]


# -- the status ------------------------------------------------------------------------------------

EXPERIMENT = Experiment.parse("""
title = "An experiment"
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
    cells = status(EXPERIMENT, TRIALS)
    assert len(cells) == 6
    first = cells["elfair", 256]
    assert (first.total, first.done, first.crashed, first.pending) == (6, 2, 1, 3)
    assert (first.spent, first.left) == (6.0, 6.0)
    last = cells["elfair", 4096]
    assert (last.total, last.done, last.pending, last.spent, last.left) == (2, 0, 2, 0.0, 64.0)
    assert sum(cell.total for cell in cells.values()) == EXPERIMENT.trials


def test_methods():
    methods = by_method(status(EXPERIMENT, TRIALS))
    elfair = methods["elfair"]
    assert (elfair.total, elfair.done, elfair.crashed, elfair.pending) == (14, 2, 1, 11)
    assert (elfair.spent, elfair.left) == (6.0, 6.0 + 6 * 8.0 + 2 * 32.0)
    assert by_method(status(EXPERIMENT, []))["elfair"].left is None


def test_the_text_says_where_the_time_goes_and_what_crashed():
    lines = described(EXPERIMENT, TRIALS).split("\n")
    assert lines[0] == "An experiment"
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
    assert "unknown" in described(EXPERIMENT, [])


def test_many_different_errors_are_cut_short():
    failed = [replace(TRIALS[2], error=f"ValueError: {k}") for k in range(MOST_ERRORS + 3)]
    assert described(EXPERIMENT, failed).endswith("\n  and 3 other errors")
