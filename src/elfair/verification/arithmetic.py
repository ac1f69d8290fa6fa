"""Level 2: whether the record agrees with itself, bound by bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, isfinite, sqrt

from elfair.bounds import Bound, Moments, get_bound
from elfair.certificate import Certificate, ConstraintResult, PartRecord, TailRecord
from elfair.fairness_test.diagnostics import hidden_variance, is_unseen
from elfair.fairness_test.evidence import SHARED_ROWS, widened
from elfair.language import are_disjoint
from elfair.language.intervals import Formula
from elfair.records.text import plural
from elfair.statistics.plan import Claim
from elfair.verification.bookkeeping import bookkeeping_checks
from elfair.verification.checks import RELATIVE, Check, SkippedError, close, make, require
from elfair.verification.premises import (
    check_answers,
    claims_of,
    condition_of,
    form_of,
    knows_behavior,
    premise_checks,
)


def arithmetic_checks(record: Certificate) -> list[Check]:
    """All that follows from the record alone."""
    checks: list[tuple[str, Callable[[Certificate], str | None]]] = [
        ("statements", check_answers),
        ("moments", _check_moments),
        ("bounds", _check_bounds),
        ("formulas", _check_formulas),
        ("verdicts", _check_verdicts),
    ]
    return [
        *(make("arithmetic", name, partial(look, record)) for name, look in checks),
        *bookkeeping_checks(record),
        *premise_checks(record),
    ]


def _tails(record: Certificate) -> list[tuple[ConstraintResult, TailRecord]]:
    return [(result, tail) for result in record.constraints for tail in result.tails]


# -- moments -------------------------------------------------------------------------------------


def _check_moments(record: Certificate) -> str:
    """What moments there can be, and what follows from them without a bound."""
    for result, tail in _tails(record):
        where = f"'{tail.form}' of '{result.statement}'"
        require(bool(tail.parts), f"{where} has no parts")
        for part in tail.parts:
            _check_part(part, f"{where}, '{part.condition}'")
            require(part.n <= record.n_fairness, f"{where}: more rows than there are")
        names = [part.condition for part in tail.parts]
        require(len(set(names)) == len(names), f"{where}: a condition comes twice")
        given = [condition_of(name) for name in names]
        apart = all(are_disjoint(a, b) for k, a in enumerate(given) for b in given[:k])
        require(tail.disjoint == apart, f"{where}: disjoint is {tail.disjoint}, and should not be")
        total = sum(part.mean for part in tail.parts)
        require(
            close(tail.estimate, total, _scale(tail)),
            f"{where}: the estimate is {tail.estimate}, and the means add up to {total}",
        )
        _check_error(tail, where)
        _check_unseen(record, result, tail, where)
    return plural(len(_tails(record)), "linear form")


def _check_part(part: PartRecord, where: str) -> None:
    require(part.n >= 2, f"{where}: {part.n} rows")
    require(
        isfinite(part.mean) and 0 <= part.variance < inf and part.low <= part.high,
        f"{where}: mean {part.mean}, variance {part.variance}, ends {part.low} and {part.high}",
    )
    # Rows inside [low, high] vary most where all of them are at the ends (Bhatia and Davis 2000).
    slack = RELATIVE * max(1.0, abs(part.mean), sqrt(part.variance))
    inside = part.low - slack <= part.mean <= part.high + slack
    most = (part.mean - part.low + slack) * (part.high - part.mean + slack) * part.n / (part.n - 1)
    require(
        inside and part.variance <= most * (1 + RELATIVE),
        f"{where}: rows between {part.low} and {part.high} cannot have mean {part.mean} and "
        f"variance {part.variance}",
    )


def _check_error(tail: TailRecord, where: str) -> None:
    errors = [sqrt(part.variance / part.n) for part in tail.parts]
    if tail.disjoint or len(errors) == 1:
        least = most = sqrt(sum(error**2 for error in errors))
    else:  # whatever the parts share, by the inequality of Cauchy and Schwarz
        most = sum(errors)
        least = max(0.0, 2 * max(errors) - most)
    # Where parts share rows, the influence of a row divides by sqrt(n (n - 1)), as errors do.
    slack = RELATIVE * most
    require(
        least - slack <= tail.error <= most + slack,
        f"{where}: the standard error is {tail.error}; the parts allow {least} to {most}",
    )


def _check_unseen(
    record: Certificate, result: ConstraintResult, tail: TailRecord, where: str
) -> None:
    """What rows do not show follows from the groups' weights, up to how large impacts are."""
    hidden = result.kind == "asymptotic" and knows_behavior(record)
    parts = {part.condition for part in tail.parts}
    some = hidden and any(
        hidden_variance(group) for group in result.groups if group.condition in parts
    )
    fits = tail.unseen > 0 if some else tail.unseen == 0
    # A part without impacts, or with one that does not vary, adds nothing.
    require(
        fits or (some and tail.unseen == 0 and not _weighs(record, tail)),
        f"{where}: rows hide a variance of {tail.unseen}, and their weights tell otherwise",
    )


def _weighs(record: Certificate, tail: TailRecord) -> bool:
    """Whether an impact may be weighted in a linear form."""
    return any(f"E[{name}" in tail.form for name in ("impact", *record.roles.impacts))


def _scale(tail: TailRecord) -> float:
    return max(tail.error, *(abs(part.mean) for part in tail.parts))


# -- bounds --------------------------------------------------------------------------------------


def _check_bounds(record: Certificate) -> str:
    """The bound on each linear form, from its moments."""
    bound = get_bound(record.bound)
    stretch = SHARED_ROWS if record.split == "crossfit" else 1.0
    needs_rows = 0
    for result, tail in _tails(record):
        require(result.kind == bound.kind, f"'{record.bound}' is {bound.kind}, not {result.kind}")
        upper = upper_of(tail, bound)
        if upper is None:
            needs_rows += 1
            continue
        upper = tail.estimate + stretch * (upper - tail.estimate)
        if tail.upper == inf and _may_be_silent(tail, bound):
            continue
        require(
            close(tail.upper, upper, _scale(tail)),
            f"'{tail.form}' of '{result.statement}': the moments give {upper}, not {tail.upper}",
        )
    if needs_rows:
        raise SkippedError(
            f"bound='{bound.name}' looks at every row of {needs_rows} of "
            f"{plural(len(_tails(record)), 'linear form')}, of which the record keeps moments; "
            "recomputation makes it again"
        )
    return f"{plural(len(_tails(record)), 'bound')} at level 1 - delta"


def upper_of(tail: TailRecord, bound: Bound) -> float | None:
    """The bound on a linear form, where the record is enough; not stretched.

    Examples
    --------
    >>> part = PartRecord("everyone", 4, 0.0, 1 / 3, -1.0, 1.0)
    >>> tail = TailRecord("PR - 0.5", 0.1, 0.0, 0.4728, 0.2887, 0.0, True, (part,))
    >>> round(upper_of(tail, get_bound("ttest")), 4)
    0.4728
    """
    moments = [Moments(p.n, p.mean, p.variance, p.low, p.high) for p in tail.parts]
    upper = bound.upper_of_moments(moments, tail.delta, disjoint=tail.disjoint, error=tail.error)
    return None if upper is None else widened(tail.estimate, upper, tail.error, tail.unseen)


def _may_be_silent(tail: TailRecord, bound: Bound) -> bool:
    """Whether rows may be 0 whatever the policy is: then they say nothing, and the bound is that.

    Rows that happen to be 0 look the same here; the infinite bound is the one that errs on no side.
    """
    silent = any(part.mean == part.variance == 0 for part in tail.parts)
    return bound.kind == "asymptotic" and silent


# -- statements ----------------------------------------------------------------------------------


def _check_formulas(record: Certificate) -> str:
    """Estimate, spread and bound of each statement, from those of its linear forms."""
    claims, known = claims_of(record.terms), knows_behavior(record)
    unread = 0
    for result in record.constraints:
        where = f"'{result.statement}'"
        require(bool(result.tails), f"{where} has no linear form")
        shares = {tail.delta for tail in result.tails}
        share = result.delta / len(result.tails)
        require(shares == {share}, f"{where}: the deltas {sorted(shares)} should be {share}")
        formula, readable = _formula(result, claims)
        if not readable:
            unread += 1
            continue
        _check_combined(result, formula, where)
        upper = result.tails[0].upper
        if formula is not None:
            upper, _ = formula.upper([tail.upper for tail in result.tails])
        unseen = result.kind == "asymptotic" and not known and any(map(is_unseen, result.groups))
        upper = inf if unseen else upper
        require(
            close(result.upper, upper, max(map(_scale, result.tails))),
            f"{where}: the bound is {result.upper}, and its linear forms give {upper}",
        )
    if unread:
        raise SkippedError(
            f"{unread} of {plural(len(record.constraints), 'statement')}: what they put in the "
            "place of a statistic is in no text; recomputation makes them again"
        )
    return plural(len(record.constraints), "statement")


def _formula(result: ConstraintResult, claims: tuple[Claim, ...]) -> tuple[Formula | None, bool]:
    """How the linear forms make the statement, and whether that could be read."""
    form, exact = form_of(result, claims)
    forms = [tail.form for tail in result.tails]
    if form is None:
        return None, len(forms) == 1
    if form.is_linear:
        require(len(forms) == 1, f"'{result.statement}' is linear, and has {len(forms)} parts")
        require(not exact or forms == [str(form)], f"'{result.statement}' is not {forms[0]} <= 0")
        return None, True
    formula = Formula(form)
    meant = [str(tail) for tail in formula.tails]
    require(
        len(meant) == len(forms) and (not exact or meant == forms),
        f"'{result.statement}' is made of {meant}, and not of {forms}",
    )
    return formula, True


def _check_combined(result: ConstraintResult, formula: Formula | None, where: str) -> None:
    spreads = [sqrt(sum(part.variance for part in tail.parts)) for tail in result.tails]
    estimate, spread = result.tails[0].estimate, spreads[0]
    if formula is not None:
        estimate, slopes = formula.value([tail.estimate for tail in result.tails])
        spread = sqrt(sum((a * b) ** 2 for a, b in zip(slopes, spreads, strict=True)))
    scale = max(map(_scale, result.tails))
    for name, said, found in (
        ("estimate", result.estimate, estimate),
        ("spread", result.spread, spread),
    ):
        require(close(said, found, scale), f"{where}: the {name} is {said}, and should be {found}")


def _check_verdicts(record: Certificate) -> str:
    for result in record.constraints:
        require(
            result.passed == (result.upper <= 0),
            f"'{result.statement}' is said to have {'passed' if result.passed else 'failed'}, and "
            f"its bound is {result.upper}",
        )
    require(
        record.passed == all(result.passed for result in record.constraints),
        f"passed is {record.passed}, and the statements say otherwise",
    )
    return "passed is upper <= 0 for each statement, and for all together"
