"""Propensities that nobody logged: a model of the logged decisions, learnt from candidate rows.

It predicts decisions from features and groups: what the people who decided could see. Held-out rows
get the probabilities of the model that all candidate rows teach; a candidate row gets those that
the other folds teach, because a model knows the rows that it was fitted to too well.

The model is an estimate. It is learnt again without each of `GROUPS` groups of candidate rows: how
much the results differ says how much they would differ with other candidate rows (the
delete-a-group jackknife), and bounds allow for it; see `elfair.statistics.doubt`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.data.behavior import behavior_probabilities
from elfair.data.digests import Keys, mix
from elfair.data.features import Encoding
from elfair.data.forms import FORMS, Form
from elfair.data.preparation import seeded
from elfair.data.table import LoggedData
from elfair.errors import DataError, listed
from elfair.types import Booleans, Floats, Index

#: Parts of candidate rows: to predict each from the others, and to leave each out in turn.
FOLDS = 5
GROUPS = 20
#: No estimated probability counts as smaller: no row weighs more than 100.
LEAST = 0.01
#: A decision is certain for people if no other has at least this estimated probability.
CERTAIN = 0.02
#: If so many decisions are certain, the rows contain no experiment.
MOST_CERTAIN = 0.8
#: With more shifts of groups than this, only the average is corrected.
MOST_SHIFTS = 20
#: Too few rows with some decision to learn from.
FEWEST = 10


@dataclass(frozen=True)
class Learnt:
    """The behaviour model that some candidate rows teach.

    Parameters
    ----------
    encoding : Encoding
        What it sees of a row.
    form : str
        What kind of model it is.
    tried : tuple of (str, float)
        The average log-likelihood of candidate rows, each predicted from other folds, by each form.
    calibration : Calibration
        What other folds say about its probabilities.
    whole : classifier
        The model.
    without : tuple of classifiers
        The same without each group of rows in turn.
    rows : ndarray of int
        The positions of the rows that it was learnt from.
    """

    encoding: Encoding
    form: str
    tried: tuple[tuple[str, float], ...]
    calibration: Calibration
    whole: Any
    without: tuple[Any, ...]
    rows: Index

    def held_out(self, rows: LoggedData) -> LoggedData:
        """Rows that had no part in it, with their probabilities."""
        inputs = self.encoding.of(rows)
        every = [self._chances(model, inputs, rows) for model in (self.whole, *self.without)]
        return _known(rows, every[0], every[1:])

    def candidate(self, rows: LoggedData, from_others: Floats) -> LoggedData:
        """The rows that it was learnt from, with the probabilities that other folds teach. What a
        group of rows changes, it changes in the odds.
        """
        inputs = self.encoding.of(rows)
        base = self.calibration.of(from_others, self.encoding.groups_in(inputs))
        own = self._chances(self.whole, inputs, rows)
        others = [
            _distribution(base * self._chances(model, inputs, rows) / own) for model in self.without
        ]
        return _known(rows, base, others)

    def _chances(self, model: Any, inputs: Floats, rows: LoggedData) -> Floats:
        chances = _predicted(model, inputs, rows.classes.size)
        return self.calibration.of(chances, self.encoding.groups_in(inputs))


def _known(rows: LoggedData, behavior: Floats, others: Sequence[Floats]) -> LoggedData:
    """The rows, with the probability of every decision, and that of the logged decision by every
    other estimate.
    """
    assert rows.decision_index is not None
    taken = np.arange(rows.n), rows.decision_index
    doubts = np.column_stack([each[taken] for each in others])
    return rows.changed(behavior=behavior, propensity=behavior[taken], doubts=doubts)


@dataclass(frozen=True)
class Calibration:
    """A correction of probabilities: each log-odds against the first class times a slope, plus a
    shift for each group. It is learnt from rows that were predicted from other folds, and is used
    only if it predicts decisions better by more than a standard error. Without shifts by group, a
    slope that tempers noise would also temper what a group was known to get.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> Calibration(1.0, np.zeros((1, 1))).of(np.array([[0.2, 0.8]]), one)
    array([[0.2, 0.8]])
    >>> Calibration(0.5, np.zeros((1, 1))).of(np.array([[0.2, 0.8]]), one).round(3)
    array([[0.333, 0.667]])
    """

    slope: float
    shift: Floats

    @property
    def is_used(self) -> bool:
        """Whether it changes anything."""
        return self.slope != 1 or bool(self.shift.any())

    def of(self, chances: Floats, groups: Floats) -> Floats:
        """The corrected probabilities, none below `LEAST`, of rows in some groups."""
        if not self.is_used:
            return _distribution(chances)
        logits = self.slope * (np.log(chances[:, 1:]) - np.log(chances[:, :1]))
        logits += groups[:, : len(self.shift)] @ self.shift
        odds = np.exp(np.clip(logits, -50, 50))
        return _distribution(np.column_stack([np.ones(len(odds)), odds]))

    @classmethod
    def learn(cls, chances: Floats, taken: Index, groups: Floats) -> Calibration:
        """From the probabilities of rows, by other folds, what was decided about them, and their
        groups: a column of ones, and indicators.
        """
        from scipy.optimize import minimize

        others = chances.shape[1] - 1
        count = groups.shape[1] if groups.shape[1] * others <= MOST_SHIFTS else 1
        none = cls(1.0, np.zeros((count, others)))

        def made(numbers: Floats) -> Calibration:
            return cls(float(numbers[0]), numbers[1:].reshape(none.shift.shape))

        def loss(numbers: Floats) -> float:
            likelihood = _likelihood(made(numbers).of(chances, groups), taken).sum()
            # One pseudo-observation against each shift of a group.
            return float(np.sum(numbers[1 + others :] ** 2) / 2 - likelihood) / taken.size

        start = np.concatenate([[1.0], none.shift.ravel()])
        best = made(minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x)
        better = _likelihood(best.of(chances, groups), taken)
        better = better - _likelihood(none.of(chances, groups), taken)
        worth_it = better.mean() > better.std() / np.sqrt(better.size)
        return best if worth_it and best.slope > 0 else none


def _distribution(odds: Floats) -> Floats:
    """Probabilities in proportion to some numbers, none below `LEAST`."""
    share = odds / odds.sum(axis=1, keepdims=True)
    low = share < LEAST
    rest = 1 - LEAST * low.sum(axis=1, keepdims=True)
    high = np.where(low, 0.0, share)
    return np.asarray(np.where(low, LEAST, high * (rest / high.sum(axis=1, keepdims=True))))


def _predicted(model: Any, inputs: Floats, count: int) -> Floats:
    """The probability of each class, by its number; 0 is as good as never."""
    said = behavior_probabilities(model, inputs, np.arange(count))
    return np.asarray(np.clip(said, 1e-9, 1.0))


def _likelihood(chances: Floats, taken: Index) -> Floats:
    return np.asarray(np.log(chances[np.arange(taken.size), taken]))


def groups_of(keys: Keys, count: int, salt: int) -> Index:
    """A group for each row, from the keys of a table's rows: the same for rows of one unit, about
    equally large, and independent of the split by these keys.

    Examples
    --------
    >>> np.bincount(groups_of(np.arange(10, dtype=np.uint64), 5, salt=1)).tolist()
    [2, 2, 2, 2, 2]
    """
    _, rank = np.unique(mix(keys ^ np.uint64(salt)), return_inverse=True)
    return np.asarray(rank % count, dtype=np.intp)


def learn_behavior(rows: LoggedData, keys: Keys, seed: int) -> tuple[Learnt, LoggedData]:
    """What candidate rows teach about how decisions were taken, and these rows with it.

    Parameters
    ----------
    rows : LoggedData
        The candidate rows, prepared.
    keys : ndarray
        The keys of all rows of the table, by their positions.
    seed : int
        For every ``random_state`` that is not set.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):  # many small fits: waking threads costs more than it saves
        return _learn(rows, keys, seed)


def _learn(rows: LoggedData, keys: Keys, seed: int) -> tuple[Learnt, LoggedData]:
    assert rows.unlogged is not None
    taken = _decided(rows)
    encoding = Encoding.learn(rows)
    inputs = encoding.of(rows)
    fold = groups_of(keys, FOLDS, salt=1)[rows.position]
    group = groups_of(keys, GROUPS, salt=2)[rows.position]
    forms = FORMS if rows.unlogged.classifier is None else [Form.given(rows.unlogged.classifier)]
    tried: list[tuple[float, str, Any, Floats]] = []
    for form in forms:
        model = form.make(inputs, rows.classes.size)
        if model is None:
            continue
        model = seeded(model, seed)
        chances = np.empty((rows.n, rows.classes.size))
        for k in range(FOLDS):
            own = fold == k
            fitted = _fitted(model, inputs, taken, ~own)
            chances[own] = _predicted(fitted, inputs[own], rows.classes.size)
        likelihood = float(_likelihood(_distribution(chances), taken).mean())
        tried.append((likelihood, form.name, model, chances))
    _, name, model, chances = max(tried, key=lambda each: each[0])
    everyone = np.ones(rows.n, dtype=np.bool_)
    learnt = Learnt(
        encoding,
        name,
        tuple((form, likelihood) for likelihood, form, *_ in tried),
        Calibration.learn(np.clip(chances, 1e-9, 1.0), taken, encoding.groups_in(inputs)),
        _fitted(model, inputs, taken, everyone),
        tuple(_fitted(model, inputs, taken, group != k) for k in range(GROUPS)),
        rows.position,
    )
    known = learnt.candidate(rows, chances)
    _refuse_certain(known)
    return learnt, known


def _fitted(model: Any, inputs: Floats, taken: Index, rows: Booleans) -> Any:
    from sklearn.base import clone

    try:
        return clone(model).fit(inputs[rows], taken[rows])
    except Exception as error:
        raise DataError(
            f"behavior={model!r:.80} could not be fitted to the logged decisions: {error}",
            hint="it gets features and groups as numbers; propensity='estimated' chooses a model.",
        ) from error


def _decided(rows: LoggedData) -> Index:
    """The decisions, by the numbers of their classes; raise if too few differ."""
    assert rows.decision_index is not None
    counts = np.bincount(rows.decision_index, minlength=rows.classes.size)
    few = np.flatnonzero(counts < FEWEST)
    if few.size:
        raise DataError(
            f"decision {listed(rows.classes[few[:1]])} was taken {counts[few[0]]} times in "
            f"{rows.n:,} candidate rows: too seldom to estimate with which probability (at least "
            f"{FEWEST} are needed).",
            hint="merge rare decisions, leave out classes that are never decided, or collect more "
            "rows.",
        )
    return rows.decision_index


def _refuse_certain(rows: LoggedData) -> None:
    """Raise if decisions follow from what is known: such rows contain no experiment."""
    assert rows.behavior is not None
    assert rows.decision_index is not None
    second = np.sort(rows.behavior, axis=1)[:, -2]
    certain = float((second < CERTAIN).mean())
    hit = float((rows.behavior.argmax(axis=1) == rows.decision_index).mean())
    if certain > MOST_CERTAIN:
        raise DataError(
            f"decisions follow from features and groups: for {certain:.0%} of people, the model of "
            f"the decisions gives every other decision less than {CERTAIN:.0%} (it predicts "
            f"{hit:.0%} of the decisions of candidate rows that it was not fitted to). Nobody like "
            "them was decided about otherwise, so nothing shows what another decision would do.",
            hint="a cut-off contains no experiment. Constraints on rates and accuracy need none; "
            "or let a coin decide near the cut-off from now on, and log its probability: see "
            "'No propensities were logged' in the documentation. If a feature is known only after "
            "the decision, take it out.",
        )


def with_everyone(data: LoggedData, parts: Sequence[LoggedData]) -> LoggedData:
    """All rows of a table with the probabilities that its parts have, at their positions."""
    some = parts[0]
    assert some.behavior is not None
    assert some.doubts is not None
    behavior = np.full((data.n, some.behavior.shape[1]), np.nan)
    propensity, doubts = np.full(data.n, np.nan), np.full((data.n, some.doubts.shape[1]), np.nan)
    place = np.empty(data.n, dtype=np.intp)
    place[data.position] = np.arange(data.n)
    for part in parts:
        at = place[part.position]
        behavior[at], propensity[at], doubts[at] = part.behavior, part.propensity, part.doubts
    return data.changed(behavior=behavior, propensity=propensity, doubts=doubts)


def overlapping(rows: LoggedData) -> Booleans:
    """The people that statements are about: for whom no decision is less probable than ``trim``."""
    assert rows.unlogged is not None
    assert rows.behavior is not None
    return np.asarray(rows.behavior.min(axis=1) >= rows.unlogged.trim)
