"""ELFRegressor: what it finds, what it draws, what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import elfair
from elfair import (
    E,
    E_logged,
    ElfairError,
    ELFRegressor,
    NoSolutionFoundError,
    P,
    col,
    decision,
    mse,
)
from elfair.errors import (
    BoundError,
    CertificateWarning,
    DataError,
    InputError,
    PropensityError,
)
from elfair.populations import Dosage

POPULATION = Dosage()
DRAW = POPULATION.sample(3_000, seed=11)
X, Y = DRAW.features, DRAW.label
LOGGED = {
    "sensitive_features": {"T": DRAW.group},
    "decision": DRAW.decision,
    "propensity": DRAW.propensity,
    "behavior_spread": 1.0,
    "impact": DRAW.impact,
}
NO_WORSE = "E[impact] >= E_logged[impact]"


def fit(constraints=NO_WORSE, given=None, **parameters):
    return ELFRegressor(constraints, **parameters).fit(X, Y, **{**LOGGED, **(given or {})})


def is_unfitted(reg):
    return not [name for name in vars(reg) if name not in reg.get_params()]


@pytest.fixture(scope="module")
def fitted():
    return fit(POPULATION.constraints)


# -- what comes out ----------------------------------------------------------------------------


def test_a_solution_and_its_certificate(fitted):
    assert fitted.solution_found_
    certificate = fitted.certificate_
    assert certificate.classes == ()
    assert certificate.search.objective == "mse"
    assert [result.passed for result in certificate.constraints] == [True, True]
    for result in certificate.constraints:
        assert abs(result.mean_weight - 1) < 0.2
        assert 0 < result.ess <= result.n
    status = {a.name: a.status for a in certificate.assumptions}
    assert status["mean weight near 1"] == "checked"
    assert status["behaviour spread"] == "assumed"
    assert certificate.from_json(certificate.to_json()) == certificate
    assert "Solution found" in fitted.explain()


def test_a_known_mean_is_checked_against_the_decisions():
    drawn = {"propensity": None, "behavior_mean": POPULATION.behavior.mean(X)}
    reg = fit(POPULATION.constraints, drawn)
    status = {a.name: a.status for a in reg.certificate_.assumptions}
    assert status["propensities fit the decisions"] == "checked"
    with pytest.raises(PropensityError, match="how far decisions spread"):
        fit(given={**drawn, "behavior_spread": 1.3})
    with pytest.raises(PropensityError, match="the mean decision"):
        fit(given={**drawn, "behavior_mean": drawn["behavior_mean"] + 0.3})


def test_the_spread_stays_between_floor_and_ceiling(fitted):
    assert 0.2 <= fitted.spread_ <= 0.9
    narrow = fit(spread=(0.3, 0.4), given={"behavior_spread": np.linspace(2.0, 3.0, 3_000)})
    assert 0.6 <= narrow.spread_ <= 0.4 * 2.01  # the smallest spread of candidate rows
    assert fit(spread=(0.5, 0.5)).spread_ == pytest.approx(0.5)


def test_decisions_are_drawn_from_the_distribution(fitted):
    features = np.repeat(X[:2], 100_000, axis=0)
    mean, spread = fitted.predict_distribution(features)
    drawn = fitted.decide(features, random_state=1)
    for part in (slice(0, 100_000), slice(100_000, None)):
        away = (drawn.decision[part] - mean[part]) / spread[part]
        assert abs(away.mean()) <= 4 / np.sqrt(100_000)
        assert abs((away**2).mean() - 1) <= 4 * np.sqrt(2 / 100_000)
    density = np.exp(-0.5 * ((drawn.decision - mean) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(drawn.propensity, density)
    assert (spread == fitted.spread_).all()


def test_fresh_entropy_unless_seeded(fitted):
    assert (fitted.predict(X) != fitted.predict(X)).all()
    same = [fitted.predict(X, random_state=3) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    np.testing.assert_array_equal(same[0], fitted.decide(X, random_state=3).decision)


def test_score_is_the_expected_r2(fitted):
    drawn = [r2_score(Y, fitted.predict(X, random_state=seed)) for seed in range(40)]
    assert fitted.score(X, Y) == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(40))
    weight = np.arange(3_000) % 3
    doubled = np.repeat(np.arange(3_000), weight)
    assert fitted.score(X, Y, weight) == pytest.approx(fitted.score(X[doubled], Y[doubled]))
    assert fitted.score(X, np.ones(3_000)) == 0.0


def test_without_constraints_it_is_least_squares_on_all_rows():
    reg = ELFRegressor().fit(X, Y)
    plain = LinearRegression().fit(X, Y)
    mean, spread = reg.predict_distribution(X)
    np.testing.assert_allclose(mean, plain.predict(X), atol=1e-6)
    residual = (Y - plain.predict(X)).std()
    np.testing.assert_allclose(spread, 0.2 * residual, rtol=1e-3)
    noise = (1 - plain.score(X, Y)) * 0.2**2  # of the drawn decision
    assert reg.score(X, Y) == pytest.approx(plain.score(X, Y) - noise, abs=1e-6)


def test_rounds_follow_each_other(fitted):
    """What a model logs is a valid input of the next round."""
    decided = fitted.decide(X, random_state=5)
    following = fit(
        given={
            "decision": decided.decision,
            "propensity": decided.propensity,
            "behavior_spread": fitted.spread_,
            "impact": 0.8 * decided.decision + np.random.default_rng(6).normal(size=3_000),
        }
    )
    weights = {a.name: a.status for a in following.certificate_.assumptions}
    assert weights["mean weight near 1"] == "checked"
    assert following.spread_ < fitted.spread_


def test_crossfit_releases_a_mixture():
    reg = fit(split="crossfit", folds=3)
    assert len(reg.fitted_.models) == 3
    mean, spread = reg.predict_distribution(X[:1])
    one = np.repeat(X[:1], 100_000, axis=0)
    drawn = reg.decide(one, random_state=0)
    assert abs(drawn.decision.mean() - mean[0]) <= 4 * spread[0] / np.sqrt(100_000)
    assert drawn.decision.std() == pytest.approx(spread[0], rel=0.02)
    # The logged density is that of the mixture: it integrates to 1.
    assert np.mean(1 / drawn.propensity * (np.abs(drawn.decision - mean[0]) < spread[0])) == (
        pytest.approx(2 * spread[0], rel=0.02)
    )
    parts = [m.policy.moments(m.theta, X[:1]) for m in reg.fitted_.models]
    by_hand = sum(
        share * np.exp(-0.5 * ((drawn.decision - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))
        for share, (m, s) in zip(reg.fitted_.shares, parts, strict=True)
    )
    np.testing.assert_allclose(drawn.propensity, by_hand)
    assert reg.spread_ == max(s for _, s in parts)


@pytest.mark.parametrize(
    "parameters",
    [
        {"search": "cmaes"},
        {"estimator": "paired"},
        {"estimator": "is", "bound": "ttest", "accept_violated": ["tau_known"]},
        {"split": "stratified", "accept_violated": ["halves_independent"]},
        {"power": None, "inflation": 2.0},
        {"candidate_tuning": {"estimator": ["paired", "dr"]}},
    ],
    ids=str,
)
def test_other_ways(parameters):
    reg = fit(POPULATION.constraints[1], **parameters)
    assert reg.solution_found_
    assert POPULATION.mse(POPULATION.behavior) > np.mean((reg.predict_distribution(X)[0] - Y) ** 2)


def test_statistics_of_the_decision_alone_need_no_weights():
    groups = {"sensitive_features": {"T": DRAW.group}}
    plain = ELFRegressor().fit(X, Y)
    mean, _ = plain.predict_distribution(X)
    gap = abs(mean[DRAW.group == 0].mean() - mean[DRAW.group == 1].mean())
    limit = gap / 2
    reg = ELFRegressor(f"abs(E[decision | T == 0] - E[decision | T == 1]) <= {limit}")
    reg.fit(X, Y, **groups)
    assert reg.solution_found_
    mean, _ = reg.predict_distribution(X)
    assert abs(mean[DRAW.group == 0].mean() - mean[DRAW.group == 1].mean()) < limit
    above = ELFRegressor("P[decision >= 6] <= 0.1 and mse <= 3").fit(X, Y)
    assert above.solution_found_
    drawn = above.predict(np.repeat(X, 20, axis=0), random_state=0)
    assert (drawn >= 6).mean() < 0.1 < (plain.predict(X, random_state=0) >= 6).mean()
    assert ELFRegressor("P[decision >= 6] <= 0.3", bound="hoeffding").fit(X, Y).solution_found_


def test_constraints_built_in_python():
    group = col("T") == 1
    reg = fit([
        E("impact", given=group) >= E_logged("impact", given=group),
        E(decision) >= 4,
        P(decision >= 9) <= 0.2,
        mse <= 4,
    ])  # fmt: skip
    assert len(reg.certificate_.constraints) == 4
    assert reg.solution_found_


def test_an_impossible_constraint_is_no_solution():
    reg = fit("mse <= 0.2")
    assert not reg.solution_found_
    for ask in (reg.predict, reg.decide, reg.predict_distribution):
        with pytest.raises(NoSolutionFoundError):
            ask(X)
    with pytest.raises(NoSolutionFoundError):
        reg.score(X, Y)
    assert "No solution found" in reg.explain()


def test_the_same_seed_finds_the_same_model_and_copies_agree(fitted):
    again = clone(fitted).fit(X, Y, **LOGGED)
    expected = fitted.predict_distribution(X[:5])
    np.testing.assert_array_equal(again.predict_distribution(X[:5]), expected)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict_distribution(X[:5]), expected
    )


# -- what is refused ---------------------------------------------------------------------------


def changed(name, value):
    column = np.full(3_000, LOGGED[name], dtype=float)
    column[4] = value
    return {name: column}


TEXT = np.where(DRAW.group == 1, "high", "low")


@pytest.mark.parametrize(
    ("label", "given", "words"),
    [
        (None, {}, "requires y to be passed"),
        (Y[:-1], {}, "y has 2,999 rows, but X has 3,000"),
        (TEXT, {}, "y must hold numbers. Got 'high'"),
        (np.column_stack([Y, Y]), {}, "y should be a 1d array"),
        (np.where(np.arange(3_000) == 2, np.nan, Y), {}, "Input y contains NaN"),
        (
            Y,
            changed("propensity", 0),
            r"propensity must be positive and finite\. Got 0\.0 in 1 of 3,000 rows",
        ),
        (Y, changed("propensity", -1), "Got -1.0 in 1 of 3,000 rows"),
        (Y, changed("propensity", np.inf), "Got inf in 1 of 3,000 rows"),
        (Y, changed("propensity", np.nan), "Got nan in 1 of 3,000 rows"),
        (Y, changed("decision", np.nan), "Input decision contains NaN"),
        (Y, {"decision": TEXT}, "decision must hold numbers. Got 'high'"),
        (Y, {"decision": DRAW.group}, "decision holds only 2 different values"),
        (Y, {"decision": None}, "propensity was given without the decision"),
        (Y, {"propensity": None}, "needs propensity, which was not given"),
        (Y, {"impact": None}, "impact was not given"),
        (Y, {"behavior_spread": None}, "needs behavior_spread, which was not given"),
        (Y, {"behavior_spread": 0.0}, "behavior_spread must be positive and finite. Got 0"),
        (Y, {"behavior_spread": -1.0}, "Got -1.0 in 3,000 of 3,000 rows"),
        (Y, changed("behavior_spread", np.inf), "Got inf in 1 of 3,000 rows"),
        (Y, {"behavior_spread": [1.0, 2.0]}, "behavior_spread has 2 rows"),
        (Y, {"behavior_spread": "wide"}, "behavior_spread must hold numbers"),
    ],
)
def test_bad_data_get_a_clear_error_and_leave_nothing(label, given, words):
    reg = ELFRegressor(NO_WORSE)
    with pytest.raises(ElfairError, match=words) as caught:
        reg.fit(X, label, **{**LOGGED, **given})
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).count("\nHint: ") == 1
    assert is_unfitted(reg)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"spread": (0.9, 0.1)}, r"0 < low <= high < 1\. Got \(0\.9, 0\.1\)"),
        ({"spread": (0.1, 1.0)}, "weights would have no bound"),
        ({"spread": (0.0, 0.9)}, r"Got \(0\.0, 0\.9\)"),
        ({"spread": 0.5}, "Got 0.5"),
        ({"objective": "log_loss"}, "objective must be 'mse' or an expression"),
        ({"objective": "accuracy"}, "'accuracy' asks whether the decision equals"),
        ({"objective": "P[decision == 1]"}, "equals some value"),
        ({"objective": "E[nothing]"}, "'nothing'"),
        ({"objective": "mse[T == 1]"}, "would make an error large"),
        ({"objective": 3}, "3"),
        ({"constraints": "accuracy >= 0.5"}, "'accuracy' asks whether the decision equals"),
        ({"constraints": "P[decision == 1] >= 0.5"}, "equals some value"),
        ({"constraints": "P[decision >= label] >= 0.5"}, "other than a literal number"),
        ({"bound": "hoeffding", "impact_range": (-9, 9)}, "needs the largest importance weight"),
        ({"bound": "bernstein", "impact_range": (-9, 9)}, "needs the largest importance weight"),
        ({"bound": "betting", "estimator": "paired"}, "declare impact_range"),
        ({"bound": "betting"}, "rows of estimator='dr'"),
        ({"bound": "betting", "constraints": "mse <= 2"}, "a known range; 'mse <= 2' speaks of"),
        ({"bound": "anderson", "constraints": "E[decision] <= 2"}, "a known range"),
        ({"bound": "anderson", "impact_range": (-9, 9)}, "rows of estimator='dr'"),
        ({"bound": "magic"}, "'magic'"),
        ({"split": "magic"}, "split must be"),
        ({"delta": 2}, "delta must be a number in"),
        ({"random_state": -1}, "random_state must be"),
        ({"candidate_tuning": {"spread": [(0.1, 0.9)]}}, "candidate_tuning can choose"),
    ],
)
def test_bad_parameters_get_a_clear_error_and_leave_nothing(parameters, words):
    reg = ELFRegressor(**{"constraints": NO_WORSE, **parameters})
    with pytest.raises(InputError, match=words) as caught:
        reg.fit(X, Y, **LOGGED)
    assert str(caught.value).count("\nHint: ") == 1
    assert is_unfitted(reg)


def test_bounds_that_are_refused_are_bound_errors():
    with pytest.raises(BoundError):
        fit(bound="hoeffding", impact_range=(-20, 20))


def test_wrong_densities_are_noticed():
    with pytest.warns(CertificateWarning, match="mean weight near 1") as caught:
        reg = fit(given={"propensity": DRAW.propensity / 2})
    assert caught[0].filename == __file__
    status = {a.name: a.status for a in reg.certificate_.assumptions}
    assert status["mean weight near 1"] == "violated"


def test_a_regressor_before_fit():
    from sklearn.exceptions import NotFittedError

    for ask in (ELFRegressor().predict, ELFRegressor().decide, ELFRegressor().predict_distribution):
        with pytest.raises(NotFittedError):
            ask(X)


def test_other_features_than_in_fit(fitted):
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict(X[:, :2])


def test_certify_is_for_classes():
    from elfair.data import ContinuousData

    data = ContinuousData(X, Y, decision=DRAW.decision, propensity=DRAW.propensity)
    with pytest.raises(DataError, match="two or more classes"):
        elfair.certify(np.ones(3_000), data, "mse <= 1")
