"""The Python words, where they differ from text: numpy values, truth values, wrong types."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from elfair.errors import ConstraintError
from elfair.language.build import (
    IQR,
    PR,
    CVaR,
    E,
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
from elfair.language.conditions import Condition, Literal
from elfair.language.conjunction import conjuncts
from elfair.language.evaluation import are_disjoint
from elfair.language.expressions import AtMost, Number
from elfair.language.tree import walk

A = col("race") == "A"


def test_nothing_here_needs_the_parser() -> None:
    code = (
        "import sys; from elfair.language.build import E, col; "
        "from elfair.language.conjunction import conjuncts;"
        "conjuncts(E('impact', given=col('race') == 'A') >= 0); assert 'lark' not in sys.modules;"
        "conjuncts('PR <= 1'); assert 'lark' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numpy_scalars_are_numbers_and_values() -> None:
    assert np.float64(0.9) * E("i") == 0.9 * E("i")
    assert (np.float64(0.5) <= PR) == (PR >= 0.5)
    assert np.int64(1) - PR == 1 - PR
    assert maximum(np.float32(0.5), PR) == maximum(0.5, PR)
    condition = col("a") == np.int64(3)
    assert condition == (col("a") == 3)
    assert [type(n.value) for n in walk(condition) if isinstance(n, Literal)] == [int]
    assert (np.str_("A") == col("race")) == A
    assert col("a").isin(np.array([1, 2])) == col("a").isin([1, 2])


def test_operators_mirror() -> None:
    # Through operator, as a linter would turn the comparisons round.
    assert operator.le(18, col("age")) == (col("age") >= 18)
    assert operator.gt(18, col("age")) == (col("age") < 18)
    assert operator.eq("A", col("race")) == A
    assert operator.le(0.5, PR) == AtMost(Number(0.5), PR())
    assert operator.ge(0.5, PR) == AtMost(PR(), Number(0.5))
    assert Number(1.0) + -PR() == 1 - PR
    assert sum([PR(A), PR()]) == 0 + PR(A) + PR()
    assert PR == PR
    assert str(accuracy) == "accuracy"
    assert repr(label) == "label"


def test_sets_of_conditions_are_flat() -> None:
    B, C = col("race") == "B", col("age") > 3
    assert (A & B) & C == A & (B & C)
    assert (A | B) | C == A | (B | C)
    assert ~~A == A
    assert (PR <= 1) & ((PR >= 0) & (accuracy >= 0)) == ((PR <= 1) & (PR >= 0)) & (accuracy >= 0)
    assert (PR <= 1) | ((PR >= 0) | (accuracy >= 0)) == ((PR <= 1) | (PR >= 0)) | (accuracy >= 0)
    assert (PR <= 1) | ((PR >= 0) & (accuracy >= 0)) != ((PR <= 1) | (PR >= 0)) & (accuracy >= 0)


def test_products_hold_no_numbers_of_their_own() -> None:
    assert (2 * PR) * (3 * accuracy) == 6 * (PR * accuracy)
    assert (2 * PR) / (4 * accuracy) == 0.5 * (PR / accuracy)
    assert 3 / (2 * PR) == 1.5 * (1 / PR)
    assert (-PR) * (-accuracy) == PR * accuracy
    assert np.float64(2) / PR == 2 * (1 / PR)
    assert PR * accuracy != accuracy * PR
    assert Number(0.0) / PR == 0 * (1 / PR)


def test_true_and_one_do_not_exclude_each_other() -> None:
    # A row of a true/false column meets both, so two such groups may share rows.
    assert not are_disjoint(col("flag") == np.True_, col("flag") == 1)
    assert are_disjoint(col("flag") == np.True_, col("flag") == 0)


@pytest.mark.parametrize(
    "use",
    [
        lambda: 18 <= col("age") < 30,
        lambda: A and A,
        lambda: not A,
        lambda: 0.2 <= PR <= 0.4,
        lambda: (PR <= 1) and (PR >= 0),
        lambda: (PR <= 1) or (PR >= 0),
        lambda: bool(PR * PR),
        lambda: bool(PR),
        lambda: bool(col("race")),
    ],
)
def test_python_cannot_drop_half_of_a_statement(use: Callable[[], object]) -> None:
    with pytest.raises(ConstraintError, match=r"has no truth value until .*data\.\nHint"):
        use()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: PR < 0.5, "strict"),
        (lambda: PR > 0.5, "strict"),
        (lambda: PR / (0 * accuracy), "division by zero"),
        (lambda: quantile("i", 1.0), "strictly between 0 and 1. Got 1 instead"),
        (lambda: CVaR("i", 0), "strictly between 0 and 1. Got 0 instead"),
        (lambda: quantile("i", float("nan")), "Got nan instead"),
        (lambda: quantile("i", "0.1"), "must be a number between 0 and 1. Got '0.1' instead"),
        (lambda: quantile("i", True), "must be a number between 0 and 1. Got True instead"),
        (lambda: CVaR("i", None), "must be a number between 0 and 1. Got None instead"),
        (lambda: IQR("i", "a", 0.5), "between 0 and 1. Got 'a' instead"),
        (lambda: IQR("i", 0.75, 0.25), "in order. Got 0.75 and 0.25"),
        (lambda: var(""), "the name of a column must be non-empty text"),
        (lambda: median("i", given=True), "expected a condition. Got True"),
        (lambda: (PR <= 1) | A, "can be joined only with another statement"),
        (lambda: (PR <= 1) | True, "can be joined only with another statement. Got True"),
        (lambda: PR / 0, "division by zero"),
        (lambda: PR * float("nan"), "must be finite"),
        (lambda: PR + "1", "expected a statistic or a number. Got '1'"),
        (lambda: PR <= True, "expected a statistic or a number. Got True"),
        (lambda: operator.le(PR, col("a")), "expected a statistic or a number"),
        (lambda: PR("race == 'A'"), "expected a condition"),
        (lambda: E("i", given=False), "expected a condition. Got False"),
        (lambda: E(3), "expected a condition. Got 3"),
        (lambda: P("impact"), "expected a condition. Got 'impact'"),
        (lambda: A & True, "expected a condition. Got True"),
        (lambda: A | col("a"), "expected a condition. Got a "),
        (lambda: (PR <= 1) & A, "can be joined only with another statement"),
        (lambda: col(""), "the name of a column must be non-empty text"),
        (lambda: col(3), "the name of a column must be non-empty text. Got 3"),
        (lambda: E(""), "the name of a column must be non-empty text"),
        (lambda: operator.eq(col("a"), None), "Got None instead"),
        (lambda: col("a") == float("nan"), "Got nan instead"),
        (lambda: col("a") == 10**400, "text, a finite number, true or false"),
        (lambda: col("a") == [1], "Got [1] instead"),
        (lambda: col("a").isin("AB"), "isin takes a list"),
        (lambda: col("a").isin([]), "is the same for every row"),
        (lambda: PR(decision == 1), "only for the new model's probability"),
        (lambda: E("i", given=A & ~(decision == 1)), "only for the new model's probability"),
        (lambda: maximum(), "at least one expression"),
        (lambda: minimum(), "at least one expression"),
        (lambda: Number(1.0) <= 2, "holds no statistic"),
        (lambda: conjuncts(E("i") == 0), "Got False instead"),
    ],
)
def test_mistakes_in_python_are_explained(use: Callable[[], object], message: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        use()
    assert message in str(caught.value)
    assert str(caught.value).splitlines()[-1].startswith("Hint: ")


def test_a_single_extreme_is_the_thing_itself() -> None:
    assert maximum(PR(A)) == PR(A)
    assert minimum(2, 1) == Number(1.0)
    assert maximum(2, 1) == Number(2.0)


def test_label_and_decision_stand_for_themselves() -> None:
    assert isinstance(decision == label, Condition)
    assert str(P(label == decision)) == "P[label == decision]"
    assert str(P(decision == label)) == "accuracy"
