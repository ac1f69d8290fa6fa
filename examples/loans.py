"""Write the tables of the tutorial: loans.csv, past decisions, and applicants.csv, new people.

The people are simulated: `elfair.populations.Lending`, a population after Liu et al. (2018), in
which a loan helps people who repay it and harms people who do not. Column names are as awkward as
in a real export, a few people could not be followed up, and one column is a trap.

    python examples/loans.py tutorial
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from elfair.populations import Lending, LogisticModel

PAST, NEW = 12_000, 400
SEED = 2024
HOUSING = ("owns", "rents", "with family")
ANSWERS = np.array(["no", "yes"])
ALL_GET_LOANS = Lending(behavior=LogisticModel(40.0, (0.0,)))  # the same people, if all got one


def people(n: int, seed: int) -> dict[str, Any]:
    """What is known about each person before a decision."""
    draw, rng = Lending().sample(n, seed), np.random.default_rng(seed)
    score = 575 + 100 * draw.features[:, 0]
    # People with high scores own their homes more often; housing says nothing beyond the score.
    owns = rng.random(n) < (score - 300) / 800
    return {
        "Applicant no.": np.arange(n) + 100_000 * (seed - 2000),
        "Credit score (at application)": score.round().astype(int),
        "Housing status": np.where(owns, "owns", rng.choice(HOUSING[1:], n)),
        "ethnic group": np.array(["A", "B"])[draw.group],
    }


def decided(n: int, seed: int) -> dict[str, Any]:
    """What the old model decided about the same people, and with which probability."""
    draw = Lending().sample(n, seed)
    return {
        "Granted?": ANSWERS[draw.decision],
        "Prob. of this decision": draw.propensity.round(4),
    }


def outcomes(seed: int, granted: Any) -> dict[str, Any]:
    """What came of these decisions about the same people."""
    lent, n = np.asarray(granted) == "yes", len(granted)
    draw, rng = ALL_GET_LOANS.sample(n, seed), np.random.default_rng(seed + 1)
    repaid = draw.label
    change = [f"{value:.0f}" for value in np.where(lent, draw.impact, 0)]
    for moved in rng.choice(n, n // 50, replace=False):
        change[moved] = ""  # could not be found two years later
    return {
        "Repays (bureau)": ANSWERS[repaid],
        "Collection letters": lent * (1 - repaid) * rng.integers(1, 5, n),  # sent after the loan
        "score change (2y)": change,
    }


def write(path: Path, columns: dict[str, Any]) -> None:
    """Write columns to a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))


def main(folder: str | Path = ".") -> None:
    """Write both tables to a folder, which is made where there is none."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    past = people(PAST, SEED) | decided(PAST, SEED)
    write(place / "loans.csv", past | outcomes(SEED, past["Granted?"]))
    write(place / "applicants.csv", people(NEW, SEED + 1))


if __name__ == "__main__":
    main(*sys.argv[1:2])
