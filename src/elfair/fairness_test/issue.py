"""From a test to its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np

from elfair._version import __version__
from elfair.bounds import get_bound
from elfair.certificate import (
    NOT_STATED,
    Assumption,
    CandidateRecord,
    Certificate,
    ClaimRecord,
    ConstraintResult,
    Digests,
    Kind,
    Provenance,
    RangeRecord,
    Roles,
    Split,
    Terms,
    TradeOff,
    Version,
    WarningRecord,
    violation,
)
from elfair.certificate.assumptions import BEHAVIOR_MODEL
from elfair.data import LoggedData
from elfair.data.columns import is_missing
from elfair.data.digests import columns_digest
from elfair.errors import CertificateWarning, DataError
from elfair.fairness_test.assumptions import list_assumptions
from elfair.fairness_test.pictures import group_pictures
from elfair.fairness_test.sealed import Outcome
from elfair.language import columns_used
from elfair.statistics import Estimation
from elfair.statistics.plan import Plan

#: A probability that is below a declared floor by this share is below it by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Circumstances:
    """What a test was made with, beside the test itself.

    Parameters
    ----------
    asked : Plan
        What was asked for, before points and constants were chosen for the tested policy.
    everyone : LoggedData
        All rows.
    aside : LoggedData
        Those that were not tested (under cross-fitting, all: each is searched on, too).
    share : float
        The share of rows that was set aside.
    split, seed, openings, candidate, trade_off
        See `Certificate`.
    folds : int
        How many folds were tested, each with its own model.
    model : str
        The digest of the model that was tested.
    lineup : sequence of str
        The digests of all models in line.
    n_aside : int, optional
        How many rows each search had, where it is not all that were set aside.
    """

    asked: Plan
    everyone: LoggedData
    aside: LoggedData
    share: float
    split: Split
    seed: int
    openings: int
    model: str
    lineup: Sequence[str]
    candidate: CandidateRecord | None = None
    trade_off: TradeOff | None = None
    folds: int = 1
    n_aside: int | None = None

    def terms(self) -> Terms:
        """What was to be tested."""
        estimation, everyone = self.asked.baselines.estimation, self.everyone
        weight = estimation.largest_weight
        model = estimation.outcome_model
        return Terms(
            claims=tuple(
                ClaimRecord(
                    claim.conjunct.parent, claim.conjunct.text, claim.delta, NOT_STATED, NOT_STATED
                )
                for claim in self.asked.claims
            ),
            center=estimation.center,
            impact_ranges=tuple(
                RangeRecord(name, low, high) for name, (low, high) in estimation.ranges.items()
            ),
            propensity_floor=1 / weight if np.isfinite(weight) else None,
            outcome_model=_outcome_model(model) if estimation.estimator == "dr" else "",
            candidate_share=self.share,
            folds=self.folds,
            thresholds=everyone.thresholds,
        )

    def digests(self, tested: LoggedData) -> Digests:
        """Of the rows, those that were tested among them, and of the models."""
        return Digests(
            data=self.everyone.fingerprint(),
            candidate=self.aside.fingerprint(),
            fairness=tested.fingerprint(),
            split=columns_digest([("position", tested.position)]),
            model=self.model,
            lineup=lineup_digest(self.lineup),
        )


def lineup_digest(digests: Sequence[str]) -> str:
    """Of models in line, by their digests."""
    return columns_digest([("digest", np.array(digests, dtype=object))])


def issue_certificate(
    plan: Plan, outcome: Outcome, of: Circumstances, declared: tuple[Assumption, ...] = ()
) -> Certificate:
    """Write down the result of a test.

    Parameters
    ----------
    plan : Plan
        What was tested.
    outcome : Outcome
        What was seen.
    of : Circumstances
        What it was tested with.
    declared : tuple of Assumption
        What the model's maker answers for, beside what every test rests on.
    """
    data, results, split = outcome.data, outcome.results, of.split
    groups = [group for result in results for group in result.groups]
    assumptions = list_assumptions(plan, groups, data, split=split, openings=of.openings)
    if plan.claims:
        assumptions += declared
    kind = plan.bound.kind if plan.claims else None
    joint = joint_delta([result.delta for result in results], split)
    notes = [warning for result in results for warning in result.warnings]
    notes += _left_out(plan, data)
    if outcome.passed and is_behavior_model(results):
        notes.append(BEHAVIOR_MODEL)
    notes += [violation(each) for each in assumptions if each.status == "violated"]
    everyone = of.everyone
    return Certificate(
        passed=outcome.passed,
        constraints=results,
        joint_delta=joint,
        joint_statement=joint_statement(kind, joint, split, of.candidate),
        assumptions=assumptions,
        warnings=tuple(dict.fromkeys(notes)),
        estimator=plan.baselines.estimation.estimator,
        bound=plan.bound.name,
        classes=tuple(str(name) for name in data.classes),
        n=everyone.n,
        n_candidate=of.aside.n if of.n_aside is None else of.n_aside,
        n_fairness=data.n,
        split=split,
        seed=of.seed,
        openings=of.openings,
        terms=of.terms(),
        roles=Roles(
            tuple(everyone.feature_names),
            tuple(everyone.sensitive),
            tuple(everyone.impacts),
            label=everyone.label is not None,
            propensities=everyone.propensity is not None,
            row_id=everyone.row_id is not None,
        ),
        digests=of.digests(data),
        candidate=of.candidate,
        groups=group_pictures(plan, data, outcome.free),
        trade_off=of.trade_off,
        provenance=Provenance(rows_read=everyone.n),
        versions=this_version(),
    )


def joint_delta(deltas: Sequence[float], split: Split) -> float:
    """The probability of a mistake about any of some statements; see `joint_statement`.

    Examples
    --------
    >>> joint_delta([0.1, 0.05], "random")
    0.1
    """
    return min(1.0, sum(deltas)) if split == "crossfit" else max(deltas, default=0.0)


def _outcome_model(model: Any) -> str:
    return "ridge regression" if model is None else repr(model)


@cache
def this_version() -> tuple[Version, ...]:
    """What computes now."""
    packages = [Version(name, version(name)) for name in ("numpy", "scipy", "scikit-learn")]
    return (Version("elfair", __version__), Version("python", python_version()), *packages)


def _left_out(plan: Plan, data: LoggedData) -> list[WarningRecord]:
    """Whom no condition speaks of, since nothing is known of them."""
    means = [mean for claim in plan.claims for mean in claim.means]
    used = set().union(*(columns_used(mean) for mean in means)) if means else set()
    missing = {
        name: int(is_missing(data.column(name)).sum()) for name in sorted(used & set(data.names))
    }
    return [
        WarningRecord(
            "value_missing",
            f"{count} of {data.n} held-out rows have no '{name}': a condition on it leaves them "
            "out",
        )
        for name, count in missing.items()
        if count
    ]


def is_behavior_model(results: Sequence[ConstraintResult]) -> bool:
    """A policy whose weights are all 1 decides as the behaviour model did."""
    groups = [group for result in results for group in result.groups]
    ends = [(g.mean_weight, g.max_weight) for g in groups]
    known = [(mean, most) for mean, most in ends if mean is not None and most is not None]
    return bool(known) and all(mean > 1 - ROUNDING and most < 1 + ROUNDING for mean, most in known)


def warn_reader(certificate: Certificate, *, level: int = 2) -> None:
    """Warn whoever called so many calls above of what makes a whole certificate worthless."""
    wrong = [
        a
        for a in certificate.assumptions
        if a.code in ("mean_weight", "propensities_fit") and a.status == "violated"
    ]
    if wrong:
        warnings.warn(
            f"'{wrong[0].name}' does not hold ({wrong[0].evidence}): the propensities are wrong, "
            "or the new model takes decisions almost absent from the log. Then no bound computed "
            "with them means anything. See certificate.assumptions.",
            CertificateWarning,
            stacklevel=level + 1,
        )


def joint_statement(
    kind: Kind | None, delta: float, split: Split, candidate: CandidateRecord | None
) -> str:
    """What is promised with a bound of some kind; without one, nothing is.

    The largest delta, where the model is independent of the tested rows: if it violates some
    statement, that one's test lets it pass with at most its delta. Cross-fitted models have seen
    each other's rows, so that which statement is violated may depend on them: the deltas add up.
    """
    if kind is None:
        return "Nothing was tested, and nothing is promised."
    which = "the sum of all deltas" if split == "crossfit" else "the largest delta"
    promise = (
        "The probability that a model is returned and violates some constraint is at most "
        f"{delta:g} ({which}). This is not conditional on a model being returned, and "
        "the bounds shown are not simultaneous."
    )
    if candidate is not None and candidate.lined_up > 1:
        promise += (
            f" {candidate.lined_up} models were lined up before the held-out rows were opened, "
            "and tested in that order as long as none failed; that needs no correction of delta, "
            "while "
            "the bounds shown are those of one model's test, not adjusted for its place in line."
        )
    if split == "crossfit":
        promise += " It holds in the limit of many rows, if the search is stable (cross-fitting)."
    elif kind == "asymptotic":
        promise += " It holds in the limit of many rows (asymptotic bound)."
    return promise


def declared_estimation(
    data: LoggedData,
    bound: str,
    estimator: Any,
    center: Any,
    impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None,
    propensity_floor: float | None,
    outcome_model: Any,
) -> Estimation:
    """What was declared about impacts and propensities, held against the data."""
    return Estimation(
        estimator,
        center,
        _ranges(data, impact_range),
        _largest_weight(data, propensity_floor),
        outcome_model,
        get_bound(bound).kind == "finite-sample",
    )


def _ranges(
    data: LoggedData,
    declared: tuple[float, float] | Mapping[str, tuple[float, float]] | None,
) -> dict[str, tuple[float, float]]:
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        declared = dict.fromkeys(data.impacts, declared)
    ranges = {}
    for name, ends in declared.items():
        low, high = (float(end) for end in ends)
        values = data.impact(data.impact_key(name))
        seen = values[~np.isnan(values)]  # before the test, held-out impacts are hidden
        outside = ~((seen >= low) & (seen <= high))
        if outside.any():
            rows = "rows" if seen.size == data.n else "candidate rows"
            raise DataError(
                f"impact '{name}' leaves its declared range [{low:g}, {high:g}] in "
                f"{outside.sum()} of {seen.size} {rows} (it goes from {seen.min():g} to "
                f"{seen.max():g}).",
                hint="the declaration is wrong: widen the range to what is possible.",
            )
        ranges[data.impact_key(name)] = (low, high)
    return ranges


def _largest_weight(data: LoggedData, floor: float | None) -> float:
    if floor is None:
        return np.inf
    known = [p for p in (data.propensity, data.behavior) if p is not None]
    for probabilities in known:
        # 1 - 0.9 is below 0.1 by rounding alone.
        under = ~(probabilities >= floor * (1 - ROUNDING)) & (probabilities > 0)
        if under.any():
            raise DataError(
                f"propensity_floor is {floor:g}, but {under.sum()} behaviour probabilities are "
                f"below it; the smallest is {probabilities[under].min():g}.",
                hint="the declaration is wrong: declare the smallest probability that can occur.",
            )
    return 1 / floor
