"""What a fit does with a ladder: what is tested, what is released, what is written down.

Every kind of constraint, estimator, policy and objective goes through the same fit; here each is
watched, and its test is run again by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from elfair import ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.data.split import SealedHalf, Split
from elfair.errors import CertificateWarning
from elfair.fairness_test import test
from elfair.fairness_test.test import run_in_turn
from elfair.populations import Dosage, FosterCare

POPULATION = FosterCare(alpha=0.9, clipped=True)
NO_WORSE = "E[impact] >= E_logged[impact]"
KNOWN = {
    "impact_range": POPULATION.impact_range,
    "propensity_floor": POPULATION.propensity_floor,
}


class Watched:
    """The tests of the last fit, one for each model, and what came of them."""

    def __call__(self, rungs, before):
        self.trials = [rung for (rung,) in rungs]
        self.turns = run_in_turn(([rung] for rung in self.trials), before)
        return self.turns

    @property
    def thetas(self):
        return [trial.policy.args[0] for trial in self.trials]


@pytest.fixture
def watched(monkeypatch):
    watched = Watched()
    monkeypatch.setattr(test, "run_in_turn", watched)
    return watched


def foster_care(parameters, n=900, seed=3, **given):
    draw = POPULATION.sample(n, seed)
    logged = {**draw.logged, **given}
    if "behavior" in given:
        del logged["propensity"]
    parameters = {"constraints": POPULATION.constraints, **parameters}
    return ELFClassifier(**parameters).fit(draw.features, draw.label, **logged)


def three_classes(parameters, n=1_500, seed=2, **given):
    rng = np.random.default_rng(seed)
    X, decision = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    label = np.clip(np.round(1 + X[:, 0] + 0.5 * rng.normal(size=n)), 0, 2).astype(int)
    impact = (decision == label) + 0.3 * decision + 0.1 * rng.normal(size=n)
    logged = {"decision": decision, "propensity": np.full(n, 1 / 3), "impact": impact, **given}
    parameters = {"constraints": NO_WORSE + " + 0.3", **parameters}
    return ELFClassifier(**parameters).fit(X, label, **logged)


def dosage(parameters, n=1_200, seed=5):
    population = Dosage()
    draw = population.sample(n, seed)
    parameters = {"constraints": population.constraints, **parameters}
    return ELFRegressor(**parameters).fit(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        behavior_spread=1.0,
        impact=draw.impact,
    )


CASES = {
    "means": lambda: foster_care({}),
    "more rows than are explored": lambda: foster_care({}, n=18_000),
    "dr": lambda: foster_care({"estimator": "dr"}),
    "is": lambda: foster_care({"estimator": "is", "accept_violated": ["tau_known"]}),
    "betting": lambda: foster_care({"bound": "betting", **KNOWN}),
    "bernstein": lambda: foster_care({"bound": "bernstein", "constraints": "PR[T == 1] >= 0.6"}),
    "quantile": lambda: foster_care({"constraints": "quantile[impact, 0.3 | T == 1] >= 0.1"}),
    "CVaR": lambda: foster_care({"constraints": ["CVaR[impact, 0.5] >= 0.2", "PR >= 0.4"]}),
    "var": lambda: foster_care({"constraints": "var[impact] <= 0.19"}),
    "product": lambda: foster_care({"constraints": "E[impact] * PR >= 0.4"}),
    "either or": lambda: foster_care({"constraints": "PR <= 0.1 or E[impact | T == 1] >= 0.65"}),
    "rates": lambda: foster_care({"constraints": "abs(PR[T == 0] - PR[T == 1]) <= 0.1"}),
    "cost": lambda: foster_care(
        {"constraints": [NO_WORSE, "E[cost] <= 0.3"], "cost": [[0, 1], [2, 0]]}
    ),
    "behaviour model": lambda: foster_care({}, behavior=POPULATION.behavior),
    "expression": lambda: foster_care({"objective": "accuracy + 0.1 * E[impact]"}),
    "changing objective": lambda: foster_care({"objective": "min(E[impact | T == 0], accuracy)"}),
    "log loss": lambda: foster_care({"objective": "log_loss"}),
    "scorer": lambda: foster_care({"scorer": DecisionTreeClassifier(min_samples_leaf=30)}),
    "scorer and behaviour model": lambda: foster_care(
        {"scorer": DecisionTreeClassifier(min_samples_leaf=30)}, behavior=POPULATION.behavior
    ),
    "stratified": lambda: foster_care(
        {"split": "stratified", "accept_violated": ["halves_independent"]}
    ),
    "tuned": lambda: foster_care({"candidate_tuning": {"power": [0.5, 0.95]}}),
    "three classes": lambda: three_classes({}),
    "no solution": lambda: three_classes({"constraints": NO_WORSE + " + 0.35"}),
    "regressor": lambda: dosage({}),
    "regressor, paired": lambda: dosage({"estimator": "paired"}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_test_by_hand(name, watched):
    model = CASES[name]()
    certificate, record = model.certificate_, model.certificate_.search
    outcomes = [run_in_turn([[rung]]) for rung in watched.trials]
    passed = [outcome.passed for outcome in outcomes]
    first_failure = passed.index(False) if False in passed else len(passed)
    place = max(first_failure, 1)  # where none passed, all is about the first

    assert record.on_ladder == len(watched.trials) <= 20
    assert (record.place, record.tested) == (place, min(first_failure + 1, record.on_ladder))
    assert certificate.passed is model.solution_found_ is (first_failure > 0)
    assert certificate.constraints == outcomes[place - 1].results
    (released,) = model.fitted_.models
    assert np.array_equal(released.theta, watched.thetas[place - 1])
    assert model.solution_found_ is (name != "no solution")

    low, high = released.policy.box
    assert all(((low <= theta) & (theta <= high)).all() for theta in watched.thetas)
    if isinstance(model, ELFClassifier) and model.solution_found_:
        rows = outcomes[0].rows.like
        shown = model.predict_proba(rows.features)
        np.testing.assert_allclose(
            shown[:, 1:].T, watched.trials[place - 1].policy(rows), rtol=0, atol=1e-12
        )
        assert ((shown >= 0) & (shown <= 1)).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"bound": "ttest", "estimator": "is", "constraints": "E[impact | T == 1] >= 0.6"},
        {"bound": "ttest", "constraints": ["accuracy >= 0.7", "PR[T == 1] >= 0.6"]},
        {"bound": "hoeffding", "constraints": ["accuracy >= 0.6", "PR[T == 1] >= 0.4"]},
    ],
    ids=str,
)
def test_certify_says_the_same_of_the_model_that_was_released(parameters, watched):
    clf = foster_care(parameters)
    assert clf.certificate_.search.place > 1
    rows = watched.turns.rows.like
    parameters = {"constraints": POPULATION.constraints, **parameters}
    again = certify(clf.predict_proba(rows.features), rows, **parameters)
    assert again.n_candidate == 0  # nothing was learnt, so the same rows are tested
    assert [result.statement for result in again.constraints] == [
        result.statement for result in clf.certificate_.constraints
    ]
    for name in ("estimate", "upper", "spread", "n"):
        of_both = [
            [getattr(result, name) for result in certificate.constraints]
            for certificate in (again, clf.certificate_)
        ]
        np.testing.assert_allclose(*of_both, rtol=1e-9, atol=1e-12)


# -- what the held-out rows have no part in ------------------------------------------------------


def with_other_held_out_rows(seed=3, n=900):
    """Everything that a held-out row consists of, replaced by something else that is possible."""
    draw, rng = POPULATION.sample(n, seed), np.random.default_rng(8)
    data = LoggedData(draw.features, draw.label, row_id=np.arange(n))
    candidate = Split.of(data, "random", share=0.6).candidate
    rows = np.setdiff1d(np.arange(n), candidate.row_id)
    X, y, decision = draw.features.copy(), draw.label.copy(), draw.decision.copy()
    propensity, impact, group = draw.propensity.copy(), draw.impact.copy(), draw.group.copy()
    X[rows] = rng.normal(5, 3, X[rows].shape)
    y[rows], decision[rows], group[rows] = rng.integers(0, 2, (3, rows.size))
    propensity[rows], impact[rows] = 0.5, rng.uniform(*POPULATION.impact_range, rows.size)
    logged = {
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": propensity,
        "impact": impact,
    }
    return X, y, logged


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bound": "betting", **KNOWN},
        {"constraints": ["quantile[impact, 0.3 | T == 1] >= 0.1", "var[impact] <= 0.3"]},
        {"estimator": "dr", "objective": "min(E[impact | T == 0], accuracy)"},
        {"scorer": DecisionTreeClassifier(min_samples_leaf=30, random_state=0)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_models_points_constants_and_scales_do_not_depend_on_held_out_rows(parameters, watched):
    before = foster_care(parameters)
    trials, thetas = watched.trials, watched.thetas
    parameters = {"constraints": POPULATION.constraints, **parameters}
    X, y, logged = with_other_held_out_rows()
    after = ELFClassifier(**parameters).fit(X, y, **logged)

    assert before.certificate_.constraints != after.certificate_.constraints
    assert len(thetas) > 5
    assert np.array_equal(thetas, watched.thetas)
    for one, other in zip(trials, watched.trials, strict=True):
        assert one.learnt == other.learnt
        assert one.plan.claims == other.plan.claims
        # The same rows become the same numbers: constants and outcome models are the same.
        rows = POPULATION.sample(50, 1)
        data = LoggedData(rows.features, rows.label, **rows.logged)
        parts = [
            [part for claim in plan.compile(data) for part in claim.parts]
            for plan in (one.plan, other.plan)
        ]
        for part, same in zip(*parts, strict=True):
            assert np.array_equal(part.rows.offset, same.rows.offset)
            assert np.array_equal(part.rows.slope, same.rows.slope)


def test_the_seal_is_broken_once_and_only_when_all_is_chosen(monkeypatch, counted):
    events = []
    opened, in_turn = SealedHalf.open, test.run_in_turn

    def open_(self):
        events.append("open")
        return opened(self)

    def watched(trials, before):
        events.append("test")
        return in_turn(trials, before)

    monkeypatch.setattr(SealedHalf, "open", open_)
    monkeypatch.setattr(test, "run_in_turn", watched)
    first = foster_care({}, seed=11)
    assert first.certificate_.search.tested > 2
    assert events == ["test", "open"]
    assert first.certificate_.openings == 1
    # Another fit on the same rows is another look, however many models it tests.
    with pytest.warns(CertificateWarning, match="held-out rows opened once"):
        assert foster_care({"candidates": 7}, seed=11).certificate_.openings == 2


def test_models_are_made_ready_for_the_test_as_if_it_had_not_begun(watched):
    """Whether all of them are before the seal is broken, as here, or each when its turn comes."""
    before = foster_care({"bound": "betting", **KNOWN})
    test.run_in_turn = run_in_turn  # watched's fixture restores it in the end
    assert foster_care({"bound": "betting", **KNOWN}).certificate_.constraints == (
        before.certificate_.constraints
    )


# -- how many ------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 500])
def test_any_number_of_models_from_the_same_first_to_the_same_last(count, watched):
    foster_care({})
    ends = watched.thetas[0], watched.thetas[-1]
    clf = foster_care({"candidates": count})
    assert clf.certificate_.search.on_ladder == len(watched.thetas) <= count
    assert count == 500 or len(watched.thetas) == count
    assert np.array_equal(watched.thetas[0], ends[0])
    assert np.array_equal(watched.thetas[-1], ends[1])


def test_as_a_numpy_integer_and_in_a_clone():
    clf = ELFClassifier(NO_WORSE, candidates=np.int64(3))
    assert clone(clf).get_params()["candidates"] == 3
    assert foster_care({"candidates": np.int64(3)}).certificate_.search.on_ladder == 3
    assert clone(ELFRegressor(NO_WORSE, candidates=4)).candidates == 4
    assert ELFClassifier.paper(NO_WORSE).candidates == 1


@pytest.mark.parametrize(
    "parameters",
    [{"split": "crossfit"}, {"search": "cmaes"}, {"power": None, "inflation": 2.0}],
    ids=str,
)
def test_where_a_single_model_is_found_it_is_tested_alone(parameters):
    record = foster_care(parameters).certificate_.search
    assert (record.on_ladder, record.tested, record.place) == (1, 1, 1)


def test_what_is_written_down_of_the_model_and_of_the_first_on_the_ladder(watched):
    one, many = foster_care({"candidates": 2}), foster_care({})
    assert many.certificate_.search.place > one.certificate_.search.place
    # The prediction is the first model's, and the loss that of the model that was released.
    first, last = one.certificate_.search, many.certificate_.search
    assert first.forecast == last.forecast
    assert last.loss < first.loss
