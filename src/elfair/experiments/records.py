"""One trial of a study, as it is kept."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrialRecord:
    """What came of one method on one data set.

    Parameters
    ----------
    method : str
        Its name in the study.
    settings : str
        Canonical JSON of the population's settings, swept and fixed.
    n, seed : int
        Which data set.
    outcome : str
        "returned", "no solution" or "failed" (the method crashed).
    accuracy : float or None
        True accuracy of the returned model.
    violations : dict of str to float
        True violation for each group, above 0 where it is worse off; empty unless returned.
    seconds : float
        Processor time of the fit.
    error : str or None
        What a crash said.
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
