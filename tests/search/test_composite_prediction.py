"""What candidate rows predict of a test that is made of several tails."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.special import ndtri

from elfair import LoggedData
from elfair.bounds import BOUNDS, FINITE_SAMPLE, Sample, get_bound
from elfair.search import Target
from elfair.search.requirements import CombinedPrediction, Requirement
from elfair.search.shrinkage import ShrunkMean
from elfair.statistics import Baselines, Estimation, Rows
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

N = 80
CURVED = [
    "E[impact] * PR <= 0.4",
    "E[impact | T == 0] * E[impact | T == 1] >= 0.4",
    "PR[T == 0] / PR[T == 1] - accuracy <= 0.4",
    "accuracy * accuracy >= 0.4",
]
# Here each tail counts as much whatever the policy, or not at all, so that errors and spreads have
# exact derivatives, too.
STRAIGHT = [
    "max(PR[T == 0], PR[T == 1]) >= 0.6",
    "3 * max(PR[T == 0], PR[T == 1]) + accuracy >= 2",
    "E[impact | T == 0] <= 0.2 or accuracy >= 0.9",
    "min(E[impact | T == 0], E[impact | T == 1] - 0.3) <= 0.2",
]


def make(seed=0):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, N)
    return LoggedData(
        rng.normal(size=(N, 2)),
        np.arange(N) % 2,
        sensitive_features={"T": rng.integers(0, 2, N)},
        decision=decision,
        propensity=rng.uniform(0.3, 0.7, N),
        impact=rng.uniform(0, 2, N),
    )


def compile_claim(text, data, bound="ttest"):
    estimation = Estimation(
        ranges={"impact": (-0.5, 2.5)}, largest_weight=1 / 0.3, finite_sample=bound in FINITE_SAMPLE
    )
    plan = Plan.make(read_constraints(text, 0.1), bound, Baselines(estimation, data), data)
    (compiled,) = plan.compile(data)
    return compiled


def policy(seed=3):
    return np.random.default_rng(seed).uniform(0.1, 0.9, (1, N))


def other_means(compiled):
    rng = np.random.default_rng(9)
    return [
        ShrunkMean(
            Rows(
                part.rows.index,
                part.rows.offset + 0.1 * rng.normal(size=part.rows.offset.size),
                part.rows.slope * rng.uniform(0.8, 1.2, size=part.rows.slope.shape),
                -inf,
                inf,
            ),
            0.5,
        )
        for part in compiled.parts
    ]


def slope_along(requirement, free, direction, of, step=1e-5):
    ahead, behind = (requirement.predict(free + s * step * direction) for s in (1, -1))
    return (of(ahead) - of(behind)) / (2 * step)


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("bound", [name for name in BOUNDS if name != "growth"])  # one average
@pytest.mark.parametrize("text", [*CURVED, *STRAIGHT])
def test_gradients_of_bound_and_mean_against_finite_differences(text, bound, shrinking):
    compiled = compile_claim(text, make(), bound)
    shrunk = other_means(compiled) if shrinking else None
    free = policy()
    # power=0.5 and a given xi leave the bound alone; inflation stretches it from the mean.
    for target in (Target(power=0.5, xi=0.1), Target(inflation=2.0, xi=0.1)):
        requirement = Requirement(
            compiled, target, 0.7, 1.5, shrunk=shrunk, n_parameters=4 * shrinking
        )
        prediction = requirement.predict(free)
        assert isinstance(prediction, CombinedPrediction)
        gradient = prediction.pull_back(prediction.factors, N)
        assert gradient.shape == free.shape
        for seed in range(2):
            direction = np.random.default_rng(seed).normal(size=free.shape)
            expected = slope_along(requirement, free, direction, lambda p: p.excess)
            assert np.vdot(gradient, direction) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("bound", ["ttest", "betting"])
@pytest.mark.parametrize("text", STRAIGHT)
def test_gradients_of_errors_and_spreads_where_weights_do_not_change(text, bound):
    compiled = compile_claim(text, make(), bound)
    free = policy()
    for target in (Target(power=0.95), Target(power=0.4, xi=0.03), Target(inflation=1.3)):
        requirement = Requirement(compiled, target, 0.7, 1.5)
        prediction = requirement.predict(free)
        for seed in range(2):
            direction = np.random.default_rng(seed).normal(size=free.shape)
            for gradient, of in (
                (prediction.pull_back(prediction.factors, N), lambda p: p.excess),
                (prediction.log_pass_gradient(N), lambda p: p.log_pass),
            ):
                expected = slope_along(requirement, free, direction, of)
                assert np.vdot(gradient, direction) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_levels_of_a_product_by_hand():
    data, free = make(), policy()
    compiled = compile_claim("accuracy * PR <= 0.4", data)
    levels = Requirement(compiled, Target(power=0.9), 0.7, 1.5).predict(free).levels
    hit = np.where(data.label_index == 1, free[0], 1 - free[0])
    bound = get_bound("ttest")
    uppers = [bound.predict([Sample(z)], 0.05, [0.7 * N])[0] for z in (hit, free[0])]
    assert levels.upper == pytest.approx(uppers[0] * uppers[1] - 0.4)
    assert levels.mean == pytest.approx(hit.mean() * free[0].mean() - 0.4)
    unit = 1 / (0.7 * N) + 1 / (1.5 * N)
    errors = [u * z.std(ddof=1) * sqrt(unit) for u, z in zip(uppers[::-1], (hit, free[0]),
                                                             strict=True)]  # fmt: skip
    assert levels.error == pytest.approx(np.hypot(*errors))
    spreads = hit.mean() * free[0].std(ddof=1), free[0].mean() * hit.std(ddof=1)
    assert levels.spread == pytest.approx(np.hypot(*spreads))


def test_the_two_tails_of_a_variable_err_together():
    # With E[impact] certainly positive only PR's upper end counts, and the error is as of one tail.
    data, free = make(), policy()
    compiled = compile_claim("E[impact] * PR <= 0.4", data)
    assert len(compiled.tails) == 3
    prediction = Requirement(compiled, Target(power=0.9), 0.7, 1.5).predict(free)
    by_hand = Requirement(compile_claim("E[impact] <= 9", data), Target(power=0.9), 0.7, 1.5)
    impact = by_hand.predict(free).levels
    unit = sqrt(1 / (0.7 * N) + 1 / (1.5 * N))
    share = free[0].std(ddof=1) * unit
    bound = get_bound("ttest")
    of_rate = bound.predict([Sample(free[0])], 0.1 / 3, [0.7 * N])[0]
    of_impact = prediction._tails[0].levels.upper
    assert prediction.levels.error == pytest.approx(
        np.hypot(of_rate * impact.error, of_impact * share)
    )


def test_what_both_ends_of_a_variable_do_cancels():
    # PR errs upwards in the first product as much as in the second, which is taken off.
    data, free = make(), policy()
    text = "E[impact | T == 0] * PR - E[impact | T == 1] * PR <= 0.4"
    prediction = Requirement(compile_claim(text, data), Target(power=0.9), 0.7, 1.5).predict(free)
    tails = {str(tail.form): prediction._tails[k].levels for k, tail in
             enumerate(compile_claim(text, data).tails)}  # fmt: skip
    first, second = tails["E[impact | T == 0]"], tails["-E[impact | T == 1]"]
    high, low = tails["PR"].upper, -tails["-PR"].upper
    assert prediction.levels.upper == pytest.approx(first.upper * high + second.upper * low - 0.4)
    parts = (
        high * first.error,
        low * second.error,
        (first.upper + second.upper) * tails["PR"].error,
    )
    assert prediction.levels.error == pytest.approx(np.linalg.norm(parts))


@pytest.mark.parametrize("text", [*CURVED, *STRAIGHT])
def test_a_population_is_its_policies_one_by_one(text):
    compiled = compile_claim(text, make())
    free = np.stack([policy(seed) for seed in range(3)])
    free[1] = 0.5  # rows that may not vary
    requirement = Requirement(compiled, Target(power=0.9), 0.7)
    expected = [requirement.predict(one).excess for one in free]
    np.testing.assert_allclose(requirement.excess(free), expected)


def test_a_bound_without_end_still_says_which_way_to_go():
    # PR does not vary: the t bound knows nothing of its spread.
    compiled = compile_claim("E[impact] * PR <= 0.1", make())
    flat = np.full((1, N), 0.5)
    prediction = Requirement(compiled, Target(power=0.9), 0.7).predict(flat)
    assert prediction.levels.upper == inf
    assert prediction.score == -inf
    assert prediction.excess == pytest.approx(1 + abs(prediction.levels.mean))
    gradient = prediction.pull_back(prediction.factors, N)
    assert np.isfinite(gradient).all()
    step = 1e-4 * gradient / np.abs(gradient).max()
    means = [Requirement(compiled, Target(power=0.9), 0.7).predict(flat - s * step).levels.mean
             for s in (0, 1)]  # fmt: skip
    assert abs(means[1]) < abs(means[0])


def draw(n, seed):
    rng = np.random.default_rng(seed)
    group, x = rng.integers(0, 2, n), rng.normal(size=n)
    decision = rng.integers(0, 2, n)
    return LoggedData(
        x[:, None],
        (x + rng.normal(size=n) > 0).astype(int),
        sensitive_features={"T": group},
        decision=decision,
        propensity=np.full(n, 0.5),
        impact=1 + 0.5 * decision + rng.normal(size=n),
    )


@pytest.mark.parametrize(
    "text", ["E[impact] * PR <= 0.9", "E[impact | T == 0] * E[impact | T == 1] >= 1",
             "PR[T == 0] / PR[T == 1] - accuracy <= 0.6", "accuracy >= 0.6 or E[impact] >= 9"],
)  # fmt: skip
def test_the_prediction_is_what_the_test_finds(text):
    """Over many draws the bound of the test is off by nothing on average, and by one error."""
    missed = []
    for seed in range(150):
        seen, unseen = draw(400, 2 * seed), draw(300, 2 * seed + 1)
        free = [0.2 + 0.6 / (1 + np.exp(-data.features.T)) for data in (seen, unseen)]
        claims, bound = read_constraints(text, 0.1), get_bound("ttest")
        plan = Plan.make(claims, bound.name, Baselines(Estimation(), seen), seen)
        (claim,), (tested,) = plan.compile(seen), plan.compile(unseen)
        levels = Requirement(claim, Target(power=0.95), 300 / 400).predict(free[0]).levels
        uppers = [
            bound.upper([Sample(p.rows.values(free[1])) for p in tail.parts], tail.delta,
                        disjoint=tail.disjoint)
            for tail in tested.tails
        ]  # fmt: skip
        missed.append((tested.formula.upper(uppers)[0] - levels.upper) / levels.error)
    assert abs(np.mean(missed)) < 4 / sqrt(150)
    assert np.std(missed) == pytest.approx(1, abs=0.25)
    assert np.mean(np.array(missed) <= ndtri(0.9)) == pytest.approx(0.9, abs=0.1)
