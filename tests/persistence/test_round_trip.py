"""What is loaded is what was saved: the same decisions, bit for bit, of every kind of model."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import elfair
from elfair import (
    ELFClassifier,
    ELFRegressor,
    InputError,
    LoggedData,
    MissingPackageError,
    NoSolutionFoundError,
)
from elfair.persistence.model_file import to_bytes


def test_the_same_decisions(kind, made, needs, people, tmp_path):
    before, path = made(kind), tmp_path / "model.elfair"
    before.save(path)
    after = elfair.load(path, **needs(kind))
    assert type(after) is type(before)
    assert after.certificate_ == before.certificate_
    assert after.tuned_ == before.tuned_
    assert after.solution_found_ is before.solution_found_
    assert after.explain() == before.explain()
    some = people(before)
    if not before.solution_found_:
        with pytest.raises(NoSolutionFoundError):
            after.predict(some)
        return
    if isinstance(before, ELFClassifier):
        assert (after.predict_proba(some) == before.predict_proba(some)).all()
        assert after.classes_.dtype == before.classes_.dtype
        assert [type(value) for value in after.classes_] == [type(v) for v in before.classes_]
    else:
        got, wanted = (each.predict_distribution(some) for each in (after, before))
        assert (np.array(got) == np.array(wanted)).all()
        assert after.spread_ == before.spread_
    for seed in (0, 1):
        drawn, wanted = (each.decide(some, random_state=seed) for each in (after, before))
        assert (drawn.decision == wanted.decision).all()
        assert (drawn.propensity == wanted.propensity).all()


def test_the_whole_ladder_is_kept(kind, made, needs, tmp_path):
    before, path = made(kind).fitted_, tmp_path / "model.elfair"
    made(kind).save(path)
    after = elfair.load(path, **needs(kind)).fitted_
    assert len(after.ladder) == len(before.ladder) > 0
    for one, other in zip(after.ladder, before.ladder, strict=True):
        assert one.theta.tobytes() == other.theta.tobytes()
        assert one.digest() == other.digest()
    places = [
        [[id(model) for model in trained.ladder].index(id(model)) for model in trained.models]
        for trained in (after, before)
    ]
    assert places[0] == places[1]
    assert after.shares == before.shares
    # One policy for all, or one for each fold.
    assert len({id(m.policy) for m in after.ladder}) == len({id(m.policy) for m in before.ladder})


def test_the_kinds_are_what_they_are_meant_to_be(made):
    assert len(made("ladder").fitted_.ladder) > 10
    assert made("ladder").certificate_.search.place > 1
    assert len(made("crossfit").fitted_.models) == 3
    assert not made("no solution").solution_found_
    assert made("mixed")._behavior_model is not None
    assert made("tuned").tuned_
    assert made("three classes").classes_.tolist() == ["call", "näher", "visit"]


@pytest.mark.parametrize(
    ("kind", "share"),
    [("linear", 2e-4), ("exploring", 0.2), ("exploring scorer", 0.2), ("torch", 0.1)],
)
def test_the_share_of_blind_decisions_is_kept(kind, share, made, needs, tmp_path):
    path = tmp_path / "model.elfair"
    made(kind).save(path)
    after = elfair.load(path, **needs(kind))
    assert after.exploration == after.fitted_.models[0].policy.exploration == share


def test_saving_what_was_loaded_writes_the_same_bytes(kind, made, needs, tmp_path):
    path = tmp_path / "model.elfair"
    made(kind).save(path)
    assert to_bytes(elfair.load(path, **needs(kind))) == path.read_bytes()


def test_parameters_come_back(made, tmp_path):
    path = tmp_path / "model.elfair"
    made("built in Python").save(path)
    after = elfair.load(path)
    text, recipe = after.constraints
    assert text == str(made("built in Python").constraints[0])
    assert recipe == made("built in Python").constraints[1]
    assert after.delta == [0.1, 0.05]


def test_a_parameter_that_is_not_saved_is_not_forgotten_silently(made, tmp_path):
    path = tmp_path / "model.elfair"
    made("pipeline").save(path)
    after = elfair.load(path)
    assert repr(after.scorer) == "<not saved: sklearn.pipeline.Pipeline>"
    with pytest.raises(InputError, match="not saved"):
        clone(after).fit([[0.0], [1.0]] * 20, [0, 1] * 20)


def test_features_are_held_against_their_names(made, people, tmp_path):
    path = tmp_path / "model.elfair"
    made("named features").save(path)
    after = elfair.load(path)
    with pytest.raises(ValueError, match="feature names"):
        after.predict(people(after).rename(columns={"feature 0": "another"}))


def test_an_encoding_travels_with_the_model(tmp_path):
    encoding = {"columns": ["Age (years)", "Größe"], "levels": {"housing": ["own", None, 1.5]}}
    path, again = tmp_path / "model.elfair", tmp_path / "again.elfair"
    rows = [[0.0], [1.0]] * 20, [0, 1] * 20
    plain = ELFClassifier().fit(LoggedData(*rows))
    told = ELFClassifier().fit(LoggedData(*rows, encoding=encoding))
    assert told.certificate_.digests.model != plain.certificate_.digests.model
    told.save(path)
    after = elfair.load(path)
    assert after.encoding_ == encoding
    assert list(after.encoding_) == list(encoding)
    after.save(again)
    assert again.read_bytes() == path.read_bytes()
    after.fit(*rows)
    assert not hasattr(after, "encoding_")  # it was that of other features


@pytest.mark.parametrize(
    "encoding", [{"a": (1, 2)}, {1: "a"}, {"a": float("nan")}, {"a": np.float32(1)}, ["a"], "a"]
)
def test_an_encoding_that_json_would_change_is_refused(encoding):
    with pytest.raises(InputError, match="encoding must be a dict"):
        LoggedData([[0.0], [1.0]], [0, 1], encoding=encoding)


def test_only_a_fitted_estimator_can_be_saved(tmp_path):
    for estimator in (ELFClassifier(), ELFRegressor()):
        with pytest.raises(NotFittedError):
            estimator.save(tmp_path / "model.elfair")


def test_a_class_of_ones_own_is_refused(tmp_path):
    class Mine(ELFClassifier):
        pass

    mine = Mine().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="Got Mine"):
        mine.save(tmp_path / "model.elfair")


def test_the_name_says_what_it_is(made, tmp_path):
    with pytest.raises(InputError, match=r"must end with \.elfair") as caught:
        made("linear").save(tmp_path / "model.pkl")
    assert "model.elfair" in caught.value.hint


@pytest.mark.parametrize(
    "classes", [[0, 1], [False, True], [1.0, 2.0], ["a", "b"], [np.datetime64("2024-01-01"),
    np.datetime64("2025-01-01")], [-(2**60), 2**60]],
)  # fmt: skip
def test_classes_keep_their_types(classes, tmp_path):
    y = np.array(classes)[[0, 1, 0, 1]]
    before = ELFClassifier(classes=classes).fit([[0.0], [1.0], [0.5], [2.0]], y)
    before.save(tmp_path / "model.elfair")
    after = elfair.load(tmp_path / "model.elfair")
    assert after.classes_.dtype == before.classes_.dtype
    assert after.classes_.tolist() == before.classes_.tolist()
    assert after.classes == classes


class TestModules:
    def test_the_architecture_is_asked_for(self, made, tmp_path):
        made("torch").save(tmp_path / "model.elfair")
        with pytest.raises(InputError, match="torch module") as caught:
            elfair.load(tmp_path / "model.elfair")
        assert "module=" in caught.value.hint

    def test_another_architecture_is_refused(self, made, needs, tmp_path):
        from torch import nn

        made("torch").save(tmp_path / "model.elfair")
        other = needs("torch")["module"]
        for place, layer in ((3, nn.Linear(4, 3)), (2, nn.PReLU()), (0, nn.Linear(9, 4))):
            changed = nn.Sequential(*other)
            changed[place] = layer
            with pytest.raises(InputError, match="module="):
                elfair.load(tmp_path / "model.elfair", module=changed)
        with pytest.raises(InputError, match="float32"):
            elfair.load(tmp_path / "model.elfair", module=other.double())

    def test_what_the_caller_gave_is_not_changed(self, made, needs, tmp_path):
        made("torch").save(tmp_path / "model.elfair")
        module = needs("torch")["module"]
        state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        elfair.load(tmp_path / "model.elfair", module=module)
        assert all((state[name] == tensor).all() for name, tensor in module.state_dict().items())


class TestObjects:
    def test_skops_is_asked_for_where_it_is_missing(self, made, tmp_path, monkeypatch):
        made("pipeline").save(tmp_path / "model.elfair")
        monkeypatch.setitem(sys.modules, "skops.io", None)
        for act in (
            lambda: made("pipeline").save(tmp_path / "again.elfair"),
            lambda: elfair.load(tmp_path / "model.elfair"),
        ):
            with pytest.raises(MissingPackageError, match="skops") as caught:
                act()
            assert "install the extra 'skops'" in caught.value.hint
        made("linear").save(tmp_path / "linear.elfair")  # which has no object inside
        elfair.load(tmp_path / "linear.elfair")

    def test_types_that_skops_does_not_know_are_named(self, made, tmp_path):
        made("forest").save(tmp_path / "model.elfair")
        with pytest.raises(InputError, match=r"not trusted: sklearn\.tree\._tree\.Tree") as caught:
            elfair.load(tmp_path / "model.elfair")
        assert "trusted=['sklearn.tree._tree.Tree']" in caught.value.hint
        with pytest.raises(InputError, match="must be a list"):
            elfair.load(tmp_path / "model.elfair", trusted="sklearn.tree._tree.Tree")

    def test_what_cannot_come_back_is_refused_when_it_is_saved(self, tmp_path):
        scorer = make_pipeline(FunctionTransformer(lambda X: X * 2), LogisticRegression())
        X, y = [[0.0], [1.0], [3.0], [2.0]] * 10, [0, 1, 0, 1] * 10
        clf = ELFClassifier(scorer=scorer).fit(X, y)
        with pytest.raises(InputError, match="Pipeline cannot be saved"):
            clf.save(tmp_path / "model.elfair")
        assert not list(tmp_path.iterdir())
