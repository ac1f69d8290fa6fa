"""A documented lottery: probabilities of decisions that are declared, not logged row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.certificate.parts import ChanceRecord
from elfair.data.columns import positions, refuse
from elfair.errors import DataError, did_you_mean, listed
from elfair.language.conditions import EVERYONE, Column, Compare, Literal
from elfair.language.evaluation import DataLike, is_missing
from elfair.records.allowed import is_number
from elfair.types import Array, Floats

#: The key that names the column of strata.
BY = "by"
#: How far declared probabilities may be from a sum of 1: they were rounded to three digits or more.
ROUNDED = 1e-3


@dataclass(frozen=True)
class Lottery:
    """How decisions were drawn: for everyone alike, or by stratum.

    Parameters
    ----------
    chances : ndarray of shape (strata, classes)
        The probability of each decision, in the order of the sorted classes.
    by : str or None
        The column of strata; None if everyone had the same chances.
    strata : tuple
        Its values, one for each line of ``chances``.

    Examples
    --------
    >>> read_lottery({"by": "sex", "f": 0.75, "m": 0.5}, np.array([0, 1])).conditions
    ("sex == 'f'", "sex == 'm'")
    """

    chances: Floats
    by: str | None = None
    strata: tuple[Any, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """Whom each line of chances is about."""
        if self.by is None:
            return (EVERYONE,)
        return tuple(_condition(self.by, value) for value in self.strata)

    def behavior(self, data: DataLike) -> Floats:
        """The probability of every decision, for each row.

        Parameters
        ----------
        data : LoggedData
            The rows; the column of strata is one of its features or sensitive features.
        """
        if self.by is None:
            return np.repeat(self.chances, data.n, axis=0)
        if self.by not in data.names:
            raise DataError(
                f"propensity differs by '{self.by}', which must be a feature or a sensitive "
                f"feature. These are {listed(data.names)}.",
                hint=did_you_mean(self.by, data.names, "pass it in sensitive_features, too."),
            )
        column = data.column(self.by)
        hint = f"the chances of a person depend on '{self.by}': find out what it was."
        refuse(is_missing(column), f"'{self.by}', by which propensity differs, is missing", hint)
        known = {value: place for place, value in enumerate(self.strata)}
        place = np.array([known.get(value, -1) for value in column.tolist()], dtype=np.intp)
        other = column[place < 0][:1]
        hint = f"declare the chances of each value of '{self.by}'; now these are declared: "
        refuse(
            place < 0,
            f"propensity says nothing about '{self.by}' being {listed(other)}, which it is",
            hint + listed(self.strata) + ".",
        )
        return self.chances[place]

    def records(self, classes: Array) -> tuple[ChanceRecord, ...]:
        """What a certificate says of it.

        Parameters
        ----------
        classes : ndarray
            The classes, sorted.
        """
        return tuple(
            ChanceRecord(condition, str(decision), chance)
            for condition, line in zip(self.conditions, self.chances.tolist(), strict=True)
            for decision, chance in zip(classes, line, strict=True)
        )


def is_lottery(propensity: Any) -> bool:
    """Whether propensities are declared: as a number, by decision, or by stratum.

    Examples
    --------
    >>> is_lottery(0.5), is_lottery({0: 0.25, 1: 0.75}), is_lottery({"by": "sex", "f": 0.5})
    (True, True, True)
    >>> is_lottery([0.5, 0.5]), is_lottery({"p": [0.5, 0.5]})
    (False, False)
    """
    if not isinstance(propensity, Mapping):
        return is_number(propensity)
    inside = [is_number(each) or isinstance(each, Mapping) for each in propensity.values()]
    return _is_stratified(propensity) or any(inside)


def read_lottery(propensity: Any, classes: Array, positive: Any = None) -> Lottery:
    """The lottery that a number, or a mapping, declares.

    Parameters
    ----------
    propensity : float or mapping
        See `elfair.LoggedData`.
    classes : ndarray
        The classes, sorted.
    positive : object, optional
        The positive class, if the user named one.

    Examples
    --------
    >>> read_lottery(0.75, np.array([0, 1])).chances
    array([[0.25, 0.75]])
    >>> by_site = {"by": "site", 1: {"a": 0.25, "b": 0.75}, 2: 0.5}
    >>> read_lottery(by_site, np.array(["a", "b"])).chances
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    if not _is_stratified(propensity):
        return Lottery(_chances(propensity, classes, positive)[None])
    by = propensity[BY]
    # Two people who declare the same in another order declare the same.
    strata = sorted((value for value in propensity if value != BY), key=str)
    if not strata:
        raise DataError(
            f"propensity differs by '{by}', but declares the chances of none of its values.",
            hint=f"for example: propensity={{'by': '{by}', 'A': 0.5, 'B': 0.6}}",
        )
    lines = [
        _chances(propensity[value], classes, positive, f" where {_condition(by, value)}")
        for value in strata
    ]
    return Lottery(np.array(lines), by, tuple(strata))


def _is_stratified(propensity: Any) -> bool:
    return isinstance(propensity, Mapping) and isinstance(propensity.get(BY), str)


def _condition(by: str, value: Any) -> str:
    return str(Compare(Column(by), "==", Literal(value)))


def _chances(declared: Any, classes: Array, positive: Any, where: str = "") -> Floats:
    """The probability of each class, in their order."""
    if isinstance(declared, Mapping):
        return _by_decision(declared, classes, where)
    chance = _probability(declared, f"propensity{where}")
    size, every = classes.size, listed(classes)
    if size == 2 and chance != 0.5:
        place = _place_of_positive(classes, positive)
        if place is None:
            raise DataError(
                f"propensity{where} must say which decision has the probability {chance:g}. The "
                f"decisions are {every}.",
                hint=f"name both: {{{classes[0]!r}: ..., {classes[1]!r}: ...}}. (A number alone is "
                "the probability of the positive decision: of 1 if the decisions are 0 and 1, and "
                "otherwise of the class that positive names.)",
            )
        chances = np.array([1 - chance, 1 - chance])  # the other one has the rest, exactly
        chances[place] = chance
        return chances
    if size < 2 or abs(size * chance - 1) > ROUNDED + 1e-12:
        raise DataError(
            f"propensity{where} may be one number if there are two decisions, or if all have the "
            f"same probability. Got {chance:g} for {size} ({every}).",
            hint="name each decision with its probability: {decision: probability, ...}."
            if size > 1
            else "pass classes=, all decisions that were possible.",
        )
    return np.full(size, 1 / size)


def _place_of_positive(classes: Array, positive: Any) -> int | None:
    """Where the positive class is, if it was named or goes without saying."""
    if positive is None:
        return 1 if classes.tolist() == [0, 1] else None  # also false and true
    return int(np.flatnonzero(classes == positive)[0])


def _by_decision(declared: Mapping[Any, Any], classes: Array, where: str) -> Floats:
    # Objects keep what was written: '1' must not become 1.
    named = np.fromiter(declared, dtype=object, count=len(declared))
    place = positions(named, classes.astype(object))
    if sorted(place.tolist()) != list(range(classes.size)):
        alike = {str(each) for each in classes} & set(map(str, named[place < 0]))
        raise DataError(
            f"propensity{where} must name every decision ({listed(classes)}), and nothing else. "
            f"Got {listed(named) or 'none'}.",
            hint="text and numbers differ, '0' is not 0: use the same kind for both."
            if alike
            else "the decisions are the values of the label (or else of the decision), unless "
            "classes names them.",
        )
    chances = np.empty(classes.size)
    for decision, at in zip(named, place, strict=True):
        what = f"propensity{where} of decision {decision!r}"
        chances[at] = _probability(declared[decision], what)
    total = float(chances.sum())
    if abs(total - 1) > ROUNDED + 1e-12:
        raise DataError(
            f"propensity{where} must sum to 1 over the decisions. Got a sum of {total:.6g}.",
            hint="write each probability with at least four digits, such as 0.3333; a sum that "
            f"is at most {ROUNDED:g} off is taken for rounding, and scaled to 1.",
        )
    return np.asarray(chances / total)


def _probability(value: Any, what: str) -> float:
    if is_number(value) and 0 < value < 1:
        return float(value)
    raise DataError(
        f"{what} must be a number in (0, 1). Got {value!r}.",
        hint="it is the probability with which the lottery took the decision; one that nobody "
        "could get, or that everybody got, is no lottery.",
    )
