"""What a certificate rests on, each assumption with the right status."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from elfair import ELFClassifier, LoggedData, certify
from elfair.certificate import GroupRecord
from elfair.errors import CertificateWarning
from elfair.fairness_test.assumptions import WEIGHT_ERRORS, is_off
from elfair.policies.gaussian import normal_density
from elfair.statistics.weights import DensityLaw

NO_WORSE = "E[impact] >= E_logged[impact]"


def draw(n=400, seed=0, classes=2, **more):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, classes, n)
    given = {
        "sensitive_features": {"T": rng.integers(0, 2, n)},
        "decision": decision,
        "propensity": np.full(n, 1 / classes),
        "impact": np.clip(0.3 + 0.3 * (decision > 0) + 0.1 * rng.normal(size=n), 0, 1),
        **more,
    }
    return LoggedData(rng.normal(size=(n, 2)), rng.integers(0, classes, n), **given)


def assumptions(constraints=NO_WORSE, data=None, probabilities=None, **given):
    data = draw() if data is None else data
    k = data.classes.size
    if probabilities is None:
        probabilities = np.tile([0.1, *[0.9 / (k - 1)] * (k - 1)], (data.n, 1))
    record = certify(probabilities, data, constraints, **given)
    return {a.name: a for a in record.assumptions}


def test_the_list_of_a_weighted_statement():
    declared = assumptions(impact_range=(0, 1), bound="ttest")
    found = {name: a.status for name, a in declared.items()}
    assert found == {
        "held-out rows opened once": "checked",
        "halves independent": "assumed",
        "mean weight near 1": "checked",
        "propensities fit the decisions": "checked",
        "support": "checked",
        "decisions unconfounded": "assumed",
        "same effect": "assumed",
        "no interference": "assumed",
        "rows independent, one row per person": "assumed",
        "same population": "assumed",
        "nothing else saw the held-out rows": "assumed",
        "decisions are sampled": "assumed",
        "impact range": "assumed",
        "normal average": "assumed",
    }
    # By default a declared range takes the place of a normal average.
    proof, seen = assumptions(impact_range=(0, 1)), assumptions()
    assert declared.keys() - proof.keys() == {"normal average"}
    assert declared.keys() - seen.keys() == {"impact range"}
    for assumption in seen.values():
        assert assumption.statement.endswith(".")


def test_rates_need_no_weights():
    found = assumptions("PR >= 0.2", bound="hoeffding", impact_range=(0, 1), propensity_floor=0.5)
    for name in (
        "mean weight near 1", "support", "decisions unconfounded", "same effect",
        "no interference", "label known for everyone", "impact range", "propensity floor",
        "normal average", "tau is known",
    ):  # fmt: skip
        assert name not in found


@pytest.mark.parametrize("text", ["accuracy >= 0.1", "TPR >= 0.1", "PR[label == 1] >= 0.2"])
def test_the_label_is_assumed_known_for_everyone_where_it_is_used(text):
    assert assumptions(text)["label known for everyone"].status == "assumed"


def test_support_is_checked_only_where_all_probabilities_are_known():
    three = draw(classes=3)
    assert assumptions(data=three)["support"].status == "assumed"
    full = draw(classes=3, propensity=None, behavior=np.full((400, 3), 1 / 3))
    assert assumptions(data=full)["support"].status == "checked"
    assert assumptions(data=draw())["support"].status == "checked"  # two classes: 1 - p is known


def test_declarations_are_listed_with_their_values():
    found = assumptions(impact_range=(0, 1), propensity_floor=0.25, bound="hoeffding")
    assert "impact in [0, 1]" in found["impact range"].evidence
    assert found["propensity floor"].evidence.startswith("0.25;")
    assert "impact range" not in assumptions()
    assert "propensity floor" not in assumptions()


def test_the_t_bound_assumes_a_normal_average_and_says_of_how_many_rows():
    data = draw()
    smallest = min((data.column("T") == t).sum() for t in (0, 1))
    found = assumptions(
        "PR[T == 0] - PR[T == 1] <= 0.5", data=data, probabilities=np.full(400, 0.5), bound="ttest"
    )
    assert f"the smallest group has {smallest} rows" in found["normal average"].evidence


def test_unique_row_ids_are_evidence():
    data = draw(row_id=np.arange(400))
    assert "unique" in assumptions(data=data)["rows independent, one row per person"].evidence


def test_the_paper_tau_is_a_violation_only_where_it_is_used():
    accepted = {"estimator": "is", "accept_violated": ["tau_known"]}
    assert assumptions(**accepted)["tau is known"].status == "violated"
    assert "tau is known" not in assumptions("E[impact] >= 0.1", estimator="is")
    assert "tau is known" not in assumptions(estimator="paired")
    assert "tau is known" not in assumptions(estimator="dr")


def wrong_propensity():
    """Of three decisions, and too large: all other ways to be wrong are found out before."""
    return draw(classes=3, propensity=np.full(400, 0.5))


def test_a_mean_weight_far_from_1_is_a_violation():
    with pytest.warns(CertificateWarning):
        found = assumptions(data=wrong_propensity())["mean weight near 1"]
    assert found.status == "violated"
    assert found.evidence.startswith("everyone: 0.6")


def test_an_unweighted_statement_about_the_same_people_does_not_hide_it():
    for constraints in ([NO_WORSE, "accuracy >= 0.1"], ["accuracy >= 0.1", NO_WORSE]):
        with pytest.warns(CertificateWarning):
            found = assumptions(constraints, data=wrong_propensity())["mean weight near 1"]
        assert found.status == "violated"


def test_one_bad_group_is_enough():
    group = np.arange(600) % 2  # of fewer tested rows, a mean weight below 1 says nothing
    wrong = np.where(group == 0, 1 / 3, 0.7)
    data = draw(600, classes=3, sensitive_features={"T": group}, propensity=wrong)
    texts = [f"E[impact | T == {t}] >= 0" for t in (0, 1)]
    with pytest.warns(CertificateWarning):
        found = assumptions(texts, data=data)["mean weight near 1"]
    assert found.status == "violated"
    assert "T == 0: 1.0" in found.evidence or "T == 0: 0.9" in found.evidence


def test_right_propensities_are_rarely_called_wrong():
    # 1,000 draws, 20 rows, a decision that is taken once in 20 times and wanted 9 times in 10.
    called = 0
    for seed in range(1_000):
        rng = np.random.default_rng(seed)
        decision = (rng.random(20) < 0.05).astype(int)
        data = LoggedData(
            np.zeros((20, 1)),
            decision=decision,
            propensity=np.where(decision == 1, 0.05, 0.95),
            impact=rng.random(20),
            classes=[0, 1],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            found = assumptions("E[impact] >= 0", data=data, impact_range=(0, 1))
        called += found["mean weight near 1"].status == "violated"
    assert called <= 10


def taken(p, new):
    """Weights of a decision that was taken with probability p, and is now with another."""
    return lambda rng, size: np.where(rng.random(size) < p, new / p, (1 - new) / (1 - p))


def dosed(shift, spread):
    """Weights of doses from N(0, 1), and their known variance, if now from N(shift, spread^2)."""

    def drawn(rng, size):
        dose = rng.normal(size=size)
        free = np.zeros((3, *size))
        free[0], free[1] = normal_density(dose, shift, spread), shift
        free[2] = shift**2 + spread**2
        return free, normal_density(dose, 0.0, 1.0)

    return drawn


def record_of(weights, error=None):
    n, square = weights.size, float(weights @ weights)
    error = float(weights.std(ddof=1)) / np.sqrt(n) if error is None else error
    ess = float(weights.sum()) ** 2 / square if square else 0.0
    return GroupRecord("everyone", n, ess, float(weights.mean()), error, float(weights.max()))


@pytest.mark.parametrize("n", [10, 22, 60, 200])
@pytest.mark.parametrize(
    "weights",
    [taken(0.05, 0.01), taken(0.05, 0.5), taken(0.1, 0.02), taken(0.1, 0.5), taken(0.5, 0.9)],
    ids=["hardly any", "more", "fewer", "often", "mostly"],
)
def test_rare_decisions_do_not_make_right_propensities_look_wrong(weights, n):
    rng = np.random.default_rng(n)
    drawn = weights(rng, (2_000, n))
    alarms = [is_off(record_of(each), WEIGHT_ERRORS, known=False) for each in drawn]
    assert np.mean(alarms) <= 0.01


@pytest.mark.parametrize("n", [10, 22, 60])
@pytest.mark.parametrize(("shift", "spread"), [(1.5, 0.9), (1.5, 0.5), (1.0, 0.8), (0.5, 0.5)])
def test_doses_within_reach_do_not_make_right_densities_look_wrong(shift, spread, n):
    free, propensity = dosed(shift, spread)(np.random.default_rng(n), (2_000, n))
    alarms = []
    for k in range(2_000):
        weights = DensityLaw(propensity[k], np.zeros(n), np.ones(n)).weights(free[:, k])
        error = weights.sums.error
        alarms.append(is_off(record_of(weights.values, error), WEIGHT_ERRORS, known=True))
    assert np.mean(alarms) <= 0.01


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_wrong_propensities_are_found_out(factor):
    rng, alarms = np.random.default_rng(0), []
    for _ in range(200):
        p, new = rng.uniform(0.1, 0.9, (2, 400))
        weights = np.where(rng.random(400) < p, new / p, (1 - new) / (1 - p)) / factor
        alarms.append(is_off(record_of(weights), WEIGHT_ERRORS, known=False))
    assert np.mean(alarms) >= 0.99


def fit(clf, seed=0):
    data = draw(seed=seed)
    return clf.fit(
        data.features,
        data.label,
        sensitive_features=data.sensitive,
        decision=data.decision,
        propensity=data.propensity,
        impact=data.impact("impact"),
    )


def statuses(clf):
    return {a.name: a.status for a in clf.certificate_.assumptions}


def test_the_split_of_a_fit():
    assert statuses(fit(ELFClassifier(NO_WORSE)))["halves independent"] == "checked"
    stratified = fit(
        ELFClassifier(NO_WORSE, split="stratified", accept_violated=["halves_independent"])
    )
    assert statuses(stratified)["halves independent"] == "violated"
    assert any("halves independent" in w.text for w in stratified.certificate_.warnings)


def test_a_second_fit_with_anything_changed_is_a_second_look(counted):
    clf = fit(ELFClassifier(NO_WORSE, random_state=321), seed=9)
    assert clf.certificate_.openings == 1
    assert statuses(clf)["held-out rows opened once"] == "checked"
    # Another constraint, another model: the rows are the same.
    with pytest.warns(CertificateWarning, match="opened 2 times"):
        again = fit(ELFClassifier("accuracy >= 0.1", random_state=321), seed=9)
    assert again.certificate_.openings == 2
    assert statuses(again)["held-out rows opened once"] == "violated"
    assert not again.solution_found_
    with pytest.warns(CertificateWarning, match="opened 3 times"):
        fit(ELFClassifier(NO_WORSE, random_state=322), seed=9)


def test_without_constraints_nothing_is_assumed_and_nothing_opened():
    clf = fit(ELFClassifier())
    assert clf.certificate_.assumptions == ()
    assert clf.certificate_.openings == 0
    assert clf.certificate_.joint_statement == "Nothing was tested, and nothing is promised."
