"""A study whose labels only some decisions reveal, from the table to a verified certificate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from elfair.errors import ElfairError
from elfair.report import Report
from elfair.study import StudyFile, fit_study
from elfair.verification import verify_files

STUDY = """
title = "Loans"
[data]
source = "loans.csv"
[columns]
features = ["income"]
sensitive = ["sex"]
label = "repaid"
decision = "loan"
propensity = "chance"
[rows]
label_seen_for = ["yes"]
[model]
objective = "accuracy"
positive = "yes"
[test]
candidates = 3
[[constraints]]
text = "accuracy >= 0.6"
[[constraints]]
text = "PPV >= 0.5"
"""


def write_loans(folder: Path) -> Path:
    """Nobody knows whether a loan would have been repaid that was not given."""
    rng = np.random.default_rng(0)
    lines = ["income,sex,loan,chance,repaid"]
    for _ in range(1_500):
        income, sex = rng.normal(), rng.choice(["f", "m"])
        likely = 1 / (1 + np.exp(-income))
        given = rng.random() < 0.2 + 0.6 * likely
        chance = 0.2 + 0.6 * likely if given else 0.8 - 0.6 * likely
        good = "yes" if rng.random() < 1 / (1 + np.exp(-3 * income)) else "no"
        loan = "yes" if given else "no"
        lines.append(f"{income:.6f},{sex},{loan},{chance:.17g},{good if given else ''}")
    (folder / "loans.csv").write_text("\n".join(lines))
    return folder


def test_a_study_with_selective_labels_is_fitted_reported_and_verified(tmp_path):
    outcome = fit_study(StudyFile.loads(STUDY, folder=write_loans(tmp_path)))
    certificate = outcome.certificate
    assert certificate.passed, certificate.explain()
    revealed = certificate.terms.revealed
    assert revealed.decisions == ("yes",)
    assert 0 < revealed.seen < revealed.n == 1_500
    codes = {each.code for each in certificate.assumptions}
    assert "label_revealed" in codes
    assert "label_known" not in codes
    assert f"seen for {revealed.seen} of 1,500 rows" in Report(certificate).markdown()
    outcome.write(tmp_path / "results")
    found = verify_files(
        tmp_path / "results" / "certificate.json",
        data=tmp_path / "loans.csv",
        model=tmp_path / "results" / "model.elfair",
    )
    assert found.passed, found.text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('[rows]\nlabel_seen_for = ["yes"]', "", "label is missing"),
        ('["yes"]', '["maybe"]', "label_seen_for must name decisions"),
        ('["yes"]', '["no"]', "although the decision ('no') reveals it"),
        ('label = "repaid"\n', "", "names no label"),
        ('decision = "loan"\npropensity = "chance"\n', "", "names no decision"),
        ('propensity = "chance"\n', "", "needs the probability"),
    ],
)
def test_what_does_not_fit_is_an_error_with_a_hint(tmp_path, old, new, words):
    assert old in STUDY
    with pytest.raises(ElfairError, match="Hint") as caught:
        fit_study(StudyFile.loads(STUDY.replace(old, new), folder=write_loans(tmp_path)))
    assert words in str(caught.value)
