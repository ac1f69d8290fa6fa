"""Preparation: from features as a table has them to the numbers that a model sees.

It is part of the model. What it learns (the median of a column, its levels, or all that a
scikit-learn transformer learns), it learns on candidate rows alone, so that the held-out rows have
no part in it; and it is repeated for everybody whom the model decides about.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from elfair.data.columns import Columns, is_missing, positions, refuse
from elfair.data.features import days, kind_of
from elfair.errors import DataError, InputError, listed
from elfair.types import Array, Floats

#: A level in fewer candidate rows than this is rare: it shares one column with other rare ones.
FEWEST_ROWS = 10
#: The most levels that get a column of their own; the less frequent ones count as rare.
MOST_LEVELS = 20

Kind = Literal["number", "date", "levels"]


class Preparation(Protocol):
    """A fixed map from the columns of a table to a matrix of finite numbers."""

    #: The name of its kind in digests.
    digest_tag: ClassVar[str]

    @property
    def names(self) -> list[str]:
        """What each column of the matrix means."""

    def of(self, columns: Columns) -> Floats:
        """The matrix, of shape (n, names)."""

    @property
    def described(self) -> tuple[str, ...]:
        """What it is and what it learnt, for people."""


@dataclass(frozen=True)
class ColumnPreparation:
    """How one column becomes numbers.

    Parameters
    ----------
    column : str
        Its name.
    kind : {"number", "date", "levels"}
        What it holds: numbers (or true/false), dates (or durations), or the names of levels.
    missing : int
        The candidate rows in which it is missing.
    value : float
        What stands for a missing number or date: the median of candidate rows.
    levels : tuple
        The levels that have a column of their own, sorted by their text.
    counts : tuple of int
        The candidate rows of each.
    other : int
        The candidate rows with a rare level.

    Examples
    --------
    >>> city = np.array(["Graz"] * 30 + ["Linz"] * 10 + [None] * 10, dtype=object)
    >>> column = ColumnPreparation.learn("city", city)
    >>> column.names
    ["city == 'Graz'", "city == 'Linz'", 'city is missing']
    >>> column.of(np.array([None, "Linz", "Wien"], dtype=object))
    array([[0. , 0. , 1. ],
           [0. , 1. , 0. ],
           [0.6, 0.2, 0.2]])
    """

    digest_tag: ClassVar[str] = "column"

    column: str
    kind: Kind
    missing: int
    value: float
    levels: tuple[Any, ...]
    counts: tuple[int, ...]
    other: int

    @classmethod
    def learn(
        cls, name: str, column: Array, *, most: int = MOST_LEVELS, fewest: int = FEWEST_ROWS
    ) -> ColumnPreparation:
        """From the candidate rows of a column.

        Parameters
        ----------
        name : str
            Its name.
        column : ndarray
            Its values.
        most : int
            How many levels count by themselves, at most.
        fewest : int
            In how many rows such a level is, at least.
        """
        kind, missing = kind_of(column), is_missing(column)
        known = column[~missing]
        if kind != "levels":
            value = float(np.median(days(known))) if known.size else 0.0
            return cls(name, kind, int(missing.sum()), value, (), (), 0)
        often = Counter(known.tolist()).most_common()
        # Equally frequent ones by their text: the order of rows must not matter.
        often.sort(key=lambda pair: (-pair[1], str(pair[0])))
        kept = [pair for pair in often[:most] if pair[1] >= fewest]
        kept.sort(key=lambda pair: str(pair[0]))
        levels, counts = tuple(level for level, _ in kept), tuple(count for _, count in kept)
        return cls(name, kind, int(missing.sum()), 0.0, levels, counts, known.size - sum(counts))

    @property
    def names(self) -> list[str]:
        """What its columns of numbers mean."""
        if self.kind != "levels":
            indicator = [f"{self.column} is missing"] if self.missing else []
            return [self.column, *indicator]
        named = [f"{self.column} == {level!r}" for level in self.levels]
        named += [f"{self.column} is rare"] * bool(self.other)
        named += [f"{self.column} is missing"] * bool(self.missing)
        return self._shown(named) or [f"{self.column} is rare"]

    def of(self, column: Array) -> Floats:
        """Its columns of numbers, of shape (n, names)."""
        if self.kind != "levels":
            number = self.numbers(column)
            missing = np.isnan(number)
            filled = np.where(missing, self.value, number)
            return np.column_stack([filled, missing] if self.missing else [filled])
        column = self.checked(column)
        counts = np.array([*self.counts, self.other, self.missing], dtype=np.float64)
        place = self.places(column)
        # Nobody among the candidates was like this: such a person counts as the average of them.
        new = counts[place] == 0
        every = np.eye(counts.size)[place]
        every[new] = counts / max(1.0, counts.sum())
        seen = [k for k in range(counts.size) if counts[k] > 0]
        shown = self._shown(seen)
        return every[:, shown] if shown else np.zeros((len(column), 1))

    def __str__(self) -> str:
        if self.kind != "levels":
            learnt = [f"{self.kind}, {self.value:.6g} if missing"]
        else:
            learnt = [f"levels {listed(self.levels, MOST_LEVELS) or 'none'}"]
            learnt += [f"rare in {self.other:,} rows"] * bool(self.other)
        learnt += [f"missing in {self.missing:,} rows"] * bool(self.missing)
        return f"{self.column}: {'; '.join(learnt)}"

    def numbers(self, column: Array) -> Floats:
        """Its numbers, or the days of its dates; NaN where one is missing."""
        column = self.checked(column)
        missing = is_missing(column)
        number = np.full(len(column), np.nan)
        number[~missing] = days(column[~missing])
        return number

    def places(self, column: Array, levels: tuple[Any, ...] | None = None) -> Array:
        """The place of each row's level, among those that were learnt or others; then come "rare"
        and "missing".
        """
        values = np.array(self.levels if levels is None else levels, dtype=object)
        place = positions(column.astype(object), values)
        place[place < 0] = values.size
        place[is_missing(column)] = values.size + 1
        return place

    def _shown(self, every: list[Any]) -> list[Any]:
        """Of two, one says it all."""
        return every[1:] if len(every) == 2 else every

    def checked(self, column: Array) -> Array:
        """The column; raise if a table holds something else under this name."""
        missing = is_missing(column)
        if missing.all() or (self.kind == "levels" and not self.levels):
            return column  # all levels were rare, and all of them are
        known = column[~missing]
        wanted = {"number": "numbers", "date": "dates"}.get(self.kind, "levels")
        hint = "convert the column first."
        if self.kind == "levels":
            wanted += f" such as {listed(self.levels[:1])}"
            text = isinstance(self.levels[0], str)
            right = all(isinstance(value, str) == text for value in known.tolist())
            hint = "text and numbers differ, '0' is not 0: use the same kind for both."
        elif self.kind == "number" and kind_of(column) == "levels":  # a category of numbers
            right = not any(isinstance(value, str) for value in known.tolist())
            column = column.astype(np.float64) if right else column
        else:
            right = kind_of(column) == self.kind
        if not right:
            raise DataError(
                f"feature '{self.column}' must hold {wanted}, as in the rows that the model was "
                f"fitted to. Got {known[0]!r}.",
                hint=hint,
            )
        return column


@dataclass(frozen=True)
class DefaultPreparation:
    """The preparation of every column by its kind.

    A number stays; where it is missing, the median of candidate rows stands for it, and, if it was
    missing in candidate rows, an indicator says so. A date becomes days since 1970-01-01, and is
    then a number. Of text and categories, each level that is frequent enough in candidate rows
    becomes an indicator; rare levels share one, and "missing" has its own. What no candidate row
    showed counts as rare, or, if nothing was rare, as the average of all levels.

    Parameters
    ----------
    columns : tuple of ColumnPreparation
        One for each column, in the order of the table.

    Examples
    --------
    >>> day = np.array(["2024-01-02"] * 3, dtype="M8[D]")
    >>> table = {"age": np.array([30.0, np.nan, 40.0]), "day": day}
    >>> preparation = DefaultPreparation.learn(table)
    >>> preparation.names
    ['age', 'age is missing', 'day']
    >>> preparation.of(table)
    array([[3.0000e+01, 0.0000e+00, 1.9724e+04],
           [3.5000e+01, 1.0000e+00, 1.9724e+04],
           [4.0000e+01, 0.0000e+00, 1.9724e+04]])
    """

    digest_tag: ClassVar[str] = "default preparation"

    columns: tuple[ColumnPreparation, ...]

    @classmethod
    def learn(cls, columns: Columns) -> DefaultPreparation:
        """From candidate rows."""
        return cls(tuple(ColumnPreparation.learn(*pair) for pair in columns.items()))

    @property
    def names(self) -> list[str]:
        """What each column of the matrix means."""
        return [name for column in self.columns for name in column.names]

    def of(self, columns: Columns) -> Floats:
        """The matrix."""
        return np.hstack([each.of(columns[each.column]) for each in self.columns])

    @property
    def described(self) -> tuple[str, ...]:
        """What it is and what it learnt, for people."""
        return ("default preparation, learnt on candidate rows", *map(str, self.columns))


@dataclass(frozen=True)
class FittedTransformer:
    """A scikit-learn transformer, fitted to candidate rows.

    Parameters
    ----------
    transformer : fitted transformer
        What it is.
    columns : tuple of str
        The columns that it takes, in their order.
    frame : bool
        Whether it takes a pandas frame; otherwise an array of numbers.
    names : list of str
        What it calls its columns.
    """

    digest_tag: ClassVar[str] = "transformer"

    transformer: Any
    columns: tuple[str, ...]
    frame: bool
    names: list[str]

    @classmethod
    def learn(
        cls, preprocessor: Any, columns: Columns, label: Array | None, *, frame: bool, seed: int
    ) -> FittedTransformer:
        """Fit a clone to candidate rows.

        Parameters
        ----------
        preprocessor : transformer
            What to clone.
        columns : dict of str to ndarray
            The candidate rows.
        label : ndarray, optional
            Their labels.
        frame : bool
            Whether to pass a pandas frame.
        seed : int
            For every ``random_state`` that is not set.
        """
        name = type(preprocessor).__name__
        transformer = _unfitted(preprocessor, seed)
        made = cls(transformer, tuple(columns), frame, [])
        try:
            transformer.fit(made._table(columns), label)
        except Exception as error:
            raise InputError(
                f"preprocessor={name} could not be fitted to the {_count(columns):,} candidate "
                f"rows: {error}",
                hint="try preprocessor.fit(X) on its own, with X as a pandas frame.",
            ) from error
        made.names.extend(made._out(made._transformed(columns).shape[1]))
        return made

    def of(self, columns: Columns) -> Floats:
        """What it makes of some rows."""
        matrix = self._transformed(columns)
        if matrix.shape[1] != len(self.names):
            raise InputError(
                f"preprocessor={self._called} made {len(self.names)} columns of candidate rows, "
                f"and {matrix.shape[1]} of others.",
                hint="it must make the same columns of any rows.",
            )
        return matrix

    def _transformed(self, columns: Columns) -> Floats:
        wanted = {name: columns[name] for name in self.columns}
        try:
            made = self.transformer.transform(self._table(wanted))
            made = made.toarray() if hasattr(made, "toarray") else made
            matrix = np.asarray(made, dtype=np.float64)
        except Exception as error:
            raise DataError(
                f"preprocessor={self._called} failed on {_count(columns):,} rows: {error}",
                hint="it must make numbers of any rows, also of missing values and new levels: "
                "OneHotEncoder, for instance, needs handle_unknown='ignore'.",
            ) from error
        if matrix.ndim != 2 or not matrix.shape[1]:
            raise InputError(
                f"preprocessor={self._called} must make a table of numbers. Got an array of shape "
                f"{matrix.shape}.",
                hint="its last step must be a transformer.",
            )
        wrong = np.asarray(~np.isfinite(matrix).all(axis=1))
        hint = "let it fill in missing values, for instance with a SimpleImputer."
        refuse(wrong, f"preprocessor={self._called} makes missing or infinite numbers", hint)
        return np.ascontiguousarray(matrix)

    @property
    def described(self) -> tuple[str, ...]:
        """What it is, for people."""
        return (f"{self.transformer!r}, fitted to candidate rows",)

    @property
    def _called(self) -> str:
        return type(self.transformer).__name__

    def _table(self, columns: Columns) -> Any:
        if not self.frame:
            return np.column_stack(list(columns.values()))
        return pandas_frame(columns)

    def _out(self, width: int) -> list[str]:
        """What the transformer calls its columns, if it says so."""
        try:
            names = [str(name) for name in self.transformer.get_feature_names_out()]
        except Exception:  # not every transformer has them
            names = []
        return names if len(names) == width else [f"prepared {k}" for k in range(width)]


def pandas_frame(columns: Columns, what: str = "preprocessor=") -> Any:
    """A pandas frame of some columns, with NaN for missing text.

    Parameters
    ----------
    columns : dict of str to array
        The columns.
    what : str
        What needs the frame, for the message if there is no pandas.

    Examples
    --------
    >>> pandas_frame({"city": np.array(["Graz", None], dtype=object)})["city"].tolist()
    ['Graz', nan]
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            f"{what} needs pandas for a table with names, text or dates, which cannot be imported.",
            hint=f"install pandas, or leave {what.partition('=')[0]} out.",
        ) from None
    made = {}
    for name, column in columns.items():
        if column.dtype.kind == "O":
            column = column.copy()
            column[is_missing(column)] = np.nan
        made[name] = pd.Series(column, dtype=column.dtype)
    return pd.DataFrame(made)


def seeded(estimator: Any, seed: int) -> Any:
    """Seed every unset ``random_state``: a fit is then a function of data and seed.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> seeded(DecisionTreeClassifier(), 3).random_state
    3
    """
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed % 2**32)) if unset else estimator


def _unfitted(preprocessor: Any, seed: int) -> Any:
    """A clone; raise if it stays fitted, since nobody knows to which rows."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import get_tags
    from sklearn.utils.validation import check_is_fitted

    transformer = seeded(clone(preprocessor), seed)
    if not get_tags(transformer).requires_fit:
        return transformer
    try:
        check_is_fitted(transformer)
    except (NotFittedError, TypeError):
        return transformer
    raise InputError(
        f"preprocessor={type(preprocessor).__name__} stays fitted when it is cloned.",
        hint="pass a transformer that fit can fit to the candidate rows alone.",
    )


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))
