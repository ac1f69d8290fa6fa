"""Each guess says why it was made, and the reason is the true one."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.study.guessing import guess_columns
from elfair.study.profiles import Profile
from elfair.study.reasons import reasons

N = 120
AGES = [20 + k % 47 for k in range(N)]


def told(columns):
    profiles = [Profile(name, np.array(values, dtype=object)) for name, values in columns.items()]
    return reasons(guess_columns(columns), profiles)


def turns(*values):
    return [values[k % len(values)] for k in range(N)]


@pytest.mark.parametrize(
    ("columns", "column", "why"),
    [
        ({"approved": turns(0, 1), "age": AGES}, "approved", "its name says 'approved'"),
        ({"approved": turns(0, 1), "age": AGES}, "age", "its name and values tell no other role"),
        ({"drug": turns("x", "y", "z"), "age": AGES}, "drug",
         "the only column whose values are as frequent as one another, as a lottery's are"),
        ({"sex": turns("f", "m"), "group": turns("a", "b", "b", "a"), "age": AGES}, "group",
         "called 'group' beside another column of groups, as the arms of a trial are"),
        ({"decision": turns("yes", "no"), "answer": turns("no", "yes", "yes", "no"), "age": AGES},
         "answer", "the only column that has the values of the decision"),
        ({"customer no": turns(*range(60)), "age": AGES, "approved": turns(0, 1)}, "customer no",
         "an identifier whose values are repeated, as those of people with several rows are"),
        ({"town": ["X"] * N, "age": AGES}, "town", "the same in every row"),
    ],
)  # fmt: skip
def test_a_guess_says_why(columns, column, why):
    assert told(columns)[column] == why


def test_every_column_has_a_reason():
    columns = {"id": [*range(N)], "age": AGES, "p": turns(0.25, 0.75), "approved": turns(0, 1)}
    columns |= {"savings later": [k / 7 for k in range(N)], "notes": [f"n{k}" for k in range(N)]}
    assert list(told(columns)) == list(columns)
    assert all(told(columns).values())
