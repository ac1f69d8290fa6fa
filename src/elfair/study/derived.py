"""Columns that are made of others: bins of a number, values by other names, joins, conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from elfair.data.columns import as_floats, is_missing
from elfair.errors import ConstraintError, DataError, InputError, did_you_mean, listed
from elfair.language.conditions import Condition, columns_used, uses_decision, uses_label
from elfair.language.evaluation import known
from elfair.language.parsing import parse_condition
from elfair.records.allowed import is_number
from elfair.records.toml import class_text, toml
from elfair.types import Array, Booleans

#: What stands between the values of a join.
BETWEEN = ", "
_KEYS = ("of", "bins", "labels", "values", "join")
_EXAMPLE = (
    'for example: age_band = { of = "age", bins = [30, 60] }, or minor = "age < 18", or '
    'arm = { join = ["aspirin", "heparin"] }'
)


@dataclass
class Rows:
    """The columns of a table, as conditions look at them.

    Parameters
    ----------
    columns : mapping of str to ndarray
        All columns.
    n : int
        How many rows there are.
    """

    columns: Mapping[str, Array]
    n: int
    label: Array | None = None
    positive: Any = None
    classes: Array = field(default_factory=lambda: np.empty(0))

    @property
    def names(self) -> Sequence[str]:
        """The columns that conditions may use."""
        return list(self.columns)

    def column(self, name: str) -> Array:
        """The values of a column."""
        return self.columns[name]


@dataclass(frozen=True)
class Derived:
    """A column that is made of others.

    Parameters
    ----------
    name : str
        What it is called.
    of : tuple of str
        The columns that it is made of.
    condition : str
        If given, the column is 1 where it holds and 0 where it does not.
    bins : tuple of float
        The lower ends of all bins but the first.
    labels : tuple of str
        What the bins are called.
    values : mapping of str to object
        What each value is called.

    Examples
    --------
    >>> band = read_derived("band", {"of": "age", "bins": [65, 80]})
    >>> band.labels
    ('below 65', '65 to below 80', '80 or above')
    >>> band.made({"age": np.array([64.9, 65, np.nan])}).tolist()
    ['below 65', '65 to below 80', None]
    """

    name: str
    of: tuple[str, ...]
    condition: str
    bins: tuple[float, ...]
    labels: tuple[str, ...]
    values: Mapping[str, Any]

    def made(self, columns: Mapping[str, Array]) -> Array:
        """Its values.

        Parameters
        ----------
        columns : mapping of str to ndarray
            All columns that it is made of.
        """
        try:
            if self.condition:
                return self._truth(columns)
            if self.bins:
                return self._binned(columns[self.of[0]])
            return self._named(columns) if self.values else self._joined(columns)
        except (ConstraintError, DataError) as error:
            raise DataError(f"{self.name!r} of [derived]: {error}") from None

    def unnamed(self, columns: Mapping[str, Array]) -> Booleans:
        """The rows whose value has no name among ``values``, although it is not missing.

        Parameters
        ----------
        columns : mapping of str to ndarray
            All columns that it is made of.
        """
        column = columns[self.of[0]]
        odd = [
            bool(self.values) and class_text(each) not in self.values for each in column.tolist()
        ]
        return np.array(odd, dtype=np.bool_) & ~is_missing(column)

    def _truth(self, columns: Mapping[str, Array]) -> Array:
        n = len(next(iter(columns.values())))
        true, false = known(parse_condition(self.condition), Rows(columns, n))
        if (true | false).all():
            return true.astype(np.int64)
        return np.where(true, 1.0, np.where(false, 0.0, np.nan))

    def _binned(self, column: Array) -> Array:
        hint = f"bins are of numbers; [clean.{toml(self.of[0])}] says how numbers are written."
        numbers = as_floats(column, f"column {self.of[0]!r}", hint=hint)
        places = np.searchsorted(np.array(self.bins), numbers, side="right")
        labels = np.array([*self.labels, None], dtype=object)
        return np.asarray(labels[np.where(np.isnan(numbers), len(self.labels), places)])

    def _named(self, columns: Mapping[str, Array]) -> Array:
        column = columns[self.of[0]]
        absent = is_missing(column)
        texts = [
            None if gone else class_text(v) for v, gone in zip(column.tolist(), absent, strict=True)
        ]
        unknown = [class_text(each) for each in column[self.unnamed(columns)].tolist()]
        if unknown:
            raise DataError(
                f"no name for {listed(dict.fromkeys(unknown), 5)} of column {self.of[0]!r}, in "
                f"{len(unknown):,} of {len(texts):,} rows; names are for {listed(self.values)}.",
                hint=did_you_mean(unknown[0], self.values, "name every value."),
            )
        made = [None if each is None else self.values[each] for each in texts]
        if all(is_number(each) for each in self.values.values()):
            return np.array([np.nan if each is None else float(each) for each in made])
        return np.array(made, dtype=object)

    def _joined(self, columns: Mapping[str, Array]) -> Array:
        parts = [columns[each] for each in self.of]
        gone = np.logical_or.reduce([is_missing(each) for each in parts])
        rows = list(zip(*(map(class_text, each.tolist()) for each in parts), strict=True))
        names = {row: BETWEEN.join(row) for row in set(rows)}
        if len(set(names.values())) < len(names):
            raise DataError(
                f"values of {listed(self.of)} hold {BETWEEN!r}, so that different combinations "
                "would have the same name.",
                hint="give them other values in [clean].",
            )
        return np.array(
            [None if lost else names[row] for row, lost in zip(rows, gone, strict=True)],
            dtype=object,
        )


def read_derived(name: str, value: Any) -> Derived:
    """A column as ``[derived]`` of a study file declares it; `InputError` if it makes no sense.

    Parameters
    ----------
    name : str
        What it is called.
    value : str or mapping
        A condition, or a table.

    Examples
    --------
    >>> read_derived("alive", "code in [3, 4]").of
    ('code',)
    """
    where = f"{name!r} of [derived]"
    if isinstance(value, str):
        condition = condition_of(value, where)
        return Derived(name, tuple(sorted(columns_used(condition))), value, (), (), {})
    if not isinstance(value, Mapping):
        raise InputError(f"{where} must be a condition or a table. Got {value!r}.", hint=_EXAMPLE)
    for key in value:
        if key not in _KEYS:
            raise InputError(
                f"a key of {where} must be one of {list(_KEYS)}. Got {key!r} instead.",
                hint=did_you_mean(key, _KEYS, _EXAMPLE),
            )
    ways = [key for key in ("bins", "values", "join") if key in value]
    if len(ways) != 1 or ("of" in value) == (ways == ["join"]):
        raise InputError(
            f"{where} must have 'of' with either 'bins' or 'values', or else 'join'. Got "
            f"{listed(value) or 'nothing'}.",
            hint=_EXAMPLE,
        )
    if ways == ["join"]:
        return Derived(name, _names(where, "join", value["join"]), "", (), (), {})
    (of,) = _names(where, "of", [value["of"]])
    if ways == ["values"]:
        return Derived(name, (of,), "", (), (), _meanings(where, value["values"]))
    return _bins(name, of, value)


def _names(where: str, key: str, names: Any) -> tuple[str, ...]:
    fits = isinstance(names, list) and all(isinstance(each, str) and each for each in names)
    if not fits or (key == "join" and len(names) < 2):
        what = "two or more columns" if key == "join" else "a column"
        raise InputError(f"{key} of {where} must be {what}. Got {names!r}.", hint=_EXAMPLE)
    return tuple(names)


def _meanings(where: str, values: Any) -> Mapping[str, Any]:
    kinds = set(map(type, values.values())) if isinstance(values, Mapping) else set()
    if kinds != {str} and not (kinds and kinds <= {int, float}):
        raise InputError(
            f"values of {where} must be a table that gives every value a text, or every value a "
            f"number. Got {values!r}.",
            hint='for example: result = { of = "code", values = { 1 = "dead", 2 = "alive" } }',
        )
    return dict(values)


def _bins(name: str, of: str, value: Mapping[str, Any]) -> Derived:
    where, ends = f"{name!r} of [derived]", value["bins"]
    rising = isinstance(ends, list) and bool(ends) and all(map(is_number, ends))
    if not rising or any(low >= high for low, high in pairwise(ends)):
        raise InputError(
            f"bins of {where} must be a list of rising numbers, the lower ends of all bins but "
            f"the first. Got {ends!r}.",
            hint=_EXAMPLE,
        )
    shown = [f"{end:.12g}" for end in ends]
    middle = [f"{low} to below {high}" for low, high in pairwise(shown)]
    labels = value.get("labels", [f"below {shown[0]}", *middle, f"{shown[-1]} or above"])
    texts = isinstance(labels, list) and all(isinstance(each, str) for each in labels)
    if not texts or len(set(labels)) != len(ends) + 1 or len(labels) != len(ends) + 1:
        raise InputError(
            f"labels of {where} must be {len(ends) + 1} different texts, one for each bin. Got "
            f"{labels!r}.",
            hint="leave labels out, and the bins are called after their ends.",
        )
    return Derived(name, (of,), "", tuple(map(float, ends)), tuple(labels), {})


def condition_of(text: str, where: str) -> Condition:
    """The condition of a text about the columns of a table.

    Parameters
    ----------
    text : str
        The condition.
    where : str
        What messages call its place.

    Examples
    --------
    >>> print(condition_of("age >= 18", "keep of [rows]"))
    age >= 18
    """
    try:
        condition = parse_condition(text)
    except ConstraintError as error:
        raise InputError(f"{where}: {error}") from None
    for asks, word in ((uses_label, "label"), (uses_decision, "decision")):
        if asks(condition):
            raise InputError(
                f"{where} must name columns of the table. Got '{word}'.",
                hint=f"write the name of the column, in backticks if it is called that: `{word}`.",
            )
    return condition


def outside(text: str, columns: Mapping[str, Array], n: int) -> tuple[Booleans, Booleans]:
    """The rows that a condition of ``keep`` leaves out: those of which it is false, and those of
    which it is unknown because a value is missing.

    Parameters
    ----------
    text : str
        The condition.
    columns : mapping of str to ndarray
        The table.
    n : int
        How many rows it has.

    Examples
    --------
    >>> outside("age >= 18", {"age": np.array([17.0, 30.0, np.nan])}, 3)
    (array([ True, False, False]), array([False, False,  True]))
    """
    try:
        true, false = known(parse_condition(text), Rows(columns, n))
    except ConstraintError as error:
        raise DataError(f"keep of [rows]: {error}") from None
    return false, ~true & ~false


def closure(wanted: Sequence[str], derived: Mapping[str, Derived]) -> tuple[list[str], list[str]]:
    """The columns of the table that some columns are made of, and the derived ones among these.

    Parameters
    ----------
    wanted : sequence of str
        Columns of the table, or derived.
    derived : mapping of str to Derived
        In the order in which they are made.

    Examples
    --------
    >>> band = read_derived("band", {"of": "age", "bins": [65]})
    >>> closure(["sex", "band"], {"band": band})
    (['sex', 'age'], ['band'])
    """
    raw: dict[str, None] = {}
    made: set[str] = set()

    def add(name: str) -> None:
        if name not in derived:
            raw[name] = None
        elif name not in made:
            made.add(name)
            for each in derived[name].of:
                add(each)

    for name in wanted:
        add(name)
    return list(raw), [name for name in derived if name in made]
