"""Pictures of the workbench, as wide as their place and with the marks of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite, log10
from typing import Any

from elfair.certificate import Certificate
from elfair.certificate.pictures import ImpactPicture, ModelPicture, TradeOff
from elfair.certificate.promise import group_in_words, speech_of
from elfair.language.people import Speech
from elfair.records.text import count, number, plural, rate
from elfair.report.blocks import Code, Line
from elfair.report.charts import MOST_DRAWN, impacts
from elfair.report.rendering import blocks_html
from elfair.report.svg import (
    CROSS,
    Scale,
    Svg,
    around,
    bars,
    dot,
    drawing,
    element,
    joined,
    label,
    mark,
    ruler,
    styled,
    written,
)

#: The space that numbers beside an axis take, as shares of the width.
LEFT, RIGHT = 0.15, 0.97
TOP, TALL = 12.0, 220.0
#: The height of one line of the ladder.
STRIP = 84.0


def histogram(counts: Sequence[int], *, apart: bool = False, height: float = 34.0) -> Svg:
    """How often values occur; the words beside it say the same.

    Parameters
    ----------
    counts : sequence of int
        The heights of the bars.
    apart : bool, default False
        Whether each bar is a value of its own, rather than a range beside another one.
    height : float
        In pixels.
    """
    gaps = [part for n in counts for part in (*[n] * 5, 0)][:-1] if apart else counts
    drawn = bars(gaps, 0, height, "old")
    return element("svg", drawn, height=height, aria_hidden="true", class_="histogram")


def _x(share: float) -> str:
    return f"{100 * (LEFT + (RIGHT - LEFT) * share):.4g}%"


def curve(points: Sequence[dict[str, Any]], share: float, rows: int | None) -> Svg:
    """The chance of a solution by the number of rows, over a logarithmic axis.

    Parameters
    ----------
    points : sequence of dict
        What ``elfair plan --json`` calls the curve.
    share : float
        The wanted chance.
    rows : int or None
        The rows that give it.
    """
    scale = Scale.over([log10(point["rows"]) for point in points])

    def x(n: float) -> str:
        return _x(scale.share(log10(n)))

    def y(chance: float) -> float:
        return TOP + TALL * (1 - chance)

    grid = [element("line", x1=_x(0), x2=_x(1), y1=y(q), y2=y(q)) for q in (0, 0.25, 0.5, 0.75, 1)]
    labels = [label(rate(q), _x(0), "end", y(q) + 4) for q in (0, 0.5, 1)]
    ends = list(pairwise(points))
    lines = [
        element(
            "line", x1=x(a["rows"]), y1=y(a["probability"]), x2=x(b["rows"]),
            y2=y(b["probability"]), **({} if b["fits"] else {"stroke_dasharray": "5 4"}),
        )
        for a, b in ends
    ]  # fmt: skip
    spans = [
        element("line", x1=x(p["rows"]), x2=x(p["rows"]), y1=y(p["low"]), y2=y(p["high"]))
        for p in points
    ]
    dots = [dot(x(p["rows"]), y(p["probability"])) for p in points]
    wanted = [element("line", x1=_x(0), x2=_x(1), y1=y(share), y2=y(share), class_="reference")]
    if rows is not None and points[0]["rows"] <= rows <= points[-1]["rows"]:
        at = x(rows)
        wanted.append(element("line", x1=at, x2=at, y1=y(share), y2=y(0), class_="reference"))
    ticks = [
        (LEFT + (RIGHT - LEFT) * scale.share(log10(p["rows"])), count(p["rows"])) for p in points
    ]
    said = "; ".join(f"{plural(p['rows'], 'row')}: {p['probability']:.2f}" for p in points)
    return drawing(
        TOP + TALL + 34,
        "The chance of a solution by the number of rows",
        styled("grid", *grid),
        *labels,
        *wanted,
        styled("link", *spans),
        styled("new", *lines, *dots),
        ruler(TOP + TALL + 6, ticks),
        description=said,
    )


def beside(certificates: Mapping[str, Certificate | None]) -> str:
    """The first impact of each group under several results, on one scale; empty if there is none.

    Parameters
    ----------
    certificates : mapping of str to Certificate
        The results by name.
    """
    rows: dict[tuple[str, str], list[tuple[Line, ImpactPicture]]] = {}
    for name, certificate in certificates.items():
        if certificate is None:
            continue
        speech = speech_of(certificate)
        for group in certificate.groups:
            for each in group.impacts[:1]:
                who = group_in_words(group.condition, speech)
                line: Line = (f"{who}, in ", Code(name))
                impact = speech.column(each.impact)
                rows.setdefault((impact, group.condition), []).append((line, each))
    if not rows:
        return ""
    first = next(iter(rows))[0]
    drawn = [row for (impact, _), of in rows.items() if impact == first for row in of]
    return blocks_html([impacts(drawn[: 2 * MOST_DRAWN], first)])


def overlap(counts: Mapping[str, int]) -> Svg:
    """In how many rows the decision had about each probability.

    Parameters
    ----------
    counts : mapping of str to int
        Rows in each range of probabilities, by its upper end, as ``elfair check --json`` has them.
    """
    total = max(1, sum(counts.values()))
    tall, wide = 46.0, 100 / max(1, len(counts))
    drawn = []
    for k, (_, n) in enumerate(counts.items()):
        high = tall * n / total
        at = {"x": f"{k * wide + 0.6:.4g}%", "width": f"{wide - 1.2:.4g}%"}
        drawn.append(element("rect", **at, y=tall - high, height=high, class_="new"))
    ends = [
        label(up, f"{(k + 1) * wide - 0.6:.4g}%", "end", tall + 14) for k, up in enumerate(counts)
    ]
    said = ", ".join(f"{n:,} up to {up}" for up, n in counts.items())
    return drawing(tall + 20, "Rows by propensity", *drawn, *ends, description=said)


def ladder(of: TradeOff, objective: str, speech: Speech) -> Iterator[tuple[str, Svg]]:
    """The models of a ladder from the most to the least cautious: one line for what the search
    maximises, and one for each impact. All have the same places.

    Parameters
    ----------
    of : TradeOff
        From the certificate.
    objective : str
        What the search maximises.
    speech : Speech
        How the study speaks.
    """
    yield (
        f"Loss ({objective}): less is better",
        _strip(of.models, [model.loss for model in of.models], None),
    )
    for k, series in enumerate(of.series[:6]):
        values = [model.impacts[k] for model in of.models]
        who = group_in_words(series.condition, speech)
        yield f"{speech.column(series.impact)}, {who}", _strip(of.models, values, series.logged)


def place(models: Sequence[ModelPicture], at: int) -> str:
    """Where a model of the ladder stands, horizontally."""
    return _x((at + 0.5) / len(models))


def _strip(models: Sequence[ModelPicture], values: Sequence[float], logged: float | None) -> Svg:
    scale = Scale.over([value for value in (*values, logged) if value is not None])

    def y(value: float) -> float:
        return 10 + (STRIP - 26) * (1 - scale.share(value))

    known = [k for k, value in enumerate(values) if isfinite(value)]
    lines = [
        element(
            "line", x1=place(models, a), y1=y(values[a]), x2=place(models, b), y2=y(values[b]),
            class_="link",
        )
        for a, b in pairwise(known)
    ]  # fmt: skip
    drawn = [_model(models[k], place(models, k), y(values[k])) for k in known]
    today = []
    if logged is not None and isfinite(logged):
        today = [
            element("line", x1=_x(0), x2=_x(1), y1=y(logged), y2=y(logged), class_="reference"),
            label("today", _x(1), "end", y(logged) - 5),
        ]
    low, high = min(values, default=0.0), max(values, default=0.0)
    far = y(low) - y(high) > 12  # or one number would be written over the other
    ends = [label(number(v), _x(0), "end", y(v) + 4) for v in ((low, high) if far else (high,))]
    cursor = element("line", x1=_x(0), x2=_x(0), y1=0, y2=STRIP - 8, class_="cursor")
    return element(
        "svg", element("title", written("One point for each model")),
        joined(*today, *lines, cursor, *drawn, *ends), role="img", height=STRIP,
    )  # fmt: skip


def _model(of: ModelPicture, x: str, y: float) -> Svg:
    if of.fate == "failed":
        return around(f"{y:.4g}", styled("fail cross", mark(CROSS, x)))
    look = {"released": "new released", "passed": "pass", "not tested": "old"}[of.fate]
    return styled(look, dot(x, y))
