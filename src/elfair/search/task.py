"""What a search is for: which family of policies, what is made good, and where to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.policies import Policy, SoftmaxPolicy
from elfair.policies.softmax import EXPLORATION
from elfair.search.gradient import fit_log_loss
from elfair.search.loss import Loss, make_loss
from elfair.types import Floats, Index


class Task(Protocol):
    """What differs between kinds of decisions; all else of a search is the same for all."""

    @property
    def objective(self) -> str:
        """What is made good, as the user wrote it."""

    def assumptions(self) -> tuple[Assumption, ...]:
        """What the family of policies adds to that which a certificate rests on."""

    def rows(self, data: LoggedData) -> LoggedData:
        """Candidate rows as the search, and it alone, is to see them."""

    def check(self, data: LoggedData) -> None:
        """Raise where the rows lack something that the task needs."""

    def policy(self, data: LoggedData) -> Policy:
        """The family of policies, scaled by candidate rows."""

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """What to make small; ``model`` holds the free numbers of a policy fitted to these rows,
        towards which it may be smoothed.
        """

    def at(self, data: LoggedData, free: Floats | None) -> Task:
        """The task as it is at a policy (at the behaviour model where ``free`` is None): itself,
        unless its objective has to be replaced by averages, policy by policy.
        """

    def best(self, policy: Any, inputs: Any, data: LoggedData) -> Floats:
        """The policy that is best by the objective, whatever it does to the constraints."""

    def starts(self, policy: Any, inputs: Any, data: LoggedData, best: Floats) -> Sequence[Floats]:
        """Where a search begins, the best policy first."""

    def likely(self, policy: Any, inputs: Any, data: LoggedData, best: Floats) -> Sequence[Floats]:
        """Policies like those on the way from the best one to ones that meet the constraints."""


class Wanted(NamedTuple):
    """Which decision would be best, for the rows of which something is known.

    Parameters
    ----------
    rows : ndarray
        The rows.
    classes : ndarray
        The index of the class that each of them is best decided as.
    """

    rows: Index
    classes: Index


class Goal(Protocol):
    """What a classifier makes good."""

    @property
    def objective(self) -> str:
        """It, as the user wrote it."""

    @property
    def needs_label(self) -> bool:
        """Whether there is nothing to make good without labels."""

    def check_decisions(self, data: LoggedData) -> None:
        """Raise where the logged decisions leave something unknown that it needs."""

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """See `Task.loss`."""

    def at(self, data: LoggedData, free: Floats | None) -> Goal:
        """See `Task.at`."""

    def wanted(self, data: LoggedData) -> Wanted:
        """What a policy that knew only this goal would decide."""


class Family(Protocol):
    """The policies that a classifier chooses among."""

    def assumptions(self) -> tuple[Assumption, ...]:
        """See `Task.assumptions`."""

    def rows(self, data: LoggedData) -> LoggedData:
        """See `Task.rows`."""

    def policy(self, data: LoggedData) -> SoftmaxPolicy:
        """See `Task.policy`."""

    def fit(self, policy: Any, inputs: Any, classes: Index) -> Floats:
        """The policy that predicts the given classes best."""


@dataclass(frozen=True)
class Classification:
    """A policy that chooses among classes.

    Parameters
    ----------
    goal : Goal
        What to make good.
    family : Family, optional
        Which policies there are; linear ones unless given.
    exploration : float, default 2e-4
        The share of decisions that each of them takes blindly.
    """

    goal: Goal
    family: Family = field(default_factory=lambda: LinearFamily())
    exploration: float = EXPLORATION

    @property
    def objective(self) -> str:
        """What is made good, as the user wrote it."""
        return self.goal.objective

    def assumptions(self) -> tuple[Assumption, ...]:
        """Those of the family."""
        return self.family.assumptions()

    def rows(self, data: LoggedData) -> LoggedData:
        """As the family wants them seen."""
        return self.family.rows(data)

    def check(self, data: LoggedData) -> None:
        """Labels may be needed."""
        if self.goal.needs_label and data.label is None:
            raise DataError(
                f"objective='{self.objective}' needs labels; y was not given.",
                hint="pass y.",
            )

    def policy(self, data: LoggedData) -> SoftmaxPolicy:
        """One of the family, with as much chance in it as was asked for."""
        return replace(self.family.policy(data), exploration=self.exploration)

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The goal's."""
        return self.goal.loss(data, model)

    def at(self, data: LoggedData, free: Floats | None) -> Classification:
        """With the goal as it is there."""
        goal = self.goal.at(data, free)
        return self if goal is self.goal else replace(self, goal=goal)

    def best(self, policy: SoftmaxPolicy, inputs: Any, data: LoggedData) -> Floats:
        """The policy that decides, wherever it can, as is wanted.

        People of whom the goal wants nothing are left out of the fit.
        """
        rows, classes = self.goal.wanted(data)
        if not rows.size:
            return np.zeros(policy.n_parameters)
        if rows.size < data.n:
            inputs = policy.logged(data.take(rows))
        return self.family.fit(policy, inputs, classes)

    def starts(
        self, policy: SoftmaxPolicy, inputs: Any, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best policy; one that imitates the behaviour model; their middle; and, where it is
        known, the behaviour model itself.
        """
        if data.decision_index is None:
            return [best]
        familiar = self.family.fit(policy, inputs, data.decision_index)
        starts = [best, (best + familiar) / 2, familiar]
        if policy.mixed:
            starts.append(np.append(familiar[:-1], 0.0))
        return starts

    def likely(
        self, policy: SoftmaxPolicy, inputs: Any, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best policy: constraints turn few decisions round."""
        return [best]


@dataclass(frozen=True)
class PredictLabel:
    """The goal of predicting the label.

    Parameters
    ----------
    objective : {"accuracy", "log_loss"}
        By which measure.
    """

    objective: str
    needs_label = True

    def check_decisions(self, data: LoggedData) -> None:
        """Whatever was decided in all rows, a label can be predicted."""

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The error rate or the log loss."""
        assert data.label_index is not None
        return make_loss(self.objective, data.label_index, data.classes.size, model)

    def at(self, data: LoggedData, free: Floats | None) -> PredictLabel:
        """Everywhere the same."""
        return self

    def wanted(self, data: LoggedData) -> Wanted:
        """The labels."""
        assert data.label_index is not None
        return Wanted(np.arange(data.n), data.label_index)


@dataclass(frozen=True)
class LinearFamily:
    """Softmax policies that are linear in the features."""

    def assumptions(self) -> tuple[Assumption, ...]:
        """None: everything is learnt from candidate rows."""
        return ()

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    def policy(self, data: LoggedData) -> SoftmaxPolicy:
        """Mixed with the behaviour model where that is known."""
        return SoftmaxPolicy.standardised(
            data.features, data.classes.size, mixed=data.behavior_model is not None
        )

    def fit(self, policy: SoftmaxPolicy, inputs: Any, classes: Index) -> Floats:
        """Logistic regression."""
        return fit_log_loss(policy, inputs, classes)
