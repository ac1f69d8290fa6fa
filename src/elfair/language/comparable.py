"""Values compare by kind: a number never meets a text, and the error says how to write it."""

from __future__ import annotations

import re

from elfair.errors import ConstraintError
from elfair.language.conditions import Column, Compare, Literal, Operand, Positive
from elfair.language.kinds import NUMBERS, TEXT, TRUTH, Values
from elfair.language.tree import point_at

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]*)?")


def check_comparable(condition: Compare, left: Values, right: Values) -> None:
    """Raise where the two sides of a comparison are of different kinds, or have no order."""
    for operand, values in ((condition.left, left), (condition.right, right)):
        if values.kind not in (NUMBERS, TEXT, TRUTH):
            raise point_at(
                f"{_called(operand)} holds {values.kind}, which a condition cannot compare; "
                f"it compares {NUMBERS}, {TEXT} or {TRUTH}.",
                operand.span,
                "turn it into one of these before it is passed.",
            )
    if not _same_kind(condition, left, right):
        raise _mismatch(condition, left, right)
    if condition.op not in ("==", "!=") and left.kind != NUMBERS:
        raise point_at(
            f"'{condition.op}' orders numbers; {_called(_named(condition))} holds {left.kind}.",
            condition.span,
            "use ==, != or in.",
        )


def _same_kind(condition: Compare, left: Values, right: Values) -> bool:
    if {left.kind, right.kind} != {NUMBERS, TRUTH}:
        return left.kind == right.kind
    # 0 and 1 are usual for false and true, so true/false values meet those two numbers as well;
    # a written true or false still asks for true/false values.
    written = [side for side in (condition.left, condition.right) if isinstance(side, Literal)]
    if not written:
        return True
    return not isinstance(written[0].value, bool) and written[0].value in (0, 1)


def _mismatch(condition: Compare, left: Values, right: Values) -> ConstraintError:
    for literal, kind in ((condition.left, right.kind), (condition.right, left.kind)):
        if isinstance(literal, Literal):
            return point_at(
                f"{_called(_named(condition))} holds {kind}; it is compared with {literal}.",
                literal.span,
                _advice(condition, literal, kind),
            )
    return point_at(
        f"{_called(condition.left)} holds {left.kind}, and {_called(condition.right)} "
        f"holds {right.kind}; they cannot be compared.",
        condition.span,
        "compare columns of one kind.",
    )


def _advice(condition: Compare, literal: Literal, kind: str | None) -> str:
    """How to write the literal so that it is of the kind."""

    def rewritten(value: str | float | bool) -> str:
        other, new = str(_named(condition)), str(Literal(value))
        sides = (new, other) if literal is condition.left else (other, new)
        return f"write {sides[0]} {condition.op} {sides[1]}"

    value = literal.value
    if kind == TEXT:
        return f"{rewritten(str(literal))} in quotes."
    if kind == TRUTH:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return f"{rewritten(value.lower() == 'true')} without quotes."
        return "compare it with true or false, or with 1 or 0."
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return "compare it with a number."
        number = float(value)
        return f"{rewritten(int(number) if number.is_integer() else number)} without quotes."
    return f"{rewritten(int(value))}."


def _named(condition: Compare) -> Operand:
    return condition.right if isinstance(condition.left, Literal) else condition.left


def _called(operand: Operand) -> str:
    if isinstance(operand, Column):
        return f"column '{operand.name}'"
    return "the positive class" if isinstance(operand, Positive) else f"'{operand}'"
