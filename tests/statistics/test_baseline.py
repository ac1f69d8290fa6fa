"""Baselines: constants, outcome models, and what may be learnt from which rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.tree import DecisionTreeRegressor

from elfair import LoggedData
from elfair.data.features import MOST_GROUPS, Encoding
from elfair.errors import InputError
from elfair.language.build import col
from elfair.statistics import Baselines, Estimation
from elfair.statistics.impact_estimators import ESTIMATORS, ImpactEstimator, Paired
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


def test_constants_follow_the_rules():
    data = make()
    inside = data.sensitive["T"] == 1
    mean, declared = data.impacts["impact"][inside].mean(), {"impact": (-8.0, 9.0)}
    given = col("T") == 1

    def constant(sign, **estimation):
        return Baselines(Estimation(**estimation), data).constant(Impact("impact"), given, sign)

    for sign in (-1.0, 1.0):
        assert constant(sign) == pytest.approx(mean)
        assert constant(sign, ranges=declared, center="mean") == pytest.approx(mean)
        assert constant(sign, estimator="is") == 0
        for center in ("auto", "range"):
            # A lower tail of the impact (g falls with it) is safe at the low end, and vice versa.
            end = -8.0 if sign < 0 else 9.0
            assert constant(sign, ranges=declared, center=center) == end
            assert constant(sign, ranges=declared, center=center, estimator="is") == end
    # Another impact's range says nothing of this one.
    assert constant(-1.0, ranges={"other": (0.0, 1.0)}) == pytest.approx(mean)
    overall = Baselines(Estimation(), data).constant(Impact("impact"), None, -1.0)
    assert overall == pytest.approx(data.impacts["impact"].mean())


def test_under_a_finite_sample_bound_there_is_a_choice_where_weights_are_known():
    ranges = {"impact": (-9.0, 9.0)}
    known = Estimation(ranges=ranges, largest_weight=4.0, finite_sample=True)
    assert known.may_center
    assert known.learns_from(Impact("impact"))
    for other in (
        replace(known, finite_sample=False),
        replace(known, largest_weight=np.inf),
        replace(known, ranges={}),
        replace(known, center="range"),
        replace(known, center="mean"),
        replace(known, estimator="is"),
    ):
        assert not other.may_center
    baselines = Baselines(known, make())
    impact = Impact("impact")
    mean = make().impacts["impact"].mean()
    assert baselines.centred_at("range").constant(impact, None, -1.0) == -9
    assert baselines.centred_at("mean").constant(impact, None, -1.0) == pytest.approx(mean)


def test_a_condition_that_no_candidate_row_meets_has_the_constant_zero():
    assert Baselines(Estimation(), make()).constant(Impact("impact"), col("T") == 5, -1.0) == 0


def test_an_unknown_estimator_of_impact_is_an_error_and_not_another_one():
    with pytest.raises(InputError, match=r"(?s)Got 'pared'.*did you mean 'paired'\?"):
        Baselines(Estimation("pared"), make()).constant(Impact("impact"), None, -1.0)


def test_an_estimator_of_impact_that_does_not_say_all_is_refused():
    with pytest.raises(TypeError, match="Forgetful lacks note, words, learns, replaces_logged, "):

        class Forgetful(Paired):
            name = "forgetful"


def test_every_estimator_of_impact_is_in_the_table():
    found = [ImpactEstimator]
    for each in found:
        found += each.__subclasses__()
    ours = {each for each in found[1:] if each.__module__.startswith("elfair")}
    assert {type(each) for each in ESTIMATORS.values()} == ours


@pytest.mark.parametrize(("estimation", "learns"), [
    (Estimation(), True),
    (Estimation("is"), False),
    (Estimation("dr"), True),
    (Estimation("dr", ranges={"impact": (0, 1)}), True),
    (Estimation(ranges={"impact": (0, 1)}), False),
    (Estimation(ranges={"impact": (0, 1)}, center="range"), False),
    (Estimation(ranges={"impact": (0, 1)}, center="mean"), True),
    (Estimation(ranges={"other": (0, 1)}), True),
])  # fmt: skip
def test_whether_a_baseline_needs_rows_that_are_not_tested(estimation, learns):
    assert estimation.learns_from(Impact("impact")) is learns


def test_a_baseline_that_needs_no_other_rows_does_not_change_with_them():
    declared = Estimation(ranges={"impact": (-9, 9)})
    for estimation in (declared, Estimation("is")):
        constants = {
            Baselines(estimation, make(seed)).constant(Impact("impact"), None, -1.0)
            for seed in (1, 2)
        }
        assert len(constants) == 1


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
