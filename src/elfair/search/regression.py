"""The task of a regression: a Gaussian policy that is to come near the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import Assumption
from elfair.continuous import ContinuousData
from elfair.data import LoggedData
from elfair.errors import DataError, InputError
from elfair.language import Mean
from elfair.policies import GaussianPolicy
from elfair.policies.gaussian import FINENESS, LARGEST_PARAMETER, GaussianInputs
from elfair.search.loss import Loss
from elfair.statistics.decisions import MEAN, SQUARE

Floats = NDArray[np.float64]

#: Labels that a linear model predicts exactly leave this share of their own spread to a decision.
LEAST_SHARE = 1e-3


class SquaredLoss:
    """The mean squared error of a policy, as a share of the variance of the labels.

    Parameters
    ----------
    label : ndarray of shape (n,)
        What decisions are to be near to.
    decision : ndarray of shape (n,), optional
        The logged decisions. What is twice as bad as these, or as always deciding on the average
        label, is the worst that a search takes into account.

    Examples
    --------
    >>> loss = SquaredLoss(np.array([0.0, 2.0]))
    >>> float(loss.value(np.array([[0, 0], [1, 1], [1.25, 1.25]])))  # a mean of 1, a spread of 0.5
    1.25
    """

    def __init__(self, label: Floats, decision: Floats | None = None) -> None:
        variance = float(label.var()) or 1.0
        self._offset = float(np.mean(label**2)) / variance
        self._mean_slope = -2 * label / (label.size * variance)
        self._square_slope = 1 / (label.size * variance)
        logged = 0.0 if decision is None else float(np.mean((decision - label) ** 2)) / variance
        self.maximum = 2 * max(1.0, logged)

    def value(self, free: Floats) -> Floats:
        """The mean squared error; leading axes of ``free`` are policies."""
        linear = free[..., MEAN, :] @ self._mean_slope
        square = free[..., SQUARE, :].sum(axis=-1) * self._square_slope
        return np.asarray(self._offset + linear + square)

    def gradient(self, free: Floats) -> Floats:
        """Its derivative, the same for every policy."""
        gradient = np.zeros_like(free)
        gradient[MEAN], gradient[SQUARE] = self._mean_slope, self._square_slope
        return gradient


@dataclass(frozen=True)
class Regression:
    """A Gaussian policy that is to come near the label.

    Parameters
    ----------
    objective : str
        What to make good, as the user wrote it: "mse", or what `Dosing` is for.
    spread : (float, float)
        The smallest and largest spread of a decision, as shares of the behaviour model's.
    """

    objective: str
    spread: tuple[float, float]

    def __post_init__(self) -> None:
        try:
            floor, ceiling = (float(share) for share in self.spread)
        except (TypeError, ValueError):
            floor = ceiling = np.nan
        if not 0 < floor <= ceiling < 1:
            raise InputError(
                "spread must be (floor, ceiling) with 0 < floor <= ceiling < 1. "
                f"Got {self.spread!r} instead.",
                hint="they are shares of the behaviour model's spread; a new model that spreads as "
                "far has importance weights without bound.",
            )

    def assumptions(self) -> tuple[Assumption, ...]:
        """None beside those of the data: everything is learnt from candidate rows."""
        return ()

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    @property
    def needs_label(self) -> bool:
        """Without labels there is nothing to come near to."""
        return True

    @property
    def means(self) -> tuple[Mean, ...]:
        """The averages that it speaks of, beside the squared error."""
        return ()

    def check(self, data: LoggedData) -> None:
        """Labels may be needed."""
        if self.needs_label and data.label is None:
            raise DataError(
                f"objective='{self.objective}' needs labels; y was not given.",
                hint="pass the labels, or an objective that needs none, such as 'E[impact]'.",
            )

    def policy(self, data: LoggedData) -> GaussianPolicy:
        """A linear mean, and a spread within its shares of the behaviour model's.

        Where nothing weighs decisions, the behaviour model may be unknown: the shares are then of
        how far labels (without any, logged decisions) are from a linear model.
        """
        assert isinstance(data, ContinuousData)
        known = data.decision if data.label is None else data.label
        assert known is not None
        plain = GaussianPolicy.standardised(data.features, known, smallest=1.0, largest=1.0)
        if data.behavior_spread is not None:
            whole = float(data.behavior_spread.min())
        else:
            design = plain.design(data.features)
            missed = (known - plain.level) / plain.unit
            missed = missed - least_squares(design, missed) @ design
            whole = plain.unit * max(LEAST_SHARE * FINENESS, float(missed.std()))
        smallest, largest = (whole * share for share in self.spread)
        return replace(plain, smallest=smallest, largest=largest)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The mean squared error. Smoothing would change nothing: what labels have beyond a linear
        model is orthogonal to every linear mean.
        """
        assert data.label is not None
        return SquaredLoss(data.label, data.decision)

    def at(self, data: LoggedData, free: Floats | None) -> Regression:
        """Everywhere the same."""
        return self

    def best(self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData) -> Floats:
        """Least squares, with as little spread as is allowed."""
        return imitation(policy, inputs, data.label, spread=0.0)

    def starts(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best policy; one that imitates the behaviour model, with as much spread as is
        allowed; and their middle.
        """
        if data.decision is None:
            return [best]
        familiar = imitation(policy, inputs, data.decision, spread=FINENESS)
        return [best, (best + familiar) / 2, familiar]

    def likely(
        self, policy: GaussianPolicy, inputs: GaussianInputs, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """All starts: where the best policy decides, hardly anybody may have been decided about."""
        return self.starts(policy, inputs, data, best)


def least_squares(design: Floats, target: Floats) -> Floats:
    """The coefficients of the nearest linear function.

    Examples
    --------
    >>> least_squares(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), np.array([1.0, 3.0, 5.0]))
    array([1., 2.])
    """
    return np.asarray(np.linalg.lstsq(design.T, target, rcond=None)[0])


def imitation(policy: GaussianPolicy, inputs: GaussianInputs, target: Any, spread: float) -> Floats:
    """The policy whose mean is nearest to some numbers, with a spread from 0 to FINENESS."""
    coefficients = least_squares(inputs.design, (target - policy.level) / policy.unit)
    return np.append(np.clip(coefficients, -LARGEST_PARAMETER, LARGEST_PARAMETER), spread)
