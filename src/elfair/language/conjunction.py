"""A constraint as the one-sided linear statements that must all hold.

"An expression is at most 0" is a statement about a maximum of linear forms whenever the expression
is convex in its averages: each form must then be at most 0. A minimum (or minus a maximum) in that
place would ask for one form *or* another, which no conjunction says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from elfair.errors import ConstraintError
from elfair.language.expressions import (
    Abs,
    AtMost,
    Expression,
    Max,
    Mean,
    Min,
    Number,
    Scaled,
    Statement,
    Sum,
    number_text,
)
from elfair.language.parsing import parse
from elfair.language.tree import Span, point_at, walk

_MOST = 1_000  # statements from one inequality


@dataclass(frozen=True)
class Linear:
    """A constant plus a weighted sum of averages.

    The terms are in a fixed order (weights above 0 first, then by text), so equal forms are equal.

    Parameters
    ----------
    constant : float
        The constant.
    terms : tuple of (float, Mean)
        Weights, none of them 0, and averages, none of them twice.

    Examples
    --------
    >>> from elfair.language import PR
    >>> print(Linear(-0.5, ((2.0, PR()),)))
    2 * PR - 0.5
    """

    constant: float
    terms: tuple[tuple[float, Mean], ...]

    def __str__(self) -> str:
        text = _weighted(self.terms)
        if not self.constant:
            return text
        if not self.terms:
            return number_text(self.constant)
        return f"{text} {'-' if self.constant < 0 else '+'} {number_text(abs(self.constant))}"


@dataclass(frozen=True)
class Conjunct:
    """One of the one-sided statements that a constraint asks for: ``form <= 0``.

    Parameters
    ----------
    parent : str
        The whole constraint, as it was given.
    text : str
        This statement alone, for people.
    form : Linear
        What must be at most 0.
    source : Span, optional
        The inequality of the text that it came from.

    Examples
    --------
    >>> from elfair.language import PR
    >>> print(Conjunct("PR <= 0.5", "PR <= 0.5", Linear(-0.5, ((1.0, PR()),))).form)
    PR - 0.5
    """

    parent: str
    text: str
    form: Linear
    source: Span | None = None


def conjuncts(constraint: str | Statement) -> tuple[Conjunct, ...]:
    """The one-sided linear statements which together say what the constraint says.

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
        If the text makes no sense, or is an either/or.

    Examples
    --------
    >>> for each in conjuncts("abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1"):
    ...     print(each.text)
    PR[race == 'A'] - PR[race == 'B'] <= 0.1
    PR[race == 'B'] - PR[race == 'A'] <= 0.1
    """
    if isinstance(constraint, Statement):
        statement, parent = constraint, str(constraint)
    elif isinstance(constraint, str):
        statement, parent = parse(constraint), constraint
    else:
        raise ConstraintError(
            f"a constraint is a text or a statement. Got {constraint!r} instead.",
            hint="in Python, write it with <= or >=, such as accuracy >= 0.75.",
        )
    found: dict[Linear, Conjunct] = {}
    for each in (node for node in walk(statement) if isinstance(node, AtMost)):
        for form in _required(each):
            found.setdefault(form, Conjunct(parent, _inequality(form, each), form, each.span))
    return tuple(found.values())


def _required(statement: AtMost) -> tuple[Linear, ...]:
    """The forms that must be at most 0."""
    try:
        sides = [_forms(statement.left, 1.0), _forms(statement.right, -1.0)]
        forms = _added(sides)
    except OverflowError:
        raise point_at(
            f"the numbers of '{statement}' are too large to compute with.",
            statement.span,
            "use numbers within about 1e308, also after multiplication.",
        ) from None
    except _TooManyError as many:
        raise point_at(
            f"'{statement}' stands for {many} inequalities; {_MOST:,} are allowed.",
            statement.span,
            "use fewer abs, max and min in one inequality, or split it by 'and'.",
        ) from None
    settled = [form for form in forms if not form.terms]
    for form in settled:
        if form.constant > 0:
            raise point_at(
                f"'{statement}' can never hold: it asks for {form} <= 0.",
                statement.span,
                "check the direction of the inequality.",
            )
    # max(A, B) - min(A, B) <= 0.1 asks among others for A - A <= 0.1, which needs no data.
    open_forms = tuple(form for form in forms if form.terms)
    if open_forms:
        return open_forms
    if any(form.constant == 0 for form in settled):
        return (Linear(0.0, ()),)
    raise point_at(
        f"the statistics in '{statement}' cancel out; nothing is left to test.",
        statement.span,
        "compare two different statistics, or one with a number.",
    )


def _forms(node: Expression, scale: float) -> list[Linear]:
    """The linear forms whose maximum is ``scale * node``."""
    match node:
        case Number(value):
            return [_linear(scale * value, [])]
        case Mean():
            return [_linear(0.0, [(scale, node)])]
        case Scaled(factor, part):
            return _forms(part, scale * factor)
        case Sum(parts):
            return _added([_forms(part, scale) for part in parts])
        case Abs(part) if scale >= 0:
            return _forms(part, scale) + _forms(part, -scale)
        case Max(parts) if scale >= 0:
            return [form for part in parts for form in _forms(part, scale)]
        case Min(parts) if scale <= 0:
            return [form for part in parts for form in _forms(part, scale)]
    wanted = "large" if scale < 0 else "small"
    raise point_at(
        f"'{node}' must be {wanted} here, which holds when either of several inequalities does. "
        "Such an either/or is not supported yet.",
        node.span,
        "max(...) <= e, min(...) >= e and abs(...) <= e are supported.",
    )


class _TooManyError(Exception):
    """More forms than are allowed; the argument is their number."""


def _added(groups: list[list[Linear]]) -> list[Linear]:
    """The forms whose maximum is the sum of the groups' maxima."""
    count = math.prod(map(len, groups))
    if count > _MOST:
        raise _TooManyError(f"{count:,}")
    sums = (
        _linear(
            sum(form.constant for form in choice), [term for form in choice for term in form.terms]
        )
        for choice in product(*groups)
    )
    return list(dict.fromkeys(sums))


def _linear(constant: float, terms: list[tuple[float, Mean]]) -> Linear:
    weights: dict[Mean, float] = {}
    for weight, mean in terms:
        weights[mean] = weights.get(mean, 0.0) + weight
    if not all(map(math.isfinite, (constant, *weights.values()))):
        raise OverflowError
    kept = sorted(
        ((weight, mean) for mean, weight in weights.items() if weight),
        key=lambda term: (term[0] < 0, str(term[1])),
    )
    return Linear(constant + 0.0, tuple(kept))  # + 0.0: no negative zero


def _inequality(form: Linear, statement: AtMost) -> str:
    """The form at most 0, with each thing on the side where a person would put it."""
    above = [term for term in form.terms if term[0] > 0]
    below = [(-weight, mean) for weight, mean in form.terms if weight < 0]
    if not form.terms:
        return str(statement)
    if not above:
        return f"{_weighted(below)} >= {number_text(form.constant)}"
    if below and form.constant == 0:
        return f"{_weighted(below)} >= {_weighted(above)}"
    return f"{_weighted(form.terms)} <= {number_text(0.0 - form.constant)}"


def _weighted(terms: Iterable[tuple[float, Mean]]) -> str:
    scaled = [weight * mean for weight, mean in terms]
    return str(sum(scaled[1:], start=scaled[0])) if scaled else "0"
