"""What is promised about fits on the foster-care-like population, counted against its truth.

The trials are those of benchmarks/foster_care.py. ELFAIR_GUARANTEES=full runs 200 seeds a cell and
takes the thresholds as they are; the reduced size leaves room for 3 standard errors.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from math import sqrt

import numpy as np
import pytest

import foster_care  # the script in benchmarks/; see conftest.py

FULL = os.environ.get("ELFAIR_GUARANTEES") == "full"
DELTA = 0.1


def trials(cell, seeds):
    if not FULL:
        return [foster_care.trial(cell, seed) for seed in range(seeds)]
    with ProcessPoolExecutor() as pool:
        return list(pool.map(foster_care.trial, [cell] * seeds, range(seeds)))


def room(rate, seeds):
    return 0.0 if FULL else 3 * sqrt(rate * (1 - rate) / seeds)


def check_violations(results):
    for j in range(3):
        share = np.mean([r["returned"] and r["violated"][j] for r in results])
        assert share <= DELTA + 4 * sqrt(DELTA * (1 - DELTA) / len(results)), j


@pytest.mark.parametrize(
    ("n", "returned", "accuracy"),
    [(500, 0.90, 0.84), (1_000, 0.93, 0.855), (4_096, 0.95, 0.875)],
)
def test_default_mode(n, returned, accuracy):
    seeds = 200 if FULL else 80
    results = trials(("default", 0.9, n), seeds)
    rate = np.mean([r["returned"] for r in results])
    assert rate >= returned - room(returned, seeds)
    found = [r["accuracy"] for r in results if r["returned"]]
    assert np.mean(found) >= accuracy - (0.0 if FULL else 3 * np.std(found) / sqrt(len(found)))
    check_violations(results)


@pytest.mark.parametrize(
    ("alpha", "n", "limit"),
    [(0.9, 500, 0.859), (0.9, 1_000, 0.870), (0.5, 1_000, 0.829), (0.2, 8_192, 0.785)],
)
def test_cross_fitting_needs_few_rows(alpha, n, limit):
    """At least the accuracy that a search which knows the population was said to reach, in a test
    on n / 2 rows, at a pass rate of .95 (the true limit is higher still: benchmarks/oracle.py).
    """
    seeds = 200 if FULL else 20
    results = trials(("crossfit", alpha, n), seeds)
    assert np.mean([r["returned"] for r in results]) >= 0.95 - room(0.95, seeds)
    found = [r["accuracy"] for r in results if r["returned"]]
    assert np.mean(found) >= limit - (0.0 if FULL else 3 * np.std(found) / sqrt(len(found)))
    check_violations(results)


@pytest.mark.parametrize(
    ("n", "low", "high", "accuracy"),
    [(1_000, 0.0, 1.0, (0.79, 0.85)), (4_096, 0.74, 0.92, (0.86, 1.0))],
)
def test_paper_mode(n, low, high, accuracy):
    seeds = 200 if FULL else 12
    results = trials(("paper", 0.9, n), seeds)
    rate = np.mean([r["returned"] for r in results])
    assert low - room(low, seeds) <= rate <= high + room(high, seeds)
    found = np.mean([r["accuracy"] for r in results if r["returned"]])
    # The violations of the paper's tau carry no promise: docs/results.md reports them.
    assert accuracy[0] - (0 if FULL else 0.02) <= found <= accuracy[1] + (0 if FULL else 0.02)


@pytest.mark.parametrize("alpha", [0.9, 0.5])
def test_the_solution_rate_tends_to_one(alpha):
    """The paper's theorem 3: no plateau below 1, as there is with lambda = 2 and xi = 0."""
    seeds = 200 if FULL else 16
    results = trials(("default", alpha, 65_536), seeds)
    assert np.mean([r["returned"] for r in results]) >= (0.99 if FULL else 1 - 2 / seeds)
    check_violations(results)
