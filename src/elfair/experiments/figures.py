"""Draw the paper's figures from a summary, as PNG and SVG."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elfair.errors import InputError, MissingPackageError, did_you_mean, install_extra
from elfair.experiments.panels import (
    ACCURACY,
    ANY,
    RETURNED,
    PanelRow,
    PlotLine,
    failure_panel,
    grid,
    method_styles,
    setting_styles,
)
from elfair.experiments.summary import GUARANTEED, PAPER, Summary
from elfair.records.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from elfair.experiments.experiment import Experiment

#: As many rows as the longer half of the paper's appendix has.
MOST_ROWS = 6
_STYLE: Any = {  # matplotlib's own type for it differs from version to version
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.minor.size": 0.0,
    "figure.constrained_layout.w_pad": 0.1,  # so labels of ticks do not touch the edge
    "legend.frameon": False,
    "legend.handlelength": 4.2,
    "legend.columnspacing": 2.0,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "elfair",  # otherwise identifiers are random
}


def draw(experiment: Experiment, summary: Summary, folder: Path) -> list[Path]:
    """Draw the arrangements that an experiment names, from all of its finished trials.

    "methods" is the arrangement of the paper's appendix: a row of panels for each choice of
    settings, and a line for each method. With one choice of settings it also draws the paper's
    figures 1 and 2. "settings" is figure 3: a file for each ELF method, and a line for each choice
    of settings. "comparison" compares elfair with the paper's ELF, with data efficiency as arrows.

    Parameters
    ----------
    experiment : Experiment
        It names the arrangements.
    summary : Summary
        What the experiment found.
    folder : Path
        The folder of the files. It is created if it does not exist.

    Returns
    -------
    list of Path
        The files. The same summary gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from elfair.experiments.trial import TrialRecord
    >>> from elfair.experiments.experiment import Experiment
    >>> from elfair.experiments.summary import summarize
    >>> experiment = Experiment.parse('''
    ... title = "An experiment"
    ... population = "lending"
    ... methods = ["elfair"]
    ... sizes = [{ n = [256], seeds = 1 }]
    ... figures = { arrangements = ["settings"] }
    ... ''')
    >>> trial = TrialRecord("elfair", "{}", 256, 0, "returned", 0.9, {"0": 0.0}, 0.1, None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = draw(experiment, summarize(experiment, [trial]), Path(folder))
    >>> [file.name for file in files]
    ['settings-elfair.png', 'settings-elfair.svg']
    """
    for name in experiment.figures.arrangements:
        if name not in ARRANGEMENTS:
            raise InputError(
                f"There is no arrangement of figures called {name!r}. There are: "
                f"{', '.join(ARRANGEMENTS)}.",
                hint=did_you_mean(name, ARRANGEMENTS, "see [figures] in the experiment file."),
            )
    if not any(cell.trials for cell in summary.cells):
        raise InputError(
            f"There is nothing to draw: the experiment {summary.title!r} has no finished trials"
            + (", all of them crashed." if summary.cells else "."),
            hint="run it first; an unfinished experiment can be drawn, too.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _styled():
        return [
            path
            for name in experiment.figures.arrangements
            for stem, figure in ARRANGEMENTS[name](summary)
            for path in _write(figure, folder / stem)
        ]


def _methods(summary: Summary) -> Iterator[tuple[str, Figure]]:
    failures = [failure_panel(group) for group in summary.groups]
    rows = _row_for_each_setting(summary, tuple(summary.labels))
    title = summary.title
    if len(rows) == 1:
        if failures:
            yield "figure-1-failure-rates", grid(summary, rows, failures, title=title)
        panels = [ACCURACY, RETURNED]
        yield "figure-2-accuracy-and-solutions", grid(summary, rows, panels, title=title)
    for stem, part in _files("methods", rows):
        yield stem, grid(summary, part, [*failures, RETURNED, ACCURACY], title=title)


def _settings(summary: Summary) -> Iterator[tuple[str, Figure]]:
    styles = setting_styles(len(summary.settings), len(summary.sizes))
    for method in _elf(summary):
        if method not in summary.methods:
            continue  # its figure would be empty
        lines = [
            PlotLine(summary.name_of(settings), style, settings, method)
            for settings, style in zip(summary.settings, styles, strict=True)
        ]
        title = f"{summary.title}\n{summary.labels[method]}"
        panels = [ANY, RETURNED, ACCURACY]
        figure = grid(summary, [PanelRow("", lines)], panels, title=title, legend_beside=True)
        yield f"settings-{_file_name(method)}", figure


def _comparison(summary: Summary) -> Iterator[tuple[str, Figure]]:
    rows = _row_for_each_setting(summary, _elf(summary))
    panels = [RETURNED, ACCURACY, ANY]
    for stem, part in _files("comparison", rows):
        yield stem, grid(summary, part, panels, title=summary.title, arrows=True)


#: What can be drawn, by name.
ARRANGEMENTS: dict[str, Callable[[Summary], Iterator[tuple[str, Figure]]]] = {
    "methods": _methods,
    "settings": _settings,
    "comparison": _comparison,
}


def _elf(summary: Summary) -> Sequence[str]:
    """The ELF methods of an experiment, or all methods if there is none."""
    own = [method for method in summary.labels if method in (*GUARANTEED, PAPER)]
    return own or tuple(summary.labels)


def _row_for_each_setting(summary: Summary, methods: Sequence[str]) -> list[PanelRow]:
    """Rows with all methods, with or without trials: `grid` names those that it cannot draw."""
    styles = method_styles(methods, len(summary.sizes))
    return [
        PanelRow(
            summary.name_of(settings),
            [PlotLine(summary.labels[m], styles[m], settings, m) for m in methods],
        )
        for settings in summary.settings
    ]


def _files(stem: str, rows: list[PanelRow]) -> Iterator[tuple[str, list[PanelRow]]]:
    """The rows of each file: of similar length, the shorter first, as in the paper (5 and 6)."""
    count = math.ceil(len(rows) / MOST_ROWS)
    ends = [len(rows) * index // count for index in range(count + 1)]
    for index, (start, end) in enumerate(pairwise(ends), start=1):
        yield stem if count == 1 else f"{stem}-{index}-of-{count}", rows[start:end]


def _file_name(method: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in method)


@contextmanager
def _styled() -> Iterator[None]:
    """Use elfair's style, and restore the user's own afterwards."""
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError(
            "Figures need matplotlib, which is not installed.",
            hint=install_extra("experiments"),
        ) from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _write(figure: Figure, stem: Path) -> list[Path]:
    """Write both files, without the date and the version, which would differ from run to run."""
    png, svg = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laying it out again for each file takes long
    _save(figure, png, dpi=150, metadata={"Software": None})
    _save(figure, svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


def _save(figure: Figure, path: Path, **how: Any) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], **how)
    write_whole(path, drawn.getvalue())
