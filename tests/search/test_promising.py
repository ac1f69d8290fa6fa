"""Which decisions get simple models."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.search.promising import promising


def rows(n, helpful, seed=0, n_decisions=12):
    """Decisions taken at random, some of which help."""
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, n_decisions, n)
    return LoggedData(
        rng.standard_normal((n, 2)),
        sensitive_features={"T": rng.integers(0, 2, n)},
        decision=decision,
        propensity=np.full(n, 1 / n_decisions),
        impact=np.isin(decision, helpful) + rng.normal(0, 0.3, n),
    )


NO_WORSE = [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in (0, 1)]


def test_few_decisions_are_all_promising(make_plan):
    data = rows(400, [3])
    compiled = make_plan(data, NO_WORSE).compile(data)
    np.testing.assert_array_equal(promising(compiled, 12, most=12), np.arange(12))


@pytest.mark.parametrize("helpful", [[0, 5, 11], [1, 2, 7]])
def test_of_many_those_that_help_everyone(make_plan, helpful):
    data = rows(3_000, helpful)
    compiled = make_plan(data, NO_WORSE).compile(data)
    np.testing.assert_array_equal(promising(compiled, 12, most=3), helpful)


def test_what_harms_one_group_does_not_count(make_plan):
    data = rows(3_000, [2, 4])
    harmed = (data.decision_index == 4) & (data.sensitive["T"] == 1)
    data.impacts["impact"][harmed] -= 3.0
    compiled = make_plan(data, NO_WORSE).compile(data)
    (best,) = promising(compiled, 12, most=1)
    assert best == 2
    assert 4 not in promising(compiled, 12, most=8)


def test_a_threshold_above_and_a_combination_of_bounds(make_plan):
    data = rows(3_000, [6])
    compiled = make_plan(data, ["E[impact] >= 0.5"]).compile(data)
    assert promising(compiled, 12, most=1) == [6]
    # Statements that combine bounds have no rows of their own: any choice will do.
    compiled = make_plan(data, ["E[impact] * E[impact] >= 0.5"]).compile(data)
    assert promising(compiled, 12, most=3).size == 3
