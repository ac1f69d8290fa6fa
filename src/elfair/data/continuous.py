"""ContinuousData: a validated table of logged decisions that are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from elfair.data.columns import as_floats, check_length, check_order, one_column, refuse
from elfair.data.table import LoggedData
from elfair.errors import DataError, listed
from elfair.types import Array, Floats

#: Decisions with at most this many different values do not come from a density.
FEWEST_VALUES = 10


class ContinuousData(LoggedData):
    """Logged decisions that are numbers, such as doses or prices.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Features: what the new model will see.
    y : array of shape (n,), optional
        Labels: the best decisions, as numbers.
    sensitive_features, impact, row_id
        See `LoggedData`.
    decision : array of shape (n,), optional
        The logged decisions.
    propensity : array of shape (n,), optional
        The *density* of the behaviour model at the logged decision; it may exceed 1.
    behavior_spread : float or array of shape (n,), optional
        The standard deviation of the behaviour model's decision about each person.

    Examples
    --------
    >>> data = ContinuousData([[0.0], [1.0]], [0.5, 1.5], decision=[0.25, 2.0],
    ...                       propensity=[1.5, 0.25], behavior_spread=0.25)
    >>> data.n, data.label, data.classes.size
    (2, array([0.5, 1.5]), 0)
    """

    decision_kind = "numbers"

    def __init__(self, X: Any, y: Any = None, *, behavior_spread: Any = None, **given: Any) -> None:
        check_order(X=X, y=y, behavior_spread=behavior_spread, **given)
        super().__init__(X, y, **given)
        if behavior_spread is not None:
            if np.ndim(behavior_spread) == 0:
                behavior_spread = np.full(self.n, behavior_spread)
            self.behavior_spread = self._positive_column(
                behavior_spread,
                "behavior_spread",
                "it is the standard deviation of the behaviour model's decisions about one person; "
                "if it is 0, no other decision can be judged.",
            )

    @property
    def probability(self) -> Floats | None:
        """None: propensities are densities."""
        return None

    @property
    def measured(self) -> dict[str, Floats]:
        """Impacts, labels and decisions."""
        known = {"the label": self.label, "the decision": self.decision}
        return super().measured | {name: of for name, of in known.items() if of is not None}

    @property
    def as_numbers(self) -> tuple[Array | None, Array | None]:
        """Label and decision, as numbers."""
        return self.label, self.decision

    def _floats(self, values: Any, what: str) -> Floats:
        hint = f"{what} is a number here; ELFClassifier is for classes."
        column = as_floats(one_column(values, what), what, hint=hint)
        check_length(column, self.n, what)
        return column

    def _decisions(self, values: Any, what: str) -> Floats:
        column = self._floats(values, what)
        hint = f"drop the rows without {what}, or find out what it was."
        refuse(np.isnan(column), f"Input {what} contains NaN,", hint)
        refuse(np.isinf(column), f"Input {what} contains infinity,", hint)
        return column

    def _classes(self, classes: object) -> Array:
        return np.array([], dtype=np.intp)

    def _class_index(self, column: object, what: str) -> None:
        return None

    def _positive_column(self, values: Any, what: str, hint: str) -> Floats:
        column = self._floats(values, what)
        wrong = ~((column > 0) & np.isfinite(column))
        got = listed(column[wrong][:1])
        refuse(wrong, f"{what} must be positive and finite. Got {got}", hint)
        return column

    def _set_propensity(self, values: Any) -> None:
        """Read densities; refuse decisions that cannot come from a density."""
        different = np.unique(np.asarray(self.decision)).size
        if different <= FEWEST_VALUES < self.n / 2:
            raise DataError(
                f"decision holds only {different} different values in {self.n} rows: such "
                "decisions have probabilities, not a density.",
                hint="use ELFClassifier, with the values as classes.",
            )
        hint = "it is the density of the behaviour model at the logged decision."
        self.propensity = self._positive_column(values, "propensity", hint)
