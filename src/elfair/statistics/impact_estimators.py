"""Estimators of impact: a class for each, in one table; what they are told and what they learn.

All of them are one: E[I^pi | c] = E[ sum_a pi(a) q(a) + w (I - q(D)) | c ] for any q that does not
depend on the tested rows. They differ in q, and so in the spread and the ends of their rows. With
Lambda above 1, rows bound that mean from their bad side; see `elfair.statistics.confounding`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import isabstract
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from elfair.bounds import AUTO, get_bound
from elfair.data import LoggedData
from elfair.data.costs import COST, check_person_cost
from elfair.errors import DataError, chosen
from elfair.language.conditions import Condition
from elfair.statistics.confounding import added_share, least_share, worst_residual
from elfair.statistics.decisions import decisions_of
from elfair.statistics.impacts import Ends, Impact
from elfair.statistics.rows import Capped
from elfair.statistics.unseen import limits_of, seen_of
from elfair.types import Floats

if TYPE_CHECKING:
    from elfair.statistics.baselines import Baselines

#: A probability below a declared floor by at most this share is below it only by rounding.
ROUNDING = 1e-12
Learns: TypeAlias = Literal["nothing", "level", "model"]
#: A number, or one for each row, and the predictions of an outcome model less it (a table), if
#: there is one.
Subtracted: TypeAlias = tuple[float | Floats, Floats | None]


class Term(NamedTuple):
    """A part of g: new * E[impact | given] + logged * E_logged[impact | given].

    ``values`` holds the impact of each row inside the condition, or what stands for it; ``own``
    says whether these rows are those that baselines were learnt from.
    """

    impact: Impact
    given: Condition | None
    new: float
    logged: float
    values: Floats
    own: bool = False


@dataclass
class Sum:
    """The rows of one condition while terms are added to them.

    Parameters
    ----------
    offset : ndarray of shape (m,)
        The part of each row that no policy changes.
    by_slot : ndarray of shape (slots, m)
        What each slot of a policy adds; see `elfair.statistics.decisions`.
    weighted : ndarray of shape (m,)
        What importance weights multiply.
    capped : list of Capped
        What it adds up to a cap.
    doubt : ndarray of shape (groups, m), optional
        See `elfair.statistics.doubt.Doubt`; None if propensities are known.
    """

    offset: Floats
    by_slot: Floats
    weighted: Floats
    capped: list[Capped] = field(default_factory=list)
    doubt: Floats | None = None


class ImpactEstimator(ABC):
    """An estimator of impact: what it subtracts before weighting.

    A subclass that does not set each of the attributes is a `TypeError`.

    Attributes
    ----------
    name : str
        The value of ``estimator=``.
    note : str
        A few words beside its name in a list of choices; may be empty.
    words : str
        Completes the sentence "the new model's mean is estimated by ...".
    learns : {"nothing", "level", "model"}
        What it learns from rows that are not tested: nothing, what to expect of a person whatever
        is decided, or an outcome model.
    replaces_logged : bool
        Whether an average replaces ``E_logged[...]``, as in the paper: no bound sees its error.
    """

    name: ClassVar[str]
    note: ClassVar[str]
    words: ClassVar[str]
    learns: ClassVar[Learns]
    replaces_logged: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        missing = [name for name in ImpactEstimator.__annotations__ if name not in vars(cls)]
        if missing and not isabstract(cls):
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")

    @abstractmethod
    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """What it subtracts from impacts before weighting, on rows inside the condition."""

    def add_rows(self, term: Term, rows: Sum, data: LoggedData, baselines: Baselines) -> Ends:
        """Add a term to the rows inside its condition; return its ends."""
        estimation = baselines.estimation
        limits = limits_of(term.impact, data, term.impact.ends(estimation.ranges))
        # No end of a row is known if its weight is an estimate.
        bounded = estimation.finite_sample and data.unlogged is None
        bounded &= bool(np.isfinite(limits).all())
        k, table = self.subtracted(term, data, baselines)
        if estimation.Lambda > 1 and self.learns != "nothing":
            shift = baselines.shift(term, self)[:, None]
            table = np.repeat(shift, data.n, axis=1) if table is None else table + shift
        if not bounded or (self.learns == "model" and data.behavior is None):
            _add_weighted(term, rows, data, k, table, estimation.Lambda)
            return -np.inf, np.inf
        if self.learns == "nothing" or data.behavior is None:
            end = limits[0] if term.new < 0 else limits[1]
            _add_weighted(term, rows, data, end, None, estimation.Lambda)
            return _ends_of_weighted(term, limits, estimation.largest_weight)
        return _add_capped(term, rows, data, k, table, limits, estimation)


def _add_weighted(
    term: Term, rows: Sum, data: LoggedData, k: float | Floats, table: Floats | None, Lambda: float
) -> None:
    """Add rows new * (q + w (I - q)) + logged * I, with no limit to what a weight can do."""
    _, _, new, logged, values, _ = term
    decisions = decisions_of(data)
    away = values - k
    residual = away
    if table is not None:
        taken = decisions.at_logged(table)
        residual = away - taken
        decisions.add_predicted(rows.by_slot, rows.offset, table, new)
        expected = decisions.under_behavior(table) if logged and Lambda == 1 else None
        if expected is not None:
            # If all behaviour probabilities are known, and right, remove the luck of the logged
            # draw, too.
            rows.offset += logged * (expected - taken)
    plain = worst = new * residual
    if Lambda > 1:
        assert data.propensity is not None
        worst = worst_residual(plain, data.propensity, Lambda)
    if data.doubts is not None:
        assert data.propensity is not None
        others = data.doubts.T
        changes = worst_residual(plain, others, Lambda) / others - worst / data.propensity
        rows.doubt = changes if rows.doubt is None else rows.doubt + changes
    decisions.add_weighted(rows.by_slot, worst)
    rows.weighted += worst
    # In this form k cancels to the last digit if a pair compares like with like.
    rows.offset += logged * away + (new + logged) * k


def _ends_of_weighted(term: Term, limits: Ends, largest_weight: float) -> Ends:
    """The ends of new * (k + w (I - k)) + logged * I if k is the end of the range from which new
    * (I - k) is never positive: bilinear in w and I, so the corners. (With an odds ratio above 1,
    the smallest 1 / e counts, so w is not larger.)
    """
    k = limits[0] if term.new < 0 else limits[1]
    corners = []
    for weight, impact in product((0.0, largest_weight), limits):
        weighted = k + (weight * (impact - k) if impact != k else 0.0)
        corners.append(term.new * weighted + term.logged * impact)
    return min(corners), max(corners)


def _add_capped(
    term: Term,
    rows: Sum,
    data: LoggedData,
    k: float | Floats,
    table: Floats | None,
    limits: Ends,
    estimation: Estimation,
) -> Ends:
    """Add rows whose bad end no weight moves; return their ends.

    J is the distance of an impact from the bad end of its range, which is R wide. For any q in
    [0, R], let m_a = min(pi_a q_a, R beta_a / (1 - beta_a)). Then E[J under the new model] is the
    mean of

        w J + sum_a m_a - m_D / beta_D,

    because the last two have the same mean. The plain w (J - q) may be as low as -w R; these rows
    are never below -R, because the sum holds m_D itself: b - sum_a m_a <= (1 - beta_D) b with
    b = m_D / beta_D, which is at most w R and at most R / (1 - beta_D). With c = -new (the sign of
    J makes it positive) and the term l J of the logged decisions, a row is at most R max(c, l):
    where c w >= l, (l - c w) J <= 0 and the rest is at most c R; where c w < l, (l - c w) J is at
    most (l - c w) R and the rest is at most c w R. And a row is at least R min(l - c W, -c) with
    the largest weight W: b - sum_a m_a >= -(1 - pi_D) R, and w + 1 - pi_D <= 1 / beta_D <= W.

    With an odds ratio L above 1, F <= 1 / e <= G are the limits of `elfair.statistics.confounding`,
    and s = pi_D J - m_D. The row is sum_a m_a + F s where s >= 0, and sum_a m_a + G s elsewhere,
    which is F s - (G - F) (min(pi_D max(q_D, J), cap) - min(pi_D J, cap)) in both cases. The cap is
    R beta / (L (1 - beta)), so that (G - 1) m_D <= R. The ends are the same. Where s >= 0, F >= 1
    makes the bracket at least m_D + s >= 0, so l J - c (...) is at most l R. Where s < 0, it is at
    most c (G - 1) m_D + (l - c G pi_D) J: at most c R if l <= c G pi_D, else, with J <= R and
    m_D <= pi_D R, at most (l - c pi_D) R. And sum_a m_a + F s <= (1 - pi_D) R + F pi_D J, F <= W.
    """
    _, _, new, logged, values, _ = term
    end, other = limits if new < 0 else limits[::-1]
    sign, width, c = (1.0 if new < 0 else -1.0), abs(other - end), abs(new)
    distance, of_logged = sign * (values - end), sign * logged
    assert data.behavior is not None
    assert data.propensity is not None
    Lambda, propensity = estimation.Lambda, data.propensity
    behavior, decisions = np.ascontiguousarray(data.behavior.T), decisions_of(data)
    q = np.broadcast_to(k, behavior.shape) if table is None else k + table
    lift = np.clip(sign * (q - end), 0.0, width)
    least = np.ones(data.n) if Lambda == 1 else least_share(propensity, Lambda)
    factor = np.full(behavior.shape, -c)
    decisions.add_weighted(factor, c * least)
    # m_a <= R anyway: there is no cap on a decision that is likely enough.
    often = Lambda * (1 - behavior)
    odds = np.divide(behavior, often, out=np.ones_like(behavior), where=behavior < often)
    rows.capped.append(Capped(factor, lift, width * odds))
    if Lambda > 1:
        more = np.zeros_like(factor)
        decisions.add_weighted(more, c * added_share(propensity, Lambda))
        near = np.broadcast_to(distance, lift.shape)
        rows.capped.append(Capped(more, np.maximum(lift, near), width * odds))
        rows.capped.append(Capped(-more, near, width * odds))
    decisions.add_weighted(rows.by_slot, -c * least * distance)
    constant = (new + logged) * end
    rows.offset += of_logged * distance + constant
    heaviest = c * width * estimation.largest_weight if width else 0.0
    lowest, most = min(of_logged * width - heaviest, -c * width), width * max(c, of_logged)
    return constant + lowest, constant + most


def add_worst_case(term: Term, rows: Sum, data: LoggedData, half: Floats, Lambda: float) -> None:
    """Add what the worst end of a missing impact's range adds to the middle of it, where ``half``
    is half its width: half times |new w + logged|, which is |new| w + |logged| less twice the
    smaller of the two if their signs differ.

    With an odds ratio above 1, w lies between F and G times the new probability, and both are at
    their worst: |logged| + |new| G pi less the smaller of 2 |logged| and |new| (F + G) pi.
    """
    if not half.any():
        return
    new, logged = abs(term.new), abs(term.logged)
    rows.offset += logged * half
    if not new:
        return
    least, added = np.ones(data.n), np.zeros(data.n)
    if Lambda > 1:
        assert data.propensity is not None
        least = least_share(data.propensity, Lambda)
        added = added_share(data.propensity, Lambda)
    decisions = decisions_of(data)
    decisions.add_weighted(rows.by_slot, new * (least + added) * half)
    # Of numbers only the sum is known: it is never smaller.
    if term.new * term.logged < 0 and data.decision_kind == "classes":
        factor, lift = np.zeros_like(rows.by_slot), np.zeros_like(rows.by_slot)
        decisions.add_weighted(lift, new * (least + added / 2))
        factor[lift > 0] = -2.0
        rows.capped.append(Capped(factor * half, lift, np.full_like(lift, logged)))


class Paired(ImpactEstimator):
    """q is what candidate rows let expect of a person, whatever is decided."""

    name = "paired"
    note = ""
    words = (
        "importance weighting around what to expect of a person, q plus the mean of weight "
        "times (impact - q), where candidate rows give q, from features and groups, whatever is "
        "decided"
    )
    learns: ClassVar[Learns] = "level"
    replaces_logged = False

    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """See `Level`."""
        if term.own:
            return baselines.level(term.impact, term.given).left_out, None
        return baselines.expected(term.impact, term.given, data), None


class ImportanceSampling(ImpactEstimator):
    """The same with 0 instead of the mean."""

    name = "is"
    note = "the paper's"
    words = (
        "plain importance weighting: the mean of weight times impact (around an end of the range, "
        "where a bound needs one)"
    )
    learns = "nothing"
    replaces_logged = True

    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """Nothing."""
        return 0.0, None


class DoublyRobust(ImpactEstimator):
    """q is a regression of the impact on features, groups and decision."""

    name = "dr"
    note = "doubly robust"
    words = (
        "the doubly robust form: the impact that a model fitted to candidate rows expects from the "
        "new decisions, plus importance weighting of its errors"
    )
    learns = "model"
    replaces_logged = False

    def subtracted(self, term: Term, data: LoggedData, baselines: Baselines) -> Subtracted:
        """The model's predictions, and their average."""
        table = baselines.model(term.impact).of(data)
        return decisions_of(data).centre(table), table


#: By the names that users write.
ESTIMATORS: dict[str, ImpactEstimator] = {
    each.name: each for each in (Paired(), ImportanceSampling(), DoublyRobust())
}


def get_impact_estimator(name: str) -> ImpactEstimator:
    """The estimator of impact with the name that a user writes.

    Examples
    --------
    >>> get_impact_estimator("paired").learns
    'level'
    """
    return chosen(ESTIMATORS, "estimator", name, "'auto', the default, chooses one.")


@dataclass(frozen=True)
class Estimation:
    """How impacts are estimated, and what was declared about them.

    Parameters
    ----------
    estimator : str
        The name of the estimator of impact.
    ranges : mapping of str to (float, float)
        The declared range of each impact that has one.
    largest_weight : float
        The declared 1 / (smallest behaviour probability); infinite if not declared.
    outcome_model : scikit-learn regressor, optional
        The regression of the doubly robust form; by default ridge regression.
    finite_sample : bool
        Whether rows are built so that, where the range of an impact is known, no weight moves their
        bad end, as finite-sample bounds need it.
    Lambda : float
        Up to which odds ratio logged probabilities may be distorted by confounding.
    shift : float
        Up to which likelihood ratio the people to come may differ from those in the data.

    Examples
    --------
    >>> Estimation().estimator
    'paired'
    """

    estimator: str = "paired"
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    largest_weight: float = np.inf
    outcome_model: Any = None
    finite_sample: bool = False
    Lambda: float = 1.0
    shift: float = 1.0

    @property
    def impact_estimator(self) -> ImpactEstimator:
        """The estimator of impact; raise if there is none of that name."""
        return get_impact_estimator(self.estimator)

    @property
    def propensity_floor(self) -> float | None:
        """The declared smallest propensity."""
        return 1 / self.largest_weight if np.isfinite(self.largest_weight) else None


def declared_estimation(data: LoggedData, parameters: Mapping[str, Any]) -> Estimation:
    """How impacts are estimated, by the parameters of an estimator or of `certify`; raise if the
    data contradict a declaration.
    """
    _check_unseen(data, parameters)
    bound = parameters["bound"]
    finite_sample = bound == AUTO or get_bound(bound).kind == "finite-sample"
    return Estimation(
        parameters["estimator"],
        _ranges(data, parameters["impact_range"]),
        _largest_weight(data, parameters.get("propensity_floor")),  # a regressor has none
        parameters.get("outcome_model"),
        finite_sample,
        float(parameters.get("Lambda", 1.0)),  # nor this: there, propensities are densities
        float(parameters.get("shift", 1.0)),
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
        if name == COST and data.person_cost is not None:
            ranges[COST] = (low, high)
            check_person_cost(data.person_cost, low, high)
            continue
        values = data.impact(data.impact_key(name))
        hidden = np.isnan(values)  # held-out impacts are hidden before the test
        seen = values[~hidden]
        outside = ~((seen >= low) & (seen <= high))
        if outside.any():
            measured = seen_of(Impact(data.impact_key(name)), data)
            rows = "candidate rows" if (hidden & measured).any() else "rows"
            raise DataError(
                f"impact '{name}' leaves its declared range [{low:g}, {high:g}] in "
                f"{outside.sum():,} of {seen.size:,} {rows} (it goes from {seen.min():g} to "
                f"{seen.max():g}).",
                hint="the declaration is wrong: widen the range to all possible values.",
            )
        ranges[data.impact_key(name)] = (low, high)
    return ranges


def _check_unseen(data: LoggedData, parameters: Mapping[str, Any]) -> None:
    """Raise if what was declared about missing impacts needs something else."""
    if data.unseen is None:
        return
    name, estimator = next(iter(data.unseen.seen)), parameters["estimator"]
    if estimator in ESTIMATORS and ESTIMATORS[estimator].replaces_logged:
        raise DataError(
            f"impact '{name}' is missing in {data.unseen.count(name):,} of {data.n:,} rows; "
            f"estimator='{estimator}' needs every impact.",
            hint="use estimator='auto'.",
        )
    if data.unseen.how == "worst case" and data.decision_kind == "numbers":
        raise DataError(
            "missing_impact='worst case' needs decisions that are classes; here they are numbers.",
            hint="declare missing_impact='at random', if that is so.",
        )
    declared = parameters["impact_range"]
    known = {*map(data.impact_key, declared)} if isinstance(declared, Mapping) else {*data.impacts}
    if data.unseen.how == "worst case" and (
        left := [each for each in data.unseen.seen if declared is None or each not in known]
    ):
        raise DataError(
            f"missing_impact='worst case' needs the range of impact '{left[0]}'.",
            hint="declare impact_range=(low, high), which no impact can leave.",
        )


def _largest_weight(data: LoggedData, floor: float | None) -> float:
    if floor is None:
        return np.inf
    known = [p for p in (data.propensity, data.behavior) if p is not None]
    for probabilities in known:
        # 1 - 0.9 is below 0.1 only by rounding.
        under = ~(probabilities >= floor * (1 - ROUNDING)) & (probabilities > 0)
        if under.any():
            raise DataError(
                f"propensity_floor is {floor:g}, but {under.sum()} behaviour probabilities are "
                f"below it; the smallest is {probabilities[under].min():g}.",
                hint="the declaration is wrong: declare the smallest probability that can occur.",
            )
    return 1 / floor
