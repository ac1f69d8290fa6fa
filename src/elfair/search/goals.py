"""What a classifier optimises: the prediction of labels, or any expression about the new model.

A *goal* is the objective as the user asked for it. Its *loss* on some rows is what the search
minimises, as a function of the free numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from elfair.data import LoggedData
from elfair.data.propensities import require_taken
from elfair.data.units import masses
from elfair.errors import DataError
from elfair.language.build import accuracy
from elfair.language.conditions import impacts_used, uses_label, uses_positive
from elfair.language.conjunction import without_label_conditions
from elfair.language.distribution import statistics_in
from elfair.language.evaluation import require_positive
from elfair.language.expressions import Expression, Mean
from elfair.language.tree import find
from elfair.search.objective import (
    ALIKE,
    SOFTNESS,
    Shortfall,
    ends_among,
    linearised,
    not_of_the_new_model,
    read_objective,
)
from elfair.search.shrinkage import shrunk_rows
from elfair.statistics import Baselines, Estimation, Part, is_decided, mean_part
from elfair.statistics.claims import Claim
from elfair.types import Floats, Index

#: Objectives that have a name.
OBJECTIVES = ("accuracy", "log_loss")
#: Log loss counts smaller probabilities as this one: a bounded loss has a known maximum.
SMALLEST_PROBABILITY = 1e-6
#: With this many rows, or so many for each of its parameters if that is more, a label and the
#: prediction of a fitted model count the same.
SMOOTHED_ROWS = 300
SMOOTHED_BY_PARAMETER = 40
#: A row does not matter if its stake is below this share of its part of the objective's range.
SMALLEST_STAKE = 1e-4


class Loss(Protocol):
    """A loss of the policy on candidate rows."""

    maximum: float

    def value(self, free: Floats) -> Floats:
        """The loss; leading axes of ``free`` are policies."""

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free numbers of one policy."""


def require_label(objective: str, label: object) -> None:
    """Raise if an objective needs labels that are missing."""
    if label is None:
        raise DataError(
            "the search requires y to be passed, but the target y is None: "
            f"objective='{objective}' needs labels.",
            hint="pass the labels, or an objective that needs none, such as 'E[impact]'.",
        )


class ErrorRate:
    """The expected error of a policy that samples its decisions: 1 - mean of pi(label | x).

    Parameters
    ----------
    target : ndarray of shape (classes, n)
        For each row, the label as a distribution: 1 for its class and 0 for the others, or the
        output of `smoothed`.
    mass : ndarray of shape (n,), optional
        How much each row counts; 1 on average.

    Examples
    --------
    >>> loss = ErrorRate(one_hot(np.array([0, 1]), 2))
    >>> float(loss.value(np.array([[0.25, 1.0]])))
    0.125
    """

    maximum = 1.0

    def __init__(self, target: Floats, mass: Floats | None = None) -> None:
        if mass is not None:
            target = target * mass
        # pi(first class) = 1 - sum of the free ones: affine, like every other statistic.
        self._slope: Floats = (target[0] - target[1:]) / target.shape[1]
        self._offset = 1.0 - float(target[0].mean())

    def value(self, free: Floats) -> Floats:
        """The expected error."""
        if free.ndim == 2:
            return np.asarray(self._offset + np.vdot(self._slope, free))
        return np.asarray(self._offset + np.einsum("kn,...kn->...", self._slope, free))

    def gradient(self, free: Floats) -> Floats:
        """Its derivative, the same for every policy."""
        return self._slope


def one_hot(label: Index | Floats, n_classes: int) -> Floats:
    """Labels as distributions, of shape (classes, n); distributions stay what they are."""
    if label.ndim == 2:
        return np.asarray(label, dtype=np.float64)
    return np.asarray(np.arange(n_classes)[:, None] == label, dtype=np.float64)


def smoothed(target: Floats, free: Floats, n_parameters: int = 0) -> Floats:
    """Labels drawn towards the predictions of a model fitted to them, less so with more rows.

    The error rate on a few hundred rows is as much luck as merit, and a search that follows every
    label fits the luck, the more so the more parameters there are. With the share s / (s + n) of
    the model the loss is less noisy, and with many rows it is the error rate.

    Parameters
    ----------
    target : ndarray of shape (classes, n)
        Labels as distributions.
    free : ndarray of shape (classes - 1, n)
        A fitted model's free probabilities.
    n_parameters : int, default 0
        The number of its parameters for each class.
    """
    rows = max(SMOOTHED_ROWS, SMOOTHED_BY_PARAMETER * n_parameters)
    share = rows / (rows + target.shape[1])
    predicted = np.vstack([1 - free.sum(axis=0), free])
    return np.asarray((1 - share) * target + share * predicted)


class LogLoss:
    """The mean of -log pi(label | x).

    Parameters
    ----------
    label : ndarray of shape (n,), or of shape (classes, n)
        The index of each row's class, or the probability of each class.
    n_classes : int
        The number of classes.
    mass : ndarray of shape (n,), optional
        How much each row counts; 1 on average.

    Examples
    --------
    >>> loss = LogLoss(np.array([0, 1]), 2)
    >>> round(float(loss.value(np.array([[0.5, 0.5]]))), 4)
    0.6931
    """

    maximum = -float(np.log(SMALLEST_PROBABILITY))

    def __init__(self, label: Index | Floats, n_classes: int, mass: Floats | None = None) -> None:
        self._target = one_hot(label, n_classes)
        if mass is not None:
            self._target = self._target * mass

    def _probabilities(self, free: Floats) -> Floats:
        first = 1 - free.sum(axis=-2, keepdims=True)
        every = np.concatenate([first, free], axis=-2)
        return np.asarray(np.maximum(every, SMALLEST_PROBABILITY))

    def value(self, free: Floats) -> Floats:
        """The mean of -log pi(label | x)."""
        logs = np.log(self._probabilities(free))
        return np.asarray(-np.sum(self._target * logs, axis=-2).mean(axis=-1))

    def gradient(self, free: Floats) -> Floats:
        """Its derivative by the free probabilities."""
        by_class = -self._target / (self._probabilities(free) * free.shape[-1])
        return np.asarray(by_class[1:] - by_class[0])


class Preferred(NamedTuple):
    """The best decision about each row, where the goal has a preference.

    Parameters
    ----------
    rows : ndarray
        The rows.
    classes : ndarray
        The index of the best class for each of them.
    """

    rows: Index
    classes: Index


@dataclass(frozen=True)
class PredictLabel:
    """The goal of predicting the label.

    Parameters
    ----------
    objective : {"accuracy", "log_loss"}
        The measure.
    """

    objective: str
    needs_label = True
    fits_labels = True  # its best model is a fit to labels

    def check_decisions(self, data: LoggedData) -> None:
        """Accept any logged decisions: a label can always be predicted."""

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """See `Task.loss`: the log loss, or the error rate with labels `smoothed` towards a model,
        if any.
        """
        assert data.label_index is not None
        target = one_hot(data.label_index, data.classes.size)
        if data.revealed:  # the labels that are seen stand for those of people like them
            target = target * (data.revealed.weight / data.revealed.weight.mean())
        if self.objective == "log_loss":
            return LogLoss(target, data.classes.size, _counted(data))
        if model is None:
            return ErrorRate(target, _counted(data))
        return ErrorRate(smoothed(target, model, 1 + data.features.shape[1]), _counted(data))

    def judging_loss(self, data: LoggedData, model: Floats) -> Loss:
        """See `Task.judging_loss`: that of the labels themselves."""
        return self.loss(data)

    def at(self, data: LoggedData, free: Floats | None) -> PredictLabel:
        """See `Task.at`: the same everywhere."""
        return self

    def parts(self, data: LoggedData) -> list[Part]:
        """The averages that it consists of: none, for the labels say all."""
        return []

    def preferred(self, data: LoggedData) -> Preferred:
        """The decisions of a policy that knew only this goal: the labels."""
        assert data.label_index is not None
        known = data.label_index >= 0
        rows = np.flatnonzero(known if data.subsample is None else known & data.subsample.plain)
        return Preferred(rows, data.label_index[rows])


def _counted(data: LoggedData) -> Floats | None:
    """How much each row counts, in averages over everyone; None if all count the same."""
    mass = masses(data)
    if data.subsample is None:
        return mass
    counted = data.subsample.plain * (1.0 if mass is None else mass)
    return np.asarray(counted * (data.n / counted.sum()))


@dataclass(frozen=True)
class Maximise:
    """The goal of making an expression large.

    Parameters
    ----------
    objective : str
        The expression as the user wrote it.
    expression : Expression
        The expression.
    """

    objective: str
    expression: Expression
    fits_labels = False  # what is best for a person is only estimated

    @property
    def needs_label(self) -> bool:
        """Whether the expression mentions the label."""
        return uses_label(self.expression)

    def _on(self, data: LoggedData) -> Expression:
        """The expression, without conditions on labels that only some decisions reveal."""
        return without_label_conditions(self.expression) if data.revealed else self.expression

    def check_decisions(self, data: LoggedData) -> None:
        """Raise if nothing depends on the decisions, if nobody said which one counts as positive,
        or if impacts are asked about and some decision was never taken: nothing is known about its
        impact.
        """
        require_positive(self.expression, data)
        means = find(self._on(data), Mean)
        decided = any(is_decided(mean, data) for mean in means)
        if not decided and not statistics_in(self.expression):
            raise not_of_the_new_model(self.expression)
        if impacts_used(self.expression):
            require_taken(data)

    def loss(
        self, data: LoggedData, model: Floats | None = None, among: Floats | None = None
    ) -> Loss:
        """The unreached part of the expression's range; with a model, less noisy and without kinks.

        ``among`` holds the free numbers of policies whose averages, as an outcome model predicts
        them, span the range. It is needed if the free numbers are not probabilities.
        """
        expression = self._on(data)
        means, ends = find(expression, Mean), None
        if among is not None:
            ends = [ends_among(rows, among) for rows in shrunk_rows(means, data, [])]
        if model is None:
            baselines = Baselines(Estimation(), data)
            rows = [mean_part(mean, data, baselines).rows for mean in means]
            return Shortfall(expression, rows, ends=ends)
        rows = shrunk_rows(means, data, [model])
        return Shortfall(expression, rows, ends=ends, softness=SOFTNESS)

    def judging_loss(self, data: LoggedData, model: Floats) -> Loss:
        """See `Task.judging_loss`: a regression of the impact, fitted to these rows, helps."""
        return self.loss(data, model)

    def at(self, data: LoggedData, free: Floats | None) -> Maximise:
        """The same to first order, in averages alone."""
        expression = linearised(self.expression, data, free)
        return self if expression is self.expression else replace(self, expression=expression)

    def parts(self, data: LoggedData) -> list[Part]:
        """The averages that it consists of, at the behaviour model."""
        baselines = Baselines(Estimation(), data)
        means = find(linearised(self._on(data), data, None), Mean)
        return [mean_part(mean, data, baselines) for mean in means]

    def preferred(self, data: LoggedData) -> Preferred:
        """The decision that an outcome model prefers, for each row where the decision matters."""
        expression = linearised(self._on(data), data, None)
        rows = shrunk_rows(find(expression, Mean), data, [])
        # So soft that each part of a minimum counts: all of them will in the end.
        loss = Shortfall(expression, rows, softness=ALIKE)
        free = np.full((data.classes.size - 1, data.n), 1 / data.classes.size)
        gains = np.vstack([np.zeros(data.n), -loss.gradient(free)])
        stakes = gains.max(axis=0) - gains.min(axis=0)
        if data.behavior is not None:
            gains = np.where(data.behavior.T > 0, gains, -np.inf)
        matters = np.flatnonzero(stakes > SMALLEST_STAKE / data.n)
        return Preferred(matters, gains[:, matters].argmax(axis=0))


#: What a classifier optimises.
Goal: TypeAlias = PredictLabel | Maximise


def goal_of(objective: str | Expression) -> Goal:
    """The goal that an objective names: to predict the label, or to make an expression large.

    Examples
    --------
    >>> type(goal_of("accuracy")).__name__, type(goal_of("E[profit]")).__name__
    ('PredictLabel', 'Maximise')
    """
    if isinstance(objective, str) and objective in OBJECTIVES:
        return PredictLabel(objective)
    expression = read_objective(objective, OBJECTIVES)
    if expression == accuracy():
        return PredictLabel("accuracy")
    return Maximise(objective if isinstance(objective, str) else str(expression), expression)


def counts_positive(claims: Iterable[Claim], objective: str | Expression | None) -> bool:
    """Whether some claim, or the objective of a classifier, depends on which class is positive.

    Parameters
    ----------
    claims : iterable of Claim
        What is tested.
    objective : str, Expression or None
        What is maximised; None for a model from elsewhere.

    Examples
    --------
    >>> counts_positive([], "accuracy"), counts_positive([], "E[profit] - 2 * PR")
    (False, True)
    """
    goal = None if objective is None else goal_of(objective)
    wanted = [goal.expression] if isinstance(goal, Maximise) else []
    return any(map(uses_positive, [*(c.conjunct.form.expression for c in claims), *wanted]))
