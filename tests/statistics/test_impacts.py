"""What an average is of: an impact, a function of one, or an event."""

from __future__ import annotations

import numpy as np
import pytest

from elfair import LoggedData
from elfair.errors import ConstraintError
from elfair.language.conditions import Column
from elfair.language.conjunction import conjuncts
from elfair.language.distribution import Deficit, Squared, Threshold
from elfair.language.expressions import Mean
from elfair.language.parsing import parse
from elfair.statistics import Baselines, Estimation, compile_form
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impact_estimators import ESTIMATORS
from elfair.statistics.impacts import Impact, impact_of

N = 40
RNG = np.random.default_rng(0)
PROPENSITY = RNG.uniform(0.2, 0.8, N)
GAIN = RNG.normal(size=N).round(1)


def make(**more):
    given = {
        "sensitive_features": {"T": np.arange(N) % 2},
        "decision": np.arange(N) // 2 % 2,
        "propensity": PROPENSITY,
        "impact": {"gain": GAIN},
        **more,
    }
    return LoggedData(RNG.normal(size=(N, 1)), np.arange(N) % 2, **given)


def mean_of(text):
    return parse(f"{text} <= 1").left


@pytest.mark.parametrize(
    ("text", "op", "point"),
    [
        ("P[gain < 0.3]", "<", 0.3),
        ("P[gain >= -1]", ">=", -1.0),
        ("P[0.3 < gain]", ">", 0.3),
        ("P[0.3 >= gain]", "<=", 0.3),
        ("E[impact > 2 | T == 1]", ">", 2.0),  # an only impact goes by that name, too
        ("E_logged[gain <= 2]", "<=", 2.0),
    ],
)
def test_an_event_of_the_impact_is_a_function_of_it(text, op, point):
    impact = impact_of(mean_of(text), make())
    assert impact.name == "gain"
    assert isinstance(impact.derived, Threshold)
    assert (impact.derived.op, impact.derived.point) == (op, point)


def test_other_averages():
    data = make()
    assert impact_of(mean_of("E[gain]"), data) == Impact("gain")
    assert impact_of(mean_of("E[impact]"), data) == Impact("gain")
    deficit = Deficit(Column("impact"), 1.0)
    assert impact_of(Mean(deficit), data) == Impact("gain", deficit)
    for text in ("PR", "accuracy", "P[T == 1]", "P[x0 < 0.3]", "P[decision == 1 and label == 0]"):
        assert impact_of(mean_of(text), data) is None


@pytest.mark.parametrize("text", ["P[gain == 3] <= 1", "P[gain < 3 and decision == 1] <= 1",
                                  "P[gain < 'a'] <= 1", "P[gain in [1, 2]] <= 1"])  # fmt: skip
def test_events_that_are_not_one_threshold_are_errors(text):
    (conjunct,) = conjuncts(text)
    with pytest.raises(ConstraintError, match=r"(?s)'gain' is an impact; .*\^\^\^\^.*Hint: "):
        compile_form(conjunct.form, make(), Baselines(Estimation(), make()), {})


def test_an_impact_among_those_decided_in_one_way_is_an_error_that_says_so():
    (conjunct,) = conjuncts("P[gain < 3 | decision == 1] <= 0.5")
    with pytest.raises(ConstraintError, match="Hint: the impact on those with some decision"):
        compile_form(conjunct.form, make(), Baselines(Estimation(), make()), {})


@pytest.mark.parametrize("finite_sample", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_rows_of_an_event_of_the_impact_average_to_its_weighted_share(estimator, finite_sample):
    data = make()
    free = np.full((1, N), 0.3)
    weights = decisions_of(data).weights(free).values
    np.testing.assert_allclose(weights, np.where(data.decision == 1, 0.3, 0.7) / PROPENSITY)
    (conjunct,) = conjuncts("P[gain < 0.2] <= 0.4")
    baselines = Baselines(Estimation(estimator, finite_sample=finite_sample), data)
    (part,) = compile_form(conjunct.form, data, baselines, {})
    rows, below = part.rows.values(free), data.impacts["gain"] < 0.2
    k = np.average(below, weights=1 / PROPENSITY)
    if not finite_sample:
        assert np.isinf([part.rows.low, part.rows.high]).all()
        if estimator != "dr":
            k *= estimator == "paired"
            np.testing.assert_allclose(rows, k + weights * (below - k) - 0.4)
    elif estimator == "is":  # k is the upper end of the event: the rows stay below it
        np.testing.assert_allclose(rows, 1 - weights * (1 - below) - 0.4)
        assert part.rows.high == pytest.approx(0.6)
    else:  # both ends of an event are known, whatever is declared of the impact
        assert part.rows.high == pytest.approx(1.6)
        assert rows.max() <= 1.6
    assert part.weighted
    assert list(part.impacts.values()) == [(1.0, 0.0)]


def test_functions_have_ends_of_their_own():
    assert Impact("gain").ends({}) == (-np.inf, np.inf)
    assert Impact("gain").ends({"gain": (0.0, 2.0)}) == (0.0, 2.0)
    assert Impact("gain", Squared(Column("gain"), 3.0)).ends({"gain": (0.0, 2.0)}) == (1.0, 9.0)
    threshold = Impact("gain", Threshold(Column("gain"), 3.0, "<"))
    assert threshold.ends({}) == (0.0, 1.0)
    assert Impact("gain", Deficit(Column("gain"), 1.0)).ends({})[1] == np.inf


def test_the_same_event_of_both_models_is_paired():
    data = make(propensity=np.full(N, 0.5))
    (conjunct,) = conjuncts("P[gain < 0.2] <= E_logged[gain < 0.2]")
    (part,) = compile_form(conjunct.form, data, Baselines(Estimation(), data), {})
    assert list(part.impacts.values()) == [(1.0, -1.0)]
    assert not part.rows.exact_values(np.full((1, N), 0.5)).any()
