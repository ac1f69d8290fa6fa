"""Every estimator against the exact truth of a population that can be enumerated.

Three decisions, a behaviour model that uses the sensitive attribute, impacts that depend on the
label: what the estimators have to survive. The truth is a sum over all cells.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from elfair import LoggedData, certify
from elfair.errors import CertificateWarning
from elfair.statistics import Baselines, Estimation
from elfair.statistics.claims import read_constraints
from elfair.statistics.impact_estimators import ESTIMATORS
from elfair.statistics.plan import Plan

N = 200_000
XS, TS, YS, AS = (0, 1, 2), (0, 1), (0, 1, 2), (0, 1, 2)
P_X = {0: (0.5, 0.3, 0.2), 1: (0.2, 0.3, 0.5)}
P_T = (0.6, 0.4)


def p_label(x, t):
    scores = np.array([1.0, 0.5 + 0.6 * x, 0.4 + 0.5 * t])
    return scores / scores.sum()


def behavior(x, t):
    """It uses T: a propensity of x alone would be wrong."""
    scores = np.array([1.0, 0.3 + x, 0.2 + 1.5 * t])
    return scores / scores.sum()


def policy(x):
    scores = np.array([0.5 + x, 1.0, 2.0 - 0.8 * x])
    return scores / scores.sum()


def mean_impact(x, t, y, a):
    return 0.3 * x - 0.4 * t + (0.8 if a == y else -0.2) + 0.5 * a * t


LOW, HIGH = -1.0, 2.5  # the impact is its mean plus noise uniform on [-0.3, 0.3]


def truth(value, condition, decide):
    """E[value(x, t, y, a) | condition(x, t, y)] with a drawn from decide(x, t)."""
    total = weight = 0.0
    for t, x, y in product(TS, XS, YS):
        if not condition(x, t, y):
            continue
        p = P_T[t] * P_X[t][x] * p_label(x, t)[y]
        weight += p
        total += p * sum(decide(x, t)[a] * value(x, t, y, a) for a in AS)
    return total / weight


def draw(n, seed):
    rng = np.random.default_rng(seed)
    t = (rng.random(n) < P_T[1]).astype(int)
    x = np.where(t == 0, rng.choice(3, size=n, p=P_X[0]), rng.choice(3, size=n, p=P_X[1]))
    pick = rng.random((2, n))
    labels = np.array([[p_label(i, j) for j in TS] for i in XS])[x, t]
    logged = np.array([[behavior(i, j) for j in TS] for i in XS])[x, t]
    y = (pick[0][:, None] > labels.cumsum(axis=1)).sum(axis=1)
    a = (pick[1][:, None] > logged.cumsum(axis=1)).sum(axis=1)
    impact = 0.3 * x - 0.4 * t + np.where(a == y, 0.8, -0.2) + 0.5 * a * t
    impact = impact + rng.uniform(-0.3, 0.3, n)
    return x, t, y, a, logged, impact


def logged_data(n, seed, *, full_behavior):
    x, t, y, a, logged, impact = draw(n, seed)
    how = {"behavior": logged} if full_behavior else {"propensity": logged[np.arange(n), a]}
    data = LoggedData(
        x[:, None].astype(float),
        y,
        sensitive_features={"T": t},
        decision=a,
        impact=impact,
        positive=2,
        **how,
    )
    return data, np.array([policy(i) for i in XS])[x]


CONDITIONS = {
    "x0 >= 0": lambda x, t, y: True,
    "T == 1": lambda x, t, y: t == 1,
    "label == 1": lambda x, t, y: y == 1,
    "label != 2 and T == 0": lambda x, t, y: y != 2 and t == 0,
    "x0 > 0 or T == 1": lambda x, t, y: x > 0 or t == 1,
}


def new(x, t):
    return policy(x)


def g_values(condition):
    """Statements, and the exact g of each."""
    holds = CONDITIONS[condition]
    under_new = truth(mean_impact, holds, new)
    under_old = truth(mean_impact, holds, behavior)
    c = condition
    return {
        f"E[impact | {c}] >= 0.5": 0.5 - under_new,
        f"E[impact | {c}] <= 0.5": under_new - 0.5,
        f"E[impact | {c}] >= E_logged[impact | {c}]": under_old - under_new,
        f"E[impact | {c}] <= 0.9 * E_logged[impact | {c}]": under_new - 0.9 * under_old,
        f"P[decision == 0 | {c}] <= 0": truth(lambda x, t, y, a: a == 0, holds, new),
        f"P[decision == 1 | {c}] <= 0": truth(lambda x, t, y, a: a == 1, holds, new),
        f"P[decision == 2 | {c}] <= 0": truth(lambda x, t, y, a: a == 2, holds, new),
        f"accuracy[{c}] <= 0": truth(lambda x, t, y, a: a == y, holds, new),
        f"P[decision == 1 | {c}] <= E_logged[decision == 1 | {c}]": truth(
            lambda x, t, y, a: a == 1, holds, new
        )
        - truth(lambda x, t, y, a: a == 1, holds, behavior),
        f"PR[{c}] + 2 * E[impact | {c}] <= 1": truth(lambda x, t, y, a: a == 2, holds, new)
        + 2 * under_new
        - 1,
    }


ESTIMATIONS = {
    f"{name}{words}": Estimation(name, ranges=ranges)
    for name in ESTIMATORS
    for words, ranges in (("", {}), (", declared range", {"impact": (LOW, HIGH)}))
}


@pytest.mark.parametrize("full_behavior", [False, True], ids=["propensity", "behavior"])
@pytest.mark.parametrize("name", ESTIMATIONS)
def test_unbiased(name, full_behavior):
    data, probabilities = logged_data(N, 1, full_behavior=full_behavior)
    candidate, _ = logged_data(500, 2, full_behavior=full_behavior)
    free = probabilities[:, 1:].T
    for condition in CONDITIONS:
        for text, exact in g_values(condition).items():
            if ESTIMATIONS[name].impact_estimator.replaces_logged and "E_logged" in text:
                continue  # an average of the data stands for it there; see the test below
            plan = Plan.make(
                read_constraints(text, 0.1),
                "ttest",
                Baselines(ESTIMATIONS[name], candidate),
                data,
            )
            (compiled,) = plan.compile(data)
            (part,) = compiled.parts
            rows = part.rows.values(free)
            error = rows.std() / np.sqrt(rows.size)
            assert abs(rows.mean() - exact) <= 4 * error + 1e-12, (text, name)


def test_the_papers_tau_is_the_average_of_the_data():
    data, probabilities = logged_data(2_000, 3, full_behavior=False)
    text = "E[impact | T == 1] >= E_logged[impact | T == 1]"
    plan = Plan.make(
        read_constraints(text, 0.1),
        "ttest",
        Baselines(Estimation("is"), data),
        data,
    )
    (compiled,) = plan.compile(data)
    rows = compiled.parts[0].rows.values(probabilities[:, 1:].T)
    inside = data.sensitive["T"] == 1
    weights = probabilities[np.arange(data.n), data.decision_index] / data.propensity
    tau = data.impacts["impact"][inside].mean()
    np.testing.assert_allclose(rows, tau - (weights * data.impacts["impact"])[inside])


def test_a_propensity_that_ignores_what_decided_is_noticed():
    """Propensities of x alone, though T was used: the mean weight of a group shows it."""
    x, t, y, a, _, impact = draw(20_000, 4)
    share = np.zeros((3, 3))
    for i, j in product(XS, AS):
        share[i, j] = (a[x == i] == j).mean()
    data = LoggedData(
        x[:, None].astype(float),
        y,
        sensitive_features={"T": t},
        decision=a,
        propensity=share[x, a],
        impact=impact,
    )
    probabilities = np.array([policy(i) for i in XS])[x]
    with pytest.warns(CertificateWarning, match="mean weight near 1"):
        certificate = certify(probabilities, data, "E[impact | T == 1] >= 0")
    weights = {a.name: a.status for a in certificate.assumptions}["mean weight near 1"]
    assert weights == "violated"
    # The same policy with the right propensities passes that check.
    data, probabilities = logged_data(20_000, 4, full_behavior=False)
    certificate = certify(probabilities, data, "E[impact | T == 1] >= 0")
    assert {a.name: a.status for a in certificate.assumptions}["mean weight near 1"] == "checked"
