"""Which decisions are worth a simple model, if there are many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtri

from elfair.statistics.plan import CompiledClaim, Tail
from elfair.types import Floats, Index

#: A variance that is none.
TINY = 1e-300


def promising(compiled: Sequence[CompiledClaim], n_decisions: int, most: int) -> Index:
    """At most so many decisions, in order: those most likely to pass if everyone got them.

    A small step from the old model towards a decision has the same signal in the same noise as
    giving it to everyone, so the choice serves both.

    Parameters
    ----------
    compiled : sequence of CompiledClaim
        The claims on some rows.
    n_decisions : int
        How many decisions there are.
    most : int
        The most decisions to return.
    """
    if n_decisions <= most:
        return np.arange(n_decisions)
    tails = [claim.tails[0] for claim in compiled if claim.formula is None]
    chances = sum((_log_pass(tail, n_decisions) for tail in tails), np.zeros(n_decisions))
    return np.sort(np.argsort(-chances, kind="stable")[:most])


def _log_pass(tail: Tail, n_decisions: int) -> Floats:
    """For each decision, about the logarithm of the probability that a t test passes."""
    mean, variance = np.zeros(n_decisions), np.full(n_decisions, TINY)
    for part in tail.parts:
        rows = part.rows
        values = np.vstack([np.zeros(rows.index.size), rows.slope])
        values += rows.offset
        values = rows.gathered(values)
        mean += values.mean(axis=1)
        variance += values.var(axis=1) / rows.size
    return np.asarray(log_ndtr(-mean / np.sqrt(variance) - ndtri(1 - tail.delta)))
