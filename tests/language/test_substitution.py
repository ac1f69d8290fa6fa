"""Parts of expressions replaced, and what is left as tidy as if it had been written so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elfair.language.build import PR, TPR, CVaR, E, maximum, median, minimum, var
from elfair.language.expressions import Number, substitute
from elfair.language.parsing import parse

M, V = median("i"), var("i")


@pytest.mark.parametrize(
    ("node", "replaced", "expected"),
    [
        (M, {M: Number(2.0)}, Number(2.0)),
        (E("i") - 2 * M, {M: Number(1.5)}, E("i") - 3),
        (M - M, {M: Number(1.5)}, Number(0.0)),
        (M * V, {M: Number(2.0)}, 2 * V),
        (M * V, {M: Number(2.0), V: Number(3.0)}, Number(6.0)),
        (PR / M, {M: Number(4.0)}, 0.25 * PR),
        (M / PR, {M: Number(4.0)}, 4 / PR),
        (abs(M - 3), {M: Number(1.0)}, Number(2.0)),
        (maximum(M, V), {M: Number(1.0), V: Number(2.0)}, Number(2.0)),
        (minimum(M, V), {M: Number(1.0), V: Number(2.0)}, Number(1.0)),
        (maximum(M, PR), {M: TPR()}, maximum(TPR, PR)),
        (3 * (M + PR), {M: TPR() - 1}, 3 * (TPR - 1 + PR)),
        (M * M, {M: E("i") - 1}, (E("i") - 1) * (E("i") - 1)),
        (median("i") - median("j"), {M: Number(1.0)}, 1 - median("j")),
        (CVaR("i", 0.1) - CVaR("i", 0.2), {CVaR("i", 0.2): PR()}, CVaR("i", 0.1) - PR),
        (PR + 1, {M: Number(1.0)}, PR + 1),
        (E("i") * PR, {E("i") * PR: Number(2.0)}, Number(2.0)),
    ],
)
def test_a_part_is_replaced_wherever_it_stands(node, replaced, expected):
    assert substitute(node, replaced) == expected


parts = st.sampled_from([E("i"), PR(), M, V])
nodes = st.recursive(
    parts,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a: 3 * a, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a / b, inner, inner),
        st.builds(abs, inner),
        st.builds(maximum, inner, inner),
        st.builds(minimum, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=100)
@given(nodes)
def test_replacing_is_writing_something_else(node):
    assert substitute(node, {}) == node
    # As if the text had said E[k] where it said the median.
    swapped = str(node).replace(str(M), "E[k]")
    assert substitute(node, {M: E("k")}) == parse(f"{swapped} <= TPR").left
