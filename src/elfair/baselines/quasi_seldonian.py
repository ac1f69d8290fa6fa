"""Quasi-Seldonian classifiers (Thomas et al. 2019): static fairness, with stated confidence.

They run on elfair's own engine, with a constraint on rates alone: nothing of what was decided, or
of what became of it, is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elfair.classifier import ELFClassifier
from elfair.experiments.draw import Draw
from elfair.recipes import Recipe


@dataclass(eq=False)
class QuasiSeldonian:
    """The most accurate model that is shown to be fair by a static notion of fairness.

    Parameters
    ----------
    label : str
        Its name in figures and tables.
    fairness : Recipe
        What must hold between the groups of T, such as ``elfair.parity("T", tolerance=0.1)``.

    Examples
    --------
    >>> from elfair import parity
    >>> from elfair.experiments import FosterCare
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
        classifier = ELFClassifier(self.fairness, delta=delta, random_state=seed)
        classifier.fit(draw.features, draw.label, sensitive_features={"T": draw.group})
        return classifier if classifier.solution_found_ else None
