"""Statistics of decisions that are numbers: E[decision], mse."""

from __future__ import annotations

import pytest

from elfair.errors import ConstraintError
from elfair.language.build import E, E_logged, col, decision, label, mse
from elfair.language.conditions import Decision, Label, SquaredError, uses_decision, uses_label
from elfair.language.conjunction import conjuncts
from elfair.language.expressions import Mean
from elfair.language.parsing import parse

IN_A = col("race") == "A"


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("E[decision] <= 1", E(decision) <= 1),
        ("E[decision | race == 'A'] <= 1", E(decision, given=IN_A) <= 1),
        ("E_logged[decision] + 0.5 >= E[decision]", E_logged(decision) + 0.5 >= E(decision)),
        ("mse <= 2", mse <= 2),
        ("mse[race == 'A'] <= 2", mse(IN_A) <= 2),
    ],
)
def test_text_and_python_are_one_and_go_round(text, built):
    assert parse(text) == built
    assert parse(str(built)) == built


def test_what_they_use():
    assert uses_label(mse())
    assert uses_decision(mse())
    assert uses_decision(E(decision))
    assert not uses_label(E(decision))
    assert mse() == Mean(SquaredError(Decision(), Label()))


def test_an_absolute_difference_of_means_is_two_statements():
    texts = [c.text for c in conjuncts("abs(E[decision | T == 0] - E[decision | T == 1]) <= 0.1")]
    assert texts == [
        "E[decision | T == 0] - E[decision | T == 1] <= 0.1",
        "E[decision | T == 1] - E[decision | T == 0] <= 0.1",
    ]


def test_a_probability_needs_an_event_and_a_label_is_no_statistic():
    with pytest.raises(ConstraintError, match="P takes an event"):
        parse("P[decision] <= 1")
    with pytest.raises(ConstraintError, match="E takes the name of an impact"):
        parse("E[label] <= 1")
    with pytest.raises(ConstraintError, match="expected a condition"):
        E(label)
