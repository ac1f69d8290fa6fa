"""ELFRegressor with an expression as its objective, with and without labels."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import elfair
from elfair import Certificate, ELFRegressor
from elfair.data import ContinuousData
from elfair.errors import ConstraintError, DataError
from elfair.policies.gaussian import normal_density
from elfair.populations import Dosage

POPULATION = Dosage()
DRAW = POPULATION.sample(2_000, seed=5)
LOGGED = {
    "sensitive_features": {"T": DRAW.group},
    "decision": DRAW.decision,
    "propensity": DRAW.propensity,
    "behavior_spread": 1.0,
    "impact": DRAW.impact,
}


def fit(objective, constraints=(), y=None, **parameters):
    reg = ELFRegressor(constraints, objective=objective, **parameters)
    return reg.fit(DRAW.features, y, **LOGGED)


def mean_dose(reg):
    return float(reg.predict_distribution(DRAW.features)[0].mean())


def test_without_labels_doses_rise_where_they_help():
    up, down = fit("E[impact]"), fit("-E[impact]")
    usual = DRAW.decision.mean()
    assert mean_dose(down) < usual - 1 < usual + 1 < mean_dose(up)
    assert up.solution_found_
    dose, density = up.decide(DRAW.features, random_state=0)
    assert dose.shape == density.shape == (2_000,)


def test_labels_that_nothing_speaks_of_change_little():
    with_labels = fit("E[impact]", y=DRAW.label)
    assert mean_dose(with_labels) == pytest.approx(mean_dose(fit("E[impact]")), abs=0.1)


def test_minus_mse_is_mse():
    plain, negative = fit("mse", y=DRAW.label), fit(-elfair.mse(), y=DRAW.label)
    np.testing.assert_array_equal(plain.fitted_.models[0].theta, negative.fitted_.models[0].theta)
    assert negative.certificate_.search.objective == "-mse"
    with pytest.raises(ConstraintError, match="would make an error large"):
        fit("mse[T == 1]", y=DRAW.label)


def test_the_error_of_one_group_is_least_squares_in_that_group():
    reg = fit("-mse[T == 1]", y=DRAW.label, reach=100.0)
    inside = DRAW.group == 1
    design = np.column_stack([np.ones(inside.sum()), DRAW.features[inside]])
    fitted = design @ np.linalg.lstsq(design, DRAW.label[inside], rcond=None)[0]
    mean, spread = reg.predict_distribution(DRAW.features[inside])
    assert np.abs(mean - fitted).max() < 0.1
    assert spread[0] == pytest.approx(0.2, rel=0.02)


def test_the_dearer_a_dose_the_smaller():
    doses = [mean_dose(fit(f"E[impact] - {price} * E[decision]")) for price in (0, 0.85, 2)]
    assert doses[0] > doses[1] + 0.5 > doses[2] + 1


def test_thresholds_of_the_objective_are_known():
    reg = fit("E[impact] - 9 * P[decision >= 6.5]")
    drawn = reg.predict(np.repeat(DRAW.features, 10, axis=0), random_state=0)
    assert (drawn >= 6.5).mean() < 0.03
    assert mean_dose(reg) > DRAW.decision.mean() + 0.2


def test_thresholds_are_not_written_into_the_rows_of_the_caller():
    data = ContinuousData(DRAW.features, DRAW.label, **LOGGED)
    fitting = ELFRegressor("P[decision >= 6.5] <= 0.9", objective="E[impact]").request(data)
    assert (fitting.thresholds, data.thresholds) == ((6.5,), ())


def test_text_and_tree_are_one_and_the_certificate_keeps_the_text():
    text = "E[impact] - 0.1 * E[decision | T == 1]"
    tree = elfair.E("impact") - 0.1 * elfair.E(elfair.decision, given=elfair.col("T") == 1)
    first, second = (fit(o, POPULATION.constraints) for o in (text, tree))
    np.testing.assert_array_equal(first.fitted_.models[0].theta, second.fitted_.models[0].theta)
    for reg in (first, second):
        assert reg.certificate_.search.objective == text
        assert Certificate.from_json(reg.certificate_.to_json()) == reg.certificate_
    again = pickle.loads(pickle.dumps(clone(first))).fit(DRAW.features, **LOGGED)
    np.testing.assert_array_equal(again.fitted_.models[0].theta, first.fitted_.models[0].theta)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "cmaes"},
        {"split": "crossfit", "folds": 3},
        {"split": "stratified", "accept_violated": ["halves_independent"]},
        {"candidate_tuning": {"power": [0.5, 0.95]}},
        {"power": None, "inflation": 2.0},
        {"estimator": "paired", "bound": "ttest"},
    ],
    ids=str,
)
def test_other_ways_without_labels(options):
    reg = fit("E[impact]", POPULATION.constraints, **options)
    assert reg.solution_found_
    assert mean_dose(reg) > DRAW.decision.mean() + 1


# -- beyond the mean -------------------------------------------------------------------------------


def risky(n=3_000, seed=1):
    """Larger doses help more on average, and the further from 0 the less sure it is."""
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    return {
        "X": rng.normal(size=(n, 1)),
        "decision": dose,
        "propensity": normal_density(dose, np.zeros(n), 1.0),
        "behavior_spread": 1.0,
        "impact": dose + (0.5 + 0.5 * dose**2) * rng.normal(size=n),
    }


def outcomes(dose, spread):
    rng = np.random.default_rng(9)
    dose = dose + spread * rng.normal(size=200_000)
    return dose + (0.5 + 0.5 * dose**2) * rng.normal(size=200_000)


def lowest_fifth(impact):
    return np.sort(impact)[: impact.size // 5].mean()


@pytest.mark.parametrize(
    ("objective", "truth"),
    [
        ("CVaR[impact, 0.2]", lowest_fifth),
        ("quantile[impact, 0.2]", lambda impact: np.quantile(impact, 0.2)),
        ("median[impact]", np.median),
        ("-var[impact]", lambda impact: -impact.var()),
        ("E[impact] - 0.5 * var[impact]", lambda impact: impact.mean() - 0.5 * impact.var()),
    ],
)
def test_statistics_beyond_the_mean(objective, truth):
    reg = ELFRegressor(objective=objective, reach=2.0).fit(**risky())
    mean, spread = reg.predict_distribution(np.zeros((1, 1)))
    every = [truth(outcomes(dose, 0.2)) for dose in np.linspace(-2, 2, 17)]
    reached = truth(outcomes(mean[0], spread[0]))
    assert max(every) - reached < 0.1 * (max(every) - min(every))
    behaviour = truth(outcomes(0.0, 1.0))
    assert reached > behaviour


def test_the_bold_and_the_careful_differ():
    bold, careful = (
        ELFRegressor(objective=o, reach=2.0)
        .fit(**risky())
        .predict_distribution(np.zeros((1, 1)))[0][0]
        for o in ("E[impact]", "CVaR[impact, 0.2]")
    )
    assert bold > careful + 0.7


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "given", "words"),
    [
        ("mse", {}, "requires y to be passed, but the target y is None: objective='mse'"),
        ("-mse", {}, "objective='-mse' needs labels"),
        ("E[impact] - mse[T == 1]", {}, "requires y to be passed"),
        ("E[impact]", {"propensity": None}, "needs propensity, which was not given"),
        ("E[impact]", {"behavior_spread": None}, "needs behavior_spread, which was not given"),
        ("E[impact]", {"impact": None}, "impact was not given"),
        ("E[impact]", {"decision": None, "propensity": None}, "neither y nor decision"),
        ("CVaR[impact, 0.1]", {"propensity": None}, "needs propensity, which was not given"),
        ("E[impact | T == 7]", {}, "is met by 0 of"),
    ],
)
def test_what_is_missing_is_said(objective, given, words):
    reg = ELFRegressor(objective=objective)
    with pytest.raises((DataError, ConstraintError), match=words) as caught:
        reg.fit(DRAW.features, **{**LOGGED, **given})
    assert str(caught.value).count("\nHint: ") == 1
    assert not hasattr(reg, "certificate_")
