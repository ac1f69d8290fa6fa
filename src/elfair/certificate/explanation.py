"""A result in plain text.

The short form has the verdict, the promise in words, the worst statement with what to do about it,
and how sure that is, in one sentence. The details add every statement, all assumptions and
warnings, and the promise in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from elfair.bounds import get_bound
from elfair.certificate.advice import advise, object_to
from elfair.certificate.codes import Assumption, are_violated
from elfair.certificate.effects import on_the_table
from elfair.certificate.parts import ConstraintResult, GroupRecord, TailRecord
from elfair.certificate.promise import in_words
from elfair.certificate.rules import sentences
from elfair.errors import listed
from elfair.language.conditions import EVERYONE
from elfair.records.names import names_a_row, speaks_of_groups
from elfair.records.text import confidence, number, plural, sentence, visible

if TYPE_CHECKING:
    from elfair.certificate.record import Certificate

#: The code of a warning that nobody may miss.
OUTSIDE = "fitted_outside"
#: The details describe this many statements at length; the others get a line each.
MOST_DESCRIBED = 10


def paragraphs(
    certificate: Certificate, *, details: bool = False, after_table: bool = False
) -> list[str]:
    """The paragraphs of `Certificate.explain`.

    Parameters
    ----------
    certificate : Certificate
        The result.
    details : bool, default False
        The long form.
    after_table : bool, default False
        Whether `opening` and a table, which shows all that passed, stand above.
    """
    said = [] if after_table else opening(certificate)
    rest = (_in_detail if details else _in_short)(certificate, after_table)
    return said + [visible("\n".join(lines)) for lines in rest]


def opening(certificate: Certificate) -> list[str]:
    """What comes first: the verdict, and the promise in words.

    Parameters
    ----------
    certificate : Certificate
        The result.
    """
    said = [verdict(certificate)]
    if certificate.constraints:
        said.append("\n".join(in_words(certificate)))
    return list(map(visible, said))


def _in_short(certificate: Certificate, after_table: bool) -> list[list[str]]:
    said = []
    if certificate.failed:
        worst, *others = certificate.failed
        said.append(_brief(worst, certificate))
        if others:
            said.append([f"{plural(len(others), 'more statement')} failed, by less."])
        said += _forecast(certificate)
    elif certificate.constraints and not after_table:
        said.append(_brief(certificate.constraints[0], certificate))
    said += [*_rule(certificate), *_violated(certificate), *_people(certificate)]
    said += [[sentence(each.text)] for each in certificate.warnings if each.code == OUTSIDE]
    warned = f" ({plural(len(certificate.warnings), 'warning')})" if certificate.warnings else ""
    more = (
        f"Details{warned}: explain(details=True) in Python, --details on the command line, or the "
        "report."
    )
    return [*said, [promise(certificate)], [more]]


def _in_detail(certificate: Certificate, after_table: bool) -> list[list[str]]:
    failed = certificate.failed
    shown = failed if failed or after_table else certificate.constraints
    said = [_describe(result, certificate) for result in shown[:MOST_DESCRIBED]]
    if certificate.terms.positive is not None:
        said.insert(0, [positive_is(certificate.terms.positive)])
    if certificate.terms.deployed:
        said.insert(0, [f"The model draws nothing. It takes {certificate.terms.deployed}."])
    if certificate.terms.units is not None:
        units = certificate.terms.units
        said.insert(0, [f"Statements are about {units.about}; their rows count {units.n:,} units."])
    if more := shown[MOST_DESCRIBED:]:
        # The worst come first, so these are nearer to passing (or passed by more).
        title = f"{plural(len(more), 'more statement')} {'FAILED' if failed else 'passed'}:"
        said.append(
            [title]
            + [f"  - {r.statement} (g at most {number(r.upper)}, {r.n:,} rows)" for r in more]
        )
    said += _forecast(certificate) if failed else []
    said += _stopped(certificate)
    label = "Promise: " if certificate.constraints else ""
    said += [*_rule(certificate), *_decides(certificate)]
    said.append([f"{label}{certificate.joint_statement}"])
    said += [*_violated(certificate), *_people(certificate)]
    if assumed := [each.name for each in certificate.assumptions if each.status == "assumed"]:
        said.append([f"Assumed, not checked: {'; '.join(assumed)}."])
    told = {warning for result in shown[:MOST_DESCRIBED] for warning in result.warnings}
    if others := [
        each
        for each in certificate.warnings
        if each not in told and each.code not in ("assumption_violated", "people_not_named")
    ]:
        said.append(["Other warnings:", *(f"  - {each}." for each in others)])
    return said


def _stopped(certificate: Certificate) -> list[list[str]]:
    """At which size a search of many rows stopped."""
    search = certificate.search
    if search is None or search.rows >= certificate.n_candidate:
        return []
    return [
        [
            f"The search stopped at {search.rows:,} of {certificate.n_candidate:,} candidate rows, "
            "because more of them would hardly change the model. All of them placed it."
        ]
    ]


def positive_is(decision: str) -> str:
    """Which decision rates count.

    Examples
    --------
    >>> positive_is("approve")
    "Positive decision: 'approve'. PR, TPR and the other rates count it."
    """
    return f"Positive decision: '{decision}'. PR, TPR and the other rates count it."


def _forecast(certificate: Certificate) -> list[list[str]]:
    """What the search expected of a model that failed."""
    search = certificate.search
    if search is None:
        return []
    sight = "" if search.meets_target else "No model in sight was likely enough to pass. "
    chance = f"{search.forecast:.0%}" if search.forecast >= 0.01 else "less than 1%"
    return [[f"{sight}Candidate rows forecast that this one passes with a chance of {chance}."]]


def _violated(certificate: Certificate) -> list[list[str]]:
    said = []
    if against := certificate.objections:
        title = "No model is released, because of what does not hold:"
        said.append([title, *(line for each in against for line in _objection(each))])
    if accepted := certificate.accepted:
        title = "The stated confidence is NOT justified. What does not hold was accepted:"
        said.append([title, *(f"  - {each.name}: {each.evidence}." for each in accepted)])
    return said


def _rule(certificate: Certificate) -> list[list[str]]:
    """What a released tree decides."""
    if not (certificate.passed and certificate.rules):
        return []
    return [["The rule:", *sentences(certificate.rules, certificate.classes)]]


def _decides(certificate: Certificate) -> list[list[str]]:
    """What a released model decides on."""
    said = on_the_table(certificate)
    return [said] if said else []


def _people(certificate: Certificate) -> list[list[str]]:
    """Whom no statement speaks of."""
    behavior = certificate.terms.behavior
    trimmed = [[sentence(behavior.about)]] if behavior is not None and behavior.trim else []
    unnamed = [[sentence(text)] for text in certificate.people.said(certificate.n)]
    return trimmed + unnamed + [[sentence(text)] for text in _seen_by_model(certificate)]


def _seen_by_model(certificate: Certificate) -> Iterator[str]:
    """Features that speak of groups, and identifiers, as far as their names tell."""
    roles = certificate.roles
    groups = [f for f in roles.features if f in roles.sensitive or speaks_of_groups(f)]
    if groups:
        yield f"the model sees {listed(groups)}, which speaks of groups"
    if rows := [name for name in roles.features if names_a_row(name)]:
        yield f"the model sees {listed(rows)}, which seems to tell people apart"


def _objection(assumption: Assumption) -> list[str]:
    advice = object_to(assumption)
    return [f"  - {assumption.name}: {assumption.evidence}.", f"    what to do: {advice.steps}"]


def _brief(result: ConstraintResult, certificate: Certificate) -> list[str]:
    head = "FAILED" if not result.passed else "Closest to failing"
    said = [f"{head}: {result.statement}", f"  {seen(result)}", *_robustness(result)]
    return [*said, *_remedy(result, certificate)]


def _describe(result: ConstraintResult, certificate: Certificate) -> list[str]:
    lines = [f"{pass_or_fail(result)}: {result.statement}"]
    if result.constraint != result.statement:
        lines.append(f"  part of: {result.constraint}")
    lines += [f"  {seen(result)}", f"  rows: {', '.join(map(_size, result.groups))}"]
    if result.ess is not None and result.max_weight is not None:
        lines.append(
            f"  weights: effective sample size {result.ess:.0f}, mean {result.mean_weight:.3f}, "
            f"largest {result.max_weight:.2f}"
        )
    lines += _robustness(result)
    warnings = [f"  warning: {each}" for each in result.warnings]
    return [*lines, *_remedy(result, certificate), *warnings]


def _robustness(result: ConstraintResult) -> list[str]:
    lines = [] if result.break_even is None else [f"  {would_hold(result.break_even)}"]
    if result.break_even_shift is not None:
        lines.append(f"  {would_last(result.break_even_shift)}")
    return lines


def would_hold(break_even: float) -> str:
    """How wrong the logged probabilities may be, in a sentence without its full stop.

    Examples
    --------
    >>> would_hold(1.4)
    'would still pass if, for people alike in the columns given, the odds of a decision were up to \
1.4 times those logged, or as little as 1/1.4 of them (break-even Lambda)'
    """
    alike = "for people alike in the columns given, the odds of a decision were"
    if break_even == 1:
        return f"would not pass if, {alike} a little off those logged (break-even Lambda 1)"
    return (
        f"would still pass if, {alike} up to {break_even:g} times those logged, or as little as "
        f"1/{break_even:g} of them (break-even Lambda)"
    )


def would_last(break_even: float) -> str:
    """How much people may change, in a sentence without its full stop.

    Examples
    --------
    >>> would_last(1.1)
    'would still pass if, among the people it is about, any kind of person became up to 1.1 times \
as frequent, or 1/1.1 (break-even shift)'
    """
    among = "if, among the people it is about, any kind of person became"
    if break_even == 1:
        return f"would not pass {among} a little more or less frequent (break-even shift 1)"
    return (
        f"would still pass {among} up to {break_even:g} times as frequent, or 1/{break_even:g} "
        "(break-even shift)"
    )


def _remedy(result: ConstraintResult, certificate: Certificate) -> list[str]:
    if result.passed:
        return []
    advice = advise(result, certificate)[0]
    return [f"  likely cause: {advice.cause}", f"  what to do: {advice.steps}"]


def _size(group: GroupRecord) -> str:
    where = "(everyone)" if group.condition == EVERYONE else f"where {group.condition}"
    return f"{group.n} {where}"


def pass_or_fail(result: ConstraintResult) -> str:
    """The verdict on a statement, in a word."""
    return "passed" if result.passed else "FAILED"


def numbered(results: Sequence[ConstraintResult]) -> list[tuple[str, ConstraintResult]]:
    """Statements with the short names that tables use to refer to them."""
    return [(f"S{place}", result) for place, result in enumerate(results, start=1)]


def verdict(certificate: Certificate) -> str:
    """The result in a sentence."""
    if not certificate.constraints:
        return "No constraint was given, so nothing was tested."
    total, failed = len(certificate.constraints), len(certificate.failed)
    rows = f"the test on {certificate.n_held_out:,} held-out rows"
    if certificate.terms.units is not None and certificate.terms.units.most_rows > 1:
        rows += f" of {certificate.terms.units.n_held_out:,} units"
    what = {1: "the statement", 2: "both statements"}.get(total, f"all {total} statements")
    some = f"{failed} of {total} statements" if total > 1 else "the statement"
    found, none = "Solution found", "No solution found"
    if certificate.search is None:  # a model from elsewhere: nothing was searched for
        found, none = "Model passed", "Model did not pass"
    if certificate.objections:
        wrong = f"{none}: {are_violated(certificate.objections)}"
        if failed:
            return f"{wrong}. Besides, {some} did not pass {rows}."
        return f"{wrong}, although {what} passed {rows}."
    accepted = certificate.accepted and f"{are_violated(certificate.accepted)}, which was accepted"
    if failed:
        moreover = f" Besides, {accepted}." if accepted else ""
        return f"{none}: {some} did not pass {rows}.{moreover}"
    doubts = [accepted] if accepted else []
    doubts += [each.text for each in certificate.warnings if each.code == "behavior_model"]
    doubt = f", although {', and '.join(doubts)}" if doubts else ""
    if _is_estimated(certificate):
        found += ", if the estimated behaviour model is right"
    return f"{found}{doubt}: {what} passed {rows}."


def _is_estimated(certificate: Certificate) -> bool:
    """Whether the result rests on estimated propensities."""
    return any(each.code == "behavior_estimated" for each in certificate.assumptions)


def promise(certificate: Certificate) -> str:
    """What is promised, in a sentence; `Certificate.joint_statement` has it in full."""
    if not certificate.constraints:
        return "Nothing is promised about this model."
    asymptotic = any(result.kind == "asymptotic" for result in certificate.constraints)
    limit = " in the limit of many rows" if asymptotic else ""
    looks = certificate.terms.looks
    limit += f", over all {looks} looks that were declared" if looks > 1 else ""
    assumed = sum(each.status == "assumed" for each in certificate.assumptions)
    # The one that a reader can judge best, and a declared range makes superfluous.
    endless = any(part.high == inf for tail in _asymptotic(certificate) for part in tail.parts)
    hold = "no impact is far worse than any in the table, and all other" if endless else "all"
    if _is_estimated(certificate):
        hold = f"the estimated behaviour model is right, {hold}"
    return (
        "Promise: the probability that a model is released and violates some constraint is at most "
        f"{certificate.joint_delta:g}{limit}, if {hold} assumptions hold ({assumed} of "
        f"{len(certificate.assumptions)} are assumed, not checked)."
    )


def _asymptotic(certificate: Certificate) -> Iterator[TailRecord]:
    """The linear forms whose bounds hold in the limit of many rows."""
    for result in certificate.constraints:
        yield from (t for t in result.tails if get_bound(t.bound).kind == "asymptotic")


def seen(result: ConstraintResult) -> str:
    """What the test found out about a statement."""
    return (
        f"g: estimate {number(result.estimate)}, upper bound {number(result.upper)} with "
        f"{confidence(result.delta)} confidence ({result.kind}); the upper bound must be at most 0"
    )
