"""How a table becomes features, the same way for logged people and for new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elfair.data.asking import place
from elfair.data.columns import as_floats, is_missing, table_columns, text_or_numbers
from elfair.data.features import days
from elfair.errors import DataError, InputError, all_of, did_you_mean, listed
from elfair.records.allowed import Allowed
from elfair.records.json import from_plain, to_plain
from elfair.records.tables import comma_hint, has_decimal_comma
from elfair.records.toml import repeated, toml
from elfair.study.sources import check_columns
from elfair.types import Array, Booleans

Level: TypeAlias = Annotated[
    Any, Allowed("text or a whole number", lambda level: isinstance(level, str | int))
]

#: Nobody declares more categories than this.
MOST_LEVELS = 20


@dataclass(frozen=True)
class Feature:
    """A column that the model sees.

    Parameters
    ----------
    column : str
        Its name in the table.
    levels : tuple of str or int
        The values of a category, as declared; a column of numbers has none.

    Examples
    --------
    >>> Feature("housing", ("own", "rent")).names, Feature("size", ("S", "M", "L")).names
    (['housing=rent'], ['size=S', 'size=M', 'size=L'])
    """

    column: str
    levels: tuple[Level, ...] = ()

    @property
    def names(self) -> list[str]:
        """What its columns of numbers are called; of two levels, one says it all."""
        if not self.levels:
            return [self.column]
        return [f"{self.column}={level}" for level in self._shown]

    @property
    def _shown(self) -> tuple[Level, ...]:
        return self.levels[1:] if len(self.levels) == 2 else self.levels

    def unknown(self, column: Array) -> Booleans:
        """The rows whose value is no level that was declared, although it is not missing.

        Parameters
        ----------
        column : ndarray
            The values.
        """
        known = set(self.levels)
        odd = [bool(self.levels) and value not in known for value in column.tolist()]
        return np.array(odd, dtype=np.bool_) & ~is_missing(column)

    def encode(self, column: Array) -> list[NDArray[np.float64]]:
        """Its columns of numbers. A missing one stays missing, for the preparation of the model; of
        three levels or more, a missing one is none of them.
        """
        missing = is_missing(column)
        if not self.levels and column.dtype.kind in "mM":
            return [np.where(missing, np.nan, days(column))]
        if not self.levels:
            return [as_floats(column, f"feature '{self.column}'", hint=self._advice(column))]
        values = column.tolist()
        wrong = np.flatnonzero(self.unknown(column)).tolist()
        if wrong:
            odd = values[wrong[0]]
            raise DataError(
                f"feature '{self.column}' holds values that are not declared levels, in "
                f"{len(wrong):,} of {len(values):,} rows (the first is {place(wrong[0])}): "
                f"{listed(dict.fromkeys(values[k] for k in wrong))}. "
                f"Levels: {listed(self.levels, MOST_LEVELS)}.",
                hint=text_or_numbers(odd, np.array(self.levels, dtype=object))
                or did_you_mean(
                    odd,
                    self.levels,
                    "a model knows the levels in [columns.categories] alone: correct the value, or "
                    "declare it and fit again.",
                ),
            )
        shown = [
            np.fromiter((value == level for value in values), np.float64, len(values))
            for level in self._shown
        ]
        return [np.where(missing, np.nan, each) for each in shown] if len(shown) == 1 else shown

    def _advice(self, column: Array) -> str:
        """What to do about a feature that holds no numbers."""
        if column.dtype.kind != "O":
            return "turn it into numbers first, such as years or days."
        values = [value for value in dict.fromkeys(column.tolist()) if isinstance(value, str)]
        if commas := [value for value in values if has_decimal_comma(value)]:
            return comma_hint(toml(self.column), commas)
        if 2 <= len(values) <= MOST_LEVELS:
            written = ", ".join(f'"{value}"' for value in sorted(values))
            return f"declare its levels in [columns.categories]: '{self.column}' = [{written}]"
        return (
            f"leave it out of features; or make groups of its values, by values in "
            f"[clean.{toml(self.column)}], and declare those as levels in [columns.categories]."
        )


@dataclass(frozen=True)
class TableEncoding:
    """From the columns of a table to the features of a model.

    This plain record is stored with a model, so new people are encoded as the logged ones were.

    Parameters
    ----------
    features : tuple of Feature
        In the order in which the model sees them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encoding = TableEncoding((Feature("age"), Feature("housing", ("own", "rent"))))
    >>> people = pa.table({"housing": ["rent", "own"], "age": [30, 41], "name": ["Ann", "Bo"]})
    >>> encoding.encode(people).to_pydict()
    {'age': [30.0, 41.0], 'housing=rent': [1.0, 0.0]}
    >>> TableEncoding.from_dict(encoding.to_dict()) == encoding
    True
    """

    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        for mistake in repeated("names of features", self.names):
            raise mistake

    @property
    def names(self) -> list[str]:
        """The names of the features that it makes."""
        return [name for feature in self.features for name in feature.names]

    def encode(self, table: Any) -> Any:
        """The features of the people in a table; one error lists all that is wrong with them.

        Parameters
        ----------
        table : pyarrow table, data frame or mapping
            It must have the columns of all features; others are left alone.

        Returns
        -------
        pyarrow.Table
            Columns of floats, called as in `names`.
        """
        import pyarrow as pa

        columns = table_columns(table, "the table") or {}
        wanted = [feature.column for feature in self.features]
        check_columns(wanted, columns, "the table", "the model was fitted with this feature.")
        encoded: dict[str, NDArray[np.float64]] = {}
        mistakes = []
        for feature in self.features:
            try:
                made = feature.encode(columns[feature.column])
            except DataError as error:
                mistakes.append(error)
                continue
            encoded |= zip(feature.names, made, strict=True)
        if mistakes:
            raise all_of("the features", mistakes)
        return pa.table(encoded)

    def to_dict(self) -> dict[str, Any]:
        """The record, as JSON can hold it."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The encoding that a record describes; DataError if it describes none."""
        try:
            return from_plain({"features": record["features"]}, cls)
        except (KeyError, TypeError, InputError) as error:
            raise DataError(
                f"this is not the record of an encoding: {str(error).splitlines()[0]}",
                hint="it comes from TableEncoding.to_dict().",
            ) from None
