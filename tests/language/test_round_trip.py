"""The text of a tree reads back as the same tree."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from elfair.language.build import (
    BEYOND_THE_MEAN,
    E,
    E_logged,
    P,
    col,
    decision,
    label,
    maximum,
    minimum,
)
from elfair.language.conditions import RATES, Condition
from elfair.language.expressions import Expression, Scaled, Statement, rate
from elfair.language.parsing import parse

names = st.one_of(
    st.sampled_from(
        ["race", "zip code", "label", "decision", "positive", "in", "and", "true", "E", "max", "1a"]
    ),
    st.text(min_size=1, max_size=6),
    st.text(string.ascii_letters, min_size=1, max_size=6),
)
numbers = st.floats(min_value=-1e6, max_value=1e6)
literals = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["'", '"', "\\", "\\'", "a`b", "\n", "|]"]),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def comparisons(draw: st.DrawFn, events: bool = False) -> Condition:
    pool = [col(draw(names)), label, *([decision] if events else [])]
    left = draw(st.sampled_from(pool))
    if draw(st.booleans()):
        return left.isin(draw(st.lists(literals, min_size=1, max_size=3)))
    right = draw(st.one_of(literals, st.sampled_from([*pool, label])))
    op = draw(st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]))
    condition: Condition = getattr(left, op)(right)
    return condition


def combined(leaves: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a: ~a, inner),
        ),
        max_leaves=5,
    )


conditions = combined(comparisons())
events = combined(comparisons(events=True))
maybe = st.none() | conditions
means = st.one_of(
    st.builds(lambda of, given: E(of, given=given), names, maybe),
    st.builds(lambda of, given: E_logged(of, given=given), names | events, maybe),
    st.builds(lambda of, given: P(of, given=given), events, maybe),
    st.builds(lambda name, given: rate(name)(given), st.sampled_from([*RATES]), maybe),
)


def divided(top: Expression | float, bottom: Expression) -> Expression:
    if isinstance(bottom, Scaled) and abs(bottom.factor) < 1e-3:  # 0, or as good as 0
        bottom = bottom + 1
    return top / bottom


shares = st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True)
after_the_impact = {"median": st.just([]), "var": st.just([]), "IQR": st.just([0.1, 0.7])}
statistics = st.sampled_from([*BEYOND_THE_MEAN]).flatmap(
    lambda name: st.builds(
        lambda of, numbers, given: BEYOND_THE_MEAN[name](of, *numbers, given=given),
        names,
        after_the_impact.get(name, st.tuples(shares)),
        maybe,
    )
)
expressions = st.recursive(
    means | statistics,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | numbers),
        st.builds(lambda a, b: a - b, numbers | inner, inner),
        st.builds(lambda k, a: k * a, numbers, inner),
        st.builds(lambda a: -a, inner),
        st.builds(lambda a, k: a / k, inner, st.sampled_from([3.0, -7.0, 0.1])),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(divided, inner, inner),
        st.builds(divided, st.sampled_from([1.0, -7.0, 0.1, 1e-3]), inner),
        st.builds(abs, inner),
        st.builds(maximum, inner, inner | numbers),
        st.builds(minimum, inner | numbers, inner, inner),
    ),
    max_leaves=5,
)
inequalities = st.one_of(
    st.builds(lambda a, b: a <= b, expressions, expressions | numbers),
    st.builds(lambda a, b: a >= b, expressions, expressions | numbers),
)
statements = st.recursive(
    inequalities,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
    ),
    max_leaves=3,
)


@settings(max_examples=200)
@given(statements)
def test_text_of_a_tree_reads_back_as_the_tree(statement: Statement) -> None:
    again = parse(str(statement))
    assert again == statement
    assert str(again) == str(statement)  # true and 1 are equal, but not the same text


@settings(max_examples=100)
@given(expressions)
def test_negating_twice_changes_nothing(expression: Expression) -> None:
    negated = -expression
    assert -negated == expression
