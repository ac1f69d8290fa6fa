"""Text of expressions: what is read, and what is said of text that is none."""

from __future__ import annotations

import pytest

from elfair.errors import ConstraintError
from elfair.language.build import PR, E, accuracy, col, minimum
from elfair.language.parsing import parse, parse_expression


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("E[profit]", E("profit")),
        ("(accuracy)", accuracy()),
        ("E[profit] - 2 * PR[race == 'A']", E("profit") - 2 * PR(col("race") == "A")),
        ("min(E[a], E[b], 3)", minimum(E("a"), E("b"), 3)),
        ("-abs(PR - 0.5) / 4", -abs(PR() - 0.5) / 4),
    ],
)
def test_an_expression_is_read_as_python_builds_it(text, tree):
    assert parse_expression(text) == tree
    assert parse_expression(str(tree)) == tree


def test_its_nodes_know_their_place():
    part = parse_expression("PR + E[profit]").parts[1]
    assert part.span.excerpt == "E[profit]"


@pytest.mark.parametrize("text", ["E[profit] >= 0", "0 <= PR <= 1", "PR <= 1 and E[a] >= 0"])
def test_an_inequality_is_no_expression(text):
    parse(text)
    with pytest.raises(ConstraintError, match=r"(?s)Got an inequality.*\^.*constraints="):
        parse_expression(text)


@pytest.mark.parametrize("text", ["", "  ", None, 3])
def test_no_text(text):
    with pytest.raises(ConstraintError, match=r"(?s)must be non-empty text.*Hint: .*E\[profit\]"):
        parse_expression(text)


@pytest.mark.parametrize(("text", "words"), [("E[profit", "too soon"), ("E[a] +* PR", "expect")])
def test_the_place_of_a_slip(text, words):
    with pytest.raises(ConstraintError, match=words):
        parse_expression(text)
