"""What is seen of a column, and what its name says it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elfair.columns import Array, is_missing
from elfair.recipes import FEWEST_ROWS
from elfair.study.delimited import has_decimal_comma

#: More different decisions than this are numbers that are decided on, not classes.
MOST_CLASSES = 10

#: Words that tell an identifier whatever stands beside them.
CLEARLY_ROWS = frozenset({"id", "uuid", "guid", "identifier"})

#: Words in the name of a column that tell its role, the clearest first.
WORDS = {
    "row_id": ("id", "uuid", "guid", "identifier", "person", "row", "case", "client", "customer",
               "applicant", "student", "patient", "number", "nr", "no", "key"),
    "propensity": ("propensity", "pscore", "probability", "prob", "p"),
    "decision": ("decision", "decided", "dec", "action", "approved", "approve", "accepted",
                 "accept", "granted", "admitted", "treatment", "treated", "treat", "arm", "offer",
                 "offered", "hired", "selected"),
    "label": ("label", "target", "truth", "y", "outcome", "repaid", "correct", "qualified",
              "default", "defaulted", "class"),
    "impact": ("impact", "delayed", "later", "savings", "wellbeing", "benefit", "followup", "gain",
               "profit", "reward", "health", "outcome", "after", "change", "y"),
    "sensitive": ("race", "ethnicity", "ethnic", "sex", "gender", "group", "minority", "religion",
                  "nationality", "disability", "caste", "protected", "sensitive", "band"),
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What is seen of a column.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "truth", "text", "other"}
        What it holds.
    n : int
        How many rows there are.
    missing : int
        In how many of them it is missing.
    counts : mapping
        How often each value occurs.
    values : ndarray
        The column.

    Examples
    --------
    >>> import numpy as np
    >>> look_at("race", np.array(["A", "B", None, "A"], dtype=object)).counts
    Counter({'A': 2, 'B': 1})
    """

    name: str
    kind: str
    n: int
    missing: int
    counts: Counter[Any]
    values: Array

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        split = re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).lower()
        return re.findall(r"[^\W\d_]+|\d+", split)

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
    def is_class(self) -> bool:
        """Whether it could be what is decided between: few values, one in each row."""
        return 2 <= self.different <= MOST_CLASSES and not self.missing

    @property
    def is_measured(self) -> bool:
        """Whether it holds measurements: numbers that are not whole."""
        return self.kind == "number" and any(value != int(value) for value in self.counts)

    @property
    def is_probability(self) -> bool:
        """Whether it could be the probability of a decision that was taken."""
        if self.kind != "number" or self.missing:
            return False
        return all(0 < value <= 1 for value in self.counts) and any(v < 1 for v in self.counts)

    @property
    def groups(self) -> list[Any]:
        """Its values that enough rows have, in order."""
        return sorted(each for each, count in self.counts.items() if count >= FEWEST_ROWS)


def look_at(name: str, column: Array) -> Look:
    """Look at a column.

    Examples
    --------
    >>> import numpy as np
    >>> look_at("ok?", np.array([True, False])).kind
    'truth'
    """
    missing = is_missing(column)
    values = column[~missing].tolist()
    kinds = {type(value) for value in values} if column.dtype.kind == "O" else set()
    kind = {"b": "truth", "i": "number", "u": "number", "f": "number"}.get(column.dtype.kind)
    if kind is None:
        kind = "text" if kinds == {str} else "truth" if kinds == {bool} else "other"
        if kinds and kinds <= {int, float}:
            kind = "number"
    counts = Counter() if kind == "other" else Counter(values)
    return Look(name, kind, len(column), int(missing.sum()), counts, column)


def matches(role: str, looks: Iterable[Look]) -> list[Look]:
    """Those whose names have a word of the role, the clearest first.

    Parameters
    ----------
    role : str
        A key of `WORDS`.
    looks : iterable of Look
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([31, 45])
    >>> [each.name for each in matches("row_id", [look_at("customer no", ages),
    ...                                           look_at("customer age", ages)])]
    ['customer no']
    """
    words = WORDS[role]
    ranked = [
        (min((words.index(word) for word in look.words if word in words), default=-1), look)
        for look in looks
        if role != "row_id" or _names_a_row(look.words)
    ]
    return [look for rank, look in sorted(ranked, key=lambda each: each[0]) if rank >= 0]


def _names_a_row(words: list[str]) -> bool:
    """Whether a name is that of an identifier: 'customer no' is, 'customer age' is not."""
    if not words:
        return False
    told = not CLEARLY_ROWS.isdisjoint(words)
    return told or words[-1] in ("number", "nr", "no", "key") or set(words) <= set(WORDS["row_id"])
