"""The sections of docs/results.md about experiments, from the committed results alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from textwrap import fill
from typing import Any

from elfair.experiments.summary import GUARANTEED as OURS
from elfair.experiments.summary import PAPER
from pages import DOCS, write_into

RESULTS = DOCS / "results"
EXPERIMENTS = ("figures-1-2", "figures-1-2-strict", "appendix", "elfair-against-paper", "lending")
#: The sizes that tables show; CSV files have all.
SHOWN = (256, 1_024, 4_096, 32_768)
#: The figures of each section: what they show, and where they lie in docs/results/figures.
FIGURES = {
    "figures-1-2": {
        "Failure rate of each group": "figures-1-2/figure-1-failure-rates.png",
        "Accuracy and solutions": "figures-1-2/figure-2-accuracy-and-solutions.png",
    },
    "figures-1-2-strict": {
        "Failure rate of each group": "figures-1-2-strict/figure-1-failure-rates.png",
        "Accuracy and solutions": "figures-1-2-strict/figure-2-accuracy-and-solutions.png",
    },
    "figure-3": {
        "elfair at every alpha": "figure-3/settings-elfair.png",
        "The paper's ELF at every alpha": "figure-3/settings-elf-paper.png",
    },
    "appendix": {
        "alpha = 0 to 0.4": "appendix/methods-1-of-2.png",
        "alpha = 0.5 to 1": "appendix/methods-2-of-2.png",
    },
    "lending": {
        "Failure rate of each group": "lending/figure-1-failure-rates.png",
        "Accuracy and solutions": "lending/figure-2-accuracy-and-solutions.png",
    },
    "modes": {"elfair against the paper's ELF": "elfair-against-paper/comparison.png"},
}
#: How many times fewer rows it is to need, at least, by alpha.
ASKED = {0.9: 3, 0.5: 6, 0.2: 4}


@dataclass(frozen=True)
class Cell:
    """A line of a CSV file of results."""

    method: str
    label: str
    alpha: float | None
    n: int
    trials: int
    crashed: int
    returned: float
    accuracy: float | None
    accuracy_se: float | None
    failed: dict[str, float]
    median_seconds: float
    total_seconds: float

    @classmethod
    def read(cls, row: dict[str, str]) -> Cell:
        """From the columns by name."""

        def number(name: str) -> float | None:
            return float(row[name]) if row.get(name) else None

        return cls(
            row["method"],
            row["label"],
            number("setting_alpha"),
            int(row["n"]),
            int(row["trials"]),
            int(row["crashed"]),
            float(row["returned"]),
            number("accuracy"),
            number("accuracy_se"),
            {name: float(row[f"failed_{name}"]) for name in ("0", "1", "any")},
            float(row["median_seconds"]),
            float(row["total_seconds"]),
        )


@dataclass(frozen=True)
class Results:
    """What is committed of an experiment."""

    name: str

    @cached_property
    def cells(self) -> list[Cell]:
        """All lines."""
        with (RESULTS / f"{self.name}.csv").open() as lines:
            return [Cell.read(row) for row in csv.DictReader(lines)]

    @cached_property
    def run(self) -> dict[str, Any]:
        """When and where it was run, and what a table cannot hold."""
        runs: dict[str, dict[str, Any]] = json.loads((RESULTS / "runs.json").read_text())
        return runs[self.name]

    @property
    def methods(self) -> dict[str, str]:
        """Labels by name, in the experiment's order."""
        return {cell.method: cell.label for cell in self.cells}

    @property
    def alphas(self) -> list[float]:
        """Those of the population, ascending."""
        return sorted({cell.alpha for cell in self.cells if cell.alpha is not None})

    def line(self, method: str, alpha: float | None = None) -> dict[int, Cell]:
        """The cells of a method by size."""
        return {
            cell.n: cell
            for cell in self.cells
            if cell.method == method and (alpha is None or cell.alpha == alpha)
        }


def percent(share: float | None) -> str:
    """With one decimal, where it says something."""
    return "–" if share is None else f"{100 * share:.1f}".removesuffix(".0")


def accurate(share: float | None) -> str:
    """An accuracy in percent."""
    return "–" if share is None else f"{100 * share:.1f}"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    rule = ["---"] * len(heading)
    return "\n".join(f"| {' | '.join(row)} |" for row in [heading, rule, *rows])


def wrapped(text: str) -> str:
    """A paragraph or a point of a list, at the width of the pages."""
    indent = "  " if text.startswith("* ") else ""
    return fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def what_was_run(all_results: Sequence[Results]) -> str:
    """A line for each experiment."""
    rows = [
        [
            f"[{each.name}](results/{each.name}.csv)",
            each.run["title"],
            f"{sum(cell.trials + cell.crashed for cell in each.cells):,}",
            f"{sum(cell.crashed for cell in each.cells):,}",
            duration(sum(cell.total_seconds for cell in each.cells)),
            f"{each.run['date']}, {each.run['machine']}",
        ]
        for each in all_results
    ]
    heading = ["experiment", "what", "trials", "crashed", "processor time", "when and where"]
    warned = [f"\n\n> {each.name}: {w}" for each in all_results for w in each.run["warnings"]]
    return table(heading, rows) + "".join(warned)


def duration(seconds: float) -> str:
    """In words."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def compact(results: Results) -> str:
    """A line for each method, with what it does at some sizes."""
    rows = []
    for method, label in results.methods.items():
        line = results.line(method)
        rows.append([label, *(_in_short(line[n]) for n in SHOWN)])
    heading = ["method", *(f"n = {n:,}" for n in SHOWN)]
    return (
        "Returned / accuracy / failed T = 0 / failed T = 1, in %:\n\n"
        f"{table(heading, rows)}\n\n{_errors(results)} [All sizes](results/{results.name}.csv)."
    )


def _in_short(cell: Cell) -> str:
    failed = " / ".join(percent(cell.failed[group]) for group in ("0", "1"))
    return f"{percent(cell.returned)} / {accurate(cell.accuracy)} / {failed}"


def _errors(results: Results) -> str:
    cells = [cell for cell in results.cells if cell.n in SHOWN]
    rate = max(_rate_error(share, cell) for cell in cells for share in _rates(cell))
    accuracy = max(cell.accuracy_se or 0.0 for cell in cells)
    return (
        f"Standard errors are at most {100 * rate:.1f} points for a rate and "
        f"{100 * accuracy:.1f} for an accuracy here."
    )


def _rates(cell: Cell) -> list[float]:
    return [cell.returned, cell.failed["0"], cell.failed["1"]]


def _rate_error(share: float, cell: Cell) -> float:
    return sqrt(share * (1 - share) / cell.trials) if cell.trials else 0.0


def by_alpha(results: Results) -> str:
    """Figure 3 in numbers: a line for each alpha, elfair's default mode beside the paper's ELF."""
    rows = []
    for alpha in results.alphas:
        ours, paper = (results.line(method, alpha) for method in ("elfair", PAPER))
        numbers = [
            f"{percent(line[n].returned)} / {accurate(line[n].accuracy)} / "
            f"{percent(line[n].failed['any'])}"
            for line in (ours, paper)
            for n in (1_024, 4_096, 32_768)
        ]
        rows.append([f"{alpha:g}", *numbers])
    heading = ["alpha"]
    heading += [f"{who}, {n:,}" for who in ("elfair", "paper") for n in (1_024, 4_096, 32_768)]
    return (
        "Returned / accuracy / failed any group, in %:\n\n"
        f"{table(heading, rows)}\n\n[All sizes and methods](results/{results.name}.csv)."
    )


def appendix_in_words(results: Results) -> str:
    """Whether failures of methods that never see the impact depend on alpha, and elfair's own."""
    static = [method for method in results.methods if method not in (*OURS, PAPER)]
    spread = 0.0
    for method in static:
        lines = [results.line(method, alpha) for alpha in results.alphas if alpha > 0]
        for n in lines[0]:
            for group in ("0", "1"):
                shares = [line[n].failed[group] for line in lines]
                spread = max(spread, max(shares) - min(shares))
    at_zero = max(cell.failed["any"] for cell in results.cells if cell.alpha == 0)
    worst = {
        method: max(cell.failed["any"] for cell in results.cells if cell.method == method)
        for method in ("elfair", PAPER)
    }
    same = (
        "are the same at every alpha > 0, to the last trial"
        if spread == 0
        else f"differ by up to {100 * spread:.1f} points between values of alpha > 0"
    )
    return wrapped(
        f"The failure rates of the {len(static)} methods that never look at the impact {same}; at "
        f"alpha = 0 no decision matters, and the largest failure rate of any method is "
        f"{percent(at_zero)} %. Over all alphas and sizes, elfair's default mode fails some group "
        f"in at most {percent(worst['elfair'])} % of trials of a cell, the paper's ELF in at most "
        f"{percent(worst[PAPER])} %."
    )


def efficiency(results: Results) -> str:
    """How many times fewer rows, beside the goal."""
    rows = []
    for each in sorted(results.run["efficiency"], key=lambda one: -one["settings"]["alpha"]):
        alpha = each["settings"]["alpha"]
        least = "at least " if each["at_least"] else ""
        rows.append(
            [
                f"{alpha:g}",
                f"{each['n']:,}",
                f"{percent(each['rate'])} / {accurate(each['accuracy'])}",
                f"{'at most ' if each['at_least'] else ''}{each['rows']:,.0f}",
                f"{least}{each['ratio']:.1f}",
                each["interval"],
                f"{ASKED[alpha]}",
            ]
        )
    heading = [
        "alpha",
        "rows of the paper's ELF",
        "its returned / accuracy, %",
        "rows of elfair",
        "times fewer",
        "95 % interval",
        "goal",
    ]
    return table(heading, rows)


def modes(results: Results) -> str:
    """The ways of elfair beside each other."""
    places = [(0.9, 256), (0.9, 2_048), (0.5, 512), (0.5, 4_096), (0.2, 4_096), (0.2, 32_768)]
    rows = []
    for method, label in results.methods.items():
        cells = [results.line(method, alpha)[n] for alpha, n in places]
        rows.append([label, *(f"{percent(c.returned)} / {accurate(c.accuracy)}" for c in cells)])
    heading = ["method", *(f"alpha = {alpha}, n = {n:,}" for alpha, n in places)]
    return (
        f"Returned / accuracy, in %:\n\n{table(heading, rows)}\n\n"
        f"[All sizes](results/{results.name}.csv)."
    )


def promise(all_results: Sequence[Results]) -> str:
    """The largest failure rates, against delta + 4 standard errors at delta."""
    rows = []
    for each in all_results:
        delta = each.run["delta"]
        for method, label in each.methods.items():
            if method not in (*OURS, PAPER):
                continue
            cells = [cell for cell in each.cells if cell.method == method and cell.trials]
            # Cross-fitting promises each constraint by itself; the others all of them together.
            groups = ("0", "1") if method == "elfair-crossfit" else ("any",)
            checks = [
                (cell.failed[group], _limit(delta, cell.trials), cell)
                for cell in cells
                for group in groups
            ]
            kept = all(share <= limit for share, limit, _ in checks)
            share, limit, cell = max(checks, key=lambda check: (check[0] > check[1], check[0]))
            verdict = ("kept" if kept else "BROKEN") if method != PAPER else "none given"
            below = percent(each.run["below_floor"].get(method, 0.0))
            rows.append(
                [
                    each.name,
                    label,
                    str(len(cells)),
                    f"{percent(share)}{f' ({_where(cell)})' if share else ''}",
                    percent(limit),
                    below,
                    verdict,
                ]
            )
    heading = ["experiment", "method", "cells", "largest failure rate, %", "limit, %"]
    return table([*heading, "accuracy below its floor, %", "promise"], rows)


def _where(cell: Cell) -> str:
    alpha = "" if cell.alpha is None else f", alpha = {cell.alpha:g}"
    return f"n = {cell.n:,}{alpha}"


def _limit(delta: float, trials: int) -> float:
    return delta + 4 * sqrt(delta * (1 - delta) / trials)


def time_by_method(all_results: Sequence[Results]) -> str:
    """Processor time, and that of one fit."""
    labels = {name: label for each in all_results for name, label in each.methods.items()}
    rows = []
    for method, label in labels.items():
        spent = [
            sum(cell.total_seconds for cell in each.cells if cell.method == method)
            for each in all_results
        ]
        fits = [
            cell.median_seconds
            for each in all_results
            if each.name in ("figures-1-2", "elfair-against-paper")
            for cell in each.cells
            if cell.method == method and cell.n == 4_096 and cell.alpha == 0.9
        ]
        fit = f"{1000 * fits[0]:.0f} ms" if fits else "–"
        times = [duration(each) if each else "–" for each in spent]
        rows.append([label, *times, duration(sum(spent)), fit])
    total = [sum(cell.total_seconds for cell in each.cells) for each in all_results]
    rows.append(["all", *map(duration, total), duration(sum(total)), ""])
    heading = ["method", *(each.name for each in all_results), "all", "a fit, n = 4,096"]
    return table(heading, rows)


def write() -> None:
    """Write every section for which all that it needs is there."""
    from paper_points import in_short, points  # here, as it reads these tables

    there = {name: Results(name) for name in EXPERIMENTS if (RESULTS / f"{name}.csv").exists()}
    every = [there[name] for name in EXPERIMENTS if name in there]
    sections: list[tuple[str, tuple[str, ...], Callable[[], str]]] = [
        ("what-was-run", EXPERIMENTS, lambda: what_was_run(every)),
        *((name, (name,), lambda name=name: compact(there[name])) for name in EXPERIMENTS[:2]),
        ("figure-3", ("appendix",), lambda: by_alpha(there["appendix"])),
        ("appendix", ("appendix",), lambda: appendix_in_words(there["appendix"])),
        ("lending", ("lending",), lambda: compact(there["lending"])),
        ("efficiency", EXPERIMENTS[3:4], lambda: efficiency(there["elfair-against-paper"])),
        ("modes", EXPERIMENTS[3:4], lambda: modes(there["elfair-against-paper"])),
        ("promise", EXPERIMENTS, lambda: promise(every)),
        ("time", EXPERIMENTS, lambda: time_by_method(every)),
        ("points", EXPERIMENTS[:3], lambda: points(*(there[name] for name in EXPERIMENTS[:3]))),
    ]
    for section, needed, made in sections:
        if set(needed) <= set(there):
            figures = [
                f"![{shown}](results/figures/{path})\n\n"
                for shown, path in FIGURES.get(section, {}).items()
            ]
            write_into("results.md", section, "".join(figures) + made())
        else:
            print(f"results.md, {section}: not written; it needs {', '.join(needed)}.")
    if set(EXPERIMENTS) <= set(there):
        write_into("../README.md", "paper", in_short(there))
