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
    )  # fmt: skip


@settings(max_examples=150)
@given(
    st.data(),
    st.sampled_from(list(ESTIMATORS)),
    st.sampled_from(["auto", "range", "mean"]),
    st.integers(2, 3),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_no_row_leaves_its_ends(data, estimator, center, n_classes, behavior, seed):
    rng = np.random.default_rng(seed)
    low = data.draw(st.sampled_from([-3.0, 0.0, 1.0]))
    high = low + data.draw(st.sampled_from([0.5, 4.0]))
    floor = data.draw(st.sampled_from([0.02, 0.2]))
    rows = extreme(rng, low, high, floor, n_classes, behavior)
    terms = [(data.draw(factors), name) for name in (*IMPACTS, *OTHERS)]
    terms = [(factor, name) for factor, name in terms if factor] or [(1.0, IMPACTS[0])]
    text = " + ".join(f"{factor} * {name}" for factor, name in terms) + " <= 0.7"
    (conjunct,) = conjuncts(text)
    estimation = Estimation(estimator, center, {"impact": (low, high)}, 1 / floor)
    (part,) = compile_form(conjunct.form, rows, Baselines(estimation, rows), {})
    assert np.isfinite([part.rows.low, part.rows.high]).all()
    for _ in range(5):
        chosen = rng.integers(0, n_classes, N)  # deterministic policies are the corners
        free = (np.arange(1, n_classes)[:, None] == chosen).astype(float)
        values = part.rows.values(free)
        assert values.min() >= part.rows.low - 1e-9
        assert values.max() <= part.rows.high + 1e-9


def ends(text, *, estimator="paired", center="auto", weight=10.0, limits=(-1.0, 2.0)):
    rng = np.random.default_rng(0)
    data = extreme(rng, *limits, 0.1, 2, False)
    (conjunct,) = conjuncts(text)
    estimation = Estimation(estimator, center, {"impact": limits}, weight)
    (part,) = compile_form(conjunct.form, data, Baselines(estimation, data), {})
    return part.rows.low, part.rows.high


def test_the_ends_are_attained_where_rows_can_go_there():
    # g = 0.5 - k - w (I - k), k = -1: from w = 0 (1.5) down to w = 10 at I = 2.
    assert ends("E[impact] >= 0.5") == pytest.approx((1.5 - 30, 1.5))
    # g = k + w (I - k) - 0.5, k = 2 for an upper bound: from w = 10 at I = -1 up to w = 0.
    assert ends("E[impact] <= 0.5") == pytest.approx((1.5 - 30, 1.5))
    # g = (1 - w)(I + 1): from w = 10 at I = 2 up to w = 0 at I = 2.
    assert ends("E[impact] >= E_logged[impact]") == pytest.approx((-27, 3))
    # No declared floor: the good end is open, the bad one is known all the same.
    assert ends("E[impact] >= E_logged[impact]", weight=np.inf) == (-np.inf, 3)
    assert ends("E[impact] <= 0.9 * E_logged[impact]", weight=np.inf)[1] == pytest.approx(2.9)
    assert ends("E_logged[impact] <= 0") == (-1, 2)
    assert ends("accuracy >= 0.75") == (-0.25, 0.75)


def test_a_constant_inside_the_range_leaves_both_ends_open():
    assert ends("E[impact] >= 0", center="mean", weight=np.inf) == (-np.inf, np.inf)
    assert ends("E[impact] >= 0", estimator="dr", weight=np.inf) == (-np.inf, np.inf)
    # (1 - w) times a residual of at most 3, after a difference of levels of at most 3.
    low, high = ends("E[impact] >= E_logged[impact]", estimator="dr")
    assert (low, high) == pytest.approx((-3 - 27, 3 + 27))
    # 3 I - 0.5 E: the residual counts most (three times) where the weight is 0.
    low, high = ends("0.5 * E[impact] >= 3 * E_logged[impact]", estimator="dr")
    assert (low, high) == pytest.approx((-4 - 9, 6.5 + 9))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_declared_range_alone_gives_one_end_where_the_estimator_says_so(estimator):
    for text in ("E[impact] >= E_logged[impact]", "E[impact] <= 0.5"):
        low, high = ends(text, estimator=estimator, weight=np.inf)
        assert low == -np.inf
        assert np.isfinite(high) == ESTIMATORS[estimator].one_known_end


def test_no_declared_range_no_ends():
    data = extreme(np.random.default_rng(0), 0.0, 1.0, 0.1, 2, False)
    for estimator in ESTIMATORS:
        (conjunct,) = conjuncts("E[impact] >= 0")
        estimation = Estimation(estimator, largest_weight=10.0)
        (part,) = compile_form(conjunct.form, data, Baselines(estimation, data), {})
        assert (part.rows.low, part.rows.high) == (-np.inf, np.inf)
