"""Labels seen only for some decisions, as repayment is known only of those who got a loan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elfair.data.columns import check_length, is_missing, one_column, refuse
from elfair.errors import DataError, InputError, listed
from elfair.types import Array, Booleans, Floats, Index

#: Words of an error about labels that are missing, and nothing was declared of them.
UNDECLARED = (
    "if only some decisions reveal the label, as only a loan shows who repays it, name them: "
    "label_seen_for=['approve']; if it is missing for another reason, leave y out, or find out "
    "what it was."
)


@dataclass(frozen=True)
class Revealed:
    """Which decisions reveal the label.

    Parameters
    ----------
    decisions : tuple
        These decisions.
    seen : ndarray of bool
        The rows with one of them: those whose label is known.
    chance : ndarray
        The probability with which the behaviour model takes one of them, for each row; NaN where it
        is not known, which only happens in rows without a label.

    Examples
    --------
    >>> Revealed(("approve",), np.array([True, False]), np.array([0.8, 0.4])).weight
    array([1.25, 0.  ])
    """

    decisions: tuple[Any, ...]
    seen: Booleans
    chance: Floats

    @cached_property
    def weight(self) -> Floats:
        """What a row counts in averages about the label: 1 / chance if it is seen, and else 0."""
        return np.divide(1.0, self.chance, out=np.zeros(self.seen.size), where=self.seen)

    @property
    def columns(self) -> Iterator[tuple[str, Array]]:
        """Everything that it adds to the table, for a fingerprint."""
        yield "label_seen_for", np.array(self.decisions, dtype=object)

    @staticmethod
    def combined(parts: Sequence[Revealed], combine: Callable[[list[Array]], Array]) -> Revealed:
        """That of a table whose columns combine those of some parts."""
        seen, chance = ([getattr(of, name) for of in parts] for name in ("seen", "chance"))
        return Revealed(parts[0].decisions, combine(seen), combine(chance))


def read_label(values: Any, n: int, decision: Array | None) -> Array:
    """A column of labels of which some are missing: these are None."""
    column = one_column(values, "y")
    check_length(column, n, "y")
    missing = np.asarray(is_missing(column), dtype=np.bool_)
    known = column[~missing]
    whole = known.dtype.kind == "f" and np.isfinite(known).all() and not (known % 1).any()
    if whole and decision is not None and decision.dtype.kind in "biu":
        known = known.astype(decision.dtype)  # a missing number makes floats of whole numbers
    label = np.full(n, None, dtype=object)
    label[~missing] = known.tolist()
    return label


def read_revealed(data: Any, decisions: Any) -> Revealed:
    """What ``label_seen_for`` declares; raise unless the labels are those of such rows.

    Parameters
    ----------
    data : LoggedData
        The table, with its propensities.
    decisions : sequence
        The decisions that reveal the label.
    """
    names = _named(data, decisions)
    missing = is_missing(data.label)
    seen = np.isin(data.decision_index, names)
    shown = listed(data.classes[names])
    refuse(
        seen & missing,
        f"y is missing, although the decision ({shown}) reveals it,",
        "label_seen_for says that everyone with such a decision has a label: wait until it is "
        "observed. Leaving these rows out would be another kind of selection.",
    )
    refuse(
        ~seen & ~missing,
        f"y is given, although the decision is not {shown},",
        "name every decision that reveals the label in label_seen_for; or, if these labels are "
        "guesses or fillers, leave them empty.",
    )
    if not seen.any():
        raise DataError(
            f"no row has a decision that reveals the label ({shown}).",
            hint="label_seen_for names the decisions after which the label is known.",
        )
    return Revealed(tuple(data.classes[names].tolist()), seen, _chances(data, names, seen))


def _named(data: Any, decisions: Any) -> Index:
    """The positions of the decisions that reveal labels, among the classes."""
    if data.label is None or data.decision_index is None:
        lacking = "y" if data.label is None else "decision"
        raise InputError(
            f"label_seen_for was given without {lacking}.",
            hint="it says which logged decisions reveal the label: pass y= and decision=.",
        )
    several = isinstance(decisions, list | tuple | set | frozenset | np.ndarray)
    given = list(decisions) if several else [decisions]
    known = data.classes.tolist()
    if not given or not all(each in known for each in given):
        raise InputError(
            f"label_seen_for must name decisions. Got {decisions!r}; decisions: "
            f"{listed(data.classes)}.",
            hint="name those after which the label is known, such as label_seen_for=['approve'].",
        )
    names = sorted({known.index(each) for each in given})
    if len(names) == len(known):
        raise InputError(
            "label_seen_for names every decision: labels are then seen for everyone.",
            hint="leave it out.",
        )
    return np.array(names, dtype=np.intp)


def _chances(data: Any, names: Index, seen: Booleans) -> Floats:
    """The probability of a decision that reveals the label."""
    if data.behavior is not None:
        chances = np.asarray(data.behavior[:, names].sum(axis=1))
        refuse(
            chances <= 0,
            "the behaviour model never takes a decision that reveals the label",
            "nothing is known about the labels of such people: leave them out, with keep in "
            "[rows] of a study file, and say so.",
        )
        return np.asarray(np.minimum(chances, 1.0))
    if data.propensity is not None and names.size == 1:
        return np.where(seen, data.propensity, np.nan)
    raise DataError(
        "label_seen_for needs the probability with which a decision that reveals the label was "
        "taken"
        + (
            ", of each row."
            if data.propensity is None
            else "; propensity= is that of one decision."
        ),
        hint="pass propensity= if decisions were drawn at random with known probabilities"
        if data.propensity is None
        else "pass behavior=, the probability of every decision.",
    )


def numbers_reveal_nothing() -> InputError:
    """The error for decisions that are numbers."""
    return InputError(
        "label_seen_for is for decisions that are classes; here they are numbers.",
        hint="leave it out, and leave out y if it is not known for everyone.",
    )
