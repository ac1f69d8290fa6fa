"""People whose impact is hardly ever seen are not certified by what others gain.

Each world hides other people: a group, a part of one, those of middle age. Who is hidden loses what
the others gain, so that the statement is at its edge; what is known of the others says the
opposite. ELFAIR_GUARANTEES=full draws 500 times at 1,000 and at 4,000 rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from counting import FULL, check_rare, drawn
from hardly_seen import DELTA, WORLDS, passes


@pytest.mark.parametrize("n", [1_000, 4_000] if FULL else [1_000])
@pytest.mark.parametrize("world", WORLDS)
def test_at_the_edge_a_statement_rarely_passes(world, n):
    check_rare(passes, world, n, allowed=DELTA, full=500)


@pytest.mark.parametrize("world", ["a fifth of the group", "where two features are large"])
def test_what_others_gain_would_be_taken_for_theirs(world, monkeypatch):
    """Else these worlds would show nothing."""
    monkeypatch.setattr("elfair.statistics.unseen.LEAST_SEEN", 0.0)
    monkeypatch.setattr(
        "elfair.statistics.unseen.holes", lambda known, *_: np.zeros(len(known), bool)
    )
    assert np.mean(drawn(passes, 20, world, 1_000)) > 3 * DELTA
