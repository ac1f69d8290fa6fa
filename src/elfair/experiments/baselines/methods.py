"""The methods that an experiment compares: ways to turn logged decisions into a model.

* ELF, in elfair's modes and in the paper's.
* Logistic regression, which ignores fairness.
* Quasi-Seldonian classifiers (Thomas et al. 2019): static fairness with stated confidence. They use
  elfair's own search and test, with a constraint on rates alone, so they ignore the logged
  decisions and their impact.
* Fairlearn's exponentiated gradient (Agarwal et al. 2018). Its ``predict`` draws one of several
  regressions for each person. Here the model is the mixture itself, whose truth is computed, not
  sampled.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from elfair.estimators.classifier import ELFClassifier
from elfair.language.recipes import Recipe
from elfair.populations import Draw, LinearRule, Mixture
from elfair.populations.base import HasPredictProba


class Method(Protocol):
    """A way to turn logged decisions into a model.

    Attributes
    ----------
    label : str
        Its name in figures and tables.
    uses_impact : bool
        Whether it uses impacts or ``constraints``. A method that does not is fitted once for
        populations that differ in their impact alone. It gets features, label, group, logged
        decision and propensity; an experiment passes NaN for each impact, and no constraints.
    """

    label: str
    uses_impact: bool

    def fit(
        self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int
    ) -> HasPredictProba | None:
        """A model of the features, or None for "no solution found"."""
        ...


@dataclass(eq=False)
class ELF:
    """An `ELFClassifier` under the constraints of the population.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    make : callable, default ELFClassifier
        Makes the classifier; ``ELFClassifier.paper`` for the paper's settings.
    settings : dict, optional
        Further parameters of the classifier.

    Examples
    --------
    >>> from elfair.populations import FosterCare
    >>> population = FosterCare()
    >>> method, draw = ELF("elfair"), population.sample(2000, seed=77)
    >>> model = method.fit(draw, population.constraints, delta=0.1, seed=1)
    >>> max(population.violations(model).values()) <= 0
    True
    """

    label: str
    make: Callable[..., ELFClassifier] = ELFClassifier
    settings: dict[str, Any] = field(default_factory=dict)
    uses_impact: bool = True

    def fit(
        self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int
    ) -> ELFClassifier | None:
        """The classifier, or None where it says "no solution found"; see `Method`."""
        classifier = self.make(constraints, delta=delta, random_state=seed, **self.settings)
        classifier.fit(draw.features, draw.label, **draw.logged)
        return classifier if classifier.solution_found_ else None


@dataclass(eq=False)
class PlainLogistic:
    """Scikit-learn's logistic regression: decide 1 if its probability is above 1/2.

    The features are not standardised, as in Fairlearn's learner. (The penalty would shrink
    standardised ones less: on 250 rows of the foster-care-like population, group 1 is then harmed
    in 95 % of runs instead of 75 %.)

    Examples
    --------
    >>> from elfair.populations import FosterCare
    >>> population = FosterCare()
    >>> rule = PlainLogistic().fit(population.sample(4000, seed=0), [], delta=0.1, seed=0)
    >>> round(population.accuracy(rule), 2)
    0.9
    """

    label: str = "Logistic regression"
    uses_impact: bool = False

    def fit(self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int) -> LinearRule:
        """The regression with a threshold; see `Method`."""
        return rule_of(LogisticRegression().fit(draw.features, draw.label))


def rule_of(fitted: LogisticRegression) -> LinearRule:
    """The rule of ``predict`` of a regression that was fitted to the labels 0 and 1.

    Examples
    --------
    >>> fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> rule_of(fitted).predict_proba([[0.1], [0.9]])[:, 1], fitted.predict([[0.1], [0.9]])
    (array([0., 1.]), array([0, 1]))
    """
    return LinearRule(float(fitted.intercept_[0]), fitted.coef_[0])


@dataclass(eq=False)
class QuasiSeldonian:
    """The most accurate model that is shown to be fair in a static sense.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    fairness : Recipe
        What must hold between the groups of T, such as ``elfair.parity("T", tolerance=0.1)``.

    Examples
    --------
    >>> from elfair import parity
    >>> from elfair.populations import FosterCare
    >>> method = QuasiSeldonian("QSA", parity("T", tolerance=0.1))
    >>> model = method.fit(FosterCare().sample(4000, seed=0), [], delta=0.1, seed=0)
    >>> rates = [FosterCare().positive_rate(model, group) for group in (0, 1)]
    >>> abs(rates[0] - rates[1]) <= 0.1
    True
    """

    label: str
    fairness: Recipe
    uses_impact: bool = False

    def fit(
        self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int
    ) -> ELFClassifier | None:
        """The classifier, or None where it says "no solution found"; see `Method`."""
        # "Quasi" is Student's t: the bound of the published ones.
        classifier = ELFClassifier(self.fairness, delta=delta, bound="ttest", random_state=seed)
        classifier.fit(draw.features, draw.label, sensitive_features={"T": draw.group})
        return classifier if classifier.solution_found_ else None


@dataclass(eq=False)
class ExponentiatedGradient:
    """Fairlearn's reduction to a series of logistic regressions, with its own default settings.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    constraint : str
        The class of the constraint in ``fairlearn.reductions``. On the rows that it is fitted to,
        rates of groups differ from those of all people by about 0.01 at most.

    Examples
    --------
    >>> from elfair.populations import FosterCare
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
            # Fairlearn uses pandas in a deprecated way, which does not affect the result.
            warnings.simplefilter("ignore", DeprecationWarning)
            search.fit(draw.features, draw.label, sensitive_features=draw.group)
        return mixture_of(search, draw.features.shape[1])


def mixture_of(search: Any, width: int) -> Mixture:
    """The randomised classifier of a fitted ``ExponentiatedGradient``.

    Parameters
    ----------
    search : fairlearn.reductions.ExponentiatedGradient
        Fitted, on logistic regressions.
    width : int
        The number of features.

    Warns
    -----
    ConvergenceWarning
        If it ran out of iterations before its duality gap was small enough.
    """
    if search.best_gap_ > search.nu:
        warnings.warn(
            f"Fairlearn's exponentiated gradient stopped after {search.last_iter_ + 1} iterations "
            f"with a duality gap of {search.best_gap_:.2g}, above its goal of {search.nu:.2g}: the "
            "constraint may be violated by more than it states.",
            ConvergenceWarning,
            stacklevel=2,
        )
    drawn = search.weights_[search.weights_ > 0]
    rules = [_rule(search.predictors_[index], width) for index in drawn.index]
    return Mixture(rules, (drawn / drawn.sum()).tolist())


def _rule(predictor: LogisticRegression | DummyClassifier, width: int) -> LinearRule:
    """A rule of the mixture; Fairlearn uses a constant if all weighted labels are the same."""
    if isinstance(predictor, DummyClassifier):
        return LinearRule(1.0 if predictor.constant == 1 else -1.0, np.zeros(width))
    return rule_of(predictor)
