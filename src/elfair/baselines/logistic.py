"""Logistic regression, which knows nothing of fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.linear_model import LogisticRegression

from elfair.experiments.draw import Draw
from elfair.experiments.rules import LinearRule


@dataclass(eq=False)
class PlainLogistic:
    """Scikit-learn's logistic regression, as it is: decide 1 where its probability is above 1/2.

    The features are taken as they come, as by Fairlearn's learner. (Standardised ones would be
    shrunk less by its penalty: on 250 rows of the foster-care-like population, group 1 is then
    harmed in 95 % of runs, and not in 75 %.)

    Examples
    --------
    >>> from elfair.experiments import FosterCare
    >>> population = FosterCare()
    >>> rule = PlainLogistic().fit(population.sample(4000, seed=0), [], delta=0.1, seed=0)
    >>> round(population.accuracy(rule), 2)
    0.9
    """

    label: str = "Logistic regression"
    uses_impact: bool = False

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> LinearRule:
        """The thresholded regression; see `Method`."""
        return rule_of(LogisticRegression().fit(draw.features, draw.label))


def rule_of(fitted: LogisticRegression) -> LinearRule:
    """What ``predict`` of a fitted regression on the labels 0 and 1 does.

    Examples
    --------
    >>> fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> rule_of(fitted).predict_proba([[0.1], [0.9]])[:, 1], fitted.predict([[0.1], [0.9]])
    (array([0., 1.]), array([0, 1]))
    """
    return LinearRule(float(fitted.intercept_[0]), fitted.coef_[0])
