"""From a user's arrays, mappings, pandas, polars or pyarrow tables to named numpy columns.

Numbers, true/false values and dates stay as they are; text and everything else becomes objects, in
which only None stands for a missing value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from elfair.data.asking import in_terms, place
from elfair.data.spelling import codes_in
from elfair.errors import DataError, listed
from elfair.language.evaluation import is_missing
from elfair.types import Array, Booleans, Floats, Index

Columns: TypeAlias = dict[str, Array]


def named_columns(values: object, what: str, *, default: str) -> Columns:
    """Read one or more columns.

    Parameters
    ----------
    values : array, series, data frame or mapping
        One column, or several.
    what : str
        The name of the argument, for errors.
    default : str
        The name for a column without one; several such columns are numbered.

    Returns
    -------
    dict of str to ndarray
        One-dimensional arrays, in their original order.

    Examples
    --------
    >>> named_columns([0, 1, 1], "sensitive_features", default="sensitive")
    {'sensitive': array([0, 1, 1])}
    >>> list(named_columns(np.zeros((3, 2)), "impact", default="impact"))
    ['impact_0', 'impact_1']
    """
    columns = table_columns(values, what)
    if columns:
        return columns
    if columns is not None:
        raise DataError(
            f"{what} must have at least one column. Got a table without columns.",
            hint=f"leave {what} out if there is none.",
        )
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return {default if series.name in (None, "") else str(series.name): _read(series, what)}
    array = _array(values, what)
    if array.ndim == 1:
        return {default: array}
    if array.ndim == 2 and array.shape[1] == 1:
        return {default: _tidy(array[:, 0])}
    if array.ndim == 2 and array.shape[1] > 1:
        return {f"{default}_{j}": _tidy(array[:, j]) for j in range(array.shape[1])}
    got = (
        f"an array of shape {array.shape}" if array.ndim else f"{type(values).__name__} {values!r}"
    )
    raise DataError(
        f"{what} must be one column or a table of columns. Got {got}.",
        hint="pass the values themselves, not their name: a one-dimensional array, a data frame in "
        "memory or a mapping of columns.",
    )


def table_columns(values: object, what: str) -> Columns | None:
    """The columns of a data frame or mapping; None for anything else.

    Examples
    --------
    >>> table_columns({"age": [17, 30]}, "X")
    {'age': array([17, 30])}
    >>> table_columns([[17], [30]], "X") is None
    True
    """
    if isinstance(values, Mapping):
        return _by_name(
            ((name, one_column(column, f"{what} '{name}'")) for name, column in values.items()),
            what,
        )
    try:
        frame = nw.from_native(values, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return None
        pairs = zip(frame.columns, frame.iter_columns(), strict=True)
        return _by_name(((name, _read(s, f"{what} '{name}'")) for name, s in pairs), what)
    except DuplicateError:
        raise duplicate(what) from None


def categories_in(values: object) -> set[str]:
    """The names of the columns of a data frame that are declared to be categories.

    Examples
    --------
    >>> import pandas as pd
    >>> categories_in(pd.DataFrame({"code": pd.Categorical([3, 1]), "age": [30, 40]}))
    {'code'}
    """
    if isinstance(values, Mapping):
        parts = {name: nw.from_native(part, series_only=True, pass_through=True)
                 for name, part in values.items()}  # fmt: skip
        known = {name: part.dtype for name, part in parts.items() if isinstance(part, nw.Series)}
    else:
        frame = nw.from_native(values, eager_only=True, pass_through=True)
        known = dict(frame.schema) if isinstance(frame, nw.DataFrame) else {}
    return {str(name) for name, dtype in known.items() if dtype in (nw.Categorical, nw.Enum)}


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


def complete_column(values: object, n: int, what: str, hint: str | None = None) -> Array:
    """A column of identifiers or classes, of which none may be missing."""
    column = one_column(values, what)
    check_length(column, n, what)
    hint = hint or in_terms(
        f"drop the rows without {what}, or find out what it was.",
        study="find out what it was; or leave such people out by keep in [rows], if that does not "
        "depend on what was decided about them.",
    )
    refuse(is_missing(column), f"{what} is missing", hint)
    if column.dtype.kind == "f":
        hint = f"{what} identifies a class or a person; use whole numbers or text."
        refuse(np.isinf(column), f"Input {what} contains infinity,", hint)
    return column


def as_floats(
    column: Array, what: str, *, hint: str = "convert the column to numbers first."
) -> Floats:
    """A numeric column as floats; a missing value becomes NaN. Anything else is an error.

    Examples
    --------
    >>> as_floats(np.array([1, None], dtype=object), "impact")
    array([ 1., nan])
    """
    if column.dtype.kind in "biuf":
        return column.astype(np.float64, copy=False)
    # Numpy would read text as numbers, and dates as days since 1970; neither is intended.
    if column.dtype.kind == "O":
        odd = {kind for kind in set(map(type, column)) if not issubclass(kind, NUMBERS)}
        if not odd:
            return column.astype(np.float64)
        wrong = np.array([type(value) in odd for value in column])
        different = {repr(value): value for value in column[wrong].tolist()}
        shown = f"{listed(different.values(), 5)} ({column.dtype})"
        refuse(wrong, f"{what} must hold numbers. Got {shown}", hint)
    example = column[0] if column.size else column.dtype
    raise DataError(f"{what} must hold numbers. Got {example!r} ({column.dtype}).", hint=hint)


#: Numbers beyond this are refused, and propensities below its inverse: what is computed with them
#: multiplies up to six, and must not overflow.
LARGEST = 1e50


def check_size(column: Floats, what: str) -> None:
    """Raise if a number is too large to compute with.

    Parameters
    ----------
    column : ndarray of float
        Numbers; those that are missing or infinite are another matter.
    what : str
        What messages call it.

    Examples
    --------
    >>> check_size(np.array([1e9, np.nan]), "impact 'savings'")
    """
    beyond = np.isfinite(column) & (np.abs(np.where(np.isfinite(column), column, 0.0)) > LARGEST)
    hint = f"use another unit: numbers may be up to {LARGEST:g} in size."
    refuse(beyond, f"{what} is too large to compute with", hint)


#: In fewer rows than this, a number such as -99 may be far from all others by chance.
FEWEST_COMPARED = 100


def check_no_codes(column: Floats, what: str) -> None:
    """Raise if some numbers are codes for "missing", such as -999. A study is asked about these
    when it is read, by the names of its columns, and may declare that they are meant.

    Parameters
    ----------
    column : ndarray of float
        Numbers.
    what : str
        What messages call it.

    Examples
    --------
    >>> check_no_codes(np.array([1.0, 2.0] * 50 + [-999.0]), "impact 'savings'")
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: impact 'savings' is -999 in 1 of 101 rows (the first is row 100), far
    from all other values: it probably means missing.
    Hint: write NaN there, and declare missing_impact=; if it is meant, clip it to a meaningful
    range.
    """
    if len(column) < FEWEST_COMPARED or in_terms("", study="asked"):
        return
    for code in codes_in(column, small=False):
        refuse(
            column == code,
            f"{what} is {code:.15g}",
            "write NaN there, and declare missing_impact=; if it is meant, clip it to a meaningful "
            "range.",
            apart=", far from all other values: it probably means missing",
        )


#: What counts as a number, or as a missing one.
NUMBERS = (Real, Decimal, np.bool_, NoneType)


def distinct(column: Array) -> Array:
    """The distinct values, sorted; raises TypeError if they have no order.

    Examples
    --------
    >>> distinct(np.array(["yes", "no", "yes"], dtype=object)).tolist()
    ['no', 'yes']
    """
    # Hashing objects is ten times as fast as sorting all of them.
    return _objects(sorted(set(column))) if column.dtype.kind == "O" else np.unique(column)


def positions(column: Array, values: Array) -> Index:
    """The position of each entry of a column among sorted, distinct values; -1 if not found.

    Examples
    --------
    >>> positions(np.array([1, 0, 7]), np.array([0, 1]))
    array([ 1,  0, -1])
    """
    if not values.size:
        return np.full(column.shape, -1, dtype=np.intp)
    if column.dtype.kind in "biuf" and values.dtype.kind in "biuf":
        place = np.minimum(np.searchsorted(values, column), values.size - 1)
        return np.where(values[place] == column, place, -1)
    places = {value: k for k, value in enumerate(values.tolist())}
    try:
        return np.fromiter((places.get(v, -1) for v in column.tolist()), np.intp, len(column))
    except TypeError:  # an entry that cannot be hashed, such as a list
        return np.full(column.shape, -1, dtype=np.intp)


def text_or_numbers(value: object, classes: Array) -> str | None:
    """The hint for a class that is unknown because it is text and not a number, or vice versa.

    Examples
    --------
    >>> text_or_numbers("0", np.array([0, 1]))
    "text and numbers differ, '0' is not 0: use the same kind for both."
    """
    if isinstance(value, str) != isinstance(classes[0], str):
        return "text and numbers differ, '0' is not 0: use the same kind for both."
    return None


def check_order(**columns: Any) -> None:
    """Raise if two pandas columns have the same row labels in different orders.

    Rows belong together by position, as in scikit-learn; but rows in different orders were probably
    shuffled by mistake.

    Examples
    --------
    >>> import pandas as pd
    >>> check_order(X=pd.DataFrame({"x": [1, 2]}), y=pd.Series([0, 1], index=[1, 0]))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: y has the same rows as X in a different order (by index).
    Hint: align them: y.loc[X.index]; or pass y.to_numpy() if rows belong together by position.
    """
    parts: dict[str, Any] = {}
    for name, column in columns.items():
        inside = column.items() if isinstance(column, Mapping) else ()
        parts |= {f"{name}[{key!r}]": part for key, part in inside} or {name: column}
    indexes = {name: index for name, part in parts.items() if (index := _index(part)) is not None}
    if not indexes:
        return
    first, own = next(iter(indexes.items()))
    for name, index in indexes.items():
        # Pandas cannot compare indexes with different numbers of levels; they are never equal.
        alike = index.nlevels == own.nlevels and len(index) == len(own)
        if not alike or own.equals(index):
            continue
        if own.is_unique and index.is_unique and own.isin(index).all():
            raise DataError(
                f"{name} has the same rows as {first} in a different order (by index).",
                hint=f"align them: {name}.loc[{first}.index]; or pass {name}.to_numpy() if rows "
                "belong together by position.",
            )


def _index(column: Any) -> Any:
    """The row labels of a pandas object; None for others (a list's ``index`` is a method)."""
    index = getattr(column, "index", None)
    return index if hasattr(index, "equals") else None


def check_length(column: Array, n: int, what: str) -> None:
    """Raise unless a column has as many rows as X.

    Examples
    --------
    >>> check_length(np.zeros(3), 3, "impact")
    """
    if len(column) != n:
        raise DataError(
            f"{what} has {len(column):,} rows, but X has {n:,}.",
            hint="every column must describe the same people in the same order.",
        )


def refuse(wrong: Booleans, problem: str, hint: str, *, because: str = "", apart: str = "") -> None:
    """Raise if some rows are wrong: the problem, in how many rows it is, and why it is one.

    Examples
    --------
    >>> refuse(np.array([False, True, True]), "impact is missing", "wait for it.")
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: impact is missing in 2 of 3 rows (the first is row 1).
    Hint: wait for it.
    """
    if wrong.any():
        first = place(int(np.flatnonzero(wrong)[0]))
        where = f"{wrong.sum():,} of {wrong.size:,} rows (the first is {first})"
        why = f": {because}" if because else apart
        raise DataError(f"{problem} in {where}{why}.", hint=hint)


def _by_name(columns: Iterable[tuple[object, Array]], what: str) -> Columns:
    named: Columns = {}
    for name, column in columns:
        if str(name) in named:
            raise duplicate(what, str(name))
        named[str(name)] = column
    return named


def duplicate(what: str, name: str = "") -> DataError:
    """What is wrong with a table if two of its columns have the same name.

    Examples
    --------
    >>> print(duplicate("X", "age"))
    X has two columns with the same name, 'age'; names must differ.
    Hint: rename one of them.
    """
    return DataError(
        f"{what} has two columns with the same name{f', {name!r}' if name else ''}; names must "
        "differ.",
        hint="rename one of them.",
    )


def _read(series: Any, what: str) -> Array:
    """A narwhals series as numpy."""
    dtype, missing = series.dtype, series.null_count() > 0
    if dtype.is_float() or dtype.is_temporal():
        return _tidy(np.asarray(series.to_numpy()))  # missing values are NaN and NaT
    if (dtype.is_integer() or dtype == nw.Boolean) and not missing:
        return np.asarray(series.to_numpy())
    if dtype == nw.String or missing:
        column = _objects(series.to_list())
        if missing:
            column[series.is_null().to_numpy()] = None
        return column
    # Categories and objects may hold anything; numbers in them become numbers again.
    column = _array(series.to_list(), what)
    if column.ndim != 1 or dtype.is_nested():
        raise DataError(
            f"{what} must hold one value in each row. Got {dtype}, such as {series[0]!r}.",
            hint="split the lists or records into columns first.",
        )
    return column


def _array(values: object, what: str) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), np.array(None), values.data)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            # Numpy turns mixed lists into text: keep [0, "1"] and ["A", nan] as they are.
            array = np.array(values, dtype=object)
    except ValueError as error:
        raise DataError(
            f"{what} must be one column or a table of columns. Got rows of different lengths "
            f"({error}).",
            hint="every row must have the same number of values.",
        ) from None
    return _tidy(array)


def _tidy(array: Array) -> Array:
    """Text as objects, with None for missing values."""
    if array.dtype.kind in "UST":
        array = array.astype(object)
    if array.dtype.kind == "O" and array.ndim == 1 and (missing := is_missing(array)).any():
        array = array.copy()
        array[missing] = None
    return array


def _objects(values: list[Any]) -> Array:
    return np.fromiter(values, dtype=object, count=len(values))
