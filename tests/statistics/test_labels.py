"""Rows about labels that only some decisions reveal: unbiased, affine, and inside their ends."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import ElfairError
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

TEXTS = [
    "accuracy >= 0.6", "accuracy <= 0.6", "TPR[T == 1] >= 0.7", "FPR <= 0.3", "PPV >= 0.5",
    "E[cost] <= 1", "accuracy >= E_logged[cost] - 1", "PR - accuracy <= 0.2",
]  # fmt: skip


def both(n=40_000, seed=0, behavior=True):
    """The same rows with all labels, and with those that decision 1 reveals."""
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=n), rng.integers(0, 2, n)
    label = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    chance = np.clip(1 / (1 + np.exp(-x)), 0.05, 0.95)  # some are rarely revealed: rows are capped
    decision = (rng.random(n) < chance).astype(int)
    given = {
        "sensitive_features": {"T": group},
        "decision": decision,
        "propensity": np.where(decision == 1, chance, 1 - chance),
        "cost": [[0, 4], [1, 0]],
    }
    seen = np.where(decision == 1, label, np.nan)
    free = (1 / (1 + np.exp(-2 * x - 0.3)))[None]
    return (
        LoggedData(x[:, None], label, **given),
        LoggedData(x[:, None], seen, label_seen_for=[1], **given),
        free,
    )


def compiled(text, data, **declared):
    claims = read_constraints(text, 0.1, data)
    plan = Plan.make(claims, "auto", Baselines(Estimation(**declared), data), data)
    return plan.compile(data)[0]


@pytest.mark.parametrize("text", TEXTS)
def test_the_mean_is_that_of_all_labels(text):
    whole, some, free = both()
    (part,) = compiled(text, some).parts
    rows = part.rows.values(free)
    inside = np.ones(whole.n, bool)
    if "T == 1" in text:
        inside = whole.sensitive["T"] == 1
    expected = {
        "TPR[T == 1] >= 0.7": lambda y, p: (y == 1) * (0.7 - p),
        "FPR <= 0.3": lambda y, p: (y == 0) * (p - 0.3),
    }.get(text)
    if expected is not None:
        truth = expected(whole.label[inside], free[0, inside])
    else:
        truth = compiled(text, whole).parts[0].rows.values(free)
    if "E_logged" in text:  # the luck of the logged draw is taken out
        truth = np.array([truth.mean()])
    error = rows.std() / np.sqrt(rows.size) + truth.std() / np.sqrt(truth.size)
    assert abs(rows.mean() - truth.mean()) < 4 * error + 0.01


@pytest.mark.parametrize("floor", [None, 0.05])
@pytest.mark.parametrize("text", TEXTS)
def test_no_row_leaves_its_ends(text, floor):
    _, some, _ = both(4_000)
    declared = {} if floor is None else {"largest_weight": 1 / floor}
    (part,) = compiled(text, some, **declared).parts
    for free in (np.zeros((1, some.n)), np.ones((1, some.n))):
        rows = part.rows.values(free)
        assert part.rows.low - 1e-9 <= rows.min()
        assert rows.max() <= part.rows.high + 1e-9
    assert np.isfinite(part.rows.high)
    assert np.isfinite(part.rows.low) == (floor is not None)


def test_only_revealed_labels_enter():
    """The labels of other rows could be anything: they are not there."""
    _, some, free = both(4_000)
    other = some.changed(label=np.where(some.revealed.seen, some.label, 1))
    for text in TEXTS[:5]:
        rows = [compiled(text, each).parts[0].rows.values(free) for each in (some, other)]
        np.testing.assert_array_equal(*rows)


def test_a_difference_of_rates_is_made_of_quotients():
    _, some, _ = both(4_000)
    claim = compiled("TPR[T == 0] - TPR[T == 1] <= 0.1", some)
    assert len(claim.tails) == 4
    assert claim.kind == "finite-sample"


@pytest.mark.parametrize("text", ["E[impact | label == 1] >= 0", "E[cost | label == 1] <= 1"])
def test_the_impact_on_people_with_some_label_is_refused(text):
    _, some, _ = both(400)
    some = some.changed(impacts={"impact": np.zeros(some.n)})
    with pytest.raises(ElfairError, match="labels are seen only for some decisions"):
        compiled(text, some)


def test_lambda_is_refused():
    _, some, _ = both(400)
    with pytest.raises(ElfairError, match="Lambda=2 is not supported"):
        compiled("accuracy >= 0.5", some, Lambda=2.0)
