"""Worlds whose propensities nobody logged, and models exactly at the edge: docs/no-propensities.md.

    python benchmarks/estimated.py [draws] [rows ...]    # goes on where it stopped; hours in all

Who is decided about often fares differently anyway, so propensities that are off bias a comparison.
The new model takes decision 1 about each person with probability 0.7 (of three decisions: 0.5, and
0.25 for the others). Decisions differ in what they do to people, and by how much is set so that the
new model is exactly as good as the old one in each world.

None of these worlds had a part in the choices that estimation makes (its forms, its folds, how many
groups are left out): those were made with the world of benchmarks/propensities.py in view, and with
a sine of one feature.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import special

from elfair import CertificateWarning, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import DataError
from levels import DRAWS, SHOWN, SIZES, Kept, shares, write_by_size

DELTA, TRUTH = 0.1, 400_000
UP, DOWN = "E[impact] >= E_logged[impact]", "E[impact] <= E_logged[impact] + 0.000001"


def _three(x: Any, group: Any, u: Any) -> Any:
    second, third = 0.6 * x[:, 0] - 0.3 * group, 0.5 * x[:, 1] - 0.4 * x[:, 0]
    return np.column_stack([np.zeros(len(x)), second, third])


def _two(score: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda x, group, u: np.column_stack([np.zeros(len(x)), score(x, group, u)])


@dataclass(frozen=True)
class World:
    """How decisions were taken.

    Parameters
    ----------
    scores : callable
        The log-odds of each decision, from features, group and an impression nobody wrote down.
    hidden : float
        How much that impression says about the impact.
    sharp : float
        Decisions follow from scores if this is large.
    """

    scores: Callable[[Any, Any, Any], Any]
    hidden: float = 0.0
    sharp: float = 1.0

    def draw(self, n: int, seed: int, price: float) -> dict[str, Any]:
        """N people; each decision but the first costs the price."""
        rng = np.random.default_rng(seed)
        x, u, group = rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 2, n)
        chances = special.softmax(self.sharp * self.scores(x, group, u), axis=1)
        decision = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        gain = np.where(decision == 1, 0.4 * x[:, 1] + 0.2 * group, 0.3 * x[:, 0])
        level = 0.4 * x[:, 0] ** 2 + 0.4 * x[:, 1] + 0.4 * np.sin(x[:, 0]) + 0.3 * group
        impact = level + self.hidden * u + (decision > 0) * (gain - price)
        noise = rng.normal(0, 0.5, n)
        names = {"x": x, "group": group, "decision": decision, "chances": chances}
        return {**names, "impact": impact + noise, "gains": self._gains(x, group)}

    @staticmethod
    def _gains(x: Any, group: Any) -> Any:
        return np.column_stack([np.zeros(len(x)), 0.4 * x[:, 1] + 0.2 * group, 0.3 * x[:, 0]])

    @property
    def new(self) -> Any:
        """The new model's probabilities."""
        count = self.scores(np.zeros((1, 3)), np.zeros(1), np.zeros(1)).shape[1]
        return np.array([0.3, 0.7]) if count == 2 else np.array([0.25, 0.5, 0.25])


WORLDS = {
    "logistic": World(_two(lambda x, g, u: 0.8 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * g)),
    "smooth": World(_two(lambda x, g, u: np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] ** 2 - 0.5)),
    "by group": World(_two(lambda x, g, u: np.where(g == 1, 0.9 * x[:, 0], -0.6 * x[:, 0] - 0.4))),
    "three decisions": World(_three),
    "steps": World(_two(lambda x, g, u: np.where((x[:, 0] > 0) ^ (x[:, 1] > 0.5), 0.9, -0.7))),
    "an impression that is not in the table": World(
        _two(lambda x, g, u: 0.6 * x[:, 0] + 0.6 * u), hidden=0.5
    ),
}


@cache
def price(world: str) -> float:
    """What makes the new model exactly as good as the old one."""
    of = WORLDS[world]
    people = of.draw(TRUTH, 987_654, 0.0)
    more = of.new - people["chances"]
    count = of.new.size
    gained = (more * people["gains"][:, :count]).sum(axis=1).mean()
    return float(gained / more[:, 1:].sum(axis=1).mean())


def table(world: str, n: int, seed: int, propensity: str, better: float = 0.0) -> LoggedData:
    """The log, with propensities as they were (``"known"``) or estimated."""
    of = WORLDS[world].draw(n, seed, price(world) - better)
    known = propensity == "known"
    return LoggedData(
        of["x"],
        sensitive_features={"T": of["group"]},
        decision=of["decision"],
        propensity=None if known else "estimated",
        behavior=of["chances"] if known else None,
        impact=of["impact"],
        classes=list(range(WORLDS[world].new.size)),
    )


def passes(
    world: str, n: int, propensity: str, aside: float, seed: int, better: float = 0.0
) -> tuple[bool, bool]:
    """Whether "no worse" passes, and "no better"; at the edge, each may with probability delta."""
    data = table(world, n, seed, propensity, better)
    new = np.tile(WORLDS[world].new, (n, 1))
    settings = {"estimator": "dr", "nuisance_fraction": aside, "random_state": seed}
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        try:
            certificate = certify(new, data, [UP, DOWN], delta=DELTA, **settings)
        except DataError:  # the estimate does not fit the decisions: nothing is released
            return False, False
    passed = {each.constraint: each.passed for each in certificate.constraints}
    objected = bool(certificate.objections)
    return passed[UP] and not objected, passed[DOWN] and not objected


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("estimated")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for world in WORLDS:
            for how in ("known", "estimated"):
                kept.draw(f"{world}, {how}, {n}", partial(passes, world, n, how, 0.5), draws)
            print(n, world, *shares(kept.found(f"{world}, estimated, {n}")), flush=True)
    head = (
        '| decisions | rows | draws | known: "no worse" passes | "no better" | '
        'estimated: "no worse" passes | "no better" |'
    )
    note = f"delta = {DELTA}. "
    write_by_size("no-propensities.md", "estimated", head, partial(lines_of, kept), note)


def lines_of(kept: Kept, n: int) -> list[str]:
    """The lines of the table of one size, from all draws that are there."""
    lines = []
    for world in WORLDS:
        known, found = (kept.found(f"{world}, {how}, {n}") for how in ("known", "estimated"))
        if min(len(known), len(found)) >= SHOWN:
            shown = " | ".join([*shares(known), *shares(found)])
            lines.append(f"| {world} | {n:,} | {min(len(known), len(found))} | {shown} |")
    return lines


if __name__ == "__main__":
    main()
