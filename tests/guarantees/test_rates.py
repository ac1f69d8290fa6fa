"""Rates, costs and their differences for three classes: unbiased, and calibrated at the edge.

The truth is a sum over the cells of a population that can be enumerated; it is written down here
as events on cells, and knows nothing of the language. ELFAIR_GUARANTEES=full runs 20,000 draws.
"""

from __future__ import annotations

import os
from functools import cache
from math import sqrt

import numpy as np
import pytest

from elfair import LoggedData
from elfair.bounds import FINITE_SAMPLE, Sample, get_bound
from elfair.language.conditions import RATES
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.plan import Plan

N, DELTA = 150, 0.1
DRAWS = 20_000 if os.environ.get("ELFAIR_GUARANTEES") == "full" else 1_500
MANY = N * DRAWS
COST = np.array([[0.0, 1.0, 4.0], [2.0, -1.0, 3.0], [9.0, 0.5, 0.0]])  # no symmetry in it
P_T = np.array([0.55, 0.45])
P_X = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])  # a line for each T
P_Y = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])  # a line for each x
OLD = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
NEW = np.array([[0.85, 0.1, 0.05], [0.2, 0.5, 0.3], [0.05, 0.25, 0.7]])

T, X, Y, K = np.indices((2, 3, 3, 3))  # the cells: group, kind of person, label, decision
PEOPLE = P_T[T] * P_X[T, X] * P_Y[X, Y]


def average(value, inside=True, model=NEW):
    """E[value | inside] with decisions drawn from a model."""
    weight = PEOPLE * model[X, K] * inside
    return float((weight * value).sum() / weight.sum())


TRUTH = {
    **{f"P[decision == {k}]": average(k == K) for k in range(3)},
    **{f"P[decision == {k} | T == 1]": average(k == K, T == 1) for k in range(3)},
    **{
        f"P[decision == {k} | label == {j} and T == 0]": average(k == K, (j == Y) & (T == 0))
        for j in range(3)
        for k in range(3)
    },
    "PR[T == 0]": average(K == 2, T == 0),
    "TPR[T == 1]": average(K == 2, (Y == 2) & (T == 1)),
    "FPR[T == 1]": average(K == 2, (Y != 2) & (T == 1)),
    "TNR": average(K != 2, Y != 2),
    "FNR": average(K != 2, Y == 2),
    "accuracy": average(K == Y),
    "accuracy[T == 1]": average(K == Y, T == 1),
    "E[cost]": average(COST[Y, K]),
    "E[cost | T == 1]": average(COST[Y, K], T == 1),
    "E[cost | label == 2]": average(COST[Y, K], Y == 2),
    "E_logged[cost | T == 1]": average(COST[Y, K], T == 1, OLD),
    "E_logged[decision == 1 | T == 0]": average(K == 1, T == 0, OLD),
}
DIFFERENCES = {
    f"{one} - {other}": TRUTH[one] - TRUTH[other]
    for one, other in [
        ("E[cost | T == 1]", "E_logged[cost | T == 1]"),
        ("PR[T == 0]", "E_logged[decision == 1 | T == 0]"),
        ("TPR[T == 1]", "FPR[T == 1]"),
        ("accuracy", "accuracy[T == 1]"),
    ]
} | {
    f"P[decision == {k} | T == 0] - P[decision == {k} | T == 1]": (
        average(k == K, T == 0) - average(k == K, T == 1)
    )
    for k in range(3)
}
DIFFERENCES["E[cost | T == 0] - E[cost | T == 1]"] = average(COST[Y, K], T == 0) - average(
    COST[Y, K], T == 1
)
# With the decision after the bar: statements are multiplied out, so g is 0 only at the truth.
QUOTIENTS = {
    "PPV": average(Y == 2, K == 2),
    "PPV[T == 1]": average(Y == 2, (K == 2) & (T == 1)),
    "NPV[T == 0]": average(Y != 2, (K != 2) & (T == 0)),
    "FDR[T == 1]": average(Y != 2, (K == 2) & (T == 1)),
}
EVERY = TRUTH | DIFFERENCES | QUOTIENTS


def draw(n, seed):
    rng = np.random.default_rng(seed)
    cells = rng.choice(T.size, size=n, p=(PEOPLE * OLD[X, K]).ravel())
    t, x, y, k = (index.ravel()[cells] for index in (T, X, Y, K))
    data = LoggedData(
        x[:, None].astype(float), y, sensitive_features={"T": t}, decision=k, cost=COST,
        propensity=OLD[x, k], classes=[0, 1, 2], positive=2,
    )  # fmt: skip
    return x, data


@cache
def many(seed):
    return draw(MANY, seed)


def rows_of(text, seed):
    """The claim that ``text`` (a statement) makes, on many rows, and the values of its rows."""
    x, data = many(seed)
    (claim,) = read_constraints(text, DELTA)
    baselines = Baselines(Estimation(), data)
    (compiled,) = Plan.make((claim,), "ttest", baselines, data).compile(data)
    (tail,) = compiled.tails
    return tail, [part.rows.exact_values(NEW[x, 1:].T) for part in tail.parts]


# (A statement about the behaviour model alone is refused: it has its part in the differences.)
UNBIASED = [text for text in TRUTH | DIFFERENCES if not text.startswith("E_logged")]


@pytest.mark.parametrize("text", UNBIASED)
def test_the_estimate_is_unbiased(text):
    _, rows = rows_of(f"{text} <= 9", seed=1)  # g = statistic - 9
    error = sum(row.std() / sqrt(row.size) for row in rows)
    estimate = sum(row.mean() for row in rows) + 9
    assert abs(estimate - EVERY[text]) <= 4 * error + 1e-9
    # The precision is worth something: rates of different classes can be told apart.
    assert error < 0.02


@pytest.mark.parametrize("text", QUOTIENTS)
def test_a_quotient_rate_is_at_its_edge_where_it_is_true(text):
    _, (row,) = rows_of(f"{text} <= {QUOTIENTS[text]!r}", seed=1)
    assert abs(row.mean()) <= 4 * row.std() / sqrt(row.size)
    _, (row,) = rows_of(f"{text} <= {QUOTIENTS[text] + 0.02!r}", seed=1)
    assert row.mean() < -4 * row.std() / sqrt(row.size)


def test_every_named_rate_has_its_truth_here():
    assert {name for name in RATES if not any(text.split("[")[0] == name for text in EVERY)} == {
        "mse"  # for decisions that are numbers: tests/statistics/test_decisions.py
    }


def test_the_truth_tells_the_classes_groups_and_labels_apart():
    for given in ("", " | T == 1", " | label == 1 and T == 0"):
        rates = [TRUTH[f"P[decision == {k}{given}]"] for k in range(3)]
        assert min(abs(a - b) for a, b in zip(rates, rates[1:] + rates[:1], strict=True)) > 0.02
        assert sum(rates) == pytest.approx(1)
    assert abs(average(COST.T[Y, K]) - TRUTH["E[cost]"]) > 0.05
    assert abs(TRUTH["TPR[T == 1]"] - TRUTH["FPR[T == 1]"]) > 0.1


# Of what shares no row: sums over overlapping groups are tested in test_calibration.py.
AT_THE_EDGE = [
    *(f"P[decision == {k}]" for k in range(3)),
    "P[decision == 1 | T == 1]", "P[decision == 0 | label == 1 and T == 0]", "TPR[T == 1]",
    "accuracy", "E[cost]", "E[cost | T == 1]", *QUOTIENTS,
    *(text for text in DIFFERENCES if not text.startswith("accuracy")),
]  # fmt: skip


def pass_rate(text, bound, draws=DRAWS):
    """How often a statement passes that is at the edge: bounded by its own truth."""
    tail, rows = rows_of(text, seed=1)
    _, others = rows_of(text, seed=2)
    assert tail.disjoint
    samples = []
    for part, row, other in zip(tail.parts, rows, others, strict=True):
        size = row.size // draws
        values = row[: draws * size].reshape(draws, size)
        samples.append(Sample(values, part.rows.low, part.rows.high, float(other.std())))
    return float((get_bound(bound).upper(samples, DELTA, disjoint=True) <= 0).mean())


@pytest.mark.parametrize("text", AT_THE_EDGE)
@pytest.mark.parametrize("sign", ["<=", ">="])
def test_at_the_edge_a_statement_passes_at_most_delta_of_the_time(text, sign):
    statement = f"{text} {sign} {EVERY[text]!r}"
    noise = 4 * sqrt(DELTA * (1 - DELTA) / DRAWS)
    for bound in FINITE_SAMPLE:
        assert pass_rate(statement, bound) <= DELTA + noise, bound
    # Asymptotic: from more rows on (four times as many, a quarter of the draws), and both ways.
    assert abs(pass_rate(statement, "ttest", DRAWS // 4) - DELTA) <= 2 * noise + 0.02
