"""The charts of a report: a row for each statement or group, and small charts side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite, isinf, isnan

from elfair.certificate import (
    ConstraintResult,
    DecisionPicture,
    Fate,
    GroupPicture,
    ImpactPicture,
    Interval,
    ModelPicture,
    SeriesPicture,
)
from elfair.certificate.explanation import numbered, pass_or_fail
from elfair.records.text import number, plural, rate
from elfair.report.blocks import ChartRow, Code, LegendEntry, RowChart, SmallCharts, group_name
from elfair.report.svg import (
    CROSS,
    DIAMOND,
    Scale,
    Svg,
    around,
    bars,
    dot,
    drawing,
    element,
    joined,
    label,
    legend_mark,
    mark,
    off_scale,
    ruler,
    stroke,
    styled,
    whisker,
)

#: More groups than this are not drawn; the tables have all of them.
MOST_DRAWN = 12
#: Statements whose numbers differ by more than this factor cannot be seen on one scale.
SHARED_SCALE = 30.0
HEIGHT, MIDDLE = 36.0, "50%"
#: How far above and below the middle of a row the two models are.
OLD, NEW = -7.0, 7.0
OLD_AND_NEW = (
    LegendEntry(legend_mark(styled("old", dot("50%", 8))), "old model (as logged)"),
    LegendEntry(legend_mark(styled("new", dot("50%", 8))), "new model (as tested)"),
)
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


def _legend(results: Sequence[ConstraintResult]) -> Iterator[LegendEntry]:
    if any(result.passed for result in results):
        yield LegendEntry(legend_mark(styled("pass", dot("50%", 8))), "estimate of g, passed")
    if not all(result.passed for result in results):
        failed = legend_mark(styled("fail", mark(DIAMOND, "50%", 8)))
        yield LegendEntry(failed, "estimate of g, FAILED")
    line = legend_mark(styled("bound", whisker("0%", "85%", 8)))
    yield LegendEntry(line, "up to the upper bound on g")
    shade = legend_mark(element("rect", y=2, width=16, height=12, class_="holds"))
    yield LegendEntry(shade, "g ≤ 0: the statement holds")


def _statement(result: ConstraintResult, unit: float, scale: Scale) -> Svg:
    estimate, upper, zero = result.estimate / unit, result.upper / unit, scale.at(0.0)
    known = not isnan(estimate)
    point = scale.at(estimate if known else 0.0)
    drawn = []
    if isnan(upper):
        drawn.append(label("no bound", "100%", "end"))
    elif isinf(upper):
        drawn.append(element("line", x1=point, x2=scale.at(upper)))
        drawn.append(off_scale(upper, "bound infinite" if upper > 0 else "minus infinite"))
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
        around(MIDDLE, *drawn, kind="pass" if result.passed else "fail"),
    )


def impacts(pictures: Sequence[tuple[str, ImpactPicture]]) -> RowChart:
    """An impact in several groups, under the old and the new model.

    Parameters
    ----------
    pictures : sequence of (str, ImpactPicture)
        Each group and its picture, all of the same impact.
    """
    scale = Scale.over(
        end
        for _, each in pictures
        for of in (each.logged, each.new)
        for end in (of.estimate, of.low, of.high)
    )
    return RowChart(
        "Mean impact of each group on held-out rows, with intervals that cover it 9 times in 10, "
        "each by itself. They only describe: the promise rests on the tests of the statements.",
        tuple(
            _old_and_new(
                group,
                f"{each.impact}, {group}: old {_words(each.logged)}, new {_words(each.new)}",
                (number(each.logged.estimate), number(each.new.estimate)),
                scale.grid(),
                _interval(each.logged, scale, OLD, "old"),
                _interval(each.new, scale, NEW, "new"),
            )
            for group, each in pictures
        ),
        scale.axis(),
        OLD_AND_NEW,
    )


def decisions(pictures: Sequence[tuple[str, DecisionPicture]], *, share: bool) -> RowChart:
    """How often several groups get a decision, from the old and the new model.

    Parameters
    ----------
    pictures : sequence of (str, DecisionPicture)
        Each group and its picture, all of the same decision.
    share : bool
        Whether it is a share of people; a mean of numbers otherwise.
    """
    ends = (value for _, each in pictures for value in (each.logged, each.new))
    scale = Scale(0.0, 1.0) if share else Scale.over(ends)
    shown: Callable[[float], str] = rate if share else number
    what = "How often each model takes this decision" if share else "Each model's mean decision"
    return RowChart(
        f"{what} in each group, on held-out rows.",
        tuple(
            _old_and_new(
                group,
                f"{group}: old {shown(each.logged)}, new {shown(each.new)}",
                (shown(each.logged), shown(each.new)),
                scale.grid(),
                _change(scale.at(each.logged), scale.at(each.new)),
            )
            for group, each in pictures
        ),
        scale.axis(shown=shown),
        OLD_AND_NEW,
    )


def _old_and_new(
    group: str, title: str, numbers: tuple[str, str], grid: Svg, *drawn: Svg
) -> ChartRow:
    picture = drawing(HEIGHT, title, grid, around(MIDDLE, *drawn))
    return ChartRow(group_name(group), picture, (("old", numbers[0]), ("new", numbers[1])))


def _change(old: str, new: str) -> Svg:
    return joined(
        element("line", x1=old, x2=new, y1=OLD, y2=NEW, class_="link"),
        styled("old", dot(old, OLD)),
        styled("new", dot(new, NEW)),
    )


def _words(of: Interval) -> str:
    return f"{number(of.estimate)} [{number(of.low)}, {number(of.high)}]"


def _interval(of: Interval, scale: Scale, y: float, kind: str) -> Svg:
    if isnan(of.estimate):
        return label("no estimate", "0%", "start")
    low, high = scale.at(of.low), scale.at(of.high)
    return styled(kind, stroke(low, y), whisker(low, high, y), dot(scale.at(of.estimate), y))


def weights(groups: Sequence[GroupPicture], bins: range) -> SmallCharts:
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


def _weights(group: GroupPicture, bins: range) -> Svg:
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
    return drawing(
        128,
        f"Importance weights of {group.condition}, {plural(group.n, 'row')}.",
        bars(group.weights.counts[bins.start : bins.stop], 8, 96, "new"),
        # Over the bars, on a ground of its own: the bars are highest at 1.
        element("line", x1=one, x2=one, y1=0, y2=104, class_="ground"),
        element("line", x1=one, x2=one, y1=0, y2=104, class_="zero"),
        ruler(104, labels),
        description=IN_TABLE,
    )


def overlap(groups: Sequence[GroupPicture]) -> SmallCharts:
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
            LegendEntry(
                legend_mark(element("rect", x=2, y=2, width=12, height=12, class_=which)),
                f"{which} model",
            )
            for which in ("old", "new")
        ),
    )


def _overlap(group: GroupPicture) -> Svg:
    assert group.propensities is not None
    assert group.probabilities is not None
    return drawing(
        150,
        f"Probability of the logged decision, {group.condition}, {plural(group.n, 'row')}.",
        bars(group.propensities.counts, 4, 60, "old"),
        bars(group.probabilities.counts, 66, 60, "new", hanging=True),
        label("old", "0%", "start", 12),
        label("new", "0%", "start", 124),
        ruler(65, [], 0),
        ruler(126, [(edge, f"{edge:g}") for edge in (0.0, 0.25, 0.5, 0.75, 1.0)], 0),
        description=IN_TABLE,
    )


def edge_words(edge: float) -> str:
    """The edge of a bin of weights.

    Examples
    --------
    >>> edge_words(0.125), edge_words(4.0), edge_words(float("inf"))
    ('1/8', '4', '∞')
    """
    if isinf(edge):
        return "∞"
    return f"1/{1 / edge:g}" if 0 < edge < 1 else f"{edge:g}"


#: How each fate of a model is drawn, and what it means.
FATES: dict[Fate, tuple[str, str]] = {
    "released": ("new", "released"),
    "passed": ("new", "passed, but a less cautious model was released"),
    "failed": ("fail cross", "failed"),
    "not tested": ("old", "not tested, because a more cautious model failed"),
}
_TOP, _DEEP = 10.0, 130.0


def ladder(
    series: Sequence[SeriesPicture], models: Sequence[ModelPicture], objective: str
) -> SmallCharts:
    """The models of the ladder: each impact over the loss.

    Parameters
    ----------
    series : sequence of SeriesPicture
        The impacts; a chart for each.
    models : sequence of ModelPicture
        The models, from most to least cautious.
    objective : str
        What the search maximises.
    """
    fates = [fate for fate in FATES if any(model.fate == fate for model in models)]
    across = Scale.over((model.loss for model in models), before=0.16)
    return SmallCharts(
        "Up: the mean impact. Across: the loss, which the search minimises (objective: "
        f"{objective}). Both are estimated on candidate rows, before the test.",
        tuple(
            (
                (Code(each.impact), ", ", group_name(each.condition)),
                _series(each, [model.impacts[k] for model in models], models, across),
            )
            for k, each in enumerate(series)
        ),
        tuple(
            LegendEntry(legend_mark(styled(FATES[fate][0], _model(fate, "50%", 8))), FATES[fate][1])
            for fate in fates
        ),
    )


def _series(
    series: SeriesPicture, means: Sequence[float], models: Sequence[ModelPicture], across: Scale
) -> Svg:
    up = Scale.over([series.logged, *means])
    heights = [(_height(tick, up), number(tick)) for tick in up.ticks(4)]
    old = _height(series.logged, up)
    ticks = [(across.share(tick), number(tick)) for tick in across.ticks(4)]
    return drawing(
        172,
        f"{series.impact}, {series.condition}, of {plural(len(models), 'model')} over their loss.",
        styled("grid", *(element("line", x2="100%", y1=y, y2=y) for y, _ in heights)),
        *(label(words, "0%", "start", y - 3) for y, words in heights),
        element("line", x2="100%", y1=old, y2=old, class_="reference"),
        label("old model", "100%", "end", old - 4),
        *(
            styled(
                FATES[model.fate][0], _model(model.fate, across.at(model.loss), _height(mean, up))
            )
            for model, mean in zip(models, means, strict=True)
            if isfinite(mean) and isfinite(model.loss)
        ),
        # Clear of the labels of heights.
        ruler(_TOP + _DEEP + 8, [(share, words) for share, words in ticks if share > 0.1]),
        description=IN_TABLE,
    )


def _height(value: float, up: Scale) -> float:
    return _TOP + (1 - up.share(value)) * _DEEP


def _model(fate: Fate, x: str, y: float) -> Svg:
    if fate == "released":
        return joined(element("circle", cx=x, cy=y, r=7.5, class_="ring"), dot(x, y))
    return mark(CROSS, x, y) if fate == "failed" else dot(x, y)
