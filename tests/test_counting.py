"""The counting itself: rates at their limit pass, and rates at twice their limit are noticed."""

from __future__ import annotations

import numpy as np
import pytest

import counting

pytestmark = pytest.mark.skipif(counting.FULL, reason="the full lane draws a fixed number of times")


def noticed(rate, allowed, times, repeats=400):
    """How often a true rate is found to be too large, and the average number of draws."""
    failures, draws = 0, []
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        seen = []

        def trial(seed, rng=rng, seen=seen):
            seen.append(bool(rng.random() < rate))
            return seen[-1]

        try:
            counting.check_rare(trial, allowed=allowed, full=0, times=times)
        except AssertionError:
            failures += 1
        draws.append(len(seen))
    return failures / repeats, np.mean(draws)


@pytest.mark.parametrize(("allowed", "times"), [(0.1, 2.0), (0.1, 1.5), (0.2, 2.0)])
def test_a_rate_at_its_limit_passes_and_a_larger_one_is_noticed(allowed, times):
    assert noticed(allowed, allowed, times)[0] <= 0.01
    assert noticed(times * allowed, allowed, times)[0] >= 0.93
    share, draws = noticed(allowed / 5, allowed, times)
    assert share == 0
    assert draws < 80


def test_it_draws_as_often_as_asked_in_the_order_of_seeds():
    every = counting.check_rare(
        lambda seed: seed, allowed=0.1, full=0, bad=lambda seed: False, at_least=70
    )
    assert every == list(range(70))
    assert counting.drawn(pow, 4, 2) == [1, 2, 4, 8]
