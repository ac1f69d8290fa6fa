"""Estimated propensities: a model exactly at the edge passes at most delta of the time, if the
behaviour model is right; one that is better still passes; and the allowance is needed.

The worlds are those of benchmarks/estimated.py, which had no part in any choice of the estimation.
ELFAIR_GUARANTEES=full draws 500 times a case, at 1,000 and 4,000 rows.
"""

from __future__ import annotations

import numpy as np
import pytest

import estimated  # the script in benchmarks/; see conftest.py
from counting import FULL, check_rare, drawn

#: Half of the rows are set aside to learn from.
ASIDE = 0.5
SIZES = (1000, 4000) if FULL else (1000,)
RIGHT = ("logistic", "smooth", "by group", "three decisions")


def either_side(world, n, seed):
    """Both statements are exactly true: each may pass with probability delta."""
    return estimated.passes(world, n, "estimated", ASIDE, seed)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("world", RIGHT)
def test_a_model_at_the_edge_passes_at_most_delta_of_the_time(world, n):
    if FULL:
        for share in np.mean(drawn(either_side, 500, world, n), axis=0):
            assert share <= estimated.DELTA + 3 * np.sqrt(0.09 / 500)
        return
    # Two chances to pass: as often as not the same one.
    check_rare(either_side, world, n, allowed=2 * estimated.DELTA, full=0, bad=any, times=2.5)


@pytest.mark.parametrize("world", RIGHT if FULL else RIGHT[:1])
def test_what_can_be_gained_is_still_found(world):
    """A new model that is better by about four standard errors: with estimated propensities it
    passes at least half as often as with known ones.
    """
    draws = 100 if FULL else 12

    def share(how):
        return np.mean([no_worse for no_worse, _ in drawn(_better, draws, world, how)])

    known, found = share("known"), share("estimated")
    assert known > 0.5
    assert found >= known / 2


def _better(world, how, seed):
    return estimated.passes(world, 1000, how, ASIDE, seed, better=0.6)


def test_the_level_of_the_logistic_world_needs_the_allowance(monkeypatch):
    """Without what leaving out groups of candidate rows shows, bounds are narrower: the upper bound
    of a statement falls.
    """
    from elfair import certify
    from elfair.statistics.plan import Tail

    data = estimated.table("logistic", 1000, 0, "estimated")
    new = np.tile([0.3, 0.7], (1000, 1))
    settings = {"estimator": "paired", "nuisance_fraction": 0.2}
    with_doubt = certify(new, data, estimated.UP, looks=2, **settings).constraints[0]
    monkeypatch.setattr(Tail, "doubt", lambda self, free: None)
    without = certify(new, data, estimated.UP, looks=2, **settings).constraints[0]
    assert with_doubt.estimate == without.estimate
    assert with_doubt.upper - with_doubt.estimate > 1.1 * (without.upper - without.estimate)
