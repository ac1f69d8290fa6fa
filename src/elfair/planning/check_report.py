"""The record of a check, and the check as text. Nothing is computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elfair.certificate import Assumption, SplitKind
from elfair.planning.codes import SEVERITIES, Finding
from elfair.planning.forecast import SHOWN_REACH, StatementCheck, StatementForecast
from elfair.planning.visible import GroupCheck
from elfair.records.json import from_json, to_json

SCHEMA = "elfair.check/3"


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
    groups : tuple of GroupCheck
        Everyone, and the groups in the constraints.
    statements : tuple of StatementCheck
        One for each one-sided statement.
    chance : float or None
        The forecast: the chance that a fit of these rows releases a model. It is the point at
        ``n`` rows of the curve that `plan_rows` draws.
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

    def text(self, *, details: bool = False) -> str:
        """The record as plain text, for the terminal.

        Parameters
        ----------
        details : bool, default False
            Whether to show all of it, or only what you should read first.
        """
        return "\n".join(_details(self) if details else _short(self))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"CheckReport(ok={self.ok}, n={self.n}, chance={self.chance}, {_counts(self, True)})"


#: The most findings, statements and groups that the short text shows.
MOST_FINDINGS, MOST_STATEMENTS, MOST_GROUPS = 3, 5, 4


def _short(report: CheckReport) -> Iterator[str]:
    """About ten lines: the verdict, what is wrong, the forecast, the rows of each group."""
    yield _verdict(report)
    serious = [finding for finding in report.findings if finding.severity != "note"]
    for finding in serious[:MOST_FINDINGS]:
        yield from _finding(finding)
    yield from _forecast(report)
    groups = report.groups[: MOST_GROUPS + 1]
    rows = "; ".join(f"{group.condition}: {_sizes(group)}" for group in groups)
    yield f"Rows, candidate + held out: {rows}{_more(len(report.groups) - len(groups))}."
    yield "Impacts and labels of held-out rows were not used. More: --details, text(details=True)."


def _details(report: CheckReport) -> Iterator[str]:
    yield _verdict(report)
    yield _split(report)
    sections: list[list[str]] = [
        *(list(_finding(finding)) for finding in report.findings),
        list(_forecast(report, len(report.statements))),
        *(list(_statement(statement)) for statement in report.statements),
        *(list(_group(group)) for group in report.groups),
        _assumed(report),
    ]
    for lines in filter(None, sections):
        yield ""
        yield from lines


def _verdict(report: CheckReport) -> str:
    start = "Ready to fit" if report.ok else "NOT ready to fit"
    serious = any(finding.severity != "note" for finding in report.findings)
    found = "" if serious else "no problems found"
    return f"{start}: {', '.join(filter(None, [found, _counts(report)]))}."


def _counts(report: CheckReport, zeros: bool = False) -> str:
    counts = Counter(finding.severity for finding in report.findings)
    return ", ".join(
        f"{counts[each]} {each}{'' if counts[each] == 1 else 's'}"
        for each in SEVERITIES
        if zeros or counts[each]
    )


def _more(count: int) -> str:
    return f"; {count} more" if count > 0 else ""


def _finding(finding: Finding) -> Iterator[str]:
    shown = "ERROR" if finding.severity == "error" else finding.severity
    yield f"{shown}: {finding.what}"
    yield f"  {finding.evidence}"
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
    yield f"{SHOWN_REACH[statement.reach]}: {statement.statement}"
    if statement.constraint != statement.statement:
        yield f"  part of: {statement.constraint}"
    yield f"  held-out rows that test it: {rows}; delta {statement.delta:g}"
    if statement.alone is not None:
        yield f"  at best, alone:        {_of_statement(statement.alone)}"
    if statement.together is not None:
        yield f"  with all the others:   {_of_statement(statement.together)}"


def _of_statement(forecast: StatementForecast) -> str:
    return (
        f"g = {forecast.estimate:.4g}, bound {forecast.upper:.4g} (must be at most 0), passes with "
        f"probability {forecast.chance:.2f}"
    )


def _group(group: GroupCheck) -> Iterator[str]:
    yield f"group: {group.condition}"
    yield (
        f"  rows, candidate + held out: {_sizes(group)} ({group.share:.1%} of all); without "
        f"impact: {group.left_out:,}"
    )
    if group.decisions:
        shares = ", ".join(f"{name}: {share:.1%}" for name, share in group.decisions.items())
        yield f"  decisions: {shares}"
    if group.overlap is not None:
        overlap = group.overlap
        yield (
            f"  propensities: smallest {overlap.smallest:.3g}, 5 % {overlap.low:.3g}, 25 % "
            f"{overlap.lower_quartile:.3g}, median {overlap.median:.3g}; largest weight possible "
            f"{overlap.largest_weight:.4g}"
        )
        yield f"  rows by propensity: {_bins(overlap.edges, overlap.counts)}"
    for model, of in zip(("first", "last"), group.weights, strict=False):
        yield (
            f"  weights under the {model} model: mean {of.mean_weight:.3f} +- "
            f"{of.mean_weight_error:.3f}, largest {of.max_weight:.3g}, effective sample size "
            f"{of.ess:,.0f}"
        )


def _bins(edges: Sequence[float], counts: Sequence[int]) -> str:
    return ", ".join(
        f"up to {edge:g}: {count:,}" for edge, count in zip(edges[1:], counts, strict=True)
    )


def _assumed(report: CheckReport) -> list[str]:
    if not report.assumptions:
        return []
    lines = ["Assumed, not checked:"]
    return lines + [f"  - {each.name}: {each.statement}" for each in report.assumptions]
