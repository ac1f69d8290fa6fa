"""What stands for an impact that was not seen for everyone.

With M = 1 where the impact I was seen, rho its probability given features x, groups, decision D and
early outcomes S, and h any regression of I on them,

    h(x, D, S) + (M / rho)(I - h(x, D, S))

has the mean of I if rho is right, or if h is, whatever the decision: the error of its mean is the
average of (rho / rho' - 1)(E[I | x, D, S] - h), a product of two errors. So it takes the place of
the impact in every estimator, and rows stay affine in the policy.

Nobody knows what to expect of people who are hardly ever seen: h only extrapolates to them, and
1 / rho has no end. So what is missing of people with an estimated rho below `LEAST_SEEN`, and of
people among whom hardly anyone was seen, counts at its worst, as in the worst case, which takes no
assumption about them: within the declared range, or within the range that candidate rows show. No
one else weighs more than 1 / `LEAST_SEEN`.

In the worst case a missing impact is whichever end of its range is bad for the statement. A row
with an impact v is u + (new w + logged) v, so the worst end makes it the row at the middle of the
range plus half of the range's width times |new w + logged|, which is a capped term: a row of some
impact within the range, so that no end of a row moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.data import LoggedData
from elfair.data.by_table import ByTable
from elfair.data.features import Encoding
from elfair.statistics.impacts import Ends, Impact, Ridge
from elfair.statistics.seen import LEAST_SEEN, Seeing, holes
from elfair.types import Booleans, Floats

#: Candidate rows are judged by regressions that were fitted to the other folds.
FOLDS = 5


def is_unseen(impact: Impact, data: LoggedData) -> bool:
    """Whether an impact is missing somewhere in the table."""
    return data.unseen is not None and impact.name in data.unseen.seen


def seen_of(impact: Impact, data: LoggedData) -> Booleans:
    """The rows in which an impact was seen."""
    if data.unseen is None or impact.name not in data.unseen.seen:
        return np.ones(data.n, dtype=np.bool_)
    return data.unseen.seen[impact.name]


def completed(
    impact: Impact, data: LoggedData, candidate: LoggedData, limits: Ends, regressor: Any
) -> Floats:
    """What stands for an impact in each row: see the module.

    Parameters
    ----------
    impact : Impact
        The impact, or a function of one.
    data : LoggedData
        The rows.
    candidate : LoggedData
        Rows that are not tested, which regressions are learnt from; of these themselves, from the
        other folds.
    limits : (float, float)
        The ends of the impact.
    regressor : scikit-learn regressor, optional
        What to expect an impact with; by default ridge regression.
    """
    values = impact.values(data)
    if not is_unseen(impact, data):
        return values
    assert data.unseen is not None
    seen = seen_of(impact, data)
    if data.unseen.how == "worst case" and np.isfinite(limits).all():
        return np.where(seen, values, (limits[0] + limits[1]) / 2)
    learnt = _learnt(impact, candidate, limits, regressor)
    expected, chance, hardly = learnt.of(data)
    if data.unseen.how == "worst case":  # a search that was not told the range
        return np.where(seen, values, expected)
    known = np.where(seen, values, 0.0)
    usual = seen & ~hardly  # of others, the chance may be as small as 0
    made = expected + np.where(usual, known - expected, 0.0) / np.where(usual, chance, 1.0)
    return np.where(hardly, np.where(seen, known, sum(learnt.shown) / 2), made)


def half_widths(
    impact: Impact, data: LoggedData, candidate: LoggedData, limits: Ends, regressor: Any
) -> Floats | None:
    """By how much the worst end of what is missing in each row is away from what stands for it;
    None if nothing counts at its worst. The parameters are those of `completed`.
    """
    if not is_unseen(impact, data):
        return None
    assert data.unseen is not None
    missing = ~seen_of(impact, data)
    if data.unseen.how == "worst case":
        if not np.isfinite(limits).all():
            return None
        return np.where(missing, (limits[1] - limits[0]) / 2, 0.0)
    learnt = _learnt(impact, candidate, limits, regressor)
    at_worst = missing & learnt.of(data)[2]
    return np.where(at_worst, (learnt.shown[1] - learnt.shown[0]) / 2, 0.0)


def expected_impact(impact: Impact, candidate: LoggedData, limits: Ends, regressor: Any) -> Floats:
    """What regressions of an impact on features and decision learn from: in rows where it is
    missing somewhere, what is expected of it given early outcomes, too.
    """
    if not is_unseen(impact, candidate):
        return impact.values(candidate)
    return _learnt(impact, candidate, limits, regressor).of(candidate)[0]


def limits_of(impact: Impact, data: LoggedData, limits: Ends) -> Ends:
    """The ends of what stands for an impact, from those of the impact.

    If everyone was followed up with the same known probability p, and h is within the ends, it is
    at most (1 / p - 1) times their distance beyond them. An estimated probability has no proof.
    """
    if not is_unseen(impact, data):
        return limits
    assert data.unseen is not None
    if data.unseen.how == "worst case":
        return limits
    if data.unseen.share is None or not np.isfinite(limits).all():
        return -np.inf, np.inf
    beyond = (1 / data.unseen.share - 1) * (limits[1] - limits[0])
    return limits[0] - beyond, limits[1] + beyond


@dataclass(frozen=True)
class _Learnt:
    """Regressions of an impact, and of whether it was seen, on what is known of everyone."""

    candidate: LoggedData
    impact: Impact
    limits: Ends
    inputs: Inputs
    whole: _Nuisances
    left_out: tuple[Floats, Floats]
    shown: Ends
    kept: ByTable[tuple[Floats, Floats, Booleans]]

    def of(self, data: LoggedData) -> tuple[Floats, Floats, Booleans]:
        """What is expected of each row, the probability that it was seen, and whether people like
        that are hardly ever seen.
        """
        if data not in self.kept:
            known, taken = self.inputs.of(data)
            pair = self.left_out
            if data is not self.candidate:
                pair = self.whole.of(known, taken, data, self.limits)
            hardly = np.zeros(data.n, dtype=np.bool_)
            if self.whole.chance is not None:  # the chances of a lottery are known, however small
                hardly = pair[1] < LEAST_SEEN
                hardly |= holes(known, taken, seen_of(self.impact, data), pair[1])
            self.kept[data] = *pair, hardly
        return self.kept[data]


_KNOWN: ByTable[dict[Any, _Learnt]] = ByTable()


def _learnt(impact: Impact, candidate: LoggedData, limits: Ends, regressor: Any) -> _Learnt:
    """Learn once from the same rows: many parts of a search ask."""
    known = _KNOWN.setdefault(candidate, {})
    key = impact, limits, repr(regressor)
    if key not in known:
        known[key] = _learn(impact, candidate, limits, regressor)
    return known[key]


def _learn(impact: Impact, candidate: LoggedData, limits: Ends, regressor: Any) -> _Learnt:
    inputs = Inputs.learn(candidate)
    known, taken = inputs.of(candidate)
    seen, values = seen_of(impact, candidate), impact.values(candidate)
    fold = np.arange(candidate.n) % FOLDS
    assert candidate.unseen is not None
    drawn = candidate.unseen.follow_up is not None
    seeing = None if drawn else Seeing.chosen(known, taken, seen, fold)

    def fitted(rows: Booleans) -> _Nuisances:
        of_rows = np.flatnonzero(rows & seen)
        expects = _Expected.fit(known[of_rows], taken[of_rows], values[of_rows], regressor)
        chance = None if seeing is None else seeing.fit(known[rows], taken[rows], seen[rows])
        return _Nuisances(expects, chance)

    expected, probability = np.empty(candidate.n), np.empty(candidate.n)
    for k in range(FOLDS):
        own = np.flatnonzero(fold == k)
        of_others = fitted(fold != k)
        pair = of_others.of(known[own], taken[own], candidate.take(own), limits)
        expected[own], probability[own] = pair
    whole = fitted(np.ones(candidate.n, dtype=np.bool_))
    # An end that nobody declared is where those seen end.
    ends = float(values[seen].min(initial=0.0)), float(values[seen].max(initial=0.0))
    low, high = (limits[k] if np.isfinite(limits[k]) else ends[k] for k in (0, 1))
    return _Learnt(
        candidate,
        impact,
        limits,
        inputs,
        whole,
        (expected, probability),
        (low, high),
        ByTable(),
    )


@dataclass(frozen=True)
class Inputs:
    """What regressions see of a row: features, groups, early outcomes and their squares; and what
    was decided.
    """

    encoding: Encoding
    center: Floats
    scale: Floats

    @classmethod
    def learn(cls, candidate: LoggedData) -> Inputs:
        """From candidate rows."""
        early = _early(candidate)
        scale = early.std(axis=0)
        return cls(Encoding.learn(candidate), early.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def of(self, data: LoggedData) -> tuple[Floats, Floats]:
        """What is known of each row, and what was decided: an indicator of each class but the
        first, or the number and its square.
        """
        early = (_early(data) - self.center) / self.scale
        known = np.column_stack([self.encoding.of(data), early, early**2])
        if data.decision_kind == "numbers" and data.decision is not None:
            number = np.asarray(data.decision, dtype=np.float64)
            return known, np.column_stack([number, number**2])
        if data.decision_index is None:
            return known, np.empty((data.n, 0))
        return known, np.eye(data.classes.size)[data.decision_index][:, 1:]


def _early(data: LoggedData) -> Floats:
    assert data.unseen is not None
    return np.column_stack([np.empty((data.n, 0)), *data.unseen.early.values()])


@dataclass(frozen=True)
class _Nuisances:
    """h, and rho unless it is known."""

    expects: _Expected
    chance: Seeing | None

    def of(
        self, known: Floats, taken: Floats, data: LoggedData, limits: Ends
    ) -> tuple[Floats, Floats]:
        """The two of some rows."""
        expected = np.clip(self.expects.of(known, taken), *limits)
        assert data.unseen is not None
        if self.chance is None:
            assert data.unseen.follow_up is not None
            return expected, data.unseen.follow_up
        return expected, self.chance.of(known, taken)


@dataclass(frozen=True)
class _Expected:
    """h: a regression for each decision that enough people were seen with, and one for all."""

    overall: Any
    by_decision: dict[tuple[float, ...], Any]

    @classmethod
    def fit(cls, known: Floats, taken: Floats, values: Floats, regressor: Any) -> _Expected:
        """Fit to rows in which the impact was seen."""
        from sklearn.base import clone

        def fitted(inputs: Floats, of: Floats) -> Any:
            if regressor is None or len(of) < 2:
                return Ridge.fit(inputs, of) if len(of) else Ridge(0.0, np.zeros(inputs.shape[1]))
            return clone(regressor).fit(inputs, of)

        overall = fitted(np.column_stack([known, taken]), values)
        by_decision = {}
        if np.isin(taken, (0.0, 1.0)).all():
            for each in np.unique(taken, axis=0):
                rows = (taken == each).all(axis=1)
                if rows.sum() > 2 * known.shape[1] + 2:
                    by_decision[tuple(each.tolist())] = fitted(known[rows], values[rows])
        return cls(overall, by_decision)

    def of(self, known: Floats, taken: Floats) -> Floats:
        """What is expected of each row."""
        expected = np.asarray(self.overall.predict(np.column_stack([known, taken])))
        for each, model in self.by_decision.items():
            rows = (taken == each).all(axis=1)
            if rows.any():
                expected[rows] = model.predict(known[rows])
        return expected
