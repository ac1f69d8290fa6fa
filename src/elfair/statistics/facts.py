"""What a fit must know of rows that are read in batches, beside the candidate rows in memory.

Two passes give it: one that also collects the candidate rows, and, once the statements are known,
one that checks all rows against what was declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from elfair.certificate import SplitKind
from elfair.certificate.people import PeopleRecord
from elfair.data import LoggedData
from elfair.data.batches import Divided, SealedBatches, known_of
from elfair.data.columns import is_missing
from elfair.data.digests import RowSums
from elfair.data.features import MOST_GROUPS, Encoding
from elfair.data.identity import Identity
from elfair.data.propensities import Misfit, misfit_in_batches
from elfair.data.split import Fold, Split
from elfair.errors import DataError, listed
from elfair.language.conditions import Condition, columns_used
from elfair.language.evaluation import holds
from elfair.statistics.claims import Claim, conditions_of, without_label
from elfair.statistics.people import people_of
from elfair.statistics.sums import Spread
from elfair.types import Array, Booleans

#: So many different combinations of values are counted one by one.
MOST_COMBINATIONS = 10_000


@dataclass
class Facts:
    """What all rows say, whatever is asked about them.

    Parameters
    ----------
    features : list of Spread
        The mean and spread of each feature.
    levels : dict
        The values of each sensitive column, as far as there are few.
    taken : ndarray
        How often each decision was taken.
    everyone, held_out, split : RowSums
        Fingerprints of all rows, of those that are held out, and of which these are.
    """

    features: list[Spread] = field(default_factory=list)
    levels: dict[str, set[Any]] = field(default_factory=dict)
    taken: Any = 0
    everyone: RowSums = field(default_factory=RowSums)
    held_out: RowSums = field(default_factory=RowSums)
    split: RowSums = field(default_factory=RowSums)

    def add(self, data: LoggedData, held_out: Booleans) -> None:
        """Add a batch, of which some rows are held out."""
        found = [Spread.of(column) for column in data.features.T]
        pairs = zip(self.features or [Spread()] * len(found), found, strict=True)
        self.features = [one.merged(other) for one, other in pairs]
        for name, column in data.sensitive.items():
            known = self.levels.setdefault(name, set())
            if len(known) <= MOST_GROUPS:
                known |= set(_different(column[~is_missing(column)]))
        if data.decision_index is not None:
            self.taken = self.taken + np.bincount(data.decision_index, minlength=data.classes.size)
        columns = known_of(data)
        self.everyone = self.everyone.merged(RowSums.of([*columns.values()]))
        if held_out.any():
            some = {k: None if each is None else each[held_out] for k, each in columns.items()}
            self.held_out = self.held_out.merged(RowSums.of([*some.values()]))
            self.split = self.split.merged(RowSums.of([some["place"]]))

    def encoding(self, like: LoggedData) -> Encoding:
        """What `Encoding.learn` would make of all rows."""
        scale = np.sqrt([each.squares / each.n for each in self.features])
        groups: dict[str, Array] = {}
        for name, known in self.levels.items():
            values = np.array(sorted(known, key=str), dtype=like.sensitive[name].dtype)
            if len(values) <= MOST_GROUPS:
                groups[name] = values[1:]
        center = np.array([each.mean for each in self.features])
        return Encoding(center, np.where(scale > 0, scale, 1.0), groups)


def _different(column: Array) -> list[Any]:
    plain = np.unique(column) if column.dtype.kind in "biuf" else column
    return list(dict.fromkeys(plain.tolist()))


@dataclass(frozen=True)
class SplitBatches(Split):
    """Rows that are read in batches, divided for search and test.

    ``everyone`` and ``table`` are the candidate rows in memory.

    Parameters
    ----------
    divided : Divided
        All rows.
    facts : Facts
        What they say.
    """

    divided: Divided = field(kw_only=True)
    facts: Facts = field(kw_only=True)

    @classmethod
    def read(cls, divided: Divided, kind: SplitKind = "random") -> SplitBatches:
        """One pass over all rows, of which candidate rows stay in memory."""
        facts = Facts()

        def looked_over() -> Iterator[LoggedData]:
            for data in divided.rows.batches():
                facts.add(data, divided.held_out(data))
                yield data

        candidate = divided.candidates(looked_over())
        folds = (Fold(candidate, SealedBatches(divided)),)
        return cls(
            kind=kind,
            share=divided.share,
            seed=divided.seed,
            everyone=candidate,
            folds=folds,
            table=candidate,
            divided=divided,
            facts=facts,
        )

    @property
    def n(self) -> int:
        """See `Split.n`."""
        return self.divided.rows.n

    @property
    def n_read(self) -> int:
        """See `Split.n_read`."""
        return self.divided.rows.n

    @property
    def n_candidate(self) -> int:
        """How many candidate rows there are, in memory or not."""
        return self.divided.n_candidate

    @cached_property
    def fingerprint(self) -> str:
        """That of all rows, in any order."""
        return self.facts.everyone.digest(self._names)

    def held_out_digests(self, held_out: LoggedData) -> tuple[str, str]:
        """That of the held-out rows, and of which rows these are, in any order."""
        return self.facts.held_out.digest(self._names), self.facts.split.digest(["place"])

    @property
    def _names(self) -> list[str]:
        return [*known_of(self.everyone)]

    def identity(self, secret: bytes, fresh: Booleans | None = None) -> Identity:
        """See `Split.identity`."""
        return Identity.of_batches(self.divided.rows.batches(), self.everyone, secret)

    def check_taken(self) -> None:
        """Raise if some decision was never taken."""
        never = self.everyone.classes[np.asarray(self.facts.taken) == 0]
        if never.size:
            raise DataError(
                f"decision {listed(never.tolist())} was never taken in {self.n:,} rows, so nothing "
                "is known about its impact.",
                hint="leave it out of the classes, or log more decisions.",
            )

    def checked(self, claims: Sequence[Claim], check: Callable[[LoggedData], object]) -> Checked:
        """One pass over all rows, in which a function raises if a batch contradicts what was
        declared.
        """
        found = Checked(claims, self.everyone)

        def looked_over() -> Iterator[LoggedData]:
            for data in self.divided.rows.batches():
                check(data)
                found.add(data, self.divided.held_out(data))
                yield data

        batches = looked_over()
        if self.everyone.behavior is not None and self.everyone.decision_index is not None:
            found.misfit = misfit_in_batches(batches, self.facts.encoding(self.everyone))
        else:
            for _ in batches:
                pass
        return found


class Checked:
    """What all rows say about some statements.

    Parameters
    ----------
    claims : sequence of Claim
        The statements.
    like : LoggedData
        Some of the rows.
    """

    #: How well the log fits its propensities; None if not all of them are known.
    misfit: Misfit | None = None

    def __init__(self, claims: Sequence[Claim], like: LoggedData) -> None:
        self._claims, self._like = claims, like
        #: How many held-out rows meet each condition.
        self.held_out: dict[Condition | None, int] = dict.fromkeys(conditions_of(claims), 0)
        known = {
            without_label(mean.given) for claim in claims for mean in claim.means if not mean.logged
        }
        named = [given for given in known if given is not None]
        used = {name for given in named for name in columns_used(given)}
        self._named, self._used = named, [name for name in like.names if name in used]
        self._unnamed = 0
        self._tables: list[Any] | None = []

    def add(self, data: LoggedData, held_out: Booleans) -> None:
        """Add a batch, of which some rows are held out."""
        for given in self.held_out:
            self.held_out[given] += int((holds(given, data) & held_out).sum())
        if self._named:
            met = np.any([holds(given, data) for given in self._named], axis=0)
            self._unnamed += int((~met).sum())
            self._count({name: data.column(name) for name in self._used}, data.n)

    def _count(self, columns: Mapping[str, Array], n: int) -> None:
        """Count combinations of values, unless they are too many."""
        import pyarrow as pa

        if self._tables is None or not columns:
            return
        one = pa.table({**columns, "rows": np.ones(n, dtype=np.int64)})
        every = pa.concat_tables([*self._tables, one], promote_options="permissive")
        summed = every.group_by(self._used).aggregate([("rows", "sum")])
        summed = summed.rename_columns([*self._used, "rows"])
        self._tables = [summed] if summed.num_rows <= MOST_COMBINATIONS else None

    @cached_property
    def people(self) -> PeopleRecord:
        """See `people_of`; where groups are by fine numbers, only how many are in none of them."""
        if not self._named or not self._tables:
            return PeopleRecord(self._unnamed, ())
        (table,) = self._tables
        groups = [name for name in self._used if name in self._like.sensitive]
        features = table.drop_columns([*groups, "rows"])
        kinds = LoggedData(
            features if features.num_columns else {"nothing": np.zeros(table.num_rows)},
            sensitive_features=table.select(groups) if groups else None,
        )
        return people_of(self._claims, kinds, table.column("rows").to_numpy())
