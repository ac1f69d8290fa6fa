"""The truth about rules that jump, against integrals computed another way."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr

from elfair.errors import InputError
from elfair.populations import FosterCare, LinearRule, Mixture
from elfair.populations import foster_care as law

# Written out again here, from the definition of the population, on purpose.
BINARY = {0: (0.62, 0.55, 0.35), 1: (0.50, 0.45, 0.42)}
NORMAL = {0: (0.50, 0.45), 1: (0.42, 0.40)}
SD, LOW, HIGH = 0.35, -1.0, 2.0
SCALE = np.array([0.5, 0.5, 0.5, 0.35, 0.35])


def density(x: float, mean: float) -> float:
    return float(np.exp(-0.5 * ((x - mean) / SD) ** 2) / (SD * np.sqrt(2 * np.pi)))


def along_x5(f, level: float, slope: float, mean: float) -> float:
    """E[f(X5) 1{level + slope * X5 > 0}] for one clipped normal."""
    total = sum(
        mass * f(end)
        for end, mass in ((LOW, ndtr((LOW - mean) / SD)), (HIGH, ndtr((mean - HIGH) / SD)))
        if level + slope * end > 0
    )
    if slope == 0:
        start, stop = (LOW, HIGH) if level > 0 else (LOW, LOW)
    elif slope > 0:
        start, stop = float(np.clip(-level / slope, LOW, HIGH)), HIGH
    else:
        start, stop = LOW, float(np.clip(-level / slope, LOW, HIGH))
    if stop > start:
        total += quad(
            lambda x: f(x) * density(x, mean), start, stop, epsabs=1e-9, epsrel=1e-9, limit=200
        )[0]
    return total


def expectation(f, rule: LinearRule, group: int) -> float:
    """E[f(X) 1{rule decides 1} | T = group] by adaptive integration, X4 outside and X5 inside."""
    b4, b5 = float(rule.coefficients[3]), float(rule.coefficients[4])
    mean4, mean5 = NORMAL[group]
    total = 0.0
    for cell in product([0, 1], repeat=3):
        chance = np.prod([p if x else 1 - p for x, p in zip(cell, BINARY[group], strict=True)])
        level = rule.intercept + float(np.dot(cell, rule.coefficients[:3]))

        def inside(x4: float, cell=cell, level=level) -> float:
            return along_x5(lambda x5: f(*cell, x4, x5), level + b4 * x4, b5, mean5)

        kinks = [LOW, HIGH]
        if b4 != 0:
            kinks += [-(level + b5 * end) / b4 for end in (LOW, HIGH)]
        # Far from the mean a wide panel would miss the bell altogether.
        kinks = sorted({float(np.clip(k, LOW, HIGH)) for k in (*kinks, mean4 - SD, mean4 + SD)})
        value = ndtr((LOW - mean4) / SD) * inside(LOW) + ndtr((mean4 - HIGH) / SD) * inside(HIGH)
        for start, stop in pairwise(kinks):
            value += quad(
                lambda x: inside(x) * density(x, mean4), start, stop, epsabs=1e-9, epsrel=1e-8
            )[0]
        total += chance * value
    return float(total)


def gain(group: int):
    """What accuracy gains where 1 is decided rather than 0, by the label's law."""

    def of(x1, x2, x3, x4, x5):
        z = 4 * x1 + 3 * x2 - 2.5 * x3 + 2 * x4 + 1.5 * x5 - 3.2 - 1.6 * group
        return 2 * expit(2.2 * z) - 1

    return of


def one(*_):
    return 1.0


def random_rule(rng: np.random.Generator) -> LinearRule:
    """A line through the middle of some cell, shallow or steep in any feature."""
    slopes = rng.standard_normal(5) * 10 ** rng.uniform(-1, 1, 5) / SCALE
    slopes[rng.random(5) < 0.15] = 0.0
    centre = np.append(rng.integers(0, 2, 3), rng.normal([0.46, 0.42], 0.3))
    return LinearRule(float(-slopes @ centre), slopes)


RANDOM = np.random.default_rng(11)
RULES = {f"random {k}": random_rule(RANDOM) for k in range(6)}
AWKWARD = {
    "X4 alone": LinearRule(-0.5, np.array([0.0, 0, 0, 1.0, 0])),
    "X5 alone, downwards": LinearRule(0.3, np.array([0.0, 0, 0, 0, -1.0])),
    "through a corner": LinearRule(2.0, np.array([0.0, 0, 0, 1.0, 1.0])),
    "through two corners": LinearRule(0.0, np.array([0.0, 0, 0, 1.0, -1.0])),
    "along the edge": LinearRule(1.0, np.array([0.0, 0, 0, 1.0, 0.0])),
    "beside the edge": LinearRule(-1.0, np.array([0.0, 0, 0, -1.0, 0.0])),
    "almost parallel": LinearRule(-0.4, np.array([1.0, -1.0, 0, 1e-300, 1.0])),
    "a corner alone": LinearRule(-2.75, np.array([0.0, 0, 0, 1.0, 1.0])),
}


@pytest.mark.parametrize("name", [*RULES, *AWKWARD])
def test_truth_of_a_rule_is_exact(name):
    rule, population = {**RULES, **AWKWARD}[name], FosterCare(alpha=0.7)
    truth = population.truth(rule)
    share, noise = (0.55, 0.45), (2.0, 1.0)
    accuracy = 0.0
    for t in (0, 1):
        rate = expectation(one, rule, t)
        logged = population.truth(population.behavior).impact[t]
        assert population.positive_rate(rule, t) == pytest.approx(rate, abs=1e-7)
        assert truth.impact[t] == pytest.approx(0.7 * rate + 0.3 * noise[t], abs=1e-7)
        assert truth.violation[t] == pytest.approx(logged - truth.impact[t], abs=1e-12)
        zero_right = 0.5 * (1 - expectation(gain(t), LinearRule(1.0, np.zeros(5)), t))
        accuracy += share[t] * (zero_right + expectation(gain(t), rule, t))
    assert truth.accuracy == pytest.approx(accuracy, abs=1e-6)


def atom(group: int, feature: int) -> float:
    """The mass that clipping moves to the low end."""
    return float(ndtr((LOW - NORMAL[group][feature]) / SD))


@pytest.mark.parametrize("t", [0, 1])
def test_rates_of_rules_in_one_feature_have_closed_forms(t):
    rate = FosterCare().positive_rate
    for cut in (-0.9, 0.1, 0.55, 1.9):
        above = LinearRule(-3 * cut, np.array([0.0, 0, 0, 3.0, 0]))
        below = LinearRule(cut, np.array([0.0, 0, 0, 0, -1.0]))
        closed = ndtr((NORMAL[t][0] - cut) / SD), ndtr((cut - NORMAL[t][1]) / SD)
        assert rate(above, t) == pytest.approx(closed[0], abs=1e-10)
        assert rate(below, t) == pytest.approx(closed[1], abs=1e-10)
    # A rule that is 0 on the line does not decide 1 there, where clipping has put a mass.
    assert rate(AWKWARD["along the edge"], t) == pytest.approx(1 - atom(t, 0), abs=1e-11)
    assert rate(AWKWARD["beside the edge"], t) == 0
    only_the_edge = LinearRule(-1.0 + 1e-9, np.array([0.0, 0, 0, -1.0, 0]))
    assert rate(only_the_edge, t) == pytest.approx(atom(t, 0), rel=1e-4)
    all_but_a_corner = rate(AWKWARD["through a corner"], t)
    assert all_but_a_corner == pytest.approx(1 - atom(t, 0) * atom(t, 1), abs=1e-11)


@pytest.mark.parametrize("t", [0, 1])
def test_binary_rules_and_constant_rules_are_enumerated(t):
    rate = FosterCare().positive_rate
    assert rate(LinearRule(0.0, np.zeros(5)), t) == 0
    assert rate(LinearRule(1e-12, np.zeros(5)), t) == pytest.approx(1, abs=1e-12)
    either = LinearRule(-0.5, np.array([1.0, 1.0, 0, 0, 0]))
    p = BINARY[t]
    assert rate(either, t) == pytest.approx(1 - (1 - p[0]) * (1 - p[1]), abs=1e-12)


def test_the_order_of_the_quadrature_suffices_for_any_rule():
    rng, population = np.random.default_rng(2), FosterCare()
    for _ in range(60):
        rule = random_rule(rng)
        turned = LinearRule(-rule.intercept, -rule.coefficients)
        for t in (0, 1):
            both = population.positive_rate(rule, t) + population.positive_rate(turned, t)
            assert both == pytest.approx(1, abs=1e-9)
        # Deciding the other way everywhere is right exactly where this way is wrong.
        assert population.accuracy(rule) + population.accuracy(turned) == pytest.approx(1, abs=1e-9)


def test_rules_agree_with_simulation():
    population, n = FosterCare(), 1_000_000
    draw = population.sample(n, seed=31)
    for rule in RULES.values():
        decision = rule.predict_proba(draw.features)[:, 1]
        right = (decision == draw.label).mean()
        assert abs(right - population.accuracy(rule)) < 4 * 0.5 / np.sqrt(n)
        for t in (0, 1):
            inside = decision[draw.group == t]
            error = max(inside.std(), 1e-3) / np.sqrt(inside.size)
            assert abs(inside.mean() - population.positive_rate(rule, t)) < 4 * error


def test_a_mixture_has_the_average_truth_of_its_rules():
    population = FosterCare(strict=True)
    rules = [RULES["random 0"], RULES["random 1"], AWKWARD["through a corner"]]
    mixed = population.truth(Mixture(rules, [0.25, 0.75, 0.0]))
    parts = [population.truth(rule) for rule in rules[:2]]
    assert mixed.accuracy == pytest.approx(0.25 * parts[0].accuracy + 0.75 * parts[1].accuracy)
    for t in (0, 1):
        violation = 0.25 * parts[0].violation[t] + 0.75 * parts[1].violation[t]
        assert mixed.violation[t] == pytest.approx(violation, abs=1e-12)


def test_a_rule_of_another_length_is_refused():
    with pytest.raises(InputError, match=r"needs 5 coefficients. Got shape \(4,\)"):
        FosterCare().accuracy(LinearRule(0.0, np.ones(4)))


@pytest.mark.parametrize("alpha", [0, 0.0, 1, 1.0])
def test_the_ends_of_alpha(alpha):
    population = FosterCare(alpha=alpha)
    draw, rule = population.sample(4000, seed=5), RULES["random 0"]
    truth = population.truth(rule)
    if alpha == 0:
        assert truth.impact == {0: 2.0, 1: 1.0}
        assert set(truth.violation.values()) == {0.0}
        assert len(set(draw.impact[draw.decision == 1])) > 1000
    else:
        np.testing.assert_array_equal(draw.impact, draw.decision)
        assert truth.impact == {t: population.positive_rate(rule, t) for t in (0, 1)}
        assert population.sample(400, seed=5).impact.dtype == float
    for t in (0, 1):
        inside = draw.impact[draw.group == t]
        logged = population.impact(population.behavior, t)
        assert abs(inside.mean() - logged) < 4 * inside.std() / np.sqrt(inside.size)


def test_rates_are_computed_once_and_serve_all_variants():
    calls = []

    def policy(X):
        calls.append(len(X))
        return expit(X @ [1.0, 0.5, -0.5, 0.3, 0.1])

    once = FosterCare().rates(policy)
    spent = len(calls)
    for alpha in np.linspace(0, 1, 11):
        for strict in (False, True):
            population = FosterCare(alpha=float(alpha), strict=strict)
            truth = population.truth(once)
            assert len(calls) == spent
            assert truth == population.truth(policy)
            calls = calls[:spent]


def test_a_smooth_policy_is_not_evaluated_on_the_finest_grid():
    seen = []

    def policy(X):
        seen.append(len(X))
        return expit(X @ [2.0, 1.0, -1.0, 1.0, 0.5] - 1)

    FosterCare().truth(policy)
    assert max(seen) < len(law.grid().points) / 3


def test_coarser_grids_are_trusted_only_where_they_are_exact():
    rng, whole, sizes = np.random.default_rng(4), law.grid(), []
    for spread in np.geomspace(0.3, 30, 16):
        slopes = spread * rng.standard_normal(5) / SCALE
        centre = np.append(rng.integers(0, 2, 3), rng.normal([0.46, 0.42], 0.3))

        def policy(X, slopes=slopes, centre=centre):
            sizes.append(len(X))
            return expit((X - centre) @ slopes)

        found, exact = law.rates(policy), policy(whole.points)
        assert found.positive == pytest.approx(tuple(whole.weight @ exact), abs=1e-7)
        accuracy = whole.accuracy_of_zero + whole.accuracy_gain @ exact
        assert found.accuracy == pytest.approx(accuracy, abs=1e-7)
    # The last of them are too steep for any but the finest.
    assert sizes.count(len(whole.points)) > 16
