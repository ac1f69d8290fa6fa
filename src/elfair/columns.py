"""From whatever a user holds (arrays, pandas, polars, pyarrow, mappings) to named numpy columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from elfair.errors import DataError

Array: TypeAlias = NDArray[Any]
Columns: TypeAlias = dict[str, Array]


def named_columns(values: object, what: str, *, default: str) -> Columns:
    """Read one or more columns, whatever holds them.

    Parameters
    ----------
    values : array, series, data frame or mapping
        One column, or several.
    what : str
        The name of the argument, for errors.
    default : str
        The name of a column that has none; several such columns are numbered.

    Returns
    -------
    dict of str to ndarray
        One-dimensional arrays, in the order in which they came.

    Examples
    --------
    >>> named_columns([0, 1, 1], "sensitive_features", default="sensitive")
    {'sensitive': array([0, 1, 1])}
    >>> list(named_columns(np.zeros((3, 2)), "impact", default="impact"))
    ['impact_0', 'impact_1']
    """
    if isinstance(values, Mapping):
        return {str(name): _one_dimensional(column, what) for name, column in values.items()}
    frame = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {str(name): _numpy(frame[name]) for name in frame.columns}
    if isinstance(frame, nw.Series):
        return {str(frame.name or default): _numpy(frame)}
    array = _array(values)
    if array.ndim == 1:
        return {default: array}
    if array.ndim == 2 and array.shape[1] == 1:
        return {default: array[:, 0]}
    if array.ndim == 2 and array.shape[1] > 1:
        return {f"{default}_{j}": array[:, j] for j in range(array.shape[1])}
    raise DataError(
        f"{what} must be one column or a table of columns. Got an array of shape {array.shape}.",
        hint=f"pass {what} as a one-dimensional array, a data frame or a mapping of columns.",
    )


def one_column(values: object, what: str) -> Array:
    """Read exactly one column.

    Examples
    --------
    >>> one_column([0.5, 0.25], "propensity")
    array([0.5 , 0.25])
    """
    columns = named_columns(values, what, default=what)
    if len(columns) != 1:
        raise DataError(
            f"{what} must be one column. Got {len(columns)}: {', '.join(columns)}.",
            hint=f"pass the one column that holds the {what}.",
        )
    return next(iter(columns.values()))


def as_floats(column: Array, what: str) -> NDArray[np.float64]:
    """A numeric column as floats; a missing value becomes NaN, anything else is an error."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        odd = next(value for value in column.tolist() if not _is_number(value))
        raise DataError(
            f"{what} must hold numbers. Got {odd!r} (and the column has dtype {column.dtype}).",
            hint="convert the column to numbers first.",
        ) from None


def is_missing(column: Array) -> NDArray[np.bool_]:
    """Where a column holds NaN, NaT or None.

    Examples
    --------
    >>> is_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if column.dtype.kind in "biuUS":
        return np.zeros(column.shape, dtype=bool)
    if column.dtype.kind in "fcmM":
        return np.isnan(column) if column.dtype.kind in "fc" else np.isnat(column)
    # Only a missing value differs from itself; pandas' NA refuses to say, which tells it apart.
    return np.fromiter((_differs_from_itself(value) for value in column), dtype=bool)


def _differs_from_itself(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value is None
    return True


def _numpy(series: nw.Series[Any]) -> Array:
    """A series as numpy; text and categories as objects, so that a missing value stays visible."""
    if series.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Boolean):
        if series.dtype == nw.Boolean and series.null_count() == 0:
            return np.asarray(series.to_numpy(), dtype=bool)
        if series.dtype in (nw.Categorical, nw.Enum):
            # Categories of numbers are numbers again; a text category is text.
            return _tidy(np.array(series.to_list(), dtype=object))
        return np.array(series.to_list(), dtype=object)
    return np.asarray(series.to_numpy())


def _tidy(column: Array) -> Array:
    values = column.tolist()
    if values and all(type(value) in (int, float) for value in values):
        return np.asarray(values)
    return column


def _array(values: object) -> Array:
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind in "US" else array


def _one_dimensional(values: object, what: str) -> Array:
    column = one_column(values, what)
    return column
