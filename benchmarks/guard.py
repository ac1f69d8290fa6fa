"""What the guards of the t bound cost: how many more rows return a model as often as Student's t.

    python benchmarks/guard.py                     # 300 draws a cell
    python benchmarks/guard.py --draws 50 --alphas 0.9

On the foster-care-like population, where the plain t bound keeps its level, so that every guard is
a price. Each line shows the share of draws in which a model is returned, and the mean accuracy of
these models: for the plain bound with n rows, and for the guarded one with 1, 1.1, 1.25 and 1.5
times as many.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from elfair import ELFClassifier
from elfair.errors import CertificateWarning
from elfair.populations import FosterCare

TIMES = (1.0, 1.1, 1.25, 1.5)


def returned(alpha: float, n: int, bound: str, draws: int) -> tuple[float, float]:
    """How often a model is returned, and the accuracy of those that are."""
    population = FosterCare(alpha=alpha)
    found = []
    for seed in range(draws):
        draw = population.sample(n, 70_000 + seed)
        # The same people under two bounds are a comparison of bounds, not a second look.
        clf = ELFClassifier(
            population.constraints,
            bound=bound,
            random_state=seed,
            accept_violated=["opened_once"],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            clf.fit(draw.features, draw.label, **draw.logged)
        if clf.solution_found_:
            found.append(population.truth(clf).accuracy)
    return len(found) / draws, float(np.mean(found)) if found else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.9, 0.5, 0.2])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1_000, 4_000])
    asked = parser.parse_args()
    print("alpha     n   ttest       guarded with", *(f"{times:g} n".rjust(12) for times in TIMES))
    for alpha in asked.alphas:
        for n in asked.sizes:
            cells = [returned(alpha, n, "ttest", asked.draws)]
            cells += [returned(alpha, round(times * n), "guarded", asked.draws) for times in TIMES]
            shown = "   ".join(f"{share:.2f} ({accuracy:.3f})" for share, accuracy in cells)
            print(f"{alpha:5} {n:5}   {shown}", flush=True)


if __name__ == "__main__":
    main()
