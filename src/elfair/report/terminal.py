"""A certificate as plain text and as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elfair.certificate import Certificate, ConstraintResult
from elfair.report.words import failed, number, outlook, pass_or_fail, seen, sizes, verdict
from elfair.visible import visible

if TYPE_CHECKING:
    from rich.table import Table


#: How many statements are described at length; the rest get a line each.
MOST_DESCRIBED = 10


def explain(certificate: Certificate) -> str:
    """The result in sentences: what failed, by how much, about how many rows it would take.

    Parameters
    ----------
    certificate : Certificate
        The result.

    Returns
    -------
    str
    """
    lines = [verdict(certificate)]
    wrong = failed(certificate)
    shown = wrong or list(certificate.constraints)
    for result in shown[:MOST_DESCRIBED]:
        lines += ["", *_describe(result)]
    if more := shown[MOST_DESCRIBED:]:
        # The worst come first, so that these are nearer to passing (or passed by more).
        lines += ["", f"and {len(more)} more that {'FAILED' if wrong else 'passed'}:"]
        lines += [f"  - {result.statement} ({_brief(result)})" for result in more]
    lines += ["", certificate.joint_statement]
    violated = [a for a in certificate.assumptions if a.status == "violated"]
    if violated:
        lines += ["", "Assumptions that do NOT hold, so that the stated confidence is not backed:"]
        lines += [f"  - {a.name}: {a.evidence}." for a in violated]
    declared = [a.name for a in certificate.assumptions if a.status == "declared"]
    if declared:
        lines += ["", f"Taken on your word: {'; '.join(declared)}."]
    passed = [result for result in certificate.constraints if result not in shown]
    warnings = dict.fromkeys(warning for result in passed for warning in result.warnings)
    if warnings:
        lines += ["", "Of the statements that passed:", *(f"  - {each}." for each in warnings)]
    return visible("\n".join(lines))


def _describe(result: ConstraintResult) -> list[str]:
    lines = [f"{pass_or_fail(result)}: {result.statement}"]
    if result.constraint != result.statement:
        lines.append(f"  part of: {result.constraint}")
    lines += [f"  {seen(result)}", f"  rows: {sizes(result)}"]
    if result.ess is not None and result.max_weight is not None:
        lines.append(
            f"  weights: effective sample size {result.ess:.0f}, mean {result.mean_weight:.3f}, "
            f"largest {result.max_weight:.2f}"
        )
    if not result.passed:
        lines.append(f"  {outlook(result)}")
    lines += [f"  warning: {warning}" for warning in result.warnings]
    return lines


def _brief(result: ConstraintResult) -> str:
    return f"g at most {number(result.upper)}, {result.n} rows"


def verdict_table(certificate: Certificate) -> Table:
    """The verdict as a table for the terminal, the worst statement first.

    Parameters
    ----------
    certificate : Certificate
        The result.

    Returns
    -------
    rich.table.Table
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=visible(verdict(certificate)), title_justify="left")
    for heading in (
        "statement",
        "rows",
        "ESS",
        "estimate of g",
        "bound on g",
        "delta",
        "",
    ):
        table.add_column(heading, justify="left" if heading.startswith("st") else "right")
    for result in certificate.constraints:
        table.add_row(
            Text(visible(result.statement)),  # not markup: [impact | ...] is no style
            str(result.n),
            "" if result.ess is None else f"{result.ess:.0f}",
            number(result.estimate),
            number(result.upper),
            f"{result.delta:g}",
            "pass" if result.passed else "FAIL",
        )
    return table
