"""What taking decisions blindly costs now, and what it brings in the next round.

*Now*: models for the foster-care-like population, returned and accurate as the truth says.

*Next round*: the same model has decided about new people, and what decisions do has changed. For
people with X1 = 1, who nearly all get decision 1, it now takes away what it used to add. A second
model is searched for in that log, to make impacts as large as possible without a loss for either
group. What it gains over the first model is a share of what the best possible model gains.

    python benchmarks/exploration.py

The table goes to docs/method.md.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from elfair import ELFClassifier, no_worse
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.populations import FosterCare
from elfair.types import Floats, Integers
from pages import stamp, write_into

SHARES = (2e-4, 0.005, 0.01, 0.02, 0.05, 0.1)
ROWS = 1_000
#: How many decisions of the first model the second learns from.
LOGGED = (1_000, 4_000)
SEEDS = 60
ALPHA = 0.9
#: How many people the gain of a second model is an average over.
CROWD = 50_000


class Rounds(NamedTuple):
    """What came of two rounds.

    Parameters
    ----------
    accuracy : float or None
        That of the first model; None if there is none.
    gains : tuple of float
        For each size of the log, that of the second model over the first, as a share of what can be
        gained; 0 if there is no second model.
    """

    accuracy: float | None
    gains: tuple[float, ...]


def turned(decision: Integers | Floats, features: Floats) -> Floats:
    """What decisions add to the impact after the change: less than nothing where X1 = 1."""
    return np.asarray(ALPHA * decision * np.where(features[:, 0] == 1, -1, 1))


def rounds(share: float, seed: int) -> Rounds:
    """Two rounds with so much exploration in the first."""
    population = FosterCare(alpha=ALPHA)
    with counted_in(LooksOfProcess()):  # each share is a study of its own
        draw = population.sample(ROWS, 3 * seed)
        first = ELFClassifier(population.constraints, exploration=share, random_state=seed)
        first.fit(draw.features, draw.label, **draw.logged)
        if not first.solution_found_:
            return Rounds(None, ())
    gains = tuple(gain_of_second(first, n, seed) for n in LOGGED)
    return Rounds(population.truth(first).accuracy, gains)


def gain_of_second(first: ELFClassifier, n: int, seed: int) -> float:
    """What a second model gains that learns from so many decisions of the first."""
    population = FosterCare(alpha=ALPHA)
    people = population.sample(n, 3 * seed + 1)
    decision, propensity = first.decide(people.features, random_state=seed)
    own = people.impact - ALPHA * people.decision
    impact = own + turned(decision, people.features)
    log = replace(people, decision=decision, propensity=propensity, impact=impact)
    with counted_in(LooksOfProcess()):
        second = ELFClassifier([no_worse("T")], objective="E[impact]", random_state=seed)
        second.fit(log.features, log.label, **log.logged)
    if not second.solution_found_:
        return 0.0
    crowd = population.sample(CROWD, 3 * seed + 2).features
    worth = [turned(clf.predict_proba(crowd)[:, 1], crowd).mean() for clf in (first, second)]
    best = turned(crowd[:, 0] == 0, crowd).mean()
    return float((worth[1] - worth[0]) / (best - worth[0]))


def main() -> None:
    """Fill the table."""
    second = " | ".join(f"second model, {n:,} rows: returned / gain" for n in LOGGED)
    lines = [
        f"| exploration | returned | accuracy | largest weight | {second} |",
        "|---" * (4 + len(LOGGED)) + "|",
    ]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int)
    with ProcessPoolExecutor(parser.parse_args().jobs) as pool:
        for share in SHARES:
            came = list(pool.map(partial(rounds, share), range(SEEDS), chunksize=5))
            firsts = [each.accuracy for each in came if each.accuracy is not None]
            gains = np.array([each.gains for each in came if each.gains])
            second = " | ".join(f"{np.mean(of != 0):.2f} / {np.mean(of):.2f}" for of in gains.T)
            lines.append(
                f"| {share:g} | {len(firsts) / SEEDS:.3f} | {np.mean(firsts):.3f} | "
                f"{2 / share:,.0f} | {second} |"
            )
            print(lines[-1], flush=True)
    lines.append(
        f"\n{SEEDS} first models from {ROWS:,} rows each, alpha = {ALPHA}, delta = 0.1. {stamp()}."
    )
    write_into("method.md", "exploration", "\n".join(lines))


if __name__ == "__main__":
    main()
