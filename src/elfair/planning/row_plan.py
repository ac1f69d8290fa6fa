"""The record of a plan, and the plan as text, as a picture and in a notebook.

The picture has no colours of its own: it takes that of the text around it, in light and in dark.
The kind of line shows what was measured and what is extrapolated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, log10
from typing import Literal

from elfair.report.svg import Svg, element, written

Verdict = Literal["measured", "extrapolated", "too uncertain", "infeasible"]


@dataclass(frozen=True)
class CurvePoint:
    """The probability of a solution at one number of rows.

    Parameters
    ----------
    rows : int
        The number of rows, candidate and held-out together.
    probability : float
        That ``fit`` releases a model, averaged over the luck of the pilot. At the pilot's own
        number of rows it is the ``chance`` that `check` shows.
    low, high : float
        Where the probability lies with 80 % confidence.
    fits : int
        How many models were searched for at this number of rows; 0 if it is extrapolated.
    """

    rows: int
    probability: float
    low: float
    high: float
    fits: int = 0

    @property
    def measured(self) -> bool:
        """Whether models were searched for at this number of rows."""
        return self.fits > 0


@dataclass(frozen=True)
class RowPlan:
    """How many rows a fit would need.

    Parameters
    ----------
    share : float
        The wanted probability of a solution.
    improvement : float or None
        By how much every impact is to be better than its constraint asks.
    verdict : {"measured", "extrapolated", "too uncertain", "infeasible"}
        Whether ``rows`` is at most the rows at hand, lies beyond them, or is not named: because the
        pilot is too small to tell, or because no number of rows would do.
    rows : int or None
        The number of rows in all, candidate and held-out together.
    low, high : int or None
        Where the needed number lies with 80 % confidence; None if it has no end.
    groups : mapping of str to int
        How many of ``rows`` meet each condition of the constraints, if groups keep their shares;
        empty if ``rows`` is None.
    curve : tuple of CurvePoint
        The probability of a solution by the number of rows.
    binding : str
        The statement that is least likely to pass: the one that needs the rows.
    pilot : int
        Rows at hand.
    looked_at : int
        Those of them whose impacts were used: the candidate rows.
    notes : tuple of str
        What a reader must not overlook.

    Examples
    --------
    >>> plan = RowPlan(0.9, None, "measured", 520, 400, 800, {"T == 1": 234},
    ...                (CurvePoint(250, 0.8, 0.7, 0.9, 12), CurvePoint(500, 0.9, 0.8, 1.0)),
    ...                "E[impact | T == 1] >= 0", 2000, 1200)
    >>> print(plan.text())
    About 520 rows give a solution with probability 0.9 (between 400 and 800, with 80 % confidence).
    Of them with T == 1: 234.
    What needs them: E[impact | T == 1] >= 0
    <BLANKLINE>
      rows  probability of a solution                          low to high   fits
       250  0.80  [################################    |   ]  0.70 to 0.90  12
       500  0.90  [####################################|   ]  0.80 to 1.00  extrapolated
    """

    share: float
    improvement: float | None
    verdict: Verdict
    rows: int | None
    low: int | None
    high: int | None
    groups: Mapping[str, int]
    curve: tuple[CurvePoint, ...]
    binding: str
    pilot: int
    looked_at: int
    notes: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """The plan for a terminal, with the curve drawn in characters."""
        return text(self)

    def svg(self) -> str:
        """The curve as a self-contained SVG picture, in light and in dark."""
        return svg(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return (
            f"RowPlan(verdict={self.verdict!r}, rows={self.rows}, low={self.low}, "
            f"high={self.high}, share={self.share:g}, improvement={self.improvement})"
        )

    def _repr_html_(self) -> str:
        return html(self)


#: Characters from 0 to 1.
TEXT_WIDTH = 40


def text(plan: RowPlan) -> str:
    """The plan for a terminal.

    Parameters
    ----------
    plan : RowPlan
        The plan.
    """
    lines = [headline(plan)]
    if plan.groups:
        groups = "; ".join(f"{name}: {rows:,}" for name, rows in plan.groups.items())
        lines.append(f"Of them with {groups}.")
    lines += [f"What needs them: {plan.binding}", "", *_text_curve(plan)]
    if plan.notes:
        lines += ["", *(f"- {note}" for note in plan.notes)]
    return "\n".join(lines)


def headline(plan: RowPlan) -> str:
    """The answer in one sentence."""
    wanted = f"a solution with probability {plan.share:g}"
    if plan.improvement is not None:
        wanted = (
            f"with probability {plan.share:g} a solution that is better by {plan.improvement:g} "
            "than the constraints ask"
        )
    if plan.verdict == "infeasible":
        return f"No number of rows would give {wanted}, as far as these rows can tell."
    if plan.rows is None:
        return f"These rows cannot tell how many would give {wanted}: {between(plan)}."
    return f"About {plan.rows:,} rows give {wanted} ({between(plan)}, with 80 % confidence)."


def between(plan: RowPlan) -> str:
    """The interval in words."""
    if plan.high is not None:
        return f"between {plan.low:,} and {plan.high:,}"
    return f"{plan.low:,} or more" if plan.low is not None else "more than can be planned for"


def _text_curve(plan: RowPlan) -> list[str]:
    width = max(6, *(len(f"{point.rows:,}") for point in plan.curve))
    title = (
        f"{'rows':>{width}}  {'probability of a solution':<{TEXT_WIDTH + 9}}  low to high   fits"
    )
    return [title, *(_text_line(point, plan.share, width) for point in plan.curve)]


def _text_line(point: CurvePoint, share: float, width: int) -> str:
    filled = round(TEXT_WIDTH * point.probability)
    bar = list("#" * filled + " " * (TEXT_WIDTH - filled))
    bar[min(TEXT_WIDTH - 1, round(TEXT_WIDTH * share))] = "|"  # the wanted share
    seen = f"{point.fits}" if point.measured else "extrapolated"
    ends = f"{point.low:.2f} to {point.high:.2f}"
    return f"{point.rows:>{width},}  {point.probability:.2f}  [{''.join(bar)}]  {ends}  {seen}"


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
        f"<td>{point.fits if point.measured else 'extrapolated'}</td>"
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
    said = f"{point.rows:,} rows: {point.probability:.2f}"
    x, y = across.x(point.rows), _y(point.probability)
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
