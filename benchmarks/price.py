"""What each bound costs: how many rows it needs for what the plain t bound returns.

On the foster-care-like population with clipped impacts, all bounds in one run, on the same draws:

    python benchmarks/price.py                  # about 20 minutes on 2 cores

What counts is the accuracy of the model in use afterwards: the new one or, where none is returned,
the old one. A bound needs f times the rows of the plain t bound if its accuracy in use with n rows
is that of the plain one with n / f rows, over all sizes together (least squares, on a curve that
is linear in log n between the sizes). The interval is a bootstrap over seeds.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elfair import ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.populations import FosterCare
from pages import stamp, write_into

#: For each alpha: the sizes.
SIZES = {
    0.9: (512, 1_024, 1_536),
    0.5: (512, 1_024, 2_048, 3_072),
    0.2: (2_048, 4_096, 6_144, 8_192),
}
#: What the paper's settings reach with how many rows (docs/results.md).
PAPER = {0.9: (4_096, 0.84, 0.874), 0.5: (4_096, 0.63, 0.817), 0.2: (32_768, 0.65, 0.793)}
#: Below so many rows a declared range costs more; the comparison is about tables from here on.
FROM = 1_000
#: How many times the rows a bound may need, and how often the seeds are drawn again.
TIMES, AGAIN = np.linspace(0.5, 4.0, 351), 400
#: The settings: the plain t bound, the guarded one, the default without and with a declared range.
SETTINGS: dict[str, dict[str, Any]] = {
    "ttest": {"bound": "ttest"},
    "guarded": {"bound": "guarded"},
    "auto": {},
    "auto, range declared": {"impact_range": True},
}
Cell = tuple[float, int, str]
Floats = npt.NDArray[np.float64]


def trial(cell: Cell, seed: int) -> tuple[bool, float]:
    """Whether a model is returned, and its true accuracy."""
    alpha, n, setting = cell
    population = FosterCare(alpha=alpha, clipped=True)
    log, given = population.sample(n, seed=seed), dict(SETTINGS[setting])
    if given.get("impact_range"):
        given["impact_range"] = population.impact_range
    clf = ELFClassifier(population.constraints, random_state=seed, **given)
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):  # each setting is a study
        warnings.simplefilter("ignore")
        clf.fit(log.features, log.label, **log.logged)
    found = bool(clf.solution_found_)
    return found, float(population.truth(clf).accuracy) if found else float("nan")


def cells() -> Iterator[Cell]:
    """Every alpha, size and setting."""
    for alpha, sizes in SIZES.items():
        for n in sizes:
            for setting in SETTINGS:
                yield alpha, n, setting


def piece(cell: Cell, seeds: range) -> tuple[Cell, list[tuple[bool, float]]]:
    """Some trials."""
    return cell, [trial(cell, seed) for seed in seeds]


def rows_for(curve: dict[int, tuple[float, float]], share: float, accuracy: float) -> float:
    """How many rows return a model as often and as accurate; the smallest size if fewer do."""
    sizes = sorted(curve)
    found = [float(sizes[0])]
    for place, wanted in ((0, share), (1, accuracy)):
        values = np.maximum.accumulate([curve[n][place] for n in sizes])  # more rows do no harm
        found.append(float(np.exp(np.interp(wanted, values, np.log(sizes), right=np.nan))))
    return max(found)


def times(sizes: Sequence[int], plain: Floats, other: Floats) -> float:
    """How many times the rows of the plain bound another one needs, by the accuracy in use of
    each with every size.
    """
    at = np.log(sizes)
    slope = (plain[1] - plain[0]) / (at[1] - at[0])
    wanted = at - np.log(TIMES)[:, None]
    below = plain[0] + slope * (wanted - at[0])
    expected = np.where(wanted < at[0], below, np.interp(wanted, at, plain))
    misses = (expected - other) ** 2 * (np.array(sizes) >= FROM)
    return float(TIMES[misses.sum(axis=1).argmin()])


def table(results: dict[Cell, list[tuple[bool, float]]]) -> str:
    """What was found, in Markdown."""
    lines = [
        "| alpha | bound | returned / accuracy, %, by n | times the rows of ttest | "
        "times fewer than the paper's settings |",
        "| --- | --- | --- | --- | --- |",
    ]
    for alpha, sizes in SIZES.items():
        of = {s: np.array([results[alpha, n, s] for n in sizes], dtype=float) for s in SETTINGS}
        old = old_accuracy(alpha)
        use = {s: np.where(each[..., 0] > 0, each[..., 1], old) for s, each in of.items()}
        seeds = use["ttest"].shape[1]
        drawn = np.random.default_rng(0).integers(0, seeds, (AGAIN, seeds))
        rows, share, accuracy = PAPER[alpha]
        for setting, each in of.items():
            curve = {
                n: (float(line[:, 0].mean()), float(np.nanmean(line[:, 1])))
                for n, line in zip(sizes, each, strict=True)
            }
            shown = "; ".join(
                f"{n:,}: {100 * a:.0f} / {100 * b:.1f}" for n, (a, b) in curve.items()
            )
            cost = times(sizes, use["ttest"].mean(axis=1), use[setting].mean(axis=1))
            again = [
                times(sizes, use["ttest"][:, s].mean(axis=1), use[setting][:, s].mean(axis=1))
                for s in drawn
            ]
            low, high = np.quantile(again, [0.025, 0.975])
            price = "" if setting == "ttest" else f"{cost:.2f} ({low:.2f} to {high:.2f})"
            few = rows_for(curve, share, accuracy)
            fewer = f"{'at least ' if few == sizes[0] else ''}{rows / few:.1f}"
            lines.append(f"| {alpha:g} | {setting} | {shown} | {price} | {fewer} |")
    return "\n".join(lines)


def old_accuracy(alpha: float) -> float:
    """How often the logged decisions are right."""
    log = FosterCare(alpha=alpha, clipped=True).sample(200_000, seed=0)
    return float(np.mean(log.decision == log.label))


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--store", type=Path, default=Path("build") / "price.json")
    options = parser.parse_args()
    stored = json.loads(options.store.read_text()) if options.store.exists() else {}
    missing = [cell for cell in cells() if str((cell, options.seeds)) not in stored]
    options.store.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        steps = [range(k, min(k + 10, options.seeds)) for k in range(0, options.seeds, 10)]
        # The longest first.
        work = sorted(((c, s) for c in missing for s in steps), key=lambda each: -each[0][1])
        found: dict[Cell, list[tuple[bool, float]]] = {}
        for cell, outcomes in pool.map(piece, *zip(*work, strict=True)) if work else ():
            found.setdefault(cell, []).extend(outcomes)
            if len(found[cell]) == options.seeds:
                stored[str((cell, options.seeds))] = found[cell]
                options.store.write_text(json.dumps(stored))
    results = {cell: stored[str((cell, options.seeds))] for cell in cells()}
    text = f"{table(results)}\n\n{options.seeds} seeds a cell. {stamp()}."
    write_into("results.md", "price", text)
    print(text)


if __name__ == "__main__":
    main()
