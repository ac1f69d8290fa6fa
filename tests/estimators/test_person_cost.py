"""Costs for each person: what they average, what they need, and what they do not show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from elfair import ELFClassifier, ELFRegressor, LoggedData, certify, check, cutoff
from elfair.errors import BoundError, DataError, InputError
from elfair.study import StudyFile, fit_study


def rows(n=1200, seed=0, **more):
    """Approving pays for those whose amount is small, and costs their amount otherwise."""
    rng = np.random.default_rng(seed)
    amount = rng.uniform(0, 4, n)
    y = (rng.random(n) < 0.6).astype(int)
    decision = rng.integers(0, 2, n)
    return {
        "X": np.column_stack([amount, rng.normal(size=n)]),
        "y": y,
        "sensitive_features": {"T": rng.integers(0, 2, n)},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "person_cost": {0: np.ones(n), 1: amount},
        **more,
    }


def statement(certificate, start):
    return next(each for each in certificate.constraints if each.statement.startswith(start))


def estimate(probabilities, data, text, **parameters):
    """The estimate of g of a text `... <= 0`, on the rows that `certify` holds out: all of them."""
    certificate = certify(probabilities, data, text, **parameters)
    return certificate.constraints[0].estimate


# -- what is averaged ------------------------------------------------------------------------------


def test_the_expected_cost_of_a_model_is_that_of_its_decisions_for_each_person():
    given = rows()
    data, costs = LoggedData(**given), given["person_cost"]
    p = np.random.default_rng(1).uniform(size=data.n)
    wanted = (1 - p) * costs[0] + p * costs[1]
    for text, which in (
        ("E[cost] <= 0", slice(None)),
        ("E[cost | T == 1] <= 0", data.column("T") == 1),
    ):
        assert estimate(p, data, text) == pytest.approx(wanted[which].mean())


def test_logged_costs_are_those_of_the_decisions_that_were_taken():
    given = rows()
    data, costs = LoggedData(**given), given["person_cost"]
    taken = np.where(given["decision"] == 1, costs[1], costs[0])
    p = np.zeros(data.n)
    found = estimate(p, data, "E[cost] <= E_logged[cost]")
    assert found == pytest.approx((costs[0] - taken).mean())


def test_one_column_is_the_cost_of_a_wrong_decision():
    given = rows(person_cost=np.arange(1200) / 100)
    data = LoggedData(**given)
    p = np.random.default_rng(1).uniform(size=data.n)
    wrong = np.where(given["y"] == 1, 1 - p, p)
    assert estimate(p, data, "E[cost] <= 0") == pytest.approx((wrong * given["person_cost"]).mean())


def test_the_estimate_of_each_half_is_unbiased_for_the_true_cost():
    """Over many draws, what held-out rows say of a fixed rule averages to its true cost."""
    said = []
    for seed in range(300):
        data = LoggedData(**rows(60, seed))
        rule = cutoff(data.features[:, 0], 1.0)  # costs its amount above 1, and 1 below
        said.append(estimate(rule, data, "E[cost] - E_logged[cost] <= 0"))
    # E[max(amount, 1)] for amounts in (0, 4), minus half of 1 and half of E[amount] = 2.
    truth = (1 + (16 - 1) / 2) / 4 - 1.5
    assert np.mean(said) == pytest.approx(truth, abs=4 * np.std(said) / np.sqrt(300))
    assert abs(truth) > 8 * np.std(said) / np.sqrt(300)  # so a wrong sign would be seen


@pytest.mark.parametrize(
    "costs",
    [
        lambda of: pd.DataFrame({"1": of[1], "0": of[0]}),
        lambda of: pd.DataFrame({1: of[1], 0: of[0]}),
        lambda of: np.column_stack([of[0], of[1]]),
        lambda of: [[a, b] for a, b in zip(of[0], of[1], strict=True)],
    ],
)
def test_costs_are_read_by_name_or_in_the_order_of_the_classes(costs):
    given = rows(50)
    wanted = np.column_stack([given["person_cost"][0], given["person_cost"][1]])
    given["person_cost"] = costs(given["person_cost"])
    np.testing.assert_array_equal(LoggedData(**given).person_cost, wanted)


# -- search and objective -----------------------------------------------------------------------


def test_an_objective_about_costs_is_met_person_by_person():
    """No matrix could tell whom to approve: the cheaper decision differs by amount alone."""
    given = rows()
    clf = ELFClassifier("E[cost] <= E_logged[cost]", objective="-E[cost]").fit(**given)
    assert clf.solution_found_
    p = clf.predict_proba(given["X"])[:, 1]
    amount = given["X"][:, 0]
    assert p[amount < 0.5].mean() > 0.9
    assert p[amount > 2].mean() < 0.1


def test_labels_are_not_needed_for_the_cost_of_each_decision():
    given = rows(y=None)
    clf = ELFClassifier("E[cost] <= 3", objective="-E[cost]").fit(**given)
    codes = [each.code for each in clf.certificate_.assumptions]
    assert "person_cost" in codes
    assert not {"label_known", "cost_matrix"} & set(codes)
    assert clf.certificate_.roles.person_cost == "decision"
    wrong = ELFClassifier("E[cost] <= 3").fit(**rows(person_cost=np.ones(1200)))
    assert "label_known" in [each.code for each in wrong.certificate_.assumptions]


def test_new_people_need_no_costs():
    clf = ELFClassifier("E[cost] <= 3").fit(**rows())
    assert clf.decide([[1.0, 0.0]]).decision.shape == (1,)


# -- ends ---------------------------------------------------------------------------------------


def test_ends_are_declared_and_never_taken_from_the_rows():
    given = rows()
    plain = ELFClassifier("E[cost] <= 3").fit(**given)
    assert plain.certificate_.constraints[0].kind == "asymptotic"
    (part,) = plain.certificate_.constraints[0].tails[0].parts
    assert (part.low, part.high) == (-np.inf, np.inf)
    with pytest.raises(BoundError, match="impact_range"):
        ELFClassifier("E[cost] <= 3", bound="hoeffding").fit(**given)
    declared = ELFClassifier("E[cost] <= 3", impact_range={"cost": (0, 5)}).fit(**rows(seed=1))
    assert declared.certificate_.constraints[0].kind == "finite-sample"
    (part,) = declared.certificate_.constraints[0].tails[0].parts
    assert (part.low, part.high) == (-3, 2)
    told = {each.code: each.evidence for each in declared.certificate_.assumptions}
    assert "cost in [0, 5]" in told["impact_range"]


def test_a_range_that_the_costs_leave_is_refused():
    with pytest.raises(DataError, match=r"the cost leaves its declared range \[0, 2\]"):
        ELFClassifier("E[cost] <= 3", impact_range={"cost": (0, 2)}).fit(**rows())


def test_a_forecast_does_not_see_the_costs_of_held_out_rows():
    given = rows()
    # Not even whether they leave the range: only fit may say that.
    clf = ELFClassifier("E[cost] <= 1.2", objective="-E[cost]", impact_range={"cost": (0, 5)})
    first = check(clf, LoggedData(**given))
    candidate = clf.request(data := LoggedData(**given)).split(data).candidate.position
    held_out = ~np.isin(np.arange(data.n), candidate)
    worse = {name: np.where(held_out, of + 100, of) for name, of in given["person_cost"].items()}
    second = check(clf, LoggedData(**{**given, "person_cost": worse}))
    assert first.text().split("Forecast")[1] == second.text().split("Forecast")[1]


def test_costs_go_with_their_rows():
    data = LoggedData(**rows(10))
    order = np.array([7, 3, 3])
    np.testing.assert_array_equal(data.take(order).person_cost, data.person_cost[order])
    other = {0: np.ones(10), 1: np.zeros(10)}
    assert LoggedData(**rows(10, person_cost=other)).fingerprint() != data.fingerprint()


# -- mistakes -----------------------------------------------------------------------------------

MATRIX = [[0, 1], [1, 0]]
WRONG = {
    "missing": ({"person_cost": {0: [1.0, None] * 25, 1: [0.0] * 50}}, "missing or infinite in 25"),
    "too short": ({"person_cost": {0: [1.0], 1: [0.0] * 50}}, "of decision 0"),
    "text": ({"person_cost": ["much"] * 50}, "person_cost"),
    "another decision": ({"person_cost": {0: [1.0] * 50, 2: [0.0] * 50}}, "cost names 0, 2 as the"),
    "a decision is missing": ({"person_cost": {0: [1.0] * 50}}, "cost names 0 as the decisions"),
    "three columns": ({"person_cost": np.ones((50, 3))}, "names 0, 1, 2"),
    "a matrix, too": ({"cost": MATRIX}, "both cost= and person_cost"),
    "an impact called so": ({"impact": {"cost": np.ones(50)}}, "impact called 'cost'"),
    "no label": ({"y": None, "person_cost": np.ones(50)}, "y does not tell"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named(mistake):
    changes, words = WRONG[mistake]
    with pytest.raises(DataError, match=words) as error:
        LoggedData(**rows(50, **changes))
    assert str(error.value).count("Hint:") == 1


def test_decisions_that_are_numbers_have_no_such_costs():
    from elfair.data.continuous import ContinuousData

    with pytest.raises(DataError, match="person_cost needs decisions that are classes"):
        ContinuousData([[0.0], [1.0]], [0.0, 1.0], person_cost=[1.0, 2.0])
    assert "person_cost" not in ELFRegressor.fit.__kwdefaults__


# -- in a study -----------------------------------------------------------------------------------

STUDY = """
title = "Loans"
[data]
source = "loans.csv"
[columns]
features = ["amount", "age"]
label = "repaid"
sensitive = ["T"]
decision = "approved"
propensity = 0.5
{cost}
[rows]
[model]
objective = "-E[cost]"
[test]
{test}
[[constraints]]
text = "E[cost] <= E_logged[cost]"
"""


@pytest.fixture
def folder(tmp_path):
    given = rows()
    frame = pd.DataFrame(given["X"], columns=["amount", "age"]).assign(
        T=given["sensitive_features"]["T"], repaid=given["y"], approved=given["decision"], fee=1.0
    )
    frame.to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("cost", "test", "of"),
    [
        (
            'person_cost = { 0 = "fee", 1 = "amount" }',
            "impact_range = { cost = [0, 4] }",
            "decision",
        ),
        ('person_cost = "amount"', "", "error"),
    ],
)
def test_a_study_names_the_columns_of_costs(folder, cost, test, of):
    """A column of costs may be a feature, too."""
    study = StudyFile.loads(STUDY.format(cost=cost, test=test), folder=folder)
    outcome = fit_study(study)
    certificate = outcome.certificate
    assert certificate.passed
    assert certificate.roles.person_cost == of
    assert certificate.constraints[0].kind == ("finite-sample" if test else "asymptotic")
    outcome.write(folder / "results")
    from elfair.verification import verify_files

    checked = verify_files(
        folder / "results/certificate.json",
        data=folder / "loans.csv",
        model=folder / "results/model.elfair",
    )
    assert checked.passed, checked.text()
    raw = pd.read_csv(folder / "loans.csv")[["amount", "age"]]
    assert len(outcome.estimator.predict(raw)) == len(raw)


def test_a_study_with_costs_of_another_decision_is_refused(folder):
    text = STUDY.format(cost='person_cost = { no = "fee", 1 = "amount" }', test="")
    with pytest.raises(DataError, match="person_cost"):
        StudyFile.loads(text, folder=folder).read()


def test_a_study_without_costs_cannot_ask_for_them(folder):
    with pytest.raises(InputError, match="cost"):
        StudyFile.loads(STUDY.format(cost="", test=""), folder=folder)
