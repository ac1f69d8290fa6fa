"""Regressions of many decisions that learn from one another.

With a hundred decisions, each was taken too seldom for a regression of its own. So the coefficients
of all decisions count as draws from one normal distribution, whose covariance the decisions reveal
together. What tells decisions apart is kept, and what is noise is shrunk away.
"""

from __future__ import annotations

import numpy as np

from elfair.types import Floats, Index

#: Steps of expectation maximisation: enough to tell what is noise.
STEPS = 20
#: The covariance starts at this share of the variance of a value.
FIRST_SHARE = 0.1
#: A smaller share counts as this one, so that covariances have an inverse.
SMALLEST_SHARE = 1e-8


def pooled(inputs: Floats, values: Floats, taken: Index, n_decisions: int) -> Floats:
    """A linear regression for each decision, all fitted together by expectation maximisation.

    Parameters
    ----------
    inputs : ndarray of shape (width, n)
        What is known about each row.
    values : ndarray of shape (n,)
        What to predict.
    taken : ndarray of shape (n,)
        The decision about each row.
    n_decisions : int
        How many decisions there are.

    Returns
    -------
    ndarray of shape (n_decisions, width)
        The coefficients of each decision, less those of all rows together.

    Examples
    --------
    >>> taken = np.repeat([0, 1, 2], 50)
    >>> values = np.repeat([0.0, 1.0, 5.0], 50)
    >>> pooled(np.ones((1, 150)), values, taken, n_decisions=4)[:, 0].round(1) + 0.0
    array([-2., -1.,  3.,  0.])
    """
    width, n = inputs.shape
    common = np.linalg.solve(inputs @ inputs.T + np.eye(width), inputs @ values)
    residual = values - common @ inputs
    squares, products = _sums(inputs, residual, taken, n_decisions)
    total = float(residual @ residual)
    noise = total / n or 1.0
    floor = SMALLEST_SHARE * noise * np.eye(width)
    covariance = FIRST_SHARE * noise * np.eye(width)
    for _ in range(STEPS):
        uncertain = np.linalg.inv(squares / noise + np.linalg.inv(covariance + floor))
        found = np.einsum("aij,aj->ai", uncertain, products) / noise
        covariance = (found.T @ found + uncertain.sum(axis=0)) / n_decisions
        second = uncertain + found[:, :, None] * found[:, None, :]
        left = total - 2 * np.vdot(found, products) + np.vdot(squares, second)
        noise = max(float(left) / n, floor[0, 0])
    return np.asarray(found)


def _sums(
    inputs: Floats, residual: Floats, taken: Index, n_decisions: int
) -> tuple[Floats, Floats]:
    """For each decision, the products of inputs with each other and with residuals."""
    width = len(inputs)
    squares, products = np.empty((n_decisions, width, width)), np.empty((n_decisions, width))
    order = np.argsort(taken, kind="stable")
    ends = np.searchsorted(taken[order], np.arange(n_decisions + 1))
    for a in range(n_decisions):
        rows = order[ends[a] : ends[a + 1]]
        own = inputs[:, rows]
        squares[a], products[a] = own @ own.T, own @ residual[rows]
    return squares, products
