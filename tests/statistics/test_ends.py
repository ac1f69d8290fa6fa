"""The ends of a row: no data inside the declarations and no policy can leave them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elfair import LoggedData
from elfair.language.conjunction import conjuncts
from elfair.statistics import Baselines, Estimation, compile_form
from elfair.statistics.impact_estimators import ESTIMATORS

N = 24
IMPACTS = "E[impact | T == 0]", "E_logged[impact | T == 0]"
OTHERS = "PR[T == 0]", "P[decision == label | T == 0]", "E_logged[decision == 0 | T == 0]"
factors = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])


def extreme(rng, low, high, floor, n_classes, behavior):
    """Data that go to the corners: impacts at the ends, propensities at the floor."""
    impact = rng.choice([low, high, rng.uniform(low, high)], size=N)
    table = rng.dirichlet(np.full(n_classes, 0.3), size=N)
    table = floor + (1 - n_classes * floor) * table
    decision = rng.integers(0, n_classes, N)
    decision[:n_classes] = np.arange(n_classes)
    how = {"behavior": table} if behavior else {"propensity": table[np.arange(N), decision]}
    return LoggedData(
        rng.normal(size=(N, 1)), rng.permutation(np.arange(N) % n_classes),
        sensitive_features={"T": np.arange(N) // 20}, decision=decision, impact=impact, **how,
        positive=n_classes - 1,
    )  # fmt: skip


@settings(max_examples=150)
@given(
    st.data(),
    st.sampled_from(list(ESTIMATORS)),
    st.integers(2, 3),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_no_row_leaves_its_ends(data, estimator, n_classes, behavior, seed):
    rng = np.random.default_rng(seed)
    low = data.draw(st.sampled_from([-3.0, 0.0, 1.0]))
    high = low + data.draw(st.sampled_from([0.5, 4.0]))
    floor = data.draw(st.sampled_from([0.02, 0.2]))
    rows = extreme(rng, low, high, floor, n_classes, behavior)
    terms = [(data.draw(factors), name) for name in (*IMPACTS, *OTHERS)]
    terms = [(factor, name) for factor, name in terms if factor] or [(1.0, IMPACTS[0])]
    text = " + ".join(f"{factor} * {name}" for factor, name in terms) + " <= 0.7"
    (conjunct,) = conjuncts(text)
    estimation = Estimation(estimator, {"impact": (low, high)}, 1 / floor, finite_sample=True)
    (part,) = compile_form(conjunct.form, rows, Baselines(estimation, rows), {})
    known = rows.behavior is not None or not (part.weighted and estimator == "dr")
    assert (np.isfinite([part.rows.low, part.rows.high]) == known).all()
    for _ in range(5):
        chosen = rng.integers(0, n_classes, N)  # deterministic policies are the corners
        free = (np.arange(1, n_classes)[:, None] == chosen).astype(float)
        values = part.rows.values(free)
        assert values.min() >= part.rows.low - 1e-9
        assert values.max() <= part.rows.high + 1e-9


def ends(text, *, estimator="paired", weight=10.0, limits=(-1.0, 2.0), n_classes=2):
    """With three classes, the probability of the taken decision does not tell those of others."""
    rng = np.random.default_rng(0)
    data = extreme(rng, *limits, 0.1, n_classes, False)
    (conjunct,) = conjuncts(text)
    estimation = Estimation(estimator, {"impact": limits}, weight, finite_sample=True)
    (part,) = compile_form(conjunct.form, data, Baselines(estimation, data), {})
    return part.rows.low, part.rows.high


def test_the_ends_are_attained_where_rows_can_go_there():
    # g = 0.5 - k - w (I - k), k = -1: from w = 0 (1.5) down to w = 10 at I = 2.
    assert ends("E[impact] >= 0.5", n_classes=3) == pytest.approx((1.5 - 30, 1.5))
    # g = k + w (I - k) - 0.5, k = 2 for an upper bound: from w = 10 at I = -1 up to w = 0.
    assert ends("E[impact] <= 0.5", n_classes=3) == pytest.approx((1.5 - 30, 1.5))
    # g = (1 - w)(I + 1): from w = 10 at I = 2 up to w = 0 at I = 2.
    for known in (2, 3):
        assert ends("E[impact] >= E_logged[impact]", n_classes=known) == pytest.approx((-27, 3))
    # No declared floor: the good end is open, the bad one is known all the same.
    assert ends("E[impact] >= E_logged[impact]", weight=np.inf) == (-np.inf, 3)
    share = {"weight": np.inf, "n_classes": 3}
    assert ends("E[impact] <= 0.9 * E_logged[impact]", **share)[1] == pytest.approx(2.9)
    assert ends("E_logged[impact] <= 0") == (-1, 2)
    assert ends("accuracy >= 0.75") == (-0.25, 0.75)


@pytest.mark.parametrize("estimator", ["paired", "dr"])
def test_capped_terms_cost_no_more_than_the_width_of_the_range(estimator):
    # g = 0.5 + 1 - J + something in [-3, 3]: what it adds is bounded whatever the weight is.
    assert ends("E[impact] >= 0.5", estimator=estimator) == pytest.approx((1.5 - 30, 1.5 + 3))
    assert ends("E[impact] <= 0.5", estimator=estimator) == pytest.approx((1.5 - 30, 1.5 + 3))
    # J and the caps share one width where the two models are compared.
    for text in ("E[impact] >= E_logged[impact]", "E[impact] <= E_logged[impact]"):
        assert ends(text, estimator=estimator) == pytest.approx((-27, 3))
    # 3 I - 0.5 E: the logged impact counts most, six times as much.
    low, high = ends("0.5 * E[impact] >= 3 * E_logged[impact]", estimator=estimator)
    assert (low, high) == pytest.approx((-2.5 - 6, -2.5 + 9))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_declared_range_alone_gives_the_bad_end_and_no_other(estimator):
    for text in ("E[impact] >= E_logged[impact]", "E[impact] <= 0.5"):
        low, high = ends(text, estimator=estimator, weight=np.inf)
        assert low == -np.inf
        assert np.isfinite(high)
        # An outcome model helps only where it can be averaged over the behaviour model.
        low, high = ends(text, estimator=estimator, weight=np.inf, n_classes=3)
        assert low == -np.inf
        assert np.isfinite(high) == (estimator != "dr")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_bound_that_needs_no_ends_gets_the_rows_with_the_least_spread(estimator):
    data = extreme(np.random.default_rng(0), 0.0, 1.0, 0.1, 2, False)
    (conjunct,) = conjuncts("E[impact] >= 0")
    rows = []
    for declared in ({}, {"ranges": {"impact": (0.0, 1.0)}, "largest_weight": 10.0}):
        estimation = Estimation(estimator, **declared)
        (part,) = compile_form(conjunct.form, data, Baselines(estimation, data), {})
        rows.append(part.rows.values(np.full((1, N), 0.3)))
        assert (part.rows.low, part.rows.high) == (-np.inf, np.inf)
    if estimator != "dr":  # its predictions stay inside a declared range
        np.testing.assert_array_equal(*rows)


def test_no_declared_range_no_ends():
    data = extreme(np.random.default_rng(0), 0.0, 1.0, 0.1, 2, False)
    for estimator in ESTIMATORS:
        (conjunct,) = conjuncts("E[impact] >= 0")
        estimation = Estimation(estimator, largest_weight=10.0)
        (part,) = compile_form(conjunct.form, data, Baselines(estimation, data), {})
        assert (part.rows.low, part.rows.high) == (-np.inf, np.inf)
