"""What a certificate assumes and what it warns about, each with a code that programs can test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from elfair.records.text import plural

if TYPE_CHECKING:
    from elfair.certificate.parts import Provenance

Status = Literal["checked", "assumed", "violated"]
#: How people read each status.
SHOWN_STATUS: dict[Status, str] = {
    "checked": "checked",
    "assumed": "assumed, not checked",
    "violated": "violated",
}

AssumptionCode = Literal[
    "opened_once",
    "halves_independent",
    "stable_search",
    "tau_known",
    "mean_weight",
    "propensities_fit",
    "support",
    "unconfounded",
    "behavior_estimated",
    "missing_at_random",
    "followed_up",
    "same_effect",
    "no_interference",
    "behavior_spread",
    "label_known",
    "label_revealed",
    "cost_matrix",
    "person_cost",
    "rows_independent",
    "same_population",
    "nothing_else",
    "decisions_sampled",
    "decisions_by_rule",
    "impact_range",
    "propensity_floor",
    "normal_average",
    "scorer_not_fitted",
    "left_out_alike",
]


#: The assumptions that data or settings can show to be violated.
REFUTABLE: tuple[AssumptionCode, ...] = (
    "opened_once",
    "halves_independent",
    "tau_known",
    "mean_weight",
    "normal_average",
)


class Words(NamedTuple):
    """How an assumption is put: in short, as a certificate states it, and in plain words."""

    name: str
    statement: str
    plain: str


#: The words of each assumption: its name, its statement, and for readers who are not
#: statisticians the same in plain words.
ASSUMPTIONS: dict[AssumptionCode, Words] = {
    "opened_once": Words(
        "held-out rows opened once",
        "These held-out rows were not tested before, or every look was declared before the first "
        "and has its share of delta. Trying again until a model passes voids the stated "
        "confidence.",
        "Nobody tried again on the same rows until a model passed. Further looks are fine only if "
        "they were declared before the first.",
    ),
    "halves_independent": Words(
        "halves independent",
        "Held-out rows are independent of the model.",
        "The rows of the test played no part in making the model.",
    ),
    "stable_search": Words(
        "stable search",
        "A single row hardly changes the model that the search finds, so the average over folds "
        "is close to normal, with at most twice the variance of independent rows.",
        "One person more or less in the data would hardly change the model.",
    ),
    "tau_known": Words(
        "tau is known",
        "The average impact in the data, held-out rows included, is the true impact of the "
        "behaviour model.",
        "The average in the data is taken for the old model's true impact.",
    ),
    "mean_weight": Words(
        "mean weight near 1",
        "The logged propensities are the probabilities of the logged decisions (not of a fixed "
        "class): the mean importance weight of each group is 1.",
        "The old model's probabilities are the ones it really decided with. If so, the importance "
        "weights of each group average 1.",
    ),
    "propensities_fit": Words(
        "propensities fit the decisions",
        "Decisions were drawn with the logged probabilities, given the features.",
        "Decisions were drawn with the logged probabilities: each decision was taken as often, "
        "and for the same people, as these say.",
    ),
    "support": Words(
        "support",
        "Every decision that the new model can take was possible under the behaviour model.",
        "Every decision that the new model can take was possible under the old one.",
    ),
    "unconfounded": Words(
        "decisions unconfounded",
        "Given everything that the propensity accounts for, the logged decision was drawn "
        "independently of the label and of what would have happened.",
        "Nothing outside the data influenced both the decision and its impact. If decisions used "
        "the group, the propensity must account for it.",
    ),
    "behavior_estimated": Words(
        "estimated behaviour model right",
        "Propensities were not logged. The behaviour model that candidate rows teach has the right "
        "form: with more and more of them, it would come to the probabilities with which decisions "
        "were taken, given features and groups; or the outcome model would come to the impact to "
        "expect of each decision.",
        "How likely each decision was, given what is in the table, was estimated, and the kind of "
        "model that was used for it can describe how people really decided.",
    ),
    "missing_at_random": Words(
        "impacts missing at random",
        "Given features, groups, the decision and the early outcomes, whether an impact was seen "
        "has nothing to do with what it is. The probability of being seen is estimated: it, or the "
        "impact to expect, is estimated well.",
        "Among people who are alike in all that is known of everyone, those whose impact is "
        "missing fared like those whose impact was seen.",
    ),
    "followed_up": Words(
        "follow-up drawn at random",
        "Whom to follow up was drawn with the declared probabilities, whatever the impact, and the "
        "impact of everyone who was drawn was seen.",
        "A lottery chose whom to follow up, with the declared chances, and nobody who was chosen "
        "dropped out.",
    ),
    "same_effect": Words(
        "same effect",
        "The impact of a decision depends on the decision, not on which model took it.",
        "A decision has the same effect whichever model takes it.",
    ),
    "no_interference": Words(
        "no interference",
        "One person's decision does not change another's impact, and no fixed budget makes "
        "decisions compete.",
        "One person's decision does not change what happens to another. A fixed budget breaks "
        "this: what one person gets, another does not.",
    ),
    "behavior_spread": Words(
        "behaviour spread",
        "The behaviour model's decisions reach as far out as a normal distribution of the "
        "declared spread, so each person's importance weights are bounded.",
        "The old decisions varied as widely as declared.",
    ),
    "label_known": Words(
        "label known for everyone",
        "The label is known for every row, not only for people who were approved.",
        "The label is known also for people who were turned down.",
    ),
    "label_revealed": Words(
        "label seen with some decisions",
        "The label is seen exactly where the decision was one of those declared. Given everything "
        "that the propensity accounts for, that decision had nothing to do with the label.",
        "Whether a label is known depends only on the decision, and people with such a decision "
        "are like others who are alike in all that the decision used.",
    ),
    "cost_matrix": Words(
        "cost matrix",
        "A decision costs what was declared.",
        "A decision costs what was declared.",
    ),
    "person_cost": Words(
        "costs for each person",
        "A decision costs each person what the columns of costs say.",
        "A decision costs each person what the table says.",
    ),
    "rows_independent": Words(
        "rows independent, one row per person",
        "Rows are independent draws, and nobody appears twice.",
        "Nobody is in the data twice. Repeated people make the data look larger than they are.",
    ),
    "same_population": Words(
        "same population",
        "Future decisions are about people from the population of the data.",
        "Future people are like those in the data. Delayed impact takes years to measure, so this "
        "is the assumption to worry about.",
    ),
    "nothing_else": Words(
        "nothing else saw the held-out rows",
        "No scaler, feature choice or parameter search before this test used them.",
        "No scaler, feature choice or parameter search was fitted on all rows beforehand.",
    ),
    "decisions_sampled": Words(
        "decisions are sampled",
        "Decisions are drawn from the certified policy. Its most likely decision, or its mean, is "
        "a different model.",
        "Decisions are drawn with the certified probabilities. Always taking the most likely "
        "decision is a different model, which is not certified.",
    ),
    "decisions_by_rule": Words(
        "decisions follow the tested rule",
        "Each decision is the one that was tested, by the same rule. Another cut-off, or drawing "
        "decisions from the scores, is a different model.",
        "Everyone gets the decision of the rule that was tested, with the same cut-off.",
    ),
    "impact_range": Words(
        "impact range",
        "No impact, logged or future, is outside the declared range.",
        "No impact, past or future, lies outside the declared range.",
    ),
    "propensity_floor": Words(
        "propensity floor",
        "The behaviour model took no decision with less than the declared probability.",
        "The old model took no decision with less than the declared probability.",
    ),
    "normal_average": Words(
        "normal average",
        "The average of the held-out rows is close to normally distributed, and no impact is far "
        "outside the range that rows show.",
        "There are enough rows for their average to follow a bell curve, and nothing far worse "
        "than anything seen happens now and then.",
    ),
    "scorer_not_fitted": Words(
        "scorer not fitted to held-out rows",
        "The scorer was not fitted to the held-out rows.",
        "A scorer that was fitted beforehand learnt nothing from the rows of the test.",
    ),
    "left_out_alike": Words(
        "rows left out are like the others",
        "In each group, rows were left out for reasons unrelated to the decision and its impact.",
        "People who were left out, for example because their impact was never measured, fared "
        "like the others in their group.",
    ),
}


@dataclass(frozen=True)
class Assumption:
    """Something that the stated confidence rests on.

    Parameters
    ----------
    code : str
        Which assumption, for programs.
    statement : str
        The assumption, in a sentence.
    status : {"checked", "assumed", "violated"}
        Whether the data agree with it, nothing was checked, or it does not hold.
    evidence : str
        What the data show; empty if nothing.

    Examples
    --------
    >>> Assumption.of("support", "assumed").name
    'support'
    """

    code: AssumptionCode
    statement: str
    status: Status
    evidence: str

    @classmethod
    def of(cls, code: AssumptionCode, status: Status, evidence: str = "") -> Assumption:
        """The assumption of a code, in the words that belong to it."""
        assert status != "violated" or code in REFUTABLE
        return cls(code, ASSUMPTIONS[code].statement, status, evidence)

    @property
    def name(self) -> str:
        """A short name, for people."""
        return ASSUMPTIONS[self.code].name


WarningCode = Literal[
    "decisions_unseen",
    "variance_hidden",
    "few_beyond_point",
    "few_effective_rows",
    "few_held_out_rows",
    "few_candidate_rows",
    "people_not_named",
    "behavior_model",
    "fitted_outside",
    "assumption_violated",
]


def are_violated(assumptions: Sequence[Assumption]) -> str:
    """That some assumptions do not hold, and which.

    Examples
    --------
    >>> are_violated([Assumption.of("tau_known", "violated")])
    'an assumption is violated (tau is known)'
    """
    names = "; ".join(each.name for each in assumptions)
    count = len(assumptions)
    return f"{'an assumption is' if count == 1 else f'{count} assumptions are'} violated ({names})"


@dataclass(frozen=True)
class WarningRecord:
    """Something that a reader must not overlook.

    Parameters
    ----------
    code : str
        What it is about, for programs.
    text : str
        The warning, in a sentence without its full stop.
    condition : str or None
        Which group it is about; None if it is not about one group.
    """

    code: WarningCode
    text: str
    condition: str | None = None

    def __str__(self) -> str:
        return self.text


#: A model that takes a smaller share of decisions otherwise is practically the old one.
HARDLY_NEW = 0.01


def hardly_new(moved: float) -> WarningRecord | None:
    """The warning about a model that changes next to nothing; None if it does change something.

    Parameters
    ----------
    moved : float
        The share of decisions that it takes otherwise than the old model.

    Examples
    --------
    >>> hardly_new(0.004).text
    'the model is practically the old model: it takes 0.4% of decisions otherwise'
    >>> hardly_new(0.04)
    """
    if moved >= HARDLY_NEW:
        return None
    share = f"{moved:.1%} of" if moved >= 0.0005 else "hardly any"
    text = f"the model is practically the old model: it takes {share} decisions otherwise"
    return WarningRecord("behavior_model", text)


def fitted_outside(assumptions: Iterable[Assumption]) -> list[str]:
    """What the fit saw of things fitted outside the seal; empty if nothing."""
    return [each.evidence for each in assumptions if each.code == "nothing_else" and each.evidence]


def outside_warning(evidence: str) -> WarningRecord:
    """The warning about what was fitted outside the seal.

    Examples
    --------
    >>> outside_warning("fitted outside the seal: step 'scale'").text
    "fitted outside the seal: step 'scale'. The promise does not allow for what that learnt of
    held-out rows"
    """
    text = f"{evidence}. The promise does not allow for what that learnt of held-out rows"
    return WarningRecord("fitted_outside", text)


def violation(assumption: Assumption) -> WarningRecord:
    """The warning about an assumption that does not hold."""
    return WarningRecord(
        "assumption_violated", f"assumption violated: {assumption.name} ({assumption.evidence})"
    )


def opened_once(openings: int, looks: int = 1) -> Assumption:
    """That held-out rows were opened as often as was declared before the first look.

    Parameters
    ----------
    openings : int
        Which look at these rows it was, from 1.
    looks : int
        How many were declared.

    Examples
    --------
    >>> opened_once(2, looks=3).evidence
    'look 2 of 3, as declared before the first'
    >>> opened_once(2).status
    'violated'
    """
    evidence = f"opened {plural(openings, 'time')}"
    if openings > looks:
        evidence += (
            f", and {plural(looks, 'look')} declared before the first; on new rows, "
            f"looks={openings} declares {openings} in advance, each at its share of delta"
        )
    elif looks > 1:
        evidence = f"look {openings} of {looks}, as declared before the first"
    return Assumption.of("opened_once", "checked" if openings <= looks else "violated", evidence)


def left_out_alike(provenance: Provenance) -> Assumption:
    """That rows which were left out are like the others."""
    if all(each.n for each in provenance.left_out) and provenance.rows_read:
        total = sum(each.n for each in provenance.left_out)
        evidence = f"{total:,} of {provenance.rows_read:,} rows were left out"
    else:  # too few to say how many
        evidence = "some rows were left out"
    return Assumption.of("left_out_alike", "assumed", evidence)
