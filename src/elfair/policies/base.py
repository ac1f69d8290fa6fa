"""What every stochastic model has in common: probabilities that a search can improve.

Decisions drawn from a policy's probabilities, with what must be logged of them.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_random_state

from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.types import Array, Floats


class Policy(Protocol):
    """A family of stochastic models pi_theta.

    What statistics need of a policy are its *free* numbers on each logged row: every row of every
    statistic is affine in them. A classifier's are the probabilities of all classes but the first.
    """

    #: The name of the family in digests and in model files.
    digest_tag: ClassVar[str]

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


class Decisions(NamedTuple):
    """Decisions and the probabilities with which they were taken, to be logged.

    Parameters
    ----------
    decision : ndarray of shape (n,)
        What was decided.
    propensity : ndarray of shape (n,)
        With what probability.
    """

    decision: Array
    propensity: Floats


def draw(probabilities: Floats, classes: Array, random_state: Any = None) -> Decisions:
    """One decision for each row.

    Parameters
    ----------
    probabilities : ndarray of shape (n, classes)
        The probability of every decision.
    classes : ndarray
        The decisions.
    random_state : int, RandomState or None, default None
        None draws fresh entropy.

    Examples
    --------
    >>> draw(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array(["no", "yes"]))
    Decisions(decision=array(['yes', 'no'], dtype='<U3'), propensity=array([1., 1.]))
    """
    rng = np.random.default_rng() if random_state is None else seeded(random_state)
    drawn = rng.uniform(size=(len(probabilities), 1))
    ends = probabilities.cumsum(axis=1)
    ends /= ends[:, -1:]  # a last class of probability 0 then begins at exactly 1: never drawn
    chosen = (drawn >= ends[:, :-1]).sum(axis=1)
    return Decisions(classes[chosen], probabilities[np.arange(len(chosen)), chosen])


def seeded(random_state: Any) -> np.random.RandomState:
    """The generator that scikit-learn would use.

    Examples
    --------
    >>> int(seeded(0).randint(100))
    44
    """
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        raise InputError(
            "random_state must be a whole number from 0 on, a numpy RandomState or None. Got "
            f"{random_state!r} instead.",
            hint="an integer makes a draw repeat; None does not.",
        ) from None
    return state
