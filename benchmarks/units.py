"""Several rows of one person: how often a statement at its edge passes, with units and without.

    python benchmarks/units.py [draws] [rows ...]    # for docs/assumptions.md; goes on

A unit has 1 or 7 rows, equally often. The impact of a unit's rows is a level of the unit and little
noise. Its mean is -1 for small units and 1 for large ones: 0 for the average unit, .75 for the
average row. A fit searches for a model first; the statement at its edge is about one of two groups,
and holds with equality whatever the model is.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np

from elfair import ELFClassifier, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from levels import DRAWS, SHOWN, SIZES, Kept, shares, write_by_size

DELTA = 0.1
ROWS = np.array([1, 7])
#: A fit takes longer than a test alone.
HOW = (
    "the average unit",
    "the average row",
    "a row for each unit, with weights",
    "units ignored",
    "a row for each unit, weights left out (from above)",
    "a whole fit, with units",
    "a whole fit, units ignored",
)


def table(n: int, seed: int, *, weighted: bool, known: bool) -> LoggedData:
    """About n rows, or a fourth as many with a weight each; with units or weights if ``known``."""
    rng = np.random.default_rng([seed, n])
    units = n // 4
    large = rng.random(units) < 0.5
    rows = ROWS[large.astype(int)]
    level = np.where(large, 1.0, -1.0) + rng.normal(size=units)
    unit = np.arange(units) if weighted else np.repeat(np.arange(units), rows)
    given: dict[str, Any] = {"sample_weight": rows.astype(float)} if weighted else {"unit": unit}
    return LoggedData(
        rng.normal(size=(unit.size, 1)),
        decision=rng.integers(0, 2, unit.size),
        propensity=np.full(unit.size, 0.5),
        impact=level[unit] + 0.1 * rng.normal(size=unit.size),
        **(given if known else {}),
    )


def passes(how: str, n: int, seed: int) -> bool:
    """Whether a statement that holds with equality passes."""
    with counted_in(LooksOfProcess()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how.startswith("a whole fit"):
            return fits(n, seed, known=how.endswith("with units"))
        weighted = "weights" in how
        data = table(n, seed, weighted=weighted, known=how in HOW[:3])
        average = "unit" if how == HOW[0] else "row"
        truth = 0.0 if how == HOW[0] else 0.75
        coin, sign = np.full((data.n, 2), 0.5), "<=" if how == HOW[4] else ">="
        return certify(coin, data, f"E[impact] {sign} {truth}", delta=DELTA, average=average).passed


def fits(n: int, seed: int, *, known: bool) -> bool:
    """Whether a whole fit passes, with two groups: one statement at its edge, whatever the model
    is, and one that is easy.
    """
    rng = np.random.default_rng([seed, n])
    units = n // 4
    unit = np.repeat(np.arange(units), ROWS[rng.integers(0, 2, units)])
    level, group = rng.normal(size=units)[unit], rng.integers(0, 2, units)[unit]
    model = ELFClassifier(
        ["E[impact | T == 1] >= 0", "E[impact | T == 0] >= -5"],
        objective="E[impact]", delta=DELTA, candidates=1, random_state=seed,
    )  # fmt: skip
    model.fit(
        rng.normal(size=(unit.size, 1)),
        decision=rng.integers(0, 2, unit.size),
        propensity=np.full(unit.size, 0.5),
        impact=level + 0.1 * rng.normal(size=unit.size),
        sensitive_features={"T": group},
        **({"unit": unit} if known else {}),
    )
    return bool(model.certificate_.passed)


def main() -> None:
    """Draw what is missing, and write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    kept = Kept("units")
    for n in [int(size) for size in sys.argv[2:]] or SIZES:
        for how in HOW:
            case = partial(passes, how, n)
            kept.draw(f"{how}, {n}", lambda seed, case=case: [case(seed)], draws)
            print(n, how, *shares(kept.found(f"{how}, {n}")), flush=True)

    def lines_of(n: int) -> list[str]:
        made = {how: kept.found(f"{how}, {n}") for how in HOW}
        return [
            f"| {how} | {n:,} | {len(found)} | {shares(found)[0]} |"
            for how, found in made.items()
            if len(found) >= SHOWN
        ]

    head = "| tested | rows | draws | passes |"
    write_by_size("assumptions.md", "units", head, lines_of, f"delta = {DELTA}. ")


if __name__ == "__main__":
    main()
