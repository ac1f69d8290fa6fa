"""Rows of decisions that are numbers, against what they say when written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from elfair import LoggedData
from elfair.data import ContinuousData
from elfair.data.continuous import normal_density
from elfair.errors import ConstraintError, InputError
from elfair.language.conjunction import conjuncts
from elfair.statistics import Baselines, Estimation, compile_form, logged_average
from elfair.statistics.decisions import decisions_of, thresholds_of
from elfair.statistics.impacts import Impact

N = 40
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2))
Y, D, IMPACT = (RNG.normal(size=N) for _ in range(3))
T = RNG.integers(0, 2, N)
DENSITY = RNG.uniform(0.1, 2.0, N)
MU, SIGMA = RNG.normal(size=N), 0.7
NEW = np.exp(-0.5 * ((D - MU) / SIGMA) ** 2) / (SIGMA * np.sqrt(2 * np.pi))
W = NEW / DENSITY


def means(text):
    return [mean for c in conjuncts(text) for _, mean in c.form.terms]


def make(text, **changes):
    given = {
        "sensitive_features": {"T": T},
        "decision": D,
        "propensity": DENSITY,
        "behavior_spread": 1.0,
        "impact": IMPACT,
        **changes,
    }
    data = ContinuousData(X, given.pop("y", Y), **given)
    return data.changed(thresholds=thresholds_of(means(text)))


def free_of(data):
    above = [ndtr((MU - t) / SIGMA) for t in data.thresholds]
    return np.array([NEW, MU, MU**2 + SIGMA**2, *above])


def rows(text, estimation=None, **changes):
    data = make(text, **changes)
    (conjunct,) = conjuncts(text)
    (part,) = compile_form(conjunct.form, data, Baselines(estimation or Estimation(), data), {})
    return part.rows.values(free_of(data)), part


def above(t):
    return ndtr((MU - t) / SIGMA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E[decision] <= 0", MU),
        ("mse <= 0", (MU - Y) ** 2 + SIGMA**2),
        ("P[decision >= 1] <= 0", above(1)),
        ("P[decision > 1] <= 0", above(1)),
        ("P[decision < 1] <= 0", 1 - above(1)),
        ("P[0.5 >= decision] <= 0", 1 - above(0.5)),
        ("P[decision >= -1 and decision <= 0.5] <= 0", above(-1) - above(0.5)),
        ("P[not (-1 <= decision <= 0.5)] <= 0", 1 - above(-1) + above(0.5)),
        ("P[decision >= 0 and T == 1] <= 0", above(0) * (T == 1)),
        (
            "P[decision >= 0 and label < 0 or decision >= 2] <= 0",
            np.where(Y < 0, above(0), above(2)),
        ),
        ("P[T == 1] <= 0", (T == 1).astype(float)),
        ("E[decision] - E_logged[decision] <= 0", MU - D),
        ("P[decision >= 1] - E_logged[decision >= 1] <= 0", above(1) - (D >= 1)),
        ("2 * mse - 3 * E[decision] <= 1", 2 * ((MU - Y) ** 2 + SIGMA**2) - 3 * MU - 1),
    ],
)
def test_rows_without_weights(text, expected):
    np.testing.assert_allclose(rows(text)[0], expected, atol=1e-12)


def test_a_condition_picks_its_rows():
    values, part = rows("E[decision | label >= 0 and T == 1] <= 0")
    inside = (Y >= 0) & (T == 1)
    np.testing.assert_array_equal(part.rows.index, np.flatnonzero(inside))
    np.testing.assert_allclose(values, MU[inside])


def test_weighted_rows():
    text = "E[impact] >= E_logged[impact]"
    np.testing.assert_allclose(rows("E[impact] <= 0", Estimation("is"))[0], W * IMPACT)
    k = IMPACT.mean()
    np.testing.assert_allclose(rows(text)[0], (1 - W) * (IMPACT - k), atol=1e-12)
    declared = {"impact": (-9.0, 9.0)}
    np.testing.assert_array_equal(rows(text, Estimation(ranges=declared))[0], rows(text)[0])
    # A density never says how likely every other decision was: no caps, but one end is known.
    values, part = rows(text, Estimation(ranges=declared, finite_sample=True))
    np.testing.assert_allclose(values, (1 - W) * (IMPACT + 9), atol=1e-12)
    assert (part.rows.low, part.rows.high) == (-np.inf, 18.0)


def test_doubly_robust_rows():
    data = make("E[impact] <= 0")
    model = Baselines(Estimation("dr"), data).model(Impact("impact"))
    a, b, c = model.of(data)
    expected = a + b * MU + c * (MU**2 + SIGMA**2) + W * (IMPACT - (a + b * D + c * D**2))
    np.testing.assert_allclose(rows("E[impact] <= 0", Estimation("dr"))[0], expected, atol=1e-12)
    paired, _ = rows("E[impact] - E_logged[impact] <= 0", Estimation("dr"))
    np.testing.assert_allclose(paired, expected - IMPACT, atol=1e-12)


def test_what_a_model_predicts_alone():
    text = "E[impact] - E_logged[impact] <= 0"
    data = make(text)
    baselines = Baselines(Estimation(), data)
    (conjunct,) = conjuncts(text)
    (part,) = compile_form(conjunct.form, data, baselines, {}, direct=True)
    _, b, c = baselines.model(Impact("impact")).of(data)
    expected = b * (MU - D) + c * (MU**2 + SIGMA**2 - D**2)
    np.testing.assert_allclose(part.rows.values(free_of(data)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("P[decision >= 1] <= 0.25", (-0.25, 0.75)),
        ("mse <= 2", (-2.0, np.inf)),
        ("mse >= 2", (-np.inf, 2.0)),
        ("E[decision] <= 2", (-np.inf, np.inf)),
        ("E_logged[decision] - P[decision >= 0] <= 2", (-np.inf, np.inf)),
    ],
)
def test_ends(text, ends):
    _, part = rows(text)
    assert (part.rows.low, part.rows.high) == ends


def test_the_papers_tau():
    (mean,) = means("E_logged[decision | T == 1] <= 0")
    assert logged_average(mean, make("mse <= 0")) == pytest.approx(D[T == 1].mean())


def test_weights_and_their_variance():
    decisions = decisions_of(make("mse <= 0"))
    free = free_of(make("mse <= 0"))
    np.testing.assert_allclose(decisions.weights(free).values, W)
    assert decisions.weights(free).rarest is None


@pytest.mark.parametrize("shape", [(0.0, 0.9), (1.5, 0.9), (1.5, 0.4), (-2.0, 0.6)])
def test_the_variance_of_a_weight_is_known_before_its_decision_is_drawn(shape):
    """By integrals over the decision, for people whose mean and spread differ."""
    away, share = shape
    usual, spread = np.array([0.0, 1.0, -3.0]), np.array([1.0, 0.5, 2.0])
    data = ContinuousData(np.eye(3), decision=usual, behavior_mean=usual, behavior_spread=spread)
    mean, own = usual + away * spread, share * spread
    free = np.array([np.zeros(3), mean, mean**2 + own**2])
    grid = np.linspace(-15, 15, 400_001)
    expected = [
        np.trapezoid(normal_density(grid, m, s) ** 2 / normal_density(grid, u, b), grid) - 1
        for m, s, u, b in zip(mean, own, usual, spread, strict=True)
    ]
    found = decisions_of(data).weights(free).variances
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(
        decisions_of(data).weights(free, np.array([1])).variances, expected[1:2]
    )
    slopes = decisions_of(data).weights(free).variance_slopes
    for channel in range(3):
        step = np.zeros((3, 3))
        step[channel] = 1e-6
        above, below = (
            decisions_of(data).weights(at).variances for at in (free + step, free - step)
        )
        np.testing.assert_allclose(slopes[channel], (above - below) / 2e-6, rtol=1e-5, atol=1e-6)


def test_a_known_mean_removes_the_luck_of_the_logged_draw():
    data = make("E[impact] - E_logged[impact] <= 0")
    usual = D - 0.3
    data = data.changed(behavior_mean=usual, behavior_spread=np.full(D.size, 0.7))
    baselines = Baselines(Estimation("dr"), data)
    (conjunct,) = conjuncts("E[impact] - E_logged[impact] <= 0")
    (part,) = compile_form(conjunct.form, data, baselines, {})
    a, b, c = baselines.model(Impact("impact")).of(data)
    taken = a + b * D + c * D**2
    change = b * (MU - usual) + c * (MU**2 + SIGMA**2 - usual**2 - 0.7**2)
    expected = change + (W - 1) * (IMPACT - taken)
    np.testing.assert_allclose(part.rows.values(free_of(data)), expected, atol=1e-12)


def test_thresholds_are_collected_once_and_sorted():
    texts = ("P[decision >= 2] <= P[decision < 1]", "P[2 <= decision] <= 0.5", "E[impact] >= 0")
    assert thresholds_of(mean for text in texts for mean in means(text)) == (1.0, 2.0)


@pytest.mark.parametrize(
    "text", ["accuracy >= 0.5", "PR <= 0.5", "TPR >= 0.5", "P[decision == 1] <= 0.5",
             "P[decision != 1] <= 0.5", "P[decision in [1, 2]] <= 0.5"],
)  # fmt: skip
def test_classes_have_no_place_here(text):
    with pytest.raises(ConstraintError, match="equals some value") as caught:
        thresholds_of(means(text))
    assert "ELFClassifier" in str(caught.value)


@pytest.mark.parametrize("other", ["label", "x0", "'a'", "true"])
def test_a_threshold_is_a_number(other):
    with pytest.raises(ConstraintError, match="other than a literal number"):
        thresholds_of(means(f"P[decision >= {other}] <= 0.5"))


@pytest.mark.parametrize("text", ["E[decision] <= 1", "mse <= 1", "E_logged[decision] <= mse"])
def test_classes_have_no_mean(text):
    data = LoggedData(X, T, decision=T)
    (conjunct,) = conjuncts(text)
    with pytest.raises(ConstraintError, match="here they are classes") as caught:
        compile_form(conjunct.form, data, Baselines(Estimation(), data), {})
    assert "ELFRegressor" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("E[impact] >= 0", "decision"),
        ("E[impact] >= 0", "propensity"),
        ("E[impact] >= 0", "behavior_spread"),
        ("E[decision] <= E_logged[decision]", "decision"),
    ],
)
def test_what_is_needed_is_asked_for(text, missing):
    changes = {missing: None}
    if missing == "decision":
        changes["propensity"] = None
    with pytest.raises(ConstraintError, match=f"needs {missing}, which was not given") as caught:
        rows(text, **changes)
    assert f"pass {missing}=" in str(caught.value)


def test_mse_needs_labels():
    with pytest.raises(ConstraintError, match="'mse' needs the label"):
        rows("mse <= 1", y=None)


def test_the_quadratic_model_finds_a_quadratic():
    rng = np.random.default_rng(1)
    n = 4_000
    x, t, d = rng.normal(size=(n, 1)), rng.integers(0, 3, n), rng.normal(50, 4, size=n)

    def impact(d):
        return 7 * x[:, 0] + (2 + t) * d - (0.3 + 0.1 * (t == 1)) * d**2

    data = ContinuousData(x, sensitive_features={"T": t}, decision=d, impact=impact(d))
    a, b, c = Baselines(Estimation("dr"), data).model(Impact("impact")).of(data)
    dose = 47.0
    np.testing.assert_allclose(a + b * dose + c * dose**2, impact(dose), atol=0.5)


def test_no_other_outcome_model():
    from sklearn.linear_model import LinearRegression

    data = make("E[impact] <= 0")
    baselines = Baselines(Estimation("dr", outcome_model=LinearRegression()), data)
    with pytest.raises(InputError, match="quadratic in a numeric decision"):
        baselines.model(Impact("impact"))
