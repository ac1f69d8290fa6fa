"""A constraint as the one-sided statements that must all hold.

If an expression is convex in its averages, it is a maximum of linear forms. "The expression is at
most 0" then means that each form is at most 0, and the forms need not share the confidence. What is
not linear (products, quotients, an either/or, statistics beyond the mean) stays a term of its form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from elfair.errors import ConstraintError
from elfair.language import conditions, expressions
from elfair.language.conditions import uses_label
from elfair.language.expressions import (
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Quotient,
    Statement,
    substitute,
)
from elfair.language.parsing import parse
from elfair.language.tree import (
    LostDigitsError,
    Span,
    check_depth,
    find,
    lost,
    number_text,
    point_at,
    times,
    total,
)

_MOST = 1_000  # one-sided statements in one inequality


@dataclass(frozen=True)
class Linear:
    """A constant plus a weighted sum of averages, and of terms that are not linear in averages.

    The terms are in a fixed order (weights above 0 first, then by text), so equal forms are equal.

    Parameters
    ----------
    constant : float
        The constant.
    terms : tuple of (float, Expression)
        Weights other than 0, and different expressions: averages; or products, quotients, maxima,
        minima, absolute values and statistics that are not linear.

    Examples
    --------
    >>> from elfair import PR
    >>> print(Linear(-0.5, ((2.0, PR()),)))
    2 * PR - 0.5
    """

    constant: float
    terms: tuple[tuple[float, Expression], ...]

    @property
    def means(self) -> tuple[tuple[float, Mean], ...]:
        """The terms that are averages."""
        return tuple((weight, node) for weight, node in self.terms if isinstance(node, Mean))

    @property
    def is_linear(self) -> bool:
        """Whether all terms are averages."""
        return len(self.means) == len(self.terms)

    @property
    def expression(self) -> Expression:
        """The form as an expression."""
        scaled = (weight * node for weight, node in self.terms)
        return sum(scaled, start=Number(self.constant))

    def __neg__(self) -> Linear:
        return _linear(-self.constant, [(-weight, node) for weight, node in self.terms])

    def __str__(self) -> str:
        text = _weighted(self.terms)
        if not self.constant:
            return text
        if not self.terms:
            return number_text(self.constant)
        return f"{text} {'-' if self.constant < 0 else '+'} {number_text(abs(self.constant))}"


@dataclass(frozen=True)
class Conjunct:
    """One of the one-sided statements of a constraint: ``form <= 0``.

    Parameters
    ----------
    parent : str
        The whole constraint, as it was given.
    text : str
        This statement, for people.
    form : Linear
        What must be at most 0.
    source : Span, optional
        The inequality in the text that it came from.

    Examples
    --------
    >>> from elfair import PR
    >>> print(Conjunct("PR <= 0.5", "PR <= 0.5", Linear(-0.5, ((1.0, PR()),))).form)
    PR - 0.5
    """

    parent: str
    text: str
    form: Linear
    source: Span | None = None


def conjuncts(constraint: str | Statement) -> tuple[Conjunct, ...]:
    """The one-sided statements that together are equivalent to the constraint.

    Parameters
    ----------
    constraint : str or Statement
        Constraint text, or a statement built in Python.

    Returns
    -------
    tuple of Conjunct
        At least one.

    Raises
    ------
    ConstraintError
        If the text is not a constraint.

    Examples
    --------
    >>> for each in conjuncts("abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1"):
    ...     print(each.text)
    PR[race == 'A'] - PR[race == 'B'] <= 0.1
    PR[race == 'B'] - PR[race == 'A'] <= 0.1
    """
    if isinstance(constraint, Statement):
        check_depth(constraint)
        statement, parent = constraint, str(constraint)
    elif isinstance(constraint, str):
        statement, parent = parse(constraint), constraint
    else:
        raise ConstraintError(
            f"a constraint must be text or a statement. Got {constraint!r} instead.",
            hint="in Python, write it with <= or >=, such as accuracy >= 0.75.",
        )
    found: dict[Linear, Conjunct] = {}
    for each in _inequalities(statement):
        for form in _required(each):
            text = _inequality(form, each) if isinstance(each, expressions.AtMost) else str(each)
            found.setdefault(form, Conjunct(parent, text, form, each.span))
    return tuple(found.values())


def linear_form(node: Expression) -> Linear:
    """An expression as a linear form; whatever is not linear in averages becomes a term.

    Examples
    --------
    >>> from elfair import PR, E
    >>> print(linear_form(2 * (PR() - E("cost") * PR()) + PR() - 1))
    3 * PR - 2 * E[cost] * PR - 1
    """
    try:
        (form,) = _forms(node, 1.0, convex=False)
    except LostDigitsError as error:
        raise lost(error, node.span) from None
    return form


def without_label_conditions(node: Expression) -> Expression:
    """The same expression, in which no condition is about the label: an average among people with
    some label is a quotient, the probability of event and label together divided by that of the
    label.

    Examples
    --------
    >>> from elfair import TPR
    >>> print(without_label_conditions(TPR()))
    P[label == positive and decision == positive] / P[label == positive]
    """
    quotients: dict[Expression, Expression] = {
        mean: _by_label(mean)
        for mean in find(node, Mean)
        if mean.given is not None and uses_label(mean.given)
    }
    return substitute(node, quotients) if quotients else node


def label_free(form: Linear) -> Linear:
    """A form in which no condition is about the label, which is at most 0 exactly when this one is.

    If all its averages are among the same people with some label, it is multiplied out, and stays
    linear.

    Examples
    --------
    >>> from elfair import FPR, TPR
    >>> print(label_free(linear_form(0.8 - TPR())))
    0.8 * P[label == positive] - P[label == positive and decision == positive]
    >>> label_free(linear_form(TPR() - FPR())).is_linear
    False
    """
    changed = [(weight, without_label_conditions(node)) for weight, node in form.terms]
    quotients = [(w, each) for w, each in changed if form.is_linear and isinstance(each, Quotient)]
    bottoms = [each.bottom for _, each in quotients]
    if len(quotients) == len(changed) and all(each == bottoms[0] for each in bottoms):
        tops = (weight * each.top for weight, each in quotients)
        return linear_form(sum(tops, start=form.constant * bottoms[0]))
    return linear_form(sum((w * each for w, each in changed), start=Number(form.constant)))


def not_of_label(mean: Mean) -> ConstraintError:
    """The error for an average among people with some label that decisions do not always reveal."""
    return point_at(
        f"'{mean}' cannot be estimated: labels are seen only for some decisions, so the impact of "
        "the others on people with some label was never observed (nor is a cost supported there).",
        mean.span,
        "leave the label out of the condition; rates, such as TPR, may have it.",
    )


def _by_label(mean: Mean) -> Expression:
    """An average among people with some label, as a quotient."""
    parts = conditions.parts_of(mean.given)
    label = conditions.all_of(tuple(filter(uses_label, parts)))
    rest = conditions.all_of(tuple(part for part in parts if not uses_label(part)))
    if label is None or not isinstance(mean.of, conditions.Condition):
        raise not_of_label(mean)
    both = Mean(label & mean.of, rest, mean.logged, span=mean.span)
    return Quotient(both, Mean(label, rest, span=mean.span), span=mean.span)


def sign_of(node: Expression) -> int:
    """1 if the expression is never negative, -1 if it is never positive, 0 if that is not certain.

    Examples
    --------
    >>> from elfair import PR, E
    >>> sign_of(PR()), sign_of(-2 * PR()), sign_of(E("impact")), sign_of(abs(E("impact")))
    (1, -1, 0, 1)
    """
    match node:
        case Number(value):
            return 1 if value >= 0 else -1
        case Mean(of):
            return of.sign
        case expressions.Abs():
            return 1
        case expressions.Scaled(factor, part):
            return sign_of(part) if factor >= 0 else -sign_of(part)
        case expressions.Product(left, right) if left == right:
            return 1
        case expressions.Product(left, right) | expressions.Quotient(left, right):
            return sign_of(left) * sign_of(right)
        case expressions.Sum(parts):
            signs = {sign_of(part) for part in parts}
            return signs.pop() if len(signs) == 1 else 0
        case Max(parts) | Min(parts):
            one = 1 if isinstance(node, Max) else -1
            every = [sign_of(part) for part in parts]
            if one in every:
                return one
            return -one if all(sign == -one for sign in every) else 0
    return node.sign


def _inequalities(statement: Statement) -> Iterable[Statement]:
    """The parts that must all hold: inequalities, or either/ors."""
    if isinstance(statement, expressions.All):
        for part in statement.parts:
            yield from _inequalities(part)
    else:
        yield statement


def _excess(statement: Statement) -> Expression:
    """The expression that is at most 0 exactly when the statement holds."""
    match statement:
        case expressions.AtMost(left, right):
            return left - right
        case expressions.All(parts):
            return Max(tuple(map(_excess, parts)), span=statement.span)
        case expressions.AnyOf(parts):
            return Min(tuple(map(_excess, parts)), span=statement.span)
    raise TypeError(f"expected a statement. Got {statement!r} instead.")


def _required(statement: Statement) -> tuple[Linear, ...]:
    """The forms that must be at most 0."""
    try:
        forms = [cleared for form in _forms(_excess(statement), 1.0) for cleared in _cleared(form)]
    except OverflowError:
        raise point_at(
            f"the numbers of '{statement}' are too large to compute with.",
            statement.span,
            "keep numbers and their products within about 1e308.",
        ) from None
    except LostDigitsError as error:
        raise lost(error, statement.span) from None
    except _TooManyError as many:
        raise point_at(
            f"'{statement}' expands to {many} inequalities; {_MOST:,} are allowed.",
            statement.span,
            "use fewer abs, max and min in one inequality, or split it with 'and'.",
        ) from None
    settled = [form for form in forms if not form.terms]
    for form in settled:
        if form.constant > 0:
            raise point_at(
                f"'{statement}' can never hold: it asks for {form} <= 0.",
                statement.span,
                "check the direction of the inequality.",
            )
    # max(A, B) - min(A, B) <= 0.1 includes A - A <= 0.1, which needs no data.
    open_forms = tuple(form for form in forms if form.terms)
    if open_forms:
        return open_forms
    raise point_at(
        f"the statistics in '{statement}' cancel out; nothing is left to test.",
        statement.span,
        "compare two different statistics, or one with a number.",
    )


def _forms(node: Expression, scale: float, *, convex: bool = True) -> list[Linear]:
    """The forms whose maximum is ``scale * node``; a single one if not even convex parts open."""
    match node:
        case Number(value):
            return [_linear(times(scale, value), [])]
        case expressions.Scaled(factor, part):
            return _forms(part, times(scale, factor), convex=convex)
        case expressions.Sum(parts):
            return _added([_forms(part, scale, convex=convex) for part in parts])
        case expressions.Abs(part) if convex and scale >= 0:
            return _forms(part, scale) + _forms(part, -scale)
        case Max(parts) | Min(parts) if convex and (scale >= 0) == isinstance(node, Max):
            return [form for part in parts for form in _forms(part, scale)]
    return [_linear(0.0, [(scale, node)])]


def _cleared(form: Linear) -> list[Linear]:
    """A quotient compared with a number, multiplied out: c A / B + r <= 0 becomes c A + r B <= 0 if
    B > 0, which is tested as well unless it is certain.
    """
    if len(form.terms) != 1 or not isinstance(quotient := form.terms[0][1], expressions.Quotient):
        return [form]
    sign = sign_of(quotient.bottom)
    if sign < 0:
        raise point_at(
            f"'{quotient.bottom}' is never positive; it cannot be a denominator.",
            quotient.span,
            "multiply out, and reverse the inequality.",
        )
    top, bottom = quotient.top, quotient.bottom
    forms = _added([_forms(top, form.terms[0][0]), _forms(bottom, form.constant)])
    return forms if sign > 0 else [*forms, *_forms(bottom, -1.0)]


class _TooManyError(Exception):
    """More forms than are allowed; the argument says how many."""


def _added(groups: list[list[Linear]]) -> list[Linear]:
    """The forms whose maximum is the sum of the groups' maxima."""
    count = math.prod(map(len, groups))
    if count > _MOST:
        raise _TooManyError(f"{count:,}")
    return list(dict.fromkeys(_sum(choice) for choice in product(*groups)))


def _sum(forms: Sequence[Linear]) -> Linear:
    terms = [term for form in forms for term in form.terms]
    return _linear(total(form.constant for form in forms), terms)


def _linear(constant: float, terms: list[tuple[float, Expression]]) -> Linear:
    parts: dict[Expression, list[float]] = {}
    for weight, node in terms:
        parts.setdefault(node, []).append(weight)
    weights = {node: total(each) for node, each in parts.items()}
    if not all(map(math.isfinite, (constant, *weights.values()))):
        raise OverflowError
    kept = [(weight, node) for node, weight in weights.items() if weight]
    if len(kept) > 1:  # the text of a deep term is long
        kept.sort(key=lambda term: (term[0] < 0, str(term[1])))
    return Linear(constant + 0.0, tuple(kept))  # + 0.0: no negative zero


def _inequality(form: Linear, statement: expressions.AtMost) -> str:
    """The text of "form <= 0", with each term on the side where a person would write it."""
    above = [term for term in form.terms if term[0] > 0]
    below = [(-weight, node) for weight, node in form.terms if weight < 0]
    if not form.terms:
        return str(statement)
    if not above:
        return f"{_weighted(below)} >= {_shown(form.constant)}"
    if below and form.constant == 0:
        return f"{_weighted(below)} >= {_weighted(above)}"
    return f"{_weighted(form.terms)} <= {_shown(0.0 - form.constant)}"


def _weighted(terms: Iterable[tuple[float, Expression]]) -> str:
    scaled = [float(_shown(weight)) * node for weight, node in terms]
    return str(sum(scaled[1:], start=scaled[0])) if scaled else "0"


def _shown(value: float) -> str:
    """A number for people: without the last digits, which show rounding."""
    return number_text(float(f"{value:.12g}"))
