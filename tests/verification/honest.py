"""Random studies that somebody could honestly make: constraints from a generator over the grammar,
and any bound, split, estimator, model, units, weights, missing impacts, lottery and Lambda.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elfair import ELFClassifier, LoggedData, certify
from elfair.bounds import BOUNDS
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning, ElfairError
from elfair.statistics.impact_estimators import ESTIMATORS

RATES = ("PR", "TPR", "FPR", "TNR", "FNR", "accuracy", "error", "PPV", "NPV")
GROUPS = ("", "T == 0", "T == 1", "x0 > 0", "T == 0 and x0 <= 0.3", "T in [0, 1]")


class Made(NamedTuple):
    """A certificate, the table as columns, and the model."""

    certificate: Any
    columns: dict[str, Any]
    data: LoggedData
    model: Any


def given(rng: np.random.Generator, inside: str = "") -> str:
    group = rng.choice(GROUPS)
    return f"[{inside}{' | ' if inside and group else ''}{group}]" if inside or group else ""


def term(rng: np.random.Generator, *, impacts: bool, deep: int = 2) -> str:
    """An expression whose value is a number of everyday size."""
    kind = rng.random()
    if deep and kind < 0.15:
        parts = [term(rng, impacts=impacts, deep=deep - 1) for _ in range(2)]
        return f"{rng.choice(['min', 'max'])}({', '.join(parts)})"
    if deep and kind < 0.25:
        return f"abs({term(rng, impacts=impacts, deep=deep - 1)} - {round(rng.uniform(), 2)})"
    if deep and kind < 0.4:
        parts = [term(rng, impacts=impacts, deep=0) for _ in range(2)]
        return f"{parts[0]} {rng.choice(['+', '-', '*'])} {parts[1]}"
    if impacts and kind < 0.5:
        return "var[impact]" if rng.random() < 0.4 else f"CVaR[impact, {rng.choice([0.2, 0.5])}]"
    if impacts and kind < 0.7:
        name = rng.choice(["E", "E", "E_logged"])
        return f"{name}{given(rng, 'impact')}"
    if kind < 0.75:
        return str(round(float(rng.uniform(-1, 1)), 2))
    return f"{rng.choice(RATES)}{given(rng)}"


def constraint(rng: np.random.Generator, *, impacts: bool) -> str:
    """One constraint: an inequality, a chain, or several joined."""
    edge, sign = round(float(rng.uniform(-2, 3)), 2), rng.choice(["<=", ">="])
    text = f"{term(rng, impacts=impacts)} {sign} {edge}"
    if rng.random() < 0.15:
        low = round(edge - float(rng.uniform(0.1, 3)), 2)
        text = f"{low} <= {term(rng, impacts=impacts)} <= {edge}"
    if rng.random() < 0.2:
        text += f" {rng.choice(['and', 'or'])} {term(rng, impacts=impacts, deep=1)} <= {edge + 1}"
    return text


def table(rng: np.random.Generator, *, impacts: bool) -> dict[str, Any]:
    """The columns of a log."""
    n = int(rng.integers(120, 360))
    X, T = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    columns: dict[str, Any] = {
        "X": X,
        "y": (X[:, 0] + rng.normal(size=n) > 0).astype(int),
        "sensitive_features": {"T": T},
    }
    if not impacts:
        return columns
    chance = 1 / (1 + np.exp(-X[:, 0])) * 0.8 + 0.1
    if rng.random() < 0.25:
        chance = np.full(n, 0.5)
    decision = (rng.random(n) < chance).astype(int)
    known = np.where(decision == 1, chance, 1 - chance)
    impact = 0.5 * decision * X[:, 0] + rng.uniform(-1, 1, n)
    columns |= {"decision": decision, "propensity": known, "impact": np.clip(impact, -3, 3)}
    if (chance == 0.5).all() and rng.random() < 0.6:
        columns["propensity"] = 0.5
    if rng.random() < 0.2:
        columns["impact"] = np.where(rng.random(n) < 0.2, np.nan, columns["impact"])
        columns["missing_impact"] = str(rng.choice(["at random", "worst case"]))
    return columns


def more_columns(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Identifiers, units and weights, each now and then."""
    made: dict[str, Any] = {}
    if rng.random() < 0.4:
        made["row_id"] = np.array([f"p{k}" for k in rng.permutation(n)])
    if rng.random() < 0.2:
        made["unit"] = rng.integers(0, n // 2, n)
    if rng.random() < 0.15:
        made["sample_weight"] = rng.uniform(0.5, 2, n)
    return made


def settings(rng: np.random.Generator, *, impacts: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"delta": float(rng.choice([0.05, 0.1, 0.3])), "random_state": 3}
    made["bound"] = str(rng.choice(["auto", "auto", "auto", *BOUNDS]))
    if impacts:
        made["estimator"] = str(rng.choice(["auto", "auto", *ESTIMATORS]))
        made["impact_range"] = (-3.0, 3.0) if rng.random() < 0.7 else None
        made["propensity_floor"] = 0.05 if rng.random() < 0.5 else None
        made["Lambda"] = float(rng.choice([1.0, 1.0, 1.0, 1.2]))
        made["shift"] = float(rng.choice([1.0, 1.0, 1.0, 1.1]))
    if rng.random() < 0.1:
        made["looks"] = 2
    return made


def of_fit(rng: np.random.Generator) -> dict[str, Any]:
    made: dict[str, Any] = {"candidates": int(rng.integers(1, 4))}
    made["split"] = str(rng.choice(["random"] * 6 + ["stratified", "crossfit"]))
    if made["split"] == "crossfit":
        made["folds"] = 3
    if rng.random() < 0.08:
        from sklearn.tree import DecisionTreeClassifier

        made["scorer"] = DecisionTreeClassifier(max_depth=2, random_state=0)
    return made


def attempt(seed: int) -> Made | None:
    """A random study; None if elfair refuses it, which is not what is tested here."""
    rng = np.random.default_rng(seed)
    impacts = bool(rng.random() < 0.75)
    columns = table(rng, impacts=impacts)
    n = len(columns["X"])
    columns |= more_columns(rng, n)
    texts = [constraint(rng, impacts=impacts) for _ in range(int(rng.integers(1, 4)))]
    parameters, fits = settings(rng, impacts=impacts), bool(rng.random() < 0.6)
    extra = of_fit(rng)
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        try:
            data = LoggedData(**columns)
            if not fits:
                model = rng.uniform(0.05, 0.95, n)
                certificate = certify(model, data, texts, **parameters)
            else:
                model = ELFClassifier(texts, **parameters, **extra).fit(data)
                certificate = model.certificate_
        except ElfairError:
            return None
    return Made(certificate, columns, data, model)


def write_table(columns: dict[str, Any], path: Path) -> None:
    """The columns as a CSV or Parquet file."""
    import pandas as pd

    frame = pd.DataFrame(columns["X"], columns=["x0", "x1"])
    plain = {"y": "y", "decision": "decision", "impact": "impact", "row_id": "row_id"}
    plain |= {"unit": "unit", "sample_weight": "sample_weight", "propensity": "propensity"}
    frame["T"] = columns["sensitive_features"]["T"]
    for name in plain:
        if np.ndim(columns.get(name, 0.0)):
            frame[name] = columns[name]
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


def read_table(columns: dict[str, Any], path: Path) -> LoggedData:
    """The same rows from the file."""
    from pyarrow import csv, parquet

    read = csv.read_csv if path.suffix == ".csv" else parquet.read_table
    frame = read(path).to_pandas()
    again = {
        name: frame[name].to_numpy() if name in frame else each for name, each in columns.items()
    }
    again["X"] = frame[["x0", "x1"]].to_numpy()
    again["sensitive_features"] = {"T": frame["T"].to_numpy()}
    return LoggedData(**again)
