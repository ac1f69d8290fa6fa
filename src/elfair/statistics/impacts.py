"""What is averaged: an impact, or a function of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.data.costs import COST
from elfair.errors import did_you_mean
from elfair.language import (
    Column,
    Compare,
    Condition,
    Derived,
    Literal,
    Mean,
    Threshold,
    point_at,
    uses_decision,
)
from elfair.language.tree import walk
from elfair.types import Floats

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Impact(NamedTuple):
    """An impact's column, and what is made of it.

    Parameters
    ----------
    name : str
        The column.
    derived : Derived, optional
        A function of it; the impact itself where it is None.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0]], impact={"gain": [2.0, 4.0]})
    >>> below = Impact("gain", Threshold(Column("gain"), 3.0, "<"))
    >>> below.values(data).tolist(), below.ends({})
    ([1.0, 0.0], (0.0, 1.0))
    """

    name: str
    derived: Derived | None = None

    def values(self, data: LoggedData) -> Floats:
        """Its value in each row."""
        values = data.impacts[self.name]
        return values if self.derived is None else self.derived.of(values)

    def ends(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
        """Its range, from the declared ranges of impacts; infinite where nothing is known."""
        low, high = ranges.get(self.name, (-np.inf, np.inf))
        return (low, high) if self.derived is None else self.derived.ends(low, high)


def impact_of(mean: Mean, data: LoggedData) -> Impact | None:
    """The impact that an average is of; None where it is of an event or of the cost matrix.

    Examples
    --------
    >>> from elfair.language import E, col
    >>> data = LoggedData([[0.0], [1.0]], impact={"gain": [2.0, 4.0]})
    >>> impact_of(E("impact"), data).name
    'gain'
    >>> print(impact_of(E(col("gain") < 3), data).derived)
    gain < 3
    """
    match mean.of:
        case Column() if asks_for_cost(mean, data):
            return None
        case Column():
            return Impact(_name(mean.of, data))
        case Derived(impact):
            return Impact(_name(impact, data), mean.of)
        case Compare(Column() as column, op, Literal(value)) if _is_impact(column, op, value, data):
            return Impact(_name(column, data), Threshold(column, float(value), op))
        case Compare(Literal(value), op, Column() as column) if _is_impact(column, op, value, data):
            return Impact(_name(column, data), Threshold(column, float(value), _MIRRORED[op]))
        case Condition():
            _refuse_impacts(mean.of, data)
    return None


def is_decided(mean: Mean, data: LoggedData) -> bool:
    """Whether the new model's decisions change an average.

    Examples
    --------
    >>> from elfair.language import P, PR, col
    >>> data = LoggedData([[0.0], [1.0]], [0, 1])
    >>> is_decided(PR(), data), is_decided(P(col("x0") > 0), data)
    (True, False)
    """
    event = isinstance(mean.of, Condition) and impact_of(mean, data) is None
    return not mean.logged and (not event or uses_decision(mean.of))


def asks_for_cost(mean: Mean, data: LoggedData) -> bool:
    """Whether an average is that of the cost matrix, and not of an impact of this name."""
    return data.cost is not None and mean.of == Column(COST)


def _is_impact(column: Column, op: str, value: object, data: LoggedData) -> bool:
    """Whether a comparison asks for the impact (and not for a column called ``impact``)."""
    number = isinstance(value, int | float) and op in _MIRRORED
    return number and column.name in data.impact_names and column.name not in data.names


def _refuse_impacts(event: Condition, data: LoggedData) -> None:
    """Of an event that is not one of an impact alone, no function of the impact is known."""
    for node in walk(event):
        if isinstance(node, Column) and node.name in {*data.impact_names} - {*data.names}:
            raise point_at(
                f"'{node.name}' is an impact; an event of it is one comparison with a number, by "
                f"<, <=, > or >=. Got '{event}' instead.",
                node.span,
                hint="an impact among those who are decided about in one way cannot be asked for."
                if uses_decision(event)
                else f"write P[{node.name} < 3 | race == 'A'], with what else must hold after the "
                "bar.",
            )


def _name(column: Column, data: LoggedData) -> str:
    if column.name in data.impact_names:
        return data.impact_key(column.name)
    if column.name == COST:
        raise point_at(
            "there is no impact 'cost', and cost= was not given.",
            column.span,
            hint="pass cost=, the cost of each decision (column) for each label (line).",
        )
    if not data.impacts:
        raise point_at(
            f"no impact '{column.name}': impact was not given.",
            column.span,
            hint="pass impact=, the column that holds what was seen later.",
        )
    raise point_at(
        f"no impact '{column.name}'; impacts: {', '.join(data.impact_names)}.",
        column.span,
        hint=did_you_mean(column.name, data.impact_names, "E[...] takes the name of an impact."),
    )
