"""LoggedData: what it takes, and what it refuses with what words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.data import LoggedData
from elfair.data.split import Split
from elfair.errors import DataError, ElfairError
from elfair.language.build import col
from elfair.language.evaluation import holds

N = 6
GOOD: dict[str, Any] = {
    "X": {"age": [17.0, 18.0, 19.0, 20.0, 21.0, 22.0], "height": [1, 2, 3, 4, 5, 6]},
    "y": [0, 1, 0, 1, 0, 1],
    "sensitive_features": {"race": ["A", "B", "A", "B", "A", "B"]},
    "decision": [0, 0, 1, 1, 0, 1],
    "propensity": [0.5, 0.25, 0.75, 0.5, 0.9, 0.1],
    "impact": {"income": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
    "row_id": ["a", "b", "c", "d", "e", "f"],
    "time": [3, 1, 4, 1, 5, 9],
}
BEHAVIOR = [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [0.5, 0.5], [0.9, 0.1], [0.9, 0.1]]


def make(**changes: Any) -> LoggedData:
    return LoggedData(**{**GOOD, **changes})


def refused(*words: str, **changes: Any) -> DataError:
    """The error of a change to good data: it holds the words, and ends with one hint."""
    with pytest.raises(DataError) as caught:
        make(**changes)
    lines = str(caught.value).splitlines()
    assert [line.startswith("Hint: ") for line in lines].count(True) == 1
    assert lines[-1].startswith("Hint: ")
    for word in words:
        assert word in str(caught.value)
    return caught.value


@dataclass
class Holder:
    """One way to hold a table and a column."""

    table: Callable[[dict[str, Any]], Any]
    column: Callable[[list[Any]], Any]


HOLDERS = {
    "array": Holder(lambda d: {k: np.array(v) for k, v in d.items()}, np.array),
    "list": Holder(dict, list),
    "pandas": Holder(pd.DataFrame, pd.Series),
    "pandas-object": Holder(
        lambda d: pd.DataFrame(d, dtype=object), lambda v: pd.Series(v, dtype=object)
    ),
    "pandas-nullable": Holder(
        lambda d: pd.DataFrame(d).convert_dtypes(), lambda v: pd.Series(v).convert_dtypes()
    ),
    "pandas-pyarrow": Holder(
        lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="pyarrow"),
        lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    ),
    "polars": Holder(pl.DataFrame, pl.Series),
    "pyarrow": Holder(pa.table, lambda v: pa.chunked_array([v[:2], v[2:]])),
    "pyarrow-array": Holder(pa.table, pa.array),
}


@pytest.fixture(params=HOLDERS)
def held(request: pytest.FixtureRequest) -> Holder:
    return HOLDERS[request.param]


# -- what it takes ------------------------------------------------------------------------------


def test_every_holder_gives_the_same_data(held: Holder) -> None:
    data = make(
        X=held.table(GOOD["X"]),
        y=held.column(GOOD["y"]),
        sensitive_features=held.table(GOOD["sensitive_features"]),
        decision=held.column(GOOD["decision"]),
        propensity=held.column(GOOD["propensity"]),
        impact=held.table(GOOD["impact"]),
        row_id=held.column(GOOD["row_id"]),
    )
    assert data.n == N
    assert data.feature_names == ["age", "height"]
    assert data.names == ["race", "age", "height"]
    assert data.features.dtype == np.float64
    np.testing.assert_array_equal(data.features[:, 1], np.arange(1, 7))
    np.testing.assert_array_equal(data.column("age"), np.arange(17, 23))
    assert data.column("race").tolist() == GOOD["sensitive_features"]["race"]
    assert data.classes.tolist() == [0, 1]
    assert data.label_index is not None
    assert data.label_index.tolist() == GOOD["y"]
    assert data.decision_index is not None
    assert data.decision_index.tolist() == GOOD["decision"]
    assert data.propensity is not None
    assert data.propensity.tolist() == GOOD["propensity"]
    assert data.impact("income").tolist() == GOOD["impact"]["income"]
    assert data.digest() == make().digest()


@pytest.mark.parametrize(
    ("label", "decision", "classes"),
    [
        (["no", "yes"] * 3, ["no", "no", "yes", "yes", "no", "yes"], ["no", "yes"]),
        ([False, True] * 3, [False, False, True, True, False, True], [False, True]),
        ([False, True] * 3, [0, 0, 1, 1, 0, 1], [False, True]),
        ([0.0, 1.0] * 3, [0, 0, 1, 1, 0, 1], [0, 1]),
        ([2, 5] * 3, [2, 2, 5, 5, 2, 5], [2, 5]),
    ],
)
def test_labels_of_any_one_kind(
    held: Holder, label: list[Any], decision: list[Any], classes: list[Any]
) -> None:
    data = make(y=held.column(label), decision=held.column(decision))
    assert data.classes.tolist() == classes
    assert data.label_index is not None
    assert data.label_index.tolist() == [0, 1] * 3
    assert data.decision_index is not None
    assert data.decision_index.tolist() == [0, 0, 1, 1, 0, 1]


def test_a_missing_group_is_allowed_and_meets_no_condition(held: Holder) -> None:
    data = make(
        sensitive_features=held.table({"race": ["A", None, "B", "A", None, "B"], "sex": [1] * 6})
    )
    assert holds(col("race") == "A", data).tolist() == [True, False, False, True, False, False]
    assert holds(col("race") != "A", data).tolist() == [False, False, True, False, False, True]
    assert holds(~(col("race") == "A"), data).tolist() == [False, False, True, False, False, True]


def test_a_missing_number_or_truth_among_groups(held: Holder) -> None:
    data = make(
        sensitive_features=held.table(
            {"age": [17.0, 18.0, 19.0, 20.0, 21.0, 22.0], "n": [1, 2, None] * 2,
             "b": [True, None, False] * 2}
        )
    )  # fmt: skip
    assert holds(col("n") >= 2, data).tolist() == [False, True, False] * 2
    assert holds(col("b") == False, data).tolist() == [False, False, True] * 2  # noqa: E712


CATEGORIES = {
    "pandas": pd.Series(["A", "B", None] * 2, dtype="category"),
    "pandas-str": pd.Series(["A", "B", None] * 2, dtype="str"),
    "pandas-string": pd.Series(["A", "B", None] * 2, dtype="string"),
    "polars": pl.Series(["A", "B", None] * 2, dtype=pl.Categorical),
    "polars-enum": pl.Series(["A", "B", None] * 2, dtype=pl.Enum(["B", "A"])),
    "pyarrow": pa.chunked_array([pa.array(["A", "B", None] * 2).dictionary_encode()]),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_text(kind: str) -> None:
    data = make(sensitive_features={"race": CATEGORIES[kind]})
    assert data.column("race").tolist() == ["A", "B", None] * 2
    assert holds(col("race") == "B", data).tolist() == [False, True, False] * 2


@pytest.mark.parametrize(
    "label",
    [
        pd.Series([0, 1] * 3, dtype="category"),
        pd.Series([0, 1] * 3, dtype="Int64"),
        pd.Series([0, 1] * 3, dtype="int64[pyarrow]"),
        pd.Series([0, 1] * 3, dtype=object),
        pl.Series([0, 1] * 3, dtype=pl.UInt8),
    ],
)
def test_categories_of_numbers_are_numbers(label: Any) -> None:
    data = make(y=label)
    assert data.classes.dtype.kind in "iu"
    assert data.classes.tolist() == [0, 1]


def test_dates_among_groups_pass_through(held: Holder) -> None:
    days = [datetime(2020, 1, day) for day in (1, 1, 2, 2, 3, 3)]
    data = make(sensitive_features=held.table({"born": days}))
    assert len(data.take(np.array([0, 5])).column("born")) == 2
    ((candidate, sealed),) = Split.of(data, "stratified", share=0.6).folds
    assert candidate.n + sealed.n == N


def test_more_than_two_classes() -> None:
    data = make(y=["b", "a", "c"] * 2, decision=["a", "b", "c", "a", "b", "c"])
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.decision_index is not None
    assert data.decision_index.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.behavior is None  # the propensity does not say how the rest is shared


def test_two_classes_know_the_other_decision() -> None:
    np.testing.assert_allclose(make().behavior, BEHAVIOR)


def test_classes_without_labels() -> None:
    assert make(y=None).classes.tolist() == [0, 1]
    data = make(y=None, classes=[2, 1, 0])
    assert data.classes.tolist() == [0, 1, 2]
    assert data.label_index is None
    assert LoggedData([[1.0]]).classes.size == 0


def test_positive_is_a_class() -> None:
    assert make().positive == 1
    assert make(positive=0).positive == 0
    refused("positive='1' is not a class", "0, 1", positive="1")


def test_a_single_impact_has_an_alias() -> None:
    data = make()
    assert data.impact_names == ["income", "impact"]
    assert data.impact_key("impact") == "income"
    np.testing.assert_array_equal(data.impact("impact"), data.impact("income"))
    assert make(impact=[1, 2, 3, 4, 5, 6]).impact_names == ["impact"]


def test_several_impacts_have_names_only() -> None:
    data = make(impact={"income": range(6), "health": range(6, 12)})
    assert data.impact_names == ["income", "health"]
    assert data.impact("health").tolist() == [6, 7, 8, 9, 10, 11]
    with pytest.raises(DataError, match="no impact 'impact'; impacts: 'income', 'health'"):
        data.impact("impact")
    with pytest.raises(DataError, match="did you mean 'health'"):
        data.impact("heath")
    with pytest.raises(DataError, match="impact was not given"):
        make(impact=None).impact("impact")
    assert make(impact=np.zeros((6, 2))).impact_names == ["impact_0", "impact_1"]


def test_a_series_brings_its_name() -> None:
    data = make(
        impact=pd.Series(range(6), name="income"), sensitive_features=pl.Series("race", range(6))
    )
    assert data.impact_names == ["income", "impact"]
    assert data.names == ["race", "age", "height"]
    assert make(sensitive_features=list("ABABAB")).names == ["sensitive", "age", "height"]


def test_a_feature_may_also_be_a_group() -> None:
    data = make(sensitive_features={"height": [1, 2, 3, 4, 5, 6]})
    assert data.names == ["height", "age"]
    words = "'height' is both a feature and a sensitive feature"
    refused(words, sensitive_features={"height": [1, 2, 3, 4, 5, 7]})
    refused(words, sensitive_features={"height": ["1", "2", "3", "4", "5", "6"]})
    refused(words, sensitive_features={"height": [1, 2, 3, 4, 5, None]})
    refused(words, sensitive_features={"height": np.arange(6).astype("M8[D]")})


# -- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "values", "named"),
    [
        ("y", [0, 1], "y has 2 rows, but X has 6"),
        ("sensitive_features", {"race": ["A"] * 7}, "sensitive feature 'race' has 7 rows"),
        ("decision", [0] * 5, "decision has 5 rows"),
        ("propensity", [0.5] * 7, "propensity has 7 rows"),
        ("impact", {"income": [1.0] * 5}, "impact 'income' has 5 rows"),
        ("row_id", [1, 2], "row_id has 2 rows"),
        ("X", {"age": [1.0] * 7}, "decision has 6 rows, but X has 7"),
    ],
)
def test_lengths_must_agree(what: str, values: Any, named: str) -> None:
    refused(named, **{what: values})


def test_all_mistakes_are_named_at_once_with_the_counts_of_all_rows() -> None:
    with pytest.raises(DataError) as caught:
        make(
            y=[0, None, 1, None, 1, 0],
            decision=[0, 1, None, 1, 0, 1],
            row_id=[1, 2, 3, 4, 5, 5],
            propensity=[0.5, 1.5, 50, 0.5, -1, 0.5],
            impact={"income": [1.0, "n/a", 2.0, "?", "n/a", float("inf")]},
        )
    said = str(caught.value)
    assert said.startswith("the table: 5 mistakes:")
    assert "y is missing in 2 of 6 rows (the first is row 1)" in said
    assert "decision is missing in 1 of 6 rows (the first is row 2)" in said
    assert "propensity must be in (0, 1]. Got 1.5, 50.0, -1.0 in 3 of 6 rows" in said
    assert "impact 'income' must hold numbers. Got 'n/a', '?' (object) in 3 of 6 rows" in said
    assert said.count("Hint:") == 5
    assert "[columns]" not in said


@pytest.mark.parametrize("what", ["y", "decision", "row_id"])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_nothing_may_be_missing(what: str, missing: object) -> None:
    values = pd.Series([0, 1, missing, 1, missing, 1], dtype=object)
    refused(f"{what} is missing in 2 of 6 rows (the first is row 2)", **{what: values})


def test_nothing_may_be_missing_in_any_holder(held: Holder) -> None:
    refused("y is missing in 2 of 6 rows", y=held.column([0, 1, None] * 2))
    refused("y is missing in 2 of 6 rows", y=held.column(["no", "yes", None] * 2))
    refused("decision is missing in 2 of 6 rows", decision=held.column([True, False, None] * 2))
    refused(
        "impact 'income' is missing in 3 of 6 rows", "not observed", "wait until",
        impact=held.table({"income": [1.0, None] * 3}),
    )  # fmt: skip
    refused("propensity must be in (0, 1]. Got nan", propensity=held.column([0.5, None] * 3))


def test_masked_entries_are_missing() -> None:
    masked = np.ma.masked_array(np.ones(6), [True] + [False] * 5)
    refused("impact 'impact' is missing in 1 of 6 rows", impact=masked)


def test_an_infinite_class_is_refused() -> None:
    refused("Input y contains infinity, in 1 of 6 rows", y=[0, 1, 0, 1, 0, np.inf])


@pytest.mark.parametrize("bad", [0, -0.1, 1.0000001, np.nan, np.inf])
def test_propensity_is_a_probability(bad: float) -> None:
    refused(
        f"propensity must be in (0, 1]. Got {float(bad)!r} in 1 of 6 rows (the first is row 2)",
        propensity=[0.5, 0.5, bad, 0.5, 0.5, 0.5],
    )


@pytest.mark.parametrize("bad", ["0.5", 1j, np.datetime64("2020-01-01"), [0.5]])
@pytest.mark.parametrize("what", ["propensity", "impact"])
def test_numbers_must_be_numbers(what: str, bad: object) -> None:
    values = np.fromiter([bad] * 6, dtype=object, count=6)
    refused("must hold numbers", "convert", **{what: values})


def test_impact_is_finite() -> None:
    refused("impact 'impact' is infinite in 1 of 6 rows", impact=[1, 2, 3, 4, 5, np.inf])


def test_propensity_needs_its_decision() -> None:
    refused("propensity was given without the decision", decision=None)
    refused("without y, decision", y=None, decision=None, propensity=None, behavior=BEHAVIOR)


def test_decisions_are_classes() -> None:
    refused(
        "decision holds values outside the classes in 2 of 6 rows: 2 among them. Classes: 0, 1.",
        "must name every decision and every label",
        decision=[0, 1, 2, 0, 1, 2], classes=[0, 1],
    )  # fmt: skip
    refused("y holds values outside the classes in 3 of 6 rows: 1", classes=[0, 2])
    refused("share no value", decision=np.arange(6).astype("M8[D]"))
    refused("decision must hold values", decision=np.fromiter([[0]] * 6, dtype=object))
    lists = np.fromiter([[0]] * 6, dtype=object)
    refused("outside the classes in 6 of 6 rows", decision=lists, classes=[0, 1])


def test_text_is_not_a_number() -> None:
    decided = "y holds 0, 1; decision holds '0', '1'."
    refused(decided, "'0' is not 0", decision=["0", "1"] * 3)
    refused("y holds '0', '1'; decision holds 0, 1.", "'0' is not 0", y=["0", "1"] * 3)
    refused("0 among them. Classes: '0', '1'.", "'0' is not 0", classes=["0", "1"])


@pytest.mark.parametrize(
    "label",
    [[0, "1"] * 3, np.array([0, "1"] * 3, dtype=object), pd.Series([0, "1"] * 3)],
    ids=["list", "array", "pandas"],
)
def test_labels_are_of_one_kind(label: Any) -> None:
    refused("y must hold values of one kind. Got a mixture of int, str.", y=label)


def test_row_ids_are_unique() -> None:
    refused("row_id must be unique. Got 1 more than once (2 repeated", row_id=[1, 1, 1, 2, 3, 4])
    refused("Got 'a' more than once (1 repeated", row_id=["b", "a", "a", "c", "d", "e"])
    refused("Got '1' more than once", row_id=[1, "1", "a", "c", "d", "e"])
    assert make(row_id=range(6)).row_id is not None
    assert make(row_id=["a", "a\0", "b", "c", "d", "e"]).row_id is not None


def test_names_and_scalars_are_not_columns() -> None:
    refused("sensitive_features must be one column", "'race'", sensitive_features="race")
    refused("propensity must be one column or a table of columns. Got str 'p'", propensity="p")
    refused("y must be one column. Got 2", y=np.zeros((6, 2)))
    refused("impact must have at least one column", impact={})
    refused("decision must be one column or a table", decision=np.zeros((6, 2, 2)))
    refused("rows of different lengths", impact=[[1, 2], [3], [1], [1], [1], [1]])


@pytest.mark.parametrize("what", ["X", "sensitive_features", "impact"])
def test_columns_of_one_name_are_refused(what: str) -> None:
    twice = pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])
    refused(f"{what} has two columns with the same name", **{what: twice})
    alike = pd.DataFrame(np.ones((6, 2)), columns=[0, "0"])
    refused(f"{what} has two columns with the same name, '0'", **{what: alike})


def test_lists_in_cells_are_refused() -> None:
    nested = pl.DataFrame({"race": [["A"], ["B"]] * 3})
    words = "must hold one value in each row"
    refused(f"sensitive_features 'race' {words}", sensitive_features=nested)
    refused(f"decision {words}", decision=pd.Series([[0]] * 6))


# -- parts of the table, and their fingerprint --------------------------------------------------

BY_ROW = ("matrix", "label", "label_index", "decision", "decision_index", "propensity",
          "behavior", "row_id", "time", "position")  # fmt: skip


@given(st.lists(st.integers(0, N - 1)))
def test_take_takes_every_column(rows: list[int]) -> None:
    data = make()
    part = data.take(np.array(rows, dtype=np.intp))
    assert part.n == len(rows)
    columns = {name: getattr(data, name) for name in BY_ROW}
    # Whatever has one entry a row must be taken, also what is added later.
    assert columns.keys() == {
        k for k, v in vars(data).items() if isinstance(v, np.ndarray) and len(v) == N
    }
    for name, whole in columns.items():
        np.testing.assert_array_equal(getattr(part, name), whole[rows])
    np.testing.assert_array_equal(part.sensitive["race"], data.sensitive["race"][rows])
    np.testing.assert_array_equal(part.impacts["income"], data.impacts["income"][rows])
    assert part.classes is data.classes
    assert data.n == N


@pytest.mark.parametrize("name", sorted({*BY_ROW} - {"label_index", "decision_index", "position"}))
def test_the_fingerprint_depends_on_every_column(name: str) -> None:
    data = make()
    other = getattr(data, name)[::-1].copy()
    other[0] = other[1]
    assert data.changed(**{name: other}).fingerprint() != data.fingerprint()


def test_taken_rows_are_a_copy() -> None:
    data = make(X=np.arange(12.0).reshape(6, 2))
    part = data.take(np.arange(6))
    part.features[:] = -1
    assert data.features.min() == 0


@given(st.permutations(range(N)))
def test_the_digest_does_not_depend_on_order(rows: list[int]) -> None:
    assert make().take(np.array(rows)).digest() == make().digest()


def test_the_digest_depends_on_all_that_was_logged() -> None:
    changed = {
        "X": {"age": [17.0, 18.0, 19.0, 20.0, 21.0, 22.5], "height": [1, 2, 3, 4, 5, 6]},
        "y": [1, 1, 0, 1, 0, 1],
        "decision": [1, 0, 1, 1, 0, 1],
        "propensity": [0.6, 0.25, 0.75, 0.5, 0.9, 0.1],
        "impact": [1.0, 2.0, 3.0, 4.0, 5.0, 6.5],
    }
    digests = [make().digest()] + [make(**{k: v}).digest() for k, v in changed.items()]
    digests += [make(y=None).digest(), make(decision=None, propensity=None).digest()]
    # Values that change places between rows make other rows of the same columns.
    digests.append(make(impact=GOOD["impact"]["income"][::-1]).digest())
    assert len(set(digests)) == len(digests)
    assert make().take(np.array([0, 0, 1])).digest() != make().take(np.array([0, 1, 1])).digest()


def test_the_digest_knows_people_under_another_grouping() -> None:
    other = make(
        sensitive_features={"sex": [1, 2] * 3}, row_id=None, impact=GOOD["impact"]["income"]
    )
    assert other.digest() == make().digest()
    assert make(y=["no", "yes"] * 3, decision=["no", "no", "yes", "yes", "no", "yes"]).digest() == (
        make().digest()
    )


def test_errors_are_value_errors_too() -> None:
    error = refused("y has 1 rows", y=[1])
    assert isinstance(error, ValueError)
    assert isinstance(error, ElfairError)


def test_an_impact_is_no_feature_and_no_group():
    rows = [[0.0], [1.0]]
    for logged in (
        {"impact": {"x0": [1.0, 2.0]}},
        {"impact": {"T": [1.0, 2.0]}, "sensitive_features": {"T": [0, 1]}},
    ):
        with pytest.raises(DataError, match=r"(?s)both an impact and a column.*Hint: rename"):
            LoggedData(rows, **logged)


def test_it_is_shown_in_a_line():
    assert repr(make()) == (
        "LoggedData(n=6, classes=[0, 1], features=2, groups=['race'], impacts=['income'])"
    )
