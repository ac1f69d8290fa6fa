"""Features: what is read, and scikit-learn's own words where it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from elfair.data.features import read_features
from elfair.errors import DataError, FeatureTypeError

VALUES = {"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, 1.5, 2.5]}
MATRIX = np.array([[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_bring_names(make: Any) -> None:
    features, names = read_features(make(VALUES))
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
    features, names = read_features(X)
    np.testing.assert_array_equal(features, MATRIX)
    assert features.dtype == np.float64
    assert names == ["x0", "x1", "x2"]


def test_a_matrix_of_floats_is_not_copied() -> None:
    assert read_features(MATRIX)[0] is MATRIX


def test_categories_of_numbers_are_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Categorical([3, 1]), "b": pd.array([1, 2], dtype="Int64")})
    np.testing.assert_array_equal(read_features(frame)[0], [[3, 1], [1, 2]])


def test_names_that_are_numbers() -> None:
    frame = pd.DataFrame({1: [10, 11], 0: [20, 21]})
    features, names = read_features(frame)
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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_missing_and_infinite_features_are_named(bad: float) -> None:
    rows: list[list[Any]] = [[1.0, 2.0], [1.0, bad], [1.0, bad]]
    words = "contains NaN or infinity in 2 of 3 rows"
    refused(rows, "Input X " + words, "'x1'", "only on candidate rows")
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        error = refused(make({"a": [1.0] * 3, "b": [r[1] for r in rows]}), words, "columns 'b'")
        assert "'a'" not in str(error)


def test_infinities_that_cancel_are_seen() -> None:
    refused([[np.inf], [-np.inf]], "2 of 2 rows")


def test_large_finite_features_pass() -> None:
    features, _ = read_features(np.full((3, 2), 1e308))  # their sum overflows
    assert np.isfinite(features).all()


def test_masked_features_are_missing() -> None:
    refused(np.ma.masked_array(np.ones((2, 2)), np.eye(2)), "contains NaN")


@pytest.mark.parametrize("text", ["red", "1"])
@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        lambda d: pd.DataFrame(d, dtype=object),
        lambda d: pd.DataFrame(d).astype({"colour": "category"}),
        pl.DataFrame,
        pa.table,
    ],
)
def test_text_is_named(make: Any, text: str) -> None:
    X = make({"age": [1.0, 2.0], "colour": [text, text]})
    refused(X, f"feature 'colour' must hold numbers. Got '{text}'", "OneHotEncoder")


@pytest.mark.parametrize("dtype", [None, object])
def test_text_in_an_array_is_named(dtype: Any) -> None:
    X = np.array([["1", "2"], ["3", "4"]], dtype=dtype)
    refused(X, "feature 'x0' must hold numbers. Got '1'")
    refused([[1.0, "a"], [2.0, "b"]], "must hold numbers. Got ")
    mixed = np.array([[1.0, "a"], [2.0, "b"]], dtype=object)
    refused(mixed, "feature 'x1' must hold numbers. Got 'a'")


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_dates_are_no_features(make: Any) -> None:
    days = np.array(["2020-01-01", "2020-01-02"], dtype="M8[us]")
    refused(make({"age": [1.0, 2.0], "day": days}), "feature 'day' must hold numbers")
    refused(days[:, None], "feature 'x0' must hold numbers")
    refused(make({"z": np.array([1j, 2])}) if make is dict else {"z": [1j, 2]}, "feature 'z' must")
