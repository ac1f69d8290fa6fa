"""Models: policies with their parameters, how a digest names them, and what a fit keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elfair.certificate import Certificate
from elfair.data import LoggedData
from elfair.data.digests import content_digest
from elfair.types import Floats


@dataclass(frozen=True)
class Model:
    """A policy with its parameters.

    Parameters
    ----------
    policy : Policy
        The family of the model. (Typed Any: the estimator that asked for a family knows what else
        its policies can do.)
    theta : ndarray
        Its parameters.
    """

    policy: Any
    theta: Floats

    def free(self, rows: LoggedData) -> Floats:
        """Its free numbers on logged rows, of shape (channels, n)."""
        free: Floats = self.policy.free(self.theta, self.policy.logged(rows))
        return free

    def digest(self) -> str:
        """The SHA-256 of all that its probabilities depend on, in 64 hexadecimal digits."""
        return digests([self])[0]


def digests(models: Sequence[Model]) -> tuple[str, ...]:
    """The digest of each of some models; what they share is read once.

    Examples
    --------
    >>> first, again, other = (Model("policy", np.array([x])) for x in (0.5, 0.5, 0.25))
    >>> one, two, three = digests([first, again, other])
    >>> one == two == first.digest(), one == three
    (True, False)
    """
    policies = {id(model.policy): model.policy for model in models}
    read = {key: content_digest(policy) for key, policy in policies.items()}
    return tuple(content_digest((read[id(model.policy)], model.theta)) for model in models)


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
        return digests(self.models), self.shares

    def probabilities(self, features: Floats, behavior: Floats | None) -> Floats:
        """The probability of every decision, of shape (n, classes).

        Parameters
        ----------
        features : ndarray of shape (n, d)
            The people to be decided about.
        behavior : ndarray of shape (n, classes), optional
            What the behaviour model says of them, where it is kept.
        """
        every = [
            share * model.policy.probabilities(model.theta, features, behavior)
            for model, share in zip(self.models, self.shares, strict=True)
        ]
        return np.asarray(sum(every))


def mixture_digest(line: Sequence[str]) -> str:
    """Of models one of which is picked at random: of their digests; of a single model, its own."""
    return line[0] if len(line) == 1 else content_digest(("mixture", *line))
