"""What if everybody got the same decision? The analyst's first question, from candidate rows.

Estimates and bounds are those of the test: its rows, units, weights, missing impacts and Lambda;
but of the people in the log, whatever change of people (shift) the test allows for.
What the rows subtract is learnt on two thirds of the candidate rows and used on the others, each
third in turn, so no row judges what it taught. Bounds are asymptotic, and each holds by itself: a
first look, and not a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.errors import BoundError, DataError
from elfair.fairness_test.evidence import Bounded, bounded
from elfair.fairness_test.opened import joined
from elfair.language.build import E, E_logged
from elfair.language.conditions import Condition, uses_label, who
from elfair.language.conjunction import conjuncts
from elfair.search.estimator import constant_policy, often_taken
from elfair.search.judging import in_folds
from elfair.statistics import Baselines, impact_of, logged_average
from elfair.statistics.claims import Claim
from elfair.statistics.plan import CompiledClaim, Plan

#: The most decisions that are shown: those taken most often.
MOST_DECISIONS = 8


@dataclass(frozen=True)
class ConstantImpact:
    """What an impact of a group would be if everybody got the same decision.

    Parameters
    ----------
    impact : str
        The impact.
    condition : str
        The group; "everyone" if there is no condition.
    delta : float
        The probability with which each bound may be too high.
    estimate, lower : float
        The expected impact, and a lower bound on it.
    logged : float
        The expected impact of the logged decisions.
    difference, least : float
        By how much more it is than that, and a lower bound on this.
    """

    impact: str
    condition: str
    delta: float
    estimate: float
    lower: float
    logged: float
    difference: float
    least: float


@dataclass(frozen=True)
class ConstantPolicy:
    """What candidate rows say about giving everybody the same decision.

    Parameters
    ----------
    decision : str
        The decision.
    taken : float
        The share of rows in which it was taken.
    impacts : tuple of ConstantImpact
        By impact and group.
    passes : tuple of bool
        For each statement of the report, whether its bound on candidate rows is at most 0; empty if
        some statement has no such bound, or if the test allows for a change of people.
    """

    decision: str
    taken: float
    impacts: tuple[ConstantImpact, ...]
    passes: tuple[bool, ...]


def constant_decisions(rows: LoggedData, plan: Plan, seed: int) -> tuple[ConstantPolicy, ...]:
    """What would happen if everybody got the same decision, for each decision.

    Parameters
    ----------
    rows : LoggedData
        Candidate rows.
    plan : Plan
        The test, whose statements are about averages.
    seed : int
        What the division of the rows depends on.

    Returns
    -------
    tuple of ConstantPolicy
        Those taken most often first; empty where decisions are numbers, where no statement is about
        an impact, or where candidate rows are too few to be divided.
    """
    asked = list(_asked(plan.claims, rows))
    if rows.decision_index is None or rows.decision_kind != "classes" or not asked:
        return ()
    shown = [a for a in often_taken(rows) if _is_known(rows, a)][:MOST_DECISIONS]
    about = [claim for _, _, pair in asked for claim in pair]
    tested = plan.claims if plan.baselines.estimation.shift == 1 else ()
    try:
        folds = _Folds(rows, _asymptotic(plan, (*about, *tested), rows), seed)
    except (BoundError, DataError):
        return ()
    return tuple(_of_decision(a, folds, asked, len(about)) for a in shown)


def _asked(
    claims: Sequence[Claim], rows: LoggedData
) -> Iterator[tuple[str, Condition | None, tuple[Claim, Claim]]]:
    """Each impact and group in the statements: -E[I | c] <= 0, and -E[I | c] + E_logged[I | c]."""
    pairs = [(mean, claim.delta, impact_of(mean, rows)) for claim in claims for mean in claim.means]
    means = [(mean, delta) for mean, delta, impact in pairs if impact is not None]
    names = dict.fromkeys(impact.name for _, _, impact in pairs if impact is not None)
    groups = dict.fromkeys([None, *(mean.given for mean, _ in means)])
    for name in names:
        for given in groups:
            if given is not None and uses_label(given):
                continue
            delta = min([d for m, d in means if m.given == given] or [d for _, d in means])
            new, old = E(name, given=given), E_logged(name, given=given)
            pair: list[Any] = [conjuncts(new >= 0)[0], conjuncts(new >= old)[0]]
            yield name, given, (Claim(pair[0], delta, True), Claim(pair[1], delta, True))


def _is_known(rows: LoggedData, a: int) -> bool:
    """Whether a decision was possible for everybody, as far as anybody knows."""
    return rows.behavior is None or bool((rows.behavior[:, a] > 0).all())


class _Folds:
    """Claims on candidate rows, with constants from rows of other folds."""

    def __init__(self, rows: LoggedData, plan: Plan, seed: int) -> None:
        compiled, folds = [], []
        for seen, unseen in in_folds(rows, seed):
            folds.append(rows.take(unseen))
            learnt = Baselines(plan.baselines.estimation, rows.take(seen)).plain.at("shift", 1.0)
            compiled.append(replace(plan, baselines=learnt).compile(folds[-1]))
        self.data = LoggedData.joined(folds)
        starts = np.cumsum([0, *(fold.n for fold in folds)])
        self.claims: list[CompiledClaim] = [
            joined(of_folds, starts, self.data) for of_folds in zip(*compiled, strict=True)
        ]

    def bounded(self, a: int) -> list[Bounded]:
        """The bound on each claim if everybody got one decision."""
        free = constant_policy(self.data, a)
        return [
            bounded(claim, self.data, free, [None] * len(claim.parts), 1.0) for claim in self.claims
        ]


def _asymptotic(plan: Plan, claims: tuple[Claim, ...], rows: LoggedData) -> Plan:
    """The same for other claims, with a bound that needs no ends of rows."""
    averages = {**plan.logged_averages}
    if plan.baselines.estimation.impact_estimator.replaces_logged:
        logged = [mean for claim in claims for mean in claim.means if mean.logged]
        averages |= {mean: logged_average(mean, rows) for mean in logged if mean not in averages}
    bound = plan.bound if plan.bound == "ttest" else "guarded"
    return replace(plan, claims=claims, bound=bound, logged_averages=averages)


def _of_decision(a: int, folds: _Folds, asked: Sequence[Any], first: int) -> ConstantPolicy:
    known = folds.bounded(a)
    impacts = []
    for k, (name, given, (claim, _)) in enumerate(asked):
        level, change = known[2 * k], known[2 * k + 1]
        estimate, difference = (-each.estimate for each in (level, change))
        impacts.append(
            ConstantImpact(
                impact=name,
                condition=who(given),
                delta=claim.delta,
                estimate=estimate,
                lower=-level.upper,
                logged=estimate - difference,
                difference=difference,
                least=-change.upper,
            )
        )
    data = folds.data
    assert data.decision_index is not None
    return ConstantPolicy(
        decision=str(data.classes[a]),
        taken=float(np.mean(data.decision_index == a)),
        impacts=tuple(impacts),
        passes=tuple(each.passed for each in known[first:]),
    )
