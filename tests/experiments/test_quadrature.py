"""The rule for clipped normals against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from elfair.experiments.quadrature import clipped_normal

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
