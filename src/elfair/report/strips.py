"""The parts that pictures share.

Pictures with one line for each statement or group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite, isinf, isnan

from elfair.certificate import ConstraintResult, DecisionPicture, ImpactPicture, Interval
from elfair.certificate.explanation import numbered, pass_or_fail
from elfair.language import EVERYONE
from elfair.records.text import number, rate
from elfair.report.blocks import Code, Key, Strip, Strips
from elfair.report.svg import Scale, Svg, around, drawing, element, joined, mark, of_kind, written

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


#: Statements whose numbers differ by more than this factor cannot be seen on one scale.
SHARED_SCALE = 30.0

HEIGHT = 36.0
OLD, NEW = -7.0, 7.0
MIDDLE = "50%"

OLD_AND_NEW = (
    Key(sign(of_kind("old", dot("50%", 8))), "old model (as logged)"),
    Key(sign(of_kind("new", dot("50%", 8))), "new model (as tested)"),
)


def statements(results: Sequence[ConstraintResult]) -> Strips:
    """Every statement's estimate and bound, beside 0.

    Parameters
    ----------
    results : sequence of ConstraintResult
        The statements, in the order in which they are shown.
    """
    reach = [
        max((abs(v) for v in (r.estimate, r.upper) if isfinite(v)), default=0) for r in results
    ]
    shown = [each for each in reach if each > 0]
    shared = not shown or max(shown) <= SHARED_SCALE * min(shown)
    units = [1.0 if shared else each or 1.0 for each in reach]
    scale = Scale.over(
        [0.0, *(v / u for r, u in zip(results, units, strict=True) for v in (r.estimate, r.upper))]
    )
    strips = tuple(
        Strip(
            (f"{name} ", Code(result.statement)),
            _statement(result, unit, scale),
            (("estimate", number(result.estimate)), ("bound", number(result.upper))),
            pass_or_fail(result),
        )
        for name, result, unit in zip(numbered(results), results, units, strict=True)
    )
    own = "" if shared else " Their numbers differ so much that each line has a scale of its own."
    return Strips(
        "Each line is a statement g ≤ 0, the worst first. It passes where the bound on g, the far "
        f"end of its line, is not beyond 0: then all of it lies in the shaded part.{own}",
        strips,
        axis(scale, scale.ticks() if shared else [0.0]),
        tuple(_keys(results)),
    )


def _keys(results: Sequence[ConstraintResult]) -> Iterator[Key]:
    if any(result.passed for result in results):
        yield Key(sign(of_kind("pass", dot("50%", 8))), "estimate of g, passed")
    if not all(result.passed for result in results):
        yield Key(sign(of_kind("fail", mark(DIAMOND, "50%", 8))), "estimate of g, FAILED")
    yield Key(sign(of_kind("bound", whisker("0%", "85%", 8))), "up to the bound on g")
    yield Key(
        sign(element("rect", y=2, width=16, height=12, class_="holds")),
        "g ≤ 0: the statement holds",
    )


def _statement(result: ConstraintResult, unit: float, scale: Scale) -> Svg:
    kind = "pass" if result.passed else "fail"
    estimate, upper, zero = result.estimate / unit, result.upper / unit, scale.at(0.0)
    known = not isnan(estimate)
    point = scale.at(estimate if known else 0.0)
    drawn = []
    if isnan(upper):
        drawn.append(label("no bound", "100%", "end"))
    elif isinf(upper):
        drawn.append(element("line", x1=point, x2=scale.at(upper)))
        drawn.append(beyond(upper, "bound infinite" if upper > 0 else "minus infinite"))
    else:
        drawn.append(whisker(point, scale.at(upper)))
    if not known:
        drawn.append(label("no estimate", "0%", "start"))
    elif isfinite(estimate):
        drawn.append(dot(point) if result.passed else mark(DIAMOND, point))
    return drawing(
        HEIGHT,
        f"estimate {number(result.estimate)}, bound {number(result.upper)}: {pass_or_fail(result)}",
        element("rect", width=zero, height="100%", class_="holds"),
        element("line", x1=zero, x2=zero, y2="100%", class_="zero"),
        around(MIDDLE, *drawn, kind=kind),
    )


def impacts(pictures: Sequence[tuple[str, ImpactPicture]]) -> Strips:
    """An impact in several groups, under the old and the new model.

    Parameters
    ----------
    pictures : sequence of (str, ImpactPicture)
        Each group and its picture, all of the same impact.
    """
    scale = Scale.over(
        end for _, each in pictures for one in (each.logged, each.new) for end in _ends(one)
    )
    return Strips(
        "Mean impact of each group on held-out rows, with an interval that covers it 9 times in 10 "
        "by itself. It describes; the promise rests on the tests of the statements.",
        tuple(
            Strip(
                group_name(group),
                drawing(
                    HEIGHT,
                    f"{each.impact}, {group}: old {interval(each.logged)}, new "
                    f"{interval(each.new)}",
                    grid(scale, scale.ticks()),
                    around(
                        MIDDLE,
                        _interval(each.logged, scale, OLD, "old"),
                        _interval(each.new, scale, NEW, "new"),
                    ),
                ),
                (("old", number(each.logged.estimate)), ("new", number(each.new.estimate))),
            )
            for group, each in pictures
        ),
        axis(scale, scale.ticks()),
        OLD_AND_NEW,
    )


def decisions(pictures: Sequence[tuple[str, DecisionPicture]], *, share: bool) -> Strips:
    """How often a decision is taken in several groups, by the old and the new model.

    Parameters
    ----------
    pictures : sequence of (str, DecisionPicture)
        Each group and its picture, all of the same decision.
    share : bool
        Whether it is a share of people; a mean of numbers otherwise.
    """
    ends = (value for _, each in pictures for value in (each.logged, each.new))
    scale = Scale(0.0, 1.0) if share else Scale.over(ends)
    shown = rate if share else number
    what = "How often it is decided" if share else "The mean decision"
    return Strips(
        f"{what} in each group, on held-out rows: by the old model, and by the new one.",
        tuple(
            Strip(
                group_name(group),
                drawing(
                    HEIGHT,
                    f"{group}: old {shown(each.logged)}, new {shown(each.new)}",
                    grid(scale, scale.ticks()),
                    around(MIDDLE, _change(scale.at(each.logged), scale.at(each.new))),
                ),
                (("old", shown(each.logged)), ("new", shown(each.new))),
            )
            for group, each in pictures
        ),
        axis(scale, scale.ticks(), shown),
        OLD_AND_NEW,
    )


def _change(old: str, new: str) -> Svg:
    return joined(
        element("line", x1=old, x2=new, y1=OLD, y2=NEW, class_="link"),
        of_kind("old", dot(old, OLD)),
        of_kind("new", dot(new, NEW)),
    )


def interval(of: Interval) -> str:
    """An interval in words."""
    return f"{number(of.estimate)} [{number(of.low)}, {number(of.high)}]"


def _interval(of: Interval, scale: Scale, y: float, kind: str) -> Svg:
    if isnan(of.estimate):
        return label("no estimate", "0%", "start")
    low, high = scale.at(of.low), scale.at(of.high)
    return of_kind(kind, stroke(low, y), whisker(low, high, y), dot(scale.at(of.estimate), y))


def _ends(of: Interval) -> tuple[float, float, float]:
    return of.estimate, of.low, of.high
