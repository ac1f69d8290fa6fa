"""What every stochastic model has in common: probabilities that a search can improve."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from elfair.data import LoggedData

Floats = NDArray[np.float64]


class Policy(Protocol):
    """A family of stochastic models pi_theta.

    What statistics need of a policy are its *free* numbers on each logged row: every row of every
    statistic is affine in them. A classifier's are the probabilities of all classes but the first.
    """

    @property
    def n_parameters(self) -> int:
        """The length of theta."""

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The lowest and highest value of each parameter."""

    def logged(self, data: LoggedData) -> Any:
        """Logged rows in the form that the policy works on, prepared once for many thetas."""

    def free(self, theta: Floats, inputs: Any) -> Floats:
        """The free numbers, of shape (..., channels, n); leading axes of theta are policies."""

    def pull_back(self, theta: Floats, inputs: Any, free: Floats, gradients: Floats) -> Floats:
        """Derivatives of j functions by theta, of shape (j, n_parameters), from those by the free
        numbers, of shape (j, channels, n).
        """
