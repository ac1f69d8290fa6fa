"""How wide a betting bound is with the constant of impacts in one place or another.

    python benchmarks/centering.py

The population is that of beyond_the_mean.py, with impacts in [0, 1]; the declared propensity floor
(the truth is 0.25) says how large a weight may be. The table goes to docs/method.md.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from beyond_the_mean import draw
from elfair import CertificateWarning, certify
from pages import stamp, write_into

FLOORS = (0.25, 0.1, 0.02)
SIZES = (300, 2_000)
CENTERS = ("range", "mean", "auto")
TEXTS = (
    "E[impact] >= 0.5",
    "E[impact] >= E_logged[impact]",
    "CVaR[impact, 0.1] >= 0.1",
    "var[impact] <= 0.1",
    "P[impact < 0.3] <= 0.2",
)
SEEDS = 30


def width(cell: tuple[float, int, str, str]) -> float:
    """The mean distance from estimate to bound."""
    floor, n, text, center = cell
    widths = []
    for seed in range(SEEDS):
        data, policy = draw(n, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            (result,) = certify(
                policy,
                data,
                text,
                bound="betting",
                impact_range=(0, 1),
                propensity_floor=floor,
                center=center,
            ).constraints
        widths.append(result.upper - result.estimate)
    return float(np.mean(widths))


def main() -> None:
    """Fill the table."""
    cells = [(f, n, text, c) for f in FLOORS for n in SIZES for text in TEXTS for c in CENTERS]
    with ProcessPoolExecutor() as pool:
        widths = dict(zip(cells, pool.map(width, cells), strict=True))
    lines = ["| statement | floor | n | range | mean | auto |", "|---|---|---|---|---|---|"]
    for text in TEXTS:
        for floor in FLOORS:
            for n in SIZES:
                row = " | ".join(f"{widths[floor, n, text, c]:.3f}" for c in CENTERS)
                lines.append(f"| `{text}` | {floor} | {n:,} | {row} |")
    lines.append(f"\nMeans of {SEEDS} draws. {stamp()}.")
    write_into("method.md", "centering", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
