"""What a fit of many rows costs, beside scikit-learn's logistic regression on the same table.

Processor time of one thread, the median of a few fits after a first one that is not counted, both
in one run: compare the ratio, not the milliseconds. Memory is what a fit adds at its peak to a
process that holds the table.

    python benchmarks/scale.py
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from elfair import ELFClassifier, no_worse
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.populations import FosterCare
from pages import stamp, write_into

SIZES = {1_000: 5, 100_000: 3, 1_000_000: 1}
ALPHAS = (0.9, 0.5)
CONSTRAINTS = [no_worse("T"), "accuracy >= 0.75"]


def seconds(fit: Callable[[], Any], repeats: int) -> float:
    """The median processor time of a fit."""
    fit()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return float(np.median(times))


def peak_mb(fit: Callable[[], Any]) -> float:
    """The most memory that a fit takes, in megabytes."""
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def line(n: int, alpha: float, repeats: int) -> str:
    """A line of the table."""
    draw = FosterCare(alpha=alpha).sample(n, seed=3)

    def fit() -> ELFClassifier:
        with counted_in(LooksOfProcess()):  # both worlds have the same people
            return ELFClassifier(CONSTRAINTS).fit(draw.features, draw.label, **draw.logged)

    own = seconds(fit, repeats)
    plain = seconds(lambda: LogisticRegression().fit(draw.features, draw.label), repeats)
    searched = fit().certificate_.search.rows
    return (
        f"| {n:,} | {alpha} | {searched:,} | {1000 * own:,.0f} ms | {1000 * plain:,.0f} ms "
        f"| {own / plain:.1f} | {peak_mb(fit):,.0f} MB |"
    )


def main() -> None:
    """Measure, print, and put the table into the page."""
    lines = [
        "| n | alpha | rows searched | fit | LogisticRegression | fit / LR | peak memory |",
        "|---|---|---|---|---|---|---|",
        *(line(n, alpha, of) for n, of in SIZES.items() for alpha in ALPHAS),
    ]
    text = (
        "Processor time, one thread, median of "
        f"{', '.join(map(str, SIZES.values()))} fits; 5 features, 3 constraints. {stamp()}.\n\n"
    ) + "\n".join(lines)
    print(text)
    write_into("results.md", "scale", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
