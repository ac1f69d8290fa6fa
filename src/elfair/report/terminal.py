"""A certificate as plain text and as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elfair.certificate import Certificate, ConstraintResult
from elfair.records.text import visible
from elfair.report.words import failed, number, outlook, pass_or_fail, seen, sizes, verdict

if TYPE_CHECKING:
    from rich.console import Group

#: A longer statement would be broken into many short lines of a table.
LONGEST_IN_TABLE = 48
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
    return "\n\n".join(explanation(certificate))


def explanation(certificate: Certificate, *, after_table: bool = False) -> list[str]:
    """The paragraphs of `explain`: the verdict, the statements that matter, what it rests on.

    Parameters
    ----------
    certificate : Certificate
        The result.
    after_table : bool, default False
        Whether `verdict_table` was shown: it has the verdict, and all of what passed.
    """
    wrong = failed(certificate)
    shown = wrong if wrong or after_table else list(certificate.constraints)
    paragraphs = [] if after_table else [[verdict(certificate)]]
    paragraphs += map(_describe, shown[:MOST_DESCRIBED])
    if more := shown[MOST_DESCRIBED:]:
        # The worst come first, so that these are nearer to passing (or passed by more).
        title = f"and {len(more)} more that {'FAILED' if wrong else 'passed'}:"
        paragraphs.append([title, *(f"  - {each.statement} ({_brief(each)})" for each in more)])
    paragraphs.append([certificate.joint_statement])
    if certificate.violated:
        title = "Assumptions that do NOT hold, so that the stated confidence is not backed:"
        paragraphs.append([title, *(f"  - {a.name}: {a.evidence}." for a in certificate.violated)])
    declared = [a.name for a in certificate.assumptions if a.status == "declared"]
    if declared:
        paragraphs.append([f"Taken on your word: {'; '.join(declared)}."])
    passed = [result for result in certificate.constraints if result not in shown]
    warnings = dict.fromkeys(warning for result in passed for warning in result.warnings)
    if warnings:
        paragraphs.append(
            ["Of the statements that passed:", *(f"  - {each}." for each in warnings)]
        )
    return [visible("\n".join(lines)) for lines in paragraphs]


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


def verdict_table(certificate: Certificate) -> Group:
    """The verdict as a table for the terminal, the worst statement first.

    Parameters
    ----------
    certificate : Certificate
        The result.

    Returns
    -------
    rich.console.Group
        The table; below it the statements, where they are too long for it.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    statements = [visible(result.statement) for result in certificate.constraints]
    names = statements
    if max(map(len, statements), default=0) > LONGEST_IN_TABLE:
        names = [f"S{k}" for k in range(1, len(statements) + 1)]  # as the report calls them
    table = Table(title=visible(verdict(certificate)), title_justify="left")
    for heading in ("statement", "rows", "ESS", "estimate of g", "bound on g", "delta", ""):
        table.add_column(heading, justify="left" if heading.startswith("st") else "right")
    for name, result in zip(names, certificate.constraints, strict=True):
        table.add_row(
            Text(name),  # not markup: [impact | ...] is no style
            str(result.n),
            "" if result.ess is None else f"{result.ess:.0f}",
            number(result.estimate),
            number(result.upper),
            f"{result.delta:g}",
            "pass" if result.passed else "FAIL",
        )
    pairs = zip(names, statements, strict=True)
    return Group(table, *(Text(f"{name}: {each}") for name, each in pairs if name != each))
