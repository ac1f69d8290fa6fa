"""The grid against the laws that the design of the population states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr

from elfair.populations import foster_care as law

# Written out again here, from the definition of the population, on purpose.
BINARY = {0: (0.62, 0.55, 0.35), 1: (0.50, 0.45, 0.42)}
NORMAL = {0: (0.50, 0.45), 1: (0.42, 0.40)}


@pytest.mark.parametrize("group", [0, 1])
def test_feature_means_and_variances_given_the_group(group):
    grid = law.grid()
    weight = grid.weight[group]
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    mean = weight @ grid.points
    variance = weight @ grid.points**2 - mean**2
    p = np.array(BINARY[group])
    np.testing.assert_allclose(mean[:3], p, atol=1e-12)
    np.testing.assert_allclose(variance[:3], p * (1 - p), atol=1e-12)
    # Clipping more than 4 sd away moves the moments by less than 1e-5 only.
    np.testing.assert_allclose(mean[3:], NORMAL[group], atol=1e-5)
    np.testing.assert_allclose(variance[3:], 0.35**2, rtol=1e-3)


@pytest.mark.parametrize("group", [0, 1])
def test_features_are_independent_given_the_group(group):
    grid = law.grid()
    weight = grid.weight[group]
    centred = grid.points - weight @ grid.points
    covariance = (centred * weight[:, None]).T @ centred
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-12)


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("feature", [3, 4])
def test_the_clipped_ends_are_point_masses(group, feature):
    grid = law.grid()
    mean = NORMAL[group][feature - 3]
    column = grid.points[:, feature]
    assert (column.min(), column.max()) == (-1, 2)
    at_low, at_high = (float(grid.weight[group] @ (column == end)) for end in (-1, 2))
    assert at_low == pytest.approx(ndtr((-1 - mean) / 0.35), rel=1e-9)
    assert at_high == pytest.approx(ndtr((mean - 2) / 0.35), rel=1e-9)


@pytest.mark.parametrize("group", [0, 1])
def test_label_law(group):
    grid = law.grid(2)
    x1, x2, x3, x4, x5 = grid.points.T
    z = 4 * x1 + 3 * x2 - 2.5 * x3 + 2 * x4 + 1.5 * x5 - 3.2 - 1.6 * group
    np.testing.assert_allclose(grid.label[group], expit(2.2 * z), rtol=1e-12)


def test_accuracy_weights_are_those_of_the_mixture_of_groups():
    grid = law.grid(2)
    share_of_ones = [float(grid.weight[t] @ grid.label[t]) for t in (0, 1)]
    label_rate = 0.55 * share_of_ones[0] + 0.45 * share_of_ones[1]
    assert grid.accuracy_of_zero == pytest.approx(1 - label_rate, abs=1e-12)
    assert grid.accuracy_of_zero + grid.accuracy_gain.sum() == pytest.approx(label_rate, abs=1e-12)


def test_the_grid_is_built_once():
    assert law.grid() is law.grid()
