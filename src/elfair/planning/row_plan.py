"""The record of a plan, and the plan as text, as a picture and in a notebook.

The picture has no colours of its own: it takes that of the text around it, in light and in dark.
The kind of line shows what was measured and what is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, Literal

from elfair.report.svg import Scale, Svg, element, written

if TYPE_CHECKING:
    from elfair.planning.display import PlanDisplay

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

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The rows, the probability, its interval and the fits, as people read them."""
        fits = str(self.fits) if self.measured else "extrapolated"
        ends = f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.rows:,}", f"{self.probability:.2f}", ends, fits


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
    The statement that needs them: E[impact | T == 1] >= 0
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
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """The plan for a terminal, with the curve drawn in characters."""
        lines = [self._headline]
        if self.groups:
            groups = "; ".join(f"{name}: {rows:,}" for name, rows in self.groups.items())
            lines.append(f"Of them with {groups}.")
        lines += [f"The statement that needs them: {self.binding}", "", *self._text_curve()]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> PlanDisplay:
        """Draw the curve on matplotlib's axes: `PlanDisplay.from_plan`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own.
        """
        from elfair.planning.display import PlanDisplay

        return PlanDisplay.from_plan(self, ax=ax)

    def svg(self) -> str:
        """The curve as a self-contained SVG picture, in light and in dark."""
        said = [
            "{} rows: {} ({}, {})".format(
                *point.words[:3], "measured" if point.measured else "extrapolated"
            )
            for point in self.curve
        ]
        return element(
            "svg",
            element("title", written(self._headline)),
            element("desc", written(f"Probability of a solution by rows. {'; '.join(said)}.")),
            *_Picture(self).parts(),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            width="100%",
            style=f"max-width:{WIDTH}px;color-scheme:light dark",
            font_family="system-ui, sans-serif",
            font_size=12,
            fill="currentColor",
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return (
            f"RowPlan(verdict={self.verdict!r}, rows={self.rows}, low={self.low}, "
            f"high={self.high}, share={self.share:g}, improvement={self.improvement})"
        )

    def _repr_html_(self) -> str:
        """The answer, the picture and its numbers."""
        points = [f"{name}: {rows:,} rows" for name, rows in self.groups.items()]
        points += [f"The statement that needs them: {self.binding}", *self.notes]
        listed = "".join(f"<li>{escape(each)}</li>" for each in points)
        rows = [
            f"<tr>{''.join(f'<td>{each}</td>' for each in point.words)}</tr>"
            for point in self.curve
        ]
        return (
            f"<div><p><strong>{escape(self._headline)}</strong></p><ul>{listed}</ul>{self.svg()}"
            "<table><thead><tr><th>rows</th><th>probability of a solution</th>"
            "<th>80 % interval</th><th>fits</th></tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>"
        )

    @property
    def _headline(self) -> str:
        """The answer in one sentence."""
        better = ""
        if self.improvement is not None:
            better = f" that is better by {self.improvement:g} than the constraints ask,"
        wanted = f"a solution{better} with probability {self.share:g}"
        if self.verdict == "infeasible":
            return f"No number of rows would give {wanted}, as far as these rows can tell."
        between = "more than can be planned for"
        if self.low is not None:
            between = f"{self.low:,} or more"
        if self.high is not None:
            between = f"between {self.low:,} and {self.high:,}"
        if self.rows is None:
            return f"These rows cannot tell how many would give {wanted}: {between}."
        return f"About {self.rows:,} rows give {wanted} ({between}, with 80 % confidence)."

    def _text_curve(self) -> Iterator[str]:
        width = max(6, *(len(point.words[0]) for point in self.curve))
        title = f"{'probability of a solution':<{TEXT_WIDTH + 9}}"
        yield f"{'rows':>{width}}  {title}  low to high   fits"
        for point in self.curve:
            rows, chance, ends, fits = point.words
            bar = list(f"{'#' * round(TEXT_WIDTH * point.probability):<{TEXT_WIDTH}}")
            bar[min(TEXT_WIDTH - 1, round(TEXT_WIDTH * self.share))] = "|"  # the wanted share
            yield f"{rows:>{width}}  {chance}  [{''.join(bar)}]  {ends}  {fits}"


#: Characters from 0 to 1.
TEXT_WIDTH = 40
WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 72, 620, 44, 324


class _Picture:
    """The curve of a plan, over a logarithmic axis."""

    def __init__(self, plan: RowPlan) -> None:
        self._plan = plan
        self._scale = Scale(log10(plan.curve[0].rows), log10(plan.curve[-1].rows))

    def parts(self) -> Iterator[Svg]:
        """What is drawn, from the bottom to the top."""
        points = self._plan.curve
        tried = [point for point in points if point.measured]
        band = [(point.rows, point.high) for point in points]
        band += [(point.rows, point.low) for point in reversed(points)]
        title = "How many rows a solution takes"
        yield _label(LEFT, 20, title, anchor="start", font_size=15, font_weight=600)
        # Under the grid, which would be lost below it.
        yield element("polygon", points=self._path(band), opacity=0.12)
        yield from self._grid()
        yield from self._line_through(tried)
        yield from self._line_through(points[max(0, len(tried) - 1) :], stroke_dasharray="7 5")
        for point in tried:
            said = element("title", written("{} rows: {}".format(*point.words)))
            yield element("circle", said, cx=self._x(point.rows), cy=_y(point.probability), r=4)
        yield from self._wanted()
        yield _label((LEFT + RIGHT) / 2, HEIGHT - 8, "rows in all (logarithmic)")
        turned = f"translate(16 {_y(0.5):g}) rotate(-90)"
        yield _label(0, 0, "probability of a solution", transform=turned)

    def _x(self, rows: float) -> float:
        return LEFT + (RIGHT - LEFT) * self._scale.share(log10(rows))

    def _path(self, points: Iterable[tuple[int, float]]) -> str:
        return " ".join(f"{self._x(rows):.1f},{_y(level):.1f}" for rows, level in points)

    def _grid(self) -> Iterator[Svg]:
        """Lines at round numbers of rows, and at quarters of the probability."""
        low, high = self._scale.low, self._scale.high
        steps = (1, 2, 5) if high - low < 2.5 else (1,)
        for power, step in product(range(floor(low), ceil(high) + 1), steps):
            rows = step * 10**power
            if low <= log10(rows) <= high:
                x = self._x(rows)
                yield _line(x, TOP, x, BOTTOM, opacity=0.15)
                yield _label(x, BOTTOM + 18, f"{rows:,}")
        for percent in (0, 25, 50, 75, 100):
            y = _y(percent / 100)
            yield _line(LEFT, y, RIGHT, y, opacity=0.3)
            yield _label(LEFT - 6, y + 4, f"{percent} %", anchor="end")

    def _line_through(self, points: Sequence[CurvePoint], **how: str) -> Iterator[Svg]:
        if len(points) > 1:
            path = self._path((point.rows, point.probability) for point in points)
            look = {"fill": "none", "stroke": "currentColor", **how}
            yield element("polyline", points=path, stroke_width=2, **look)

    def _wanted(self) -> Iterator[Svg]:
        """The wanted probability, and the rows that give it."""
        y, rows = _y(self._plan.share), self._plan.rows
        yield _line(LEFT, y, RIGHT, y, stroke_dasharray="2 4")
        if rows is not None:
            x = self._x(rows)
            anchor, beside = ("end", x - 6) if x > (LEFT + RIGHT) / 2 else ("start", x + 6)
            yield _line(x, y, x, BOTTOM, stroke_dasharray="2 4")
            yield _label(beside, BOTTOM - 8, f"{rows:,} rows", anchor=anchor)


def _y(level: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * level


def _line(x1: float, y1: float, x2: float, y2: float, **how: str | float) -> Svg:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", **how)


def _label(x: float, y: float, said: str, anchor: str = "middle", **how: str | float) -> Svg:
    return element("text", written(said), x=x, y=y, text_anchor=anchor, **how)
