"""How often a model is returned, how accurate it is, and how often it violates a constraint.

On the foster-care-like population, whose truth is known: the paper's settings against the default
ones, and whether the solution rate tends to 1 as rows grow.

    python benchmarks/foster_care.py               # 200 seeds a cell; about 15 minutes on 2 cores
    python benchmarks/foster_care.py --seeds 20    # a glance

Finished trials are kept in benchmarks/stores/ and not run again while the library's source is the
same, so that a run can be stopped and resumed. The tables go to docs/results.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

import elfair
from elfair import ELFClassifier
from elfair.experiments import FosterCare
from pages import stamp, write_into

Cell = tuple[str, float, int]
CELLS: list[Cell] = [
    *product(["paper"], [0.9], [1_000, 4_096]),
    *product(["default"], [0.9], [250, 500, 1_000, 2_048, 4_096, 16_384, 65_536]),
    *product(["default"], [0.5], [500, 1_000, 2_048, 4_096, 8_192, 16_384, 65_536]),
    *product(["default"], [0.2], [4_096, 8_192, 16_384, 32_768, 65_536]),
    *product(["dr"], [0.9, 0.5], [500, 1_000, 4_096]),
    *product(["crossfit"], [0.9], [250, 500, 1_000, 2_048, 4_096]),
    *product(["crossfit"], [0.5], [500, 1_000, 2_048, 4_096]),
    *product(["crossfit"], [0.2], [4_096, 8_192, 16_384]),
]
STORE = Path(__file__).parent / "stores" / "foster_care.jsonl"


MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "dr": {"estimator": "dr"},
    "crossfit": {"split": "crossfit"},
}


def classifier(mode: str, population: FosterCare, seed: int) -> ELFClassifier:
    """The estimator of a mode."""
    if mode == "paper":
        return ELFClassifier.paper(population.constraints, delta=0.1, random_state=seed)
    return ELFClassifier(population.constraints, delta=0.1, random_state=seed, **MODES[mode])


def trial(cell: Cell, seed: int) -> dict[str, Any]:
    """One data set, one fit, and the truth about the model that came out."""
    mode, alpha, n = cell
    population = FosterCare(alpha=alpha)
    draw = population.sample(n, seed)
    start = time.process_time()
    model = classifier(mode, population, seed).fit(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        impact=draw.impact,
    )
    seconds = time.process_time() - start
    result: dict[str, Any] = {"cell": list(cell), "seed": seed, "seconds": seconds}
    result["returned"] = bool(model.solution_found_)
    if model.solution_found_:
        violations = population.violations(model)
        result["accuracy"] = population.accuracy(model)
        result["violated"] = [bool(violations[group] > 0) for group in (0, 1)]
        result["violated"].append(result["accuracy"] < 0.75)
    return result


def source() -> str:
    """A fingerprint of the library: a store of another version is not mixed in."""
    digest = hashlib.sha256()
    root = Path(elfair.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.parent.name != "report" and path.name not in ("demo.py", "__init__.py"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(seeds: int) -> list[dict[str, Any]]:
    """All trials, those already in the store included."""
    version = source()
    done: dict[tuple[Cell, int], dict[str, Any]] = {}
    if STORE.exists():
        for line in STORE.read_text().splitlines():
            result = json.loads(line)
            if result["source"] == version:
                mode, alpha, n = result["cell"]
                done[(mode, alpha, n), result["seed"]] = result
    wanted = [(cell, seed) for cell in CELLS for seed in range(seeds)]
    missing = [key for key in wanted if key not in done]
    STORE.parent.mkdir(exist_ok=True)
    with STORE.open("a") as store, ProcessPoolExecutor() as pool:
        cells, seeds_left = [cell for cell, _ in missing], [seed for _, seed in missing]
        for key, result in zip(missing, pool.map(trial, cells, seeds_left), strict=True):
            done[key] = {**result, "source": version}
            store.write(json.dumps(done[key]) + "\n")
            store.flush()
    return [done[key] for key in wanted]


def summary(results: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line a cell."""
    for cell in CELLS:
        of_cell = [r for r in results if tuple(r["cell"]) == cell]
        returned = [r for r in of_cell if r["returned"]]
        count = len(of_cell)
        rate = len(returned) / count
        accuracy = [r["accuracy"] for r in returned]
        yield {
            "cell": cell,
            "seeds": count,
            "rate": rate,
            "rate_error": sqrt(rate * (1 - rate) / count),
            "accuracy": float(np.mean(accuracy)) if accuracy else float("nan"),
            "accuracy_error": float(np.std(accuracy) / sqrt(len(accuracy))) if accuracy else 0.0,
            "violated": [sum(r["violated"][j] for r in returned) / count for j in range(3)],
            "milliseconds": 1000 * float(np.median([r["seconds"] for r in of_cell])),
        }


def table(results: list[dict[str, Any]]) -> str:
    """The table of docs/results.md."""
    lines = [
        "| mode | alpha | n | returned | accuracy | T = 0 violated | T = 1 violated "
        "| accuracy < .75 | ms a fit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in summary(results):
        mode, alpha, n = row["cell"]
        violated = " | ".join(f"{share:.3f}" for share in row["violated"])
        lines.append(
            f"| {mode} | {alpha} | {n:,} | {row['rate']:.3f} ± {row['rate_error']:.3f} "
            f"| {row['accuracy']:.4f} ± {row['accuracy_error']:.4f} | {violated} "
            f"| {row['milliseconds']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, print the table and put it into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    start = time.perf_counter()
    results = run(options.seeds)
    text = f"{options.seeds} seeds a cell. {stamp()}.\n\n{table(results)}"
    print(text)
    print(f"\n{time.perf_counter() - start:.0f} s")
    if options.seeds >= 200:
        write_into("results.md", "foster-care", text)


if __name__ == "__main__":
    main()
