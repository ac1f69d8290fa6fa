"""Drawings: what they are made of, and where things are put."""

from __future__ import annotations

from math import inf, nan

import pytest

from elfair.report.svg import Scale, drawing, element, written


def test_words_and_attributes_are_escaped():
    drawn = drawing(10, '</title><script>"', element("text", written("a<b&c"), x='"><script>'))
    assert "<script" not in drawn
    assert "a&lt;b&amp;c" in drawn
    assert 'x="&quot;&gt;&lt;script&gt;"' in drawn
    assert drawn.startswith('<svg role="img"')


@pytest.mark.parametrize(
    "values",
    [[], [nan], [inf, -inf], [0.0], [5.0], [-1e-12, 1e-12], [1e300, -1e300], [1.0, nan, 2.0, inf]],
)
def test_every_finite_value_can_be_seen(values):
    scale = Scale.over(values)
    assert scale.low < scale.high
    finite = [v for v in values if abs(v) < inf]
    shares = [scale.share(v) for v in finite]
    assert all(0 < share < 1 for share in shares)
    assert scale.share(inf) == 1
    assert scale.share(-inf) == 0
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(scale.low <= tick <= scale.high for tick in ticks)


def test_order_is_kept():
    scale = Scale.over([-2.0, 0.0, 1.0, 7.0])
    shares = [scale.share(v) for v in (-2.0, 0.0, 1.0, 7.0)]
    assert shares == sorted(shares)
    assert scale.share(2.5) == pytest.approx((shares[0] + shares[-1]) / 2)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1.0, 37.0, 1e6])
def test_ticks_are_round_and_few(factor):
    ticks = Scale(-0.33 * factor, 0.71 * factor).ticks()
    assert 3 <= len(ticks) <= 6
    assert 0.0 in ticks
    assert all(
        len(f"{tick:.6g}".strip("-0.").partition("e")[0].replace(".", "")) <= 3 for tick in ticks
    )
