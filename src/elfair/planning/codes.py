"""What check can find in data and settings: a code for programs and a text for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elfair.data.propensities import MISFIT

Severity = Literal["error", "warning", "note"]
#: The worst first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

FindingCode = Literal[
    "refused", "empty_group", "group_too_small", "small_group", "propensities_misfit",
    "certain_decisions", "tiny_propensities", "few_effective_rows", "impact_missing",
    "impact_missing_unevenly", "constant_feature", "sensitive_feature_seen", "leak",
    "constant_impact", "constant_impact_in_group", "label_is_decision", "label_only_for_some",
    "repeated_rows", "identical_rows", "group_unknown", "people_not_covered", "no_bound",
    "too_few_rows", "out_of_reach", "assumption_violated", "no_constraints",
    "crossfit_not_forecast", "module_not_forecast", "search_not_forecast",
]  # fmt: skip

_MERGE = "merge groups, check how the condition spells its values, or collect more of them."
#: How bad each finding is, what it says, and what to do next.
TEXTS: dict[FindingCode, tuple[Severity, str, str]] = {
    "refused": ("error", "fit would refuse these data", ""),
    "empty_group": (
        "error",
        "no row meets {about}",
        "check how the condition spells its values.",
    ),
    "group_too_small": ("error", "group {about} is too small", _MERGE),
    "small_group": ("warning", "group {about} is small", _MERGE),
    "propensities_misfit": (
        "error",
        "the propensities do not fit the decisions: no bound computed with them means anything",
        MISFIT,
    ),
    "certain_decisions": (
        "note",
        "some decisions were certain",
        "draw decisions at random wherever that is acceptable.",
    ),
    "tiny_propensities": (
        "warning",
        "group {about} got decisions that were almost impossible",
        "log more exploration, or pass the fitted model as behavior, so the new model can stay "
        "close to it.",
    ),
    "few_effective_rows": (
        "warning",
        "a few people in group {about} would decide the result",
        "log more exploration, or ask for a model closer to the behaviour model.",
    ),
    "impact_missing": (
        "note",
        "rows without impact were left out",
        "this is harmless only if, in each group, they are missing for reasons unrelated to the "
        "decision and its impact.",
    ),
    "impact_missing_unevenly": (
        "warning",
        "whether the impact is missing depends on {about}",
        "find out why: if people without an impact fared differently, the other rows say nothing "
        "about them.",
    ),
    "constant_feature": ("note", "feature '{about}' is the same in all rows", "leave it out."),
    "sensitive_feature_seen": (
        "note",
        "the new model sees the sensitive feature '{about}'",
        "leave it out of the features if decisions must not depend on it.",
    ),
    "leak": (
        "warning",
        "feature '{about}' gives away what is known only later",
        "is it known when a decision is taken? If not, leave it out.",
    ),
    "constant_impact": (
        "error",
        "impact '{about}' is the same for everyone",
        "check that this is the right column: an impact that does not vary says nothing about any "
        "model.",
    ),
    "constant_impact_in_group": (
        "warning",
        "an impact is the same for everyone with {about}",
        "check that it was measured for them.",
    ),
    "label_is_decision": (
        "warning",
        "the label is the decision",
        "a label is the decision that would have been right; leave y out if it is not known.",
    ),
    "label_only_for_some": (
        "warning",
        "the label is the same for everyone with decision '{about}'",
        "if the label is known only for people with another decision, then accuracy and everything "
        "else that uses labels is about those people alone.",
    ),
    "repeated_rows": (
        "warning",
        "rows are repeated",
        "bounds need one row for each person: pass row_id, which finds repeated people.",
    ),
    "identical_rows": (
        "note",
        "some people cannot be told apart",
        "bounds need one row for each person: pass row_id, which finds repeated people.",
    ),
    "group_unknown": (
        "note",
        "'{about}' is missing for some people",
        "give them a group of their own if they are to be protected.",
    ),
    "people_not_covered": (
        "note",
        "no statement about an impact covers some of the people",
        "a group that is not named is not protected.",
    ),
    "no_bound": (
        "warning",
        "no bound is possible for {about}",
        "check that this is the right column and that it was measured; a finite-sample bound does "
        "not need rows that vary.",
    ),
    "too_few_rows": (
        "warning",
        "out of reach at this number of rows: {about}",
        "plan tells how many rows it may take; or loosen it.",
    ),
    "out_of_reach": (
        "warning",
        "out of reach at any number of rows: {about}",
        "loosen it, or give the model more features or a scorer.",
    ),
    "assumption_violated": (
        "warning",
        "assumption violated: {about}",
        "the stated confidence does not hold without it.",
    ),
    "no_constraints": (
        "warning",
        "nothing will be tested",
        "name what must hold, such as \"E[impact | race == 'A'] >= 0\".",
    ),
    "crossfit_not_forecast": (
        "note",
        "no forecast with split='crossfit'",
        "split='random' keeps candidate rows, which a forecast may use.",
    ),
    "module_not_forecast": (
        "note",
        "no forecast for a torch module",
        "check with scorer=None to see the forecast for a linear model.",
    ),
    "search_not_forecast": (
        "note",
        "the forecast uses the default search instead of {about}",
        "fit does what you asked for; what it finds may be a little better or worse.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """Something in the data or the settings that you should look at.

    Parameters
    ----------
    code : str
        Which finding, for programs.
    severity : {"error", "warning", "note"}
        An error makes the result worthless, or ``fit`` would refuse; a warning may.
    about : str
        The group, column or statement that it is about; empty if it is about none.
    what : str
        What is wrong, in a few words.
    evidence : str
        What the rows show.
    hint : str
        What to do next.

    Examples
    --------
    >>> print(Finding.of("small_group", "12 held-out rows meet it", about="T == 1").what)
    group T == 1 is small
    """

    code: FindingCode
    severity: Severity
    about: str
    what: str
    evidence: str
    hint: str

    @classmethod
    def of(
        cls, code: FindingCode, evidence: str, *, about: str = "", hint: str | None = None
    ) -> Finding:
        """The finding of a code, in the words that belong to it."""
        severity, what, usual = TEXTS[code]
        shown = what.replace("{about}", about)
        return cls(code, severity, about, shown, evidence, usual if hint is None else hint)
