"""The record of a check, and the check as text. Nothing is computed here.

A finding has a code for programs and a text for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from elfair.certificate import Assumption, SplitKind
from elfair.certificate.explanation import positive_is
from elfair.data.looks import LEAST_CHANCE
from elfair.data.propensities import MISFIT
from elfair.planning.constants import ConstantImpact, ConstantPolicy
from elfair.planning.forecast import StatementCheck, StatementForecast
from elfair.planning.visible import GroupCheck
from elfair.records.drawing import paragraphs_html
from elfair.records.json import from_json, to_json
from elfair.records.text import confidence, number, plural, rate

SCHEMA = "elfair.check/4"
Severity = Literal["error", "warning", "note"]

_MERGE = "merge groups, check how the condition spells its values, or collect more of them."
#: What each finding says and what to do next, by how bad it is; the worst first.
TEXTS: dict[Severity, dict[str, tuple[str, str]]] = {
    "error": {
        "refused": ("fit would refuse these data", ""),
        "empty_group": ("no row meets {about}", "check how the condition spells its values."),
        "group_too_small": ("group {about} is too small", _MERGE),
        "propensities_misfit": (
            "the propensities do not fit the decisions: no bound computed with them means anything",
            MISFIT,
        ),
        "constant_impact": (
            "impact '{about}' is the same for everyone",
            "check that this is the right column: an impact that does not vary says nothing about"
            " any model.",
        ),
    },
    "warning": {
        "small_group": ("group {about} is small", _MERGE),
        "tiny_propensities": (
            "group {about} got decisions that were almost impossible",
            "log more exploration, or pass the fitted model as behavior, so the new model can "
            "stay close to it.",
        ),
        "little_overlap": (
            "people of group {about} could hardly get some decision",
            "trim=0.05 (trim in [rows] of a study file) limits statements to people who could get "
            "every decision; others then have no part.",
        ),
        "few_effective_rows": (
            "a few people in group {about} would decide the result",
            "log more exploration, or ask for a model closer to the behaviour model.",
        ),
        "impact_missing_unevenly": (
            "whether the impact is missing depends on {about}",
            "find out why: if people without an impact fared differently, the other rows say "
            "nothing about them.",
        ),
        "leak": (
            "feature '{about}' gives away what is known only later",
            "is it known when a decision is taken? If not, leave it out.",
        ),
        "constant_impact_in_group": (
            "an impact is the same for everyone with {about}",
            "check that it was measured for them.",
        ),
        "label_is_decision": (
            "the label is the decision",
            "a label is the decision that would have been right; leave y out if it is not known.",
        ),
        "decision_never_label": (
            "decision {about} is never the label",
            "the classes are the values of decision and label together: correct the spelling if "
            "two of them are the same.",
        ),
        "label_only_for_some": (
            "the label is the same for everyone with decision '{about}'",
            "if the label is known only for people with another decision, leave it empty for the "
            "others, and name that decision in label_seen_for; otherwise accuracy and everything "
            "else that uses labels is about those people alone.",
        ),
        "people_changed": (
            "the early and the late part of the log are not alike ({about})",
            "test on the most recent rows (split='time'), declare how much people may still change "
            "(shift), or leave out rows from before.",
        ),
        "group_mistaken": (
            "groups look like a mistake",
            "correct the values in the table, or name these groups if they are what they seem.",
        ),
        "repeated_rows": (
            "rows are repeated",
            "bounds need one row for each person: pass row_id, which finds repeated people.",
        ),
        "no_bound": (
            "no bound is possible for {about}",
            "check that this is the right column and that it was measured; a finite-sample bound "
            "does not need rows that vary.",
        ),
        "too_few_rows": (
            "out of reach at this number of rows: {about}",
            "plan tells how many rows it may take; or loosen it.",
        ),
        "out_of_reach": (
            "out of reach at any number of rows: {about}",
            "loosen it, or give the model more features or a scorer.",
        ),
        "assumption_violated": (
            "assumption violated: {about}",
            "no model is released, unless accept_violated names it; the stated confidence does "
            "not hold without it.",
        ),
        "no_constraints": (
            "nothing will be tested",
            "name what must hold, such as \"E[impact | race == 'A'] >= 0\".",
        ),
    },
    "note": {
        "propensities_estimated": (
            "propensities are estimated: a result holds if the estimated behaviour model is right",
            "give all columns that people saw who decided, as features or sensitive features.",
        ),
        "assumption_accepted": (
            "assumption violated, which is accepted: {about}",
            "a model may be released, and its certificate will say so; the stated confidence does "
            "not hold without the assumption.",
        ),
        "certain_decisions": (
            "some decisions were certain",
            "draw decisions at random wherever that is acceptable.",
        ),
        "impact_missing": (
            "rows without impact were left out",
            "this is harmless only if, in each group, they are missing for reasons unrelated to "
            "the decision and its impact.",
        ),
        "label_revealed": (
            "labels are seen only for some decisions ({about})",
            "statements about labels weigh those that are seen; this rests on the propensities, "
            "and needs more rows.",
        ),
        "impact_unseen": (
            "an impact is missing for some people ({about})",
            "'at random' holds only if, among people alike in features, groups, decision and early "
            "outcomes, those without an impact fared like the others; 'worst case' assumes nothing "
            "of them.",
        ),
        "constant_feature": ("feature '{about}' is the same in all rows", "leave it out."),
        "sensitive_feature_seen": (
            "the new model sees the sensitive feature '{about}'",
            "leave it out of the features if decisions must not depend on it.",
        ),
        "identifier_seen": (
            "the new model sees '{about}', which tells people apart",
            "leave it out: a model learns nothing from it about new people.",
        ),
        "identical_rows": (
            "some people cannot be told apart",
            "bounds need one row for each person: pass row_id, which finds repeated people.",
        ),
        "people_not_named": (
            "no statement names the group of some of the people",
            "a group that is not named is not protected: name it, or merge it with another.",
        ),
        "range_not_declared": (
            "the range of impact '{about}' is not declared",
            "declare impact_range, all that the impact can be: the promise about it then holds for "
            "any number of rows, and no longer rests on the losses that these rows happen to show.",
        ),
        "alone_not_forecast": (
            "statements are forecast together only, since there are {about} decisions",
            "check with one statement to see what it could achieve alone.",
        ),
        "crossfit_not_forecast": (
            "no forecast with split='crossfit'",
            "split='random' keeps candidate rows, which a forecast may use.",
        ),
        "module_not_forecast": (
            "no forecast for a torch module",
            "check with scorer=None to see the forecast for a linear model.",
        ),
        "search_not_forecast": (
            "the forecast uses the default search instead of {about}",
            "fit does what you asked for; what it finds may be a little better or worse.",
        ),
    },
}
#: The worst first.
SEVERITIES = tuple(TEXTS)


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

    code: str
    severity: Severity
    about: str
    what: str
    evidence: str
    hint: str

    @classmethod
    def of(cls, code: str, evidence: str, *, about: str = "", hint: str | None = None) -> Finding:
        """The finding of a code, in the words that belong to it."""
        (severity,) = (each for each, texts in TEXTS.items() if code in texts)
        what, usual = TEXTS[severity][code]
        shown = what.replace("{about}", about)
        return cls(code, severity, about, shown, evidence, usual if hint is None else hint)


@dataclass(frozen=True)
class CheckReport:
    """What data and settings show before a fit.

    Parameters
    ----------
    schema : str
        The version of this record.
    elfair_version : str
        The version that wrote it.
    n, n_candidate, n_held_out, n_left_out : int
        All rows, those of the search, those of the test, and those that were left out before.
    split : str
        How the rows are divided.
    seed : int
        What the division depends on.
    counted : {"rows", "units"}
        What is counted in each group.
    groups : tuple of GroupCheck
        Everyone, and the groups in the constraints.
    statements : tuple of StatementCheck
        One for each one-sided statement.
    chance : float or None
        The forecast: the chance that a fit of these rows releases a model. It is the one that the
        certificate of that fit records, and the point at ``n`` rows of the curve of `plan_rows`.
    constants : tuple of ConstantPolicy
        What would happen if everybody got the same decision, for each decision, from candidate
        rows; empty if that is not known.
    positive : str or None
        The decision that PR, TPR and so on count; None if no statement and no objective uses it.
    findings : tuple of Finding
        The worst first.
    assumptions : tuple of Assumption
        What the promise rests on and nothing can check.

    Examples
    --------
    >>> from elfair import ELFClassifier, LoggedData, check
    >>> data = LoggedData([[0.0], [1.0]] * 200, [0, 1] * 200)
    >>> report = check(ELFClassifier("accuracy >= 0.9"), data)
    >>> report.ok, report.statements[0].reach
    (True, 'likely')
    >>> CheckReport.from_json(report.to_json()) == report
    True
    """

    schema: str
    elfair_version: str
    n: int
    n_candidate: int
    n_held_out: int
    n_left_out: int
    split: SplitKind
    seed: int
    counted: Literal["rows", "units"]
    groups: tuple[GroupCheck, ...]
    statements: tuple[StatementCheck, ...]
    chance: float | None
    constants: tuple[ConstantPolicy, ...]
    positive: str | None
    findings: tuple[Finding, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.severity == "error" for finding in self.findings)

    def to_json(self) -> str:
        """The record as JSON text."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> CheckReport:
        """The record from JSON text."""
        return from_json(text, cls)

    def text(self, *, details: bool = False, more: str = "text(details=True)") -> str:
        """The record as plain text, for the terminal.

        Parameters
        ----------
        details : bool, default False
            Whether to show all of it, or only what you should read first.
        more : str
            What the short text names as the way to all of it.
        """
        return "\n".join(_details(self) if details else _short(self, more))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        headline, *lines = self.text().splitlines()
        return paragraphs_html(headline, ["\n".join(lines).strip("\n")], good=self.ok)

    def __repr__(self) -> str:
        return f"CheckReport(ok={self.ok}, n={self.n}, chance={self.chance}, {_counts(self, True)})"


#: The most findings, statements and groups that the short text shows.
MOST_FINDINGS, MOST_STATEMENTS, MOST_GROUPS = 3, 5, 4
#: Findings that the short text never leaves out.
ALWAYS = ("group_mistaken", "people_not_named", "sensitive_feature_seen", "identifier_seen")
#: The most decisions given to everybody that the short text shows, and the most groups of each.
MOST_CONSTANTS, MOST_OF_CONSTANT = 3, 3


def _short(report: CheckReport, more: str) -> Iterator[str]:
    """About ten lines: the verdict, what is wrong, the forecast, the rows of each group."""
    yield _verdict(report)
    serious = [finding for finding in report.findings if finding.severity != "note"]
    for finding in serious[:MOST_FINDINGS]:
        yield from _finding(finding)
    for finding in report.findings:
        if finding.code in ALWAYS and finding not in serious[:MOST_FINDINGS]:
            yield f"{finding.severity}: {finding.what} ({finding.evidence})"
    yield from _forecast(report)
    yield from _constants(report, MOST_CONSTANTS)
    yield from _positive(report)
    groups = [f"{group.condition}: {_sizes(group)}" for group in report.groups]
    if others := groups[MOST_GROUPS + 1 :]:
        groups[MOST_GROUPS + 1 :] = [f"{len(others)} more"]
    yield f"{report.counted.capitalize()}, candidate + held out: {'; '.join(groups)}."
    yield f"Impacts and labels of held-out rows were not used. More: {more}."


def _details(report: CheckReport) -> Iterator[str]:
    yield _verdict(report)
    yield _split(report)
    sections: list[list[str]] = [
        *(list(_finding(finding)) for finding in report.findings),
        list(_forecast(report, len(report.statements))),
        list(_constants(report, len(report.constants))),
        list(_positive(report)),
        *(list(_statement(statement)) for statement in report.statements),
        *(list(_group(group, report.counted)) for group in report.groups),
        ["Assumed, not checked:", *(f"  - {a.name}: {a.statement}" for a in report.assumptions)],
    ]
    if not report.assumptions:
        sections.pop()
    for lines in filter(None, sections):
        yield ""
        yield from lines


def _verdict(report: CheckReport) -> str:
    start = "Ready to fit" if report.ok else "NOT ready to fit"
    if report.ok and report.chance is not None and report.chance < LEAST_CHANCE:
        start = "Do not fit yet, for a model would hardly pass"
    serious = any(finding.severity != "note" for finding in report.findings)
    found = "" if serious else "no problems found"
    return f"{start}: {', '.join(filter(None, [found, _counts(report)]))}."


def _counts(report: CheckReport, zeros: bool = False) -> str:
    counts = Counter(finding.severity for finding in report.findings)
    return ", ".join(plural(counts[each], each) for each in SEVERITIES if zeros or counts[each])


def _finding(finding: Finding) -> Iterator[str]:
    shown = "ERROR" if finding.severity == "error" else finding.severity
    yield f"{shown}: {finding.what}"
    yield f"  {finding.evidence}"
    if finding.hint:
        yield f"  Hint: {finding.hint}"


def _forecast(report: CheckReport, most: int = MOST_STATEMENTS) -> Iterator[str]:
    if report.chance is None:
        return
    yield f"Forecast: a model is released with probability {report.chance:.2f}. By statement:"
    known = [(each.together.chance, each) for each in report.statements if each.together]
    for chance, each in sorted(known, key=lambda pair: pair[0])[:most]:
        yield f"  {chance:.2f}  {each.statement}"
    if len(known) > most:
        yield f"  and {len(known) - most} more, all of them more likely to pass"


def _constants(report: CheckReport, most: int) -> Iterator[str]:
    """What if everybody got the same decision?"""
    if not report.constants:
        return
    yield "If everybody got the same decision (expected impact; change, and at least how much):"
    every = most >= len(report.constants)
    for each in report.constants[:most]:
        impacts = each.impacts if every else each.impacts[: MOST_OF_CONSTANT + 1]
        shown = [_constant(of) for of in impacts]
        shown += ["..."] if len(impacts) < len(each.impacts) else []
        failed = len(each.passes) - sum(each.passes)
        yield f"  {each.decision} (taken {rate(each.taken)}): {'; '.join(shown)}"
        if each.passes:
            told = plural(failed, "statement") if failed else "no statement"
            yield f"    on candidate rows, {told} would fail"
    if not every:
        yield f"  and {len(report.constants) - most} more"


def _constant(of: ConstantImpact) -> str:
    return (
        f"{of.impact} of {of.condition} {number(of.estimate)} ({_signed(of.difference)}, at least "
        f"{_signed(of.least)} at {confidence(of.delta)})"
    )


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value)}"


def _positive(report: CheckReport) -> Iterator[str]:
    if report.positive is not None:
        yield positive_is(report.positive)


def _sizes(group: GroupCheck) -> str:
    held_out = "unknown" if group.held_out is None else f"{group.held_out:,}"
    return f"{group.candidate:,} + {'about ' if group.expected else ''}{held_out}"


def _split(report: CheckReport) -> str:
    left = f"; {report.n_left_out:,} more were left out" if report.n_left_out else ""
    return (
        f"{report.n:,} rows: {report.n_candidate:,} for the search, {report.n_held_out:,} held out "
        f"(split {report.split}, seed {report.seed}){left}. Impacts and labels of held-out rows "
        "were not used."
    )


def _statement(statement: StatementCheck) -> Iterator[str]:
    rows = "unknown" if statement.rows is None else f"{statement.rows:,}"
    yield f"{statement.reach.replace('_', ' ')}: {statement.statement}"
    if statement.constraint != statement.statement:
        yield f"  part of: {statement.constraint}"
    yield f"  held-out rows that test it: {rows}; delta {statement.delta:g}"
    if statement.alone is not None:
        yield f"  at best, alone:        {_of_statement(statement.alone)}"
    if statement.together is not None:
        yield f"  with all the others:   {_of_statement(statement.together)}"


def _of_statement(forecast: StatementForecast) -> str:
    return (
        f"g = {number(forecast.estimate)}, bound {number(forecast.upper)} (must be at most 0), "
        f"passes with probability {forecast.chance:.2f}"
    )


def _group(group: GroupCheck, counted: str) -> Iterator[str]:
    yield f"group: {group.condition}"
    yield (
        f"  {counted}, candidate + held out: {_sizes(group)} ({group.share:.1%} of all); without "
        f"impact: {group.left_out:,}"
    )
    if group.decisions:
        shares = ", ".join(f"{name}: {share:.1%}" for name, share in group.decisions.items())
        yield f"  decisions: {shares}"
    if group.expected_decisions:
        expected = ((name, f"{share:.1%}") for name, share in group.expected_decisions.items())
        yield f"  expected by estimated propensities: {', '.join(map(': '.join, expected))}"
    if group.overlap is not None:
        overlap = group.overlap
        yield (
            f"  propensities: smallest {overlap.smallest:.3g}, 5th percentile "
            f"{overlap.low:.3g}, 25th percentile {overlap.lower_quartile:.3g}, median "
            f"{overlap.median:.3g}; largest weight possible {overlap.largest_weight:.4g}"
        )
        ends = pairwise(["0", *overlap.counts])
        bins = (f"{low} to {high}: {overlap.counts[high]:,}" for low, high in ends)
        yield f"  rows by propensity: {', '.join(bins)}"
    for model, of in zip(("first", "last"), group.weights, strict=False):
        yield (
            f"  weights under the {model} model: mean {of.mean_weight:.3f} +- "
            f"{of.mean_weight_error:.3f}, largest {of.max_weight:.3g}, effective sample size "
            f"{of.ess:,.0f}"
        )
