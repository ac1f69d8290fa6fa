"""What a certificate assumes and what it warns about, each with a code that programs can test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from elfair.records.text import plural

if TYPE_CHECKING:
    from elfair.certificate.results import Provenance

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
    "same_effect",
    "no_interference",
    "behavior_spread",
    "label_known",
    "cost_matrix",
    "rows_independent",
    "same_population",
    "nothing_else",
    "decisions_sampled",
    "impact_range",
    "propensity_floor",
    "normal_average",
    "scorer_not_fitted",
    "left_out_alike",
]

#: The name and the statement of each assumption.
TEXTS: dict[AssumptionCode, tuple[str, str]] = {
    "opened_once": (
        "held-out rows opened once",
        "These held-out rows were not tested before. Trying again until a model passes voids the "
        "stated confidence.",
    ),
    "halves_independent": (
        "halves independent",
        "Held-out rows are independent of the model.",
    ),
    "stable_search": (
        "stable search",
        "A single row hardly changes the model that the search finds, so the average over folds "
        "is close to normal, with at most twice the variance of independent rows.",
    ),
    "tau_known": (
        "tau is known",
        "The average impact in the data, held-out rows included, is the true impact of the "
        "behaviour model.",
    ),
    "mean_weight": (
        "mean weight near 1",
        "The logged propensities are the probabilities of the logged decisions (not of a fixed "
        "class): the mean importance weight of each group is 1.",
    ),
    "propensities_fit": (
        "propensities fit the decisions",
        "Decisions were drawn with the logged probabilities, given the features.",
    ),
    "support": (
        "support",
        "Every decision that the new model can take was possible under the behaviour model.",
    ),
    "unconfounded": (
        "decisions unconfounded",
        "Given everything that the propensity accounts for, the logged decision was drawn "
        "independently of the label and of what would have happened.",
    ),
    "same_effect": (
        "same effect",
        "The impact of a decision depends on the decision, not on which model took it.",
    ),
    "no_interference": (
        "no interference",
        "One person's decision does not change another's impact, and no fixed budget makes "
        "decisions compete.",
    ),
    "behavior_spread": (
        "behaviour spread",
        "The behaviour model's decisions reach as far out as a normal distribution of the declared "
        "spread, so each person's importance weights are bounded.",
    ),
    "label_known": (
        "label known for everyone",
        "The label is known for every row, not only for people who were approved.",
    ),
    "cost_matrix": ("cost matrix", "A decision costs what was declared."),
    "rows_independent": (
        "rows independent, one row a person",
        "Rows are independent draws, and nobody appears twice.",
    ),
    "same_population": (
        "same population",
        "Future decisions are about people from the population of the data.",
    ),
    "nothing_else": (
        "nothing else saw the held-out rows",
        "No scaler, feature choice or parameter search before this test used them.",
    ),
    "decisions_sampled": (
        "decisions are sampled",
        "Decisions are drawn from the certified policy. Its most likely decision, or its mean, is "
        "a different model.",
    ),
    "impact_range": (
        "impact range",
        "No impact, logged or future, is outside the declared range.",
    ),
    "propensity_floor": (
        "propensity floor",
        "The behaviour model took no decision with less than the declared probability.",
    ),
    "normal_average": (
        "normal average",
        "The average of the held-out rows is close to normally distributed.",
    ),
    "scorer_not_fitted": (
        "scorer not fitted to held-out rows",
        "The scorer was not fitted to the held-out rows.",
    ),
    "left_out_alike": (
        "rows left out are like the others",
        "In each group, rows were left out for reasons unrelated to the decision and its impact.",
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
        return cls(code, TEXTS[code][1], status, evidence)

    @property
    def name(self) -> str:
        """A short name, for people."""
        return TEXTS[self.code][0]


WarningCode = Literal[
    "decisions_unseen",
    "variance_hidden",
    "few_beyond_point",
    "few_effective_rows",
    "few_held_out_rows",
    "few_candidate_rows",
    "value_missing",
    "behavior_model",
    "assumption_violated",
]


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


#: The warning about a model that changes nothing.
BEHAVIOR_MODEL = WarningRecord(
    "behavior_model", "the model is the behaviour model itself: nothing changes for anyone"
)


def violation(assumption: Assumption) -> WarningRecord:
    """The warning about an assumption that does not hold."""
    return WarningRecord(
        "assumption_violated", f"assumption violated: {assumption.name} ({assumption.evidence})"
    )


def opened_once(openings: int) -> Assumption:
    """That held-out rows were opened once, given how often they were."""
    return Assumption.of(
        "opened_once",
        "checked" if openings == 1 else "violated",
        f"opened {plural(openings, 'time')}",
    )


def left_out_alike(provenance: Provenance) -> Assumption:
    """That rows which were left out are like the others."""
    total = sum(each.n for each in provenance.left_out)
    evidence = f"{total} of {provenance.rows_read} rows were left out"
    return Assumption.of("left_out_alike", "assumed", evidence)
