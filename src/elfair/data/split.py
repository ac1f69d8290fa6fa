"""The split into candidate rows, free for any use, and held-out rows that only the test opens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from elfair.certificate import SplitKind
from elfair.data.digests import Keys, mix, text_keys
from elfair.data.features import kind_of
from elfair.data.preparation import DefaultPreparation, FittedTransformer, Preparation
from elfair.data.table import LoggedData
from elfair.data.units import numbered
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
    kind : {"random", "stratified", "crossfit", "none"}
        How it was divided.
    share : float
        The share of candidate rows; 1 where nothing is tested.
    seed : int
        What the division depends on.
    everyone : LoggedData
        All rows.
    folds : tuple of Fold
        One, or several under cross-fitting; none where nothing is tested.

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
        if not np.array_equal(data.position, np.arange(data.n)):  # part of a larger table
            data = data.changed(position=np.arange(data.n))
        if kind == "crossfit":
            share, divided = 1 - 1 / folds, _fold_rows(data, folds, seed)
        elif kind == "none":
            divided = [_rows_aside(data, share, seed)] if share < 1 else []
        else:
            stratified = {"random": False, "stratified": True}[kind]
            divided = [split_rows(data, share, seed, stratified=stratified)]
        made = [(data.take(chosen), data.take(held_out)) for chosen, held_out in divided]
        if data.raw is None and preprocessor is None:
            sealed = [Fold(candidate, SealedHalf(held_out)) for candidate, held_out in made]
            return cls(kind, share, seed, data, tuple(sealed))
        learnt = [
            learn_preparation(rows, preprocessor, seed)
            for rows in [candidate for candidate, _ in made] or [data]
        ]
        prepared = [
            Fold(candidate.prepared(preparation), SealedHalf(held_out, preparation))
            for (candidate, held_out), preparation in zip(made, learnt, strict=bool(made))
        ]
        everyone = data.prepared(learnt[0]) if len(learnt) == 1 else data
        return cls(kind, share, seed, everyone, tuple(prepared))

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
    given = (preprocessor, columns, candidate.label)
    return FittedTransformer.learn(*given, frame=frame, seed=seed)


def split_rows(
    data: LoggedData, share: float, seed: int, *, stratified: bool
) -> tuple[Index, Index]:
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
    stratified : bool
        Split within each combination of label and sensitive values, as the paper does (a unit
        counts by its first row). This ties the halves together, and the bounds lose their proof;
        see the documentation.

    Returns
    -------
    (ndarray of int, ndarray of int)
        Candidate rows in their original order, and held-out rows in the order of their keys.

    Examples
    --------
    >>> data = LoggedData(np.arange(10.0)[:, None], [0, 1] * 5)
    >>> chosen, held_out = split_rows(data, 0.6, seed=3, stratified=False)
    >>> sorted([*chosen, *held_out]) == list(range(10)), chosen.size
    (True, 6)
    """
    units, order = _Units.of(data, seed)
    if stratified:
        chosen = _chosen_by_stratum(units.keys, _strata(data)[units.first], share)
    else:
        chosen = np.zeros(units.first.size, dtype=np.bool_)
        chosen[np.argsort(units.keys)[: round(share * chosen.size)]] = True
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
        return cls(place, first, keys[first]), np.argsort(keys, kind="stable")


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
    if known is None:
        identity = np.arange(data.n, dtype=np.uint64)
    elif known.dtype.kind in "iu":
        identity = known.astype(np.uint64)
    else:
        identity = text_keys(known)
    start = np.random.SeedSequence(int(seed)).generate_state(2, np.uint64)
    return mix(mix(identity ^ start[0]) + start[1])


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
