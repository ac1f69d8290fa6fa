"""Digests of what a value holds: equal wherever the value is, other for any other value."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass, fields, make_dataclass

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

import elfair
from elfair import ELFClassifier, InputError, LoggedData
from elfair.data.digests import content_digest
from elfair.persistence.objects import from_skops, to_skops
from elfair.policies import SoftmaxPolicy
from elfair.policies.models import Model, digests


def _change_logistic(model):
    model.coef_[0, 1] = np.nextafter(model.coef_[0, 1], np.inf)


def _change_forest(model):
    model.estimators_[2].tree_.threshold[0] += 1e-12


def _change_boosting(model):
    model._predictors[1][0].nodes["value"][2] += 1e-12


def _change_pipeline(model):
    model[0].mean_[0] += 1e-12


def _change_calibrated(model):
    model.calibrated_classifiers_[0].calibrators[0].a_ += 1e-12


def _change_network(model):
    model.coefs_[1][0, 0] += 1e-12


MODELS = {
    "logistic": (LogisticRegression(), _change_logistic),
    "forest": (RandomForestClassifier(4, random_state=np.random.RandomState(3)), _change_forest),
    "boosting": (HistGradientBoostingClassifier(max_iter=4, random_state=0), _change_boosting),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), _change_pipeline),
    "calibrated": (CalibratedClassifierCV(LinearSVC(), cv=2), _change_calibrated),
    "network": (MLPClassifier((3,), solver="adam", max_iter=3), _change_network),
}
TRUSTED = [
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three rounds are not enough, which is all right here
        return {name: model.fit(X, y) for name, (model, _) in MODELS.items()}


def copied(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_has_the_same_digest(name, fitted):
    digest = content_digest(fitted[name])
    assert content_digest(copied(fitted[name])) == digest
    assert content_digest(from_skops(to_skops(fitted[name]), TRUSTED)) == digest


@pytest.mark.parametrize("name", MODELS)
def test_one_changed_number_gives_another_digest(name, fitted):
    changed = copied(fitted[name])
    MODELS[name][1](changed)
    assert content_digest(changed) != content_digest(fitted[name])


def test_digests_are_the_same_in_another_process(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "models")
    program = (
        "import sys, joblib; from elfair.data.digests import content_digest\n"
        "print(*map(content_digest, joblib.load(sys.argv[1]).values()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "models")],
        env={**os.environ, "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [content_digest(model) for model in fitted.values()]


def test_digests_are_of_tags_lengths_and_contents():
    """They are written into certificates: written in another way, those would name no model."""
    written = b"tuple 1:4constant 4:Trueint 1:2text 2:\xc3\xa4"
    written += b"array 7:<f8(2,)values 16:" + struct.pack("<dd", 0.5, -1.0)
    value = (True, 2, "ä", np.array([0.5, -1.0]))
    assert content_digest(value) == hashlib.sha256(written).hexdigest()
    entries = [b"tuple 1:2text 1:%sint 1:%s" % pair for pair in ((b"a", b"1"), (b"b", b"2"))]
    each = sorted(hashlib.sha256(entry).digest() for entry in entries)
    written = b"dict 64:" + b"".join(each)
    assert content_digest({"a": 1, "b": 2}) == hashlib.sha256(written).hexdigest()


def test_how_a_value_is_held_does_not_matter():
    array = np.arange(6.0).reshape(2, 3)
    for same in (
        np.asfortranarray(array),
        array.astype(">f8"),
        np.arange(12.0)[::2].reshape(2, 3) / 2,
    ):
        assert content_digest(same) == content_digest(array)
    assert content_digest({"a": 1, "b": 2}) == content_digest({"b": 2, "a": 1})
    assert content_digest({"x", "y", "z"}) == content_digest({"z", "y", "x"})
    assert content_digest(np.float64(0.5)) == content_digest(0.5)
    assert content_digest(np.int8(3)) == content_digest(3)
    assert content_digest(np.str_("a")) == content_digest("a")
    assert content_digest(float("nan")) == content_digest(np.nan)


def test_what_lies_between_fields_does_not_matter():
    kind = np.dtype([("flag", "u1"), ("value", "f8")], align=True)
    one, two = np.zeros(3, kind), np.frombuffer(b"\xff" * 3 * kind.itemsize, kind).copy()
    two["flag"], two["value"] = 0, 0.0
    assert one.tobytes() != two.tobytes()
    assert content_digest(one) == content_digest(two)
    two["value"][1] = 1e-300
    assert content_digest(one) != content_digest(two)


DIFFERENT = [
    None, True, False, 0, 1, 0.0, -0.0, 1.0, "", "0", "1", b"1", (), [], {}, set(), (1,), [1],
    [[1], 2], [[1, 2]], ["ab", "c"], ["a", "bc"], {"a": 1}, {"a": 1.0}, {1: "a"}, {1},
    np.array([1.0]), np.array([[1.0]]), np.array([1]), np.array([1], dtype=np.int32),
    np.array([1.0], dtype=np.float32), np.array(["1"]), np.array(["1"], dtype=object),
    np.array([1], dtype=object), np.array(1.0), np.datetime64("2024-01-01"), np.timedelta64(1, "D"),
    np.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")]), int, float, np.exp, np.log, print, len,
    1j, range(2), range(3), np.array([0.0]), np.array([-0.0]), np.ma.array([1.0], mask=[True]),
    np.ma.array([1.0], mask=[False]), os.path.join, lambda x: x * 2, lambda x: x * 3,
]  # fmt: skip


def test_different_values_have_different_digests():
    assert len({content_digest(value) for value in DIFFERENT}) == len(DIFFERENT)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(PLAIN, PLAIN)
def test_digests_are_equal_where_values_are_alike(one, other):
    assert (content_digest(one) == content_digest(other)) == (repr(one) == repr(other))


def test_closures_count():
    def scaled(by):
        return lambda X: X * by

    one, two, again = (content_digest(FunctionTransformer(scaled(by))) for by in (2, 3, 2))
    assert one == again != two


def test_generators_count_by_their_kind(fitted):
    """numpy's own belongs to everybody: a network without a seed of its own holds it."""
    before = content_digest(fitted["network"])
    np.random.rand()
    assert content_digest(fitted["network"]) == before
    assert content_digest(np.random.default_rng(0)) == content_digest(np.random.default_rng(1))
    assert content_digest(np.random.default_rng(0)) != content_digest(np.random.RandomState(0))


def test_what_is_inside_itself_comes_to_an_end():
    one, two = [1], [2]
    one.append(one)
    two.append(two)
    assert content_digest(one) != content_digest(two)
    node = inner = {}
    for _ in range(2000):
        inner["next"] = inner = {}
    with pytest.raises(InputError, match="nested deeper"):
        content_digest(node)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(InputError, match="Got a lock in it") as error:
        content_digest({"a": threading.Lock()})
    assert "__getstate__" in error.value.hint


@dataclass(frozen=True)
class Other:
    n_classes: int
    center: object
    scale: object
    mixed: bool = False
    exploration: float = 2e-4


class TestModels:
    policy = SoftmaxPolicy(2, np.zeros(3), np.ones(3))
    theta = np.array([0.1, 0.2, 0.3, 0.4])

    def test_policy_and_parameters_count(self):
        model = Model(self.policy, self.theta)
        digest = model.digest()
        assert len(digest) == 64
        assert (
            Model(SoftmaxPolicy(2, np.zeros(3), np.ones(3)), self.theta.copy()).digest() == digest
        )
        others = [
            Model(self.policy, np.nextafter(self.theta, 1)),
            Model(SoftmaxPolicy(3, np.zeros(3), np.ones(3)), self.theta),
            Model(SoftmaxPolicy(2, np.ones(3), np.ones(3)), self.theta),
            Model(SoftmaxPolicy(2, np.zeros(3), np.ones(3), mixed=True), self.theta),
            Model(SoftmaxPolicy(2, np.zeros(3), np.ones(3), exploration=0.05), self.theta),
            Model(Other(2, np.zeros(3), np.ones(3)), self.theta),
        ]
        assert len({digest, *(other.digest() for other in others)}) == 7
        assert digests([model, others[0]]) == (digest, others[0].digest())

    def test_a_class_counts_by_its_tag_wherever_it_is(self):
        kind = {f.name: f.type for f in fields(SoftmaxPolicy)}
        moved = make_dataclass("Moved", kind, namespace={"digest_tag": "softmax"})
        other = make_dataclass("SoftmaxPolicy", kind, namespace={"digest_tag": "hardmax"})
        untagged = type("SoftmaxPolicy", (SoftmaxPolicy,), {})
        same, *others = (
            content_digest(each(2, np.zeros(3), np.ones(3), False, 2e-4))
            for each in (moved, other, untagged)
        )
        assert moved.__module__ != SoftmaxPolicy.__module__
        assert same == content_digest(self.policy)
        assert len({same, *others}) == 3

    def test_a_class_of_elfair_without_a_tag_is_refused(self):
        for value in (LoggedData([[0.0]]), LoggedData, content_digest, elfair.data):
            with pytest.raises(TypeError, match="digest_tag"):
                content_digest({"a": [value]})

    def test_an_estimator_counts_by_what_it_learnt(self):
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["no", "no", "yes", "yes"]
        one, same = (ELFClassifier(delta=delta).fit(X, y) for delta in (0.1, 0.2))
        other = ELFClassifier(exploration=0.2).fit(X, y)
        assert content_digest(one) == content_digest(same) != content_digest(other)

    def test_a_module_counts_by_its_state(self):
        import torch

        modules = [torch.nn.Linear(2, 2) for _ in range(2)]
        same = torch.nn.Linear(2, 2)
        same.load_state_dict(modules[0].state_dict())
        one, two, three = (content_digest(module) for module in (*modules, same))
        assert one == three != two

    def test_it_takes_no_time_that_anyone_notices(self):
        model = Model(self.policy, self.theta)
        times = []
        for _ in range(20):
            start = time.perf_counter()
            model.digest()
            times.append(time.perf_counter() - start)
        assert min(times) < 1e-3
