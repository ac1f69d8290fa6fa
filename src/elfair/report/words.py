"""Numbers and sentences that every rendering of a certificate shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf, isnan

from elfair.certificate import Certificate, ConstraintResult, GroupRecord
from elfair.language import EVERYONE
from elfair.records.text import raised


def number(value: float) -> str:
    """A number with the digits that matter.

    Examples
    --------
    >>> number(-0.0123456), number(float("inf")), number(float("nan"))
    ('-0.01235', 'infinite', 'none')
    """
    if isnan(value):
        return "none"
    if isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return f"{value:.4g}"


def exact(value: float) -> str:
    """A number with all its digits, from which the same float can be read again.

    Examples
    --------
    >>> exact(0.1), exact(float("-inf"))
    ('0.1', '-inf')
    """
    return repr(float(value))


def rate(value: float) -> str:
    """A share in percent.

    Examples
    --------
    >>> rate(0.1), rate(0.123456)
    ('10 %', '12.3 %')
    """
    return f"{100 * value:.3g} %"


def confidence(delta: float) -> str:
    """The confidence that a delta leaves.

    Examples
    --------
    >>> confidence(0.1), confidence(0.001)
    ('90 %', '99.9 %')
    """
    return f"{100 * (1 - delta):g} %"


def count(n: int) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def plural(n: int, one: str) -> str:
    """How many of something.

    Examples
    --------
    >>> plural(1, "statement"), plural(1200, "statement")
    ('1 statement', '1,200 statements')
    """
    return f"{count(n)} {one}{'' if n == 1 else 's'}"


def sentence(words: str) -> str:
    """Words as a sentence.

    Examples
    --------
    >>> sentence("too few rows")
    'Too few rows.'
    """
    return f"{words[:1].upper()}{words[1:]}."


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
