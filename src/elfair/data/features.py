"""Features: the columns that a model sees, as they came, and what regressions see of a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Protocol

import numpy as np

from elfair.data.columns import (
    LARGEST,
    NUMBERS,
    Columns,
    as_floats,
    categories_in,
    check_size,
    is_missing,
    named_columns,
    refuse,
    table_columns,
)
from elfair.data.digests import text_keys
from elfair.errors import DataError, FeatureTypeError, listed
from elfair.records.tables import comma_hint, has_decimal_comma
from elfair.types import Array, Booleans, Floats

#: Regressions ignore a sensitive column with more values than this.
MOST_GROUPS = 20
#: A column of text with more different values than this, most of them numbers, is a mistake.
MOST_CODES = 20
_DENSE = "X must be a dense table, one row for each person."
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Features:
    """The features of some people.

    Parameters
    ----------
    names : list of str
        Their names (x0, x1, ... where they have none).
    matrix : ndarray of shape (n, d) or None
        All of them, if they are plain finite numbers.
    raw : dict of str to ndarray or None
        The columns, if they are not: floats (NaN where a number is missing), dates, and objects for
        text and categories.
    """

    names: list[str]
    matrix: Floats | None
    raw: Columns | None

    @property
    def n(self) -> int:
        """How many people there are."""
        return len(self.columns[self.names[0]] if self.matrix is None else self.matrix)

    @property
    def columns(self) -> Columns:
        """Each column by its name."""
        if self.raw is not None:
            return self.raw
        assert self.matrix is not None
        return dict(zip(self.names, self.matrix.T, strict=True))

    @property
    def numbers(self) -> Floats:
        """The matrix, for a model that knows plain finite numbers alone."""
        if self.matrix is not None:
            return self.matrix
        hint = (
            "the model was fitted to a table of numbers without gaps, so it has not learnt what to "
            "do with anything else: complete the rows, or fit it again to rows like these."
        )
        for name, column in self.columns.items():
            what = f"feature '{name}' must hold numbers."
            if kind_of(column) != "number":
                known = column[~is_missing(column)]
                example = known[0] if known.size else None
                raise DataError(f"{what} Got {example!r} ({column.dtype}).", hint=hint)
        bad = {name: np.isnan(column) for name, column in self.columns.items()}
        shown = listed([name for name, rows in bad.items() if rows.any()])
        rows = np.logical_or.reduce(list(bad.values()))
        refuse(rows, "Input X contains NaN", hint, because=f"columns {shown}")
        raise AssertionError("raw columns are not all finite numbers")

    def require_values(self) -> None:
        """Raise if a column is empty: there is nothing to learn from it."""
        empty = [name for name, column in (self.raw or {}).items() if is_missing(column).all()]
        if empty:
            which = f"feature{'s' * (len(empty) > 1)} {listed(empty)}"
            raise DataError(
                f"no row has a value of {which}.", hint="leave empty columns out of the features."
            )


def read_features(X: Any) -> Features:
    """Features as they are: numbers, true/false, text, categories, dates, and missing values.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features.

    Examples
    --------
    >>> read_features([[1, 2], [3, 4]])
    Features(names=['x0', 'x1'], matrix=array([[1., 2.],
            [3., 4.]]), raw=None)
    >>> read_features({"age": [30, None], "city": ["Graz", None]}).raw
    {'age': array([30., nan]), 'city': array(['Graz', None], dtype=object)}
    """
    # One kind of sparse matrix is also a mapping; scikit-learn has its own error for it.
    columns = None if hasattr(X, "tocsr") else table_columns(X, "X")
    if columns:
        return _of_columns(columns, categories_in(X))
    array = _array(X if columns is None else np.empty((getattr(X, "shape", [0])[0], 0)))
    if array.dtype.kind != "f":
        named = named_columns(array, "X", default="x").values()
        return _of_columns({f"x{j}": column for j, column in enumerate(named)}, set())
    return _of_matrix(array, [f"x{j}" for j in range(array.shape[1])])


def no_features(*columns: Any) -> Features:
    """No feature, of as many rows as the first column that was given has.

    Examples
    --------
    >>> no_features(None, [0, 1, 1]).matrix.shape
    (3, 0)
    """
    for given in columns:
        if given is not None:
            column = next(iter(named_columns(given, "a column", default="column").values()))
            return Features([], np.empty((len(column), 0)), None)
    raise DataError(
        "X is None, and neither y, decision nor impact was given.",
        hint="pass the columns that the constraints are about.",
    )


def kind_of(column: Array) -> Literal["number", "date", "levels"]:
    """What a column of `Features` holds.

    Examples
    --------
    >>> kind_of(np.array([1.0])), kind_of(np.array(["a"], dtype=object))
    ('number', 'levels')
    """
    if column.dtype.kind in "mM":
        return "date"
    return "levels" if column.dtype.kind == "O" else "number"


def days(column: Array) -> Floats:
    """Numbers as they are; dates as days since 1970-01-01, and durations as days.

    Examples
    --------
    >>> days(np.array(["1970-01-02T12:00"], dtype="M8[s]"))
    array([1.5])
    """
    if column.dtype.kind == "M":
        column = column - np.datetime64(0, "D")
    return np.asarray(column / _DAY if column.dtype.kind == "m" else column, dtype=np.float64)


def same_values(one: Array, other: Array) -> bool:
    """Whether two columns hold the same values, or none in the same rows.

    Examples
    --------
    >>> same_values(np.array([1, None], dtype=object), np.array([1.0, np.nan]))
    True
    """
    missing = is_missing(one)
    if not np.array_equal(missing, is_missing(other)):
        return False
    return bool(one[~missing].tolist() == other[~missing].tolist())


def comparable(column: Array) -> Floats:
    """A column as floats that are equal where its values are; text by a key of 64 bits.

    Examples
    --------
    >>> one, other, again = comparable(np.array(["a", "b", "a"], dtype=object))
    >>> bool(one == again), bool(one == other)
    (True, False)
    """
    missing = is_missing(column)
    # As a share of all keys: the bits themselves may be a NaN, which differs from itself.
    levels = kind_of(column) == "levels"
    floats = text_keys(column) / 2.0**64 if levels else days(column)
    return np.where(missing, np.nan, floats) if missing.any() else floats


def _of_matrix(matrix: Floats, names: list[str]) -> Features:
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(matrix.sum())
        large = suspicious or not np.abs(matrix).max(initial=0.0) <= LARGEST
    if large:
        _check_finite(np.isinf(matrix), names)
        for name, column in zip(names, matrix.T, strict=True):
            check_size(column, f"feature '{name}'")
    if not suspicious or np.isfinite(matrix).all():  # one cheap pass often is enough
        return Features(names, matrix, None)
    return Features(names, None, dict(zip(names, matrix.T, strict=True)))


def _of_columns(columns: Columns, categories: set[str]) -> Features:
    raw = {name: _tidy(name, column, name in categories) for name, column in columns.items()}
    if all(kind_of(column) == "number" for column in raw.values()):
        return _of_matrix(_array(np.column_stack(list(raw.values()))), list(raw))
    _array(np.zeros((len(next(iter(raw.values()))), len(raw))))  # are there any rows?
    numbers = [column if kind_of(column) == "number" else [0.0] for column in raw.values()]
    if any(np.isinf(column).any() for column in numbers):
        bad = [np.isinf(column) if kind_of(column) == "number" else is_missing(column) & False
               for column in raw.values()]  # fmt: skip
        _check_finite(np.column_stack(bad), list(raw))
    for name, column in raw.items():
        if kind_of(column) == "number":
            check_size(np.asarray(column, dtype=np.float64), f"feature '{name}'")
    return Features(list(raw), None, raw)


def _tidy(name: str, column: Array, category: bool) -> Array:
    """A column as floats, dates or objects; raise if it is none of them."""
    missing = is_missing(column)
    if category:
        values = [value if isinstance(value, str | float | int) else str(value)
                  for value in column[~missing].tolist()]  # fmt: skip
        tidy = np.full(len(column), None, dtype=object)
        tidy[~missing] = values
        return tidy
    if column.dtype.kind in "mM":
        return column.astype(f"{column.dtype.kind}8[us]")
    if column.dtype.kind != "O":
        return as_floats(column, f"feature '{name}'")
    kinds = sorted({_word(kind) for kind in set(map(type, column[~missing]))})
    if kinds in (["dates"], ["durations"]):
        return _dates(column, missing)
    if len(kinds) > 1 and set(kinds) <= {"dates", "durations", "numbers", "text"}:
        odd = np.array([_word(type(value)) == kinds[-1] for value in column]) & ~missing
        refuse(
            odd,
            f"feature '{name}' holds {' and '.join(kinds)}: {kinds[-1]}, such as "
            f"{column[odd][0]!r},",
            "a column is one kind of thing. If a text means that the value is missing, replace it "
            "by None.",
        )
    if kinds != ["text"]:
        return as_floats(column, f"feature '{name}'", hint="X takes numbers, true/false, text, "
                         "categories and dates.")  # fmt: skip
    _check_text(name, column[~missing])
    return column


def _word(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, date | timedelta):
        return "dates" if issubclass(kind, date) else "durations"
    return "numbers" if issubclass(kind, NUMBERS) else kind.__name__


def _dates(column: Array, missing: Booleans) -> Array:
    """Python's dates, times and durations as numpy's; times with a zone in UTC."""

    def plain(value: Any) -> Any:
        aware = isinstance(value, datetime) and value.tzinfo is not None
        return value.astimezone(UTC).replace(tzinfo=None) if aware else value

    values = [plain(value) for value in column[~missing]]
    kind = "m8[us]" if isinstance(values[0], timedelta) else "M8[us]"
    tidy = np.full(len(column), "NaT", dtype=kind)
    tidy[~missing] = np.array(values, dtype=kind)
    return tidy


def _check_text(name: str, known: Array) -> None:
    """Raise if a column of text is one of numbers that could not be read."""
    different = dict.fromkeys(known.tolist())
    if len(different) <= MOST_CODES:
        return
    commas = [value for value in different if has_decimal_comma(value)]
    numbers = [*commas, *(value for value in different if _is_number(value))]
    if 2 * len(numbers) > len(different):
        raise DataError(
            f"feature '{name}' holds text that looks like numbers, such as {numbers[0]!r}: "
            f"{len(numbers):,} of {len(different):,} different values.",
            hint=f"write 1.5, not 1,5; or, in a study file, {comma_hint(repr(name), commas)}"
            if commas
            else "turn it into numbers; or, if the numbers are codes, into a category.",
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _array(X: Any) -> Array:
    """X as scikit-learn reads it, with its own error messages: floats, or objects."""
    from sklearn.utils import check_array

    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if getattr(X, "ndim", 2) == 1:
        X = np.asarray(X)  # scikit-learn's message for a series differs from that for an array
    try:
        array = check_array(X, dtype=None, input_name="X", ensure_all_finite=False)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
        if array.dtype.kind == "O" and not any(
            isinstance(value, str | date | timedelta) for value in array.flat
        ):
            return np.asarray(
                array.astype(np.float64)
            )  # scikit-learn expects the TypeError for anything else
        return np.asarray(array)
    except TypeError as error:
        raise FeatureTypeError(str(error), hint=_DENSE) from None
    except ValueError as error:
        raise DataError(str(error), hint=_DENSE) from None


def _check_finite(bad: Booleans, names: list[str]) -> None:
    shown = [name for name, column in zip(names, bad.T, strict=True) if column.any()]
    hint = (
        "a feature may be missing, but not infinite: write None, or the largest meaningful value."
    )
    rows = np.asarray(bad.any(axis=1))
    refuse(rows, "Input X contains infinity", hint, because=f"columns {listed(shown)}")


class People(Protocol):
    """What is known about people before any decision."""

    sensitive: Columns

    @property
    def features(self) -> Floats:
        """What a model sees: features as they came, or prepared."""

    @property
    def prepared_names(self) -> list[str]:
        """What each column of `features` means."""


@dataclass(frozen=True)
class Encoding:
    """Standardised features, and sensitive columns as indicators of the values seen in training."""

    center: Floats
    scale: Floats
    groups: dict[str, Array]

    @classmethod
    def learn(cls, data: People) -> Encoding:
        """From candidate rows."""
        # Without a row there is nothing to learn, as if all were the same.
        features = data.features if len(data.features) else np.zeros((1, data.features.shape[1]))
        scale = features.std(axis=0)
        groups = {}
        for name, column in data.sensitive.items():
            known = column[~is_missing(column)]
            plain = np.unique(known) if column.dtype.kind in "biuf" else known
            values = np.array(sorted(set(plain.tolist()), key=str), dtype=column.dtype)
            if len(values) <= MOST_GROUPS:
                groups[name] = values[1:]
        return cls(features.mean(axis=0), np.where(scale > 0, scale, 1.0), groups)

    def of(self, data: People, rows: slice = slice(None)) -> Floats:
        """The design matrix of some rows; of all, unless they are named."""
        features, d = data.features[rows], self.center.size
        groups = [(name, value) for name, values in self.groups.items() for value in values]
        matrix = np.empty((len(features), d + len(groups)))
        np.subtract(features, self.center, out=matrix[:, :d])
        matrix[:, :d] /= self.scale
        for k, (name, value) in enumerate(groups, d):
            matrix[:, k] = data.sensitive[name][rows] == value
        return matrix

    def names(self, data: People) -> list[str]:
        """What each column of the design matrix means."""
        groups = [
            f"{name} == {value!r}" for name, of in self.groups.items() for value in of.tolist()
        ]
        return [*(f"'{name}'" for name in data.prepared_names), *groups]

    def groups_in(self, known: Floats) -> Floats:
        """A column of ones, and the indicators of groups in the result of `of`."""
        return np.column_stack([np.ones(len(known)), known[:, self.center.size :]])
