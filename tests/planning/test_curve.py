"""The curve: what scores of known law make of it, and what a pilot's luck does to it."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from elfair.planning.curve import Ceiling, ceiling_of, fit_curves
from elfair.planning.plan import find_rows, points
from elfair.planning.trials import Size, Trial
from elfair.search.targets import Target

PILOT = 3_000
CEILING = Ceiling(2.1, 0.0)


def trials(slope, taken=1.9, ceiling=2.1, fits=400, luck=0.0, seed=0):
    """Scores as they grow, of a pilot that is as lucky as said, in standard errors."""
    rng = np.random.default_rng(seed)
    sizes = []
    for rows in (190, 375, 750, 1_500, 3_000):
        mean = min((slope + luck * sqrt(0.4 / PILOT)) * sqrt(rows) - taken, ceiling)
        shared = 0.4 * rows / PILOT
        scores = mean + sqrt(1 - shared) * rng.standard_normal(fits)
        sizes.append(Size(rows, tuple(Trial(z, 1.3, 1.0, rows // 5, "it") for z in scores)))
    return sizes


def curves_of(sizes, ceiling=CEILING):
    return fit_curves(sizes, ceiling, PILOT, 0.4, seed=0)


def test_the_likeliest_curve_is_that_of_the_scores():
    for slope in (0.04, 0.07):
        curves = curves_of(trials(slope))
        rows = np.array([190.0, 750.0, 3_000.0])
        truth = ndtr(np.minimum(slope * np.sqrt(rows) - 1.9, 2.1))
        assert curves.best_chance(rows) == pytest.approx(truth, abs=0.05)


def test_a_large_pilot_names_what_is_needed():
    answer = find_rows(curves_of(trials(0.15)), trials(0.15), 0.9, 10**6)
    needed = ((1.2816 + 1.9) / 0.15) ** 2
    assert answer.verdict == "measured"
    assert answer.rows == pytest.approx(needed, rel=0.15)
    assert answer.low <= needed <= answer.high


def test_rows_named_beyond_the_pilot_allow_for_its_luck():
    """Averaged over pilots, the true probability at the rows they name is the wanted one."""
    slope, solved, inside, named = 0.06, [], 0, 0
    for seed in range(80):
        luck = np.random.default_rng(seed).standard_normal()
        sizes = trials(slope, luck=luck, fits=20, seed=seed)
        answer = find_rows(curves_of(sizes), sizes, 0.9, 10**6)
        if answer.rows is not None:
            named += 1
            solved.append(ndtr(min(slope * sqrt(answer.rows) - 1.9, 2.1)))
        needed = ((1.2816 + 1.9) / slope) ** 2
        inside += (answer.low or 0) <= needed <= (answer.high or np.inf)
    assert named > 74
    assert 0.87 <= np.mean(solved) <= 0.94
    assert 0.7 <= inside / 80 <= 0.95


def test_a_small_effect_is_too_uncertain_and_a_wrong_one_infeasible():
    weak = trials(0.018)
    assert find_rows(curves_of(weak), weak, 0.9, 300_000).verdict == "too uncertain"
    wrong = trials(-0.01)
    answer = find_rows(curves_of(wrong), wrong, 0.9, 300_000)
    assert (answer.verdict, answer.rows, answer.high) == ("infeasible", None, None)


def test_a_low_ceiling_is_no_matter_of_rows():
    low = trials(0.15, ceiling=0.8)
    answer = find_rows(curves_of(low, Ceiling(0.8, 0.0)), low, 0.9, 300_000)
    assert answer.verdict == "infeasible"


def test_points_go_on_beyond_what_was_tried():
    sizes = trials(0.07)
    made = points(curves_of(sizes), sizes, 10_000)
    assert [point.rows for point in made] == [190, 375, 750, 1_500, 3_000, 6_000, 12_000]
    assert [point.measured for point in made] == [True] * 5 + [False] * 2
    assert made[0].solutions == sizes[0].solutions


def test_the_ceiling_is_what_the_target_asks_for():
    sizes = trials(0.07)
    powered = ceiling_of(Target(power=0.95), sqrt(1 / 0.6), sizes)
    assert powered.start == pytest.approx(1.645 * sqrt(1 / 0.6), abs=1e-3)
    assert powered.growth == pytest.approx(0.01 * sqrt(0.2), rel=0.01)
    assert ceiling_of(Target(inflation=2.0), 1.3, sizes).start == pytest.approx(1.3)
