"""The rows of a statistic, gathered by unit: what bounds take for independent.

Let S be the sum of mass times z over the rows of a unit, N the sum of their masses, both divided by
the mean N of all units, and m the mean of S: the average by mass. The value of a unit is

    S + m (1 - N) = m + (S - m N),

which is linear in z. Its mean is m, and it varies as m does: to first order, the error of a
quotient of two averages is that of the mean of S - m N.

* Of the average unit, every N is 1. The value of a unit is the plain average of its rows, between
  the same ends: an ordinary independent observation, for which every bound keeps its proof.
* Of the average row, and with sample weights, units differ in N. Then bounds hold in the limit of
  many units. m = 0 is no exception: whether m is above 0 is whether the mean of S is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elfair.data import LoggedData
from elfair.data.units import mass_of, numbered
from elfair.types import Floats, Index


@dataclass(frozen=True)
class Units:
    """The units of some rows.

    Parameters
    ----------
    place : ndarray of shape (rows,)
        The number of each row's unit, in the order in which units appear.
    names : ndarray of shape (units,)
        What each unit is called in the whole table, by number.
    mass : ndarray of shape (rows,)
        How much each row counts.
    alike : bool
        Whether all units count the same whatever the data are: that of the average unit.

    Examples
    --------
    >>> data = LoggedData(np.zeros((3, 1)), unit=["ann", "bob", "ann"])
    >>> units = Units.of(data, np.arange(3))
    >>> units.gather(units.share * np.array([2.0, 1.0, 4.0]))
    array([3., 1.])
    >>> units = Units.of(data.changed(average="row"), np.arange(3))
    >>> float(units.gather(units.share * np.array([2.0, 1.0, 4.0])).mean())
    2.3333333333333335
    """

    place: Index
    names: Index
    mass: Floats
    alike: bool

    @classmethod
    def of(cls, data: LoggedData, rows: Index) -> Units | None:
        """The units of some rows of a table; None if each row is one, and all count the same."""
        if data.unit_index is None and data.sample_weight is None:
            return None
        place, first = numbered(data, rows)
        mass = mass_of(data, place, rows)
        names = data.position if data.unit_index is None else data.unit_index
        alike = data.average == "unit" and data.sample_weight is None
        return cls(place, names[rows][first], np.ones(rows.size) if mass is None else mass, alike)

    @classmethod
    def joined(cls, parts: Sequence[Units]) -> Units:
        """Those of several parts of a table that have no unit in common."""
        starts = np.cumsum([0, *(part.count for part in parts)])
        places = [part.place + start for part, start in zip(parts, starts, strict=False)]
        return cls(
            np.concatenate(places),
            np.concatenate([part.names for part in parts]),
            np.concatenate([part.mass for part in parts]),
            all(part.alike for part in parts),
        )

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.names.size)

    @cached_property
    def share(self) -> Floats:
        """What each row's value is multiplied by before those of a unit are added up: its mass, in
        units of the mean mass of a unit.
        """
        return np.asarray(self.mass * (self.count / self.mass.sum()))

    @cached_property
    def _lacking(self) -> Floats | None:
        """What the mass of each unit lacks of the mean one; None if nothing."""
        return None if self.alike else np.asarray(1 - self.added(self.share))

    def added(self, shares: Floats) -> Floats:
        """The sums over the rows of each unit; leading axes are repetitions."""
        if shares.ndim == 1:
            return np.bincount(self.place, shares, self.count).astype(np.float64, copy=False)
        flat = shares.reshape(-1, shares.shape[-1])
        sums = np.array([np.bincount(self.place, each, self.count) for each in flat])
        return sums.reshape(*shares.shape[:-1], self.count)

    def gather(self, shares: Floats) -> Floats:
        """The value of each unit, from shares times the values of rows."""
        sums = self.added(shares)
        if self._lacking is not None:
            sums += sums.mean(axis=-1, keepdims=True) * self._lacking
        return sums

    def back(self, by_units: Floats) -> Floats:
        """Derivatives by shares times the values of rows, from those by the values of units."""
        if self._lacking is not None:
            by_units = by_units + float(by_units @ self._lacking) / self.count
        return np.asarray(by_units[self.place])

    def averages(self, values: Floats) -> float:
        """The average of some rows' values by mass."""
        return float(self.share @ values) / self.count
