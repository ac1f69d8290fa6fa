"""What a column of a table holds, and what the words of its name are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from elfair.data.columns import is_missing
from elfair.language.recipes import FEWEST_ROWS
from elfair.records.names import words_of
from elfair.records.tables import has_decimal_comma
from elfair.types import Array


@dataclass(frozen=True)
class Profile:
    """What a column holds.

    Parameters
    ----------
    name : str
        The column.
    values : ndarray
        Its values.

    Examples
    --------
    >>> import numpy as np
    >>> Profile("race", np.array(["A", "B", None, "A"], dtype=object)).counts
    Counter({'A': 2, 'B': 1})
    """

    name: str
    values: Array

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.values)

    @cached_property
    def known(self) -> list[Any]:
        """Its values where it is not missing."""
        return list(self.values[~is_missing(self.values)].tolist())

    @property
    def missing(self) -> int:
        """In how many rows it is missing."""
        return self.n - len(self.known)

    @cached_property
    def kind(self) -> str:
        """Whether it holds numbers, truth values or texts ("number", "truth", "text"), or other
        values ("other").
        """
        kinds = set(map(type, self.known))
        if kinds and kinds <= {int, float}:
            return "number"
        return "text" if kinds == {str} else "truth" if kinds == {bool} else "other"

    @cached_property
    def counts(self) -> Counter[Any]:
        """How often each value occurs; of other values nothing is counted."""
        return Counter(() if self.kind == "other" else self.known)

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return words_of(self.name)

    @property
    def different(self) -> int:
        """How many different values it has."""
        return len(self.counts)

    @property
    def has_decimal_commas(self) -> bool:
        """Whether its texts are numbers with a decimal comma."""
        commas = [value for value in self.counts if has_decimal_comma(value)]
        return bool(commas) and all(
            value in commas or re.fullmatch(r"-?\d+", value.strip()) for value in self.counts
        )

    @property
    def is_measured(self) -> bool:
        """Whether it holds measurements: numbers that are not whole."""
        return self.kind == "number" and any(value != int(value) for value in self.counts)

    @property
    def groups(self) -> list[Any]:
        """Its values that enough rows have, in order."""
        return sorted(each for each, count in self.counts.items() if count >= FEWEST_ROWS)
