"""At the edge, statements about labels that only some decisions reveal pass at most delta of the
time; cut-off models, too.

ELFAIR_GUARANTEES=full draws 500 times at 1,000 and at 4,000 rows.
"""

from __future__ import annotations

import pytest

from counting import FULL, check_rare, drawn
from selective_labels import DELTA, EDGES, HOW, passes, passes_cutoff


@pytest.mark.parametrize("n", [1_000, 4_000] if FULL else [1_000])
@pytest.mark.parametrize("edge", EDGES)
def test_at_the_edge_a_statement_rarely_passes(edge, n):
    check_rare(passes, HOW[0], EDGES[edge], n, "auto", allowed=DELTA, full=500)


@pytest.mark.skipif(not FULL, reason="the full lane has the asymptotic bound")
@pytest.mark.parametrize("n", [1_000, 4_000])
@pytest.mark.parametrize("edge", ["accuracy, from below", "FPR, from above"])
def test_the_guarded_bound_keeps_its_level(edge, n):
    check_rare(passes, HOW[0], EDGES[edge], n, "guarded", allowed=DELTA, full=500)


@pytest.mark.parametrize("how", HOW[1:])
def test_dropping_rows_and_wrong_declarations_break_the_promise(how):
    """The page says so: a test that saw nothing of it would not test anything."""
    every = drawn(passes, 500 if FULL else 12, how, EDGES["PPV, from below"], 1_000, "auto")
    assert sum(every) / len(every) > 2 * DELTA


@pytest.mark.parametrize("n", [1_000, 4_000] if FULL else [1_000])
@pytest.mark.parametrize("which", ["accuracy", "impact"])
def test_a_cut_off_at_the_edge_rarely_passes(which, n):
    check_rare(passes_cutoff, which, n, allowed=DELTA, full=500)
