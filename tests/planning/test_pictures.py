"""What is shown of a plan: nothing that is not in it, and all that is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from elfair.planning import CurvePoint, RowPlan

SVG = "{http://www.w3.org/2000/svg}"
PLAN = RowPlan(
    share=0.9,
    improvement=None,
    verdict="extrapolated",
    rows=5_200,
    low=3_000,
    high=9_800,
    groups={"race == '<A & B>'": 2_100, "everyone": 5_200},
    curve=(
        CurvePoint(500, 0.2, 0.1, 0.3, 10),
        CurvePoint(1_000, 0.4, 0.3, 0.6, 10),
        CurvePoint(2_000, 0.6, 0.4, 0.8),
        CurvePoint(10_400, 0.95, 0.8, 0.99),
    ),
    binding="E[impact | race == '<A & B>'] >= 0",
    pilot=2_000,
    looked_at=1_200,
    notes=("an extrapolation",),
)


def test_the_text_says_everything():
    text = PLAN.text()
    for said in ("5,200 rows", "3,000 and 9,800", "<A & B>", "2,100", "an extrapolation"):
        assert said in text
    lines = [line for line in text.splitlines() if "[" in line and "to" in line][-4:]
    assert [line.count("#") for line in lines] == [8, 16, 24, 37]
    assert [line.split()[-1] for line in lines] == ["10", "10", "extrapolated", "extrapolated"]
    assert len({line.index("|") for line in lines}) == 1
    assert "*" not in text  # nothing that looks like a footnote to a mark that is not there


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"improvement": 0.05},
            "ask, with probability 0.9 (between 3,000",
        ),
        ({"high": None}, "3,000 or more"),
        ({"verdict": "infeasible", "rows": None, "low": None, "high": None}, "No number of rows"),
        ({"verdict": "too uncertain", "rows": None, "high": None}, "cannot tell how many"),
        ({"verdict": "too uncertain", "rows": None, "low": None, "high": None}, "can be planned"),
    ],
    ids=str,
)
def test_headlines(changes, said):
    plan = replace(PLAN, **changes)
    assert said in plan.text().splitlines()[0]
    assert ET.fromstring(plan.svg()).tag == SVG + "svg"


def test_the_picture_stands_for_itself():
    picture = ET.fromstring(PLAN.svg())
    assert picture.get("role") == "img"
    assert "5,200 rows" in picture.find(SVG + "title").text
    assert "10,400 rows: 0.95 (0.80 to 0.99, extrapolated)" in picture.find(SVG + "desc").text
    assert len(picture.findall(SVG + "circle")) == 2
    lines = picture.findall(SVG + "polyline")
    assert [line.get("stroke-dasharray") is None for line in lines] == [True, False]
    assert [len(line.get("points").split()) for line in lines] == [2, 3]
    text = PLAN.svg()
    assert "currentColor" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in text


def test_what_is_printed_is_the_text_and_what_is_inspected_is_short():
    assert str(PLAN) == PLAN.text()
    assert repr(PLAN) == (
        "RowPlan(verdict='extrapolated', rows=5200, low=3000, high=9800, share=0.9, "
        "improvement=None)"
    )


def test_the_picture_says_what_it_shows():
    picture = ET.fromstring(PLAN.svg())
    words = [text.text for text in picture.findall(SVG + "text")]
    for said in ("How many rows a solution takes", "probability of a solution", "100 %"):
        assert said in words
    assert "rows in all (logarithmic)" in words
    drawn = [part.tag.removeprefix(SVG) for part in picture]
    assert drawn.index("polygon") < drawn.index("line")  # the grid is drawn over the band


def test_all_points_lie_inside_the_picture():
    picture = ET.fromstring(PLAN.svg())
    width, height = map(float, picture.get("viewBox").split()[2:])
    for line in [*picture.findall(SVG + "polyline"), *picture.findall(SVG + "polygon")]:
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_a_notebook_shows_numbers_and_escapes_names():
    html = PLAN._repr_html_()
    assert "<A &" not in html
    assert "&lt;A &amp; B&gt;" in html
    assert html.count("<tr>") == 5
    assert "an extrapolation" in html
    ET.fromstring(html)
