"""What every population offers: samples of logged decisions, and the truth about any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elfair.errors import InputError
from elfair.types import Floats

#: The values of T in every population here.
GROUPS = (0, 1)


class HasPredictProba(Protocol):
    """Anything with scikit-learn's ``predict_proba``; its second column is for decision 1."""

    def predict_proba(self, X: Floats, /) -> ArrayLike:
        """Probability of each decision."""
        ...


#: A callable returns the probability of decision 1.
Decider: TypeAlias = Callable[[Floats], ArrayLike] | HasPredictProba


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
        E_logged[impact | T == group] - E[impact | T == group]. Above 0 the group is worse off than
        under the behaviour model.
    """

    accuracy: float
    impact: Mapping[int, float]
    violation: Mapping[int, float]


class Population(Protocol):
    """A known law of people, logged decisions and impacts.

    If only the impact depends on its settings, a population can also have ``rates(policy)``: the
    part of `truth` that all settings share. `truth` then accepts it in place of the policy.
    """

    @property
    def constraints(self) -> list[str]:
        """The constraints of the population."""
        ...

    @property
    def behavior(self) -> Any:
        """The model that took the logged decisions, with ``predict_proba``."""
        ...

    def sample(self, n: int, seed: int) -> Draw:
        """Logged decisions, a function of the population, `n` and `seed` alone."""
        ...

    def truth(self, policy: Decider) -> Truth:
        """What a policy truly does."""
        ...


def chance_of_one(policy: Decider, points: Floats) -> Floats:
    """The policy's probability of decision 1 at each point, checked.

    Examples
    --------
    >>> chance_of_one(lambda X: X[:, 0] / 4, np.array([[1.0], [2.0]]))
    array([0.25, 0.5 ])
    """
    _check_policy(policy)
    expected: tuple[int, ...]
    if hasattr(policy, "predict_proba"):
        what, expected = "policy.predict_proba(X)", (len(points), 2)
        values = np.asarray(policy.predict_proba(points), dtype=np.float64)
    else:
        what, expected = "policy(X)", (len(points),)
        values = np.asarray(policy(points), dtype=np.float64)
    if values.shape != expected:
        raise InputError(
            f"{what} must have shape {expected} for {len(points)} rows. Got {values.shape} "
            "instead.",
            hint="predict_proba must return a column for decision 0 and one for decision 1; a "
            "callable must return the probability of decision 1.",
        )
    one = values[:, 1] if values.ndim == 2 else values
    # A NaN fails this comparison, too. The margin allows for rounding.
    if not (one.min() >= -1e-9 and one.max() <= 1 + 1e-9):
        raise InputError(
            f"{what} must be probabilities in [0, 1]. Got values from {one.min()} to {one.max()} "
            "instead.",
            hint="a sigmoid or a softmax turns scores into probabilities.",
        )
    if values.ndim == 2:
        off = np.abs(values.sum(axis=1) - 1)
        if not off.max() <= 1e-6:
            raise InputError(
                f"each row of {what} must sum to 1. Got {values[off.argmax()].tolist()} in row "
                f"{off.argmax()} instead.",
                hint="the columns are the probabilities of decision 0 and decision 1.",
            )
    return one


def _check_policy(policy: object) -> None:
    """Refuse anything that cannot decide."""
    if policy is None:
        raise InputError(
            "policy must be a model. Got None instead.",
            hint='None means "no solution found", so there is no model to evaluate.',
        )
    if isinstance(policy, type):
        raise InputError(
            f"policy must be a model. Got the class {policy.__name__} instead.",
            hint="create an object of the class, and fit it.",
        )
    if not hasattr(policy, "predict_proba") and not callable(policy):
        raise InputError(
            "policy must have predict_proba, or be a callable that returns the probability of "
            f"decision 1. Got {type(policy).__name__} instead.",
            hint="pass a fitted classifier, or a function of the features.",
        )


def check_group(group: int) -> int:
    """The group, checked."""
    if group not in GROUPS:
        raise InputError(
            f"group must be one of {list(GROUPS)}. Got {group!r} instead.",
            hint="group is a value of the column T.",
        )
    return group


def check_size(n: int) -> None:
    """Refuse a number of people below 1."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise InputError(
            f"n must be a whole number of at least 1. Got {n!r} instead.",
            hint="n counts the people to sample.",
        )


def check_seed(seed: int) -> None:
    """Refuse a seed that would not give the same draw again."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError(
            f"seed must be a whole number of at least 0. Got {seed!r} instead.",
            hint="a seed makes the draw repeatable.",
        )


def check_alpha(alpha: float) -> None:
    """Refuse a weight of the decision that is not in [0, 1]."""
    number = isinstance(alpha, Real) and not isinstance(alpha, bool)
    if not (number and 0 <= alpha <= 1):
        raise InputError(
            f"'alpha' must be a number in [0, 1]. Got {alpha!r} instead.",
            hint="0 means that decisions have no impact, 1 that only decisions have.",
        )


def no_worse_than_logged() -> list[str]:
    """Constraints: no worse than the behaviour model, for each group."""
    return [f"E[impact | T == {t}] >= E_logged[impact | T == {t}]" for t in GROUPS]


@dataclass(frozen=True, eq=False)
class Draw:
    """Logged decisions sampled from a population.

    Attributes
    ----------
    features : array of shape (n, d)
        What models see of each person.
    label, group, decision : integer arrays of shape (n,)
        Y, T and D, each 0 or 1.
    propensity : array of shape (n,)
        The behaviour model's probability of the logged decision.
    impact : array of shape (n,)
        The delayed impact of the logged decision.
    feature_names : tuple of str
        A name for each column of `features`.

    Examples
    --------
    >>> from elfair.populations import FosterCare
    >>> draw = FosterCare().sample(3, seed=0)
    >>> list(draw.frame())
    ['X1', 'X2', 'X3', 'X4', 'X5', 'T', 'Y', 'decision', 'propensity', 'impact']
    >>> list(draw.logged)
    ['sensitive_features', 'decision', 'propensity', 'impact']
    """

    features: Floats
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    decision: NDArray[np.int64]
    propensity: Floats
    impact: Floats
    feature_names: tuple[str, ...]

    def frame(self) -> dict[str, Floats | NDArray[np.int64]]:
        """The columns by name, for the constructor of any data frame."""
        return {
            **dict(zip(self.feature_names, self.features.T, strict=True)),
            "T": self.group,
            "Y": self.label,
            "decision": self.decision,
            "propensity": self.propensity,
            "impact": self.impact,
        }

    @property
    def logged(self) -> dict[str, Any]:
        """The arguments of `ELFClassifier.fit` besides features and labels, by keyword."""
        return {
            "sensitive_features": {"T": self.group},
            "decision": self.decision,
            "propensity": self.propensity,
            "impact": self.impact,
        }
