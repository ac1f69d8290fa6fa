"""A split by time against a random one, where what decisions bring about changes over time.

    python benchmarks/time_split.py [draws]    # for docs/changing-worlds.md; goes on

Decision 1 brings a gain that depends on when it was taken. A search looks for the model that takes
it most often, and no one may be worse off than before. Tomorrow, just after the last row, the gain
is what it was last.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

from elfair import ELFClassifier, LoggedData
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning
from levels import SHOWN, Kept
from pages import stamp, write_into

N = 1_000
DELTA = 0.1
#: The share of rows that are tested.
RECENT = 0.4
#: The gain of decision 1 at a time from 0 to 1.
WORLDS = {
    "it helps a little, and nothing changes": lambda t: np.full(t.shape, 0.06),
    "it helped, and helps less and less until it harms": lambda t: 0.5 - 0.75 * t,
    "it helped, and harms in the last fifth": lambda t: np.where(t < 0.8, 0.5, -0.25),
    "it harmed, and helps in the last half": lambda t: np.where(t < 0.5, -0.5, 0.3),
    # Among the most recent rows it neither helps nor harms: the edge of the promise.
    "at the edge": lambda t: np.where(t < 1 - RECENT, 0.5, 0.0),
}


def draw(world, seed, n=N):
    """A log, the earliest row first."""
    rng = np.random.default_rng(seed)
    t = (np.arange(n) + 0.5) / n
    decision = rng.integers(0, 2, n)
    impact = WORLDS[world](t) * decision + rng.uniform(-0.5, 0.5, n)
    return LoggedData(
        rng.integers(0, 2, n)[:, None].astype(float), decision=decision, time=t, impact=impact,
        behavior=np.full((n, 2), 0.5), classes=[0, 1],
    )  # fmt: skip


def found(world, split, seed, n=N):
    """Whether a model is returned, and whether people are worse off with it tomorrow."""
    clf = ELFClassifier(
        "E[impact] >= E_logged[impact]", objective="P[decision == 1]", delta=DELTA, split=split,
        candidate_fraction=1 - RECENT, candidates=3, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        clf.fit(draw(world, seed, n))
    if not clf.solution_found_:
        return False, False
    more = clf.predict_proba(np.array([[0.0], [1.0]]))[:, 1].mean() - 0.5
    return True, bool(more * WORLDS[world](np.ones(1))[0] < 0)


def passes_at_the_edge(seed):
    """Whether a model is returned that the most recent rows are at the edge of: any model is."""
    return found("at the edge", "time", seed)[0]


def main():
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 250
    kept = Kept("time_split")
    lines = ["| what decision 1 does | split | draws | a model is returned | and harms tomorrow |",
             "|---|---|---|---|---|"]  # fmt: skip
    for world in list(WORLDS)[:-1]:
        for split in ("random", "time"):
            case = f"{world}, {split}"
            kept.draw(case, partial(found, world, split), draws)
            made = kept.found(case)
            if len(made) >= SHOWN:
                shares = " | ".join(f"{share:.2f}" for share in made.mean(axis=0))
                lines.append(f"| {world} | {split} | {len(made)} | {shares} |")
            print(case, made.mean(axis=0), flush=True)
    lines += ["", f"{N:,} rows, {RECENT:.0%} of them tested; delta = {DELTA}. {stamp()}."]
    write_into("changing-worlds.md", "time", "\n".join(lines))


if __name__ == "__main__":
    main()
