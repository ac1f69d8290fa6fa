"""The parts that pictures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elfair.language import EVERYONE
from elfair.report.blocks import Code
from elfair.report.svg import Scale, Svg, element, joined, mark, of_kind, written
from elfair.report.words import number

#: More groups than this are not drawn; the tables have all of them.
MOST_DRAWN = 12
DIAMOND = "M-6 0L0-6 6 0 0 6Z"
CROSS = "M-4.5-4.5L4.5 4.5M-4.5 4.5L4.5-4.5"
RIGHT, LEFT = "M-7-4.5L0 0L-7 4.5", "M7-4.5L0 0L7 4.5"


def group_name(condition: str) -> Code | str:
    """A group, as lines of text show it."""
    return condition if condition == EVERYONE else Code(condition)


def dot(x: str, y: float = 0) -> Svg:
    """A round mark."""
    return element("circle", cx=x, cy=y, r=4.5)


def whisker(start: str, end: str, y: float = 0) -> Svg:
    """A line that ends in a stroke."""
    return joined(element("line", x1=start, x2=end, y1=y, y2=y), stroke(end, y))


def stroke(x: str, y: float = 0) -> Svg:
    """The end of an interval."""
    return element("line", x1=x, x2=x, y1=y - 5, y2=y + 5)


def beyond(value: float, words: str) -> Svg:
    """An arrow at the edge, for what is further than any scale goes."""
    if value > 0:
        return joined(of_kind("arrow", mark(RIGHT, "100%")), label(words, "100%", "end"))
    return joined(of_kind("arrow", mark(LEFT, "0%")), label(words, "0%", "start"))


def label(text: str, x: str, anchor: str, y: float = -8) -> Svg:
    """Words in a picture."""
    return element("text", written(text), x=x, y=y, text_anchor=anchor)


def grid(scale: Scale, ticks: Sequence[float]) -> Svg:
    """Faint lines at round values."""
    return of_kind("grid", *(element("line", x1=x, x2=x, y2="100%") for x in map(scale.at, ticks)))


def axis(scale: Scale, ticks: Sequence[float], shown: Callable[[float], str] = number) -> Svg:
    """The scale below strips; what it says is in the numbers beside them."""
    return element(
        "svg",
        ruler(0, [(scale.share(tick), shown(tick)) for tick in ticks]),
        height=24.0,
        aria_hidden="true",
    )


def ruler(y: float, labels: Sequence[tuple[float, str]], tick: float = 5) -> Svg:
    """A line across with labels below it, each at its share of the width."""
    drawn = [element("line", x2="100%", y1=y, y2=y)]
    for share, words in labels:
        x = f"{100 * share:.5g}%"
        anchor = "start" if share < 0.01 else "end" if share > 0.99 else "middle"
        if tick:
            drawn.append(element("line", x1=x, x2=x, y1=y, y2=y + tick))
        drawn.append(label(words, x, anchor, y + 18))
    return of_kind("axis", *drawn)


def bars(
    counts: Sequence[int], most: int, y: float, height: float, kind: str, *, down: bool = False
) -> Svg:
    """A histogram, standing or hanging."""
    base = 0 if down else 100
    path = f"M0 {base}"
    for k, n in enumerate(counts, start=1):
        tall = 100 * n / (most or 1)
        path += f"V{tall if down else 100 - tall:.4g}H{k}"
    return element(
        "svg",
        element("path", d=f"{path}V{base}Z", class_=kind),
        y=y,
        height=height,
        viewBox=f"0 0 {len(counts)} 100",
        preserveAspectRatio="none",
    )


def sign(drawn: Svg) -> Svg:
    """A mark by itself, beside its meaning."""
    return element("svg", drawn, width=16.0, height=16.0, aria_hidden="true")
