"""Fairlearn's exponentiated gradient (Agarwal et al. 2018), as the exact rule that it draws from.

Fairlearn's ``predict`` draws one of several regressions for every person. Here the draw stays a
draw: the model is the mixture itself, whose truth is computed and not sampled.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from elfair.baselines.logistic import rule_of
from elfair.experiments.draw import Draw
from elfair.experiments.rules import LinearRule, Mixture


@dataclass(eq=False)
class ExponentiatedGradient:
    """Fairlearn's reduction to a series of logistic regressions, with its own default settings.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    constraint : str
        The class in ``fairlearn.reductions`` of the constraint. Its rates differ from those of all
        people by about 0.01 at most, on the rows that it is fitted to.

    Examples
    --------
    >>> from elfair.experiments import FosterCare
    >>> draw = FosterCare().sample(1000, seed=0)
    >>> method = ExponentiatedGradient("Fairlearn", "DemographicParity")
    >>> one = method.fit(draw, [], delta=0.1, seed=0).predict_proba(draw.features)[:, 1]
    >>> bool(abs(one[draw.group == 0].mean() - one[draw.group == 1].mean()) < 0.03)
    True
    """

    label: str
    constraint: str
    uses_impact: bool = False

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> Mixture:
        """The mixture of regressions; see `Method`."""
        from fairlearn import reductions

        search = reductions.ExponentiatedGradient(
            LogisticRegression(), getattr(reductions, self.constraint)()
        )
        with warnings.catch_warnings():
            # Fairlearn's ways with pandas are old; that says nothing of the result.
            warnings.simplefilter("ignore", DeprecationWarning)
            search.fit(draw.features, draw.label, sensitive_features=draw.group)
        return mixture_of(search, draw.features.shape[1])


def mixture_of(search: Any, width: int) -> Mixture:
    """The randomised classifier that a fitted ``ExponentiatedGradient`` predicts with.

    Parameters
    ----------
    search : fairlearn.reductions.ExponentiatedGradient
        Fitted, on logistic regressions.
    width : int
        The number of features.

    Warns
    -----
    ConvergenceWarning
        If it ran out of iterations before its duality gap was as small as it wants it.
    """
    if search.best_gap_ > search.nu:
        warnings.warn(
            f"Fairlearn's exponentiated gradient stopped after {search.last_iter_ + 1} iterations "
            f"with a duality gap of {search.best_gap_:.2g}, above the wanted {search.nu:.2g}: its "
            "constraint may be violated by more than it says.",
            ConvergenceWarning,
            stacklevel=2,
        )
    drawn = search.weights_[search.weights_ > 0]
    rules = [_rule(search.predictors_[index], width) for index in drawn.index]
    return Mixture(rules, (drawn / drawn.sum()).tolist())


def _rule(predictor: LogisticRegression | DummyClassifier, width: int) -> LinearRule:
    """A member of the mixture; Fairlearn puts a constant where all weighted labels are one."""
    if isinstance(predictor, DummyClassifier):
        return LinearRule(1.0 if predictor.constant == 1 else -1.0, np.zeros(width))
    return rule_of(predictor)
