"""Experiment files: what is read from them, and what is said of those that make no sense."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from elfair.errors import ElfairError
from elfair.experiments.baselines import METHODS
from elfair.experiments.experiment import (
    READY,
    EfficiencyQuestion,
    Experiment,
    Figures,
    Sizes,
    canonical,
    experiment_text,
    ready_experiments,
)
from elfair.records.reading import keys_of
from elfair.records.toml import example_of, words_of

GOOD = """
title = "Two methods"
population = "foster-care"
methods = ["elfair", "logistic-regression"]
delta = 0.05
[settings]
strict = true
alpha = [0.5, 1.0]
[[sizes]]
n = [512, 256]
seeds = 3
[[sizes]]
n = [1024]
seeds = 1
"""
DOUBLED = [256 * 2**k for k in range(8)]
ELEVEN = ("elfair", "elf-paper", *(name for name in METHODS if not name.startswith("elf")))


def refused(text: str) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        Experiment.parse(text)
    assert isinstance(caught.value, ElfairError)
    message = str(caught.value)
    assert message.count("Hint: ") >= 1
    return message


def replaced(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_a_experiment_knows_its_trials():
    experiment = Experiment.parse(GOOD)
    assert experiment.delta == 0.05
    assert experiment.seeds == {256: 3, 512: 3, 1024: 1}
    assert list(experiment.seeds) == [256, 512, 1024]
    assert [json.loads(each) for each in experiment.combinations] == [
        {"strict": True, "alpha": 0.5},
        {"strict": True, "alpha": 1},
    ]
    assert experiment.trials == 2 * 2 * (3 + 3 + 1)
    assert experiment.figures.arrangements == ("methods",)


def test_without_settings_there_is_one_combination():
    experiment = Experiment.parse(GOOD.replace("strict = true\nalpha = [0.5, 1.0]\n", ""))
    assert experiment.combinations == ["{}"]


@pytest.mark.parametrize(
    ("name", "trials"),
    [
        ("figures-1-2", 11 * (6 * 500 + 2 * 100)),
        ("figures-1-2-strict", 11 * (6 * 500 + 2 * 100)),
        ("figure-3", 2 * 11 * 8 * 100),
        ("appendix", 11 * 11 * 8 * 100),
        ("lending", 11 * 8 * 50),
        ("elfair-against-paper", 3 * 3 * (6 * 200 + 2 * 100)),
    ],
)
def test_ready_experiments_are_of_the_promised_size(name, trials):
    experiment = Experiment.load(name)
    assert experiment.trials == trials
    assert list(experiment.seeds) == DOUBLED
    assert experiment.delta == 0.1


def test_ready_experiments_compare_what_they_promise():
    assert set(ready_experiments()) == {
        *("figures-1-2", "figures-1-2-strict", "figure-3", "appendix", "lending"),
        "elfair-against-paper",
    }
    tenths = [each / 10 for each in range(11)]
    for name in ("figures-1-2", "figures-1-2-strict", "appendix", "lending"):
        assert Experiment.load(name).methods == ELEVEN, name
    assert Experiment.load("figures-1-2").settings == {"alpha": [0.9], "strict": False}
    assert Experiment.load("figures-1-2-strict").settings == {"alpha": [0.9], "strict": True}
    assert Experiment.load("appendix").settings["alpha"] == tenths
    assert Experiment.load("figure-3").settings["alpha"] == tenths
    assert Experiment.load("figure-3").figures.arrangements == ("settings",)
    against = Experiment.load("elfair-against-paper")
    assert {(e.n, e.settings["alpha"]) for e in against.efficiency} == {
        (4096, 0.9),
        (4096, 0.5),
        (32768, 0.2),
    }
    assert {(e.method, e.against) for e in against.efficiency} == {("elfair", "elf-paper")}


@pytest.mark.parametrize("name", ready_experiments())
def test_a_ready_experiment_can_be_copied_and_changed(name, tmp_path):
    copy = tmp_path / "mine.toml"
    copy.write_text(experiment_text(name))
    assert experiment_text(name) == (READY / f"{name}.toml").read_text() == experiment_text(copy)
    assert Experiment.load(copy) == Experiment.load(name)


def test_a_file_goes_before_a_ready_experiment_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("figure-3").write_text(GOOD)
    assert Experiment.load("figure-3").title == "Two methods"


# What decides results.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"Two methods"', '"Another title"'),
        ("alpha = [0.5, 1.0]", "alpha = [0.5, 1]"),
        ('"elfair", "logistic-regression"', '"logistic-regression", "elfair"'),
        ("n = [512, 256]\nseeds = 3", "n = [256]\nseeds = 3\n[[sizes]]\nn = [512]\nseeds = 3"),
        ("[[sizes]]\nn = [1024]", "[figures]\narrangements = ['settings']\n[[sizes]]\nn = [1024]"),
        ("delta = 0.05", "delta = 0.050"),
    ],
)
def test_what_does_not_decide_results_leaves_the_digest(old, new):
    assert Experiment.parse(replaced(old, new)).digest == Experiment.parse(GOOD).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("delta = 0.05", "delta = 0.06"),
        ("strict = true", "strict = false"),
        ("strict = true\n", ""),
        ("[0.5, 1.0]", "[0.5]"),
        ("seeds = 3", "seeds = 4"),
        ("n = [1024]", "n = [2048]"),
        (', "logistic-regression"', ""),
        ('"foster-care"', '"lending"'),
    ],
)
def test_what_decides_results_changes_the_digest(old, new, monkeypatch):
    # Another population need not know the settings: only names are compared here.
    monkeypatch.setattr("elfair.populations.make_population", lambda *_: None)
    assert Experiment.parse(replaced(old, new)).digest != Experiment.parse(GOOD).digest


def test_settings_are_equal_as_text_where_they_are_equal():
    assert canonical({"b": 1.0, "a": [True, 2.5]}) == canonical({"a": [True, 2.5], "b": 1})
    assert json.loads(canonical({"a": True})) == {"a": True}
    assert canonical({"a": True}) != canonical({"a": 1})


# Mistakes.


def test_five_mistakes_are_said_at_once():
    message = refused("""
title = "Five mistakes"
population = "foster-car"
methods = ["elfair", "elf-papr"]
delta = 1.5
colour = "red"
[[sizes]]
n = [256, 256]
seeds = 3
""")
    assert "5 mistakes" in message
    assert message.count("  - ") == 5
    assert message.count("Hint: ") == 5
    for said in (
        "'foster-car'",
        "did you mean 'foster-care'?",
        "'elf-papr'",
        "did you mean 'elf-paper'?",
        "delta must be a number in (0, 0.5]. Got 1.5 instead.",
        "Got 'colour' instead.",
        "Got 256 2 times.",
    ):
        assert said in message


def test_types_meanings_and_nested_tables_are_said_together():
    message = refused("""
title = 3
population = "foster-care"
methods = []
[settings]
alpha = [0.5, 0.5]
strict = []
[[sizes]]
n = [256, -1, "x"]
[[sizes]]
n = []
seed = 2
seeds = "many"
[figures]
arrangements = ["circles"]
[[efficiency]]
method = "elfair"
n = 3
settings = { alpha = 0.7 }
""")
    for said in (
        "title must be text. Got 3 instead.",
        "methods must be a list of names, with at least one. Got [] instead.",
        "the setting 'alpha' must be different from each other. Got 0.5 2 times.",
        "the setting 'strict' must be",
        "Got 'x' at position 2 instead.",
        "Got -1 instead.",
        "the key 'seeds' of sizes[0] is missing",
        "n of sizes[1] must have at least one number. Got [] instead.",
        "a key of sizes[1] must be one of ['n', 'seeds']. Got 'seed' instead.",
        "did you mean 'seeds'?",
        "seeds of sizes[1] must be a whole number of at least 1. Got 'many' instead.",
        "arrangements of figures must be a list of 'methods'",
        "the key 'against' of efficiency[0] is missing",
        "method of efficiency[0] must be one of [], which the experiment has. Got 'elfair'",
        "n of efficiency[0] must be one of",
        "settings.alpha of efficiency[0] must be one of",
    ):
        assert said in message, said
    assert "15 mistakes" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"elfair", ', '"elfear", ', "did you mean 'elfair'?"),
        ('"elfair", ', '"nowhere:nothing", ', "'nowhere:nothing'"),
        ("alpha =", "alhpa =", "alpha"),
        ("[0.5, 1.0]", "[0.5, 2.0]", "2.0"),
        ("[0.5, 1.0]", "[0.5, nan]", "nan"),
        ("[0.5, 1.0]", "[2020-01-01]", "datetime"),
        ("[0.5, 1.0]", "{ from = 0 }", "'from'"),
        ("seeds = 3", "seeds = 3.0", "Got 3.0 instead."),
        ("seeds = 3", "seeds = true", "Got True instead."),
        ("seeds = 3", "seeds = 0", "Got 0 instead."),
        ("n = [512, 256]", "n = [512, 256.5]", "Got 256.5 at position 1 instead."),
        ("n = [512, 256]", "n = 512", "Got 512 instead."),
        ("n = [1024]", "n = [512]", "Got 512 2 times."),
        ("delta = 0.05", "delta = '0.05'", "Got '0.05' instead."),
        ("delta = 0.05", "delta = 0", "Got 0 instead."),
    ],
)
def test_one_mistake(old, new, said):
    message = refused(replaced(old, new))
    assert said in message
    assert "mistakes" not in message


def test_text_that_is_no_toml_is_shown():
    message = refused(replaced("delta = 0.05", "delta = = 0.05"))
    assert "Line 5 is not" in message
    assert "    delta = = 0.05" in message
    assert "Line 1" in refused("[")
    assert "missing" in refused("")


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ElfairError, match="UTF-8"):
        Experiment.load(path)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "experiment.toml"
    path.write_text(GOOD)

    def refuse(self, **_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(
        ElfairError, match=r"could not be read: Permission denied.\nHint: check read"
    ):
        Experiment.load(path)


def test_a_method_is_not_held_against_itself():
    message = refused(GOOD + "[[efficiency]]\nmethod = 'elfair'\nagainst = 'elfair'\nn = 512\n")
    assert "method and against of efficiency[0] must be different methods. Got 'elfair'" in message
    assert "mistakes" not in message


def test_a_experiment_made_in_python_is_refused_in_the_same_words():
    raw = tomllib.loads(GOOD)
    assert Experiment(**raw) == Experiment.parse(GOOD)
    with pytest.raises(ElfairError) as caught:
        Experiment(**{**raw, "delta": 2.0, "colour": "red"})
    for said in (
        "the experiment has 2 mistakes",
        "delta must be a number in (0, 0.5]. Got 2.0 instead.",
        "Got 'colour' instead.",
    ):
        assert said in str(caught.value)


def test_what_is_only_looked_at_needs_no_module():
    text = replaced('"elfair", ', '"nowhere:nothing", ')
    assert Experiment.parse(text, runnable=False).methods[0] == "nowhere:nothing"
    assert "put it beside the experiment file" in refused(text)
    with pytest.raises(ElfairError, match="did you mean 'elfair'"):
        Experiment.parse(replaced('"elfair", ', '"elfear", '), runnable=False)


def test_a_file_that_is_not_there():
    with pytest.raises(ElfairError, match=r"'figures-1-2'.* Got 'nowhere\.toml' instead"):
        Experiment.load("nowhere.toml")


def test_a_method_whose_module_is_broken(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_methods.py").write_text("1 / 0\n")
    message = refused(replaced('"elfair", ', '"broken_methods:mine", '))
    assert "Importing it raised ZeroDivisionError: division by zero." in message


def test_a_method_beside_the_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # restored afterwards
    (tmp_path / "methods_beside_the_experiment.py").write_text("""
class Mine:
    label, uses_impact = "mine", False
    def fit(self, draw, constraints, *, delta, seed): ...
mine = Mine()
""")
    (tmp_path / "experiment.toml").write_text(
        GOOD.replace('"elfair"', '"methods_beside_the_experiment:mine"')
    )
    assert (
        Experiment.load(tmp_path / "experiment.toml").methods[0]
        == "methods_beside_the_experiment:mine"
    )


@pytest.mark.parametrize("model", [Experiment, Sizes, Figures, EfficiencyQuestion])
def test_every_key_says_what_is_allowed_and_shows_an_example(model):
    for name, known in keys_of(model).items():
        assert words_of(known), name
        assert known.about, name
        example = example_of(name, known)
        assert name in example
        tomllib.loads(example)
