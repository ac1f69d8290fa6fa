"""Which rows meet a condition: kinds of columns, missing values, three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from elfair.errors import ConstraintError
from elfair.language.build import FNR, TPR, accuracy, col, decision, label
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.language.expressions import Mean
from elfair.language.parsing import parse
from elfair.language.tree import walk


@dataclass
class Rows:
    columns: dict[str, Any]
    label: Any = None
    positive: object = 1
    n: int = field(init=False)
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = list(self.columns)
        self.n = len(next(iter(self.columns.values())))

    def column(self, name: str) -> Any:
        return self.columns[name]


TABLE = Rows(
    {
        "age": np.array([17.0, 18.0, 29.0, 30.0, np.nan]),
        "count": np.array([0, 1, 2, 3, 4]),
        "small": np.array([0, 1, 2, 3, 250], dtype=np.uint8),
        "share": np.array([0.1, 0.2, 0.3, 0.4, 0.5], dtype=np.float32),
        "race": np.array(["A", "B", None, "A", np.nan], dtype=object),
        "code": np.array(["0", "1", "0", "1", "2"]),
        "flag": np.array([True, False, True, False, True]),
        "maybe": np.array([True, None, False, True, None], dtype=object),
        "mixed": np.array(["A", 1, None, "B", 2], dtype=object),
        "whole": np.array([1, None, 3, 2**60 + 1, 5], dtype=object),
        "gone": np.array([None] * 5, dtype=object),
        "nans": np.full(5, np.nan),
        "when": np.array(["2020-01-01", "NaT", "2021-01-01", "NaT", "NaT"], dtype="M8[D]"),
        "never": np.array(["NaT"] * 5, dtype="M8[D]"),
        "odd name": np.array([1, 0, 1, 0, 1]),
    },
    label=np.array([1, 0, 1, 0, 1]),
)


def condition_of(text: str) -> Condition:
    (mean,) = [node for node in walk(parse(f"P[{text}] <= 1")) if isinstance(node, Mean)]
    assert isinstance(mean.of, Condition)
    return mean.of


def met(text: str, table: Rows = TABLE, decided: object = None) -> list[int]:
    rows = holds(condition_of(text), table, decided)
    assert rows.dtype == np.bool_
    assert rows.shape == (table.n,)
    return [int(i) for i in np.flatnonzero(rows)]


def test_no_condition_is_met_by_every_row() -> None:
    assert holds(None, TABLE).tolist() == [True] * 5


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age >= 18", [1, 2, 3]),
        ("age < 18", [0]),
        ("18 <= age < 30", [1, 2]),
        ("age != 18", [0, 2, 3]),
        ("not age == 18", [0, 2, 3]),
        ("not age >= 18", [0]),
        ("count == 2", [2]),
        ("count > 1.5", [2, 3, 4]),
        ("count in [0, 4, 9]", [0, 4]),
        ("count == age", []),
        ("small > -1 and small < 300", [0, 1, 2, 3, 4]),
        ("count < 1000000000000000000000000000000", [0, 1, 2, 3, 4]),
        ("share == 0.1", [0]),
        ("share <= 1e300", [0, 1, 2, 3, 4]),
        ("share >= 1e300", []),
        ("race == 'A'", [0, 3]),
        ("race != 'A'", [1]),
        ("not race == 'A'", [1]),
        ("race in ['A', 'C']", [0, 3]),
        ("race not in ['A', 'C']", [1]),
        ("race == 'nobody'", []),
        ("code == '0'", [0, 2]),
        ("code != '0'", [1, 3, 4]),
        ("flag == true", [0, 2, 4]),
        ("flag == False", [1, 3]),
        ("flag == 1", [0, 2, 4]),
        ("flag != 0", [0, 2, 4]),
        ("flag in [0, 1]", [0, 1, 2, 3, 4]),
        ("maybe == true", [0, 3]),
        ("maybe != true", [2]),
        ("maybe == 0", [2]),
        ("whole >= 3", [2, 3, 4]),
        ("whole == 1152921504606846977", [3]),
        ("whole == 1152921504606846976", []),
        ("gone == 'A' or gone == 1 or not gone > 2", []),
        ("nans == 'A' or nans == 1 or not nans > 2", []),
        ("never == 1", []),
        ("`odd name` == 1", [0, 2, 4]),
        ("label == 1", [0, 2, 4]),
        ("label != 1", [1, 3]),
        ("`odd name` == label", [0, 1, 2, 3, 4]),
        ("flag == label", [0, 1, 2, 3, 4]),
        ("2 < count", [3, 4]),
        ("'A' == race", [0, 3]),
    ],
)
def test_rows_that_meet_a_condition(text: str, rows: list[int]) -> None:
    assert met(text) == rows


@pytest.mark.parametrize(
    ("text", "decided", "rows"),
    [
        ("decision == 1", 1, [0, 1, 2, 3, 4]),
        ("decision == 1", 0, []),
        ("decision == label", 1, [0, 2, 4]),
        ("decision != label", np.int64(1), [1, 3]),
        ("decision in [0, 1] and race == 'A'", np.int64(0), [0, 3]),
        ("decision == label", True, [0, 2, 4]),
    ],
)
def test_the_decision_stands_for_a_class(text: str, decided: object, rows: list[int]) -> None:
    assert met(text, decided=decided) == rows


def test_rates_on_text_classes() -> None:
    table = Rows({"x": np.zeros(4)}, label=np.array(["no", "yes", "yes", "no"]), positive="yes")
    assert holds(TPR().given, table).tolist() == [False, True, True, False]
    assert holds(FNR().of, table, np.str_("no")).tolist() == [True] * 4
    assert holds(FNR().of, table, "yes").tolist() == [False] * 4
    assert holds(accuracy().of, table, "no").tolist() == [True, False, False, True]


# Kleene's tables: known true, known false, unknown.
VALUES = {"true": True, "false": False, "unknown": None}
AND = {("true", "true"): "true", ("true", "unknown"): "unknown", ("unknown", "unknown"): "unknown"}
OR = {("false", "false"): "false", ("false", "unknown"): "unknown",
      ("unknown", "unknown"): "unknown"}  # fmt: skip


def kleene(table: dict[tuple[str, str], str], otherwise: str, a: str, b: str) -> str:
    return table.get((a, b), table.get((b, a), otherwise))


@pytest.mark.parametrize("a", VALUES)
@pytest.mark.parametrize("b", VALUES)
def test_kleene_truth_tables(a: str, b: str) -> None:
    table = Rows({name: np.array([VALUES[v]], dtype=object) for name, v in (("a", a), ("b", b))})
    table.columns["sure"] = np.array([True])
    table.names.append("sure")

    def found(condition: Condition) -> str:
        # "sure" keeps a column of one missing value from being all there is to look at.
        if holds(condition, table)[0]:
            return "true"
        return "false" if holds(~condition, table)[0] else "unknown"

    left, right = col("a") == 1, col("b") == 1
    assert found(left) == a
    assert found(~left) == {"true": "false", "false": "true", "unknown": "unknown"}[a]
    assert found(left & right) == kleene(AND, "false", a, b)
    assert found(left | right) == kleene(OR, "true", a, b)
    assert found(~(left & right)) == found(~left | ~right)


@pytest.mark.parametrize("nothing", [None, np.nan, float("nan"), pd.NaT, pd.NA, Decimal("NaN")])
def test_every_sort_of_missing_value(nothing: object) -> None:
    table = Rows({"race": np.array(["A", nothing, "B"], dtype=object)})
    assert met("race == 'A'", table) == [0]
    assert met("race != 'A'", table) == [2]
    assert met("not race in ['A']", table) == [2]
    assert table.columns["race"][1] is nothing  # the table is only read


def test_variable_width_text_of_numpy() -> None:
    kind = np.dtypes.StringDType(na_object=None)
    table = Rows({"race": np.array(["A", None, "B"], dtype=kind)})
    assert met("race != 'A'", table) == [2]


def test_no_rows_at_all() -> None:
    table = Rows({"race": np.array([], dtype=object), "age": np.array([])})
    assert met("race == 'A' and age > 3 and decision == 1", table, 1) == []


def failure(text: str, table: Rows = TABLE, decided: object = None) -> list[str]:
    with pytest.raises(ConstraintError) as caught:
        met(text, table, decided)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("rase == 'A'", "^^^^", "no column 'rase'; columns: age, count,", "did you mean 'race'?"),
        ("race == Black", "        ^^^^^", "no column 'Black'", "quotes: 'Black'"),
        ("count == '0'", "         ^^^", "column 'count' holds numbers; it is compared with '0'",
         "write count == 0 without quotes."),
        ("'0.5' < age", "^^^^^", "holds numbers", "write 0.5 < age without quotes."),
        ("count in [0, 'x']", "             ^^^", "holds numbers", "with a number."),
        ("age == 'nan'", "       ^^^^^", "holds numbers", "with a number."),
        ("count == true", "         ^^^^", "holds numbers; it is compared with true",
         "write count == 1."),
        ("code == 0", "        ^", "column 'code' holds text; it is compared with 0",
         "write code == '0' in quotes."),
        ("race in ['A', 7]", "              ^", "holds text", "write race == '7' in quotes."),
        ("race == true", "        ^^^^", "holds text", "write race == 'true' in quotes."),
        ("flag == 'True'", "        ^^^^^^", "holds true/false values",
         "write flag == true without quotes."),
        ("flag == 'yes'", "        ^^^^^", "holds true/false values", "with true or false"),
        ("flag == 2", "        ^", "holds true/false values; it is compared with 2",
         "with true or false"),
        ("label == '1'", "         ^^^", "'label' holds numbers",
         "write label == 1 without quotes."),
        ("decision == '1'", "            ^^^", "'decision' holds numbers",
         "write decision == 1 without quotes."),
        ("race < 'B'", "^^^^^^^^^^", "'<' orders numbers; column 'race' holds text", "use =="),
        ("race >= code", "^^^^^^^^^^^^", "'>=' orders numbers", "use =="),
        ("flag > false", "^^^^^^^^^^^^", "'>' orders numbers", "use =="),
        ("race == count", "^^^^^^^^^^^^^", "column 'race' holds text, and column 'count' holds num",
         "of one kind"),
        ("mixed == 'A'", "^^^^^", "holds a mix of numbers and text", "convert it to"),
        ("when == '2020-01-01'", "^^^^", "holds datetime64 values", "convert it to"),
    ],
)  # fmt: skip
def test_errors_on_data_point_at_the_text(text: str, place: str, message: str, hint: str) -> None:
    found = failure(text, decided=1)
    assert message in found[0]
    assert found[1] == f"    P[{text}] <= 1"
    assert found[2] == f"      {place}"
    assert found[3].startswith("Hint: ")
    assert hint in found[3]


def test_the_message_for_an_unknown_column_in_full() -> None:
    table = Rows({"race": np.array(["Black"]), "sex": np.array(["F"])})
    (mean,) = (n for n in walk(parse("E[impact | rase == 'Black'] >= 0")) if isinstance(n, Mean))
    with pytest.raises(ConstraintError) as caught:
        holds(mean.given, table)
    assert str(caught.value) == (
        "no column 'rase'; columns: race, sex.\n"
        "    E[impact | rase == 'Black'] >= 0\n"
        "               ^^^^\n"
        "Hint: did you mean 'race'?"
    )


def test_at_most_ten_columns_are_named() -> None:
    table = Rows({f"c{i}": np.zeros(1) for i in range(12)})
    assert failure("zzz == 1", table)[0].endswith("c8, c9, ....")
    assert "c10" not in failure("zzz == 1", table)[0]


def test_a_label_that_is_not_there() -> None:
    table = Rows({"x": np.zeros(2)})
    found = failure("label == 1", table)
    assert found[0] == "the label is needed here, but y was not given."
    assert found[2] == "      ^^^^^"
    (mean,) = (n for n in walk(parse("0.5 <= TPR[x == 0]")) if isinstance(n, Mean))
    with pytest.raises(ConstraintError) as caught:
        holds(mean.given, table)
    assert str(caught.value).splitlines()[2] == "           ^^^"


def test_a_decision_outside_an_event() -> None:
    with pytest.raises(ConstraintError, match="'decision' has no value here"):
        holds(decision == 1, TABLE)


def test_errors_of_trees_from_python_have_no_place() -> None:
    with pytest.raises(ConstraintError) as caught:
        holds(label == "1", TABLE)
    assert str(caught.value).splitlines() == [
        "'label' holds numbers; it is compared with '1'.",
        "Hint: write label == 1 without quotes.",
    ]


def test_what_is_no_condition() -> None:
    with pytest.raises(TypeError, match="expected a condition"):
        holds(TPR(), TABLE)
