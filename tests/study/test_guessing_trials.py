"""Tables of trials that were not used for choosing the rules: what was drawn is no feature."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.study.guessing import guess_columns

RNG = np.random.default_rng(5)
N = 900


def even(*values):
    return RNG.permutation(np.repeat(np.array(values, dtype=object), N // len(values))).tolist()


AGE, YES_NO = RNG.integers(18, 70, N).tolist(), RNG.integers(0, 2, N).tolist()
CAME = np.round(RNG.normal(size=N), 3).tolist()
UNEVEN = RNG.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2]).tolist()


@pytest.mark.parametrize(
    ("table", "decision", "impact"),
    [
        ({"age": AGE, "region": UNEVEN, "coach": even("A", "B", "C"), "wellness": CAME}, "coach",
         "wellness"),
        ({"gender": YES_NO, "letter": even(1, 2, 3, 4), "paid back": CAME}, "letter", "paid back"),
        ({"age": AGE, "region": UNEVEN, "wellness": CAME}, None, None),
        ({"age": AGE, "income quartile": even(1, 2, 3, 4), "wellness": CAME}, None, None),
        ({"age": AGE, "coach": even("A", "B", "C"), "letter": even("x", "y", "z"), "w": CAME}, None,
         None),
        ({"smoker": YES_NO, "age": AGE, "wellness": CAME}, None, None),
    ],
)  # fmt: skip
def test_what_was_drawn_evenly_is_a_decision_and_what_stands_last_came_of_it(
    table, decision, impact
):
    guess = guess_columns(table)
    assert (guess.decision, guess.impact) == (decision, impact)
    features = {each.name for each in guess.features}
    assert features.isdisjoint({decision, impact})


def test_a_numbered_series_in_a_trial_is_no_feature():
    table = {
        "arm": YES_NO,
        "age": AGE,
        "pay2": CAME,
        "pay3": CAME[::-1],
        "pay4": CAME[5:] + CAME[:5],
    }
    guess = guess_columns(table)
    assert guess.later == ["pay2", "pay3", "pay4"]
    assert [each.name for each in guess.features] == ["age"]
