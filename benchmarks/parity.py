"""abs(PR[T == 0] - PR[T == 1]) <= e: how often it passes, beside the splitting of intervals.

elfair tests the two one-sided statements, each about one difference and each at the full delta.
Interval arithmetic bounds each rate from both sides, at delta / 4 a tail, and subtracts the
intervals (the way of the Seldonian toolkit); a thriftier version tests the two statements apart,
with one tail of each rate at delta / 2. All three see the same rows, with the same bound. The table
goes to docs/fairness-constraints.md.

    python benchmarks/parity.py
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from elfair.bounds import Sample, get_bound
from pages import stamp, write_into

Array = npt.NDArray[np.float64]
Verdicts = npt.NDArray[np.bool_]

BOUNDS = ("ttest", "hoeffding", "betting")
SIZES = (200, 500, 1_000, 2_000, 5_000)
DELTAS = (0.1, 0.05)
WAYS = ("elfair", "delta/4", "delta/2")
E = 0.1
#: The share of group 1; a policy is sure of itself: it decides 1 with one of two probabilities.
SHARE = 0.3
LOW, HIGH = 0.05, 0.95


def rates(edge: bool) -> tuple[float, float]:
    """The true positive rates of the groups: apart by e exactly, or equal."""
    return (0.55, 0.55 - E) if edge else (0.5, 0.5)


def draw(n: int, draws: int, edge: bool, rng: np.random.Generator) -> list[Array]:
    """Each group's pi(1 | x), of shape (draws, rows of the group)."""
    sizes = (round((1 - SHARE) * n), round(SHARE * n))
    return [
        np.where(rng.random((draws, size)) < (rate - LOW) / (HIGH - LOW), HIGH, LOW)
        for rate, size in zip(rates(edge), sizes, strict=True)
    ]


def verdicts(bound: str, delta: float, rows: list[Array]) -> dict[str, Verdicts]:
    """Whether each draw passes, for each way of testing."""
    chosen, spread = get_bound(bound), (HIGH - LOW) / 2

    def upper(values: Array, sign: int, share: float) -> Array:
        ends = sorted((0.0, float(sign)))
        return chosen.upper([Sample(sign * values, *ends, spread)], share * delta)

    def difference(plus: Array, minus: Array) -> Array:
        samples = [Sample(plus - E, -E, 1 - E, spread), Sample(-minus, -1.0, 0.0, spread)]
        return chosen.upper(samples, delta, disjoint=True)

    first, second = rows
    found = {"elfair": (difference(first, second) <= 0) & (difference(second, first) <= 0)}
    for way, share in (("delta/4", 1 / 4), ("delta/2", 1 / 2)):
        apart = [
            upper(plus, 1, share) + upper(minus, -1, share)
            for plus, minus in ((first, second), (second, first))
        ]
        found[way] = (apart[0] <= E) & (apart[1] <= E)
    return found


def pass_rates(
    bound: str, delta: float, n: int, draws: int, edge: bool, seed: int = 0
) -> dict[str, float]:
    """The share of draws that pass, for each way."""
    rng = np.random.default_rng([seed, n, edge])
    every = verdicts(bound, delta, draw(n, draws, edge, rng))
    return {way: float(passed.mean()) for way, passed in every.items()}


def main() -> None:
    """Fill the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    draws = parser.parse_args().draws
    heads = [f"{what}: {way}" for what in ("passes", "passes at the edge") for way in WAYS]
    lines = [f"`abs(PR[T == 0] - PR[T == 1]) <= {E}`; {draws:,} draws per cell. {stamp()}.\n"]
    lines += ["| bound | delta | n | " + " | ".join(heads) + " |", "|---" * (3 + len(heads)) + "|"]
    for bound in BOUNDS:
        for delta in DELTAS:
            for n in SIZES:
                cells = [pass_rates(bound, delta, n, draws, edge) for edge in (False, True)]
                shown = [f"{cell[way]:.3f}" for cell in cells for way in WAYS]
                lines.append(f"| {bound} | {delta} | {n:,} | " + " | ".join(shown) + " |")
    write_into("fairness-constraints.md", "parity", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
