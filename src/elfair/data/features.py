"""Features: a dense table of finite numbers with names, and what regressions see of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elfair.data.columns import Columns, as_floats, is_missing, named_columns, refuse, table_columns
from elfair.errors import DataError, FeatureTypeError, listed
from elfair.types import Array, Floats

#: Regressions ignore a sensitive column with more values than this.
MOST_GROUPS = 20
_DENSE = "X must be a dense table of numbers, one row for each person."
_ENCODE = "encode it first (for example with OneHotEncoder), or leave it to sensitive_features."


def read_features(X: Any) -> tuple[Floats, list[str]]:
    """Features as a matrix of finite floats, and their names (x0, x1, ... where they have none).

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features.

    Returns
    -------
    (ndarray of shape (n, d), list of str)

    Examples
    --------
    >>> read_features([[1, 2], [3, 4]])
    (array([[1., 2.],
            [3., 4.]]), ['x0', 'x1'])
    """
    # One kind of sparse matrix is also a mapping; scikit-learn has its own error for it.
    columns = None if hasattr(X, "tocsr") else table_columns(X, "X")
    if columns:
        features = _stacked(columns)
    else:
        features = _matrix(X if columns is None else np.empty((getattr(X, "shape", [0])[0], 0)))
    names = list(columns or []) or [f"x{j}" for j in range(features.shape[1])]
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(features.sum())
    if suspicious:  # one cheap pass found something: look closer
        _check_finite(features, names)
    return features, names


def _matrix(X: Any) -> Floats:
    """X as scikit-learn reads it, with its own error messages."""
    from sklearn.utils import check_array

    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if getattr(X, "ndim", 2) == 1:
        X = np.asarray(X)  # scikit-learn's message for a series differs from that for an array
    try:
        array = check_array(X, dtype=None, input_name="X", ensure_all_finite=False)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
        return _numbers(array)
    except DataError:
        raise
    except TypeError as error:
        raise FeatureTypeError(str(error), hint=_DENSE) from None
    except ValueError as error:
        raise DataError(str(error), hint=_DENSE) from None


def _numbers(array: Array) -> Floats:
    """The numbers in an array of objects; text is an error, even if it looks like a number."""
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.flat):
        return array.astype(np.float64)  # scikit-learn expects the TypeError for anything else
    columns = named_columns(array, "X", default="x").values()
    return _stacked({f"x{j}": column for j, column in enumerate(columns)})


def _stacked(columns: Columns) -> Floats:
    floats = [as_floats(c, f"feature '{name}'", hint=_ENCODE) for name, c in columns.items()]
    return _matrix(np.column_stack(floats))


def _check_finite(features: Floats, names: list[str]) -> None:
    bad = ~np.isfinite(features)
    shown = [name for name, column in zip(names, bad.T, strict=True) if column.any()]
    hint = "impute or drop those rows; fit an imputer only on candidate rows."
    rows = np.asarray(bad.any(axis=1))
    refuse(rows, "Input X contains NaN or infinity", hint, because=f"columns {listed(shown)}")


class People(Protocol):
    """What is known about people before any decision."""

    features: Floats
    feature_names: list[str]
    sensitive: Columns


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
            values = np.array(sorted(set(known.tolist()), key=str), dtype=column.dtype)
            if len(values) <= MOST_GROUPS:
                groups[name] = values[1:]
        return cls(features.mean(axis=0), np.where(scale > 0, scale, 1.0), groups)

    def of(self, data: People) -> Floats:
        """The design matrix."""
        standardised = (data.features - self.center) / self.scale
        indicators = [
            np.asarray(data.sensitive[name] == value, dtype=np.float64)
            for name, values in self.groups.items()
            for value in values
        ]
        return np.column_stack([standardised, *indicators])

    def names(self, data: People) -> list[str]:
        """What each column of the design matrix means."""
        groups = [
            f"{name} == {value!r}" for name, of in self.groups.items() for value in of.tolist()
        ]
        return [*(f"'{name}'" for name in data.feature_names), *groups]

    def groups_in(self, known: Floats) -> Floats:
        """A column of ones, and the indicators of groups in the result of `of`."""
        return np.column_stack([np.ones(len(known)), known[:, self.center.size :]])
