"""A split by time: a model at the edge among the most recent rows passes at most delta of the time,
whatever was true before.

ELFAIR_GUARANTEES=full draws 1,000 times.
"""

from __future__ import annotations

import numpy as np

from counting import check_rare
from time_split import DELTA, WORLDS, draw, found, passes_at_the_edge


def test_what_passed_only_in_the_past_is_released_at_most_delta_of_the_time():
    check_rare(passes_at_the_edge, allowed=DELTA, full=1_000, at_least=40)


def test_a_random_split_releases_it():
    """Else this world would show nothing."""
    assert np.mean([found("at the edge", "random", seed)[0] for seed in range(10)]) > 0.8


def test_the_test_sees_the_most_recent_rows_alone():
    """Whatever happened before, the held-out rows and their bound are the same."""
    falling = "it helped, and helps less and less until it harms"
    assert not any(found(falling, "time", seed)[0] for seed in range(5))
    log = draw("at the edge", 0)
    assert np.all(WORLDS["at the edge"](log.time[-400:]) == 0)
    assert np.all(WORLDS["at the edge"](log.time[:600]) > 0)
