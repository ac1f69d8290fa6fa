"""What is deployed of a model from elsewhere: usually a cut-off, not probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.data.columns import as_floats, check_length, is_missing, one_column, refuse
from elfair.errors import InputError, listed
from elfair.records.text import exact
from elfair.types import Array, Floats

#: What a certificate says of a model whose probabilities are all 0 or 1.
DETERMINISTIC = "one decision for each person: all probabilities are 0 or 1"


@dataclass(frozen=True)
class Cutoff:
    """The decisions of a cut-off, as `certify` and `verify` take them.

    Parameters
    ----------
    chosen : ndarray of bool
        About whom the larger of two decisions is taken.
    rule : str
        The cut-off in words, which the certificate repeats.

    Examples
    --------
    >>> cutoff([0.2, 0.9], 0.5).rule
    'the larger decision if the score is at least 0.5, and else the other'
    """

    chosen: Array
    rule: str

    @property
    def probabilities(self) -> Floats:
        """The probability of the larger decision: 0 or 1."""
        return self.chosen.astype(np.float64)


def cutoff(
    scores: Any, at: float | Mapping[Any, float], *, by: Any = None, decision: str = ""
) -> Cutoff:
    """What a cut-off on scores decides, to be tested by `certify` as it is deployed.

    A model that draws its decisions from probabilities and one that compares these with 0.5 are
    different models, with different error rates and impacts.

    Parameters
    ----------
    scores : array of shape (n,)
        The model's score of each person: a probability, or any other number. A person whose score
        is at least the cut-off gets the larger of two decisions (1 of 0 and 1).
    at : float or mapping
        The cut-off; or one for each group, as ``{"A": 0.5, "B": 0.4}``.
    by : array of shape (n,), optional
        The group of each person, if cut-offs differ.
    decision : str, optional
        What the larger decision is called, for the certificate.

    Returns
    -------
    Cutoff
        Pass it to `certify` in the place of probabilities.

    Examples
    --------
    >>> cutoff([0.2, 0.9, 0.45], {"A": 0.5, "B": 0.4}, by=["A", "A", "B"]).probabilities
    array([0., 1., 1.])
    >>> cutoff([0.2, float("nan")], 0.5)
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: a score is missing or infinite in 1 of 2 rows (the first is row 1).
    Hint: say what is decided about people without a score, and give them one.
    """
    values = as_floats(one_column(scores, "scores"), "scores")
    refuse(
        ~np.isfinite(values),
        "a score is missing or infinite",
        "say what is decided about people without a score, and give them one.",
    )
    limits, words = _limits(at, by, len(values))
    refuse(
        values == limits,
        "a score is exactly at the cut-off",
        "put the cut-off between scores, so that 'at least' and 'above' mean the same.",
    )
    what = f"decision {decision!r}" if decision else "the larger decision"
    return Cutoff(values >= limits, f"{what} if the score is at least {words}, and else the other")


def _limits(at: Any, by: Any, n: int) -> tuple[Floats, str]:
    """The cut-off of each person, and all of them in words."""
    if not isinstance(at, Mapping):
        if by is not None:
            raise InputError(
                f"by was given, but the cut-off is one number: {at!r}.",
                hint="pass a cut-off for each group, such as {'A': 0.5, 'B': 0.4}.",
            )
        return np.full(n, _number(at)), exact(_number(at))
    if by is None:
        raise InputError(
            "cut-offs by group were given without the groups.", hint="pass by=, a column of groups."
        )
    groups = one_column(by, "by")
    check_length(groups, n, "by")
    known = [*at]
    unknown = np.array([each not in known for each in groups.tolist()]) | is_missing(groups)
    refuse(unknown, f"by is none of {listed(known)}", "name a cut-off for every group.")
    limits = np.array([_number(at[each]) for each in groups.tolist()])
    return limits, ", ".join(f"{exact(_number(value))} for {name}" for name, value in at.items())


def _number(value: Any) -> float:
    plain = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not plain or not np.isfinite(value):
        raise InputError(
            f"a cut-off must be a finite number. Got {value!r} instead.",
            hint="for example: cutoff(scores, 0.5).",
        )
    return float(value)


def plain_probabilities(given: Any) -> tuple[Any, str]:
    """The probabilities of what was given to `certify`, and the rule of a cut-off if it is one.

    Parameters
    ----------
    given : array, data frame or Cutoff
        What was given.
    """
    if isinstance(given, Cutoff):
        return given.probabilities, given.rule
    if hasattr(given, "predict_proba") or hasattr(given, "predict"):
        raise InputError(
            f"certify takes what a model decides about these people. Got the model itself, "
            f"{type(given).__name__}.",
            hint="pass model.predict_proba(X) if decisions are drawn from its probabilities, or "
            "elfair.cutoff(model.predict_proba(X)[:, 1], 0.5) if a cut-off decides.",
        )
    return given, ""
