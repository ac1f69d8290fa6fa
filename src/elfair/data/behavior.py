"""How the logged decisions were drawn: propensities, and the behaviour model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from elfair.data import columns
from elfair.data.asking import in_terms, place
from elfair.data.columns import LARGEST, as_floats, check_length, one_column, refuse
from elfair.errors import DataError, listed
from elfair.records.allowed import is_number
from elfair.types import Array, Booleans, Floats

#: How far probabilities may be from a sum of 1, or two values of one probability from each other.
TOLERANCE = 1e-6


@runtime_checkable
class FittedClassifier(Protocol):
    """A fitted model that made the logged decisions."""

    classes_: Any

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, one row for each row of X."""


#: What ``propensity`` says if nobody logged it.
ESTIMATED = "estimated"


@dataclass(frozen=True)
class Unlogged:
    """How propensities that nobody logged are to be estimated.

    Parameters
    ----------
    classifier : unfitted scikit-learn classifier, optional
        The form of the behaviour model; by default the best of a few.
    trim : float, default 0
        Statements are about people for whom no decision has a smaller estimated probability.

    Examples
    --------
    >>> Unlogged(trim=0.05).described
    'the best of a few forms'
    """

    classifier: Any = None
    trim: float = 0.0

    @property
    def described(self) -> str:
        """What was asked for, for people."""
        shown = " ".join(repr(self.classifier).split())
        return "the best of a few forms" if self.classifier is None else shown


def is_estimated(propensity: Any) -> bool:
    """Whether propensities are to be estimated.

    Examples
    --------
    >>> is_estimated("estimated"), is_estimated(0.5)
    (True, False)
    """
    return isinstance(propensity, str) and propensity == ESTIMATED


def read_unlogged(propensity: Any, behavior: Any, trim: Any, count: int) -> Unlogged | None:
    """Whether propensities are to be estimated, and how; None if they are known.

    Parameters
    ----------
    propensity, behavior, trim
        See `elfair.LoggedData`.
    count : int
        The number of classes.
    """
    asked = is_estimated(propensity)
    unfitted = _is_unfitted(behavior)
    if not (asked or unfitted):
        if trim:
            raise DataError(
                f"trim is {trim!r}, but propensities are not estimated.",
                hint=f"trim goes with propensity='{ESTIMATED}'; otherwise leave it out.",
            )
        return None
    beside = behavior if asked and not unfitted else propensity if not asked else None
    if beside is not None:
        raise DataError(
            "propensities are to be estimated, and known ones were given beside that.",
            hint="pass only the one that describes how decisions were made.",
        )
    trim = 0.0 if trim is None else trim
    if not (is_number(trim) and 0 <= trim < 1 / max(2, count)):
        raise DataError(
            f"trim must be a number from 0 to below 1 / {max(2, count)}, the number of decisions. "
            f"Got {trim!r} instead.",
            hint="trim=0.05 leaves out people for whom some decision has a probability below 5 %.",
        )
    return Unlogged(behavior if unfitted else None, float(trim))


def _is_unfitted(behavior: Any) -> bool:
    """Whether it is a classifier that was not fitted."""
    known = hasattr(behavior, "predict_proba") and hasattr(behavior, "get_params")
    return known and not isinstance(behavior, FittedClassifier)


def require_estimable(data: Any, label_seen_for: Any = None) -> None:
    """Raise if there is nothing to estimate propensities from, or if known ones are needed."""
    if data.decision is None:
        raise DataError(
            "propensity='estimated' was given without the decision.",
            hint="pass decision=, the logged decisions.",
        )
    if data.decision_kind == "numbers":
        raise DataError(
            "propensity='estimated' needs decisions that are classes; here they are numbers.",
            hint="give behavior_mean and behavior_spread, or make classes of the numbers.",
        )
    if data.unseen is not None and data.unseen.how == "worst case":
        raise DataError(
            "missing_impact='worst case' needs propensities that are known; these are estimated.",
            hint="declare missing_impact='at random', if that is so.",
        )
    if label_seen_for is not None:
        raise DataError(
            "label_seen_for needs propensities that are known; these are estimated.",
            hint="log propensities; or ask for nothing that needs labels, and leave y out.",
        )


def read_behavior(
    behavior: Any, X: Any, n: int, classes: Array
) -> tuple[FittedClassifier | None, Floats]:
    """The behaviour model (None if only its probabilities are given), and its probability of every
    class for each of n rows.

    Parameters
    ----------
    behavior : fitted model, array or data frame of shape (n, classes)
        Columns of a data frame with the names of the classes are read by name.
    X : array or data frame
        The rows to ask a model about.
    n : int
        The required number of rows.
    classes : ndarray
        The classes, sorted.

    Examples
    --------
    >>> read_behavior([[0.25, 0.75]], None, 1, np.array([0, 1]))
    (None, array([[0.25, 0.75]]))
    """
    if isinstance(behavior, FittedClassifier):
        probabilities = behavior_probabilities(behavior, X, classes)
        check_length(probabilities, n, "predict_proba of the behaviour model")
        return behavior, probabilities
    if hasattr(behavior, "predict_proba"):
        raise DataError(
            f"behavior must be a fitted model. Got {behavior!r}, which has no classes_.",
            hint="fit it first, or pass its probabilities.",
        )
    table = probability_columns(behavior, "behavior", classes)
    if table.shape != (n, classes.size):
        raise DataError(
            f"behavior must have shape ({n}, {classes.size}): a probability for each row and each "
            f"class ({listed(classes)}). Got shape {table.shape}.",
            hint="pass the behaviour model itself, or the output of its predict_proba in the order "
            "of the sorted classes.",
        )
    probabilities = distributions(table, "behavior")
    refuse(
        np.any(probabilities <= 0, axis=1),
        "behavior gives probability 0 to some decision",
        "pass the fitted model itself as behavior: the new policy then keeps it and never takes a "
        "decision that the model could not take.",
        because="the impact of that decision cannot be identified there",
    )
    return None, probabilities


def behavior_probabilities(model: FittedClassifier, X: Any, classes: Array) -> Floats:
    """The probabilities that a fitted behaviour model predicts for X, by the given classes.

    Parameters
    ----------
    model : FittedClassifier
        Its own classes may be in any order, and may lack some of the given ones.
    X : array or data frame
        The rows to ask it about.
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
    said = distributions(said, "behavior")
    places = columns.positions(known, classes)
    stray = (places < 0) & (said > 0).any(axis=0)
    if stray.any():
        raise DataError(
            f"the behaviour model takes decisions that are not among the classes: "
            f"{listed(known[stray])}. Classes: {listed(classes)}.",
            hint=columns.text_or_numbers(known[stray][0], classes)
            or "the classes are the values of y: is one of the decisions missing there?",
        )
    ordered = np.zeros((len(said), classes.size))
    ordered[:, places[places >= 0]] = said[:, places >= 0]
    return ordered


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
    hint = "it is the probability with which the behaviour model took the logged decision."
    got = listed(dict.fromkeys(propensity[wrong].tolist()), 5)
    refuse(wrong, f"propensity must be in (0, 1]. Got {got}", hint)
    small = propensity < 1 / LARGEST
    refuse(small, f"propensity is below {1 / LARGEST:g}, too small to compute with", hint)
    return propensity


def check_agreement(propensity: Floats, expected: Floats) -> None:
    """Raise if propensities are not those of the behaviour model.

    Examples
    --------
    >>> check_agreement(np.array([0.5]), np.array([0.5 + 1e-9]))
    """
    apart = np.abs(propensity - expected)
    # A small probability must also agree in proportion, because the weight 1/p matters.
    wrong = apart > np.minimum(TOLERANCE, 0.01 * expected)
    if wrong.any():
        row = int(np.argmax(np.where(wrong, apart / expected, 0)))
        raise DataError(
            f"propensity and behavior disagree in {wrong.sum():,} of {wrong.size:,} rows: in "
            f"{place(row)}, propensity is "
            f"{propensity[row]:.6g} and behavior says {expected[row]:.6g}.",
            hint="pass only the one that describes how decisions were made.",
        )


def check_not_certain(certain: Booleans, *, masked: bool) -> None:
    """Raise if decisions were deterministic: no other decision can then be judged.

    Parameters
    ----------
    certain : ndarray of bool
        The rows whose decision had probability 1.
    masked : bool
        Whether the policy keeps the behaviour model and never leaves its support. Some rows may
        then be certain, but not all.

    Examples
    --------
    >>> check_not_certain(np.array([True, False]), masked=True)
    """
    if certain.all() or not masked:
        refuse(
            certain,
            "propensity is exactly 1",
            in_terms(
                "log sampled decisions; or, if only some rows are certain, pass the fitted model "
                "as behavior, and the new policy will never leave its support.",
                study="log sampled decisions; or, if only some people were certain of theirs, "
                "leave them out by a condition of keep in [rows] on what was known before.",
            ),
            because="those decisions were deterministic, so the impact of any other decision "
            "cannot be identified there",
        )


def probability_columns(values: Any, name: str, classes: Array) -> Floats:
    """A table of probabilities. The columns of a data frame that are called like the classes are
    taken by name.
    """
    table = columns.named_columns(values, name, default=name)
    names = [str(each) for each in classes]
    if set(names) == set(table):
        table = {each: table[each] for each in names}
    return np.column_stack([as_floats(column, name) for column in table.values()])


def distributions(table: Floats, name: str) -> Floats:
    """Rows of probabilities, scaled to sum to 1 exactly; raise if they are none."""
    wrong = ~((table >= 0).all(axis=1) & np.isfinite(table).all(axis=1))
    problem = f"{name} must hold numbers from 0 to 1. Got negative, missing or infinite values"
    refuse(np.asarray(wrong), problem, "each row is a distribution over the classes.")
    total = table.sum(axis=1, keepdims=True)
    off = np.abs(total[:, 0] - 1)
    row = int(np.argmax(off)) if off.size else 0
    refuse(
        off > TOLERANCE,
        f"each row of {name} must sum to 1. It does not",
        "pass probabilities, not scores.",
        because=f"{place(row)} sums to {total[row, 0]:.6g}" if off.size else "",
    )
    return np.asarray(table / total)
