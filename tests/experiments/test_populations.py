"""Populations by name: what exists is made, and what does not is named."""

from __future__ import annotations

import inspect
import os

import pytest

from elfair.errors import InputError
from elfair.experiments import POPULATIONS, FosterCare, Lending, make_population


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
        ("fico-lending", {"folder": "nowhere", "group_1": 7}, "named by text. Got 7"),
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


def test_every_setting_is_optional():
    for make in POPULATIONS.values():
        for parameter in inspect.signature(make).parameters.values():
            assert parameter.default is not inspect.Parameter.empty
