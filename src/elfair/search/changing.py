"""What a change of people does to the rows that a search looks at."""

from __future__ import annotations

from elfair.bounds.base import mean_of
from elfair.statistics.rows import Rows
from elfair.statistics.shift import steepness
from elfair.types import Floats


class Change:
    """What a change of people does to the values of some rows under one policy.

    The h of `elfair.statistics.shift` is the best one for the policy, so that, to first order, the
    mean does not depend on it.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.low, self.high, self.cost = rows.low, rows.high, 0.0
        #: The values without the change; None if there is none.
        self.raw: Floats | None = None

    def of(self, values: Floats) -> Floats:
        """The values that allow for the change."""
        if self._rows.shift == 1:
            return values
        self._h = self._rows.threshold(values)
        worst, self.low, self.high = self._rows.worst_case(values, self._h)
        self.raw, self.cost = values, mean_of(worst) - mean_of(values)
        return worst

    @property
    def slope(self) -> Floats | float:
        """The derivative of each of them by the value without the change."""
        if self.raw is None:
            return 1.0
        return steepness(self.raw, self._rows.shift, self._h)
