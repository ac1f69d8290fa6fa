"""Methods by name: what exists, what is missing, and a user's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from elfair.errors import InputError
from elfair.experiments.baselines import METHODS, get_method, label_of
from elfair.populations import FosterCare

NAMES = [
    "elfair",
    "elfair-dr",
    "elfair-crossfit",
    "elf-paper",
    "logistic-regression",
    "qsa-demographic-parity",
    "qsa-equalized-odds",
    "qsa-equal-opportunity",
    "qsa-predictive-equality",
    "qsa-disparate-impact",
    "fairlearn-demographic-parity",
    "fairlearn-equalized-odds",
    "fairness-constraints",
]

OWN = """
import numpy as np
from elfair.populations import LinearRule

class Always:
    label = "Always 1"
    uses_impact = False

    def fit(self, draw, constraints, *, delta, seed):
        return LinearRule(1.0, np.zeros(draw.features.shape[1]))

always = Always()
"""


def test_the_names_and_their_order():
    assert list(METHODS) == NAMES


def test_labels_differ_and_only_elf_uses_the_impact():
    assert len({method.label for method in METHODS.values()}) == len(NAMES)
    assert [name for name in NAMES if METHODS[name].uses_impact] == NAMES[:4]


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_got_by_its_name(name):
    assert get_method(name) is METHODS[name]


def test_an_unknown_name_lists_what_exists():
    with pytest.raises(InputError, match="Hint: did you mean 'qsa-equalized-odds'") as error:
        get_method("qsa-equalised-odds")
    assert all(name in str(error.value) for name in NAMES)


@pytest.mark.parametrize(
    ("package", "needing"),
    [
        ("fairlearn", {"fairlearn-demographic-parity", "fairlearn-equalized-odds"}),
        ("cvxpy", {"fairness-constraints"}),
    ],
)
def test_a_missing_extra_is_named_before_anything_runs(monkeypatch, package, needing):
    monkeypatch.setitem(sys.modules, package, None)  # importing it now fails
    for name in NAMES:
        if name in needing:
            with pytest.raises(InputError, match=rf"{package}.*\nHint.* 'experiments'"):
                get_method(name)
        else:
            get_method(name)


def test_import_leaves_the_extra_alone():
    heavy = {"cvxpy", "fairlearn", "lark"}
    code = f"import sys, elfair.experiments.baselines; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder on Python's path, with a user's module; what is imported from it is forgotten."""
    (tmp_path / "own_method_for_tests.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "own_broken_for_tests.py").write_text("import not_installed_anywhere")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("own_method_for_tests", "own_broken_for_tests"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("own")
def test_ten_lines_make_a_method():
    method, population = get_method("own_method_for_tests:always"), FosterCare()
    assert method.label == "Always 1"
    model = method.fit(population.sample(10, seed=0), population.constraints, delta=0.1, seed=0)
    assert population.truth(model).impact[1] == pytest.approx(1.0)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_method_for_tests:allways", r"no 'allways'.\nHint: did you mean 'always'"),
        ("own_method_for_tests:Always", "it is a class.\nHint: name an object"),
        ("own_method_for_tests:np", "it has no label and no uses_impact and no fit"),
        ("no_module_of_this_name:always", "no module 'no_module_of_this_name'.\nHint.*PYTHONPATH"),
        ("elfair.no_such_part:always", "no module 'elfair.no_such_part'"),
        ("own_method_for_tests:", "does not have the form 'module:object'"),
        (":always", "does not have the form 'module:object'"),
        ("a b:always", "does not have the form 'module:object'"),
    ],
)
def test_what_is_no_method_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        get_method(name)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("label = 5", "label of '.*' must be text. Got 5 instead"),
        ("uses_impact = 'no'", "uses_impact of '.*' must be True or False. Got 'no' instead"),
        ("fit = None", "fit of '.*' must be callable. Got None instead"),
    ],
)
def test_the_parts_of_a_method_are_of_their_kind(tmp_path, change, message):
    path = tmp_path / "own_method_for_tests.py"
    path.write_text(f"{OWN}\nAlways.{change}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        get_method("own_method_for_tests:always")


@pytest.mark.usefixtures("own")
def test_a_module_that_ends_the_process_does_not(tmp_path):
    (tmp_path / "own_method_for_tests.py").write_text("raise SystemExit('done')")
    with pytest.raises(InputError, match=r"\(SystemExit: done\).\nHint: .*__main__"):
        get_method("own_method_for_tests:always")


@pytest.mark.usefixtures("own")
def test_a_label_is_found_where_the_method_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    names = ("own_method_for_tests:always", "own_broken_for_tests:x", "fairness-constraints")
    assert [label_of(name) for name in names] == [
        *("Always 1", "own_broken_for_tests:x", "Fairness Constraints")
    ]


@pytest.mark.usefixtures("own")
def test_an_error_inside_a_users_module_is_not_hidden():
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere") as error:
        get_method("own_broken_for_tests:always")
    assert not isinstance(error.value, InputError)
