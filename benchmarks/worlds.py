"""Worlds that are unlike foster care: does the promise hold on them, and are models still found?

    python benchmarks/worlds.py                                # 500 seeds a cell, on all processors
    python benchmarks/worlds.py --seeds 60 --only reversal --versions edge --set bound=ttest
    python benchmarks/worlds.py --print                        # what there is so far
    python benchmarks/worlds.py --print --page table           # the same, into docs/worlds.md

Outcomes are kept in build/worlds.jsonl, so that you can stop at any time and resume; delete it, or
name another one (--store), if elfair or the worlds have changed since. A cell is marked if more
than delta + 3 standard errors of its models break their promise, or if a twin returns less than
half of what a t test would that knows the true variance (less 3 standard errors). Where more than
delta of all tables hold none of the losses that a world is about, that share takes delta's place,
and the cell shows it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import worlds_fresh
import worlds_issue
import worlds_own
from pages import stamp, write_into
from worlds_base import Outcome, World
from worlds_people import DELTA, VERSIONS, Version

WORLDS: dict[str, World] = {
    world.name: world for world in [*worlds_issue.WORLDS, *worlds_own.WORLDS, *worlds_fresh.WORLDS]
}
STORE = Path(__file__).parents[1] / "build" / "worlds.jsonl"
#: With fewer models that were likely to pass, their share says little.
FEWEST_LIKELY = 20
#: Seeds of a piece of work.
PIECE = 20


@dataclass(frozen=True)
class Cell:
    """A world in one version and size, tried with some parameters."""

    world: str
    version: Version
    n: int
    given: str = "{}"

    def trial(self, seed: int) -> Outcome:
        """Try it once."""
        return WORLDS[self.world].trial(self.n, self.version, json.loads(self.given), seed)

    @property
    def allowed(self) -> float:
        """How many trials may release a model that breaks its promise: delta, or where more tables
        than that show no loss, and no range is declared, as many as these.
        """
        blind = 0.0 if "impact_range" in self.given else WORLDS[self.world].blind(self.n)
        return max(DELTA, blind)

    @cache  # noqa: B019  (there are a few hundred cells)
    def oracle(self) -> float:
        """The share of a t test that knows the true variance."""
        return WORLDS[self.world].oracle(self.n)


def cells(
    names: Iterable[str] = (),
    versions: Iterable[Version] = VERSIONS,
    sizes: Iterable[int] = (),
    given: Mapping[str, Any] | None = None,
) -> Iterator[Cell]:
    """Every world, version and size, or those that are asked for."""
    text = json.dumps(given or {}, sort_keys=True)
    for world in WORLDS.values():
        if not names or any(name in world.name for name in names):
            for version in versions:
                for n in world.sizes:
                    if (not sizes or n in sizes) and (version != "twin" or n >= world.least):
                        yield Cell(world.name, version, n, text)


def too_many(violated: int, seeds: int, errors: float = 3.0, allowed: float = DELTA) -> bool:
    """Whether more models break their promise than the allowed rate explains."""
    return violated / seeds > allowed + errors * sqrt(allowed * (1 - allowed) / seeds)


def too_few(released: int, seeds: int, oracle: float, errors: float = 3.0) -> bool:
    """Whether fewer models are returned than half of what the oracle returns."""
    half = oracle / 2
    return released / seeds < half - errors * sqrt(half * (1 - half) / seeds)


def piece(cell: Cell, seeds: range) -> tuple[Cell, list[tuple[Any, ...]], float]:
    """Some trials, and the seconds that one takes."""
    start = process_time()
    outcomes = [(seed, *cell.trial(seed)) for seed in seeds]
    return cell, outcomes, (process_time() - start) / len(seeds)


def stored(store: Path) -> dict[Cell, dict[int, Outcome]]:
    """What was tried so far, by cell and seed."""
    known: dict[Cell, dict[int, Outcome]] = {}
    for line in store.read_text().splitlines() if store.exists() else ():
        *key, outcomes, _ = json.loads(line)
        known.setdefault(Cell(*key), {}).update({s: Outcome(*rest) for s, *rest in outcomes})
    return known


def run(asked: list[Cell], seeds: int, jobs: int | None, store: Path) -> None:
    """Try what has not been tried yet; the hardest worlds come in the order of the table."""
    known = stored(store)
    pieces = [
        (cell, range(start, min(start + PIECE, seeds)))
        for start in range(0, seeds, PIECE)
        for cell in asked
        if start not in known.get(cell, {})
    ]
    store.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, store.open("a") as kept:
        for future in as_completed([pool.submit(piece, *each) for each in pieces]):
            cell, outcomes, seconds = future.result()
            line = [cell.world, cell.version, cell.n, cell.given, outcomes, round(seconds, 4)]
            print(json.dumps(line), file=kept, flush=True)


def table(asked: list[Cell], seeds: int, store: Path) -> Iterator[str]:
    """A line for each cell, and one for all that should release nothing."""
    known = stored(store)
    yield f"{'world':25} {'version':7} {'n':>6} {'seeds':>5}  released violated forecast oracle"
    bad = tried = 0
    for cell in asked:
        outcomes = [known.get(cell, {}).get(seed) for seed in range(seeds)]
        got = [each for each in outcomes if each is not None]
        if not got:
            continue
        released, violated = sum(o.released for o in got), sum(o.broken for o in got)
        line = f"{cell.world:25} {cell.version:7} {cell.n:6,} {len(got):5}"
        line += f"  {released / len(got):8.3f} {violated / len(got):8.3f} {forecast(got):>8}"
        marks = "" if cell.allowed == DELTA else f"  no loss in {cell.allowed:.2f} of tables"
        marks += "  VIOLATED" if too_many(violated, len(got), allowed=cell.allowed) else ""
        if cell.version == "twin":
            line += f" {cell.oracle():6.3f}"
            marks += "  TOO FEW" if too_few(released, len(got), cell.oracle()) else ""
        if cell.version == "edge":
            bad, tried = bad + violated, tried + len(got)
        yield line + marks
    if tried:
        mark = "  VIOLATED" if too_many(bad, tried, errors=2.0) else ""
        yield f"at the edge, pooled: {bad / tried:.4f} of {tried:,}{mark}"


def forecast(outcomes: Iterable[Outcome]) -> str:
    """The average forecast, if there was anything to forecast."""
    known = [each.forecast for each in outcomes if each.forecast is not None]
    return f"{np.mean(known):.2f}" if known else ""


def page(seeds: int, store: Path) -> str:
    """The table of docs/worlds.md: a line for each world."""
    known = stored(store)
    texts: dict[tuple[str, Version], list[str]] = {}
    chances: dict[tuple[str, Version], list[Outcome]] = {}
    counted, at_the_edge = [], []
    tried = {name: [each for each in known if each.world == name] for name in WORLDS}
    for cell in cells(versions=["edge", "twin"]):
        got = [outcome for seed, outcome in known.get(cell, {}).items() if seed < seeds]
        if not got:
            continue
        counted.append(len(got))
        released, violated = np.mean([(each.released, each.broken) for each in got], axis=0)
        chances.setdefault((cell.world, cell.version), []).extend(got)
        bad = too_many(round(violated * len(got)), len(got), allowed=cell.allowed)
        text = f"{violated:.3f}{'' if cell.allowed == DELTA else ' *'}"
        if cell.version == "edge":
            at_the_edge.append(violated)
        else:
            bad = bad or too_few(round(released * len(got)), len(got), cell.oracle())
            text = f"{released:.2f} of {cell.oracle():.2f}"
        texts.setdefault((cell.world, cell.version), []).append(f"**{text}**" if bad else text)
    lines = [
        [
            f"{world.name}: {world.summary}",
            world.origin,
            ", ".join(
                f"{n:,}" for n in world.sizes if any(each.n == n for each in tried[world.name])
            ),
            ", ".join(texts.get((world.name, "edge"), [])),
            ", ".join(texts.get((world.name, "twin"), [])),
            "; ".join(
                f"{forecast(got)} for {np.mean([each.released for each in got]):.2f}"
                for version in ("edge", "twin")
                if forecast(got := chances.get((world.name, version), []))
            ),
        ]
        for world in WORLDS.values()
    ]
    return "\n".join(
        [
            f"{min(counted)} to {max(counted)} trials a cell. {stamp()}.",
            "",
            "| population | origin | rows | broken at the edge | released in the twin | forecast |",
            "|---|---|---|---|---|---|",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
            f"At the edge, the mean of all {len(at_the_edge)} cells: {np.mean(at_the_edge):.3f}.",
            "",
            _reliability(chances),
        ]
    )


def _reliability(chances: dict[tuple[str, Version], list[Outcome]]) -> str:
    """What became of models that were unlikely to pass, or likely."""

    def passed(outcomes: Iterable[Outcome], low: float, high: float) -> list[bool]:
        known = [each for each in outcomes if each.forecast is not None]
        return [each.released for each in known if low <= (each.forecast or 0.0) <= high]

    every = [each for got in chances.values() for each in got]
    unlikely, likely = passed(every, 0.0, 0.05), passed(every, 0.5, 1.0)
    by_world = {}
    for name in WORLDS:
        both = [*chances.get((name, "edge"), []), *chances.get((name, "twin"), [])]
        if len(of_world := passed(both, 0.5, 1.0)) >= FEWEST_LIKELY:
            by_world[name] = float(np.mean(of_world))
    least = min(by_world, key=by_world.__getitem__)
    return (
        f"Of {len(unlikely):,} models with a forecast of at most 0.05, {sum(unlikely)} passed; of "
        f"{len(likely):,} with at least 0.5, {np.mean(likely):.0%}, and in the population with the "
        f"fewest ({least}) {by_world[least]:.0%}. (Populations with fewer than {FEWEST_LIKELY} "
        "such models do not count.)"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--only", nargs="*", default=(), help="parts of the names of worlds")
    parser.add_argument("--sizes", nargs="*", type=int, default=())
    parser.add_argument("--versions", nargs="*", choices=VERSIONS, default=VERSIONS)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--set", nargs="*", default=(), help="parameters, such as bound=ttest")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--print", action="store_true", help="run nothing")
    parser.add_argument("--page", help="write it into this part of docs/worlds.md")
    asked = parser.parse_args()
    given = dict(each.split("=") for each in asked.set)
    chosen = list(cells(asked.only, asked.versions, asked.sizes, given))
    if not asked.print:
        run(chosen, asked.seeds, asked.jobs, asked.store)
    print(*table(chosen, asked.seeds, asked.store), sep="\n")
    if asked.page:
        write_into("worlds.md", asked.page, page(asked.seeds, asked.store))


if __name__ == "__main__":
    main()
