"""The population's samples and its truth against each other, and against closed forms."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression

from elfair.errors import InputError
from elfair.populations import FosterCare
from elfair.populations import foster_care as law

STANDARD_ERRORS = 4
COEFFICIENTS = np.array([2.0, 1.0, -1.5, 3.0, -1.0])


def policy(X: np.ndarray) -> np.ndarray:
    """A policy far enough from the behaviour model to tell the two apart."""
    return expit(X @ COEFFICIENTS - 1.2)


class Moments:
    """Mean and standard error, gathered chunk by chunk."""

    def __init__(self) -> None:
        self.n, self.total, self.squares = 0, 0.0, 0.0

    def add(self, values: np.ndarray) -> None:
        self.n += values.size
        self.total += float(values.sum())
        self.squares += float(np.square(values, dtype=float).sum())

    def check(self, truth: float) -> None:
        mean = self.total / self.n
        error = np.sqrt((self.squares / self.n - mean**2) / self.n)
        assert abs(mean - truth) < STANDARD_ERRORS * error, (mean, truth, error)


@cache
def simulated(clipped: bool) -> dict[str, Moments]:
    """Averages over 4e6 people: what was logged, and what `policy` would have brought about."""
    population = FosterCare(alpha=0.6, clipped=clipped)
    gathered: dict[str, Moments] = {}
    for seed in range(4):
        draw = population.sample(1_000_000, seed)
        one = policy(draw.features)
        decision = np.random.default_rng([seed, 1]).random(one.size) < one
        impact = draw.impact + 0.6 * (decision.astype(float) - draw.decision)
        weight = np.where(draw.decision == 1, one, 1 - one) / draw.propensity
        rows = {
            "group": draw.group,
            "accuracy": decision == draw.label,
            "logged accuracy": draw.decision == draw.label,
            "x4 at low end": draw.features[:, 3] == -1,
            "x5 at low end": draw.features[:, 4] == -1,
        }
        for group in (0, 1):
            inside = draw.group == group
            noise = draw.impact[inside] - 0.6 * draw.decision[inside]
            rows |= {
                f"label {group}": draw.label[inside],
                f"rate {group}": decision[inside],
                f"logged rate {group}": draw.decision[inside],
                f"impact {group}": impact[inside],
                f"logged impact {group}": draw.impact[inside],
                f"weighted impact {group}": (weight * draw.impact)[inside],
                f"mean weight {group}": weight[inside],
                f"noise {group}": noise,
                f"noise variance {group}": (noise - 0.4 * (2 - group)) ** 2,
            }
            for k, name in enumerate(draw.feature_names):
                rows[f"{name} {group}"] = draw.features[inside, k]
        for name, values in rows.items():
            gathered.setdefault(name, Moments()).add(values)
    return gathered


@pytest.mark.parametrize("clipped", [False, True])
def test_truth_agrees_with_simulation(clipped):
    population, seen = FosterCare(alpha=0.6, clipped=clipped), simulated(clipped)
    behavior = population.behavior
    seen["accuracy"].check(population.accuracy(policy))
    seen["logged accuracy"].check(population.accuracy(behavior))
    for group in (0, 1):
        seen[f"rate {group}"].check(population.positive_rate(policy, group))
        seen[f"logged rate {group}"].check(population.positive_rate(behavior, group))
        seen[f"impact {group}"].check(population.impact(policy, group))
        seen[f"logged impact {group}"].check(population.impact(behavior, group))


@pytest.mark.parametrize("clipped", [False, True])
def test_propensities_make_importance_weighting_unbiased(clipped):
    population, seen = FosterCare(alpha=0.6, clipped=clipped), simulated(clipped)
    for group in (0, 1):
        seen[f"mean weight {group}"].check(1.0)
        seen[f"weighted impact {group}"].check(population.impact(policy, group))


def test_marginal_moments_of_a_sample():
    seen = simulated(False)
    seen["group"].check(0.45)
    means = {0: (0.62, 0.55, 0.35, 0.50, 0.45), 1: (0.50, 0.45, 0.42, 0.42, 0.40)}
    for group, values in means.items():
        for k, mean in enumerate(values, start=1):
            seen[f"X{k} {group}"].check(mean)
        seen[f"label {group}"].check(float(law.grid().weight[group] @ law.grid().label[group]))
    for k, by_group in (("x4", (0.50, 0.42)), ("x5", (0.45, 0.40))):
        tails = [float(ndtr((-1 - mean) / 0.35)) for mean in by_group]
        seen[f"{k} at low end"].check(0.55 * tails[0] + 0.45 * tails[1])


def test_noise_has_the_stated_mean_and_spread():
    # Of a standard normal clipped to +-3: the variance, from the truncated second moment.
    tail, density = ndtr(-3), np.exp(-4.5) / np.sqrt(2 * np.pi)
    shrunk = float((1 - 2 * tail) - 6 * density + 18 * tail)
    assert 0.99 < shrunk < 1
    for clipped, factor in ((False, 1.0), (True, shrunk)):
        seen = simulated(clipped)
        for group, mean, sd in ((0, 2.0, 0.5), (1, 1.0, 1.0)):
            seen[f"noise {group}"].check(0.4 * mean)
            seen[f"noise variance {group}"].check((0.4 * sd) ** 2 * factor)


def test_propensity_is_the_behaviour_probability_of_the_logged_decision():
    population = FosterCare()
    draw = population.sample(5_000, seed=3)
    score = draw.features @ [1.8635, 1.3068, -0.9949, 0.6574, 0.4173] - 1.5119
    assert {0, 1} == set(draw.decision.tolist())
    np.testing.assert_allclose(
        draw.propensity, expit(np.where(draw.decision == 1, score, -score)), rtol=1e-12
    )
    assert draw.propensity.min() >= population.propensity_floor


def test_strict_raises_the_behaviour_intercept():
    usual, strict = FosterCare().behavior, FosterCare(strict=True).behavior
    assert strict.intercept - usual.intercept == pytest.approx(0.3)
    assert strict.coefficients == usual.coefficients
    for group in (0, 1):
        rise = FosterCare(strict=True).positive_rate(strict, group) - FosterCare().positive_rate(
            usual, group
        )
        assert 0.05 < rise < 0.06
    draw = FosterCare(strict=True).sample(400_000, seed=8)
    truth = FosterCare(strict=True).positive_rate(strict, 0)
    rate = draw.decision[draw.group == 0].mean()
    assert abs(rate - truth) < STANDARD_ERRORS * 0.5 / np.sqrt(220_000)


@pytest.mark.parametrize("strict", [False, True])
def test_propensity_floor_is_attained_and_never_undercut(strict):
    population = FosterCare(strict=strict)
    everywhere = population.behavior.predict_proba(law.grid().points)
    assert everywhere.min() == pytest.approx(population.propensity_floor, rel=1e-12)


@pytest.mark.parametrize("steepness", [20, 30, 50])
def test_steep_logistic_policies_are_exact_to_1e_6(steepness):
    rng = np.random.default_rng(5)
    population, fine = FosterCare(), law.grid(2 * law.PANELS)
    scale = np.array([0.5, 0.5, 0.5, 0.35, 0.35])
    for trial in range(12):
        # Every sign pattern matters: along an axis nothing averages the error out.
        signs = rng.choice([-1, 1], 5) * np.where(trial % 3, 1, [0, 0, 0, 1, trial % 2])
        slope = steepness * signs / scale
        centre = np.append(rng.integers(0, 2, 3), rng.normal([0.46, 0.42], 0.2))

        def steep(X, slope=slope, centre=centre):
            return expit(X @ slope - centre @ slope)

        probability = steep(fine.points)
        accuracy = fine.accuracy_of_zero + fine.accuracy_gain @ probability
        assert population.accuracy(steep) == pytest.approx(accuracy, abs=1e-6)
        for group in (0, 1):
            rate = fine.weight[group] @ probability
            assert population.positive_rate(steep, group) == pytest.approx(rate, abs=1e-6)


def test_impact_is_affine_in_the_positive_rate():
    population = FosterCare(alpha=0.7)
    for group, noise in ((0, 2.0), (1, 1.0)):
        rate = population.positive_rate(policy, group)
        assert population.impact(policy, group) == pytest.approx(0.7 * rate + 0.3 * noise)
        logged = population.impact(population.behavior, group)
        lost = logged - population.impact(policy, group)
        assert population.violations(policy)[group] == pytest.approx(lost, abs=1e-12)


def test_deciding_nothing_violates_and_deciding_always_does_not():
    population = FosterCare()
    assert min(population.violations(lambda X: np.zeros(len(X))).values()) > 0
    assert max(population.violations(lambda X: np.ones(len(X))).values()) < 0


def test_a_policy_may_be_a_callable_or_have_predict_proba():
    population = FosterCare()
    behavior = population.behavior
    by_call = population.accuracy(lambda X: behavior.predict_proba(X)[:, 1])
    assert population.accuracy(behavior) == by_call


def fitted_by_threshold(population: FosterCare, n: int, seed: int):
    draw = population.sample(n, seed)
    model = LogisticRegression().fit(draw.features, draw.label)
    return lambda X: model.predict(X).astype(float)


@pytest.mark.parametrize(
    ("n", "group_1", "strict_group_0", "accuracy"),
    [
        # 600 seeds gave .72 and .54 at n = 250; 40 seeds stray from that by .28 at most (4 sd).
        (250, (0.44, 1.0), (0.25, 0.85), (0.885, 0.905)),
        (4096, (1.0, 1.0), (1.0, 1.0), (0.895, 0.905)),
    ],
)
def test_thresholded_logistic_regression_is_accurate_and_harms(
    n, group_1, strict_group_0, accuracy
):
    usual, strict = FosterCare(), FosterCare(strict=True)
    accuracies, violated, violated_strict = [], [], []
    for seed in range(40):
        model = fitted_by_threshold(usual, n, seed)
        accuracies.append(usual.accuracy(model))
        violated.append([g > 0 for g in usual.violations(model).values()])
        violated_strict.append([g > 0 for g in strict.violations(model).values()])
    assert accuracy[0] < np.mean(accuracies) < accuracy[1]
    share, share_strict = np.mean(violated, axis=0), np.mean(violated_strict, axis=0)
    assert share[0] == 0
    assert group_1[0] <= share[1] <= group_1[1]
    assert strict_group_0[0] <= share_strict[0] <= strict_group_0[1]
    assert share_strict[1] == 1


def test_samples_are_a_function_of_n_and_seed():
    first, again = (FosterCare().sample(200, seed=4).frame() for _ in range(2))
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
    other = FosterCare().sample(200, seed=5)
    assert not np.array_equal(other.impact, first["impact"])


def test_variants_share_their_random_numbers():
    usual, strict = FosterCare().sample(500, 1), FosterCare(strict=True, alpha=0.2).sample(500, 1)
    np.testing.assert_array_equal(usual.features, strict.features)
    np.testing.assert_array_equal(usual.label, strict.label)
    assert np.all(strict.decision >= usual.decision)


def test_clipped_impacts_stay_in_the_declared_range():
    population = FosterCare(alpha=0.3, clipped=True)
    low, high = population.impact_range
    assert (low, high) == pytest.approx((0.7 * -2, 0.3 + 0.7 * 4))
    impact = population.sample(300_000, seed=0).impact
    assert impact.min() == low
    assert impact.max() == high
    assert FosterCare().impact_range is None


def test_frame_holds_the_columns_that_the_constraints_name():
    population = FosterCare()
    draw = population.sample(20, seed=0)
    columns = draw.frame()
    assert list(columns)[:5] == list(draw.feature_names)
    np.testing.assert_array_equal(columns["X4"], draw.features[:, 3])
    np.testing.assert_array_equal(columns["T"], draw.group)
    np.testing.assert_array_equal(columns["Y"], draw.label)
    assert pd.DataFrame(columns).shape == (20, 10)
    assert draw.features.dtype == float
    for name in ("T", "Y", "decision"):
        assert columns[name].dtype.kind == "i"
    assert population.constraints == [
        "E[impact | T == 0] >= E_logged[impact | T == 0]",
        "E[impact | T == 1] >= E_logged[impact | T == 1]",
        "accuracy >= 0.75",
    ]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_behaviour_model_reads_frames_and_survives_pickling(make):
    behavior = FosterCare(strict=True).behavior
    draw = FosterCare().sample(30, seed=0)
    frame = make({name: draw.frame()[name] for name in draw.feature_names})
    expected = behavior.predict_proba(draw.features)
    assert behavior.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-15)
    copy = pickle.loads(pickle.dumps(behavior))
    np.testing.assert_allclose(copy.predict_proba(frame), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: FosterCare(alpha=1.5), r"'alpha' .* in \[0, 1\]. Got 1.5"),
        (lambda: FosterCare(alpha=float("nan")), "Got nan"),
        (lambda: FosterCare().sample(0, seed=1), "at least 1. Got 0"),
        (lambda: FosterCare().sample(2.5, seed=1), "Got 2.5"),
        (lambda: FosterCare().impact(policy, 2), r"one of \[0, 1\]. Got 2"),
        (lambda: FosterCare().positive_rate(policy, "1"), "Got '1'"),
        (lambda: FosterCare().behavior.predict_proba(np.ones((3, 6))), r"\(n, 5\). Got \(3, 6\)"),
        (lambda: FosterCare().accuracy(lambda X: X[:, :2]), r"policy\(X\) must have shape"),
        (lambda: FosterCare().accuracy(lambda X: X[:, 3]), "Got values from -1.0 to 2.0"),
        (lambda: FosterCare().accuracy(lambda X: np.full(len(X), np.nan)), "from nan to nan"),
    ],
)
def test_errors_say_what_was_got_and_what_is_allowed(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\nHint: " in str(caught.value)


def test_a_model_that_knows_one_class_only_is_refused():
    class OneClass:
        def predict_proba(self, X):
            return np.ones((len(X), 1))

    with pytest.raises(InputError, match=r"predict_proba\(X\) must have shape"):
        FosterCare().violations(OneClass())
