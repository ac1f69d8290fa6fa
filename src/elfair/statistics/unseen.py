"""What stands for an impact that was not seen for everyone.

With M = 1 where the impact I was seen, rho its probability given features x, groups, decision D and
early outcomes S, and h any regression of I on them,

    h(x, D, S) + (M / rho)(I - h(x, D, S))

has the mean of I if rho is right, or if h is, whatever the decision: the error of its mean is the
average of (rho / rho' - 1)(E[I | x, D, S] - h), a product of two errors. So it takes the place of
the impact in every estimator, and rows stay affine in the policy.

In the worst case a missing impact is whichever end of its range is bad for the statement. A row
with an impact v is u + (new w + logged) v, so the worst end makes it the row at the middle of the
range plus half of the range's width times |new w + logged|, which is a capped term: a row of some
impact within the range, so that no end of a row moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from elfair.data import LoggedData
from elfair.data.features import Encoding
from elfair.statistics.impacts import Ends, Impact, Ridge
from elfair.types import Booleans, Floats, Index

#: Candidate rows are judged by regressions that were fitted to the other folds.
FOLDS = 5
#: No estimated probability of being seen counts as smaller: no one row weighs more than 50.
LEAST_SEEN = 0.02
#: Newton's steps; a penalised likelihood has one maximum.
STEPS = 50


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
    expected, chance = _learnt(impact, candidate, limits, regressor).of(data)
    if data.unseen.how == "worst case":  # a search that was not told the range
        return np.where(seen, values, expected)
    return expected + np.where(seen, np.where(seen, values, 0.0) - expected, 0.0) / chance


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

    def of(self, data: LoggedData) -> tuple[Floats, Floats]:
        """What is expected of each row, and the probability that it was seen."""
        if data is self.candidate:
            return self.left_out
        known, taken = self.inputs.of(data)
        return self.whole.of(known, taken, data, self.limits)


_KNOWN: WeakKeyDictionary[LoggedData, dict[Any, _Learnt]] = WeakKeyDictionary()


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
    design = _chances(known, taken, seen, fold) if candidate.unseen.follow_up is None else None

    def fitted(rows: Booleans) -> _Nuisances:
        of_rows = np.flatnonzero(rows & seen)
        expects = _Expected.fit(known[of_rows], taken[of_rows], values[of_rows], regressor)
        chance = None if design is None else Logistic.fit(design(known, taken)[rows], seen[rows])
        return _Nuisances(expects, chance, design)

    expected, probability = np.empty(candidate.n), np.empty(candidate.n)
    for k in range(FOLDS):
        own = np.flatnonzero(fold == k)
        of_others = fitted(fold != k)
        pair = of_others.of(known[own], taken[own], candidate.take(own), limits)
        expected[own], probability[own] = pair
    whole = fitted(np.ones(candidate.n, dtype=np.bool_))
    return _Learnt(candidate, impact, limits, inputs, whole, (expected, probability))


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
    chance: Logistic | None
    design: Callable[[Floats, Floats], Floats] | None

    def of(
        self, known: Floats, taken: Floats, data: LoggedData, limits: Ends
    ) -> tuple[Floats, Floats]:
        """The two of some rows."""
        expected = np.clip(self.expects.of(known, taken), *limits)
        assert data.unseen is not None
        if self.chance is None or self.design is None:
            assert data.unseen.follow_up is not None
            return expected, data.unseen.follow_up
        chance = self.chance.predict(self.design(known, taken))
        return expected, np.maximum(chance, LEAST_SEEN)


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


def _linear(known: Floats, taken: Floats) -> Floats:
    return np.column_stack([known, taken])


def _curved(known: Floats, taken: Floats) -> Floats:
    """With squares, and with what each decision changes."""
    both = [known * each[:, None] for each in taken.T]
    return np.column_stack([known, taken, known**2, *both])


def _chances(
    known: Floats, taken: Floats, seen: Booleans, fold: Index
) -> Callable[[Floats, Floats], Floats]:
    """The form of a logistic regression that predicts the other folds better."""

    def likelihood(design: Callable[[Floats, Floats], Floats]) -> Floats:
        inputs, every = design(known, taken), np.empty(len(seen))
        for k in range(FOLDS):
            own = fold == k
            chance = Logistic.fit(inputs[~own], seen[~own]).predict(inputs[own])
            chance = np.clip(chance, LEAST_SEEN, 1 - 1e-6)
            every[own] = np.where(seen[own], np.log(chance), np.log1p(-chance))
        return every

    better = likelihood(_curved) - likelihood(_linear)
    # As for other regressions, the richer one counts if it is better by more than chance.
    return _curved if better.mean() > better.std() / np.sqrt(better.size) else _linear


@dataclass(frozen=True)
class Logistic:
    """Logistic regression on standardised inputs, with one pseudo-observation against each.

    Examples
    --------
    >>> x = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> model = Logistic.fit(x, np.array([False, True, True, True]))
    >>> model.predict(x).round(2)
    array([0.65, 0.65, 0.85, 0.85])
    """

    center: Floats
    scale: Floats
    coefficients: Floats

    @classmethod
    def fit(cls, inputs: Floats, hit: Booleans) -> Logistic:
        """Maximise the penalised likelihood by Newton's method."""
        scale = inputs.std(axis=0)
        center, scale = inputs.mean(axis=0), np.where(scale > 0, scale, 1.0)
        design = cls._design(inputs, center, scale)
        # Half a person each way keeps the intercept finite if everyone was seen.
        share = (hit.sum() + 0.5) / (hit.size + 1)
        coefficients = np.zeros(design.shape[1])
        coefficients[0] = np.log(share / (1 - share))
        penalty = np.ones(design.shape[1])
        penalty[0] = 1e-3
        target = hit.astype(np.float64)
        for _ in range(STEPS):
            chance = _sigmoid(design @ coefficients)
            slope = design.T @ (target - chance) - penalty * coefficients
            curve = (design.T * (chance * (1 - chance))) @ design + np.diag(penalty)
            step = np.linalg.solve(curve, slope)
            # Far from the maximum, a full step may leap over it.
            coefficients = coefficients + step / max(1.0, float(np.abs(design @ step).max()) / 4)
            if np.abs(step).max() < 1e-8:
                break
        return cls(center, scale, coefficients)

    @staticmethod
    def _design(inputs: Floats, center: Floats, scale: Floats) -> Floats:
        return np.column_stack([np.ones(len(inputs)), (inputs - center) / scale])

    def predict(self, inputs: Floats) -> Floats:
        """The probabilities."""
        return _sigmoid(self._design(inputs, self.center, self.scale) @ self.coefficients)


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
