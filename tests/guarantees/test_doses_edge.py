"""Doses that do nothing, harm, or are out of reach: the promise holds, and help is still found.

The worlds are those of benchmarks/dose_worlds.py, with default settings. ELFAIR_GUARANTEES=full
draws 500 seeds of each world and size; the reduced size leaves room for chance.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from counting import FULL, check_rare, drawn
from dose_worlds import SIZES, WORLDS, World, trial
from worlds_people import DELTA

DRAWS = 500
#: Losses that high doses bring to one person in 600, and that hardly any log of 1,000 rows shows,
#: cannot be excluded without a declared range.
LANE = [world for world in WORLDS if world.name != "catastrophes"]
#: The reduced size tries the kinds of worlds that broke the promise before.
CELLS = [
    (world, n) for world in LANE for n in SIZES if FULL or (n == SIZES[0] and world in LANE[:3])
]
TWINS = [(world, n) for world, n in CELLS if n >= world.least]


def named(value):
    return value.name if isinstance(value, World) else str(value)


@pytest.mark.parametrize(("world", "n"), CELLS, ids=named)
def test_no_more_harm_than_was_promised(world, n):
    if not FULL:
        check_rare(trial, world, n, False, {}, allowed=DELTA, full=DRAWS, bad=all, times=2.5)
        return
    harmed = np.mean([all(each) for each in drawn(trial, DRAWS, world, n, False, {})])
    assert harmed <= DELTA + 3 * sqrt(DELTA * (1 - DELTA) / DRAWS)


@pytest.mark.parametrize(("world", "n"), TWINS, ids=named)
def test_help_is_found_half_as_often_as_by_a_test_that_knows_the_variance(world, n):
    draws = DRAWS if FULL else 8
    outcomes = drawn(trial, draws, world, n, True, {})
    half = world.oracle(n) / 2
    assert np.mean([found for found, _ in outcomes]) >= half - 3 * sqrt(half * (1 - half) / draws)
    assert np.mean([harms for _, harms in outcomes]) <= DELTA
