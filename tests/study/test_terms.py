"""Hints at the command line name keys of the study file, never arguments of Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from elfair.cli import main
from elfair.study.terms import in_study_terms

SOURCE = Path(__file__).parents[2] / "src" / "elfair"
#: The rooms whose words reach somebody who has a study file.
ROOMS = ("data", "statistics", "search", "planning", "fairness_test", "language", "estimators")
#: What only a program can hit: it passes tables and models itself.
OF_PROGRAMS = (
    "by=", "data frame", "predict_proba", "to_numpy", "scorer that is already", "preprocessor",
    "LoggedData", "a mapping", "themselves", "known_propensities", "the dose",
)  # fmt: skip


def hints():
    """Every text of these rooms that says what to pass."""
    for room in ROOMS:
        for path in sorted((SOURCE / room).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                for keyword in node.keywords:
                    if keyword.arg == "hint":
                        yield from (
                            each.value
                            for each in ast.walk(keyword.value)
                            if isinstance(each, ast.Constant) and isinstance(each.value, str)
                        )


def test_no_hint_names_an_argument():
    passed = re.compile(r"\bpass (y|X|[a-z_]+=)")
    found = [hint for hint in hints() if not any(word in hint for word in OF_PROGRAMS)]
    assert sum(bool(passed.search(hint)) for hint in found) > 5
    left = [hint for hint in map(in_study_terms, found) if passed.search(hint)]
    assert left == []


STUDY = """
title = "Loans"
[data]
source = "loans.csv"
[columns]
features = ["age"]
sensitive = ["race"]
{columns}
[model]
objective = "{objective}"
[[constraints]]
text = "{text}"
"""
SAVED = 'decision = "decision"\nimpact = ["savings"]\n'


@pytest.mark.parametrize(
    ("columns", "text", "objective", "said", "never"),
    [
        (SAVED, "E[savings | race == 'A'] >= 0", "E[savings]",
         'propensity in [columns]: a column, the chances of a lottery, or "estimated"', "pass "),
        (SAVED + 'propensity = "p"', "PR >= 0.2", "E[savings]", 'positive = "deny"', "pass "),
        (SAVED + 'propensity = "p"', "E[savings] >= 0", "accuracy", "label", "pass "),
    ],
)  # fmt: skip
def test_the_command_line_names_keys(columns, text, objective, said, never, tmp_path):
    rows = [
        f"{20 + k % 50},{'AB'[k % 2]},{['approve', 'deny'][k % 3 > 0]},0.5,{k % 7}.5"
        for k in range(400)
    ]
    (tmp_path / "loans.csv").write_text("\n".join(["age,race,decision,p,savings", *rows]))
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(columns=columns, text=text, objective=objective))
    for command in ("check", "fit"):
        result = CliRunner().invoke(main, [command, str(study)])
        assert said in result.output, result.output
        assert never not in result.output
