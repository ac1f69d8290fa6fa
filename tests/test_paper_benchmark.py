"""benchmarks/paper.py: what is committed of an experiment, and when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elfair.experiments.experiment import Experiment
from elfair.experiments.runner import run
from elfair.experiments.store import Store
from elfair.experiments.trial import Batch, perform

TOML = """
title = "A small experiment"
population = "foster-care"
methods = ["elfair", "logistic-regression"]
settings = { alpha = 0.9 }
sizes = [{ n = [256], seeds = 2 }]
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """The script, with folders of its own, where every experiment is the small one."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import paper

    small = Experiment.parse(TOML)
    monkeypatch.setattr(paper, "STORES", tmp_path)
    monkeypatch.setattr(paper, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(Experiment, "load", lambda name: small)
    return paper


def test_only_a_finished_study_is_recorded(paper, tmp_path, capsys):
    paper.record("small")
    assert "no trials" in capsys.readouterr().out
    small = Experiment.load("small")
    batch = Batch(small.population, tuple(small.combinations), "elfair", 256, 0, small.delta)
    with Store.open(tmp_path / "small.sqlite", small) as store:
        store.add(perform(batch), source="a version")
    paper.record("small")
    assert "1 of 4 trials" in capsys.readouterr().out
    assert not (tmp_path / "results").exists()


def test_where_a_study_was_run_is_remembered(paper, tmp_path, monkeypatch):
    run(Experiment.load("small"), tmp_path / "small.sqlite", quiet=True)
    paper.record("small")
    runs = tmp_path / "results" / "runs.json"
    [entry] = json.loads(runs.read_text()).values()
    assert entry["title"] == "A small experiment"
    assert entry["below_floor"] == {"elfair": 0.0}
    lines = (tmp_path / "results" / "small.csv").read_text().splitlines()
    assert [line.split(",")[1:2] for line in lines[1:]] == [["elfair"], ["logistic-regression"]]
    figures = sorted(path.name for path in (tmp_path / "results/figures/small").iterdir())
    assert figures[0] == "figure-1-failure-rates.png"
    assert "methods.png" not in figures
    monkeypatch.setattr(paper, "machine", lambda: "another machine")
    paper.record("small")
    assert json.loads(runs.read_text())["small"] == entry
    # What is written down of the same trials follows the experiment file, and the script.
    runs.write_text(json.dumps({"small": {**entry, "title": "An old title", "below_floor": {}}}))
    paper.record("small")
    assert json.loads(runs.read_text())["small"] == entry
