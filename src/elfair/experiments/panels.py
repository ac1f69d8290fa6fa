"""What a figure is made of: a grid of panels, each a quantity as a function of n."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elfair.experiments.cells import Cell, Mean, Rate
from elfair.experiments.efficiency import Efficiency
from elfair.experiments.looks import Look
from elfair.experiments.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """What one panel shows of a cell."""

    title: str
    of: Callable[[Cell], Rate | Mean]
    failure: bool = False

    @property
    def is_rate(self) -> bool:
        """Whether the axis runs from 0 to 1."""
        return self is not ACCURACY


@dataclass(frozen=True)
class Line:
    """One line of a panel: what it is called, and where its cells are."""

    label: str
    look: Look
    settings: str
    method: str


@dataclass(frozen=True)
class Row:
    """One row of panels: its label, and the lines in each of its panels."""

    label: str
    lines: Sequence[Line]


RETURNED = Panel("Probability of a solution", lambda cell: cell.returned)
ACCURACY = Panel("Accuracy", lambda cell: cell.accuracy)
ANY = Panel("Failure rate, any group", lambda cell: cell.any_failure, failure=True)


def failure_panel(group: str) -> Panel:
    """How often one group is failed."""
    return Panel(f"Failure rate, group {group}", lambda cell: cell.failures[group], failure=True)


def grid(
    summary: Summary,
    rows: Sequence[Row],
    panels: Sequence[Panel],
    *,
    title: str,
    arrows: bool = False,
    legend_beside: bool = False,
) -> Figure:
    """A grid of panels under one title, with one legend below (or beside) them.

    Parameters
    ----------
    summary : Summary
        Where the cells are.
    rows : sequence of Row
        From top to bottom.
    panels : sequence of Panel
        From left to right.
    title : str
        The first lines; the number of trials is the last.
    arrows : bool, default=False
        Whether answers about data efficiency are drawn.
    legend_beside : bool, default=False
        Whether the legend stands at the right, for many lines in one row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    handles = [_handle(line) for line in rows[0].lines]
    if any(panel.failure for panel in panels):
        handles.append(_delta_handle(summary))
    width = (4.2 if len(panels) == 2 else 3.1) * len(panels) + 0.4
    columns = 1 if legend_beside else min(len(handles), int(width / 2.8))
    below = 0.19 * math.ceil(len(handles) / columns) + 0.2
    figure = Figure(
        figsize=(width + 2.6, 3.6) if legend_beside else (width, 2.1 * len(rows) + 1.0 + below),
        layout="constrained",
    )
    axes = figure.subplots(len(rows), len(panels), squeeze=False, sharex=True, sharey="col")
    answers = [_answer(row, summary) if arrows else None for row in rows]
    for across, row, answer in zip(axes, rows, answers, strict=True):
        for ax, panel in zip(across, panels, strict=True):
            _lines(ax, panel, row.lines, summary)
            if answer and not panel.failure:
                _arrow(ax, answer, answer.accuracy if panel is ACCURACY else answer.rate)
        across[0].set_ylabel(row.label)
    for ax, panel in zip(axes[0], panels, strict=True):
        ax.set_title(panel.title)
    _sizes(axes[-1], summary.sizes)
    about = _about(rows, summary)
    if any(answers):
        about += "; arrows: times fewer rows needed"
    lines = [
        part
        for line in (*title.splitlines(), about)
        for part in textwrap.wrap(line, int(width * 12))
    ]
    figure.suptitle("\n".join(lines), fontsize=10.5)
    figure.legend(
        handles=handles,
        loc="outside right center" if legend_beside else "outside lower center",
        ncols=columns,
    )
    return figure


def _lines(ax: Axes, panel: Panel, lines: Sequence[Line], summary: Summary) -> None:
    place = {n: index for index, n in enumerate(summary.sizes)}
    for line in lines:
        cells = [cell for cell in summary.line(line.settings, line.method) if cell.trials]
        values = [panel.of(cell) for cell in cells]
        n = np.array([cell.n for cell in cells], dtype=np.float64)
        error = np.array([value.standard_error for value in values])
        # The accuracy of a single model has no standard error, and is not drawn.
        middle = np.where(np.isnan(error), np.nan, [value.value for value in values])
        low, high = middle - error, middle + error
        if panel.is_rate:
            low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        look = line.look
        ax.fill_between(n, low, high, color=look.color, alpha=0.16, linewidth=0, zorder=1.5)
        ax.plot(n, middle, **look.line())
        turn = np.array([(place[cell.n] - look.start) % look.every == 0 for cell in cells])
        marked = _marked(middle, turn)
        ax.plot(n[marked], middle[marked], linestyle="none", **look.markers())
    if panel.failure:
        ax.axhline(summary.delta, color="black", linewidth=1.0, zorder=1.8)
    if panel.is_rate:
        ax.set_ylim(-0.06, 1.06)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])


def _marked(values: FloatArray, turn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where markers stand: in turn, but at any point that no line would show."""
    known = np.isfinite(values)
    if not (known & turn).any():
        return known
    padded = np.concatenate([[False], known, [False]])
    alone = known & ~padded[:-2] & ~padded[2:]
    return np.asarray((known & turn) | alone)


def _answer(row: Row, summary: Summary) -> Efficiency | None:
    """The first answer about data efficiency that this row can show."""
    drawn = {line.method for line in row.lines}
    settings = {line.settings for line in row.lines}
    for answer in summary.efficiency:
        shown = answer.settings in settings and {answer.method, answer.against} <= drawn
        if shown and answer.reached and answer.ratio > 1:
            return answer
    return None


def _arrow(ax: Axes, answer: Efficiency, height: float) -> None:
    """From n rows to as many as are needed, at what is to be reached."""
    ax.annotate(
        "",
        xy=(answer.rows, height),
        xytext=(answer.n, height),
        arrowprops={"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0},
        zorder=6,
    )
    ax.annotate(
        f"{'≥ ' if answer.at_least else ''}{answer.ratio:.1f}×",
        xy=(answer.n, height),
        xytext=(5, -3),
        textcoords="offset points",
        va="top",
        zorder=6,
    )


def _sizes(axes: Sequence[Axes], sizes: Sequence[int]) -> None:
    """A logarithmic axis with a tick at each size, labelled where there is room."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    room = math.log2(sizes[-1] / sizes[0]) / 4.5
    labels, last = [], -math.inf
    for n in sizes:
        fits = math.log2(n) - last >= room
        labels.append(f"{n:,}" if fits else "")
        last = math.log2(n) if fits else last
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_major_formatter(FixedFormatter(labels))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel("rows of logged data, n")


def _about(rows: Sequence[Row], summary: Summary) -> str:
    shown = {(line.settings, line.method) for row in rows for line in row.lines}
    trials = [c.trials for c in summary.cells if (c.settings, c.method) in shown and c.trials]
    few, many = min(trials, default=0), max(trials, default=0)
    count = f"{many:,}" if few == many else f"{few:,} to {many:,}"
    about = [f"{count} trial{'' if many == 1 else 's'} a point", "bands: ± 1 standard error"]
    return "; ".join([*about, summary.fixed] if summary.fixed else about)


def _handle(line: Line) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=line.label, **(line.look.markers() | line.look.line()))


def _delta_handle(summary: Summary) -> Line2D:
    from matplotlib.lines import Line2D

    label = f"admissible failure rate, delta = {summary.delta:g}"
    return Line2D([], [], color="black", linewidth=1.0, label=label)
