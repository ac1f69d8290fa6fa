"""Recipes: fairness constraints that become plain text once groups and classes are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations
from math import inf
from operator import and_
from typing import Any, TypeAlias

import numpy as np

from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.language import (
    FPR,
    PR,
    TPR,
    Condition,
    E,
    E_logged,
    Expression,
    Mean,
    P,
    accuracy,
    col,
    decision,
    label,
)
from elfair.language.evaluation import DataLike
from elfair.language.tree import number_text
from elfair.language.values import values_of

Group: TypeAlias = tuple[Any, ...]

#: More groups than this are no groups, but numbers that happen to differ.
MOST_GROUPS = 100
#: Rows that a group needs: two in each half, or else it has no spread.
FEWEST_ROWS = 4


@dataclass(frozen=True)
class Recipe:
    """A fairness constraint that is not yet text: its groups and classes may come from data.

    Parameters
    ----------
    name : str
        The function that it comes from.
    by : tuple of str
        The columns whose values (together) make the groups.
    groups : tuple of tuples, optional
        The groups; without them, all that occur in the data.
    amount : float
        The tolerance, ratio, slack or margin.
    impact : str
        The impact, where it is about one.

    Examples
    --------
    >>> from elfair import parity
    >>> print(parity("race", ["A", "B"], tolerance=0.1))
    abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1
    """

    name: str
    by: tuple[str, ...]
    groups: tuple[Group, ...] | None
    amount: float
    impact: str = ""

    def expand(self, data: DataLike | None = None) -> list[str]:
        """The constraint as plain texts.

        Parameters
        ----------
        data : LoggedData, optional
            Where groups (unless they were named) and classes come from. Without it, the texts are
            those for two classes.

        Examples
        --------
        >>> from elfair import LoggedData, equalized_odds
        >>> data = LoggedData([[0.0]] * 8, [0, 1] * 4, sensitive_features={"T": [0] * 4 + [1] * 4})
        >>> equalized_odds("T", tolerance=0.2).expand(data)
        ['abs(TPR[T == 0] - TPR[T == 1]) <= 0.2', 'abs(FPR[T == 0] - FPR[T == 1]) <= 0.2']
        """
        groups = self.groups
        if groups is None:
            groups = self._groups_in(data)
        classes = [] if data is None else data.classes.tolist()
        rates, text = _RECIPES[self.name]
        conditions = [
            reduce(and_, (col(name) == value for name, value in zip(self.by, group, strict=True)))
            for group in groups
        ]
        if rates is None:
            return [text(self, group) for group in conditions]
        # A difference counts either way; a share of the other's rate does not.
        pairs = permutations(conditions, 2) if text is _ratio else combinations(conditions, 2)
        return [
            text(self, *both)
            for one, other in pairs
            for both in zip(rates(one, classes), rates(other, classes), strict=True)
        ]

    def __str__(self) -> str:
        if self.groups is None:
            return f"{self.name} of all groups of {' and '.join(map(repr, self.by))}"
        return "\n".join(self.expand())

    def _groups_in(self, data: DataLike | None) -> tuple[Group, ...]:
        if data is None:
            raise InputError(
                f"which groups '{self.name}' is about is not known without data.",
                hint=f"name them: {self.name}({listed([self.by[0]])}, groups=['A', 'B'], ...).",
            )
        counts = _counts(self.by, data)
        shown = " and ".join(f"'{name}'" for name in self.by)
        if len(counts) > MOST_GROUPS:
            raise DataError(
                f"{shown} has {len(counts):,} different values; '{self.name}' takes at most "
                f"{MOST_GROUPS} groups.",
                hint="name the groups in groups=, or write conditions such as "
                "E[impact | age < 30] >= 0.",
            )
        if len(counts) < (1 if _RECIPES[self.name][0] is None else 2):
            raise DataError(
                f"{shown} has too few groups for '{self.name}'. Got {listed(map(_plain, counts))}.",
                hint="check the column; a missing value is no group.",
            )
        small = {group: count for group, count in counts.items() if count < FEWEST_ROWS}
        if small:
            sizes = ", ".join(f"{_plain(group)!r} ({count})" for group, count in small.items())
            large = [_plain(group) for group in counts if group not in small]
            raise DataError(
                f"{len(small)} of the {len(counts)} groups of {shown} have too few rows: {sizes}. "
                f"At least {FEWEST_ROWS} are needed, 2 in each half.",
                hint=f"merge them, or name the groups that you ask for: groups=[{listed(large)}].",
            )
        return tuple(counts)


def _gap(recipe: Recipe, one: Expression, other: Expression) -> str:
    return f"abs({one} - {other}) <= {number_text(recipe.amount)}"


def _ratio(recipe: Recipe, one: Expression, other: Expression) -> str:
    return f"{one} >= {number_text(recipe.amount)} * {other}"


def _at_least(recipe: Recipe, group: Condition) -> str:
    new, old = _impacts(recipe, group)
    change = recipe.amount if recipe.name == "improvement" else -recipe.amount
    sign = "+" if change > 0 else "-"
    return f"{new} >= {old}" + (f" {sign} {number_text(abs(change))}" if change else "")


def _near(recipe: Recipe, group: Condition) -> str:
    return _gap(recipe, *_impacts(recipe, group))


def _impacts(recipe: Recipe, group: Condition) -> tuple[Mean, Mean]:
    return E(recipe.impact, given=group), E_logged(recipe.impact, given=group)


def _decisions(group: Condition, classes: Sequence[Any]) -> list[Expression]:
    """The rate of every decision; for two classes, that of the positive one says both."""
    if len(classes) <= 2:
        return [PR(group)]
    return [P(decision == k, given=group) for k in classes]


def _odds(group: Condition, classes: Sequence[Any]) -> list[Expression]:
    """The rate of every decision among people of every label."""
    if len(classes) <= 2:
        return [TPR(group), FPR(group)]
    return [P(decision == k, given=(label == j) & group) for j in classes for k in classes]


_Rates: TypeAlias = Callable[[Condition, Sequence[Any]], list[Expression]]

#: For each function: the rates that two groups are compared by (None: each group stands for
#: itself), and the text.
_RECIPES: dict[str, tuple[_Rates | None, Callable[..., str]]] = {
    "parity": (_decisions, _gap),
    "equalized_odds": (_odds, _gap),
    "equal_opportunity": (lambda group, _: [TPR(group)], _gap),
    "predictive_equality": (lambda group, _: [FPR(group)], _gap),
    "accuracy_parity": (lambda group, _: [accuracy(group)], _gap),
    "disparate_impact": (lambda group, _: [PR(group)], _ratio),
    "no_worse": (None, _at_least),
    "improvement": (None, _at_least),
    "decline": (None, _at_least),
    "stagnation": (None, _near),
}


def make_recipe(
    name: str,
    by: str | Sequence[str],
    groups: Iterable[Any] | None,
    impact: str = "",
    **amount: float,
) -> Recipe:
    """Check what a function was given, and write it down."""
    columns = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    if not columns or not all(isinstance(column, str) and column for column in columns):
        raise InputError(
            f"'{name}' takes the name of a column, or several. Got {by!r} instead.",
            hint=f"write {name}('race', ...) or {name}(['race', 'sex'], ...).",
        )
    ((what, value),) = amount.items()
    _check_amount(name, what, value)
    compared = _RECIPES[name][0] is not None
    named = None if groups is None else _named_groups(name, columns, groups, 2 if compared else 1)
    return Recipe(name, columns, named, float(value), impact)


def _check_amount(name: str, what: str, value: Any) -> None:
    most = inf if _RECIPES[name][0] is None else 1.0
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if number and (0 < value < most or (value == 0 and what == "slack")):
        return
    if number and value == 0 and what == "tolerance":
        raise InputError(
            f"'{name}' with tolerance=0 asks for exact equality, which no data can ever certify.",
            hint="allow a difference that does not matter, such as tolerance=0.05.",
        )
    allowed = "at least 0" if what == "slack" else "above 0"
    raise InputError(
        f"{what} of '{name}' must be {allowed}{'' if most == inf else ' and below 1'}. "
        f"Got {value!r} instead.",
        hint="no_worse asks that nobody loses."
        if what == "margin"
        else f"{_USUAL[what]} is usual.",
    )


_USUAL = {"tolerance": 0.1, "ratio": 0.8, "slack": 0, "at_most": 0.1}


def _named_groups(
    name: str, columns: tuple[str, ...], groups: Iterable[Any], least: int
) -> tuple[Group, ...]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(
            f"groups of '{name}' must be a list. Got {groups!r} instead.",
            hint=f"write groups=[{groups!r}].",
        )
    single = len(columns) == 1
    named = tuple((g,) if single and not isinstance(g, tuple) else g for g in groups)
    if not all(isinstance(group, tuple | list) and len(group) == len(columns) for group in named):
        raise InputError(
            f"each group of '{name}' must have one value for each of {', '.join(columns)}. "
            f"Got {listed(named)}.",
            hint="write groups=[('A', 'F'), ('A', 'M')].",
        )
    named = tuple(tuple(group) for group in named)
    if len(set(named)) < max(least, len(named)):
        raise InputError(
            f"groups of '{name}' must be {least} or more, each of them once. "
            f"Got {listed(map(_plain, named)) or 'none'}.",
            hint="leave groups out to take all that occur in the data.",
        )
    return named


def _counts(by: tuple[str, ...], data: DataLike) -> dict[Group, int]:
    """The groups that occur, in order, with the number of their rows; a missing value is none."""
    columns = []
    for name in by:
        if name not in data.names:
            raise DataError(
                f"no column '{name}'; columns: {', '.join(data.names[:10]) or 'none'}.",
                hint=did_you_mean(name, data.names, "pass it in sensitive_features=."),
            )
        columns.append(data.column(name))
    known = ~np.logical_or.reduce([np.asarray(values_of(column).missing) for column in columns])
    counts = Counter(zip(*(column[known].tolist() for column in columns), strict=True))
    try:
        return dict(sorted(counts.items()))
    except TypeError:
        raise DataError(
            f"{' and '.join(by)} must hold values of one kind. Got {listed(map(_plain, counts))}.",
            hint="write all groups as text or all as numbers.",
        ) from None


def _plain(group: Group) -> Any:
    """A group as a user would write it: one value, or a tuple."""
    return group[0] if len(group) == 1 else group
