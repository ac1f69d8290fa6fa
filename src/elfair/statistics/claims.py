"""Claims: one-sided statements with their deltas, read from constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

from elfair.data import LoggedData
from elfair.errors import InputError
from elfair.language.conditions import Condition, all_of, parts_of, uses_label
from elfair.language.conjunction import Conjunct, conjuncts, label_free
from elfair.language.distribution import Statistic, statistics_in
from elfair.language.evaluation import require_positive
from elfair.language.expressions import Mean, Statement
from elfair.language.recipes import Recipe
from elfair.language.tree import find, point_at
from elfair.statistics.impacts import impact_of
from elfair.statistics.labels import asks_for_label

Constraint: TypeAlias = str | Statement | Recipe


@dataclass(frozen=True)
class Claim:
    """A one-sided statement g <= 0, and the probability with which its test may err.

    Parameters
    ----------
    conjunct : Conjunct
        The statement.
    delta : float
        The delta of the constraint that it belongs to.
    stands_in : bool, default False
        Whether it replaces a statistic beyond the mean, at a point chosen on candidate rows: it may
        be out of reach although the statistic is not.
    """

    conjunct: Conjunct
    delta: float
    stands_in: bool = False

    @cached_property
    def means(self) -> tuple[Mean, ...]:
        """The averages in it."""
        return find(self.conjunct.form.expression, Mean)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics beyond the mean in it."""
        return statistics_in(self.conjunct.form.expression)

    @cached_property
    def conditions(self) -> tuple[Condition | None, ...]:
        """The conditions in it: whom it is about."""
        of_means = [mean.given for mean in self.means]
        return tuple(dict.fromkeys([*of_means, *(each.given for each in self.statistics)]))

    def impact_conditions(self, data: LoggedData) -> list[Condition | None]:
        """The conditions under which it is about an impact under the new model: only that takes
        importance weights to estimate.
        """
        new = [mean for mean in self.means if not mean.logged]
        found = [mean.given for mean in new if impact_of(mean, data) is not None]
        return [*found, *(each.given for each in self.statistics)]

    def asks_for_label(self, data: LoggedData) -> bool:
        """Whether it is about the label."""
        return any(asks_for_label(mean, data) for mean in self.means)


def label_free_claim(claim: Claim) -> Claim:
    """The same claim, in which no condition is about the label; see `label_free`."""
    form = label_free(claim.conjunct.form)
    return (
        claim
        if form is claim.conjunct.form
        else replace(claim, conjunct=replace(claim.conjunct, form=form))
    )


def without_label(given: Condition | None) -> Condition | None:
    """A condition less what it says of the label."""
    return all_of(tuple(part for part in parts_of(given) if not uses_label(part)))


def conditions_of(
    claims: Sequence[Claim], *, revealed: bool = False
) -> tuple[Condition | None, ...]:
    """The conditions in some claims, without repetition; without what they say of labels, if only
    some decisions reveal these: nobody knows whom such a condition selects.

    Examples
    --------
    >>> claims = read_constraints(["PR[age > 30] <= 0.5", "accuracy >= 0.7"], 0.1)
    >>> [str(given) for given in conditions_of(claims)]
    ['age > 30', 'None']
    """
    every = (given for claim in claims for given in claim.conditions)
    return tuple(dict.fromkeys(map(without_label, every) if revealed else every))


def read_constraints(
    constraints: Constraint | Sequence[Constraint],
    delta: float | Sequence[float],
    data: LoggedData | None = None,
    *,
    looks: int = 1,
) -> tuple[Claim, ...]:
    """All one-sided statements of one or more constraints, each with its delta.

    Parameters
    ----------
    constraints : str, Statement, Recipe or a sequence of them
        Text, trees or recipes.
    delta : float or sequence of float
        One for all, or one for each constraint.
    data : LoggedData, optional
        The source of groups and classes for recipes; what uses the positive class asks for it.
    looks : int, default 1
        How many looks share each delta.

    Returns
    -------
    tuple of Claim

    Examples
    --------
    >>> for claim in read_constraints(["abs(PR[T == 0] - PR[T == 1]) <= 0.1", "accuracy >= 0.8"],
    ...                               delta=[0.1, 0.05]):
    ...     print(claim.delta, claim.conjunct.text)
    0.1 PR[T == 0] - PR[T == 1] <= 0.1
    0.1 PR[T == 1] - PR[T == 0] <= 0.1
    0.05 accuracy >= 0.8
    """
    texts: list[Any] = list(constraints) if _is_several(constraints) else [constraints]
    deltas: list[Any] = list(delta) if _is_several(delta) else [delta] * len(texts)
    if len(deltas) != len(texts):
        raise InputError(
            f"delta must be one number, or one for each constraint. Got {len(deltas)} for "
            f"{len(texts)} constraints.",
            hint="each statement inside a constraint inherits the delta of its constraint.",
        )
    claims = tuple(
        Claim(conjunct, float(value) / looks)
        for text, value in zip(texts, deltas, strict=True)
        for plain in (text.expand(data) if isinstance(text, Recipe) else [text])
        for conjunct in conjuncts(plain)
    )
    for claim in claims:
        if data is not None:
            require_positive(claim.conjunct.form.expression, data)
        of_behavior = claim.means and all(mean.logged for mean in claim.means)
        if of_behavior and not claim.statistics:
            raise point_at(
                f"'{claim.conjunct.text}' is only about the behaviour model; no new model changes "
                "it.",
                claim.conjunct.source,
                hint="compare E[...] with E_logged[...], or with a number.",
            )
    _check_not_exact(claims)
    return claims


def _check_not_exact(claims: Sequence[Claim]) -> None:
    """Refuse an equality written as two inequalities."""
    forms = {claim.conjunct.form for claim in claims}
    for claim in claims:
        if claim.conjunct.form.terms and -claim.conjunct.form in forms:
            raise point_at(
                f"'{claim.conjunct.text}' is required together with its opposite: exact equality "
                "can never be certified.",
                claim.conjunct.source,
                hint="allow some tolerance, as in abs(E[impact] - E_logged[impact]) <= 0.1.",
            )


def _is_several(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether a value is a sequence, not text, a tree, a number or anything else."""
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)
