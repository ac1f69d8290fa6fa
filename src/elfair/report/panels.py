"""Small pictures side by side: histograms, and the models in line."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isinf

from elfair.certificate import Fate, GroupPicture, ModelPicture, SeriesPicture
from elfair.records.text import number
from elfair.report.blocks import Code, Key, Panels
from elfair.report.strips import CROSS, bars, dot, group_name, label, ruler, sign
from elfair.report.svg import Scale, Svg, drawing, element, joined, mark, of_kind

IN_TABLE = "The numbers are in the table below."


def weights(groups: Sequence[GroupPicture], bins: range) -> Panels:
    """Histograms of importance weights.

    Parameters
    ----------
    groups : sequence of GroupPicture
        Those that have weights.
    bins : range
        The bins that are shown.
    """
    panels = []
    for group in groups:
        assert group.weights is not None
        edges = group.weights.edges[bins.start : bins.stop + 1]
        counts = group.weights.counts[bins.start : bins.stop]
        one = f"{100 * edges.index(1.0) / len(bins):.5g}%"
        every = 1 if len(bins) <= 7 else 2
        labels = [
            (k / len(bins), edge_words(edge))
            for k, edge in enumerate(edges)
            if k == 0 or (k - edges.index(1.0)) % every == 0
        ]
        panels.append(
            (
                group_name(group.condition),
                drawing(
                    128,
                    f"Importance weights of {group.condition}, {group.n} rows.",
                    bars(counts, max(counts, default=1), 8, 96, "new"),
                    # Over the bars, on a ground of its own: at 1 the bars are highest.
                    element("line", x1=one, x2=one, y1=0, y2=104, class_="ground"),
                    element("line", x1=one, x2=one, y1=0, y2=104, class_="zero"),
                    ruler(104, labels),
                    description=IN_TABLE,
                ),
            )
        )
    return Panels(
        "How often each importance weight occurs, one bar for each doubling. A weight says how "
        "much more often the new model takes the logged decision than the old one did. The line is "
        "at 1, where both agree. A few large weights mean that a few people decide the result.",
        tuple(panels),
        (),
    )


def overlap(groups: Sequence[GroupPicture]) -> Panels:
    """Histograms of the probability of the logged decision, the old model's above the new one's.

    Parameters
    ----------
    groups : sequence of GroupPicture
        Those that have such probabilities.
    """
    panels = []
    for group in groups:
        assert group.propensities is not None
        assert group.probabilities is not None
        old, new = group.propensities, group.probabilities
        labels = [(edge, f"{edge:g}") for edge in (0.0, 0.25, 0.5, 0.75, 1.0)]
        panels.append(
            (
                group_name(group.condition),
                drawing(
                    150,
                    f"Probability of the logged decision, {group.condition}, {group.n} rows.",
                    bars(old.counts, max(old.counts), 4, 60, "old"),
                    bars(new.counts, max(new.counts), 66, 60, "new", down=True),
                    label("old", "0%", "start", 12),
                    label("new", "0%", "start", 124),
                    ruler(65, [], 0),
                    ruler(126, labels, 0),
                    description=IN_TABLE,
                ),
            )
        )
    return Panels(
        "The probability of the decision that was taken: above, under the old model that took it; "
        "below, hanging, under the new one; each has a scale of its own. Where the new model puts "
        "weight on decisions that the old one hardly ever took, the log says little about it.",
        tuple(panels),
        (
            Key(sign(element("rect", x=2, y=2, width=12, height=12, class_="old")), "old model"),
            Key(sign(element("rect", x=2, y=2, width=12, height=12, class_="new")), "new model"),
        ),
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


FATES: dict[Fate, str] = {
    "released": "released",
    "passed": "passed, and a later one too",
    "failed": "failed",
    "not tested": "not tested, as it stood behind one that failed",
}
KINDS: dict[Fate, str] = {
    "released": "new",
    "passed": "new",
    "failed": "fail cross",
    "not tested": "old",
}
_TOP, _DEEP = 10.0, 130.0


def line_up(
    series: Sequence[SeriesPicture], models: Sequence[ModelPicture], objective: str
) -> Panels:
    """The models in line: each impact over the loss.

    Parameters
    ----------
    series : sequence of SeriesPicture
        The impacts; a panel for each.
    models : sequence of ModelPicture
        The models, in line.
    objective : str
        What the search makes large.
    """
    fates = [fate for fate in FATES if any(model.fate == fate for model in models)]
    across = Scale.over((model.loss for model in models), before=0.16)
    ticks = [(across.share(tick), number(tick)) for tick in across.ticks(4)]
    along = [(share, words) for share, words in ticks if share > 0.1]  # clear of the heights
    panels = []
    for k, each in enumerate(series):
        up = Scale.over([each.logged, *(model.impacts[k] for model in models)])
        heights = [(_height(tick, up), number(tick)) for tick in up.ticks(4)]
        drawn = [
            of_kind("grid", *(element("line", x2="100%", y1=y, y2=y) for y, _ in heights)),
            *(label(words, "0%", "start", y - 3) for y, words in heights),
        ]
        old = _height(each.logged, up)
        drawn += [
            element("line", x2="100%", y1=old, y2=old, class_="reference"),
            label("old model", "100%", "end", old - 4),
            *(_models(fate, k, models, across, up) for fate in fates),
            ruler(_TOP + _DEEP + 8, along),
        ]
        panels.append(
            (
                (Code(each.impact), ", ", group_name(each.condition)),
                drawing(
                    172,
                    f"{each.impact}, {each.condition}, of {len(models)} models over their loss.",
                    *drawn,
                    description=IN_TABLE,
                ),
            )
        )
    return Panels(
        f"Up: the mean impact. Across: the loss, which the search makes small (objective: "
        f"{objective}). Both are estimated on candidate rows, before the test.",
        tuple(panels),
        tuple(
            Key(sign(of_kind(KINDS[fate], _model(fate, "50%", 8))), FATES[fate]) for fate in fates
        ),
    )


def _height(value: float, up: Scale) -> float:
    return _TOP + (1 - up.share(value)) * _DEEP


def _models(
    fate: Fate, series: int, models: Sequence[ModelPicture], across: Scale, up: Scale
) -> Svg:
    return of_kind(
        KINDS[fate],
        *(
            _model(fate, across.at(model.loss), _height(model.impacts[series], up))
            for model in models
            if model.fate == fate and isfinite(model.impacts[series]) and isfinite(model.loss)
        ),
    )


def _model(fate: Fate, x: str, y: float) -> Svg:
    if fate == "released":
        return joined(element("circle", cx=x, cy=y, r=7.5, class_="ring"), dot(x, y))
    return mark(CROSS, x, y) if fate == "failed" else dot(x, y)
