"""The cost of each decision for each label: the matrix behind ``E[cost]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from elfair.data.columns import as_floats, one_column, positions, text_or_numbers
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array

#: Its name in constraints.
COST = "cost"


def read_cost(cost: Any, classes: Array) -> NDArray[np.float64]:
    """A cost matrix with one row for each label and one column for each decision.

    Parameters
    ----------
    cost : array of shape (classes, classes), mapping or data frame
        An array has the order of the sorted classes. A mapping maps each label to a mapping of
        decisions to costs. A data frame has labels as its index and decisions as its columns.
    classes : ndarray
        The sorted classes.

    Returns
    -------
    ndarray of shape (classes, classes)

    Examples
    --------
    >>> read_cost({"sick": {"send home": 9, "treat": 1}, "well": {"send home": 0, "treat": 2}},
    ...           np.array(["sick", "well"]))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: cost names 'send home', 'treat' as the decisions of label 'sick'; ...
    Hint: name each class once, as a label and as a decision.
    >>> read_cost({1: {0: 5, 1: 0}, 0: {0: 0, 1: 1}}, np.array([0, 1]))
    array([[0., 1.],
           [5., 0.]])
    """
    if not classes.size:
        raise DataError(
            "cost was given without y, decision or classes.",
            hint="pass y: a cost depends on the label.",
        )
    if isinstance(frame := nw.from_native(cost, eager_only=True, pass_through=True), nw.DataFrame):
        cost = _mapping(frame)
    if isinstance(cost, Mapping):
        table = _by_name(cost, classes)
    else:
        try:
            table = np.asarray(cost)
        except ValueError:  # rows of different lengths
            table = np.array(None)
        if table.shape != (classes.size, classes.size):
            raise DataError(
                f"cost must have shape ({classes.size}, {classes.size}), a row for each label and "
                "a column for each decision. Got "
                f"{table.shape if table.ndim else repr(cost)} instead.",
                hint=f"the classes, in order, are {listed(classes)}.",
            )
    matrix = as_floats(table.ravel(), "cost", hint="a cost is a number.").reshape(table.shape)
    if not np.isfinite(matrix).all():
        label, decision = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(
            f"cost must hold finite numbers. Got {matrix[label, decision]} for label "
            f"{listed([classes[label]])} and decision {listed([classes[decision]])}.",
            hint="every decision needs a cost for every label, which may be 0.",
        )
    return matrix


def _mapping(frame: Any) -> Mapping[Any, Any]:
    """A data frame as a mapping of labels to decisions to costs."""
    index = nw.maybe_get_index(frame)
    if index is None:
        raise DataError(
            "cost is a data frame without an index, so it does not name the labels.",
            hint="pass a mapping, cost={label: {decision: cost, ...}, ...}.",
        )
    native = nw.to_native(frame)
    lines = (dict(zip(native.columns, line, strict=True)) for line in native.to_numpy())
    return dict(zip(index, lines, strict=True))


def _by_name(cost: Mapping[Any, Any], classes: Array) -> Array:
    lines = _ordered(cost, classes, "labels")
    for line in lines:
        if not isinstance(line, Mapping):
            raise DataError(
                f"cost must give each label a mapping of decisions to costs. Got {line!r}.",
                hint="write cost={label: {decision: cost, ...}, ...}.",
            )
    table = np.empty((classes.size, classes.size), dtype=object)
    for k, line in enumerate(lines):
        table[k] = _ordered(line, classes, f"decisions of label {listed([classes[k]])}")
    return table


def _ordered(named: Mapping[Any, Any], classes: Array, what: str) -> list[Any]:
    """Values by name, in the order of the classes."""
    known, values = list(named), list(named.values())
    places = positions(one_column(known, COST), classes).tolist() if known else []
    if sorted(places) != list(range(classes.size)):
        stray = [name for name, place in zip(known, places, strict=True) if place < 0]
        hint = "name each class once, as a label and as a decision."
        if stray:
            hint = text_or_numbers(stray[0], classes) or did_you_mean(stray[0], classes, hint)
        raise DataError(
            f"cost names {listed(known) or 'nothing'} as the {what}; classes: {listed(classes)}.",
            hint=hint,
        )
    return [values[places.index(k)] for k in range(classes.size)]
