"""LoggedData: a validated table of past decisions."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from elfair.columns import Array, Columns, as_floats, is_missing, named_columns, one_column
from elfair.errors import DataError, FeatureTypeError, did_you_mean

#: How far probabilities may miss a sum of 1, or two statements of one probability differ.
TOLERANCE = 1e-6


@runtime_checkable
class BehaviorModel(Protocol):
    """A fitted model that made the logged decisions."""

    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, one row for each row of X."""


class LoggedData:
    """Past decisions: who was decided about, what was decided, with what probability, what came.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features: what the new model will see.
    y : array of shape (n,), optional
        Labels: what the best decision would have been.
    sensitive_features : array, series, data frame or mapping, optional
        One or more columns that name groups.
    decision : array of shape (n,), optional
        The decision that was taken.
    propensity : array of shape (n,), optional
        The probability with which the behaviour model took *the logged decision*, given everything
        that it used.
    behavior : array of shape (n, classes) or fitted model, optional
        The behaviour model's probability of every decision; a fitted model with ``predict_proba``
        is kept, so that a policy can respect its support at prediction time.
    impact : array, series, data frame or mapping, optional
        What was seen later; one or more columns. A single column can always be called ``impact``.
    row_id : array of shape (n,), optional
        One unique identifier for each row (each person). The split into halves then depends on the
        identifiers and not on the order of rows.
    classes : sequence, optional
        The decisions that exist, where neither ``y`` nor ``decision`` shows them all.
    positive : object, optional
        The class that PR, TPR and so on count; the largest one unless said otherwise.

    Examples
    --------
    >>> data = LoggedData(
    ...     [[0.0], [1.0], [2.0], [3.0]],
    ...     [0, 0, 1, 1],
    ...     sensitive_features={"race": ["A", "B", "A", "B"]},
    ...     decision=[0, 1, 1, 1],
    ...     propensity=[0.5, 0.5, 0.8, 0.9],
    ...     impact=[1.0, 0.5, 2.0, 1.5],
    ... )
    >>> data.n, data.classes.tolist(), data.names
    (4, [0, 1], ['race', 'x0'])
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        decision: Any = None,
        propensity: Any = None,
        behavior: Any = None,
        impact: Any = None,
        row_id: Any = None,
        classes: Sequence[Any] | Array | None = None,
        positive: Any = None,
    ) -> None:
        self.features, self.feature_names = read_features(X)
        self.n = self.features.shape[0]
        self.label: Array | None = None if y is None else self._complete(y, "y")
        self.sensitive: Columns = {}
        if sensitive_features is not None:
            self.sensitive = named_columns(
                sensitive_features, "sensitive_features", default="sensitive"
            )
            for name, column in self.sensitive.items():
                self._check_length(column, f"sensitive feature '{name}'")
        self.decision: Array | None = (
            None if decision is None else self._complete(decision, "decision")
        )
        self.row_id: Array | None = None if row_id is None else self._row_ids(row_id)
        self.classes = self._classes(classes)
        self.positive: Any = self._positive(positive)
        self.decision_index: NDArray[np.intp] | None = (
            None if self.decision is None else self._class_index(self.decision, "decision")
        )
        self.impacts: dict[str, NDArray[np.float64]] = {}
        if impact is not None:
            self.impacts = self._impacts(impact)
        self.behavior_model: BehaviorModel | None = None
        self.behavior: NDArray[np.float64] | None = None
        self.propensity: NDArray[np.float64] | None = None
        if behavior is not None:
            self._set_behavior(X, behavior)
        if propensity is not None:
            self._set_propensity(propensity)
        self._check_names()

    # -- what conditions can speak of -----------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The columns that a condition can name."""
        extra = [name for name in self.feature_names if name not in self.sensitive]
        return [*self.sensitive, *extra]

    def column(self, name: str) -> Array:
        """A sensitive feature or a feature by its name."""
        if name in self.sensitive:
            return self.sensitive[name]
        return self.features[:, self.feature_names.index(name)]

    def impact(self, name: str) -> NDArray[np.float64]:
        """An impact by its name; the only one is also called ``impact``."""
        return self.impacts[self.impact_key(name)]

    def impact_key(self, name: str) -> str:
        """The column that an impact's name stands for."""
        if name in self.impacts:
            return name
        if name == "impact" and len(self.impacts) == 1:
            return next(iter(self.impacts))
        if not self.impacts:
            raise DataError(
                f"no impact '{name}': impact was not given.",
                hint="pass impact=, the column that holds what was seen later.",
            )
        raise DataError(
            f"no impact '{name}'; impacts: {_listed(self.impact_names)}.",
            hint=did_you_mean(name, self.impact_names, "name one of the impacts."),
        )

    @property
    def impact_names(self) -> list[str]:
        """The names under which impacts can be asked for."""
        names = list(self.impacts)
        return [*names, "impact"] if len(names) == 1 and names != ["impact"] else names

    # -- parts of the table ---------------------------------------------------------------------

    def take(self, rows: NDArray[np.intp]) -> LoggedData:
        """The given rows, in the given order."""
        part = copy.copy(self)
        part.n = len(rows)
        for name in (
            "features",
            "label",
            "decision",
            "decision_index",
            "propensity",
            "behavior",
            "row_id",
        ):
            column = getattr(self, name)
            setattr(part, name, None if column is None else column[rows])
        part.sensitive = {name: column[rows] for name, column in self.sensitive.items()}
        part.impacts = {name: column[rows] for name, column in self.impacts.items()}
        return part

    def digest(self) -> bytes:
        """A fingerprint of the rows: equal for equal content in an equal order."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.ascontiguousarray(self.features))
        for column in (self.label, self.decision_index, self.propensity, *self.impacts.values()):
            if column is not None:
                plain = column if column.dtype.kind in "biuf" else column.astype(str)
                digest.update(np.ascontiguousarray(plain))
        return digest.digest()

    # -- validation -----------------------------------------------------------------------------

    def _check_length(self, column: Array, what: str) -> None:
        if len(column) != self.n:
            raise DataError(
                f"{what} has {len(column)} rows, but X has {self.n}.",
                hint="every column must describe the same people in the same order.",
            )

    def _complete(self, values: Any, what: str) -> Array:
        column = one_column(values, what)
        self._check_length(column, what)
        missing = is_missing(column)
        if missing.any():
            raise DataError(
                f"{what} is missing in {missing.sum()} of {self.n} rows "
                f"(the first is row {np.flatnonzero(missing)[0]}).",
                hint=f"drop the rows without {what}, or find out what it was.",
            )
        return column

    def _row_ids(self, values: Any) -> Array:
        column = self._complete(values, "row_id")
        unique, counts = np.unique(
            column if column.dtype.kind != "O" else column.astype(str), return_counts=True
        )
        if unique.size < self.n:
            twice = unique[counts > 1][0]
            raise DataError(
                f"row_id must be unique. Got {twice!r} more than once "
                f"({self.n - unique.size} repeated rows in all).",
                hint="the bounds need independent rows: keep one row for each person.",
            )
        return column

    def _classes(self, classes: Sequence[Any] | Array | None) -> Array:
        if classes is None:
            seen = self.label if self.label is not None else self.decision
            if seen is None:
                return np.array([], dtype=np.intp)
            try:
                return np.unique(seen)
            except TypeError:
                kinds = sorted({type(value).__name__ for value in seen.tolist()})
                raise DataError(
                    f"labels must be of one kind. Got a mixture of {', '.join(kinds)}.",
                    hint="write all labels as text or all as numbers.",
                ) from None
        known = np.asarray(classes)
        known = known.astype(object) if known.dtype.kind in "US" else known
        if self.label is not None:
            self._class_index(self.label, "y", known)
        return np.unique(known)

    def _positive(self, positive: Any) -> Any:
        if positive is None:
            return self.classes[-1] if self.classes.size else None
        if not (self.classes == positive).any():
            raise DataError(
                f"positive={positive!r} is not a class; classes: {_listed(self.classes)}.",
                hint=did_you_mean(positive, self.classes, "name one of the classes."),
            )
        return positive

    def _class_index(
        self, column: Array, what: str, classes: Array | None = None
    ) -> NDArray[np.intp]:
        """The position of each value among the classes."""
        classes = self.classes if classes is None else np.unique(classes)
        try:
            index = np.searchsorted(classes, column)
            index = np.minimum(index, classes.size - 1)
            outside = np.asarray(classes[index] != column)
        except TypeError:
            outside, index = np.ones(column.shape, dtype=bool), np.zeros(column.shape, np.intp)
        if outside.any():
            odd = column[outside][0]
            mixed = {type(odd), type(classes.tolist()[0])} & {str} and type(odd) is not type(
                classes.tolist()[0]
            )
            raise DataError(
                f"{what} holds values outside the classes in {outside.sum()} of {len(column)} rows: "
                f"{odd!r} among them. Classes: {_listed(classes)}.",
                hint="text and numbers differ: write both alike."
                if mixed
                else "the classes are the values of y; correct the values, or pass the rows that "
                "belong to them.",
            )
        return index

    def _impacts(self, impact: Any) -> dict[str, NDArray[np.float64]]:
        impacts = {}
        for name, column in named_columns(impact, "impact", default="impact").items():
            self._check_length(column, f"impact '{name}'")
            values = as_floats(column, f"impact '{name}'")
            missing = np.isnan(values)
            if missing.any():
                raise DataError(
                    f"impact '{name}' is missing in {missing.sum()} of {self.n} rows: it was not "
                    "observed (yet).",
                    hint="wait until it is observed, or drop those rows if, for each group, they "
                    "are missing for reasons that have nothing to do with decision and impact.",
                )
            if np.isinf(values).any():
                raise DataError(
                    f"impact '{name}' is infinite in {np.isinf(values).sum()} of {self.n} rows.",
                    hint="impact must be a finite number; clip it to a meaningful range.",
                )
            impacts[name] = values
        return impacts

    def _set_behavior(self, X: Any, behavior: Any) -> None:
        if isinstance(behavior, BehaviorModel):
            self.behavior_model = behavior
            probabilities = behavior_probabilities(behavior, X, self.classes)
        else:
            probabilities = as_floats(np.asarray(behavior), "behavior")
        if probabilities.shape != (self.n, self.classes.size):
            raise DataError(
                f"behavior must be of shape ({self.n}, {self.classes.size}): a probability for each "
                f"row and class ({_listed(self.classes)}). Got shape {probabilities.shape}.",
                hint="pass the behaviour model itself, or its predict_proba in the order of the "
                "sorted classes.",
            )
        if not np.isfinite(probabilities).all() or (probabilities < 0).any():
            raise DataError(
                "behavior must hold probabilities. Got negative or missing values.",
                hint="each row is a distribution over the classes.",
            )
        total = probabilities.sum(axis=1)
        if (np.abs(total - 1) > TOLERANCE).any():
            row = int(np.argmax(np.abs(total - 1)))
            raise DataError(
                f"each row of behavior must sum to 1. Row {row} sums to {total[row]:.6g}.",
                hint="pass probabilities, not scores.",
            )
        self.behavior = probabilities
        if self.decision_index is None:
            return
        self.propensity = probabilities[np.arange(self.n), self.decision_index]
        impossible = self.propensity <= 0
        if impossible.any():
            row = int(np.flatnonzero(impossible)[0])
            raise DataError(
                f"behavior gives probability 0 to the decision that was logged, in "
                f"{impossible.sum()} rows (the first is row {row}).",
                hint="these probabilities are not those of the model that decided.",
            )
        unsupported = probabilities <= 0
        if self.behavior_model is None and unsupported.any():
            raise DataError(
                f"behavior gives probability 0 to some decision in "
                f"{unsupported.any(axis=1).sum()} of {self.n} rows: the impact of that decision "
                "cannot be identified there.",
                hint="pass the fitted model itself as behavior: the new policy then keeps it and "
                "never takes a decision that it could not take.",
            )
        if (self.propensity >= 1).all():
            raise _deterministic(self.n, self.n)

    def _set_propensity(self, values: Any) -> None:
        propensity = as_floats(one_column(values, "propensity"), "propensity")
        self._check_length(propensity, "propensity")
        wrong = ~(np.isfinite(propensity) & (propensity > 0) & (propensity <= 1))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"propensity must be in (0, 1]. Got {propensity[row]!r} in row {row} "
                f"({wrong.sum()} such rows).",
                hint="it is the probability with which the behaviour model took the decision that "
                "is logged in the row.",
            )
        if self.propensity is not None:
            apart = np.abs(propensity - self.propensity)
            if (apart > TOLERANCE).any():
                row = int(np.argmax(apart))
                raise DataError(
                    f"propensity and behavior disagree: in row {row}, propensity is "
                    f"{propensity[row]:.6g} and behavior says {self.propensity[row]:.6g}.",
                    hint="pass only one of them, the one that describes how decisions were made.",
                )
            return
        certain = propensity >= 1
        if certain.any() and self.behavior_model is None:
            raise _deterministic(int(certain.sum()), self.n)
        self.propensity = propensity
        if self.decision_index is not None and self.classes.size == 2:
            # With two classes the logged propensity says all: the other decision has the rest.
            taken = self.decision_index == np.arange(2)[:, None]
            self.behavior = np.where(taken, propensity, 1 - propensity).T

    def _check_names(self) -> None:
        for name in self.sensitive.keys() & set(self.feature_names):
            feature = self.features[:, self.feature_names.index(name)]
            if not _equal(self.sensitive[name], feature):
                raise DataError(
                    f"'{name}' is both a feature and a sensitive feature, with different values.",
                    hint="rename one of them, so that a condition can name either.",
                )


def behavior_probabilities(
    model: BehaviorModel, X: Any, classes: Array
) -> NDArray[np.float64]:
    """What a fitted behaviour model says about X, in the order of the given classes."""
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    order = np.asarray(model.classes_)
    ordered = np.zeros((probabilities.shape[0], classes.size))
    for j, name in enumerate(order):
        place = np.flatnonzero(classes == name)
        if place.size:
            ordered[:, place[0]] = probabilities[:, j]
        elif (probabilities[:, j] > 0).any():
            raise DataError(
                f"the behaviour model knows a class {name!r} that is not among the classes: "
                f"{_listed(classes)}.",
                hint="classes are the values of y: do they lack one that was decided?",
            )
    return ordered


def read_features(X: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Features as a matrix of finite floats, and their names (x0, x1, ... where they have none).

    Examples
    --------
    >>> read_features([[1, 2], [3, 4]])
    (array([[1., 2.],
            [3., 4.]]), ['x0', 'x1'])
    """
    from sklearn.utils import check_array

    names = None
    if not isinstance(X, np.ndarray | list | tuple) and not hasattr(X, "tocsr"):
        columns = named_columns(X, "X", default="x")
        for name, column in columns.items():
            _check_numeric(column, f"feature '{name}'")
        names = list(columns)
        if columns:
            X = np.column_stack([as_floats(column, f"feature '{n}'") for n, column in columns.items()])
    try:
        features = check_array(X, dtype=np.float64, input_name="X", ensure_all_finite=False)
        if not np.isfinite(features.sum()):  # one pass; look closer only where something is wrong
            _check_finite(features, names)
    except TypeError as error:
        raise FeatureTypeError(str(error), hint="X must be a dense table of numbers.") from None
    except DataError:
        raise
    except ValueError as error:
        raise DataError(str(error), hint="X must be a dense table of numbers.") from None
    return features, names or [f"x{j}" for j in range(features.shape[1])]


def _check_finite(features: NDArray[np.float64], names: list[str] | None) -> None:
    bad = ~np.isfinite(features)
    if bad.any():
        names = names or [f"x{j}" for j in range(features.shape[1])]
        shown = [name for name, column in zip(names, bad.T, strict=True) if column.any()]
        raise DataError(
            f"Input X contains NaN or infinity in {bad.any(axis=1).sum()} of {len(bad)} rows "
            f"(columns: {_listed(shown)}).",
            hint="impute or drop those rows; fit an imputer on the candidate half only.",
        )


def _check_numeric(column: Array, what: str) -> None:
    if column.dtype.kind in "OUS":
        odd = [v for v in column.tolist() if v is not None and not isinstance(v, int | float)]
        if odd:
            raise DataError(
                f"{what} holds text or objects, such as {odd[0]!r}; features must be numbers.",
                hint="encode it first (for example with OneHotEncoder), or leave it to "
                "sensitive_features.",
            )


def _deterministic(rows: int, n: int) -> DataError:
    return DataError(
        f"propensity is exactly 1 in {rows} of {n} rows: those decisions were deterministic, so the "
        "impact of any other decision cannot be identified there.",
        hint="log decisions that were sampled; or, where only some rows are certain, pass the "
        "fitted model as behavior, so that the new policy never leaves its support.",
    )


def _equal(first: Array, second: Array) -> bool:
    try:
        return bool(np.array_equal(first.astype(np.float64), second.astype(np.float64)))
    except (TypeError, ValueError):
        return False


def _listed(values: Any, most: int = 10) -> str:
    shown = [str(value) for value in list(values)[:most]]
    return ", ".join(shown) + (", ..." if len(values) > most else "")
