"""A bank's table of loans as people keep it: everything that a spreadsheet does to a table.

    python examples/messy_loans.py

writes messy_loans.csv, which `examples/4_messy_loans.py` turns into a certified model. Propensities
are in per cent, customers come back, labels are 0 and 1 beside decisions in words, savings have
decimal commas, incomes are missing or -999, groups are spelt in several ways, and empty lines stand
below the table.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def main(folder: Path = Path(), n: int = 12_000, seed: int = 0) -> Path:
    """Write the table.

    Parameters
    ----------
    folder : Path
        Where.
    n : int
        How many loans.
    seed : int
        The seed.
    """
    rng = np.random.default_rng(seed)
    # Two thirds of the customers have one loan; others have two.
    customer = np.sort(np.concatenate([np.arange(n * 3 // 4), np.arange(n - n * 3 // 4)]))
    of_customer = rng.normal(size=customer.max() + 1)[customer]
    age = rng.integers(19, 80, customer.max() + 1)[customer]
    race = rng.choice(["A", "B"], customer.max() + 1, p=[0.6, 0.4])[customer]
    income = np.round(np.exp(10.2 + 0.5 * of_customer + 0.2 * rng.normal(size=n)), -1).astype(int)
    chance = np.where(income > 25_000, 0.7, 0.35)
    approve = rng.random(n) < chance
    repaid = rng.random(n) < np.where(income > 22_000, 0.85, 0.5)
    helped = np.where(income > 20_000, 900, -200) * approve
    savings = 400 + helped + 500 * of_customer + rng.normal(0, 400, n)
    spelt = np.where(rng.random(n) < 0.03, np.char.add(race, " "), race)
    spelt = np.where(rng.random(n) < 0.02, np.char.lower(race), spelt)
    shown = income.astype(object)
    shown[rng.random(n) < 0.03] = ""
    shown[rng.random(n) < 0.01] = -999
    path = folder / "messy_loans.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file, delimiter=";")
        names = "customer", "age", "income", "race", "repaid", "decision", "prob", "savings"
        rows.writerow(names)
        for k in range(n):
            taken = chance[k] if approve[k] else 1 - chance[k]
            lost = rng.random() < 0.02
            rows.writerow([
                f"K{customer[k]:06d}", age[k], shown[k], spelt[k], int(repaid[k]),
                "approve" if approve[k] else "deny", f"{100 * taken:.0f} %",
                "n/a" if lost else f"{savings[k]:.2f}".replace(".", ","),
            ])  # fmt: skip
        rows.writerows([[""] * len(names)] * 3)
    return path


if __name__ == "__main__":
    main()
