"""A constraint as one-sided linear statements: signs, merging, and the expansion of abs and max."""

from __future__ import annotations

import time
from itertools import product

import pytest

from elfair.errors import ConstraintError
from elfair.language.build import FPR, PR, TPR, E, E_logged, accuracy, col, median
from elfair.language.conjunction import Linear, conjuncts, linear_form
from elfair.language.expressions import (
    Abs,
    All,
    AnyOf,
    AtMost,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Product,
    Quotient,
    Scaled,
    Statement,
    Sum,
)
from elfair.language.intervals import Formula
from elfair.language.parsing import parse
from elfair.language.tree import find

A, B, C = (PR(col("race") == name) for name in "ABC")
TEXT_A, TEXT_B, TEXT_C = (f"PR[race == '{name}']" for name in "ABC")


def forms(text: str) -> list[Linear]:
    return [each.form for each in conjuncts(text)]


def test_the_form_is_left_minus_right() -> None:
    assert forms("E[i] >= 0.2") == [Linear(0.2, ((-1.0, E("i")),))]
    assert forms("E[i] <= 0.2") == [Linear(-0.2, ((1.0, E("i")),))]
    assert forms("0.2 >= E[i]") == forms("E[i] <= 0.2")
    expected = Linear(0.0, ((0.9, E_logged("i")), (-1.0, E("i"))))
    assert forms("E[i] >= 0.9 * E_logged[i]") == [expected]


def test_terms_merge_and_zeros_vanish() -> None:
    assert forms("PR + PR + 1 <= 2 * TPR + 3") == [Linear(-2.0, ((2.0, PR()), (-2.0, TPR())))]
    assert forms("PR + TPR - PR <= 1") == [Linear(-1.0, ((1.0, TPR()),))]
    assert forms("PR / 4 - (TPR - 1) <= 0") == [Linear(1.0, ((0.25, PR()), (-1.0, TPR())))]


@pytest.mark.parametrize(
    "text",
    [
        "E[impact] >= E[impact]",
        "PR <= PR + .1",
        "2 * PR <= PR + PR",
        "E[impact] + PR <= PR + E[impact]",
    ],
)
def test_a_statement_that_cancels_is_refused(text) -> None:
    with pytest.raises(ConstraintError, match="cancel out; nothing is left to test"):
        conjuncts(text)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("E[impact] + 1e17 - 1e17 >= 3", "-E[impact] + 3"),
        ("1e17 * PR + PR - 1e17 * PR <= 0.5", "PR - 0.5"),
        ("1e17 + E[impact] <= 1e17", "E[impact]"),
    ],
)
def test_no_number_is_lost_to_rounding(text, form) -> None:
    (only,) = conjuncts(text)
    assert str(only.form) == form


@pytest.mark.parametrize(
    "text",
    [
        "E[impact] - 1e17 >= 3 - 1e17",
        "E[impact] - 1e17 >= 3",
        "1e17 * PR + PR <= 1",
        "1e-200 * (1e-200 * PR) <= 1",
        "1e-200 * 1e-200 <= PR",
        "1e-200 * abs(1e-200 * PR - 1) <= 1",
    ],
)
def test_a_number_that_would_be_lost_is_refused(text) -> None:
    with pytest.raises(ConstraintError, match="would lose one") as caught:
        conjuncts(text)
    assert caught.value.hint is not None


def test_a_nested_abs_asks_each_question_once() -> None:
    text = "E[impact]"
    for k in range(48):
        text = f"abs({text} - {k})"
    begin = time.process_time()
    for each in conjuncts(f"{text} <= 100"):
        assert len(Formula(each.form).tails) <= 4
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("sign", ["*", "/"])
def test_long_products_are_refused_and_shorter_ones_are_fast(sign) -> None:
    begin = time.process_time()
    with pytest.raises(ConstraintError, match="nested at most 60 deep"):
        conjuncts(sign.join(["E[impact]"] * 400) + " <= 1")
    product = E("impact")
    for _ in range(3000):
        product = product * E("impact")
    with pytest.raises(ConstraintError, match="nested at most 60 deep"):
        conjuncts(product <= 1)
    for each in conjuncts(sign.join(["E[impact]"] * 55) + " <= 1"):
        assert len(Formula(each.form).tails) <= 2
    assert time.process_time() - begin < 2


def test_parts_that_need_no_data_are_left_out() -> None:
    spread = f"max({TEXT_A}, {TEXT_B}) - min({TEXT_A}, {TEXT_B}) <= 0.1"
    assert set(forms(spread)) == set(forms(f"abs({TEXT_A} - {TEXT_B}) <= 0.1"))
    assert len(forms(spread)) == 2


def test_abs_is_two_statements() -> None:
    (up, down) = forms(f"abs({TEXT_A} - {TEXT_B}) <= 0.1")
    assert up == Linear(-0.1, ((1.0, A), (-1.0, B)))
    assert down == Linear(-0.1, ((1.0, B), (-1.0, A)))


@pytest.mark.parametrize(
    "other",
    [
        f"max({TEXT_A} - {TEXT_B}, {TEXT_B} - {TEXT_A}) <= 0.1",
        f"-0.1 <= {TEXT_A} - {TEXT_B} <= 0.1",
        f"min({TEXT_A} - {TEXT_B}, {TEXT_B} - {TEXT_A}) >= -0.1",
        f"0.1 - abs({TEXT_B} - {TEXT_A}) >= 0",
        f"abs({TEXT_A} - {TEXT_B}) <= 0.1 and {TEXT_A} - {TEXT_B} <= 0.1",
    ],
)
def test_other_ways_to_write_an_absolute_difference(other: str) -> None:
    assert set(forms(other)) == set(forms(f"abs({TEXT_A} - {TEXT_B}) <= 0.1"))
    assert len(forms(other)) == 2


def value(node: Expression, at: dict[Mean, float]) -> float:
    match node:
        case Number(number):
            return number
        case Sum(parts):
            return sum(value(part, at) for part in parts)
        case Scaled(factor, part):
            return factor * value(part, at)
        case Abs(part):
            return abs(value(part, at))
        case Max(parts):
            return max(value(part, at) for part in parts)
        case Min(parts):
            return min(value(part, at) for part in parts)
        case Product(left, right):
            return value(left, at) * value(right, at)
        case Quotient(top, bottom):
            return value(top, at) / value(bottom, at)
        case Mean():
            return at[node]
    raise AssertionError(node)


@pytest.mark.parametrize(
    "text",
    [
        f"abs({TEXT_A} - {TEXT_B}) <= 0.25",
        f"2 * max({TEXT_A}, {TEXT_B}, 0.5) - 3 * min({TEXT_C}, {TEXT_A}) <= 0.75",
        f"abs({TEXT_A} - 0.5) + abs({TEXT_B} - {TEXT_C}) <= 0.5",
        f"1 - 2 * abs({TEXT_A} - {TEXT_B}) >= max(0.25, {TEXT_C}) + max({TEXT_B}, 0.25)",
        f"max(abs({TEXT_A} - {TEXT_B}), {TEXT_C} / 2) <= min(0.5, {TEXT_A} + 0.25)",
        f"{TEXT_A} - max({TEXT_B} - {TEXT_C}, -0.25) * -2 <= 0.5",
    ],
)
def test_the_statements_together_say_what_the_constraint_says(text: str) -> None:
    statement = parse(text)
    assert isinstance(statement, AtMost)
    outcomes = set()
    for values in product([0.0, 0.25, 0.5, 0.75, 1.0], repeat=3):
        at = dict(zip((A, B, C), values, strict=True))
        truth = value(statement.left, at) <= value(statement.right, at)
        tested = all(
            each.constant + sum(weight * at[mean] for weight, mean in each.terms) <= 0
            for each in forms(text)
        )
        assert tested == truth, (text, at)
        outcomes.add(truth)
    assert outcomes == {True, False}


def truth(statement: Statement, at: dict[Mean, float]) -> bool:
    match statement:
        case AtMost(left, right):
            return value(left, at) <= value(right, at)
        case All(parts):
            return all(truth(part, at) for part in parts)
        case AnyOf(parts):
            return any(truth(part, at) for part in parts)
    raise AssertionError(statement)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"max({TEXT_A}, {TEXT_B}) >= 0.75", 1),
        (f"min({TEXT_A}, {TEXT_B}) <= 0.25", 1),
        (f"abs({TEXT_A} - {TEXT_B}) >= 0.5", 1),
        (f"{TEXT_A} >= 0.5 or {TEXT_B} <= 0.25", 1),
        (f"{TEXT_A} >= 0.5 and {TEXT_B} <= 0.25 or {TEXT_C} <= {TEXT_A}", 1),
        (f"({TEXT_A} >= 0.5 or {TEXT_B} <= 0.25) and {TEXT_C} <= {TEXT_A}", 2),
        (f"({TEXT_A} >= 0.5 or {TEXT_B} <= 0.25) and abs({TEXT_C} - {TEXT_A}) <= 0.25", 3),
        (f"{TEXT_A} * {TEXT_B} <= 0.25", 1),
        (f"abs({TEXT_A} * {TEXT_B} - 0.5) <= 0.25", 2),
        (f"{TEXT_A} - {TEXT_B} * {TEXT_C} >= 0.25 or abs({TEXT_A} - 0.5) <= 0", 1),
        (f"({TEXT_A} - {TEXT_B}) / ({TEXT_C} + 1) <= 0.25", 1),
        (f"{TEXT_A} / ({TEXT_B} + 0.5) >= 0.5", 1),
        (f"abs(({TEXT_A} + 1) / ({TEXT_B} + 1) - 1) <= 0.25", 2),
        (f"max({TEXT_A}, {TEXT_C}) / ({TEXT_B} + 0.25) <= 1", 2),
        (f"({TEXT_A} + 1) / ({TEXT_B} + 1) - {TEXT_C} <= 0.25", 1),
        (f"1 / ({TEXT_A} + 0.25) - 2 <= 0", 1),
    ],
)
def test_what_no_linear_form_says_stays_true_to_the_constraint(text: str, count: int) -> None:
    statement, outcomes = parse(text), set()
    found = forms(text)
    assert len(found) == count
    for values in product([0.0, 0.25, 0.5, 0.75, 1.0], repeat=3):
        at = dict(zip((A, B, C), values, strict=True))
        expected = truth(statement, at)
        assert all(value(form.expression, at) <= 1e-12 for form in found) == expected, (text, at)
        outcomes.add(expected)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A rate is never negative: nothing but the quotient has to be tested.
        (f"{TEXT_A} / {TEXT_B} >= 0.8", [Linear(0.0, ((0.8, B), (-1.0, A)))]),
        (f"{TEXT_A} / (2 * {TEXT_B}) <= 0.4", [Linear(0.0, ((0.5, A), (-0.4, B)))]),
        (f"{TEXT_A} / -{TEXT_B} >= 0.5", [Linear(0.0, ((1.0, A), (0.5, B)))]),
        # An impact may be: that it is not is a statement of its own.
        (
            "E[i] / E[j] >= 2",
            [Linear(0.0, ((2.0, E("j")), (-1.0, E("i")))), Linear(0.0, ((-1.0, E("j")),))],
        ),
        (
            "E[i] / E[j] <= -2",
            [Linear(0.0, ((1.0, E("i")), (2.0, E("j")))), Linear(0.0, ((-1.0, E("j")),))],
        ),
        (
            "3 <= 1 / (E[j] - 1)",
            [Linear(-4.0, ((3.0, E("j")),)), Linear(1.0, ((-1.0, E("j")),))],
        ),
        (
            f"abs({TEXT_A} / {TEXT_B} - 1) <= 0.25",
            [Linear(0.0, ((1.0, A), (-1.25, B))), Linear(0.0, ((0.75, B), (-1.0, A)))],
        ),
        (
            "abs(E[i] / E[j] - 1) <= 0.25",
            [
                Linear(0.0, ((1.0, E("i")), (-1.25, E("j")))),
                Linear(0.0, ((-1.0, E("j")),)),
                Linear(0.0, ((0.75, E("j")), (-1.0, E("i")))),
            ],
        ),
        # Beside something else it cannot be cleared.
        (
            "E[i] / PR - TPR <= 1",
            [Linear(-1.0, ((1.0, E("i") / PR), (-1.0, TPR())))],
        ),
        (
            "max(PR, TPR) >= 0.5",
            [Linear(0.5, ((-1.0, Max((PR(), TPR()))),))],
        ),
        ("abs(PR - TPR) >= 0.5", [Linear(0.5, ((-1.0, abs(PR - TPR)),))]),
        ("median[i] / PR >= 1", [Linear(0.0, ((1.0, PR()), (-1.0, median("i"))))]),
    ],
)
def test_quotients_are_multiplied_out_where_signs_allow_it(
    text: str, expected: list[Linear]
) -> None:
    assert forms(text) == expected


def test_a_quotient_by_what_may_be_negative_holds_only_where_it_is_not() -> None:
    gain, cost = E("i"), E("j")
    for text, limit in (("E[i] / E[j] >= 2", 2.0), ("E[i] / E[j] >= -2", -2.0)):
        for i, j in product([-2.0, -0.5, 0.5, 1.0, 3.0], repeat=2):
            holds = all(value(form.expression, {gain: i, cost: j}) <= 0 for form in forms(text))
            assert holds == (i / j >= limit and j > 0)


def test_the_linear_part_of_an_expression_and_the_rest() -> None:
    larger = Max((FPR(), A))
    form = linear_form(2 * (PR - E("i") * TPR) - PR / 4 + larger + 1)
    assert form == Linear(1.0, ((1.75, PR()), (1.0, larger), (-2.0, E("i") * TPR)))
    assert form.means == ((1.75, PR()),)
    assert not form.is_linear
    assert linear_form(PR - TPR).is_linear
    assert find(form.expression, Mean) == (PR(), FPR(), A, E("i"), TPR())
    negated = -form
    assert negated != form
    assert -negated == form
    assert linear_form(form.expression) == form


def test_an_either_or_keeps_its_own_text_and_place() -> None:
    text = "accuracy >= 0.5 and (PR <= 0.5 or FPR <= 0.2 and TPR >= 0.1)"
    first, second = conjuncts(text)
    assert (first.text, second.text) == (
        "accuracy >= 0.5",
        "PR <= 0.5 or (FPR <= 0.2 and TPR >= 0.1)",
    )
    assert second.parent == text
    assert second.source is not None
    assert second.source.excerpt == "PR <= 0.5 or FPR <= 0.2 and TPR >= 0.1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accuracy >= 0.75", ["accuracy >= 0.75"]),
        ("PR * TPR >= 0.2", ["PR * TPR >= 0.2"]),
        ("1 - E[i] * PR <= 2 * TPR", ["E[i] * PR + 2 * TPR >= 1"]),
        ("PR / TPR >= 0.8", ["PR >= 0.8 * TPR"]),
        ("0.1 <= median[i] <= 0.3", ["median[i] >= 0.1", "median[i] <= 0.3"]),
        (
            "abs(IQR[i] - 2) <= 1",
            [
                "quantile[i, 0.75] - quantile[i, 0.25] <= 3",
                "quantile[i, 0.25] - quantile[i, 0.75] <= -1",
            ],
        ),
        ("max(PR, TPR) >= 0.5", ["max(PR, TPR) >= 0.5"]),
        ("0.75 <= accuracy", ["accuracy >= 0.75"]),
        ("0.2 <= PR <= 0.4", ["PR >= 0.2", "PR <= 0.4"]),
        ("E[i] >= 0.9 * E_logged[i]", ["E[i] >= 0.9 * E_logged[i]"]),
        ("E[i] - E_logged[i] >= -0.1", ["E_logged[i] - E[i] <= 0.1"]),
        ("-2 * TPR - FPR <= -1", ["FPR + 2 * TPR >= 1"]),
        ("max(PR, TPR) <= 0.5 and FPR <= 1", ["PR <= 0.5", "TPR <= 0.5", "FPR <= 1"]),
    ],
)
def test_each_statement_has_a_text_of_its_own(text: str, expected: list[str]) -> None:
    found = conjuncts(text)
    assert [each.text for each in found] == expected
    assert {each.parent for each in found} == {text}
    # That text says the same as the form.
    assert [conjuncts(each.text)[0].form for each in found] == [each.form for each in found]


def test_a_statement_points_at_its_inequality() -> None:
    first, second = conjuncts("PR <= 0.5 and FPR <= 1")
    assert first.source is not None
    assert second.source is not None
    assert first.source.excerpt == "PR <= 0.5"
    assert second.source.excerpt == "FPR <= 1"


def test_a_tree_from_python_is_its_own_parent() -> None:
    (only,) = conjuncts(accuracy >= 0.75)
    assert only.parent == only.text == "accuracy >= 0.75"
    assert only.source is None


def test_the_text_of_a_form() -> None:
    assert str(Linear(0.5, ((1.0, PR()), (-2.0, FPR())))) == "PR - 2 * FPR + 0.5"
    assert str(Linear(0.0, ((1.0, PR()),))) == "PR"
    assert str(Linear(-1.0, ())) == "-1"
    assert str(Linear(0.0, ())) == "0"


def test_among_those_decided_in_one_way():
    (one,) = conjuncts("P[label == 1 | decision == 1 and race == 'A'] >= 0.7")
    assert one.form.is_linear
    assert one.text == (
        "P[decision == 1 and label == 1 | race == 'A'] >= 0.7 * P[decision == 1 | race == 'A']"
    )
