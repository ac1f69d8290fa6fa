"""A constraint read out in words, from its structure, while somebody writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elfair.errors import ElfairError
from elfair.language import conditions, expressions
from elfair.language.conditions import Condition
from elfair.language.distribution import Statistic, statistics_in
from elfair.language.parsing import parse
from elfair.language.recipes import Recipe
from elfair.language.tree import Node, find, number_text
from elfair.records.text import rate
from elfair.study.mistakes import constraint_of

_RATES = {
    "accuracy": "the share of decisions that agree with the label",
    "PR": "the share of positive decisions",
    "TPR": "the share of positive decisions among people whose label is positive",
    "FPR": "the share of positive decisions among people whose label is not positive",
    "TNR": "the share of other decisions among people whose label is not positive",
    "FNR": "the share of other decisions among people whose label is positive",
    "PPV": "the share of positive labels among positive decisions",
    "NPV": "the share of other labels among other decisions",
    "FDR": "the share of other labels among positive decisions",
    "mse": "the mean squared distance between decision and label",
}
_COMPARED = {
    "==": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above",
    ">=": "is at least",
}  # fmt: skip
#: What a recipe asks for. Of two groups: any two of them.
_RECIPES = {
    "no_worse": "Expected {impact} must not fall below what today's decisions give{slack}",
    "improvement": "Expected {impact} must rise by at least {amount} above today's decisions",
    "decline": "Expected {impact} may fall by at most {amount} below today's decisions",
    "stagnation": "Expected {impact} must stay within {amount} of what today's decisions give",
    "parity": "The share of positive decisions may differ by at most {share}",
    "equalized_odds": "The shares of positive decisions, given the label, may differ by at most "
    "{share}",
    "equal_opportunity": "Among people whose label is positive, the share of positive decisions "
    "may differ by at most {share}",
    "predictive_equality": "Among people whose label is not positive, the share of positive "
    "decisions may differ by at most {share}",
    "accuracy_parity": "The share of decisions that agree with the label may differ by at most "
    "{share}",
    "disparate_impact": "The share of positive decisions must be at least {share} of that of any "
    "other group",
}
_BETWEEN = {
    "parity", "equalized_odds", "equal_opportunity", "predictive_equality", "accuracy_parity"
}  # fmt: skip


def reading(entry: Mapping[str, Any], impacts: Sequence[str] = ()) -> str:
    """What an entry of ``[[constraints]]`` asks for, in a sentence; empty if it cannot be read.

    Parameters
    ----------
    entry : mapping
        The entry.
    impacts : sequence of str
        The impacts of the study.

    Examples
    --------
    >>> reading({"no_worse": "race", "groups": ["A", "B"]}, ["savings"])
    "Expected savings must not fall below what today's decisions give, for people with race A, B."
    >>> reading({"text": "E[savings | race == 'A'] >= E_logged[savings | race == 'A']"})
    "The expected savings of people whose race is A must not fall below today's level."
    >>> reading({"text": "accuracy >= 0.55"})
    'The share of decisions that agree with the label must be at least 0.55.'
    """
    try:
        constraint = constraint_of(entry, impacts)
        if isinstance(constraint, Recipe):
            return f"{_of_recipe(constraint)}."
        said = _of_statement(parse(constraint))
    except (ElfairError, ValueError, TypeError):
        return ""
    return f"{said[:1].upper()}{said[1:]}."


def _of_recipe(recipe: Recipe) -> str:
    slack = f" less {number_text(recipe.amount)}" if recipe.amount else ""
    said = _RECIPES[recipe.name].format(
        impact=recipe.impact or "impact",
        amount=number_text(recipe.amount),
        share=rate(recipe.amount),
        slack=slack,
    )
    by = " and ".join(recipe.by)
    joint = "between any two groups of people" if recipe.name in _BETWEEN else "for people"
    if recipe.groups is None:
        every = "two groups" if recipe.name in _BETWEEN else "group"
        link = "between any" if recipe.name in _BETWEEN else "for every"
        return f"{said}, {link} {every} of {by} in the table"
    named = ", ".join(" and ".join(map(str, group)) for group in recipe.groups)
    return f"{said}, {joint} with {by} {named}"


def _of_statement(statement: Node) -> str:
    if isinstance(statement, expressions.All):
        return ", and ".join(map(_of_statement, statement.parts))
    if isinstance(statement, expressions.AnyOf):
        return ", or ".join(map(_of_statement, statement.parts))
    assert isinstance(statement, expressions.AtMost)
    low, high = statement.left, statement.right
    if _is_fixed(low):  # what the new model changes is what the sentence is about
        if (beyond := _beyond(high, low)) is None:
            return f"{_of(high)} must be at least {_of(low)}"
        if beyond > 0:
            return f"{_of(high)} must rise by at least {number_text(beyond)} above today's level"
        by = f"more than {number_text(-beyond)} " if beyond else ""
        return f"{_of(high)} must not fall {by}below today's level"
    if _beyond(low, high) == 0:
        return f"{_of(low)} must not rise above today's level"
    return f"{_of(low)} must be at most {_of(high)}"


def _is_fixed(node: Node) -> bool:
    """Whether no new model changes it."""
    means = find(node, expressions.Mean)
    return all(mean.logged for mean in means) and not statistics_in(node)


def _beyond(new: Node, today: Node) -> float | None:
    """By how much a level is above that of the same average today, if that is what it is."""
    if not isinstance(new, expressions.Mean):
        return None
    logged = expressions.Mean(new.of, new.given, logged=True)
    match today:
        case expressions.Sum(parts=(first, expressions.Number(value=value))) if first == logged:
            return value
    return 0.0 if today == logged else None


def _of(node: Node) -> str:
    """An expression in words; what has none is shown as it is written."""
    match node:
        case expressions.Mean():
            return _of_mean(node)
        case expressions.Scaled():
            return f"{number_text(node.factor)} times {_of(node.part)}"
        case expressions.Abs(
            part=expressions.Sum(parts=(one, expressions.Scaled(factor=-1) as two))
        ):
            return f"the gap between {_of(one)} and {_of(two.part)}"
        case expressions.Sum():
            return " plus ".join(map(_of, node.parts)).replace("plus -1 times", "minus")
        case expressions.Max() | expressions.Min():
            which = "largest" if isinstance(node, expressions.Max) else "smallest"
            return f"the {which} of {', '.join(map(_of, node.parts))}"
        case expressions.Quotient() if node.short is not None:
            name, _, given = node.short.partition("[")
            return _RATES[name] + (f" ({given.rstrip(']')})" if given else "")
        case Statistic():
            return f"{node}"
    return str(node)


def _of_mean(mean: expressions.Mean) -> str:
    short = None if mean.logged else conditions.short_text(mean.of, mean.given)
    name, _, rest = (short or "").partition("[")
    said = _RATES.get(name)
    given = mean.given
    if said is None:
        what = _condition(mean.of) if isinstance(mean.of, Condition) else _name(mean.of)
        said = f"the probability that {what}" if mean.of.is_event else f"the expected {what}"
    elif rest:
        within = conditions.RATES[name][1]
        given = conditions.all_of(conditions.parts_of(given)[len(within) :])
    else:
        given = None
    joint = ", for" if said.startswith("the probability") else " of"
    people = f"{joint} people whose {_condition(given)}" if given is not None else ""
    return f"{said}{people}{' under today' + chr(39) + 's decisions' if mean.logged else ''}"


def _name(node: Node) -> str:
    return node.name if isinstance(node, conditions.Column) else str(node).strip("'")


def _condition(node: Node) -> str:
    match node:
        case conditions.Compare():
            return f"{_name(node.left)} {_COMPARED[node.op]} {_name(node.right)}"
        case conditions.Member():
            return f"{_name(node.left)} is {' or '.join(map(_name, node.values))}"
        case conditions.And():
            return " and ".join(map(_condition, node.parts))
        case conditions.Or():
            return " or ".join(map(_condition, node.parts))
    return str(node)
