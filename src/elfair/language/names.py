"""What a condition, expression or statement refers to."""

from __future__ import annotations

from elfair.language.conditions import Column, Condition, Decision, Label
from elfair.language.derived import Derived
from elfair.language.expressions import Mean, Statistic
from elfair.language.tree import Node, children, walk


def uses_label(node: Node) -> bool:
    """Whether the true class is needed.

    Examples
    --------
    >>> from elfair.language import PR, TPR
    >>> uses_label(TPR()), uses_label(PR())
    (True, False)
    """
    return any(isinstance(each, Label) for each in walk(node))


def uses_decision(node: Node) -> bool:
    """Whether an event of the decision is in it.

    Examples
    --------
    >>> from elfair.language import E, PR
    >>> uses_decision(PR()), uses_decision(E("impact"))
    (True, False)
    """
    return any(isinstance(each, Decision) for each in walk(node))


def columns_used(node: Node) -> set[str]:
    """The columns that conditions and events compare.

    Examples
    --------
    >>> from elfair.language import E, col
    >>> columns_used(E("impact", given=col("race") == "A"))
    {'race'}
    """
    conditions = (each for each in walk(node) if isinstance(each, Condition))
    operands = (operand for condition in conditions for operand in children(condition))
    return {operand.name for operand in operands if isinstance(operand, Column)}


def impacts_used(node: Node) -> set[str]:
    """The impacts that are averaged.

    Examples
    --------
    >>> from elfair.language import E, col
    >>> impacts_used(E("impact", given=col("race") == "A"))
    {'impact'}
    """
    of = (each.of for each in walk(node) if isinstance(each, Mean | Statistic))
    named = (each.impact if isinstance(each, Derived) else each for each in of)
    return {each.name for each in named if isinstance(each, Column)}
