"""From a test to its certificate; and `certify`, for models from elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from numbers import Real
from platform import python_version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from elfair._version import __version__
from elfair.assumptions import MEAN_WEIGHT, PROPENSITIES_FIT, list_assumptions
from elfair.bounds import Bound, get_bound
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
    violation,
)
from elfair.columns import as_floats, is_missing, named_columns
from elfair.constraints import Claim, Constraint, Plan, read_constraints
from elfair.data import TOLERANCE, LoggedData
from elfair.errors import CertificateWarning, DataError, InputError
from elfair.fairness_test import Outcome, learn_from, run_on_sealed
from elfair.hashing import columns_digest
from elfair.language import columns_used
from elfair.partition import SealedHalf, row_keys
from elfair.picturing import group_pictures
from elfair.points import settle
from elfair.statistics import Baselines, Estimation, impact_of

Floats = NDArray[np.float64]

#: A probability that is below a declared floor by this share is below it by rounding.
ROUNDING = 1e-12
#: The warning about a model that changes nothing.
BEHAVIOR_MODEL = "the model is the behaviour model itself: nothing changes for anyone"


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
            thresholds=getattr(everyone, "thresholds", ()),
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


def probabilities_digest(free: Floats) -> str:
    """Of a model of which only its probabilities are known."""
    return columns_digest([("probabilities", free)])


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


def _left_out(plan: Plan, data: LoggedData) -> list[str]:
    """Whom no condition speaks of, since nothing is known of them."""
    means = [mean for claim in plan.claims for mean in claim.means]
    used = set().union(*(columns_used(mean) for mean in means)) if means else set()
    missing = {
        name: int(is_missing(data.column(name)).sum()) for name in sorted(used & set(data.names))
    }
    return [
        f"{count} of {data.n} held-out rows have no '{name}': a condition on it leaves them out"
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
        if a.name in (MEAN_WEIGHT, PROPENSITIES_FIT) and a.status == "violated"
    ]
    if wrong:
        warnings.warn(
            f"'{wrong[0].name}' does not hold ({wrong[0].evidence}): the propensities are wrong, "
            "or the new model decides as hardly anybody was decided about. Then no bound computed "
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


def certify(
    probabilities: Any,
    data: LoggedData,
    constraints: Constraint | Sequence[Constraint],
    *,
    delta: float | Sequence[float] = 0.1,
    bound: str = "ttest",
    estimator: Literal["is", "paired", "dr"] = "paired",
    impact_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    propensity_floor: float | None = None,
    center: Literal["auto", "range", "mean"] = "auto",
    outcome_model: Any = None,
    classes: Sequence[Any] | None = None,
    nuisance_fraction: float = 0.2,
    random_state: int = 0,
) -> Certificate:
    """Run only the fairness test, for any model from anywhere, on rows it was not trained on.

    Parameters
    ----------
    probabilities : array of shape (n, classes) or (n,)
        The model's probability of each decision for each row of ``data``; one column is the
        probability of the larger of two classes (of the last in ``classes``). Columns of a data
        frame that are called like the classes are taken by name.
    data : LoggedData
        Logged decisions that had no part in the making of the model.
    constraints : str, Statement, Recipe or a sequence of them
        What is to be certified.
    delta : float or sequence of float, default 0.1
        One for all, or one for each constraint.
    bound, estimator, impact_range, propensity_floor, center, outcome_model
        As for `ELFClassifier`.
    classes : sequence, optional
        The order of the columns of ``probabilities``, where it is not the sorted one.
    nuisance_fraction : float, default 0.2
        The share of rows that is set aside, and not tested, where constants, the points of a
        quantile and the like, or an outcome model must be learnt (not where the declared range
        gives the constant).
    random_state : int, default 0
        Seed of the order of rows and of the choice of those set aside.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> n = 2000
    >>> decision = rng.integers(0, 2, n)
    >>> data = LoggedData(
    ...     rng.normal(size=(n, 1)), decision=decision, propensity=np.full(n, 0.5),
    ...     impact=decision + rng.normal(size=n),
    ... )
    >>> always = np.tile([0.1, 0.9], (n, 1))  # decides 1 nine times in ten
    >>> certify(always, data, "E[impact] >= E_logged[impact]").passed
    True
    """
    claims = read_constraints(constraints, delta, data)
    if not claims:
        raise InputError(
            "there is nothing to certify: no constraint was given.",
            hint="pass constraint text, such as \"E[impact | race == 'A'] >= 0\".",
        )
    if not isinstance(nuisance_fraction, Real) or not 0 < nuisance_fraction < 1:
        raise InputError(
            f"nuisance_fraction must be between 0 and 1. Got {nuisance_fraction!r} instead.",
            hint="0.2 is the default.",
        )
    free = free_probabilities(probabilities, data, classes)
    estimation = declared_estimation(
        data, bound, estimator, center, impact_range, propensity_floor, outcome_model
    )
    learns = any(
        estimation.learns_from(impact)
        for claim in claims
        for mean in claim.means
        if (impact := impact_of(mean, data)) is not None
    ) or any(claim.statistics for claim in claims)
    certificate = certified(
        free,
        data,
        claims,
        get_bound(bound),
        estimation,
        share=nuisance_fraction if learns else 0.0,
        seed=random_state,
    )
    warn_reader(certificate)
    return certificate


def certified(
    free: Floats,
    data: LoggedData,
    claims: tuple[Claim, ...],
    bound: Bound,
    estimation: Estimation,
    *,
    share: float,
    seed: int,
    openings: int | None = None,
) -> Certificate:
    """The certificate of a model from elsewhere.

    Parameters
    ----------
    free : ndarray of shape (classes - 1, n)
        Its probabilities of all classes but the first.
    data : LoggedData
        All rows.
    claims : tuple of Claim
        What is tested.
    bound : Bound
        How it is bounded.
    estimation : Estimation
        How impacts are estimated.
    share : float
        The share of rows to be set aside; 0 where nothing has to be learnt.
    seed : int
        Seed of the order of rows.
    openings : int, optional
        What is written down as the number of openings; counted here unless given.
    """
    aside, tested = set_aside(data, share, seed)
    nuisance = data.take(aside)
    # What rounding leaves of a decision that is never taken is no decision.
    possible = np.append((free.sum(axis=0) < 1 - ROUNDING).any(), (free > 0).any(axis=1))
    asked = Plan.make(claims, bound, Baselines(estimation, nuisance), data, possible)
    plan = settle(asked, nuisance, free[:, aside], tested.size)
    plan.compile(data)  # what cannot be tested is said before an opening is counted
    sealed = SealedHalf(data.take(tested))
    learnt = learn_from(plan, nuisance, free[:, aside]) if aside.size else None
    outcome = run_on_sealed(plan, sealed, lambda _: free[:, tested], learnt)
    digest = probabilities_digest(free)
    return issue_certificate(
        plan,
        outcome,
        Circumstances(
            asked=asked,
            everyone=data,
            aside=nuisance,
            share=share,
            split="none",
            seed=int(seed),
            openings=sealed.openings if openings is None else openings,
            model=digest,
            lineup=[digest],
        ),
    )


def set_aside(
    data: LoggedData, share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows that are not tested, and those that are, in their seeded order.

    Examples
    --------
    >>> aside, tested = set_aside(LoggedData([[0.0]] * 10), 0.2, seed=0)
    >>> aside.size, tested.size
    (2, 8)
    """
    order = np.argsort(row_keys(data, seed), kind="stable")
    n_aside = round(share * data.n)
    return order[:n_aside], order[n_aside:]


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
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            low = high = np.nan
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(
                f"impact_range must be (low, high), both finite and low < high. Got {ends!r}.",
                hint="declare what the impact can be, not what the data show.",
            )
        values = data.impact(data.impact_key(name))
        outside = (values < low) | (values > high)
        if outside.any():
            raise DataError(
                f"impact '{name}' leaves its declared range [{low:g}, {high:g}] in "
                f"{outside.sum()} of {data.n} rows (it goes from {values.min():g} to "
                f"{values.max():g}).",
                hint="the declaration is wrong: widen the range to what is possible.",
            )
        ranges[data.impact_key(name)] = (low, high)
    return ranges


def _largest_weight(data: LoggedData, floor: float | None) -> float:
    if floor is None:
        return np.inf
    if not isinstance(floor, Real) or not 0 < floor <= 1:
        raise InputError(
            f"propensity_floor must be in (0, 1]. Got {floor!r} instead.",
            hint="it is the smallest probability with which the behaviour model took any decision.",
        )
    known = [p for p in (data.propensity, data.behavior) if p is not None]
    for probabilities in known:
        # 1 - 0.9 is below 0.1 by rounding alone.
        under = (probabilities < floor * (1 - ROUNDING)) & (probabilities > 0)
        if under.any():
            raise DataError(
                f"propensity_floor is {floor:g}, but {under.sum()} behaviour probabilities are "
                f"below it; the smallest is {probabilities[under].min():g}.",
                hint="the declaration is wrong: declare the smallest probability that can occur.",
            )
    return 1 / floor


def free_probabilities(
    probabilities: Any, data: LoggedData, classes: Sequence[Any] | None
) -> Floats:
    """Check a model's probabilities and bring them into the form that rows take."""
    if not isinstance(data, LoggedData):
        raise InputError(
            f"data must be a LoggedData. Got {type(data).__name__} instead.",
            hint="LoggedData(X, y, decision=..., propensity=..., impact=...) makes one.",
        )
    if data.classes.size < 2:
        raise DataError(
            f"a model decides between two or more classes. Got {data.classes.size} in the data.",
            hint="pass decision= to LoggedData, or classes= where some class never occurs.",
        )
    columns = named_columns(probabilities, "probabilities", default="probabilities")
    names = [str(name) for name in data.classes]
    if classes is None and set(names) == set(columns):
        columns = {name: columns[name] for name in names}
    table = np.column_stack([as_floats(column, "probabilities") for column in columns.values()])
    if table.shape[1] == 1 and data.classes.size == 2:
        table = np.column_stack([1 - table, table])
    if table.shape != (data.n, data.classes.size):
        raise DataError(
            f"probabilities must be of shape ({data.n}, {data.classes.size}). Got {table.shape}.",
            hint=f"one line for each row of data, one column for each class: {', '.join(names)}.",
        )
    outside = ~((table >= 0) & (table <= 1 + TOLERANCE))
    if outside.any():
        raise DataError(
            f"probabilities must be between 0 and 1. Got {table[outside][0]:g} in row "
            f"{np.flatnonzero(outside.any(axis=1))[0]}.",
            hint="pass predict_proba of a stochastic model.",
        )
    total = table.sum(axis=1)
    row = int(np.argmax(np.abs(total - 1)))
    if abs(total[row] - 1) > TOLERANCE:
        raise DataError(
            f"each row of probabilities must sum to 1. Row {row} sums to {total[row]:.6g}.",
            hint="pass predict_proba of a stochastic model.",
        )
    if classes is not None:
        named = [str(name) for name in classes]
        if sorted(named) != sorted(names):
            raise DataError(
                f"classes={list(classes)!r} does not name the classes of the data: "
                f"{', '.join(names)}.",
                hint="name each class once, in the order of the columns.",
            )
        table = table[:, [named.index(name) for name in names]]
    if data.behavior is not None and ((table > 0) & (data.behavior <= 0)).any():
        rows = ((table > 0) & (data.behavior <= 0)).any(axis=1).sum()
        raise DataError(
            f"the model can take a decision that the behaviour model could not, in {rows} of "
            f"{data.n} rows: its impact there cannot be identified.",
            hint="give those decisions probability 0.",
        )
    return np.ascontiguousarray(table[:, 1:].T)
