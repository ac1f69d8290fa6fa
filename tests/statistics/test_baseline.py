"""Baselines: constants, outcome models, and what may be learnt from which rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.tree import DecisionTreeRegressor

from elfair import LoggedData
from elfair.data.features import MOST_GROUPS, Encoding
from elfair.errors import InputError
from elfair.language.build import col
from elfair.statistics import Baselines, Estimation
from elfair.statistics.impact_estimators import ESTIMATORS, ImpactEstimator, Paired, Term
from elfair.statistics.impacts import Impact, Ridge

N = 90


def make(seed=0, *, decision=None, groups=None):
    rng = np.random.default_rng(seed)
    return LoggedData(
        rng.normal(3, 2, size=(N, 3)),
        np.arange(N) % 3,
        sensitive_features={"T": np.arange(N) % 2 if groups is None else groups},
        decision=rng.integers(0, 3, N) if decision is None else decision,
        propensity=np.full(N, 0.5),
        impact=rng.normal(size=N) + np.arange(N) % 2,
    )


def test_what_nothing_predicts_is_expected_to_be_the_mean_inside_the_condition():
    data, impact = make(), Impact("impact")
    inside = data.sensitive["T"] == 1
    for estimation in (Estimation(), Estimation(ranges={"impact": (-8.0, 9.0)})):
        level = Baselines(estimation, data).level(impact, col("T") == 1)
        assert level.power == 0
        expected = np.full(N, data.impacts["impact"][inside].mean())
        np.testing.assert_allclose(level.of(make(1)), expected)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_the_level_is_rich_enough(power):
    rng = np.random.default_rng(power)
    x = rng.normal(size=(400, 1))
    impact = 3 + 2 * x[:, 0] ** power + rng.normal(size=400)
    data = LoggedData(x, decision=rng.integers(0, 2, 400), impact=impact)
    level = Baselines(Estimation(), data).level(Impact("impact"), None)
    assert level.power >= power  # chance may make it richer
    away = level.of(data) - (3 + 2 * x[:, 0] ** power)
    assert np.sqrt(np.mean(away**2)) < 0.15


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [0, 3])
def test_the_error_of_predicting_each_row_from_the_others(columns, weighted):
    rng = np.random.default_rng(5)
    inputs, values = rng.normal(size=(30, columns)), rng.normal(size=30)
    weights = rng.exponential(size=30) if weighted else np.ones(30)
    weights /= weights.mean()
    errors = []
    for row in range(30):
        others = np.delete(np.arange(30), row)
        # The centre of the inputs is that of all rows, as a closed form has it.
        away = inputs - np.average(inputs, 0, weights)
        fitted = Ridge.fit(away[others], values[others], weights[others])
        errors.append(values[row] - fitted.predict(away[[row]])[0])
    found = Ridge.left_out(inputs, values, weights)
    np.testing.assert_allclose(found, errors, atol=0.05 if columns else 1e-9)


def test_weights_are_repetitions():
    rng = np.random.default_rng(6)
    inputs, values = rng.normal(size=(30, 2)), rng.normal(size=30)
    often = 1 + rng.integers(0, 3, 30)
    once, again = (
        Ridge.fit(inputs, values, often / 1.0),
        Ridge.fit(np.repeat(inputs, often, axis=0), np.repeat(values, often)),
    )
    assert once.intercept == pytest.approx(again.intercept)
    np.testing.assert_allclose(once.coefficients, again.coefficients)


def test_the_level_does_not_follow_the_usual_decision():
    """Who mostly gets decision 1 gains by it; but whatever is decided, nobody fares better."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4_000, 1))
    usual = np.where(x[:, 0] > 0, 0.9, 0.1)
    decision = (rng.random(4_000) < usual).astype(int)
    data = LoggedData(
        x,
        decision=decision,
        propensity=np.where(decision == 1, usual, 1 - usual),
        impact=2 * decision + rng.normal(size=4_000),
    )
    level = Baselines(Estimation(), data).level(Impact("impact"), None)
    np.testing.assert_allclose(level.of(data), 1.0, atol=0.25)


def test_features_count_only_if_they_predict_better_than_by_chance():
    rng = np.random.default_rng(8)
    powers = [
        Baselines(Estimation(), data).level(Impact("impact"), None).power
        for data in (
            LoggedData(rng.normal(size=(60, 3)), decision=rng.integers(0, 2, 60),
                       impact=rng.normal(size=60))
            for _ in range(40)
        )
    ]  # fmt: skip
    assert np.mean(np.array(powers) == 0) > 0.8


def test_rows_that_a_level_was_fitted_to_are_predicted_from_the_others():
    data = make()
    baselines = Baselines(Estimation(), data)
    level = baselines.level(Impact("impact"), None)
    own, other = (
        Term(Impact("impact"), None, -1.0, 1.0, data.impacts["impact"], own)
        for own in (True, False)
    )
    paired = ESTIMATORS["paired"]
    np.testing.assert_array_equal(paired.subtracted(own, data, baselines)[0], level.left_out)
    np.testing.assert_array_equal(paired.subtracted(other, data, baselines)[0], level.of(data))
    assert baselines.learnt_from(data)
    assert not baselines.learnt_from(make())


def test_what_each_estimator_subtracts():
    data, other = make(), make(1)
    baselines = Baselines(Estimation("dr"), data)
    term = Term(Impact("impact"), None, -1.0, 1.0, data.impacts["impact"])
    k, table = ESTIMATORS["paired"].subtracted(term, other, baselines)
    np.testing.assert_array_equal(k, baselines.level(term.impact, None).of(other))
    assert table is None
    assert ESTIMATORS["is"].subtracted(term, other, baselines) == (0.0, None)
    k, table = ESTIMATORS["dr"].subtracted(term, other, baselines)
    expected = baselines.model(term.impact).of(other)
    np.testing.assert_allclose(k + table, expected)
    assert abs(table.mean()) < 1e-12 < expected.std()


def test_nothing_is_expected_where_no_candidate_row_meets_the_condition():
    level = Baselines(Estimation(), make()).level(Impact("impact"), col("T") == 5)
    assert not level.of(make()).any()


def test_an_unknown_estimator_of_impact_is_an_error_and_not_another_one():
    with pytest.raises(InputError, match=r"(?s)Got 'pared'.*did you mean 'paired'\?"):
        _ = Estimation("pared").impact_estimator


def test_an_estimator_of_impact_that_does_not_say_all_is_refused():
    with pytest.raises(TypeError, match="Forgetful lacks note, words, learns, replaces_logged"):

        class Forgetful(Paired):
            name = "forgetful"


def test_every_estimator_of_impact_is_in_the_table():
    found = [ImpactEstimator]
    for each in found:
        found += each.__subclasses__()
    ours = {each for each in found[1:] if each.__module__.startswith("elfair")}
    assert {type(each) for each in ESTIMATORS.values()} == ours


def test_ridge_is_scikit_learns():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(25, 4)), rng.normal(5, 1, size=25)
    ours, theirs = Ridge.fit(X, y), SklearnRidge(alpha=1.0).fit(X, y)
    np.testing.assert_allclose(ours.coefficients, theirs.coef_, rtol=1e-10)
    assert ours.intercept == pytest.approx(theirs.intercept_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_the_encoding_standardises_and_marks_groups():
    data = make(groups=np.array(["b", "a", "c"] * 30))
    encoded = Encoding.learn(data).of(data)
    np.testing.assert_allclose(encoded[:, :3].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(encoded[:, :3].std(axis=0), 1)
    # The first group is the one that has no mark of its own.
    np.testing.assert_array_equal(encoded[:3, 3:], [[1, 0], [0, 0], [0, 1]])


def test_the_outcome_model_is_a_ridge_regression_for_each_decision():
    data = make()
    q = Baselines(Estimation("dr"), data).model(Impact("impact")).of(data)
    inputs = Encoding.learn(data).of(data)
    assert q.shape == (3, N)
    for a in range(3):
        taken = data.decision_index == a
        fitted = SklearnRidge(alpha=1.0).fit(inputs[taken], data.impacts["impact"][taken])
        np.testing.assert_allclose(q[a], fitted.predict(inputs))


def test_groups_are_worth_knowing():
    # The impact differs by 1 between the groups, which the features do not show.
    data = make()
    q = Baselines(Estimation("dr"), data).model(Impact("impact")).of(data)
    gap = q[:, 1::2].mean() - q[:, ::2].mean()
    assert 0.5 < gap < 1.5


def test_groups_that_training_never_saw_and_groups_too_many():
    data, other = make(), make(1, groups=np.full(N, 77))
    q = Baselines(Estimation("dr"), data).model(Impact("impact")).of(other)
    assert np.isfinite(q).all()
    many = make(groups=np.arange(N) % (MOST_GROUPS + 1))
    assert Encoding.learn(many).of(many).shape == (N, 3)
    few = make(groups=np.arange(N) % MOST_GROUPS)
    assert Encoding.learn(few).of(few).shape == (N, 3 + MOST_GROUPS - 1)


def test_missing_groups_have_no_mark():
    data = make(groups=np.array(["a", "b", None] * 30, dtype=object))
    encoded = Encoding.learn(data).of(data)
    np.testing.assert_array_equal(encoded[:3, 3:], [[0], [1], [0]])


def test_a_decision_that_was_hardly_ever_logged_gets_the_overall_mean():
    data = make(decision=np.array([2] + [0, 1] * 44 + [0]))
    q = Baselines(Estimation("dr"), data).model(Impact("impact")).of(data)
    np.testing.assert_allclose(q[2], data.impacts["impact"].mean())
    assert q[0].std() > 0


def test_an_outcome_model_of_ones_own():
    data = make()
    tree = DecisionTreeRegressor(random_state=0)
    q = Baselines(Estimation("dr", outcome_model=tree), data).model(Impact("impact")).of(data)
    taken = data.decision_index, np.arange(N)
    np.testing.assert_allclose(q[taken], data.impacts["impact"])  # a full tree knows its rows
    assert not hasattr(tree, "tree_")  # what was given is a recipe: only clones are fitted


def test_predictions_stay_inside_the_declared_range():
    data = make()
    limits = (0.2, 0.6)
    q = (
        Baselines(Estimation("dr", ranges={"impact": limits}), data)
        .model(Impact("impact"))
        .of(data)
    )
    assert (q.min(), q.max()) == limits


def test_a_model_is_fitted_once():
    baselines = Baselines(Estimation("dr"), make())
    assert baselines.model(Impact("impact")) is baselines.model(Impact("impact"))
