"""The examples run as plain scripts, and say what their words promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
#: What each prints, in this order.
SAYS = {
    "1_lending": (
        '"Collection letters"]  # guess',
        "ERROR: the propensities do not fit the decisions",
        "Ready to fit",
        "rows give a solution with probability 0.9",
        "Solution found",
        "report.html",
        "no problems found",
    ),
    "2_certify_a_model": (
        "accuracy on new people: 0.6",
        "Model did not pass: 2 of 2 statements did not pass",
        "Model passed: both statements passed",
        "no problems found",
    ),
    "4_messy_loans": (
        '[clean."income"]  # guess',
        'unit = "customer"  # guess',
        "impact 'savings' is missing in 248 of 12,000 rows",
        "Ready to fit",
        "the row is empty: 3 rows",
        "Solution found",
        "no problems found",
        "exit code of fit: 0",
    ),
    "3_second_round": (
        "Round one: Solution found",
        "Logged: 12,000 decisions",
        "['Granted?', 'Prob. of this decision', 'decided_at', 'model']",
        "Ready: True",
        "Round two: ",
    ),
}


def test_every_notebook_is_here():
    assert {path.stem for path in FOLDER.glob("[0-9]*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_examples_run(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.syspath_prepend(FOLDER)  # as Python does for a script
    runpy.run_path(str(FOLDER / f"{name}.py"))
    printed = capsys.readouterr().out
    for words in SAYS[name]:
        assert words in printed
        printed = printed.split(words, 1)[1]


@pytest.mark.parametrize("name", SAYS)
def test_examples_are_notebooks_in_the_percent_format(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert text.count("\n# %%\n") >= 3
