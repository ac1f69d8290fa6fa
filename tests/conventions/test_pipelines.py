"""ELFClassifier inside scikit-learn's own machinery: pipelines, searches, routed metadata."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import FitFailedWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from elfair import ELFClassifier
from elfair.populations import FosterCare
from elfair.report import Report

POPULATION = FosterCare(alpha=0.9)
DRAW = POPULATION.sample(1800, seed=31)
X = pd.DataFrame(DRAW.features, columns=list(DRAW.feature_names))
CONSTRAINTS = POPULATION.constraints[:2]

AS_ARRAYS = {
    "sensitive_features": DRAW.group,
    "decision": DRAW.decision,
    "propensity": DRAW.propensity,
    "impact": DRAW.impact,
}
AS_PANDAS = {
    "sensitive_features": pd.DataFrame({"T": DRAW.group}),
    "decision": pd.Series(DRAW.decision),
    "propensity": pd.Series(DRAW.propensity),
    "impact": pd.DataFrame({"impact": DRAW.impact}),
}
#: An array has no name of its own, and is called "sensitive".
OF_ARRAYS = [text.replace("T ==", "sensitive ==") for text in CONSTRAINTS]
BOTH = pytest.mark.parametrize(
    ("constraints", "logged"),
    [(OF_ARRAYS, AS_ARRAYS), (CONSTRAINTS, AS_PANDAS)],
    ids=["arrays", "pandas"],
)


def routed(clf):
    return clf.set_fit_request(sensitive_features=True, decision=True, propensity=True, impact=True)


def prefixed(logged, step="elfclassifier"):
    return {f"{step}__{name}": value for name, value in logged.items()}


@BOTH
def test_pipeline_without_routing(constraints, logged):
    pipe = make_pipeline(StandardScaler(), ELFClassifier(constraints))
    pipe.fit(X, DRAW.label, **prefixed(logged))
    assert pipe[-1].solution_found_
    assert pipe.predict_proba(X).shape == (1800, 2)
    assert pipe.score(X, DRAW.label) > 0.8
    assert set(pipe.predict(X)) == {0, 1}


@BOTH
def test_pipeline_with_routing(constraints, logged):
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), routed(ELFClassifier(constraints)))
        pipe.fit(X, DRAW.label, **logged)
        assert pipe[-1].solution_found_
        assert pipe.score(X, DRAW.label) > 0.8
        plain = make_pipeline(StandardScaler(), ELFClassifier(constraints))
        with pytest.raises(ValueError, match="are passed but are not explicitly set"):
            plain.fit(X, DRAW.label, **logged)


def test_scaling_before_it_changes_nothing_that_matters():
    pipe = make_pipeline(StandardScaler(), ELFClassifier(CONSTRAINTS))
    pipe.fit(X, DRAW.label, **prefixed(AS_PANDAS))
    alone = ELFClassifier(CONSTRAINTS).fit(X, DRAW.label, **AS_PANDAS)
    assert np.allclose(pipe.predict_proba(X), alone.predict_proba(X), atol=0.02)


def test_pandas_output_of_a_transformer_keeps_the_names():
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), ELFClassifier())
    pipe.fit(X, DRAW.label)
    assert pipe[-1].feature_names_in_.tolist() == list(X.columns)
    assert pipe[-1].n_features_in_ == 5
    arrays = make_pipeline(StandardScaler(), ELFClassifier()).fit(X, DRAW.label)
    assert not hasattr(arrays[-1], "feature_names_in_")
    assert np.allclose(pipe.predict_proba(X), arrays.predict_proba(X))


@BOTH
def test_grid_search_without_routing(constraints, logged):
    search = GridSearchCV(
        ELFClassifier(constraints), {"power": [0.99, 0.999]}, cv=2, error_score="raise"
    )
    search.fit(X, DRAW.label, **logged)
    assert search.best_estimator_.solution_found_
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.certificate_.n == 1800


@BOTH
def test_grid_search_with_routing(constraints, logged):
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            routed(ELFClassifier(constraints)), {"power": [0.99, 0.999]}, cv=2, error_score="raise"
        )
        search.fit(X, DRAW.label, **logged)
    assert search.best_estimator_.solution_found_


@BOTH
def test_grid_search_around_a_pipeline(constraints, logged):
    # With half of the rows, less 40 %, the plain t bound finds models at both points of the grid.
    clf = ELFClassifier(constraints, bound="ttest")
    pipe = Pipeline([("scale", StandardScaler()), ("elf", clf)])
    grid = {"elf__delta": [0.1, 0.2]}
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise")
    search.fit(X, DRAW.label, **prefixed(logged, "elf"))
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline([("scale", StandardScaler()), ("elf", routed(clone(clf)))])
        on = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(X, DRAW.label, **logged)
    assert np.array_equal(on.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_cross_validation_carries_the_columns():
    scores = cross_val_score(
        ELFClassifier(CONSTRAINTS), X, DRAW.label, cv=2, params=AS_PANDAS, error_score="raise"
    )
    assert (scores > 0.75).all()


def test_sample_weight_can_be_routed_to_score():
    with config_context(enable_metadata_routing=True):
        clf = routed(ELFClassifier(CONSTRAINTS)).set_fit_request(sample_weight=False)
        clf.set_score_request(sample_weight=True)
        weight = np.where(DRAW.label == 1, 1.0, 0.0)
        scores = cross_val_score(
            clf, X, DRAW.label, cv=2, params={**AS_PANDAS, "sample_weight": weight}
        )
    assert np.isfinite(scores).all()


def test_a_grid_point_without_a_solution_has_no_score_and_the_others_do():
    grid = {"constraints": ["accuracy >= 0.7", "accuracy >= 0.999"]}
    search = GridSearchCV(ELFClassifier(), grid, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, DRAW.label)
    means = search.cv_results_["mean_test_score"]
    assert np.isfinite(means[0])
    assert np.isnan(means[1])
    assert search.best_params_ == {"constraints": "accuracy >= 0.7"}
    assert any("NoSolutionFoundError" in str(warning.message) for warning in caught)
    # That is a failure to score, not a failure to fit: fit has a result.
    assert not any(issubclass(warning.category, FitFailedWarning) for warning in caught)


def test_a_grid_search_has_used_the_held_out_rows_and_the_certificates_say_so(counted):
    # Both grid points are tested on the same held-out rows of each fold.
    accepting = Recording(CONSTRAINTS, random_state=77, accept_violated=["opened_once"])
    search = GridSearchCV(accepting, {"power": [0.99, 0.999]}, cv=2, refit=False)
    Recording.seen = []
    search.fit(X, DRAW.label, **AS_PANDAS)
    assert sorted(Recording.seen) == [1, 1, 2, 2]


class Recording(ELFClassifier):
    """Remembers how often the held-out rows of each fit had been opened."""

    seen: list[int] = []  # noqa: RUF012

    def fit(self, X, y, **logged):
        super().fit(X, y, **logged)
        self.seen.append(self.certificate_.openings)
        return self


def outside(certificate):
    """What the certificate says was fitted outside the seal."""
    return [each.text for each in certificate.warnings if each.code == "fitted_outside"]


def test_a_certificate_names_the_steps_that_saw_held_out_rows():
    rows = X.assign(place=np.where(DRAW.group == 1, "a", "b"))
    rows.iloc[::7, 0] = np.nan
    encode = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    pipe = make_pipeline(encode, SimpleImputer(), ELFClassifier("accuracy >= 0.5", candidates=3))
    certificate = pipe.fit(rows, DRAW.label)[-1].certificate_
    (said,) = outside(certificate)
    assert "step 'columntransformer' of a Pipeline, ColumnTransformer (OneHotEncoder)" in said
    assert "step 'simpleimputer' of a Pipeline, SimpleImputer" in said
    for text in (certificate.explain(), certificate.explain(details=True)):
        assert "SimpleImputer" in text
    assert "SimpleImputer" in Report(certificate).markdown()


def test_a_pipeline_inside_another_names_the_steps_of_both():
    inner = make_pipeline(SimpleImputer(), ELFClassifier("accuracy >= 0.5", candidates=3))
    pipe = make_pipeline(StandardScaler(), inner).fit(X, DRAW.label)
    (said,) = outside(pipe[-1][-1].certificate_)
    assert "SimpleImputer" in said
    assert "StandardScaler" in said


def test_frozen_steps_and_plain_fits_are_no_leak():
    clf = ELFClassifier("accuracy >= 0.5", candidates=3)
    assert outside(clone(clf).fit(X, DRAW.label).certificate_) == []
    frozen = FrozenEstimator(StandardScaler().fit(X))
    pipe = make_pipeline(frozen, "passthrough", clf).fit(X, DRAW.label)
    assert outside(pipe[-1].certificate_) == []


def test_a_certificate_says_that_a_search_fitted_the_model():
    clf = ELFClassifier("accuracy >= 0.5", candidates=3)
    search = GridSearchCV(clf, {"delta": [0.1, 0.2]}, cv=2).fit(X, DRAW.label)
    (said,) = outside(search.best_estimator_.certificate_)
    assert "a search or cross-validation" in said


def test_the_fits_that_a_cross_validation_compares_say_so():
    clf = make_pipeline(StandardScaler(), ELFClassifier("accuracy >= 0.5", candidates=3))
    fits = cross_validate(clf, X, DRAW.label, cv=2, return_estimator=True)["estimator"]
    for each in fits:
        (said,) = outside(each[-1].certificate_)
        assert "a search or cross-validation" in said
        assert "StandardScaler" in said
