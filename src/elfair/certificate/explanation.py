"""A result in plain text: the verdict, what failed and by how much, what the promise rests on."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from elfair.certificate.results import ConstraintResult, GroupRecord
from elfair.language import EVERYONE
from elfair.records.text import confidence, number, plural, raised, visible

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate

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
    assumed = [a.name for a in certificate.assumptions if a.status == "assumed"]
    if assumed:
        paragraphs.append([f"Assumed, not checked: {'; '.join(assumed)}."])
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


def pass_or_fail(result: ConstraintResult) -> str:
    """The verdict on a statement, in a word."""
    return "passed" if result.passed else "FAILED"


def failed(certificate: Certificate) -> list[ConstraintResult]:
    """The statements that did not pass, the worst first."""
    return [result for result in certificate.constraints if not result.passed]


def numbered(results: Sequence[ConstraintResult]) -> list[str]:
    """Short names of statements, by which tables refer to them."""
    return [f"S{place}" for place, _ in enumerate(results, start=1)]


def verdict(certificate: Certificate) -> str:
    """The result in a sentence."""
    if not certificate.constraints:
        return "No constraint was given, so that nothing was tested."
    total = len(certificate.constraints)
    rows = f"the test on {certificate.n_fairness:,} held-out rows"
    names = "; ".join(each.name for each in certificate.violated)
    if not certificate.passed:
        moreover = f" Moreover, not all that the test rests on holds ({names})." if names else ""
        return (
            f"No solution found: {len(failed(certificate))} of {plural(total, 'statement')} did "
            f"not pass {rows}.{moreover}"
        )
    doubt = f", but not all that it rests on holds ({names})" if names else ""
    what = {1: "the statement", 2: "both statements"}.get(total, f"all {total} statements")
    return f"Solution found{doubt}: {what} passed {rows}."


def seen(result: ConstraintResult) -> str:
    """What the test saw of a statement."""
    return (
        f"g = {number(result.estimate)} estimated, at most {number(result.upper)} with "
        f"{confidence(result.delta)} confidence ({result.kind}); must be at most 0"
    )


def outlook(result: ConstraintResult) -> str:
    """Whether rows would help a statement that did not pass, and how many."""
    if result.upper == inf and result.spread == 0:
        return (
            "its rows do not vary, so that there is no t bound: was the right column read, and "
            "measured? A finite-sample bound does without"
        )
    if result.estimate >= 0:
        return (
            "the estimate itself is on the wrong side: more rows would not help this model; "
            "another model is needed (more features, another objective), or a looser constraint"
        )
    if result.rows_needed is None:
        return "no number of rows would let this bound pass; another bound may"
    return (
        f"about {raised(result.rows_needed):,} rows in all would be needed to pass at this "
        "effect size (19 times in 20)"
    )


def sizes(result: ConstraintResult) -> str:
    """How many held-out rows each condition of a statement has."""
    return ", ".join(_size(group) for group in result.groups)


def _size(group: GroupRecord) -> str:
    if group.condition == EVERYONE:
        return f"{group.n} (everyone)"
    return f"{group.n} where {group.condition}"
