"""The split into candidate rows, free for any use, and held-out rows that only the test opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from elfair.certificate import SplitKind
from elfair.data.digests import Keys, columns_digest, mix, text_keys
from elfair.data.features import kind_of
from elfair.data.identity import Identity
from elfair.data.preparation import DefaultPreparation, FittedTransformer, Preparation
from elfair.data.table import LoggedData
from elfair.data.times import last_times
from elfair.data.units import numbered
from elfair.data.unlogged import Learnt, learn_behavior, overlapping, with_everyone
from elfair.errors import DataError
from elfair.types import Array, Booleans, Index


class SealedHalf:
    """Held-out rows that nothing can look at, except by opening them.

    Only the fairness test opens the half, after it has entered its look; see `elfair.data.looks`.

    Parameters
    ----------
    data : LoggedData
        The held-out rows, in the (seeded, random) order in which they will be tested.
    preparation : Preparation, optional
        What was learnt from candidate rows, to prepare the features of these.

    Examples
    --------
    >>> data = LoggedData([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> sealed = SealedHalf(data)
    >>> sealed.n, sealed.open() is data
    (3, True)
    """

    def __init__(self, data: LoggedData, preparation: Preparation | None = None) -> None:
        self.__data, self.__preparation = data, preparation
        self.n = data.n

    def open(self) -> LoggedData:
        """Break the seal: the rows, for the fairness test."""
        if self.__preparation is None:
            return self.__data
        return self.__data.prepared(self.__preparation)


class Fold(NamedTuple):
    """The rows on which a model may be found, and the held-out rows on which it is tested.

    Parameters
    ----------
    candidate : LoggedData
        Rows for the search, or for learning constants.
    sealed : SealedHalf
        Rows for the test.
    """

    candidate: LoggedData
    sealed: SealedHalf


@dataclass(frozen=True)
class Split:
    """A table of logged decisions, divided for search and test.

    Parameters
    ----------
    kind : {"random", "time", "stratified", "crossfit", "none"}
        How it was divided.
    share : float
        The share of candidate rows; 1 where nothing is tested.
    seed : int
        What the division depends on.
    everyone : LoggedData
        All rows.
    folds : tuple of Fold
        One, or several under cross-fitting; none where nothing is tested.
    table : LoggedData
        The rows as they were given. If propensities are estimated, ``everyone`` has those, and is
        without the people that were trimmed.

    Examples
    --------
    >>> data = LoggedData(np.arange(10.0)[:, None], [0, 1] * 5)
    >>> split = Split.of(data, "random", share=0.6, seed=3)
    >>> split.candidate.n, split.n_tested
    (6, 4)
    >>> Split.of(data, "crossfit", seed=3, folds=5).n_candidate
    8
    """

    kind: SplitKind
    share: float
    seed: int
    everyone: LoggedData
    folds: tuple[Fold, ...]
    table: LoggedData

    @classmethod
    def of(
        cls,
        data: LoggedData,
        kind: SplitKind,
        *,
        share: float = 1.0,
        seed: int = 0,
        folds: int = 1,
        preprocessor: Any = None,
    ) -> Split:
        """Divide rows; ``share`` is for one fold, ``folds`` for cross-fitting.

        Of a split of kind "none", a share below 1 is set aside to learn constants from. If features
        are not plain numbers, or there is a preprocessor, each fold's rows are prepared by what its
        candidate rows teach, and all rows, too, if there is one fold (or none).
        """
        data = in_order(data)
        if kind == "crossfit" and data.unlogged is not None and data.unlogged.trim:
            raise DataError(
                "trim needs one behaviour model; split='crossfit' has one for each fold.",
                hint="use split='random', or leave trim out.",
            )
        if kind == "crossfit":
            share, divided = 1 - 1 / folds, _fold_rows(data, folds, seed)
        elif kind == "none":
            divided = [_rows_aside(data, share, seed)] if share < 1 else []
        else:
            divided = [split_rows(data, share, seed, kind)]
        made = [(data.take(chosen), data.take(held_out)) for chosen, held_out in divided]
        everyone = data
        learnt: list[Preparation | None] = [None] * max(1, len(made))
        if data.raw is not None or preprocessor is not None:
            learnt = [
                learn_preparation(rows, preprocessor, seed)
                for rows in [candidate for candidate, _ in made] or [data]
            ]
            pairs = zip(made, learnt, strict=bool(made))
            made = [(_prepared(candidate, by), held_out) for (candidate, held_out), by in pairs]
            everyone = _prepared(data, learnt[0]) if len(learnt) == 1 else data
        if data.unlogged is not None:
            everyone, made = _estimated(everyone, made, learnt, seed)
        sealed = [
            Fold(candidate, SealedHalf(held_out, by))
            for (candidate, held_out), by in zip(made, learnt, strict=bool(made))
        ]
        return cls(kind, share, seed, everyone, tuple(sealed), data)

    @classmethod
    def continued(
        cls, data: LoggedData, fresh: Booleans, seed: int, preparation: Preparation | None
    ) -> Split:
        """All fresh rows for the test, in the order of their keys, and the others to learn from.

        Parameters
        ----------
        data : LoggedData
            All rows.
        fresh : ndarray of bool
            Which of them are fresh.
        seed : int
            What the order depends on.
        preparation : Preparation or None
            That of the models, which stay as they are.
        """
        order = np.argsort(row_keys(data, seed), kind="stable")
        sealed, earlier = data.take(order[fresh[order]]), data.take(np.flatnonzero(~fresh))
        table = data
        if preparation is not None:
            data, earlier = data.prepared(preparation), earlier.prepared(preparation)
        fold = Fold(earlier, SealedHalf(sealed, preparation))
        return cls("continued", earlier.n / data.n, seed, data, (fold,), table)

    @cached_property
    def fingerprint(self) -> str:
        """That of the rows as they were given."""
        return self.table.fingerprint()

    @property
    def n(self) -> int:
        """How many rows there are, searched on or tested."""
        return self.everyone.n

    @property
    def n_read(self) -> int:
        """How many rows were given."""
        return self.table.n

    def held_out_digests(self, held_out: LoggedData) -> tuple[str, str]:
        """That of the held-out rows, and of which rows these are, in their order."""
        return held_out.fingerprint(), split_digest(held_out)

    def identity(self, secret: bytes, fresh: Booleans | None = None) -> Identity:
        """By what the rows (or those that are fresh) are known again."""
        rows = self.table if fresh is None else self.table.take(np.flatnonzero(fresh))
        return Identity.of(rows, secret)

    @property
    def candidate(self) -> LoggedData:
        """All rows that some search may use; under cross-fitting, every row."""
        return self.folds[0].candidate if len(self.folds) == 1 else self.everyone

    @property
    def n_candidate(self) -> int:
        """How many rows a search has."""
        return int(max((fold.candidate.n for fold in self.folds), default=self.everyone.n))

    @property
    def n_tested(self) -> int:
        """How many rows are tested."""
        return int(sum(fold.sealed.n for fold in self.folds))

    @property
    def shares(self) -> tuple[float, ...]:
        """How often the model of each fold is picked: in proportion to its tested rows."""
        return tuple(fold.sealed.n / self.n_tested for fold in self.folds) or (1.0,)


def in_order(data: LoggedData) -> LoggedData:
    """A whole table in the order that results depend on: that of its identifiers, if it has any.

    A database returns rows in any order. Sums of the same numbers in another order differ in the
    last digit, and a search that follows them may end at another model.

    Parameters
    ----------
    data : LoggedData
        All rows. Afterwards ``position`` says where each was.

    Examples
    --------
    >>> one = LoggedData([[1.0], [2.0], [3.0]], row_id=["a", "b", "c"])
    >>> other = LoggedData([[3.0], [1.0], [2.0]], row_id=["c", "a", "b"])
    >>> in_order(one).fingerprint() == in_order(other).fingerprint()
    True
    """
    if not np.array_equal(data.position, np.arange(data.n)):  # part of a larger table
        data = data.changed(position=np.arange(data.n))
    if data.row_id is None:
        return data
    return data.take(np.argsort(mix(identities(data.row_id)), kind="stable"))


def split_digest(held_out: LoggedData) -> str:
    """The digest of which rows were held out, in their order: by identifier, or else by place."""
    if held_out.row_id is not None:
        return columns_digest([("row_id", held_out.row_id)])
    return columns_digest([("position", held_out.position)])


def _prepared(rows: LoggedData, preparation: Preparation | None) -> LoggedData:
    return rows if preparation is None else rows.prepared(preparation)


def _estimated(
    everyone: LoggedData,
    halves: Sequence[tuple[LoggedData, LoggedData]],
    preparations: Sequence[Preparation | None],
    seed: int,
) -> tuple[LoggedData, list[tuple[LoggedData, LoggedData]]]:
    """All rows, candidate rows and held-out rows, with estimated propensities, and only those that
    are not trimmed. Each held-out row gets what its candidate rows teach.
    """
    keys, made = np.empty(everyone.n, dtype=np.uint64), []
    keys[everyone.position] = row_keys(everyone, seed)
    learnt: list[Learnt] = []
    for (candidate, held_out), preparation in zip(halves, preparations, strict=bool(halves)):
        if not candidate.n:
            raise DataError(
                "propensities are to be estimated, but no rows are set aside to learn them from.",
                hint="set nuisance_fraction above 0.",
            )
        behavior, known = learn_behavior(candidate, keys, seed)
        seen = behavior.held_out(_prepared(held_out, preparation))
        names = {name: getattr(seen, name) for name in ("behavior", "propensity", "doubts")}
        made.append((known, held_out.changed(**names)))
        learnt.append(behavior)
    if not halves:
        behavior, everyone = learn_behavior(everyone, keys, seed)
        learnt.append(behavior)
    parts = made[0] if len(made) == 1 else [held_out for _, held_out in made]
    everyone = with_everyone(everyone, parts) if parts else everyone
    everyone = everyone.changed(learnt=learnt[0])
    trimmed = [(overlapping(candidate), overlapping(held_out)) for candidate, held_out in made]
    kept = [
        (candidate.take(np.flatnonzero(a)), held_out.take(np.flatnonzero(b)))
        for (candidate, held_out), (a, b) in zip(made, trimmed, strict=True)
    ]
    return everyone.take(np.flatnonzero(overlapping(everyone))), kept


def learn_preparation(candidate: LoggedData, preprocessor: Any, seed: int) -> Preparation:
    """What candidate rows teach about how to prepare features.

    Parameters
    ----------
    candidate : LoggedData
        The rows.
    preprocessor : transformer or None
        What is cloned and fitted; None for the default.
    seed : int
        For every ``random_state`` that is not set.

    Examples
    --------
    >>> learn_preparation(LoggedData({"age": [30, None]}), None, seed=0).names
    ['age', 'age is missing']
    """
    columns = {name: candidate.feature(name) for name in candidate.feature_names}
    if preprocessor is None:
        return DefaultPreparation.learn(columns)
    frame = candidate.has_names or any(kind_of(each) != "number" for each in columns.values())
    # A label that only some decisions reveal would teach a preparation about those people alone.
    given = (preprocessor, columns, None if candidate.revealed else candidate.label)
    return FittedTransformer.learn(*given, frame=frame, seed=seed)


def split_rows(data: LoggedData, share: float, seed: int, kind: SplitKind) -> tuple[Index, Index]:
    """The numbers of the candidate rows, and of the held-out rows.

    Each row gets a pseudo-random key that depends on the seed and on its index (or declared row id)
    alone, and the rows with the smallest keys become candidates: a simple random split of fixed
    size that does not move when constraints, features or the order of columns change. If rows have
    units, units get keys and become candidates, with all their rows.

    Parameters
    ----------
    data : LoggedData
        All rows.
    share : float
        The share of rows that the search may use.
    seed : int
        What the keys depend on.
    kind : {"random", "time", "stratified"}
        "stratified" splits within each combination of label and sensitive values, as the paper does
        (a unit counts by its first row). This ties the halves together, and the bounds lose their
        proof; see the documentation. "time" takes the earliest rows for candidates, and those with
        the smallest keys among rows of the same time; a unit counts by its last row, so that the
        search sees nothing that came later than the candidates.

    Returns
    -------
    (ndarray of int, ndarray of int)
        Candidate rows in their original order, and held-out rows in the order of their keys.

    Examples
    --------
    >>> data = LoggedData(np.arange(10.0)[:, None], [0, 1] * 5)
    >>> chosen, held_out = split_rows(data, 0.6, 3, "random")
    >>> sorted([*chosen, *held_out]) == list(range(10)), chosen.size
    (True, 6)
    >>> split_rows(data.changed(time=np.arange(10) // 2), 0.6, 3, "time")[0]
    array([0, 1, 2, 3, 4, 5])
    """
    units, order = _Units.of(data, seed)
    if kind == "stratified":
        chosen = _chosen_by_stratum(units.keys, _strata(data)[units.first], share)
    else:
        chosen = np.zeros(units.first.size, dtype=np.bool_)
        if kind == "time":
            of_units = np.lexsort((units.keys, last_times(data, units.place)))
        else:
            of_units = order if data.unit_index is None else np.argsort(units.keys)
        chosen[of_units[: round(share * chosen.size)]] = True
    # In the order of the keys: a seeded permutation, which the betting bound relies on.
    held_out = order[~chosen[units.place[order]]]
    if not 0 < held_out.size < data.n:
        what = "rows" if data.unit_index is None else "units"
        raise DataError(
            f"{chosen.size} {what} cannot be split into two halves at "
            f"candidate_fraction={share!r}.",
            hint=f"more {what} are needed.",
        )
    return np.flatnonzero(chosen[units.place]), held_out


class _Units(NamedTuple):
    """The units of some rows (or the rows, if they have none), and their keys."""

    place: Index
    first: Index
    keys: Keys

    @classmethod
    def of(cls, data: LoggedData, seed: int) -> tuple[_Units, Index]:
        """The units, and the rows in the order of their units' keys."""
        keys, (place, first) = row_keys(data, seed), numbered(data)
        # The keys of different identities differ, so that only those of a unit need a stable order.
        kind: Literal["quicksort", "stable"] = "quicksort" if data.unit is None else "stable"
        return cls(place, first, keys[first]), np.argsort(keys, kind=kind)


def _fold_rows(data: LoggedData, folds: int, seed: int) -> list[tuple[Index, Index]]:
    """For each fold, the rows of all other folds, and its own rows in the order of their keys."""
    units, order = _Units.of(data, seed)
    if not 2 <= folds <= units.first.size // 2:
        what = "rows" if data.unit_index is None else "units"
        raise DataError(
            f"folds must be from 2 to half the number of {what} ({units.first.size // 2}). Got "
            f"{folds!r} instead.",
            hint=f"use fewer folds, or more {what}.",
        )
    fold = np.empty(units.first.size, dtype=np.intp)
    fold[np.argsort(units.keys)] = np.arange(fold.size) % folds
    of_rows = fold[units.place]
    return [(np.flatnonzero(of_rows != k), order[of_rows[order] == k]) for k in range(folds)]


def _rows_aside(data: LoggedData, share: float, seed: int) -> tuple[Index, Index]:
    """A share of rows to learn constants from, and the others, in the order of their keys."""
    units, order = _Units.of(data, seed)
    aside = np.zeros(units.first.size, dtype=np.bool_)
    aside[np.argsort(units.keys, kind="stable")[: round(share * aside.size)]] = True
    among = aside[units.place[order]]
    return order[among], order[~among]


def row_keys(data: LoggedData, seed: int) -> Keys:
    """A 64-bit key for each row, from the seed and the row's unit, declared id or index alone.

    Parameters
    ----------
    data : LoggedData
        The rows.
    seed : int
        Any number from 0 on.

    Examples
    --------
    >>> rows = [[0.0], [1.0], [2.0]]
    >>> keys = row_keys(LoggedData(rows, row_id=["a", "b", "c"]), seed=0)
    >>> bool((row_keys(LoggedData(rows, row_id=["c", "a", "b"]), seed=0) == keys[[2, 0, 1]]).all())
    True
    """
    known = data.row_id if data.unit is None else data.unit
    return keys_of(np.arange(data.n, dtype=np.uint64) if known is None else identities(known), seed)


def keys_of(identity: Keys, seed: int) -> Keys:
    """The keys of rows with these identities, such as their positions in the table."""
    start = np.random.SeedSequence(int(seed)).generate_state(2, np.uint64)
    return mix(mix(identity ^ start[0]) + start[1])


def identities(known: Array) -> Keys:
    """A 64-bit number for each identifier, from its value alone."""
    return known.astype(np.uint64) if known.dtype.kind in "iu" else text_keys(known)


def _chosen_by_stratum(keys: Keys, strata: Index, fraction: float) -> Booleans:
    """The rows with the smallest keys of each stratum: the wanted share of it, rounded up or down
    at random. The only person of a stratum may end up in either half.
    """
    order = np.lexsort((keys, strata))
    _, first, size = np.unique(strata[order], return_index=True, return_counts=True)
    rank = np.arange(keys.size) - np.repeat(first, size)
    luck = mix(np.add.reduceat(keys[order], first)) / 2.0**64
    chosen = np.zeros(keys.size, dtype=np.bool_)
    chosen[order] = rank + np.repeat(luck, size) < fraction * np.repeat(size, size)
    return chosen


def _strata(data: LoggedData) -> Index:
    """The number of each row's combination of label and sensitive values."""
    columns: list[Array] = list(data.sensitive.values())
    if data.label_index is not None:
        columns.append(data.label_index)
    strata = np.zeros(data.n, dtype=np.intp)
    for column in columns:
        _, codes = np.unique(column.astype(str), return_inverse=True)
        _, strata = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)
    return strata
