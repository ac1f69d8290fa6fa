"""`moment_factors`: the predicted bound on one mean from its mean and standard deviation alone."""

from __future__ import annotations

import numpy as np
import pytest

from elfair.bounds import Sample, get_bound
from elfair.errors import InputError

BY_MOMENTS = ["ttest", "hoeffding", "bernstein"]
BY_ROWS = ["anderson", "betting"]


@pytest.mark.parametrize("name", BY_MOMENTS)
@pytest.mark.parametrize("n", [1.5, 4.5, 27.3, 400.0, 1e6])
@pytest.mark.parametrize("delta", [0.3, 0.1, 0.01])
@pytest.mark.parametrize("ends", [(-2.0, 1.0), (-7.0, 3.0)])
def test_the_factors_give_the_predicted_bound(
    name: str, n: float, delta: float, ends: tuple[float, float]
) -> None:
    values = np.random.default_rng(0).uniform(-2, 1, size=60)
    value, _ = get_bound(name).predict([Sample(values, *ends)], delta, [n])
    factors = get_bound(name).moment_factors(ends[1] - ends[0], delta, n)
    assert factors is not None
    a, b = factors
    assert values.mean() + a + b * values.std(ddof=1) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", BY_ROWS)
def test_bounds_that_look_at_each_row_have_none(name: str) -> None:
    assert get_bound(name).moment_factors(3.0, 0.1, 50) is None
    # Rightly: the same two moments, another bound.
    rows = np.array([-1.0, 1.0] * 20), np.repeat([2.0, -0.5], [8, 32])
    first, second = ((values - values.mean()) / values.std() for values in rows)
    predicted = [
        get_bound(name).predict([Sample(values, -3, 3)], 0.1, [50])[0] for values in (first, second)
    ]
    assert abs(predicted[0] - predicted[1]) > 0.01


@pytest.mark.parametrize("name", ["ttest", "bernstein"])
def test_one_row_is_too_few(name: str) -> None:
    assert get_bound(name).moment_factors(3.0, 0.1, 1.0) is None


@pytest.mark.parametrize("name", BY_MOMENTS)
def test_delta_is_checked(name: str) -> None:
    with pytest.raises(InputError, match="delta"):
        get_bound(name).moment_factors(3.0, 1.5, 20.0)
