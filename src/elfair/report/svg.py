"""Drawings, as text.

Positions across are percentages of a width that the reader's window decides, and all else is in
pixels: so a drawing fits a phone and a page of paper, and its words keep their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import NewType

#: Finished markup.
Svg = NewType("Svg", str)
#: Where nothing is said, these are 0.
AT_ZERO = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy")
#: How much of the width is left free at either end of a scale.
MARGIN = 0.04


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


def written(text: str) -> Svg:
    """Words inside an element."""
    return Svg(escape(text, quote=False))


def joined(*drawings: Svg) -> Svg:
    """Drawings one over the other."""
    return Svg("".join(drawings))


def drawing(height: float, title: str, *children: Svg, description: str = "") -> Svg:
    """A picture as wide as its place, with its meaning in words.

    Parameters
    ----------
    height : float
        In pixels.
    title : str
        What is read out in its place.
    children : Svg
        What is drawn.
    description : str, optional
        More than fits a title.
    """
    said = [element("title", written(title))]
    if description:
        said.append(element("desc", written(description)))
    return element("svg", *said, *children, role="img", height=height)


def around(y: str, *children: Svg, kind: str = "") -> Svg:
    """What is drawn about a height that is a share of the whole, with positions from there."""
    return element("svg", *children, y=y, **({"class_": kind} if kind else {}))


def of_kind(kind: str, *children: Svg) -> Svg:
    """What is drawn alike: the style sheet says how."""
    return element("g", *children, class_=kind)


def mark(shape: str, x: str, y: float = 0) -> Svg:
    """A path around a point; circles need no path."""
    return element("svg", element("path", d=shape), x=x, y=y)


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.5g}"


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
        """A scale on which all finite values can be seen, with so much free before the first.

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
        """Where a value is, from 0 to 1; what is off the scale is at its end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def at(self, value: float) -> str:
        """Where a value is, across.

        Examples
        --------
        >>> Scale(-1.0, 1.0).at(0.5), Scale(-1.0, 1.0).at(float("inf"))
        ('75%', '100%')
        """
        return f"{100 * self.share(value):.4g}%"

    def ticks(self, most: int = 5) -> list[float]:
        """Round values on the scale, no more than so many.

        Examples
        --------
        >>> Scale(-0.11, 0.13).ticks()
        [-0.1, -0.05, 0.0, 0.05, 0.1]
        """
        step = _round_step((self.high - self.low) / most)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _round_step(least: float) -> float:
    """The smallest of ... 1, 2, 2.5, 5, 10, 20 ... that is as large."""
    power = 10.0 ** floor(log10(least))
    return float(next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9)))
