"""At the edge, through `certify` itself: a statement that holds with equality passes at most delta
of the time.

A population of four cells, small enough for its truth to be a sum, in which the new model's impact
is exactly that of the old one. ELFAIR_GUARANTEES=full runs 20,000 draws a cell.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

from counting import FULL, check_rare, drawn
from elfair import LoggedData, certify
from elfair.errors import CertificateWarning
from elfair.language.parsing import parse

N = 200
DELTA = 0.1
NO_WORSE = "E[impact] >= E_logged[impact]"
NO_HIGHER = "E[impact] <= E_logged[impact]"  # needs the other tail
BOTTOM, TOP = -1.0, 1.0

# P(x = 1); for each x the old and the new model's probability of decision 1; and the probability
# that an impact is high, for each x and decision: 1 is better where x = 0 and worse where x = 1.
P_X = 0.5
OLD = (0.2, 0.4)
NEW = (0.5, 0.7)
HIGH = ((0.3, 0.6), (0.7, 0.4))


def truth(model, x=None):
    """The probability of a high impact under a model, of everyone or of those with one x."""
    total = weight = 0.0
    for value, decision in product((0, 1), (0, 1)):
        if x is not None and value != x:
            continue
        p = (P_X if value else 1 - P_X) * (model[value] if decision else 1 - model[value])
        total, weight = total + p * HIGH[value][decision], weight + p
    return total / weight


def draw(seed):
    rng = np.random.default_rng(seed)
    x = (rng.random(N) < P_X).astype(int)
    p = np.array(OLD)[x]
    decision = (rng.random(N) < p).astype(int)
    good = rng.random(N) < np.array(HIGH)[x, decision]
    return x, LoggedData(
        x[:, None].astype(float),
        sensitive_features={"T": x},
        decision=decision,
        propensity=np.where(decision == 1, p, 1 - p),
        impact=np.where(good, TOP, BOTTOM),
        classes=[0, 1],
    )


def passes(texts, bound, floor, seed):
    x, data = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # 4 standard errors do occur
        return certify(
            np.array(NEW)[x],
            data,
            [parse(text) for text in texts],
            delta=DELTA,
            bound=bound,
            impact_range=(BOTTOM, TOP),
            propensity_floor=floor,
        ).passed


def check_rarely_passes(text, bound, floor=None):
    # The t bound is asymptotic: with a declared range, at most 0.02 more from 200 rows on.
    allowed = DELTA + 0.02 * (bound == "ttest")
    given = [text], bound, floor
    return check_rare(passes, *given, allowed=allowed, full=20_000, times=1.5, at_least=200)


def test_the_population_is_at_the_edge():
    assert truth(NEW) == pytest.approx(truth(OLD), abs=1e-15)
    assert truth(NEW, 0) > truth(OLD, 0) + 0.05
    assert truth(NEW, 1) < truth(OLD, 1) - 0.05


@pytest.mark.parametrize(
    ("text", "bound", "floor"),
    [
        (NO_WORSE, "betting", None),
        (NO_HIGHER, "betting", None),
        (NO_WORSE, "hoeffding", 0.2),
        (NO_WORSE, "ttest", None),
        (NO_HIGHER, "ttest", None),
    ],
)
def test_at_the_edge_it_passes_at_most_delta_of_the_time(text, bound, floor):
    passed = check_rarely_passes(text, bound, floor)
    if bound == "ttest":
        # If the margin were twice too wide, or the sign wrong, hardly any would pass at the edge.
        assert np.mean(passed) >= 0.04


def test_a_threshold_that_is_the_truth_of_one_group():
    check_rarely_passes(f"E[impact | T == 1] >= {truth(NEW, 1)!r}", "ttest")


def test_a_second_constraint_that_holds_spends_no_delta():
    # A conjunction with one statement at the edge: each is tested at the full delta.
    draws = 20_000 if FULL else 150
    both = drawn(passes, draws, [NO_WORSE, "PR >= 0.3"], "ttest", None)
    alone = drawn(passes, draws, [NO_WORSE], "ttest", None)
    assert both == alone
    assert any(both)
