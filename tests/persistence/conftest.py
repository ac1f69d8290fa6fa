"""Fitted estimators of every kind that can be saved."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from elfair import CertificateWarning, E, E_logged, ELFClassifier, ELFRegressor, col, no_worse
from elfair.persistence.contents import members_of, pack
from elfair.populations import Dosage, FosterCare

TREE = "sklearn.tree._tree.Tree"
BOOSTED = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
ROWS = 800


@cache
def care() -> tuple[Any, Any, dict[str, Any]]:
    draw = FosterCare(alpha=0.9).sample(2 * ROWS, seed=1)
    logged = {
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "impact": draw.impact,
    }
    return draw.features, draw.label, logged


def fitted(estimator: Any, *args: Any, **logged: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # there are few rows
        return estimator.fit(*args, **logged)


def on_care(**parameters: Any) -> Any:
    X, y, logged = care()
    wanted = parameters.pop("constraints", "accuracy >= 0.5")
    return fitted(ELFClassifier(wanted, **parameters), X, y, **logged)


def three_classes() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    y = np.array(["call", "näher", "visit"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return fitted(ELFClassifier("accuracy >= 0.4"), X, y)


def named_features() -> Any:
    X, y, logged = care()
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])
    return fitted(ELFClassifier("accuracy >= 0.5"), frame, y, **logged)


def boosting_with_gaps() -> Any:
    """What its scorer sees is not what the rest of the model sees."""
    X, y, _ = care()
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])
    frame = frame.mask(np.random.default_rng(5).random(frame.shape) < 0.1)
    scorer = HistGradientBoostingClassifier(max_iter=5)
    return fitted(ELFClassifier("accuracy >= 0.5", scorer=scorer), frame, y)


def with_behavior(model: Any) -> Any:
    X, y, _ = care()
    probabilities = model.predict_proba(X)[:, 1]
    decision = (np.random.default_rng(3).random(len(X)) < probabilities).astype(int)
    impact = {"impact": decision + np.random.default_rng(4).normal(size=len(X))}
    clf = ELFClassifier("E[impact] >= -1")
    return fitted(clf, X, y, decision=decision, behavior=model, impact=impact)


def mixed() -> Any:
    X, y, _ = care()
    return with_behavior(LogisticRegression().fit(X[:200], y[:200]))


def second_round() -> Any:
    return with_behavior(ELFClassifier().fit(*care()[:2]))


def regressor(impact: bool = True, **parameters: Any) -> Any:
    population = Dosage()
    draw = population.sample(ROWS, seed=1)
    return fitted(
        ELFRegressor("E[decision] >= -100", **parameters),
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        behavior_spread=population.spread,
        impact=draw.impact if impact else None,
    )


def network() -> Any:
    import torch

    torch.manual_seed(0)
    width = care()[0].shape[1]
    return torch.nn.Sequential(
        torch.nn.Linear(width, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )


def python_built() -> Any:
    built = [E("impact", given=col("T") == 0) >= E_logged("impact", given=col("T") == 0) - 9]
    return on_care(constraints=[*built, no_worse("T", slack=9)], delta=[0.1, 0.05])


MAKERS: dict[str, Callable[[], Any]] = {
    "linear": on_care,
    "ladder": lambda: on_care(constraints=FosterCare().constraints),
    "no constraints": lambda: on_care(constraints=()),
    "exploring": lambda: on_care(exploration=0.2),
    "exploring scorer": lambda: on_care(scorer=GaussianNB(), exploration=0.2),
    "three classes": three_classes,
    "named features": named_features,
    "built in Python": python_built,
    "mixed": mixed,
    "second round": second_round,
    "pipeline": lambda: on_care(scorer=make_pipeline(StandardScaler(), LogisticRegression())),
    "forest": lambda: on_care(scorer=RandomForestClassifier(5, max_depth=4)),
    "boosting": lambda: on_care(scorer=HistGradientBoostingClassifier(max_iter=5)),
    "boosting with gaps": boosting_with_gaps,
    "calibrated": lambda: on_care(scorer=CalibratedClassifierCV(LinearSVC(), cv=2)),
    "scored folds": lambda: on_care(scorer=GaussianNB(), split="crossfit", folds=3),
    "network": lambda: on_care(scorer=MLPClassifier((3,), solver="lbfgs", max_iter=5000)),
    "crossfit": lambda: on_care(split="crossfit", folds=3),
    "tuned": lambda: on_care(candidate_tuning={"power": [0.8, 0.95]}),
    "regressor": regressor,
    "regressor without a reach": lambda: regressor(impact=False),
    "regressor folds": lambda: regressor(split="crossfit", folds=3),
    "torch": lambda: on_care(scorer=network(), exploration=0.1),
    "tree": lambda: on_care(policy="tree"),
    "tree folds": lambda: on_care(policy="tree", depth=1, split="crossfit", folds=3),
    "no solution": lambda: on_care(constraints="accuracy >= 0.999"),
}

#: What loading each kind needs to be told.
NEEDS: dict[str, dict[str, Any]] = {
    "forest": {"trusted": [TREE]},
    "boosting": {"trusted": [BOOSTED]},
    "boosting with gaps": {"trusted": [BOOSTED]},
    "calibrated": {
        "trusted": [
            "sklearn.calibration._CalibratedClassifier",
            "sklearn.calibration._SigmoidCalibration",
        ]
    },
}


@cache
def _made(kind: str) -> Any:
    return MAKERS[kind]()


@pytest.fixture
def made() -> Callable[[str], Any]:
    """An estimator of a kind, fitted once for all tests; nobody changes it."""
    return _made


@pytest.fixture
def needs() -> Callable[[str], dict[str, Any]]:
    """What loading a kind needs to be told."""
    return lambda kind: {"module": network()} if kind == "torch" else NEEDS.get(kind, {})


@pytest.fixture
def people() -> Callable[[Any], Any]:
    """Some people to decide about."""

    def some(estimator: Any) -> Any:
        X = np.random.default_rng(7).normal(size=(50, estimator.n_features_in_))
        names = getattr(estimator, "feature_names_in_", None)
        return X if names is None else pd.DataFrame(X, columns=names)

    return some


@pytest.fixture
def rewritten() -> Callable[..., bytes]:
    """A file with other parts, or with something else in model.json, and a right list of parts."""

    def rewrite(data: bytes, parts: dict[str, bytes] | None = None, **fields: Any) -> bytes:
        members = {**members_of(data), **(parts or {})}
        document = {**json.loads(members.pop("model.json")), **fields}
        document["members"] = {
            name: hashlib.sha256(part).hexdigest() for name, part in members.items()
        }
        text = json.dumps(document, indent=2, ensure_ascii=False)
        return pack({"model.json": text.encode(), **members})

    return rewrite


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kinds() -> list[str]:
    """All kinds."""
    return list(MAKERS)
