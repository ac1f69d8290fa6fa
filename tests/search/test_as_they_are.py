"""A scorer that handles missing values or categories gets them as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import elfair
from elfair import ELFClassifier, LoggedData
from elfair.errors import DataError, InputError

SEEN: list[object] = []
#: More levels than a preparation gives columns of their own.
ZIPS = [f"zip {k:02d}" for k in range(60)]
GAIN = "accuracy >= 0.6"


class Noted(ClassifierMixin, BaseEstimator):
    """Keeps what it was shown, and takes missing values and, if it says so, categories."""

    def __init__(self, categorical=True):
        self.categorical = categorical

    def fit(self, X, y):
        SEEN.append(X)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        SEEN.append(X)
        return np.full((len(X), self.classes_.size), 1 / self.classes_.size)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan, tags.input_tags.categorical = True, self.categorical
        return tags


@pytest.fixture(autouse=True)
def _forget():
    SEEN.clear()


def table(n=1500, seed=0):
    """The label follows from whether a zip code is even, and nothing else."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "city": rng.choice(["Graz", "Linz", None], n),
            "zip": rng.choice(ZIPS, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    frame.loc[::5, "age"] = np.nan
    frame.loc[::7, "since"] = pd.NaT
    even = frame["zip"].str[-2:].astype(int) % 2
    return frame, (even ^ (rng.random(n) < 0.05)).to_numpy(dtype=int)


def policy_of(clf):
    return clf.fitted_.models[0].policy


def test_a_scorer_that_takes_both_is_fitted_to_missing_values_and_categories():
    X, y = table()
    clf = ELFClassifier(scorer=Noted()).fit(X, y)
    assert all(isinstance(each, pd.DataFrame) for each in SEEN)
    shown = max(SEEN, key=len)  # the scorer that is kept is fitted to all rows: nothing is tested
    assert list(shown) == list(X)
    np.testing.assert_array_equal(shown["age"], X["age"])
    for name in ("city", "zip"):
        assert isinstance(shown[name].dtype, pd.CategoricalDtype)
        assert shown[name].astype(object).where(shown[name].notna(), None).tolist() == [
            None if pd.isna(each) else each for each in X[name]
        ]
    days = (X["since"] - pd.Timestamp(0)).dt.days
    np.testing.assert_array_equal(shown["since"], days)
    assert policy_of(clf).sees.categories


def test_levels_are_the_same_in_every_fit_and_unknown_ones_are_missing():
    X, y = table()
    clf = ELFClassifier(scorer=Noted()).fit(X, y)
    assert len({tuple(each["zip"].cat.categories) for each in SEEN}) == 1
    clf.predict(X[:2].assign(zip=["elsewhere", ZIPS[3]], city=[None, "Linz"]))
    assert SEEN[-1]["zip"].isna().tolist() == [True, False]
    assert SEEN[-1]["zip"].tolist()[1] == ZIPS[3]
    assert SEEN[-1]["zip"].cat.categories.tolist() == ZIPS


def test_a_scorer_that_takes_missing_values_alone_gets_indicators_of_levels():
    X, y = table()
    clf = ELFClassifier(scorer=Noted(categorical=False)).fit(X, y)
    shown = max(SEEN, key=len)
    assert isinstance(shown, np.ndarray)
    names = policy_of(clf).sees.names
    assert "age is missing" not in names
    np.testing.assert_array_equal(shown[:, names.index("age")], X["age"])
    linz = shown[:, names.index("city == 'Linz'")]
    np.testing.assert_array_equal(linz, X["city"] == "Linz")


@pytest.mark.parametrize(
    "scorer", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_other_scorers_see_the_prepared_numbers(scorer):
    X, y = table()
    clf = ELFClassifier(scorer=scorer).fit(X, y)
    policy = policy_of(clf)
    assert policy.sees is None
    assert policy.scorer.n_features_in_ == len(clf.fitted_.models[0].preparation.names)


def test_plain_numbers_and_a_preprocessor_are_shown_as_before():
    X, y = table()
    numbers = X[["age"]].fillna(0.0)
    plain = ELFClassifier(scorer=Noted()).fit(numbers, y)
    assert isinstance(SEEN[-1], np.ndarray)
    assert policy_of(plain).sees is None
    imputer = SimpleImputer()
    prepared = ELFClassifier(scorer=Noted(), preprocessor=imputer).fit(X[["age"]], y)
    assert isinstance(SEEN[-1], np.ndarray)
    assert not np.isnan(SEEN[-1]).any()
    assert policy_of(prepared).sees is None


def test_boosting_makes_more_of_categories_than_of_indicators():
    """Of 60 levels, a preparation shows 20; the label depends on all of them."""
    X, y = table()
    boosted = HistGradientBoostingClassifier(max_iter=30)
    blind = HistGradientBoostingClassifier(max_iter=30, categorical_features=None)
    clf = ELFClassifier(GAIN, scorer=boosted, looks=2).fit(X, y)
    without = ELFClassifier(GAIN, scorer=blind, looks=2).fit(X, y)
    accuracy = [0.6 - each.certificate_.constraints[0].estimate for each in (clf, without)]
    assert accuracy[0] > 0.9
    assert accuracy[0] > accuracy[1] + 0.1
    # And held-out rows had no part in it: their scores are those of new people.
    assert policy_of(clf).scorer.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("split", ["random", "crossfit"])
@pytest.mark.parametrize(
    "scorer", [HistGradientBoostingClassifier(max_iter=5), RandomForestClassifier(5, max_depth=3)]
)
def test_a_certificate_about_such_a_model_is_recomputed_and_searched_again(scorer, split, tmp_path):
    X, y = table(700, seed=3)
    constraint = "accuracy >= 0.1"
    clf = ELFClassifier(constraint, scorer=scorer, split=split, folds=2).fit(X, y)
    assert clf.solution_found_
    clf.save(tmp_path / "model.elfair")
    trusted = [
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    ]
    loaded = elfair.load(tmp_path / "model.elfair", trusted=trusted)
    new, _ = table(50, seed=9)
    new.loc[0, ["age", "city", "zip"]] = [np.nan, None, "elsewhere"]
    np.testing.assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))
    checked = elfair.verify(clf.certificate_, data=LoggedData(X, y), model=loaded, refit=True)
    assert checked.passed, checked.text()
    # What a scorer sees is covered by the digest of the model.
    policy = policy_of(loaded)
    other = type(policy)(**{**vars(policy), "sees": None})
    model = loaded.fitted_.models[0]
    assert type(model)(other, model.theta, model.preparation, model.setting).digest() not in (
        loaded.certificate_.digests.model,
        model.digest(),
    )


def test_what_kind_of_table_it_is_does_not_matter():
    X, y = table(600)
    scorer = HistGradientBoostingClassifier(max_iter=5)
    by_pandas = ELFClassifier(scorer=scorer).fit(X, y).predict_proba(X)
    arrow = pl.from_pandas(X)
    by_polars = ELFClassifier(scorer=scorer).fit(arrow, y).predict_proba(arrow)
    np.testing.assert_array_equal(by_pandas, by_polars)


def as_categories(X):
    return X.assign(city=X["city"].astype("category"), zip=X["zip"].astype("category")).drop(
        columns="since"
    )


def test_a_fitted_scorer_gets_the_columns_that_it_was_fitted_to():
    earlier, labels = table(seed=5)
    X, y = table(seed=6)
    fitted = HistGradientBoostingClassifier(max_iter=30).fit(as_categories(earlier), labels)
    X = X.drop(columns="since")
    clf = ELFClassifier(GAIN, scorer=FrozenEstimator(fitted)).fit(X, y)
    nobody = X[X["city"].isna()].head(1)  # whose city is known
    assert clf.predict_proba(nobody).shape == (1, 2)
    assert 0.6 - clf.certificate_.constraints[0].estimate > 0.9
    # A level that only the scorer knows is not lost.
    rare = X[X["zip"] != ZIPS[0]]
    kept = ELFClassifier(scorer=FrozenEstimator(fitted)).fit(rare, y[X["zip"] != ZIPS[0]])
    people = X[X["zip"] == ZIPS[0]]
    policy = policy_of(kept)
    shown = policy.sees.of({name: people[name].to_numpy() for name in people})
    np.testing.assert_array_equal(
        fitted.predict_proba(shown), fitted.predict_proba(as_categories(people.assign(since=0)))
    )


def test_a_fitted_pipeline_gets_the_raw_table():
    earlier, labels = table(seed=5)
    X, y = table(seed=6)
    encode = OneHotEncoder(handle_unknown="ignore")
    fitted = make_pipeline(encode, LogisticRegression()).fit(earlier[["zip"]], labels)
    clf = ELFClassifier(GAIN, scorer=FrozenEstimator(fitted)).fit(
        X[["zip"]], y, row_id=np.arange(len(X))
    )
    assert 0.6 - clf.certificate_.constraints[0].estimate > 0.9


def test_a_scorer_fitted_to_an_array_with_gaps_gets_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    fitted = DecisionTreeClassifier(max_depth=3).fit(X[:300], y[:300])
    clf = ELFClassifier(GAIN, scorer=FrozenEstimator(fitted)).fit(X[300:], y[300:])
    assert policy_of(clf).sees.columns[0].missing > 0
    assert 0.6 - clf.certificate_.constraints[0].estimate > 0.75


def test_a_scorer_fitted_to_other_columns_is_refused():
    earlier, labels = table(seed=5)
    X, y = table(seed=6)
    fitted = HistGradientBoostingClassifier(max_iter=5).fit(as_categories(earlier), labels)
    with pytest.raises(InputError, match="was fitted to other columns: 'age', 'city', 'zip'"):
        ELFClassifier(scorer=FrozenEstimator(fitted)).fit(X, y)


def test_text_in_a_column_of_numbers_is_an_error_for_such_a_scorer_too():
    X, y = table(600)
    clf = ELFClassifier(scorer=HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    with pytest.raises(DataError, match="feature 'age' must hold numbers"):
        clf.predict(X.assign(age="old"))
