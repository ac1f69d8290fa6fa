"""Columns as they are, for a scorer that handles missing values or categories by itself.

Missing numbers stay missing and levels stay levels, so the scorer can make more of them than of the
numbers that a preparation puts in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from elfair.data.columns import Columns, is_missing
from elfair.data.preparation import FEWEST_ROWS, MOST_LEVELS, ColumnPreparation, pandas_frame
from elfair.types import Array

#: The most levels of a category, the most frequent ones of candidate rows: gradient boosting keeps
#: each in a byte. All others count as missing.
MOST_CATEGORIES = 250


@dataclass(frozen=True)
class AsTheyAre:
    """What a scorer sees of a table.

    Parameters
    ----------
    columns : tuple of ColumnPreparation
        What each column holds, in the order of the table. A category whose levels all count as rare
        has whatever levels it comes with.
    categories : bool
        Whether it is a pandas frame, in which levels are categories; otherwise it is an array, in
        which a level is an indicator.

    Examples
    --------
    >>> table = {"age": np.array([30.0, np.nan]), "city": np.array(["Graz", "Linz"], dtype=object)}
    >>> seen = AsTheyAre.learn(table, categories=True)
    >>> wien = {"age": np.array([np.nan, 40]), "city": np.array(["Wien", "Graz"], dtype=object)}
    >>> seen.of(wien).to_dict("list")
    {'age': [nan, 40.0], 'city': [nan, 'Graz']}
    """

    digest_tag: ClassVar[str] = "as they are"

    columns: tuple[ColumnPreparation, ...]
    categories: bool

    @classmethod
    def learn(cls, columns: Columns, *, categories: bool) -> Self:
        """From candidate rows, for a scorer that is fitted to them."""
        most, fewest = (MOST_CATEGORIES, 1) if categories else (MOST_LEVELS, FEWEST_ROWS)
        return cls(
            tuple(
                ColumnPreparation.learn(*each, most=most, fewest=fewest) for each in columns.items()
            ),
            categories,
        )

    @classmethod
    def unlearnt(cls, columns: Columns, *, categories: bool) -> Self:
        """For a scorer that was fitted elsewhere, and knows its own levels."""
        learnt = (ColumnPreparation.learn(*each, most=0) for each in columns.items())
        return cls(tuple(learnt), categories)

    @property
    def names(self) -> list[str]:
        """What the scorer's columns are called."""
        if self.categories:
            return [each.column for each in self.columns]
        return [
            name
            for each in self.columns
            for name in (each.names if each.kind == "levels" else [each.column])
        ]

    def of(self, columns: Columns) -> Any:
        """These columns of some people, as the scorer sees them."""
        if self.categories:
            made = {each.column: self._shown(each, columns[each.column]) for each in self.columns}
            return pandas_frame(made, "scorer= that takes categories")
        return np.hstack(
            [
                each.of(columns[each.column])
                if each.kind == "levels"
                else each.numbers(columns[each.column])[:, None]
                for each in self.columns
            ]
        )

    def _shown(self, learnt: ColumnPreparation, column: Array) -> Any:
        import pandas as pd

        if learnt.kind != "levels":
            return learnt.numbers(column)
        column = learnt.checked(column)
        levels = learnt.levels
        if not levels and learnt.other:
            levels = tuple(sorted(set(column[~is_missing(column)].tolist()), key=str))
        code = learnt.places(column, levels)
        code[code >= len(levels)] = -1
        # Where nobody has a level, the column still holds categories.
        return pd.Categorical.from_codes(code, categories=pd.Index(levels, dtype=object))
