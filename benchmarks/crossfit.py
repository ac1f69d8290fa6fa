"""Why cross-fitting stretches its bounds by the square root of 2.

Folds that learn from each other's rows are not independent. Where g depends on the policy and the
search is stable, that does not matter in the limit. Where decisions have no effect, so that every
policy has g = 0, each fold's model points in the direction that was lucky on the other folds, and
the errors no longer average out. This script draws that worst case in its Gaussian limit: policies
are directions in D dimensions, the average of a fold's rows along them is noise, and each fold
takes the direction that looks best on the others.

    python benchmarks/crossfit.py      # a few seconds; the table goes to docs/calibration.md
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from pages import stamp, write_into

DRAWS = 40_000
LEVELS = (0.1, 0.05, 0.01)


def errors(directions: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """The error of the average over folds, in standard errors of independent rows."""
    noise = rng.normal(size=(DRAWS, folds, directions))
    others = noise.sum(axis=1, keepdims=True) - noise
    chosen = -others / np.linalg.norm(others, axis=2, keepdims=True)
    return (noise * chosen).sum(axis=(1, 2)) / np.sqrt(folds)


def main() -> None:
    """Print the table and put it into the page."""
    rng = np.random.default_rng(0)
    lines = [
        "| directions | folds | sd of z | passes at 0.1 / 0.05 / 0.01 | stretched |",
        "|---|---|---|---|---|",
    ]
    for directions in (1, 2, 5, 20):
        for folds in (2, 5, 10):
            z = errors(directions, folds, rng)
            rates = [
                " / ".join(f"{np.mean(z / stretch < ndtri(level)):.3f}" for level in LEVELS)
                for stretch in (1.0, np.sqrt(2))
            ]
            lines.append(f"| {directions} | {folds} | {z.std():.2f} | {rates[0]} | {rates[1]} |")
    text = f"{DRAWS:,} draws per line. {stamp()}.\n\n" + "\n".join(lines)
    print(text)
    write_into("calibration.md", "crossfit", text)


if __name__ == "__main__":
    main()
