"""estimator="auto": the estimator of impact whose bounds are expected to be tighter.

Both forms are valid for any model, so candidate rows may choose. *Paired* rows subtract what to
expect of a person whatever is decided; *doubly robust* rows subtract what to expect of each
decision, too, and are tighter if decisions matter and a regression can tell. Where a decision was
rare, such a regression extrapolates, and the rows that would contradict it may be missing: then no
guard sees it, and the paired form stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import log

import numpy as np

from elfair.bounds import AUTO
from elfair.data import LoggedData
from elfair.data.units import numbered
from elfair.errors import BoundError
from elfair.search.prediction import Target
from elfair.search.requirements import requirements_of
from elfair.statistics.plan import CompiledClaim, Plan
from elfair.types import Floats

#: The smallest probability of any decision with which a regression for each may be used. Chosen
#: after "rare group, rare decision" (benchmarks/worlds_own.py, a decision of 3 %) had broken its
#: promise in 7 of 30 trials at the edge at 1,000 rows, and in none with the paired form.
NOT_RARE = 0.1
#: By how much bounds must be tighter on average, in logarithms, to leave the usual form.
WORTH_IT = 0.02
#: At most so many candidate rows choose.
JUDGED_BY = 5_000
#: Widths stay between these, so that they have ratios.
TINY, HUGE = 1e-12, 1e12
#: Decisions that many classes are judged by: those taken most often.
MOST_DECISIONS = 6


def estimators_for(asked: str, data: LoggedData) -> tuple[str, ...]:
    """The estimators to choose among, the usual one first; the one that was asked for, unless that
    is "auto". Numbers have no choice: only a regression keeps the level of a t bound if new
    decisions are far from logged ones. Nor have estimated propensities: with a regression, their
    error counts only in product with that of the regression. Classes have one if no decision is
    known to be rare.
    """
    if asked != AUTO:
        return (asked,)
    if data.decision_kind == "numbers" or data.unlogged is not None:
        return ("dr",)
    rare = data.behavior is None or bool((data.behavior < NOT_RARE).any())
    return ("paired",) if rare else ("paired", "dr")


def tightest(
    plan: Plan,
    names: Sequence[str],
    rows: LoggedData,
    n_test: int,
    policies: Callable[[LoggedData], Sequence[Floats]],
) -> Plan:
    """The plan, or the same with another estimator if its bounds are expected to be clearly tighter
    and are of the same kind.

    Parameters
    ----------
    plan : Plan
        What will be tested, with the first of the estimators.
    names : sequence of str
        The estimators.
    rows : LoggedData
        Candidate rows.
    n_test : int
        The number of test rows.
    policies : callable
        From rows to the free numbers of policies unlike the old one.
    """
    if plan.statistics or not any(each.impact_conditions(rows) for each in plan.claims):
        return plan  # points depend on the estimator; or nothing is estimated
    place, first = numbered(rows)
    some = rows.take(np.flatnonzero(first[place] < JUDGED_BY))
    compiled = {}
    for name in names:
        with suppress(BoundError):  # its rows have no end that this bound needs
            compiled[name] = plan.estimated(name, some).compile(some)
    if not compiled:
        return plan
    best, least, tried = next(iter(compiled)), -WORTH_IT, policies(some)
    usual, ratio = compiled[best], n_test / rows.n
    for name, claims in compiled.items():
        both = [each for each in zip(usual, claims, strict=True) if each[0].weighted]
        changes = [
            log(_width(then, free, ratio) / _width(now, free, ratio))
            for now, then in both
            for free in tried
        ]
        same = all(now.kind == then.kind for now, then in both)
        if same and changes and np.mean(changes) < least:
            best, least = name, float(np.mean(changes))
    return plan if best == names[0] else plan.estimated(best, rows)


def often_taken(data: LoggedData) -> list[int]:
    """The decisions, those that were taken most often first."""
    assert data.decision_index is not None
    counts = np.bincount(data.decision_index, minlength=data.classes.size)
    often: list[int] = np.argsort(-counts, kind="stable").tolist()
    return often


def constant_policy(data: LoggedData, a: int) -> Floats:
    """The free numbers of the policy that takes the same decision about everyone.

    Examples
    --------
    >>> logged = LoggedData(np.zeros((2, 1)), classes=["a", "b", "c"])
    >>> constant_policy(logged, 1).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    others = np.arange(1, data.classes.size)
    return np.repeat((others == a)[:, None], data.n, axis=1).astype(np.float64)


def constant_policies(data: LoggedData) -> list[Floats]:
    """The free numbers of policies that take the same decision about everyone: those decisions that
    were taken most often.

    Examples
    --------
    >>> log = {"decision": [0, 1, 1], "propensity": [0.5] * 3, "impact": [0] * 3}
    >>> logged = LoggedData(np.zeros((3, 1)), **log)
    >>> [free.tolist() for free in constant_policies(logged)]
    [[[1.0, 1.0, 1.0]], [[0.0, 0.0, 0.0]]]
    """
    return [constant_policy(data, a) for a in often_taken(data)[:MOST_DECISIONS]]


def _width(claim: CompiledClaim, free: Floats, ratio: float) -> float:
    """How far the bound is expected above g, with so many test rows for each row at hand."""
    (requirement,) = requirements_of([claim], Target(0.5), ratio)
    levels = requirement.predict(free).levels
    return max(TINY, min(levels.upper - levels.mean, HUGE))
