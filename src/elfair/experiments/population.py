"""What a study needs of a population: samples, and the truth about any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elfair.experiments.draw import Draw

FloatArray = NDArray[np.float64]


class HasPredictProba(Protocol):
    """Anything with scikit-learn's ``predict_proba``, its second column for decision 1."""

    def predict_proba(self, X: FloatArray, /) -> ArrayLike:
        """Probability of each decision."""
        ...


#: A callable gives the probability of decision 1.
Policy: TypeAlias = Callable[[FloatArray], ArrayLike] | HasPredictProba


@dataclass(frozen=True)
class Truth:
    """What a model truly does to a population.

    Parameters
    ----------
    accuracy : float
        P(decision == Y).
    impact : mapping of int to float
        E[impact | T == group], by group.
    violation : mapping of int to float
        E_logged[impact | T == group] - E[impact | T == group]; above 0: the group is worse off
        than under the behaviour model.
    """

    accuracy: float
    impact: Mapping[int, float]
    violation: Mapping[int, float]


class Population(Protocol):
    """A law of people, logged decisions and impacts that is known."""

    @property
    def constraints(self) -> list[str]:
        """What must hold."""
        ...

    @property
    def behavior(self) -> Any:
        """The model that took the logged decisions, with ``predict_proba``."""
        ...

    def sample(self, n: int, seed: int) -> Draw:
        """Logged decisions, a function of the population, `n` and `seed` alone."""
        ...

    def truth(self, policy: Policy) -> Truth:
        """What a policy truly does."""
        ...
