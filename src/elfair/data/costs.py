"""What ``E[cost]`` averages: the cost of each decision for each label, or for each person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from elfair.certificate.parts import CostOf
from elfair.data.columns import (
    as_floats,
    check_length,
    check_size,
    named_columns,
    one_column,
    positions,
    refuse,
    text_or_numbers,
)
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Floats

if TYPE_CHECKING:
    from elfair.data.table import LoggedData

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


def read_person_cost(costs: Any, data: LoggedData) -> tuple[Floats, CostOf]:
    """What each decision costs for each person, of shape (n, classes), and what the columns said.

    Parameters
    ----------
    costs : array, series, mapping or data frame
        One column for each decision, by name, or in the order of the classes; or a single column:
        the cost of a wrong decision. (A right one then costs nothing.)
    data : LoggedData
        The rows, with labels and classes.

    Examples
    --------
    >>> from elfair.data import LoggedData
    >>> data = LoggedData([[0.0], [1.0]], [0, 1])
    >>> read_person_cost({1: [2.0, 3.0], 0: [0.0, 9.0]}, data)
    (array([[0., 2.],
           [9., 3.]]), 'decision')
    >>> read_person_cost([5.0, 7.0], data)
    (array([[0., 5.],
           [7., 0.]]), 'error')
    """
    if data.decision_kind == "numbers" or not data.classes.size:
        raise DataError(
            "person_cost needs decisions that are classes, which y, decision or classes= tell.",
            hint="where decisions are numbers, pass what they cost as an impact.",
        )
    if data.cost is not None or COST in data.impacts:
        other = "an impact called 'cost'" if data.cost is None else "cost="
        raise DataError(
            f"both {other} and person_cost were given: E[cost] could mean either.",
            hint="pass one of them, or give the impact another name.",
        )
    if not isinstance(costs, Mapping) and len(np.shape(costs)) != 2:
        return _of_errors(_checked(one_column(costs, "person_cost"), "", data), data), "error"
    if isinstance(costs, list | np.ndarray):  # the columns have no names
        array = np.asarray(costs)
        named: dict[Any, Any] = dict(enumerate(array.T))
        if len(named) == data.classes.size:
            named = dict(zip(data.classes.tolist(), array.T, strict=True))
    else:
        texts = {str(each): each for each in data.classes.tolist()}  # a frame has text as names
        columns = costs
        if not isinstance(costs, Mapping):
            columns = named_columns(costs, "person_cost", default=COST)
        named = {texts.get(str(name), name): column for name, column in columns.items()}
    ordered = _ordered(named, data.classes, "decisions of person_cost")
    pairs = zip(data.classes.tolist(), ordered, strict=True)
    checked = [_checked(column, f" of decision {name!r}", data) for name, column in pairs]
    return np.column_stack(checked), "decision"


def _checked(column: Any, of: str, data: LoggedData) -> Floats:
    what = f"person_cost{of}"
    values = as_floats(one_column(column, what), what, hint="a cost is a number.")
    check_length(values, data.n, what)
    wrong = ~np.isfinite(values)
    refuse(wrong, f"{what} is missing or infinite", "every person needs a cost, which may be 0.")
    check_size(values, what)
    return values


def _of_errors(column: Floats, data: LoggedData) -> Floats:
    """The cost of each decision, from that of a wrong one."""
    if data.label_index is None or (data.label_index < 0).any():
        raise DataError(
            "person_cost is one column, the cost of a wrong decision, and y does not tell for "
            "everyone which one is wrong.",
            hint="pass the cost of each decision: person_cost={decision: column, ...}.",
        )
    wrong = data.label_index[:, None] != np.arange(data.classes.size)
    return np.asarray(column[:, None] * wrong)


def check_person_cost(costs: Floats, low: float, high: float) -> None:
    """Raise if costs leave the range that was declared for them.

    Parameters
    ----------
    costs : ndarray of shape (n, classes)
        What each decision costs for each person; NaN where that is hidden before the test.
    low, high : float
        The range.

    Examples
    --------
    >>> check_person_cost(np.array([[0.0, 2.0], [np.nan, np.nan]]), 0, 1)
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: the cost leaves its declared range [0, 1]: it goes from 0 to 2.
    Hint: the declaration is wrong: widen the range to all that a decision could cost anybody.
    """
    seen = costs[~np.isnan(costs)]
    if seen.size and not low <= seen.min() <= seen.max() <= high:
        raise DataError(
            f"the cost leaves its declared range [{low:g}, {high:g}]: it goes from {seen.min():g} "
            f"to {seen.max():g}.",
            hint="the declaration is wrong: widen the range to all that a decision could cost "
            "anybody.",
        )


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
