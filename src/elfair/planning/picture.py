"""The curve of a plan as an SVG picture, and a plan in a notebook.

The picture has no colours of its own: it takes the one of the text around it, in light and in dark,
and tells measured from extrapolated by the kind of line.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from elfair.planning.record import CurvePoint, RowPlan
from elfair.planning.text import headline
from elfair.report.svg import Svg, element, written

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 72, 620, 44, 324
TITLE = "How many rows a solution takes"


def svg(plan: RowPlan) -> str:
    """The curve: the probability of a solution by the number of rows.

    Parameters
    ----------
    plan : RowPlan
        The plan.
    """
    across = _Across(plan)
    points = plan.curve
    tried = [point for point in points if point.measured]
    beyond = points[max(0, len(tried) - 1) :]
    upper = [(point.rows, point.high) for point in points]
    lower = [(point.rows, point.low) for point in reversed(points)]
    return element(
        "svg",
        element("title", written(headline(plan))),
        element("desc", written(_described(points))),
        _label(LEFT, 20, TITLE, anchor="start", font_size=15, font_weight=600),
        # Under the grid, which would be lost below it.
        element("polygon", points=across.path([*upper, *lower]), opacity=0.12),
        *across.ticks(),
        *_levels(),
        *_curve(across, tried),
        *_curve(across, beyond, stroke_dasharray="7 5"),
        *(_dot(across, point) for point in tried),
        *_wanted(plan, across),
        _label((LEFT + RIGHT) / 2, HEIGHT - 8, "rows in all (logarithmic)"),
        _label(
            0, 0, "probability of a solution", transform=f"translate(16 {_y(0.5):g}) rotate(-90)"
        ),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        width="100%",
        style=f"max-width:{WIDTH}px;color-scheme:light dark",
        font_family="system-ui, sans-serif",
        font_size=12,
        fill="currentColor",
    )


def html(plan: RowPlan) -> str:
    """The plan for a notebook: the answer, the picture, its numbers.

    Parameters
    ----------
    plan : RowPlan
        The plan.
    """
    rows = "".join(
        f"<tr><td>{point.rows:,}</td><td>{point.probability:.2f}</td>"
        f"<td>{point.low:.2f} to {point.high:.2f}</td>"
        f"<td>{f'{point.solutions} of {point.fits}' if point.measured else 'extrapolated'}</td>"
        "</tr>"
        for point in plan.curve
    )
    groups = "".join(f"<li>{escape(name)}: {n:,} rows</li>" for name, n in plan.groups.items())
    notes = "".join(f"<li>{escape(note)}</li>" for note in plan.notes)
    return (
        f"<div><p><strong>{escape(headline(plan))}</strong></p><ul>{groups}"
        f"<li>What needs them: <code>{escape(plan.binding)}</code></li>{notes}</ul>{svg(plan)}"
        "<table><thead><tr><th>rows</th><th>probability of a solution</th><th>80 % interval</th>"
        f"<th>fits</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


class _Across:
    """Where numbers of rows lie on the logarithmic axis."""

    def __init__(self, plan: RowPlan) -> None:
        self._low = log10(plan.curve[0].rows)
        self._high = log10(plan.curve[-1].rows)

    def x(self, rows: float) -> float:
        """From the left."""
        return LEFT + (RIGHT - LEFT) * (log10(rows) - self._low) / (self._high - self._low)

    def path(self, points: list[tuple[int, float]]) -> str:
        """Points of a line."""
        return " ".join(f"{self.x(rows):.1f},{_y(level):.1f}" for rows, level in points)

    def ticks(self) -> list[Svg]:
        """Round numbers of rows."""
        steps = (1, 2, 5) if self._high - self._low < 2.5 else (1,)
        powers = range(floor(self._low), ceil(self._high) + 1)
        all_rows = [step * 10**power for power in powers for step in steps]
        shown = [rows for rows in all_rows if self._low <= log10(rows) <= self._high]
        places = [(self.x(rows), f"{rows:,}") for rows in shown]
        return [
            *(_line(x, TOP, x, BOTTOM, opacity=0.15) for x, _ in places),
            *(_label(x, BOTTOM + 18, words) for x, words in places),
        ]


def _y(level: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * level


def _levels() -> list[Svg]:
    lines = []
    for percent in (0, 25, 50, 75, 100):
        y = _y(percent / 100)
        lines.append(_line(LEFT, y, RIGHT, y, opacity=0.3))
        lines.append(_label(LEFT - 6, y + 4, f"{percent} %", anchor="end"))
    return lines


def _wanted(plan: RowPlan, across: _Across) -> list[Svg]:
    y = _y(plan.share)
    parts = [_line(LEFT, y, RIGHT, y, stroke_dasharray="2 4")]
    if plan.rows is not None:
        x = across.x(plan.rows)
        anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
        beside = x - 6 if anchor == "end" else x + 6
        parts.append(_line(x, y, x, BOTTOM, stroke_dasharray="2 4"))
        parts.append(_label(beside, BOTTOM - 8, f"{plan.rows:,} rows", anchor=anchor))
    return parts


def _curve(across: _Across, points: Sequence[CurvePoint], **how: str) -> list[Svg]:
    if len(points) < 2:
        return []
    path = across.path([(point.rows, point.probability) for point in points])
    return [
        element("polyline", points=path, fill="none", stroke="currentColor", stroke_width=2, **how)
    ]


def _dot(across: _Across, point: CurvePoint) -> Svg:
    said = f"{point.rows:,} rows: {point.solutions} of {point.fits} passed"
    x, y = across.x(point.rows), _y(point.solutions / point.fits)
    return element("circle", element("title", written(said)), cx=x, cy=y, r=4)


def _line(x1: float, y1: float, x2: float, y2: float, **how: str | float) -> Svg:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", **how)


def _label(x: float, y: float, said: str, anchor: str = "middle", **how: str | float) -> Svg:
    return element("text", written(said), x=x, y=y, text_anchor=anchor, **how)


def _described(points: tuple[CurvePoint, ...]) -> str:
    said = [
        f"{point.rows:,} rows: {point.probability:.2f} ({point.low:.2f} to {point.high:.2f}, "
        f"{'measured' if point.measured else 'extrapolated'})"
        for point in points
    ]
    return "Probability of a solution by number of rows. " + "; ".join(said) + "."
