"""Rows with caps: the same mean as plain weighted rows, and a bad end that no weight moves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elfair import LoggedData
from elfair.statistics import Baselines, Estimation, compile_form
from elfair.statistics.claims import read_constraints

RANGE = (-2.0, 6.0)
CONSTRAINTS = (
    "E[impact] >= E_logged[impact]",
    "E[impact] <= E_logged[impact]",
    "E[impact] >= 1",
    "E[impact] <= 1",
    "3 * E[impact] >= 2 * E_logged[impact]",
    "E[impact] >= 5 * E_logged[impact]",
    "E[impact] + E_logged[impact] >= 1",
    "P[impact < 1] <= 0.4",
)


def world(seed: int, classes: int, n: int, least: float = 0.01) -> LoggedData:
    """Logged decisions, some of them nearly certain, with impacts at both ends of their range."""
    rng = np.random.default_rng(seed)
    behavior = rng.dirichlet(np.full(classes, 0.4), n)
    behavior = (1 - classes * least) * behavior + least
    decision = (rng.random((n, 1)) > behavior.cumsum(axis=1)[:, :-1]).sum(axis=1)
    impact = rng.choice([*RANGE, 0.0, 1.5], n)
    return LoggedData(
        rng.normal(size=(n, 2)),
        decision=decision,
        behavior=behavior,
        impact=impact,
        classes=list(range(classes)),
    )


def rows_of(text: str, data: LoggedData, estimator: str = "paired", **declared: float):
    known = Estimation(estimator, {"impact": RANGE}, finite_sample=True, **declared)
    (claim,) = read_constraints(text, 0.1)
    (part,) = compile_form(claim.conjunct.form, data, Baselines(known, data), {})
    return part.rows


@pytest.mark.parametrize("estimator", ["paired", "dr"])
@pytest.mark.parametrize("text", CONSTRAINTS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), classes=st.integers(2, 4))
def test_no_row_leaves_its_ends(text: str, estimator: str, seed: int, classes: int) -> None:
    data = world(seed, classes, 200)
    rows = rows_of(text, data, estimator, largest_weight=100.0)
    rng = np.random.default_rng(seed)
    for sharpness in (0.05, 1.0):  # nearly deterministic policies have the largest weights
        policy = rng.dirichlet(np.full(classes, sharpness), data.n)
        values = rows.values(policy[:, 1:].T)
        assert rows.low - 1e-9 <= values.min()
        assert values.max() <= rows.high + 1e-9
    without = rows_of(text, data, estimator)
    assert (without.low, without.high) == (-np.inf, rows.high)


def test_the_bad_end_is_reached() -> None:
    """It is no larger than it has to be: somebody with a reversed decision is at it."""
    data = LoggedData(
        np.zeros((4, 1)),
        decision=[1, 1, 0, 0],
        propensity=[0.99, 0.99, 0.01, 0.01],
        impact=[6.0, -2.0, 6.0, -2.0],
    )
    rows = rows_of("E[impact] >= E_logged[impact]", data)
    values = rows.values(np.zeros((1, 4)))
    assert rows.high == 8.0
    assert values.max() == pytest.approx(8.0)


@pytest.mark.parametrize("estimator", ["paired", "dr"])
@pytest.mark.parametrize("text", CONSTRAINTS)
@pytest.mark.parametrize("classes", [2, 3])
def test_caps_do_not_change_the_mean(text: str, estimator: str, classes: int) -> None:
    """Averaged over every decision that could have been logged, by its probability."""
    base = world(1, classes, 50, least=0.02)
    rng = np.random.default_rng(2)
    policy = rng.dirichlet(np.full(classes, 0.2), base.n)
    impacts = rng.uniform(*RANGE, (classes, base.n))  # of each decision
    learnt = Baselines(Estimation(estimator, {"impact": RANGE}, finite_sample=True), base)
    (claim,) = read_constraints(text, 0.1)
    total, plain = np.zeros(base.n), np.zeros(base.n)
    for a in range(classes):
        data = LoggedData(
            base.features,
            decision=np.full(base.n, a),
            behavior=base.behavior,
            impact=impacts[a],
            classes=list(range(classes)),
        )
        (part,) = compile_form(claim.conjunct.form, data, learnt, {})
        assert part.rows.capped
        total += base.behavior[:, a] * part.rows.values(policy[:, 1:].T)
        (other,) = compile_form(claim.conjunct.form, data, Baselines(Estimation("is"), base), {})
        plain += base.behavior[:, a] * other.rows.values(policy[:, 1:].T)
    np.testing.assert_allclose(total, plain, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_the_behaviour_model_are_exactly_0(classes: int) -> None:
    data = world(3, classes, 300)
    rows = rows_of("E[impact] >= E_logged[impact]", data)
    assert not rows.exact_values(data.behavior[:, 1:].T).any()


@pytest.mark.parametrize("text", CONSTRAINTS)
@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_against_finite_differences(text: str, classes: int) -> None:
    data = world(4, classes, 40)
    rows = rows_of(text, data, "dr")
    policy = np.random.default_rng(5).dirichlet(np.ones(classes), data.n)[:, 1:].T
    slope = rows.slope_inside(policy)
    for k in range(classes - 1):
        step = np.zeros_like(policy)
        step[k] = 1e-7
        numeric = (rows.values(policy + step) - rows.values(policy - step)) / 2e-7
        np.testing.assert_allclose(slope[k], numeric, rtol=1e-5, atol=1e-6)


def test_rows_are_concave_in_the_probability_of_the_rare_decision_only_through_caps() -> None:
    """Without caps a row is affine; with them it bends where the cap is reached, and not before."""
    data = LoggedData(
        np.zeros((2, 1)),
        decision=[1, 1],
        propensity=[0.9, 0.9],
        impact=[2.0, 2.0],
        classes=[0, 1],
    )
    rows = rows_of("E[impact] >= 0", data)
    grid = np.linspace(0, 1, 201)
    values = np.array([rows.values(np.full((1, 2), p))[0] for p in grid])
    bends = [abs(a - b) > 1e-9 for a, b in pairwise(np.diff(values))]
    lift, cap = rows.capped[0].lift[0, 0], rows.capped[0].cap[0, 0]
    assert 1 <= sum(bends) <= 2
    assert grid[1:-1][bends][0] == pytest.approx(1 - cap / lift, abs=0.01)
