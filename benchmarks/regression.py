"""How often ELFRegressor returns a model, at what squared error, and how often it does harm.

The population is `elfair.populations.Dosage`, whose truth is known in closed form.

    python benchmarks/regression.py             # about a minute on 2 cores
    python benchmarks/regression.py --seeds 20

The table goes to docs/regression.md.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from elfair import ELFRegressor
from elfair.populations import Dosage
from pages import stamp, write_into

SIZES = (500, 2_000, 8_000)
#: How many people say what a model does: its mean is not linear near its reach.
CROWD = 100_000
#: Where the constraints bind, and where labels alone harm nobody.
POPULATIONS = {"constraints bind": Dosage(), "nothing binds": Dosage(level=4.3)}


def trial(cell: tuple[str, int, int]) -> tuple[bool, bool, float]:
    """Whether a model was returned, whether it violates a constraint, and its squared error."""
    name, n, seed = cell
    population = POPULATIONS[name]
    draw = population.sample(n, seed)
    reg = ELFRegressor(population.constraints, delta=0.1, random_state=seed).fit(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        behavior_spread=population.spread,
        impact=draw.impact,
    )
    if not reg.solution_found_:
        return False, False, np.nan
    crowd = population.sample(CROWD, seed=10**6)
    mean, spread = reg.predict_distribution(crowd.features)
    harm = [
        population.impact(population.behavior, group)
        - float(population.expected(mean, spread, crowd.group)[crowd.group == group].mean())
        for group in (0, 1)
    ]
    return True, max(harm) > 0, float(np.mean((mean - crowd.label) ** 2 + spread**2))


def main() -> None:
    """Fill the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200)
    seeds = parser.parse_args().seeds
    lines = [
        "| population | n | returned | returned and violated | squared error | least squares |",
        "|---|---|---|---|---|---|",
    ]
    with ProcessPoolExecutor() as pool:
        for name, population in POPULATIONS.items():
            best = population.mse(population.least_squares)
            for n in SIZES:
                cells = [(name, n, seed) for seed in range(seeds)]
                found, violated, mse = map(np.array, zip(*pool.map(trial, cells), strict=True))
                lines.append(
                    f"| {name} | {n:,} | {found.mean():.3f} | {violated.mean():.3f} | "
                    f"{np.nanmean(mse):.3f} | {best:.3f} |"
                )
    lines.append(f"\n{seeds} seeds per line, delta = 0.1; errors are those of returned models.")
    lines.append(f"{stamp()}.")
    write_into("regression.md", "dosage", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
