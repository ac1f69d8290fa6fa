"""A certificate as plain text and as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elfair.certificate import EVERYONE, Certificate, ConstraintResult

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
    lines = [_verdict(certificate)]
    failed = [result for result in certificate.constraints if not result.passed]
    shown = failed or list(certificate.constraints)
    for result in shown[:MOST_DESCRIBED]:
        lines += ["", *_describe(result)]
    if more := shown[MOST_DESCRIBED:]:
        # The worst come first, so that these are nearer to passing (or passed by more).
        lines += ["", f"and {len(more)} more that {'FAILED' if failed else 'passed'}:"]
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
    return "\n".join(lines)


def _verdict(certificate: Certificate) -> str:
    if not certificate.constraints:
        return "No constraint was given, so that nothing was tested."
    total = len(certificate.constraints)
    rows = f"the test on {certificate.n_fairness:,} held-out rows"
    violated = [a.name for a in certificate.assumptions if a.status == "violated"]
    doubt = f", but not all that it rests on holds ({'; '.join(violated)})" if violated else ""
    if not certificate.passed:
        failed = sum(not result.passed for result in certificate.constraints)
        return f"No solution found: {failed} of {total} statements did not pass {rows}{doubt}."
    what = "the statement" if total == 1 else f"all {total} statements"
    return f"Solution found: {what} passed {rows}{doubt}."


def _describe(result: ConstraintResult) -> list[str]:
    mark = "passed" if result.passed else "FAILED"
    lines = [f"{mark}: {result.statement}"]
    if result.constraint != result.statement:
        lines.append(f"  part of: {result.constraint}")
    lines.append(
        f"  g = {_number(result.estimate)} estimated, at most {_number(result.upper)} with "
        f"{100 * (1 - result.delta):g} % confidence ({result.kind}); must be at most 0"
    )
    lines.append(f"  rows: {_sizes(result)}")
    if result.ess is not None and result.max_weight is not None:
        lines.append(
            f"  weights: effective sample size {result.ess:.0f}, mean {result.mean_weight:.3f}, "
            f"largest {result.max_weight:.2f}"
        )
    if not result.passed:
        lines.append(f"  {_advice(result)}")
    lines += [f"  warning: {warning}" for warning in result.warnings]
    return lines


def _brief(result: ConstraintResult) -> str:
    return f"g at most {_number(result.upper)}, {result.n} rows"


def _advice(result: ConstraintResult) -> str:
    if result.estimate >= 0:
        return (
            "the estimate itself is on the wrong side: more rows would not help this model; "
            "another model is needed (more features, another objective), or a looser constraint"
        )
    if result.rows_needed is None:
        return "no number of rows would let this bound pass; another bound may"
    return (
        f"about {_rounded(result.rows_needed):,} rows in all would be needed to pass at this "
        "effect size "
        "(19 times in 20)"
    )


def _sizes(result: ConstraintResult) -> str:
    return ", ".join(
        f"{group.n} (everyone)"
        if group.condition == EVERYONE
        else f"{group.n} where {group.condition}"
        for group in result.groups
    )


def _rounded(rows: int) -> int:
    """Up to two digits that matter: a forecast is no better known."""
    step: int = 10 ** max(0, len(str(rows)) - 2)
    return -(-rows // step) * step


def _number(value: float) -> str:
    return f"{value:.4g}"


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

    table = Table(title=_verdict(certificate), title_justify="left")
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
            Text(result.statement),  # not markup: [impact | ...] is no style
            str(result.n),
            "" if result.ess is None else f"{result.ess:.0f}",
            _number(result.estimate),
            _number(result.upper),
            f"{result.delta:g}",
            "pass" if result.passed else "FAIL",
        )
    return table
