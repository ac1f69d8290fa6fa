"""The record of a check. Everything that is shown of a check is read from here.

A check as plain text: nothing is computed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from elfair.certificate import Assumption, SplitKind
from elfair.records.json import from_json, to_json

SCHEMA = "elfair.check/1"

Severity = Literal["error", "warning", "note"]
Reach = Literal[
    "likely",
    "uncertain",
    "out of reach at this number of rows",
    "out of reach at any number of rows",
    "not foreseen",
]


@dataclass(frozen=True)
class Finding:
    """Something about the data or the settings that somebody should look at.

    Parameters
    ----------
    severity : {"error", "warning", "note"}
        An error makes the result worthless, or ``fit`` would refuse; a warning may.
    what : str
        What is the matter.
    evidence : str
        What was seen.
    hint : str
        The next step most likely to help.
    """

    severity: Severity
    what: str
    evidence: str
    hint: str


@dataclass(frozen=True)
class DecisionShare:
    """How often a decision was taken.

    Parameters
    ----------
    decision : str
        The decision.
    share : float
        Its share of the rows.
    """

    decision: str
    share: float


@dataclass(frozen=True)
class Overlap:
    """How probable the logged decisions were.

    Parameters
    ----------
    smallest, low, lower_quartile, median : float
        The smallest propensity, and its 5 %, 25 % and 50 % quantiles.
    largest_weight : float
        1 / smallest: no model gives a logged row a larger weight.
    edges : tuple of float
        The edges of the bins: above the one before, up to this one.
    counts : tuple of int
        Rows in each bin, one fewer than edges.
    """

    smallest: float
    low: float
    lower_quartile: float
    median: float
    largest_weight: float
    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class WeightForecast:
    """The importance weights of a group under a model that the search would put forward.

    Parameters
    ----------
    model : {"first", "last"}
        Its place in the line-up.
    mean, mean_error : float
        The mean weight on candidate rows, which is 1 if the propensities are right, and its
        standard error.
    largest : float
        The largest weight of a candidate row.
    ess : float
        The effective sample size to be expected on the held-out rows.
    """

    model: Literal["first", "last"]
    mean: float
    mean_error: float
    largest: float
    ess: float


@dataclass(frozen=True)
class GroupCheck:
    """The rows that meet one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    candidate : int
        How many candidate rows meet it.
    held_out : int or None
        How many held-out rows do; None where labels would have to be looked at, and nothing else
        says it.
    expected : bool
        Whether ``held_out`` is what candidate rows let expect: the condition speaks of the label.
    share : float
        The share of all rows (of candidate rows, where the condition speaks of the label).
    left_out : int
        How many rows that meet it were left out, since their impact is missing.
    decisions : tuple of DecisionShare
        What was decided about them; empty where decisions are numbers.
    overlap : Overlap or None
        How probable these decisions were; None where propensities are not given, or densities.
    weights : tuple of WeightForecast
        Under the first and the last model of the line-up; empty where no weights enter.
    """

    condition: str
    candidate: int
    held_out: int | None
    expected: bool
    share: float
    left_out: int
    decisions: tuple[DecisionShare, ...]
    overlap: Overlap | None
    weights: tuple[WeightForecast, ...]


@dataclass(frozen=True)
class Forecast:
    """What is foreseen of a statement's test, from candidate rows that the model was not found on.

    Parameters
    ----------
    estimate : float
        The estimate of g.
    upper : float
        The upper bound on g that is to be expected on the held-out rows.
    chance : float
        The probability that the bound is at most 0, so that the statement passes.
    """

    estimate: float
    upper: float
    chance: float


@dataclass(frozen=True)
class StatementCheck:
    """What can be known of the test of one one-sided statement g <= 0.

    Parameters
    ----------
    constraint : str
        The constraint as the user wrote it.
    statement : str
        The one-sided statement that is part of it.
    delta : float
        The probability with which the test may let a violated statement pass.
    rows : int or None
        Held-out rows that will test it; None where that is not known.
    alone : Forecast or None
        What could at best be achieved, if nothing but this statement mattered: by the model that
        is most likely to pass it, or, where several are certain to, has the lowest bound.
    together : Forecast or None
        The same for the model that the search puts forward for all statements and the objective.
    reach : str
        What follows from it.
    """

    constraint: str
    statement: str
    delta: float
    rows: int | None
    alone: Forecast | None
    together: Forecast | None
    reach: Reach


@dataclass(frozen=True)
class CheckReport:
    """What can be known of data and assumptions before anything is spent.

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
    groups : tuple of GroupCheck
        Everyone, and whom the constraints speak of.
    statements : tuple of StatementCheck
        One for each one-sided statement.
    chance : float or None
        The predicted probability that the first model in line passes every test: the product of
        those of the statements.
    findings : tuple of Finding
        The gravest first.
    assumptions : tuple of Assumption
        What will be taken on the user's word.

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
    groups: tuple[GroupCheck, ...]
    statements: tuple[StatementCheck, ...]
    chance: float | None
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

    def text(self) -> str:
        """The record as plain text, for the terminal."""
        return text(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        counts = Counter(finding.severity for finding in self.findings)
        found = ", ".join(f"{counts[each]} {each}s" for each in ("error", "warning", "note"))
        return f"CheckReport(ok={self.ok}, n={self.n}, chance={self.chance}, {found})"


_HEADINGS = {"error": "ERROR", "warning": "warning", "note": "note"}


def text(report: CheckReport) -> str:
    """The report for the terminal.

    Parameters
    ----------
    report : CheckReport
        The record.

    Returns
    -------
    str
    """
    sections = [
        [_verdict(report), _rows(report)],
        *(_finding(finding) for finding in report.findings),
        *(_statement(statement) for statement in report.statements),
        *(list(_group(group)) for group in report.groups),
        _word(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _verdict(report: CheckReport) -> str:
    counts = [
        f"{count} {word}{'s' if count > 1 else ''}"
        for word in _HEADINGS
        if (count := sum(finding.severity == word for finding in report.findings))
    ]
    found = ", ".join(counts) or "nothing to remark"
    start = "Ready to fit" if report.ok else "NOT ready to fit"
    end = ""
    if report.chance is not None:
        end = (
            "\nThe first model that the search would test is foreseen to pass every test with "
            f"probability {report.chance:.2f}."
        )
    return f"{start}: {found}.{end}"


def _rows(report: CheckReport) -> str:
    left = f"; {report.n_left_out:,} more were left out" if report.n_left_out else ""
    return (
        f"{report.n:,} rows: {report.n_candidate:,} for the search, {report.n_held_out:,} held out "
        f"(split {report.split}, seed {report.seed}){left}. Held-out impacts and labels were not "
        "looked at."
    )


def _finding(finding: Finding) -> list[str]:
    return [
        f"{_HEADINGS[finding.severity]}: {finding.what}",
        f"  {finding.evidence}",
        f"  Hint: {finding.hint}",
    ]


def _statement(statement: StatementCheck) -> list[str]:
    rows = "unknown" if statement.rows is None else f"{statement.rows:,}"
    lines = [f"{statement.reach}: {statement.statement}"]
    if statement.constraint != statement.statement:
        lines.append(f"  part of: {statement.constraint}")
    lines.append(f"  held-out rows that test it: {rows}; delta {statement.delta:g}")
    if statement.alone is not None:
        lines.append(f"  at best, alone:        {_forecast(statement.alone)}")
    if statement.together is not None:
        lines.append(f"  with all the others:   {_forecast(statement.together)}")
    return lines


def _forecast(forecast: Forecast) -> str:
    return (
        f"g = {forecast.estimate:.4g}, bound {forecast.upper:.4g} (must be at most 0), passes with "
        f"probability {forecast.chance:.2f}"
    )


def _group(group: GroupCheck) -> Iterator[str]:
    held_out = "unknown" if group.held_out is None else f"{group.held_out:,}"
    about = "about " if group.expected else ""
    yield f"group: {group.condition}"
    yield (
        f"  rows: {group.candidate:,} candidate, {about}{held_out} held out ({group.share:.1%} of "
        f"all); without impact: {group.left_out:,}"
    )
    if group.decisions:
        shares = ", ".join(f"{each.decision}: {each.share:.1%}" for each in group.decisions)
        yield f"  decisions: {shares}"
    if group.overlap is not None:
        overlap = group.overlap
        yield (
            f"  propensities: smallest {overlap.smallest:.3g}, 5 % {overlap.low:.3g}, 25 % "
            f"{overlap.lower_quartile:.3g}, median {overlap.median:.3g}; largest weight possible "
            f"{overlap.largest_weight:.4g}"
        )
        yield f"  rows by propensity: {_bins(overlap.edges, overlap.counts)}"
    for weights in group.weights:
        yield (
            f"  weights under the {weights.model} model: mean {weights.mean:.3f} +- "
            f"{weights.mean_error:.3f}, largest {weights.largest:.3g}, effective sample size "
            f"{weights.ess:,.0f}"
        )


def _bins(edges: Sequence[float], counts: Sequence[int]) -> str:
    return ", ".join(
        f"up to {edge:g}: {count:,}" for edge, count in zip(edges[1:], counts, strict=True)
    )


def _word(report: CheckReport) -> list[str]:
    if not report.assumptions:
        return []
    lines = ["Assumed, not checked:"]
    return lines + [f"  - {each.name}: {each.statement}" for each in report.assumptions]
