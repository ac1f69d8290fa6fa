"""plan_rows: which rows it looks at, what it answers, and what it refuses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from functools import cache

import numpy as np
import pytest

from elfair import ELFClassifier, ELFRegressor, InputError, LoggedData, check
from elfair.data import ContinuousData
from elfair.data.split import Split
from elfair.errors import ConstraintError, DataError
from elfair.planning import plan_rows
from elfair.populations import Dosage, FosterCare

POPULATION = FosterCare(alpha=0.9)


def logged(n=1_000, seed=1, population=POPULATION, **more):
    draw = population.sample(n, seed)
    return LoggedData(draw.features, draw.label, **draw.logged, **more)


def classifier(constraints=None, **parameters):
    return ELFClassifier(constraints or POPULATION.constraints, **parameters)


@cache
def usual():
    return plan_rows(classifier(), logged(), fits=4)


def test_it_says_how_many_rows_and_of_which_group():
    plan, data = usual(), logged()
    assert plan.verdict == "measured"
    assert 150 < plan.rows < 2_000
    assert plan.low <= plan.rows <= plan.high
    assert plan.pilot == 1_000
    assert plan.looked_at == 600
    ones = float((data.sensitive["T"] == 1).mean())
    assert plan.groups["T == 1"] == pytest.approx(ones * plan.rows, abs=1)
    assert list(plan.groups) == ["T == 0", "T == 1"]
    with pytest.raises(FrozenInstanceError):
        plan.rows = 1


def test_the_curve_rises_and_says_what_was_measured():
    curve = usual().curve
    assert [point.rows for point in curve] == sorted({point.rows for point in curve})
    chances = [point.probability for point in curve]
    assert chances == pytest.approx(sorted(chances), abs=0.02)
    assert chances[0] < 0.8
    assert chances[-1] > 0.9
    assert all(0 <= point.low <= point.high <= 1 for point in curve)
    assert [point.measured for point in curve] == sorted(
        [point.measured for point in curve], reverse=True
    )
    assert max(point.rows for point in curve if point.measured) == usual().pilot


def test_today_the_curve_is_what_check_shows():
    """One forecast: the same number from the same computation, however many fits a plan has."""
    plan, report = usual(), check(classifier(), logged())
    (today,) = (point.probability for point in plan.curve if point.rows == plan.pilot)
    assert today == pytest.approx(report.chance, abs=0.005)  # its average over luck is a sum
    for share, fits in ((0.5, 3), (0.95, 5)):
        other = plan_rows(classifier(), logged(), share=share, fits=fits)
        assert today in [point.probability for point in other.curve]


def test_it_is_the_same_each_time():
    assert plan_rows(classifier(), logged(), fits=4) == usual()


def test_held_out_rows_are_not_looked_at():
    """Impacts, labels and features of the held-out half may be anything."""
    data, population = logged(), POPULATION.sample(1_000, 1)
    ((candidate, sealed),) = Split.of(data, "random", share=0.6).folds
    known = {tuple(row) for row in candidate.features}
    held = np.array([tuple(row) not in known for row in data.features])
    assert held.sum() == sealed.n
    rng = np.random.default_rng(0)
    other = LoggedData(
        np.where(held[:, None], rng.normal(size=data.features.shape), data.features),
        np.where(held, rng.integers(0, 2, data.n), population.label),
        sensitive_features={"T": population.group},
        decision=population.decision,
        propensity=population.propensity,
        impact=np.where(held, 1e6 * rng.normal(size=data.n), population.impact),
    )
    assert plan_rows(classifier(), other, fits=4) == usual()


def test_labels_of_held_out_rows_are_not_counted():
    """A constraint may be about people of one label; how many are held out is not known yet."""
    asked = classifier(["PR[T == 0 and label == 1] - PR[T == 1 and label == 1] <= 0.5"])
    draw = POPULATION.sample(1_000, 1)
    candidate = Split.of(logged(), "random", share=0.6).candidate
    held = np.setdiff1d(np.arange(1_000), candidate.position)
    label = draw.label.copy()
    label[held] = 1
    other = LoggedData(draw.features, label, **draw.logged)
    assert plan_rows(asked, other, fits=3) == plan_rows(asked, logged(), fits=3)


def test_held_out_labels_that_only_some_decisions_reveal_are_not_looked_at():
    asked = classifier(["accuracy >= 0.6", "TPR[T == 1] >= 0.4"])
    draw = POPULATION.sample(600, 1)
    columns = {**draw.logged, "label_seen_for": [1]}
    label = np.where(draw.decision == 1, draw.label, np.nan)
    data = LoggedData(draw.features, label, **columns)
    held = np.setdiff1d(np.arange(600), Split.of(data, "random", share=0.6).candidate.position)
    other = label.copy()
    other[held] = 1 - label[held]
    assert np.nansum(other) != np.nansum(label)
    changed = LoggedData(draw.features, other, **columns)
    assert plan_rows(asked, changed, fits=3) == plan_rows(asked, data, fits=3)


def test_another_seed_looks_at_other_rows():
    assert plan_rows(classifier(random_state=1), logged(), fits=4) != usual()


def test_more_is_asked_for_more_rows():
    better = plan_rows(classifier(), logged(), improvement=0.15, fits=4)
    assert better.improvement == 0.15
    assert better.rows is None or better.rows > 1.5 * usual().rows
    surer = plan_rows(classifier(), logged(), share=0.5, fits=4)
    assert surer.rows < usual().rows


def test_an_improvement_is_a_raised_threshold():
    asked = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}] + 0.1" for t in (0, 1)] + [
        "accuracy >= 0.75"
    ]
    plain = plan_rows(classifier(asked), logged(), fits=4)
    raised = plan_rows(classifier(), logged(), improvement=0.1, fits=4)
    assert replace(raised, improvement=None, binding="") == replace(plain, binding="")


def test_where_decisions_do_nothing_no_rows_are_named():
    nothing = FosterCare(alpha=0.0)
    plan = plan_rows(classifier(), logged(population=nothing), fits=4)
    assert plan.verdict in ("infeasible", "too uncertain")
    assert plan.rows is None
    assert plan.groups == {}
    assert plan.high is None
    assert plan.notes


def test_what_cannot_be_is_infeasible():
    plan = plan_rows(classifier("accuracy >= 0.97"), logged(), fits=4)
    assert plan.verdict == "infeasible"
    assert "right side" in plan.notes[0]


def test_a_search_that_keeps_too_little_margin_never_gets_there():
    plan = plan_rows(classifier(power=0.6, xi=0.0, candidates=1), logged(), fits=4)
    assert plan.verdict == "infeasible"
    assert "raise power" in plan.notes[0]


def test_a_need_beyond_the_pilot_is_an_extrapolation():
    small = FosterCare(alpha=0.2)
    plans = [plan_rows(classifier(), logged(2_000, seed, small), fits=4) for seed in (0, 1)]
    for plan in plans:
        assert plan.verdict in ("extrapolated", "too uncertain")
        assert plan.rows is None or plan.rows > plan.pilot
        assert plan.high is None or plan.high > 2 * plan.low
        assert "extrapolation" in plan.notes[0] or "too small an effect" in plan.notes[0]


def test_an_easy_task_needs_no_more_than_was_tried():
    plan = plan_rows(classifier("accuracy >= 0.3"), logged(), fits=4)
    assert plan.rows == plan.curve[0].rows
    assert "fewer rows may do" in plan.notes[0]


@pytest.mark.parametrize(
    ("constraints", "parameters"),
    [
        (None, {"split": "stratified", "estimator": "is"}),
        (["PR >= 0.3", "abs(PR[T == 0] - PR[T == 1]) <= 0.3"], {}),
        ("quantile[impact, 0.1] >= 0.1", {"objective": "E[impact]"}),
        ("E[impact | T == 1] / E[impact | T == 0] >= 0.5", {"candidates": 1}),
    ],
    ids=str,
)
def test_other_settings(constraints, parameters):
    plan = plan_rows(classifier(constraints, **parameters), logged(), fits=3)
    assert len(plan.curve) >= 3
    assert plan.curve[-1].probability > 0.5


def test_a_finite_sample_bound_needs_as_many_rows_or_more():
    clipped = FosterCare(alpha=0.9, clipped=True)
    declared = {"bound": "betting", "impact_range": clipped.impact_range}
    data = logged(1_500, population=clipped)
    sure = plan_rows(classifier(**declared), data, fits=3)
    assert sure.rows is None or sure.rows >= plan_rows(classifier(), data, fits=3).rows


def test_several_impacts():
    draw = POPULATION.sample(1_000, 1)
    data = LoggedData(
        draw.features,
        draw.label,
        **{**draw.logged, "impact": {"savings": draw.impact, "health": -draw.impact}},
    )
    texts = ["E[savings] >= E_logged[savings]", "E[health] <= E_logged[health]"]
    plan = plan_rows(ELFClassifier(texts), data, improvement=0.05, fits=3)
    assert plan.rows is not None


def test_cross_fitting_says_that_rows_were_seen():
    plan = plan_rows(classifier(split="crossfit", folds=3), logged(), fits=3)
    assert plan.rows is not None
    assert "LOOKED at impacts of rows that split='crossfit' would TEST" in plan.notes[0]
    assert plan.notes[0] in plan.text()
    assert not any("LOOKED" in note for note in usual().notes)


def test_a_search_that_the_forecast_replaces_is_named():
    tuned = {"search": "cmaes", "candidate_tuning": {"power": [0.8, 0.95]}}
    plan = plan_rows(classifier("accuracy >= 0.6", **tuned), logged(), fits=3)
    note = "the forecast uses the default search instead of candidate_tuning and search='cmaes'"
    assert note in plan.notes
    assert not any("default search" in each for each in usual().notes)


def test_propensities_that_do_not_fit_are_refused_as_fit_does():
    draw = POPULATION.sample(1_000, 1)
    wrong = {**draw.logged, "propensity": np.where(draw.decision == 1, 0.9, 0.1)}
    data = LoggedData(draw.features, draw.label, **wrong)
    with pytest.raises(DataError, match="the propensities do not fit the decisions") as caught:
        plan_rows(classifier(), data, fits=3)
    assert "by chance at most" in caught.value.message
    assert "probability of the logged decision" in caught.value.hint
    # What needs no propensities is planned whatever they are.
    assert plan_rows(classifier("accuracy >= 0.6"), data, fits=3).rows is not None


def test_a_regressor():
    population = Dosage()
    draw = population.sample(1_000, 0)
    data = ContinuousData(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        behavior_spread=population.spread,
        impact=draw.impact,
    )
    plan = plan_rows(ELFRegressor(population.constraints), data, fits=3)
    assert plan.rows is not None
    with pytest.raises(InputError, match="data must be a LoggedData"):
        plan_rows(classifier(), data)


def test_processes_change_nothing():
    assert plan_rows(classifier(), logged(), fits=4, n_jobs=2) == usual()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 1}, "share must be a number in \\(0, 1\\)"),
        ({"share": "most"}, "share must be a number in \\(0, 1\\)"),
        ({"improvement": 0}, "improvement must be a number above 0"),
        ({"improvement": float("nan")}, "improvement must be a number above 0"),
        ({"fits": 2}, "fits must be a whole number"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(given, message):
    with pytest.raises(InputError, match=message) as caught:
        plan_rows(classifier(), logged(), **given)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("estimator", "data", "message"),
    [
        ("elf", logged(), "must be an ELFClassifier or an ELFRegressor"),
        (classifier(), [[1.0]], "data must be a LoggedData.* Got list"),
        (ELFRegressor("E[impact] >= 0"), logged(), "data must be a ContinuousData"),
        (ELFClassifier(), logged(), "nothing to plan for"),
        (classifier(random_state=None), logged(), "random_state must be a whole number"),
        (classifier(positive=0), logged(), "positive=0, the data"),
        (classifier(), logged(60), "too few rows to plan from"),
    ],
)
def test_what_cannot_be_planned(estimator, data, message):
    with pytest.raises(InputError, match=message) as caught:
        plan_rows(estimator, data)
    assert caught.value.hint


def test_what_is_wrong_with_the_data_is_said():
    with pytest.raises(InputError, match="no constraint is about one"):
        plan_rows(classifier("accuracy >= 0.75"), logged(), improvement=0.1)
    with pytest.raises(DataError, match="T == 2"):
        plan_rows(classifier("E[impact | T == 2] >= 0"), logged())
    with pytest.raises(ConstraintError):
        plan_rows(classifier("E[impact | U == 2] >= 0"), logged())
    draw = POPULATION.sample(500, 0)
    unlabelled = LoggedData(draw.features, **draw.logged)
    with pytest.raises(DataError, match="requires y"):
        plan_rows(classifier("E[impact] >= 0"), unlabelled)
