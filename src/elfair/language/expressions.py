"""Expressions (averages and what is computed from them) and the statements about them.

Python's operators build the tree, for the parser as for the user, and keep it tidy: constants are
folded, so that an expression is constant exactly when it is a `Number`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import NoReturn

from elfair.errors import ConstraintError
from elfair.language.conditions import Column, Condition, Decision
from elfair.language.rates import SquaredError, short_text
from elfair.language.tree import Node, Span, covering, point_at, walk


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
        raise point_at(
            f"'{left}' times '{right}' is a product of two statistics, which is not supported.",
            span,
            "one side of * must be a number.",
        )

    def __rmul__(self, other: object) -> Expression:
        return as_expression(other) * self

    def __truediv__(self, other: object) -> Expression:
        left, right = as_expression(self), as_expression(other)
        if not isinstance(right, Number):
            raise point_at(
                f"division by the statistic '{right}' is not supported.",
                right.span,
                "multiply out: instead of A / B >= r write A >= r * B, where B is positive.",
            )
        if right.value == 0:
            raise point_at("division by zero.", right.span, "divide by a number other than 0.")
        if isinstance(left, Number):
            return Number(left.value / right.value, span=covering(left, right))
        return _scaled(left, 1.0 / right.value, covering(left, right))

    def __rtruediv__(self, other: object) -> Expression:
        return as_expression(other) / self

    def __abs__(self) -> Expression:
        node = as_expression(self)
        return Number(abs(node.value), span=node.span) if isinstance(node, Number) else Abs(node)

    def __le__(self, other: object) -> AtMost:
        return AtMost(as_expression(self), as_expression(other))

    def __ge__(self, other: object) -> AtMost:
        return AtMost(as_expression(other), as_expression(self))

    def __lt__(self, other: object) -> NoReturn:
        raise strict_inequality(None)

    def __gt__(self, other: object) -> NoReturn:
        raise strict_inequality(None)


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
    of : Column, Condition, Decision or SquaredError
        An impact's name, or an event, which may use the decision. Where decisions are numbers, also
        the decision itself, or how far it is from the label.
    given : Condition, optional
        The rows that are averaged over; all rows where it is None.
    logged : bool
        Whether the behaviour model decides, rather than the new one.

    Examples
    --------
    >>> print(Mean(Column("impact"), None, logged=True))
    E_logged[impact]
    """

    of: Column | Condition | Decision | SquaredError
    given: Condition | None = None
    logged: bool = False

    def __post_init__(self) -> None:
        for node in () if self.given is None else walk(self.given):
            if isinstance(node, Decision):
                raise point_at(
                    "'decision' cannot stand after '|': an average among the rows that the model "
                    "decides in one way is a ratio of two averages, which is not supported.",
                    node.span,
                    "move it before the bar, as in P[decision == 1 and label == 0 | race == 'A'].",
                )

    def __str__(self) -> str:
        if not self.logged and (short := short_text(self.of, self.given)) is not None:
            return short
        plain = "P" if isinstance(self.of, Condition) else "E"
        bar = "" if self.given is None else f" | {self.given}"
        return f"{'E_logged' if self.logged else plain}[{self.of}{bar}]"


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


@dataclass(frozen=True)
class Statement(Node):
    """Base of statements, which a model meets or does not; they join with ``&``."""

    def __and__(self, other: object) -> Statement:
        if not isinstance(other, Statement):
            raise ConstraintError(
                f"a statement can only be joined with a statement. Got {other!r} instead.",
                hint="put each inequality in parentheses: (a <= x) & (x <= b).",
            )
        return all_statements((self, other))


@dataclass(frozen=True)
class AtMost(Statement):
    """That the left expression is at most the right one.

    Examples
    --------
    >>> print(AtMost(Number(0.0), Mean(Column("impact"))))
    E[impact] >= 0
    """

    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if not any(isinstance(node, Mean) for node in walk(self)):
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
    """Two or more statements that must all hold; none of the parts is itself an `All`.

    Examples
    --------
    >>> print((Mean(Column("gain")) >= 0) & (Mean(Column("loss")) <= 1))
    E[gain] >= 0 and E[loss] <= 1
    """

    parts: tuple[Statement, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))


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


def all_statements(parts: tuple[Statement, ...], span: Span | None = None) -> Statement:
    """The statement that all parts hold."""
    if len(parts) == 1:
        return parts[0]
    flat = (inner for part in parts for inner in (part.parts if isinstance(part, All) else (part,)))
    return All(tuple(flat), span=span)


def strict_inequality(span: Span | None) -> ConstraintError:
    """The error for ``<`` and ``>`` between expressions."""
    return point_at(
        "a strict inequality cannot be told apart from one that allows equality.",
        span,
        "use <= or >=.",
    )


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    Examples
    --------
    >>> number_text(2.0), number_text(-0.0), number_text(1e-05)
    ('2', '0', '1e-05')
    """
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0: no negative zero


def _scaled(node: Expression, factor: float, span: Span | None) -> Expression:
    if isinstance(node, Number):
        return Number(factor * node.value + 0.0, span=span)  # + 0.0: no negative zero
    if isinstance(node, Scaled):
        return _scaled(node.part, factor * node.factor + 0.0, span)
    return node if factor == 1 else Scaled(Number(factor, span=span).value, node, span=span)


def _grouped(node: Expression) -> str:
    return f"({node})" if isinstance(node, Sum) else str(node)


def _negative(node: Expression) -> bool:
    if isinstance(node, Number):
        return node.value < 0
    return isinstance(node, Scaled) and node.factor < 0
