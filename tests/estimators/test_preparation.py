"""Preparation is part of the model: learnt on candidate rows alone, kept, and repeated."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import elfair
from elfair import ELFClassifier, LoggedData
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import Split
from elfair.errors import DataError

N = 1500
CONSTRAINTS = ["E[impact | group == 'A'] >= 0.3", "E[impact | age >= 40 and city == 'Graz'] >= 0.3"]


def messy(n: int = N, seed: int = 0) -> tuple[pd.DataFrame, dict]:
    """A table with gaps in every column, and what was logged about its people."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    city = rng.choice(["Graz", "Linz", "Wien"], n, p=[0.5, 0.3, 0.2]).astype(object)
    day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n).astype("m8[D]")
    label = (age / 10 - 4 + (city == "Graz") + rng.logistic(size=n) > 0.5).astype(int)
    decision = rng.integers(0, 2, n)
    age[rng.random(n) < np.where(age > 45, 0.2, 0.05)] = np.nan  # not at random
    city[rng.random(n) < 0.1] = None
    member = pd.array(rng.choice([True, False], n), dtype="boolean")
    member[rng.random(n) < 0.1] = pd.NA
    frame = pd.DataFrame({"age": age, "city": city, "day": day, "member": member})
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], n))
    logged = {
        "y": label,
        "sensitive_features": {"group": rng.choice(["A", "B"], n)},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": (decision == label) + rng.normal(0, 0.1, n),
    }
    return frame, logged


def fitted(X, logged, **parameters):
    with counted_in(LooksOfProcess()):
        return ELFClassifier(CONSTRAINTS, candidates=1, **parameters).fit(X, **logged)


@pytest.mark.parametrize("split", ["random", "crossfit"])
@pytest.mark.parametrize("transformer", [False, True])
def test_a_model_file_repeats_it_and_verify_learns_it_again(split, transformer, tmp_path):
    frame, logged = messy()
    preprocessor = None
    if transformer:
        text = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        preprocessor = make_column_transformer((text, ["city"]), (numbers, ["age"]))
    model = fitted(frame, logged, split=split, preprocessor=preprocessor)
    assert model.solution_found_
    model.save(tmp_path / "model.elfair")
    again = elfair.load(tmp_path / "model.elfair")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.certificate_.digests.model == model.certificate_.digests.model
    data = LoggedData(frame, **logged)
    assert elfair.verify(model.certificate_, data=data, model=again).passed


def test_pandas_and_polars_give_the_same_model():
    frame, logged = messy()
    one, other = fitted(frame, logged), fitted(pl.from_pandas(frame), logged)
    assert one.certificate_.digests == other.certificate_.digests


class Spy(TransformerMixin, BaseEstimator):
    """Writes down the rows that it is fitted to."""

    seen: ClassVar[list[np.ndarray]] = []

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        Spy.seen.append(np.asarray(X)[:, 0].copy())
        return self

    def transform(self, X):
        return np.asarray(X) - self.mean_


@pytest.mark.parametrize("split", ["random", "crossfit"])
def test_no_held_out_row_is_seen_when_it_is_learnt(split):
    _, logged = messy()
    X = np.column_stack([np.arange(N), np.random.default_rng(0).normal(size=N)]).astype(float)
    Spy.seen.clear()
    with counted_in(LooksOfProcess()):
        ELFClassifier(CONSTRAINTS[0], preprocessor=Spy(), split=split).fit(X, **logged)
    folds = Split.of(LoggedData(X, **logged), split, share=0.6, folds=5).folds
    assert [set(rows) for rows in Spy.seen] == [set(fold.candidate.position) for fold in folds]


def test_what_only_held_out_rows_show_changes_no_model():
    """The default preparation: other values in held-out rows, the same model."""
    frame, logged = messy()
    held_out = Split.of(LoggedData(frame, **logged), "random", share=0.6).folds[0].sealed.open()
    other = frame.copy()
    other.loc[held_out.position, "age"] = 1e6
    other.loc[held_out.position, "city"] = "Melk"
    constraint = CONSTRAINTS[0]
    models = []
    for X in (frame, other):
        with counted_in(LooksOfProcess()):
            model = ELFClassifier(constraint, candidates=1).fit(X, **logged)
        models.append(model.certificate_.digests.model)
    assert models[0] == models[1]


def test_new_levels_and_gaps_are_decided_about():
    frame, logged = messy()
    model = fitted(frame, logged)
    new = frame.iloc[:3].copy()
    new["city"], new["age"], new["day"] = ["Bregenz", None, "Graz"], np.nan, pd.NaT
    new["kind"] = ["z", None, "x"]
    assert np.isfinite(model.predict_proba(new)).all()
    with pytest.raises(DataError, match="feature 'age' must hold numbers, as in the rows"):
        model.predict(new.assign(age=["old", "old", "young"]))
    with pytest.raises(DataError, match="feature 'city' must hold levels such as 'Graz'"):
        model.predict(new.assign(city=[1, 2, 3]))


def test_plain_numbers_have_no_preparation():
    _, logged = messy()
    X = np.column_stack([logged["y"] * 3.0, np.arange(N) % 7])
    with counted_in(LooksOfProcess()):
        model = ELFClassifier(CONSTRAINTS[0]).fit(X, **logged)
    assert all(each.preparation is None for each in model.fitted_.ladder)
    with pytest.raises(DataError, match="contains NaN in 1 of 1 rows"):
        model.predict([[np.nan, 0.0]])
