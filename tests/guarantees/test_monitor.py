"""A monitor gives a false alarm at most as often as it says, however often one looks, and finds a
fall nearly as soon as a test that looks once.
"""

from __future__ import annotations

import numpy as np
import pytest

import monitoring
from counting import FULL
from elfair import load

DEPLOYMENTS = 1000 if FULL else 150
ALPHA = 0.1


def allowed(draws: int) -> float:
    """What is seen of a rate of ALPHA with probability .999."""
    return ALPHA + 3.1 * np.sqrt(ALPHA * (1 - ALPHA) / draws)


@pytest.mark.parametrize("kind", monitoring.KINDS)
def test_false_alarms_at_any_time_are_rare_at_the_edge(kind):
    n = 1000 if FULL else 300
    found = monitoring.alarms(kind, ALPHA, DEPLOYMENTS, fall=0.0, n=n, seed=3, size=20)
    assert monitoring.share_of(found) <= allowed(DEPLOYMENTS)


@pytest.mark.parametrize("kind", ["uniform", "normal, range 8 sd", "normal, no range"])
def test_a_fall_by_half_a_standard_deviation_is_found_soon(kind):
    found = monitoring.alarms(kind, ALPHA, DEPLOYMENTS, fall=0.5, n=250, seed=4)
    assert np.median(found) <= 1.5 * monitoring.fixed_size(0.5, ALPHA)


def test_a_fall_that_comes_late_is_found_long_before_the_average_shows_it():
    found = monitoring.alarms(
        "uniform", ALPHA, 40, fall=0.5, n=2200, seed=5, size=20, good=1000, gain=0.5
    )
    assert np.median(found) - 1000 < 500  # the average is at the edge 1,000 rows after the fall


def test_whole_deployments_at_the_edge_give_false_alarms_rarely(tmp_path):
    """Impacts come late, bad news early, and a fifth never; a look follows every batch."""
    model = load(monitoring.released(tmp_path))
    n = 1000 if FULL else 8
    said = np.array([monitoring.deployment(model, seed, "at random") for seed in range(n)])
    assert (said.mean(axis=0) <= allowed(n)).all()
