"""Whether a log can be what its propensities say: decisions drawn with these probabilities."""

from __future__ import annotations

import copy
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from elfair.data.features import Encoding
from elfair.data.table import LoggedData
from elfair.errors import DataError, listed
from elfair.types import Booleans

#: A decision that should have been taken more often than this, and never was, is not bad luck.
EXPECTED = 10.0
#: The chance with which right propensities are said not to fit.
FALSE_ALARM = 1e-6
#: A feature farther from its mean than so many standard deviations counts as that far away: one
#: person must not decide.
FARTHEST = 3.0
#: What may be wrong with propensities that do not fit.
MISFIT = (
    "a propensity is the probability of the decision that was logged, and not of some class, given "
    "everything that the decision used; and no feature may be known only after the decision."
)


def require_taken(data: LoggedData, possible: Booleans | None = None) -> None:
    """Raise where the log does not show a decision that the new model may take.

    Parameters
    ----------
    data : LoggedData
        The log.
    possible : ndarray of shape (classes,), optional
        The decisions that the new model may take; all of them where it is None.

    Examples
    --------
    >>> log = {"decision": [1] * 40, "propensity": [0.5] * 40, "classes": [0, 1]}
    >>> require_taken(LoggedData([[0.0]] * 40, **log))
    Traceback (most recent call last):
        ...
    elfair.errors.DataError: decision 0 was never taken in 40 rows; by the propensities it ...
    Hint: if the log holds only people who got some decision, add the others: ...
    """
    if data.decision_index is None:  # asked for, pointing at the text, where it is needed
        return
    taken = np.bincount(data.decision_index, minlength=data.classes.size)
    for a in np.flatnonzero(taken == 0):
        name = listed([data.classes[a]])
        if data.behavior is None:
            if possible is not None and not possible[a]:
                continue
            raise DataError(
                f"decision {name} was never taken in {data.n} rows, so that nothing is known of "
                "what comes of it.",
                hint="leave it out of the classes, log more decisions, or pass the fitted model as "
                "behavior, so that the new policy never takes it.",
            )
        expected = float(data.behavior[:, a].sum())
        if expected > EXPECTED:
            raise DataError(
                f"decision {name} was never taken in {data.n} rows; by the propensities it should "
                f"have been taken about {expected:.0f} times.",
                hint="if the log holds only people who got some decision, add the others: what is "
                "not logged cannot be weighted.",
            )


class Misfit(NamedTuple):
    """How far decisions are from their probabilities.

    Parameters
    ----------
    off : float
        By how many standard errors, where it is worst.
    limit : float
        How many may be chance.
    where : str
        What of the decisions is so far off.
    """

    off: float
    limit: float
    where: str

    @property
    def is_chance(self) -> bool:
        """Whether right propensities would lead to this, too."""
        return self.off <= self.limit

    @property
    def evidence(self) -> str:
        """What was seen."""
        seen = (
            f"shares and features are up to {self.off:.1f} standard errors off, chance explains "
            f"{self.limit:.1f}"
        )
        return seen if self.is_chance else f"{seen}; worst: {self.where}"

    @property
    def refusal(self) -> DataError:
        """What is said to whoever asks for more."""
        return does_not_fit(self.evidence)


def does_not_fit(evidence: str) -> DataError:
    """The error for propensities that cannot be right.

    Parameters
    ----------
    evidence : str
        What was seen.
    """
    return DataError(
        f"the propensities do not fit the decisions ({evidence}): no bound computed with them "
        "means anything.",
        hint=MISFIT,
    )


def misfit(data: LoggedData) -> Misfit | None:
    """How far decisions are from their probabilities, and how far they may be by chance.

    The share of each decision, in each group too, and its covariance with each feature, in standard
    errors: the largest, and the largest to be expected of right propensities, whatever the number
    of rows. None where not all behaviour probabilities are known.

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
        return None
    rows = copy.copy(data)
    largest = np.abs(data.features).max(axis=0)
    rows.features = data.features / np.where(largest > 0, largest, 1.0)  # squares do not overflow
    encoding = Encoding.learn(rows)
    known_before = np.clip(encoding.of(rows), -FARTHEST, FARTHEST)
    directions = np.column_stack([np.ones(data.n), known_before])
    taken = np.arange(data.classes.size) == data.decision_index[:, None]
    surprise = np.abs(directions.T @ (taken - data.behavior))
    variance = (directions**2).T @ (data.behavior * (1 - data.behavior))
    known = variance > 0
    error = np.sqrt(variance[known])
    # Bernstein's inequality: it holds for rare decisions, where a normal limit would not.
    level = log(2 * max(1, error.size) / FALSE_ALARM)
    off, limits = surprise[known] / error, sqrt(2 * level) + FARTHEST * level / (3 * error)
    if not off.size:
        return Misfit(0.0, sqrt(2 * level), "nothing")
    worst = int(np.argmax(off / limits))
    direction, decided = np.argwhere(known)[worst]
    where = f"how often {data.classes[decided]} was decided"
    if direction:
        where += f", by {encoding.names(data)[direction - 1]}"
    return Misfit(float(off[worst]), float(limits[worst]), where)
