"""Conditions that exclude each other: a claim about all data, held against random data."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elfair.language.build import col, label
from elfair.language.conditions import (
    And,
    Column,
    Compare,
    Label,
    Literal,
    Member,
    Not,
    Or,
    Positive,
)
from elfair.language.evaluation import are_disjoint, holds

NEAR = [0.1, 0.1 + 1e-10, np.nextafter(0.1, 1), 0.2, 0, 1, 1.0, 2, 2.0000000001, -1]
HUGE = [2**24, 2**24 + 1, 2**53 - 1, 2**53, float(2**53), 2**53 + 1, 2**53 + 3, 2.0**53 + 4, 2**60]
numbers = st.sampled_from([*NEAR, *HUGE])
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def table(values, dtype):
    column = np.array(values, dtype=dtype)
    return SimpleNamespace(
        n=len(column), names=["x", "y"], column={"x": column, "y": column[::-1]}.get,
        label=column, positive=1,
    )  # fmt: skip


AROUND = sorted({float(v) for v in NEAR + HUGE} | {-2.0, 0.15, 0.5, 1.5, 3.0})
WHOLE = sorted({int(v) for v in NEAR + HUGE} | {2**53 + 2, 2**53 + 4, 2**53 + 5, -2, 3})
TABLES = [
    table(AROUND, np.float64),
    table(np.array(AROUND, dtype=np.float32), np.float32),
    table(WHOLE, np.int64),
    table(np.array([*AROUND, *WHOLE], dtype=object), object),
    table([None, 0.1, 1, 2], object),
    table([np.nan, 0.1, 1], np.float64),
]


def comparisons(operand):
    compare = st.builds(lambda sign, v: Compare(operand, sign, Literal(v)), signs, numbers)
    mirrored = st.builds(lambda sign, v: Compare(Literal(v), sign, operand), signs, numbers)
    member = st.builds(
        lambda vs: Member(operand, tuple(map(Literal, vs))),
        st.lists(numbers, min_size=1, max_size=3),
    )
    return compare | mirrored | member


atoms = comparisons(Column("x")) | comparisons(Column("y")) | comparisons(Label())
conditions = st.recursive(
    atoms,
    lambda inner: (
        st.builds(lambda c: ~c, inner)
        | st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
    ),
    max_leaves=4,
)
SAME = comparisons(Column("x"))


def check(first, second):
    claimed = are_disjoint(first, second)
    assert are_disjoint(second, first) == claimed
    if claimed:
        for rows in TABLES:
            both = holds(first, rows) & holds(second, rows)
            assert not both.any(), (str(first), str(second))


@settings(max_examples=400, deadline=None)
@given(SAME, SAME)
@example(col("x") == 0.1, col("x") > np.nextafter(0.1, 1))
@example(col("x") == 0.1, col("x") == 0.1 + 1e-10)
@example(col("x") <= 0.1, col("x") >= 0.1 + 1e-10)
@example(col("x") <= 0.1, col("x") == 0.1 + 1e-10)
@example(col("x") == 2**53 + 1, col("x") == float(2**53))
@example(col("x") < 2**53 + 4, col("x") >= 2.0**53 + 4)
@example(col("x") == float(2**53), col("x") != 2**53)
def test_no_row_meets_two_comparisons_that_exclude_each_other(first, second):
    check(first, second)


@settings(max_examples=400, deadline=None)
@given(conditions, conditions)
def test_no_row_meets_two_conditions_that_exclude_each_other(first, second):
    check(first, second)


RACE, AGE = col("race"), col("age")


@pytest.mark.parametrize(("first", "second"), [
    (RACE == "A", RACE == "B"),
    (RACE == "A", RACE != "A"),
    (RACE == "A", ~(RACE == "A")),
    (RACE.isin(["A", "B"]), RACE == "C"),
    (RACE.isin(["A", "B"]), ~RACE.isin(["A", "B", "C"])),
    (RACE.isin(["A", "B"]), RACE.isin(["C", "D"])),
    (AGE < 30, AGE >= 30),
    (AGE <= 30, AGE > 30),
    (AGE < 30, AGE == 30),
    (AGE < 30, ~(AGE < 30)),
    (AGE < 30, AGE > 40),
    (AGE <= 30, AGE >= 30.001),
    (AGE == 30, AGE == 31),
    ((AGE < 30) & (RACE == "A"), (AGE >= 30) & (RACE == "A")),
    ((AGE < 20) | (AGE > 60), (AGE > 30) & (AGE < 50)),
    ((RACE == "A") | (RACE == "B"), (RACE == "C") | (RACE == "D")),
    (label == 1, label == 0),
    (Compare(Label(), "==", Positive()), Compare(Label(), "!=", Positive())),
    (col("flag") == True, col("flag") == False),  # noqa: E712
    (col("flag") == True, col("flag") == 0),  # noqa: E712
])  # fmt: skip
def test_usual_groups_are_told_apart(first, second):
    assert are_disjoint(first, second)
    assert are_disjoint(second, first)


@pytest.mark.parametrize(("first", "second"), [
    (None, RACE == "A"),
    (RACE == "A", None),
    (RACE == "A", RACE == "A"),
    (RACE == "A", col("sex") == 1),
    (RACE == "A", RACE != "B"),
    (RACE != "A", RACE != "B"),
    (RACE != "A", RACE.isin(["A", "B"])),
    (AGE < 30, AGE > 20),
    (AGE <= 30, AGE >= 30),
    (AGE < 30, AGE < 40),
    (col("flag") == True, col("flag") == 1),  # noqa: E712
    (label == 1, Compare(Label(), "!=", Positive())),  # the positive class may be another one
    (label == 1, Compare(Label(), "==", Positive())),
    (AGE < 30, Compare(Column("age"), ">=", Column("limit"))),
])  # fmt: skip
def test_groups_that_may_share_rows(first, second):
    assert not are_disjoint(first, second)
    assert not are_disjoint(second, first)


def test_a_negated_and_is_not_certain():
    either = Not(And((AGE < 30, RACE == "A")))
    assert not are_disjoint(either, Or((AGE < 30, RACE == "A")))
