"""What a certificate rests on: each assumption checked, declared, or violated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elfair.certificate import Assumption, GroupRecord, Status, opened_once
from elfair.data import ContinuousData, LoggedData
from elfair.fairness_test.diagnostics import SEEN_SHARE
from elfair.fairness_test.sealed import SHARED_ROWS
from elfair.language import uses_label
from elfair.statistics import asks_for_cost
from elfair.statistics.plan import Plan

#: A mean weight this many standard errors from 1 says that the propensities are wrong.
WEIGHT_ERRORS = 4.0
#: The name of the assumption that this tests.
MEAN_WEIGHT = "mean weight near 1"
#: The name of another one, which does not depend on the new model.
PROPENSITIES_FIT = "propensities fit the decisions"
#: The name of one that is checked where the behaviour model's probabilities are all known.
SUPPORT = "support"
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
        if isinstance(data, ContinuousData):
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
    return Assumption(
        "cost matrix", "A decision costs what was declared.", "declared", "; ".join(costs)
    )


def of_ranges(ranges: Mapping[str, tuple[float, float]]) -> Assumption:
    """That impacts stay inside their declared ranges."""
    shown = ", ".join(f"{name} in [{a:g}, {b:g}]" for name, (a, b) in ranges.items())
    return Assumption(
        "impact range",
        "No impact, logged or to come, is outside the declared range.",
        "declared",
        f"{shown}; the data do not contradict it",
    )


def of_floor(floor: float) -> Assumption:
    """That no decision was rarer than declared."""
    return Assumption(
        "propensity floor",
        "The behaviour model took no decision with less than the declared probability.",
        "declared",
        f"{floor:g}; the data do not contradict it",
    )


def of_normality(groups: Sequence[GroupRecord], known: bool) -> Assumption:
    """That averages are close to normal.

    Where all behaviour probabilities are known, so is how much a weight varies: if too much for
    the average of so many rows, then the new model decides as hardly anybody was decided about.
    """
    rare = [g for g in groups if (g.mean_weight_error or 0.0) > LARGEST_ERROR]
    status: Status = "declared"
    evidence = f"the smallest group has {min((g.n for g in groups), default=0)} rows"
    if rare and known:
        status = "violated"
        worst = max(rare, key=lambda group: group.mean_weight_error or 0.0)
        evidence = (
            f"the new model takes decisions that hardly anybody got: the mean weight of "
            f"{worst.condition} is known to within {worst.mean_weight_error:.2g} only"
        )
    return Assumption(
        "normal average",
        "The average of the held-out rows is close to normally distributed.",
        status,
        f"{evidence}; a finite-sample bound does without",
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
        "none": ("declared", "the model is from elsewhere; nothing shows what it was made from"),
    }
    status, evidence = by_split[split]
    return Assumption(
        "halves independent", "Held-out rows are independent of the model.", status, evidence
    )


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
    return Assumption(
        MEAN_WEIGHT,
        "The logged propensities are those with which the logged decisions (not some class) were "
        "taken: the mean importance weight of each group is 1.",
        status,
        "; ".join(shown),
    )


def _fit(plan: Plan) -> list[Assumption]:
    """Decisions are drawn with their propensities: shares and features show it, whatever the new
    model is.
    """
    if plan.misfit is None:
        return []
    return [
        Assumption(
            PROPENSITIES_FIT,
            "Decisions were drawn with the logged probabilities, given the features.",
            "checked" if plan.misfit.is_chance else "violated",
            plan.misfit.evidence,
        )
    ]


def _support(known: bool) -> Assumption:
    return Assumption(
        SUPPORT,
        "Every decision that the new model can take was possible under the behaviour model.",
        "checked" if known else "declared",
        "the behaviour model's probability of every decision is known" if known else "",
    )


def _spread(data: ContinuousData) -> Assumption:
    smallest = 0.0 if data.behavior_spread is None else float(data.behavior_spread.min())
    return Assumption(
        "behaviour spread",
        "The behaviour model's decisions reach as far out as a normal distribution of the declared "
        "spread, so that the importance weights of each person have a bound.",
        "declared",
        f"the smallest spread is {smallest:g}; the new model spreads less",
    )


def of_people(known: bool) -> Assumption:
    """That rows are independent, by whether each has an identifier."""
    return Assumption(
        "rows independent, one row a person",
        "Rows are independent draws, and nobody appears twice.",
        "declared",
        "row ids are unique" if known else "",
    )


TAU = Assumption(
    "tau is known",
    "The average impact in the data is taken for the true impact of the behaviour model, held-out "
    "rows included.",
    "violated",
    "it is an estimate, and the bound ignores its error; estimator='paired' has none",
)

STABLE = Assumption(
    "stable search",
    "A single row hardly changes the model that the search finds, so that the average over folds "
    "is close to normal, with at most twice the variance of independent rows.",
    "declared",
    "the width of each bound allows for twice the variance",
)

OF_WEIGHTS = (
    Assumption(
        "decisions unconfounded",
        "Given everything that the propensity accounts for, the logged decision was drawn "
        "independently of the label and of what would have happened.",
        "declared",
        "",
    ),
    Assumption(
        "same effect",
        "The impact of a decision depends on the decision, not on which model took it.",
        "declared",
        "",
    ),
    Assumption(
        "no interference",
        "One person's decision does not change another's impact, and no fixed budget makes "
        "decisions compete.",
        "declared",
        "",
    ),
)

LABEL = Assumption(
    "label known for everyone",
    "The label is known for every row, and not only for those who were approved.",
    "declared",
    "",
)

ALWAYS = (
    Assumption(
        "same population",
        "The people to be decided about come from the population of the data.",
        "declared",
        "",
    ),
    Assumption(
        "nothing else saw the held-out rows",
        "No scaler, feature choice or parameter search before this test used them.",
        "declared",
        "",
    ),
    Assumption(
        "decisions are sampled",
        "Decisions are drawn from the certified policy; its likeliest decision, or its mean, is "
        "another model.",
        "declared",
        "",
    ),
)
