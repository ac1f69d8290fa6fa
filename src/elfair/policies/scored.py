"""A linear policy that also sees the log-odds of a fitted classifier, the scorer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from elfair.data import LoggedData
from elfair.data.as_they_are import AsTheyAre
from elfair.data.columns import Columns, one_column, positions
from elfair.errors import InputError, listed
from elfair.policies.models import standardisation
from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy
from elfair.types import Array, Floats

#: Smaller probabilities count as this one. No scorer has earned more certainty, and otherwise a
#: single leaf of a tree could hold the largest number in the table.
SMALLEST_PROBABILITY = 1e-3


def log_odds(scorer: Any, X: Any, classes: Array) -> Floats:
    """The logarithm of each class's probability against that of the first, for each row.

    Parameters
    ----------
    scorer : fitted classifier
        Its own classes may be in any order, and some of the given ones may be missing.
    X : ndarray or data frame of shape (n, d)
        The people to score.
    classes : ndarray
        The classes, sorted.

    Returns
    -------
    ndarray of shape (n, classes - 1)

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> scorer = DummyClassifier().fit([[0], [0], [0], [0]], ["no", "yes", "yes", "yes"])
    >>> log_odds(scorer, np.zeros((1, 1)), np.array(["no", "yes"], dtype=object)).round(3)
    array([[1.099]])
    """
    known = one_column(scorer.classes_, "classes_ of the scorer")
    with warnings.catch_warnings():  # the names were compared when the scorer was passed
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        said = np.asarray(scorer.predict_proba(X), dtype=np.float64)
    if said.shape != (len(X), known.size):
        raise InputError(
            f"predict_proba of the scorer must be of shape ({len(X)}, {known.size}): a probability "
            f"for each row and each of its classes ({listed(known)}). Got shape {said.shape}.",
            hint="scorer= takes a classifier with one label for each row.",
        )
    wrong = ~(said >= 0).all(axis=1) | ~np.isfinite(said).all(axis=1)
    if wrong.any():
        raise InputError(
            "predict_proba of the scorer must hold probabilities. Got negative, missing or "
            f"infinite values in {wrong.sum():,} of {len(X):,} rows.",
            hint="try scorer.predict_proba(X) on its own.",
        )
    places = positions(known, classes)
    every = np.zeros((len(X), classes.size))
    every[:, places[places >= 0]] = said[:, places >= 0]
    logs = np.log(np.maximum(every, SMALLEST_PROBABILITY))
    return np.asarray(logs[:, 1:] - logs[:, :1])


@dataclass(frozen=True)
class ScoredPolicy(SoftmaxPolicy):
    """A softmax policy on the features and on the log-odds of a scorer.

    It can trust the scorer, ignore it, or correct it linearly, at the cost of one more parameter
    for each class but the first.

    Parameters
    ----------
    n_classes, center, scale, mixed, exploration
        See `SoftmaxPolicy`; the log-odds come after the features.
    scorer : fitted classifier
        Its ``predict_proba`` gives the log-odds.
    classes : ndarray
        The classes, sorted.
    sees : AsTheyAre, optional
        What the scorer sees of people, if that is not the numbers that the rest of the policy sees.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> scorer = DecisionTreeClassifier().fit(X, y)
    >>> policy = ScoredPolicy.over(scorer, X, log_odds(scorer, X, np.array([0, 1])), [0, 1])
    >>> policy.free(np.array([0.0, 0.0, 4.0]), policy.inputs(X)).round(1)
    array([[0.1, 1. , 0.1]])
    """

    digest_tag: ClassVar[str] = "scored"

    scorer: Any = field(kw_only=True)
    classes: Array = field(kw_only=True)
    sees: AsTheyAre | None = field(kw_only=True, default=None)

    @classmethod
    def over(
        cls,
        scorer: Any,
        X: Floats,
        scores: Floats,
        classes: Any,
        *,
        mixed: bool = False,
        sees: AsTheyAre | None = None,
    ) -> ScoredPolicy:
        """A policy over a scorer, standardised by the given (candidate) rows and their scores."""
        center, scale = standardisation(np.column_stack([X, scores]))
        known = np.asarray(classes)
        return cls(known.size, center, scale, mixed, scorer=scorer, classes=known, sees=sees)

    def logged(self, data: LoggedData) -> PolicyInputs:
        """Logged rows; those that the scorer was fitted to carry out-of-fold scores instead."""
        if data.scores is None:
            return self.inputs(data.features, data.behavior, data.raw)
        return super().inputs(np.column_stack([data.features, data.scores]), data.behavior)

    def inputs(
        self, X: Floats, behavior: Floats | None = None, columns: Columns | None = None
    ) -> PolicyInputs:
        """People that the scorer was not fitted to, in the form that the policy works on."""
        shown: Any = X
        if self.sees is not None:
            assert columns is not None
            shown = self.sees.of(columns)
        scores = log_odds(self.scorer, shown, self.classes)
        return super().inputs(np.column_stack([X, scores]), behavior)
