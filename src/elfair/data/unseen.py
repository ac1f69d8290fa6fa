"""Impacts not seen for everyone: what is declared of them, and of whom they are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from elfair.data.columns import (
    as_floats,
    check_length,
    is_missing,
    named_columns,
    one_column,
    refuse,
)
from elfair.errors import DataError, InputError, did_you_mean, listed
from elfair.types import Array, Booleans, Floats

#: What missing impacts may be declared to be.
MissingImpact: TypeAlias = Literal["at random", "worst case"]
MISSING_IMPACT: tuple[MissingImpact, ...] = get_args(MissingImpact)
#: More standard errors than this between those followed up and those seen are no chance.
MOST_ERRORS = 5.0
#: What a row without a group is counted under.
NO_GROUP = "(missing)"

_HINT = (
    "wait until it is observed; declare missing_impact='at random' (given features, groups, "
    "decision and early=, an early outcome) or missing_impact='worst case' (within impact_range); "
    "or drop those rows if, in each group, the reasons have nothing to do with decision and impact."
)


@dataclass(frozen=True)
class Unseen:
    """What is declared about impacts that were not seen for everyone.

    Parameters
    ----------
    how : {"at random", "worst case"}
        What they are declared to be: missing at random, given features, groups, decision and early
        outcomes; or anything within the declared range.
    seen : mapping of str to ndarray of bool
        Of each impact that is missing somewhere in the table, in which rows it was seen. (NaN says
        less: check and plan hide the impacts of held-out rows with it.)
    early : mapping of str to ndarray
        Early outcomes: known of everyone, after the decision.
    follow_up : ndarray, optional
        The probability with which each row was drawn to be followed up.
    share : float, optional
        The same, if it is one number for everyone.

    Examples
    --------
    >>> Unseen("at random", {"impact": np.array([True, False])}, {}).count("impact")
    1
    """

    how: MissingImpact
    seen: Mapping[str, Booleans]
    early: Mapping[str, Floats]
    follow_up: Floats | None = None
    share: float | None = None

    def count(self, name: str) -> int:
        """In how many rows an impact is missing."""
        return int((~self.seen[name]).sum()) if name in self.seen else 0

    @property
    def columns(self) -> Iterator[tuple[str, Array]]:
        """Everything that it adds to the table, for a fingerprint."""
        yield "missing impact", np.array([self.how], dtype=object)
        yield from ((f"seen {name}", column) for name, column in self.seen.items())
        yield from ((f"early {name}", column) for name, column in self.early.items())
        if self.follow_up is not None:
            yield "follow_up", self.follow_up

    @property
    def given(self) -> str:
        """What is known of everyone that being seen may depend on, for people."""
        known = ["features", "groups", "the decision", *(f"'{name}'" for name in self.early)]
        return f"{', '.join(known[:-1])} and {known[-1]}"

    @staticmethod
    def combined(parts: Sequence[Unseen], combine: Callable[[list[Array]], Array]) -> Unseen:
        """That of a table whose columns combine those of some parts."""
        first = parts[0]
        drawn = [each.follow_up for each in parts if each.follow_up is not None]
        return Unseen(
            first.how,
            {name: combine([each.seen[name] for each in parts]) for name in first.seen},
            {name: combine([each.early[name] for each in parts]) for name in first.early},
            combine(drawn) if drawn else None,
            first.share,
        )


class MissingCount(NamedTuple):
    """How often an impact is missing in one group with one decision.

    Parameters
    ----------
    group, decision : str
        Who; empty if there are no groups, or if decisions are no classes.
    n, missing : int
        How many rows there are, and how many of them lack the impact.
    """

    group: str
    decision: str
    n: int
    missing: int


def missing_counts(data: Any, name: str) -> list[MissingCount]:
    """How often an impact is missing, by group and decision.

    Examples
    --------
    >>> from elfair import LoggedData
    >>> data = LoggedData(
    ...     [[0.0], [1.0], [2.0]], sensitive_features={"T": [0, 0, 1]}, decision=[0, 1, 1],
    ...     impact=[1.0, None, 2.0], missing_impact="worst case",
    ... )
    >>> [tuple(each) for each in missing_counts(data, "impact") if each.missing]
    [('T = 0', '1', 1, 1)]
    """
    seen, taken = data.unseen.seen[name], data.decision_index
    groups: list[tuple[str, Booleans]] = [("", np.ones(data.n, dtype=np.bool_))]
    if data.sensitive:
        groups = [
            (f"{column} = {value}", inside)
            for column, values in data.sensitive.items()
            for value, inside in _levels(values)
        ]
    decisions: list[tuple[str, Booleans]] = [("", np.ones(data.n, dtype=np.bool_))]
    if taken is not None:
        decisions = [(str(each), taken == a) for a, each in enumerate(data.classes)]
    every = (
        MissingCount(group, decision, int(both.sum()), int((both & ~seen).sum()))
        for group, inside in groups
        for decision, decided in decisions
        for both in (inside & decided,)
    )
    return [each for each in every if each.n]


def _levels(column: Array) -> list[tuple[str, Booleans]]:
    """The values of a column, and where each is."""
    absent = np.asarray(is_missing(column), dtype=np.bool_)
    values = sorted(set(column[~absent].tolist()), key=str)
    every = [(str(value), np.asarray(column == value, dtype=np.bool_)) for value in values]
    return [*every, (NO_GROUP, absent)] if absent.any() else every


def read_unseen(
    data: Any, impacts: Mapping[str, Floats], how: Any, early: Any, follow_up: Any
) -> Unseen | None:
    """What is declared about missing impacts; None if none is missing.

    Parameters
    ----------
    data : LoggedData
        The table so far.
    impacts : mapping of str to ndarray
        Its impacts; NaN where one is missing.
    how, early, follow_up
        See `elfair.LoggedData`.
    """
    if how is not None and how not in MISSING_IMPACT:
        raise InputError(
            f"missing_impact must be {' or '.join(map(repr, MISSING_IMPACT))}, or None. "
            f"Got {how!r} instead.",
            hint=did_you_mean(str(how), MISSING_IMPACT, "None refuses missing impacts."),
        )
    for name, given in {"early": early, "follow_up": follow_up}.items():
        if given is not None and how != "at random":
            raise InputError(
                f"{name} was given, but missing_impact is {how!r}.",
                hint=f"pass missing_impact='at random', or leave {name} out.",
            )
    missing = {name: np.isnan(values) for name, values in impacts.items()}
    if how is None:
        for name, where in missing.items():
            refuse(where, f"impact '{name}' is missing", _HINT, because="it was not observed (yet)")
    outcomes = _read_early(data, early, impacts)
    chances, share = _read_follow_up(data, follow_up)
    seen = {name: ~where for name, where in missing.items() if where.any()}
    if not seen:
        return None
    unseen = Unseen(how, seen, outcomes, chances, share)
    for name, where in seen.items():
        _check_seen(data, name, where, unseen)
    return unseen


def _read_early(data: Any, early: Any, impacts: Mapping[str, Floats]) -> dict[str, Floats]:
    if early is None:
        return {}
    outcomes = {}
    for name, column in named_columns(early, "early", default="early").items():
        what = f"early outcome '{name}'"
        check_length(column, data.n, what)
        if name in (*data.names, *impacts):
            raise DataError(
                f"{what} is also a feature, a group or an impact.",
                hint="an early outcome is known only after the decision: the model must not see "
                "it, and no condition may name it.",
            )
        outcomes[name] = as_floats(column, what)
        wrong = ~np.isfinite(outcomes[name])
        refuse(wrong, f"{what} is missing or infinite", "an early outcome is known of everyone.")
    return outcomes


def _read_follow_up(data: Any, values: Any) -> tuple[Floats | None, float | None]:
    if values is None:
        return None, None
    share = float(values) if np.ndim(values) == 0 and not isinstance(values, str) else None
    column = np.full(data.n, share) if share is not None else one_column(values, "follow_up")
    check_length(column, data.n, "follow_up")
    chances = as_floats(column, "follow_up")
    wrong = ~((chances > 0) & (chances <= 1))
    got = f" Got {listed(chances[wrong][:1])}" if wrong.any() else ""
    refuse(
        wrong,
        f"follow_up must be in (0, 1].{got}",
        "it is the probability with which a person was drawn to be followed up.",
    )
    return chances, share


def _check_seen(data: Any, name: str, seen: Booleans, unseen: Unseen) -> None:
    """Raise if an impact was never seen, or if more or fewer were seen than were followed up."""
    groups: dict[str, Booleans] = {"everyone": np.ones(data.n, dtype=np.bool_)}
    if data.decision_kind == "classes" and data.decision is not None:
        values = sorted(set(data.decision.tolist()), key=str)
        groups |= {f"decision {value!r}": data.decision == value for value in values}
    for who, inside in groups.items():
        n, known = int(inside.sum()), int((inside & seen).sum())
        if n and not known and (unseen.how == "at random" or who == "everyone"):
            raise DataError(
                f"impact '{name}' is missing in all {n:,} rows ({who}): nothing says what it is.",
                hint="missing_impact='at random' needs some people seen with each decision.",
            )
        if unseen.follow_up is None:
            continue
        chances = unseen.follow_up[inside]
        error = sqrt(float(np.sum(chances * (1 - chances))))
        if abs(known - float(chances.sum())) > MOST_ERRORS * error + 1e-9:
            raise DataError(
                f"follow_up says that {chances.sum():.0f} of {n:,} rows ({who}) were to be "
                f"followed up; impact '{name}' was seen in {known}.",
                hint="follow_up is exact only if everyone who was drawn was also seen; if people "
                "dropped out, leave it out: the probability of being seen is then estimated.",
            )
