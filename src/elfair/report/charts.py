"""The charts of a report: a row for each statement or group, and small charts side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import floor, isfinite, isinf, isnan, log10

from elfair.certificate import ConstraintResult, pictures
from elfair.certificate.explanation import numbered, pass_or_fail
from elfair.records.text import edge_words, number, plural, rate
from elfair.report import svg
from elfair.report.blocks import (
    ChartRow,
    Code,
    Legend,
    Line,
    RowChart,
    SmallCharts,
    group_name,
    plain,
)
from elfair.report.svg import Scale, Svg

#: More groups than this are not drawn; the tables have all of them.
MOST_DRAWN = 12
#: Statements whose numbers differ by more than this factor cannot be seen on one scale.
SHARED_SCALE = 30.0
HEIGHT, MIDDLE = 36.0, "50%"
#: How far above and below the middle of a row the two models are.
OLD, NEW = -7.0, 7.0
IN_TABLE = "The numbers are in the table below."


def statements(results: Sequence[ConstraintResult]) -> RowChart:
    """The estimate and the upper bound of every statement, beside 0.

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
    own = "" if shared else " Their numbers differ so much that each row has its own scale."
    return RowChart(
        "Each row is a statement g ≤ 0, the worst first. It passes if its upper bound (right end) "
        f"is at most 0: then its whole line is in the shaded part.{own}",
        tuple(
            ChartRow(
                (f"{name} ", Code(result.statement)),
                _statement(result, unit, scale),
                (("estimate", number(result.estimate)), ("bound", number(result.upper))),
                pass_or_fail(result),
            )
            for (name, result), unit in zip(numbered(results), units, strict=True)
        ),
        scale.axis(None if shared else [0.0]),
        tuple(_legend(results)),
    )


def _legend(results: Sequence[ConstraintResult]) -> Iterator[tuple[Svg, str]]:
    if any(result.passed for result in results):
        yield _meaning("pass", svg.dot("50%", 8), "estimate of g, passed")
    if not all(result.passed for result in results):
        yield _meaning("fail", svg.mark(svg.DIAMOND, "50%", 8), "estimate of g, FAILED")
    yield _meaning("bound", svg.whisker("0%", "85%", 8), "up to the upper bound on g")
    shade = svg.element("rect", y=2, width=16, height=12, class_="holds")
    yield svg.legend_mark(shade), "g ≤ 0: the statement holds"


def _meaning(kind: str, drawn: Svg, words: str) -> tuple[Svg, str]:
    """An entry of a legend."""
    return svg.legend_mark(svg.styled(kind, drawn)), words


#: The legend of a chart that compares the two models.
OLD_AND_NEW: Legend = (
    _meaning("old", svg.dot("50%", 8), "old model (as logged)"),
    _meaning("new", svg.dot("50%", 8), "new model (as tested)"),
)


def _statement(result: ConstraintResult, unit: float, scale: Scale) -> Svg:
    estimate, upper, zero = result.estimate / unit, result.upper / unit, scale.at(0.0)
    known = not isnan(estimate)
    point = scale.at(estimate if known else 0.0)
    drawn = []
    if isnan(upper):
        drawn.append(svg.label("no bound", "100%", "end"))
    elif isinf(upper):
        drawn.append(svg.element("line", x1=point, x2=scale.at(upper)))
        drawn.append(svg.off_scale(upper, "bound infinite" if upper > 0 else "minus infinite"))
    else:
        drawn.append(svg.whisker(point, scale.at(upper)))
    if not known:
        drawn.append(svg.label("no estimate", "0%", "start"))
    elif isfinite(estimate):
        drawn.append(svg.dot(point) if result.passed else svg.mark(svg.DIAMOND, point))
    return svg.drawing(
        HEIGHT,
        f"estimate {number(result.estimate)}, bound {number(result.upper)}: {pass_or_fail(result)}",
        svg.element("rect", width=zero, height="100%", class_="holds"),
        svg.element("line", x1=zero, x2=zero, y2="100%", class_="zero"),
        svg.around(MIDDLE, *drawn, kind="pass" if result.passed else "fail"),
    )


def impacts(groups: Sequence[tuple[Line, pictures.ImpactPicture]], name: str) -> RowChart:
    """An impact in several groups, under the old and the new model.

    Parameters
    ----------
    groups : sequence of (Line, ImpactPicture)
        Each group and its picture, all of the same impact.
    name : str
        What the impact is called.
    """
    scale = Scale.over(
        end
        for _, each in groups
        for of in (each.logged, each.new)
        for end in (of.estimate, of.low, of.high)
    )
    shown = alike([of.estimate for _, each in groups for of in (each.logged, each.new)])
    return RowChart(
        f"Mean {name} of each group on held-out rows, with intervals that cover it 9 times in 10, "
        "each by itself. They only describe: the promise rests on the tests of the statements.",
        tuple(
            _old_and_new(
                group,
                f"{name}, {plain(group)}: old {_words(each.logged)}, new {_words(each.new)}",
                (shown(each.logged.estimate), shown(each.new.estimate)),
                scale.grid(),
                _interval(each.logged, scale, OLD, "old"),
                _interval(each.new, scale, NEW, "new"),
            )
            for group, each in groups
        ),
        scale.axis(),
        OLD_AND_NEW,
    )


def alike(values: Sequence[float]) -> Callable[[float], str]:
    """How to write some numbers below each other: all with as many decimals.

    Parameters
    ----------
    values : sequence of float
        The numbers.

    Examples
    --------
    >>> values = [-2.0437, 0.8167, 0.006184]
    >>> [alike(values)(value) for value in values]
    ['-2.04', '0.82', '0.01']
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    decimals = min(12, max(0, 2 - floor(log10(largest)))) if largest > 0 else 0
    return lambda value: f"{value:,.{decimals}f}" if isfinite(value) else number(value)


def decisions(groups: Sequence[tuple[Line, pictures.DecisionPicture]], *, share: bool) -> RowChart:
    """How often several groups get a decision, from the old and the new model.

    Parameters
    ----------
    groups : sequence of (Line, DecisionPicture)
        Each group and its picture, all of the same decision.
    share : bool
        Whether it is a share of people; a mean of numbers otherwise.
    """
    ends = (value for _, each in groups for value in (each.logged, each.new))
    scale = Scale(0.0, 1.0) if share else Scale.over(ends)
    shown: Callable[[float], str] = rate if share else number
    what = "How often each model takes this decision" if share else "Each model's mean decision"
    return RowChart(
        f"{what} in each group, on held-out rows.",
        tuple(
            _old_and_new(
                group,
                f"{plain(group)}: old {shown(each.logged)}, new {shown(each.new)}",
                (shown(each.logged), shown(each.new)),
                scale.grid(),
                _change(scale.at(each.logged), scale.at(each.new)),
            )
            for group, each in groups
        ),
        scale.axis(shown=shown),
        OLD_AND_NEW,
    )


def _old_and_new(
    group: Line, title: str, numbers: tuple[str, str], grid: Svg, *drawn: Svg
) -> ChartRow:
    picture = svg.drawing(HEIGHT, title, grid, svg.around(MIDDLE, *drawn))
    return ChartRow(group, picture, (("old", numbers[0]), ("new", numbers[1])))


def _change(old: str, new: str) -> Svg:
    return svg.joined(
        svg.element("line", x1=old, x2=new, y1=OLD, y2=NEW, class_="link"),
        svg.styled("old", svg.dot(old, OLD)),
        svg.styled("new", svg.dot(new, NEW)),
    )


def _words(of: pictures.Interval) -> str:
    return f"{number(of.estimate)} [{number(of.low)}, {number(of.high)}]"


def _interval(of: pictures.Interval, scale: Scale, y: float, kind: str) -> Svg:
    if isnan(of.estimate):
        return svg.label("no estimate", "0%", "start")
    low, high = scale.at(of.low), scale.at(of.high)
    return svg.styled(
        kind, svg.stroke(low, y), svg.whisker(low, high, y), svg.dot(scale.at(of.estimate), y)
    )


def weights(groups: Sequence[pictures.GroupPicture], bins: range) -> SmallCharts:
    """Histograms of importance weights.

    Parameters
    ----------
    groups : sequence of GroupPicture
        Groups that have weights.
    bins : range
        The bins to show.
    """
    return SmallCharts(
        "How often each importance weight occurs, with one bar for each doubling. A weight says "
        "how much more often the new model takes the logged decision than the old one did. The "
        "line marks 1, where both agree. A few large weights mean that a few people decide the "
        "result.",
        tuple((group_name(group.condition), _weights(group, bins)) for group in groups),
    )


def _weights(group: pictures.GroupPicture, bins: range) -> Svg:
    assert group.weights is not None
    edges = group.weights.edges[bins.start : bins.stop + 1]
    middle = edges.index(1.0)
    one = f"{100 * middle / len(bins):.5g}%"
    every = 1 if len(bins) <= 7 else 2
    labels = [
        (k / len(bins), edge_words(edge))
        for k, edge in enumerate(edges)
        if k == 0 or (k - middle) % every == 0
    ]
    return svg.drawing(
        128,
        f"Importance weights of {group.condition}, {plural(group.n, 'row')}.",
        svg.bars(group.weights.counts[bins.start : bins.stop], 8, 96, "new"),
        # Over the bars, on a ground of its own: the bars are highest at 1.
        svg.element("line", x1=one, x2=one, y1=0, y2=104, class_="ground"),
        svg.element("line", x1=one, x2=one, y1=0, y2=104, class_="zero"),
        svg.ruler(104, labels),
        description=IN_TABLE,
    )


def overlap(groups: Sequence[pictures.GroupPicture]) -> SmallCharts:
    """Histograms of the probability of the logged decision, the old model's above the new one's.

    Parameters
    ----------
    groups : sequence of GroupPicture
        Groups that have such probabilities.
    """
    return SmallCharts(
        "The probability of the decision that was taken: above, under the old model, which took "
        "it; below, hanging, under the new one. Each has its own scale. If the new model favours "
        "decisions that the old one hardly ever took, the log says little about it.",
        tuple((group_name(group.condition), _overlap(group)) for group in groups),
        tuple(
            (
                svg.legend_mark(svg.element("rect", x=2, y=2, width=12, height=12, class_=which)),
                f"{which} model",
            )
            for which in ("old", "new")
        ),
    )


def _overlap(group: pictures.GroupPicture) -> Svg:
    assert group.propensities is not None
    assert group.probabilities is not None
    return svg.drawing(
        150,
        f"Probability of the logged decision, {group.condition}, {plural(group.n, 'row')}.",
        svg.bars(group.propensities.counts, 4, 60, "old"),
        svg.bars(group.probabilities.counts, 66, 60, "new", hanging=True),
        svg.label("old", "0%", "start", 12),
        svg.label("new", "0%", "start", 124),
        svg.ruler(65, [], 0),
        svg.ruler(126, [(edge, f"{edge:g}") for edge in (0.0, 0.25, 0.5, 0.75, 1.0)], 0),
        description=IN_TABLE,
    )


#: How each fate of a model is drawn, and what it means.
FATES: dict[pictures.Fate, tuple[str, str]] = {
    "released": ("new", "released"),
    "passed": ("new", "passed, but a less cautious model was released"),
    "failed": ("fail cross", "failed"),
    "not tested": ("old", "not tested, because a more cautious model failed"),
}
_TOP, _DEEP = 10.0, 130.0


def ladder(of: pictures.TradeOff, objective: str) -> SmallCharts:
    """The models of the ladder: each impact over the loss.

    Parameters
    ----------
    of : TradeOff
        The models, and the impacts; a chart for each impact.
    objective : str
        What the search maximises.
    """
    fates = [fate for fate in FATES if any(model.fate == fate for model in of.models)]
    across = Scale.over((model.loss for model in of.models), before=0.16)
    return SmallCharts(
        "Up: the mean impact. Across: the loss, which the search minimises (objective: "
        f"{objective}). Both are estimated on candidate rows, before the test.",
        tuple(
            ((Code(each.impact), ", ", group_name(each.condition)), _series(k, of, across))
            for k, each in enumerate(of.series[:MOST_DRAWN])
        ),
        tuple(_meaning(FATES[fate][0], _model(fate, "50%", 8), FATES[fate][1]) for fate in fates),
    )


def _series(k: int, of: pictures.TradeOff, across: Scale) -> Svg:
    series, means = of.series[k], [model.impacts[k] for model in of.models]
    up = Scale.over([series.logged, *means])
    heights = [(_height(tick, up), number(tick)) for tick in up.ticks(4)]
    old = _height(series.logged, up)
    ticks = [(across.share(tick), number(tick)) for tick in across.ticks(4)]
    return svg.drawing(
        172,
        f"{series.impact}, {series.condition}, of {plural(len(means), 'model')} over their loss.",
        svg.styled("grid", *(svg.element("line", x2="100%", y1=y, y2=y) for y, _ in heights)),
        *(svg.label(words, "0%", "start", y - 3) for y, words in heights),
        svg.element("line", x2="100%", y1=old, y2=old, class_="reference"),
        svg.label("old model", "100%", "end", old - 4),
        *(
            svg.styled(
                FATES[model.fate][0], _model(model.fate, across.at(model.loss), _height(mean, up))
            )
            for model, mean in zip(of.models, means, strict=True)
            if isfinite(mean) and isfinite(model.loss)
        ),
        # Clear of the labels of heights.
        svg.ruler(_TOP + _DEEP + 8, [(share, words) for share, words in ticks if share > 0.1]),
        description=IN_TABLE,
    )


def _height(value: float, up: Scale) -> float:
    return _TOP + (1 - up.share(value)) * _DEEP


def _model(fate: pictures.Fate, x: str, y: float) -> Svg:
    if fate == "released":
        return svg.joined(svg.element("circle", cx=x, cy=y, r=7.5, class_="ring"), svg.dot(x, y))
    return svg.mark(svg.CROSS, x, y) if fate == "failed" else svg.dot(x, y)
