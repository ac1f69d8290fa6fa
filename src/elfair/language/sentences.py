"""Constraints as sentences, from their trees.

A constraint becomes clauses: a statistic, a gap for the people that it is about, and what is said
of it. Clauses that differ only in their people become one. What has no plain words is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from elfair.errors import ConstraintError
from elfair.language import expressions as of
from elfair.language.conditions import Condition
from elfair.language.conjunction import linear_form
from elfair.language.distribution import Quantile, Statistic
from elfair.language.expressions import Expression, Mean, Statement
from elfair.language.nouns import Noun, noun_of, percentile
from elfair.language.people import Speech
from elfair.language.tree import number_text


@dataclass(frozen=True)
class Clause:
    """What is promised of a statistic, about one group or about a pair of them.

    Parameters
    ----------
    noun : Noun
        The statistic.
    said : str
        What is said of it, with a gap ``{}`` for the second group if there are two.
    groups : tuple of (Condition or None)
        The group, or the two groups.
    change : bool
        Whether it compares with the decisions in the table.
    mutual : bool
        Whether it says the same of the two groups the other way round.
    """

    noun: Noun
    said: tuple[str, str]
    groups: tuple[Condition | None, ...]
    change: bool = False
    mutual: bool = False

    @property
    def form(self) -> object:
        """All of it but its groups: clauses with one form make one sentence."""
        return self.noun.words, self.said, len(self.groups), self.change, self.mutual


def sentences(statements: Iterable[Statement], speech: Speech) -> list[str]:
    """What some constraints say together, in sentences without their full stops.

    Parameters
    ----------
    statements : iterable of Statement
        The constraints.
    speech : Speech
        How the study speaks.

    Examples
    --------
    >>> from elfair.language.naming import Names
    >>> from elfair.language.parsing import parse
    >>> texts = [f"E[gain | T == {k}] >= E_logged[gain | T == {k}]" for k in (0, 1)]
    >>> print(*sentences(map(parse, texts), Speech(Names())))
    Compared with today's decisions, the average gain of people whose T is 0 or 1, each group by \
itself, is not expected to fall
    """
    return list(dict.fromkeys(_spoken(_parts(statements, speech), speech)))


def _spoken(parts: Iterable[Clause | str], speech: Speech) -> Iterator[str]:
    """Sentences; clauses of one form are gathered where the first of them stands."""
    listed = list(parts)
    by_form: dict[object, list[Clause]] = {}
    for part in listed:
        if isinstance(part, Clause):
            by_form.setdefault(part.form, []).append(part)
    for part in listed:
        if isinstance(part, str):
            yield part
        elif found := by_form.pop(part.form, None):
            yield from _together(found, speech)


def _together(clauses: Sequence[Clause], speech: Speech) -> Iterator[str]:
    first = clauses[0]
    if len(first.groups) == 2:
        yield from _pairs(clauses, speech)
        return
    groups = list(dict.fromkeys(clause.groups[0] for clause in clauses))
    each = ", each group by itself," if len(groups) > 1 else ""
    text = f"{first.noun.about(speech.whom(groups))}{each} {first.said[0]}"
    yield f"Compared with {speech.before}, {text}" if first.change else _upper(text)


def _pairs(clauses: Sequence[Clause], speech: Speech) -> Iterator[str]:
    """What is said of every two of some groups takes one sentence."""
    first, pairs = clauses[0], [clause.groups for clause in clauses]
    groups = list(dict.fromkeys(group for pair in pairs for group in pair))
    every = combinations(groups, 2) if first.mutual else permutations(groups, 2)
    known = {frozenset(pair) if first.mutual else pair for pair in pairs}
    whole = {frozenset(pair) if first.mutual else pair for pair in every} <= known
    (said, end), noun = first.said, first.noun
    if len(groups) > 2 and whole and first.mutual:
        yield _upper(f"{noun.about(speech.whom(groups))} {said} between any two of these groups")
    elif len(groups) > 2 and whole:
        start = noun.about(f"each of these groups ({speech.whom(groups)})")
        yield _upper(f"{start} {said} {noun.that('any other')}{end}")
    else:
        link = " from" if first.mutual else ""
        for one, other in pairs:
            start, than = noun.about(speech.whom([one])), noun.that(speech.whom([other]))
            yield _upper(f"{start} {said}{link} {than}{end}")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- from statements to clauses ------------------------------------------------------------------


def _parts(statements: Iterable[Statement], speech: Speech) -> Iterator[Clause | str]:
    for statement in statements:
        try:
            yield from _clauses(statement, speech)
        except (ConstraintError, OverflowError):  # numbers that no sum can hold
            yield quoted(statement)


def quoted(statement: Statement | str) -> str:
    """What has no plain words is shown as it is written.

    Parameters
    ----------
    statement : Statement or str
        What holds.

    Examples
    --------
    >>> print(quoted("E[gain] * PR <= 3"))
    This holds as it is written: "E[gain] * PR <= 3"
    """
    return f'This holds as it is written: "{statement}"'


def _clauses(statement: Statement, speech: Speech) -> Iterator[Clause | str]:
    match statement:
        case of.All(parts):
            for part in parts:
                yield from _clauses(part, speech)
        case of.AnyOf(parts):
            yield _either(parts, speech)
        case of.AtMost(left, right):
            found = _inequality(left - right, speech)
            if found is None:
                yield quoted(statement)
            else:
                yield from found
        case _:
            yield quoted(statement)


def _either(parts: Sequence[Statement], speech: Speech) -> str:
    """At least one of several things; each of them may be more than one sentence."""
    spoken = ("; and ".join(map(lowered, sentences([part], speech))) for part in parts)
    options = (f"({k}) {each}" for k, each in enumerate(spoken, start=1))
    return f"At least one of these is true: {', or '.join(options)}"


def lowered(text: str) -> str:
    """A sentence inside another one."""
    return text[:1].lower() + text[1:]


def _inequality(excess: Expression, speech: Speech) -> list[Clause | str] | None:
    """What ``excess <= 0`` says; None if there are no plain words for it."""
    form = linear_form(excess)
    if len(form.terms) == 1:
        ((weight, node),) = form.terms
        return _against_number(node, -form.constant / weight, weight > 0, speech)
    if len(form.terms) == 2 and form.terms[0][0] > 0 > form.terms[1][0]:
        (one, low), (other, high) = form.terms
        return _compared(low, one, high, -other, form.constant, speech)
    return None


def _against_number(
    node: Expression, number: float, at_most: bool, speech: Speech
) -> list[Clause | str] | None:
    match node:
        case of.Abs(part) if at_most:
            return _near(part, number, speech)
        case of.Max(parts) | of.Min(parts) if at_most == isinstance(node, of.Max):
            found = [
                _inequality((each - number) * (1 if at_most else -1), speech) for each in parts
            ]
            return None if None in found else [c for clauses in found if clauses for c in clauses]
        case of.Max(parts) | of.Min(parts):
            options = [each <= number if at_most else each >= number for each in parts]
            return [_either(options, speech)]
    noun = noun_of(node, speech)
    if noun is None:
        return None
    words = "at most" if at_most else "at least"
    return [Clause(noun, (f"is expected to be {words} {noun.amount(number)}", ""), (noun.given,))]


def _near(part: Expression, number: float, speech: Speech) -> list[Clause | str] | None:
    """That two statistics differ by at most a number, or that one is near another number."""
    form = linear_form(part)
    nouns = [noun_of(node, speech) for _, node in form.terms]
    noun = nouns[0] if nouns else None
    if noun is None or any(each is None for each in nouns):
        return None
    if len(nouns) == 1:
        weight = form.terms[0][0]
        middle, far = -form.constant / weight, number / abs(weight)
        said = (
            f"is expected to be between {noun.amount(middle - far)} and {noun.amount(middle + far)}"
        )
        return [Clause(noun, (said, ""), (noun.given,))]
    if len(nouns) > 2 or form.constant or form.terms[0][0] != -form.terms[1][0]:
        return None
    (weight, one), (_, other) = form.terms
    far = number / weight
    if (changed := _changed(one, other)) is not None:
        return [_change_of(changed, "change by more than {}", far, speech)]
    return _differ(noun, nouns[1], far)


def _differ(noun: Noun, other: Noun | None, far: float) -> list[Clause | str] | None:
    if other is None or noun.words != other.words:
        return None
    said = f"is expected to differ by at most {noun.difference(far)}"
    return [Clause(noun, (said, ""), (noun.given, other.given), mutual=True)]


def _change_of(mean: Mean, words: str, amount: float, speech: Speech) -> Clause:
    """What is said of how an average changes; it is the same average before and after."""
    noun = noun_of(mean, speech)
    assert noun is not None
    said = f"is not expected to {words.format(noun.difference(amount))}"
    return Clause(noun, (said, ""), (noun.given,), change=True)


def _changed(one: Expression, other: Expression) -> Mean | None:
    """The average under the new model, if these are the same average before and after."""
    if not (isinstance(one, Mean) and isinstance(other, Mean)):
        return None
    same = (one.of, one.given) == (other.of, other.given) and one.logged != other.logged
    return (other if one.logged else one) if same else None


def _compared(
    low: Expression, one: float, high: Expression, other: float, constant: float, speech: Speech
) -> list[Clause | str] | None:
    """What ``one * low + constant <= other * high`` says of two statistics."""
    if one == other and (found := _spread(low, high, -constant / one, speech)) is not None:
        return found
    first, second = noun_of(low, speech), noun_of(high, speech)
    if first is None or second is None:
        return None
    changed = _changed(low, high)
    if changed is not None and one == other:
        rises = isinstance(low, Mean) and low.logged
        return [_moves(changed, constant / one, rises, speech)]
    said = _multiple(second, one / other, constant / other)
    if first.words == second.words:
        return [Clause(second, said, (second.given, first.given))]
    same = _people(low) == _people(high) is not None
    whom = f"the same {speech.names.people}" if same else speech.whom([first.given])
    return [Clause(second, (f"{said[0]} {first.about(whom)}{said[1]}", ""), (second.given,))]


def _people(node: Expression) -> tuple[Condition | None] | None:
    """Whom a statistic is about, its labels included; None if it has no condition of its own."""
    return (node.given,) if isinstance(node, Mean | Statistic) else None


def _moves(mean: Mean, amount: float, rises: bool, speech: Speech) -> Clause:
    """A change from before: ``new >= old + amount`` if it rises, else ``old >= new + amount``."""
    noun = noun_of(mean, speech)
    assert noun is not None
    up, down = ("rise", "fall") if rises else ("fall", "rise")
    if amount > 0:
        said = f"is expected to {up} by at least {noun.difference(amount)}"
    elif amount < 0:
        said = f"is not expected to {down} by more than {noun.difference(-amount)}"
    else:
        said = f"is not expected to {down}"
    return Clause(noun, (said, ""), (noun.given,), change=True)


def _multiple(subject: Noun, ratio: float, plus: float) -> tuple[str, str]:
    """That a statistic is at least a multiple of another one, plus something."""
    start = "is expected to be at least"
    amount = subject.difference(abs(plus))
    if ratio == 1:
        if plus == 0:
            return f"{start} as high as", ""
        return (
            f"{start} {amount} above" if plus > 0 else f"is expected to be at most {amount} below"
        ), ""
    digits = number_text(float(f"{ratio if ratio > 1 else 100 * ratio:.12g}"))
    times = f"{digits} times" if ratio > 1 else f"{digits} % of"
    end = "" if plus == 0 else f", {'plus' if plus > 0 else 'minus'} {amount}"
    return f"{start} {times}", end


def _spread(
    low: Expression, high: Expression, number: float, speech: Speech
) -> list[Clause | str] | None:
    """The distance between two quantiles, or between the largest and the smallest of several."""
    match low, high:
        case Quantile(impact, given, above), Quantile(other, people, below) if (impact, given) == (
            other,
            people,
        ) and below < above:
            name, unit = speech.column(impact.name), speech.unit(impact.name)
            ends = f"the {percentile(below)} and the {percentile(above)}"
            noun = Noun(f"the distance between {ends} of the {name} of", given, unit=unit)
            said = f"is expected to be at most {noun.amount(number)}"
            return [Clause(noun, (said, ""), (given,))]
        case of.Max(parts), of.Min(others) if set(parts) == set(others):
            nouns = [noun_of(each, speech) for each in parts]
            pairs = combinations([noun for noun in nouns if noun is not None], 2)
            found = [_differ(one, two, number) for one, two in pairs]
            if None in nouns or None in found:
                return None
            return [clause for clauses in found if clauses for clause in clauses]
    return None
