"""What one trial of a study came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrialRecord:
    """What one trial came to: a method, fitted to one draw from a population.

    Examples
    --------
    >>> trial = TrialRecord("elfair", '{"alpha": 0.9}', 256, 0, "no solution", None, {}, 0.01, None)
    >>> trial.outcome
    'no solution'
    """

    method: str
    settings: str
    n: int
    seed: int
    outcome: str
    accuracy: float | None
    violations: dict[str, float]
    seconds: float
    error: str | None
