"""Some of many rows, drawn for a search: a simple random sample, and more people of small groups.

What is about everyone is computed from the simple random sample alone. What is about a small group
is computed from all rows that were drawn of it, and each of them then stands for less than one row
of the simple random sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from elfair.data.units import permuted, whole_units
from elfair.language.conditions import Condition
from elfair.language.evaluation import holds
from elfair.types import Array, Booleans, Index

if TYPE_CHECKING:
    from elfair.data.table import LoggedData


@dataclass(frozen=True)
class Subsample:
    """How rows were drawn.

    Parameters
    ----------
    plain : ndarray of bool
        The rows of the simple random sample.
    of_groups : ndarray of bool, of shape (n, groups)
        The rows that were drawn of each small group, with those of the simple random sample.
    groups : tuple of Condition
        The small groups.
    stands_for : tuple of float
        For how many rows of the simple random sample a row of each small group stands.
    """

    plain: Booleans
    of_groups: Booleans
    groups: tuple[Condition, ...]
    stands_for: tuple[float, ...]

    @staticmethod
    def combined(parts: Sequence[Subsample], combine: Callable[[list[Array]], Array]) -> Subsample:
        """That of a table whose columns combine those of some parts."""
        plain, of_groups = ([getattr(of, name) for of in parts] for name in ("plain", "of_groups"))
        return replace(parts[0], plain=combine(plain), of_groups=combine(of_groups))

    def meeting(self, given: Condition | None, inside: Booleans) -> tuple[Booleans, float]:
        """The rows that may stand for those that meet a condition, and for how many each does."""
        if given in self.groups:
            k = self.groups.index(given)
            return self.of_groups[:, k], self.stands_for[k]
        return inside & self.plain, 1.0


def meeting(given: Condition | None, data: LoggedData) -> tuple[Booleans, float]:
    """The rows that a statistic averages, and for how many rows of a simple random sample each of
    them stands: 1, unless more people of a small group were drawn.

    Parameters
    ----------
    given : Condition or None
        Whom the statistic is about.
    data : LoggedData
        The rows.
    """
    inside = holds(given, data)
    return (inside, 1.0) if data.subsample is None else data.subsample.meeting(given, inside)


def plain_rows(data: LoggedData) -> int:
    """How many rows are a simple random sample: all, unless more of small groups were drawn."""
    return data.n if data.subsample is None else int(data.subsample.plain.sum())


def drawn(
    data: LoggedData, count: int, groups: Sequence[Condition | None], least: int, seed: int
) -> LoggedData:
    """About so many rows, drawn at random, and more of groups that would have too few of them.

    Of the same rows and seed, a larger sample holds the smaller one.

    Parameters
    ----------
    data : LoggedData
        The rows.
    count : int
        How many rows to draw of everyone.
    groups : sequence of Condition or None
        Groups that must not be lost.
    least : int
        How many rows to draw of each of them, or all if it has fewer.
    seed : int
        What the draw depends on.

    Examples
    --------
    >>> from elfair import LoggedData, col
    >>> rare = {"T": np.arange(1000) < 20}
    >>> data = LoggedData(np.arange(1000.0)[:, None], sensitive_features=rare)
    >>> some = drawn(data, 100, [col("T") == True], least=20, seed=0)
    >>> plain_rows(some), int(some.sensitive["T"].sum()), some.subsample.stands_for
    (100, 20, (0.1,))
    """
    order = permuted(data, seed)
    n_plain = whole_units(data, order, min(count, data.n))
    plain = np.zeros(data.n, dtype=np.bool_)
    plain[order[:n_plain]] = True
    known: list[tuple[Condition, Booleans, float]] = []
    for given in groups:
        if given is None:
            continue
        inside = holds(given, data)
        here, there = int((inside & plain).sum()), int(inside.sum())
        if here < min(least, there):
            rows = _first(data, order[inside[order]], min(least, there))
            of_group = np.zeros(data.n, dtype=np.bool_)
            of_group[rows] = True
            stands_for = there * (n_plain / data.n) / rows.size
            known.append((given, of_group | (inside & plain), stands_for))
    rows = np.flatnonzero(np.logical_or.reduce([plain, *(each for _, each, _ in known)]))
    of_groups = np.zeros((rows.size, len(known)), dtype=np.bool_)
    for k, (_, of_group, _) in enumerate(known):
        of_groups[:, k] = of_group[rows]
    return data.take(rows).changed(
        subsample=Subsample(
            plain[rows],
            of_groups,
            tuple(given for given, _, _ in known),
            tuple(share for _, _, share in known),
        )
        if known
        else None
    )


def _first(data: LoggedData, order: Index, count: int) -> Index:
    """The first rows of an order, up to where a unit ends."""
    return order[: whole_units(data, order, count)]
