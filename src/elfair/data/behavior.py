"""How the logged decisions were drawn: propensities, and the behaviour model."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from elfair.data.columns import as_floats, check_length, named_columns, one_column, positions
from elfair.errors import DataError, listed
from elfair.types import Array, Floats

#: How far probabilities may miss a sum of 1, or two statements of one probability differ.
TOLERANCE = 1e-6


@runtime_checkable
class BehaviorModel(Protocol):
    """A fitted model that made the logged decisions."""

    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, one row for each row of X."""


def read_behavior(
    behavior: Any, X: Any, n: int, classes: Array
) -> tuple[BehaviorModel | None, Floats]:
    """The behaviour model, if it is one, and its probability of every class for each of n rows.

    Parameters
    ----------
    behavior : fitted model, array or data frame of shape (n, classes)
        Columns of a data frame that are called like the classes are taken by name.
    X : array or data frame
        What a model is asked about.
    n : int
        How many rows there must be.
    classes : ndarray
        The classes, sorted.

    Examples
    --------
    >>> read_behavior([[0.25, 0.75]], None, 1, np.array([0, 1]))
    (None, array([[0.25, 0.75]]))
    """
    if isinstance(behavior, BehaviorModel):
        probabilities = behavior_probabilities(behavior, X, classes)
        check_length(probabilities, n, "predict_proba of the behaviour model")
        return behavior, probabilities
    if hasattr(behavior, "predict_proba"):
        raise DataError(
            f"behavior must be a fitted model. Got {behavior!r}, which has no classes_.",
            hint="fit it first, or pass the probabilities that it gave.",
        )
    columns = named_columns(behavior, "behavior", default="behavior")
    names = [str(name) for name in classes]
    if set(names) == set(columns):
        columns = {name: columns[name] for name in names}
    table = np.column_stack([as_floats(column, "behavior") for column in columns.values()])
    if table.shape != (n, classes.size):
        raise DataError(
            f"behavior must be of shape ({n}, {classes.size}): a probability for each row and each "
            f"class ({listed(classes)}). Got shape {table.shape}.",
            hint="pass the behaviour model itself, or its predict_proba in the order of the sorted "
            "classes.",
        )
    probabilities = _distributions(table)
    unsupported = (probabilities <= 0).any(axis=1)
    if unsupported.any():
        raise DataError(
            f"behavior gives probability 0 to some decision in {unsupported.sum()} of {n} rows: "
            "the impact of that decision cannot be identified there.",
            hint="pass the fitted model itself as behavior: the new policy then keeps it and never "
            "takes a decision that it could not take.",
        )
    return None, probabilities


def behavior_probabilities(model: BehaviorModel, X: Any, classes: Array) -> Floats:
    """What a fitted behaviour model says about X, in the order of the given classes.

    Parameters
    ----------
    model : BehaviorModel
        Its own classes may come in any order, and lack some of the given ones.
    X : array or data frame
        What it is asked about.
    classes : ndarray
        The classes, sorted.

    Returns
    -------
    ndarray of shape (n, classes)

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0], [0]], ["no", "yes", "yes", "yes"])
    >>> behavior_probabilities(model, [[0]], np.array(["maybe", "no", "yes"], dtype=object))
    array([[0.  , 0.25, 0.75]])
    """
    known = one_column(model.classes_, "classes_ of the behaviour model")
    said = np.asarray(model.predict_proba(X), dtype=np.float64)
    if said.ndim != 2 or said.shape[1] != known.size:
        raise DataError(
            "predict_proba of the behaviour model must give a probability for each of its "
            f"{known.size} classes. Got shape {said.shape}.",
            hint="pass the probabilities themselves as behavior.",
        )
    said = _distributions(said)
    places = positions(known, classes)
    stray = (places < 0) & (said > 0).any(axis=0)
    if stray.any():
        raise DataError(
            f"the behaviour model takes decisions that are not among the classes: "
            f"{listed(known[stray])}. Classes: {listed(classes)}.",
            hint=text_or_numbers(known[stray][0], classes)
            or "classes are the values of y: do they lack one that was decided?",
        )
    ordered = np.zeros((len(said), classes.size))
    ordered[:, places[places >= 0]] = said[:, places >= 0]
    return ordered


def logged_propensity(probabilities: Floats, decision: NDArray[np.intp]) -> Floats:
    """The probability of the decision that was logged in each row.

    Examples
    --------
    >>> logged_propensity(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0]))
    array([0.75, 0.5 ])
    """
    propensity: Floats = probabilities[np.arange(len(decision)), decision]
    impossible = propensity <= 0
    if impossible.any():
        raise DataError(
            "behavior gives probability 0 to the decision that was logged, in "
            f"{impossible.sum()} of {len(decision)} rows (the first is row "
            f"{np.flatnonzero(impossible)[0]}).",
            hint="these probabilities are not those of the model that decided.",
        )
    return propensity


def read_propensity(values: Any, n: int) -> Floats:
    """The propensities of n rows, each in (0, 1].

    Examples
    --------
    >>> read_propensity([0.5, 1], 2)
    array([0.5, 1. ])
    """
    propensity = as_floats(one_column(values, "propensity"), "propensity")
    check_length(propensity, n, "propensity")
    wrong = ~((propensity > 0) & (propensity <= 1))
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise DataError(
            f"propensity must be in (0, 1]. Got {propensity[row]:g} in row {row} ({wrong.sum()} of "
            f"{n} rows are wrong).",
            hint="it is the probability with which the behaviour model took the decision that is "
            "logged in the row.",
        )
    return propensity


def check_agreement(propensity: Floats, expected: Floats) -> None:
    """Raise where propensities are not those that the behaviour model gives.

    Examples
    --------
    >>> check_agreement(np.array([0.5]), np.array([0.5 + 1e-9]))
    """
    apart = np.abs(propensity - expected)
    # A small probability must agree in proportion as well: it is the weight 1/p that matters.
    wrong = apart > np.minimum(TOLERANCE, 0.01 * expected)
    if wrong.any():
        row = int(np.argmax(np.where(wrong, apart / expected, 0)))
        raise DataError(
            f"propensity and behavior disagree in {wrong.sum()} rows: in row {row}, propensity is "
            f"{propensity[row]:.6g} and behavior says {expected[row]:.6g}.",
            hint="pass only one of them, the one that describes how decisions were made.",
        )


def check_not_certain(certain: NDArray[np.bool_], *, masked: bool) -> None:
    """Raise where decisions were deterministic, so that no other decision can be judged.

    Parameters
    ----------
    certain : ndarray of bool
        The rows in which the decision had probability 1.
    masked : bool
        Whether the policy keeps the behaviour model and never leaves its support; some rows may
        then be certain, but not all.

    Examples
    --------
    >>> check_not_certain(np.array([True, False]), masked=True)
    """
    if certain.all() or (certain.any() and not masked):
        raise DataError(
            f"propensity is exactly 1 in {certain.sum()} of {certain.size} rows: those decisions "
            "were deterministic, so the impact of any other decision cannot be identified there.",
            hint="log decisions that were sampled; or, where only some rows are certain, pass the "
            "fitted model as behavior, so that the new policy never leaves its support.",
        )


def text_or_numbers(value: object, classes: Array) -> str | None:
    """The hint for a class that is unknown because it is text among numbers, or the other way.

    Examples
    --------
    >>> text_or_numbers("0", np.array([0, 1]))
    "text and numbers differ, '0' is not 0: write both alike."
    """
    if isinstance(value, str) != isinstance(classes[0], str):
        return "text and numbers differ, '0' is not 0: write both alike."
    return None


def _distributions(table: Floats) -> Floats:
    """Rows that sum to 1, exactly so where they missed it by rounding."""
    wrong = ~((table >= 0).all(axis=1) & np.isfinite(table).all(axis=1))
    if wrong.any():
        raise DataError(
            "behavior must hold probabilities. Got negative, missing or infinite values in "
            f"{wrong.sum()} of {len(table)} rows (the first is row {np.flatnonzero(wrong)[0]}).",
            hint="each row is a distribution over the classes.",
        )
    total = table.sum(axis=1, keepdims=True)
    if (np.abs(total - 1) > TOLERANCE).any():
        row = int(np.argmax(np.abs(total - 1)))
        raise DataError(
            f"each row of behavior must sum to 1. Row {row} sums to {total[row, 0]:.6g}.",
            hint="pass probabilities, not scores.",
        )
    return np.asarray(table / total)
