"""The classes: all decisions that exist, and which of them counts as positive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from elfair.data.columns import distinct, one_column, positions, text_or_numbers
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Index

#: A number, also one that was read as text.
_DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


def read_classes(
    classes: Sequence[Any] | Array | None, label: Array | None, decision: Array | None
) -> Array:
    """All classes, sorted: those that are named, or else the values of label and decision together.

    Parameters
    ----------
    classes : sequence or None
        All of them, if the user names them.
    label, decision : ndarray or None
        The columns that show them.

    Examples
    --------
    >>> label, decision = np.array([0, 1, 1]), np.array([1, 0, 2])
    >>> read_classes(None, label, decision).tolist()
    [0, 1, 2]
    """
    if classes is not None:
        return _distinct(one_column(classes, "classes"), "classes")
    if label is None or decision is None:
        seen, what = (decision, "decision") if label is None else (label, "y")
        return np.array([], dtype=np.intp) if seen is None else _distinct(seen, what)
    of_label, decided = _distinct(label, "y"), _distinct(decision, "decision")
    more = decided[positions(decided, of_label) < 0]
    if not more.size:
        return of_label
    if more.size == decided.size:
        digits = all(_DIGITS.fullmatch(str(each)) for each in (*of_label, *decided))
        raise DataError(
            f"y and decision share no value. {both_sets(of_label, decided)}",
            hint=(text_or_numbers(decided[0], of_label) if digits else None)
            or "a label is the decision that would have been right: write it in the same words, "
            "leave y out if it is something else, or name all classes in classes=.",
        )
    return distinct(np.concatenate([of_label, more]))


def both_sets(label: Array, decision: Array) -> str:
    """Where classes come from that nobody named.

    Examples
    --------
    >>> both_sets(np.array([0, 1]), np.array([0, 1, 1]))
    'The classes are the values of y and decision together: y holds 0, 1; decision holds 0, 1.'
    """
    holds = [listed(distinct(column)) for column in (label, decision)]
    return (
        f"The classes are the values of y and decision together: y holds {holds[0]}; decision "
        f"holds {holds[1]}."
    )


def read_positive(positive: Any, classes: Array) -> Any:
    """The class that counts as positive; None if nobody said, and no convention tells.

    By convention, as in scikit-learn, it is 1 beside 0 or -1, and True beside False. Of other
    classes, the last one may well be the refusal: 'deny' comes after 'approve', and credit data
    often write 1 for good and 2 for bad.

    Parameters
    ----------
    positive : object or None
        The class, if the user names it.
    classes : ndarray
        All classes, sorted.

    Examples
    --------
    >>> read_positive(None, np.array([False, True])), read_positive(None, np.array([1, 2])) is None
    (np.True_, True)
    """
    if positive is None:
        return classes[-1] if classes.tolist() in ([0, 1], [-1, 1]) else None
    for known in classes:
        if known == positive:
            return known
    raise DataError(
        f"positive={positive!r} is not a class; classes: {listed(classes)}.",
        hint=(text_or_numbers(positive, classes) if classes.size else None)
        or did_you_mean(positive, classes, "name one of the classes."),
    )


def _distinct(column: Array, what: str) -> Array:
    try:
        return distinct(column)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column.tolist()})
        raise DataError(
            f"{what} must hold values of one kind. Got a mixture of {', '.join(kinds)}.",
            hint="write all classes as text, or all as numbers.",
        ) from None


def class_index(column: Array | None, classes: Array, what: str) -> Index | None:
    """The position of each value among the classes; raise if one is not among them."""
    if column is None:
        return None
    index = positions(column, classes)
    outside = index < 0
    if outside.any():
        odd = column[outside][0]
        raise DataError(
            f"{what} holds values outside the classes in {outside.sum()} of {column.size} rows: "
            f"{listed([odd])} among them. Classes: {listed(classes)}.",
            hint=text_or_numbers(odd, classes)
            or "classes= must name every decision and every label; correct the values, or "
            "drop those rows.",
        )
    return index
