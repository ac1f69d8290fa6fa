"""Fairness constraints by the names that people call them.

Each function gives a `Recipe`, which is accepted wherever a constraint is. Beside data it becomes
plain constraint text, and that text is what is tested and what the certificate shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from elfair.language.recipes import Recipe, make_recipe

By: TypeAlias = str | Sequence[str]
Groups: TypeAlias = Iterable[Any] | None


def parity(by: By, groups: Groups = None, *, tolerance: float) -> Recipe:
    """Demographic parity: every group is decided about alike, whatever the label.

    For two classes the positive rates of any two groups differ by at most the tolerance; for more,
    so do the rates of every class.

    Parameters
    ----------
    by : str or sequence of str
        The sensitive feature; several make groups of their combinations.
    groups : sequence, optional
        The values (or combinations, as tuples); all that occur in the data unless given.
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
    """Equalized odds: among people of one label, every group is decided about alike.

    For two classes the true and the false positive rates of any two groups differ by at most the
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
    """Equal opportunity: the true positive rates of any two groups differ by little.

    Among more than two classes, ``positive=`` says which one is the opportunity.

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
    """Predictive equality: the false positive rates of any two groups differ by little.

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
    """Accuracy parity: the accuracies for any two groups differ by little.

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
    """No disparate impact: no group's positive rate is below a share of any other's.

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
    """No group is worse off than under the behaviour model, or by no more than some slack.

    Parameters
    ----------
    by, groups
        See `parity`.
    impact : str, default "impact"
        The impact; more of it is better.
    slack : float, default 0
        By how much a group's expected impact may fall.

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
        By how much each group's expected impact must rise.

    Examples
    --------
    >>> print(improvement("race", ["A"], margin=0.2))
    E[impact | race == 'A'] >= E_logged[impact | race == 'A'] + 0.2
    """
    return make_recipe("improvement", by, groups, impact, margin=margin)


def decline(by: By, groups: Groups = None, *, impact: str = "impact", at_most: float) -> Recipe:
    """No group declines by more than so much: `no_worse` with a slack that must be named.

    Parameters
    ----------
    by, groups, impact
        See `no_worse`.
    at_most : float
        By how much a group's expected impact may fall.

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
        By how much a group's expected impact may change, either way.

    Examples
    --------
    >>> print(stagnation("race", ["A"], tolerance=0.2))
    abs(E[impact | race == 'A'] - E_logged[impact | race == 'A']) <= 0.2
    """
    return make_recipe("stagnation", by, groups, impact, tolerance=tolerance)
