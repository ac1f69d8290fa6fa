"""Rows that allow for a change of people bound what the worst change can do: checked against it.

The worst change is a linear programme: the likelihood ratio of each person between its limits, with
the mean 1.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

from elfair import ELFClassifier, ELFRegressor, LoggedData, certify
from elfair.data.looks import LooksOfProcess, counted_in
from elfair.errors import CertificateWarning, DataError, InputError
from elfair.language.conjunction import conjuncts
from elfair.statistics import Baselines, Estimation, compile_form
from elfair.statistics.rows import Learnt, Rows
from elfair.statistics.shift import steepness, threshold, worst_case

SHIFTS = [1.0, 1.1, 1.7, 4.0]


def worst(values, shift):
    """The largest average of some values that a change within a likelihood ratio brings about."""
    n = values.size
    limits = [(1 / shift, shift)] * n
    found = linprog(-values / n, A_eq=[np.full(n, 1 / n)], b_eq=[1.0], bounds=limits)
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("seed", range(4))
def test_no_change_is_worse_than_the_mean_of_rows_whatever_h_is(seed, shift):
    rng = np.random.default_rng(seed)
    values = rng.choice(
        [rng.normal(size=80), rng.exponential(size=80), np.sign(rng.normal(size=80))]
    )
    truth = worst(values, shift)
    for h in rng.normal(0, 2, 20):
        assert worst_case(values, shift, h).mean() >= truth - 1e-9
    best = worst_case(values, shift, threshold(values, shift)).mean()
    assert best == pytest.approx(truth, abs=1e-9)


def test_a_change_of_features_and_of_what_decisions_bring_about_is_covered():
    """Rows weighted to a new model, whatever likelihood ratio depends on a person's impacts."""
    rng, n, shift = np.random.default_rng(0), 200_000, 1.5
    x, gain = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    beta, new = 0.5, np.where(x == 1, 0.9, 0.2)
    took = rng.random(n) < beta
    weight = np.where(took, new, 1 - new) / beta
    z = -weight * took * gain  # g of E[impact] >= 0
    bound = worst_case(z, shift, threshold(z, shift)).mean()
    for r in (
        np.where(x == 1, shift, 1 / shift),
        np.where(gain < 0, shift, 1 / shift),
        np.where((gain < 0) == (x == 1), shift, 1 / shift),
    ):
        truth = np.average(-new * gain, weights=r)
        assert bound >= truth - 0.01


@pytest.mark.parametrize("shift", SHIFTS)
def test_steepness_is_the_derivative(shift):
    values, h = np.linspace(-2, 2, 41) + 0.013, 0.3
    numeric = (worst_case(values + 1e-6, shift, h) - worst_case(values, shift, h)) / 1e-6
    assert steepness(values, shift, h) == pytest.approx(numeric, abs=1e-6)


def log(n=400, seed=0, **columns):
    rng = np.random.default_rng(seed)
    decision = rng.integers(0, 2, n)
    given = {
        "sensitive_features": {"T": np.arange(n) % 2},
        "decision": decision,
        "behavior": np.full((n, 2), 0.5),
        "impact": np.clip(0.4 + 0.3 * decision + rng.normal(0, 0.1, n), 0, 1),
    }
    return LoggedData(np.arange(n)[:, None] % 7.0, **given | columns)


def rows_of(text, data, shift, **estimation):
    (conjunct,) = conjuncts(text)
    others = data.take(np.arange(data.n))
    baselines = Baselines(Estimation(shift=shift, **estimation), others)
    (part,) = compile_form(conjunct.form, data, baselines, {})
    return part.rows


RANGE = {"ranges": {"impact": (0.0, 1.0)}, "finite_sample": True}


@pytest.mark.parametrize(
    "text", ["E[impact] >= 0.5", "E[impact | T == 1] >= E_logged[impact | T == 1]"]
)
@pytest.mark.parametrize("more", [{}, RANGE, {**RANGE, "estimator": "dr", "largest_weight": 2.0}])
def test_samples_are_of_transformed_rows_between_transformed_ends(text, more):
    data, free = log(), np.full((1, 400), 0.8)
    plain, rows = rows_of(text, data, 1.0, **more), rows_of(text, data, 1.5, **more)
    assert np.array_equal(plain.values(free), rows.values(free))  # these are of today's people
    learnt = Learnt(0.0, 1.0, 1.0, 400, threshold=-0.2)
    sample = rows.sample(free, learnt)
    assert np.array_equal(sample.values, worst_case(plain.exact_values(free), 1.5, -0.2))
    assert sample.values.min() >= sample.low
    assert sample.values.max() <= sample.high
    assert np.isfinite(sample.high) == np.isfinite(plain.high)
    assert rows.weighted.worst == pytest.approx(1.5 * plain.weighted.worst)
    again = rows.at_shift(1.0)
    assert np.array_equal(again.sample(free, learnt).values, plain.sample(free, learnt).values)
    assert again.weighted.worst == pytest.approx(plain.weighted.worst)


def test_the_behaviour_model_itself_is_never_worse():
    rows = rows_of("E[impact] >= E_logged[impact]", log(), 3.0)
    sample = rows.sample(np.full((1, 400), 0.5), None)
    assert not sample.values.any()


def test_without_other_rows_h_is_0():
    rows = Rows(np.arange(3), np.array([-1.0, 0.5, 2.0]), np.zeros((1, 3)), -1.0, 2.0, shift=2.0)
    assert rows.sample(np.zeros((1, 3)), None).values.tolist() == [-0.5, 1.0, 4.0]


NEW = np.full(400, 0.9)


def test_what_cannot_be_transformed_is_refused_by_name():
    text = "E[impact] >= 0.3"
    weighted = log(sample_weight=1.0 + np.arange(400) % 2)
    with pytest.raises(DataError, match=r"shift=1.2 is not supported together with units that"):
        certify(NEW, weighted, text, shift=1.2)
    with pytest.raises(DataError, match=r"takes the old model's average for a known number"):
        certify(NEW, log(), text, shift=1.2, estimator="is")
    with pytest.raises(DataError, match="estimated propensities"):
        certify(NEW, log(behavior=None, propensity="estimated"), text, shift=1.2)
    with pytest.raises(InputError, match=r"shift=1.2 needs one model for all rows"):
        ELFClassifier(text, objective="E[impact]", shift=1.2, split="crossfit").fit(log())


def result_of(data, text, **parameters):
    """The result of a single statement, in a process of its own."""
    with warnings.catch_warnings(), counted_in(LooksOfProcess()):
        warnings.simplefilter("ignore", CertificateWarning)
        (result,) = certify(np.full(data.n, 0.9), data, text, **parameters).constraints
    return result


def test_a_break_even_shift_is_found_where_rows_can_be_transformed():
    text = "E[impact] >= 0.3"
    plain = result_of(log(), text)
    weighted = result_of(log(sample_weight=1.0 + np.arange(400) % 2), text)
    asked = result_of(log(), text, shift=1.37)
    failed = result_of(log(), "E[impact] >= 0.9")
    assert plain.break_even_shift >= 2
    assert asked.break_even_shift >= 1.37
    assert asked.break_even is not None
    assert asked.upper > plain.upper
    assert weighted.break_even_shift is None
    assert failed.break_even_shift is None


@pytest.mark.parametrize("bound", ["ttest", "guarded", "betting", "anderson", "bernstein"])
def test_a_larger_shift_never_lowers_a_bound(bound):
    known = {"impact_range": (0, 1), "propensity_floor": 0.5, "bound": bound}
    uppers = [
        result_of(log(2000), "E[impact] >= 0.4", shift=each, **known).upper for each in SHIFTS
    ]
    assert uppers == sorted(uppers)


def test_numbers_have_it_too():
    rng = np.random.default_rng(0)
    n = 600
    x, dose = rng.normal(size=n), rng.normal(size=n)
    columns = {
        "decision": dose, "behavior_mean": np.zeros(n), "behavior_spread": np.ones(n),
        "impact": 1 + rng.normal(0, 0.1, n),
    }  # fmt: skip
    reg = ELFRegressor("E[impact] >= 0.5", shift=1.1, candidates=2)
    with counted_in(LooksOfProcess()):
        reg.fit(x[:, None], x, **columns)
    assert reg.certificate_.constraints[0].break_even_shift >= 1.1
