"""Searching with a scorer: which rows it is fitted to, and which scores the search sees."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from elfair import ELFClassifier, LoggedData
from elfair.data.split import Split
from elfair.errors import DataError, InputError
from elfair.policies.scored import SMALLEST_PROBABILITY
from elfair.search import selection
from elfair.search.classification import FOLDS, ScoredFamily, is_fitted
from elfair.search.selection import ASKED

CERTAIN = -np.log(SMALLEST_PROBABILITY)
LOG: list[tuple[str, frozenset[float]]] = []


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the label of each row it was fitted to, nothing of others, and writes down who came."""

    def fit(self, X, y):
        LOG.append(("fit", frozenset(X[:, 0])))
        self.classes_ = np.unique(y)
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        return self

    def predict_proba(self, X):
        LOG.append(("predict", frozenset(X[:, 0])))
        nothing = 1 / self.classes_.size
        return np.array(
            [
                [float(self.known_[x] == c) if x in self.known_ else nothing for c in self.classes_]
                for x in X[:, 0].tolist()
            ]
        )


@pytest.fixture(autouse=True)
def _forget():
    LOG.clear()


def rows(n=200, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, classes, n)
    return {
        "X": rng.normal(size=(n, 3)),
        "y": rng.integers(0, classes, n),
        "sensitive_features": {"T": rng.integers(0, 2, n)},
        "decision": decision,
        "propensity": np.full(n, 1 / classes),
        "impact": decision + rng.normal(size=n),
    }


GAIN = "E[impact] >= E_logged[impact] - 0.3"


def names(data):
    return frozenset(data.features[:, 0])


@pytest.mark.parametrize("split", ["random", "stratified"])
@pytest.mark.parametrize("search", ASKED)
def test_the_scorer_is_never_fitted_to_a_held_out_row(split, search):
    given, scorer = rows(), Memory()
    how = {"split": split, "search": search, "accept_violated": ["halves_independent"]}
    clf = ELFClassifier(GAIN, scorer=scorer, **how).fit(**given)
    ((candidate, sealed),) = Split.of(LoggedData(**given), split, share=0.6).folds
    held_out = names(sealed.open())
    fitted = [seen for what, seen in LOG if what == "fit"]
    assert len(fitted) == FOLDS + 1
    assert not any(seen & held_out for seen in fitted)
    # The last one is released, and knows all candidate rows.
    assert fitted[-1] == names(candidate)
    assert clf.fitted_.models[0].policy.scorer.known_.keys() == names(candidate)
    # The search asks about candidate rows; the test, once, about all held-out rows.
    assert [seen for what, seen in LOG if what == "predict" and seen & held_out] == [held_out]
    # And the object that was passed is as it was.
    assert not is_fitted(scorer)


def test_each_fold_of_a_crossfit_has_a_scorer_of_its_own():
    given = rows()
    clf = ELFClassifier(GAIN, scorer=Memory(), split="crossfit", folds=3).fit(**given)
    divided = Split.of(LoggedData(**given), "crossfit", folds=3).folds
    for model, (others, _) in zip(clf.fitted_.models, divided, strict=True):
        assert model.policy.scorer.known_.keys() == names(others)
    assert len([what for what, _ in LOG if what == "fit"]) == 3 * (FOLDS + 1)


def test_the_search_sees_scores_of_clones_that_did_not_know_the_row():
    data = LoggedData(**rows())
    task = ScoredFamily(Memory(), 0)
    seen = task.rows(data)
    np.testing.assert_array_equal(seen.scores, np.zeros((data.n, 1)))  # nothing was known
    assert data.scores is None
    # The scorer that is released knows these rows: its own scores would be certain of every label.
    policy = task.policy(seen)
    by_itself = policy.inputs(data.features).design[-1] * policy.scale[-1] + policy.center[-1]
    np.testing.assert_allclose(by_itself, np.where(data.label_index == 1, CERTAIN, -CERTAIN))


def test_out_of_fold_scores_belong_to_their_rows():
    data = LoggedData(**rows(300))
    data.label_index = (data.features[:, 1] > 0).astype(np.intp)
    data.label = data.classes[data.label_index]
    seen = ScoredFamily(GaussianNB(), 0).rows(data)
    assert ((seen.scores[:, 0] > 0) == (data.label_index == 1)).mean() > 0.9


def test_scores_are_a_function_of_data_and_seed():
    data = LoggedData(**rows())
    pipe = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    by_seed = [ScoredFamily(pipe, seed).rows(data).scores for seed in (1, 1, 2)]
    np.testing.assert_array_equal(by_seed[0], by_seed[1])
    assert (by_seed[0] != by_seed[2]).any()


def test_explored_rows_keep_their_scores_and_fit_nothing_again(monkeypatch):
    monkeypatch.setattr(selection, "EXPLORED_ROWS", 60)
    clf = ELFClassifier(GAIN, scorer=Memory()).fit(**rows(400))
    assert clf.certificate_.search.evaluations > 1
    assert [what for what, _ in LOG].count("fit") == FOLDS + 1


def test_a_fitted_scorer_is_used_as_it_is():
    elsewhere, given = rows(seed=1), rows()
    scorer = Memory().fit(elsewhere["X"], elsewhere["y"])
    LOG.clear()
    clf = ELFClassifier(GAIN, scorer=scorer).fit(**given)
    assert "fit" not in [what for what, _ in LOG]
    assert clf.fitted_.models[0].policy.scorer is scorer
    (assumed,) = (a for a in clf.certificate_.assumptions if a.code == "scorer_not_fitted")
    assert assumed.status == "assumed"
    assert assumed.statement == "The scorer was not fitted to the held-out rows."
    assert "Memory" in assumed.evidence
    unfitted = ELFClassifier(GAIN, scorer=Memory()).fit(**given)
    assert not any(a.code == "scorer_not_fitted" for a in unfitted.certificate_.assumptions)
    frozen = ELFClassifier(GAIN, scorer=FrozenEstimator(scorer)).fit(**given)
    assert any(a.code == "scorer_not_fitted" for a in frozen.certificate_.assumptions)


def test_a_fitted_scorer_with_named_columns():
    given, labels = rows(), rows(seed=1)["y"]
    given["X"] = pd.DataFrame(given["X"], columns=["a", "b", "c"])
    scorer = GaussianNB().fit(given["X"], labels)
    ELFClassifier(GAIN, scorer=scorer).fit(**given).explain()
    with pytest.raises(InputError, match=r"(?s)other columns: 'a', 'b', 'c'.*'b', 'a', 'c'.*Hint"):
        ELFClassifier(GAIN, scorer=scorer).fit(**{**given, "X": given["X"][["b", "a", "c"]]})


def test_three_classes_and_text():
    given = rows(300, classes=3)
    given["y"] = np.array(["no", "perhaps", "yes"])[given["y"]]
    given["decision"] = np.array(["no", "perhaps", "yes"])[given["decision"]]
    given["impact"] = (given["decision"] == "yes") + 0.1 * given["impact"]
    clf = ELFClassifier(GAIN, scorer=LogisticRegression()).fit(**given)
    assert clf.fitted_.models[0].policy.n_parameters == 2 * (3 + 2 + 1)
    assert clf.solution_found_
    assert clf.predict_proba(given["X"]).shape == (300, 3)


def test_a_rare_class_may_be_missing_from_a_fold():
    given = rows()
    given["y"][:] = 0
    given["y"][0] = 2  # the fold that scores this row was fitted to one class alone
    given["decision"] *= 2
    task = ScoredFamily(LogisticRegression(), 0)
    scores = task.rows(LoggedData(**given)).scores
    assert scores[0, 0] == -CERTAIN
    assert np.isfinite(scores).all()


def test_without_constraints_all_rows_are_candidates():
    given = rows()
    clf = ELFClassifier(scorer=Memory()).fit(given["X"], given["y"])
    assert clf.fitted_.models[0].policy.scorer.known_.keys() == frozenset(given["X"][:, 0])
    assert clf.certificate_.assumptions == ()


def test_scorers_can_be_tuned_on_rows_that_neither_they_nor_the_policy_saw():
    given = rows(600)
    given["y"] = (given["X"][:, 0] * given["X"][:, 1] > 0).astype(int)
    grid = {"scorer": [None, DecisionTreeClassifier(max_depth=6), DecisionTreeClassifier()]}
    clf = ELFClassifier("accuracy >= 0.6", candidate_tuning=grid).fit(**given)
    assert clf.tuned_["scorer"] in grid["scorer"][1:]
    assert clf.solution_found_
    assert clf.fitted_.models[0].policy.scorer.get_depth() > 1


def test_what_was_found_survives_a_pickle():
    given = rows(400)
    given["y"] = (given["X"][:, 0] * given["X"][:, 1] > 0).astype(int)
    clf = ELFClassifier("accuracy >= 0.6", scorer=DecisionTreeClassifier(max_depth=6)).fit(**given)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(given["X"]), clf.predict_proba(given["X"]))


class Fails(GaussianNB):
    def fit(self, X, y):
        raise RuntimeError("out of luck")


FITTED = GaussianNB().fit(rows()["X"], rows()["y"])


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (
            "trees",
            r"scikit-learn classifier with predict_proba, or a torch.nn.Module, .* Got 'trees'",
        ),
        (GaussianNB, r"scorer must be .*Got <class.*GaussianNB"),
        (StandardScaler(), r"Got StandardScaler\(\) instead"),
        (Fails(), r"Fails could not be fitted to \d+ candidate rows with 3 features: out of luck"),
        (GaussianNB().fit([[0] * 3, [1] * 3], [0, 7]), r"other classes: 0, 7. .*data: 0, 1"),
        (GaussianNB().fit([[0] * 3] * 3, [0, 1, 2]), r"other classes: 0, 1, 2"),
        (GaussianNB().fit([[0], [1]], [0, 1]), r"was fitted to 1 features. X has 3"),
    ],
)
def test_what_cannot_score(scorer, message):
    with pytest.raises(InputError, match=f"(?s){message}.*Hint"):
        ELFClassifier(GAIN, scorer=scorer).fit(**rows())


def test_an_unfitted_scorer_needs_labels_and_a_fitted_one_does_not():
    given = rows()
    data = LoggedData(**{**given, "y": None})
    with pytest.raises(DataError, match=r"(?s)GaussianNB is not fitted, and there is no y.*Hint"):
        ScoredFamily(GaussianNB(), 0).rows(data)
    assert ScoredFamily(FITTED, 0).rows(data).scores.shape == (data.n, 1)
