"""How long a fit with many constraints takes: 25 intersectional groups, 50 constraints and more.

Processor time of one thread, the median of several fits, with the share of it that reading the
constraints takes. The table goes to docs/fairness-constraints.md.

    python benchmarks/many.py
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from elfair import ELFClassifier, LoggedData, Recipe, no_worse, parity
from elfair.statistics.claims import read_constraints
from pages import stamp, write_into

SIZES = (5_000, 50_000)
REPEATS = 3


def draw(n: int, seed: int) -> dict[str, object]:
    """Logged decisions about people of 5 races and 5 regions, of unequal size."""
    rng = np.random.default_rng(seed)
    race = rng.choice(list("ABCDE"), size=n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    region = rng.integers(0, 5, size=n)
    features = rng.standard_normal((n, 6))
    features[:, 0] += 0.3 * (race == "A")
    label = (rng.random(n) < 1 / (1 + np.exp(-2 * features[:, 0] - features[:, 1]))).astype(int)
    p = 1 / (1 + np.exp(-0.8 * features[:, 0]))
    decision = (rng.random(n) < p).astype(int)
    impact = np.where(decision == label, 1.0, 0.0) + rng.normal(0, 0.5, n)
    return {
        "X": features,
        "y": label,
        "sensitive_features": {"race": race, "region": region},
        "decision": decision,
        "propensity": np.where(decision == 1, p, 1 - p),
        "impact": impact,
    }


CASES: dict[str, Sequence[str | Recipe]] = {
    "3 texts": ["accuracy >= 0.6", "PR <= 0.8", "E[impact] >= E_logged[impact]"],
    "no_worse of 25 intersections": [no_worse(["race", "region"])],
    "the same, and parity of 5 races and 5 regions": [
        no_worse(["race", "region"]),
        parity("race", tolerance=0.2),
        parity("region", tolerance=0.2),
        "accuracy >= 0.6",
    ],
}


def measured(n: int, constraints: Sequence[str | Recipe]) -> tuple[int, float, float, bool]:
    """Statements, the time to read them and to fit (seconds), and whether a solution was found."""
    rows = draw(n, seed=0)
    data = LoggedData(**rows)
    reading, fitting = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        claims = read_constraints(constraints, 0.1, data)
        reading.append(time.process_time() - start)
        start = time.process_time()
        clf = ELFClassifier(constraints).fit(**rows)
        fitting.append(time.process_time() - start)
    return len(claims), float(np.median(reading)), float(np.median(fitting)), clf.solution_found_


def main() -> None:
    """Fill the page."""
    lines = [
        f"Processor time, one thread, median of {REPEATS} fits. {stamp()}.\n",
        "| n | constraints | statements | reading | fit | solution found |",
        "|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        for name, constraints in CASES.items():
            count, reading, fitting, found = measured(n, constraints)
            lines.append(
                f"| {n:,} | {name} | {count} | {reading:.2f} s | {fitting:.2f} s "
                f"| {'yes' if found else 'no'} |"
            )
    write_into("fairness-constraints.md", "many", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
