"""Fairlearn's randomised classifier, as the mixture that it is."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from elfair.experiments.baselines.methods import mixture_of
from elfair.experiments.baselines.registry import get_method
from elfair.populations import FosterCare

# Fairlearn itself, called here directly, has ways with pandas that will end.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn")

POPULATION = FosterCare()


def search(constraint, label=None, seed=0, **settings):
    draw = POPULATION.sample(1000, seed)
    label = draw.label if label is None else np.full(1000, label)
    search = ExponentiatedGradient(LogisticRegression(), constraint, **settings)
    return search.fit(draw.features, label, sensitive_features=draw.group)


@pytest.fixture(scope="module")
def seen():
    return POPULATION.sample(3000, seed=9).features


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "constraint"),
    [
        ("fairlearn-demographic-parity", DemographicParity),
        ("fairlearn-equalized-odds", EqualizedOdds),
    ],
)
def test_the_mixture_decides_as_fairlearn_does(seen, name, constraint, seed):
    model = get_method(name).fit(POPULATION.sample(1000, seed), [], delta=0.1, seed=seed)
    assert len(model.rules) > 1
    assert min(model.shares) > 0
    theirs = search(constraint(), seed=seed)._pmf_predict(seen)
    np.testing.assert_allclose(model.predict_proba(seen), theirs, atol=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_a_constant_member_stays_constant(seen, label):
    fitted = search(DemographicParity(), label, max_iter=3)
    assert isinstance(fitted.predictors_[0], DummyClassifier)
    mixture = mixture_of(fitted, seen.shape[1])
    np.testing.assert_array_equal(mixture.predict_proba(seen)[:, label], 1.0)
    np.testing.assert_array_equal(mixture.predict_proba(seen), fitted._pmf_predict(seen))


def test_what_has_not_converged_says_so():
    fitted = search(DemographicParity(), max_iter=1)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations with a duality gap"):
        mixture_of(fitted, 5)


def test_warnings_that_matter_get_through():
    draw = POPULATION.sample(300, seed=0)
    huge = draw.features * [1e6, 1e-6, 1.0, 1e4, 1.0]
    method = get_method("fairlearn-demographic-parity")
    with pytest.warns(ConvergenceWarning):
        method.fit(type(draw)(**{**vars(draw), "features": huge}), [], delta=0.1, seed=0)
