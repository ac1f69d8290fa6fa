"""Logged decisions sampled from a population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Draw:
    """Logged decisions sampled from a population.

    Attributes
    ----------
    features : array of shape (n, d)
        What models see of each person.
    label, group, decision : integer arrays of shape (n,)
        Y, T and D, each 0 or 1.
    propensity : array of shape (n,)
        The behaviour model's probability of the logged decision.
    impact : array of shape (n,)
        The delayed impact of the logged decision.
    feature_names : tuple of str
        A name for each column of `features`.

    Examples
    --------
    >>> from elfair.experiments import FosterCare
    >>> draw = FosterCare().sample(3, seed=0)
    >>> list(draw.frame())
    ['X1', 'X2', 'X3', 'X4', 'X5', 'T', 'Y', 'decision', 'propensity', 'impact']
    >>> list(draw.logged)
    ['sensitive_features', 'decision', 'propensity', 'impact']
    """

    features: FloatArray
    label: IntArray
    group: IntArray
    decision: IntArray
    propensity: FloatArray
    impact: FloatArray
    feature_names: tuple[str, ...]

    def frame(self) -> dict[str, FloatArray | IntArray]:
        """The columns by name, ready for the constructor of any data frame."""
        return {
            **dict(zip(self.feature_names, self.features.T, strict=True)),
            "T": self.group,
            "Y": self.label,
            "decision": self.decision,
            "propensity": self.propensity,
            "impact": self.impact,
        }

    @property
    def logged(self) -> dict[str, Any]:
        """What `ELFClassifier.fit` takes beside features and labels, by keyword."""
        return {
            "sensitive_features": {"T": self.group},
            "decision": self.decision,
            "propensity": self.propensity,
            "impact": self.impact,
        }
