"""People whose impact is hardly ever seen: how often a statement about them passes at its edge.

    python benchmarks/hardly_seen.py [draws] [rows ...]    # for docs/missing-impact.md; goes on

Those who are seen gain from decision 1, those who are hardly ever seen lose as much in all, so that
"no worse" holds with equality for the group that the statement is about; a test at delta = .1 may
pass .1 of the time. Nothing is said to elfair but that impacts are missing at random.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from elfair import LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import DataError
from levels import DRAWS, SHOWN, SIZES, Kept, shares
from pages import stamp, write_into

DELTA = 0.1
TEXT = "E[impact | T == 1] >= E_logged[impact | T == 1]"
#: The new model takes decision 1 about everyone with this probability, the old one took it with .5.
NEW, GAIN = 0.9, 0.4


def worlds(x, z, group, near, decision, rng):
    """For each world, who is hardly ever seen, and how often they are."""
    n = len(group)
    return {
        "the whole group": (group == 1, 0.0),
        "the group with decision 1": ((group == 1) & (decision == 1), 0.0),
        "the group, but for 1 in 200": (group == 1, 0.005),
        "the group, but for 1 in 30": (group == 1, 1 / 30),
        "a fifth of the group": ((group == 1) & (z < 0.2), 0.0),
        "a fifth of the group, but for 1 in 200": ((group == 1) & (z < 0.2), 0.005),
        "whom a feature names that is nearly the group": (near == 1, 0.0),
        "one end of a feature": (x[:, 0] > 1, 0.0),
        "the middle of a feature": (np.abs(x[:, 0]) < 0.3, 0.0),
        "where two features are large": ((x[:, 0] > 0.3) & (x[:, 1] > 0.3), 0.0),
        "nobody": (rng.random(n) < 0.0, 0.0),
    }


WORLDS = tuple(worlds(np.zeros((1, 2)), *np.zeros((4, 1)), np.random.default_rng(0)))


def table(world, n, seed):
    """The rows."""
    rng = np.random.default_rng([seed, n, 21])
    x, z, group = rng.normal(size=(n, 2)), rng.random(n), rng.integers(0, 2, n)
    near = np.where(rng.random(n) < 0.95, group, 1 - group)
    decision = rng.integers(0, 2, n)
    hidden, share = worlds(x, z, group, near, decision, rng)[world]
    # Of decision 1 alone, those are hidden who would be hidden with it.
    concerned = worlds(x, z, group, near, np.ones(n), rng)[world][0]
    # Among the group: what is hidden loses what the others gain. Where all are hidden, all lose 0.
    of_group = HIDDEN[world]
    loss = GAIN * (1 - of_group) / of_group if of_group else 0.0
    effect = np.where(concerned, -loss, GAIN if 0 < of_group < 1 else 0.0)
    if of_group == 1:  # what others gain says nothing of them
        effect = np.where(group == 1, 0.0, GAIN)
    early = x[:, 0] + rng.normal(size=n)
    impact = early + decision * effect + rng.normal(size=n)
    seen = rng.random(n) < np.where(hidden, share, 1 / (1 + np.exp(-(1 + 0.5 * early))))
    return LoggedData(
        np.column_stack([x, z < 0.2, near]),
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=np.where(seen, impact, np.nan),
        missing_impact="at random",
        early={"early": early},
    )


def _phi(x):
    from scipy.stats import norm

    return float(norm.cdf(x))


#: The share of the group that is hidden in each world.
HIDDEN = dict(
    zip(
        WORLDS,
        (1, 1, 1, 1, 0.2, 0.2, 0.95, 1 - _phi(1), 2 * _phi(0.3) - 1, (1 - _phi(0.3)) ** 2, 0),
        strict=True,
    )
)


def passes(world, n, seed):
    """Whether the statement passes; a table that is refused does not."""
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = table(world, n, seed)
            return certify(np.full(n, NEW), data, TEXT, delta=DELTA).passed
        except DataError:
            return False


def main() -> None:
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("hardly_seen")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for world in WORLDS:
            kept.draw(f"{world}, {n}", lambda seed, of=(world, n): [passes(*of, seed)], draws)
            print(n, world, *shares(kept.found(f"{world}, {n}")), flush=True)
    lines = ["| hardly ever seen | rows | draws | passes |", "|---|---|---|---|"]
    for n in SIZES:
        for world in WORLDS:
            found = kept.found(f"{world}, {n}")
            if len(found) >= SHOWN:
                lines.append(f"| {world} | {n:,} | {len(found)} | {shares(found)[0]} |")
    write_into(
        "missing-impact.md", "hardly", "\n".join([*lines, "", f"delta = {DELTA}. {stamp()}."])
    )


if __name__ == "__main__":
    main()
