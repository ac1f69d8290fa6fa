"""Populations by name (a stand-in until the real registry arrives)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from elfair.errors import InputError, did_you_mean
from elfair.experiments.foster_care import FosterCare
from elfair.experiments.population import Population

POPULATIONS: Mapping[str, Callable[..., Any]] = {"foster-care": FosterCare, "lending": FosterCare}


def make_population(name: str, settings: Mapping[str, object]) -> Population:
    """The population of this name."""
    if name not in POPULATIONS:
        raise InputError(
            f"population must be one of {list(POPULATIONS)}. Got {name!r} instead.",
            hint=did_you_mean(name, POPULATIONS, "check the spelling."),
        )
    allowed = list(FosterCare.__dataclass_fields__)
    for key in settings:
        if key not in allowed:
            raise InputError(
                f"a setting of {name!r} must be one of {allowed}. Got {key!r} instead.",
                hint=did_you_mean(key, allowed, "check the spelling."),
            )
    made: Population = POPULATIONS[name](**settings)
    return made
