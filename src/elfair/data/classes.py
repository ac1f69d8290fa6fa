"""The classes: all decisions that exist, and which of them counts as positive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from elfair.data.columns import distinct, one_column, positions, refuse, text_or_numbers
from elfair.data.spelling import MOST_COMPARED, odd_classes
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Booleans, Index

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
        check_spelling(label, decision)
        seen, what = (decision, "decision") if label is None else (label, "y")
        return np.array([], dtype=np.intp) if seen is None else _distinct(seen, what)
    of_label, decided = _distinct(label, "y"), _distinct(decision, "decision")
    more = decided[positions(decided, of_label) < 0]
    if more.size and more.size == decided.size:
        digits = all(_DIGITS.fullmatch(str(each)) for each in (*of_label, *decided))
        raise DataError(
            f"y and decision share no value. {both_sets(of_label, decided)}",
            hint=(text_or_numbers(decided[0], of_label) if digits else None)
            or "a label is the decision that would have been right: write it in the same words, "
            "leave y out if it is something else, or name all classes in classes=.",
        )
    check_spelling(label, decision)
    return distinct(np.concatenate([of_label, more])) if more.size else of_label


def check_spelling(label: Array | None, decision: Array | None) -> None:
    """Raise if a decision or a label is probably a slip: each value would be a class of its own.

    Examples
    --------
    >>> check_spelling(None, np.array(["yes"] * 30 + ["no"] * 20 + ["Yes "], dtype=object))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: decision holds 'Yes ' in 1 of 51 rows (the first is row 50), which
    probably was meant to be 'yes'; as it is, it would be one more decision.
    Hint: correct it; if it is what it seems, name all classes: classes=['Yes ', 'no', 'yes'].
    """
    columns = {"y": label, "decision": decision}
    named = {what: column for what, column in columns.items() if column is not None}
    every = [value for each in named.values() for value in each.tolist() if value is not None]
    if not all(isinstance(value, str | int | float) for value in every):
        return  # these are no classes, as is said later
    counts = Counter(every)
    if len(counts) > MOST_COMPARED:
        return
    odd = odd_classes(counts)
    for what, column in named.items():
        here = np.array([value in odd for value in column.tolist()], dtype=np.bool_)
        if not here.any():
            continue
        value = column[here].tolist()[0]
        meant = odd[value]
        why = "stands for missing" if meant is None else f"was meant to be {meant!r}"
        named_all = sorted(counts, key=lambda each: (str(type(each)), each))
        refuse(
            np.array([each == value for each in column.tolist()], dtype=np.bool_),
            f"{what} holds {value!r}",
            f"correct it; if it is what it seems, name all classes: classes={named_all}.",
            apart=f", which probably {why}; as it is, it would be one more decision",
        )


def both_sets(label: Array, decision: Array) -> str:
    """Where classes come from that nobody named.

    Examples
    --------
    >>> both_sets(np.array([0, 1]), np.array([0, 1, 1]))
    'The classes are the values of y and decision together: y holds 0, 1; decision holds 0, 1.'
    """
    holds = [listed(_distinct(column, "")) for column in (label, decision)]
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


def _is_none(column: Array) -> Booleans:
    """Where a label was not revealed: see `elfair.data.revealed`."""
    if column.dtype.kind != "O":
        return np.zeros(column.shape, dtype=np.bool_)
    return np.array([each is None for each in column.tolist()], dtype=np.bool_)


def _distinct(column: Array, what: str) -> Array:
    known = column[~_is_none(column)]
    types = {*map(type, known)} if known.size < column.size else set()
    if len(types) == 1 and types <= {int, float, bool}:
        known = np.array(known.tolist())  # as they would be if none was missing
    try:
        return distinct(known)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column.tolist()})
        raise DataError(
            f"{what} must hold values of one kind. Got a mixture of {', '.join(kinds)}.",
            hint="write all classes as text, or all as numbers.",
        ) from None


def class_index(column: Array | None, classes: Array, what: str) -> Index | None:
    """The position of each value among the classes, -1 for None; raise if one is not among them."""
    if column is None:
        return None
    index, missing = positions(column, classes), _is_none(column)
    outside = (index < 0) & ~missing
    if outside.any():
        odd = column[outside][0]
        raise DataError(
            f"{what} holds values outside the classes in {outside.sum():,} of {column.size:,} "
            f"rows: {listed([odd])} among them. Classes: {listed(classes)}.",
            hint=text_or_numbers(odd, classes)
            or "classes= must name every decision and every label; correct the values, or "
            "drop those rows.",
        )
    return index
