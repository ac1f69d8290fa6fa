"""A check as plain text: nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elfair.checking.record import CheckReport, Finding, Forecast, GroupCheck, StatementCheck

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
    lines = ["On your word:"]
    return lines + [f"  - {each.name}: {each.statement}" for each in report.assumptions]
