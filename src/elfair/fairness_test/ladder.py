"""Models in line: tested in turn, and pictured side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from elfair.certificate import Fate, ModelPicture, TradeOff
from elfair.data import LoggedData
from elfair.data.split import SealedHalf
from elfair.fairness_test.pictures import impact_series
from elfair.fairness_test.sealed import Trial, Turns, learn_from
from elfair.statistics.beyond_the_mean import settle
from elfair.statistics.plan import Plan
from elfair.types import Floats


@dataclass(frozen=True)
class Line:
    """Models of one family, in the order in which they are tested.

    Parameters
    ----------
    policy : Policy
        Their family. (Typed Any: whoever asked for a family knows what its policies can do.)
    thetas : sequence of ndarray
        Their parameters.
    """

    policy: Any
    thetas: Sequence[Floats]
    _shown: WeakKeyDictionary[LoggedData, Any] = field(default_factory=WeakKeyDictionary)

    def free(self, theta: Floats, rows: LoggedData) -> Floats:
        """The free numbers of one of them on some rows, of shape (channels, n)."""
        if rows not in self._shown:  # prepared once for all models
            self._shown[rows] = self.policy.logged(rows)
        numbers: Floats = self.policy.free(theta, self._shown[rows])
        return numbers

    def trials(self, plan: Plan, candidate: LoggedData, sealed: SealedHalf) -> Iterator[Trial]:
        """The test of each, with what candidate rows say of it.

        Parameters
        ----------
        plan : Plan
            What was asked for.
        candidate : LoggedData
            The rows that are not tested.
        sealed : SealedHalf
            Those that are.
        """
        fixed = plan.is_settled and plan.bound.kind == "asymptotic"
        for place, theta in enumerate(self.thetas):
            if place == 0 or not fixed:  # else nothing is learnt from a model
                numbers = self.free(theta, candidate)
                settled = settle(plan, candidate, numbers, sealed.n)
                learnt = learn_from(settled, candidate, numbers)
            yield Trial(settled, sealed, partial(self.free, theta), learnt)

    def trade_off(self, turns: Turns, candidate: LoggedData, losses: Sequence[float]) -> TradeOff:
        """The objective beside the impact, of each model, on candidate rows.

        Parameters
        ----------
        turns : Turns
            What the test made of them.
        candidate : LoggedData
            The rows.
        losses : sequence of float
            What the search makes small, of each model.
        """
        series, rows = impact_series(turns.plan, candidate)
        models = []
        for place, (theta, loss) in enumerate(zip(self.thetas, losses, strict=True), start=1):
            fate = fate_of(place, turns.tested, turns.place, passed=turns.outcome.passed)
            numbers = self.free(theta, candidate)
            impacts = tuple(float(each.values(numbers).mean()) for each in rows)
            models.append(ModelPicture(place, loss, fate, impacts))
        return TradeOff(tuple(series), tuple(models))


def fate_of(place: int, tested: int, last: int, *, passed: bool) -> Fate:
    """What the test made of the model at a place in line.

    Parameters
    ----------
    place : int
        Its place, from 1.
    tested : int
        How many were tested.
    last : int
        The place of the last that passed, or of the first if that one failed.
    passed : bool
        Whether any passed.

    Examples
    --------
    >>> [fate_of(place, 3, 2, passed=True) for place in (1, 2, 3, 4)]
    ['passed', 'let out', 'failed', 'not tested']
    """
    if place > tested:
        return "not tested"
    if place == last and passed:
        return "let out"
    return "passed" if place < last else "failed"
