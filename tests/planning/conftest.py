"""Logs of populations with known truth, as a check wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from elfair import LoggedData
from elfair.populations import FosterCare

Log = Callable[..., dict[str, Any]]


@pytest.fixture
def log() -> Log:
    """Arguments of `LoggedData`, some of them changed."""

    def make(n: int = 400, seed: int = 0, population: Any = None, **changed: Any) -> dict[str, Any]:
        draw = (population or FosterCare()).sample(n, seed)
        return {
            "X": draw.features,
            "y": draw.label,
            "sensitive_features": {"T": draw.group},
            "decision": draw.decision,
            "propensity": draw.propensity,
            "impact": draw.impact,
        } | changed

    return make


@pytest.fixture
def people() -> Callable[[dict[str, Any], Any], LoggedData]:
    """Some rows of a log, without their impact."""

    def take(log: dict[str, Any], rows: Any) -> LoggedData:
        parts = {k: np.asarray(v)[rows] for k, v in log.items() if k in ("X", "y", "decision")}
        groups = {k: np.asarray(v)[rows] for k, v in log["sensitive_features"].items()}
        return LoggedData(
            parts.pop("X"), parts.pop("y"), sensitive_features=groups, classes=[0, 1], **parts
        )

    return take
