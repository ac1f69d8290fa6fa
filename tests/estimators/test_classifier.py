"""ELFClassifier: what a fit leaves behind, and what may be asked of it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from elfair import ElfairError, ELFClassifier, NoSolutionFoundError
from elfair.errors import DataError
from elfair.language.build import E, E_logged, accuracy, col
from elfair.populations import FosterCare
from elfair.search.selection import ASKED

POPULATION = FosterCare(alpha=0.9)
NO_WORSE = "E[impact] >= E_logged[impact]"
IMPOSSIBLE = "accuracy >= 0.999"


def logged(draw):
    return {
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "impact": draw.impact,
    }


DRAW = POPULATION.sample(1500, seed=11)
X, Y, LOGGED = DRAW.features, DRAW.label, logged(DRAW)


def fit(clf, **more):
    return clf.fit(X, Y, **{**LOGGED, **more})


@pytest.fixture(scope="module")
def fitted():
    clf = fit(ELFClassifier(POPULATION.constraints))
    assert clf.solution_found_
    return clf


@pytest.fixture(scope="module")
def unsolved():
    return fit(ELFClassifier([NO_WORSE, IMPOSSIBLE]))


def is_unfitted(clf):
    return not [name for name in vars(clf) if name not in clf.get_params()]


# -- results -----------------------------------------------------------------------------------


def test_a_solution(fitted):
    assert fitted.certificate_.passed
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 5
    assert fitted.tuned_ == {}
    assert fitted.certificate_.n == 1500
    assert (fitted.certificate_.n_candidate, fitted.certificate_.n_held_out) == (900, 600)
    assert POPULATION.accuracy(fitted) > 0.8
    record = fitted.certificate_.search
    assert (record.method, record.objective, record.meets_target) == ("gradient", "accuracy", True)
    assert 0.5 < record.forecast <= 1


def test_no_solution_is_a_result_and_no_error(unsolved):
    assert not unsolved.solution_found_
    assert not unsolved.certificate_.passed
    assert unsolved.certificate_.constraints[0].statement == IMPOSSIBLE
    assert "No solution found: " in unsolved.explain()


def test_nothing_can_be_asked_of_a_model_that_was_not_released(unsolved):
    for ask in (
        lambda: unsolved.predict(X),
        lambda: unsolved.predict_proba(X),
        lambda: unsolved.decide(X),
        lambda: unsolved.score(X, Y),
    ):
        with pytest.raises(NoSolutionFoundError, match="\nHint: explain"):
            ask()
    assert isinstance(unsolved.explain(), str)


def test_before_fit():
    clf = ELFClassifier(NO_WORSE)
    for ask in (
        lambda: clf.predict(X),
        lambda: clf.predict_proba(X),
        lambda: clf.decide(X),
        lambda: clf.score(X, Y),
        lambda: clf.explain(),
    ):
        with pytest.raises(NotFittedError):
            ask()


def test_without_constraints_it_fits_plainly():
    clf = ELFClassifier().fit(X, Y)
    assert clf.solution_found_
    assert clf.score(X, Y) > 0.85
    assert clf.certificate_.constraints == ()
    assert clf.certificate_.n_candidate == 1500
    assert "nothing was tested" in clf.explain()


def test_the_same_seed_gives_the_same_result(fitted):
    again = fit(ELFClassifier(POPULATION.constraints))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.certificate_.constraints == fitted.certificate_.constraints
    other = fit(ELFClassifier(POPULATION.constraints, random_state=1))
    assert not np.array_equal(other.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), np.int64(3)])
def test_other_kinds_of_seed(random_state):
    clf = fit(ELFClassifier(NO_WORSE, random_state=random_state))
    assert isinstance(clf.certificate_.seed, int)


# -- sampling ----------------------------------------------------------------------------------


def test_predict_draws_fresh_entropy_unless_told_otherwise(fitted):
    assert not np.array_equal(fitted.predict(X), fitted.predict(X))
    first, second = (fitted.predict(X, random_state=5) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, fitted.predict(X, random_state=6))
    assert np.array_equal(first, fitted.decide(X, random_state=5).decision)
    # Nor does the seed of the fit make it repeat, or the global state of numpy.
    np.random.seed(0)
    third = fitted.predict(X)
    np.random.seed(0)
    assert not np.array_equal(third, fitted.predict(X))


def check_frequencies(clf, features, draws=4_000):
    probabilities = clf.predict_proba(features)
    drawn = clf.decide(np.repeat(features, draws, axis=0), random_state=0)
    index = np.searchsorted(clf.classes_, drawn.decision).reshape(len(features), draws)
    for k in range(clf.classes_.size):
        p = probabilities[:, k]
        seen = (index == k).mean(axis=1)
        # A decision that is expected less than once may well be drawn twice.
        assert (np.abs(seen - p) <= 4 * np.sqrt(p * (1 - p) / draws) + 4 / draws).all()
    repeated = np.repeat(probabilities, draws, axis=0)
    taken = repeated[np.arange(len(repeated)), index.ravel()]
    assert np.array_equal(drawn.propensity, taken)


def test_frequencies_are_the_probabilities(fitted):
    check_frequencies(fitted, X[:25])


def test_probabilities_sum_to_one(fitted):
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (1500, 2)
    assert (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", ["accuracy", "log_loss"])
def test_decisions_are_the_log_of_the_next_round(objective):
    # With the usual exploration weights would be as large as 10,000, and little could be shown.
    first = fit(ELFClassifier(POPULATION.constraints, objective=objective, exploration=0.05))
    people = POPULATION.sample(2_000, seed=12)
    taken = first.decide(people.features, random_state=0)
    impact = 0.9 * taken.decision + 0.1 * np.random.default_rng(0).normal(1, 1, 2_000)
    assert (taken.propensity < 1).all()  # nobody's decision is quite certain
    for how in ({"behavior": first}, {"propensity": taken.propensity}):
        following = ELFClassifier("E[impact] >= E_logged[impact] - 0.1")
        given = {"decision": taken.decision, "impact": impact, **how}
        following.fit(people.features, people.label, **given)
        assert following.solution_found_
        statuses = {a.name: a.status for a in following.certificate_.assumptions}
        assert statuses["mean weight near 1"] == "checked"


def test_score_is_the_expected_accuracy_without_sampling(fitted):
    probabilities = fitted.predict_proba(X)
    expected = probabilities[np.arange(1500), Y]
    assert fitted.score(X, Y) == pytest.approx(expected.mean())
    assert fitted.score(X, Y) == fitted.score(X, Y)
    weight = np.random.default_rng(0).random(1500)
    assert fitted.score(X, Y, sample_weight=weight) == pytest.approx(
        (weight * expected).sum() / weight.sum()
    )
    assert fitted.score(X, pd.Series(Y)) == fitted.score(X, Y[:, None]) == fitted.score(X, Y)
    assert fitted.score(X[:3], [7, 7, 7]) == 0  # a label that is never decided is never right


@pytest.mark.parametrize(
    ("y", "weight", "words"),
    [
        ([1], None, "y has 1 rows, but X has 3"),
        ([1, 0, 1], [1.0, 1.0], "sample_weight has 2 rows"),
        ([1, 0, 1], [1.0, -1.0, 1.0], "smallest weight of -1"),
        ([1, 0, 1], [0, 0, 0], "sum of 0"),
        ([1, 0, 1], [1, np.nan, 1], "finite"),
        ([1, 0, 1], ["a", "b", "c"], "must hold numbers"),
    ],
)
def test_score_refuses_what_does_not_fit(fitted, y, weight, words):
    with pytest.raises(DataError, match=words):
        fitted.score(X[:3], y, sample_weight=weight)


# -- several of everything ---------------------------------------------------------------------


def three_classes(n=1500, seed=3):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    scores = np.column_stack([np.zeros(n), 1.5 * features[:, 0], 1.5 * features[:, 1]])
    names = np.array(["deny", "grant", "wait"])
    label = names[(scores + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    beta = np.tile([0.4, 0.35, 0.25], (n, 1))
    taken = (rng.random(n)[:, None] > beta.cumsum(axis=1)).sum(axis=1)
    people = {"race": rng.choice(["A", "B"], n), "sex": rng.choice(["F", "M"], n)}
    right = (names[taken] == label).astype(float)
    impact = {
        "income": right + 0.2 * rng.normal(size=n),
        "debt": 1 - right + 0.2 * rng.normal(size=n),
    }
    return features, label, people, names[taken], beta[np.arange(n), taken], impact


def test_three_classes_text_labels_several_groups_and_impacts():
    features, label, people, decision, propensity, impact = three_classes()
    both = "race == 'A' and sex == 'F'"
    clf = ELFClassifier(
        [
            f"E[income | {both}] >= E_logged[income | {both}]",
            "E[debt | race == 'B'] <= E_logged[debt | race == 'B']",
            "P[decision == 'wait'] <= 0.6",
            "PR[race == 'A'] >= 0.05",
        ],
        positive="grant",
        delta=[0.1, 0.2, 0.05, 0.01],
    )
    clf.fit(
        features,
        label,
        sensitive_features=pd.DataFrame(people),
        decision=decision,
        propensity=propensity,
        impact=pd.DataFrame(impact),
    )
    assert clf.solution_found_
    assert clf.classes_.tolist() == ["deny", "grant", "wait"]
    assert clf.certificate_.classes == ("deny", "grant", "wait")
    assert set(clf.predict(features)) == {"deny", "grant", "wait"}
    by_text = {r.constraint: r for r in clf.certificate_.constraints}
    assert [by_text[text].delta for text in clf.constraints] == clf.delta
    women = by_text[clf.constraints[0]]
    assert women.groups[0].condition == both
    assert women.n < 0.35 * clf.certificate_.n_held_out
    check_frequencies(clf, features[:10])
    # `positive` is what PR counts: the mean probability of "grant" among the held-out of race A.
    granted = clf.predict_proba(features)[people["race"] == "A", 1].mean()
    assert by_text["PR[race == 'A'] >= 0.05"].estimate == pytest.approx(0.05 - granted, abs=0.05)


def test_the_range_of_each_impact():
    features, label, _, decision, propensity, impact = three_classes()
    ranges = {name: (-2.0, 3.0) for name in impact}
    text = "E[income] >= E_logged[income] and E[debt] <= E_logged[debt]"
    given = {"decision": decision, "propensity": propensity, "impact": impact}
    clf = ELFClassifier(text, impact_range=ranges, bound="betting").fit(features, label, **given)
    evidence = {a.name: a.evidence for a in clf.certificate_.assumptions}["impact range"]
    assert "income in [-2, 3], debt in [-2, 3]" in evidence
    assert {r.constraint for r in clf.certificate_.constraints} == {text}
    with pytest.raises(ElfairError, match="impact_range"):  # that of debt is not known
        ELFClassifier(text, impact_range={"income": (-2.0, 3.0)}, bound="betting").fit(
            features, label, **given
        )


def test_a_tree_built_in_python_is_the_same_as_its_text(fitted):
    group = [
        E("impact", given=col("T") == t) >= E_logged("impact", given=col("T") == t) for t in (0, 1)
    ]
    built = fit(ELFClassifier([*group, accuracy >= 0.75]))
    assert np.array_equal(built.predict_proba(X), fitted.predict_proba(X))
    single = fit(ELFClassifier(group[0]))
    assert single.certificate_.constraints[0].constraint == str(group[0])


FRAME = {name: X[:, j] for j, name in enumerate(DRAW.feature_names)}


@pytest.mark.parametrize(
    ("table", "series"),
    [
        (pd.DataFrame, pd.Series),
        (pl.DataFrame, pl.Series),
        (pa.table, lambda values: pa.chunked_array([values])),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_data_frames_of_all_kinds(fitted, table, series):
    clf = ELFClassifier(POPULATION.constraints).fit(
        table(FRAME),
        series(Y),
        sensitive_features=table({"T": DRAW.group}),
        decision=series(DRAW.decision),
        propensity=series(DRAW.propensity),
        impact=table({"impact": DRAW.impact}),
    )
    assert clf.feature_names_in_.tolist() == list(FRAME)
    assert np.array_equal(clf.predict_proba(table(FRAME)), fitted.predict_proba(X))
    assert clf.score(table(FRAME), series(Y)) == fitted.score(X, Y)


def test_a_condition_on_a_feature():
    clf = ELFClassifier("PR[X1 == 1] >= 0.2").fit(pd.DataFrame(FRAME), Y)
    assert clf.certificate_.constraints[0].groups[0].condition == "X1 == 1"
    assert ELFClassifier("PR[x0 == 1] >= 0.2").fit(X, Y).solution_found_


def test_row_ids_decide_the_split_and_not_the_order_of_rows():
    ids = np.array([f"person {i}" for i in range(1500)])
    turned = np.random.default_rng(0).permutation(1500)
    first = fit(ELFClassifier(NO_WORSE), row_id=ids)
    given = {**LOGGED, "sensitive_features": {"T": DRAW.group[turned]}}
    for name in ("decision", "propensity", "impact"):
        given[name] = LOGGED[name][turned]
    second = ELFClassifier(NO_WORSE).fit(X[turned], Y[turned], row_id=ids[turned], **given)
    a, b = first.certificate_.constraints[0], second.certificate_.constraints[0]
    assert a.mean_weight == pytest.approx(b.mean_weight, rel=1e-3)
    with pytest.raises(DataError, match="row_id must be unique"):
        fit(ELFClassifier(NO_WORSE), row_id=np.zeros(1500, int))


# -- statements about several conditions -------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("abs(PR[T == 0] - PR[T == 1]) <= 0.4", 2),
        ("E[impact | T == 0] - E[impact | T == 1] <= 1", 1),
        ("E[impact | T == 0] - E[impact] <= 0.5", 1),
        ("max(FPR[T == 0], FPR[T == 1]) <= 0.9", 2),
        ("0.1 <= PR <= 0.95 and accuracy >= 0.6", 3),
        ("E[impact | T == 1] >= 0.9 * E_logged[impact | T == 1]", 1),
    ],
)
@pytest.mark.parametrize("search", ASKED)
def test_statements_about_several_conditions(text, rows, search):
    clf = fit(ELFClassifier(text, search=search))
    assert clf.solution_found_
    assert len(clf.certificate_.constraints) == rows
    assert {r.constraint for r in clf.certificate_.constraints} == {text}


# -- the paper's settings ----------------------------------------------------------------------


def test_the_settings_of_the_paper():
    clf = ELFClassifier.paper(POPULATION.constraints, delta=0.05)
    chosen = clf.get_params()
    assert {name: chosen[name] for name in ("estimator", "search", "bound", "split")} == {
        "estimator": "is",
        "search": "cmaes",
        "bound": "ttest",
        "split": "stratified",
    }
    assert (clf.power, clf.inflation, clf.delta, clf.candidate_fraction) == (None, 2.0, 0.05, 0.6)
    assert ELFClassifier.paper(NO_WORSE, bound="hoeffding").bound == "hoeffding"
    fit(clf)
    statuses = {a.name: a.status for a in clf.certificate_.assumptions}
    assert statuses["tau is known"] == statuses["halves independent"] == "violated"
    assert clf.certificate_.split == "stratified"
    assert clf.certificate_.search.method == "cmaes"


def test_the_paper_solves_the_foster_care_population():
    found = []
    for seed in range(5):  # it does in about 8 of 10 runs
        draw = POPULATION.sample(4096, seed=seed)
        clf = ELFClassifier.paper(POPULATION.constraints)
        clf.fit(draw.features, draw.label, **logged(draw))
        if clf.solution_found_:
            found.append(POPULATION.accuracy(clf))
    assert len(found) >= 3
    assert np.mean(found) > 0.83


# -- exploration -------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"search": "cmaes"}, {"split": "crossfit"}])
def test_by_default_one_decision_in_5000_is_taken_blindly(more):
    default = fit(ELFClassifier(NO_WORSE, **more))
    told = fit(ELFClassifier(NO_WORSE, exploration=2e-4, **more))
    pairs = list(zip(default.fitted_.ladder, told.fitted_.ladder, strict=True))
    assert all(one.theta.tobytes() == other.theta.tobytes() for one, other in pairs)
    assert default.predict_proba(X).tobytes() == told.predict_proba(X).tobytes()
    assert default.predict_proba(X).min() < 0.04


@pytest.mark.parametrize(
    "more",
    [{}, {"search": "cmaes"}, {"split": "crossfit"}, {"scorer": DecisionTreeClassifier()}],
)
def test_no_decision_is_less_likely_than_exploration_leaves_it(more):
    clf = fit(ELFClassifier(NO_WORSE, exploration=0.2, **more))
    assert {model.policy.exploration for model in clf.fitted_.ladder} == {0.2}
    assert clf.solution_found_
    assert clf.predict_proba(X).min() >= 0.1 - 1e-12
    assert clf.decide(X, random_state=0).propensity.min() >= 0.1 - 1e-12


def test_a_module_explores_as_well():
    torch = pytest.importorskip("torch", reason="torch is an extra")
    torch.manual_seed(0)
    clf = fit(ELFClassifier(NO_WORSE, scorer=torch.nn.Linear(5, 2), exploration=0.2))
    assert clf.solution_found_
    assert clf.predict_proba(X).min() >= 0.1 - 1e-12


def test_with_a_behaviour_model_only_what_is_mixed_into_it_explores():
    logged = {**LOGGED, "behavior": POPULATION.behavior}
    clf = ELFClassifier(NO_WORSE, exploration=0.2).fit(X, Y, **logged)
    [model] = clf.fitted_.models
    behavior = POPULATION.behavior.predict_proba(X)
    share = model.theta[-1]
    assert share > 0
    assert (clf.predict_proba(X) >= (1 - share) * behavior + share * 0.1 - 1e-12).all()
    assert (clf.predict_proba(X) <= (1 - share) * behavior + share * 0.9 + 1e-12).all()


def test_exploration_may_be_a_number_of_numpy():
    clf = fit(ELFClassifier(NO_WORSE, exploration=np.float32(0.25)))
    assert clf.predict_proba(X).min() >= 0.125 - 1e-12


# -- conventions -------------------------------------------------------------------------------


def test_a_clone_has_the_parameters_and_nothing_else(fitted):
    clf = clone(fitted)
    assert clf.get_params() == fitted.get_params()
    assert is_unfitted(clf)
    tree = ELFClassifier([accuracy >= 0.7], outcome_model=Ridge(alpha=2.0))
    assert clone(tree).get_params()["outcome_model__alpha"] == 2.0
    assert str(clone(tree).constraints[0]) == "accuracy >= 0.7"


def test_parameters_can_be_set():
    clf = ELFClassifier(NO_WORSE).set_params(delta=0.05, bound="betting")
    assert (clf.delta, clf.bound) == (0.05, "betting")
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(colour="red")
    assert "delta=0.05" in repr(clf)


def test_fit_changes_no_parameter():
    clf = ELFClassifier(POPULATION.constraints, candidate_tuning={"power": [0.9, 0.95]})
    before = {name: repr(value) for name, value in clf.get_params().items()}
    fit(clf)
    assert {name: repr(value) for name, value in clf.get_params().items()} == before
    assert clf.tuned_["power"] in (0.9, 0.95)


def test_a_fitted_estimator_survives_a_pickle(fitted, unsolved):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert np.array_equal(again.predict(X, random_state=1), fitted.predict(X, random_state=1))
    assert again.certificate_ == fitted.certificate_
    assert not pickle.loads(pickle.dumps(unsolved)).solution_found_


def test_predict_wants_the_columns_of_fit():
    frame = pd.DataFrame(FRAME)
    clf = ELFClassifier("accuracy >= 0.7").fit(frame, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict_proba(frame[list(FRAME)[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        clf.predict_proba(frame.rename(columns={"X1": "Z"}))
    with pytest.raises(ValueError, match="4 features"):
        ELFClassifier().fit(X, Y).predict_proba(X[:, :4])
    with pytest.raises(DataError, match="NaN"):
        clf.predict_proba(frame.assign(X4=np.nan))
