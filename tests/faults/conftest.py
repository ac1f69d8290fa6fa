"""A study with results and a log, and what runs commands on copies of it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from awkward import write_loans, write_study
from harness import LOOK, Commands, commands, shim, write_measured, write_people

EXPERIMENT = """
title = "A small experiment"
population = "foster-care"
methods = ["logistic-regression"]
sizes = [{ n = [64], seeds = 3 }]
figures = { arrangements = ["settings"] }
"""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with commands(shim(tmp_path_factory.mktemp("shim"))) as running:
        yield running


@pytest.fixture(scope="session")
def template(run: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, the results of an older one, a log of decisions, and trials of an experiment; a pair
    of keys; a test that can go on; and a monitor that has seen half of the log.
    """
    folder = tmp_path_factory.mktemp("template").resolve()
    write_loans(folder / "loans.csv", n=400)
    write_study(
        folder / "study.toml",
        "loans.csv",
        extra="[test]\ncandidates = 1",
        constraints='[[constraints]]\ntext = "accuracy >= 0.5"',
    )
    text = (folder / "study.toml").read_text(encoding="utf-8")
    (folder / "old.toml").write_text(text.replace("Loans, as", "Old loans, as"), encoding="utf-8")
    (folder / "seed.toml").write_text(text.replace("[test]", "[test]\nseed = 1"), encoding="utf-8")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    lines = (folder / "loans.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "growing.csv").write_text("".join(lines[:101]), encoding="utf-8")
    write_study(
        folder / "growing.toml",
        "growing.csv",
        extra="[test]\ncandidates = 1\nbound = 'growth'",
        constraints='[[constraints]]\ntext = "accuracy >= 0.75"',
    )
    for name, first in (("known.csv", 0), ("people.csv", 1000), ("others.csv", 2000)):
        write_people(folder / name, first)
    for arguments in (
        ["fit", "old.toml"],
        ["decide", "results/model.elfair", "known.csv", "--log", "log.csv"],
        ["experiment", "run", "experiment.toml", "--store", "done.sqlite", "--jobs", "1"],
        ["keygen", "--output", "board.pem"],
    ):
        ended = run(folder, *arguments)
        assert ended.status == 0, ended.said
    grown = ["--anyway", "--output", "grown", "--ledger", "book.db"]
    assert run(folder, "fit", "growing.toml", *grown).status == 3
    (folder / "growing.csv").write_text("".join(lines), encoding="utf-8")
    write_measured(folder / "log.csv", folder / "measured.csv", 10)
    assert run(folder, *LOOK).status == 0
    write_measured(folder / "log.csv", folder / "measured.csv", 20)
    return folder


@pytest.fixture
def fresh(template: Path, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Makes copies of the template; one at a time is kept."""
    place = tmp_path.resolve() / "copy"

    def copy() -> Path:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        return place

    yield copy
    shutil.rmtree(place, ignore_errors=True)
