"""certify: the fairness test alone, for models from elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import stdtrit
from sklearn.linear_model import LinearRegression

from elfair import Certificate, LoggedData, certify
from elfair.bounds import FINITE_SAMPLE
from elfair.data.split import Split
from elfair.errors import (
    BoundError,
    CertificateWarning,
    ConstraintError,
    DataError,
    ElfairError,
    InputError,
)
from elfair.statistics.impact_estimators import ESTIMATORS

NO_WORSE = "E[impact] >= E_logged[impact]"


def draw(n=400, seed=0, **more):
    """Decision 1 is taken by a fair coin and is worth 0.3 more; impacts are in [0, 1]."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    given = {
        "sensitive_features": {"T": rng.integers(0, 2, n)},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": np.clip(0.3 + 0.3 * decision + 0.1 * rng.normal(size=n), 0, 1),
        **more,
    }
    return LoggedData(rng.normal(size=(n, 2)), rng.integers(0, 2, n), **given)


def mostly_one(n=400, p=0.9):
    return np.tile([1 - p, p], (n, 1))


def by_hand(rows, delta):
    n = rows.size
    return rows.mean() + rows.std(ddof=1) * stdtrit(n - 1, 1 - delta) / np.sqrt(n)


def test_the_t_bound_is_that_of_the_paired_rows_that_are_tested():
    data = draw(row_id=np.arange(400))
    record = certify(mostly_one(), data, NO_WORSE, delta=0.05, bound="ttest")
    others = Split.of(data, "none", share=0.2, seed=0).candidate
    tested = np.setdiff1d(np.arange(400), others.row_id)
    weight = np.where(data.decision == 1, 0.9, 0.1)[tested] / 0.5
    rows = (1 - weight) * (data.impact("impact")[tested] - others.impact("impact").mean())
    (result,) = record.constraints
    assert result.estimate == pytest.approx(rows.mean())
    assert result.upper == pytest.approx(by_hand(rows, 0.05))
    assert result.spread == pytest.approx(rows.std(ddof=1))
    assert result.ess == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert result.mean_weight == pytest.approx(weight.mean())
    assert result.max_weight == pytest.approx(1.8)
    assert (record.n, record.n_candidate, record.n_held_out) == (400, 80, 320)
    assert (record.split, record.search) == ("none", None)
    assert record.passed


def test_constants_are_learnt_from_a_fifth_of_the_rows_that_is_then_not_tested():
    record = certify(mostly_one(), draw(), NO_WORSE)
    assert (record.n, record.n_candidate, record.n_held_out) == (400, 80, 320)
    assert record.constraints[0].n == 320
    record = certify(mostly_one(), draw(), NO_WORSE, nuisance_fraction=0.5)
    assert (record.n_candidate, record.n_held_out) == (200, 200)


@pytest.mark.parametrize(
    ("given", "aside"),
    [
        ({"estimator": "is", "accept_violated": ["tau_known"]}, 0),
        ({"estimator": "dr"}, 80),
        (
            {
                "estimator": "is",
                "impact_range": (0, 1),
                "bound": "betting",
                "accept_violated": ["tau_known"],
            },
            0,
        ),
        ({"estimator": "dr", "impact_range": (0, 1)}, 80),
        ({"impact_range": {"impact": (0, 1)}}, 80),
        ({"impact_range": (0, 1), "bound": "betting"}, 80),
        ({"bound": "ttest"}, 80),
    ],
)
def test_rows_are_set_aside_only_where_something_is_learnt(given, aside):
    assert certify(mostly_one(), draw(), NO_WORSE, **given).n_candidate == aside


def test_rates_learn_nothing():
    assert certify(mostly_one(), draw(), "PR >= 0.8").n_candidate == 0


def test_plain_importance_sampling_takes_the_average_for_known():
    data = draw()
    accepted = {"estimator": "is", "bound": "ttest", "accept_violated": ["tau_known"]}
    record = certify(mostly_one(), data, NO_WORSE, **accepted)
    weight = np.where(data.decision == 1, 0.9, 0.1) / 0.5
    rows = data.impact("impact").mean() - weight * data.impact("impact")
    assert record.constraints[0].estimate == pytest.approx(rows.mean())
    assert record.constraints[0].upper == pytest.approx(by_hand(rows, 0.1))
    statuses = {a.name: a.status for a in record.assumptions}
    assert statuses["tau is known"] == "violated"


def test_doubly_robust_with_a_given_regressor():
    record = certify(
        mostly_one(), draw(), NO_WORSE, estimator="dr", outcome_model=LinearRegression()
    )
    assert record.passed
    assert record.estimator == "dr"
    # The noise of plain weighting is that of the decision; an outcome model takes it out.
    accepted = {"estimator": "is", "accept_violated": ["tau_known"]}
    plain = certify(mostly_one(), draw(), NO_WORSE, **accepted)
    assert record.constraints[0].spread < 0.6 * plain.constraints[0].spread


def test_a_harmful_model_does_not_pass():
    record = certify(mostly_one(p=0.1), draw(), NO_WORSE)
    assert not record.passed
    assert record.constraints[0].estimate == pytest.approx(0.12, abs=0.03)
    assert record.constraints[0].rows_needed is None


def test_the_behaviour_model_itself_passes_with_a_bound_of_exactly_zero():
    for bound, known in (("ttest", {}), ("ttest", {"impact_range": (0, 1)})):
        (result,) = certify(
            np.full((400, 2), 0.5), draw(), NO_WORSE, bound=bound, **known
        ).constraints
        assert result.upper == 0
        assert result.passed


def test_one_column_is_the_probability_of_the_larger_class():
    table = certify(mostly_one(), draw(), NO_WORSE, impact_range=(0, 1))
    column = certify(mostly_one()[:, 1], draw(), NO_WORSE, impact_range=(0, 1))
    assert column.constraints == table.constraints


def test_columns_in_another_order():
    table = certify(mostly_one(), draw(), NO_WORSE, impact_range=(0, 1))
    turned = mostly_one()[:, ::-1]
    named = certify(turned, draw(), NO_WORSE, impact_range=(0, 1), classes=[1, 0])
    frames = [pd.DataFrame(turned, columns=["1", "0"]), pl.DataFrame(turned, schema=["1", "0"])]
    assert named.constraints == table.constraints
    for frame in frames:
        by_name = certify(frame, draw(), NO_WORSE, impact_range=(0, 1))
        assert by_name.constraints == table.constraints


def test_three_classes_by_hand():
    rng = np.random.default_rng(4)
    n = 600
    beta = rng.dirichlet([2, 2, 2], n)
    decision = (rng.random(n)[:, None] > beta.cumsum(axis=1)).sum(axis=1)
    names = np.array(["deny", "grant", "wait"], dtype=object)
    impact = rng.random(n)
    data = LoggedData(
        np.zeros((n, 1)), decision=names[decision], behavior=beta, impact=impact, classes=names
    )
    pi = rng.dirichlet([1, 2, 3], n)
    weight = pi[np.arange(n), decision] / beta[np.arange(n), decision]
    known = {"estimator": "is", "bound": "ttest"}
    (result,) = certify(pi, data, "E[impact] >= 0.2", **known).constraints
    assert result.estimate == pytest.approx(0.2 - (weight * impact).mean())
    assert result.upper == pytest.approx(by_hand(0.2 - weight * impact, 0.1))
    turned = certify(
        pi[:, [2, 0, 1]],
        data,
        "E[impact] >= 0.2",
        classes=["wait", "deny", "grant"],
        **known,
    )
    assert turned.constraints[0] == result


def test_conditions_that_overlap_count_each_row_once():
    data = draw()
    ones = data.column("T") == 1
    (result,) = certify(mostly_one(), data, "PR[T == 1] - PR <= 0.2").constraints
    assert result.n == 400
    assert [group.n for group in result.groups] == [ones.sum(), 400]


def test_the_difference_of_two_groups_follows_welch():
    data = draw()
    one = data.column("T") == 1
    p = np.random.default_rng(9).uniform(0.2, 0.8, 400)
    (result,) = certify(p, data, "PR[T == 1] - PR[T == 0] <= 0.2", bound="ttest").constraints
    a, b = p[one], p[~one]
    terms = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    freedom = sum(terms) ** 2 / (terms[0] ** 2 / (a.size - 1) + terms[1] ** 2 / (b.size - 1))
    margin = np.sqrt(sum(terms)) * stdtrit(freedom, 0.9)
    assert result.estimate == pytest.approx(a.mean() - b.mean() - 0.2)
    assert result.upper == pytest.approx(a.mean() - b.mean() - 0.2 + margin)
    assert result.n == 400


def test_each_statement_is_tested_at_its_own_delta():
    texts = ["PR >= 0.5", NO_WORSE, "accuracy >= 0.1"]
    record = certify(
        np.random.default_rng(1).uniform(0.6, 0.95, 400),
        draw(),
        texts,
        delta=[0.01, 0.2, 0.05],
        estimator="is",
        bound="ttest",
        accept_violated=["tau_known"],
    )
    results = {r.constraint: r for r in record.constraints}
    assert {text: r.delta for text, r in results.items()} == dict(
        zip(texts, [0.01, 0.2, 0.05], strict=True)
    )
    for result in results.values():
        quantile = stdtrit(399, 1 - result.delta)
        margin = quantile * result.spread / np.sqrt(400)
        assert result.upper == pytest.approx(result.estimate + margin)
    assert record.joint_delta == 0.2


@pytest.mark.parametrize("bound", FINITE_SAMPLE)
def test_finite_sample_bounds_are_wider_than_t_and_say_what_they_are(bound):
    known = {"impact_range": (0, 1), "propensity_floor": 0.5}
    t = certify(mostly_one(), draw(), NO_WORSE, bound="ttest", **known).constraints[0]
    record = certify(mostly_one(), draw(), NO_WORSE, bound=bound, **known)
    assert record.constraints[0].kind == "finite-sample"
    assert record.constraints[0].upper > t.upper
    assert "asymptotic" not in record.joint_statement
    assert "normal average" not in {a.name for a in record.assumptions}
    with pytest.raises(BoundError, match="impact_range"):
        certify(mostly_one(), draw(), NO_WORSE, bound=bound)


def test_wrong_propensities_raise_a_warning_and_violate_an_assumption():
    rng = np.random.default_rng(0)
    data = LoggedData(  # of three decisions, and too large, so that only the weights look wrong
        rng.normal(size=(400, 2)),
        decision=rng.integers(0, 3, 400),
        propensity=np.full(400, 0.5),
        impact=rng.random(400),
    )
    with pytest.warns(CertificateWarning, match="mean weight near 1") as caught:
        record = certify(np.tile([0.1, 0.1, 0.8], (400, 1)), data, NO_WORSE)
    assert caught[0].filename == __file__
    assert {a.name: a.status for a in record.assumptions}["mean weight near 1"] == "violated"
    assert any("mean weight near 1" in warning.text for warning in record.warnings)


def test_a_rare_decision_that_never_came_is_not_taken_for_a_wrong_propensity():
    # P(no 1 among 30) = 0.95^30 = 0.21: the weights are then all 0.1 / 0.95, and do not vary.
    n = 30
    data = LoggedData(
        np.zeros((n, 1)),
        decision=np.zeros(n, int),
        propensity=np.full(n, 0.95),
        impact=np.arange(n) / n,
        classes=[0, 1],
    )
    known = {"impact_range": (0, 1), "accept_violated": ["normal_average"]}
    record = certify(mostly_one(n), data, NO_WORSE, **known)
    assert {a.name: a.status for a in record.assumptions}["mean weight near 1"] == "checked"


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        (np.full((400, 2), 0.6), "row 0 sums to 1.2"),
        (np.full((400, 3), 1 / 3), r"shape \(400, 2\)\. Got \(400, 3\)"),
        (np.full((399, 2), 0.5), r"Got \(399, 2\)"),
        (np.full(400, 1.2), "Got negative, missing or infinite values in 400 of 400 rows"),
        (np.full(400, np.nan), "Got negative, missing or infinite values in 400 of"),
        (np.array(["a"] * 400), "must hold numbers"),
    ],
)
def test_probabilities_that_are_none(probabilities, words):
    with pytest.raises(DataError, match=words):
        certify(probabilities, draw(), NO_WORSE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"constraints": []}, "nothing to certify"),
        ({"classes": [0, 2]}, "does not name the classes"),
        ({"nuisance_fraction": 0}, r"nuisance_fraction must be a number in \(0, 1\). Got 0"),
        ({"nuisance_fraction": "a"}, "nuisance_fraction must be a number"),
        ({"bound": "magic"}, "magic"),
        ({"estimator": "magic"}, "estimator must be 'auto' .* Got 'magic'"),
        ({"delta": 2}, "delta must be a number in"),
        ({"impact_range": (1, 0)}, r"low < high, .* Got \(1, 0\)"),
        ({"impact_range": (0, np.inf)}, r"impact_range must be two numbers .* Got \(0, inf\)"),
        ({"impact_range": 3}, "impact_range must be two numbers"),
        ({"impact_range": (0, 0.5)}, r"leaves its declared range \[0, 0.5\] in \d+ of 400 rows"),
        ({"impact_range": {"imapct": (0, 1)}}, "did you mean 'impact'"),
        ({"propensity_floor": 0.6}, "propensity_floor is 0.6, but 400 .* the smallest is 0.5"),
        (
            {"propensity_floor": 0},
            r"propensity_floor must be a number in \(0, 1\], .* Got 0",
        ),
        ({"propensity_floor": "low"}, "propensity_floor must be .* Got 'low'"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"random_state": None}, "random_state must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense(given, words):
    constraints = given.pop("constraints", NO_WORSE)
    with pytest.raises(InputError, match=words) as caught:
        certify(mostly_one(), draw(), constraints, **given)
    assert "\nHint: " in str(caught.value)


def test_a_floor_that_rounding_undercuts_is_right():
    # 1 - 0.9 is 0.09999999999999998.
    rng = np.random.default_rng(2)
    decision = (rng.random(400) < 0.9).astype(int)
    data = draw(decision=decision, propensity=np.where(decision == 1, 0.9, 0.1))
    assert data.behavior.min() < 0.1
    known = {"impact_range": (0, 1), "propensity_floor": 0.1}
    assert certify(np.full(400, 0.8), data, NO_WORSE, bound="hoeffding", **known)


def test_data_that_are_none():
    with pytest.raises(InputError, match=r"data must be a LoggedData\. Got dict"):
        certify(mostly_one(), {"impact": [1]}, NO_WORSE)
    with pytest.raises(DataError, match=r"between two or more classes\. Got 0"):
        certify(mostly_one(2), LoggedData([[0.0], [1.0]]), NO_WORSE)


def test_what_a_constraint_needs_is_asked_for():
    n = 400
    bare = LoggedData(np.zeros((n, 1)), np.arange(n) % 2)
    assert certify(mostly_one(), bare, "PR >= 0.5").constraints[0].n == n
    with pytest.raises(ElfairError, match="impact was not given"):
        certify(mostly_one(), bare, NO_WORSE, impact_range=(0, 1))
    for estimator in ESTIMATORS:
        with pytest.raises(ElfairError, match="needs decision, which was not given"):
            certify(
                mostly_one(),
                LoggedData(np.zeros((n, 1)), np.arange(n) % 2, impact=np.arange(n)),
                NO_WORSE,
                estimator=estimator,
            )
    with pytest.raises(ElfairError, match="needs propensity, which was not given"):
        certify(
            mostly_one(),
            LoggedData(np.zeros((n, 1)), decision=np.arange(n) % 2, impact=np.arange(n)),
            NO_WORSE,
        )


def test_a_decision_that_the_behaviour_model_could_not_take_is_refused():
    class Careful:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            p = np.where(np.asarray(X)[:, 0] > 0, 0.5, 0.0)
            return np.column_stack([1 - p, p])

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    decision = (rng.random(400) < Careful().predict_proba(X)[:, 1]).astype(int)
    data = LoggedData(X, decision=decision, behavior=Careful(), impact=rng.random(400))
    impossible = (X[:, 0] <= 0).sum()
    with pytest.raises(DataError, match=f"could not, in {impossible} of 400 rows"):
        certify(mostly_one(), data, NO_WORSE)
    masked = np.where(X[:, 0] > 0, 0.9, 0.0)
    record = certify(masked, data, NO_WORSE)
    assert {a.name: a.status for a in record.assumptions}["support"] == "checked"


@pytest.mark.parametrize("size", [0, 1])
def test_a_condition_that_fewer_than_two_rows_meet_is_an_error(size):
    group = np.zeros(400, int)
    group[:size] = 1
    with pytest.raises(DataError, match=rf"'T == 1' is met by {size} of the 400 rows"):
        certify(mostly_one(), draw(sensitive_features={"T": group}), "PR[T == 1] <= 0.95")


def test_few_rows_are_a_warning_in_the_certificate():
    for size, warned in ((2, True), (9, True), (10, False)):
        group = np.zeros(400, int)
        group[:size] = 1
        data = draw(sensitive_features={"T": group})
        record = certify(mostly_one(), data, "PR[T == 1] <= 0.95")
        words = f"only {size} held-out rows meet 'T == 1' (below 10)"
        for warnings in (record.warnings, record.constraints[0].warnings):
            assert any(each.text.startswith(words) for each in warnings) is warned


def test_a_test_that_could_not_be_run_has_opened_nothing(counted):
    data = draw(seed=78)
    with pytest.raises(BoundError):
        certify(mostly_one(), data, NO_WORSE, bound="betting", estimator="is")
    with pytest.raises(DataError):
        certify(mostly_one(), data, "PR[T == 7] <= 0.95")
    assert certify(mostly_one(), data, NO_WORSE, bound="betting", impact_range=(0, 1)).openings == 1


def test_the_seed_decides_which_rows_are_set_aside():
    data = draw()
    same = [certify(mostly_one(), data, NO_WORSE, random_state=s).constraints for s in (3, 3)]
    assert same[0] == same[1]
    other = certify(mostly_one(), data, NO_WORSE, random_state=4).constraints
    assert other[0].estimate != same[0][0].estimate


def test_people_of_whom_nothing_is_known_are_counted():
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 400)
    data = LoggedData(
        np.zeros((400, 1)),
        decision=decision,
        propensity=np.full(400, 0.5),
        impact=decision + rng.normal(size=400),
        sensitive_features={"race": ["A"] * 180 + [None] * 40 + ["B"] * 180},
    )
    certificate = certify(np.full(400, 0.9), data, "E[impact | race == 'A'] >= 0")
    (said,) = [w.text for w in certificate.warnings if w.code == "people_not_named"]
    assert said == (
        "220 of 400 people are in no group that a statement names. Without a statement: race is "
        "'B' (180), race is missing (40)"
    )
    assert f"{said}." in certificate.explain()


def test_the_distribution_of_a_cost_is_refused_in_words():
    n = 40
    data = LoggedData(
        np.zeros((n, 1)),
        np.arange(n) % 2,
        decision=np.arange(n) // 2 % 2,
        propensity=np.full(n, 0.5),
        cost=[[0, 1], [1, 0]],
    )
    with pytest.raises(ConstraintError, match=r"(?s)distribution of the cost.*Hint: use E"):
        certify(np.full(n, 0.5), data, "median[cost] <= 1")


def test_two_rows_leave_none_to_choose_a_point_on():
    data = LoggedData([[0.0], [1.0]], decision=[0, 1], propensity=[0.5, 0.5], impact=[1.0, 2.0])
    with pytest.raises(DataError, match="at least 2 are needed"):
        certify([0.5, 0.5], data, "median[impact] >= 0")


def rare_labels(n, seed):
    """Labels that hardly anybody has, in group A twice as many as in group B."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.3, "A", "B")
    label = (rng.random(n) < np.where(group == "A", 0.006, 0.003)).astype(int)
    known = {"sensitive_features": {"g": group}, "classes": [0, 1]}
    return LoggedData(rng.normal(size=(n, 1)), label, **known), rng.uniform(0.3, 0.9, n)


@pytest.mark.parametrize(
    "constraint",
    [
        "P[decision == 1 and label == 1] <= 0",
        "P[decision == 1 and label == 1 | g == 'A'] <= P[decision == 1 and label == 1 | g == 'B']",
        "P[label == 1 | decision == 1 and g == 'A'] <= P[label == 1 | decision == 1 and g == 'B']",
    ],
)
def test_what_was_not_seen_is_not_known_never_to_occur(constraint):
    # All of them are violated; in a third of the draws nobody of group A has the label.
    draws = [rare_labels(600, seed) for seed in range(120)]
    assert sum(certify(policy, data, constraint).passed for data, policy in draws) <= 0.1 * 120
    records = [certify(policy, data, constraint, bound="ttest") for data, policy in draws]
    assert sum(record.passed for record in records) <= 0.1 * 120
    unseen = [record for record in records if record.constraints[0].upper == np.inf]
    assert unseen
    assert unseen[0].constraints[0].rows_needed is None


def test_a_quotient_of_nothing_by_nothing_is_not_certified():
    data, _ = rare_labels(600, 0)
    apart = " - ".join(f"P[label == 0 | decision == 1 and g == '{g}']" for g in "AB")
    record = certify(np.zeros(600), data, f"abs({apart}) <= 0.5")
    assert not record.passed
    assert [result.upper for result in record.constraints] == [np.inf, np.inf]
    assert [result.rows_needed for result in record.constraints] == [None, None]
    assert Certificate.from_json(record.to_json()) == record


def test_what_is_in_reach_but_for_rounding_is_a_failed_test_and_no_error():
    data, policy = rare_labels(600, 0)
    parts = "0.7 * PR + 0.2 * accuracy + 0.1 * P[decision == 1 | g == 'A']"
    assert not certify(policy, data, f"{parts} >= 1").passed
    with pytest.raises(ConstraintError, match="can never hold"):
        certify(policy, data, f"{parts} >= 1.000001")
