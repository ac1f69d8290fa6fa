"""What a model decides on is what it does: compared with its own predictions on the same rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.ensemble import HistGradientBoostingClassifier

from elfair import ELFClassifier, ELFRegressor, LoggedData, verify
from elfair.certificate.effects import on_the_table
from elfair.cli import main
from elfair.data.continuous import ContinuousData
from elfair.fairness_test.effects import bands
from elfair.report import Report

N = 450  # of which candidate rows are fewer than are looked at


def log(n=N, seed=0):
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "income": rng.normal(100, 20, n),
            "noise": rng.normal(size=n),
            "housing": rng.choice(["own", "rent", None], n).astype(object),
        }
    )
    good = (people.income > 105) | (people.housing == "own")
    decision = np.where(rng.random(n) < 0.5, "yes", "no")
    given = {
        "sensitive_features": {"T": rng.choice(["a", "b"], n)},
        "decision": decision,
        "propensity": np.full(n, 0.5),
        "impact": np.where(good == (decision == "yes"), 1.0, 0.0) + rng.normal(0, 0.2, n),
    }
    return people, np.where(good, "yes", "no"), given


CONSTRAINTS = [f"E[impact | T == '{t}'] >= E_logged[impact | T == '{t}']" for t in "ab"]


@pytest.fixture(scope="module", params=["linear", "scorer", "tree"])
def fitted(request):
    people, label, given = log()
    more = {
        "linear": {},
        "scorer": {"scorer": HistGradientBoostingClassifier(max_iter=5)},
        "tree": {"policy": "tree"},
    }[request.param]
    data = LoggedData(people, label, **given)
    clf = ELFClassifier(CONSTRAINTS, **more).fit(data)
    candidate = clf.request(data).split(data).folds[0].candidate
    rows = pd.DataFrame({name: candidate.feature(name) for name in people.columns})
    return clf, data, candidate, rows


def test_partial_dependence_is_what_is_predicted_if_everybody_had_the_value(fitted):
    clf, _, _, rows = fitted
    assert clf.solution_found_
    assert [e.effect for e in clf.certificate_.effects] == sorted(
        (e.effect for e in clf.certificate_.effects), reverse=True
    )
    for effect in clf.certificate_.effects:
        found = list(bands(rows[effect.feature].to_numpy()))
        assert [each.words for each in found] == [each.band for each in effect.bands]
        for mine, band in zip(found, effect.bands, strict=True):
            changed = rows.copy()
            changed[effect.feature] = [rows[effect.feature].iloc[mine.typical]] * len(rows)
            expected = clf.predict_proba(changed).mean(axis=0)
            assert band.partial == pytest.approx(expected, abs=1e-9)
        by_decision = np.ptp([band.partial for band in effect.bands], axis=0)
        assert effect.effect == pytest.approx(by_decision.max())


def test_cells_are_the_decisions_about_these_people(fitted):
    clf, _, candidate, rows = fitted
    effect = clf.certificate_.effects[0]
    group, new = candidate.sensitive["T"], clf.predict_proba(rows)
    taken = np.array([candidate.decision == name for name in clf.classes_]).T
    for mine, band in zip(bands(rows[effect.feature].to_numpy()), effect.bands, strict=True):
        inside = {"everyone": np.full(len(rows), True), **{f"T == '{t}'": group == t for t in "ab"}}
        assert [cell.condition for cell in band.cells] == list(inside)
        for cell in band.cells:
            rows_in = mine.rows[inside[cell.condition][mine.rows]]
            assert cell.n == rows_in.size
            assert cell.old == pytest.approx(taken[rows_in].mean(axis=0))
            assert cell.new == pytest.approx(new[rows_in].mean(axis=0), abs=1e-9)
            weight = (new[rows_in] * taken[rows_in]).sum(axis=1) / 0.5
            assert cell.moved == pytest.approx(np.abs(weight - 1).mean() / 2)


def test_verification_computes_it_again(fitted):
    clf, data, _, _ = fitted
    checks = verify(clf.certificate_.to_json(), data=data, model=clf).checks
    assert ("what it decides on", "passed") in {(each.name, each.status) for each in checks}


def test_it_is_said_in_words(fitted):
    clf, _, _, _ = fitted
    depends, *_, differs = on_the_table(clf.certificate_)
    first = clf.certificate_.effects[0].feature
    assert depends.startswith(f"The model decides most by {first}: if everybody had {first} ")
    assert "decides most differently from the old model about people with" in differs
    assert depends in clf.explain(details=True)
    for text in (Report(clf.certificate_).markdown(), Report(clf.certificate_).html()):
        assert "The model on the table" in text
        assert "partial dependence" in text


def test_standardised_effects_are_coefficients_by_standard_deviation():
    people, label, given = log()
    numbers = people[["income", "noise"]]
    data = LoggedData(numbers, label, **given)
    clf = ELFClassifier(CONSTRAINTS).fit(data)
    rows = clf.request(data).split(data).folds[0].candidate.features
    for effect in clf.certificate_.effects:
        k = clf.coef_names_.index(effect.feature)
        assert effect.standardised == pytest.approx(clf.coef_[:, k] * rows[:, k].std())


def test_numbers_that_are_decided(recwarn):
    rng = np.random.default_rng(0)
    X, dose = rng.normal(size=(600, 2)), rng.normal(size=600)
    log_of = {"decision": dose, "behavior_mean": np.zeros(600), "behavior_spread": 1.0}
    impact = -((dose - 0.5 * X[:, 0]) ** 2)
    data = ContinuousData(X, impact=impact, **log_of)
    reg = ELFRegressor("E[impact] >= E_logged[impact]", objective="E[impact]").fit(data)
    effect = reg.certificate_.effects[0]
    assert effect.feature == "x0"
    low, *_, high = (band.partial[0] for band in effect.bands)
    assert high > low
    if reg.solution_found_:
        assert "the mean decision would be" in on_the_table(reg.certificate_)[0]


def test_nothing_is_said_of_a_model_that_was_not_released():
    people, label, given = log()
    clf = ELFClassifier("accuracy >= 0.999").fit(people, label, **given)
    assert not clf.solution_found_
    assert on_the_table(clf.certificate_) == []


def test_few_values_have_bands_of_their_own():
    words = [band.words for band in bands(np.array([0.0, 1.0, 1.0, 0.0, np.nan]))]
    assert words == ["0", "1", "missing"]
    levels = np.array([*"aaabbbccddeefg"], dtype=object)
    assert [band.words for band in bands(levels)] == ["a", "b", "c", "d", "e", "other"]
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], dtype="M8[D]")
    assert [band.words for band in bands(days)] == ["2024-01-01", "2024-02-01", "2024-03-01"]
    tied = np.array([0.0] * 90 + [*range(1, 11)])
    assert sum(band.rows.size for band in bands(tied)) == 100


def test_a_model_file_is_explained(tmp_path):
    people, label, given = log()
    clf = ELFClassifier(CONSTRAINTS).fit(people, label, **given)
    clf.save(tmp_path / "model.elfair")
    said = CliRunner().invoke(main, ["explain", str(tmp_path / "model.elfair"), "--details"])
    assert said.exit_code == 0
    assert "The model decides most by" in said.output


def test_levels_that_a_study_declares_and_names_are_said_as_such():
    people, label, given = log()
    coded = np.column_stack([people.income, people.housing == "own", people.housing == "rent"])
    named = pd.DataFrame(coded.astype(float), columns=["income", "housing=own", "housing=rent"])
    clf = ELFClassifier(CONSTRAINTS).fit(named, label, **given)
    clf.state(names={"people": "tenants", "columns": {"income": "monthly income"}})
    said = " ".join(on_the_table(clf.certificate_))
    assert "housing own" in said or "Next comes housing." in said
    assert "monthly income" in said
    assert "about tenants with" in said
    assert "housing=own" not in said
