"""The closed forms of the population of doses, against averages of large samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from elfair.errors import InputError
from elfair.populations import Dosage, LinearPolicy

N = 400_000
POLICY = LinearPolicy(4.7, np.array([0.9, 0.2, -0.2]), 0.4)


def near(values, exact):
    assert abs(values.mean() - exact) <= 4 * values.std() / np.sqrt(values.size)


@pytest.mark.parametrize("binary", [False, True])
def test_the_truth_of_a_policy_is_what_sampling_it_gives(binary):
    """The behaviour model of a population may be any linear policy: let the policy log."""

    class Logged(Dosage):
        behavior = POLICY

    population, draw = Dosage(binary=binary), Logged(binary=binary, spread=0.4).sample(N, 3)
    near((draw.decision - draw.label) ** 2, population.mse(POLICY))
    for t in (0, 1):
        inside = draw.group == t
        near(draw.impact[inside], population.impact(POLICY, t))
        near(draw.decision[inside], population.mean_decision(POLICY, t))
        near((draw.decision >= 5.5)[inside], population.share_above(POLICY, t, 5.5))
        near(((draw.decision - draw.label) ** 2)[inside], population.mse(POLICY, t))


def test_the_log_is_that_of_the_behaviour_model():
    population = Dosage()
    draw = population.sample(N, 4)
    away = draw.decision - population.behavior.mean(draw.features)
    near(away, 0.0)
    near(away**2, population.spread**2)
    density = np.exp(-0.5 * (away / population.spread) ** 2) / population.spread
    np.testing.assert_allclose(draw.propensity, density / np.sqrt(2 * np.pi))
    assert population.violation(population.behavior, 0) == 0.0


def test_least_squares():
    population = Dosage()
    draw = population.sample(N, 5)
    fitted = LinearRegression().fit(draw.features, draw.label)
    best = population.least_squares
    np.testing.assert_allclose(best.slope, fitted.coef_, atol=0.01)
    assert best.intercept == pytest.approx(fitted.intercept_, abs=0.01)
    missed = draw.label - best.mean(draw.features)
    near(missed**2, population.mse(best))


def test_seeds_repeat_and_sizes_are_checked():
    first, second = (Dosage().sample(10, 7) for _ in range(2))
    np.testing.assert_array_equal(first.impact, second.impact)
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        Dosage().sample(0, 1)
