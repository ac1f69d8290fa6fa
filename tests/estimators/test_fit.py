"""From candidate half to sealed half: what may look at what, and what the policy keeps."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from scipy.special import stdtrit

from elfair import ElfairError, ELFClassifier, LoggedData
from elfair.bounds import BOUNDS, FINITE_SAMPLE
from elfair.data.split import Split
from elfair.errors import BoundError, DataError, InputError
from elfair.language.build import col
from elfair.populations import FosterCare
from elfair.records import progress
from elfair.search import Selection
from elfair.search.selection import ASKED
from elfair.statistics import Baselines, Estimation, Impact

POPULATION = FosterCare(alpha=0.9)
NO_WORSE = "E[impact] >= E_logged[impact]"
DRAW = POPULATION.sample(1500, seed=21)


def held_out(n):
    """The rows that a fit seals."""
    data = LoggedData(np.zeros((n, 1)), np.arange(n) % 2, row_id=np.arange(n))
    split = Split.of(data, "random", share=0.6)
    return np.setdiff1d(np.arange(n), split.candidate.row_id)


def fit(clf, draw=DRAW, **more):
    given = {
        "X": draw.features,
        "y": draw.label,
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "impact": draw.impact,
        **more,
    }
    return clf.fit(**given)


# -- the sealed half ---------------------------------------------------------------------------


def everything_else():
    """All that a held-out row consists of, replaced by something else."""
    rows = held_out(1500)
    rng = np.random.default_rng(0)
    changed = {
        "X": DRAW.features.copy(),
        "y": DRAW.label.copy(),
        "decision": DRAW.decision.copy(),
        "propensity": DRAW.propensity.copy(),
        "impact": DRAW.impact.copy(),
        "sensitive_features": {"T": DRAW.group.copy()},
    }
    changed["X"][rows] *= 100
    changed["y"][rows] = rng.integers(0, 2, rows.size)
    changed["decision"][rows] = rng.integers(0, 2, rows.size)
    changed["propensity"][rows] = 0.5
    changed["impact"][rows] = rng.normal(5, 3, rows.size)
    changed["sensitive_features"]["T"][rows] = rng.integers(0, 2, rows.size)
    return changed


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"estimator": "dr"},
        {"search": "cmaes"},
        {"objective": "log_loss"},
        {"candidate_tuning": {"power": [0.5, 0.95], "estimator": ["paired", "dr"]}},
    ],
    ids=str,
)
def test_the_ladder_does_not_depend_on_any_held_out_row(parameters, monkeypatch):
    searches, run = [], Selection.run

    def remember(*arguments, models=1, **options):
        found = run(*arguments, models=models, **options)
        if models > 1:  # the others are for tuning
            searches.append(found)
        return found

    monkeypatch.setattr(Selection, "run", remember)
    before = fit(ELFClassifier(POPULATION.constraints, **parameters))
    after = fit(ELFClassifier(POPULATION.constraints, **parameters), **everything_else())
    first, second = searches
    thetas, same = ([model.theta for model in found.ladder] for found in searches)
    assert len(thetas) == 1 if "search" in parameters else len(thetas) > 5
    assert np.array_equal(thetas, same)
    assert np.array_equal(first.policy.center, second.policy.center)
    assert before.tuned_ == after.tuned_
    records = [clf.certificate_.search for clf in (before, after)]
    assert records[0].forecast == records[1].forecast
    assert records[0].evaluations == records[1].evaluations
    assert before.certificate_.constraints != after.certificate_.constraints


def test_the_candidate_does_depend_on_candidate_rows():
    rows = np.setdiff1d(np.arange(1500), held_out(1500))
    impact = DRAW.impact.copy()
    impact[rows] = np.random.default_rng(0).normal(5, 3, rows.size)
    before = fit(ELFClassifier(POPULATION.constraints))
    after = fit(ELFClassifier(POPULATION.constraints), impact=impact)
    assert not np.array_equal(before.fitted_.models[0].theta, after.fitted_.models[0].theta)


@pytest.mark.parametrize("estimator", ["paired", "is"])
def test_the_certificate_is_computed_from_held_out_rows_alone(estimator):
    no_worse = "E[impact | T == 1] >= E_logged[impact | T == 1]"
    how = {"estimator": estimator, "bound": "ttest", "accept_violated": ["tau_known"]}
    clf = fit(ELFClassifier(no_worse, **how))
    rows = held_out(1500)
    rows = rows[DRAW.group[rows] == 1]
    pi = clf.fitted_.probabilities(DRAW.features[rows], None)
    weight = pi[np.arange(rows.size), DRAW.decision[rows]] / DRAW.propensity[rows]
    if estimator == "paired":
        table = LoggedData(DRAW.features, **DRAW.logged)
        candidate = table.take(np.setdiff1d(np.arange(1500), held_out(1500)))
        level = Baselines(Estimation(), candidate).level(Impact("impact"), col("T") == 1)
        g = (1 - weight) * (DRAW.impact[rows] - level.of(table.take(rows)))
    else:
        g = DRAW.impact[DRAW.group == 1].mean() - weight * DRAW.impact[rows]
    (result,) = clf.certificate_.constraints
    quantile = stdtrit(rows.size - 1, 0.9)
    assert result.n == rows.size
    assert result.estimate == pytest.approx(g.mean())
    assert result.upper == pytest.approx(g.mean() + quantile * g.std(ddof=1) / np.sqrt(rows.size))
    assert result.passed == (result.upper <= 0)
    assert result.mean_weight == pytest.approx(weight.mean())


def test_accuracy_too():
    clf = fit(ELFClassifier("accuracy >= 0.7", delta=0.01, bound="ttest"))
    rows = held_out(1500)
    g = 0.7 - clf.predict_proba(DRAW.features[rows])[np.arange(rows.size), DRAW.label[rows]]
    (result,) = clf.certificate_.constraints
    assert result.estimate == pytest.approx(g.mean())
    margin = stdtrit(rows.size - 1, 0.99) * g.std(ddof=1) / np.sqrt(rows.size)
    assert result.upper == pytest.approx(g.mean() + margin)


@pytest.mark.parametrize("fraction", [0.3, 0.8])
def test_the_fraction_of_candidates(fraction):
    record = fit(ELFClassifier(NO_WORSE, candidate_fraction=fraction)).certificate_
    assert (record.n_candidate, record.n_held_out) == (1500 * fraction, 1500 - 1500 * fraction)


# -- tuning inside the candidate half ----------------------------------------------------------


def test_tuning_picks_from_the_grid():
    clf = ELFClassifier(POPULATION.constraints, candidate_tuning={"power": [0.01, 0.95]})
    fit(clf)
    # A model that is to pass once in a hundred times delivers nothing on rows it has not seen.
    assert clf.tuned_ == {"power": 0.95}
    same = fit(ELFClassifier(POPULATION.constraints, power=0.95))
    assert np.array_equal(clf.fitted_.models[0].theta, same.fitted_.models[0].theta)


def test_a_tuned_estimator_is_the_one_in_the_certificate():
    clf = fit(ELFClassifier(POPULATION.constraints, candidate_tuning={"estimator": ["dr"]}))
    assert clf.certificate_.estimator == "dr"


def test_what_decides_the_promise_cannot_be_tuned():
    for name in ("delta", "bound", "candidate_fraction", "random_state", "constraints", "powr"):
        with pytest.raises(ElfairError, match=f"candidate_tuning can choose .* Got {name}"):
            fit(ELFClassifier(POPULATION.constraints, candidate_tuning={name: [1]}))


# -- finite-sample bounds, end to end ----------------------------------------------------------


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_bound_end_to_end(bound):
    population = FosterCare(alpha=0.9, clipped=True)
    known = {
        "impact_range": population.impact_range,
        "propensity_floor": population.propensity_floor,
    }
    draw = population.sample(4_000, seed=2)
    clf = ELFClassifier(population.constraints, bound=bound, **known)
    fit(clf, draw)
    kinds = {r.kind for r in clf.certificate_.constraints}
    assert kinds == {BOUNDS[bound].kind}
    assert clf.certificate_.bound == bound
    assert all(np.isfinite(r.upper) for r in clf.certificate_.constraints)
    if bound in ("betting", "ttest"):
        assert clf.solution_found_
        assert POPULATION.accuracy(clf) > 0.75
    if bound in FINITE_SAMPLE:
        with pytest.raises(BoundError, match="impact_range"):
            fit(clone_without(clf, "impact_range"), draw)
    if "low" in BOUNDS[bound].needs:
        with pytest.raises(BoundError, match="propensity_floor"):
            fit(clone_without(clf, "propensity_floor"), draw)
    robust = fit(ELFClassifier(population.constraints, bound=bound, estimator="dr", **known), draw)
    assert all(np.isfinite(r.upper) for r in robust.certificate_.constraints)


def clone_without(clf, name):
    return ELFClassifier(**{**clf.get_params(deep=False), name: None})


@pytest.mark.parametrize("bound", FINITE_SAMPLE)
def test_rates_need_no_declaration(bound):
    clf = fit(ELFClassifier("accuracy >= 0.7 and PR[T == 1] >= 0.05", bound=bound))
    assert clf.solution_found_


# -- the behaviour model -----------------------------------------------------------------------


class Careful:
    """Three decisions; the first is impossible where x0 > 0.5, the last where x1 < 0."""

    classes_ = np.array([0, 1, 2])

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        scores = np.exp(np.column_stack([0.3 * X[:, 0], 0.1 * X[:, 1], 0.2 * X[:, 0]]))
        scores[X[:, 0] > 0.5, 0] = 0
        scores[X[:, 1] < 0, 2] = 0
        return scores / scores.sum(axis=1, keepdims=True)


def careful_log(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    beta = Careful().predict_proba(X)
    decision = (rng.random(n)[:, None] > beta.cumsum(axis=1)).sum(axis=1)
    label = np.clip(np.round(1 + X[:, 0] + 0.5 * rng.normal(size=n)), 0, 2).astype(int)
    impact = (decision == label) + 0.1 * rng.normal(size=n)
    return X, label, decision, impact


@pytest.mark.parametrize("search", ASKED)
@pytest.mark.parametrize("constraints", [(), NO_WORSE])
def test_what_the_behaviour_model_cannot_do_the_policy_never_does(search, constraints):
    X, label, decision, impact = careful_log()
    clf = ELFClassifier(constraints, search=search)
    clf.fit(X, label, decision=decision, impact=impact, behavior=Careful())
    assert clf.solution_found_
    people = np.random.default_rng(5).normal(size=(4_000, 2)) * 3
    probabilities = clf.predict_proba(people)
    impossible = Careful().predict_proba(people) == 0
    assert impossible.any(axis=0).tolist() == [True, False, True]
    assert (probabilities[impossible] == 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)
    drawn = clf.decide(people)
    assert not impossible[np.arange(4_000), drawn.decision].any()
    assert (drawn.propensity > 0).all()
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict_proba(people), probabilities)


def test_probabilities_of_the_behaviour_model_without_support_are_refused():
    X, label, decision, impact = careful_log()
    with pytest.raises(ElfairError, match="pass the fitted model itself"):
        ELFClassifier(NO_WORSE).fit(
            X, label, decision=decision, impact=impact, behavior=Careful().predict_proba(X)
        )


def test_a_share_of_zero_is_the_behaviour_model():
    X, label, decision, impact = careful_log()
    clf = ELFClassifier(NO_WORSE).fit(
        X, label, decision=decision, impact=impact, behavior=Careful()
    )
    clf.fitted_.models[0].theta[-1] = 0.0
    assert np.allclose(clf.predict_proba(X), Careful().predict_proba(X), rtol=0, atol=1e-15)


class Best:
    """Decides well where no linear policy can: 1 for the far, 0 for the near."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = np.where(np.abs(np.asarray(X)[:, 0]) > 1, 0.9, 0.1)
        return np.column_stack([1 - p, p])


def test_the_old_model_is_no_solution_unless_it_is_called_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 2))
    far = np.abs(X[:, 0]) > 1
    decision = (rng.random(1_000) < Best().predict_proba(X)[:, 1]).astype(int)
    impact = (decision == far) + 0.1 * rng.normal(size=1_000)
    label = (X[:, 1] + rng.normal(size=1_000) > 0).astype(int)  # accuracy pulls elsewhere
    for behavior in (Best(), Best().predict_proba(X)):
        clf = ELFClassifier(NO_WORSE)
        clf.fit(X, label, decision=decision, impact=impact, behavior=behavior)
        assert not clf.solution_found_
    # The paper's search takes it for a solution. Then the first sentence says what it is.
    clf = ELFClassifier(NO_WORSE, search="cmaes")
    clf.fit(X, label, decision=decision, impact=impact, behavior=Best())
    (result,) = clf.certificate_.constraints
    assert clf.solution_found_
    assert (result.estimate, result.upper, result.spread) == (0, 0, 0)
    assert result.mean_weight == pytest.approx(1, abs=1e-12)
    assert np.allclose(clf.predict_proba(X), Best().predict_proba(X), rtol=0, atol=1e-12)
    assert "although the model is practically the old model" in clf.explain().splitlines()[0]


# -- signs of life -----------------------------------------------------------------------------


def test_nothing_is_shown_in_a_pipeline(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    fit(ELFClassifier(NO_WORSE))
    fit(ELFClassifier())
    assert capsys.readouterr() == ("", "")


def test_a_long_search_shows_itself_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    fit(ELFClassifier(NO_WORSE))
    assert capsys.readouterr() == ("", "")  # it was quick
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    fit(ELFClassifier(NO_WORSE))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "looking for a model" in shown.err


# -- cross-fitting -----------------------------------------------------------------------------


def crossfit(**parameters):
    return ELFClassifier(POPULATION.constraints, split="crossfit", **parameters)


def test_every_row_is_tested_once_by_a_model_that_never_saw_it():
    data = LoggedData(np.zeros((1500, 1)), np.arange(1500) % 2, row_id=np.arange(1500))
    seen = []
    for others, sealed in Split.of(data, "crossfit", folds=4, seed=3).folds:
        rows = sealed.open().row_id
        assert not set(rows) & set(others.row_id)
        assert len(rows) + others.n == 1500
        seen.extend(rows)
    assert sorted(seen) == list(range(1500))


def test_the_mixture_is_what_was_tested():
    """The estimate is the average, over all rows, of the row under its own fold's model."""
    clf = fit(crossfit(folds=3, bound="ttest"))
    certificate = clf.certificate_
    assert (certificate.split, certificate.n, certificate.n_held_out) == ("crossfit", 1500, 1500)
    assert certificate.search.models == len(clf.fitted_.models) == 3
    data = LoggedData(np.zeros((1500, 1)), np.arange(1500) % 2, row_id=np.arange(1500))
    hits = np.empty(1500)
    folds = Split.of(data, "crossfit", folds=3).folds
    for model, (_, sealed) in zip(clf.fitted_.models, folds, strict=True):
        rows = sealed.open().row_id.astype(int)
        pi = model.policy.probabilities(model.theta, DRAW.features[rows], None)
        hits[rows] = pi[np.arange(rows.size), DRAW.label[rows]]
    (accuracy,) = (r for r in certificate.constraints if r.statement.startswith("accuracy"))
    assert accuracy.estimate == pytest.approx(0.75 - hits.mean())
    assert accuracy.n == 1500
    # Twice the variance of independent rows, since the folds learn from each other's.
    upper = 0.75 - hits.mean() + hits.std(ddof=1) / np.sqrt(1500 / 2) * stdtrit(1499, 0.9)
    assert accuracy.upper == pytest.approx(upper)
    every = [m.policy.probabilities(m.theta, DRAW.features, None) for m in clf.fitted_.models]
    mixed = np.mean(every, axis=0)
    np.testing.assert_allclose(clf.predict_proba(DRAW.features), mixed)


def test_a_folds_model_does_not_depend_on_its_rows():
    data = LoggedData(np.zeros((1500, 1)), np.arange(1500) % 2, row_id=np.arange(1500))
    (_, sealed), *_ = Split.of(data, "crossfit", folds=5).folds
    rows = sealed.open().row_id.astype(int)
    impact = DRAW.impact.copy()
    impact[rows] += 3
    before, after = fit(crossfit()), fit(crossfit(), impact=impact)
    first, *others = zip(before.fitted_.models, after.fitted_.models, strict=True)
    assert np.array_equal(first[0].theta, first[1].theta)
    assert not any(np.array_equal(a.theta, b.theta) for a, b in others)


def test_cross_fitting_says_what_it_rests_on_and_what_it_cannot_do():
    names = {a.name: a.status for a in fit(crossfit()).certificate_.assumptions}
    assert names["stable search"] == "assumed"
    assert names["halves independent"] == "checked"
    with pytest.raises(BoundError, match="no finite-sample proof"):
        fit(crossfit(bound="betting", impact_range=(-10, 10)))
    with pytest.raises(InputError, match="one candidate half"):
        fit(crossfit(candidate_tuning={"power": [0.9]}))
    with pytest.raises(DataError, match=r"folds must be from 2 to half the number of rows \(750"):
        fit(crossfit(folds=751))


def test_under_cross_fitting_the_deltas_add_up():
    """Models that saw each other's rows may violate whichever statement those rows flatter."""
    certificate = fit(crossfit(delta=[0.1, 0.05, 0.01])).certificate_
    assert certificate.joint_delta == pytest.approx(0.16)
    assert "at most 0.16 (the sum of all deltas)" in certificate.joint_statement
    assert (certificate.n, certificate.n_candidate) == (1500, 1200)
    usual = fit(ELFClassifier(POPULATION.constraints, delta=[0.1, 0.05, 0.01])).certificate_
    assert usual.joint_delta == 0.1


@pytest.mark.filterwarnings("ignore::elfair.errors.CertificateWarning")
def test_another_division_of_the_same_rows_opens_the_same_rows(counted):
    tries = [{"folds": 5}, {"folds": 5, "random_state": 1}, {"folds": 2}]
    assert [fit(crossfit(**how)).certificate_.openings for how in tries] == [1, 2, 3]
