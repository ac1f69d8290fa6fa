"""Does a plan keep its word: at the rows it names for 90 %, how often is a model released?

In the first part, each seed draws a pilot, plans from it, draws as many fresh rows as the plan
names, and fits a model to them. The second part takes the plan of one pilot and draws fresh rows
for it again and again. The table goes to docs/planning.md.

    python benchmarks/planning.py                 # 200 seeds per line: 2 processor hours
    python benchmarks/planning.py --seeds 20      # a first look
    python benchmarks/planning.py --write-only    # the table from what was measured so far
    python benchmarks/planning.py --forecast      # the forecast of check against what fit releases

Every measurement is a line in studies/planning.jsonl (not committed), so you can stop and resume;
--store names another file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from elfair import CertificateWarning, ELFClassifier, LoggedData, check
from elfair.planning import plan_rows
from elfair.populations import FosterCare
from pages import stamp, write_into

ALPHAS = (0.9, 0.5, 0.2)
PILOTS = (1_000, 2_000, 5_000)
SHARE = 0.9
STORE = Path(__file__).parents[1] / "studies" / "planning.jsonl"
#: Seeds of fresh rows: none of them is the seed of a pilot.
FRESH = 10**6


class Squares:
    """A population that had no part in the choice of the forecast.

    The effect of a decision goes with the square of a feature, so neither the model nor a
    regression can know it; impacts have heavy tails, and the smaller group more spread.

    Parameters
    ----------
    alpha : float
        The size of the effect.
    """

    constraints = (*FosterCare().constraints[:2], "accuracy >= 0.55")

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def sample(self, n: int, seed: int) -> SimpleNamespace:
        """Draw a log."""
        rng = np.random.default_rng([seed, 77])
        x, group = rng.normal(size=(n, 3)), (rng.random(n) < 0.3).astype(int)
        likely = 1 / (1 + np.exp(0.4 * group - 0.8 * x[:, 0]))
        decision = (rng.random(n) < likely).astype(int)
        label = (x[:, 0] + 0.5 * x[:, 1] + 0.8 * group + rng.normal(size=n) > 0.3).astype(int)
        effect = self.alpha * (0.3 + 0.5 * (x[:, 1] ** 2 - 1) + 0.2 * group)
        noise = rng.standard_t(4, size=n) * (1 + 0.5 * group)
        logged = {
            "sensitive_features": {"T": group},
            "decision": decision,
            "propensity": np.where(decision == 1, likely, 1 - likely),
            "impact": decision * effect + 0.3 * x[:, 0] + noise,
        }
        return SimpleNamespace(features=x, label=label, logged=logged)


#: Where the forecast is compared with what fit releases.
FORECASTS = (
    *((FosterCare(alpha=a), n) for a, n in ((0.0, 2_000), (0.2, 2_000), (0.2, 5_000), (0.5, 500))),
    *((Squares(a), n) for a, n in ((0.0, 2_000), (0.5, 4_000), (1.0, 1_500), (2.0, 500))),
)


def forecasts(population: Any, n: int, seed: int) -> tuple[float, bool]:
    """The forecast of check, and whether fit releases a model."""
    draw = population.sample(n, seed)
    data = LoggedData(draw.features, draw.label, **draw.logged)
    clf = ELFClassifier(list(population.constraints))
    chance = check(clf, data).chance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        clf.fit(draw.features, draw.label, **draw.logged)
    return chance or 0.0, clf.solution_found_


def print_forecasts(seeds: int, processes: int) -> None:
    """One line for each population and number of rows."""
    print("population, alpha, rows: forecast, released")
    for population, n in FORECASTS:
        jobs = (delayed(forecasts)(population, n, seed) for seed in range(seeds))
        chance, released = np.mean(Parallel(processes)(jobs), axis=0)
        kind = type(population).__name__
        print(f"{kind} {population.alpha:g} {n}: {chance:.2f} {released:.2f}")


def solved(alpha: float, rows: int, seed: int) -> bool:
    """Whether a model is released from this many fresh rows."""
    population = FosterCare(alpha=alpha)
    draw = population.sample(rows, FRESH + seed)
    clf = ELFClassifier(population.constraints, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)  # 4 standard errors occur
        return clf.fit(draw.features, draw.label, **draw.logged).solution_found_


def planned(alpha: float, pilot: int, seed: int) -> dict[str, Any]:
    """The plan from one pilot, in short."""
    population = FosterCare(alpha=alpha)
    draw = population.sample(pilot, seed)
    data = LoggedData(draw.features, draw.label, **draw.logged)
    began = time.process_time()
    plan = plan_rows(ELFClassifier(population.constraints, random_state=seed), data, share=SHARE)
    return {
        "verdict": plan.verdict,
        "rows": plan.rows,
        "low": plan.low,
        "high": plan.high,
        "seconds": time.process_time() - began,
    }


def trial(alpha: float, pilot: int, seed: int) -> dict[str, Any]:
    """The first part: a plan from a pilot, and a fit to as many fresh rows."""
    plan = planned(alpha, pilot, seed)
    found = None if plan["rows"] is None else solved(alpha, plan["rows"], seed)
    return {"alpha": alpha, "pilot": pilot, "seed": seed, **plan, "found": found}


def again(alpha: float, pilot: int, rows: int, seed: int) -> dict[str, Any]:
    """The second part: a fit to as many fresh rows as one plan named."""
    known = {"alpha": alpha, "pilot": pilot, "seed": seed, "again": rows}
    return {**known, "found": solved(alpha, rows, FRESH + seed)}


def read(store: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def run(jobs: Iterable[Any], store: Path, processes: int) -> None:
    """Run the missing jobs, and store each result at once."""
    store.parent.mkdir(parents=True, exist_ok=True)
    pool = Parallel(processes, return_as="generator_unordered")
    with store.open("a") as lines:
        for result in pool(jobs):
            lines.write(json.dumps({**result, "where": stamp()}) + "\n")
            lines.flush()


def measure(store: Path, seeds: int, processes: int, alpha: float) -> None:
    """Both parts, for every pilot."""
    done = {(r["alpha"], r["pilot"], r["seed"]) for r in read(store) if "again" not in r}
    cells = [(alpha, pilot) for pilot in PILOTS]
    keys = [(*cell, seed) for seed in range(seeds) for cell in cells]
    run((delayed(trial)(*key) for key in keys if key not in done), store, processes)
    found = read(store)
    done = {(r["alpha"], r["pilot"], r["seed"]) for r in found if "again" in r}
    # The first pilot, whatever its luck.
    first = {(r["alpha"], r["pilot"]): r["rows"] for r in found if r["seed"] == 0 and "rows" in r}
    keys = [(*cell, seed) for cell in cells if first[cell] for seed in range(seeds)]
    jobs = (delayed(again)(*key[:2], first[key[:2]], key[2]) for key in keys if key not in done)
    run(jobs, store, processes)


def rate(found: list[bool]) -> str:
    """A share of solutions, with its standard error."""
    if not found:
        return "–"
    share = float(np.mean(found))
    return f"{share:.3f} ± {sqrt(share * (1 - share) / len(found)):.3f}"


def table(found: list[dict[str, Any]]) -> str:
    """One line a cell."""
    lines = [
        "| alpha | pilot | plans | rows named, median (10 to 90 %) | of them extrapolated | "
        "no rows named | solutions | one pilot's rows | solutions | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for alpha in ALPHAS:
        for pilot in PILOTS:
            here = [r for r in found if (r["alpha"], r["pilot"]) == (alpha, pilot)]
            plans = [r for r in here if "again" not in r]
            if not plans:
                continue
            named = [r for r in plans if r["rows"] is not None]
            rows = [r["rows"] for r in named]
            said = "–"
            if rows:
                low, middle, high = np.quantile(rows, [0.1, 0.5, 0.9])
                said = f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"
            repeated = [r for r in here if "again" in r]
            one = f"{repeated[0]['again']:,}" if repeated else "none"
            beyond = sum(r["verdict"] == "extrapolated" for r in named)
            seconds = np.median([r["seconds"] for r in plans])
            lines.append(
                f"| {alpha:g} | {pilot:,} | {len(plans)} | {said} | {beyond} | "
                f"{len(plans) - len(named)} | {rate([r['found'] for r in named])} | {one} | "
                f"{rate([r['found'] for r in repeated])} | {seconds:.1f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, print the table and put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores unless given")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--write-only", action="store_true")
    parser.add_argument("--forecast", action="store_true")
    options = parser.parse_args()
    if options.forecast:
        print_forecasts(options.seeds, options.jobs)
        return
    if not options.write_only:
        for alpha in ALPHAS:
            measure(options.store, options.seeds, options.jobs, alpha)
    found = read(options.store)
    text = table(found) + f"\n\n{'; '.join(dict.fromkeys(r['where'] for r in found))}."
    print(text)
    write_into("planning.md", "planning", text)


if __name__ == "__main__":
    main()
