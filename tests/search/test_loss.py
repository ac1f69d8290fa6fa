"""Losses: their values by hand, their derivatives, and smoothed labels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from elfair.search.goals import (
    SMALLEST_PROBABILITY,
    SMOOTHED_ROWS,
    ErrorRate,
    LogLoss,
    PredictLabel,
    one_hot,
    smoothed,
)

N = 25


def make_loss(objective, label, n_classes, model=None):
    features = np.zeros((label.size, 1))
    data = SimpleNamespace(
        label_index=label,
        classes=np.arange(n_classes),
        features=features,
        n=label.size,
        unit_index=None,
        sample_weight=None,
        revealed=None,
        subsample=None,
    )
    return PredictLabel(objective).loss(data, model)


def make(n_classes):
    rng = np.random.default_rng(n_classes)
    every = rng.dirichlet(np.ones(n_classes), size=N)
    return rng.integers(0, n_classes, N), every, every[:, 1:].T


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_values_are_those_of_the_definition(n_classes):
    label, every, free = make(n_classes)
    chosen = every[np.arange(N), label]
    assert make_loss("accuracy", label, n_classes).value(free) == pytest.approx(1 - chosen.mean())
    assert make_loss("log_loss", label, n_classes).value(free) == pytest.approx(
        -np.log(chosen).mean()
    )


@pytest.mark.parametrize("objective", ["accuracy", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_gradients_against_finite_differences(objective, n_classes):
    label, _, free = make(n_classes)
    loss = make_loss(objective, label, n_classes)
    gradient = loss.gradient(free)
    step = 1e-7
    for k, i in np.ndindex(*free.shape):
        ahead, behind = free.copy(), free.copy()
        ahead[k, i] += step
        behind[k, i] -= step
        numeric = (loss.value(ahead) - loss.value(behind)) / (2 * step)
        assert gradient[k, i] == pytest.approx(numeric, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("objective", ["accuracy", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leading_axes_are_policies(objective, n_classes):
    label, _, free = make(n_classes)
    population = np.array([free, free / 2, 0 * free])
    loss = make_loss(objective, label, n_classes)
    together = loss.value(population)
    assert together.shape == (3,)
    np.testing.assert_allclose(together, [loss.value(one) for one in population])


def test_no_policy_costs_more_than_the_maximum():
    label = np.array([0, 1])
    worst = np.array([[1.0, 0.0]])
    for objective in ("accuracy", "log_loss"):
        loss = make_loss(objective, label, 2)
        assert loss.value(worst) == pytest.approx(loss.maximum)
        assert loss.value(1 - worst) == pytest.approx(0)
    assert LogLoss(label, 2).maximum == -np.log(SMALLEST_PROBABILITY)


def test_more_parameters_trust_labels_less():
    target, free = one_hot(np.zeros(100, np.intp), 2), np.ones((1, 100))
    shares = [smoothed(target, free, count)[1, 0] for count in (0, 7, 40)]
    assert shares == pytest.approx([300 / 400, 300 / 400, 1600 / 1700])


def test_a_smoothed_label_is_a_mixture_with_the_models_prediction():
    label, every, free = make(3)
    target = one_hot(label, 3)
    np.testing.assert_array_equal(target.argmax(axis=0), label)
    share = SMOOTHED_ROWS / (SMOOTHED_ROWS + N)
    expected = (1 - share) * target + share * every.T
    np.testing.assert_allclose(smoothed(target, free), expected)
    np.testing.assert_allclose(smoothed(target, free).sum(axis=0), 1)
    loss = make_loss("accuracy", label, 3, model=free)
    assert loss.value(free) == pytest.approx(1 - (expected * every.T).sum(axis=0).mean())
    assert isinstance(loss, ErrorRate)


def test_with_many_rows_labels_count_alone_and_with_few_the_model():
    for n, least, most in ((1, 0.99, 1.0), (SMOOTHED_ROWS, 0.499, 0.501), (10**6, 0, 0.001)):
        # Labels say 0, the model says 1: what is left of the model is its share.
        share = smoothed(one_hot(np.zeros(n, np.intp), 2), np.ones((1, n)))[1]
        assert least <= share.min() <= share.max() <= most


def test_log_loss_knows_no_smoothing():
    label, _, free = make(2)
    assert make_loss("log_loss", label, 2, model=free).value(free) == pytest.approx(
        float(LogLoss(label, 2).value(free))
    )
