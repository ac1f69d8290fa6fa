"""The named rates (accuracy, PR, TPR, FPR, TNR, FNR), spelled out as an event and a condition."""

from __future__ import annotations

from elfair.language.conditions import (
    Compare,
    Condition,
    Decision,
    Label,
    Positive,
    all_of,
    parts_of,
)
from elfair.language.tree import Node, Span

_CHOSEN = Compare(Decision(), "==", Positive())
_NOT_CHOSEN = Compare(Decision(), "!=", Positive())
_TRUE = Compare(Label(), "==", Positive())
_FALSE = Compare(Label(), "!=", Positive())

# Name -> (event, condition). PR comes last: its empty condition begins every other one.
RATES: dict[str, tuple[Compare, tuple[Compare, ...]]] = {
    "accuracy": (Compare(Decision(), "==", Label()), ()),
    "TPR": (_CHOSEN, (_TRUE,)),
    "FPR": (_CHOSEN, (_FALSE,)),
    "TNR": (_NOT_CHOSEN, (_FALSE,)),
    "FNR": (_NOT_CHOSEN, (_TRUE,)),
    "PR": (_CHOSEN, ()),
}


def spelled_out(
    name: str, given: Condition | None, span: Span | None = None
) -> tuple[Condition, Condition | None]:
    """The event of a rate, and the condition it is taken under.

    Examples
    --------
    >>> event, condition = spelled_out("TPR", None)
    >>> print(event, "|", condition)
    decision == positive | label == positive
    """

    def placed(compare: Compare) -> Compare:
        # The operands are not in the text; their errors point at the rate's name.
        left, right = type(compare.left)(span=span), type(compare.right)(span=span)
        return Compare(left, compare.op, right, span=span)

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
