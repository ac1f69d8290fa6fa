"""What is promised about fits on the foster-care-like population, counted against its truth.

The trials are those of `elfair experiment`. ELFAIR_GUARANTEES=full runs 200 seeds a cell and takes
the thresholds as they are; the reduced size leaves room for 3 standard errors.
"""

from __future__ import annotations

import json
from math import hypot, sqrt

import numpy as np
import pytest

from counting import FULL, check_rare, drawn, limit
from elfair.experiments.trial import Batch, perform

DELTA = 0.1
ACCURACY_FLOOR = 0.75


def trial(method, alpha, n, seed):
    (record,) = perform(
        Batch("foster-care", (json.dumps({"alpha": alpha}),), method, n, seed, DELTA)
    )
    assert record.outcome != "failed", record.error
    return record


def trials(method, alpha, n, seeds):
    return drawn(trial, seeds, method, alpha, n)


def solution_rate(records):
    """With its standard error."""
    rate = np.mean([record.outcome == "returned" for record in records])
    return rate, sqrt(rate * (1 - rate) / len(records))


def mean_accuracy(records):
    """Of the models returned, with its standard error."""
    found = [record.accuracy for record in records if record.outcome == "returned"]
    return np.mean(found), np.std(found) / sqrt(len(found))


def room(error):
    return 0.0 if FULL else 3 * error


def room_of_rate(rate, seeds):
    return room(sqrt(rate * (1 - rate) / seeds))


def check_violations(records):
    """Each constraint: both groups, and the accuracy."""
    returned = [record for record in records if record.outcome == "returned"]
    counts = {
        group: sum(record.violations[group] > 1e-9 for record in returned) for group in ("0", "1")
    }
    counts["accuracy"] = sum(record.accuracy < ACCURACY_FLOOR for record in returned)
    assert max(counts.values()) / len(records) <= limit(DELTA, len(records)), counts


def returned_and_wrong(record):
    """Worse for some group, or less accurate than was asked for."""
    return record.outcome == "returned" and (
        max(record.violations.values()) > 1e-9 or record.accuracy < ACCURACY_FLOOR
    )


@pytest.mark.parametrize(
    ("n", "returned", "accuracy"),
    [(500, 0.90, 0.84), (1_000, 0.93, 0.855), (4_096, 0.95, 0.875)],
)
def test_default_mode(n, returned, accuracy):
    """What is returned, how often, and the joint promise: the ladder ends in the least cautious
    models.
    """
    records = check_rare(
        trial, "elfair", 0.9, n, allowed=DELTA, full=1_000, bad=returned_and_wrong, at_least=45
    )
    assert solution_rate(records)[0] >= returned - room_of_rate(returned, len(records))
    mean, error = mean_accuracy(records)
    assert mean >= accuracy - room(error)


@pytest.mark.parametrize(("alpha", "n"), [(0.5, 1_000), (0.2, 4_096)])
def test_default_mode_fails_no_group_too_often(alpha, n):
    check_rare(trial, "elfair", alpha, n, allowed=DELTA, full=1_000, bad=returned_and_wrong)


@pytest.mark.parametrize(
    ("alpha", "n", "times"),
    [(0.9, 4_096, 3), (0.5, 4_096, 6), *([(0.2, 32_768, 4)] if FULL else [])],
)
def test_default_mode_needs_fewer_rows_than_the_papers(alpha, n, times):
    """With n / times rows it returns as often, and models as accurate, as the paper's with n.

    docs/results.md has the ratios themselves, with intervals.
    """
    paper = trials("elf-paper", alpha, n, 200 if FULL else 8)
    ours = trials("elfair", alpha, n // times, 200 if FULL else 24)
    for measured in (solution_rate, mean_accuracy):
        (wanted, error), (reached, own_error) = measured(paper), measured(ours)
        assert reached >= wanted - room(hypot(error, own_error)), measured.__name__


@pytest.mark.parametrize(
    ("alpha", "n", "limit"),
    [
        (0.9, 500, 0.859),
        *([(0.9, 1_000, 0.870)] if FULL else []),
        (0.5, 1_000, 0.829),
        (0.2, 8_192, 0.785),
    ],
)
def test_cross_fitting_needs_few_rows(alpha, n, limit):
    """At least the accuracy that a search which knows the population was said to reach, in a test
    on n / 2 rows, at a pass rate of .95 (the true limit is higher still: benchmarks/oracle.py).
    """
    seeds = 200 if FULL else 12
    records = trials("elfair-crossfit", alpha, n, seeds)
    assert solution_rate(records)[0] >= 0.95 - room_of_rate(0.95, seeds)
    mean, error = mean_accuracy(records)
    assert mean >= limit - room(error)
    check_violations(records)


@pytest.mark.parametrize(
    ("n", "low", "high", "accuracy"),
    [(1_000, 0.6, 0.8, (0.79, 0.85)), (4_096, 0.74, 0.92, (0.86, 1.0))],
)
def test_paper_mode(n, low, high, accuracy):
    seeds = 200 if FULL else 12
    records = trials("elf-paper", 0.9, n, seeds)
    rate = solution_rate(records)[0]
    assert low - room_of_rate(low, seeds) <= rate <= high + room_of_rate(high, seeds)
    found = mean_accuracy(records)[0]
    # The violations of the paper's tau carry no promise: docs/results.md reports them.
    assert accuracy[0] - (0 if FULL else 0.02) <= found <= accuracy[1] + (0 if FULL else 0.02)


@pytest.mark.parametrize("alpha", [0.9, 0.5])
def test_the_solution_rate_tends_to_one(alpha):
    """The paper's theorem 3: no plateau below 1, as there is with lambda = 2 and xi = 0."""
    seeds = 200 if FULL else 16
    records = trials("elfair", alpha, 65_536 if FULL else 32_768, seeds)
    assert solution_rate(records)[0] >= (0.99 if FULL else 1 - 2 / seeds)
    check_violations(records)
