"""What a test rests on: each assumption checked, assumed, or violated.

There is one list. It follows from a few facts, which a test in progress knows and which its
certificate states, so verification makes the same list again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from elfair.certificate import Assumption, GroupRecord, Kind, SplitKind, Status
from elfair.certificate.behavior import BehaviorRecord
from elfair.certificate.codes import AssumptionCode, opened_once
from elfair.certificate.people import RevealedRecord, UnitsRecord, UnseenRecord
from elfair.data import LoggedData
from elfair.data.costs import CostOf
from elfair.data.times import period_of
from elfair.fairness_test.evidence import SHARED_ROWS
from elfair.language.conditions import uses_label
from elfair.statistics import asks_for_cost
from elfair.statistics.plan import Plan

#: A mean weight this many standard errors from 1 says that the propensities are wrong.
WEIGHT_ERRORS = 4.0
#: Where not all behaviour probabilities are known, a mean weight below 1 says nothing unless it is
#: below this, and of so many rows: a decision of one in 20 is then almost certainly among them.
SEEN_SHARE = 0.9
SHOWN_ROWS = 200
#: The standard error of a mean weight, known from the behaviour model, above which a few rows that
#: are not there may change everything.
LARGEST_ERROR = 0.25
#: Settings violate these, whatever the rows are.
BY_SETTINGS: tuple[AssumptionCode, ...] = ("halves_independent", "tau_known")


@dataclass(frozen=True)
class Facts:
    """What the assumptions of a test follow from.

    Parameters
    ----------
    kind : {"finite-sample", "asymptotic"} or None
        The weakest kind of bound; None if nothing was tested.
    guarded : bool
        Whether every asymptotic bound allows for what rows happen not to show.
    split : {"random", "stratified", "crossfit", "none"}
        How the rows were divided.
    openings, looks : int
        Which look at these rows it was, and how many were declared before the first.
    groups : sequence of GroupRecord
        The held-out rows that each statement is about.
    behavior_known : bool
        Whether the behaviour model's probability of every decision is known.
    logged_averages : bool
        Whether averages of the data stand for the behaviour model's true impact.
    label, costs : bool
        Whether a statement is about the label, or about the declared costs of decisions.
    row_id : bool
        Whether rows have identifiers, which are unique.
    units : UnitsRecord or None
        The units that rows belong to.
    ranges : mapping of str to (float, float)
        The declared range of each impact that has one.
    floor : float or None
        The declared smallest propensity.
    Lambda : float
        Up to which odds ratio of confounding statements were tested.
    shift : float
        Up to which likelihood ratio of a change of people they were.
    shown : mapping of str to str
        The evidence that only rows and models can show, by the code of the assumption.
    unseen : str or None
        What is assumed of impacts that were not seen for everyone, by its code; None if nothing.
    behavior : BehaviorRecord or None
        How propensities were estimated; None if they are known.
    revealed : bool
        Whether labels were seen only for some decisions.
    deployed : str
        How a model from elsewhere decides, if it draws nothing.
    person_cost : {"decision", "error"} or None
        What the columns of each person's costs are about, if there are any.
    """

    kind: Kind | None
    guarded: bool
    split: SplitKind
    openings: int
    looks: int
    groups: Sequence[GroupRecord]
    behavior_known: bool
    logged_averages: bool
    label: bool
    costs: bool
    row_id: bool
    units: UnitsRecord | None
    ranges: Mapping[str, tuple[float, float]]
    floor: float | None
    Lambda: float
    shift: float
    shown: Mapping[AssumptionCode, str]
    unseen: AssumptionCode | None = None
    behavior: BehaviorRecord | None = None
    revealed: bool = False
    deployed: str = ""
    person_cost: CostOf | None = None

    @property
    def asks_for_label(self) -> bool:
        """Whether some statement depends on the label: by itself, or by a cost that does."""
        return self.label or (self.costs and self.person_cost != "decision")

    @property
    def label_weighted(self) -> bool:
        """Whether some statement weighs labels that only some decisions reveal."""
        return self.revealed and self.asks_for_label

    @property
    def weighted(self) -> bool:
        """Whether importance weights enter any statement."""
        return any(group.mean_weight is not None for group in self.groups)


def list_assumptions(facts: Facts) -> tuple[Assumption, ...]:
    """The assumptions of a test, in the order in which a reader should worry about them."""
    return tuple(_listed(facts)) if facts.kind is not None else ()


def _listed(facts: Facts) -> Iterator[Assumption]:
    yield opened_once(facts.openings, facts.looks)
    yield _halves(facts.split, facts.shown.get("halves_independent", ""))
    if facts.split == "crossfit":
        evidence = "the width of each bound allows for twice the variance"
        yield Assumption.of("stable_search", "assumed", evidence)
    if facts.logged_averages:
        evidence = "it is an estimate, and the bound ignores its error; estimator='paired' has none"
        yield Assumption.of("tau_known", "violated", evidence)
    if facts.weighted:
        yield _mean_weight(facts)
    if facts.weighted or facts.label_weighted:
        if facts.behavior_known or "propensities_fit" in facts.shown:
            yield Assumption.of(
                "propensities_fit", "checked", facts.shown.get("propensities_fit", "")
            )
        yield _support(facts.behavior_known, facts.behavior)
        yield _unconfounded(facts.Lambda)
        if facts.behavior is not None:
            yield _estimated(facts.behavior)
    if facts.weighted:
        yield Assumption.of("same_effect", "assumed")
        yield Assumption.of("no_interference", "assumed")
        if facts.unseen:
            yield Assumption.of(facts.unseen, "assumed", facts.shown.get(facts.unseen, ""))
        if "behavior_spread" in facts.shown:
            yield Assumption.of("behavior_spread", "assumed", facts.shown["behavior_spread"])
    if facts.asks_for_label:
        code: AssumptionCode = "label_revealed" if facts.revealed else "label_known"
        yield Assumption.of(code, "assumed", facts.shown.get(code, ""))
    if facts.costs:
        told: AssumptionCode = "person_cost" if facts.person_cost else "cost_matrix"
        yield Assumption.of(told, "assumed", facts.shown.get(told, ""))
    yield Assumption.of("rows_independent", "assumed", _independence(facts))
    yield _same_population(facts.shift, facts.split)
    yield Assumption.of("nothing_else", "assumed", facts.shown.get("nothing_else", ""))
    if facts.deployed:
        yield Assumption.of("decisions_by_rule", "assumed", facts.deployed)
    else:
        yield Assumption.of("decisions_sampled", "assumed")
    if facts.ranges and (facts.weighted or (facts.costs and facts.person_cost)):
        known = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, (a, b) in facts.ranges.items())
        yield Assumption.of("impact_range", "assumed", f"{known}; the data do not contradict it")
    if (facts.weighted or facts.label_weighted) and facts.floor is not None:
        evidence = f"{facts.floor:g}; the data do not contradict it"
        yield Assumption.of("propensity_floor", "assumed", evidence)
    if facts.kind == "asymptotic":
        yield _normal_average(facts)
    if "scorer_not_fitted" in facts.shown:
        yield Assumption.of("scorer_not_fitted", "assumed", facts.shown["scorer_not_fitted"])


def _independence(facts: Facts) -> str:
    """What makes it likely that no two observations are of one person."""
    if facts.units is None:
        return "row ids are unique" if facts.row_id else ""
    units = facts.units
    return (
        f"of the {units.n:,} units (not of the rows): no split divides a unit, bounds count units, "
        f"and statements are about {units.about}"
    )


def assumed_of_unseen(unseen: Sequence[UnseenRecord]) -> AssumptionCode | None:
    """What is assumed of impacts that were not seen for everyone; nothing, in the worst case.

    Examples
    --------
    >>> assumed_of_unseen([UnseenRecord("income", "at random", (), "estimated", 9, 2, ())])
    'missing_at_random'
    """
    drawn: dict[str, AssumptionCode] = {
        "estimated": "missing_at_random",
        "declared": "followed_up",
    }
    return drawn.get(unseen[0].follow_up) if unseen else None


def _halves(split: SplitKind, by_time: str) -> Assumption:
    by_split: dict[SplitKind, tuple[Status, str]] = {
        "random": ("checked", "a simple random split by seed and row"),
        "time": ("checked", by_time),
        "stratified": (
            "violated",
            "a stratified split ties the halves together; the bounds have no proof where a "
            "condition spans several strata",
        ),
        "crossfit": ("checked", "each fold was tested with a model found on the other folds"),
        "continued": ("checked", "all tested rows came after the models"),
        "none": ("assumed", "the model was made elsewhere; nothing shows from which rows"),
    }
    return Assumption.of("halves_independent", *by_split[split])


def _mean_weight(facts: Facts) -> Assumption:
    """E[w | group] = 1 when the propensities are right: the cheapest test of them.

    Folds whose models have seen each other's rows err together.
    """
    errors = WEIGHT_ERRORS * (SHARED_ROWS if facts.split == "crossfit" else 1.0)
    # A condition may come with weights in one statement and without in another.
    weighted = {each.condition: each for each in facts.groups if each.mean_weight is not None}
    wrong = any(is_off(each, errors, known=facts.behavior_known) for each in weighted.values())
    shown = [
        f"{name}: {each.mean_weight:.3f} +- {each.mean_weight_error:.3f}"
        for name, each in weighted.items()
    ]
    return Assumption.of("mean_weight", "violated" if wrong else "checked", "; ".join(shown))


def is_off(group: GroupRecord, errors: float, *, known: bool) -> bool:
    """Whether the mean weight of a group is too far from 1 for chance.

    Where not all behaviour probabilities are known, nobody knows how much weights vary, either, and
    a rare decision that happens not to be among the rows changes both their mean and their spread.
    So one more row counts that speaks for chance: of weight 0 if the mean is above 1, and of twice
    the largest weight if it is below. A mean a little below 1, or in few rows, says nothing then.

    Parameters
    ----------
    group : GroupRecord
        The group.
    errors : float
        How many standard errors chance explains.
    known : bool
        Whether all behaviour probabilities are known.

    Examples
    --------
    >>> is_off(GroupRecord("everyone", 400, 350.0, 0.5, 0.05, 1.1), 4.0, known=False)
    True
    """
    n, mean, error = group.n, group.mean_weight, group.mean_weight_error
    assert mean is not None
    assert error is not None
    assert group.max_weight is not None
    side = 1 if mean > 1 else -1
    if not known:
        if side < 0 and (mean > SEEN_SHARE or n < SHOWN_ROWS):
            return False
        away = mean - (0.0 if side > 0 else 2 * group.max_weight)
        mean -= away / (n + 1)
        error = sqrt((error**2 * (n - 1) + away**2 / (n + 1)) / (n + 1))
    # A policy equal to the behaviour model has weights of exactly 1, up to rounding.
    return side * (mean - 1) > errors * error + 1e-9


def _support(known: bool, estimated: BehaviorRecord | None) -> Assumption:
    if not known:
        return Assumption.of("support", "assumed")
    if estimated is not None:
        least = min((each.smallest for each in estimated.calibration), default=0.0)
        evidence = f"the smallest estimated probability of a decision is {least:.3g}"
        return Assumption.of("support", "checked", evidence)
    evidence = "the behaviour model's probability of every decision is known"
    return Assumption.of("support", "checked", evidence)


def _estimated(of: BehaviorRecord) -> Assumption:
    """That the estimated behaviour model is right."""
    shown = f"{of.form}; bounds allow for the luck of the rows that it was learnt from"
    return Assumption.of("behavior_estimated", "assumed", f"{shown}; {of.about}".rstrip("; "))


def _unconfounded(Lambda: float) -> Assumption:
    """That nothing outside the data swayed decisions, or not by more than was asked for."""
    allowed = (
        f"allowed for: odds of a decision up to {Lambda:g} times those logged, or 1/{Lambda:g}"
    )
    return Assumption.of("unconfounded", "assumed", allowed if Lambda > 1 else "")


def _same_population(shift: float, split: SplitKind) -> Assumption:
    """That people stay as they are, or do not change by more than was asked for."""
    told = ["as in the most recent rows, which were tested"] if split == "time" else []
    if shift > 1:
        told.append(
            f"allowed for: among the people of a condition, any kind of person up to {shift:g} "
            f"times as frequent, or 1/{shift:g}"
        )
    return Assumption.of("same_population", "assumed", "; ".join(told))


def _normal_average(facts: Facts) -> Assumption:
    """That averages are close to normal.

    Where all behaviour probabilities are known, so is how much a weight varies: if too much for
    the average of so many rows, the new model takes decisions almost absent from the log.
    """
    worst = max(facts.groups, key=lambda group: group.mean_weight_error or 0.0, default=None)
    error = (worst.mean_weight_error if worst is not None else None) or 0.0
    status: Status = "assumed"
    fewest = min((group.n for group in facts.groups), default=0)
    evidence = (
        f"the smallest group has {fewest:,} rows: a loss that hits fewer than 1 person in "
        f"{max(fewest // 2, 1)} may well not be among them"
    )
    if worst is not None and not facts.guarded and facts.behavior_known and error > LARGEST_ERROR:
        status = "violated"
        evidence = (
            "the new model takes decisions almost absent from the log: the mean weight of "
            f"{worst.condition} is known only to within {error:.2g}"
        )
    evidence += "; a finite-sample bound does not need this"
    return Assumption.of("normal_average", status, evidence)


def facts_of_test(
    plan: Plan,
    groups: Sequence[GroupRecord],
    data: LoggedData,
    *,
    kind: Kind | None,
    guarded: bool,
    split: SplitKind,
    openings: int,
    looks: int,
    units: UnitsRecord | None,
    of_models: Sequence[Assumption] = (),
    unseen: Sequence[UnseenRecord] = (),
    behavior: BehaviorRecord | None = None,
    revealed: RevealedRecord | None = None,
    deployed: str = "",
) -> Facts:
    """The facts of a test that was just made, or is about to be.

    Parameters
    ----------
    plan : Plan
        What is tested.
    groups : sequence of GroupRecord
        The held-out rows that each statement is about.
    data : LoggedData
        The rows.
    kind, guarded, split, openings, looks, units
        See `Facts`.
    of_models : sequence of Assumption
        What the models rest on, beside what every test rests on.
    unseen : sequence of UnseenRecord
        The impacts that were not seen for everyone.
    behavior : BehaviorRecord, optional
        How propensities were estimated.
    revealed : RevealedRecord, optional
        Labels that were seen only for some decisions.
    deployed : str
        See `Facts`.
    """
    means = [mean for claim in plan.claims for mean in claim.means]
    costs = any(asks_for_cost(mean, data) for mean in means)
    estimation = plan.baselines.estimation
    shown = {each.code: each.evidence for each in of_models}
    if plan.misfit is not None:
        shown["propensities_fit"] = plan.misfit.evidence
    if data.behavior_spread is not None and data.n:  # without constraints no row is held out
        least = float(data.behavior_spread.min())
        shown["behavior_spread"] = f"the smallest spread is {least:g}; the new model spreads less"
    if split == "time" and data.n:
        shown["halves_independent"] = f"the most recent rows were held out: {period_of(data)}"
    if costs:
        shown["person_cost" if data.cost_of else "cost_matrix"] = _costs(data)
    if code := assumed_of_unseen(unseen):
        given = f"; early outcomes: {', '.join(unseen[0].early)}" if unseen[0].early else ""
        rows = [f"'{of.impact}' is missing in {of.missing:,} of {of.n:,} rows" for of in unseen]
        shown[code] = "; ".join(rows) + given
    if revealed is not None:
        shown["label_revealed"] = (
            f"seen in {revealed.seen:,} of {revealed.n:,} rows, with "
            f"{', '.join(revealed.decisions)}; the smallest probability of such a decision there "
            f"is {revealed.least:.3g}"
        )
    return Facts(
        kind=kind,
        guarded=guarded,
        split=split,
        openings=openings,
        looks=looks,
        groups=groups,
        behavior_known=data.behavior is not None,
        logged_averages=bool(plan.logged_averages),
        label=any(map(uses_label, means)),
        costs=costs,
        row_id=data.row_id is not None,
        units=units,
        ranges=estimation.ranges,
        floor=estimation.propensity_floor,
        Lambda=estimation.Lambda,
        shift=estimation.shift,
        shown=shown,
        unseen=assumed_of_unseen(unseen),
        behavior=behavior,
        revealed=revealed is not None,
        deployed=deployed,
        person_cost=data.cost_of,
    )


def _costs(data: LoggedData) -> str:
    if data.cost_of == "error":
        return "a column holds the cost of a wrong decision; a right one costs nothing"
    if data.cost_of == "decision":
        return f"a column for each decision: {', '.join(map(str, data.classes))}"
    assert data.cost is not None
    return "; ".join(
        f"{cost:g} for label {label} and decision {decision}"
        for label, line in zip(data.classes, data.cost, strict=True)
        for decision, cost in zip(data.classes, line, strict=True)
    )
