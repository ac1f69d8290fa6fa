"""Conditions on one row, such as ``race == 'A' and 18 <= age < 30``, and the rates named by them.

This module only represents them; `elfair.language.evaluation` evaluates them on data.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from elfair.errors import ConstraintError
from elfair.language.tree import Node, Span, children, flattened, point_at, walk

_BARE_NAME = re.compile(r"[^\W\d]\w*")  # as NAME in constraint.lark
_WORDS = {"and", "or", "not", "in", "true", "false", "True", "False"}
_RESERVED = {*_WORDS, "label", "decision", "positive"}

#: Who meets no condition at all (None).
EVERYONE = "everyone"

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: ``a < b`` is ``b > a``, and its opposite is ``a >= b``.
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Operand(Node):
    """Base of the things that a condition compares; most are written as they are called."""

    def __str__(self) -> str:
        return type(self).__name__.lower()


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


@dataclass(frozen=True)
class Decision(Operand):
    """The decision of the new model (under ``E_logged``, of the behaviour model).

    Examples
    --------
    >>> print(Decision())
    decision
    """


@dataclass(frozen=True)
class Positive(Operand):
    """The positive class, which PR, TPR and so on count; the data say which one it is.

    Examples
    --------
    >>> print(Compare(Decision(), "==", Positive()))
    decision == positive
    """


@dataclass(frozen=True)
class Literal(Operand):
    """A literal value: text, a finite number, true or false.

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
                "write a value such as 'A', 0.5 or true; a missing value meets no comparison.",
            )

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return _quoted(self.value, "'")
        return repr(self.value).lower() if isinstance(self.value, bool) else repr(self.value)


@dataclass(frozen=True)
class Condition(Node):
    """Base of conditions. Python's ``&``, ``|`` and ``~`` are the text's and, or and not."""

    is_event, sign = True, 1

    def __and__(self, other: object) -> Condition:
        return And(flattened(And, (self, as_condition(other))))

    def __or__(self, other: object) -> Condition:
        return Or(flattened(Or, (self, as_condition(other))))

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
        if all(isinstance(side, Literal | Positive) for side in (self.left, self.right)):
            raise point_at(
                f"'{self}' compares two constants; a condition must depend on the row.",
                self.span,
                "name a column (put unusual names in backticks, not in quotes).",
            )

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True)
class Member(Condition):
    """Whether an operand is one of the listed values.

    Examples
    --------
    >>> print(Member(Column("race"), (Literal("A"), Literal("B"))))
    race in ['A', 'B']
    """

    left: Operand
    values: tuple[Literal, ...]

    def __post_init__(self) -> None:
        if isinstance(self.left, Literal | Positive) or not self.values:
            raise point_at(
                f"'{self}' is the same for every row; a condition must depend on the row.",
                self.span,
                "write a column, then 'in', then at least one value: race in ['A', 'B'].",
            )

    def __str__(self) -> str:
        return self._with("in")

    def _with(self, word: str) -> str:
        return f"{self.left} {word} [{', '.join(map(str, self.values))}]"


@dataclass(frozen=True)
class And(Condition):
    """Two or more conditions that must all hold; no part is itself an `And`.

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
    """Two or more conditions of which at least one must hold; no part is itself an `Or`.

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
    """The opposite of a condition; unknown where the condition is.

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
    """The value itself if it is a condition; otherwise an error that shows how to write one."""
    if isinstance(value, Condition):
        return value
    raise ConstraintError(
        f"expected a condition. Got {value!r} instead.",
        hint="compare something, as in col('race') == 'Black'.",
    )


def all_of(parts: tuple[Condition, ...]) -> Condition | None:
    """The condition that all parts hold; None, which every row meets, if there are none."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    return And(flattened(And, parts))


def parts_of(condition: Condition | None) -> tuple[Condition, ...]:
    """The conditions that must all hold for this one to hold; the inverse of `all_of`."""
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def who(condition: Condition | None) -> str:
    """The people a condition selects, as records name them.

    Examples
    --------
    >>> who(Compare(Column("race"), "==", Literal("A"))), who(None)
    ("race == 'A'", 'everyone')
    """
    return EVERYONE if condition is None else str(condition)


def uses_label(node: Node) -> bool:
    """Whether it refers to the label.

    Examples
    --------
    >>> from elfair import PR, TPR
    >>> uses_label(TPR()), uses_label(PR())
    (True, False)
    """
    return any(isinstance(each, Label) for each in walk(node))


def uses_decision(node: Node) -> bool:
    """Whether it refers to the decision.

    Examples
    --------
    >>> from elfair import E, PR
    >>> uses_decision(PR()), uses_decision(E("impact"))
    (True, False)
    """
    return any(isinstance(each, Decision) for each in walk(node))


def uses_positive(node: Node) -> bool:
    """Whether it refers to the positive class.

    Examples
    --------
    >>> from elfair import PR, accuracy
    >>> uses_positive(PR()), uses_positive(accuracy())
    (True, False)
    """
    return any(isinstance(each, Positive) for each in walk(node))


def columns_used(node: Node) -> set[str]:
    """The columns that conditions and events compare.

    Examples
    --------
    >>> from elfair import E, col
    >>> columns_used(E("impact", given=col("race") == "A"))
    {'race'}
    """
    return _columns(each for each in walk(node) if isinstance(each, Condition))


def impacts_used(node: Node) -> set[str]:
    """The impacts that it averages.

    Examples
    --------
    >>> from elfair import E, col
    >>> impacts_used(E("impact", given=col("race") == "A"))
    {'impact'}
    """
    return _columns(each for each in walk(node) if not isinstance(each, Condition))


def _columns(nodes: Iterable[Node]) -> set[str]:
    of = (child for node in nodes for child in children(node))
    return {child.name for child in of if isinstance(child, Column)}


def _quoted(text: str, quote: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    return f"{quote}{escaped}{quote}"


@dataclass(frozen=True)
class SquaredError(Node):
    """The squared distance of a numeric decision from the label; ``mse`` averages it.

    Examples
    --------
    >>> print(SquaredError(Decision(), Label()))
    (decision - label)^2
    """

    left: Operand
    right: Operand
    sign = 1

    def __str__(self) -> str:
        return f"({self.left} - {self.right})^2"


_CHOSEN = Compare(Decision(), "==", Positive())
_NOT_CHOSEN = Compare(Decision(), "!=", Positive())
_TRUE = Compare(Label(), "==", Positive())
_FALSE = Compare(Label(), "!=", Positive())

# Name -> (event, condition). With a decision in the condition, the rate is a quotient of averages.
# PR comes last: every condition starts with its empty one.
RATES: dict[str, tuple[Compare | SquaredError, tuple[Compare, ...]]] = {
    "accuracy": (Compare(Decision(), "==", Label()), ()),
    "TPR": (_CHOSEN, (_TRUE,)),
    "FPR": (_CHOSEN, (_FALSE,)),
    "TNR": (_NOT_CHOSEN, (_FALSE,)),
    "FNR": (_NOT_CHOSEN, (_TRUE,)),
    "PPV": (_TRUE, (_CHOSEN,)),
    "NPV": (_FALSE, (_NOT_CHOSEN,)),
    "FDR": (_FALSE, (_CHOSEN,)),
    "mse": (SquaredError(Decision(), Label()), ()),
    "PR": (_CHOSEN, ()),
}


Pair = TypeVar("Pair", bound=Compare | SquaredError)


def spelled_out(
    name: str, span: Span | None = None
) -> tuple[Condition | SquaredError, tuple[Condition, ...]]:
    """What a named rate averages, and among which rows.

    Examples
    --------
    >>> event, (condition,) = spelled_out("TPR")
    >>> print(event, "|", condition)
    decision == positive | label == positive
    """

    def placed(pair: Pair) -> Pair:
        # The text does not show the operands; errors about them point at the rate's name.
        left, right = type(pair.left)(span=span), type(pair.right)(span=span)
        return replace(pair, left=left, right=right, span=span)

    event, within = RATES[name]
    return placed(event), tuple(map(placed, within))


def named(name: str, given: Condition | None) -> str:
    """The text of a rate among the rows of a condition."""
    return name if given is None else f"{name}[{given}]"


def short_text(event: Node, given: Condition | None) -> str | None:
    """The text of the named rate with this event and condition, if there is one.

    Examples
    --------
    >>> short_text(Compare(Decision(), "==", Label()), None)
    'accuracy'
    """
    parts = parts_of(given)
    for name, (its_event, within) in RATES.items():
        if event == its_event and parts[: len(within)] == within:
            return named(name, all_of(parts[len(within) :]))
    return None
