"""Propensities that nobody logged: what candidate rows teach, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elfair import ELFClassifier, LoggedData, certify
from elfair.data.split import Split, row_keys
from elfair.data.unlogged import LEAST, Calibration, groups_of
from elfair.errors import BoundError, DataError

N = 2000


def columns(n=N, seed=0, score=lambda x, g: 0.8 * x[:, 0] + 0.4 * g):
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    chance = expit(score(x, group))
    decision = (rng.random(n) < chance).astype(int)
    impact = x[:, 0] + decision * x[:, 1] + rng.normal(size=n)
    return {
        "X": x,
        "sensitive_features": {"T": group},
        "decision": decision,
        "impact": impact,
    }, chance


def estimated(seed=0, score=lambda x, g: 0.8 * x[:, 0] + 0.4 * g, n=N, **more):
    given, chance = columns(n, seed, score)
    return LoggedData(**given, **{"propensity": "estimated", **more}), chance


def divided(data, **settings):
    return Split.of(data, "random", share=0.6, seed=1, **settings)


def test_probabilities_are_near_the_true_ones_and_use_the_group():
    data, chance = estimated()
    everyone = divided(data).everyone
    assert np.abs(everyone.behavior[:, 1] - chance).mean() < 0.04
    assert np.allclose(everyone.behavior.sum(axis=1), 1)
    assert everyone.behavior.min() >= LEAST


def test_decisions_and_impacts_of_held_out_rows_teach_nothing():
    given, _ = columns()
    split = divided(LoggedData(**given, propensity="estimated"))
    held_out = split.folds[0].sealed.open()
    changed = dict(given, decision=given["decision"].copy(), impact=given["impact"].copy())
    changed["decision"][held_out.position] = 1 - changed["decision"][held_out.position]
    changed["impact"][held_out.position] = 99.0
    again = divided(LoggedData(**changed, propensity="estimated"))
    assert np.array_equal(again.folds[0].sealed.open().behavior, held_out.behavior)
    assert np.array_equal(again.candidate.behavior, split.candidate.behavior)


def test_a_candidate_row_gets_what_other_folds_teach():
    """A tree knows the decisions that it was fitted to. Candidate rows must not profit from that:
    their decisions are about as likely as those of held-out rows.
    """
    from sklearn.tree import DecisionTreeClassifier

    given, _ = columns()
    tree = DecisionTreeClassifier(max_depth=7, min_samples_leaf=5, random_state=0)
    split = divided(LoggedData(**given, behavior=tree))
    likelihood = [
        np.log(rows.propensity).mean() for rows in (split.candidate, split.folds[0].sealed.open())
    ]
    assert likelihood[0] == pytest.approx(likelihood[1], abs=0.06)


def test_units_stay_together():
    keys = row_keys(LoggedData(np.zeros((6, 1)), unit=["a", "a", "b", "b", "c", "c"]), 0)
    groups = groups_of(keys, 3, salt=1)
    assert groups[0::2].tolist() == groups[1::2].tolist()
    assert len(set(groups.tolist())) == 3


def test_a_flexible_form_is_chosen_where_it_predicts_better():
    data, chance = estimated(score=lambda x, g: 1.5 * np.sin(2.5 * x[:, 0]))
    everyone = divided(data).everyone
    assert everyone.learnt.form != "logistic regression"
    assert np.corrcoef(everyone.behavior[:, 1], chance)[0, 1] > 0.8
    plain, _ = estimated()
    assert "logistic regression" in divided(plain).everyone.learnt.form


def test_an_unfitted_classifier_is_fitted_inside():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    given, chance = columns()
    everyone = divided(LoggedData(**given, behavior=model)).everyone
    assert not hasattr(model[-1], "coef_")
    assert "LogisticRegression" in everyone.learnt.form
    assert np.abs(everyone.behavior[:, 1] - chance).mean() < 0.04


def test_calibration_repairs_probabilities_that_are_too_sure():
    rng = np.random.default_rng(0)
    true = rng.uniform(0.1, 0.9, 4000)
    taken = (rng.random(4000) < true).astype(int)
    sure = expit(3 * np.log(true / (1 - true)))
    one = np.ones((4000, 1))
    learnt = Calibration.learn(np.column_stack([1 - sure, sure]), taken, one)
    assert learnt.slope == pytest.approx(1 / 3, abs=0.05)
    right = Calibration.learn(np.column_stack([1 - true, true]), taken, one)
    assert abs(right.slope - 1) < 0.15


def test_calibration_keeps_what_a_group_is_known_to_get():
    """Among much noise, one sex was drawn more often: tempering the noise must not temper that."""
    rng = np.random.default_rng(0)
    n, sex = 4000, rng.integers(0, 2, 4000)
    data = LoggedData(
        rng.normal(size=(n, 25)),
        sensitive_features={"sex": sex},
        decision=(rng.random(n) < np.where(sex == 1, 0.65, 0.55)).astype(int),
        propensity="estimated",
        impact=rng.normal(size=n),
    )
    everyone = divided(data).everyone
    for value, chance in ((0, 0.55), (1, 0.65)):
        assert everyone.behavior[sex == value, 1].mean() == pytest.approx(chance, abs=0.025)


def test_trim_leaves_out_who_could_hardly_get_some_decision():
    data, _ = estimated(score=lambda x, g: 2.0 * x[:, 0], trim=0.1)
    split = divided(data)
    assert split.everyone.n < N == split.table.n
    assert split.everyone.behavior.min() >= 0.1
    assert split.candidate.n + split.n_tested == split.everyone.n


def test_a_cut_off_is_refused_with_what_can_still_be_done():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    data = LoggedData(
        x, decision=(x[:, 0] > 0.3).astype(int), propensity="estimated", impact=x[:, 1]
    )
    with pytest.raises(DataError, match="Nobody like them was decided about otherwise") as error:
        divided(data)
    assert "let a coin decide near the cut-off" in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"propensity": "guessed"}, "propensity must be one column"),
        ({"propensity": "estimated", "trim": 0.5}, "trim must be a number from 0 to below"),
        ({"propensity": "estimated", "decision": None}, "without the decision"),
        ({"propensity": 0.5, "trim": 0.1}, "propensities are not estimated"),
        ({"propensity": 0.5, "behavior": LogisticRegression()}, "known ones were given beside"),
    ],
)
def test_what_does_not_fit_together_is_refused(given, message):
    table, _ = columns(40)
    with pytest.raises(DataError, match=message):
        LoggedData(**{**table, **given})


def test_finite_sample_bounds_are_refused_and_auto_is_asymptotic():
    data, _ = estimated()
    new = np.tile([0.5, 0.5], (N, 1))
    ask = {"impact_range": (-10, 10), "propensity_floor": 0.01}
    with pytest.raises(BoundError, match="needs propensities that are known"):
        certify(new, data, "E[impact] >= -5", bound="betting", **ask)
    result = certify(new, data, "E[impact] >= -5", **ask).constraints[0]
    assert result.kind == "asymptotic"
    assert result.tails[0].doubt.n == 20


def test_rates_keep_their_finite_sample_bounds():
    given, _ = columns()
    label = (given["X"][:, 0] > 0).astype(int)
    data = LoggedData(y=label, propensity="estimated", **given)
    clf = ELFClassifier(["accuracy >= 0.3", "E[impact] >= -9"]).fit(data)
    kinds = {each.statement: each.kind for each in clf.certificate_.constraints}
    assert kinds["accuracy >= 0.3"] == "finite-sample"
    assert clf.certificate_.joint_statement.startswith("If the estimated behaviour model is right")
    assert "if the estimated behaviour model is right" in clf.explain()


def test_a_wrong_classifier_is_an_error_that_names_it():
    from sklearn.linear_model import LogisticRegression

    given, _ = columns(200)
    data = LoggedData(**given, behavior=LogisticRegression(C=-1.0))
    with pytest.raises(DataError, match="could not be fitted to the logged decisions"):
        divided(data)


def test_identifiers_in_any_order_give_the_same_probabilities():
    given, _ = columns(800)
    names = np.array([f"p{k}" for k in range(800)])
    mixed = np.random.default_rng(4).permutation(800)
    one = divided(LoggedData(**given, propensity="estimated", row_id=names)).everyone
    shuffled = {
        "X": given["X"][mixed],
        "sensitive_features": {"T": given["sensitive_features"]["T"][mixed]},
        "decision": given["decision"][mixed],
        "impact": given["impact"][mixed],
    }
    other = divided(LoggedData(**shuffled, propensity="estimated", row_id=names[mixed])).everyone
    assert one.row_id.tolist() == other.row_id.tolist()
    assert np.array_equal(one.behavior, other.behavior)
    chance = given["decision"][one.position]
    assert np.array_equal(one.decision, chance)
