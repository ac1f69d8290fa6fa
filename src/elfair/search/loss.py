"""What the search makes small: the objective, as a function of the free probabilities."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elfair.errors import InputError

Floats = NDArray[np.float64]

#: Log loss counts a probability below this as this: a bounded loss has a known maximum.
SMALLEST_PROBABILITY = 1e-6


class Loss(Protocol):
    """A loss of the policy on candidate rows."""

    maximum: float

    def value(self, free: Floats) -> Floats:
        """The loss; leading axes of ``free`` are policies."""

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free probabilities of one policy."""


class ErrorRate:
    """The expected error of a policy that samples its decisions: 1 - mean of pi(label | x).

    Parameters
    ----------
    label : ndarray of shape (n,)
        The index of each row's class.
    n_classes : int
        How many classes there are.

    Examples
    --------
    >>> loss = ErrorRate(np.array([0, 1]), 2)
    >>> float(loss.value(np.array([[0.25, 1.0]])))
    0.125
    """

    maximum = 1.0

    def __init__(self, label: NDArray[np.intp], n_classes: int) -> None:
        free_label = np.arange(1, n_classes)[:, None] == label
        # pi(first class) = 1 - sum of the free ones: affine, like every other statistic.
        first = label == 0
        self._slope = np.where(first, 1.0, -free_label.astype(np.float64)) / label.size
        self._offset = 1.0 - float(first.mean())

    def value(self, free: Floats) -> Floats:
        """The expected error."""
        if free.ndim == 2:
            return np.asarray(self._offset + np.vdot(self._slope, free))
        return np.asarray(self._offset + np.einsum("kn,...kn->...", self._slope, free))

    def gradient(self, free: Floats) -> Floats:
        """Its derivative, the same for every policy."""
        return self._slope


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
        return -self._slope / (self._probability(free) * free.shape[-1])


LOSSES = {"accuracy": ErrorRate, "log_loss": LogLoss}


def make_loss(objective: str, label: NDArray[np.intp], n_classes: int) -> Loss:
    """The loss that an objective names.

    Examples
    --------
    >>> make_loss("accuracy", np.array([0, 1]), 2).maximum
    1.0
    """
    if objective not in LOSSES:
        raise InputError(
            f"objective must be one of {', '.join(map(repr, LOSSES))}. Got {objective!r} instead.",
            hint="'accuracy' is the default.",
        )
    return LOSSES[objective](label, n_classes)
