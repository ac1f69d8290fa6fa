"""estimator="auto": candidate rows choose between the paired and the doubly robust form."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.policies.gaussian import normal_density
from elfair.search.estimator import MOST_DECISIONS, constant_policies, estimators_for, tightest
from elfair.statistics import Estimation

NO_WORSE = "E[impact] >= E_logged[impact]"


def log(n, effect, seed, classes=2, behavior=True):
    """Decisions at random; each is better than the one before by the given effect."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, classes, n)
    impact = effect * decision + rng.normal(size=n)
    known = {"behavior": np.full((n, classes), 1 / classes)}
    if not behavior:
        known = {"propensity": np.full(n, 1 / classes)}
    return LoggedData(rng.normal(size=(n, 2)), decision=decision, impact=impact, **known)


def chosen(data, make_plan, bound="guarded", **options):
    plan = make_plan(data, NO_WORSE, bound=bound, **options)
    names = estimators_for("auto", data)
    return tightest(plan, names, data, data.n, constant_policies).baselines.estimation.estimator


def test_where_decisions_matter_a_regression_for_each_is_tighter(make_plan):
    matters = [chosen(log(400, 2.0, seed, classes=4), make_plan) for seed in range(8)]
    does_not = [chosen(log(400, 0.0, seed, classes=4), make_plan) for seed in range(8)]
    assert set(matters) == {"dr"}
    assert does_not.count("paired") >= 6


def test_what_is_chosen_has_the_tighter_bounds_on_fresh_rows(make_plan):
    """On the average over draws, by what either form gives on rows that nobody chose with."""
    ratios = []
    for effect in (0.0, 2.0):
        name = chosen(log(400, effect, 1, classes=4), make_plan)
        other = {"dr": "paired", "paired": "dr"}[name]
        widths = []
        for seed in range(8):
            data = log(800, effect, 100 + seed, classes=4)
            always = np.tile([0.0, 0.0, 0.0, 1.0], (800, 1))
            records = [
                certify(always, data, NO_WORSE, estimator=each, nuisance_fraction=0.5).constraints[
                    0
                ]
                for each in (name, other)
            ]
            widths.append([record.upper - record.estimate for record in records])
        ratios.append(np.mean(widths, axis=0))
    for taken, left in ratios:
        assert taken < left * 1.005


def test_a_proof_is_not_given_up_for_a_tighter_approximation(make_plan):
    data = log(400, 2.0, 0, classes=4, behavior=False)
    declared = Estimation(ranges={"impact": (-5.0, 12.0)}, finite_sample=True)
    # Without the probabilities of all decisions, only paired rows have a known end.
    for bound, known, name in (
        ("auto", declared, "paired"),
        ("betting", declared, "paired"),
        ("auto", None, "dr"),
    ):
        plan = make_plan(data, NO_WORSE, bound=bound, estimation=known)
        taken = tightest(plan, ("paired", "dr"), data, data.n, constant_policies)
        assert taken.baselines.estimation.estimator == name


def test_where_a_decision_may_be_rare_no_regression_extrapolates():
    even = log(200, 2.0, 0, classes=4)
    assert estimators_for("auto", even) == ("paired", "dr")
    assert estimators_for("auto", log(200, 2.0, 0, classes=4, behavior=False)) == ("paired",)
    uneven = np.tile([0.05, 0.35, 0.3, 0.3], (200, 1))
    rare = LoggedData(
        even.features, decision=even.decision, behavior=uneven, impact=even.impact("impact")
    )
    assert estimators_for("auto", rare) == ("paired",)


def test_where_no_impact_is_estimated_nothing_is_chosen(make_plan):
    data = log(200, 2.0, 0)
    plan = make_plan(data, "P[decision == 1] <= 0.9")
    assert tightest(plan, ("paired", "dr"), data, 100, constant_policies) is plan


def test_decisions_taken_most_often_judge():
    data = log(500, 0.0, 0, classes=9)
    policies = constant_policies(data)
    assert len(policies) == MOST_DECISIONS
    counts = np.bincount(data.decision_index, minlength=9)
    taken = [int(np.argmax(np.append(1 - free[:, 0].sum(), free[:, 0]))) for free in policies]
    assert counts[taken].tolist() == sorted(counts, reverse=True)[:MOST_DECISIONS]
    assert all(free.shape == (8, 500) for free in policies)


@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_the_certificate_names_what_was_taken():
    for effect, name in ((2.0, "dr"), (0.0, "paired")):
        data = log(600, effect, 3, classes=3)
        clf = ELFClassifier(NO_WORSE, objective="E[impact]").fit(data)
        assert clf.estimator == "auto"
        assert clf.certificate_.estimator == name
    rng = np.random.default_rng(0)
    dose = rng.normal(size=300)
    reg = ELFRegressor(NO_WORSE).fit(
        rng.normal(size=(300, 1)),
        dose + 1,
        decision=dose,
        propensity=normal_density(dose, 0.0, 1.0),
        behavior_spread=1.0,
        impact=dose + rng.normal(size=300),
    )
    assert reg.certificate_.estimator == "dr"


def test_who_asks_for_one_gets_it(make_plan):
    data = log(400, 2.0, 0)
    assert estimators_for("paired", data) == ("paired",)
    assert estimators_for("is", data) == ("is",)
