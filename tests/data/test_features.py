"""Features: what is read, and scikit-learn's own words where it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from elfair.data.features import days, kind_of, read_features
from elfair.errors import DataError, FeatureTypeError

VALUES = {"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, 1.5, 2.5]}
MATRIX = np.array([[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_bring_names(make: Any) -> None:
    given = read_features(make(VALUES))
    features, names = given.numbers, given.names
    np.testing.assert_array_equal(features, MATRIX)
    assert features.dtype == np.float64
    assert features.flags.c_contiguous
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    "X",
    [
        MATRIX,
        MATRIX.tolist(),
        tuple(map(tuple, MATRIX)),
        MATRIX.astype(object),
        MATRIX.astype("f4"),
    ],
)
def test_arrays_get_names(X: Any) -> None:
    given = read_features(X)
    features, names = given.numbers, given.names
    np.testing.assert_array_equal(features, MATRIX)
    assert features.dtype == np.float64
    assert names == ["x0", "x1", "x2"]


def test_a_matrix_of_floats_is_not_copied() -> None:
    assert read_features(MATRIX).numbers is MATRIX


def test_whole_numbers_that_may_be_missing_are_numbers() -> None:
    frame = pd.DataFrame({"b": pd.array([1, 2], dtype="Int64")})
    np.testing.assert_array_equal(read_features(frame).numbers, [[1], [2]])


@pytest.mark.parametrize(
    "make",
    [
        lambda d: pd.DataFrame(d).astype("category"),
        lambda d: pa.table(
            {name: pa.array(values).dictionary_encode() for name, values in d.items()}
        ),
    ],
)
def test_numbers_that_are_declared_a_category_are_levels(make: Any) -> None:
    raw = read_features(make({"code": [3, 1, 3]})).raw
    assert raw is not None
    assert raw["code"].tolist() == [3, 1, 3]
    assert kind_of(raw["code"]) == "levels"


def test_names_that_are_numbers() -> None:
    frame = pd.DataFrame({1: [10, 11], 0: [20, 21]})
    given = read_features(frame)
    features, names = given.numbers, given.names
    assert names == ["1", "0"]
    np.testing.assert_array_equal(features, [[10, 20], [11, 21]])


def refused(X: Any, *words: str) -> DataError:
    with pytest.raises(DataError) as caught:
        read_features(X)
    assert str(caught.value).splitlines()[-1].startswith("Hint: ")
    for word in words:
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "X", [np.ones(3), [1.0, 2.0], pd.Series([1.0]), pl.Series([1.0]), pa.chunked_array([[1.0]])]
)
def test_one_dimension_is_too_few(X: Any) -> None:
    refused(X, "Reshape your data")


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones((3, 0)), "0 feature(s) (shape=(3, 0)) while a minimum of 1 is required"),
        (pd.DataFrame(index=range(3)), "0 feature(s) (shape=(3, 0)) while a minimum of 1"),
        (np.ones((0, 3)), "0 sample(s) (shape=(0, 3)) while a minimum of 1 is required"),
        (pd.DataFrame({"a": []}), "0 sample(s)"),
        (pl.DataFrame({"a": []}), "0 sample(s)"),
        ({}, "while a minimum of 1 is required"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        ([[1, 2], [3]], "inhomogeneous"),
    ],
)
def test_scikit_learn_says_what_is_wrong(X: Any, words: str) -> None:
    refused(X, words)


@pytest.mark.parametrize(
    "make", [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.dok_matrix, sp.dok_array]
)
def test_sparse_features_are_refused(make: Any) -> None:
    assert isinstance(refused(make(np.eye(2)), "parse"), TypeError)


def test_objects_are_refused() -> None:
    X = np.ones((2, 2), dtype=object)
    X[1, 1] = {"foo": "bar"}
    error = refused(X, "argument must be a string or a real number")
    assert isinstance(error, FeatureTypeError)
    assert isinstance(error, TypeError)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("beside", [1.0, "text"])
def test_infinite_features_are_named(bad: float, beside: Any) -> None:
    values = [2.0, bad, bad]
    words = "contains infinity in 2 of 3 rows"
    refused([[1.0, value] for value in values], "Input X " + words, "'x1'")
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        error = refused(make({"a": [beside] * 3, "b": values}), words, "columns 'b'")
        assert "'a'" not in str(error)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_missing_numbers_are_nan(make: Any) -> None:
    raw = read_features(make({"a": [1, None, 3], "b": [True, None, False]})).raw
    assert raw is not None
    np.testing.assert_array_equal(raw["a"], [1, np.nan, 3])
    np.testing.assert_array_equal(raw["b"], [1, np.nan, 0])
    for rows in ([[1.0, None]], [[1.0, np.nan]]):
        given = read_features(rows)
        assert given.raw is not None
        assert np.isnan(given.raw["x1"]).all()
        with pytest.raises(DataError, match=r"contains NaN in 1 of 1 rows .*columns 'x1'"):
            _ = given.numbers


def test_infinities_that_cancel_are_seen() -> None:
    refused([[np.inf], [-np.inf]], "2 of 2 rows")


def test_large_finite_features_pass() -> None:
    features = read_features(np.full((3, 2), 1e50)).numbers  # as large as may be
    assert np.isfinite(features).all()


def test_masked_features_are_missing() -> None:
    raw = read_features(np.ma.masked_array(np.ones((2, 2)), np.eye(2))).raw
    assert raw is not None
    np.testing.assert_array_equal(raw["x0"], [np.nan, 1])


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        lambda d: pd.DataFrame(d, dtype=object),
        lambda d: pd.DataFrame(d).astype({"colour": "category"}),
        lambda d: pd.DataFrame(d).astype({"colour": "string"}),
        pl.DataFrame,
        lambda d: pl.DataFrame(d).with_columns(pl.col("colour").cast(pl.Categorical)),
        pa.table,
    ],
)
def test_text_and_categories_are_levels(make: Any) -> None:
    raw = read_features(make({"age": [1.0, 2.0, 3.0], "colour": ["red", None, "1"]})).raw
    assert raw is not None
    assert raw["colour"].tolist() == ["red", None, "1"]
    np.testing.assert_array_equal(raw["age"], [1, 2, 3])
    with pytest.raises(DataError, match=r"feature 'colour' must hold numbers\. Got 'red'"):
        _ = read_features(make({"age": [1.0], "colour": ["red"]})).numbers


@pytest.mark.parametrize("dtype", [None, object])
def test_text_in_an_array_is_read(dtype: Any) -> None:
    raw = read_features(np.array([["1", "2"], ["3", "4"]], dtype=dtype)).raw
    assert raw is not None
    assert raw["x1"].tolist() == ["2", "4"]
    mixed = read_features(np.array([[1.0, "a"], [2.0, None]], dtype=object)).raw
    assert mixed is not None
    assert mixed["x1"].tolist() == ["a", None]
    np.testing.assert_array_equal(mixed["x0"], [1, 2])


DAY = datetime(2020, 1, 2, 12)


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        lambda d: pd.DataFrame(d, dtype=object),
        pl.DataFrame,
        pa.table,
        lambda d: np.array([[value] for value in d["day"]], dtype=object),
    ],
)
def test_dates_are_days(make: Any) -> None:
    zone = timezone(timedelta(hours=1))
    for value, day in (
        (DAY.date(), 18263.0),
        (DAY, 18263.5),
        (DAY.replace(tzinfo=zone), 18263 + 11 / 24),
    ):
        raw = read_features(make({"day": [value, None]})).raw
        assert raw is not None
        (column,) = raw.values()
        assert kind_of(column) == "date"
        np.testing.assert_allclose(days(column), [day, np.nan])
    (column,) = (read_features(make({"day": [timedelta(days=2), None]})).raw or {}).values()
    np.testing.assert_array_equal(days(column), [2, np.nan])


def test_what_is_no_feature_is_refused() -> None:
    refused({"z": np.array([1j, 2])}, "feature 'z' must hold numbers")
    refused({"z": [b"a", b"b"]}, "feature 'z' must hold numbers")
    refused(pd.DataFrame({"z": [[1], [2]]}), "z")


def test_two_kinds_in_one_column_are_counted() -> None:
    said = "feature 'age' holds numbers and text: text, such as 'n/a', in 2 of 4 rows"
    refused({"age": np.array([30, "n/a", 41, "?"], dtype=object)}, said, "replace it by None")


def test_text_that_looks_like_numbers_is_a_mistake() -> None:
    text = [str(k) for k in range(30)] + ["n/a"]
    refused(
        {"age": text}, "feature 'age' holds text that looks like numbers, such as '0': 30 of 31"
    )
    refused({"age": [f"{k},5" for k in range(30)]}, "1.5, not 1,5")
    assert read_features({"code": text[:5] * 10}).raw is not None
    assert read_features(pd.DataFrame({"code": pd.Categorical(text)})).raw is not None
