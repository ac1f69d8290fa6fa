"""Where a search starts: at policies that are fitted without constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elfair.policies import PolicyInputs, SoftmaxPolicy
from elfair.search.loss import LogLoss

Floats = NDArray[np.float64]

#: The penalty of a fitted start, in rows: enough to keep separable classes finite.
RIDGE = 1.0


def fit_log_loss(policy: SoftmaxPolicy, inputs: PolicyInputs, label: NDArray[np.intp]) -> Floats:
    """The parameters of the policy that predicts the given classes best (logistic regression).

    Parameters
    ----------
    policy : SoftmaxPolicy
        The family of policies.
    inputs : PolicyInputs
        The rows.
    label : ndarray of shape (n,)
        The index of each row's class.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> policy = SoftmaxPolicy.standardised(X, 2)
    >>> theta = fit_log_loss(policy, policy.inputs(X), np.array([0, 0, 1, 1]))
    >>> bool(theta[1] > 0.5)
    True
    """
    from scipy.optimize import minimize

    loss = LogLoss(label, policy.n_classes)
    penalised = np.ones(policy.n_parameters)
    penalised[: (policy.n_classes - 1) * inputs.design.shape[0] : inputs.design.shape[0]] = 0.0
    if policy.mixed:
        penalised[-1] = 0.0

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        free = policy.free(theta, inputs)
        weight = RIDGE / label.size * penalised * theta
        gradient = policy.pull_back(theta, inputs, free, loss.gradient(free)[None])[0] + weight
        if policy.mixed:
            gradient[-1] = 0.0  # a start is a policy of its own
        return float(loss.value(free)) + 0.5 * float(weight @ theta), gradient

    start = np.zeros(policy.n_parameters)
    if policy.mixed:
        start[-1] = 1.0
    low, high = policy.box
    result = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 100},
    )
    return np.asarray(result.x, dtype=np.float64)
