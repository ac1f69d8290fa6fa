"""What must be given to look ahead of a fit without touching what it will test.

The rows as a check may see them: held-out impacts and labels are not there.

What is known of the people of one condition before the test.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import GroupRecord
from elfair.data import ContinuousData, LoggedData
from elfair.data.split import split_rows
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.fit import Request
from elfair.estimators.regressor import ELFRegressor
from elfair.fairness_test.evidence import NO_WEIGHTS, weights_of
from elfair.language import Condition, holds, uses_label, who
from elfair.planning.check_report import DecisionShare, GroupCheck, Overlap, WeightForecast
from elfair.search import Selection
from elfair.statistics import logged_average
from elfair.statistics.plan import Plan
from elfair.types import Booleans, Floats


def require_foreseeable(estimator: Any, data: Any) -> None:
    """Refuse what ``fit`` would do something else with, or what could not be repeated.

    Parameters
    ----------
    estimator : ELFClassifier or ELFRegressor
        What ``fit`` would be called on.
    data : LoggedData
        The rows; for a regressor, a ContinuousData.
    """
    if not isinstance(estimator, ELFClassifier | ELFRegressor):
        raise InputError(
            f"estimator must be an ELFClassifier or an ELFRegressor. Got "
            f"{type(estimator).__name__} instead.",
            hint="of a Pipeline, pass the last step, with data as it arrives there.",
        )
    wanted = ContinuousData if isinstance(estimator, ELFRegressor) else LoggedData
    if not isinstance(data, LoggedData) or data.decision_kind != wanted.decision_kind:
        raise InputError(
            f"data must be a {wanted.__name__}, for an {type(estimator).__name__}. Got "
            f"{type(data).__name__} instead.",
            hint=f"{wanted.__name__}(X, y, decision=..., propensity=..., impact=...) makes one.",
        )
    if isinstance(estimator.random_state, bool) or not isinstance(estimator.random_state, Integral):
        raise InputError(
            "random_state must be a whole number: the candidate half, which alone may be looked "
            f"at, depends on it. Got {estimator.random_state!r} instead.",
            hint="decide on a seed before the first look at the data.",
        )
    positive = getattr(estimator, "positive", None)
    if positive is not None and positive != data.positive:
        raise InputError(
            f"the estimator has positive={positive!r}, the data {data.positive!r}.",
            hint="pass positive= to LoggedData as well.",
        )


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
    def of(cls, data: LoggedData, request: Request) -> Halves:
        """The halves that ``fit`` will make; where nothing is tested, all rows are candidates, and
        where rows are tested by turns, none is.
        """
        seen = np.zeros(data.n, dtype=np.bool_)
        if not request.claims:
            seen[:] = True
        elif not request.crossfit:
            candidates, _ = split_rows(
                data,
                candidate_fraction=request.parameters["candidate_fraction"],
                seed=request.seed,
                stratified=request.parameters["split"] == "stratified",
            )
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

    def prepare(self, rows: LoggedData, request: Request) -> tuple[Selection, Plan]:
        """The search on some candidate rows, and its plan, as ``fit`` would make them."""
        selection, plan = request.selection(), request.plan(rows, self.everyone)
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


#: The bins of propensities.
EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def describe(
    given: Condition | None,
    halves: Halves,
    left_out: LoggedData | None,
    models: Sequence[Floats],
) -> GroupCheck:
    """The people of one condition.

    Parameters
    ----------
    given : Condition or None
        The condition; None means everyone.
    halves : Halves
        The rows.
    left_out : LoggedData, optional
        The rows whose impact is missing.
    models : sequence of ndarray of shape (channels, n)
        The first and the last model of the line-up on candidate rows; empty where none is known.
    """
    size, rows = halves.size(given), halves.known(given)
    inside = np.flatnonzero(holds(given, rows))
    candidates = np.flatnonzero(holds(given, halves.candidate))
    n_test = size.held_out or 0
    return GroupCheck(
        condition=who(given),
        candidate=size.candidate,
        held_out=size.held_out,
        expected=size.expected,
        share=inside.size / max(1, rows.n),
        left_out=0 if left_out is None else int(holds(given, left_out).sum()),
        decisions=_decisions(rows, inside),
        overlap=_overlap(rows, inside),
        weights=tuple(
            WeightForecast(
                model="first" if place == 0 else "last",
                mean=seen.mean,
                mean_error=seen.mean_error,
                largest=seen.largest,
                ess=seen.ess * n_test / candidates.size,
            )
            for place, free in enumerate(models)
            if candidates.size > 1
            for seen in [weights_of(candidates, halves.candidate, free)]
        ),
    )


def as_record(group: GroupCheck) -> GroupRecord:
    """The group as the assumptions of a certificate want it, under the first model."""
    n = group.held_out or 0
    if not group.weights:
        return GroupRecord(group.condition, n, *NO_WEIGHTS)
    first = group.weights[0]
    return GroupRecord(group.condition, n, first.ess, first.mean, first.mean_error, first.largest)


def _decisions(rows: LoggedData, inside: NDArray[np.intp]) -> tuple[DecisionShare, ...]:
    if rows.decision_index is None or not inside.size:
        return ()
    taken = np.bincount(rows.decision_index[inside], minlength=rows.classes.size)
    return tuple(
        DecisionShare(str(name), float(count / inside.size))
        for name, count in zip(rows.classes, taken, strict=True)
    )


def _overlap(rows: LoggedData, inside: NDArray[np.intp]) -> Overlap | None:
    if rows.probability is None or not inside.size:
        return None
    propensity = rows.probability[inside]
    low, quartile, median = (float(q) for q in np.quantile(propensity, [0.05, 0.25, 0.5]))
    smallest = float(propensity.min())
    bins = np.searchsorted(EDGES, propensity) - 1  # above one edge, up to the next
    counts = np.bincount(bins, minlength=len(EDGES) - 1)
    return Overlap(
        smallest, low, quartile, median, 1 / smallest, EDGES, tuple(int(c) for c in counts)
    )
