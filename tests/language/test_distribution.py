"""Functions of an impact: what they say, and the ends that they can reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.language.conditions import Column
from elfair.language.distribution import Deficit, LowerTail, Squared, Threshold

I = Column("impact")  # noqa: E741
numbers = st.floats(-10, 10).map(lambda x: round(x, 3))
kinds = st.sampled_from(
    [
        lambda point: Deficit(I, point),
        lambda point: LowerTail(I, point, 0.0),
        lambda point: LowerTail(I, point, 1.5),
        lambda point: LowerTail(I, point, -3.0),
        lambda point: Squared(I, point),
        lambda point: Threshold(I, point, "<"),
        lambda point: Threshold(I, point, "<="),
        lambda point: Threshold(I, point, ">"),
        lambda point: Threshold(I, point, ">="),
    ]
)


@given(kinds, numbers, numbers, numbers)
def test_no_value_leaves_the_ends_and_each_end_is_reached(kind, point, one, other):
    low, high = min(one, other), max(one, other)
    derived = kind(point)
    # A dense grid, and whatever is special about the point.
    near = [low, high, point, np.nextafter(point, 99), np.nextafter(point, -99), 0.0]
    values = np.concatenate([np.linspace(low, high, 201), near])
    found = derived.of(values[(values >= low) & (values <= high)])
    least, most = derived.ends(low, high)
    assert least <= found.min()
    assert found.max() <= most
    if isinstance(derived, Threshold):
        assert (least, most) == (0, 1)
        assert set(np.unique(found)) <= {0.0, 1.0}
    elif not isinstance(derived, LowerTail) or low <= point:
        assert found.min() == pytest.approx(least, abs=1e-9)
        assert found.max() == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize(
    ("derived", "expected", "text"),
    [
        (Threshold(I, 2.0, "<"), [1, 0, 0], "impact < 2"),
        (Threshold(I, 2.0, "<="), [1, 1, 0], "impact <= 2"),
        (Threshold(I, 2.0, ">"), [0, 0, 1], "impact > 2"),
        (Threshold(I, 2.0, ">="), [0, 1, 1], "impact >= 2"),
        (Deficit(I, 2.0), [3, 0, 0], "max(2 - impact, 0)"),
        (LowerTail(I, 2.0, 0.5), [-1.5, 1.5, 0], "(impact - 0.5) * (impact <= 2)"),
        (LowerTail(I, 2.0, -0.5), [-0.5, 2.5, 0], "(impact + 0.5) * (impact <= 2)"),
        (Squared(I, 2.0), [9, 0, 2.25], "(impact - 2)^2"),
        (Squared(I, -2.0), [1, 16, 30.25], "(impact + 2)^2"),
    ],
)
def test_what_they_say(derived, expected, text):
    np.testing.assert_array_equal(derived.of(np.array([-1.0, 2.0, 3.5])), expected)
    assert str(derived) == text


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        (Threshold(I, 2.0, "<"), 1),
        (Threshold(I, 3.0, "<"), 1),
        (Deficit(I, 2.5), 2),
        (LowerTail(I, 2.5, 0.5), 2),
        (Squared(I, 2.0), np.inf),
    ],
)
def test_how_many_rows_decide(derived, expected):
    assert derived.deciding(np.array([-1.0, 2.0, 3.5])) == expected


def test_without_a_declared_range_there_are_no_more_ends_than_the_function_has():
    assert Deficit(I, 2.0).ends(-np.inf, np.inf) == (0, np.inf)
    assert LowerTail(I, 2.0, 0.5).ends(-np.inf, np.inf) == (-np.inf, 1.5)
    assert LowerTail(I, 2.0, 3.0).ends(-np.inf, np.inf) == (-np.inf, 0.0)
    assert Squared(I, 2.0).ends(-np.inf, np.inf) == (0, np.inf)
    assert Threshold(I, 2.0, "<").ends(-np.inf, np.inf) == (0, 1)
