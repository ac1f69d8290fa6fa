"""The curve: what scores of known law make of it, and what a pilot's luck does to it."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from elfair.planning.curve import DRAWS, GIVEN_UP, ChanceCurve, Scores
from elfair.planning.plan_rows import HORIZON, find_rows, points

PILOT, LUCK, WIDTH = 3_000, 2 / 3, 1.3
TAKEN = WIDTH + GIVEN_UP


def curve_of(slope, ceiling=2.1, luck=0.0, power=1.645):
    """Scores of one statement as they grow, of a pilot that is as lucky as said."""
    sizes = []
    for rows in (190, 375, 750, 1_500, 3_000):
        lucky = luck * sqrt(LUCK / PILOT)
        score = min((slope + lucky) * sqrt(rows) - TAKEN, ceiling)
        one = np.ones(1)
        sizes.append(Scores(rows, 10, score * one, WIDTH * one, 0 * one, one))
    return ChanceCurve(sizes, LUCK, 1.0, True, (power, 0.0), seed=0)


def test_at_todays_rows_the_chance_allows_for_the_luck_of_candidate_rows():
    for slope in (0.02, 0.04, 0.06):
        score = min(slope * sqrt(PILOT) - TAKEN, 2.1)
        curve = curve_of(slope)
        assert curve.chance(PILOT) == pytest.approx(ndtr(score / sqrt(1 + LUCK)), abs=1e-3)
        assert curve.by_statement(PILOT)[0] == pytest.approx(curve.chance(PILOT), abs=1e-12)


def test_between_measured_sizes_scores_grow_with_the_square_root_of_rows():
    curve = curve_of(0.04)
    for rows in (375, 1_000, 2_500):
        score = 0.04 * sqrt(rows) - TAKEN
        expected = ndtr(score / sqrt(1 + LUCK * rows / PILOT))
        assert curve.chance(rows) == pytest.approx(expected, abs=0.01)


def test_chances_of_several_statements_multiply():
    one = curve_of(0.04)
    sizes = [
        each._replace(**{name: np.repeat(getattr(each, name), 3) for name in (
            "score", "width", "margin", "share")})
        for each in one.sizes
    ]  # fmt: skip
    three = ChanceCurve(sizes, LUCK, 1.0, True, (1.645, 0.0), seed=0)
    assert three.chance(2_000) == pytest.approx(one.chance(2_000) ** 3, abs=0.02)
    assert three.chances(np.array([1e3, 2e3])).shape == (DRAWS, 2)


def test_more_rows_never_make_a_measured_score_lower():
    curve = curve_of(0.05)
    noisy = list(curve.sizes)
    noisy[1] = noisy[1]._replace(score=noisy[1].score + 3)
    rising = ChanceCurve(noisy, LUCK, 1.0, True, (1.645, 0.0), seed=0)
    chances = [rising.chance(rows) for rows in (190, 375, 750, 1_500, 3_000)]
    assert chances == sorted(chances)
    assert chances[-1] == curve.chance(3_000)  # what is measured today stays


def test_a_large_pilot_names_what_is_needed():
    answer = find_rows(curve_of(0.15), 0.9)
    needed = ((1.2816 + TAKEN) / 0.15) ** 2
    assert answer.verdict == "measured"
    assert answer.rows == pytest.approx(needed, rel=0.2)
    assert answer.low <= needed <= answer.high


def test_rows_named_beyond_the_pilot_allow_for_its_luck():
    """Averaged over pilots, the true chance at the rows they name is the wanted one."""
    slope, solved, inside, named = 0.053, [], 0, 0
    for seed in range(80):
        luck = np.random.default_rng(seed).standard_normal()
        answer = find_rows(curve_of(slope, luck=luck), 0.9)
        if answer.rows is not None:
            named += 1
            solved.append(ndtr(min(slope * sqrt(answer.rows) - TAKEN, 2.1)))
        needed = ((1.2816 + TAKEN) / slope) ** 2
        inside += (answer.low or 0) <= needed <= (answer.high or np.inf)
    assert named > 70
    assert 0.85 <= np.mean(solved) <= 0.96
    assert 0.7 <= inside / 80 <= 0.97


def test_a_small_effect_is_too_uncertain_and_a_wrong_one_infeasible():
    assert find_rows(curve_of(0.018), 0.9).verdict == "too uncertain"
    answer = find_rows(curve_of(-0.01), 0.9)
    assert (answer.verdict, answer.rows, answer.high) == ("infeasible", None, None)


def test_a_low_ceiling_is_no_matter_of_rows():
    low = curve_of(0.15, ceiling=0.8, power=0.8 / sqrt(1 + LUCK))
    assert low.most(HORIZON * PILOT) < 0.9
    assert find_rows(low, 0.9).verdict == "infeasible"


def test_points_go_on_beyond_what_was_measured():
    made = points(curve_of(0.07), 10_000)
    assert [point.rows for point in made] == [190, 375, 750, 1_500, 3_000, 6_000, 12_000]
    assert [point.measured for point in made] == [True] * 5 + [False] * 2
    assert all(point.low <= point.probability <= point.high for point in made[:3])


def test_the_ceiling_is_what_the_target_asks_for():
    curve = curve_of(0.15, ceiling=1.0)
    spread = sqrt(1 + LUCK)
    assert curve.most(PILOT) == pytest.approx(ndtr(1.645), abs=1e-3)
    sizes = [each._replace(margin=np.full(1, 0.5)) for each in curve.sizes]
    wider = ChanceCurve(sizes, LUCK, 1.0, True, (1.645, 0.0), seed=0)
    assert wider.most(4 * PILOT) == pytest.approx(ndtr(1.645 + 2 * 0.5 / spread), abs=1e-3)
    inflated = ChanceCurve(curve.sizes, LUCK, 1.0, True, (0.0, 1.0), seed=0)
    assert inflated.most(PILOT) == pytest.approx(ndtr(WIDTH / spread), abs=1e-3)
