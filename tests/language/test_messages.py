"""Every error names its place in the text and ends with one hint."""

from __future__ import annotations

import pytest

from elfair.errors import ConstraintError
from elfair.language.conjunction import conjuncts
from elfair.language.parsing import parse
from elfair.language.tree import Span, point_at


def failure(text: object) -> str:
    with pytest.raises(ConstraintError) as caught:
        conjuncts(text)
    message = str(caught.value)
    assert message.count("\nHint: ") == 1
    assert message.splitlines()[-1].startswith("Hint: ")
    return message


# The text, with its place underlined, and words of the message and of the hint.
@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("PR < 0.5", "   ^", "strict", "<= or >="),
        ("0.5 > PR", "    ^", "strict", "<= or >="),
        ("PR == 0.5", "   ^^", "exact equality can never be certified", "abs("),
        ("PR != 0.5", "   ^^", "cannot be certified", "abs("),
        ("accuracy", "^^^^^^^^", "no inequality", ">="),
        ("  accuracy ", "  ^^^^^^^^", "no inequality", ">="),
        ("0.5 <= 0.7", "^^^^^^^^^^", "no statistic", "E[impact]"),
        ("0 <= 0.5 <= PR", "^^^^^^^^", "no statistic", "E[impact]"),
        ("PR / 0 <= 1", "     ^", "division by zero", "other than 0"),
        ("PR / (1 - 1) <= 1", "     ^^^^^^^", "division by zero", "other than 0"),
        ("PR / (0 * TPR) <= 1", "          ^^^", "division by zero", "other than 0"),
        ("1e200 * PR * (1e200 * TPR) <= 1", "^" * 26, "must be finite", "1e308"),
        ("E[i] / (-PR - TPR) >= 1", "^^^^^^^^^^^^^^^^^^", "'-PR - TPR' is never positive",
         "multiply out"),
        ("abs(1 / min(-PR, 0) - 1) <= 1", "    ^^^^^^^^^^^^^^^", "is never positive", "multiply"),
        ("1e999 * PR <= 1", "^^^^^", "must be finite", "1e308"),
        ("1e200 * (1e200 * PR) <= 1", "^^^^^^^^^^^^^^^^^^^^", "must be finite", "1e308"),
        ("PR[a == 1e999] <= 1", "        ^^^^^", "finite number", "such as"),
        ("TPR[decision == 1] <= 1", "    ^^^^^^^^", "rows with some decision", "before the bar"),
        (
            "E[i | a == 1 and decision == 1] >= 0",
            " " * 17 + "^^^^^^^^",
            "rows with some decision",
            "before the bar",
        ),
        ("quantile[i, 1.5 | a == 1] >= 0", " " * 12 + "^^^", "Got 1.5 instead", "lowest tenth"),
        ("VaR[i, 0] >= 0", "       ^", "strictly between 0 and 1. Got 0", "lowest tenth"),
        ("CVaR[i, 1] >= 0", "        ^", "strictly between 0 and 1. Got 1", "CVaR[impact, 0.1]"),
        ("CVaR[i, -0.1] >= 0", "        ^^^^", "strictly between 0 and 1. Got -0.1", "tenth"),
        ("IQR[i, 0.2, 1.2] <= 1", "       ^^^^^^^^", "Got 1.2 instead", "lowest tenth"),
        ("IQR[i, 0.75, 0.25] <= 1", "       ^^^^^^^^^^", "in order. Got 0.75 and 0.25", "usual"),
        ("IQR[i, 0.5, 0.5] <= 1", "       ^^^^^^^^", "must be in order", "IQR[impact, 0.25, 0.75]"),
        ("IQR[i, 0.25] <= 1", "       ^^^^", "IQR takes no number or two", "IQR[impact, 0.25"),
        ("quantile[i] >= 0", "         ^", "quantile takes one number", "quantile[impact, 0.1]"),
        ("quantile[i, 0.1, 0.2] >= 0", " " * 17 + "^^^", "Got 0.1, 0.2", "quantile[impact, 0.1]"),
        ("CVaR[i, 'a'] >= 0", "        ^^^", "CVaR takes one number", "between 0 and 1"),
        ("CVaR[i, a] >= 0", "        ^", "CVaR takes one number", "between 0 and 1"),
        ("median[i, 0.5] >= 0", "          ^^^", "median takes no number", "quantile[impact"),
        ("var[i, 2] <= 1", "       ^", "var takes no number", "share of people"),
        ("median[i | oops] >= 0", "           ^^^^", "'oops' is not a condition", "oops == 'A'"),
        ("var['i'] <= 1", "    ^^^", "var takes the name of an impact", "write var[impact]."),
        ("CVaR[a == 1, 0.1] <= 1", "     ^^^^^^", "the name of an impact", "CVaR[impact, 0.1]"),
        ("var(PR) <= 1", "^^^", "no function 'var'", "var[...]"),
        ("median >= 0", "^^^^^^", "does not say what it is about", "median[impact]"),
        ("medain[i] >= 0", "^^^^^^", "no statistic 'medain'", "did you mean 'median'?"),
        ("PR <= 1 OR TPR <= 1", "        ^^", "unexpected 'OR'", "lower case"),
        ("PR <= 1 or TPR", "              ^", "ends too soon", "constraint like"),
        ("PR or TPR <= 1", "   ^^", "unexpected 'or'", "constraint like"),
        ("PR == 1 or TPR <= 1", "   ^^", "exact equality", "abs("),
        ("0.5 <= 1 or TPR <= 1", "^^^^^^^^", "no statistic", "E[impact]"),
        ("E[i] * 0 / PR <= 1", "^" * 18, "cancel out", "different"),
        ("not PR <= 1", "^^^", "unexpected 'not'", "inside a condition"),
        ("tau >= 0", "^^^", "no statistic 'tau'", "E[tau]"),
        ("accurcy >= 0", "^^^^^^^", "no statistic 'accurcy'", "did you mean 'accuracy'?"),
        ("E >= 0", "^", "does not say what it is about", "E[impact]"),
        ("abs >= 0", "^^^", "does not say what it is about", "abs(...)"),
        ("Q[i] >= 0", "^", "no statistic 'Q'; there are: E, E_logged, P", "check the name"),
        ("abs[PR] >= 0", "^^^", "no statistic 'abs'", "abs(...)"),
        ("E(PR) >= 0", "^", "no function 'E'; there are: abs, max, min", "E[...]"),
        ("sqrt(PR) >= 0", "^^^^", "no function 'sqrt'", "check the name"),
        ("abs(PR, 1) <= 1", "^^^^^^^^^^", "abs takes one expression. Got 2", "abs(a - b)"),
        ("E[a, b] >= 0", "     ^", "takes one entry before the bar. Got 2", "join"),
        ("PR[a == 1 | b == 2] >= 0", "   ^^^^^^", "takes only a condition", "PR[b == 2]"),
        ("P[impact] >= 0", "  ^^^^^^", "P takes an event", "E[impact]"),
        ("E[label] >= 0", "  ^^^^^", "E takes the name of an impact", "comparison"),
        ("E['i'] >= 0", "  ^^^", "E takes the name of an impact", "comparison"),
        ("E[i | race] >= 0", "      ^^^^", "'race' is not a condition", "race == 'A'"),
        ("E[i | a == 1 and b] >= 0", " " * 17 + "^", "'b' is not a condition", "b == 'A'"),
        ("PR[a in [b]] >= 0", "         ^", "must hold values. Got 'b'", "'b'"),
        ("PR[1 == 1] >= 0", "   ^^^^^^", "compares two constants", "backticks"),
        ("PR['a' in ['a']] >= 0", "   ^^^^^^^^^^^^", "same for every row", "race in"),
        ("PR[a in []] >= 0", "         ^", "unexpected ']'", "constraint like"),
        ("E[i | race = 'A'] >= 0", "           ^", "unexpected '='", "=="),
        ("E[i | a == 1 | b == 1] >= 0", "             ^", "unexpected '|'", "'or'"),
        ("E[i | a == 1 & b == 1] >= 0", "             ^", "unexpected '&'", "'and'"),
        ("E[i | a == 1 AND b == 1] >= 0", " " * 13 + "^^^", "unexpected 'AND'", "lower case"),
        ("E[i | a == 'x] >= 0", "           ^", "unexpected", "close the quote"),
        ("E[i | `a == 1] >= 0", "      ^", "unexpected", "close the backtick"),
        ("PR ≤ 1", "   ^", "unexpected '≤'", "<="),
        ("PR <= 5%", "       ^", "unexpected '%'", "0.05"),
        ("PR <=", "     ^", "ends too soon", "constraint like"),
        ("PR <= 1 and ", "           ^", "ends too soon", "constraint like"),
        ("PR <= 1 and TPR", "               ^", "ends too soon", "constraint like"),
        ("PR - PR <= -1", "^^^^^^^^^^^^^", "can never hold: it asks for 1 <= 0", "direction"),
        ("PR - PR <= 1", "^^^^^^^^^^^^", "cancel out", "different"),
        ("0 * PR <= 1", "^^^^^^^^^^^", "cancel out", "different"),
        ("__import__('os').system('x') <= 1", "           ^^^^", "unexpected", "constraint like"),
    ],
)  # fmt: skip
def test_errors_point_at_the_place(text: str, place: str, message: str, hint: str) -> None:
    lines = failure(text).splitlines()
    assert message in lines[0]
    assert lines[1] == f"    {text}"
    assert lines[2].rstrip() == f"    {place}"
    assert hint in lines[3]


@pytest.mark.parametrize("empty", ["", "   \n ", None, 3, False])
def test_what_is_no_text_is_named(empty: object) -> None:
    assert f"Got {empty!r} instead." in failure(empty)


def test_a_comparison_with_equals_in_python_is_explained() -> None:
    assert "<= or >=" in failure(False)


def test_overflow_in_a_sum_points_at_the_inequality() -> None:
    message = failure("1e308 * PR + 1e308 * PR <= 1")
    assert message.splitlines()[0].endswith("are too large to compute with.")
    assert message.splitlines()[2] == "    " + "^" * 28


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "PR" + ")" * 5_000 + " <= 1",
        "PR[" + "(" * 5_000 + "a == 1" + ")" * 5_000 + "] <= 1",
        "abs(" * 1_000 + "PR" + ")" * 1_000 + " <= 1",
        "(" * 9_000,
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    message = failure(text)
    assert "nested at most 50 deep" in message
    assert max(map(len, message.splitlines())) < 130


def test_a_very_long_text_is_refused() -> None:
    assert "20,000 characters. Got 40,006." in failure("PR <= 1" + " " * 39_999)


def test_too_many_conjuncts_are_counted() -> None:
    text = " + ".join(f"abs(PR[g == {i}])" for i in range(10)) + " <= 1"
    assert "1,024 inequalities; 1,000 are allowed" in failure(text)
    assert len(conjuncts(" + ".join(f"abs(PR[g == {i}])" for i in range(9)) + " <= 1")) == 512


def test_only_the_line_in_question_is_shown() -> None:
    with pytest.raises(ConstraintError) as caught:
        parse("PR <= 1 and\n\tTPR < 0.5 and\nFPR <= 1")
    assert str(caught.value).splitlines()[1:3] == ["     TPR < 0.5 and", "         ^"]


def test_long_lines_are_cut_around_the_place() -> None:
    text = "PR[" + "a" * 300 + " == 1] < 1" + " " * 200
    line, carets = Span(text, text.index("<"), text.index("<") + 1).underlined().splitlines()
    assert len(line) < 115
    assert line[carets.index("^")] == "<"
    assert line.startswith("    ...")
    assert line.endswith("...")


def test_a_place_is_left_out_where_there_is_none() -> None:
    assert str(point_at("wrong.", None, "mend it.")) == "wrong.\nHint: mend it."
