"""What each bound costs: how many rows it needs for what the plain t bound returns.

On the foster-care-like population with clipped impacts, all bounds in one run, on the same draws:

    python benchmarks/price.py                  # about 20 minutes on 2 cores

"As many rows" means: to return a model as often *and* as accurate, by interpolation in log n
between the sizes that were run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from elfair import ELFClassifier
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.populations import FosterCare
from pages import stamp

#: For each alpha: the sizes, the size that the plain t bound is looked at with, and what the
#: paper's settings reach with how many rows (docs/results.md).
SIZES = {
    0.9: (512, 1_024, 1_536),
    0.5: (512, 1_024, 2_048, 3_072),
    0.2: (2_048, 4_096, 6_144, 8_192),
}
BASE = {0.9: 1_024, 0.5: 2_048, 0.2: 4_096}
PAPER = {0.9: (4_096, 0.84, 0.874), 0.5: (4_096, 0.63, 0.817), 0.2: (32_768, 0.65, 0.793)}
#: The settings: the plain t bound, the guarded one, the default without and with a declared range.
SETTINGS: dict[str, dict[str, Any]] = {
    "ttest": {"bound": "ttest"},
    "guarded": {"bound": "guarded"},
    "auto": {},
    "auto, range declared": {"impact_range": True},
}
Cell = tuple[float, int, str]


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


def rows_for(
    curve: dict[int, tuple[float, float]], share: float, accuracy: float
) -> tuple[float, str]:
    """How many rows reach both, and a sign if the number is only a limit."""
    sizes = sorted(curve)
    found = []
    for place, wanted in ((0, share), (1, accuracy)):
        values = np.maximum.accumulate([curve[n][place] for n in sizes])  # more rows do no harm
        if values[-1] < wanted:
            return sizes[-1], "> "
        above = int(np.argmax(values >= wanted))
        if above == 0:
            found.append(float(sizes[0]))
            continue
        low, high = values[above - 1], values[above]
        part = (wanted - low) / (high - low)
        found.append(float(sizes[above - 1] * (sizes[above] / sizes[above - 1]) ** part))
    rows = max(found)
    return rows, "< " if rows == sizes[0] else ""


def table(results: dict[Cell, list[tuple[bool, float]]]) -> str:
    """What was found, in Markdown."""
    lines = [
        "| alpha | bound | returned / accuracy, %, by n | rows for what ttest has | "
        "rows for what the paper's settings have |",
        "| --- | --- | --- | --- | --- |",
    ]
    for alpha, sizes in SIZES.items():
        curves = {
            setting: {
                n: (
                    float(np.mean([found for found, _ in results[alpha, n, setting]])),
                    float(np.nanmean([accuracy for _, accuracy in results[alpha, n, setting]])),
                )
                for n in sizes
            }
            for setting in SETTINGS
        }
        target = curves["ttest"][BASE[alpha]]
        rows, share, accuracy = PAPER[alpha]
        for setting, curve in curves.items():
            shown = "; ".join(
                f"{n:,}: {100 * a:.0f} / {100 * b:.1f}" for n, (a, b) in curve.items()
            )
            same, sign = rows_for(curve, *target)
            few, less = rows_for(curve, share, accuracy)
            less = {"< ": "more than ", "> ": "less than ", "": ""}[less]
            times = {"> ": "more than ", "< ": "less than ", "": ""}[sign]
            lines.append(
                f"| {alpha:g} | {setting} | {shown} | {times}{same:,.0f} "
                f"({times}{same / BASE[alpha]:.2f} times) | {few:,.0f} "
                f"({less}{rows / few:.1f} times fewer than {rows:,}) |"
            )
    return "\n".join(lines)


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
    text = f"{options.seeds} seeds a cell. {stamp()}.\n\n{table(results)}"
    print(text)


if __name__ == "__main__":
    main()
