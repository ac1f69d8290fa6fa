"""The rows as check and plan see them: without the impacts and labels of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import GroupRecord
from elfair.data import LoggedData
from elfair.data.preparation import DefaultPreparation
from elfair.data.units import count_units
from elfair.errors import InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.fit import Request
from elfair.estimators.regressor import ELFRegressor
from elfair.fairness_test.batch import weights_of
from elfair.fairness_test.evidence import group_record
from elfair.language.conditions import Condition, uses_label, who
from elfair.language.evaluation import holds
from elfair.search import Selection
from elfair.search.selection import DEFAULT, SEARCHES
from elfair.statistics import logged_average
from elfair.statistics.plan import Plan
from elfair.types import Booleans, Floats


def require_plannable(estimator: Any, data: Any) -> None:
    """Refuse anything that ``fit`` would treat differently, or that could not be repeated.

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
    estimator.check_table(data)
    if isinstance(estimator.random_state, bool) or not isinstance(estimator.random_state, Integral):
        raise InputError(
            "random_state must be a whole number: it decides which rows are candidate rows, and "
            f"only those may be used here. Got {estimator.random_state!r} instead.",
            hint="choose a seed before you look at the data.",
        )


def not_forecast(request: Request) -> str:
    """The settings that a forecast replaces by the default search; empty if there are none.

    Parameters
    ----------
    request : Request
        What ``fit`` would be asked for.
    """
    search = request.parameters["search"]
    asked = {
        "candidate_tuning": request.parameters["candidate_tuning"],
        f"search='{search}'": SEARCHES[search].slow,
    }
    return " and ".join(name for name, given in asked.items() if given)


@dataclass(frozen=True)
class VisibleRows:
    """Candidate rows, and all rows with what must not be seen removed.

    Parameters
    ----------
    everyone : LoggedData
        All rows; the impacts of held-out rows are NaN, and their labels are all the same.
    candidate : LoggedData
        The rows of the search.
    """

    everyone: LoggedData
    candidate: LoggedData

    @classmethod
    def of(cls, data: LoggedData, request: Request) -> VisibleRows:
        """Hide what ``fit`` will hold out. If nothing is tested, all rows are candidate rows; under
        cross-fitting, which tests every row, none is.
        """
        seen, data = np.zeros(data.n, dtype=np.bool_), request.seen(data)
        if request.crossfit and data.unlogged is not None:
            data = request.split(data).everyone  # decisions and features are no secret
        elif request.crossfit:
            if data.raw is not None:  # and nothing may be learnt that prepares features
                data = data.prepared(DefaultPreparation.learn(data.take(np.arange(0)).raw or {}))
        else:
            split = request.split(data)
            data = split.everyone  # maybe fewer rows: who is trimmed has no part in the fit
            seen = np.isin(data.position, split.candidate.position)
        return cls(_hide(data, seen), data.take(np.flatnonzero(seen)))

    @property
    def n_held_out(self) -> int:
        """How many rows will be tested."""
        return int(self.everyone.n - self.candidate.n)

    def deciding(self, given: Condition | None) -> LoggedData:
        """The rows that are known to meet a condition or not."""
        return self.candidate if given is not None and uses_label(given) else self.everyone

    def held_out(self, given: Condition | None) -> int | None:
        """How many held-out rows meet a condition.

        If only their labels could tell, it is what candidate rows let you expect; None without any.
        """
        known = self.deciding(given)
        inside = count_units(self.candidate, holds(given, self.candidate))
        if known is self.everyone:
            return count_units(known, holds(given, known)) - inside
        return round(inside * self.n_held_out / known.n) if known.n else None

    def prepare(self, rows: LoggedData, request: Request) -> tuple[Selection, Plan]:
        """The search on some candidate rows and its plan, as ``fit`` would make them."""
        selection, plan = request.selection(), request.plan(rows, self.everyone)
        if SEARCHES[selection.method].slow:  # it finds the same policies
            selection = replace(selection, method=DEFAULT)
        # The paper's tau is an average over all rows; here it is one over candidate rows.
        averages = {mean: logged_average(mean, self.candidate) for mean in plan.logged_averages}
        return selection, replace(plan, logged_averages=averages)


def _hide(data: LoggedData, seen: Booleans) -> LoggedData:
    """Remove the impacts and labels of the rows that must not be seen."""
    impacts = {name: np.where(seen, of, np.nan) for name, of in data.impacts.items()}
    blank = {"label": data.classes[0] if data.classes.size else 0, "label_index": 0}
    labels = {name: getattr(data, name) for name in blank}
    known = seen if data.revealed is None else seen | ~data.revealed.seen  # nothing to hide there
    hidden = {
        name: np.where(known, column, blank[name])
        for name, column in labels.items()
        if column is not None
    }
    unseen = data.unseen
    if unseen is not None:  # of whom an impact is missing may be seen: it is declared, not tested
        early = {name: np.where(seen, of, np.nan) for name, of in unseen.early.items()}
        unseen = replace(unseen, early=early)
    if data.person_cost is not None:
        hidden["person_cost"] = np.where(seen[:, None], data.person_cost, np.nan)
    return data.changed(impacts=impacts, unseen=unseen, **hidden)


#: A row whose logged decision was less probable than this may weigh more than a hundred rows.
TINY = 0.01
#: The upper edges of the bins of propensities.
EDGES = (TINY, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Overlap:
    """How probable the logged decisions were.

    Parameters
    ----------
    smallest, low, lower_quartile, median : float
        The smallest propensity, and its 5 %, 25 % and 50 % quantiles.
    largest_weight : float
        1 / smallest: no model gives a logged row a larger weight.
    counts : mapping of str to int
        Rows in each bin, by its upper edge: above the previous edge, up to this one.
    """

    smallest: float
    low: float
    lower_quartile: float
    median: float
    largest_weight: float
    counts: Mapping[str, int]


@dataclass(frozen=True)
class GroupCheck:
    """The rows that meet one condition.

    Parameters
    ----------
    condition : str
        The condition; "everyone" if there is none.
    candidate : int
        How many candidate rows meet it; of people with several rows, how many people.
    held_out : int or None
        The same of held-out rows; None if only their labels could tell.
    expected : bool
        Whether ``held_out`` is what candidate rows let you expect, because the condition is about
        the label.
    share : float
        The share of all rows (of candidate rows, if the condition is about the label).
    left_out : int
        How many rows that meet it were left out because their impact is missing.
    decisions : mapping of str to float
        The share of each decision among them; empty if decisions are numbers.
    expected_decisions : mapping of str to float
        If propensities are estimated: the share of each decision that the estimate expects.
    overlap : Overlap or None
        How probable these decisions were; None if there are no propensities, or densities instead.
    weights : tuple of GroupRecord
        Under the first and the last model of the ladder: the weights of candidate rows, and the
        effective sample size to expect on the held-out rows. Empty if no weights enter.
    """

    condition: str
    candidate: int
    held_out: int | None
    expected: bool
    share: float
    left_out: int
    decisions: Mapping[str, float]
    expected_decisions: Mapping[str, float]
    overlap: Overlap | None
    weights: tuple[GroupRecord, ...]


def describe(
    given: Condition | None,
    visible: VisibleRows,
    left_out: LoggedData | None,
    models: Sequence[Floats],
) -> GroupCheck:
    """What is known about the rows that meet one condition.

    Parameters
    ----------
    given : Condition or None
        The condition; None means everyone.
    visible : VisibleRows
        The rows.
    left_out : LoggedData, optional
        The rows that were left out because their impact is missing.
    models : sequence of ndarray of shape (channels, n)
        The first and the last model of the ladder, on candidate rows; empty if none is known.
    """
    rows, held_out, name = visible.deciding(given), visible.held_out(given), who(given)
    inside, n_test = np.flatnonzero(holds(given, rows)), held_out or 0
    among = holds(given, visible.candidate)
    candidates, n_seen = np.flatnonzero(among), count_units(visible.candidate, among)
    if candidates.size < 2:
        models = ()
    weights = [weights_of(candidates, visible.candidate, free) for free in models]
    return GroupCheck(
        condition=name,
        candidate=n_seen,
        held_out=held_out,
        expected=rows is not visible.everyone and held_out is not None,
        share=inside.size / max(1, rows.n),
        left_out=0 if left_out is None else int(holds(given, left_out).sum()),
        decisions=_decisions(rows, inside),
        expected_decisions=_expected(rows, inside),
        overlap=_overlap(rows, inside),
        weights=tuple(
            replace(
                group_record(name, n_test, each), ess=each.ess * n_test / max(1, candidates.size)
            )
            for each in weights
        ),
    )


def _decisions(rows: LoggedData, inside: NDArray[np.intp]) -> dict[str, float]:
    if rows.decision_index is None or not inside.size:
        return {}
    taken = np.bincount(rows.decision_index[inside], minlength=rows.classes.size) / inside.size
    return dict(zip(map(str, rows.classes), taken.tolist(), strict=True))


def _expected(rows: LoggedData, inside: NDArray[np.intp]) -> dict[str, float]:
    if rows.learnt is None or rows.behavior is None or not inside.size:
        return {}
    shares = rows.behavior[inside].mean(axis=0).tolist()
    return dict(zip(map(str, rows.classes), shares, strict=True))


def _overlap(rows: LoggedData, inside: NDArray[np.intp]) -> Overlap | None:
    if rows.probability is None or not inside.size:
        return None
    propensity = rows.probability[inside]
    low, quartile, median = np.quantile(propensity, [0.05, 0.25, 0.5]).tolist()
    smallest = float(propensity.min())
    # Above one edge, up to the next.
    counts = np.bincount(np.searchsorted(EDGES, propensity), minlength=len(EDGES)).tolist()
    bins = {f"{edge:g}": count for edge, count in zip(EDGES, counts, strict=True)}
    return Overlap(smallest, low, quartile, median, 1 / smallest, bins)
