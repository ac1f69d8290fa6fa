"""What importing and fitting may load: a light start, and no parser where no text is read."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import elfair

SLOW = ("scipy.stats.", "polars.")
#: What reads tables, or makes them for a transformer, may ask for these when it is called.
SLOW_AT_FIRST = ("pandas.", "pyarrow.", "duckdb.")
LAZY = ("lark", "rich", "cmaes", "polars", "torch", "jinja2", "skops")


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded():
    """The modules loaded by all public names, and those by what scikit-learn's base takes."""
    show = "import sys; print(*sys.modules)"
    ours = set(python(f"from elfair import *; {show}").split())
    theirs = set(python(f"import sklearn, sklearn.base; {show}").split())
    return ours, theirs


@pytest.mark.parametrize("name", LAZY)
def test_import_leaves_heavy_packages_alone(loaded, name):
    assert name not in loaded[0]


def test_hints_name_extras_that_exist():
    top = Path(__file__).parents[1]
    extras = tomllib.loads((top / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    source = "".join(path.read_text("utf-8") for path in (top / "src").rglob("*.py"))
    named = set(re.findall(r'install_extra\("(\w+)"\)', source))
    assert {"sql", "torch"} <= named <= set(extras)
    assert "pip install" not in re.sub(r"(?s)def install_extra.*?\n\n\n", "", source)


def test_names_are_imported_when_they_are_asked_for():
    """So the command line answers at once."""
    code = (
        "import sys, elfair; print(*sys.modules); elfair.ELFClassifier; print(*sys.modules); "
        "print(elfair.errors.InputError.__name__)"
    )
    before, after, name = (line.split() for line in python(code).splitlines())
    assert name == ["InputError"]
    assert not {"numpy", "sklearn", "elfair.estimators.classifier"} & set(before)
    assert {"numpy", "sklearn", "elfair.estimators.classifier"} <= set(after)


def test_the_package_shows_all_its_names():
    assert set(elfair.__all__) <= set(dir(elfair))
    with pytest.raises(AttributeError, match="module 'elfair' has no attribute 'nothing'"):
        _ = elfair.nothing


def test_studies_are_imported_when_they_are_asked_for():
    code = (
        "import sys, elfair.experiments as e; print(*sys.modules); "
        "from elfair.experiments import Store, Experiment, run, summarize; print(*sys.modules); "
        "print(Experiment.load('figure-3').delta, set(e.__all__) <= set(dir(e)))"
    )
    before, after, said = python(code).splitlines()
    heavy = {"matplotlib", "elfair.experiments.experiment"}
    assert not heavy & set(before.split())
    assert {"elfair.experiments.experiment", "elfair.experiments.runner"} <= set(after.split())
    assert said == "0.1 True"
    from elfair import experiments

    with pytest.raises(AttributeError, match=r"'elfair\.experiments' has no attribute 'nothing'"):
        _ = experiments.nothing


def test_import_adds_no_package_to_scikit_learn(loaded):
    added = {name.partition(".")[0] for name in loaded[0] - loaded[1]} - sys.stdlib_module_names
    assert added <= {"elfair", "narwhals", "sklearn"}


def test_no_module_asks_for_what_is_slow_to_import():
    """Told from the source, as scikit-learn itself loads scipy.stats, and pandas if it is there."""
    for path in Path(elfair.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        later = {
            inner
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef)
            for inner in ast.walk(function)
        }
        for node in ast.walk(tree):
            names = [alias.name for alias in getattr(node, "names", []) if hasattr(alias, "name")]
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            elif not isinstance(node, ast.Import):
                continue
            slow = SLOW if node in later else (*SLOW, *SLOW_AT_FIRST)
            for name in names:
                assert not f"{name}.".startswith(slow), f"{path.name} imports {name}"


FIT = """
import sys
sys.modules["cmaes"] = None  # importing it now fails
import numpy as np
from elfair import E, E_logged, ELFClassifier, accuracy, col
from elfair.populations import FosterCare
draw = FosterCare().sample(1000, seed=0)
groups = [col("T") == group for group in (0, 1)]
no_worse = [E("impact", given=group) >= E_logged("impact", given=group) for group in groups]
clf = ELFClassifier([*no_worse, accuracy >= 0.75])
clf.fit(draw.features, draw.label, sensitive_features={"T": draw.group}, decision=draw.decision,
        propensity=draw.propensity, impact=draw.impact)
print(len(clf.certificate_.constraints), clf.explain().count("T == 1"))
"""


def test_a_fit_needs_no_cmaes():
    count, mentions = python(FIT).split()
    assert count == "3"
    assert int(mentions) > 0
