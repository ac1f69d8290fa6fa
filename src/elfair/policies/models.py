"""Policies, which are families of stochastic models; models, which are policies with parameters;
and decisions, which are drawn from a model's probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_random_state

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.columns import Columns, refuse
from elfair.data.digests import content_digest
from elfair.data.features import Features, read_features
from elfair.data.preparation import Preparation
from elfair.data.setting import Setting
from elfair.errors import InputError
from elfair.types import Array, Floats


class Policy(Protocol):
    """A family of stochastic models pi_theta, as a search and a model file need it.

    Theta is a real vector in a box, the free numbers are differentiable in it, and the models
    between two thetas make sense: a ladder consists of such models.

    Statistics need only the *free* numbers on each logged row: every row of every statistic is
    affine in them. For a classifier these are the probabilities of all classes but the first. A
    model from elsewhere, which is only tested, has no more than `digest_tag`, `logged` and `free`.
    """

    #: The name of the family in digests and in model files.
    digest_tag: ClassVar[str]

    @property
    def center(self) -> Floats:
        """The mean of each feature on candidate rows."""

    @property
    def scale(self) -> Floats:
        """The standard deviation of each feature on candidate rows."""

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
        """Derivatives of j functions by theta, of shape (j, n_parameters).

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
            Parameters of one model.
        inputs
            From `logged`.
        free : ndarray of shape (channels, n)
            From `free`, for this theta.
        gradients : ndarray of shape (j, channels, n)
            The derivatives of the functions by the free numbers.
        """


class ClassPolicy(Policy, Protocol):
    """A policy over classes; a frozen dataclass. (The one over numbers is `GaussianPolicy`.)"""

    @property
    def n_classes(self) -> int:
        """How many decisions there are."""

    @property
    def mixed(self) -> bool:
        """Whether the last parameter, in [0, 1], mixes it with the behaviour model."""

    @property
    def exploration(self) -> float:
        """The share of decisions taken blindly."""

    def probabilities(
        self, theta: Floats, X: Floats, behavior: Floats | None, columns: Columns | None = None
    ) -> Floats:
        """The probability of every decision about each person, of shape (n, n_classes).

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
            Parameters.
        X : ndarray of shape (n, d)
            The features of the people, as numbers.
        behavior : ndarray of shape (n, n_classes), optional
            The behaviour model's probabilities, if the policy is mixed with it.
        columns : dict of str to ndarray, optional
            The features as they came, for a scorer that sees them so.
        """


def standardisation(X: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of each column; 1 for a column that does not vary.

    Examples
    --------
    >>> standardisation(np.array([[0.0, 5.0], [2.0, 5.0]]))
    (array([1., 5.]), array([1., 1.]))
    """
    scale = X.std(axis=0)
    return X.mean(axis=0), np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True)
class Model:
    """A policy with its parameters.

    Parameters
    ----------
    policy : Policy
        Its family. (Typed Any: the estimator that asked for a family knows what its policies do.)
    theta : ndarray
        Its parameters.
    preparation : Preparation, optional
        How it makes numbers of the features of a table, as learnt from candidate rows; None if
        features came as plain numbers.
    setting : Setting, optional
        What else its decisions depend on; None for a model that is known by its probabilities.
    """

    policy: Any
    theta: Floats
    preparation: Preparation | None = None
    setting: Setting | None = None

    def numbers(self, people: Features) -> Floats:
        """What it sees of some people, of shape (n, d)."""
        return people.numbers if self.preparation is None else self.preparation.of(people.columns)

    def free(self, rows: LoggedData) -> Floats:
        """Its free numbers on logged rows, of shape (channels, n)."""
        return np.asarray(self.policy.free(self.theta, self.policy.logged(rows)))

    def digest(self) -> str:
        """The SHA-256 of everything its decisions depend on, in 64 hexadecimal digits."""
        return digests([self])[0]


def digests(models: Sequence[Model]) -> tuple[str, ...]:
    """The digest of each model; what several of them share is read once.

    Examples
    --------
    >>> first, again, other = (Model("policy", np.array([x])) for x in (0.5, 0.5, 0.25))
    >>> one, two, three = digests([first, again, other])
    >>> one == two == first.digest(), one == three
    (True, False)
    """

    def shared(model: Model) -> tuple[Any, ...]:
        return model.policy, model.preparation, model.setting

    parts = {id(part): part for model in models for part in shared(model)}
    read = {key: content_digest(part) for key, part in parts.items()}
    return tuple(
        content_digest((*(read[id(part)] for part in shared(model)), model.theta))
        for model in models
    )


@dataclass(frozen=True)
class Fitted:
    """The models that were tested, and the record of their test.

    Parameters
    ----------
    models : tuple of Model
        One model, or one for each fold; one of them is picked at random for each decision.
    shares : tuple of float
        How often each is picked: in proportion to its fold's tested rows.
    ladder : tuple of Model
        All models in the order of the test; under cross-fitting, the folds' models.
    certificate : Certificate
        What the test said.
    tuned : dict
        What `candidate_tuning` chose.
    """

    digest_tag: ClassVar[str] = "fitted"

    models: tuple[Model, ...]
    shares: tuple[float, ...]
    ladder: tuple[Model, ...]
    certificate: Certificate
    tuned: dict[str, Any]

    def digest_content(self) -> Any:
        """What its decisions depend on."""
        return self.digest()

    def digest(self) -> str:
        """The digest of what decides: that of the model, or of the mixture."""
        return mixture_digest(digests(self.models), self.shares)

    @property
    def setting(self) -> Setting:
        """The setting, which all its models share."""
        setting = self.models[0].setting
        assert setting is not None
        return setting

    def probabilities(self, people: Any, behavior: Floats | None) -> Floats:
        """The probability of every decision, of shape (n, classes).

        Parameters
        ----------
        people : Features, array or data frame
            The features of the people to decide about.
        behavior : ndarray of shape (n, classes), optional
            The behaviour model's probabilities for them, if the policy is mixed with it.
        """
        people = people if isinstance(people, Features) else read_features(people)
        with np.errstate(all="ignore"):  # of a file that somebody made up
            every = [
                share
                * model.policy.probabilities(
                    model.theta, model.numbers(people), behavior, people.columns
                )
                for model, share in zip(self.models, self.shares, strict=True)
            ]
        probabilities: Floats = np.asarray(sum(every))
        require_decided(probabilities)
        return probabilities


def require_decided(of_rows: Floats) -> None:
    """Raise if what a model says of some people is not a number: nobody can decide by that.

    Parameters
    ----------
    of_rows : ndarray of shape (n, k)
        What it says of each.
    """
    refuse(
        np.asarray(~np.isfinite(of_rows).all(axis=1)),
        "the model finds no probability of a decision",
        "its numbers are too large to compute with; ask who gave you the file for another one.",
    )


def mixture_digest(parts: Sequence[str], shares: Sequence[float]) -> str:
    """The digest of a mixture, from those of its models; a single model keeps its own.

    Parameters
    ----------
    parts : sequence of str
        The digests.
    shares : sequence of float
        How often each model is picked.

    Examples
    --------
    >>> mixture_digest(["one", "two"], [0.5, 0.5]) == mixture_digest(["one", "two"], [0.4, 0.6])
    False
    """
    if len(parts) == 1:
        return parts[0]
    return content_digest(("mixture", tuple(parts), tuple(map(float, shares))))


class Decisions(NamedTuple):
    """Decisions and the probabilities with which they were taken. Log both.

    Parameters
    ----------
    decision : ndarray of shape (n,)
        The decision about each person.
    propensity : ndarray of shape (n,)
        Its probability.
    """

    decision: Array
    propensity: Floats


def draw(probabilities: Floats, classes: Array, random_state: Any = None) -> Decisions:
    """Draw one decision for each row.

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
    drawn = seeded(random_state).uniform(size=(len(probabilities), 1))
    ends = probabilities.cumsum(axis=1)
    ends /= ends[:, -1:]  # a last class of probability 0 now starts at exactly 1: never drawn
    chosen = (drawn >= ends[:, :-1]).sum(axis=1)
    return Decisions(classes[chosen], probabilities[np.arange(len(chosen)), chosen])


def seeded(random_state: Any) -> Any:
    """The generator that scikit-learn would use; for None, one with fresh entropy.

    Examples
    --------
    >>> int(seeded(0).randint(100))
    44
    """
    if random_state is None:
        return np.random.default_rng()
    try:
        return check_random_state(random_state)
    except ValueError:
        raise InputError(
            "random_state must be a whole number of at least 0, a numpy RandomState or None. Got "
            f"{random_state!r} instead.",
            hint="an integer makes a draw repeatable; None does not.",
        ) from None
