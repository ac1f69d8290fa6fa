"""A study whose impact is missing for some people, from the table to a verified certificate."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from elfair.errors import InputError
from elfair.report import Report
from elfair.study import StudyFile, fit_study
from elfair.verification import verify_files

DATA = os.environ.get("ELFAIR_DATA")
STUDY = """
title = "A trial"
[data]
source = "trial.csv"
[columns]
features = ["age"]
sensitive = ["sex"]
decision = "arm"
propensity = 0.5
impact = ["later"]
early = ["soon"]
[rows]
missing_impact = "at random"
[model]
objective = "E[impact]"
[test]
candidates = 3
[[constraints]]
no_worse = "sex"
"""
ACTG = """
title = "CD4 cells after 96 weeks"
[data]
source = "actg175.csv"
[columns]
features = ["age", "wtkg", "drugs", "karnof", "preanti", "str2", "symptom", "cd40", "cd80"]
sensitive = ["race", "gender"]
decision = "arms"
propensity = { 0 = 0.25, 1 = 0.25, 2 = 0.25, 3 = 0.25 }
impact = ["cd496"]
early = ["cd420", "cd820"]
row_id = "pidnum"
[rows]
missing_impact = "at random"
[model]
objective = "E[cd496]"
[[constraints]]
no_worse = "race"
[[constraints]]
no_worse = "gender"
"""


def write_trial(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["age,sex,arm,soon,later"]
    for _ in range(1_500):
        age, sex, arm = rng.integers(20, 80), rng.integers(0, 2), rng.integers(0, 2)
        soon = arm * (1 if age > 50 else -0.2) + rng.normal()
        later = soon + rng.normal()
        seen = rng.random() < 1 / (1 + np.exp(-1 - soon))
        lines.append(f"{age},{sex},{arm},{soon:.6f},{f'{later:.6f}' if seen else ''}")
    (folder / "trial.csv").write_text("\n".join(lines))
    return folder


def test_a_study_with_missing_impacts_is_fitted_reported_and_verified(tmp_path):
    outcome = fit_study(StudyFile.loads(STUDY, folder=write_trial(tmp_path)))
    certificate = outcome.certificate
    (unseen,) = certificate.terms.unseen
    assert (unseen.impact, unseen.how, unseen.early) == ("later", "at random", ("soon",))
    assert unseen.missing == sum(each.missing for each in unseen.by) > 0
    assert any(each.code == "missing_at_random" for each in certificate.assumptions)
    assert "Of whom 'later' is missing" in Report(certificate).markdown()
    outcome.write(tmp_path / "results")
    found = verify_files(
        tmp_path / "results" / "certificate.json",
        data=tmp_path / "trial.csv",
        model=tmp_path / "results" / "model.elfair",
    )
    assert found.passed, found.text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"at random"', '"drop"', "early of columns is for impacts that are missing at random"),
        ('early = ["soon"]\n[rows]\nmissing_impact = "at random"',
         '[rows]\nmissing_impact = "worst case"', "needs the range"),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit_together_are_refused(old, new, words):
    with pytest.raises(InputError, match=words):
        StudyFile.loads(STUDY.replace(old, new))


@pytest.mark.skipif(not DATA, reason="the table is not here")
def test_a_real_trial_with_a_third_of_impacts_missing():
    study = StudyFile.loads(ACTG, folder=Path(DATA) / "actg175")
    certificate = fit_study(study).certificate
    (unseen,) = certificate.terms.unseen
    assert (unseen.missing, unseen.n) == (797, 2139)
    assert len(certificate.constraints) == 4
