"""Text gives the tree that the Python words give."""

from __future__ import annotations

import operator

import pytest

import elfair
from elfair.errors import ConstraintError
from elfair.language.build import (
    BEYOND_THE_MEAN,
    FDR,
    FNR,
    FPR,
    IQR,
    NPV,
    PPV,
    PR,
    TNR,
    TPR,
    CVaR,
    E,
    E_logged,
    P,
    accuracy,
    col,
    decision,
    label,
    maximum,
    median,
    minimum,
    quantile,
    var,
)
from elfair.language.conditions import (
    RATES,
    Column,
    Compare,
    Decision,
    Label,
    Literal,
    Member,
    Not,
    Positive,
)
from elfair.language.expressions import All, AtMost, Expression, Mean, Number, Statement
from elfair.language.parsing import parse, parse_expression
from elfair.language.tree import walk

A = col("race") == "A"
B = col("race") == "B"


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("E[impact] >= 0", E("impact") >= 0),
        ("E[impact | race == 'A'] >= 0", E("impact", given=A) >= 0),
        ("E[impact | race == 'A'] >= 0.9 * E_logged[impact | race == 'A']",
         E("impact", given=A) >= 0.9 * E_logged("impact", given=A)),
        ("P[decision == 1 | race == \"A\"] <= 0.5", P(decision == 1, given=A) <= 0.5),
        ("E[decision == 1] <= 0.5", P(decision == 1) <= 0.5),
        ("E_logged[decision == 1] <= 0.5", E_logged(decision == 1) <= 0.5),
        ("P[decision == label | race == 'A'] >= 0.7", accuracy(A) >= 0.7),
        ("P[decision != label] <= 0.3", P(decision != label) <= 0.3),
        ("P[decision in [1, 2]] <= 0.3", P(decision.isin([1, 2])) <= 0.3),
        ("accuracy >= 0.75", accuracy >= 0.75),
        ("accuracy[race == 'A'] >= 0.75", accuracy(A) >= 0.75),
        ("PR <= 0.5", PR() <= 0.5),
        ("TPR[race == 'A'] >= 0.5", TPR(A) >= 0.5),
        ("0.1 >= abs(PR[race == 'A'] - PR[race == 'B'])", abs(PR(A) - PR(B)) <= 0.1),
        ("max(PR, TPR, 0.1) <= 0.5", maximum(PR, TPR, 0.1) <= 0.5),
        ("min(PR, TPR) >= 0.5", minimum(PR, TPR) >= 0.5),
        ("PR * 2 / 4 <= 1", PR * 2 / 4 <= 1),
        ("-(PR - 0.5) <= 1e-3", -(PR - 0.5) <= 1e-3),
        ("2 * (PR + TPR) - 1 <= .5", 2 * (PR + TPR) - 1 <= 0.5),
        ("(1 + 2) * 3 / 9 * PR <= 1", PR <= 1),
        ("abs(-3) * PR <= max(1, 2)", 3 * PR <= 2),
        ("--PR <= 1", PR <= 1),
        ("PR<=1", PR <= 1),
        ("  PR\n\t<= 1\n", PR <= 1),
        ("(PR <= 1) and (TPR >= 0 and FPR <= 1)", (PR <= 1) & (TPR >= 0) & (FPR <= 1)),
        ("(PR) <= (1)", PR <= 1),
        ("PR * TPR <= 0.5", PR * TPR <= 0.5),
        ("2 * PR * 3 * TPR <= 0.5", 6 * (PR * TPR) <= 0.5),
        ("PR / TPR / FPR >= 0.5", (PR / TPR) / FPR >= 0.5),
        ("PR / (TPR / FPR) >= 0.5", PR / (TPR / FPR) >= 0.5),
        ("PR - TPR * FPR + 1 / PR >= 0.5", PR - TPR * FPR + 1 / PR >= 0.5),
        ("-PR * -TPR >= 0.5", PR * TPR >= 0.5),
        ("(PR - TPR) * (PR + 1) <= 1", (PR - TPR) * (PR + 1) <= 1),
        ("quantile[i, 0.1] >= 2", quantile("i", 0.1) >= 2),
        ("VaR[i, .1 | race == 'A'] >= 2", quantile("i", 0.1, given=A) >= 2),
        ("median[i | race == 'A'] >= median[i]", median("i", given=A) >= median("i")),
        ("quantile[i, 0.5] >= 0", median("i") >= 0),
        ("CVaR[i, 0.05] >= 0.8 * CVaR[i, 0.5]", CVaR("i", 0.05) >= 0.8 * CVaR("i", 0.5)),
        ("var[i] <= 2", var("i") <= 2),
        ("IQR[i] <= 2", IQR("i") <= 2),
        ("IQR[i, 0.1, 0.9 | race == 'A'] <= 2", IQR("i", 0.1, 0.9, given=A) <= 2),
        ("median[`zip code`] <= 2", median("zip code") <= 2),
        ("PR <= 1 or TPR >= 0", (PR <= 1) | (TPR >= 0)),
        ("PR <= 1 or TPR >= 0 and FPR <= 1", (PR <= 1) | ((TPR >= 0) & (FPR <= 1))),
        ("(PR <= 1 or TPR >= 0) and FPR <= 1", ((PR <= 1) | (TPR >= 0)) & (FPR <= 1)),
        ("PR <= 1 or (TPR >= 0 or FPR <= 1)", (PR <= 1) | (TPR >= 0) | (FPR <= 1)),
        ("0.2 <= PR <= 0.4 or TPR >= 0", ((PR >= 0.2) & (PR <= 0.4)) | (TPR >= 0)),
        ("((PR <= 1)) or PR[a == 1 or b == 2] <= 1",
         (PR <= 1) | (PR((col("a") == 1) | (col("b") == 2)) <= 1)),
    ],
)  # fmt: skip
def test_text_and_python_build_the_same_tree(text: str, built: Statement) -> None:
    assert parse(text) == built


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age >= -3", col("age") >= -3),
        ("age < 1e-3", col("age") < 1e-3),
        ("18 <= age < 30", Compare(Literal(18), "<=", Column("age")) & (col("age") < 30)),
        ("race in ['A', 'B']", col("race").isin(["A", "B"])),
        ("race not in ['A']", ~col("race").isin(["A"])),
        ("not race in ['A']", ~col("race").isin(["A"])),
        ("not not race == 'A'", A),
        ("not race == 'A'", ~A),
        ("race == 'A' or race == 'B' and age > 3", A | (B & (col("age") > 3))),
        ("(race == 'A' or race == 'B') and age > 3", (A | B) & (col("age") > 3)),
        ("not (race == 'A' or race == 'B')", ~(A | B)),
        ("not race == 'A' and race == 'B'", ~A & B),
        (
            "flag == true and other == False",
            operator.eq(col("flag"), True) & operator.eq(col("other"), False),
        ),
        ("`zip code` == 1", col("zip code") == 1),
        ("`label` == 1", col("label") == 1),
        ("`decision` == 1", col("decision") == 1),
        ("label == 1", label == 1),
        ("income >= threshold", col("income") >= col("threshold")),
        ("E == 1 and max == 2 and PR == 3", (col("E") == 1) & (col("max") == 2) & (col("PR") == 3)),
        ("android == 1", col("android") == 1),
        (r"name == 'O\'Hara \\ \x'", col("name") == r"O'Hara \ \x"),
        ('name == "it\'s | a ] [ trap"', col("name") == "it's | a ] [ trap"),
        ("größe == 'ü'", col("größe") == "ü"),
    ],
)
def test_conditions_read_as_they_are_built(text: str, condition: object) -> None:
    statement = parse(f"E[impact | {text}] >= 0")
    assert isinstance(statement, AtMost)
    assert isinstance(statement.right, Mean)
    assert statement.right.given == condition


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PR * (TPR * FPR) <= 1", "PR * (TPR * FPR) <= 1"),
        ("(PR * TPR) * FPR <= 1", "PR * TPR * FPR <= 1"),
        ("PR / (TPR * FPR) <= 1", "PR / (TPR * FPR) <= 1"),
        ("(PR + 1) / (TPR - 1) <= 1", "(PR + 1) / (TPR - 1) <= 1"),
        ("-(PR * TPR) + 1 >= 0", "-PR * TPR + 1 >= 0"),
        ("1 - PR * TPR >= 0", "1 - PR * TPR >= 0"),
        ("3 / PR <= 1", "3 * 1 / PR <= 1"),
        ("VaR[i, 0.1 | a == 1] >= 2", "quantile[i, 0.1 | a == 1] >= 2"),
        ("quantile[i, 0.5] >= 2", "median[i] >= 2"),
        ("IQR[i] <= 2", "quantile[i, 0.75] - quantile[i, 0.25] <= 2"),
        ("(PR <= 1 or TPR >= 0) and FPR <= 1", "(PR <= 1 or TPR >= 0) and FPR <= 1"),
        ("PR <= 1 or (TPR >= 0 and FPR <= 1)", "PR <= 1 or (TPR >= 0 and FPR <= 1)"),
    ],
)
def test_the_text_of_a_tree_has_the_brackets_it_needs(text: str, shown: str) -> None:
    assert str(parse(text)) == shown
    assert parse(shown) == parse(text)


def test_products_and_quotients_know_their_place() -> None:
    text = "2 * PR * PR[a == 1] - E[i] / (FPR + CVaR[i, 0.1]) <= median[i] or var[i] <= 3"
    statement = parse(text)
    assert all(node.span is not None for node in walk(statement))
    places = {type(n).__name__: n.span.excerpt for n in walk(statement) if n.span is not None}
    assert places["Product"] == "2 * PR * PR[a == 1]"
    assert places["Quotient"] == "E[i] / (FPR + CVaR[i, 0.1])"
    assert places["ConditionalValueAtRisk"] == "CVaR[i, 0.1]"
    assert places["Quantile"] == "median[i]"
    assert places["Variance"] == "var[i]"
    assert places["AnyOf"] == text


def test_rates_are_averages_of_events() -> None:
    chosen = Compare(Decision(), "==", Positive())
    spared = Compare(Decision(), "!=", Positive())
    positive = Compare(Label(), "==", Positive())
    negative = Compare(Label(), "!=", Positive())
    assert PR(A) == Mean(chosen, A)
    assert TPR(A) == Mean(chosen, positive & A)
    assert FPR(A) == Mean(chosen, negative & A)
    assert TNR(A) == Mean(spared, negative & A)
    assert FNR(A) == Mean(spared, positive & A)
    assert FNR() == Mean(spared, positive)
    assert accuracy(A) == Mean(Compare(Decision(), "==", Label()), A)
    # With the decision after the bar, a quotient of two averages.
    assert PPV(A) == Mean(chosen & positive, A) / Mean(chosen, A)
    assert NPV(A) == Mean(spared & negative, A) / Mean(spared, A)
    assert FDR() == Mean(chosen & negative) / Mean(chosen)
    assert parse("PPV[race == 'A'] >= 0.7") == (PPV(A) >= 0.7)
    assert parse("P[label == positive | decision == positive and race == 'A'] >= 0.7") == (
        PPV(A) >= 0.7
    )


def test_every_rate_and_statistic_has_its_python_name() -> None:
    for name in RATES:
        assert getattr(elfair, name) == parse_expression(name)
        assert str(getattr(elfair, name)(A)) == f"{name}[race == 'A']"
    makes = {make.__name__: make for make in BEYOND_THE_MEAN.values()}
    assert all(getattr(elfair, name) is make for name, make in makes.items())
    assert {*RATES, *makes} <= {*elfair.__all__}


def test_a_quotient_takes_a_condition_only_if_it_is_one_of_averages() -> None:
    assert (E("gain") / E("cost"))(A) == E("gain", given=A) / E("cost", given=A)
    with pytest.raises(ConstraintError, match="not a quotient of two averages"):
        (median("gain") / E("cost"))(A)


def test_positive_is_the_positive_class_and_a_column_of_that_name_is_quoted() -> None:
    assert parse("P[decision == positive] <= 1") == (PR <= 1)
    quoted = parse("PR[`positive` == 1] <= 1")
    assert quoted == (PR(col("positive") == 1) <= 1)
    assert str(quoted) == "PR[`positive` == 1] <= 1"
    for text in ("positive == 1", "positive in [1]"):
        with pytest.raises(ConstraintError, match="must depend on the row"):
            parse(f"PR[{text}] <= 1")


def test_a_chain_is_one_statement_for_each_link() -> None:
    rate = PR()
    assert parse("0.2 <= PR <= 0.4") == All((AtMost(Number(0.2), rate), AtMost(rate, Number(0.4))))
    assert parse("0.4 >= PR >= 0.2") == All((AtMost(rate, Number(0.4)), AtMost(Number(0.2), rate)))
    assert parse("0.4 <= PR >= 0.2") == All((AtMost(Number(0.4), rate), AtMost(Number(0.2), rate)))


def test_numbers_in_conditions_stay_exact() -> None:
    statement = parse("PR[id == 9007199254740993] <= 1")
    (literal,) = [node for node in walk(statement) if isinstance(node, Literal)]
    assert literal.value == 9007199254740993
    assert isinstance(literal.value, int)


def test_true_is_read_as_a_truth_value() -> None:
    values = [
        n.value for n in walk(parse("PR[a == true or b == 1] <= 1")) if isinstance(n, Literal)
    ]
    assert [type(value) for value in values] == [bool, int]


def test_every_node_of_a_text_knows_its_place() -> None:
    text = "abs(2 * E[impact | not race in ['A'] or 18 <= age] - accuracy[sex == 1]) <= 0.1"
    statement = parse(text)
    places = {type(n).__name__: n.span.excerpt for n in walk(statement) if n.span is not None}
    assert all(node.span is not None for node in walk(statement))
    assert statement.span is not None
    assert statement.span.excerpt == text
    assert places["Abs"] == text.removesuffix(" <= 0.1")
    assert places["Scaled"] in ("2 * E[impact | not race in ['A'] or 18 <= age]",
                                "accuracy[sex == 1]")  # fmt: skip
    assert places["Not"] == "not race in ['A']"
    assert places["Or"] == "not race in ['A'] or 18 <= age"
    assert places["Member"] == "race in ['A']"


def test_spans_take_no_part_in_equality() -> None:
    near, far = parse("PR <= 0.5"), parse("   PR   <=   0.5")
    assert near.span != far.span
    assert near == far
    assert hash(near) == hash(far)


def test_long_sums_and_signs_are_read_without_recursion() -> None:
    many = parse(" + ".join(["PR"] * 1_000) + " <= 1")
    assert isinstance(many, AtMost)
    assert parse("-" * 10_001 + "PR <= 1") == (-PR() <= 1)
    assert parse("PR[" + "not " * 3_001 + "a == 1] <= 1") == (PR(Not(col("a") == 1)) <= 1)
    listed = parse(f"PR[a in [{', '.join(map(str, range(3_000)))}]] <= 1")
    (member,) = [node for node in walk(listed) if isinstance(node, Member)]
    assert len(member.values) == 3_000


def test_brackets_in_quotes_do_not_count_as_nesting() -> None:
    name = "[(" * 60
    assert parse(f"PR[a == '{name}' or `{name}` == \"{name}\"] <= 1") == (
        PR((col("a") == name) | (col(name) == name)) <= 1
    )


def test_the_deepest_allowed_nesting_is_usable() -> None:
    text = "(" * 49 + "PR + 1" + ")" * 49 + " <= 1"
    statement = parse(text)
    assert parse(str(statement)) == statement
    nested = "PR[" + "(a == 1 or (b == 2 and " * 24 + "c == 3" + "))" * 24 + "] <= 1"
    assert parse(str(parse(nested))) == parse(nested)
    assert isinstance(parse(nested), Statement)
    assert not isinstance(parse(nested), Expression)
