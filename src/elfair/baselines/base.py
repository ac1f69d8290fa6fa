"""What a study compares: ways to turn logged decisions into a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from elfair.experiments.draw import Draw
from elfair.experiments.population import HasPredictProba


class Method(Protocol):
    """A way to turn logged decisions into a model.

    Attributes
    ----------
    label : str
        Its name in figures and tables.
    uses_impact : bool
        Whether it looks at impacts or at ``constraints``. A method that does not is fitted once and
        scored wherever populations differ in their impact alone. It sees features, label, group,
        logged decision and propensity; a study gives it NaN for each impact, and no constraints.
    """

    label: str
    uses_impact: bool

    def fit(
        self, draw: Draw, constraints: Sequence[str], *, delta: float, seed: int
    ) -> HasPredictProba | None:
        """A model of the features, or None for "no solution found"."""
        ...
