"""The confidence sequences of a monitor as a small page: one picture for each statement."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from elfair.monitoring.status import Look, MonitorStatus, StatementStatus
from elfair.records.text import number, plural
from elfair.report import svg
from elfair.report.svg import Svg

WIDTH, HEIGHT, LEFT, BELOW = 640.0, 180.0, 56.0, 24.0
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff }
code { overflow-wrap: anywhere }
svg { width: 100%; height: auto }
.between { fill: #9dbbe0 } .zero { stroke: #1b1b1b; stroke-dasharray: 4 3 }
.estimate { fill: none; stroke: #174a84; stroke-width: 2 } .violated { color: #a4262c }
text { font-size: 12px; fill: #444 }
"""


def page(status: MonitorStatus) -> str:
    """A whole page, with everything it needs inside.

    Parameters
    ----------
    status : MonitorStatus
        What a monitor says.
    """
    alarm = plural(len(status.violated), "statement") + " violated"
    title = f"ALARM: {alarm}" if status.violated else "No statement is violated"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(status.time)}, model <code>{escape(status.model[:12])}</code></p>",
        *(_statement(each) for each in status.statements),
        "<h2>In words</h2>",
        f"<pre style='white-space: pre-wrap'>{escape(status.text())}</pre>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _statement(each: StatementStatus) -> str:
    kind = " class='violated'" if each.state == "violated" else ""
    looks = [look for look in each.looks if look.estimate is not None]
    drawn = _picture(looks, each.statement) if looks else "<p>No row has counted yet.</p>"
    return f"<h2{kind}>{each.state}: <code>{escape(each.statement)}</code></h2>\n{drawn}"


def _picture(looks: Sequence[Look], statement: str) -> Svg:
    """The estimate of g at each look, inside its confidence sequence, beside 0."""
    known = [v for each in looks for v in (each.estimate, each.lower, each.upper) if v is not None]
    low, high = min(0.0, *known), max(0.0, *known)
    most = max(each.rows for each in looks) or 1

    def x(look: Look) -> float:
        return LEFT + (WIDTH - LEFT) * look.rows / most

    def y(value: float | None, otherwise: float) -> float:
        shown = otherwise if value is None else value
        return 8 + (HEIGHT - BELOW - 8) * (high - shown) / ((high - low) or 1.0)

    upper = [f"{x(each):.1f},{y(each.upper, high):.1f}" for each in looks]
    lower = [f"{x(each):.1f},{y(each.lower, low):.1f}" for each in reversed(looks)]
    middle = [f"{x(each):.1f},{y(each.estimate, 0.0):.1f}" for each in looks]
    labels = [
        svg.element("text", svg.written(number(value)), x=LEFT - 6, y=y(value, 0) + 4,
                    text_anchor="end")
        for value in dict.fromkeys([low, 0.0, high])
    ]  # fmt: skip
    rows = svg.element("text", svg.written(plural(most, "row")), x=WIDTH, y=HEIGHT - 6,
                       text_anchor="end")  # fmt: skip
    last = looks[-1]
    said = f"After {plural(last.rows, 'row')}, g is estimated as {number(last.estimate or 0.0)}."
    return svg.element(
        "svg",
        svg.element("title", svg.written(f"Confidence sequence of g: {statement}")),
        svg.element("desc", svg.written(said)),
        svg.element("polygon", points=" ".join(upper + lower), class_="between"),
        svg.element("line", x1=LEFT, x2=WIDTH, y1=y(0.0, 0), y2=y(0.0, 0), class_="zero"),
        svg.element("polyline", points=" ".join(middle), class_="estimate"),
        *labels,
        rows,
        role="img",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
    )
