"""The rows as a check may see them: held-out impacts and labels are not there."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elfair.constraints import Plan
from elfair.data import LoggedData
from elfair.fitting import Fitting
from elfair.language import Condition, holds, uses_label
from elfair.partition import split_rows
from elfair.search import Selection
from elfair.statistics import logged_average

Booleans = NDArray[np.bool_]


class Size(NamedTuple):
    """How many rows of each half meet a condition.

    Parameters
    ----------
    candidate : int
        Candidate rows.
    held_out : int or None
        Held-out rows; None where that is not known.
    expected : bool
        Whether that is what candidate rows let expect.
    """

    candidate: int
    held_out: int | None
    expected: bool


@dataclass(frozen=True)
class Halves:
    """Candidate rows, and all rows without what must not be looked at.

    Parameters
    ----------
    everyone : LoggedData
        All rows; of those that will be tested the impacts are NaN, and the labels are one and the
        same.
    candidate : LoggedData
        The rows of the search.
    """

    everyone: LoggedData
    candidate: LoggedData

    @classmethod
    def of(cls, data: LoggedData, fitting: Fitting) -> Halves:
        """The halves that ``fit`` will make; where nothing is tested, all rows are candidates, and
        where rows are tested by turns, none is.
        """
        seen = np.zeros(data.n, dtype=np.bool_)
        if not fitting.claims:
            seen[:] = True
        elif not fitting.crossfit:
            candidates, _ = split_rows(data, **fitting.split)
            seen[candidates] = True
        return cls(_veiled(data, seen), data.take(np.flatnonzero(seen)))

    @property
    def n_held_out(self) -> int:
        """How many rows will be tested."""
        return int(self.everyone.n - self.candidate.n)

    def known(self, given: Condition | None) -> LoggedData:
        """The rows of which it is known whether they meet a condition."""
        return self.candidate if given is not None and uses_label(given) else self.everyone

    def size(self, given: Condition | None) -> Size:
        """How many rows meet a condition."""
        candidate = int(holds(given, self.candidate).sum())
        known = self.known(given)
        if known is self.everyone:
            return Size(candidate, int(holds(given, known).sum()) - candidate, False)
        if not self.candidate.n:
            return Size(0, None, False)
        return Size(candidate, round(candidate * self.n_held_out / self.candidate.n), True)

    def prepare(self, rows: LoggedData, fitting: Fitting) -> tuple[Selection, Plan]:
        """The search on some candidate rows, and its plan, as ``fit`` would make them."""
        selection, plan = fitting.selection(), fitting.plan(rows, self.everyone)
        if selection.method == "cmaes":  # finds the same policies, and takes its time
            selection = replace(selection, method="gradient")
        # The paper's tau is an average over all rows; here it is one over candidate rows.
        averages = {mean: logged_average(mean, self.candidate) for mean in plan.logged_averages}
        return selection, replace(plan, logged_averages=averages)


def _veiled(data: LoggedData, seen: Booleans) -> LoggedData:
    """The rows without the impacts and labels of those that are not to be seen."""
    veiled = copy.copy(data)
    veiled.impacts = {name: np.where(seen, of, np.nan) for name, of in data.impacts.items()}
    for name in ("label", "label_index"):
        column = getattr(data, name)
        if column is not None:
            hidden = column.copy()
            hidden[~seen] = 0 if name == "label_index" or not data.classes.size else data.classes[0]
            setattr(veiled, name, hidden)
    return veiled
