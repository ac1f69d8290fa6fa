"""At the edge, impacts that were not seen for everyone pass at most delta of the time.

ELFAIR_GUARANTEES=full draws 500 times at 1,000 and at 4,000 rows.
"""

from __future__ import annotations

import pytest

from counting import FULL, check_rare, drawn
from missing_impact import DELTA, HOW, NO_HIGHER, NO_WORSE, passes

RIGHT = ("at random", "follow-up drawn at random", "worst case")


@pytest.mark.parametrize("n", [1_000, 4_000] if FULL else [1_000])
@pytest.mark.parametrize("text", [NO_WORSE, NO_HIGHER])
@pytest.mark.parametrize("how", RIGHT)
def test_at_the_edge_a_statement_rarely_passes(how, text, n):
    check_rare(passes, how, text, n, "paired", allowed=DELTA, full=500)


@pytest.mark.skipif(not FULL, reason="the full lane has the doubly robust form")
@pytest.mark.parametrize("n", [1_000, 4_000])
def test_the_doubly_robust_form_keeps_its_level(n):
    check_rare(passes, "at random", NO_WORSE, n, "dr", allowed=DELTA, full=500)


@pytest.mark.parametrize("how", [HOW[-1]])
def test_a_wrong_declaration_breaks_the_promise(how):
    """The page says so: a test that saw nothing of it would not test anything."""
    every = drawn(passes, 500 if FULL else 40, how, NO_WORSE, 1_000, "paired")
    assert sum(every) / len(every) > 2 * DELTA
