"""The goal of making an expression large; labels are welcome, but not needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elfair.data import LoggedData
from elfair.data.propensities import require_taken
from elfair.language import Expression, Mean, Statistic, accuracy, impacts_used, uses_label
from elfair.language.tree import find
from elfair.search.forecast import forecast_means
from elfair.search.loss import OBJECTIVES, Loss
from elfair.search.objective import (
    ALIKE,
    SOFTNESS,
    Shortfall,
    averages,
    ends_among,
    linearised,
    of_the_behavior_model,
    read_objective,
)
from elfair.search.task import Goal, PredictLabel, Wanted
from elfair.statistics import Baselines, Estimation, is_decided, mean_part
from elfair.types import Floats

#: Shares of its part in the objective's range below which a row does not matter.
SMALLEST_STAKE = 1e-4


def goal_of(objective: str | Expression) -> Goal:
    """What an objective asks for: to predict the label, or to make an expression large.

    Examples
    --------
    >>> type(goal_of("accuracy")).__name__, type(goal_of("E[profit]")).__name__
    ('PredictLabel', 'Maximise')
    """
    if isinstance(objective, str) and objective in OBJECTIVES:
        return PredictLabel(objective)
    expression = read_objective(objective)
    if expression == accuracy():
        return PredictLabel("accuracy")
    return Maximise(objective if isinstance(objective, str) else str(expression), expression)


@dataclass(frozen=True)
class Maximise:
    """The goal of making an expression large.

    Parameters
    ----------
    objective : str
        The expression, as the user wrote it.
    expression : Expression
        The expression.
    """

    objective: str
    expression: Expression

    @property
    def needs_label(self) -> bool:
        """Where the expression speaks of the label."""
        return uses_label(self.expression)

    def check_decisions(self, data: LoggedData) -> None:
        """The impact of a decision that was never taken is anybody's guess; and something must
        depend on decisions at all.
        """
        means = find(self.expression, Mean)
        decided = any(is_decided(mean, data) for mean in means)
        if not decided and not find(self.expression, Statistic):
            raise of_the_behavior_model(self.expression)
        if impacts_used(self.expression):
            require_taken(data)

    def loss(
        self, data: LoggedData, model: Floats | None = None, among: Floats | None = None
    ) -> Loss:
        """What of the expression's range is not reached; with a model, with less luck in it and
        without kinks.

        ``among`` holds the free numbers of policies whose averages, as an outcome model expects
        them, span the range: needed where free numbers are no probabilities.
        """
        means, ends = averages(self.expression), None
        if among is not None:
            ends = [ends_among(rows, among) for rows in forecast_means(means, data, [])]
        if model is None:
            baselines = Baselines(Estimation(), data)
            rows = [mean_part(mean, data, baselines).rows for mean in means]
            return Shortfall(self.expression, rows, ends=ends)
        rows = forecast_means(means, data, [model])
        return Shortfall(self.expression, rows, ends=ends, softness=SOFTNESS)

    def at(self, data: LoggedData, free: Floats | None) -> Maximise:
        """The same to first order, in averages alone."""
        expression = linearised(self.expression, data, free)
        return self if expression is self.expression else replace(self, expression=expression)

    def wanted(self, data: LoggedData) -> Wanted:
        """The decision that an outcome model likes best, wherever a decision matters."""
        expression = linearised(self.expression, data, None)
        rows = forecast_means(averages(expression), data, [])
        # So soft that each part of a minimum counts: all of them will in the end.
        loss = Shortfall(expression, rows, softness=ALIKE)
        free = np.full((data.classes.size - 1, data.n), 1 / data.classes.size)
        gains = np.vstack([np.zeros(data.n), -loss.gradient(free)])
        stakes = gains.max(axis=0) - gains.min(axis=0)
        if data.behavior is not None:
            gains = np.where(data.behavior.T > 0, gains, -np.inf)
        matters = np.flatnonzero(stakes > SMALLEST_STAKE / data.n)
        return Wanted(matters, gains[:, matters].argmax(axis=0))
