"""Whether the logged decisions can have been drawn with the given propensities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from elfair.data.classes import both_sets
from elfair.data.features import Encoding
from elfair.data.preparation import DefaultPreparation
from elfair.data.table import LoggedData
from elfair.errors import DataError, PropensityError, listed
from elfair.types import Array, Booleans, Floats

#: A decision that was expected more often than this, but never taken, is not a matter of chance.
EXPECTED = 10.0
#: The probability of rejecting correct propensities.
FALSE_ALARM = 1e-6
#: A feature more standard deviations from its mean than this counts as this far away: one person
#: must not decide the result.
FARTHEST = 3.0
#: Squares of features of this size neither overflow nor vanish.
LARGE = 1e50
#: So many rows are looked at together.
BLOCK = 20_000
#: What may be wrong if propensities do not fit.
MISFIT = (
    "a column of propensities holds the probability of the logged decision, not of a fixed class; a"
    " declared number is that of the positive decision. It is meant given everything that the"
    " decision used, such as a stratum; and every feature must be known before the decision."
)


def require_taken(data: LoggedData, possible: Booleans | None = None) -> None:
    """Raise if the new model may take a decision that the log never shows.

    Parameters
    ----------
    data : LoggedData
        The log.
    possible : ndarray of shape (classes,), optional
        The decisions that the new model may take; None means all.

    Examples
    --------
    >>> log = {"decision": [1] * 40, "propensity": [0.5] * 40, "classes": [0, 1]}
    >>> require_taken(LoggedData([[0.0]] * 40, **log))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: decision 0 was never taken in 40 rows; by the propensities it ...
    Hint: if the log holds only people with some decision, add the others: ...
    """
    if data.decision_index is None:  # where it is needed, an error will point at the text
        return
    taken = np.bincount(data.decision_index, minlength=data.classes.size)
    for a in np.flatnonzero(taken == 0):
        name = listed([data.classes[a]])
        if data.behavior is None:
            if possible is not None and not possible[a]:
                continue
            raise DataError(
                f"decision {name} was never taken in {data.n:,} rows, so nothing is known about "
                f"its impact.{_from_labels(data, int(a))}",
                hint="leave it out of the classes (correct the labels, if it comes from them), log "
                "more decisions, or pass the fitted model as behavior, and the new policy will "
                "never take it.",
            )
        expected = float(data.behavior[:, a].sum())
        if expected > EXPECTED:
            raise DataError(
                f"decision {name} was never taken in {data.n:,} rows; by the propensities it "
                f"should have been taken about {expected:.0f} times.",
                hint="if the log holds only people with some decision, add the others: rows that "
                "are not logged cannot be weighted.",
            )


def _from_labels(data: LoggedData, a: int) -> str:
    """Where a class comes from that was never decided, if labels show it."""
    if data.label is None or data.decision is None or data.classes[a] not in data.label:
        return ""
    return f" {both_sets(data.label, data.decision)}"


class Misfit(NamedTuple):
    """How far the logged decisions are from their probabilities.

    Parameters
    ----------
    off : float
        The largest distance, in standard errors.
    limit : float
        The distance that chance can explain.
    where : str
        What is furthest off.
    """

    off: float
    limit: float
    where: str

    @property
    def is_chance(self) -> bool:
        """Whether chance can explain it."""
        return self.off <= self.limit

    @property
    def evidence(self) -> str:
        """What was found, in words."""
        seen = (
            f"shares and features are up to {self.off:.1f} standard errors off, by chance at most "
            f"{self.limit:.1f}"
        )
        return seen if self.is_chance else f"{seen}; worst: {self.where}"

    @property
    def refusal(self) -> PropensityError:
        """The error to raise if chance cannot explain it."""
        return PropensityError(
            f"the propensities do not fit the decisions ({self.evidence}): no bound computed with "
            "them means anything.",
            hint=MISFIT,
        )


def misfit(data: LoggedData) -> Misfit | None:
    """How far the logged decisions are from their probabilities, and how far chance allows.

    It compares the share of each decision, overall and by group, and its covariance with each
    feature. The limit holds for any number of rows. None unless all behaviour probabilities are
    known; of decisions that are numbers, see `misfit_of_numbers`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, decision = rng.normal(size=(500, 1)), rng.integers(0, 2, 500)
    >>> right = LoggedData(x, decision=decision, propensity=np.full(500, 0.5))
    >>> wrong = LoggedData(x, decision=decision, propensity=np.where(decision == 1, 0.8, 0.2))
    >>> misfit(right).is_chance, misfit(wrong).is_chance, misfit(wrong).where
    (True, False, 'how often 0 was decided')
    """
    if data.behavior is None or data.decision_index is None:
        return misfit_of_numbers(data) or _too_often(data)
    names, directions_of = _directions(data)
    (surprise, variance), farthest = _surprise(data, directions_of), FARTHEST
    if data.unit_index is not None:
        directions = directions_of(slice(None))
        spread = np.sqrt(data.behavior * (1 - data.behavior))
        # Decisions about one unit may have been drawn together, at worst all by one draw.
        largest, sizes = np.abs(directions), np.bincount(data.unit_index)
        by_unit = np.zeros((sizes.size, largest.shape[1], spread.shape[1]))
        np.add.at(by_unit, data.unit_index, largest[:, :, None] * spread[:, None, :])
        variance, farthest = np.sum(by_unit**2, axis=0), FARTHEST * float(sizes.max())
    if data.learnt is not None:  # an estimate errs by its own rows, too
        variance = variance * (1 + data.n / data.learnt.rows.size)
    return _judged(np.abs(surprise), variance, farthest, data.classes, names)


def misfit_in_batches(batches: Iterable[LoggedData], encoding: Encoding) -> Misfit:
    """The same for rows that come in batches, whose behaviour probabilities are all known.

    Parameters
    ----------
    batches : iterable of LoggedData
        The rows.
    encoding : Encoding
        How directions are made of what is known before decisions, by all rows.
    """
    surprise: Floats | float = 0.0
    variance: Floats | float = 0.0
    names: list[str] = []
    for data in batches:
        added = _surprise(data, _seen_as(encoding, data))
        surprise, variance = surprise + added[0], variance + added[1]
        names, classes = names or encoding.names(data), data.classes
    return _judged(np.abs(surprise), np.asarray(variance), FARTHEST, classes, names)


def _surprise(data: LoggedData, directions_of: Callable[[slice], Floats]) -> tuple[Floats, Floats]:
    """By how much decisions differ from what was to be expected, and the variance of that, in each
    direction: sums over rows.
    """
    assert data.behavior is not None
    assert data.decision_index is not None
    surprise: Floats | float = 0.0
    variance: Floats | float = 0.0
    for rows in _blocks(data.n):
        directions, behavior = directions_of(rows), data.behavior[rows]
        taken = np.arange(data.classes.size) == data.decision_index[rows, None]
        surprise = surprise + directions.T @ (taken - behavior)
        variance = variance + (directions**2).T @ np.sqrt(behavior * (1 - behavior)) ** 2
    return np.asarray(surprise), np.asarray(variance)


def _judged(
    surprise: Floats, variance: Floats, farthest: float, classes: Array, names: Sequence[str]
) -> Misfit:
    known = variance > 0
    error = np.sqrt(variance[known])
    # Bernstein's inequality holds for rare decisions, unlike a normal limit.
    level = log(2 * max(1, error.size) / FALSE_ALARM)
    off, limits = surprise[known] / error, sqrt(2 * level) + farthest * level / (3 * error)
    if not off.size:
        return Misfit(0.0, sqrt(2 * level), "nothing")
    worst = int(np.argmax(off / limits))
    direction, decided = np.argwhere(known)[worst]
    where = f"how often {listed([classes[decided]])} was decided"
    if direction:
        where += f", by {names[direction - 1]}"
    return Misfit(float(off[worst]), float(limits[worst]), where)


#: A decision that was taken with a smaller probability counts as if it had this one.
RAREST = 0.05


def _too_often(data: LoggedData) -> Misfit | None:
    """A decision that was taken more often than its propensities allow; None if none was.

    If the probabilities of the other decisions are not known, this is known still: one divided by
    the propensity, over the people with some decision, averages to at most 1 over all people. It
    does so if smaller ones count as some larger one. Such a number is from 0 to 1 / `RAREST`, and
    so its variance is at most its largest value: Bernstein's inequality gives the limit.
    """
    if data.propensity is None or data.decision_index is None:
        return None
    weight = 1 / np.maximum(data.propensity, RAREST)
    largest = float(weight.max())
    if data.unit_index is not None:  # decisions about one unit may have been drawn together
        largest *= float(np.bincount(data.unit_index).max())
    found = np.bincount(data.decision_index, weight, minlength=data.classes.size) / data.n
    error = sqrt(largest / data.n)
    level = log(data.classes.size / FALSE_ALARM)
    worst = int(np.argmax(found))
    off, limit = (float(found[worst]) - 1) / error, sqrt(2 * level) + error * level / 3
    where = f"how often {listed([data.classes[worst]])} was decided"
    return Misfit(off, limit, where) if off > limit else None


def misfit_of_numbers(data: LoggedData) -> Misfit | None:
    """The same for numbers that were drawn from normal distributions; None unless their means and
    spreads are known.

    It compares their mean, overall, by group and with each feature, and how far they spread.

    Examples
    --------
    >>> from elfair.data import ContinuousData
    >>> x, decision = np.random.default_rng(0).normal(size=(2, 500))
    >>> drawn = {"decision": decision, "behavior_mean": 0.0}
    >>> right, wrong = (ContinuousData(x[:, None], **drawn, behavior_spread=s) for s in (1, 2))
    >>> misfit(right).is_chance, misfit(wrong).is_chance, misfit(wrong).where
    (True, False, 'how far decisions spread')
    """
    decision, mean, spread = data.decision, data.behavior_mean, data.behavior_spread
    if decision is None or mean is None or spread is None:
        return None
    names, directions_of = _directions(data)
    directions = directions_of(slice(None))
    away = (decision - mean) / spread
    error = np.sqrt((directions**2).sum(axis=0))
    known = error > 0
    off = np.append(np.abs(directions.T @ away)[known] / error[known], 0.0)
    off[-1] = abs(float(np.sum(away**2 - 1))) / sqrt(2 * data.n)
    level = log(2 * off.size / FALSE_ALARM)
    limits = np.full(off.size, sqrt(2 * level))
    limits[-1] += level * sqrt(2 / data.n)  # a sum of squares has a longer tail on one side
    worst = int(np.argmax(off / limits))
    where = "how far decisions spread"
    if worst < off.size - 1:
        direction = int(np.flatnonzero(known)[worst])
        where = "the mean decision"
        where += f", by {names[direction - 1]}" if direction else ""
    return Misfit(float(off[worst]), float(limits[worst]), where)


def _blocks(n: int) -> Iterator[slice]:
    """Parts of n rows of which no copy takes much memory."""
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def _directions(data: LoggedData) -> tuple[list[str], Callable[[slice], Floats]]:
    """What is known before the decision, of shape (rows, 1 + columns), about some rows, and what
    the columns mean.
    """
    if data.raw is not None:  # of these very rows: folds of a test are prepared differently
        data = data.prepared(DefaultPreparation.learn(data.raw))
    largest = np.maximum(-data.features.min(axis=0), data.features.max(axis=0))
    if ((largest > LARGE) | (largest < 1 / LARGE)).any():  # squares must not overflow
        data = data.changed(matrix=data.features / np.where(largest > 0, largest, 1.0))
    encoding = Encoding.learn(data)
    return encoding.names(data), _seen_as(encoding, data)


def _seen_as(encoding: Encoding, data: LoggedData) -> Callable[[slice], Floats]:
    def of(rows: slice) -> Floats:
        known_before = encoding.of(data, rows)
        np.clip(known_before, -FARTHEST, FARTHEST, out=known_before)
        return np.column_stack([np.ones(len(known_before)), known_before])

    return of
