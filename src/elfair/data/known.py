"""What is known of each row of a table: its columns by their names, and their digests."""

from __future__ import annotations

from typing import Any

import numpy as np

from elfair.data.columns import Columns
from elfair.data.digests import columns_digest, rows_digest
from elfair.data.features import comparable
from elfair.data.preparation import Preparation
from elfair.data.revealed import Revealed
from elfair.data.unseen import Unseen
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Floats, Index


class KnownColumns:
    """The columns of a table, once they are read; `LoggedData` says what each of them is."""

    n: int
    feature_names: list[str]
    raw: Columns | None
    matrix: Floats | None
    preparation: Preparation | None
    sensitive: Columns
    impacts: dict[str, Floats]
    label_index: Index | None
    decision_index: Index | None
    propensity: Floats | None
    unlogged: Any
    unseen: Unseen | None
    revealed: Revealed | None
    classes: Array
    positive: Any
    cost: Floats | None

    @property
    def has_names(self) -> bool:
        """Whether features came with names of their own."""
        return self.feature_names != [f"x{j}" for j in range(len(self.feature_names))]

    @property
    def names(self) -> list[str]:
        """The columns that conditions can name."""
        extra = [name for name in self.feature_names if name not in self.sensitive]
        return [*self.sensitive, *extra]

    def column(self, name: str) -> Array:
        """A sensitive feature, or a feature, by its name."""
        if name in self.sensitive:
            return self.sensitive[name]
        return self.feature(name)

    def feature(self, name: str) -> Array:
        """A feature as it came, by its name."""
        if self.raw is not None:
            return self.raw[name]
        return self.features[:, self.feature_names.index(name)]

    @property
    def features(self) -> Floats:
        """The numbers that a model sees, of shape (n, d); raise if there are none (yet)."""
        if self.matrix is None:
            raise DataError(
                "features are not all finite numbers, and nothing was learnt that prepares them.",
                hint="fit learns it from candidate rows; feature(name) is a column as it came.",
            )
        return self.matrix

    @property
    def prepared_names(self) -> list[str]:
        """What each column of `features` means."""
        return self.feature_names if self.preparation is None else self.preparation.names

    def impact(self, name: str) -> Floats:
        """An impact by its name; a single one is also called ``impact``."""
        return self.impacts[self.impact_key(name)]

    def impact_key(self, name: str) -> str:
        """The column that an impact's name refers to."""
        if name in self.impacts:
            return name
        if name in self.impact_names:
            return next(iter(self.impacts))
        if not self.impacts:
            raise DataError(
                f"no impact '{name}': impact was not given.",
                hint="pass impact=, the column of what was observed later.",
            )
        raise DataError(
            f"no impact '{name}'; impacts: {listed(self.impact_names)}.",
            hint=did_you_mean(name, self.impact_names, "name one of the impacts."),
        )

    @property
    def impact_names(self) -> list[str]:
        """The names that refer to impacts."""
        names = list(self.impacts)
        alone = len(names) == 1 and "impact" not in (*names, *self.names)
        return [*names, "impact"] if alone else names

    @property
    def measured(self) -> dict[str, Floats]:
        """Columns of numbers that are known only after the decision, by names for people."""
        return {f"impact '{name}'": values for name, values in self.impacts.items()}

    def digest(self) -> bytes:
        """A fingerprint of the rows that does not depend on their order.

        It ignores groups and row ids: the same people under another grouping are the same held-out
        rows.
        """
        logged = self.propensity if self.unlogged is None else None
        columns = [*self.comparable, *self.as_numbers, logged, *self.impacts.values()]
        return rows_digest(columns, self.n)

    @property
    def comparable(self) -> list[Floats]:
        """The features as they came, each as floats that are equal where its values are."""
        return [comparable(self.feature(name)) for name in self.feature_names]

    @property
    def as_numbers(self) -> tuple[Array | None, Array | None]:
        """Label and decision, as numbers."""
        return self.label_index, self.decision_index

    def fingerprint(self) -> str:
        """SHA-256 of everything known about these rows, in their order."""
        known = {"label", "decision", "propensity", "row_id"}
        known |= {"behavior", "behavior_mean", "behavior_spread"}
        asked: list[Any] = []
        if self.unlogged is not None:  # an estimate is no column; a certificate records it apart
            known -= {"propensity", "behavior"}
            asked = [self.unlogged.described, self.unlogged.trim]
        optional = ("unit", "sample_weight", "person_cost", "time")
        known |= {name for name in optional if getattr(self, name) is not None}
        positive = None if self.positive is None else np.array([self.positive], dtype=object)
        return columns_digest(
            [
                *((f"feature {name}", self.feature(name)) for name in self.feature_names),
                *((f"group {name}", column) for name, column in self.sensitive.items()),
                *((f"impact {name}", column) for name, column in self.impacts.items()),
                *((name, getattr(self, name)) for name in sorted(known)),
                ("classes", self.classes),
                ("positive", positive),
                ("cost", self.cost),
                *((("estimated", np.array(asked, dtype=object)),) if asked else ()),
                *(() if self.unseen is None else self.unseen.columns),
                *(() if self.revealed is None else self.revealed.columns),
            ]
        )
