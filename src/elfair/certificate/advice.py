"""After "no solution found": why a statement failed, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING

from elfair.bounds import FINITE_SAMPLE
from elfair.certificate.codes import Assumption, AssumptionCode, WarningCode
from elfair.certificate.parts import ConstraintResult
from elfair.records.text import number, plural, raised

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate

#: An effective sample size below this share of its rows: the new model differs much from the old.
FAR_BELOW = 0.5
#: The ends of a 90 % interval, in standard errors.
ERRORS = 1.645


@dataclass(frozen=True)
class Advice:
    """A likely cause of a failure, and what to do.

    Parameters
    ----------
    seen : str
        What the certificate shows.
    cause : str
        What probably causes it.
    steps : str
        What to do.
    """

    seen: str
    cause: str
    steps: str


#: What causes a violated assumption, and what to do about it.
VIOLATED: dict[AssumptionCode, tuple[str, str]] = {
    "opened_once": (
        "a further look at the same rows, which was not declared before the first",
        "test new rows; if there may be several looks at them, declare looks= before the first",
    ),
    "halves_independent": (
        "a split that ties candidate rows and held-out rows together",
        'use split="random"',
    ),
    "tau_known": (
        "an average of the data in the place of the old model's true impact",
        'use estimator="paired"',
    ),
    "mean_weight": (
        "wrong propensities, or decisions almost absent from the log: no bound computed with such "
        "weights means anything",
        "correct the propensities",
    ),
    "normal_average": (
        "the new model takes decisions almost absent from the log",
        "leave bound= out: the default allows for that; log more exploration",
    ),
}


def object_to(assumption: Assumption) -> Advice:
    """Why no model is released if an assumption is violated, and what to do about it.

    Parameters
    ----------
    assumption : Assumption
        It does not hold, and was not accepted.

    Examples
    --------
    >>> object_to(Assumption.of("halves_independent", "violated")).steps
    'use split="random"; or accept it, in writing: accept_violated=["halves_independent"]'
    """
    cause, steps = VIOLATED[assumption.code]
    return Advice(
        f"'{assumption.name}' does not hold: {assumption.evidence}",
        cause,
        f'{steps}; or accept it, in writing: accept_violated=["{assumption.code}"]',
    )


def advise(result: ConstraintResult, certificate: Certificate) -> tuple[Advice, ...]:
    """Why a statement failed, and what may help; the most important advice first.

    Parameters
    ----------
    result : ConstraintResult
        A statement that did not pass.
    certificate : Certificate
        What it is part of. A model from elsewhere has no search to advise on.
    """
    searched = certificate.search is not None
    return (_first(result, searched), *_further(result, searched))


def _first(result: ConstraintResult, searched: bool) -> Advice:
    estimate, upper = number(result.estimate), number(result.upper)
    if unseen := _warned(result, "decisions_unseen", "variance_hidden"):
        return _differ(unseen, searched)
    if result.upper == inf and result.spread == 0:
        return Advice(
            "the upper bound is infinite, and the spread is 0",
            "its rows do not vary, so there is no t bound",
            "check that the right column was read, and that it was measured; a finite-sample bound "
            "needs no variation",
        )
    if not isfinite(result.upper):
        return Advice(
            f"the upper bound is {upper}",
            "rows that do not vary, or a quotient whose denominator may be 0",
            "check whether the group, or the model's decisions about it, are constant; multiply "
            "the quotient out",
        )
    low, high = _interval(result)
    if result.estimate >= 0:
        instead = (
            "loosen a constraint; give the model more features, or a richer scorer (scorer=)"
            if searched
            else "loosen a constraint, or make another model: ELFClassifier searches for one that "
            "meets the constraints"
        )
        if low >= 0:
            return Advice(
                f"the estimate itself, {estimate}, is on the wrong side of 0, beyond doubt",
                "no such model is in reach, or two constraints conflict; more rows would not help "
                "this model",
                instead,
            )
        return Advice(
            f"the estimate itself, {estimate}, is on the wrong side of 0, but that may be chance "
            f"(90 % interval: {number(low)} to {number(high)})",
            "too few rows to tell, or no such model is in reach, or two constraints conflict",
            f"collect more rows, if you have reason to expect more of the model; {instead}",
        )
    if result.rows_needed is None:
        return Advice(
            f"the estimate is {estimate}, the upper bound {upper}",
            "no number of rows would let this bound pass",
            "try another bound",
        )
    return Advice(
        f"the estimate, {estimate}, is below 0, but the upper bound, {upper}, is above 0",
        "too few rows for this effect",
        f"collect about {raised(result.rows_needed):,} rows in all ({_rows_needed(result)}), with "
        "which this statement would pass 19 times in 20; or define larger groups; or choose a "
        "larger delta, before you look at new rows",
    )


def _interval(result: ConstraintResult) -> tuple[float, float]:
    """Where g may well be, by the rows that tested it."""
    error = result.spread / sqrt(result.n)
    return result.estimate - ERRORS * error, result.estimate + ERRORS * error


def _rows_needed(result: ConstraintResult) -> str:
    """How many rows are needed if g is at either end of its interval: as the square of 1 / g."""
    assert result.rows_needed is not None
    at_best, at_worst = (
        raised(result.rows_needed * (result.estimate / g) ** 2) if g < 0 else None
        for g in _interval(result)
    )
    most = "no number is enough" if at_worst is None else f"{at_worst:,}"
    return f"by a 90 % interval for g, {at_best:,} at best, and at worst {most}"


def _differ(seen: str, searched: bool) -> Advice:
    mix = "; pass behavior= as a fitted model, which makes mixtures with it candidates, too"
    steps = "log more exploration" + (mix if searched else "")
    return Advice(seen, "the new model differs much from the old one", steps)


def _further(result: ConstraintResult, searched: bool) -> Iterator[Advice]:
    for group in result.groups:
        if group.ess is not None and group.ess < FAR_BELOW * group.n:
            rows = f"the {plural(group.n, 'row')} of {group.condition}"
            yield _differ(f"{rows} are worth {group.ess:,.0f} (effective sample size)", searched)
    if small := _warned(result, "few_held_out_rows"):
        yield Advice(small, "a small group", "merge groups, or collect more rows of it")
    if len(result.tails) > 1:
        yield Advice(
            f"its bound is made of {len(result.tails)} bounds, which share its delta",
            "a product, or an either/or",
            "write a form that is tested at the full delta, if there is one",
        )
    *cautious, least = FINITE_SAMPLE
    if used := next((tail.bound for tail in result.tails if tail.bound in cautious), None):
        yield Advice(
            f"its bound is '{used}'",
            "other finite-sample bounds are tighter",
            f"leave bound= out, or use bound='{least}'",
        )


def _warned(result: ConstraintResult, *codes: WarningCode) -> str:
    """What the warnings with some codes say."""
    return "; ".join(each.text for each in result.warnings if each.code in codes)


def advise_on_all(certificate: Certificate) -> tuple[Advice, ...]:
    """What may help if no single statement is to blame.

    Parameters
    ----------
    certificate : Certificate
        A result of "no solution found".
    """
    found = [object_to(each) for each in certificate.objections]
    passed = sum(result.passed for result in certificate.constraints)
    if certificate.failed and passed and len(certificate.constraints) >= 10:
        found.append(
            Advice(
                f"{passed} of {len(certificate.constraints)} statements passed, but all must pass "
                "at once",
                "many statements, some of them about small groups",
                "merge groups, or name only the groups that you need a promise for",
            )
        )
    return tuple(found)


def more_from_the_same_rows(certificate: Certificate) -> tuple[str, ...]:
    """Ways to learn more from the same number of rows.

    Parameters
    ----------
    certificate : Certificate
        A result of "no solution found".
    """
    if certificate.search is None:
        return ()
    return (
        'split="crossfit" uses every row for both search and test. It returns a model most often, '
        "and is asymptotic only.",
        "candidate_tuning= chooses among settings inside the candidate rows. It costs no validity.",
    )


WHAT_NOT_TO_DO = (
    "What not to do: try other seeds or models on these rows until one passes. That is peeking, "
    "and voids the stated confidence: no model is released. If you change constraints or settings "
    "after you have seen this result, test the next model on new rows. If you know in advance that "
    "there will be several looks at them, declare how many with looks=."
)
