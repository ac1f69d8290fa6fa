"""Certificates of every kind, each with the rows and the model that it is about."""

from __future__ import annotations

import sys
import warnings
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elfair import Certificate, ELFClassifier, ELFRegressor, LoggedData, certify, cutoff
from elfair.bounds import FINITE_SAMPLE
from elfair.data import ContinuousData
from elfair.errors import CertificateWarning
from elfair.populations import Dosage, FosterCare
from elfair.statistics.impact_estimators import ESTIMATORS

sys.path.insert(0, str(Path(__file__).parent))  # for attacker.py and others beside it


class Case(NamedTuple):
    """A certificate, and all that it can be held against."""

    certificate: Certificate
    data: LoggedData
    model: Any


NO_WORSE = FosterCare().constraints[:2]
RANGES = {"impact_range": (-20.0, 20.0)}


def columns(n: int = 900, seed: int = 1, alpha: float = 0.9) -> dict[str, Any]:
    draw = FosterCare(alpha=alpha).sample(n, seed=seed)
    return {
        "X": draw.features,
        "y": draw.label,
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "propensity": draw.propensity,
        "impact": draw.impact,
    }


def fitted(estimator: Any, given: dict[str, Any], **of_data: Any) -> Case:
    features, label = given["X"], given.get("y")
    logged = {key: value for key, value in given.items() if key not in ("X", "y")}
    kind = LoggedData if isinstance(estimator, ELFClassifier) else ContinuousData
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # of stratified and the like
        estimator.fit(features, label, **logged)
    data = kind(features, label, **logged, **of_data)
    return Case(estimator.certificate_, data, estimator)


def classifier(constraints: Any = NO_WORSE, *, n: int = 900, **parameters: Any) -> Case:
    return fitted(ELFClassifier(constraints, **{"candidates": 4, **parameters}), columns(n))


def by_time() -> Case:
    """A split by time, with ties."""
    given = {**columns(900), "time": np.datetime64("2020-01-01") + np.arange(900) // 7}
    return fitted(ELFClassifier(NO_WORSE, candidates=4, split="time"), given)


def unseen(how: str, *, share: float | None = None, **parameters: Any) -> Case:
    """Three in ten impacts are missing."""
    given = columns()
    rng = np.random.default_rng(5)
    gone = rng.random(len(given["impact"])) < 0.3
    given["impact"] = np.where(gone, np.nan, given["impact"])
    given["missing_impact"] = how
    if share is not None:
        given["follow_up"] = share
    elif how == "at random":
        given["early"] = {"early": rng.normal(size=gone.size)}
    return fitted(ELFClassifier(NO_WORSE, candidates=4, **parameters), given)


def revealed(*texts: str, **parameters: Any) -> Case:
    """Only decision 1 reveals the label."""
    given = columns()
    given["y"] = np.where(given["decision"] == 1, given["y"], np.nan)
    return fitted(
        ELFClassifier(texts, candidates=3, **parameters), {**given, "label_seen_for": [1]}
    )


def by_cutoff() -> Case:
    given = columns()
    data = LoggedData(**given)
    model = cutoff(given["X"][:, 3], 0.51234)
    return Case(certify(model, data, ["PR <= 0.9", "accuracy >= 0.2"]), data, model)


def in_pipeline() -> Case:
    """A scaler saw the held-out rows."""
    given = columns()
    pipe = make_pipeline(StandardScaler(), ELFClassifier("accuracy >= 0.4", candidates=3))
    pipe.fit(given["X"], given["y"])
    data = LoggedData(pipe[0].transform(given["X"]), given["y"])
    return Case(pipe[-1].certificate_, data, pipe[-1])


def paper() -> Case:
    return fitted(ELFClassifier.paper(NO_WORSE), columns())


def quantiles(**parameters: Any) -> Case:
    texts = [
        "quantile[impact, 0.2 | T == 0] >= -5", "CVaR[impact, 0.3] >= -5", "var[impact] <= 400"
    ]  # fmt: skip
    return classifier(texts, **parameters)


def products(**parameters: Any) -> Case:
    texts = [
        "E[impact | T == 0] * PR >= -20",
        "PR[T == 0] / PR[T == 1] >= 0.2 or accuracy >= 0.6",
        "abs(PR[T == 0] - PR) <= 0.9",  # conditions that overlap
    ]
    return classifier(texts, **parameters)


def of_bound(bound: str, **parameters: Any) -> Case:
    texts = ["E[impact | T == 0] >= -20", "accuracy >= 0.4", "PR[T == 0] - PR[T == 1] <= 0.9"]
    return classifier(texts, bound=bound, **{**RANGES, "propensity_floor": 0.02, **parameters})


def regression(away: float = 0.0, **parameters: Any) -> Case:
    population = Dosage()
    draw = population.sample(900, seed=1)
    given = {
        "X": draw.features,
        "y": draw.label + away,
        "sensitive_features": {"T": draw.group},
        "decision": draw.decision,
        "behavior_mean": population.behavior.mean(draw.features),
        "behavior_spread": population.spread,
        "impact": draw.impact,
    }
    texts = [*population.constraints, "P[decision >= 1.5] <= 0.9"]
    return fitted(ELFRegressor(texts, candidates=3, **parameters), given)


def static(*texts: str) -> Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    given = {"X": X, "y": y, "sensitive_features": {"T": rng.integers(0, 2, 500)}}
    return fitted(ELFClassifier(texts, candidates=3), given)


def words(*texts: str) -> Case:
    """Decisions that are words: somebody must say which one rates count."""
    given, positive = columns(600), {"positive": "approve"}
    for name in ("y", "decision"):
        given[name] = np.where(given[name] == 1, "approve", "deny")
    return fitted(ELFClassifier(texts, candidates=3, **positive), given, **positive)


def three_classes() -> Case:
    rng = np.random.default_rng(5)
    n = 900
    X = rng.normal(size=(n, 2))
    arm = rng.integers(0, 3, n)
    given = {
        "X": X,
        "sensitive_features": {"race": rng.choice(["A", "B"], n), "sex": rng.choice(["F", "M"], n)},
        "decision": np.array(["call", "none", "visit"])[arm],
        "propensity": np.full(n, 1 / 3),
        "impact": {
            "profit": (arm == 2) * X[:, 0] + rng.normal(size=n),
            "health": (arm == 0) + rng.normal(size=n),
        },
        "row_id": [f"person {k}" for k in rng.permutation(n)],
    }
    texts = [
        f"E[health | race == '{race}'] >= E_logged[health | race == '{race}'] - 0.3"
        for race in "AB"
    ]
    return fitted(ELFClassifier(texts, objective="E[profit]", candidates=3), given)


def lottery() -> Case:
    """A trial: three decisions, with other chances for each site."""
    rng = np.random.default_rng(6)
    n = 900
    x, site = rng.normal(size=n), rng.choice(["north", "south"], n)
    chances = {"north": [0.25, 0.25, 0.5], "south": [0.2, 0.3, 0.5]}
    arm = np.array([rng.choice(3, p=chances[each]) for each in site])
    given = {
        "X": x[:, None],
        "sensitive_features": {"site": site},
        "decision": arm,
        "propensity": {"by": "site", **{s: dict(enumerate(p)) for s, p in chances.items()}},
        "impact": (arm == 2) * x + rng.normal(size=n),
    }
    text = "E[impact] >= E_logged[impact] - 0.1"
    return fitted(ELFClassifier(text, objective="E[impact]", candidates=3), given)


def estimated(*, trim: float | None = None, **parameters: Any) -> Case:
    """Nobody logged propensities."""
    rng = np.random.default_rng(8)
    x, group = rng.normal(size=(900, 2)), rng.integers(0, 2, 900)
    decision = (rng.random(900) < 1 / (1 + np.exp(-1.2 * x[:, 0] - 0.3 * group))).astype(int)
    given = {
        "X": x,
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": "estimated",
        "trim": trim,
        "impact": decision * x[:, 1] + x[:, 0] + rng.normal(size=900),
    }
    text = "E[impact | T == 1] - E[impact | T == 0] >= E_logged[impact | T == 1] - 5"
    texts = ["E[impact | T == 0] >= E_logged[impact | T == 0]", text]
    return fitted(
        ELFClassifier(texts, objective="E[impact]", **{"candidates": 3, **parameters}), given
    )


def scorer(*, came_fitted: bool = False) -> Case:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=3)
    if came_fitted:
        other = columns(300, seed=9)
        tree.fit(other["X"], other["y"])
    return classifier(NO_WORSE, scorer=tree)


def behavior_model() -> Case:
    """It decides well where no linear policy can, and labels pull elsewhere."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    far = np.abs(X[:, 0]) > 1
    often = rng.random(2_000) < np.where(far, 0.9, 0.1)
    model = DecisionTreeClassifier(max_depth=2).fit(X[1_000:], often[1_000:].astype(int))
    X, far = X[:1_000], far[:1_000]
    decision = (rng.random(1_000) < model.predict_proba(X)[:, 1]).astype(int)
    given = {
        "X": X,
        "y": (X[:, 1] + rng.normal(size=1_000) > 0).astype(int),
        "decision": decision,
        "impact": (decision == far) + 0.1 * rng.normal(size=1_000),
        "behavior": model,
    }
    return fitted(ELFClassifier("E[impact] >= E_logged[impact]", search="cmaes"), given)


def small_groups() -> Case:
    """Costs, a group of few people, and people of unknown group."""
    given = columns(300)
    group = np.array(["A"] * 276 + ["B"] * 14 + [None] * 10, dtype=object)
    given["sensitive_features"] = {"T": group}
    texts = ["E[impact | T == 'B'] >= -20", "E[cost] <= 5"]
    cost = [[0.0, 1.0], [2.0, 0.0]]
    return fitted(ELFClassifier(texts, candidates=3, cost=cost), given, cost=cost)


def foreign(**parameters: Any) -> Case:
    given = columns(600)
    data = LoggedData(**given)
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.3, 0.7, 600)
    matrix = np.column_stack([1 - chance, chance])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        certificate = certify(matrix, data, [*NO_WORSE, "accuracy >= 0.2"], **parameters)
    return Case(certificate, data, matrix)


def costs_for_each_person(*, by_decision: bool) -> Case:
    given = columns(400)
    rng = np.random.default_rng(2)
    cost: Any = rng.uniform(0, 2, 400)
    if by_decision:
        cost = {0: cost, 1: rng.uniform(0, 1, 400)}
    given["person_cost"] = cost
    estimator = ELFClassifier(
        ["E[cost | T == 0] <= 3", "E[cost] <= E_logged[cost] + 3"],
        impact_range={"cost": (0, 2)} if by_decision else None,
    )
    return fitted(estimator, given)


CASES = {
    "a cost of each decision": lambda: costs_for_each_person(by_decision=True),
    "a cost of a wrong decision": lambda: costs_for_each_person(by_decision=False),
    "default": lambda: classifier([*NO_WORSE, "accuracy >= 0.4"]),
    "many deltas, python": lambda: classifier(
        _built_in_python(), delta=[0.05, 0.1], random_state=7
    ),
    "paper": paper,
    "missing at random": lambda: unseen("at random"),
    "missing, followed up": lambda: unseen("at random", share=0.7),
    "labels revealed": lambda: revealed("accuracy >= 0.4", "TPR[T == 0] >= 0.2"),
    "labels revealed, quotients": lambda: revealed("abs(TPR[T == 0] - TPR[T == 1]) <= 0.9"),
    "certify, a cut-off": by_cutoff,
    "in a Pipeline": in_pipeline,
    "missing, worst case": lambda: unseen("worst case", impact_range=(-50, 50)),
    "crossfit": lambda: classifier(split="crossfit", folds=3, random_state=2),
    "by time": by_time,
    "stratified": lambda: classifier(split="stratified"),
    **{name: partial(classifier, estimator=name) for name in ESTIMATORS},
    **{name: partial(of_bound, name) for name in FINITE_SAMPLE},
    "bernstein, no blocks": lambda: classifier(
        ["accuracy >= 0.4", "abs(PR[T == 0] - PR) <= 0.95"], bound="bernstein"
    ),
    "quantiles": quantiles,
    "variance from below": lambda: classifier(["var[impact] >= 0.0001", "E[impact] >= -20"]),
    "products": products,
    "products, t": lambda: products(bound="ttest"),
    "regression": regression,
    "regression, out of reach": lambda: regression(away=5.0, reach=9.0),
    "regression, crossfit": lambda: regression(split="crossfit", folds=3),
    "static": lambda: static("abs(PR[T == 0] - PR[T == 1]) <= 0.3", "accuracy >= 0.6"),
    "rates": lambda: static("TPR - FPR >= 0.1", "PPV >= 0.5", "NPV[T == 0] - FDR[T == 1] >= 0"),
    "words": lambda: words("PR[T == 0] >= 0.2 * PR[T == 1]", "TPR >= 0.1"),
    "three classes": three_classes,
    "tree": lambda: classifier(policy="tree", leaf_rows=5),
    "lottery": lottery,
    "estimated": estimated,
    "estimated, trimmed": lambda: estimated(trim=0.15),
    "estimated, crossfit": lambda: estimated(split="crossfit", folds=3),
    "estimated, Lambda": lambda: estimated(Lambda=1.1, estimator="paired"),
    "shift": lambda: classifier([*NO_WORSE, "accuracy >= 0.4"], shift=1.02),
    "scorer": scorer,
    "scorer that came fitted": lambda: scorer(came_fitted=True),
    "behaviour model": behavior_model,
    "t": lambda: quantiles(bound="ttest"),
    "small groups": small_groups,
    "certify": foreign,
    "certify, nothing set aside": lambda: foreign(estimator="is", random_state=3),
    "certify, betting": lambda: foreign(bound="betting", **RANGES),
    "no constraints": lambda: classifier(()),
    "no solution": lambda: classifier([*NO_WORSE, "accuracy >= 0.999"]),
    "tuned": lambda: classifier(candidate_tuning={"estimator": ["paired", "dr"]}, n=600),
}


def _built_in_python() -> list[Any]:
    from elfair import E, E_logged, accuracy, col, no_worse

    return [
        (E("impact", given=col("T") == 0) >= E_logged("impact", given=col("T") == 0) - 0.3)
        & (accuracy >= 0.1 + 0.2),  # which is not 0.3
        no_worse("T"),
    ]


@cache
def case_of(name: str) -> Case:
    return CASES[name]()


@pytest.fixture(scope="session")
def case():
    """A certificate by the name of its kind."""
    return case_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a ``kind`` is for all of them."""
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", list(CASES))


@pytest.fixture(scope="session")
def kinds() -> list[str]:
    return list(CASES)
