"""Statements compiled to rows: conditions, constants, tau, exact zeros, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import ConstraintError, DataError
from elfair.language.conjunction import conjuncts
from elfair.language.expressions import Quotient
from elfair.language.parsing import parse_expression
from elfair.statistics import (
    Baselines,
    Estimation,
    Impact,
    compile_form,
    logged_average,
    mean_part,
)
from elfair.statistics.impact_estimators import ESTIMATORS

N = 60


def make(n_classes=2, *, seed=0, behavior=False, scale=1.0, shift=0.0, **without):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(n_classes, 2.0), size=N)
    decision = (rng.random(N)[:, None] > table.cumsum(axis=1)).sum(axis=1)
    columns = {
        "sensitive_features": {"T": np.arange(N) % 3},
        "decision": decision,
        "impact": shift + scale * rng.normal(1.0, 1.0, N),
        "behavior" if behavior else "propensity": table
        if behavior
        else table[np.arange(N), decision],
    }
    columns = {name: value for name, value in columns.items() if name not in without}
    features, label = rng.normal(size=(N, 2)), rng.integers(0, n_classes, N)
    return LoggedData(features, label, positive=n_classes - 1, **columns), table


def compiled(text, data, estimation=None, averages=None):
    (conjunct,) = conjuncts(text)
    baselines = Baselines(estimation or Estimation(), data)
    return compile_form(conjunct.form, data, baselines, averages or {})


def policy(n_classes, seed=5):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=N)


def weights(data, probabilities):
    return probabilities[np.arange(N), data.decision_index] / data.propensity


def at_random(data, rows):
    """The mean impact if decisions had been taken at random."""
    return np.average(data.impacts["impact"][rows], weights=1 / data.propensity[rows])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_paired_rows_are_one_minus_w_times_the_distance_from_k(n_classes):
    data, _ = make(n_classes)
    probabilities = policy(n_classes)
    (part,) = compiled("E[impact | T == 1] >= E_logged[impact | T == 1]", data)
    inside = data.sensitive["T"] == 1
    away = data.impacts["impact"] - at_random(data, inside)
    expected = ((1 - weights(data, probabilities)) * away)[inside]
    np.testing.assert_allclose(part.rows.values(probabilities[:, 1:].T), expected)
    np.testing.assert_array_equal(part.rows.index, np.flatnonzero(inside))
    assert part.weighted
    assert part.impacts == {Impact("impact"): (-1.0, 1.0)}
    assert part.condition == "T == 1"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_doubly_robust_rows_by_hand(n_classes):
    for behavior in (False, True):
        data, table = make(n_classes, behavior=behavior)
        probabilities = policy(n_classes)
        estimation = Estimation("dr")
        q = Baselines(estimation, data).model(Impact("impact")).of(data)
        (part,) = compiled("E[impact] >= E_logged[impact]", data, estimation)
        impact, taken = data.impacts["impact"], (data.decision_index, np.arange(N))
        new = (probabilities.T * q).sum(axis=0) + weights(data, probabilities) * (impact - q[taken])
        known = n_classes == 2 or behavior  # with two classes a propensity says it all
        old = (table.T * q).sum(axis=0) + impact - q[taken] if known else impact
        np.testing.assert_allclose(part.rows.values(probabilities[:, 1:].T), old - new)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_count_the_probability_of_the_event(n_classes):
    data, _ = make(n_classes)
    p = policy(n_classes)
    label = data.label_index
    hit = p[np.arange(N), label]
    for text, expected in {
        "accuracy >= 0.75": 0.75 - hit,
        "P[decision == 0] <= 0.3": p[:, 0] - 0.3,
        "PR >= 0.2": 0.2 - p[:, -1],
        "P[decision == label and T == 0] <= 1": hit * (data.sensitive["T"] == 0) - 1,
        "P[T == 0] <= 1": (data.sensitive["T"] == 0) - 1.0,
        f"PR <= E_logged[decision == {n_classes - 1}]": p[:, -1]
        - (data.decision_index == n_classes - 1),
        "2 * PR - 0.5 * accuracy <= 3": 2 * p[:, -1] - 0.5 * hit - 3,
    }.items():
        (part,) = compiled(text, data)
        np.testing.assert_allclose(part.rows.values(p[:, 1:].T), expected, atol=1e-12)
        assert not part.weighted
    (part,) = compiled("TPR[T == 2] >= 0.5", data)
    inside = (label == n_classes - 1) & (data.sensitive["T"] == 2)
    np.testing.assert_allclose(part.rows.values(p[:, 1:].T), 0.5 - p[inside, -1])


def test_rates_on_a_small_table():
    label, chosen = np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 1, 0, 0])
    data = LoggedData(np.zeros((8, 1)), label, sensitive_features={"T": [0, 1] * 4})
    baselines = Baselines(Estimation(), data)

    def value(node):
        if isinstance(node, Quotient):
            return value(node.top) / value(node.bottom)
        return mean_part(node, data, baselines).rows.values(chosen[None]).mean()

    for text, expected in {
        "PR": 5 / 8, "accuracy": 4 / 8, "TPR": 3 / 5, "FNR": 2 / 5, "FPR": 2 / 3, "TNR": 1 / 3,
        "PPV": 3 / 5, "FDR": 2 / 5, "NPV": 1 / 3,
        "PPV[T == 0]": 1 / 2, "NPV[T == 0]": 1 / 2, "PPV[T == 1]": 2 / 3, "NPV[T == 1]": 0,
    }.items():  # fmt: skip
        assert value(parse_expression(text)) == pytest.approx(expected), text


def test_a_constant_joins_one_part_and_one_only():
    data, _ = make()
    free = policy(2)[:, 1:].T
    first, second = compiled("PR[T == 0] - PR[T == 1] <= 0.3", data)
    inside = [data.sensitive["T"] == t for t in (0, 1)]
    np.testing.assert_allclose(first.rows.values(free), free[0, inside[0]] - 0.3)
    np.testing.assert_allclose(second.rows.values(free), -free[0, inside[1]])
    assert (first.rows.low, first.rows.high) == pytest.approx((-0.3, 0.7))
    assert (second.rows.low, second.rows.high) == (-1, 0)


def test_means_of_one_condition_are_one_variable_whatever_their_order():
    data, _ = make()
    text = "PR[T == 0] + E[impact | T == 0] - PR[T == 1] - E[impact | T == 1] <= 0"
    parts = compiled(text, data)
    assert [part.condition for part in parts] == ["T == 0", "T == 1"]
    impact = Impact("impact")
    assert [part.impacts for part in parts] == [{impact: (1.0, 0.0)}, {impact: (-1.0, 0.0)}]


def test_a_condition_on_the_label_and_one_on_everyone():
    data, _ = make(3)
    (part,) = compiled("E[impact | label == 1 and T != 0] >= 0", data)
    inside = (data.label_index == 1) & (data.sensitive["T"] != 0)
    np.testing.assert_array_equal(part.rows.index, np.flatnonzero(inside))
    (part,) = compiled("E[impact] >= 0", data)
    assert part.condition == "everyone"
    np.testing.assert_array_equal(part.rows.index, np.arange(N))


def test_the_papers_tau_is_a_constant():
    data, _ = make()
    (conjunct,) = conjuncts("E[impact | T == 1] >= 0.9 * E_logged[impact | T == 1]")
    (tau,) = [mean for _, mean in conjunct.form.terms if mean.logged]
    inside = data.sensitive["T"] == 1
    impact = data.impacts["impact"]
    assert logged_average(tau, data) == pytest.approx(impact[inside].mean())
    (part,) = compile_form(
        conjunct.form, data, Baselines(Estimation("is"), data), {tau: logged_average(tau, data)}
    )
    p = policy(2)
    expected = 0.9 * impact[inside].mean() - (weights(data, p) * impact)[inside]
    np.testing.assert_allclose(part.rows.values(p[:, 1:].T), expected)
    assert part.impacts == {Impact("impact"): (-1.0, 0.0)}


def test_logged_events_average_what_was_decided():
    data, _ = make(3)
    (conjunct,) = conjuncts("PR[T == 0] <= E_logged[decision == 2 | T == 0]")
    (mean,) = [mean for _, mean in conjunct.form.terms if mean.logged]
    inside = data.sensitive["T"] == 0
    assert logged_average(mean, data) == pytest.approx((data.decision_index == 2)[inside].mean())


@pytest.mark.parametrize("estimation", [
    "bounded", *(Estimation(name) for name, each in ESTIMATORS.items() if not each.replaces_logged),
])  # fmt: skip
@pytest.mark.parametrize("factor", ["1", "0.1", "3"])
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1e-3, 1e6), (1e6, -3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_the_behaviour_model_itself_are_exactly_zero(
    estimation, factor, scale, shift, n_classes
):
    data, _ = make(n_classes, behavior=True, scale=scale, shift=shift)
    if estimation == "bounded":
        ends = (shift - 9 * scale, shift + 9 * scale)
        estimation = Estimation(ranges={"impact": ends}, finite_sample=True)
    text = f"{factor} * E[impact | T == 1] >= {factor} * E_logged[impact | T == 1]"
    (part,) = compiled(text, data, estimation)
    np.testing.assert_array_equal(part.rows.exact_values(data.behavior.T[1:]), 0)
    # And of a policy that is not quite the behaviour model they are not.
    moved = 0.999 * data.behavior + 0.001 * policy(n_classes)
    assert (part.rows.exact_values(moved.T[1:]) != 0).all()


def test_believing_the_outcome_model_leaves_the_weights_out():
    for n_classes, behavior in ((2, False), (3, False), (3, True)):
        data, table = make(n_classes, behavior=behavior)
        (conjunct,) = conjuncts("E[impact | T == 1] >= E_logged[impact | T == 1]")
        baselines = Baselines(Estimation(), data)
        (part,) = compile_form(conjunct.form, data, baselines, {}, direct=True)
        q, p = baselines.model(Impact("impact")).of(data), policy(n_classes)
        old = (table.T * q).sum(axis=0)
        if n_classes == 3 and not behavior:
            old = q[data.decision_index, np.arange(N)]
        expected = (old - (p.T * q).sum(axis=0))[data.sensitive["T"] == 1]
        np.testing.assert_allclose(part.rows.values(p[:, 1:].T), expected, atol=1e-12)


def test_two_impacts_and_the_alias_of_a_single_one():
    data, _ = make()
    values = data.impacts["impact"]
    both = LoggedData(
        data.features, data.label, decision=data.decision, propensity=data.propensity,
        impact={"gain": values, "harm": -3 * values},
    )  # fmt: skip
    (part,) = compiled("E[gain] - E[harm] >= 0", both)
    p = policy(2)
    w = weights(both, p)
    k = at_random(data, slice(None))
    expected = -(k + w * (values - k)) * 4
    np.testing.assert_allclose(part.rows.values(p[:, 1:].T), expected)
    one = LoggedData(
        data.features, data.label, decision=data.decision, propensity=data.propensity,
        impact={"gain": values},
    )  # fmt: skip
    parts = [compiled(f"E[{name}] >= E_logged[gain]", one)[0] for name in ("gain", "impact")]
    assert parts[0].impacts == parts[1].impacts == {Impact("gain"): (-1.0, 1.0)}


def shown(error):
    """What the carets of an error point at."""
    _, line, carets, hint = str(error.value).splitlines()
    assert hint.startswith("Hint: ")
    start = carets.index("^")
    return line[start : carets.rindex("^") + 1]


@pytest.mark.parametrize(("without", "text", "place", "message"), [
    ("decision", "PR <= 1 + E[impact | T == 1]", "E[impact | T == 1]", "needs decision"),
    ("decision", "PR <= E_logged[decision == 1]", "E_logged[decision == 1]", "needs decision"),
    ("propensity", "E_logged[impact] <= E[impact]", "E[impact]", "needs propensity"),
    ("impact", "E[impact | T == 1] >= 0", "impact", "impact was not given"),
    (None, "E[gain | T == 1] >= 0", "gain", "impacts: impact"),
])  # fmt: skip
def test_what_is_missing_is_pointed_at(without, text, place, message):
    gone = {without: True} if without else {}
    if without == "decision":
        gone["propensity"] = True
    data, _ = make(**gone)
    with pytest.raises(ConstraintError, match=message) as error:
        compiled(text, data)
    assert shown(error) == place


def test_logged_impacts_need_no_propensity():
    data, _ = make(decision=True, propensity=True)
    (part,) = compiled("E_logged[impact | T == 0] >= PR[T == 0]", data)
    assert not part.weighted


def test_too_few_rows_and_no_rows():
    data, _ = make()
    for text in ("PR[T == 7] <= 0.5", "PR[T == 1 and x0 > 100] <= 0.5"):
        with pytest.raises(DataError, match=r"met by 0 of the 60 rows.*at\s*least 2"):
            compiled(text, data)
    (conjunct,) = conjuncts("E[impact] >= E_logged[impact | T == 7]")
    (mean,) = [mean for _, mean in conjunct.form.terms if mean.logged]
    with pytest.raises(DataError, match="no row meets the condition 'T == 7'"):
        logged_average(mean, data)


def test_a_statement_that_is_always_so_is_refused():
    data, _ = make()
    with pytest.raises(ConstraintError, match="cancel out; nothing is left to test"):
        compiled("accuracy >= accuracy", data)
