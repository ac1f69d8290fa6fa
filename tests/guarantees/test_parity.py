"""abs(PR[T == 0] - PR[T == 1]) <= e: valid at the edge, and never behind interval splitting.

Populations and the rival live in benchmarks/parity.py.
"""

from __future__ import annotations

import os
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parity  # the script in benchmarks/; see conftest.py
from elfair import LoggedData, certify
from elfair.bounds import BOUNDS

DRAWS = 20_000 if os.environ.get("ELFAIR_GUARANTEES") == "full" else 1_000


@pytest.mark.parametrize("n", [500, 2_000])
@pytest.mark.parametrize("bound", parity.BOUNDS)
def test_at_the_edge_it_passes_at_most_delta_of_the_time(bound, n):
    rate = parity.pass_rates(bound, 0.1, n, DRAWS, edge=True, seed=1)["elfair"]
    assert rate <= 0.1 + 4 * sqrt(0.09 / DRAWS) + 0.01 * (bound == "ttest")


@pytest.mark.parametrize("n", [500, 1_000, 2_000])
@pytest.mark.parametrize("bound", parity.BOUNDS)
def test_it_passes_at_least_as_often_as_interval_splitting(bound, n):
    rates = parity.pass_rates(bound, 0.1, n, DRAWS, edge=False, seed=2)
    assert rates["elfair"] >= rates["delta/2"] >= rates["delta/4"]
    if n == 1_000:  # where it matters, by far
        assert rates["elfair"] >= rates["delta/4"] + 0.3


def table(zero, one):
    t = np.repeat([0, 1], [zero.size, one.size])
    data = LoggedData(np.zeros((t.size, 1)), sensitive_features={"T": t}, classes=[0, 1])
    return np.concatenate([zero, one]), data


@pytest.mark.parametrize("bound", ["ttest", "hoeffding"])
def test_the_script_says_what_certify_says(bound):
    # (The betting bound also depends on the order of rows, and certify shuffles them.)
    rng = np.random.default_rng(3)
    rows = parity.draw(1_000, 40, True, rng)
    said = parity.verdicts(bound, 0.3, rows)["elfair"]
    text = f"abs(PR[T == 0] - PR[T == 1]) <= {parity.E}"
    certified = [certify(*table(zero, one), text, delta=0.3, bound=bound).passed
                 for zero, one in zip(*rows, strict=True)]  # fmt: skip
    assert certified == said.tolist()
    assert 0 < sum(certified) < 40


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(list(BOUNDS)),
    st.floats(0.01, 0.6),
)
def test_the_larger_difference_and_the_absolute_one_are_the_same(seed, bound, tolerance):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(20, 200, size=2)
    model, data = table(*(rng.beta(0.5, 0.5, size) for size in sizes))
    a, b = "PR[T == 0]", "PR[T == 1]"
    texts = [
        f"abs({a} - {b}) <= {tolerance!r}",
        f"max({a} - {b}, {b} - {a}) <= {tolerance!r}",
        f"max({a}, {b}) - min({a}, {b}) <= {tolerance!r}",
    ]
    found = [certify(model, data, text, bound=bound).constraints for text in texts]
    first, *others = [
        sorted((r.statement, r.estimate, r.upper, r.passed) for r in each) for each in found
    ]
    assert all(other == first for other in others)
    assert len(first) == 2
