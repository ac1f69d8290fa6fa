"""What candidate rows predict of the test: values, gradients, populations, calibration."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.special import expit, ndtri

from elfair import LoggedData
from elfair.bounds import BOUNDS, FINITE_SAMPLE, Sample, get_bound
from elfair.populations import FosterCare
from elfair.search.prediction import XI_SHARE, Factors, Target
from elfair.search.requirements import Requirement
from elfair.search.shrinkage import ShrunkMean
from elfair.statistics import Baselines, Estimation, Rows
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

N = 70
ONE = "E[impact | T == 0] >= E_logged[impact | T == 0] - 0.1"
EVERYONE = "accuracy >= 0.3"
DISJOINT = "E[impact | T == 0] - E[impact | T == 1] <= 0.4"
OVERLAPPING = "E[impact | T == 0] - 0.5 * E[impact | label == 1] <= 0.4"
TEXTS = [ONE, EVERYONE, DISJOINT, OVERLAPPING]
# Bets for growth refuse averages over groups that share people.
PAIRS = [
    (bound, text) for bound in BOUNDS for text in TEXTS if (bound, text) != ("growth", OVERLAPPING)
]
TARGETS = [
    Target(power=0.95),
    Target(power=0.4, xi=0.03),
    Target(inflation=2.0),
    Target(inflation=1.3, xi=0.2),
]


def make(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    table = 0.1 + (1 - 0.1 * n_classes) * rng.dirichlet(np.ones(n_classes), size=N)
    decision = (rng.random(N)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    return LoggedData(
        rng.normal(size=(N, 2)),
        np.arange(N) % n_classes,
        sensitive_features={"T": rng.integers(0, 2, N)},
        decision=decision,
        propensity=table[np.arange(N), decision],
        impact=rng.uniform(0, 2, N),
    )


def compile_claim(text, data, bound="ttest", delta=0.1):
    estimation = Estimation(
        ranges={"impact": (-0.5, 2.5)}, largest_weight=10.0, finite_sample=bound in FINITE_SAMPLE
    )
    plan = Plan.make(read_constraints(text, delta), bound, Baselines(estimation, data), data)
    (compiled,) = plan.compile(data)
    return compiled


def policies(n_classes, count, seed=3):
    p = np.random.default_rng(seed).dirichlet(np.full(n_classes, 3.0), size=(count, N))
    return np.moveaxis(p, -1, -2)[:, 1:]


def other_means(compiled):
    """ShrunkMeans that are certainly not the rows."""
    rng = np.random.default_rng(9)
    return [
        ShrunkMean(
            Rows(
                part.rows.index,
                part.rows.offset + rng.normal(size=part.rows.offset.size),
                part.rows.slope * rng.uniform(0.5, 1.5, size=part.rows.slope.shape),
                -inf,
                inf,
            ),
            0.3 + 0.2 * k,
        )
        for k, part in enumerate(compiled.parts)
    ]


@pytest.mark.parametrize(("bound", "text"), PAIRS)
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_against_finite_differences(text, bound, shrinking, n_classes):
    compiled = compile_claim(text, make(n_classes), bound)
    shrunk = other_means(compiled) if shrinking else None
    (free,) = policies(n_classes, 1)
    for target in TARGETS:
        requirement = Requirement(
            compiled, target, 0.7, 1.5, shrunk=shrunk, n_parameters=5 * shrinking
        )
        prediction = requirement.predict(free)
        gradients = prediction.pull_back(prediction.factors, N), prediction.log_pass_gradient(N)
        assert gradients[0].shape == gradients[1].shape == free.shape
        for seed in range(3):
            direction = np.random.default_rng(seed).normal(size=free.shape)
            step = 1e-5
            ahead = requirement.predict(free + step * direction)
            behind = requirement.predict(free - step * direction)
            differences = ahead.excess - behind.excess, ahead.log_pass - behind.log_pass
            for gradient, difference in zip(gradients, differences, strict=True):
                expected = difference / (2 * step)
                assert np.vdot(gradient, direction) == pytest.approx(expected, rel=2e-5, abs=1e-7)


@pytest.mark.parametrize(("bound", "text"), PAIRS)
@pytest.mark.parametrize("shrinking", [False, True])
def test_a_population_is_its_policies_one_by_one(text, bound, shrinking):
    compiled = compile_claim(text, make(3), bound)
    shrunk = other_means(compiled) if shrinking else None
    free = policies(3, 4)
    free[2] = 0.0  # the first class for everyone: rows that may not vary
    free[2, 1] = 1.0
    for target in TARGETS:
        requirement = Requirement(compiled, target, 0.7, shrunk=shrunk, n_parameters=3)
        expected = [requirement.predict(one).excess for one in free]
        np.testing.assert_allclose(requirement.excess(free), expected, rtol=1e-10)


@pytest.mark.parametrize("bound", ["ttest", "hoeffding", "bernstein"])
@pytest.mark.parametrize("shrinking", [False, True])
def test_moments_and_rows_predict_the_same(monkeypatch, bound, shrinking):
    compiled = compile_claim(ONE, make(3), bound)
    shrunk = other_means(compiled) if shrinking else None
    free = policies(3, 3)
    for target in TARGETS:
        found = []
        for by_moments in (True, False):
            with monkeypatch.context() as patch:
                if not by_moments:
                    patch.setattr(type(get_bound(bound)), "moment_factors", lambda *_: None)
                requirement = Requirement(compiled, target, 0.7, 1.5, shrunk=shrunk, n_parameters=4)
            predictions = [requirement.predict(one) for one in free]
            assert all((p.predicted is None) == by_moments for p in predictions)
            found.append(
                [
                    np.array([(p.levels.upper, p.excess, p.score, p.spread) for p in predictions]),
                    np.array([p.pull_back(p.factors, N) for p in predictions]),
                    np.array([p.log_pass_gradient(N) for p in predictions]),
                    requirement.excess(free),
                ]
            )
        for first, second in zip(*found, strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_excess_is_the_statistics_as_written_down(bound):
    compiled = compile_claim(ONE, make(), bound, delta=0.05)
    (free,) = policies(2, 1)
    rows = compiled.parts[0].rows
    z = rows.values(free)
    m = z.size
    n_test, n_search = 0.7 * m, 1.5 * m  # rows *inside the condition*
    sample = Sample(z, rows.low, rows.high, z.std(ddof=1), others=n_search)
    upper, *_ = get_bound(bound).predict([sample], 0.05, [n_test])
    s = z.std(ddof=1)

    def excess(**target):
        return Requirement(compiled, Target(**target), 0.7, 1.5).predict(free).excess

    error = s * sqrt(1 / n_test + 1 / n_search)
    assert excess(power=0.9, xi=0.0) == pytest.approx(upper + ndtri(0.9) * error)
    assert excess(power=0.9) == pytest.approx(upper + ndtri(0.9) * error + XI_SHARE * s)
    assert excess(power=0.9, xi=0.2) == pytest.approx(upper + ndtri(0.9) * error + 0.2)
    # The paper: mean + lambda * (width of the bound) <= -xi / 4.
    stretched = z.mean() + 2 * (upper - z.mean())
    assert excess(inflation=2.0, xi=0.2) == pytest.approx(stretched + 0.05)
    assert excess(inflation=2.0) == pytest.approx(stretched + XI_SHARE * s / 4)
    prediction = Requirement(compiled, Target(power=0.9), 0.7, 1.5).predict(free)
    assert prediction.score == pytest.approx(-upper / error)


def test_the_error_of_several_parts_adds_up_their_variances():
    compiled = compile_claim(DISJOINT, make())
    (free,) = policies(2, 1)
    prediction = Requirement(compiled, Target(power=0.9), 0.7, 1.5).predict(free)
    values = [part.rows.values(free) for part in compiled.parts]
    variances = [z.var(ddof=1) * (1 / (0.7 * z.size) + 1 / (1.5 * z.size)) for z in values]
    assert prediction.levels.error == pytest.approx(sqrt(sum(variances)))
    assert prediction.levels.mean == pytest.approx(sum(z.mean() for z in values))
    upper, *_ = get_bound("ttest").predict(
        [Sample(z) for z in values], 0.1, [0.7 * z.size for z in values]
    )
    assert prediction.levels.upper == pytest.approx(upper)


@pytest.mark.parametrize("text", [ONE, DISJOINT])
def test_shrunk_means_move_the_mean_and_narrow_the_error(text):
    compiled = compile_claim(text, make())
    (free,) = policies(2, 1)
    shrunk = other_means(compiled)
    plain = Requirement(compiled, Target(power=0.9), 0.7).predict(free)
    told = Requirement(compiled, Target(power=0.9), 0.7, shrunk=shrunk).predict(free)
    expected = sum(each.rows.values(free).mean() for each in shrunk)
    assert told.levels.mean == pytest.approx(expected)
    # The width of the bound is that of the rows that will be tested.
    assert told.levels.upper - told.levels.mean == pytest.approx(
        plain.levels.upper - plain.levels.mean
    )
    assert told.levels.error < plain.levels.error


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bound", ["ttest", "anderson"])
def test_a_search_over_many_parameters_is_expected_to_be_lucky(text, bound):
    compiled = compile_claim(text, make(), bound)
    (free,) = policies(2, 1)
    uppers = [
        Requirement(compiled, Target(power=0.9), 0.7, 1.5, n_parameters=p)
        .predict(free)
        .levels.upper
        for p in (0, 6)
    ]
    sizes = [part.rows.index.size for part in compiled.parts]
    spreads = [part.rows.values(free).std(ddof=1) for part in compiled.parts]
    luck = sum(6 / (1.5 * size) * spread for size, spread in zip(sizes, spreads, strict=True))
    assert uppers[1] - uppers[0] == pytest.approx(luck)


def test_rows_that_do_not_vary():
    data = make()
    flat = np.full((1, N), 0.25)
    text = "PR <= 0.9"
    # Nothing is known of their spread under t: never good enough, whatever the target.
    for target in (*TARGETS, Target(inflation=0.5)):
        prediction = Requirement(compile_claim(text, data), target, 0.7).predict(flat)
        assert prediction.excess > 0
        assert prediction.score == -inf
        assert np.isfinite(prediction.pull_back(prediction.factors, N)).all()
        assert (
            prediction.pull_back(prediction.factors, N).sum() > 0
        )  # a smaller PR is the way to go
    # Hoeffding never looked at the spread.
    for bound in ("hoeffding", "anderson"):
        compiled = compile_claim(text, data, bound)
        requirement = Requirement(compiled, Target(power=0.95), 0.7)
        prediction = requirement.predict(flat)
        upper = float(get_bound(bound).predict([Sample(np.full(N, -0.65), -0.9, 0.1)], 0.1,
                                             [0.7 * N])[0])  # fmt: skip
        assert prediction.excess == pytest.approx(upper)
        assert prediction.excess < 0
        assert prediction.score > 1e6
        np.testing.assert_allclose(requirement.excess(flat[None]), upper)


def test_the_behaviour_model_itself_meets_no_worse_than_itself():
    population = FosterCare()
    draw = population.sample(200, 0)
    data = LoggedData(
        draw.features, draw.label, sensitive_features={"T": draw.group}, decision=draw.decision,
        impact=draw.impact, behavior=population.behavior,
    )  # fmt: skip
    plan = Plan.make(
        read_constraints(population.constraints[0], 0.1), "ttest",
        Baselines(Estimation(), data), data,
    )  # fmt: skip
    (compiled,) = plan.compile(data)
    free = data.behavior.T[1:]
    for shrunk in (None, other_means(compiled)):
        requirement = Requirement(compiled, Target(power=0.95), 0.7, shrunk=shrunk)
        prediction = requirement.predict(free)
        assert (prediction.excess, prediction.score, prediction.spread) == (0, inf, 0)
        assert requirement.excess(free[None]) == [0]


def test_too_few_test_rows_can_never_pass():
    compiled = compile_claim(ONE, make())
    prediction = Requirement(compiled, Target(power=0.9), 0.01).predict(policies(2, 1)[0])
    assert prediction.score == -inf
    assert prediction.excess > 0


def draw_data(population, n, seed):
    draw = population.sample(n, seed)
    return LoggedData(
        draw.features,
        draw.label,
        sensitive_features={"T": draw.group},
        decision=draw.decision,
        propensity=draw.propensity,
        impact=draw.impact,
    )


def fixed_policy(data):
    return expit(-2.7 + data.features @ np.array([2.6, 2.0, -1.4, 1.1, 0.8]))[None]


@pytest.mark.parametrize(("n_candidate", "n_test"), [(300, 450), (450, 300)])
@pytest.mark.parametrize("text", [
    "E[impact | T == 1] >= E_logged[impact | T == 1]",
    "E[impact | T == 0] >= 1.0",
    "E[impact | T == 0] - E[impact | T == 1] <= 0.25",
    "accuracy >= 0.74",
])  # fmt: skip
def test_the_predicted_pass_probability_is_calibrated(text, n_candidate, n_test):
    """At a policy that no row had a part in choosing, the test passes as often as predicted.

    It passes if its bound is at most 0, which has probability Phi(score) if the bound that was
    predicted is away from it by a normal error: at any constant c added to g, and so at each level.
    """
    # What to expect of a person is fitted to the very rows that predict: the rows of a test are
    # spread .04 to .09 more here, and .006 more with 2,000 candidate rows.
    optimism = 0.06 if "E[impact" in text else 0.0
    population, draws, missed = FosterCare(), 300, []
    claims, bound = read_constraints(text, 0.1), get_bound("ttest")
    for seed in range(draws):
        seen = draw_data(population, n_candidate, 2 * seed)
        unseen = draw_data(population, n_test, 2 * seed + 1)
        plan = Plan.make(claims, bound.name, Baselines(Estimation(), seen), seen)
        (compiled,), (tested,) = plan.compile(seen), plan.compile(unseen)
        requirement = Requirement(compiled, Target(power=0.95), n_test / n_candidate)
        prediction = requirement.predict(fixed_policy(seen))
        values = [part.rows.values(fixed_policy(unseen)) for part in tested.parts]
        upper = bound.upper([Sample(z) for z in values], 0.1, disjoint=tested.tails[0].disjoint)
        missed.append((float(upper) - prediction.levels.upper) / prediction.levels.error)
    for chance in (0.1, 0.3, 0.5, 0.7, 0.9):
        passed = np.mean(np.array(missed) <= ndtri(chance))
        assert abs(passed - chance) <= 4 * sqrt(chance * (1 - chance) / draws) + optimism
    assert abs(np.std(missed) - 1) <= 4 / sqrt(2 * draws) + optimism


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("bound", ["ttest", "guarded", "betting"])
def test_what_a_change_of_people_costs_has_its_derivative(bound, shrinking):
    compiled = compile_claim(TEXTS[0], make(), bound)
    shrunk = other_means(compiled) if shrinking else None
    requirement = Requirement(compiled.at_shift(1.4), TARGETS[0], 0.7, shrunk=shrunk)
    plain = Requirement(compiled, TARGETS[0], 0.7, shrunk=shrunk)
    (free,) = policies(2, 1)
    prediction, by_mean = requirement.predict(free), Factors(0.0, mean=1.0)
    assert prediction.mean > plain.predict(free).mean + 0.1 * prediction.spread
    assert prediction.excess > plain.predict(free).excess
    for factors, rel in ((by_mean, 0.02), (prediction.factors, 0.1)):
        gradient, level = prediction.pull_back(factors, N), []
        for step in (1e-5, -1e-5):
            ahead = requirement.predict(free - step * gradient)
            level.append(ahead.mean if factors is by_mean else ahead.excess)
        assert np.vdot(gradient, gradient) == pytest.approx((level[1] - level[0]) / 2e-5, rel=rel)


def test_excesses_of_a_population_under_a_change_of_people():
    compiled = compile_claim(TEXTS[0], make()).at_shift(1.4)
    requirement = Requirement(compiled, TARGETS[0], 0.7)
    free = policies(2, 3)
    each = [requirement.predict(one).excess for one in free]
    assert requirement.excess(free) == pytest.approx(each)
