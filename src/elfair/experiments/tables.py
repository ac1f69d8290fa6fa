"""A summary as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from elfair.experiments.summary import LEAST_TRIALS
from elfair.records.text import spoken

if TYPE_CHECKING:
    from elfair.experiments.summary import Average, CellSummary, Proportion, Summary

WIDTH = 100
#: More groups than this do not fit; a CSV file has them all.
MOST_GROUPS = 3
FAILURE = "failure rate"
_CRASHED = "Crashed trials (not in the rates above; 499+1! means 499 trials and 1 crashed one)"
_LEGEND = (
    "Rates and accuracy in %, ± one standard error; if a rate is 0 or 100, the far end of Wilson's "
    "95 % interval instead. failure rate: the share of all trials that returned a model that makes "
    "the group worse off. accuracy: of the returned models. seconds: median processor time of a "
    "trial's fit; if one fit serves several settings, its time is divided among them."
)


def as_text(summary: Summary) -> str:
    """Tables for the terminal, at most 100 columns wide."""
    lines = [*_wrapped(summary.title), *_wrapped(_about(summary))]
    lines += _listed("warning: ", summary.warnings)
    groups = _groups(summary)
    for settings in summary.settings:
        rows: list[Sequence[str]] = [_headings(groups)]
        labels: dict[int, str] = {}
        for method in summary.methods:
            if line := summary.line(settings, method):
                labels[len(rows)] = summary.labels[method]
                rows += [_row(summary, cell) for cell in line]
        table = _aligned(rows)
        lines += ["", summary.name_of(settings), "  " + _over(table[0], groups), "  " + table[0]]
        for index, row in enumerate(table[1:], start=1):
            lines += [labels[index]] if index in labels else []
            lines.append("  " + row)
    lines += ["", *_wrapped(_LEGEND)]
    for title, table_rows in _short_tables(summary):
        lines += ["", *_wrapped(title), *("  " + row for row in _aligned(table_rows))]
    if summary.efficiency:
        lines += ["", "Data efficiency", *_listed("- ", _answers(summary))]
    if crashes := _crashes(summary):
        lines += ["", _CRASHED, *_listed("- ", crashes)]
    return "\n".join(lines) + "\n"


def as_markdown(summary: Summary) -> str:
    """The same tables as Markdown."""
    parts = [f"## {summary.title}", _about(summary)]
    parts += [f"> warning: {warning}" for warning in summary.warnings]
    groups = [f"{FAILURE}, {group}" for group in _groups(summary)]
    for settings in summary.settings:
        rows: list[Sequence[str]] = [["method", *_headings(groups)]]
        for method in summary.methods:
            label = summary.labels[method]
            rows += [[label, *_row(summary, cell)] for cell in summary.line(settings, method)]
        parts += [f"### {summary.name_of(settings)}", _piped(rows)]
    parts.append(_LEGEND)
    for title, table_rows in _short_tables(summary):
        parts += [f"### {title}", _piped(table_rows)]
    if summary.efficiency:
        parts += ["### Data efficiency", "\n".join(f"* {each}" for each in _answers(summary))]
    if crashes := _crashes(summary):
        parts += [f"### {_CRASHED}", "\n".join(f"* {c}" for c in crashes)]
    return "\n\n".join(parts) + "\n"


def as_csv(summary: Summary) -> str:
    """One line for each cell, at full precision; unknown values are empty."""
    names = sorted({name for text in summary.settings for name in json.loads(text)})
    rates = ["returned", *(f"failed_{group}" for group in summary.groups), "failed_any"]
    columns = [f"setting_{name}" for name in names]
    columns += ["method", "label", "n", "trials", "crashed"]
    for rate in rates:
        columns += [rate, f"{rate}_se", f"{rate}_wilson_low", f"{rate}_wilson_high"]
    columns += ["accuracy", "accuracy_se", "median_seconds", "total_seconds"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for cell in summary.cells:
        settings = json.loads(cell.settings)
        row: list[object] = [settings.get(name) for name in names]
        row += [cell.method, summary.labels[cell.method], cell.n, cell.trials, cell.crashed]
        for each in (cell.returned, *cell.failures.values(), cell.any_failure):
            row += [each.value, each.standard_error, *each.interval]
        row += [cell.accuracy.value, cell.accuracy.standard_error]
        row += [cell.median_seconds, cell.total_seconds]
        writer.writerow(["" if v is None or v != v else v for v in row])
    return out.getvalue()


def _about(summary: Summary) -> str:
    cells = summary.cells
    crashed = sum(cell.crashed for cell in cells)
    run = sum(cell.trials for cell in cells) + crashed
    fixed = f" ({summary.fixed})" if summary.fixed else ""
    of_all = f" of {summary.planned:,}" if run < summary.planned else ""
    crashes = f", {crashed:,} of them crashed" if crashed else ""
    return (
        f"Population {summary.population}{fixed}, delta = {summary.delta:g}; "
        f"{run:,}{of_all} trials in {len(cells):,} cells{crashes}."
    )


def _headings(groups: Sequence[str]) -> list[str]:
    return ["n", "trials", "returned", "accuracy", *groups, "seconds"]


def _groups(summary: Summary) -> list[str]:
    return [*(f"group {group}" for group in _shown(summary)), "any group"]


def _over(heading: str, groups: Sequence[str]) -> str:
    """The common heading above the columns of groups."""
    start, end = heading.index(groups[0]), heading.index(groups[-1]) + len(groups[-1])
    return f" {FAILURE} ".center(end - start, "-").rjust(end)


def _shown(summary: Summary) -> tuple[str, ...]:
    return summary.groups if len(summary.groups) <= MOST_GROUPS else ()


def _row(summary: Summary, cell: CellSummary) -> list[str]:
    return [
        f"{cell.n:,}",
        str(cell.trials) if not cell.crashed else f"{cell.trials}+{cell.crashed}!",
        _rate(cell.returned),
        _mean(cell.accuracy),
        *(_rate(cell.failures[group]) for group in _shown(summary)),
        _rate(cell.any_failure),
        _seconds(cell.median_seconds),
    ]


def _rate(rate: Proportion) -> str:
    if not rate.trials:
        return "-"
    low, high = rate.interval
    if rate.count == 0:
        return f"0 (<{100 * high:.1f})"
    if rate.count == rate.trials:
        return f"100 (>{100 * low:.1f})"
    return f"{100 * rate.value:.1f} ±{100 * rate.standard_error:.1f}"


def _mean(mean: Average) -> str:
    if not mean.count:
        return "-"
    return f"{100 * mean.value:.1f}" + (
        f" ±{100 * mean.standard_error:.1f}" if mean.count > 1 else ""
    )


def _seconds(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    return f"{seconds:.3f}" if seconds < 100 else f"{seconds:,.0f}"


def _short_tables(summary: Summary) -> list[tuple[str, list[Sequence[str]]]]:
    """The check of the promise, and the times."""
    tables: list[tuple[str, list[Sequence[str]]]] = []
    rows: list[Sequence[str]] = [["method", "group", "n", FAILURE, "limit", "verdict"]]
    swept = len(summary.settings) > 1
    for promise in summary.promises:
        where = f", {summary.name_of(promise.cell.settings)}" if swept else ""
        nobody = promise.rate.count == 0  # in every cell, so no group and size stands out
        rows.append(
            [
                summary.labels[promise.method],
                "all" if nobody else promise.group,
                "all" if nobody else f"{promise.cell.n:,}{where}",
                f"{_rate(promise.rate)} of {promise.rate.trials}{' or more' if nobody else ''}",
                f"{100 * promise.limit:.1f}",
                promise.verdict,
            ]
        )
    if len(rows) > 1:
        tables.append((_promise_title(summary), rows))
    total = math.fsum(summary.seconds.values())
    time: list[Sequence[str]] = [["method", "processor time of fits", "share"]]
    for method, seconds in sorted(summary.seconds.items(), key=lambda item: -item[1]):
        share = f"{seconds / total:.1%}" if total else "-"
        time.append([summary.labels[method], spoken(seconds), share])
    time.append(["all", spoken(total), ""])
    tables.append(("Where the time went", time))
    return tables


def _promise_title(summary: Summary) -> str:
    return (
        f"The promise: a {FAILURE} of at most delta = {100 * summary.delta:g} % for each group "
        f"(the largest of all cells with at least {LEAST_TRIALS} trials; limit: delta + 4 standard "
        "errors at delta)"
    )


def _answers(summary: Summary) -> list[str]:
    return [
        answer.sentence(summary.labels, summary.name_of(answer.settings))
        for answer in summary.efficiency
    ]


def _crashes(summary: Summary) -> list[str]:
    """One line for each method and error, however many cells have it."""
    alike: dict[tuple[str, str], list[CellSummary]] = {}
    for cell in summary.cells:
        if cell.crashed:
            alike.setdefault((cell.method, _first_line(cell)), []).append(cell)
    return [
        f"{summary.labels[method]}, {_where(summary, cells)}: "
        f"{sum(cell.crashed for cell in cells):,} of "
        f"{sum(cell.crashed + cell.trials for cell in cells):,}; the first: {error}"
        for (method, error), cells in alike.items()
    ]


def _where(summary: Summary, cells: Sequence[CellSummary]) -> str:
    """The sizes and settings of some cells; several settings are counted."""
    sizes = sorted({cell.n for cell in cells})
    settings = list(dict.fromkeys(cell.settings for cell in cells))
    n = f"n = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
    if len(settings) > 1:
        return f"{n}, {len(settings)} of {len(summary.settings)} settings"
    return f"{n}, {summary.name_of(settings[0])}"


def _first_line(cell: CellSummary) -> str:
    return (cell.first_error or "no message").strip().partition("\n")[0]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of numbers aligned right, columns of words left."""
    words = {i for i, name in enumerate(rows[0]) if name in ("method", "verdict")}
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _piped(rows: Sequence[Sequence[str]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    rule = ["---" if name in ("method", "verdict") else "---:" for name in rows[0]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [escaped[0], rule, *escaped[1:]])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)


def _listed(mark: str, items: Iterable[str]) -> list[str]:
    return [
        line
        for item in items
        for line in textwrap.wrap(
            item, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark)
        )
    ]
