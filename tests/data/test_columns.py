"""From whatever holds columns to numpy."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elfair.data.columns import (
    as_floats,
    distinct,
    is_missing,
    named_columns,
    one_column,
    positions,
)
from elfair.errors import DataError, listed

DAY = dt.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([0, 1], "i", [0, 1]),
        (range(2), "i", [0, 1]),
        ([0, 0.5], "f", [0.0, 0.5]),
        ([True, False], "b", [True, False]),
        (["A", "B"], "O", ["A", "B"]),
        # What numpy would turn into text.
        (["A", float("nan")], "O", ["A", None]),
        (["A", pd.NA], "O", ["A", None]),
        ([0, "1"], "O", [0, "1"]),
        ([True, "1"], "O", [True, "1"]),
        (np.array(["A", "B"]), "O", ["A", "B"]),
        (np.array(["A", "B"], dtype=np.dtypes.StringDType()), "O", ["A", "B"]),
        (np.array(["A", np.nan], dtype=object), "O", ["A", None]),
        (np.ma.masked_array([1, 2], [True, False]), "O", [None, 2]),
        (np.ma.masked_array(["A", "B"], [False, False]), "O", ["A", "B"]),
        (pd.Index([1, 2]), "i", [1, 2]),
        (pd.Categorical(["A", None]), "O", ["A", None]),
        (pd.Series([1, None], dtype="Int64"), "O", [1, None]),
        (pd.Series([2**60 + 1, None], dtype="Int64"), "O", [2**60 + 1, None]),
        (pd.Series([1, 2], dtype="Int64"), "i", [1, 2]),
        (pd.Series([1.5, 2], dtype="Float64"), "f", [1.5, 2.0]),
        (pd.Series([True, None], dtype="boolean"), "O", [True, None]),
        (pd.Series([True, False], dtype="boolean"), "b", [True, False]),
        (pd.Series(["A", None]), "O", ["A", None]),
        (pd.Series(["A", None], dtype=object), "O", ["A", None]),
        (pd.Series([0, "1"], dtype=object), "O", [0, "1"]),
        (pd.Series([1, 2], dtype=object), "i", [1, 2]),
        (pd.Series([1, None], dtype="category"), "O", [1, None]),
        (pd.Series([True, False], dtype="category"), "b", [True, False]),
        (pd.Series(["A", None], dtype="string[pyarrow]"), "O", ["A", None]),
        (pd.Series([True, None], dtype="bool[pyarrow]"), "O", [True, None]),
        (pl.Series([True, None]), "O", [True, None]),
        (pl.Series([1, None]), "O", [1, None]),
        (pl.Series([None, None]), "O", [None, None]),
        (pl.Series(["1.5", "2"]).cast(pl.Decimal(10, 2)), "O", [Decimal("1.5"), Decimal(2)]),
        (pa.chunked_array([[1], [None]]), "O", [1, None]),
        (pa.array(["A", None]), "O", ["A", None]),
        (pa.chunked_array([pa.nulls(2)]), "O", [None, None]),
        (pd.Series([DAY, None]), "M", [DAY, None]),
        (pl.Series([DAY.date(), None]), "M", [DAY.date(), None]),
        (pa.chunked_array([[DAY, None]]), "M", [DAY, None]),
        (pl.Series([dt.time(1), None]), "O", [dt.time(1), None]),
        (pd.Series([DAY, None]).dt.tz_localize("UTC"), "M", [DAY, None]),
        (pd.Series(pd.to_timedelta(["1D", None])), "m", [dt.timedelta(1), None]),
    ],
)
def test_a_column_keeps_its_values(values: Any, kind: str, expected: list[Any]) -> None:
    column = one_column(values, "column")
    assert column.dtype.kind == kind
    unit = "us" if isinstance(expected[0], dt.datetime | dt.timedelta) else "D"
    shown = column.astype(f"{kind}8[{unit}]") if kind in "mM" else column
    assert shown.tolist() == expected
    assert [type(value) for value in shown.tolist()] == [type(value) for value in expected]
    assert is_missing(column).tolist() == [value is None for value in expected]


def test_names_of_columns() -> None:
    def names(values: Any) -> list[str]:
        return list(named_columns(values, "impact", default="impact"))

    assert names([1, 2]) == ["impact"]
    assert names(np.ones((3, 1))) == ["impact"]
    assert names(np.ones((3, 3))) == ["impact_0", "impact_1", "impact_2"]
    assert names(pd.Series([1])) == ["impact"]
    assert names(pl.Series([1])) == ["impact"]
    assert names(pd.Series([1], name=0)) == ["0"]
    assert names(pd.DataFrame([[1, 2]], columns=[1, 0])) == ["1", "0"]
    assert names(pd.DataFrame([[1, 2]], columns=["b", "a"])) == ["b", "a"]
    assert names({"b": pd.Series([1], name="c"), 3: [1]}) == ["b", "3"]
    assert names(pa.table({"b": [1], "a": [2]})) == ["b", "a"]


def test_columns_are_taken_by_place_where_names_are_numbers() -> None:
    columns = named_columns(pd.DataFrame({1: [10, 11], 0: [20, 21]}), "X", default="x")
    assert {name: column.tolist() for name, column in columns.items()} == {
        "1": [10, 11],
        "0": [20, 21],
    }


def test_columns_of_an_array_of_objects_are_read_one_by_one() -> None:
    columns = named_columns(np.array([["A", 1], [np.nan, 2]], dtype=object), "s", default="s")
    assert columns["s_0"].tolist() == ["A", None]
    assert columns["s_1"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "values",
    ["race", None, 0.5, np.zeros((3, 0)), np.zeros((2, 2, 2)), (i for i in range(3))],
)
def test_what_is_not_a_column(values: Any) -> None:
    with pytest.raises(DataError, match="impact must be one column or a table") as caught:
        named_columns(values, "impact", default="impact")
    assert str(caught.value).splitlines()[-1].startswith("Hint: pass the values themselves")


def test_a_lazy_frame_is_not_in_memory() -> None:
    with pytest.raises(DataError, match=r"Got LazyFrame .*\nHint: .* data frame in memory"):
        named_columns(pl.LazyFrame({"a": [1]}), "impact", default="impact")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([True, False]), [1, 0]),
        (np.array([1, 2], dtype=np.uint8), [1, 2]),
        (np.array([1, None, 0.5], dtype=object), [1, np.nan, 0.5]),
        (np.array([Decimal("0.5"), Fraction(1, 4), True, np.float32(2)], dtype=object),
         [0.5, 0.25, 1, 2]),
    ],
)  # fmt: skip
def test_numbers_as_floats(column: Any, expected: list[float]) -> None:
    floats = as_floats(column, "impact")
    assert floats.dtype == np.float64
    np.testing.assert_array_equal(floats, expected)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (np.array([1, "2"], dtype=object), "'2'"),
        (np.array(["2"]), "'2'"),
        (np.array([1j]), "1j"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "2020-01-01"),
        (np.array([1], dtype="m8[D]"), "timedelta64"),
    ],
)
def test_what_is_no_number_is_named(column: Any, shown: str) -> None:
    with pytest.raises(DataError, match=r"impact must hold numbers. Got .*\nHint: ") as caught:
        as_floats(column, "impact")
    assert shown in str(caught.value)


KEYS = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1),
    st.lists(st.sampled_from(["", "a", "b", "B", "ü"]), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)


@given(KEYS, st.data())
def test_positions_invert_distinct_values(values: list[Any], data: st.DataObject) -> None:
    column = one_column(values, "y")
    known = distinct(column)
    assert known.tolist() == sorted(set(values))
    index = positions(column, known)
    assert known[index].tolist() == column.tolist()
    lost = data.draw(st.integers(0, len(known) - 1))
    fewer = np.delete(known, lost)
    assert ((positions(column, fewer) < 0) == (column == known[lost])).all()


@pytest.mark.parametrize("value", ["0", 0.5, 7, -1, None, [0], dt.datetime(2020, 1, 1)])
def test_no_position_for_what_is_not_there(value: object) -> None:
    column = np.fromiter([value, 1], dtype=object, count=2)
    assert positions(column, np.array([0, 1]))[0] == -1
    assert (positions(column, np.array([], dtype=int)) == -1).all()


def test_numbers_of_different_kinds_have_the_same_position() -> None:
    known = np.array([0, 1])
    for column in ([0.0, 1.0], [False, True], np.array([0, 1], dtype=np.uint8)):
        assert positions(np.asarray(column), known).tolist() == [0, 1]
    objects = np.array([0, 1.0], dtype=object)
    assert positions(objects, known).tolist() == [0, 1]


def test_values_with_no_order_are_not_distinct() -> None:
    with pytest.raises(TypeError):
        distinct(np.array([0, "1"], dtype=object))


def test_long_lists_are_cut() -> None:
    assert listed(np.arange(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert listed(np.arange(11)).endswith("9, ...")
