"""The published trials: certificate, report, and an explained "no", by commands alone."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from elfair.cli import main

DATA = os.environ.get("ELFAIR_DATA")
pytestmark = pytest.mark.skipif(
    DATA is None,
    reason="ELFAIR_DATA, the folder that holds stroke/, actg175/ and jobcorps/, is not set",
)


@pytest.fixture(scope="module")
def trials():
    path = Path(__file__).parents[1] / "examples" / "trials.py"
    spec = importlib.util.spec_from_file_location("trials", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(folder):
    return json.loads((folder / "results" / "certificate.json").read_text())["predicate"]


def test_stroke_no_worse_at_all_is_an_explained_no(trials, tmp_path):
    """Aspirin and heparin change the share of independent people by about one in 100: no lottery
    of this size can show that nobody is worse off.
    """
    code, said = trials.run(trials.STROKE, tmp_path, DATA, slack=0.0)
    assert code == 5
    assert "Not tested: candidate rows give a model a chance of 0.00" in said
    assert "elfair plan says how many" in said


def test_stroke_at_most_two_in_a_hundred_worse_is_certified(trials, tmp_path):
    code, said = trials.run(trials.STROKE, tmp_path, DATA, slack=0.02)
    assert code == 0, said
    assert "all 5 statements passed" in said
    made = record(tmp_path)
    assert len(made["classes"]) == 6
    assert len(made["terms"]["lottery"]) == 6
    assert "'H' of 'RXHEP' is 'M': 245 rows" in made["provenance"]["changes"]
    assert [each["n"] for each in made["provenance"]["left_out"]] == [150]
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000


def test_hiv_with_impacts_missing_at_random_is_an_explained_no(trials, tmp_path):
    code, said = trials.run(trials.HIV, tmp_path, DATA)
    assert code == 3, said
    assert "No solution found: 1 of 4 statements did not pass the test on 856" in said
    assert "likely cause: too few rows for this effect" in said
    assert "forecast that this one passes with a chance of 6%" in said
    made = record(tmp_path)
    (unseen,) = made["terms"]["unseen"]
    assert (unseen["impact"], unseen["missing"], unseen["n"]) == ("cd496", 797, 2139)
    assert made["roles"]["early"] == ["cd420"]
    source = Path(DATA) / "actg175" / "actg175.csv"
    results = tmp_path / "results"
    arguments = ["verify", str(results / "certificate.json"), "--data", str(source)]
    verified = CliRunner().invoke(main, [*arguments, "--model", str(results / "rejected.elfair")])
    assert verified.exit_code == 3, verified.output
    assert "no problems found" in verified.output


def test_job_corps_no_worse_at_all_is_an_explained_no(trials, tmp_path):
    """About 620 held-out Hispanic people, and earnings that vary by 170 dollars a week."""
    code, said = trials.run(trials.JOBS, tmp_path, DATA, slack=0.0)
    assert code == 5
    assert "Not tested: candidate rows give a model a chance of 0.0" in said


def test_job_corps_is_certified_with_estimated_propensities(trials, tmp_path):
    code, said = trials.run(trials.JOBS, tmp_path, DATA, slack=8.0)
    assert code == 0, said
    assert "Solution found, if the estimated behaviour model is right: all 4 statements" in said
    made = record(tmp_path)
    known = {
        (each["condition"], each["decision"]): each
        for each in made["terms"]["behavior"]["calibration"]
    }
    for sex in ("female == 0.0", "female == 1.0"):  # by design, chances differ by sex
        assert abs(known[sex, "1.0"]["taken"] - known[sex, "1.0"]["expected"]) < 0.02
    assert (
        known["female == 1.0", "1.0"]["expected"] > known["female == 0.0", "1.0"]["expected"] + 0.04
    )
    assert all(each["break_even"] >= 1 for each in made["constraints"])
    results, source = tmp_path / "results", Path(DATA) / "jobcorps" / "jobcorps.csv"
    assert (
        "Calibration and overlap of estimated propensities" in (results / "report.html").read_text()
    )
    arguments = ["verify", str(results / "certificate.json"), "--data", str(source)]
    verified = CliRunner().invoke(main, [*arguments, "--model", str(results / "model.elfair")])
    assert verified.exit_code == 0, verified.output
