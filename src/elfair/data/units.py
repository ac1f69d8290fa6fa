"""Units: the people, or clusters such as schools, that several rows of a table may belong to.

Rows of one unit are not independent of each other, so no split may separate them, and bounds count
units. Every average is by *mass*: of the average unit, a row has the mass s / k, where k rows of
its unit take part and s is its sample weight; of the average row, it has the mass s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from elfair.data.columns import as_floats, check_length, complete_column, one_column, refuse
from elfair.errors import DataError, listed
from elfair.types import Array, Booleans, Floats, Index

if TYPE_CHECKING:
    from elfair.data.table import LoggedData

#: What an average is about: each unit counts the same, or each row does.
Average: TypeAlias = Literal["unit", "row"]
AVERAGES: tuple[Average, ...] = get_args(Average)


def read_row_ids(values: Any, n: int) -> Array:
    """One identifier for each row; raise if one appears twice."""
    column = complete_column(values, n, "row_id")
    whole = column.dtype.kind in "iu"
    ids = np.sort(column) if whole else np.array(sorted(map(str, column)), dtype=object)
    again = ids[1:][ids[1:] == ids[:-1]]
    if again.size:
        raise DataError(
            f"row_id must be unique. Got {listed(again[:1])} more than once ({again.size:,} "
            "repeated rows in all).",
            hint="the bounds need independent rows: keep one row for each person, or pass the "
            "identifier as unit= instead, and bounds will count people.",
        )
    return column


def unit_numbers(unit: Array) -> Index | None:
    """The number of each row's unit; None if no two rows are of one unit.

    Examples
    --------
    >>> unit_numbers(np.array(["ann", "bob", "ann"])), unit_numbers(np.array([7, 8, 9]))
    (array([0, 1, 0]), None)
    """
    whole = unit.dtype.kind in "iu"
    different, numbers = np.unique(unit if whole else unit.astype(str), return_inverse=True)
    return None if different.size == unit.size else numbers.astype(np.intp)


def read_sample_weight(values: Any, n: int) -> Floats | None:
    """How many people each row stands for; None if all rows stand for as many."""
    if values is None:
        return None
    weight = as_floats(one_column(values, "sample_weight"), "sample_weight")
    check_length(weight, n, "sample_weight")
    hint = "it is how many people a row stands for; drop the rows that stand for nobody."
    wrong = ~(np.isfinite(weight) & (weight > 0))
    refuse(wrong, "sample_weight must be above zero and finite. It is not", hint)
    return None if np.ptp(weight) == 0 else weight


def numbered(data: LoggedData, rows: Index | None = None) -> tuple[Index, Index]:
    """The units of some rows, numbered in the order in which they appear: the number of each row's
    unit, and the first row of each unit.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> numbered(LoggedData([[0.0], [1.0], [2.0]], unit=["b", "a", "b"]))
    (array([0, 1, 0]), array([0, 1]))
    """
    if data.unit_index is None:
        every = np.arange(data.n if rows is None else rows.size)
        return every, every
    units = data.unit_index if rows is None else data.unit_index[rows]
    _, first, place = np.unique(units, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[place], first[order]


def count_units(data: LoggedData, inside: Booleans | None = None) -> int:
    """How many units the rows of a table belong to, or those inside a condition."""
    if data.unit_index is None:
        return data.n if inside is None else int(inside.sum())
    units = data.unit_index if inside is None else data.unit_index[inside]
    return int(np.unique(units).size)


def masses(data: LoggedData) -> Floats | None:
    """The mass of each row in averages over the whole table, scaled to an average of 1; None if all
    are the same.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> masses(LoggedData([[0.0], [1.0], [2.0]], unit=["b", "a", "b"]))
    array([0.75, 1.5 , 0.75])
    """
    mass = mass_of(data, numbered(data)[0])
    return (
        None if mass is None or np.ptp(mass) == 0 else np.asarray(mass * (mass.size / mass.sum()))
    )


def mass_of(data: LoggedData, place: Index, rows: Index | None = None) -> Floats | None:
    """The mass of some rows (all, unless given), from the numbers of their units; None if all of
    them are 1.
    """
    weight = data.sample_weight
    if weight is not None and rows is not None:
        weight = weight[rows]
    if data.unit_index is None or data.average == "row":
        return weight
    return np.asarray((1.0 if weight is None else weight) / np.bincount(place)[place])


def permuted(data: LoggedData, seed: int) -> Index:
    """All rows in a random order, one unit after the other.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> permuted(LoggedData([[0.0], [1.0], [2.0]], unit=["b", "a", "b"]), seed=0)
    array([0, 2, 1])
    """
    place, first = numbered(data)
    order = np.random.default_rng(seed).permutation(first.size)
    if data.unit_index is None:
        return order
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return np.argsort(rank[place], kind="stable")


def some_rows(data: LoggedData, count: int, seed: int) -> Index:
    """About so many rows in their order, all of some units that are drawn at random."""
    if data.unit_index is None:
        return np.sort(np.random.default_rng(seed).choice(data.n, count, False))
    return np.sort(permuted(data, seed)[: whole_units(data, permuted(data, seed), count)])


def whole_units(data: LoggedData, order: Index, count: int) -> int:
    """The smallest number of rows, from so many on, that ends where a unit ends, if rows stand in
    such an order that those of a unit are neighbours.
    """
    if data.unit_index is None:
        return count
    units = data.unit_index[order]
    ends = np.append(np.flatnonzero(units[1:] != units[:-1]) + 1, units.size)
    return int(ends[np.searchsorted(ends, count)])
