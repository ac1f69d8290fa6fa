"""Conditions: what is asked of one row, such as ``race == 'A' and 18 <= age < 30``.

These are only the shapes; `elfair.language.evaluation` answers them on a table.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from elfair.errors import ConstraintError
from elfair.language.tree import Node, Span, point_at

_BARE_NAME = re.compile(r"[^\W\d]\w*")  # as NAME in constraint.lark
_RESERVED = {"and", "or", "not", "in", "label", "decision", "true", "false", "True", "False"}

#: Whom it is about where there is no condition.
EVERYONE = "everyone"


@dataclass(frozen=True)
class Operand(Node):
    """Base of what a condition compares."""


@dataclass(frozen=True)
class Column(Operand):
    """A column of the data, by name.

    Examples
    --------
    >>> print(Column("race"), Column("zip code"), Column("label"))
    race `zip code` `label`
    """

    name: str

    def __str__(self) -> str:
        bare = _BARE_NAME.fullmatch(self.name) and self.name not in _RESERVED
        return self.name if bare else _quoted(self.name, "`")


@dataclass(frozen=True)
class Label(Operand):
    """The true class of the row.

    Examples
    --------
    >>> print(Label())
    label
    """

    def __str__(self) -> str:
        return "label"


@dataclass(frozen=True)
class Decision(Operand):
    """The class that the model (or, under ``E_logged``, the behaviour model) decides on.

    Examples
    --------
    >>> print(Decision())
    decision
    """

    def __str__(self) -> str:
        return "decision"


@dataclass(frozen=True)
class Positive(Operand):
    """The positive class, which the binary rates speak of; known only beside data.

    Examples
    --------
    >>> print(Compare(Decision(), "==", Positive()))
    decision == positive
    """

    def __str__(self) -> str:
        return "positive"


@dataclass(frozen=True)
class Literal(Operand):
    """A value written out: text, a finite number, true or false.

    True equals 1, as it does in data: a row of a true/false column meets both.

    Examples
    --------
    >>> print(Literal("Black"), Literal(-0.5), Literal(True))
    'Black' -0.5 true
    """

    value: str | int | float | bool

    def __post_init__(self) -> None:
        if hasattr(self.value, "item"):  # numpy's numbers would compare by another type's rules
            object.__setattr__(self, "value", self.value.item())
        if isinstance(self.value, str):
            return
        if not isinstance(self.value, (int, float)) or not abs(self.value) <= sys.float_info.max:
            raise point_at(
                "a condition compares with text, a finite number, true or false. "
                f"Got {self.value!r} instead.",
                self.span,
                "write a value, such as 'A', 0.5 or true; a missing value meets no comparison.",
            )

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return _quoted(self.value, "'")
        return repr(self.value).lower() if isinstance(self.value, bool) else repr(self.value)


@dataclass(frozen=True)
class Condition(Node):
    """Base of conditions. Python's ``&``, ``|`` and ``~`` are the text's and, or and not."""

    def __and__(self, other: object) -> Condition:
        return And(_flat(And, (self, as_condition(other))))

    def __or__(self, other: object) -> Condition:
        return Or(_flat(Or, (self, as_condition(other))))

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Not) else Not(self)


@dataclass(frozen=True)
class Compare(Condition):
    """A comparison of two operands by one of ``== != < <= > >=``.

    Examples
    --------
    >>> print(Compare(Column("age"), ">=", Literal(18)))
    age >= 18
    """

    left: Operand
    op: str
    right: Operand

    def __post_init__(self) -> None:
        if isinstance(self.left, Literal) and isinstance(self.right, Literal):
            raise point_at(
                f"'{self}' compares two constants; a condition asks something of a row.",
                self.span,
                "name a column (a name that is not plain goes in backticks, not in quotes).",
            )

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True)
class Member(Condition):
    """Whether an operand is one of the values listed.

    Examples
    --------
    >>> print(Member(Column("race"), (Literal("A"), Literal("B"))))
    race in ['A', 'B']
    """

    left: Operand
    values: tuple[Literal, ...]

    def __post_init__(self) -> None:
        if isinstance(self.left, Literal) or not self.values:
            raise point_at(
                f"'{self}' is the same for every row; a condition asks something of a row.",
                self.span,
                "write a column, then 'in', then at least one value: race in ['A', 'B'].",
            )

    def __str__(self) -> str:
        return self._with("in")

    def _with(self, word: str) -> str:
        return f"{self.left} {word} [{', '.join(map(str, self.values))}]"


@dataclass(frozen=True)
class And(Condition):
    """Two or more conditions which must all hold; none of the parts is itself an `And`.

    Examples
    --------
    >>> adult = Compare(Column("age"), ">=", Literal(18))
    >>> print(adult & Compare(Column("sex"), "==", Literal("F")))
    age >= 18 and sex == 'F'
    """

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, Or) else str(p) for p in self.parts)


@dataclass(frozen=True)
class Or(Condition):
    """Two or more conditions of which one must hold; none of the parts is itself an `Or`.

    Examples
    --------
    >>> adult = Compare(Column("age"), ">=", Literal(18))
    >>> print(adult | Compare(Column("sex"), "==", Literal("F")))
    age >= 18 or sex == 'F'
    """

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True)
class Not(Condition):
    """The opposite of a condition; where that is unknown, so is this.

    Examples
    --------
    >>> print(~Member(Column("race"), (Literal("A"),)))
    race not in ['A']
    """

    part: Condition

    def __str__(self) -> str:
        if isinstance(self.part, Member):
            return self.part._with("not in")
        return f"not ({self.part})" if isinstance(self.part, (And, Or)) else f"not {self.part}"


def as_condition(value: object) -> Condition:
    """The value itself, if it is a condition; else an error that shows how to write one."""
    if isinstance(value, Condition):
        return value
    raise ConstraintError(
        f"a condition was expected. Got {value!r} instead.",
        hint="compare something, as in col('race') == 'Black'.",
    )


def all_of(parts: tuple[Condition, ...], span: Span | None = None) -> Condition | None:
    """The condition that all parts hold; None, which every row meets, where there are none."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    return And(_flat(And, parts), span=span)


def parts_of(condition: Condition | None) -> tuple[Condition, ...]:
    """What must all hold for the condition to hold; the inverse of `all_of`."""
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def who(condition: Condition | None) -> str:
    """Whom a condition speaks of, as records name them.

    Examples
    --------
    >>> who(Compare(Column("race"), "==", Literal("A"))), who(None)
    ("race == 'A'", 'everyone')
    """
    return EVERYONE if condition is None else str(condition)


def _flat(kind: type[And] | type[Or], parts: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The parts, with those of the same kind opened up."""
    return tuple(
        inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))
    )


def _quoted(text: str, quote: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    return f"{quote}{escaped}{quote}"
