"""Drawings as SVG text: elements, scales, and the marks that charts share.

Horizontal positions are percentages of a width that the reader's window decides; everything else is
in pixels. So a drawing fits a phone and a sheet of paper, and its words keep their size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import NewType

from elfair.records.text import number

#: Finished markup.
Svg = NewType("Svg", str)
#: These attributes are 0 if they are left out.
AT_ZERO = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy")
#: The share of the width that is left free at either end of a scale.
MARGIN = 0.04
DIAMOND = "M-6 0L0-6 6 0 0 6Z"
CROSS = "M-4.5-4.5L4.5 4.5M-4.5 4.5L4.5-4.5"
RIGHT, LEFT = "M-7-4.5L0 0L-7 4.5", "M7-4.5L0 0L7 4.5"


def element(tag: str, *children: Svg, **attributes: str | float) -> Svg:
    """An element; ``class_`` is the attribute class, and ``_`` inside a name stands for ``-``.

    Examples
    --------
    >>> element("text", written("a < b"), x=3.0, text_anchor="end")
    '<text x="3" text-anchor="end">a &lt; b</text>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value or name not in AT_ZERO
    )
    inside = "".join(children)
    return Svg(f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.5g}"


def written(text: str) -> Svg:
    """Words inside an element."""
    return Svg(escape(text, quote=False))


def joined(*drawings: Svg) -> Svg:
    """Drawings on top of each other."""
    return Svg("".join(drawings))


def drawing(height: float, title: str, *children: Svg, description: str = "") -> Svg:
    """A picture as wide as its container. A screen reader says title and description instead."""
    said = [element("title", written(title))]
    if description:
        said.append(element("desc", written(description)))
    return element("svg", *said, *children, role="img", height=height)


def around(y: str, *children: Svg, kind: str = "") -> Svg:
    """A drawing whose vertical positions count from a height, given as a share of the whole."""
    return element("svg", *children, y=y, **({"class_": kind} if kind else {}))


def styled(kind: str, *children: Svg) -> Svg:
    """Drawings that share a look, which the style sheet defines."""
    return element("g", *children, class_=kind)


def mark(shape: str, x: str, y: float = 0) -> Svg:
    """A shape around a point."""
    return element("svg", element("path", d=shape), x=x, y=y)


def dot(x: str, y: float = 0) -> Svg:
    """A round mark."""
    return element("circle", cx=x, cy=y, r=4.5)


def stroke(x: str, y: float = 0) -> Svg:
    """The end of an interval."""
    return element("line", x1=x, x2=x, y1=y - 5, y2=y + 5)


def whisker(start: str, end: str, y: float = 0) -> Svg:
    """A line that ends in a stroke."""
    return joined(element("line", x1=start, x2=end, y1=y, y2=y), stroke(end, y))


def label(text: str, x: str, anchor: str, y: float = -8) -> Svg:
    """Words in a picture."""
    return element("text", written(text), x=x, y=y, text_anchor=anchor)


def off_scale(value: float, words: str) -> Svg:
    """An arrow at the edge, for a value that no scale reaches."""
    shape, x, anchor = (RIGHT, "100%", "end") if value > 0 else (LEFT, "0%", "start")
    return joined(styled("arrow", mark(shape, x)), label(words, x, anchor))


def legend_mark(drawn: Svg) -> Svg:
    """A mark by itself, beside its meaning."""
    return element("svg", drawn, width=16.0, height=16.0, aria_hidden="true")


def ruler(y: float, labels: Sequence[tuple[float, str]], tick: float = 5) -> Svg:
    """A horizontal line with labels below it, each at its share of the width."""
    drawn = [element("line", x2="100%", y1=y, y2=y)]
    for share, words in labels:
        x = f"{100 * share:.5g}%"
        anchor = "start" if share < 0.01 else "end" if share > 0.99 else "middle"
        if tick:
            drawn.append(element("line", x1=x, x2=x, y1=y, y2=y + tick))
        drawn.append(label(words, x, anchor, y + 18))
    return styled("axis", *drawn)


def bars(
    counts: Sequence[int], y: float, height: float, kind: str, *, hanging: bool = False
) -> Svg:
    """A histogram whose highest bar has the full height."""
    base = 0 if hanging else 100
    path = f"M0 {base}"
    for k, n in enumerate(counts, start=1):
        tall = 100 * n / (max(counts) or 1)
        path += f"V{tall if hanging else 100 - tall:.4g}H{k}"
    return element(
        "svg",
        element("path", d=f"{path}V{base}Z", class_=kind),
        y=y,
        height=height,
        viewBox=f"0 0 {len(counts)} 100",
        preserveAspectRatio="none",
    )


@dataclass(frozen=True)
class Scale:
    """From values to positions.

    Parameters
    ----------
    low, high : float
        The values at the two ends.
    """

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float], *, before: float = MARGIN) -> Scale:
        """A scale that shows all finite values, with some space before the first.

        Examples
        --------
        >>> scale = Scale.over([0.0, 92.0])
        >>> round(scale.low, 9), round(scale.high, 9)
        (-4.0, 96.0)
        >>> Scale.over([float("inf")])
        Scale(low=-1.0, high=1.0)
        """
        finite = [value for value in values if isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        if low == high:
            far = abs(low) or 1.0
            return cls(low - far, high + far)
        whole = (high - low) / (1 - before - MARGIN)
        return cls(low - whole * before, high + whole * MARGIN)

    def share(self, value: float) -> float:
        """Where a value is, from 0 to 1; a value off the scale is at its end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def at(self, value: float) -> str:
        """Where a value is, horizontally.

        Examples
        --------
        >>> Scale(-1.0, 1.0).at(0.5), Scale(-1.0, 1.0).at(float("inf"))
        ('75%', '100%')
        """
        return f"{100 * self.share(value):.4g}%"

    def ticks(self, most: int = 5) -> list[float]:
        """Round values on the scale, at most this many.

        Examples
        --------
        >>> Scale(-0.11, 0.13).ticks()
        [-0.1, -0.05, 0.0, 0.05, 0.1]
        """
        least = (self.high - self.low) / most
        power = 10.0 ** floor(log10(least))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))
        first, last = ceil(self.low / step), floor(self.high / step)
        return [float(f"{k * step:.12g}") for k in range(first, last + 1)]

    def grid(self) -> Svg:
        """Faint lines at round values."""
        ends = map(self.at, self.ticks())
        return styled("grid", *(element("line", x1=x, x2=x, y2="100%") for x in ends))

    def axis(
        self, ticks: Sequence[float] | None = None, shown: Callable[[float], str] = number
    ) -> Svg:
        """The scale below the rows of a chart; the numbers beside them say the same in words."""
        ticks = self.ticks() if ticks is None else ticks
        labels = [(self.share(tick), shown(tick)) for tick in ticks]
        return element("svg", ruler(0, labels), height=24.0, aria_hidden="true")
