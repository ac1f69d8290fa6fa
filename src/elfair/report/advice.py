"""After "no solution found": why a statement failed, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from elfair.certificate import Certificate, ConstraintResult
from elfair.certificate.assumptions import WarningCode
from elfair.certificate.explanation import outlook
from elfair.records.text import number, raised

#: An effective sample size below this share of its rows says that old and new model differ much.
FAR_BELOW = 0.5
EXPLORE = (
    "log more exploration; pass behavior= as a fitted model, so that mixtures with it are "
    "candidates"
)


@dataclass(frozen=True)
class Advice:
    """A likely cause and what to do.

    Parameters
    ----------
    seen : str
        What the certificate says.
    cause : str
        What that is likely to come from.
    steps : str
        What to do.
    """

    seen: str
    cause: str
    steps: str


def advise(result: ConstraintResult) -> tuple[Advice, ...]:
    """Why a statement failed, and what may help.

    Parameters
    ----------
    result : ConstraintResult
        A statement that did not pass.
    """
    return (_first(result), *_further(result))


def _first(result: ConstraintResult) -> Advice:
    if unseen := _warned(result, "decisions_unseen", "variance_hidden"):
        return Advice(unseen, "old and new model differ much", EXPLORE)
    if not isfinite(result.upper):
        return Advice(
            f"the bound is {number(result.upper)}",
            "rows that do not vary, or a quotient whose bottom may be 0",
            "look whether the group, or the model's decisions about it, are constant; ask for the "
            "quotient multiplied out",
        )
    if result.estimate >= 0:
        return Advice(
            f"the estimate itself, {number(result.estimate)}, is on the wrong side of 0",
            "no such model in reach, or two constraints that conflict; more rows would not help "
            "this model",
            "loosen one constraint; give the model more features, or a richer scorer (scorer=)",
        )
    if result.rows_needed is None:
        return Advice(
            f"the estimate is {number(result.estimate)}, the bound {number(result.upper)}",
            "a bound that this effect cannot reach",
            outlook(result),
        )
    return Advice(
        f"the estimate, {number(result.estimate)}, is below 0, the bound, {number(result.upper)}, "
        "above",
        "too few rows for this effect",
        f"collect about {raised(result.rows_needed):,} rows in all (with these, and if estimate "
        "and spread stay as they are, this statement would pass 19 times in 20); larger groups; "
        "a larger delta, if decided beforehand",
    )


def _further(result: ConstraintResult) -> Iterator[Advice]:
    for group in result.groups:
        if group.ess is not None and group.ess < FAR_BELOW * group.n:
            yield Advice(
                f"the {group.n:,} rows of {group.condition} are worth {group.ess:,.0f} "
                "(effective sample size)",
                "old and new model differ much",
                EXPLORE,
            )
    if small := _warned(result, "few_held_out_rows"):
        yield Advice(
            small,
            "a small group",
            "merge groups, or collect more of it",
        )
    if len(result.tails) > 1:
        yield Advice(
            f"its bound is made of {len(result.tails)}, which share its delta",
            "a product, or an either/or",
            "write a form at the full delta, where there is one",
        )
    if result.kind == "finite-sample":
        yield Advice(
            "its bound is a finite-sample one",
            "such bounds are more cautious than the t bound",
            "bound='betting' is the least cautious of them; a tighter impact_range, if it is true",
        )


def _warned(result: ConstraintResult, *codes: WarningCode) -> str:
    """What the warnings of some kinds say."""
    return "; ".join(each.text for each in result.warnings if each.code in codes)


def advise_on_all(certificate: Certificate) -> tuple[Advice, ...]:
    """What may help where no single statement is to blame.

    Parameters
    ----------
    certificate : Certificate
        A result of "no solution found".
    """
    found = []
    if {"mean_weight", "propensities_fit"} & {each.code for each in certificate.violated}:
        found.append(
            Advice(
                "the importance weights do not average 1",
                "wrong propensities",
                "correct them: no bound computed with them means anything",
            )
        )
    passed = sum(result.passed for result in certificate.constraints)
    if passed and len(certificate.constraints) >= 10:
        found.append(
            Advice(
                f"{passed} of {len(certificate.constraints)} statements passed, and all must pass "
                "at once",
                "many statements, a few of which are about small groups",
                "merge groups, or name those you promise for",
            )
        )
    return tuple(found)


#: Ways to get more out of the same number of rows.
MORE_FROM_THE_SAME_ROWS = (
    'split="crossfit" lets every row both search and test, which returns a model most often, and '
    "is asymptotic only.",
    'estimator="dr" helps where the impact is predictable from the features; it costs no validity.',
    "candidate_tuning= chooses among settings inside the candidate half; it costs no validity.",
)

WHAT_NOT_TO_DO = (
    "What not to do: fit again with other seeds until a model passes. That is peeking, and voids "
    "the stated confidence. If you change constraints or settings after seeing this result, test "
    "the next model on new rows."
)
