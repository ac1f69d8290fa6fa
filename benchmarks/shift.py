"""People who change by exactly a likelihood ratio: how often a model at the edge passes, and how
often a break-even shift is above the true one.

    python benchmarks/shift.py [draws] [rows ...]    # for docs/changing-worlds.md; goes on

Among the people in the data, one kind has the share 1 / (1 + S). Tomorrow it is S times as
frequent, and everybody else 1 / S times: no change within S is worse. The new model is exactly at
the edge tomorrow.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

from elfair import LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning
from levels import DRAWS, SHOWN, SIZES, Kept, shares
from pages import stamp, write_into

N = 1_000
DELTA = 0.1
SHIFT = 1.49  # a break-even shift of 1.5 is too large
SHARE = 1 / (1 + SHIFT)
BETA = 0.5
#: What the new model changes, by kind: tomorrow, everybody together neither gains nor loses.
GAINS = np.array([0.25 * SHIFT, -0.25])
#: Decision 1 by kind, where features tell kinds apart; without them it is SEEN for everybody.
NEW = BETA + GAINS
SEEN = 0.8
SPREAD, NOISE = 0.05, 1.0

#: The statement of each world: about decisions of kinds that features tell apart, about what these
#: decisions bring about (with much noise, too), and about what decisions bring about for kinds that
#: nothing tells apart.
STATEMENTS = {
    "decisions": f"P[decision == 1] >= {BETA}",
    "impact, features change": "E[impact] >= E_logged[impact]",
    "noisy impact, features change": "E[impact] >= E_logged[impact]",
    "impact, what decisions do changes": "E[impact] >= E_logged[impact]",
}
WORLDS = tuple(STATEMENTS)


def people(world, rng, n, share=SHARE):
    """The kind of each of n people, the new model's probability, and what decision 1 brings."""
    kind = (rng.random(n) < share).astype(int)
    if world == WORLDS[3]:
        return kind, np.full(n, SEEN), GAINS[kind] / (SEEN - BETA)
    return kind, NEW[kind], np.ones(n)


def draw(world, seed, n=N):
    """A log of today's people, and the new model's probabilities."""
    rng = np.random.default_rng(seed)
    kind, new, gain = people(world, rng, n)
    decision = (rng.random(n) < BETA).astype(int)
    seen = kind if world != WORLDS[3] else rng.integers(0, 2, n)
    spread = NOISE if world == WORLDS[2] else SPREAD
    impact = gain * decision + rng.uniform(-spread, spread, n)
    return new, LoggedData(
        seen[:, None].astype(float), decision=decision, behavior=np.full((n, 2), BETA),
        impact=impact, classes=[0, 1],
    )  # fmt: skip


def certified(world, seed, n=N, **parameters):
    new, data = draw(world, seed, n)
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        return certify(new, data, STATEMENTS[world], delta=DELTA, **parameters)


def passes(world, parameters, seed):
    return certified(world, seed, **parameters).passed


def even(world, seed, n=N):
    """The break-even shift."""
    return certified(world, seed, n).constraints[0].break_even_shift


#: What is declared; None looks at the break-even shift.
HOW = {
    f"shift = {SHIFT}, the true one": SHIFT,
    "shift = 1.2, too small": 1.2,
    "shift = 1, none allowed for": 1.0,
    "break-even shift above the true one": None,
}


def found(how, n, seed):
    """Whether the statement of each world passes, or has too large a break-even shift."""
    shift = HOW[how]
    if shift is None:
        values = [even(world, seed, n) for world in WORLDS]
        return [value is not None and value > SHIFT for value in values]
    return [certified(world, seed, n, shift=shift).passed for world in WORLDS]


def main():
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("shift")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for how in HOW:
            kept.draw(f"{how}, {n}", partial(found, how, n), draws)
            print(n, how, *shares(kept.found(f"{how}, {n}")), flush=True)
    lines = [f"| declared | rows | draws | {' | '.join(WORLDS)} |", "|---|---|---|---|---|---|---|"]
    for n in SIZES:
        for how in HOW:
            made = kept.found(f"{how}, {n}")
            if len(made) >= SHOWN:
                lines.append(f"| {how} | {n:,} | {len(made)} | {' | '.join(shares(made))} |")
    lines += ["", f"delta = {DELTA}. {stamp()}."]
    write_into("changing-worlds.md", "shift", "\n".join(lines))


if __name__ == "__main__":
    main()
