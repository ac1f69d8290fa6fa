"""Three randomised trials: what is released, beside the constant decisions, over splits.

    ELFAIR_DATA=... python benchmarks/trials.py              # 20 splits; prints the table
    ELFAIR_DATA=... python benchmarks/trials.py --page       # and writes it into docs/worlds.md
    ELFAIR_DATA=... python benchmarks/trials.py --drawn      # new tables, drawn from the trial

For each split, every constant decision is also tested alone, by the same test on the same rows.
*Gain* is the objective on these rows, less that of the logged decisions, in standard deviations of
the impact; 0 if nothing is released.

The halves of one fixed table depend on each other: what looks better than it is on candidate rows
looks worse than it is on the others, so that a high forecast foretells a failure. With ``--drawn``
the trial is a population: each table is drawn from its people with replacement, the halves are
independent, and gains are those in the whole trial.
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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elfair import ELFClassifier, LoggedData
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import row_keys
from elfair.fairness_test.ladder import Ladder
from elfair.fairness_test.test import FairnessTest
from elfair.search.classification import constant_models
from elfair.types import Floats
from pages import stamp, write_into

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
        """Some of its rows; whoever was drawn twice counts as two people."""
        return LoggedData(
            self.features.to_numpy(float)[rows],
            sensitive_features={name: of[rows] for name, of in self.sensitive.items()},
            decision=self.decision[rows],
            behavior=self.behavior[rows],
            impact=self.impact[rows],
            classes=list(range(self.behavior.shape[1])),
            row_id=None if isinstance(rows, slice) else np.arange(len(rows)),
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


class Split(NamedTuple):
    """What came of one split.

    Parameters
    ----------
    released : bool
        Whether a model was released.
    gain, moved : float
        Its gain, and the share of decisions that it takes otherwise than the lottery.
    forecast : float
        The chance that candidate rows gave it.
    constants : list of float or None
        The gain of each constant decision that passes alone.
    """

    released: bool
    gain: float
    moved: float
    forecast: float
    constants: list[float | None]

    @property
    def best_constant(self) -> float:
        """The gain of the best constant decision that passes; 0 if none does."""
        return max((each for each in self.constants if each is not None), default=0.0)


def passes(clf: ELFClassifier, data: LoggedData, decision: int) -> bool:
    """Whether one decision for everyone passes, as the first and only model of the same test."""
    request = clf.request(data)
    split = request.split(data)
    selection, candidate = request.selection(), split.candidate
    policy: Any = selection.task.policy(candidate)
    always = constant_models(policy, [decision])
    plan, ladder = request.plan(candidate, data), Ladder(policy, always, candidate)
    return FairnessTest(split, (plan,), (ladder,)).run().passed


def split(name: str, settings: dict[str, Any], drawn: bool, seed: int) -> Split:
    """One split: what is released, and what each constant decision comes to."""
    trial = TRIALS[name]()
    n, k = trial.behavior.shape
    if drawn:
        data, judges = trial.data(np.random.default_rng(seed).integers(0, n, n)), np.arange(n)
    else:
        data = trial.data()
        judges = np.setdiff1d(np.arange(n), np.argsort(row_keys(data, seed))[: round(0.6 * n)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = ELFClassifier(trial.constraints, objective="E[impact]", random_state=seed, **settings)
        with counted_in(LooksOfProcess()):
            clf.fit(data)
        constants: list[float | None] = []
        for a in range(k):
            with counted_in(LooksOfProcess()):  # each is a study of its own
                passed = passes(clf, data, a)
            always = np.tile(np.arange(k) == a, (judges.size, 1)).astype(float)
            constants.append(value(trial, judges, always) if passed else None)
    gain = moved = 0.0
    if clf.solution_found_:
        new = clf.predict_proba(trial.features.to_numpy(float)[judges])
        gain = value(trial, judges, new)
        moved = float(np.abs(new - trial.behavior[judges]).sum(axis=1).mean() / 2)
    forecast = clf.certificate_.search.forecast
    return Split(clf.solution_found_, gain, moved, forecast, constants)


def line(name: str, splits: Sequence[Split]) -> str:
    """A line of the table."""
    released = [each for each in splits if each.released]
    likely = [each.released for each in splits if each.forecast > 0.5]
    passing = [each for each in splits if each.best_constant]
    constants = zip(*(each.constants for each in splits), strict=True)
    often = [sum(gain is not None for gain in of_one) for of_one in constants]
    cells = [
        name,
        f"{len(released)} of {len(splits)}",
        f"{np.mean([each.forecast for each in splits]):.2f}",
        f"{sum(likely)} of {len(likely)}",
        f"{min(each.moved for each in released):.2f}" if released else "",
        ", ".join(map(str, often)),
        f"{len(passing)}: {np.mean([each.gain for each in passing] or [0.0]):.3f}, "
        f"{np.mean([each.best_constant for each in passing] or [0.0]):.3f}",
        f"{np.mean([each.gain for each in splits]):.3f}, "
        f"{np.mean([each.best_constant for each in splits]):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADS = (
    "trial",
    "released",
    "mean forecast",
    "released where it was above 0.5",
    "least share of decisions changed",
    "splits in which each constant passes alone",
    "splits in which some constant passes: gain of what is released, of the best constant",
    "gain in all splits: of what is released, of the best constant that passes",
)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first split")
    parser.add_argument("--only", nargs="*", default=list(TRIALS))
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--set", nargs="*", default=())
    parser.add_argument("--drawn", action="store_true", help="draw each table from the trial")
    parser.add_argument("--page", action="store_true", help="write into docs/worlds.md")
    asked = parser.parse_args()
    settings = dict(each.split("=") for each in asked.set)
    print(heads := "| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|", flush=True)
    what = "tables drawn from the trial" if asked.drawn else "splits"
    lines = [f"{asked.splits} {what}, delta = 0.1. {stamp()}.\n", heads]
    seeds = range(asked.first, asked.first + asked.splits)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for name in asked.only:
            one = partial(split, name, settings, asked.drawn)
            lines.append(line(name, list(pool.map(one, seeds))))
            print(lines[-1], flush=True)
    if asked.page:
        write_into("worlds.md", "drawn" if asked.drawn else "trials", "\n".join(lines))


if __name__ == "__main__":
    main()
