"""Trees beside softmax policies: what a rule that fits in a sentence costs, at equal guarantee.

    ELFAIR_DATA=... python benchmarks/trees.py --seeds 50          # goes on where it stopped
    ELFAIR_DATA=... python benchmarks/trees.py --seeds 50 --page   # and writes docs/trees.md

On two populations whose truth is known, each seed is a draw of rows; *objective* is the accuracy of
the released model in the population, and of the more frequent label where none is released.
On three randomised trials, each seed is a split; *objective* is the gain over the logged decisions
on held-out rows, in standard deviations of the impact, and 0 where none is released. Both policies
get the same rows, the same constraints and the same test. Standard errors are in parentheses.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from elfair import ELFClassifier, LoggedData
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.data.split import row_keys
from elfair.populations import FosterCare, Lending
from pages import stamp, write_into
from trials import TRIALS, value

STORE = Path(__file__).parent / "stores" / "trees.jsonl"
POLICIES = ("softmax", "tree")
#: Rows of a draw, and of the people that say how accurate a model is.
DRAWN, JUDGING = 5_000, 50_000


def of_population(name: str, policy: str, seed: int) -> dict[str, Any]:
    """One draw from a population."""
    population: Any = FosterCare(alpha=0.9) if name == "foster care" else Lending()
    drawn, people = population.sample(DRAWN, seed=seed), population.sample(JUDGING, seed=10**6)
    data = LoggedData(
        drawn.features,
        drawn.label,
        sensitive_features={"T": drawn.group},
        decision=drawn.decision,
        propensity=drawn.propensity,
        impact=drawn.impact,
    )
    clf, seconds = fitted(data, population.constraints, "accuracy", policy, seed)
    right = max(np.mean(people.label == each) for each in np.unique(people.label))
    worst = -np.inf
    if clf.solution_found_:
        new = clf.predict_proba(people.features)
        right = new[np.arange(JUDGING), np.searchsorted(clf.classes_, people.label)].mean()
        worst = max(population.violations(lambda X: clf.predict_proba(X)[:, 1]).values())
    return result(clf, float(right), seconds, violated=bool(worst > 0))


def of_trial(name: str, policy: str, seed: int) -> dict[str, Any]:
    """One split of a trial."""
    trial = TRIALS[name]()
    data, n = trial.data(), len(trial.decision)
    clf, seconds = fitted(data, trial.constraints, "E[impact]", policy, seed)
    held = np.setdiff1d(np.arange(n), np.argsort(row_keys(data, seed))[: round(0.6 * n)])
    gain = 0.0
    if clf.solution_found_:
        gain = value(trial, held, clf.predict_proba(trial.features.to_numpy(float)[held]))
    return result(clf, gain, seconds)


def fitted(
    data: LoggedData, constraints: Any, objective: str, policy: str, seed: int
) -> tuple[ELFClassifier, float]:
    """A fit, and the processor time it took."""
    clf = ELFClassifier(constraints, objective=objective, policy=policy, random_state=seed)
    began = process_time()
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):  # each fit is a study of its own
        warnings.simplefilter("ignore")
        clf.fit(data)
    return clf, process_time() - began


def result(
    clf: ELFClassifier, objective: float, seconds: float, *, violated: bool = False
) -> dict[str, Any]:
    """What the store keeps of a fit."""
    return {
        "released": bool(clf.solution_found_),
        "violated": violated,
        "objective": objective,
        "forecast": clf.certificate_.search.forecast,
        "seconds": seconds,
    }


CASES = {
    **dict.fromkeys(("foster care", "lending"), of_population),
    **dict.fromkeys(("actg175", "jobcorps", "stroke"), of_trial),
}


def stored() -> dict[tuple[str, str, int], dict[str, Any]]:
    """All results so far."""
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    return {(each["case"], each["policy"], each["seed"]): each for each in map(json.loads, lines)}


def missing(seeds: int, cases: list[str]) -> Iterator[tuple[str, str, int]]:
    """What is still to be done, seed by seed."""
    known = stored()
    for case in cases:
        for seed in range(seeds):
            yield from ((case, p, seed) for p in POLICIES if (case, p, seed) not in known)


def table(seeds: int) -> str:
    """The table of the page."""
    lines = [
        f"{stamp()}.\n",
        "| case | seeds | policy | released | violated | objective | tree - softmax |",
        "|---|---|---|---|---|---|---|",
    ]
    every = stored()
    for case in CASES:
        pairs = [[every.get((case, policy, seed)) for policy in POLICIES] for seed in range(seeds)]
        both = [pair for pair in pairs if None not in pair]
        for k, policy in enumerate(POLICIES):
            rows: list[Any] = [pair[k] for pair in both]
            if not rows:
                continue
            known = {
                name: np.mean([row[name] for row in rows])
                for name in ("released", "violated", "objective")
            }
            apart = np.array([b["objective"] - a["objective"] for a, b in both])  # type: ignore[index]
            error = apart.std(ddof=1) / np.sqrt(apart.size) if apart.size > 1 else np.nan
            shown = f"{apart.mean():+.3f} ({error:.3f})" if k else ""
            violated = f"{known['violated']:.2f}" if CASES[case] is of_population else ""
            lines.append(
                f"| {case} | {len(rows)} | {policy} | {known['released']:.2f} | {violated} "
                f"| {known['objective']:.3f} | {shown} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Do what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    for case, policy, seed in missing(given.seeds, given.cases):
        one = {"case": case, "policy": policy, "seed": seed, **CASES[case](case, policy, seed)}
        with STORE.open("a") as file:
            file.write(json.dumps(one) + "\n")
    print(table(given.seeds))
    if given.page:
        write_into("trees.md", "trees", table(given.seeds))


if __name__ == "__main__":
    main()
