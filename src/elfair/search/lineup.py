"""Models lined up for the test, from one that is likely to pass to one that dares more.

They are tested in this order, which held-out rows had no part in, until one fails; the last that
passed is let out. For that no level needs correction (fixed-sequence testing; Angelopoulos, Bates,
Candes, Jordan and Lei 2021 use it to tune a predictor): a model that violates a constraint is let
out only if the *first* such model in line passes its test, and that test errs with probability
delta. So the margin that makes one model likely to pass no longer costs accuracy: where the test
turns out to have room, the next models use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elfair.search.problem import Candidate, Problem

Floats = NDArray[np.float64]


class Found(NamedTuple):
    """What a search puts forward.

    Parameters
    ----------
    candidates : list of Candidate
        One for each target that was asked for, the most demanding first.
    evaluations : int
        How many policies were looked at.
    problem : Problem
        What candidate rows say of a policy.
    """

    candidates: list[Candidate]
    evaluations: int
    problem: Problem


class Lineup(NamedTuple):
    """Policies in the order in which they are to be tested.

    Parameters
    ----------
    policy : Policy
        Their family. (Typed Any: whoever asked for a family knows what its policies can do.)
    thetas : list of ndarray
        Their parameters, the most likely to pass first.
    found : Found
        Where they come from.
    """

    policy: Any
    thetas: list[Floats]
    found: Found

    @classmethod
    def of(cls, policy: Any, found: Found, count: int) -> Lineup:
        """The candidates of a search, and models between them: ``count`` in all, where there is
        more than one candidate.
        """
        ends = np.array([candidate.theta for candidate in in_order(found.candidates)])
        places = np.linspace(0, len(ends) - 1, count if len(ends) > 1 else 1)
        before = np.minimum(places.astype(int), max(0, len(ends) - 2))
        after = np.minimum(before + 1, len(ends) - 1)
        share = (places - before)[:, None]
        return cls(policy, list((1 - share) * ends[before] + share * ends[after]), found)


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are worth a test after the ones before them: less likely to pass, and
    better by the objective.
    """
    kept = [candidates[0]]
    for candidate in candidates[1:]:
        dares = candidate.log_pass < kept[-1].log_pass and candidate.loss < kept[-1].loss
        if candidate.meets_target and dares:
            kept.append(candidate)
    return kept
