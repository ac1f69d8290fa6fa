"""What a certificate rests on: each assumption checked, assumed, or violated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elfair.certificate import Assumption, GroupRecord, Status, opened_once
from elfair.data import LoggedData
from elfair.fairness_test.diagnostics import SEEN_SHARE
from elfair.fairness_test.evidence import SHARED_ROWS
from elfair.language import uses_label
from elfair.statistics import asks_for_cost
from elfair.statistics.plan import Plan

#: A mean weight this many standard errors from 1 says that the propensities are wrong.
WEIGHT_ERRORS = 4.0
#: The standard error of a mean weight, known from the behaviour model, above which a few rows that
#: are not there may change everything.
LARGEST_ERROR = 0.25


def list_assumptions(
    plan: Plan,
    groups: Sequence[GroupRecord],
    data: LoggedData,
    *,
    split: str,
    openings: int,
) -> tuple[Assumption, ...]:
    """The assumptions of a test, in the order in which a reader should worry about them.

    Parameters
    ----------
    plan : Plan
        What was tested.
    groups : sequence of GroupRecord
        What was seen of whom it speaks of, statement by statement.
    data : LoggedData
        The rows that were tested.
    split : str
        How they were set apart.
    openings : int
        How often they had been opened in this process.
    """
    if not plan.claims:
        return ()  # nothing was promised
    weighted = any(group.mean_weight is not None for group in groups)
    means = [mean for claim in plan.claims for mean in claim.means]
    known = data.behavior is not None
    label = any(uses_label(mean) or asks_for_cost(mean, data) for mean in means)
    found = [opened_once(openings), of_split(split)]
    if split == "crossfit":
        found.append(STABLE)
    if plan.logged_averages:
        found.append(TAU)
    if weighted:
        found += [of_weights(groups, split, known), *_fit(plan), _support(known), *OF_WEIGHTS]
        if data.behavior_spread is not None:
            found.append(_spread(data))
    if label:
        found.append(LABEL)
    if any(asks_for_cost(mean, data) for mean in means):
        found.append(_costs(data))
    found.append(of_people(data.row_id is not None))
    found += ALWAYS
    estimation = plan.baselines.estimation
    if weighted and estimation.ranges:
        found.append(of_ranges(estimation.ranges))
    if weighted and estimation.largest_weight < float("inf"):
        found.append(of_floor(1 / estimation.largest_weight))
    if plan.bound.kind == "asymptotic":
        found.append(of_normality(groups, known))
    return tuple(found)


def _costs(data: LoggedData) -> Assumption:
    assert data.cost is not None
    costs = [
        f"{cost:g} for label {label} and decision {decision}"
        for label, line in zip(data.classes, data.cost, strict=True)
        for decision, cost in zip(data.classes, line, strict=True)
    ]
    return Assumption.of("cost_matrix", "assumed", "; ".join(costs))


def of_ranges(ranges: Mapping[str, tuple[float, float]]) -> Assumption:
    """That impacts stay inside their declared ranges."""
    shown = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, (a, b) in ranges.items())
    return Assumption.of("impact_range", "assumed", f"{shown}; the data do not contradict it")


def of_floor(floor: float) -> Assumption:
    """That no decision was rarer than declared."""
    return Assumption.of("propensity_floor", "assumed", f"{floor:g}; the data do not contradict it")


def of_normality(groups: Sequence[GroupRecord], known: bool) -> Assumption:
    """That averages are close to normal.

    Where all behaviour probabilities are known, so is how much a weight varies: if too much for
    the average of so many rows, the new model takes decisions almost absent from the log.
    """
    rare = [g for g in groups if (g.mean_weight_error or 0.0) > LARGEST_ERROR]
    status: Status = "assumed"
    evidence = f"the smallest group has {min((g.n for g in groups), default=0)} rows"
    if rare and known:
        status = "violated"
        worst = max(rare, key=lambda group: group.mean_weight_error or 0.0)
        evidence = (
            f"the new model takes decisions almost absent from the log: the mean weight of "
            f"{worst.condition} is known only to within {worst.mean_weight_error:.2g}"
        )
    return Assumption.of(
        "normal_average", status, f"{evidence}; a finite-sample bound does not need this"
    )


def of_split(split: str) -> Assumption:
    """That the tested rows had no part in the model."""
    by_split: dict[str, tuple[Status, str]] = {
        "random": ("checked", "a simple random split by seed and row"),
        "stratified": (
            "violated",
            "a stratified split ties the halves together; the bounds have no proof where a "
            "condition spans several strata",
        ),
        "crossfit": ("checked", "each fold was tested with a model found on the other folds"),
        "none": (
            "assumed",
            "the model was made elsewhere; nothing shows from which rows",
        ),
    }
    status, evidence = by_split[split]
    return Assumption.of("halves_independent", status, evidence)


def of_weights(groups: Sequence[GroupRecord], split: str, known: bool) -> Assumption:
    """E[w | group] = 1 when the propensities are right: the cheapest test of them.

    Where not all behaviour probabilities are known, a mean a little below 1 may be a rare decision
    that happens not to be among the rows. Folds whose models have seen
    each other's rows err together.
    """
    errors = WEIGHT_ERRORS * (SHARED_ROWS if split == "crossfit" else 1.0)
    shown: list[str] = []
    status: Status = "checked"
    # A condition may come with weights in one statement and without in another.
    weighted = {g.condition: g for g in groups if g.mean_weight is not None}
    for group in weighted.values():
        assert group.mean_weight is not None
        assert group.mean_weight_error is not None
        shown.append(f"{group.condition}: {group.mean_weight:.3f} +- {group.mean_weight_error:.3f}")
        # A policy equal to the behaviour model has weights of exactly 1, up to rounding.
        off = group.mean_weight - 1
        below = known or group.mean_weight < SEEN_SHARE
        off = abs(off) if below else off
        if off > errors * group.mean_weight_error + 1e-9:
            status = "violated"
    return Assumption.of("mean_weight", status, "; ".join(shown))


def _fit(plan: Plan) -> list[Assumption]:
    """Decisions are drawn with their propensities: shares and features show it, whatever the new
    model is.
    """
    if plan.misfit is None:
        return []
    return [Assumption.of("propensities_fit", "checked", plan.misfit.evidence)]


def _support(known: bool) -> Assumption:
    evidence = "the behaviour model's probability of every decision is known" if known else ""
    return Assumption.of("support", "checked" if known else "assumed", evidence)


def _spread(data: LoggedData) -> Assumption:
    smallest = 0.0 if data.behavior_spread is None else float(data.behavior_spread.min())
    return Assumption.of(
        "behavior_spread",
        "assumed",
        f"the smallest spread is {smallest:g}; the new model spreads less",
    )


def of_people(known: bool) -> Assumption:
    """That rows are independent, by whether each has an identifier."""
    return Assumption.of("rows_independent", "assumed", "row ids are unique" if known else "")


TAU = Assumption.of(
    "tau_known",
    "violated",
    "it is an estimate, and the bound ignores its error; estimator='paired' has none",
)
STABLE = Assumption.of(
    "stable_search", "assumed", "the width of each bound allows for twice the variance"
)
OF_WEIGHTS = (
    Assumption.of("unconfounded", "assumed"),
    Assumption.of("same_effect", "assumed"),
    Assumption.of("no_interference", "assumed"),
)
LABEL = Assumption.of("label_known", "assumed")
ALWAYS = (
    Assumption.of("same_population", "assumed"),
    Assumption.of("nothing_else", "assumed"),
    Assumption.of("decisions_sampled", "assumed"),
)
