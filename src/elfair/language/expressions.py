"""Expressions: averages and other statistics with arithmetic, and statements that compare them.

Python's operators build the tree, for the parser as well as for users. They fold constants, so an
expression is constant exactly when it is a `Number`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from operator import add
from typing import NoReturn

from elfair.errors import ConstraintError
from elfair.language import conditions
from elfair.language.conditions import RATES, Condition, Decision, SquaredError, uses_decision
from elfair.language.tree import (
    LostDigitsError,
    Node,
    Span,
    covering,
    flattened,
    lost,
    number_text,
    point_at,
    times,
    total,
    walk,
)


@dataclass(frozen=True)
class Expression(Node):
    """Base of expressions; they add, scale and compare in Python as they do in text."""

    def __add__(self, other: object) -> Expression:
        right = as_expression(other)
        span = covering(self, right)
        if isinstance(self, Number) and isinstance(right, Number):
            try:
                return Number(total((self.value, right.value)), span=span)
            except LostDigitsError as error:
                raise lost(error, span) from None
        before = self.parts if isinstance(self, Sum) else (self,)
        return Sum((*before, right), span=span)

    def __radd__(self, other: object) -> Expression:
        return as_expression(other) + self

    def __neg__(self) -> Expression:
        return _scaled(self, -1.0, self.span)

    def __sub__(self, other: object) -> Expression:
        return self + -as_expression(other)

    def __rsub__(self, other: object) -> Expression:
        return as_expression(other) - self

    def __mul__(self, other: object) -> Expression:
        right = as_expression(other)
        span = covering(self, right)
        if isinstance(self, Number):
            return _scaled(right, self.value, span)
        if isinstance(right, Number):
            return _scaled(self, right.value, span)
        (first, left), (second, right) = _factored(self), _factored(right)
        return _scaled(Product(left, right, span=span), first * second, span)

    def __rmul__(self, other: object) -> Expression:
        return as_expression(other) * self

    def __truediv__(self, other: object) -> Expression:
        right = as_expression(other)
        span = covering(self, right)
        (first, left), (second, right) = _factored(self), _factored(right)
        if second == 0:
            raise point_at("division by zero.", right.span, "divide by a number other than 0.")
        if isinstance(left, Number) and isinstance(right, Number):
            return Number(first / second, span=span)
        if isinstance(right, Number):
            return _scaled(self, 1.0 / second, span)
        return _scaled(Quotient(left, right, span=span), first / second, span)

    def __rtruediv__(self, other: object) -> Expression:
        return as_expression(other) / self

    def __abs__(self) -> Expression:
        return Number(abs(self.value), span=self.span) if isinstance(self, Number) else Abs(self)

    def __le__(self, other: object) -> AtMost:
        return AtMost(self, as_expression(other))

    def __ge__(self, other: object) -> AtMost:
        return as_expression(other) <= self

    def __lt__(self, other: object) -> NoReturn:
        raise strict_inequality(None)

    __gt__ = __lt__


@dataclass(frozen=True)
class Number(Expression):
    """A constant.

    Examples
    --------
    >>> print(Number(0.9), Number(2.0))
    0.9 2
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise point_at(
                f"the numbers of a constraint must be finite. Got {self.value} instead.",
                self.span,
                "use a number within about 1e308.",
            )

    def __str__(self) -> str:
        return number_text(self.value)


@dataclass(frozen=True)
class Mean(Expression):
    """The average of an impact, or the share of an event, among the rows of a condition.

    Parameters
    ----------
    of : Column, Condition, Derived, Decision or SquaredError
        An impact's name, an event (which may use the decision), or a function of an impact. Where
        decisions are numbers, also the decision itself, or its squared distance from the label.
    given : Condition, optional
        The rows to average over; None means all rows.
    logged : bool
        Whether the behaviour model decides, rather than the new model.

    Examples
    --------
    >>> from elfair import E_logged, PR, col
    >>> print(E_logged("impact"), PR, PR(col("race") == "A"))
    E_logged[impact] PR PR[race == 'A']
    """

    of: Node
    given: Condition | None = None
    logged: bool = False

    def __post_init__(self) -> None:
        for node in () if self.given is None else walk(self.given):
            if isinstance(node, Decision):
                raise point_at(
                    "'decision' cannot come after '|' here: among the rows with some decision, you "
                    "can ask only for the new model's probability of an event.",
                    node.span,
                    "write P[label == 1 | decision == 1], or move it before the bar.",
                )

    def __call__(self, given: Condition | None = None) -> Mean:
        """The same average, but only among the rows that also meet a condition."""
        if given is None or self.given is None:
            return self if given is None else replace(self, given=conditions.as_condition(given))
        return replace(self, given=self.given & given)

    def __str__(self) -> str:
        if not self.logged and (short := conditions.short_text(self.of, self.given)) is not None:
            return short
        plain = "P" if self.of.is_event else "E"
        bar = "" if self.given is None else f" | {self.given}"
        return f"{'E_logged' if self.logged else plain}[{self.of}{bar}]"


@dataclass(frozen=True)
class Sum(Expression):
    """The sum of two or more expressions; ``a - b`` adds ``-1 * b``.

    Examples
    --------
    >>> print(rate("TPR") - 2 * rate("FPR"))
    TPR - 2 * FPR
    """

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        text = str(self.parts[0])
        for part in self.parts[1:]:
            text += f" - {_grouped(-part)}" if _negative(part) else f" + {_grouped(part)}"
        return text


@dataclass(frozen=True)
class Scaled(Expression):
    """A number times an expression that is not itself a `Number` or `Scaled`.

    Examples
    --------
    >>> print(rate("PR") / 2)
    0.5 * PR
    """

    factor: float
    part: Expression

    def __str__(self) -> str:
        sign = "-" if self.factor == -1 else f"{number_text(self.factor)} * "
        return sign + _grouped(self.part)


@dataclass(frozen=True)
class Product(Expression):
    """The product of two statistics; a number times a statistic is `Scaled`.

    Examples
    --------
    >>> print(rate("PR") * (rate("TPR") - 1))
    PR * (TPR - 1)
    """

    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{_grouped(self.left)} * {_factor(self.right)}"


@dataclass(frozen=True)
class Quotient(Expression):
    """An expression divided by a statistic; a statistic divided by a number is `Scaled`.

    Examples
    --------
    >>> from elfair import PPV, PR, TPR, col
    >>> print(TPR / PR, PPV, PPV(col("race") == "A"))
    TPR / PR PPV PPV[race == 'A']
    """

    top: Expression
    bottom: Expression

    def __call__(self, given: Condition | None = None) -> Quotient:
        """The same quotient of averages, but only among the rows that also meet a condition."""
        if isinstance(self.top, Mean) and isinstance(self.bottom, Mean):
            return Quotient(self.top(given), self.bottom(given))
        raise ConstraintError(
            f"'{self}' takes no condition: it is not a quotient of two averages.",
            hint="give the condition to each statistic in it.",
        )

    @property
    def short(self) -> str | None:
        """The text of the named rate that it is, if it is one."""
        rest = self.bottom.given if isinstance(self.bottom, Mean) else None
        names = (name for name in RATES if rate(name, rest) == self)
        return next((conditions.named(name, rest) for name in names), None)

    def __str__(self) -> str:
        return self.short or f"{_grouped(self.top)} / {_factor(self.bottom)}"


@dataclass(frozen=True)
class Abs(Expression):
    """The absolute value.

    Examples
    --------
    >>> print(abs(rate("PR") - 1))
    abs(PR - 1)
    """

    part: Expression

    def __str__(self) -> str:
        return f"abs({self.part})"


@dataclass(frozen=True)
class Max(Expression):
    """The largest of its parts.

    Examples
    --------
    >>> print(Max((rate("PR"), Number(0.5))))
    max(PR, 0.5)
    """

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Min(Expression):
    """The smallest of its parts.

    Examples
    --------
    >>> print(Min((rate("PR"), Number(0.5))))
    min(PR, 0.5)
    """

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"


def share(
    event: Condition | SquaredError, within: tuple[Condition, ...], given: Condition | None = None
) -> Mean | Quotient:
    """The average among the rows of some conditions. If ``within`` is about the decision, it is a
    quotient: the probability of event and decision together, divided by that of the decision.
    """
    decided = conditions.all_of(tuple(filter(uses_decision, within)))
    others = (part for part in within if not uses_decision(part))
    rest = conditions.all_of((*others, *conditions.parts_of(given)))
    if decided is None:
        return Mean(event, rest)
    return Quotient(Mean(decided & event, rest), Mean(decided, rest))


def rate(name: str, given: Condition | None = None, span: Span | None = None) -> Mean | Quotient:
    """A named rate; errors about it point at the span."""
    return share(*conditions.spelled_out(name, span), given)


def as_expression(value: object) -> Expression:
    """The value as an expression: a number becomes a `Number`, an expression stays as it is."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return Number(float(value))
    raise ConstraintError(
        f"expected a statistic or a number. Got {value!r} instead.",
        hint="write E('impact'), P(decision == 1), accuracy or a number.",
    )


def extreme(kind: type[Max] | type[Min], parts: Iterable[object]) -> Expression:
    """The largest or the smallest of some parts; a single part stays itself."""
    nodes = tuple(map(as_expression, parts))
    if not nodes:
        raise ConstraintError(
            "a maximum or minimum needs at least one expression. Got none.",
            hint="write maximum(PR(c1), PR(c2)).",
        )
    values = [node.value for node in nodes if isinstance(node, Number)]
    if len(values) == len(nodes):
        return Number(max(values) if kind is Max else min(values))
    return nodes[0] if len(nodes) == 1 else kind(nodes)


def substitute(node: Expression, replaced: Mapping[Expression, Expression]) -> Expression:
    """The expression with parts replaced, simplified as if it had been written that way.

    Examples
    --------
    >>> from elfair import E, median
    >>> print(substitute(E("gain") - 2 * median("gain"), {median("gain"): Number(1.5)}))
    E[gain] - 3
    """
    if node in replaced:
        return replaced[node]

    def of(part: Expression) -> Expression:
        return substitute(part, replaced)

    match node:
        case Sum(parts):
            return reduce(add, map(of, parts))
        case Scaled(factor, part):
            return factor * of(part)
        case Product(left, right):
            return of(left) * of(right)
        case Quotient(top, bottom):
            return of(top) / of(bottom)
        case Max(parts) | Min(parts):
            return extreme(type(node), map(of, parts))
        case Abs(part):
            return abs(of(part))
    return node


def _scaled(node: Expression, factor: float, span: Span | None) -> Expression:
    try:
        if isinstance(node, Number):
            return Number(times(factor, node.value) + 0.0, span=span)  # + 0.0: no negative zero
        if isinstance(node, Scaled):
            return _scaled(node.part, times(factor, node.factor) + 0.0, span)
    except LostDigitsError as error:
        raise lost(error, span) from None
    return node if factor == 1 else Scaled(Number(factor, span=span).value, node, span=span)


def _factored(node: Expression) -> tuple[float, Expression]:
    """A node as a number times a node, to keep numbers out of products."""
    if isinstance(node, Number):
        return node.value, Number(1.0, span=node.span)
    return (node.factor, node.part) if isinstance(node, Scaled) else (1.0, node)


def _grouped(node: Expression) -> str:
    return f"({node})" if isinstance(node, Sum) else str(node)


def _factor(node: Expression) -> str:
    """The text as the right side of * or /, which bind from the left."""
    loose = isinstance(node, Sum | Product) or (isinstance(node, Quotient) and not node.short)
    return f"({node})" if loose else str(node)


def _negative(node: Expression) -> bool:
    if isinstance(node, Number):
        return node.value < 0
    return isinstance(node, Scaled) and node.factor < 0


@dataclass(frozen=True)
class Statement(Node):
    """Base of statements, which a model meets or does not; ``&`` (and) and ``|`` (or) join them."""

    def __and__(self, other: object) -> Statement:
        return joined(All, (self, _as_statement(other)))

    def __or__(self, other: object) -> Statement:
        return joined(AnyOf, (self, _as_statement(other)))


@dataclass(frozen=True)
class AtMost(Statement):
    """The left expression is at most the right one.

    Examples
    --------
    >>> print(AtMost(Number(0.2), rate("PR")))
    PR >= 0.2
    """

    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if isinstance(self.left, Number) and isinstance(self.right, Number):
            raise point_at(
                f"'{self}' holds no statistic, so no model can change it.",
                self.span,
                "name one, as in E[impact] >= 0 or accuracy >= 0.75.",
            )

    def __str__(self) -> str:
        if isinstance(self.left, Number):
            return f"{self.right} >= {self.left}"
        return f"{self.left} <= {self.right}"


@dataclass(frozen=True)
class All(Statement):
    """Two or more statements that must all hold; no part is itself an `All`.

    Examples
    --------
    >>> print((rate("PR") >= 0.2) & (rate("FPR") <= 0.1))
    PR >= 0.2 and FPR <= 0.1
    """

    parts: tuple[Statement, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, AnyOf) else str(p) for p in self.parts)


@dataclass(frozen=True)
class AnyOf(Statement):
    """Two or more statements of which at least one must hold; no part is itself an `AnyOf`.

    Examples
    --------
    >>> print((rate("PR") >= 0.2) | (rate("FPR") <= 0.1))
    PR >= 0.2 or FPR <= 0.1
    """

    parts: tuple[Statement, ...]

    def __str__(self) -> str:
        return " or ".join(f"({p})" if isinstance(p, All) else str(p) for p in self.parts)


def joined(
    kind: type[All] | type[AnyOf], parts: tuple[Statement, ...], span: Span | None = None
) -> Statement:
    """The statement that all parts hold, or that any of them does; a single part stays itself."""
    return parts[0] if len(parts) == 1 else kind(flattened(kind, parts), span=span)


def _as_statement(value: object) -> Statement:
    if isinstance(value, Statement):
        return value
    raise ConstraintError(
        f"a statement can be joined only with another statement. Got {value!r} instead.",
        hint="put each inequality in parentheses: (a <= x) & (x <= b).",
    )


def strict_inequality(span: Span | None) -> ConstraintError:
    """The error for ``<`` and ``>`` between expressions."""
    return point_at(
        "a strict inequality cannot be distinguished from one that allows equality.",
        span,
        "use <= or >=.",
    )
