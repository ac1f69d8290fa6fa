"""Statements: what a model meets or does not."""

from __future__ import annotations

from dataclasses import dataclass

from elfair.errors import ConstraintError
from elfair.language.expressions import Expression, Mean, Number, Statistic
from elfair.language.tree import Node, Span, point_at, walk


@dataclass(frozen=True)
class Statement(Node):
    """Base of statements; they join with ``&`` (and) and ``|`` (or)."""

    def __and__(self, other: object) -> Statement:
        return all_statements((self, _as_statement(other)))

    def __or__(self, other: object) -> Statement:
        return any_statement((self, _as_statement(other)))


@dataclass(frozen=True)
class AtMost(Statement):
    """That the left expression is at most the right one.

    Examples
    --------
    >>> from elfair.language import Column
    >>> print(AtMost(Number(0.0), Mean(Column("impact"))))
    E[impact] >= 0
    """

    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if not any(isinstance(node, Mean | Statistic) for node in walk(self)):
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
    >>> from elfair.language import Column
    >>> print((Mean(Column("gain")) >= 0) & (Mean(Column("loss")) <= 1))
    E[gain] >= 0 and E[loss] <= 1
    """

    parts: tuple[Statement, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, AnyOf) else str(p) for p in self.parts)


@dataclass(frozen=True)
class AnyOf(Statement):
    """Two or more statements of which at least one must hold; none of them is an `AnyOf`.

    Examples
    --------
    >>> from elfair.language import Column
    >>> print((Mean(Column("gain")) >= 0) | (Mean(Column("loss")) <= 1))
    E[gain] >= 0 or E[loss] <= 1
    """

    parts: tuple[Statement, ...]

    def __str__(self) -> str:
        return " or ".join(f"({p})" if isinstance(p, All) else str(p) for p in self.parts)


def all_statements(parts: tuple[Statement, ...], span: Span | None = None) -> Statement:
    """The statement that all parts hold."""
    return _joined(All, parts, span)


def any_statement(parts: tuple[Statement, ...], span: Span | None = None) -> Statement:
    """The statement that some part holds."""
    return _joined(AnyOf, parts, span)


def _joined(
    kind: type[All] | type[AnyOf], parts: tuple[Statement, ...], span: Span | None
) -> Statement:
    if len(parts) == 1:
        return parts[0]
    flat = (inner for part in parts for inner in (part.parts if type(part) is kind else (part,)))
    return kind(tuple(flat), span=span)


def _as_statement(value: object) -> Statement:
    if isinstance(value, Statement):
        return value
    raise ConstraintError(
        f"a statement can only be joined with a statement. Got {value!r} instead.",
        hint="put each inequality in parentheses: (a <= x) & (x <= b).",
    )


def strict_inequality(span: Span | None) -> ConstraintError:
    """The error for ``<`` and ``>`` between expressions."""
    return point_at(
        "a strict inequality cannot be told apart from one that allows equality.",
        span,
        "use <= or >=.",
    )
