"""Signs that are certain are right, whatever the leaves turn out to be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elfair.language.build import PR, TPR, CVaR, E, E_logged, col, maximum, median, minimum, var
from elfair.language.conditions import Column
from elfair.language.conjunction import sign_of
from elfair.language.distribution import Deficit, LowerTail, Squared, Threshold
from elfair.language.expressions import (
    Abs,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Product,
    Quotient,
    Scaled,
    Sum,
)

I = Column("i")  # noqa: E741
NOT_NEGATIVE = [
    PR(),
    TPR(),
    E(col("a") == 1),
    var("i"),
    Mean(Deficit(I, 1.0)),
    Mean(Squared(I, 1.0)),
    Mean(Threshold(I, 1.0, "<")),
]
ANYTHING = [E("i"), E_logged("i"), median("i"), CVaR("i", 0.1), Mean(LowerTail(I, 1.0, 0.0))]

leaves = st.sampled_from([*NOT_NEGATIVE, *ANYTHING])
numbers = st.sampled_from([-2.0, -0.5, 0.5, 2.0])


def trees(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | numbers),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda k, a: k * a, numbers, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a: a * a, inner),
        st.builds(lambda a, b: a / b, inner, inner),
        st.builds(abs, inner),
        st.builds(maximum, inner, inner | numbers),
        st.builds(minimum, inner, inner | numbers),
    )


def value(node: Expression, at: dict[Expression, float]) -> float:
    match node:
        case Number(number):
            return number
        case Sum(parts):
            return sum(value(part, at) for part in parts)
        case Scaled(factor, part):
            return factor * value(part, at)
        case Product(left, right):
            return value(left, at) * value(right, at)
        case Quotient(top, bottom):
            below = value(bottom, at)
            return value(top, at) / below if below else math.nan
        case Abs(part):
            return abs(value(part, at))
        case Max(parts) | Min(parts):
            inner = [value(part, at) for part in parts]
            pick = max if isinstance(node, Max) else min
            return math.nan if any(map(math.isnan, inner)) else pick(inner)
    return at[node]


@settings(max_examples=200, deadline=None)
@given(st.recursive(leaves, trees, max_leaves=6), st.randoms(use_true_random=False))
def test_a_certain_sign_is_the_sign(node, random):
    sign = sign_of(node)
    assert sign in (-1, 0, 1)
    assert sign_of(-node) == -sign
    for _ in range(20):
        at = {leaf: random.choice([0.0, 0.1, 1.0, 3.0]) for leaf in NOT_NEGATIVE}
        at |= {leaf: random.choice([-3.0, -0.1, 0.0, 0.1, 3.0]) for leaf in ANYTHING}
        found = value(node, at)
        if not math.isnan(found):
            assert sign * found >= 0


@pytest.mark.parametrize(
    ("node", "sign"),
    [
        *((node, 1) for node in NOT_NEGATIVE),
        *((node, 0) for node in ANYTHING),
        (Number(0.5), 1),
        (Number(-0.5), -1),
        (-PR, -1),
        (PR + TPR + 1, 1),
        (PR - 1, 0),
        (-PR - TPR, -1),
        (PR * TPR, 1),
        (PR * E("i"), 0),
        (E("i") * E("i"), 1),
        (PR / -TPR, -1),
        ((-PR - TPR) * (-PR - 1), 1),
        (maximum(PR, E("i")), 1),
        (maximum(-PR, E("i")), 0),
        (maximum(-PR, -TPR), -1),
        (minimum(PR, E("i")), 0),
        (minimum(PR, TPR), 1),
        (minimum(-PR, E("i")), -1),
        (abs(E("i") - 1), 1),
    ],
)
def test_signs_that_can_be_told_are_told(node, sign):
    assert sign_of(node) == sign
