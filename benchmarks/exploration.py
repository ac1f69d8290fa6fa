"""What taking decisions blindly costs in accuracy, on the foster-care-like population.

The accuracy is the truth about the models that were returned, not an estimate from data.

    python benchmarks/exploration.py

The table goes to docs/method.md.
"""

from __future__ import annotations

import numpy as np

from elfair import ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.populations import FosterCare
from pages import stamp, write_into

SHARES = (2e-4, 0.05, 0.1)
ROWS = 1_000
SEEDS = 200


def main() -> None:
    """Fill the table."""
    population = FosterCare(alpha=0.9)
    lines = ["| exploration | returned | accuracy | largest weight |", "|---|---|---|---|"]
    for share in SHARES:
        accuracies = []
        for seed in range(SEEDS):
            draw = population.sample(ROWS, seed)
            clf = ELFClassifier(population.constraints, exploration=share, random_state=seed)
            with counted_in(LooksOfProcess()):  # each share is a study of its own
                clf.fit(draw.features, draw.label, **draw.logged)
            if clf.solution_found_:
                accuracies.append(population.truth(clf).accuracy)
        lines.append(
            f"| {share:g} | {len(accuracies) / SEEDS:.3f} | {np.mean(accuracies):.3f} | "
            f"{2 / share:,.0f} |"
        )
    lines.append(
        f"\n{SEEDS} data sets of {ROWS:,} rows per line, alpha = 0.9, delta = 0.1. {stamp()}."
    )
    write_into("method.md", "exploration", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
