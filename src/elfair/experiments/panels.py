"""The parts of a figure: a grid of panels, each with a quantity as a function of n.

Lines differ in dashes and markers, not in colour alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elfair.experiments.efficiency import Efficiency
from elfair.experiments.summary import Average, CellSummary, Proportion, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: A dash pattern as matplotlib takes it: an offset, and lengths in line widths.
Dashes = tuple[float, tuple[float, ...]]

_SOLID: Dashes = (0.0, ())
_DASHED: Dashes = (0.0, (4.0, 1.6))
_DOTTED: Dashes = (0.0, (1.0, 1.4))
_DASH_DOT: Dashes = (0.0, (5.0, 1.5, 1.0, 1.5))
_LONG: Dashes = (0.0, (8.0, 2.0))
_DASH_DOT_DOT: Dashes = (0.0, (5.0, 1.4, 1.0, 1.4, 1.0, 1.4))


@dataclass(frozen=True)
class LineStyle:
    """Colour, dashes and marker of a line.

    Families share a colour, and colours also differ in luminance: from dark to light ELF, logistic
    regression, Fairlearn, the paper's ELF, quasi-Seldonian, fairness constraints.
    """

    color: str
    dashes: Dashes
    marker: str
    width: float = 1.3
    hollow: bool = True
    size: float = 6.0
    #: Every `every`-th size has a marker, from `start` on. Later lines have smaller markers, drawn
    #: above the others, so lines that coincide all show theirs.
    start: int = 0
    every: int = 1
    #: Whether the line is drawn above those of other families.
    on_top: bool = False

    def line(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot`` for the line; in a family, wide lines are below thin ones."""
        return {
            "color": self.color,
            "linestyle": self.dashes,
            "linewidth": self.width,
            "dash_capstyle": "butt",
            "zorder": (4.0 if self.on_top else 3.0) - self.width / 10,
        }

    def markers(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot`` for the markers; large ones are below small ones."""
        return {
            "marker": self.marker,
            "markersize": self.size,
            "markerfacecolor": "white" if self.hollow else self.color,
            "markeredgecolor": self.color,
            "markeredgewidth": 1.2,
            "zorder": 5.0 - self.size / 10,
        }


_ELF, _PAPER = "#0a2f6b", "#d1590f"
_QSA, _FAIRLEARN = "#3fa58a", "#7a4fa3"
_KNOWN = {
    "elfair": LineStyle(_ELF, _SOLID, "o", width=2.4, hollow=False, on_top=True),
    "elfair-dr": LineStyle("#2f6fc4", _SOLID, "v", width=1.9, on_top=True),
    "elfair-crossfit": LineStyle("#6fa8e8", _SOLID, "^", width=1.4, hollow=False, on_top=True),
    # The widest, so it is visible below elfair where both are the same.
    "elf-paper": LineStyle(_PAPER, _SOLID, "s", width=3.5, on_top=True),
    "logistic-regression": LineStyle("#4a4a4a", _DOTTED, "x", width=1.6),
    "qsa-demographic-parity": LineStyle(_QSA, _DASHED, "D"),
    "qsa-equalized-odds": LineStyle(_QSA, _LONG, "D", hollow=False),
    "qsa-equal-opportunity": LineStyle(_QSA, _DOTTED, "<"),
    "qsa-predictive-equality": LineStyle(_QSA, _DASH_DOT, ">", hollow=False),
    "qsa-disparate-impact": LineStyle(_QSA, _DASH_DOT_DOT, "p"),
    "fairlearn-demographic-parity": LineStyle(_FAIRLEARN, _DASHED, "h", hollow=False),
    "fairlearn-equalized-odds": LineStyle(_FAIRLEARN, _DASH_DOT, "h"),
    "fairness-constraints": LineStyle("#c79a1e", _LONG, "+", width=1.6),
}
#: For a user's own methods.
_OTHERS = (
    LineStyle("#000000", _DASH_DOT, "*", hollow=False),
    LineStyle("#8a1538", _DASHED, "P"),
    LineStyle("#7f7f7f", _LONG, "X", hollow=False),
    LineStyle("#b03a8c", _DOTTED, "*"),
)
#: The largest and the smallest of the markers that meet at one point.
_LARGEST, _SMALLEST = 8.4, 4.2
#: With up to this many sizes every point has a marker: otherwise some lines would have none.
FEW_SIZES = 4


def method_styles(methods: Sequence[str], sizes: int) -> dict[str, LineStyle]:
    """A style for each method of a figure with this many sizes.

    Examples
    --------
    >>> styles = method_styles(["elfair", "elf-paper", "mine:method"], sizes=8)
    >>> styles["elfair"].marker, styles["elf-paper"].marker, styles["mine:method"].marker
    ('o', 's', '*')
    """
    others = [method for method in methods if method not in _KNOWN]
    own = {method: _OTHERS[index % len(_OTHERS)] for index, method in enumerate(others)}
    styles = [_KNOWN.get(method) or own[method] for method in methods]
    return dict(zip(methods, _staggered(styles, sizes), strict=True))


def _staggered(styles: Sequence[LineStyle], sizes: int) -> list[LineStyle]:
    every = 1 if sizes <= FEW_SIZES else min(4, -(-len(styles) // 3))
    meeting = -(-len(styles) // every)
    step = min(1.4, (_LARGEST - _SMALLEST) / max(1, meeting - 1))
    return [
        replace(
            style,
            start=index % every,
            every=every,
            # Crosses hide nothing, so they need not shrink.
            size=8.0 if style.marker in "x+" else _LARGEST - step * (index // every),
        )
        for index, style in enumerate(styles)
    ]


_MARKERS = ("o", "s", "D", "^", "v", "<", ">", "p", "h", "P", "X")
_PATTERNS = (_SOLID, _DASHED, _DASH_DOT, _DOTTED, _LONG)


def setting_styles(count: int, sizes: int) -> list[LineStyle]:
    """A style for each of several settings, from light to dark, in a figure with this many sizes.

    Examples
    --------
    >>> [style.marker for style in setting_styles(3, sizes=8)]
    ['o', 's', 'D']
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shades = colormaps["viridis_r"]
    return _staggered(
        [
            LineStyle(
                # The lightest part of the map is too pale for a line on white.
                color=to_hex(shades(0.15 + 0.85 * (index / max(1, count - 1)))),
                dashes=_PATTERNS[index % len(_PATTERNS)],
                marker=_MARKERS[index % len(_MARKERS)],
                width=1.7,
                hollow=index % 2 == 1,
            )
            for index in range(count)
        ],
        sizes,
    )


FloatArray = NDArray[np.float64]

_ARROW = "#a3005c"


@dataclass(frozen=True)
class Panel:
    """A panel: its title, and what it shows of a cell."""

    title: str
    of: Callable[[CellSummary], Proportion | Average]
    failure: bool = False

    @property
    def is_rate(self) -> bool:
        """Whether the axis runs from 0 to 1."""
        return self is not ACCURACY


@dataclass(frozen=True)
class PlotLine:
    """One line of a panel: its label and style, and the cells that it connects."""

    label: str
    style: LineStyle
    settings: str
    method: str


@dataclass(frozen=True)
class PanelRow:
    """One row of panels: its label, and the lines in each of its panels."""

    label: str
    lines: Sequence[PlotLine]


RETURNED = Panel("Probability of a solution", lambda cell: cell.returned)
ACCURACY = Panel("Accuracy", lambda cell: cell.accuracy)
ANY = Panel("Failure rate, any group", lambda cell: cell.any_failure, failure=True)


def failure_panel(group: str) -> Panel:
    """A panel with the failure rate of one group."""
    return Panel(f"Failure rate, group {group}", lambda cell: cell.failures[group], failure=True)


def grid(
    summary: Summary,
    rows: Sequence[PanelRow],
    panels: Sequence[Panel],
    *,
    title: str,
    arrows: bool = False,
    legend_beside: bool = False,
) -> Figure:
    """Draw a grid of panels under one title, with one legend below or beside it.

    Bands are one standard error either way; for a rate, Wilson's interval at one standard error,
    which is not empty at 0 and 1. Lines without a finished trial are named under the title.

    Parameters
    ----------
    summary : Summary
        It holds the cells.
    rows : sequence of PanelRow
        From top to bottom.
    panels : sequence of Panel
        From left to right.
    title : str
        The first lines. The number of trials follows, and which lines are not drawn.
    arrows : bool, default=False
        Whether to draw the data efficiency.
    legend_beside : bool, default=False
        Whether to put the legend at the right, for many lines in one row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    met = {line.label for row in rows for line in row.lines if _cells(line, summary)}
    handles = [_handle(line) for line in rows[0].lines if line.label in met]
    if any(panel.failure for panel in panels):
        handles.append(_delta_handle(summary))
    width = (4.2 if len(panels) == 2 else 3.1) * len(panels) + 0.4
    columns = 1 if legend_beside else _even_columns(len(handles), int(width / 2.8))
    below = 0.19 * math.ceil(len(handles) / columns) + 0.2
    figure = Figure(
        figsize=(width + 2.6, 3.6) if legend_beside else (width, 2.1 * len(rows) + 1.0 + below),
        layout="constrained",
    )
    axes = figure.subplots(len(rows), len(panels), squeeze=False, sharex=True, sharey="col")
    answers = [_answer(row, summary) if arrows else None for row in rows]
    for across, row in zip(axes, rows, strict=True):
        for ax, panel in zip(across, panels, strict=True):
            _lines(ax, panel, row.lines, summary)
        across[0].set_ylabel(row.label)
    for across, answer in zip(axes, answers, strict=True):  # once the axes have their limits
        for ax, panel in zip(across, panels, strict=True):
            if answer and not panel.failure:
                _arrow(ax, answer, answer.accuracy if panel is ACCURACY else answer.rate)
    for ax, panel in zip(axes[0], panels, strict=True):
        ax.set_title(panel.title)
    _sizes(axes[-1], summary.sizes)
    about = _about(rows, panels, summary)
    if any(answers):
        about += "; arrows: times fewer rows needed"
    lines = [
        part
        for line in (*title.splitlines(), about, *_not_drawn(rows, summary))
        for part in textwrap.wrap(line, int(figure.get_figwidth() * 12))
    ]
    figure.suptitle("\n".join(lines), fontsize=10.5)
    figure.legend(
        handles=handles,
        loc="outside right center" if legend_beside else "outside lower center",
        ncols=columns,
    )
    return figure


def _cells(line: PlotLine, summary: Summary) -> list[CellSummary]:
    """The cells of a line that can be drawn."""
    return [cell for cell in summary.line(line.settings, line.method) if cell.trials]


def _even_columns(entries: int, most: int) -> int:
    """The number of columns that fills the smallest possible number of rows."""
    rows = max(1, math.ceil(entries / most))
    return max(1, math.ceil(entries / rows))


def _lines(ax: Axes, panel: Panel, lines: Sequence[PlotLine], summary: Summary) -> None:
    place = {n: index for index, n in enumerate(summary.sizes)}
    for line in lines:
        style = line.style
        if not (cells := _cells(line, summary)):
            continue
        values = [panel.of(cell) for cell in cells]
        n = np.array([cell.n for cell in cells], dtype=np.float64)
        points = np.array([value.value for value in values])
        low, high = np.transpose([value.band for value in values])
        # The accuracy of a single model has no standard error: it gets a marker without a line.
        middle = np.where(np.isnan(low), np.nan, points)
        ax.fill_between(n, low, high, color=style.color, alpha=0.16, linewidth=0, zorder=1.5)
        ax.plot(n, middle, **style.line())
        turn = np.array([(place[cell.n] - style.start) % style.every == 0 for cell in cells])
        marked = _marked(middle, turn) | (np.isfinite(points) & np.isnan(middle))
        ax.plot(n[marked], points[marked], linestyle="none", **style.markers())
    if panel.failure:
        ax.axhline(summary.delta, color="black", linewidth=1.0, zorder=1.8)
    if panel.is_rate:
        ax.set_ylim(-0.06, 1.06)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])


def _marked(values: FloatArray, turn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where to put markers: in turn, and at points that no line shows."""
    known = np.isfinite(values)
    if not (known & turn).any():
        return known
    padded = np.concatenate([[False], known, [False]])
    alone = known & ~padded[:-2] & ~padded[2:]
    return np.asarray((known & turn) | alone)


def _answer(row: PanelRow, summary: Summary) -> Efficiency | None:
    """The first answer about data efficiency that this row can show."""
    drawn = {line.method for line in row.lines}
    settings = {line.settings for line in row.lines}
    for answer in summary.efficiency:
        shown = answer.settings in settings and {answer.method, answer.against} <= drawn
        if shown and answer.reached and answer.ratio > 1:
            return answer
    return None


def _arrow(ax: Axes, answer: Efficiency, height: float) -> None:
    """An arrow from n rows to as many as are needed, at the height to reach, with a white rim."""
    from matplotlib.patheffects import withStroke

    low, high = ax.get_ylim()
    above = height < (low + high) / 2
    ax.annotate(
        "",
        xy=(answer.rows, height),
        xytext=(answer.n, height),
        arrowprops={
            "arrowstyle": "-|>",
            "color": _ARROW,
            "linewidth": 1.5,
            "shrinkA": 0,
            "shrinkB": 0,
            "path_effects": [withStroke(linewidth=3.5, foreground="white")],
        },
        zorder=6,
    )
    ax.annotate(
        f"{'≥ ' if answer.at_least else ''}{answer.ratio:.1f}×",
        xy=(math.sqrt(answer.n * answer.rows), height),  # the middle on a logarithmic axis
        xytext=(0, 5 if above else -5),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        color=_ARROW,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
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


def _about(rows: Sequence[PanelRow], panels: Sequence[Panel], summary: Summary) -> str:
    cells = [cell for row in rows for line in row.lines for cell in _cells(line, summary)]
    trials = [cell.trials for cell in cells]
    few, many = min(trials, default=0), max(trials, default=0)
    count = f"{many:,}" if few == many else f"{few:,} to {many:,}"
    about = [
        f"{count} trial{'' if many == 1 else 's'} a point",
        "bands: ± 1 standard error (of rates, Wilson's)",
    ]
    if ACCURACY in panels and any(cell.accuracy.count == 1 for cell in cells):
        about.append("markers without a line: accuracy of a single model")
    return "; ".join([*about, summary.fixed] if summary.fixed else about)


def _not_drawn(rows: Sequence[PanelRow], summary: Summary) -> list[str]:
    """A note on lines without finished trials."""
    empty: dict[str, list[str]] = {}
    for row in rows:
        for line in row.lines:
            if not _cells(line, summary):
                empty.setdefault(line.label, []).append(row.label)
    if not empty:
        return []
    named = [
        label if len(where) == len(rows) else f"{label} ({', '.join(where)})"
        for label, where in empty.items()
    ]
    return [f"not drawn, since no trial finished: {'; '.join(named)}"]


def _handle(line: PlotLine) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=line.label, **(line.style.markers() | line.style.line()))


def _delta_handle(summary: Summary) -> Line2D:
    from matplotlib.lines import Line2D

    label = f"admissible failure rate, delta = {summary.delta:g}"
    return Line2D([], [], color="black", linewidth=1.0, label=label)
