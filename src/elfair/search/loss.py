"""What the search makes small: the objective, as a function of the free numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elfair.errors import InputError
from elfair.types import Floats

#: Log loss counts a probability below this as this: a bounded loss has a known maximum.
SMALLEST_PROBABILITY = 1e-6
#: At this many rows a label counts half, and the prediction of a fitted model half.
SMOOTHED_ROWS = 300


class Loss(Protocol):
    """A loss of the policy on candidate rows."""

    maximum: float

    def value(self, free: Floats) -> Floats:
        """The loss; leading axes of ``free`` are policies."""

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free numbers of one policy."""


class ErrorRate:
    """The expected error of a policy that samples its decisions: 1 - mean of pi(label | x).

    Parameters
    ----------
    target : ndarray of shape (classes, n)
        For each row, the label as a distribution: 1 for its class and 0 for the others, or what
        `smoothed` makes of it.

    Examples
    --------
    >>> loss = ErrorRate(one_hot(np.array([0, 1]), 2))
    >>> float(loss.value(np.array([[0.25, 1.0]])))
    0.125
    """

    maximum = 1.0

    def __init__(self, target: Floats) -> None:
        # pi(first class) = 1 - sum of the free ones: affine, like every other statistic.
        self._slope: Floats = (target[0] - target[1:]) / target.shape[1]
        self._offset = 1.0 - float(target[0].mean())

    def value(self, free: Floats) -> Floats:
        """The expected error."""
        if free.ndim == 2:
            return np.asarray(self._offset + np.vdot(self._slope, free))
        return np.asarray(self._offset + np.einsum("kn,...kn->...", self._slope, free))

    def gradient(self, free: Floats) -> Floats:
        """Its derivative, the same for every policy."""
        return self._slope


def one_hot(label: NDArray[np.intp], n_classes: int) -> Floats:
    """Labels as distributions, of shape (classes, n)."""
    return np.asarray(np.arange(n_classes)[:, None] == label, dtype=np.float64)


def smoothed(target: Floats, free: Floats) -> Floats:
    """Labels drawn towards what a model fitted to them predicts, less so the more rows there are.

    The error rate of a few hundred rows is as much luck as merit: a search that follows every label
    fits the luck. With the share s / (s + n) of the model the loss is less noisy, and with many
    rows it is the error rate.

    Parameters
    ----------
    target : ndarray of shape (classes, n)
        Labels as distributions.
    free : ndarray of shape (classes - 1, n)
        A fitted model's free probabilities.
    """
    share = SMOOTHED_ROWS / (SMOOTHED_ROWS + target.shape[1])
    predicted = np.vstack([1 - free.sum(axis=0), free])
    return np.asarray((1 - share) * target + share * predicted)


class LogLoss:
    """The mean of -log pi(label | x).

    Parameters
    ----------
    label : ndarray of shape (n,)
        The index of each row's class.
    n_classes : int
        How many classes there are.

    Examples
    --------
    >>> loss = LogLoss(np.array([0, 1]), 2)
    >>> round(float(loss.value(np.array([[0.5, 0.5]]))), 4)
    0.6931
    """

    maximum = -float(np.log(SMALLEST_PROBABILITY))

    def __init__(self, label: NDArray[np.intp], n_classes: int) -> None:
        self._slope = np.where(
            label == 0, -1.0, (np.arange(1, n_classes)[:, None] == label).astype(np.float64)
        )
        self._offset = (label == 0).astype(np.float64)

    def _probability(self, free: Floats) -> Floats:
        chosen = self._offset + np.sum(self._slope * free, axis=-2)
        return np.asarray(np.maximum(chosen, SMALLEST_PROBABILITY))

    def value(self, free: Floats) -> Floats:
        """The mean of -log pi(label | x)."""
        return np.asarray(-np.log(self._probability(free)).mean(axis=-1))

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free probabilities."""
        return np.asarray(-self._slope / (self._probability(free) * free.shape[-1]))


OBJECTIVES = ("accuracy", "log_loss")


def make_loss(
    objective: str, label: NDArray[np.intp], n_classes: int, model: Floats | None = None
) -> Loss:
    """The loss that an objective names; ``model`` is what `smoothed` draws labels towards.

    Examples
    --------
    >>> make_loss("accuracy", np.array([0, 1]), 2).maximum
    1.0
    """
    if objective == "accuracy":
        target = one_hot(label, n_classes)
        return ErrorRate(target if model is None else smoothed(target, model))
    if objective == "log_loss":
        return LogLoss(label, n_classes)
    raise InputError(
        f"objective must be one of {', '.join(map(repr, OBJECTIVES))}. Got {objective!r} instead.",
        hint="'accuracy' is the default.",
    )
