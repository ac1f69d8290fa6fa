"""Composite claims and statistics beyond the mean, from the text to the certificate."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.special import stdtrit

from elfair import Certificate, ELFClassifier, LoggedData, certify
from elfair.bounds import BOUNDS, FINITE_SAMPLE
from elfair.data.split import Split
from elfair.errors import BoundError, ConstraintError, InputError
from elfair.populations import FosterCare
from elfair.statistics.impact_estimators import ESTIMATORS

KNOWN = {"impact_range": (0, 1), "propensity_floor": 0.5}


def draw(n=1_000, seed=0):
    """A fair coin decides; decision 1 is worth 0.3 more; impacts are in [0, 1]."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    return LoggedData(
        rng.normal(size=(n, 1)),
        rng.integers(0, 2, n),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=np.clip(0.3 + 0.3 * decision + 0.1 * rng.normal(size=n), 0, 1),
    )


def policy(data):
    """Different rates in the two groups, and some variation in each."""
    return np.clip(0.7 + 0.15 * data.column("T") + 0.02 * data.features[:, 0], 0, 1)


def upper(rows, delta):
    n = rows.size
    return rows.mean() + rows.std(ddof=1) * stdtrit(n - 1, 1 - delta) / np.sqrt(n)


# -- by hand ---------------------------------------------------------------------------------------


def test_a_product_is_bounded_by_three_tails_at_a_third_of_delta():
    data = draw()
    p = policy(data)
    known = {"estimator": "is", "bound": "ttest"}  # nothing is set aside
    (result,) = certify(p, data, "E[impact] * PR <= 0.6", **known).constraints
    weight = np.where(data.decision == 1, p, 1 - p) / 0.5
    gain = weight * data.impact("impact")
    assert result.estimate == pytest.approx(gain.mean() * p.mean() - 0.6)
    assert result.upper == pytest.approx(upper(gain, 0.1 / 3) * upper(p, 0.1 / 3) - 0.6)
    assert result.spread == pytest.approx(
        np.hypot(gain.std(ddof=1) * p.mean(), p.std(ddof=1) * gain.mean())
    )
    assert (result.delta, result.n, result.statement) == (0.1, 1_000, "E[impact] * PR <= 0.6")
    (group,) = result.groups
    assert (group.condition, group.n) == ("everyone", 1_000)
    assert group.mean_weight == pytest.approx(weight.mean())


def test_an_either_or_is_bounded_by_its_better_half_at_half_of_delta():
    data = draw()
    p, first = policy(data), data.column("T") == 0
    for text, shares in (
        ("PR[T == 0] >= 0.68 or PR[T == 1] >= 0.99", 2),
        ("max(PR[T == 0] - 0.68, PR[T == 1] - 0.99) >= 0", 2),
        ("PR[T == 0] >= 0.68 and PR[T == 0] <= 0.9 or PR[T == 1] >= 0.99", 3),
    ):
        (result,) = certify(p, data, text, bound="ttest").constraints
        assert result.upper == pytest.approx(upper(0.68 - p[first], 0.1 / shares))
        assert result.passed
        assert [group.condition for group in result.groups] == ["T == 0", "T == 1"]
        assert [group.n for group in result.groups] == [first.sum(), (~first).sum()]
        assert result.n == 1_000
    assert not certify(p, data, "PR[T == 0] >= 0.9 or PR[T == 1] >= 0.99").passed
    # Each of two that must hold needs its whole delta, and both must pass.
    record = certify(p, data, "PR[T == 0] >= 0.68 and PR[T == 1] >= 0.99", bound="ttest")
    assert [result.passed for result in record.constraints] == [False, True]
    assert record.constraints[1].upper == pytest.approx(upper(0.68 - p[first], 0.1))


def test_a_quotient_is_one_linear_statement_and_perhaps_a_second():
    data = draw()
    p, first = policy(data), data.column("T") == 0
    (result,) = certify(p, data, "PR[T == 0] / PR[T == 1] >= 0.75").constraints
    assert result.statement == "PR[T == 0] >= 0.75 * PR[T == 1]"
    assert result.estimate == pytest.approx(0.75 * p[~first].mean() - p[first].mean())
    record = certify(p, data, "PR / E[impact] >= 0.9")
    assert {result.statement for result in record.constraints} == {
        "PR >= 0.9 * E[impact]", "E[impact] >= 0"}  # fmt: skip


def test_a_quantile_is_one_share_at_the_full_delta():
    data = draw()
    p = policy(data)
    text = "quantile[impact, 0.1 | T == 1] >= 0.2"
    record = certify(p, data, text, nuisance_fraction=0.25)
    (result,) = record.constraints
    assert result.statement == "P[impact < 0.2 | T == 1] <= 0.1"
    assert (result.constraint, result.delta) == (text, 0.1)
    assert (record.n_candidate, record.n_held_out) == (250, 750)  # points are chosen on others
    assert 300 < result.n < 450
    # On all rows it would be this: the same claim about a share, which learns nothing.
    known = {"estimator": "is", "bound": "ttest"}
    (whole,) = certify(p, data, result.statement, **known).constraints
    weight = np.where(data.decision == 1, p, 1 - p) / 0.5
    inside = data.column("T") == 1
    rows = (weight * (data.impact("impact") < 0.2))[inside] - 0.1
    assert whole.upper == pytest.approx(upper(rows, 0.1))
    assert whole.n == inside.sum()


# -- estimators and bounds -------------------------------------------------------------------------

CLAIMS = {
    "E[impact] * PR >= 0.2": True,
    "E[impact] >= 0.3 or PR >= 0.99": True,
    "quantile[impact, 0.1] >= 0.1": True,
    "median[impact] <= 0.8": True,
    "CVaR[impact, 0.5] >= 0.1": True,
    "CVaR[impact, 0.5] <= 0.75": True,
    "var[impact] <= 0.2": True,
    "IQR[impact] <= 0.7": True,
    "median[impact | T == 1] - median[impact | T == 0] <= 0.4": True,
    "E[impact] * PR >= 0.8": False,
    "E[impact] >= 0.9 or PR >= 0.99": False,
    "quantile[impact, 0.1] >= 0.5": False,
    "CVaR[impact, 0.5] <= 0.2": False,
    "var[impact] <= 0.005": False,
    "var[impact] >= 0.1": False,
    "IQR[impact] <= 0.05": False,
}


#: What betting for growth can go on with: one average, whatever point is chosen.
ONE_AVERAGE = {
    "quantile[impact, 0.1] >= 0.1", "median[impact] <= 0.8", "CVaR[impact, 0.5] >= 0.1",
    "var[impact] <= 0.2", "quantile[impact, 0.1] >= 0.5", "var[impact] <= 0.005",
}  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("text", "passes"), CLAIMS.items())
def test_every_bound_tells_what_holds_from_what_does_not(bound, text, passes):
    data = draw(6_000, 1)
    if bound == "growth" and text not in ONE_AVERAGE:
        with pytest.raises(BoundError, match=r"made of several.*\nHint: use bound='betting'"):
            certify(policy(data), data, text, bound=bound, **KNOWN)
        return
    record = certify(policy(data), data, text, bound=bound, **KNOWN)
    assert record.passed == passes
    assert {result.kind for result in record.constraints} == {BOUNDS[bound].kind}
    assert {result.constraint for result in record.constraints} == {text}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("text", "passes"), CLAIMS.items())
def test_every_estimator_tells_what_holds_from_what_does_not(estimator, text, passes):
    data = draw(6_000, 2)
    assert certify(policy(data), data, text, estimator=estimator).passed == passes


@pytest.mark.parametrize(
    ("text", "bound", "given", "message"),
    [
        ("E[impact] * PR >= 0.2", "betting", {}, "impact_range"),
        ("CVaR[impact, 0.5] >= 0.1", "betting", {}, "impact_range"),
        ("CVaR[impact, 0.5] <= 0.9", "anderson", {}, "impact_range"),
        ("var[impact] <= 0.1", "betting", {}, "impact_range"),
        ("median[impact] >= 0.1", "hoeffding", {}, "propensity_floor"),
        ("var[impact] <= 0.1", "bernstein", {"impact_range": (0, 1)}, "propensity_floor"),
    ],
)
def test_a_bound_that_does_not_apply_says_what_it_lacks(text, bound, given, message):
    data = draw(200)
    with pytest.raises(BoundError, match=rf"(?s){message}.*Hint: |Hint: .*{message}"):
        certify(policy(data), data, text, bound=bound, **given)


def test_quantiles_need_no_declared_range():
    data = draw(6_000, 1)
    for bound in (each for each in FINITE_SAMPLE if "low" not in BOUNDS[each].needs):
        assert certify(policy(data), data, "quantile[impact, 0.1] >= 0.1", bound=bound).passed


def test_what_is_needed_from_both_sides_is_refused_with_its_place():
    data = draw(200)
    with pytest.raises(ConstraintError, match=r"(?s)from above and from below.*\n +\^{14}\nHint"):
        certify(policy(data), data, "median[impact] * E[impact] <= 1")


# -- how many rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["E[impact] * PR >= 0.395", "E[impact] >= 0.51 or PR >= 0.99"]
)  # fmt: skip
def test_at_the_rows_it_names_a_composite_claim_usually_passes(text):
    def test(n, seed):
        data = draw(n, seed)
        return certify(policy(data), data, text, impact_range=(0, 1))

    needed = test(40_000, 5).constraints[0].rows_needed
    assert 100 < needed < 10_000
    assert np.mean([test(needed, 100 + seed).passed for seed in range(60)]) >= 0.85
    assert np.mean([test(needed // 4, 500 + seed).passed for seed in range(60)]) < 0.8


def test_no_number_of_rows_helps_where_the_estimate_is_on_the_wrong_side():
    data = draw()
    for text in ("E[impact] * PR >= 0.9", "PR >= 0.99 or E[impact] >= 0.9"):
        (result,) = certify(policy(data), data, text).constraints
        assert result.estimate > 0
        assert result.rows_needed is None


def test_a_record_of_composite_claims_reads_back():
    data = draw()
    texts = ["E[impact] * PR >= 0.2", "IQR[impact] <= 0.7", "PR >= 0.5 or PR <= 0.1"]
    record = certify(policy(data), data, texts, delta=[0.1, 0.05, 0.02])
    assert Certificate.from_json(record.to_json()) == record
    assert sorted(result.delta for result in record.constraints) == [0.02, 0.05, 0.05, 0.1]
    assert record.joint_delta == 0.1


# -- training --------------------------------------------------------------------------------------

DRAW = FosterCare(alpha=0.9).sample(1_200, seed=31)


def fit(clf, **changed):
    given = {
        "X": DRAW.features,
        "y": DRAW.label,
        "sensitive_features": {"T": DRAW.group},
        "decision": DRAW.decision,
        "propensity": DRAW.propensity,
        "impact": DRAW.impact,
        **changed,
    }
    return clf.fit(**given)


@pytest.mark.parametrize(
    ("text", "parameters", "statements"),
    [
        ("E[impact | T == 0] * PR >= 0.3", {}, ["E[impact | T == 0] * PR >= 0.3"]),
        ("E[impact] * PR >= 0.2", {"estimator": "is"}, ["E[impact] * PR >= 0.2"]),
        ("E[impact] * PR >= 0.2", {"split": "crossfit"}, ["E[impact] * PR >= 0.2"]),
        ("PR[T == 1] / PR[T == 0] >= 0.5", {"split": "crossfit"},
         ["PR[T == 1] >= 0.5 * PR[T == 0]"]),
        ("accuracy >= 0.7 or PR >= 0.99", {}, ["accuracy >= 0.7 or PR >= 0.99"]),
        ("median[impact | T == 1] >= 0.2", {}, ["P[impact < 0.2 | T == 1] <= 0.5"]),
        ("CVaR[impact, 0.2] >= -0.3", {"estimator": "dr"},
         [r"5 * E[max(# - impact, 0)] <= #"]),
        ("var[impact] <= 0.4", {"search": "cmaes"}, ["E[(impact - #)^2] <= 0.4"]),
        ("IQR[impact] <= 3", {}, ["P[impact < #] <= 0.25", "P[impact > #] <= 0.25"]),
        ("CVaR[impact, 0.2] <= 1.5", {},
         ["E[(impact - 1.5) * (impact <= #)] <= 0", "P[impact > #] <= 0.8"]),
    ],
)  # fmt: skip
def test_models_are_found_and_tested_for_them(text, parameters, statements):
    clf = fit(ELFClassifier([text, "accuracy >= 0.6"], **parameters))
    assert clf.solution_found_
    results = [r for r in clf.certificate_.constraints if r.constraint == text]
    found = sorted(re.sub(r"-?\d+\.\d{4,}(e-\d+)?", "#", r.statement) for r in results)
    assert found == sorted(statements)
    for result in results:
        assert result.upper <= 0
        explained = clf.explain(details=True)
        assert f"passed: {result.statement}" in explained
        assert (f"part of: {text}" in explained) == (result.statement != text)
        rows = re.search(rf"passed: {re.escape(result.statement)}\n(.*\n)*?  rows: .*", explained)
        assert all(str(group.n) in rows.group() for group in result.groups)
    assert clf.predict(DRAW.features[:5]).shape == (5,)


def test_what_cannot_be_had_is_a_result_and_is_explained():
    for text in ("median[impact] >= 5", "E[impact] * PR >= 5", "PR >= 2 or accuracy >= 2",
                 "median[impact] >= 5 or CVaR[impact, 0.1] >= 4"):  # fmt: skip
        clf = fit(ELFClassifier(text))
        assert not clf.solution_found_
        assert "FAILED: " in clf.explain()
        assert "No solution found" in clf.explain()


def test_cross_fitting_refuses_statistics_beyond_the_mean():
    for text in ("median[impact] >= 0", "accuracy >= 0.5 and var[impact] <= 3"):
        with pytest.raises(InputError, match=r"needs one candidate half to choose its points") as e:
            fit(ELFClassifier(text, split="crossfit"))
        assert "Hint: use split='random'." in str(e.value)


def test_points_and_policy_do_not_depend_on_any_held_out_row():
    data = LoggedData(np.zeros((1_200, 1)), np.arange(1_200) % 2, row_id=np.arange(1_200))
    candidate = Split.of(data, "random", share=0.6).candidate
    held_out = np.setdiff1d(np.arange(1_200), candidate.row_id)
    impact = DRAW.impact.copy()
    impact[held_out] = np.random.default_rng(0).normal(5, 3, held_out.size)
    texts = ["IQR[impact] <= 2", "CVaR[impact, 0.2] >= 0.5 * E[impact]", "var[impact] <= 1"]
    before = fit(ELFClassifier(texts))
    after = fit(ELFClassifier(texts), impact=impact)
    assert np.array_equal(before.fitted_.models[0].theta, after.fitted_.models[0].theta)
    assert {r.statement for r in before.certificate_.constraints} == {
        r.statement for r in after.certificate_.constraints
    }
    assert {r.upper for r in before.certificate_.constraints}.isdisjoint(
        r.upper for r in after.certificate_.constraints
    )
