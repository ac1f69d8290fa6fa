"""Shrunk means: nearer to the truth if the model is right, the weighted rows if it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from elfair import LoggedData
from elfair.search.shrinkage import ShrunkMean, shrunk_means
from elfair.statistics import Baselines, Estimation, Impact
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

TEXT = "E[impact | T == 1] >= E_logged[impact | T == 1]"


def draw(n, seed, effect):
    """Decisions by a coin of x; an impact that is effect(x, decision) plus noise."""
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(-1, 1, size=(n, 2)), rng.integers(0, 2, n)
    p = expit(x[:, 0])
    decision = (rng.random(n) < p).astype(int)
    return LoggedData(
        x,
        rng.integers(0, 2, n),
        sensitive_features={"T": t},
        decision=decision,
        propensity=np.where(decision == 1, p, 1 - p),
        impact=effect(x, decision) + t + rng.normal(0, 1, n),
    )


def new_policy(x):
    """It decides 1 in the middle of x2."""
    return expit(10 * (0.5 - np.abs(x[:, 1])))[None]


def shrink(data, text=TEXT, estimation=None):
    plan = Plan.make(
        read_constraints(text, 0.1),
        "ttest",
        Baselines(estimation or Estimation(), data),
        data,
    )
    compiled = plan.compile(data)
    policies = [np.full((1, data.n), 0.5), new_policy(data.features)]
    return compiled, shrunk_means(plan, compiled, data, policies)


def linear(x, decision):
    return 1 + x[:, 0] + decision * (0.5 - x[:, 1])


def crooked(x, decision):
    """Decision 1 helps in the middle and harms at the ends, which no straight line can see."""
    return 2 * decision * (1 - 3 * x[:, 1] ** 2)


def truth(effect):
    x = np.random.default_rng(99).uniform(-1, 1, size=(400_000, 2))
    new, old = new_policy(x)[0], expit(x[:, 0])
    gain = effect(x, np.ones(len(x))) - effect(x, np.zeros(len(x)))
    return float(((old - new) * gain).mean())


def test_a_right_model_brings_the_mean_nearer_to_the_truth():
    g, errors, claimed = truth(linear), [], []
    for seed in range(80):
        data = draw(300, seed, linear)
        (claim,), ((mean,),) = shrink(data)
        free = new_policy(data.features)
        weighted = claim.parts[0].rows.values(free)
        errors.append((mean.rows.values(free).mean() - g, weighted.mean() - g))
        claimed.append(mean.share)
    shrunk, plain = np.sqrt(np.mean(np.square(errors), axis=0))
    assert shrunk < 0.75 * plain
    # And it says by how much: the share is one of variances.
    assert np.mean(claimed) == pytest.approx((shrunk / plain) ** 2, rel=0.6)
    assert abs(np.mean(errors, axis=0)[0]) < 4 * shrunk / np.sqrt(80)


def test_a_wrong_model_is_not_trusted():
    g, biases = truth(crooked), []
    for seed in range(10):
        data = draw(4_000, seed, crooked)
        (claim,), ((mean,),) = shrink(data)
        rows, free = claim.parts[0].rows, new_policy(data.features)
        baselines = Baselines(Estimation(), data)
        q = baselines.model(Impact("impact")).of(data)
        direct = ((data.behavior[:, 1] - free[0]) * (q[1] - q[0]))[rows.index].mean()
        weighted = rows.values(free)
        error = weighted.std() / np.sqrt(rows.index.size)
        biases.append((direct - g) / error)
        kept = (mean.rows.values(free).mean() - direct) / (weighted.mean() - direct)
        assert kept > 0.8
        assert mean.share > 0.6
    assert abs(np.mean(biases)) > 3  # it was wrong indeed


def test_shares_are_shares_and_means_affine_in_the_policy():
    for seed in range(20):
        data = draw(60, seed, linear)
        claims, means = shrink(data, [TEXT, "E[impact] >= 0.3", "accuracy >= 0.1"])
        assert [len(found) for found in means] == [1, 1, 1]
        for claim, (mean,) in zip(claims, means, strict=True):
            assert 0 <= mean.share <= 1
            np.testing.assert_array_equal(mean.rows.index, claim.parts[0].rows.index)


def test_what_is_not_weighted_is_taken_as_it_is():
    data = draw(200, 0, linear)
    claims, means = shrink(data, ["accuracy >= 0.3", "PR[T == 0] - E_logged[impact] <= 9"])
    for claim, found in zip(claims, means, strict=True):
        assert found == [ShrunkMean(part.rows, 1.0) for part in claim.parts]
    # Also beside a claim that is weighted.
    claims, means = shrink(data, ["accuracy >= 0.3", TEXT])
    assert means[0] == [ShrunkMean(claims[0].parts[0].rows, 1.0)]
    assert means[1][0].rows is not claims[1].parts[0].rows


def test_the_papers_tau_is_known_and_no_part_of_the_uncertainty():
    """E[I] against a number and against tau are then the same variable, but for a constant."""
    data = draw(300, 1, linear)
    (tau,), ((with_tau,),) = shrink(data, TEXT, Estimation("is"))
    number = data.impacts["impact"][data.sensitive["T"] == 1].mean()
    text = f"E[impact | T == 1] >= {float(number)!r}"
    (fixed,), ((with_number,),) = shrink(data, text, Estimation("is"))
    free = new_policy(data.features)
    np.testing.assert_allclose(
        tau.parts[0].rows.values(free), fixed.parts[0].rows.values(free), atol=1e-9
    )
    assert with_tau.share == pytest.approx(with_number.share)


def test_a_policy_that_is_the_behaviour_model_leaves_nothing_to_learn():
    data = draw(200, 2, linear)
    plan = Plan.make(read_constraints(TEXT, 0.1), "ttest", Baselines(Estimation(), data), data)
    compiled = plan.compile(data)
    ((mean,),) = shrunk_means(plan, compiled, data, [data.behavior.T[1:]])
    assert 0 <= mean.share <= 1
    assert abs(mean.rows.values(data.behavior.T[1:]).mean()) < 1e-12
