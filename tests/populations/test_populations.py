"""Populations by name: what exists is made, and what does not is named."""

from __future__ import annotations

import inspect
import os

import numpy as np
import pytest

from elfair.errors import InputError
from elfair.populations import POPULATIONS, FosterCare, Lending, make_population


def test_names_make_the_populations_they_name():
    assert list(POPULATIONS) == ["foster-care", "lending", "fico-lending"]
    assert make_population("foster-care") == FosterCare()
    settings = {"alpha": 0, "strict": True, "clipped": True}
    assert make_population("foster-care", settings) == FosterCare(0, True, True)
    assert make_population("lending", {}).truth(lambda X: 0 * X[:, 0]).impact == {0: 0, 1: 0}
    assert isinstance(make_population("lending"), Lending)


@pytest.mark.skipif("ELFAIR_DATA" not in os.environ, reason="ELFAIR_DATA, with fico/, is not set")
def test_real_scores_are_found_by_the_environment_or_by_a_setting():
    usual = make_population("fico-lending")
    folder = os.path.join(os.environ["ELFAIR_DATA"], "fico")
    asian = make_population("fico-lending", {"folder": folder, "group_1": "Asian"})
    assert usual.table.groups == ("White", "Black")
    assert asian.table.groups == ("White", "Asian")


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("foster_care", {}, "'foster_care'. There are: foster-care, lending, fico-lending"),
        ("", {}, "There are"),
        (None, {}, "no population None"),
        (["lending"], {}, "There are"),
        ("foster-care", {"beta": 1}, "no setting 'beta'. Its settings are: alpha, strict, clipped"),
        ("foster-care", {"alpha": "0.9"}, r"number in \[0, 1\]. Got '0.9'"),
        ("foster-care", {"alpha": [0.9]}, r"Got \[0.9\]"),
        ("foster-care", {"alpha": None}, "Got None"),
        ("foster-care", {"alpha": True}, "Got True"),
        ("foster-care", {"alpha": 1.1}, "Got 1.1"),
        ("foster-care", {"strict": "no"}, "'strict' .* True or False. Got 'no'"),
        ("foster-care", {"clipped": 1}, "'clipped' .* True or False. Got 1"),
        ("lending", {"alpha": 0.9}, "no setting 'alpha'. It has no settings"),
        ("fico-lending", {"alpha": 0.9}, "Its settings are: folder, group_0, group_1"),
        ("fico-lending", {"folder": 3}, "folder must be a path. Got 3"),
        ("fico-lending", {"folder": "nowhere"}, "in the folder nowhere"),
        ("fico-lending", {"folder": "nowhere", "group_1": 7}, "must be text. Got 7"),
    ],
)
def test_errors_name_what_exists(name, settings, says):
    with pytest.raises(InputError, match=says) as caught:
        make_population(name, settings)
    assert "\nHint: " in str(caught.value)


def test_a_near_miss_is_suggested():
    with pytest.raises(InputError, match="did you mean 'foster-care'"):
        make_population("foster_care")
    with pytest.raises(InputError, match="did you mean 'alpha'"):
        make_population("foster-care", {"Alpha": 0.5})


@pytest.mark.parametrize("name", ["foster-care", "lending"])
@pytest.mark.parametrize("seed", [-1, 1.5, None, True, "1", [1, 2]])
def test_a_seed_must_be_one(name, seed):
    with pytest.raises(InputError, match="seed must be a whole number of at least 0"):
        make_population(name).sample(10, seed)


@pytest.mark.parametrize("name", ["foster-care", "lending"])
def test_a_seed_of_numpy_is_one(name):
    one, other = (make_population(name).sample(10, seed) for seed in (7, np.int64(7)))
    np.testing.assert_array_equal(one.features, other.features)


class Answering:
    """A model that gives every row the same two numbers."""

    def __init__(self, zero, one):
        self.row = [zero, one]

    def predict_proba(self, X):
        return np.tile(self.row, (len(X), 1))


@pytest.mark.parametrize("name", ["foster-care", "lending"])
@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (None, 'Got None instead.\nHint: None means "no solution found"'),
        ("hello", "must have predict_proba, or be a callable .* Got str instead"),
        (Answering, "Got the class Answering instead.\nHint: create an object of the class"),
        (Answering(0.5, 0.6), r"must sum to 1. Got \[0.5, 0.6\] in row 0"),
        (Answering(np.nan, 0.6), "must sum to 1"),
        (Answering(0.0, 0.0), "must sum to 1"),
    ],
)
def test_there_is_no_truth_of_what_is_no_policy(name, policy, says):
    with pytest.raises(InputError, match=says) as caught:
        make_population(name).truth(policy)
    assert "\nHint: " in str(caught.value)


@pytest.mark.parametrize("name", ["foster-care", "lending"])
def test_rounding_is_forgiven(name):
    population = make_population(name)
    exact, rounded = (population.truth(Answering(0.4 + e, 0.6)) for e in (0, 1e-7))
    assert exact == rounded


def test_every_setting_is_optional():
    for make in POPULATIONS.values():
        for parameter in inspect.signature(make).parameters.values():
            assert parameter.default is not inspect.Parameter.empty
