"""Fairness constraints by the names that people know them by.

Each function returns a `Recipe`, which is accepted wherever a constraint is. Given data, it becomes
plain constraint text; that text is tested, and the certificate shows it.
"""

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
from elfair.language.build import FPR, PR, TPR, E, E_logged, P, accuracy, col, decision, label
from elfair.language.conditions import Condition
from elfair.language.evaluation import DataLike, is_missing
from elfair.language.expressions import Expression, Mean
from elfair.language.tree import number_text

By: TypeAlias = str | Sequence[str]
Groups: TypeAlias = Iterable[Any] | None
Group: TypeAlias = tuple[Any, ...]

#: With more values than this a column holds measurements, not groups.
MOST_GROUPS = 100
#: The rows that a group needs: two in each half, or it has no spread.
FEWEST_ROWS = 4


@dataclass(frozen=True)
class Recipe:
    """A fairness constraint that is not text yet: its groups and classes may come from the data.

    Parameters
    ----------
    name : str
        The function that made it.
    by : tuple of str
        The columns whose values (together) define the groups.
    groups : tuple of tuples, optional
        The groups; by default all groups in the data.
    amount : float
        The tolerance, ratio, slack or margin.
    impact : str
        The impact, if it is about one.

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
            The source of the classes, and of the groups unless they are named. Without it, the
            texts are those for two classes.

        Examples
        --------
        >>> from elfair import LoggedData, equalized_odds
        >>> data = LoggedData([[0.0]] * 8, [0, 1] * 4, sensitive_features={"T": [0] * 4 + [1] * 4})
        >>> equalized_odds("T", tolerance=0.2).expand(data)
        ['abs(TPR[T == 0] - TPR[T == 1]) <= 0.2', 'abs(FPR[T == 0] - FPR[T == 1]) <= 0.2']
        """
        groups = self._groups_in(data) if self.groups is None else self.groups
        classes = [] if data is None else data.classes.tolist()
        rates, text = RECIPES[self.name]
        conditions = [
            reduce(and_, (col(name) == value for name, value in zip(self.by, group, strict=True)))
            for group in groups
        ]
        if rates is None:
            return [text(self, group) for group in conditions]
        # A gap is the same both ways round; a ratio is not.
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
                f"'{self.name}' needs data to know its groups.",
                hint=f"name them: {self.name}({listed([self.by[0]])}, groups=['A', 'B'], ...).",
            )
        counts = _counts(self.by, data)
        shown = " and ".join(f"'{name}'" for name in self.by)
        if len(counts) > MOST_GROUPS:
            raise DataError(
                f"{shown} has {len(counts):,} different values; '{self.name}' accepts at most "
                f"{MOST_GROUPS} groups.",
                hint="name the groups in groups=, or write conditions such as "
                "E[impact | age < 30] >= 0.",
            )
        if len(counts) < (1 if RECIPES[self.name][0] is None else 2):
            raise DataError(
                f"{shown} has too few groups for '{self.name}'. Got {listed(map(_plain, counts))}.",
                hint="check the column; a missing value is not a group.",
            )
        small = {group: count for group, count in counts.items() if count < FEWEST_ROWS}
        if small:
            sizes = ", ".join(f"{_plain(group)!r} ({count})" for group, count in small.items())
            large = [_plain(group) for group in counts if group not in small]
            raise DataError(
                f"{len(small)} of the {len(counts)} groups of {shown} "
                f"{'has' if len(small) == 1 else 'have'} too few rows: {sizes}. "
                f"At least {FEWEST_ROWS} are needed, 2 in each half.",
                hint=f"merge them, or name the groups that you want: groups=[{listed(large)}].",
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
    """The rate of every decision; of two classes, the rate of the positive one is enough."""
    if len(classes) <= 2:
        return [PR(group)]
    return [P(decision == k, given=group) for k in classes]


def _odds(group: Condition, classes: Sequence[Any]) -> list[Expression]:
    """The rate of every decision among the people of each label."""
    if len(classes) <= 2:
        return [TPR(group), FPR(group)]
    return [P(decision == k, given=(label == j) & group) for j in classes for k in classes]


_Rates: TypeAlias = Callable[[Condition, Sequence[Any]], list[Expression]]

#: For each function: the rates by which two groups are compared (None: each group stands alone),
#: and the text.
RECIPES: dict[str, tuple[_Rates | None, Callable[..., str]]] = {
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


def make_recipe(name: str, by: By, groups: Groups, impact: str = "", **amount: float) -> Recipe:
    """Check the arguments of a function, and record them."""
    columns = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    if not columns or not all(isinstance(column, str) and column for column in columns):
        raise InputError(
            f"'{name}' takes one or more column names. Got {by!r} instead.",
            hint=f"write {name}('race', ...) or {name}(['race', 'sex'], ...).",
        )
    ((what, value),) = amount.items()
    _check_amount(name, what, value)
    compared = RECIPES[name][0] is not None
    named = None if groups is None else _named_groups(name, columns, groups, 2 if compared else 1)
    return Recipe(name, columns, named, float(value), impact)


def _check_amount(name: str, what: str, value: Any) -> None:
    most = inf if RECIPES[name][0] is None else 1.0
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if number and (0 < value < most or (value == 0 and what == "slack")):
        return
    if number and value == 0 and what == "tolerance":
        raise InputError(
            f"'{name}' with tolerance=0 asks for exact equality, which no data can certify.",
            hint="allow a difference too small to matter, such as tolerance=0.05.",
        )
    allowed = "at least 0" if what == "slack" else "above 0"
    raise InputError(
        f"{what} of '{name}' must be {allowed}{'' if most == inf else ' and below 1'}. "
        f"Got {value!r} instead.",
        hint="to ask only that nobody loses, use no_worse."
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
            f"groups of '{name}' must be {least} or more different groups. "
            f"Got {listed(map(_plain, named)) or 'none'}.",
            hint="leave groups out to use all groups in the data.",
        )
    return named


def _counts(by: tuple[str, ...], data: DataLike) -> dict[Group, int]:
    """The groups in the data, in order, with their numbers of rows; missing values do not count."""
    columns = []
    for name in by:
        if name not in data.names:
            raise DataError(
                f"no column '{name}'; columns: {', '.join(data.names[:10]) or 'none'}.",
                hint=did_you_mean(name, data.names, "pass it in sensitive_features=."),
            )
        columns.append(data.column(name))
    known = ~np.logical_or.reduce([is_missing(column) for column in columns])
    columns = [column[known] for column in columns]
    if len(columns) == 1 and columns[0].dtype.kind in "biuf":  # numbers are counted faster at once
        values, sizes = np.unique(columns[0], return_counts=True)
        return {(value,): n for value, n in zip(values.tolist(), sizes.tolist(), strict=True)}
    counts = Counter(zip(*(column.tolist() for column in columns), strict=True))
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


def parity(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Demographic parity: the same rates of decisions in every group, whatever the label.

    For two classes, the positive rates of any two groups differ by at most the tolerance; for more,
    so do the rates of every class.

    Parameters
    ----------
    by : str or sequence of str
        The sensitive feature; several define groups by their combinations.
    groups : sequence, optional
        The values (or combinations, as tuples); by default all groups in the data.
    tolerance : float
        The largest difference, in (0, 1).

    Examples
    --------
    >>> print(parity("race", ["A", "B", "C"], tolerance=0.1))
    abs(PR[race == 'A'] - PR[race == 'B']) <= 0.1
    abs(PR[race == 'A'] - PR[race == 'C']) <= 0.1
    abs(PR[race == 'B'] - PR[race == 'C']) <= 0.1
    """
    return make_recipe("parity", by, groups, tolerance=tolerance)


def equalized_odds(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Equalized odds: among people with the same label, the same rates in every group.

    For two classes, the true and the false positive rates of any two groups differ by at most the
    tolerance; for more, so do the rates of every decision for every label.

    Parameters
    ----------
    by, groups, tolerance
        See `parity`.

    Examples
    --------
    >>> print(equalized_odds("race", ["A", "B"], tolerance=0.1))
    abs(TPR[race == 'A'] - TPR[race == 'B']) <= 0.1
    abs(FPR[race == 'A'] - FPR[race == 'B']) <= 0.1
    """
    return make_recipe("equalized_odds", by, groups, tolerance=tolerance)


def equal_opportunity(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Equal opportunity: the true positive rates of any two groups are close.

    With more than two classes, ``positive=`` says which one is the opportunity.

    Parameters
    ----------
    by, groups, tolerance
        See `parity`.

    Examples
    --------
    >>> print(equal_opportunity("race", ["A", "B"], tolerance=0.1))
    abs(TPR[race == 'A'] - TPR[race == 'B']) <= 0.1
    """
    return make_recipe("equal_opportunity", by, groups, tolerance=tolerance)


def predictive_equality(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Predictive equality: the false positive rates of any two groups are close.

    Parameters
    ----------
    by, groups, tolerance
        See `parity`.

    Examples
    --------
    >>> print(predictive_equality("race", ["A", "B"], tolerance=0.1))
    abs(FPR[race == 'A'] - FPR[race == 'B']) <= 0.1
    """
    return make_recipe("predictive_equality", by, groups, tolerance=tolerance)


def accuracy_parity(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Accuracy parity: the accuracies for any two groups are close.

    Parameters
    ----------
    by, groups, tolerance
        See `parity`.

    Examples
    --------
    >>> print(accuracy_parity("race", ["A", "B"], tolerance=0.1))
    abs(accuracy[race == 'A'] - accuracy[race == 'B']) <= 0.1
    """
    return make_recipe("accuracy_parity", by, groups, tolerance=tolerance)


def disparate_impact(by: By, groups: Groups = None, *, ratio: float = 0.8) -> Recipe:
    """No disparate impact: no group's positive rate is below a given share of another's.

    Parameters
    ----------
    by, groups
        See `parity`.
    ratio : float, default 0.8
        The share, in (0, 1): the 80 % rule.

    Examples
    --------
    >>> print(disparate_impact("race", ["A", "B"]))
    PR[race == 'A'] >= 0.8 * PR[race == 'B']
    PR[race == 'B'] >= 0.8 * PR[race == 'A']
    """
    return make_recipe("disparate_impact", by, groups, ratio=ratio)


def no_worse(
    by: By, groups: Groups = None, *, impact: str = "impact", slack: float = 0.0
) -> Recipe:
    """No group is worse off than under the behaviour model by more than some slack.

    Parameters
    ----------
    by, groups
        See `parity`.
    impact : str, default "impact"
        The impact; more is better.
    slack : float, default 0
        How far a group's expected impact may fall.

    Examples
    --------
    >>> print(no_worse(["race", "sex"], [("A", "F")]))
    E[impact | race == 'A' and sex == 'F'] >= E_logged[impact | race == 'A' and sex == 'F']
    """
    return make_recipe("no_worse", by, groups, impact, slack=slack)


def improvement(by: By, groups: Groups = None, *, impact: str = "impact", margin: float) -> Recipe:
    """Every group is better off than under the behaviour model, by some margin.

    Parameters
    ----------
    by, groups, impact
        See `no_worse`.
    margin : float
        How far each group's expected impact must rise.

    Examples
    --------
    >>> print(improvement("race", ["A"], margin=0.2))
    E[impact | race == 'A'] >= E_logged[impact | race == 'A'] + 0.2
    """
    return make_recipe("improvement", by, groups, impact, margin=margin)


def decline(by: By, groups: Groups = None, *, impact: str = "impact", at_most: float) -> Recipe:
    """No group declines by more than a given amount: `no_worse` with a slack that you must name.

    Parameters
    ----------
    by, groups, impact
        See `no_worse`.
    at_most : float
        How far a group's expected impact may fall.

    Examples
    --------
    >>> print(decline("race", ["A"], at_most=0.2))
    E[impact | race == 'A'] >= E_logged[impact | race == 'A'] - 0.2
    """
    return make_recipe("decline", by, groups, impact, at_most=at_most)


def stagnation(
    by: By, groups: Groups = None, *, impact: str = "impact", tolerance: float
) -> Recipe:
    """Every group stays where it is under the behaviour model, within a tolerance.

    Parameters
    ----------
    by, groups, impact
        See `no_worse`.
    tolerance : float
        How far a group's expected impact may change, in either direction.

    Examples
    --------
    >>> print(stagnation("race", ["A"], tolerance=0.2))
    abs(E[impact | race == 'A'] - E_logged[impact | race == 'A']) <= 0.2
    """
    return make_recipe("stagnation", by, groups, impact, tolerance=tolerance)
