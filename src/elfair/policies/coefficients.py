"""The coefficients of a linear model, on the scale of the features as they were given."""

from __future__ import annotations

from typing import NamedTuple

from elfair.policies.gaussian import GaussianPolicy
from elfair.policies.models import Model
from elfair.policies.softmax import SoftmaxPolicy
from elfair.types import Floats


class Coefficients(NamedTuple):
    """Weights of features, and intercepts.

    Parameters
    ----------
    weights : ndarray of shape (k, d)
        A row for each function.
    intercepts : ndarray of shape (k,)
        Their values where all features are 0.
    names : list of str
        The features, as numbers: a category has one for each level.
    """

    weights: Floats
    intercepts: Floats
    names: list[str]


def coefficients(models: tuple[Model, ...], names: list[str]) -> Coefficients | None:
    """The coefficients of a model; None if it is not linear, or if several models decide.

    Parameters
    ----------
    models : tuple of Model
        The models, one of which is picked for each decision.
    names : list of str
        The features as they were given.

    Examples
    --------
    >>> import numpy as np
    >>> policy = SoftmaxPolicy(2, np.array([10.0]), np.array([2.0]))
    >>> found = coefficients((Model(policy, np.array([1.0, 4.0])),), ["age"])
    >>> found.weights, found.intercepts
    (array([[2.]]), array([-19.]))
    """
    if len(models) != 1:
        return None
    ((policy, theta),) = [(model.policy, model.theta) for model in models]
    prepared = models[0].preparation
    width = 1 + policy.center.size
    if type(policy) is SoftmaxPolicy:  # a tree is a softmax, too, of its leaves
        by_class = theta[: (policy.n_classes - 1) * width].reshape(-1, width)
    elif isinstance(policy, GaussianPolicy) and not policy.usual.size:
        by_class = policy.unit * theta[None, :width]
        by_class[0, 0] += policy.level
    else:
        return None
    weights = by_class[:, 1:] / policy.scale
    intercepts = by_class[:, 0] - weights @ policy.center
    return Coefficients(weights, intercepts, names if prepared is None else prepared.names)
