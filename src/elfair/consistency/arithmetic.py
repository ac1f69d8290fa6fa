"""Whether a record agrees with itself, bound by bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite, sqrt

from elfair.bounds import AUTO, bound_for, get_bound, weakest
from elfair.certificate import (
    Certificate,
    ConstraintResult,
    PartRecord,
    TailRecord,
)
from elfair.certificate.explanation import verdict
from elfair.consistency.comparison import RELATIVE, SkippedError, agree, require
from elfair.consistency.stated import Stated
from elfair.errors import ElfairError
from elfair.fairness_test.diagnostics import allowing
from elfair.fairness_test.evidence import SHARED_ROWS, claim_estimate, claim_upper, upper_of
from elfair.language.conditions import EVERYONE, Condition
from elfair.language.conjunction import Linear, conjuncts
from elfair.language.distribution import statistics_in
from elfair.language.evaluation import are_disjoint
from elfair.language.expressions import Mean
from elfair.language.intervals import Formula
from elfair.language.parsing import parse_expression
from elfair.language.tree import find
from elfair.records.text import plural
from elfair.search.goals import counts_positive
from elfair.statistics import confounding, shift
from elfair.statistics.claims import Claim, label_free_claim
from elfair.statistics.impact_estimators import get_impact_estimator

# -- statements ----------------------------------------------------------------------------------


def check_statements(context: Stated) -> str:
    """Each claim has its result, and each result its claim."""
    record, claims = context.record, context.claims
    asked = Counter(_key(claim) for claim in claims if not claim.statistics)
    tested = Counter((each.constraint, each.statement, each.delta) for each in record.constraints)
    missing = [f"'{statement}' at delta {delta}" for _, statement, delta in asked - tested]
    require(not missing, f"no result for {', '.join(missing)}")
    # Other statements stand in for those about a quantile and the like, at points of their own.
    others = {(constraint, delta) for constraint, _, delta in tested - asked}
    beyond = {(claim.conjunct.parent, claim.delta) for claim in claims if claim.statistics}
    agree("what else was tested", sorted(others), sorted(beyond))
    _check_positive(record, claims)
    return f"{plural(len(claims), 'statement')} asked for, {len(record.constraints)} tested"


def _check_positive(record: Certificate, claims: Sequence[Claim]) -> None:
    """The decision that counts as positive is named if something counts it, and is a decision."""
    named, search = record.terms.positive, record.search
    used = bool(record.classes) and counts_positive(claims, search.objective if search else None)
    agree("whether a positive decision is named", named is not None, used)
    require(
        named is None or named in record.classes,
        f"the positive decision is {named!r}, and the decisions are {record.classes}",
    )


def _key(claim: Claim) -> tuple[str, str, float]:
    return claim.conjunct.parent, claim.conjunct.text, claim.delta


def condition_of(text: str) -> Condition | None:
    """The condition of a part or a group, from its text.

    Examples
    --------
    >>> print(condition_of("race == 'A'"))
    race == 'A'
    """
    if text == EVERYONE:
        return None
    (mean,) = find(parse_expression(f"PR[{text}]"), Mean)
    return mean.given


def are_apart(conditions: Sequence[str]) -> bool:
    """Whether nobody can meet two of these conditions.

    Examples
    --------
    >>> are_apart(["T == 0", "T == 1"]), are_apart(["T == 0", "everyone"])
    (True, False)
    """
    given = [condition_of(text) for text in conditions]
    return all(are_disjoint(a, b) for k, a in enumerate(given) for b in given[:k])


# -- moments -------------------------------------------------------------------------------------


def _tails(record: Certificate) -> Iterator[tuple[ConstraintResult, TailRecord, str]]:
    for result in record.constraints:
        for tail in result.tails:
            yield result, tail, f"'{tail.form}' of '{result.statement}'"


def _count(record: Certificate) -> int:
    return sum(len(result.tails) for result in record.constraints)


def check_moments(context: Stated) -> str:
    """Whether such moments are possible, and what follows from them without a bound."""
    record = context.record
    for _, tail, where in _tails(record):
        require(bool(tail.parts), f"{where} has no parts")
        for part in tail.samples:
            _check_part(part, f"{where}, '{part.condition}'")
            require(part.n <= record.n_held_out, f"{where}: more rows than there are")
        names = [part.condition for part in tail.parts]
        require(len(set(names)) == len(names), f"{where}: a condition appears twice")
        _check_disjoint(tail, record, where)
        total = sum(part.mean for part in tail.parts)
        agree(f"{where}: the estimate", tail.estimate, total, _scale(tail))
        _check_error(tail, where)
    return plural(_count(record), "linear form")


def _check_disjoint(tail: TailRecord, record: Certificate, where: str) -> None:
    """Whether parts may be disjoint; the rows of one unit may be in several of them."""
    apart, units = are_apart([part.condition for part in tail.parts]), record.terms.units
    if units is None or units.most_rows <= 1:
        agree(f"{where}: disjoint", tail.disjoint, apart)
    require(apart or not tail.disjoint, f"{where}: its parts share rows")


def _check_part(part: PartRecord, where: str) -> None:
    require(part.n >= 2, f"{where}: {part.n:,} rows")
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
    errors = [sqrt(part.variance / part.n) for part in tail.samples]
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


def _scale(tail: TailRecord) -> float:
    return max(tail.error, *(abs(part.mean) for part in tail.parts))


# -- groups --------------------------------------------------------------------------------------


def check_groups(context: Stated) -> str:
    """Sizes and weights of the groups of each statement."""
    units = context.record.terms.units
    # Where rows count differently, or are averaged by unit, their weights vary more.
    alike = units is None or not (units.weighted or units.most_rows > 1)
    for result in context.record.constraints:
        where = f"'{result.statement}'"
        parts = [(part.condition, part.n) for tail in result.tails for part in tail.parts]
        found = [(group.condition, group.n) for group in result.groups]
        agree(f"{where}: groups", found, list(dict.fromkeys(parts)))
        for group in result.groups:
            weights = (group.ess, group.mean_weight, group.mean_weight_error, group.max_weight)
            known = [weight for weight in weights if weight is not None]
            require(len(known) in (0, 4), f"{where}: '{group.condition}' lacks some weights")
            if known:
                _check_weights(known, group.n, f"{where}, '{group.condition}'", alike=alike)
        sizes = [group.n for group in result.groups]
        least, most = max(sizes), min(sum(sizes), context.record.n_held_out)
        # The rows of one unit may be in several groups.
        alone = units is None or units.most_rows <= 1
        if alone and are_apart([group.condition for group in result.groups]):
            least = sum(sizes)
        require(least <= result.n <= most, f"{where}: {result.n:,} rows, of groups {sizes}")
    return plural(len(context.groups), "group")


def _check_weights(weights: list[float], n: int, where: str, *, alike: bool) -> None:
    """Whether such weights are possible: 0 <= w <= most, so sum w^2 <= most * sum w, if all rows
    count alike.
    """
    ess, mean, error, most = weights
    require(
        0 <= mean <= most * (1 + RELATIVE) < inf and 0 <= error < inf and ess >= 0,
        f"{where}: weights with mean {mean}, largest {most}, error {error}, effective size {ess}",
    )
    least = n * mean / most if most and alike else 0.0
    require(
        least * (1 - RELATIVE) <= ess <= n * (1 + RELATIVE),
        f"{where}: an effective sample size of {ess} from {n} weights is not possible",
    )


# -- bounds --------------------------------------------------------------------------------------


def check_bounds(context: Stated) -> str:
    """The bound on each linear form, from its moments."""
    record = context.record
    stretch = SHARED_ROWS if record.split == "crossfit" else 1.0
    need_rows = []
    for result, tail, where in _tails(record):
        auto = bound_for([part.high for part in tail.parts]).name
        agree(f"{where}: its bound", tail.bound, auto if record.bound == AUTO else record.bound)
        upper = upper_of(tail)
        if upper is None:
            need_rows.append(f"'{tail.bound}'")
            continue
        upper = allowing(replace(tail, upper=upper), result.groups, stretch)
        if not (tail.upper == inf and _may_be_silent(tail)):
            agree(f"{where}: the bound", tail.upper, upper, _scale(tail))
    for result in record.constraints:
        _check_kind(result)
    if need_rows:
        raise SkippedError(
            f"{', '.join(sorted({*need_rows}))} needs every row of {len(need_rows)} of "
            f"{plural(_count(record), 'linear form')}, and the record holds moments; recomputation "
            "checks it"
        )
    return f"{plural(_count(record), 'bound')} at level 1 - delta"


def _check_kind(result: ConstraintResult) -> None:
    """The kind of a statement's bound: that of its weakest one."""
    found = weakest(get_bound(tail.bound).kind for tail in result.tails)
    agree(f"'{result.statement}': the kind of its bound", result.kind, found)


def _may_be_silent(tail: TailRecord) -> bool:
    """Whether rows may be 0 whatever the policy is, so the bound on what they say is infinite.

    Rows that happen to be 0 look the same here. An infinite bound on them is never too small.
    """
    silent = any(part.mean == part.variance == 0 for part in tail.parts)
    return get_bound(tail.bound).kind == "asymptotic" and silent


# -- formulas and verdicts -----------------------------------------------------------------------


def check_formulas(context: Stated) -> str:
    """Estimate, spread and bound of each statement, from those of its linear forms."""
    record, unread = context.record, 0
    for result in record.constraints:
        where = f"'{result.statement}'"
        require(bool(result.tails), f"{where} has no linear form")
        share = share_of_delta(record, result)
        for tail in result.tails:
            require(tail.delta == share, f"{where}: the delta {tail.delta} should be {share}")
        claims = context.claims
        if record.terms.revealed is not None:  # averages among people with a label are quotients
            claims = tuple(map(label_free_claim, claims))
        formula, readable = _formula(result, claims)
        if not readable:
            unread += 1
            continue
        estimate, spread = claim_estimate(formula, result.tails)
        upper = claim_upper(formula, [tail.upper for tail in result.tails])
        scale = max(map(_scale, result.tails))
        agree(f"{where}: the estimate", result.estimate, estimate, scale)
        agree(f"{where}: the spread", result.spread, spread, scale)
        agree(f"{where}: the bound", result.upper, upper, scale)
    if unread:
        raise SkippedError(
            f"{unread} of {plural(len(record.constraints), 'statement')}: no text holds what they "
            "put in the place of a statistic; recomputation checks them"
        )
    return plural(len(record.constraints), "statement")


def share_of_delta(record: Certificate, result: ConstraintResult) -> float:
    """The delta of each linear form: an equal share, times what earlier stages won."""
    share = result.delta / len(result.tails)
    if record.stage is None or record.search is None:
        return share
    known = (record.search.place, result.statement)
    before = [each.before for each in record.wealth if (each.place, each.statement) == known]
    require(len(before) == 1, f"'{result.statement}': {len(before)} e-values of earlier stages")
    return share * before[0] if share * before[0] < 1 else 0.5


def check_wealth(context: Stated) -> str:
    """The e-value of each statement about each model, and what follows from it."""
    record = context.record
    if not record.wealth:
        require(record.bound != "growth" or not record.constraints, "there are no e-values")
        return "no bets were for growth"
    count = 1 if record.search is None else record.search.on_ladder
    meant = [(k, c.statement) for k in range(1, count + 1) for c in record.terms.claims]
    agree("the e-values", [(each.place, each.statement) for each in record.wealth], meant)
    deltas = {claim.statement: claim.delta for claim in record.terms.claims}
    for each in record.wealth:
        where = f"'{each.statement}' about model {each.place}"
        require(min(each.before, each.after) >= 0, f"{where}: a negative e-value")
        require(record.stage is not None or each.before == 1, f"{where}: nothing came before")
        if each.before * deltas[each.statement] >= 1:
            agree(f"{where}: what was won before", each.after, each.before)
    enough = 1 - RELATIVE
    passed = [
        all(e.after * deltas[e.statement] >= enough for e in record.wealth if e.place == k)
        for k in range(1, count + 1)
    ]
    place = 1 if record.search is None else record.search.place
    agree("whether the model passed by its e-values", passed[place - 1], not record.failed)
    require(all(passed[: place - 1]), "a model before the released one has not passed")
    return plural(len(record.wealth), "e-value")


def _formula(result: ConstraintResult, claims: tuple[Claim, ...]) -> tuple[Formula | None, bool]:
    """How the linear forms make the statement, and whether that could be read."""
    form, exact = _form_of(result, claims)
    forms = [tail.form for tail in result.tails]
    if form is None:
        return None, len(forms) == 1 and _stands_alone(result, claims)
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


def _stands_alone(result: ConstraintResult, claims: tuple[Claim, ...]) -> bool:
    """Whether a statistic is what its statement compares, with nothing around it."""
    beyond = [claim for claim in claims if claim.statistics]
    asked = [claim for claim in beyond if claim.conjunct.parent == result.constraint]
    return all(claim.conjunct.form.is_linear for claim in asked)


def _form_of(result: ConstraintResult, claims: tuple[Claim, ...]) -> tuple[Linear | None, bool]:
    """What a result is about, and whether that is known to the last digit.

    What stands in for a quantile or the like is known only from its text; None if that cannot be
    read.
    """
    for claim in claims:
        if _key(claim) == (result.constraint, result.statement, result.delta):
            return (None, False) if claim.statistics else (claim.conjunct.form, True)
    try:
        whole = conjuncts(result.statement)
    except ElfairError:
        return None, False
    if len(whole) != 1 or statistics_in(whole[0].form.expression):
        return None, False
    return whole[0].form, False


def check_verdicts(context: Stated) -> str:
    """A statement passes if its bound is at most 0, and a model if all its statements do and no
    assumption is violated that was not accepted.
    """
    record = context.record
    for result in record.constraints:
        agree(f"'{result.statement}': passed", result.passed, result.upper <= 0)
        _check_break_even(result, record)
    against = ", ".join(each.code for each in record.objections)
    require(
        not (record.passed and against),
        f"the model was released, although an assumption is violated and not accepted: {against}",
    )
    agree("passed", record.passed, not (record.failed or record.objections))
    return verdict(record)


def _check_break_even(result: ConstraintResult, record: Certificate) -> None:
    """Whether break-even values can be those of a statement; the rows say which they are."""
    terms, units = record.terms, record.terms.units
    alike = units is None or (units.average == "unit" and not units.weighted)
    fixed = record.split == "crossfit" or get_impact_estimator(record.estimator).replaces_logged
    changes = alike and not fixed and terms.behavior is None
    for known, least, grid, can, what in (
        (result.break_even, terms.Lambda, confounding.GRID, result.ess is not None, "value"),
        (result.break_even_shift, terms.shift, shift.GRID, changes, "shift"),
    ):
        shown = f"'{result.statement}': the break-even {what}"
        if known is None or not (result.passed and can):
            require(known is None, f"{shown} is {known}, and should be none")
        else:
            right = known == least or (known > least and known in grid)
            require(right, f"{shown} is {known}, which is not among those that are tried")
