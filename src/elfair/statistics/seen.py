"""The probability that an impact was seen, given what is known of everyone and the decision.

It is a logistic regression, with squares and interactions if these predict other rows better. No
form sees everything: those of one district may all be missing, or those of middle age with one
decision. A tree finds such holes, in which hardly anyone was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from elfair.types import Booleans, Floats, Index

#: From what is known of rows, and what was decided, to what a logistic regression sees.
Design: TypeAlias = Callable[[Floats, Floats], Floats]
#: Who is seen with a smaller probability is hardly ever seen: 1 person in 50.
LEAST_SEEN = 0.02
#: In a hole a smaller share was seen, and chance explains it less often.
MOST_OF_HOLE, CHANCE = 0.05, 1e-3
#: The fewest rows of a hole: of 20 people, of whom one in three is seen, all are missing by chance
#: once in 3,000 times. With many rows, what half of their root can change is below chance.
SMALLEST_HOLE, OF_ROOT = 20, 0.5
#: Newton's steps; a penalised likelihood has one maximum.
STEPS = 50


@dataclass(frozen=True)
class Seeing:
    """A regression of whether an impact was seen.

    Parameters
    ----------
    design : callable
        What it sees of a row.
    regression : Logistic, optional
        None if it was not fitted yet.
    """

    design: Design
    regression: Logistic | None = None

    @classmethod
    def chosen(cls, known: Floats, taken: Floats, seen: Booleans, fold: Index) -> Seeing:
        """The form that predicts other folds better."""
        return cls(_chosen(known, taken, seen, fold))

    def fit(self, known: Floats, taken: Floats, seen: Booleans) -> Seeing:
        """Fit to some rows."""
        return Seeing(self.design, Logistic.fit(self.design(known, taken), seen))

    def of(self, known: Floats, taken: Floats) -> Floats:
        """The probabilities."""
        assert self.regression is not None
        return self.regression.predict(self.design(known, taken))


def holes(known: Floats, taken: Floats, seen: Booleans, chance: Floats) -> Booleans:
    """Which rows are among people of whom hardly anyone was seen, although a regression says
    otherwise: by a tree that is grown on these rows.

    Whoever counts at their worst for it counts for no less than the truth, so a hole that is there
    by chance costs no promise. (What was seen of all rows is no secret: no impact is used.)

    Parameters
    ----------
    known, taken : ndarray of shape (m, k)
        What is known of the rows, and what was decided.
    seen : ndarray of bool
        Where the impact was seen.
    chance : ndarray
        The probability of that, by the regression.

    Examples
    --------
    >>> x = np.arange(200.0)[:, None]
    >>> middle = (x[:, 0] >= 80) & (x[:, 0] < 120)
    >>> holes(x, np.empty((200, 0)), ~middle, np.full(200, 0.8)).sum()
    np.int64(40)
    """
    from scipy.special import bdtr
    from sklearn.tree import DecisionTreeClassifier

    inputs = np.column_stack([known, taken])
    fewest = max(SMALLEST_HOLE, int(OF_ROOT * np.sqrt(len(seen))))
    if len(seen) < 2 * fewest or not inputs.shape[1] or seen.all() or not seen.any():
        return np.full(len(seen), len(seen) > 0 and not seen.any())
    tree = DecisionTreeClassifier(min_samples_leaf=fewest, random_state=0)
    leaf = tree.fit(inputs, seen).apply(inputs)
    rows, hit = np.maximum(1, np.bincount(leaf)), np.bincount(leaf, seen)
    expected = np.clip(np.bincount(leaf, chance) / rows, 0.0, 1.0)
    by_chance = bdtr(hit, rows, expected)
    return np.asarray(((hit < MOST_OF_HOLE * rows) & (by_chance < CHANCE))[leaf])


def _linear(known: Floats, taken: Floats) -> Floats:
    return np.column_stack([known, taken])


def _curved(known: Floats, taken: Floats) -> Floats:
    """With squares, and with what each decision changes."""
    both = [known * each[:, None] for each in taken.T]
    return np.column_stack([known, taken, known**2, *both])


def _chosen(known: Floats, taken: Floats, seen: Booleans, fold: Index) -> Design:
    """The form of a logistic regression that predicts the other folds better."""

    def likelihood(design: Design) -> Floats:
        inputs, every = design(known, taken), np.empty(len(seen))
        for k in np.unique(fold):
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
