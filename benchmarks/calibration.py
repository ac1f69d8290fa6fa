"""How often each bound passes rows whose true g is exactly 0: at most delta of the time?

A population small enough to know the truth by enumeration, large enough to be unkind: propensities
from 0.02 to 0.98, weights up to 25, impacts with long tails on either side.

    python benchmarks/calibration.py            # all cells, a few minutes on 2 cores
    python benchmarks/calibration.py --draws 500

Cells already in the results file (same draws) are not computed again. The tables go to
docs/calibration.md, between its two markers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from elfair.bounds import FINITE_SAMPLE, Sample, betting, get_bound
from elfair.bounds.finite_sample import block_sizes, join
from pages import stamp, write_into

Array = npt.NDArray[np.float64]

DELTAS = (0.1, 0.05)
SIZES = (10, 50, 200, 2_000)
STATISTICS = ("at least", "at most", "at most, near", "no worse", "difference", "rate", "rare rate")
# Where the tail on the bad side is not made by the weights: impacts with a long upper tail under a
# model close to the behaviour model, and a rate that is rarely not 0. The plain t bound passes too
# often there, whatever k is; see docs/calibration.md.
HARD_FOR_T = (("at most, near", "skewed"), ("rare rate", "nonnegative"))
# The constant k that is taken out of impacts before weighting, and the bounds that see such rows.
SHIFTS = {"end": FINITE_SAMPLE, "mean": ("guarded", "ttest"), "zero": ("ttest",)}
COLUMNS = [(name, shift) for shift, names in SHIFTS.items() for name in names]

# Three kinds of people; how many, and the behaviour model's and the new model's P(D = 1 | x).
SHARE = np.array([0.2, 0.5, 0.3])
BEHAVIOUR = np.array([0.02, 0.3, 0.98])
MODEL = np.array([0.5, 0.4, 0.9])
NEAR = np.array([0.02, 0.31, 0.98])


@dataclass(frozen=True)
class Impact:
    """Impacts base * effect[x, D] + lift * D, inside [low, high]; the truth in closed form."""

    base: Callable[[np.random.Generator, tuple[int, ...]], Array]
    mean: float
    effect: Array
    low: float
    high: float
    lift: float = 0.0

    def means(self) -> Array:
        """E[I | x, D], a row for each x."""
        return self.mean * self.effect + self.lift * np.array([0.0, 1.0])


_ONES = np.ones((3, 2))
_HALVED = np.array([[1.0, 0.5], [0.8, 0.5], [1.0, 0.6]])
_CAP = 20.0

IMPACTS = {
    "nonnegative": Impact(lambda g, s: g.random(s), 0.5, _ONES, 0.0, 1.5, lift=0.5),
    "negative": Impact(
        lambda g, s: -np.minimum(g.exponential(size=s), 8.0), -(1 - exp(-8)), _HALVED, -8.0, 0.0
    ),
    "skewed": Impact(
        lambda g, s: np.minimum(np.exp(g.standard_normal(s)), _CAP),
        exp(0.5) * float(ndtr(log(_CAP) - 1)) + _CAP * float(ndtr(-log(_CAP))),
        _HALVED,
        0.0,
        _CAP,
    ),
    # A coin that lands on 1 with probability 0.3, worth more after D = 1 through the lift.
    "Bernoulli": Impact(
        lambda g, s: (g.random(s) < 0.3).astype(float), 0.3, _ONES, 0.0, 1.5, lift=0.5
    ),
}


def equal_model(impact: Impact) -> Array:
    """A model unlike the behaviour model with exactly its expected impact: g = 0 when paired."""
    means = impact.means()
    gain = SHARE * (means[:, 1] - means[:, 0])
    model = np.array([0.3, 0.0, 0.9])
    # The three kinds must balance: sum over x of share * (model - behaviour) * effect of D = 0.
    model[1] = BEHAVIOUR[1] - (gain @ (model - BEHAVIOUR) - gain[1] * (0 - BEHAVIOUR[1])) / gain[1]
    assert 0.02 < model[1] < 0.98
    return model


def truth(impact: Impact, model: Array) -> float:
    """E[I] under a model, by enumeration."""
    means = impact.means()
    return float(SHARE @ (model * means[:, 1] + (1 - model) * means[:, 0]))


def draw(
    impact: Impact, model: Array, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], Array, Array]:
    """The kind x, the weight and the impact of each logged row."""
    x = np.searchsorted(np.cumsum(SHARE)[:-1], rng.random(shape), side="right")
    d = (rng.random(shape) < BEHAVIOUR[x]).astype(np.intp)
    ratio = np.stack([(1 - model) / (1 - BEHAVIOUR), model / BEHAVIOUR], axis=1)
    return x, ratio[x, d], impact.base(rng, shape) * impact.effect[x, d] + impact.lift * d


def largest_weight(model: Array) -> float:
    """The largest possible weight of a row."""
    return float(np.maximum(model / BEHAVIOUR, (1 - model) / (1 - BEHAVIOUR)).max())


#: Rows, and the variance that they have by their weights.
Rows = Callable[[tuple[int, ...], np.random.Generator], tuple[Array, Array | float]]


@dataclass(frozen=True)
class Part:
    """Rows with E = 0 exactly, and their ends."""

    rows: Rows
    low: float
    high: float


def part(statistic: str, impact: Impact, shift: str) -> Part:
    """One statistic of one population; ``shift`` says which constant k is taken out."""
    if statistic == "rate":
        rate = float(SHARE @ MODEL)
        return Part(lambda s, g: (MODEL[draw(impact, MODEL, s, g)[0]] - rate, 0.0), -rate, 1 - rate)
    if statistic == "rare rate":
        return Part(lambda s, g: ((g.random(s) < 0.02).astype(float) - 0.02, 0.0), -0.02, 0.98)
    upper_side = statistic.startswith("at most")
    model = MODEL
    if statistic == "no worse":
        model = equal_model(impact)
    if statistic == "at most, near":
        model = NEAR
    k = impact.high if upper_side else impact.low
    if shift == "zero":
        k = 0.0
    if shift == "mean":  # the mean impact of other logged rows
        k = float(draw(impact, model, (200,), np.random.default_rng(99))[2].mean())
    tau, width = truth(impact, model), impact.high - impact.low
    reach = largest_weight(model) * width
    variance = model**2 / BEHAVIOUR + (1 - model) ** 2 / (1 - BEHAVIOUR) - 1

    def at_least(s: tuple[int, ...], g: np.random.Generator) -> tuple[Array, Array]:
        x, w, i = draw(impact, model, s, g)
        least = i.var(axis=-1, ddof=1) + np.mean(variance[x] * (i - k) ** 2, axis=-1)
        return np.asarray(tau - k - w * (i - k)), least

    def at_most(s: tuple[int, ...], g: np.random.Generator) -> tuple[Array, Array]:
        rows, least = at_least(s, g)
        return -rows, least

    def no_worse(s: tuple[int, ...], g: np.random.Generator) -> tuple[Array, Array]:
        x, w, i = draw(impact, model, s, g)
        return np.asarray((1 - w) * (i - k)), np.mean(variance[x] * (i - k) ** 2, axis=-1)

    if shift != "end":  # then a large weight moves both ends
        reach, width = np.inf, np.inf
    if statistic == "at least":
        return Part(at_least, tau - impact.low - reach, tau - impact.low + _more(width))
    if upper_side:
        return Part(at_most, impact.high - tau - reach, impact.high - tau + _more(width))
    return Part(no_worse, -reach if width == np.inf else width - reach, width)


def _more(width: float) -> float:
    return width if width == np.inf else 0.0


def parts(statistic: str, impact: Impact, n: int, shift: str) -> list[tuple[Part, int]]:
    """The samples of a statistic with their numbers of rows; a difference has two groups."""
    if statistic != "difference":
        return [(part(statistic, impact, shift), n)]
    # "Group B gains at most so much more than group A": an upper side and a lower side.
    return [(part("at most", impact, shift), n), (part("at least", impact, shift), 5 * n // 2)]


def passes(
    statistic: str, kind: str, n: int, draws: int, shift: str, names: Sequence[str]
) -> dict[str, int]:
    """How many of ``draws`` data sets pass, for each bound and delta ("betting 0.1")."""
    population = parts(statistic, IMPACTS[kind], n, shift)
    rng = np.random.default_rng(crc32(f"{statistic} {kind} {n} {shift}".encode()))
    others = [p.rows((200,), rng)[0] for p, _ in population]
    counts = {f"{name} {delta}": 0 for name in names for delta in DELTAS}
    chunk = max(1, 400_000 // n)
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        samples = [
            Sample(
                values,
                p.low,
                p.high,
                scale=float(other.std(ddof=1)),
                least_variance=least,  # type: ignore[arg-type]  (one for each data set)
                worst=float(other.max()),
                others=other.size,
            )
            for p, (values, least), other in (
                (p, p.rows((size, rows), rng), other)
                for (p, rows), other in zip(population, others, strict=True)
            )
        ]
        for name in names:
            for delta in DELTAS:
                if name == "betting":
                    passed = betting_passes(samples, delta)
                else:
                    passed = get_bound(name).upper(samples, delta) <= 0
                counts[f"{name} {delta}"] += int(passed.sum())
    return counts


def betting_passes(samples: Sequence[Sample], delta: float) -> npt.NDArray[np.bool_]:
    """Whether the betting bound is at most 0: one look at the wealth instead of a search."""
    blocks = join(samples, block_sizes(samples, [sample.n for sample in samples]))
    unit = betting.unit_of(blocks)
    y = np.maximum(blocks.high - blocks.values, 0.0) / unit
    goal = blocks.high / unit
    wealth = betting._peak(y, betting._bets(y, goal, delta), np.full(y.shape[:-1], goal))
    return (wealth >= log(1 / delta)) | (blocks.high <= 0)


def cells() -> Iterator[tuple[str, str, int, str]]:
    """Statistic, impact, rows and shift of each cell."""
    for n in reversed(SIZES):
        for statistic in STATISTICS:
            for kind in IMPACTS:
                if not statistic.endswith("rate"):
                    for shift in SHIFTS:
                        yield statistic, kind, n, shift
                elif kind == "nonnegative":  # a rate has no impact and no shift
                    yield from ((statistic, kind, n, shift) for shift in ("end", "mean"))


def run(cell: tuple[str, str, int, str], draws: int) -> tuple[str, dict[str, int]]:
    """One cell, with its key in the results file."""
    statistic, kind, n, shift = cell
    return f"{draws} {cell}", passes(statistic, kind, n, draws, shift, SHIFTS[shift])


def tables(results: dict[str, dict[str, int]], draws: int) -> str:
    """The tables of docs/calibration.md: rates of passing at g = 0, too large ones in bold."""
    text = []
    for delta in DELTAS:
        error = 4 * sqrt(delta * (1 - delta) / draws)
        heads = [name if k == "end" else f"{name}, k = {k}" for name, k in COLUMNS]
        text += [f"### delta = {delta} (bold: above {delta + error:.4f})", ""]
        text += ["| statistic | impact | n | " + " | ".join(heads) + " |"]
        text += ["|---|---|---|" + "---|" * len(heads)]
        for statistic, kind, n, shift in sorted(cells(), key=_order):
            if shift != "end":
                continue
            rates = []
            for name, k in COLUMNS:
                found = results.get(f"{draws} {(statistic, kind, n, k)}")
                if found is None:
                    rates.append("")
                    continue
                rate = found[f"{name} {delta}"] / draws
                rates.append(f"**{rate:.4f}**" if rate > delta + error else f"{rate:.4f}")
            label = "" if statistic.endswith("rate") else kind
            text.append(f"| {statistic} | {label} | {n} | " + " | ".join(rates) + " |")
        text.append("")
    return "\n".join(text)


def _order(cell: tuple[str, str, int, str]) -> tuple[int, int, int]:
    return STATISTICS.index(cell[0]), list(IMPACTS).index(cell[1]), cell[2]


def main() -> None:
    """Compute what is missing, print the tables and put them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20_000)
    default = Path(tempfile.gettempdir()) / "elfair-calibration.json"
    parser.add_argument("--results", type=Path, default=default)
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    missing = [cell for cell in cells() if f"{options.draws} {cell}" not in results]
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for key, counts in pool.map(run, missing, [options.draws] * len(missing)):
            results[key] = counts
            options.results.write_text(json.dumps(results))
    print(f"{len(missing)} cells in {time.perf_counter() - start:.0f} s")
    heading = f"{options.draws:,} draws per cell. {stamp()}."
    written = f"{heading}\n\n{tables(results, options.draws)}"
    print(written)
    write_into("calibration.md", "tables", written)


if __name__ == "__main__":
    main()
