"""Bad input gets a clear error, and a fit that fails leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from elfair import ElfairError, ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.errors import (
    CertificateWarning,
    ConstraintError,
    DataError,
    InputError,
    PropensityError,
)
from elfair.populations import FosterCare
from elfair.statistics.impact_estimators import ESTIMATORS

NO_WORSE = "E[impact] >= E_logged[impact]"
DRAW = FosterCare(alpha=0.9).sample(1500, seed=11)
X, Y = DRAW.features, DRAW.label
LOGGED = {
    "sensitive_features": {"T": DRAW.group},
    "decision": DRAW.decision,
    "propensity": DRAW.propensity,
    "impact": DRAW.impact,
}


def fit(clf, **more):
    return clf.fit(X, Y, **{**LOGGED, **more})


def is_unfitted(clf):
    return not [name for name in vars(clf) if name not in clf.get_params()]


# -- a fit that fails --------------------------------------------------------------------------


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupted, RuntimeError, MemoryError])
@pytest.mark.parametrize(
    "where",
    [
        "elfair.data.split.split_rows",
        "elfair.fairness_test.ladder.learn_from",
        "elfair.fairness_test.test.run_in_turn",
        "elfair.fairness_test.test.issue_certificate",
    ],
)
def test_a_fit_that_fails_midway_leaves_the_estimator_unfitted(monkeypatch, error, where):
    clf = fit(ELFClassifier(NO_WORSE))  # fitted before

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises(error):
        fit(clf)
    assert is_unfitted(clf)
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_an_error_in_the_search_is_an_error_and_not_no_solution_found(monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("overflow")

    monkeypatch.setattr("elfair.search.selection.gradient_path", fail)
    clf = ELFClassifier(NO_WORSE)
    with pytest.raises(FloatingPointError):
        fit(clf)
    assert is_unfitted(clf)


#: Of three decisions the propensity of one does not tell the others': if they are too large, only
#: weights can look wrong.
THREE = {
    "decision": np.where(np.arange(1500) % 5 == 0, 2, DRAW.decision),
    "propensity": np.full(1500, 0.7),
}


def test_a_warning_turned_into_an_error_leaves_it_unfitted_too():
    clf = ELFClassifier(NO_WORSE, classes=[0, 1, 2])
    with pytest.raises(CertificateWarning):
        fit(clf, **THREE)
    assert is_unfitted(clf)


def test_weights_that_look_wrong_warn_the_caller_of_fit():
    with pytest.warns(CertificateWarning, match="mean weight near 1") as caught:
        ELFClassifier(NO_WORSE, classes=[0, 1, 2]).fit(X, Y, **{**LOGGED, **THREE})
    assert caught[0].filename == __file__


def test_propensities_that_cannot_be_right_are_an_error_before_the_seal_is_broken(monkeypatch):
    monkeypatch.setattr("elfair.data.split.SealedHalf.open", None)
    with pytest.raises(PropensityError, match="the propensities do not fit the decisions"):
        fit(ELFClassifier(NO_WORSE), propensity=np.full(1500, 0.3))
    data = LoggedData(X, Y, **{**LOGGED, "propensity": np.full(1500, 0.3)})
    with pytest.raises(PropensityError, match="the propensities do not fit the decisions"):
        certify(np.full(1500, 0.5), data, NO_WORSE)


def test_a_table_is_fitted_as_its_columns_are():
    columns, table = fit(ELFClassifier(NO_WORSE)), LoggedData(X, Y, **LOGGED)
    same = ELFClassifier(NO_WORSE).fit(table)
    assert np.array_equal(same.predict_proba(X), columns.predict_proba(X))
    assert same.n_features_in_ == X.shape[1]
    assert not hasattr(same, "feature_names_in_")
    named = LoggedData(pd.DataFrame(X, columns=list("abcde")), Y, **LOGGED)
    assert list(ELFClassifier(NO_WORSE).fit(named).feature_names_in_) == list("abcde")
    with pytest.raises(InputError, match=r"holds all columns\. Got y beside it"):
        ELFClassifier(NO_WORSE).fit(table, Y)
    with pytest.raises(InputError, match="the estimator has positive=0, the data 1"):
        ELFClassifier(NO_WORSE, positive=0).fit(table)
    with pytest.raises(DataError, match="Unknown label type"):
        ELFClassifier(NO_WORSE).fit(LoggedData(X, np.where(Y == 0, 0.5, 1.7)))
    known = {"classes": [1, 0], "positive": 0, "cost": {1: {0: 5, 1: 0}, 0: {0: 0, 1: 1}}}
    asked = ELFClassifier("PR <= 0.9", **known)
    assert asked.fit(LoggedData(X, Y, **known)).certificate_.n == 1500
    with pytest.raises(InputError, match="the estimator has cost="):
        asked.fit(LoggedData(X, Y, **{**known, "cost": [[0, 1], [4, 0]]}))
    with pytest.raises(InputError, match="data must be a ContinuousData, for an ELFRegressor"):
        ELFRegressor(NO_WORSE).fit(table)


def changed(name, row, value):
    column = np.array(LOGGED[name], dtype=float)
    column[row] = value
    return {name: column}


MATRIX = np.where(np.arange(5) == 2, np.nan, X)


@pytest.mark.parametrize(
    ("features", "label", "given", "words"),
    [
        (X[:-1], Y, {}, "has 1,500 rows, but X has 1,499"),
        (X, Y[:-1], {}, "y has 1,499 rows, but X has 1,500"),
        (X, Y, {"impact": DRAW.impact[:9]}, "impact 'impact' has 9 rows, but X has 1,500"),
        (X, Y, {"propensity": DRAW.propensity[:9]}, "propensity has 9 rows"),
        (X, Y, {"decision": DRAW.decision[:9]}, "decision has 9 rows"),
        (X, Y, {"sensitive_features": {"T": [1]}}, "sensitive feature 'T' has 1 rows"),
        (MATRIX, Y, {}, "no row has a value of feature 'x2'"),
        (X, Y, changed("impact", slice(3), np.nan), "missing in 3 of 1,500 rows .* not observed"),
        (X, Y, changed("impact", 0, np.inf), "impact 'impact' is infinite in 1 of 1,500 rows"),
        (X, Y, changed("propensity", 4, 0), r"must be in \(0, 1\]\. Got 0\.0 in 1 of 1,500 rows"),
        (X, Y, changed("propensity", 4, -0.5), "Got -0.5 in 1 of 1,500 rows"),
        (X, Y, changed("propensity", 4, 1.5), "Got 1.5 in 1 of 1,500 rows"),
        (X, Y, changed("propensity", 4, np.nan), "Got nan in 1 of 1,500 rows"),
        (X, Y, changed("propensity", 4, 1), "exactly 1 in 1 of 1,500 rows .* cannot be identified"),
        (X, Y, {"propensity": np.ones(1500)}, "exactly 1 in 1,500 of 1,500 rows .* deterministic"),
        (X, Y, {"decision": DRAW.decision + 7}, "y and decision share no value"),
        (X, None, {}, "requires y to be passed"),
        (X, np.where(Y == 0, 0.5, 1.7), {}, "Unknown label type"),
        (X.astype(str), Y, {}, "feature 'x3' holds text that looks like numbers"),
        (X, Y, {"sensitive_features": {"T": np.arange(1500) == 0}}, "is met by [01] of the"),
    ],
)
def test_bad_data_get_a_clear_error_and_leave_nothing(features, label, given, words):
    clf = ELFClassifier("E[impact | T == 1] >= E_logged[impact | T == 1]")
    with pytest.raises(ElfairError, match=words) as caught:
        clf.fit(features, label, **{**LOGGED, **given})
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).count("\nHint: ") == 1
    assert is_unfitted(clf)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"constraints": "E[impact | rase == 'A'] >= 0"}, "no column 'rase'; columns: T, x0"),
        ({"constraints": "E[imapct] >= 0"}, "did you mean 'impact'"),
        ({"constraints": "accuracy"}, "Hint"),
        ({"constraints": "accuracy >= "}, "Hint"),
        ({"constraints": None}, "constraints must be constraint text, .* Got None"),
        ({"delta": 0}, r"delta must be a number in \(0, 0.5\], or one such number .* Got 0"),
        ({"delta": [0.1, 0.1]}, "Got 2 for 1 constraints"),
        ({"bound": "magic"}, "'magic'"),
        ({"bound": "betting"}, "impact_range"),
        ({"estimator": "magic"}, "Got 'magic'"),
        (
            {"search": "magic"},
            r"search must be 'gradient' .* or 'cmaes' \(the paper's\). Got 'magic'",
        ),
        ({"objective": "magic"}, "magic"),
        ({"split": "magic"}, "split must be 'random', 'time' .* Got 'magic'"),
        ({"power": 1.0}, r"power must be a number in \(0, 1\)"),
        ({"power": None}, "either power or inflation"),
        ({"inflation": 2.0}, "either power or inflation"),
        ({"power": None, "inflation": -1.0}, "inflation must be a number above 0"),
        ({"xi": -1.0}, "xi must be a number of at least 0"),
        ({"exploration": 0}, r"exploration must be a number in \(0, 1\)\. Got 0 instead"),
        ({"exploration": 1.0}, r"exploration must be a number in \(0, 1\)\. Got 1.0"),
        ({"exploration": -0.1}, "Got -0.1"),
        ({"exploration": np.nan}, "Got nan"),
        ({"exploration": True}, "Got True"),
        ({"exploration": None}, "Got None"),
        ({"exploration": "0.05"}, "(?s)Got '0.05'.*taken blindly; 0.1 leaves a log"),
        ({"candidate_fraction": 1.0}, r"candidate_fraction must be a number in \(0, 1\)"),
        ({"candidate_tuning": {"delta": [0.1]}}, "candidate_tuning can choose .* Got delta"),
        ({"positive": "yes"}, "positive='yes' is not a class; classes: 0, 1"),
        ({"impact_range": (0, 0.1)}, "leaves its declared range"),
        ({"propensity_floor": 0.9}, "propensity_floor is 0.9, but"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_bad_parameters_get_a_clear_error_and_leave_nothing(parameters, words):
    clf = ELFClassifier(**{"constraints": NO_WORSE, **parameters})
    with pytest.raises(InputError, match=words) as caught:
        fit(clf)
    assert str(caught.value).count("\nHint: ") == 1
    assert is_unfitted(clf)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([None, *Y[1:].tolist()], "y is missing in 1 of 1,500 rows"),
        (np.where(Y == 1, np.nan, Y), "y is missing in"),
        (["a", *Y[1:].tolist()], "a mixture of int, str"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (3, "y should be a 1d array"),
    ],
)
def test_labels_that_are_none(y, words):
    with pytest.raises(DataError, match=words) as caught:
        ELFClassifier().fit(X, np.array(y, dtype=object) if isinstance(y, list) else y)
    assert "\nHint: " in str(caught.value)


def test_features_in_a_mapping_are_refused_by_name():
    columns = {"a": X[:, 0], "b": X[:, 1]}
    with pytest.raises(DataError, match=r"X must be an array or a data frame\. Got dict"):
        ELFClassifier().fit(columns, Y)


@pytest.mark.parametrize("random_state", ["abc", 1.5, np.random.default_rng(0)])
def test_a_seed_that_is_none(random_state):
    with pytest.raises(InputError, match="random_state must be a whole number of at least 0"):
        fit(ELFClassifier(NO_WORSE, random_state=random_state))
    with pytest.raises(InputError, match="random_state must be a whole number of at least 0"):
        ELFClassifier().fit(X, Y).predict(X, random_state=random_state)


def test_one_class_is_nothing_to_decide():
    with pytest.raises(DataError, match="y holds only one class: "):
        ELFClassifier("accuracy >= 0.5").fit(X, np.zeros(1500))


def test_few_rows_in_a_half_are_warned_of_in_the_certificate():
    group = np.zeros(1500, int)
    group[:14] = 1
    clf = fit(ELFClassifier("PR[T == 1] >= 0.01"), sensitive_features={"T": group})
    (result,) = clf.certificate_.constraints
    assert result.n < 10  # 40 % of 14
    few_rows = f"only {result.n} held-out rows meet 'T == 1' (below 10)"
    assert result.warnings[0].text.startswith(few_rows)
    few = fit(
        ELFClassifier("PR[T == 1] >= 0.01", candidate_fraction=0.3), sensitive_features={"T": group}
    )
    size = 14 - few.certificate_.constraints[0].n
    (warning,) = (w for w in few.certificate_.warnings if w.code == "few_candidate_rows")
    assert warning.text == f"only {size} candidate rows meet 'T == 1' (below 10)"


# -- what is asked for -------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["accuracy >= 0.7", "PR <= 0.9", "TPR >= 0.3", "FPR <= 0.6"])
def test_rates_need_labels_alone(text):
    assert ELFClassifier(text).fit(X, Y).solution_found_


def test_groups_need_the_sensitive_column_alone():
    clf = ELFClassifier("abs(PR[T == 0] - PR[T == 1]) <= 0.5")
    assert clf.fit(X, Y, sensitive_features={"T": DRAW.group}).solution_found_
    with pytest.raises(ElfairError, match="no column 'T'"):
        clf.fit(X, Y)


@pytest.mark.parametrize("missing", ["decision", "propensity", "impact"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_impact_needs_all_three_and_says_which_is_missing(missing, estimator):
    given = {name: value for name, value in LOGGED.items() if name != missing}
    if missing == "decision":
        del given["propensity"]
    with pytest.raises(ElfairError, match=f"{missing}.*was not given") as caught:
        ELFClassifier(NO_WORSE, estimator=estimator).fit(X, Y, **given)
    assert f"pass {missing}=" in str(caught.value)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("P[decision == 2] <= 0.1", "no class 2; classes: 0, 1"),
        ("P[decision in [0, 2]] >= 0.1", "no class 2"),
        ("P[label == 3 and decision == 1] <= 0.1", "no class 3"),
        ("accuracy >= 75", "can never hold"),
        ("PR <= -0.1", "can never hold"),
        ("P[T == 0] >= 0.1", "does not depend on what a model decides"),
        ("P[label == 1] >= 0.1", "does not depend on what a model decides"),
        ("abs(E[impact] - E_logged[impact]) <= 0", "exact equality can never be certified"),
        ("E_logged[impact] <= E[impact] <= E_logged[impact]", "exact equality can never"),
        (
            ["E[impact] >= E_logged[impact]", "E[impact] <= E_logged[impact]"],
            "exact equality can never",
        ),
    ],
)
def test_what_no_model_can_change_or_meet_is_no_missing_solution(constraint, words):
    rng = np.random.default_rng(0)
    decision = rng.integers(0, 2, 200)
    with pytest.raises(ConstraintError, match=words) as caught:
        ELFClassifier(constraint).fit(
            rng.normal(size=(200, 1)),
            rng.integers(0, 2, 200),
            sensitive_features={"T": rng.integers(0, 2, 200)},
            decision=decision,
            propensity=np.full(200, 0.5),
            impact=decision + rng.normal(size=200),
        )
    assert str(caught.value).count("Hint: ") == 1


def test_rows_that_were_shuffled_apart_are_noticed():
    frame = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20) % 2})
    with pytest.raises(DataError, match=r"(?s)y has the same rows as X in a different order.*Hint"):
        ELFClassifier().fit(frame[["x"]], frame["y"].sample(frac=1, random_state=0))
    # By position, or with labels of their own: as everywhere in scikit-learn.
    ELFClassifier().fit(frame[["x"]], frame["y"].sample(frac=1, random_state=0).to_numpy())
    ELFClassifier().fit(frame[["x"]], frame["y"].set_axis(np.arange(100, 120)))


@pytest.mark.parametrize("name", ["sensitive_features", "impact", "behavior"])
def test_columns_that_were_shuffled_apart_inside_a_table_are_noticed(name):
    order = np.random.default_rng(0).permutation(1500)
    p = np.where(DRAW.decision == 1, DRAW.propensity, 1 - DRAW.propensity)
    table = {
        "sensitive_features": {"T": pd.Series(DRAW.group, index=order)},
        "impact": {"impact": pd.Series(DRAW.impact, index=order)},
        "behavior": pd.DataFrame({0: 1 - p, 1: p}, index=order),
    }
    with pytest.raises(DataError, match=f"{name}.* has the same rows as X in a different order"):
        LoggedData(pd.DataFrame(X), Y, **{**LOGGED, "propensity": None, name: table[name]})
    # Without labels of X, those of y.
    with pytest.raises(DataError, match=f"{name}.* has the same rows as y in a different order"):
        LoggedData(X, pd.Series(Y), **{**LOGGED, "propensity": None, name: table[name]})


@pytest.mark.parametrize("name", ["decision", "propensity", "behavior_spread"])
def test_doses_that_were_shuffled_apart_are_noticed(name):
    rng = np.random.default_rng(0)
    known = dict.fromkeys(["decision", "propensity", "behavior_spread"], rng.uniform(1, 2, 1500))
    known[name] = pd.Series(known[name], index=rng.permutation(1500))
    with pytest.raises(DataError, match=f"{name} has the same rows as X in a different order"):
        ELFRegressor("E[impact] >= 0").fit(pd.DataFrame(X), Y, impact=DRAW.impact, **known)


def test_labels_of_several_levels_are_no_error():
    plain = pd.RangeIndex(1500)
    deep = pd.MultiIndex.from_arrays([plain, plain])
    deeper = pd.MultiIndex.from_arrays([plain, plain, plain])
    for own, other in [(deep, plain), (plain, deep), (deep, deeper), (deeper, deep), (deep, deep)]:
        assert LoggedData(pd.DataFrame(X, index=own), pd.Series(Y, index=other)).n == 1500
    with pytest.raises(DataError, match="different order"):
        LoggedData(pd.DataFrame(X, index=deep), pd.Series(Y, index=deep[::-1]))


# -- what stands for missing, and names --------------------------------------------------------


@pytest.mark.parametrize("code", [-999, 99999, -88])
def test_an_impact_that_is_a_code_is_refused(code):
    """It would count as an impact far from all others."""
    impact = np.where(np.arange(len(DRAW.impact)) % 50 == 3, code, np.abs(DRAW.impact))
    with pytest.raises(DataError, match=rf"is {code} in 30 of 1,500 rows \(the first is row 3\)"):
        fit(ELFClassifier(NO_WORSE), impact=impact)


@pytest.mark.parametrize("far", [-999.5, -990.0])
def test_an_impact_that_is_far_from_others_is_an_impact(far):
    impact = np.where(np.arange(len(DRAW.impact)) == 3, far, DRAW.impact)
    assert LoggedData(X, Y, **{**LOGGED, "impact": impact}).impacts["impact"][3] == far


@pytest.mark.parametrize("word", ["?", "n/a", "Unknown"])
def test_a_decision_that_nobody_knows_is_refused(word):
    decision = np.where(DRAW.decision == 1, "treat", "wait").astype(object)
    decision[5::100] = word
    with pytest.raises(DataError, match="stands for missing"):
        ELFClassifier(NO_WORSE).fit(X, **{**LOGGED, "decision": decision})
    # Of two arms, one may well be called so.
    decision = np.where(DRAW.decision == 1, "treat", word)
    assert LoggedData(X, **{**LOGGED, "decision": decision}).classes.size == 2


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame(X, columns=["a", "a", *range(2, X.shape[1])])
    with pytest.raises(DataError, match="X has two columns with the same name"):
        ELFClassifier(NO_WORSE).fit(table, Y, **LOGGED)
