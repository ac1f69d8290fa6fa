"""Write the tables of the tutorial: loans.csv, past decisions, and applicants.csv, new people.

The people are simulated: `elfair.experiments.Lending`, a population after Liu et al. (2018), in
which a loan helps who repays it and harms who does not. Names of columns are as awkward as in a
real export, a few people could not be followed up, and one column is a trap.

    python examples/loans.py tutorial
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from elfair.experiments import Lending

PAST, NEW = 12_000, 400
SEED = 2024
HOUSING = ("owns", "rents", "with family")
ANSWERS = np.array(["no", "yes"])


def people(n: int, seed: int) -> dict[str, Any]:
    """What is known of each person before a decision."""
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


def outcomes(n: int, seed: int) -> dict[str, Any]:
    """What was decided about the same people, with which probability, and what came of it."""
    draw, rng = Lending().sample(n, seed), np.random.default_rng(seed + 1)
    lent, repaid = draw.decision, draw.label
    change = [f"{value + 0:.0f}" for value in draw.impact]
    for moved in rng.choice(n, n // 50, replace=False):
        change[moved] = ""  # not to be found two years later
    return {
        "Granted?": ANSWERS[lent],
        "Prob. of this decision": draw.propensity.round(4),
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


def main(folder: str = ".") -> None:
    """Write both tables to a folder, which is made where there is none."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write(place / "loans.csv", people(PAST, SEED) | outcomes(PAST, SEED))
    write(place / "applicants.csv", people(NEW, SEED + 1))


if __name__ == "__main__":
    main(*sys.argv[1:2])
