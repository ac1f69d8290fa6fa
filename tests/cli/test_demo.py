from __future__ import annotations

import contextlib
import io

import pytest

from elfair import Certificate, load
from elfair.cli.studies import demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results") / "demo"


@pytest.fixture(scope="module")
def shown(folder):
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setenv("COLUMNS", "100")  # whatever the terminal of who runs the tests is
        demo.callback(folder, as_json=False)
    return out.getvalue()


def test_it_shows_a_solution_with_its_truth(shown):
    verdict, _ = shown.split("This population")
    assert "Solution found: all 3 statements passed" in verdict
    # The brackets of a statement are not taken for markup.
    assert verdict.count("│ E[impact") == 2
    assert "accuracy >= 0.75" in verdict
    changes = {
        line.split("│")[1].strip(): float(line.split("│")[4])
        for line in shown.splitlines()
        if line.startswith(("│ expected impact", "│ accuracy     "))
    }
    # What the certificate claims is true in the population.
    assert changes["expected impact where T == 0"] >= 0
    assert changes["expected impact where T == 1"] >= 0
    assert changes["accuracy"] > 0


def test_it_shows_a_no_solution_and_why(shown):
    _, told = shown.split("No solution found")
    assert "FAILED: E[impact | T == 1] >= E_logged[impact | T == 1]" in told
    assert "what to do: collect about" in told


def test_it_says_where_the_files_are_and_they_can_be_read(shown, folder):
    assert f"Open {folder}/solution/report.html" in shown
    for name, model, passed in (
        ("solution", "model.elfair", True),
        ("no-solution", "rejected.elfair", False),
    ):
        results = folder / name
        assert {path.name for path in results.iterdir()} == {
            "certificate.json",
            "report.html",
            model,
        }
        certificate = Certificate.load(results / "certificate.json")
        assert certificate.passed is passed
        assert load(results / model).certificate_ == certificate
        verdict = "Solution found" if passed else "No solution found"
        assert verdict in (results / "report.html").read_text(encoding="utf-8")
