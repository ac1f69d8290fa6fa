"""What a search is for: which family of policies, what is made good, and where to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from elfair.certificate import Assumption
from elfair.data import LoggedData
from elfair.errors import DataError
from elfair.policies import Policy, SoftmaxPolicy
from elfair.search.loss import Loss, make_loss
from elfair.search.starts import fit_log_loss

Floats = NDArray[np.float64]


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

    def best(self, policy: Any, inputs: Any, data: LoggedData) -> Floats:
        """The policy that is best by the objective, whatever it does to the constraints."""

    def starts(self, policy: Any, inputs: Any, data: LoggedData, best: Floats) -> Sequence[Floats]:
        """Where a search begins, the best policy first."""


@dataclass(frozen=True)
class Classification:
    """A softmax policy that is to predict the label.

    Parameters
    ----------
    objective : {"accuracy", "log_loss"}
        What to make good.
    """

    objective: str

    def assumptions(self) -> tuple[Assumption, ...]:
        """None: everything is learnt from candidate rows."""
        return ()

    def rows(self, data: LoggedData) -> LoggedData:
        """As they are."""
        return data

    def check(self, data: LoggedData) -> None:
        """Labels are needed."""
        if data.label is None:
            raise DataError(
                f"objective='{self.objective}' needs labels; y was not given.",
                hint="pass y.",
            )

    def policy(self, data: LoggedData) -> SoftmaxPolicy:
        """A linear softmax, mixed with the behaviour model where that is known."""
        return SoftmaxPolicy.standardised(
            data.features, data.classes.size, mixed=data.behavior_model is not None
        )

    def loss(self, data: LoggedData, model: Floats | None = None) -> Loss:
        """The error rate or the log loss."""
        assert data.label_index is not None
        return make_loss(self.objective, data.label_index, data.classes.size, model)

    def best(self, policy: SoftmaxPolicy, inputs: Any, data: LoggedData) -> Floats:
        """The best predictor of the label."""
        assert data.label_index is not None
        return fit_log_loss(policy, inputs, data.label_index)

    def starts(
        self, policy: SoftmaxPolicy, inputs: Any, data: LoggedData, best: Floats
    ) -> Sequence[Floats]:
        """The best predictor of the label; one that imitates the behaviour model; their middle;
        and, where it is known, the behaviour model itself.
        """
        if data.decision_index is None:
            return [best]
        familiar = fit_log_loss(policy, inputs, data.decision_index)
        starts = [best, (best + familiar) / 2, familiar]
        if policy.mixed:
            starts.append(np.append(familiar[:-1], 0.0))
        return starts
