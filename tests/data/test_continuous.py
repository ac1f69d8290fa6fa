"""ContinuousData: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.data import ContinuousData, LoggedData
from elfair.data.continuous import normal_density
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


MEANS = RNG.normal(size=N)
DENSITY = normal_density(GIVEN["decision"], MEANS, 0.5)


def test_densities_follow_from_means():
    data = make(propensity=None, behavior_mean=MEANS)
    np.testing.assert_allclose(data.propensity, DENSITY)
    np.testing.assert_array_equal(data.usual, MEANS)
    both = make(propensity=DENSITY * 1.005, behavior_mean=MEANS)  # logs round
    np.testing.assert_array_equal(both.propensity, data.propensity)
    assert set(make(propensity=None, behavior_mean=2).behavior_mean) == {2.0}
    assert make(decision=None, propensity=None, behavior_mean=MEANS).propensity is None


def test_means_that_make_no_sense():
    known = {"propensity": None, "behavior_mean": MEANS}
    refused("behavior_mean was given without behavior_spread", **known, behavior_spread=None)
    refused("behavior_mean must hold numbers. Got 'a'", **{**known, "behavior_mean": ["a"] * N})
    refused("Input behavior_mean contains NaN", **{**known, "behavior_mean": MEANS * np.nan})
    refused("behavior_mean has 2 rows, but X has 30", **{**known, "behavior_mean": [1.0, 2.0]})
    refused("decision holds only 2 different values", **known, decision=np.arange(N) % 2)
    words = "propensity and behavior_mean disagree in 1 of 30 rows: in row 4, propensity is"
    wrong = DENSITY * np.where(np.arange(N) == 4, 1.02, 1.0)
    refused(words, propensity=wrong, behavior_mean=MEANS)


@pytest.mark.parametrize("spread", [0.5, np.linspace(0.5, 2, 400)], ids=["same", "different"])
def test_densities_and_spreads_tell_the_means(spread):
    """Wherever the means are linear in the features: nothing is left open but the side."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(400, 3))
    mean = 7 + features @ [1.0, -2.0, 0.0]
    decision = mean + spread * rng.normal(size=400)
    given = {"decision": decision, "behavior_spread": spread}
    density = normal_density(decision, mean, spread)
    data = ContinuousData(features, **given, propensity=density)
    assert np.mean(np.abs(data.usual - mean) < 1e-6) > 0.98
    part = np.arange(200)  # what is usual is learnt from the rows at hand
    assert np.mean(np.abs(data.take(part).usual - mean[part]) < 1e-6) > 0.98


@pytest.mark.parametrize("draw", ["laplace", "uniform"])
def test_without_a_normal_distribution_the_usual_decision_is_linear(draw):
    rng = np.random.default_rng(2)
    x = rng.normal(size=900)
    away = rng.laplace(0, 1, 900) if draw == "laplace" else rng.uniform(-1, 1, 900)
    density = np.exp(-np.abs(away)) / 2 if draw == "laplace" else np.full(900, 0.5)
    spread = np.sqrt(2) if draw == "laplace" else np.sqrt(1 / 3)
    data = ContinuousData(x[:, None], decision=x + away, propensity=density, behavior_spread=spread)
    assert np.abs(data.usual - x).max() < 0.3
    assert np.linalg.matrix_rank(np.column_stack([np.ones(900), x, data.usual]), tol=1e-6) == 2


def test_parts_and_joined_parts():
    spread = np.linspace(0.5, 1.5, N)
    data = make(propensity=None, behavior_mean=MEANS, behavior_spread=spread)
    data = data.changed(thresholds=(1.0,))
    parts = data.take(np.arange(10)), data.take(np.arange(10, N))
    assert parts[0].n == 10
    assert parts[0].thresholds == (1.0,)
    whole = LoggedData.joined(parts)
    known = ("behavior_mean", "behavior_spread")
    assert make(propensity=DENSITY).fingerprint() != data.fingerprint()
    for name in ("features", "label", "decision", "propensity", *known):
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
