"""Three randomised trials: what is released, beside the constant decisions, over splits.

    ELFAIR_DATA=... python benchmarks/trials.py --splits 20

For each split the rows of the test also judge every constant decision, by the same test. *Gain* is
the objective on these rows, less that of the logged decisions, in standard deviations of the
impact.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elfair import ELFClassifier, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import row_keys
from elfair.types import Floats

DATA = Path(os.environ.get("ELFAIR_DATA", ""))


@dataclass(frozen=True)
class Trial:
    """A trial, ready for a fit.

    Parameters
    ----------
    features : DataFrame
        What the model sees.
    sensitive : dict
        The sensitive columns.
    decision : ndarray
        The index of the assigned decision.
    behavior : ndarray of shape (n, decisions)
        The probabilities of assignment.
    impact : ndarray
        What was seen later.
    groups : sequence of str
        The conditions that name the groups.
    """

    features: pd.DataFrame
    sensitive: dict[str, Any]
    decision: Any
    behavior: Floats
    impact: Floats
    groups: Sequence[str]

    @property
    def constraints(self) -> list[str]:
        """No group fares worse."""
        return [f"E[impact | {g}] >= E_logged[impact | {g}]" for g in self.groups]

    def data(self, rows: Any = slice(None)) -> LoggedData:
        """Some of its rows."""
        return LoggedData(
            self.features.to_numpy(float)[rows],
            sensitive_features={name: of[rows] for name, of in self.sensitive.items()},
            decision=self.decision[rows],
            behavior=self.behavior[rows],
            impact=self.impact[rows],
            classes=list(range(self.behavior.shape[1])),
        )


def stroke() -> Trial:
    """The International Stroke Trial: alive and independent at six months, by sex."""
    table = pd.read_csv(DATA / "stroke" / "ist.csv", low_memory=False)
    table = table[table.OCCODE.isin([1, 2, 3, 4])].reset_index(drop=True)
    heparin = table.RXHEP.replace("H", "M").map({"N": 0, "L": 1, "M": 2})
    decision = (3 * (table.RXASP == "Y") + heparin).to_numpy(int)
    behavior = np.tile(np.array([0.5, 0.25, 0.25, 0.5, 0.25, 0.25]) / 2, (len(table), 1))
    features = table[["AGE", "RDELAY", "RSBP"]].astype(float)
    for name in ("RCONSC", "STYPE", "RSLEEP", "RATRIAL", "RCT", "RVISINF", "SEX"):
        for value in sorted(table[name].dropna().unique())[1:]:
            features[f"{name} {value}"] = (table[name] == value).astype(float)
    for k in range(1, 9):
        features[f"RDEF{k}"] = (table[f"RDEF{k}"] == "Y").astype(float)
    sensitive = {"sex": table.SEX.to_numpy()}
    impact = table.OCCODE.isin([3, 4]).to_numpy(float)
    return Trial(features, sensitive, decision, behavior, impact, ["sex == 'F'", "sex == 'M'"])


def actg175() -> Trial:
    """ACTG 175: the CD4 count at 20 weeks, by race and by gender."""
    table = pd.read_csv(DATA / "actg175" / "actg175.csv")
    names = "age wtkg hemo homo drugs karnof oprior z30 preanti race gender str2 symptom cd40 cd80"
    sensitive = {name: table[name].to_numpy() for name in ("race", "gender")}
    groups = [f"{name} == {value}" for name in sensitive for value in (0, 1)]
    behavior = np.full((len(table), 4), 0.25)
    impact = table.cd420.to_numpy(float)
    return Trial(table[names.split()], sensitive, table.arms.to_numpy(), behavior, impact, groups)


def jobcorps() -> Trial:
    """Job Corps: weekly earnings in the fourth year, by sex and ethnicity."""
    table = pd.read_csv(DATA / "jobcorps" / "jobcorps.csv")
    names = list(table.columns)
    features = table[names[names.index("female") : names.index("alcoholmis") + 1]]
    share = table.groupby("female").assignment.transform("mean").to_numpy()
    sensitive = {name: table[name].to_numpy() for name in ("female", "black", "hispanic", "white")}
    groups = [f"{name} == 1" for name in sensitive]
    behavior, decision = np.column_stack([1 - share, share]), table.assignment.to_numpy(int)
    return Trial(features, sensitive, decision, behavior, table.earny4.to_numpy(float), groups)


TRIALS: dict[str, Callable[[], Trial]] = {
    "stroke": stroke,
    "actg175": actg175,
    "jobcorps": jobcorps,
}


def value(trial: Trial, rows: Any, new: Floats) -> float:
    """The gain over the logged decisions on some rows, in spreads of the impact."""
    taken = np.arange(len(new)), trial.decision[rows]
    weight = new[taken] / trial.behavior[rows][taken]
    impact = trial.impact[rows]
    return float(np.mean((weight - 1) * (impact - impact.mean())) / impact.std())


def split(name: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """One split: what is released, and what each constant decision comes to."""
    trial = TRIALS[name]()
    data = trial.data()
    clf = ELFClassifier(trial.constraints, objective="E[impact]", random_state=seed, **settings)
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore")
        clf.fit(data)
    n, k = len(trial.decision), trial.behavior.shape[1]
    held = np.setdiff1d(np.arange(n), np.argsort(row_keys(data, seed))[: round(0.6 * n)])
    constants = {}
    for a in range(k):
        new = np.zeros((held.size, k))
        new[:, a] = 1.0
        with warnings.catch_warnings(), counted_in(LooksOfProcess()):  # each is a study of its own
            warnings.simplefilter("ignore")
            passed = certify(new, trial.data(held), trial.constraints).passed
        constants[a] = passed, value(trial, held, new)
    record = clf.certificate_.search
    gain = moved = 0.0
    if clf.solution_found_:
        new = clf.predict_proba(trial.features.to_numpy(float)[held])
        gain = value(trial, held, new)
        moved = float(np.abs(new - trial.behavior[held]).sum(axis=1).mean() / 2)
    return {
        "found": clf.solution_found_,
        "gain": gain,
        "moved": moved,
        "forecast": record.forecast,
        "place": (record.place, record.on_ladder),
        "constants": constants,
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=list(TRIALS))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--set", nargs="*", default=())
    asked = parser.parse_args()
    settings = dict(each.split("=") for each in asked.set)
    for name in asked.only:
        with ProcessPoolExecutor(asked.jobs) as pool:
            every = list(pool.map(partial(split, name, settings), range(asked.splits)))
        found = [each for each in every if each["found"]]
        print(f"{name}: released {len(found)} of {len(every)}", end="; ")
        print("moved", [round(each["moved"], 3) for each in found])
        print(
            "  forecast", round(float(np.mean([each["forecast"] for each in every])), 2), end="; "
        )
        print("places", [each["place"] for each in every])
        print("  gain", round(float(np.mean([each["gain"] for each in every])), 4))
        for a in every[0]["constants"]:
            passed = [each["constants"][a][0] for each in every]
            gains = [each["constants"][a][1] * each["constants"][a][0] for each in every]
            print(f"  always {a}: passed {sum(passed)}, gain if passed {np.mean(gains):.4f}")


if __name__ == "__main__":
    main()
