"""At the edge, statements about units pass at most delta of the time: however rows of a unit depend
on each other, and however the impact depends on how many rows a unit has.

ELFAIR_GUARANTEES=full runs 500 draws a cell, at 1,000 and 4,000 rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from counting import FULL, check_rare, drawn
from units import DELTA, HOW, passes

SIZES = (1_000, 4_000) if FULL else (1_000,)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("how", HOW[:3])
def test_at_the_edge_units_and_weights_keep_the_level(how, n):
    check_rare(passes, how, n, allowed=DELTA, full=500)


def test_few_units_keep_the_level():
    check_rare(passes, HOW[0], 100, allowed=DELTA, full=500)


@pytest.mark.parametrize("how", HOW[3:5])
def test_rows_taken_for_independent_or_for_one_person_each_break_it(how):
    assert np.mean(drawn(passes, 500 if FULL else 60, how, 1_000)) > 2 * DELTA


@pytest.mark.parametrize("n", SIZES)
def test_at_the_edge_a_whole_fit_keeps_the_level(n):
    check_rare(passes, HOW[5], n, allowed=DELTA, full=500)


@pytest.mark.skipif(not FULL, reason="few draws would not tell them apart")
def test_a_whole_fit_that_ignores_units_breaks_it():
    assert np.mean(drawn(passes, 500, HOW[6], 1_000)) > 1.5 * DELTA
