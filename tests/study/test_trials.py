"""Randomised trials: a study file declares how decisions were drawn."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from elfair import Certificate, load
from elfair.errors import DataError, InputError, PropensityError
from elfair.study import StudyFile, fit_study
from elfair.study.writing import decisions
from elfair.verification import verify_files

DATA = os.environ.get("ELFAIR_DATA")
STUDY = """
title = "A trial"
[data]
source = "trial.csv"
[columns]
features = ["age", "site"]
sensitive = ["sex"]
decision = "arm"
impact = ["later"]
propensity = CHANCES
[columns.categories]
site = ["north", "south"]
[model]
objective = "E[impact]"
[test]
candidates = 3
[[constraints]]
no_worse = "sex"
"""
#: The chance of arm 1, by sex.
CHANCE = {0: 0.5, 1: 0.7}
BY_SEX = "{ by = 'sex', 0 = 0.5, 1 = 0.7 }"


def write_trial(folder: Path, arms: tuple[str, ...] = ("0", "1"), n: int = 1_500) -> None:
    """Arm 1 (the last one) helps those above 50."""
    rng = np.random.default_rng(0)
    with (folder / "trial.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "site", "sex", "arm", "later"])
        for _ in range(n):
            age, sex = int(rng.integers(20, 80)), int(rng.integers(0, 2))
            last = CHANCE[sex] if len(arms) == 2 else 1 / len(arms)
            others = [(1 - last) / (len(arms) - 1)] * (len(arms) - 1)
            arm = rng.choice(len(arms), p=[*others, last])
            later = (arm == len(arms) - 1) * (1 if age > 50 else -0.2) + rng.normal()
            rows.writerow([age, ("north", "south")[age % 2], sex, arms[arm], repr(float(later))])


@pytest.fixture
def folder(tmp_path):
    write_trial(tmp_path)
    return tmp_path


def study(folder: Path, chances: str, *pairs: tuple[str, str]) -> StudyFile:
    text = STUDY.replace("CHANCES", chances)
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return StudyFile.loads(text, folder=folder)


@pytest.mark.parametrize(
    "chances",
    [
        BY_SEX,
        '{ by = "sex", "0" = { "0" = 0.5, "1" = 0.5 }, "1" = { "0" = 0.3, "1" = 0.7 } }',
        "{ by = 'sex', 1 = { 1 = 0.7, 0 = 0.3 }, 0 = 0.5 }",
    ],
)
def test_chances_by_stratum_are_read(folder, chances):
    data = study(folder, chances).read().data
    last = np.where(data.sensitive["sex"] == 1, 0.7, 0.5)
    np.testing.assert_allclose(data.behavior, np.column_stack([1 - last, last]))


@pytest.mark.parametrize("chances", ["0.3333", "{ a = 0.333, b = 0.333, c = 0.333 }"])
def test_chances_of_texts(tmp_path, chances):
    write_trial(tmp_path, ("a", "b", "c"), n=60)
    data = study(tmp_path, chances).read().data
    np.testing.assert_allclose(data.behavior, np.full((60, 3), 1 / 3))


def test_a_number_is_the_chance_of_the_positive_decision(folder):
    assert study(folder, "0.6").read().data.behavior[0].tolist() == [0.4, 0.6]
    other = study(folder, "0.6", ("[model]", "[model]\npositive = 0")).read().data
    assert other.behavior[0].tolist() == [0.6, 0.4]


def test_a_category_may_name_strata(folder):
    """Encoded, it has another name; the table keeps it beside the features."""
    data = study(folder, "{ by = 'site', north = 0.5, south = 0.6 }").read().data
    assert "site" in data.sensitive
    assert set(data.behavior[:, 1]) == {0.5, 0.6}


def test_rows_that_are_left_out_may_lack_strata_and_arms(folder):
    lines = (folder / "trial.csv").read_text().splitlines()
    at = next(k for k, line in enumerate(lines[1:], 1) if line.split(",")[2] == "1")
    lines[at] = lines[at].rpartition(",")[0] + ","
    (folder / "trial.csv").write_text("\n".join(lines))
    rows = study(folder, BY_SEX, ("[model]", '[rows]\nmissing_impact = "drop"\n[model]')).read()
    assert rows.without_impact.behavior.tolist() == [[1 - 0.7, 0.7]]
    assert rows.data.lottery.strata == (0, 1)


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        ("1.5", "propensity of columns must be a column; or the chances of a lottery: a number in"),
        ("0", "Got 0 instead"),
        ("true", "Got True instead"),
        ("[0.5, 0.5]", r"Got \[0.5, 0.5\] instead"),
        ("{}", "Got {} instead"),
        ("{ 0 = 'p0', 1 = 'p1' }", "propensity of columns must be a column; or the chances"),
        ("{ 0 = 0.5, 1 = 0.4 }", "propensity must sum to 1 over the decisions. Got a sum of 0.9"),
        ("{ 0 = 0.5, 1 = 'p' }", r"of decision '1' must be a number in \(0, 1\). Got 'p'"),
        ("{ by = 'sex' }", "declares the chances of none of its values"),
        ("{ by = 'sex', 0 = 0.5, 1 = 7 }", r"where sex == '1' must be a number in \(0, 1\). Got 7"),
        (
            "{ by = 'sex', 0 = { 0 = 0.5, 1 = 0.5 }, 1 = { 0 = 0.3, 2 = 0.7 } }",
            r"where sex == '0' must name every decision \('0', '1', '2'\)",
        ),
        (
            "{ by = 'race', A = 0.5 }",
            "differs by 'race', which must be among features or sensitive. These are 'sex', 'age'",
        ),
        ("{ by = 'sx', 0 = 0.5 }", "did you mean 'sex'?"),
    ],
)
def test_mistakes_that_show_without_the_table(chances, said):
    with pytest.raises(InputError, match=said) as caught:
        study(Path(), chances)
    assert str(caught.value).count("Hint: ") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("[model]", "[model]\nkind = 'regressor'"),
            "must be a column if the kind of .model. is 'regressor'",
        ),
        (("[columns.cat", "[columns.behavior]\n0 = 'a'\n1 = 'b'\n[columns.cat"), "has both"),
        (('decision = "arm"', ""), "names a propensity, but not the decision"),
    ],
)
def test_what_does_not_go_with_it(change, said):
    with pytest.raises(InputError, match=said):
        study(Path(), "0.5", change)


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        (
            "{ 0 = 0.4, 2 = 0.6 }",
            r"must name every decision \(0, 1\), and nothing else. Got 0, '2'",
        ),
        ("{ by = 'sex', 0 = 0.5 }", "says nothing about 'sex' being 1, which it is in"),
    ],
)
def test_mistakes_that_the_table_shows(folder, chances, said):
    with pytest.raises(DataError, match=said) as caught:
        study(folder, chances).read()
    assert "'0' is not 0" not in str(caught.value)


def test_chances_that_do_not_fit_the_table_are_refused(folder):
    with pytest.raises(PropensityError, match="the propensities do not fit the decisions"):
        fit_study(study(folder, "{ by = 'sex', 0 = 0.7, 1 = 0.5 }"))


def test_a_trial_from_end_to_end(folder):
    """Fit, write, verify from files, decide; the log has the propensities of the new model."""
    outcome = fit_study(study(folder, BY_SEX))
    assert outcome.certificate.passed
    names = [(each.condition, each.decision) for each in outcome.certificate.terms.lottery]
    assert names == [("sex == 0", "0"), ("sex == 0", "1"), ("sex == 1", "0"), ("sex == 1", "1")]
    shown = outcome.estimator.report().markdown()
    assert "declared: the chances of a lottery" in shown
    assert "| sex == 1 | 1 | 0.7 |" in shown.replace("`", "")
    outcome.write(folder / "results")
    files = {"data": folder / "trial.csv", "model": folder / "results" / "model.elfair"}
    found = verify_files(folder / "results" / "certificate.json", **files)
    assert found.passed, found.text()
    people = pa.table({"age": [30, 70], "site": ["north", "south"]})
    log = decisions(load(files["model"]), people, random_state=0)
    assert log.column_names[:4] == ["age", "site", "arm", "propensity"]
    # A study that declares something else is not the study of this certificate.
    record = Certificate.load(folder / "results" / "certificate.json")
    other = record.provenance.study.replace("1 = 0.7", "1 = 0.69")
    forged = replace(record, provenance=replace(record.provenance, study=other))
    forged.save(folder / "forged.json")
    wrong = verify_files(folder / "forged.json", **files)
    failed = {check.name for check in wrong.checks if check.status == "failed"}
    assert {"data", "study file", "conditions of the test"} <= failed


# -- two trials that were made ------------------------------------------------------------------

JOBCORPS = """
title = "Job Corps"
[data]
source = "jobcorps/jobcorps.csv"
[columns]
features = ["age", "female", "white", "black", "hispanic", "educ", "mwearn", "hhsize", "health"]
sensitive = ["female", "black", "hispanic", "white"]
decision = "assignment"
impact = ["earny4"]
# The file does not say with which probabilities people were assigned: these are the shares.
[columns.propensity]
by = "female"
0 = 0.5714
1 = 0.6446
[model]
objective = "E[impact]"
[[constraints]]
no_worse = "female"
groups = [1]
[[constraints]]
no_worse = "black"
groups = [1]
"""
ACTG175 = """
title = "ACTG 175"
[data]
source = "actg175/actg175.csv"
[columns]
features = ["age", "wtkg", "karnof", "oprior", "preanti", "race", "gender", "str2", "cd40", "cd80"]
sensitive = ["race", "gender"]
decision = "arms"
propensity = 0.25
impact = ["cd420"]
row_id = "pidnum"
[model]
objective = "E[impact]"
[[constraints]]
no_worse = "race"
[[constraints]]
no_worse = "gender"
"""
needs_data = pytest.mark.skipif(
    DATA is None, reason="ELFAIR_DATA, the folder that holds jobcorps/ and actg175/, is not set"
)


@needs_data
@pytest.mark.parametrize(
    ("text", "chances"),
    [(JOBCORPS, [[0.4286, 0.5714], [0.3554, 0.6446]]), (ACTG175, [[0.25] * 4])],
    ids=["jobcorps", "actg175"],
)
def test_a_published_trial_fits_by_what_its_study_declares(text, chances, tmp_path):
    outcome = fit_study(StudyFile.loads(text, folder=DATA))
    data, certificate = outcome.rows.data, outcome.certificate
    np.testing.assert_allclose(data.lottery.chances, chances)
    # Weights average to 1, and all shares are as right chances make them.
    checked = {each.code for each in certificate.assumptions if each.status == "checked"}
    assert {"mean_weight", "propensities_fit", "support"} <= checked
    (model, record, _) = outcome.write(tmp_path / "results")
    source = Path(DATA) / StudyFile.loads(text).data.source
    assert verify_files(record, data=source, model=model).passed


@needs_data
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (JOBCORPS, "0 = 0.5714\n1 = 0.6446", "0 = 0.6446\n1 = 0.5714"),
        (JOBCORPS, '[columns.propensity]\nby = "female"\n0 = 0.5714\n1 = 0.6446', ""),
        (ACTG175, "0.25", "{ 0 = 0.4, 1 = 0.2, 2 = 0.2, 3 = 0.2 }"),
    ],
    ids=["strata swapped", "strata ignored", "another lottery"],
)
def test_a_published_trial_with_another_lottery_is_refused(text, old, new):
    if not new:  # 60 % on average, but not for women
        text = text.replace("[columns]", "[columns]\npropensity = 0.6036")
    assert old in text
    with pytest.raises(PropensityError, match="the propensities do not fit the decisions"):
        fit_study(StudyFile.loads(text.replace(old, new), folder=DATA))
