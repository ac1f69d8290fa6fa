"""Level 2: whether the record agrees with itself, bound by bound, and with its study file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any

from elfair.bounds import AUTO, bound_for, bound_in_folds, get_bound, weakest
from elfair.certificate import (
    NOT_STATED,
    Certificate,
    ClaimRecord,
    ConstraintResult,
    PartRecord,
    TailRecord,
)
from elfair.certificate.explanation import verdict
from elfair.errors import ElfairError
from elfair.fairness_test.diagnostics import allowing
from elfair.fairness_test.evidence import SHARED_ROWS, claim_estimate, claim_upper, upper_of
from elfair.fairness_test.issue import unseen_records
from elfair.language.conditions import EVERYONE, Condition
from elfair.language.conjunction import Linear, conjuncts
from elfair.language.distribution import statistics_in
from elfair.language.evaluation import are_disjoint
from elfair.language.expressions import Mean
from elfair.language.intervals import Formula
from elfair.language.parsing import parse_expression
from elfair.language.recipes import Recipe
from elfair.language.tree import find
from elfair.records.text import plural
from elfair.search.goals import counts_positive
from elfair.statistics.claims import Claim
from elfair.statistics.confounding import GRID
from elfair.statistics.impact_estimators import declared_estimation
from elfair.verification.comparison import RELATIVE, SkippedError, agree, require, require_same
from elfair.verification.context import Context

if TYPE_CHECKING:
    from elfair.study import StudyFile

# -- statements ----------------------------------------------------------------------------------


def check_statements(context: Context) -> str:
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


def check_moments(context: Context) -> str:
    """Whether such moments are possible, and what follows from them without a bound."""
    record = context.record
    for _, tail, where in _tails(record):
        require(bool(tail.parts), f"{where} has no parts")
        for part in tail.parts:
            _check_part(part, f"{where}, '{part.condition}'")
            require(part.n <= record.n_held_out, f"{where}: more rows than there are")
        names = [part.condition for part in tail.parts]
        require(len(set(names)) == len(names), f"{where}: a condition appears twice")
        agree(f"{where}: disjoint", tail.disjoint, are_apart(names))
        total = sum(part.mean for part in tail.parts)
        agree(f"{where}: the estimate", tail.estimate, total, _scale(tail))
        _check_error(tail, where)
    return plural(_count(record), "linear form")


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


def _scale(tail: TailRecord) -> float:
    return max(tail.error, *(abs(part.mean) for part in tail.parts))


# -- groups --------------------------------------------------------------------------------------


def check_groups(context: Context) -> str:
    """Sizes and weights of the groups of each statement."""
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
                _check_weights(known, group.n, f"{where}, '{group.condition}'")
        sizes = [group.n for group in result.groups]
        least, most = max(sizes), min(sum(sizes), context.record.n_held_out)
        if are_apart([group.condition for group in result.groups]):
            least = sum(sizes)
        require(least <= result.n <= most, f"{where}: {result.n} rows, of groups {sizes}")
    return plural(len(context.groups), "group")


def _check_weights(weights: list[float], n: int, where: str) -> None:
    """Whether such weights are possible: 0 <= w <= most, so sum w^2 <= most * sum w."""
    ess, mean, error, most = weights
    require(
        0 <= mean <= most * (1 + RELATIVE) < inf and 0 <= error < inf and ess >= 0,
        f"{where}: weights with mean {mean}, largest {most}, error {error}, effective size {ess}",
    )
    least = n * mean / most if most else 0.0
    require(
        least * (1 - RELATIVE) <= ess <= n * (1 + RELATIVE),
        f"{where}: an effective sample size of {ess} from {n} weights is not possible",
    )


# -- bounds --------------------------------------------------------------------------------------


def check_bounds(context: Context) -> str:
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


def check_formulas(context: Context) -> str:
    """Estimate, spread and bound of each statement, from those of its linear forms."""
    record, unread = context.record, 0
    for result in record.constraints:
        where = f"'{result.statement}'"
        require(bool(result.tails), f"{where} has no linear form")
        share = result.delta / len(result.tails)
        for tail in result.tails:
            require(tail.delta == share, f"{where}: the delta {tail.delta} should be {share}")
        formula, readable = _formula(result, context.claims)
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


def _formula(result: ConstraintResult, claims: tuple[Claim, ...]) -> tuple[Formula | None, bool]:
    """How the linear forms make the statement, and whether that could be read."""
    form, exact = _form_of(result, claims)
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


def check_verdicts(context: Context) -> str:
    """A statement passes if its bound is at most 0, and a model if all its statements do and no
    assumption is violated that was not accepted.
    """
    record = context.record
    for result in record.constraints:
        agree(f"'{result.statement}': passed", result.passed, result.upper <= 0)
        _check_break_even(result, record.terms.Lambda)
    against = ", ".join(each.code for each in record.objections)
    require(
        not (record.passed and against),
        f"the model was released, although an assumption is violated and not accepted: {against}",
    )
    agree("passed", record.passed, not (record.failed or record.objections))
    return verdict(record)


def _check_break_even(result: ConstraintResult, least: float) -> None:
    """Whether a break-even value can be that of a statement; the rows say which it is."""
    known, shown = result.break_even, f"'{result.statement}': the break-even value"
    if known is None or not (result.passed and result.ess is not None):
        require(known is None, f"{shown} is {known}, and should be none")
    else:
        right = known == least or (known > least and known in GRID)
        require(right, f"{shown} is {known}, which is not among those that are tried")


# -- the study file ------------------------------------------------------------------------------


def check_study(context: Context) -> str | None:
    """Whether the study file asks for what was tested."""
    if not context.record.provenance.study:
        return None
    study = context.study
    asked = study.estimator().get_params(deep=False)
    _check_settings(context, study.title, asked)
    names = [each for each in asked["constraints"] if isinstance(each, Recipe)]
    if context.data is None and names:
        raise SkippedError(f"'{names[0]}' is about the groups in the data, which were not given")
    _check_claims(context, study)
    if context.data is not None:
        _check_declared(context, asked)
    return f"{plural(len(study.constraints), 'constraint')}, as tested"


def _check_settings(context: Context, title: str, asked: Mapping[str, Any]) -> None:
    record, terms = context.record, context.record.terms
    said: dict[str, Any] = {
        "random_state": record.seed,
        "bound": record.bound,
        "looks": terms.looks,
    }
    if asked["estimator"] != AUTO:
        said["estimator"] = record.estimator
    # The command line may accept more than the study does.
    unsaid = set(asked["accept_violated"]) - set(terms.accept_violated)
    require(not unsaid, f"the study accepts {sorted(unsaid)}, and the terms do not say so")
    if terms.claims:
        said["split"] = record.split
    if record.split == "crossfit":
        said["folds"] = terms.folds
        asked = {**asked, "bound": bound_in_folds(asked["bound"])}
    elif terms.claims:
        said["candidate_fraction"] = terms.candidate_share
    if record.search is not None:
        said |= {"search": record.search.method, "objective": record.search.objective}
    if terms.positive is not None:
        _check_named(terms.positive, asked["positive"], record.classes)
    agree("the title", record.provenance.title, title)
    for name, value in said.items():
        agree(name, value, asked[name])


def _check_named(positive: str, asked: Any, classes: Sequence[str]) -> None:
    """The positive decision is the one that the study names; without a name, the larger one (see
    `elfair.data.classes.read_positive`). A study may write 1 for 1.0 and for True.
    """
    names = {str(asked)}
    if asked is None:
        names = {classes[-1]}
    elif not isinstance(asked, str):
        names |= {str(kind(asked)) for kind in (bool, int, float) if kind(asked) == asked}
    require(positive in names, f"the positive decision is {positive!r}, and should be {asked!r}")


def _check_claims(context: Context, study: StudyFile) -> None:
    looks = context.record.terms.looks
    meant = tuple(
        ClaimRecord(
            each.text,
            part.text,
            each.delta / looks,
            each.chosen_by or NOT_STATED,
            each.why or NOT_STATED,
        )
        for each in study.stated(context.data)
        for part in conjuncts(each.text)
    )
    require_same(context.record.terms.claims, meant, "terms.claims, which the study asks for,")


def _check_declared(context: Context, asked: Mapping[str, Any]) -> None:
    """Whether the study declares the same ranges of impacts, propensity floor and chances."""
    terms = context.record.terms
    declared = declared_estimation(context.rows, asked)
    ranges = {each.impact: (each.low, each.high) for each in terms.impact_ranges}
    agree("the declared ranges", ranges, declared.ranges)
    agree("the propensity floor", terms.propensity_floor, declared.propensity_floor)
    agree("Lambda", terms.Lambda, declared.Lambda)
    lottery = context.rows.lottery
    chances = lottery.records(context.rows.classes) if lottery is not None else ()
    require_same(terms.lottery, chances, "terms.lottery, which the study declares,")
    unseen = unseen_records(context.rows)
    require_same(terms.unseen, unseen, "terms.unseen, which the study declares,")
