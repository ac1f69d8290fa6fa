"""ELF, in elfair's modes and in the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from elfair.classifier import ELFClassifier
from elfair.experiments.draw import Draw


@dataclass(eq=False)
class ELF:
    """An `ELFClassifier` under the constraints of the population.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    make : callable, default ELFClassifier
        What builds the classifier; ``ELFClassifier.paper`` for the paper's settings.
    settings : dict, optional
        Further parameters of the classifier.

    Examples
    --------
    >>> from elfair.experiments import FosterCare
    >>> population = FosterCare()
    >>> method, draw = ELF("elfair"), population.sample(2000, seed=1)
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
