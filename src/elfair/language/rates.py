"""The named statistics (accuracy, PR, TPR, FPR, TNR, FNR, mse), spelled out as what is averaged and
the condition it is averaged under.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from elfair.language.conditions import (
    Compare,
    Condition,
    Decision,
    Label,
    Operand,
    Positive,
    all_of,
    parts_of,
)
from elfair.language.tree import Node, Span


@dataclass(frozen=True)
class SquaredError(Node):
    """How far a decision that is a number is from the label, squared; ``mse`` averages it.

    Examples
    --------
    >>> print(SquaredError(Decision(), Label()))
    (decision - label)^2
    """

    left: Operand
    right: Operand

    def __str__(self) -> str:
        return f"({self.left} - {self.right})^2"


_CHOSEN = Compare(Decision(), "==", Positive())
_NOT_CHOSEN = Compare(Decision(), "!=", Positive())
_TRUE = Compare(Label(), "==", Positive())
_FALSE = Compare(Label(), "!=", Positive())

# Name -> (event, condition). PR comes last: its empty condition begins every other one.
RATES: dict[str, tuple[Compare | SquaredError, tuple[Compare, ...]]] = {
    "accuracy": (Compare(Decision(), "==", Label()), ()),
    "TPR": (_CHOSEN, (_TRUE,)),
    "FPR": (_CHOSEN, (_FALSE,)),
    "TNR": (_NOT_CHOSEN, (_FALSE,)),
    "FNR": (_NOT_CHOSEN, (_TRUE,)),
    "mse": (SquaredError(Decision(), Label()), ()),
    "PR": (_CHOSEN, ()),
}


Pair = TypeVar("Pair", bound=Compare | SquaredError)


def spelled_out(
    name: str, given: Condition | None, span: Span | None = None
) -> tuple[Condition | SquaredError, Condition | None]:
    """What a named statistic averages, and the condition it is taken under.

    Examples
    --------
    >>> event, condition = spelled_out("TPR", None)
    >>> print(event, "|", condition)
    decision == positive | label == positive
    """

    def placed(pair: Pair) -> Pair:
        # The operands are not in the text; their errors point at the rate's name.
        left, right = type(pair.left)(span=span), type(pair.right)(span=span)
        return replace(pair, left=left, right=right, span=span)

    event, within = RATES[name]
    return placed(event), all_of((*map(placed, within), *parts_of(given)))


def short_text(event: Node, given: Condition | None) -> str | None:
    """The text of the rate that `spelled_out` gives this event and condition for, if there is one.

    Examples
    --------
    >>> short_text(*spelled_out("FNR", None))
    'FNR'
    """
    parts = parts_of(given)
    for name, (its_event, within) in RATES.items():
        if event == its_event and parts[: len(within)] == within:
            rest = all_of(parts[len(within) :])
            return name if rest is None else f"{name}[{rest}]"
    return None
