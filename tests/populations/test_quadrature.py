"""The rule for clipped normals against closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from elfair.populations.quadrature import clipped_normal, half_planes

MEANS = [-0.4, 0.0, 0.9]
SD, LOW, HIGH = 0.8, -1.0, 1.5


def phi(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)


@pytest.fixture
def rule() -> tuple[np.ndarray, np.ndarray]:
    return clipped_normal(MEANS, SD, LOW, HIGH, panels=3)


def test_the_ends_carry_the_clipped_tails(rule):
    nodes, weights = rule
    assert nodes[0] == LOW
    assert nodes[-1] == HIGH
    assert np.all(np.diff(nodes) > 0)
    mean = np.array(MEANS)
    np.testing.assert_allclose(weights[:, 0], ndtr((LOW - mean) / SD), rtol=1e-14)
    np.testing.assert_allclose(weights[:, -1], ndtr((mean - HIGH) / SD), rtol=1e-14)


def test_moments_have_their_closed_forms(rule):
    nodes, weights = rule
    mean = np.array(MEANS)
    a, b = (LOW - mean) / SD, (HIGH - mean) / SD
    inside = ndtr(b) - ndtr(a)
    first = SD * (phi(a) - phi(b)) + mean * inside
    second = (
        (mean**2 + SD**2) * inside
        + 2 * mean * SD * (phi(a) - phi(b))
        + SD**2 * (a * phi(a) - b * phi(b))
    )
    at_ends = np.array([ndtr(a), ndtr(-b)])
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(weights @ nodes, first + [LOW, HIGH] @ at_ends, atol=1e-12)
    np.testing.assert_allclose(weights @ nodes**2, second + [LOW**2, HIGH**2] @ at_ends, atol=1e-12)


def side_of_a_line(offset: float, slopes: np.ndarray, mean: np.ndarray, power: int) -> float:
    """E[(X0 + X1 ** 2) ** power 1{offset + slopes @ X > 0}] by adaptive integration."""

    def density(x: float, m: float) -> float:
        return float(phi((x - m) / SD)) / SD

    def f(x0: float, x1: float) -> float:
        return (x0 + x1**2) ** power

    def inside(x0: float) -> float:
        level = offset + slopes[0] * x0
        total = ndtr((LOW - mean[1]) / SD) * f(x0, LOW) * (level + slopes[1] * LOW > 0)
        total += ndtr((mean[1] - HIGH) / SD) * f(x0, HIGH) * (level + slopes[1] * HIGH > 0)
        cut = -level / slopes[1]
        start, stop = (max(cut, LOW), HIGH) if slopes[1] > 0 else (LOW, min(cut, HIGH))
        if start >= stop:
            return float(total)
        return total + quad(lambda x1: f(x0, x1) * density(x1, mean[1]), start, stop)[0]

    kinks = [-(offset + slopes[1] * end) / slopes[0] for end in (LOW, HIGH)]
    edges = sorted({LOW, HIGH, *(float(np.clip(kink, LOW, HIGH)) for kink in kinks)})
    total = ndtr((LOW - mean[0]) / SD) * inside(LOW) + ndtr((mean[0] - HIGH) / SD) * inside(HIGH)
    for start, stop in pairwise(edges):
        total += quad(lambda x0: inside(x0) * density(x0, mean[0]), start, stop)[0]
    return float(total)


@pytest.mark.parametrize("seed", range(6))
def test_one_side_of_a_line_where_the_ends_carry_much(seed):
    # Here an eighth and more of all people are clipped: nothing about the ends may be wrong.
    rng = np.random.default_rng(seed)
    means = rng.uniform(-0.5, 0.9, (2, 2))
    slopes = rng.standard_normal(2) * 10 ** rng.uniform(-1.5, 1.5, 2)
    offsets = -rng.uniform(-1.2, 1.7, (3, 2)) @ slopes
    nodes, weights = half_planes(offsets, slopes, means, SD, LOW, HIGH)
    assert np.all(
        offsets[:, None] + nodes @ slopes > -1e-9 * np.abs(slopes).sum(), where=weights.any(axis=0)
    )
    for line, offset in enumerate(offsets):
        x0, x1 = nodes[line].T
        for pair, mean in enumerate(means):
            for power in (0, 1):
                expected = side_of_a_line(float(offset), slopes, mean, power)
                found = weights[pair, line] @ (x0 + x1**2) ** power
                assert found == pytest.approx(expected, abs=1e-8)
