"""LoggedBatches: logged decisions that need not fit into memory, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from elfair.data.classes import read_classes
from elfair.data.columns import one_column
from elfair.data.digests import ANY_ORDER, Keys, RowSums, mix
from elfair.data.sources import BATCH, open_source
from elfair.data.split import SealedHalf, identities, keys_of, split_digest
from elfair.data.table import LoggedData
from elfair.errors import DataError, InputError, listed
from elfair.types import Array, Booleans

#: The most candidate rows that are held in memory for the search: those with the smallest keys.
MOST_CANDIDATES = 1_000_000
#: Keys are first told apart by so many bits: of 2 ** 20 times as many rows, few share them.
_FIRST_BITS = 20


class LoggedBatches:
    """Logged decisions in files or in a query, of any size; see `LoggedData` for what they are.

    A fit holds at most 1,000,000 candidate rows in memory. All other rows are read in batches.

    Parameters
    ----------
    source : str, Path, sequence of them, or a table
        Parquet files: a file, a folder, a pattern such as ``decisions/*.parquet``, or several; a
        pyarrow data set (filtered, if you like) or table; a polars LazyFrame; a DuckDB relation; or
        a data frame. Other columns than those named here are not read.
    features : sequence of str
        The columns that a model sees: numbers without gaps.
    y, decision, propensity, row_id : str, optional
        The columns of labels, logged decisions, their probabilities, and identifiers. A DuckDB
        relation has no order of its own, and needs identifiers.
    sensitive_features, impact : str or sequence of str, optional
        The columns that define groups, and those of what was observed later.
    behavior : mapping, optional
        For each decision, the column of its probability; needed if there are more than two.
    classes, positive, encoding
        As for `LoggedData`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"x": [0.0, 1.0], "d": [0, 1], "p": [0.5, 0.5], "i": [1.0, 2.0]})
    >>> rows = LoggedBatches(table, features=["x"], decision="d", propensity="p", impact="i")
    >>> rows.n, [batch.n for batch in rows.batches()]
    (2, [2])
    """

    def __init__(
        self,
        source: Any,
        *,
        features: Sequence[str],
        y: str | None = None,
        sensitive_features: str | Sequence[str] = (),
        decision: str | None = None,
        propensity: str | None = None,
        behavior: Mapping[Any, str] | None = None,
        impact: str | Sequence[str] = (),
        row_id: str | None = None,
        classes: Sequence[Any] | None = None,
        positive: Any = None,
        encoding: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = open_source(source)
        self.features, self.sensitive_features = _names(features), _names(sensitive_features)
        self.impact, self.behavior = _names(impact), dict(behavior or {})
        self.y, self.decision, self.propensity, self.row_id = y, decision, propensity, row_id
        self._classes, self.positive, self._encoding = classes, positive, encoding
        self.source.require(self.columns)
        if not self.features:
            raise InputError(
                "there is no feature.", hint="features= names the columns that a model sees."
            )
        if not self.source.in_order and row_id is None:
            raise InputError(
                f"{self.source.name} may give its rows in another order each time, so the split "
                "needs to know them by an identifier.",
                hint="row_id= names the column of identifiers.",
            )

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        single = [self.y, self.decision, self.propensity, self.row_id]
        several = [*self.features, *self.sensitive_features, *self.impact, *self.behavior.values()]
        return list(dict.fromkeys([*several, *(name for name in single if name is not None)]))

    @cached_property
    def _seen(self) -> tuple[int, Array, Keys | None]:
        """How many rows there are, the decisions, and a number for each identifier, if there are
        any.
        """
        wanted = [name for name in (self.y, self.decision, self.row_id) if name is not None]
        values: dict[str | None, list[Array]] = {self.y: [], self.decision: []}
        n, known = 0, list[Keys]()
        for table in self.source.batches(wanted or self.features[:1]):
            n += table.num_rows
            for name, found in values.items():
                if name is not None:
                    found.append(one_column(table.column(name).unique().drop_null(), name))
            if self.row_id is not None:
                ids = one_column(table.column(self.row_id), self.row_id)
                known.append(identities(ids))
        if not n:
            raise DataError(f"{self.source.name} has no rows.", hint="every row is a decision.")
        seen = [
            np.concatenate(values[name]) if values[name] else None
            for name in (self.y, self.decision)
        ]
        return n, read_classes(self._classes, *seen), np.concatenate(known) if known else None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self._seen[0]

    @property
    def classes(self) -> Array:
        """All decisions that occur, or were declared."""
        return self._seen[1]

    def batches(self) -> Iterator[LoggedData]:
        """All rows, batch by batch, each a validated table."""
        start = 0
        for table in self.source.batches(self.columns):
            yield self._logged(table, start)
            start += table.num_rows
        if start != self.n:
            raise DataError(
                f"{self.source.name} had {self.n:,} rows, and now has {start:,}: nothing was "
                "certified.",
                hint="leave it alone until it is done, and start again.",
            )

    def _logged(self, table: Any, start: int) -> LoggedData:
        def column(name: str | None) -> Any:
            return None if name is None else table.column(name)

        data = LoggedData(
            table.select(self.features),
            column(self.y),
            sensitive_features=table.select(self.sensitive_features)
            if self.sensitive_features
            else None,
            decision=column(self.decision),
            propensity=column(self.propensity),
            behavior=self._behavior(table),
            impact=table.select(self.impact) if self.impact else None,
            row_id=column(self.row_id),
            classes=self.classes,
            positive=self.positive,
            encoding=self._encoding,
        )
        if data.matrix is None:
            raise DataError(
                f"features that are read in batches must be numbers without gaps; in "
                f"{self.source.name} some of {listed(self.features)} are not.",
                hint="make numbers of them in the files or the query; or read the rows into "
                "memory: LoggedData(...).",
            )
        return data.changed(position=np.arange(start, start + data.n), whole=False)

    def _behavior(self, table: Any) -> dict[str, Any] | None:
        if not self.behavior:
            return None
        named = {str(each): self.behavior.get(each) for each in self.classes.tolist()}
        if set(map(str, self.behavior)) != set(named):
            raise InputError(
                f"behavior= must name a column for each decision ({listed(list(named))}). Got "
                f"{listed(list(self.behavior))} instead.",
                hint="the decisions are the values of decision and y together, or classes=.",
            )
        return {name: table.column(column).to_numpy() for name, column in named.items()}

    def keys(self, data: LoggedData, seed: int) -> Keys:
        """The keys of a batch; see `elfair.data.split.row_keys`."""
        known = data.position.astype(np.uint64) if data.row_id is None else identities(data.row_id)
        return keys_of(known, seed)

    def smallest(self, count: int, seed: int) -> np.uint64:
        """The largest of so many smallest keys."""
        n, _, known = self._seen
        if known is not None:
            keys = np.sort(keys_of(known, seed))
            if (keys[1:] == keys[:-1]).any():
                raise DataError(
                    f"row_id={self.row_id!r} must hold every identifier once; some occur twice.",
                    hint="keep one row for each person.",
                )
            return np.uint64(keys[count - 1])
        return _ranked(lambda: _keys_of_places(n, seed), count)


def known_of(data: LoggedData) -> dict[str, Array | None]:
    """Everything known of the rows of a batch, by what it is; a row's place is its identifier, or
    else its position.
    """
    behavior = [] if data.behavior is None else list(data.behavior.T)
    return {
        **{f"feature {name}": data.feature(name) for name in data.feature_names},
        **{f"group {name}": column for name, column in data.sensitive.items()},
        **{f"impact {name}": column for name, column in data.impacts.items()},
        **{f"behavior {k}": column for k, column in enumerate(behavior)},
        "label": data.label,
        "decision": data.decision,
        "propensity": data.propensity,
        "place": data.position if data.row_id is None else identities(data.row_id),
    }


def digest_like(said: str, data: LoggedData) -> str:
    """The digest of some rows, of the kind of another one: in their order, or in any."""
    if not said.startswith(ANY_ORDER):
        return data.fingerprint()
    columns = known_of(data)
    return RowSums.of([*columns.values()]).digest([*columns])


def split_digest_like(said: str, held_out: LoggedData) -> str:
    """Likewise of which rows were held out."""
    if not said.startswith(ANY_ORDER):
        return split_digest(held_out)
    return RowSums.of([known_of(held_out)["place"]]).digest(["place"])


def _names(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _keys_of_places(n: int, seed: int) -> Iterator[Keys]:
    for start in range(0, n, BATCH):
        yield keys_of(np.arange(start, min(n, start + BATCH), dtype=np.uint64), seed)


def _ranked(keys: Callable[[], Iterator[Keys]], count: int) -> np.uint64:
    """The key with so many keys up to it, without holding all of them."""
    shift = np.uint64(64 - _FIRST_BITS)
    counts = np.zeros(2**_FIRST_BITS, dtype=np.int64)
    for some in keys():
        counts += np.bincount((some >> shift).astype(np.int64), minlength=counts.size)
    upto = np.cumsum(counts)
    first = int(np.searchsorted(upto, count))
    alike = np.concatenate([some[some >> shift == np.uint64(first)] for some in keys()])
    return np.uint64(np.sort(alike)[count - 1 - (int(upto[first]) - int(counts[first]))])


@dataclass(frozen=True)
class Divided:
    """Rows that are read in batches, divided for search and test as `Split` divides a table.

    Parameters
    ----------
    rows : LoggedBatches
        All rows.
    share : float
        The share of candidate rows.
    seed : int
        What the keys depend on.
    """

    rows: LoggedBatches
    share: float
    seed: int

    @cached_property
    def n_candidate(self) -> int:
        """How many candidate rows there are."""
        count = round(self.share * self.rows.n)
        if not 0 < count < self.rows.n:
            raise DataError(
                f"{self.rows.n} rows cannot be split into two halves at "
                f"candidate_fraction={self.share!r}.",
                hint="more rows are needed.",
            )
        return count

    @cached_property
    def _threshold(self) -> np.uint64:
        return self.rows.smallest(self.n_candidate, self.seed)

    def held_out(self, data: LoggedData) -> Booleans:
        """Which rows of a batch are held out."""
        return np.asarray(self.rows.keys(data, self.seed) > self._threshold)

    def candidates(self, batches: Iterator[LoggedData]) -> LoggedData:
        """The candidate rows that a search has, as `Split` has them: all, or as many as memory
        should hold, at random.
        """
        most, threshold = min(self.n_candidate, MOST_CANDIDATES), self._threshold
        if most < self.n_candidate:
            threshold = self.rows.smallest(most, self.seed)
        parts = []
        for data in batches:
            chosen = np.flatnonzero(self.rows.keys(data, self.seed) <= threshold)
            if chosen.size:
                parts.append(data.take(chosen))
        found = LoggedData.joined(parts).changed(whole=True)
        if found.row_id is None:
            return found
        return found.take(np.argsort(mix(identities(found.row_id)), kind="stable"))


class SealedBatches(SealedHalf):
    """Held-out rows that are read in batches, and that nothing can look at before the test.

    Parameters
    ----------
    divided : Divided
        All rows.
    """

    def __init__(self, divided: Divided) -> None:
        self.__divided = divided
        self.n = divided.rows.n - divided.n_candidate

    def open(self) -> LoggedData:
        """Refuse: they need not fit into memory."""
        raise NotImplementedError("read batches()")

    def batches(self) -> Iterator[LoggedData]:
        """Break the seal: the rows, for the fairness test, batch by batch."""
        divided = self.__divided
        for data in divided.rows.batches():
            rows = np.flatnonzero(divided.held_out(data))
            if rows.size:
                yield data.take(rows).changed(order=divided.rows.keys(data, divided.seed)[rows])
