"""A plan on matplotlib's axes, and in a notebook."""

from __future__ import annotations

import pytest
from matplotlib import pyplot

from elfair import PlanDisplay, RowPlan
from elfair.planning.row_plan import CurvePoint

POINTS = (
    CurvePoint(250, 0.6, 0.5, 0.7, 12),
    CurvePoint(500, 0.8, 0.7, 0.9, 12),
    CurvePoint(1000, 0.95, 0.8, 1.0),
)
PLAN = RowPlan(0.9, None, "measured", 720, 600, 900, {}, POINTS, "PR >= 0", 500, 300)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_measured_and_extrapolated_points_are_told_apart():
    ax = PLAN.plot().ax_
    by_label = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert by_label["measured"] == [[250, 0.6], [500, 0.8]]
    assert by_label["extrapolated"] == [[1000, 0.95]]
    assert by_label["720 rows"][0][0] == 720
    assert by_label["wanted"][0][1] == 0.9
    assert [each.get_text() for each in ax.get_xticklabels()] == ["250", "500", "1,000"]


def test_it_draws_on_axes_of_your_own():
    figure, ax = pyplot.subplots()
    shown = PlanDisplay.from_plan(PLAN, ax=ax)
    assert (shown.ax_, shown.figure_) == (ax, figure)


def test_the_table_in_a_notebook_is_no_list_of_python():
    assert "[&#x27;" not in PLAN._repr_html_()
    assert "['" not in PLAN._repr_html_()
    assert "</tr><tr><td>500</td>" in PLAN._repr_html_()
