"""The table of parameters: what it allows, and that signatures and docstrings agree with it."""

from __future__ import annotations

import inspect
import re
from typing import get_args

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from elfair import E, E_logged, ELFClassifier, ELFRegressor, LoggedData, accuracy, certify, no_worse
from elfair.certificate import SplitKind
from elfair.errors import InputError
from elfair.estimators.parameters import PARAMETERS, check_parameters, from_study, parameters_of
from elfair.records.reading import REQUIRED

OWNERS = {"classifier": ELFClassifier, "regressor": ELFRegressor, "certify": certify}
#: What certify is told of data; not parameters.
DATA = {"probabilities", "data", "ledger", "self"}
NAN, INF = float("nan"), float("inf")
#: Values that are wrong whatever else is asked for.
WRONG = {
    "constraints": [None, 0.75, True, [None], ["accuracy >= 0.7", 3], {"a": 1}],
    "delta": [0, 1, 0.51, -0.1, NAN, INF, True, None, "0.1", [0.1, 2], [None], {"a": 0.1}],
    "objective": [None, 3, "", ["accuracy"], True],
    "positive": [[1], {"a": 1}, object(), (0, 1)],
    "classes": [0, "01", [], [[0], [1]], {"a": 1}, [None, 1]],
    "cost": [0, "free", True, object()],
    "scorer": ["trees", 3, LogisticRegression, LinearSVC(), object()],
    "policy": ["trees", None, 1, ["tree"]],
    "depth": [0, 3, 1.5, True, None, "2"],
    "leaf_rows": [0, -1, 2.5, None, "10"],
    "exploration": [0, 1.0, -0.1, NAN, True, None, "0.05", [0.1]],
    "spread": [
        (0.5, 0.2), (0.0, 0.5), (-0.1, 0.5), (0.1, 1.0), (0.1, 1.5), (0.1,), 0.5, None, "ab",
        ("a", "b"), (0.1, NAN), (0.1, 0.2, 0.3),
    ],
    "reach": [0, -1.0, NAN, INF, None, "far", True, (1, 2)],
    "estimator": ["ips", None, 1, ["paired"], True],
    "bound": ["beting", None, 0, ["ttest"]],
    "impact_range": [
        (1, 0), (0, 0), (0, INF), (NAN, 1), 3, "ab", (0,), (0, 1, 2), ("a", "b"), {"impact": 3},
        {"impact": (1, 0)}, (False, True),
    ],
    "Lambda": [0.9, 0, -1, INF, NAN, "2", True, [2.0], None],
    "shift": [0.9, 0, -1, INF, NAN, "2", True, [2.0], None],
    "propensity_floor": [0, -0.1, 1.5, NAN, "low", True, [0.1]],
    "average": ["person", None, 1, ["unit"], True],
    "search": ["grid", None, 3, "CMAES"],
    "power": [0, 1, 1.5, -0.5, NAN, "0.9", True, [0.9]],
    "inflation": [0, -1.0, NAN, INF, "2", True],
    "xi": [-0.1, NAN, INF, "small", True],
    "candidates": [0, -1, 1001, 2.0, "20", None, True, NAN],
    "candidate_fraction": [0, 1, 0.0, 1.0, -0.1, 1.5, NAN, "0.6", None, True],
    "split": ["magic", None, 1, "Random"],
    "folds": [0, 1, 2.0, "five", None, True],
    "outcome_model": ["ridge", 3, LogisticRegression],
    "preprocessor": ["scale", 3, StandardScaler, LogisticRegression()],
    "candidate_tuning": [3, "power", {"power": 0.9}, {"power": "0.9"}, {"power": []}, ["power"]],
    "looks": [0, -1, 2.0, "2", None, True],
    "accept_violated": [None, True, "tau_known", ["tau"], ["support"], [3], {"tau_known": 1}],
    "nuisance_fraction": [0, 1, "a", NAN, None, True],
    "random_state": [-1, 0.5, "0", True, np.random.default_rng(0)],
}  # fmt: skip
#: Values that are right, beside the defaults.
RIGHT = {
    "constraints": [
        "accuracy >= 0.7", ["accuracy >= 0.7"], np.array(["accuracy >= 0.7"]), accuracy >= 0.7,
        [E("impact") >= E_logged("impact")], no_worse("T"),
    ],
    "delta": [0.5, np.float32(0.25), [0.1, 0.05], np.array([0.1])],
    "positive": [1, "yes", True, np.int64(1)],
    "classes": [[0, 1], ("no", "yes"), np.array([0, 1])],
    "cost": [[[0, 1], [5, 0]], np.eye(2), {0: {0: 0, 1: 1}, 1: {0: 1, 1: 0}}],
    "preprocessor": [StandardScaler()],
    "scorer": [LogisticRegression()],
    "spread": [(0.5, 0.5), [0.1, 0.9], np.array([0.1, 0.2])],
    "reach": [1, 0.5, np.float32(2)],
    "impact_range": [(0, 1), [0, 1], np.array([-1.5, 2]), {"impact": (0, 1)}, {}],
    "Lambda": [1, 1.5, 20],
    "shift": [1, 1.5, 20],
    "propensity_floor": [1, 0.05],
    "power": [0.5],
    "inflation": [None, 2],
    "xi": [0, 0.5],
    "candidates": [1, np.int64(1000)],
    "folds": [2],
    "looks": [np.int64(2)],
    "accept_violated": [["tau_known"], ("opened_once", "mean_weight"), np.array(["tau_known"])],
    "random_state": [0, np.int64(7), 2**40],
}  # fmt: skip
N = 60
ROWS = {
    "X": np.arange(N, dtype=float)[:, None] % 7,
    "y": np.arange(N) % 2,
    "sensitive_features": {"T": np.arange(N) % 3},
    "decision": np.arange(N) // 2 % 2,
    "propensity": np.full(N, 0.5),
    "impact": np.arange(N) % 5 / 5,
}
CONSTRAINT = "E[impact] >= 0.1"


def cases(values):
    return [
        pytest.param(owner, parameter.name, value, id=f"{owner}-{parameter.name}-{value!r:.20}")
        for owner in OWNERS
        for parameter in parameters_of(owner).values()
        for value in values.get(parameter.name, [])
    ]


def fitted(owner, given):
    """Fit, or certify, on rows that only wrong parameters are an obstacle to."""
    if owner == "certify":
        known = {"constraints": CONSTRAINT, **given}
        return certify(np.full(N, 0.5), LoggedData(**ROWS), **known)
    rows = ROWS if owner == "classifier" else {**ROWS, "behavior_spread": 1.0}
    return OWNERS[owner](**given).fit(**rows)


@pytest.mark.parametrize(("owner", "name", "value"), cases(WRONG))
@pytest.mark.parametrize("constraints", [(), CONSTRAINT])
def test_a_wrong_value_is_an_error_that_names_the_parameter(owner, name, value, constraints):
    others = {} if owner == "certify" else {"constraints": constraints}
    with pytest.raises(InputError, match=rf"\A{name} must be .*Got ") as caught:
        fitted(owner, {**others, name: value})
    assert str(caught.value).count("\nHint: ") == 1


def test_every_parameter_has_wrong_values():
    assert set(WRONG) == {parameter.name for parameter in PARAMETERS}


@pytest.mark.parametrize(("owner", "name", "value"), cases(RIGHT))
def test_a_right_value_is_no_error(owner, name, value):
    others = {"power": None} if name == "inflation" and value else {}
    check_parameters(owner, {name: value, **others})


def test_an_error_says_what_is_allowed_what_was_got_and_what_it_is_for():
    with pytest.raises(InputError) as caught:
        ELFClassifier(power="x").fit(ROWS["X"], ROWS["y"])
    assert str(caught.value) == (
        "power must be a number in (0, 1), or None. Got 'x' instead.\n"
        "Hint: power is the wanted probability that each statement passes the test, as in "
        "power=0.95."
    )
    with pytest.raises(InputError, match=r"Hint: did you mean 'betting'\?"):
        ELFClassifier(bound="beting").fit(ROWS["X"], ROWS["y"])
    with pytest.raises(InputError, match=r"Hint: pass an object: scorer=LogisticRegression\("):
        ELFClassifier(scorer=LogisticRegression).fit(ROWS["X"], ROWS["y"])
    with pytest.raises(InputError, match=r"LinearSVC has no predict_proba; wrap it: Calibrated"):
        ELFClassifier(scorer=LinearSVC()).fit(ROWS["X"], ROWS["y"])


@pytest.mark.parametrize("given", [{"power": None}, {"inflation": 2.0}])
@pytest.mark.parametrize("constraints", [(), CONSTRAINT])
def test_power_or_inflation(given, constraints):
    with pytest.raises(InputError, match="give either power or inflation"):
        fitted("classifier", {"constraints": constraints, **given})


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"delta": [0.1]}, r"candidate_tuning can choose .*power, .* Got delta instead"),
        ({"powr": [0.1]}, "did you mean 'power'"),
        ({"power": [0.9, 1.5]}, r"candidate_tuning lists values of power, .* Got 1.5 instead"),
        ({"power": [0.9, None]}, "give either power or inflation"),
        ({"bound": ["auto", "ttest"]}, r"candidate_tuning can choose .* Got bound instead"),
        ({"estimator": ["paired", "is"]}, "cannot choose estimator='is'"),
    ],
)
@pytest.mark.parametrize("constraints", [(), CONSTRAINT])
def test_what_cannot_be_tuned(grid, words, constraints):
    with pytest.raises(InputError, match=words) as caught:
        fitted("classifier", {"constraints": constraints, "candidate_tuning": grid})
    assert str(caught.value).count("\nHint: ") == 1


def test_a_regressor_has_no_scorer_to_tune():
    with pytest.raises(InputError, match=r"can choose .* Got scorer instead"):
        fitted("regressor", {"candidate_tuning": {"scorer": [None]}})


@pytest.mark.parametrize("owner", OWNERS)
def test_signatures_agree_with_the_table(owner):
    signature = inspect.signature(OWNERS[owner]).parameters
    table = parameters_of(owner)
    assert set(signature) - DATA == set(table)
    for name, parameter in table.items():
        default = signature[name].default
        default = REQUIRED if default is inspect.Parameter.empty else default
        assert (name, default) == (name, parameter.defaults[owner])


@pytest.mark.parametrize("owner", OWNERS)
def test_docstrings_agree_with_the_table(owner):
    table = parameters_of(owner)
    doc = inspect.getdoc(OWNERS[owner])
    section = doc.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n\w+\n-{3,}\n", section)[0]
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    told = {name: line for line in lines for name in re.split(r", ", line.partition(" : ")[0])}
    assert set(told) - DATA == set(table)
    for name, parameter in table.items():
        kind = told[name].partition(" : ")[2]
        if found := re.search(r"default (.+)$", kind):
            assert (name, eval(found[1])) == (name, parameter.defaults[owner])
        if found := re.match(r"{(.+?)}", kind):
            choices = eval(f"[{found[1]}]")
            assert all(map(parameter.allowed.fits, choices))
            assert name == "objective" or set(choices) == set(parameter.allowed.choices)


def test_keys_of_study_files_are_different_in_all_tables():
    keys = ["kind", *(each.key for each in PARAMETERS if each.table)]
    assert len(set(keys)) == len(keys)


def test_what_a_study_file_shows_becomes_a_value_that_is_allowed():
    for each in PARAMETERS:
        if each.table and each.example is not None:
            assert from_study({each.key: each.example}).keys() == {each.name}
            each.check(from_study({each.key: each.example})[each.name])


def test_defaults_and_examples_are_allowed():
    for parameter in PARAMETERS:
        for default in parameter.defaults.values():
            assert default is REQUIRED or parameter.check(default) is None
        if parameter.example is not None:
            parameter.check(parameter.example)


def test_every_kind_of_split_can_be_asked_for():
    (split,) = (each for each in PARAMETERS if each.name == "split")
    not_asked_for = {"none", "continued"}  # without constraints, and after "no solution found"
    assert {*split.allowed.choices, *not_asked_for} == set(get_args(SplitKind))
