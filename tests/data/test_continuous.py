"""ContinuousData: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.data import ContinuousData, LoggedData
from elfair.errors import DataError

N = 30
RNG = np.random.default_rng(0)
GIVEN = {
    "y": RNG.normal(size=N),
    "sensitive_features": {"T": np.arange(N) % 2},
    "decision": RNG.normal(size=N),
    "propensity": RNG.uniform(0.1, 3.0, size=N),
    "behavior_spread": 0.5,
    "impact": RNG.normal(size=N),
}
X = RNG.normal(size=(N, 2))


def make(**changes):
    given = {**GIVEN, **changes}
    return ContinuousData(X, given.pop("y"), **given)


def with_row(name, row, value):
    column = np.array(GIVEN[name], dtype=float)
    column[row] = value
    return {name: column}


def refused(words, **changes):
    with pytest.raises(DataError, match=words) as caught:
        make(**changes)
    assert str(caught.value).count("\nHint: ") == 1
    return str(caught.value)


def test_densities_may_exceed_one():
    data = make()
    assert data.propensity.max() > 1
    assert (data.classes.size, data.label_index, data.decision_index, data.behavior) == (
        0, None, None, None,
    )  # fmt: skip
    np.testing.assert_array_equal(data.behavior_spread, np.full(N, 0.5))


@pytest.mark.parametrize("value", [0.0, -0.5, np.inf, np.nan])
@pytest.mark.parametrize("name", ["propensity", "behavior_spread"])
def test_what_must_be_positive_and_finite(name, value):
    column = np.full(N, 0.5)
    column[4] = value
    words = rf"{name} must be positive and finite\. Got {float(value)!r} in 1 of {N} rows .* row 4"
    assert ("density" if name == "propensity" else "deviation") in refused(words, **{name: column})


@pytest.mark.parametrize("value", [0, -1.0, np.inf])
def test_one_spread_for_all(value):
    refused(
        f"behavior_spread must be positive and finite. Got {float(value)!r} in {N} of {N} rows",
        behavior_spread=value,
    )


@pytest.mark.parametrize("name", ["y", "decision"])
def test_numbers_are_numbers(name):
    text = np.where(np.arange(N) % 2, "yes", "no")
    assert "ELFClassifier" in refused(f"{name} must hold numbers. Got 'no'", **{name: text})
    refused(f"Input {name} contains NaN, in 1 of {N} rows", **with_row(name, 3, np.nan))
    refused(f"Input {name} contains infinity, in 1 of {N} rows", **with_row(name, 3, np.inf))
    refused(f"{name} has 3 rows, but X has {N}", **{name: [1.0, 2.0, 3.0]})


def test_classes_in_disguise():
    words = f"decision holds only 2 different values in {N} rows"
    assert "ELFClassifier" in refused(words, decision=np.arange(N) % 2)
    # Where nothing is said of a density, it does not matter.
    assert make(decision=np.arange(N) % 2, propensity=None).propensity is None


def test_a_density_needs_its_decision():
    refused("propensity was given without the decision", decision=None)


def test_parts_and_joined_parts():
    data = make(behavior_spread=np.linspace(0.5, 1.5, N)).changed(thresholds=(1.0,))
    parts = data.take(np.arange(10)), data.take(np.arange(10, N))
    assert parts[0].n == 10
    assert parts[0].thresholds == (1.0,)
    whole = LoggedData.joined(parts)
    for name in ("features", "label", "decision", "propensity", "behavior_spread"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(data, name))


def test_thresholds_are_those_of_a_copy():
    data = make()
    asked = data.changed(thresholds=(1.0, 2.0))
    assert (data.thresholds, asked.thresholds) == ((), (1.0, 2.0))
    assert asked.fingerprint() == data.fingerprint()


def test_what_decisions_that_are_numbers_answer():
    data = make()
    assert data.decision_kind == "numbers"
    assert data.probability is None  # a density has no scale
    assert list(data.measured) == ["impact 'impact'", "the label", "the decision"]
    assert make(y=None, decision=None, propensity=None).measured.keys() == {"impact 'impact'"}


def test_the_digest_sees_every_logged_number():
    data = make()
    assert make().digest() == data.digest()
    assert data.take(np.arange(N)[::-1]).digest() == data.digest()
    for name in ("y", "decision", "propensity", "impact"):
        assert make(**with_row(name, 3, 0.125)).digest() != data.digest()
