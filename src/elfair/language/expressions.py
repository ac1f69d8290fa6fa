"""Expressions: averages and other statistics, and what is computed from them.

Python's operators build the tree, for the parser as for the user, and keep it tidy: constants are
folded, so that an expression is constant exactly when it is a `Number`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NoReturn

from elfair.errors import ConstraintError
from elfair.language.conditions import Column, Condition, Decision
from elfair.language.derived import Derived, Threshold
from elfair.language.rates import SquaredError, short_text
from elfair.language.tree import Node, Span, covering, number_text, point_at, walk

if TYPE_CHECKING:
    from elfair.language.statements import AtMost


@dataclass(frozen=True)
class Expression(Node):
    """Base of expressions; they add, scale and compare in Python as they do in text."""

    def _node(self) -> Expression:
        """The tree node this stands for: itself, except for the bare rates of `build`."""
        return self

    def __add__(self, other: object) -> Expression:
        left, right = as_expression(self), as_expression(other)
        span = covering(left, right)
        if isinstance(left, Number) and isinstance(right, Number):
            return Number(left.value + right.value, span=span)
        before = left.parts if isinstance(left, Sum) else (left,)
        return Sum((*before, right), span=span)

    def __radd__(self, other: object) -> Expression:
        return as_expression(other) + self

    def __neg__(self) -> Expression:
        node = as_expression(self)
        return _scaled(node, -1.0, node.span)

    def __sub__(self, other: object) -> Expression:
        return self + -as_expression(other)

    def __rsub__(self, other: object) -> Expression:
        return as_expression(other) - self

    def __mul__(self, other: object) -> Expression:
        left, right = as_expression(self), as_expression(other)
        span = covering(left, right)
        if isinstance(left, Number):
            return _scaled(right, left.value, span)
        if isinstance(right, Number):
            return _scaled(left, right.value, span)
        (first, left), (second, right) = _factored(left), _factored(right)
        return _scaled(Product(left, right, span=span), first * second, span)

    def __rmul__(self, other: object) -> Expression:
        return as_expression(other) * self

    def __truediv__(self, other: object) -> Expression:
        left, right = as_expression(self), as_expression(other)
        if not isinstance(right, Number):
            span = covering(left, right)
            (first, left), (second, right) = _factored(left), _factored(right)
            if second == 0:
                raise _division_by_zero(right.span)
            return _scaled(Quotient(left, right, span=span), first / second, span)
        if right.value == 0:
            raise _division_by_zero(right.span)
        if isinstance(left, Number):
            return Number(left.value / right.value, span=covering(left, right))
        return _scaled(left, 1.0 / right.value, covering(left, right))

    def __rtruediv__(self, other: object) -> Expression:
        return as_expression(other) / self

    def __abs__(self) -> Expression:
        node = as_expression(self)
        return Number(abs(node.value), span=node.span) if isinstance(node, Number) else Abs(node)

    def __le__(self, other: object) -> AtMost:
        from elfair.language.statements import AtMost

        return AtMost(as_expression(self), as_expression(other))

    def __ge__(self, other: object) -> AtMost:
        return as_expression(other) <= self

    def __lt__(self, other: object) -> NoReturn:
        from elfair.language.statements import strict_inequality

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
                f"a constraint's numbers must be finite. Got {self.value} instead.",
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
        decisions are numbers, also the decision itself, or how far it is from the label.
    given : Condition, optional
        The rows that are averaged over; all rows where it is None.
    logged : bool
        Whether the behaviour model decides, rather than the new one.

    Examples
    --------
    >>> print(Mean(Column("impact"), None, logged=True))
    E_logged[impact]
    """

    of: Column | Condition | Derived | Decision | SquaredError
    given: Condition | None = None
    logged: bool = False

    def __post_init__(self) -> None:
        for node in () if self.given is None else walk(self.given):
            if isinstance(node, Decision):
                raise point_at(
                    "'decision' cannot stand after '|' here: among the rows that a model decides "
                    "in one way, only the new model's probability of an event can be asked for.",
                    node.span,
                    "write P[label == 1 | decision == 1], or move it before the bar.",
                )

    def __str__(self) -> str:
        if not self.logged and (short := short_text(self.of, self.given)) is not None:
            return short
        plain = "P" if isinstance(self.of, Condition | Threshold) else "E"
        bar = "" if self.given is None else f" | {self.given}"
        return f"{'E_logged' if self.logged else plain}[{self.of}{bar}]"


@dataclass(frozen=True)
class Statistic(Expression):
    """A number that describes the impact's distribution under the new model; see `distribution`.

    Parameters
    ----------
    of : Column
        The impact's name.
    given : Condition, optional
        Among which rows; all of them where it is None.
    """

    of: Column
    given: Condition | None = None


@dataclass(frozen=True)
class Sum(Expression):
    """Two or more expressions added up; ``a - b`` adds ``-1 * b``.

    Examples
    --------
    >>> print(Mean(Column("gain")) - 2 * Mean(Column("loss")))
    E[gain] - 2 * E[loss]
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
    >>> print(Mean(Column("impact")) / 2)
    0.5 * E[impact]
    """

    factor: float
    part: Expression

    def __str__(self) -> str:
        sign = "-" if self.factor == -1 else f"{number_text(self.factor)} * "
        return sign + _grouped(self.part)


@dataclass(frozen=True)
class Product(Expression):
    """Two statistics multiplied; a number times a statistic is `Scaled`.

    Examples
    --------
    >>> print(Mean(Column("gain")) * (Mean(Column("reach")) - 1))
    E[gain] * (E[reach] - 1)
    """

    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{_grouped(self.left)} * {_factor(self.right)}"


@dataclass(frozen=True)
class Quotient(Expression):
    """Something divided by a statistic; a statistic divided by a number is `Scaled`.

    Examples
    --------
    >>> print(Mean(Column("gain")) / Mean(Column("cost")))
    E[gain] / E[cost]
    """

    top: Expression
    bottom: Expression

    def __str__(self) -> str:
        return f"{_grouped(self.top)} / {_factor(self.bottom)}"


@dataclass(frozen=True)
class Abs(Expression):
    """The absolute value.

    Examples
    --------
    >>> print(abs(Mean(Column("impact")) - 1))
    abs(E[impact] - 1)
    """

    part: Expression

    def __str__(self) -> str:
        return f"abs({self.part})"


@dataclass(frozen=True)
class Max(Expression):
    """The largest of its parts.

    Examples
    --------
    >>> print(Max((Mean(Column("gain")), Number(0.5))))
    max(E[gain], 0.5)
    """

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Min(Expression):
    """The smallest of its parts.

    Examples
    --------
    >>> print(Min((Mean(Column("gain")), Number(0.5))))
    min(E[gain], 0.5)
    """

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"


def as_expression(value: object) -> Expression:
    """The value as an expression: numbers become `Number`, expressions stay as they are."""
    if isinstance(value, Expression):
        return value._node()
    if isinstance(value, Real) and not isinstance(value, bool):
        return Number(float(value))
    raise ConstraintError(
        f"a statistic or a number was expected. Got {value!r} instead.",
        hint="write E('impact'), P(decision == 1), accuracy or a number.",
    )


def _division_by_zero(span: Span | None) -> ConstraintError:
    """The error for a denominator that is 0."""
    return point_at("division by zero.", span, "divide by a number other than 0.")


def _scaled(node: Expression, factor: float, span: Span | None) -> Expression:
    if isinstance(node, Number):
        return Number(factor * node.value + 0.0, span=span)  # + 0.0: no negative zero
    if isinstance(node, Scaled):
        return _scaled(node.part, factor * node.factor + 0.0, span)
    return node if factor == 1 else Scaled(Number(factor, span=span).value, node, span=span)


def _factored(node: Expression) -> tuple[float, Expression]:
    """A node as a number times a node, so that products hold no numbers of their own."""
    if isinstance(node, Number):
        return node.value, Number(1.0, span=node.span)
    return (node.factor, node.part) if isinstance(node, Scaled) else (1.0, node)


def _grouped(node: Expression) -> str:
    return f"({node})" if isinstance(node, Sum) else str(node)


def _factor(node: Expression) -> str:
    """As the right side of * and /, which bind from the left."""
    loose = isinstance(node, Sum | Product | Quotient)
    return f"({node})" if loose else str(node)


def _negative(node: Expression) -> bool:
    if isinstance(node, Number):
        return node.value < 0
    return isinstance(node, Scaled) and node.factor < 0
