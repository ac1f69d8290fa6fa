"""Simulated worlds whose truth is known, to check every claim of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType

from elfair.errors import InputError, did_you_mean
from elfair.populations.base import Draw, Population, Truth
from elfair.populations.dosage import Dosage, DosageDraw, LinearPolicy
from elfair.populations.foster_care import FosterCare
from elfair.populations.lending import CreditTable, Lending, credit_clusters, read_fico
from elfair.populations.rules import LinearRule, LogisticModel, Mixture

__all__ = [
    "POPULATIONS",
    "CreditTable",
    "Dosage",
    "DosageDraw",
    "Draw",
    "FosterCare",
    "Lending",
    "LinearPolicy",
    "LinearRule",
    "LogisticModel",
    "Mixture",
    "Population",
    "Truth",
    "credit_clusters",
    "make_population",
    "read_fico",
]

#: The maker of each population, by name. Its parameters are the population's settings.
POPULATIONS: Mapping[str, Callable[..., Population]] = MappingProxyType(
    {"foster-care": FosterCare, "lending": lambda: Lending(), "fico-lending": Lending.fico}
)


def make_population(name: str, settings: Mapping[str, object] | None = None) -> Population:
    """Make a population by its name.

    Parameters
    ----------
    name : {"foster-care", "lending", "fico-lending"}
        A key of `POPULATIONS`.
    settings : mapping of str to object, optional
        ``alpha``, ``strict`` and ``clipped`` for "foster-care"; ``folder``, ``group_0`` and
        ``group_1`` for "fico-lending".

    Returns
    -------
    Population

    Examples
    --------
    >>> make_population("foster-care", {"alpha": 0.2})
    FosterCare(alpha=0.2, strict=False, clipped=False)
    >>> make_population("foster-care", {"alfa": 0.2})
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: the population 'foster-care' has no setting 'alfa'. Its settings ...
    Hint: did you mean 'alpha'?
    """
    make = POPULATIONS.get(name) if isinstance(name, str) else None
    if make is None:
        raise InputError(
            f"there is no population {name!r}. There are: {', '.join(POPULATIONS)}.",
            hint=did_you_mean(name, POPULATIONS, "use one of these names."),
        )
    settings = settings or {}
    allowed = list(signature(make).parameters)
    for setting in settings:
        if setting not in allowed:
            has = f"Its settings are: {', '.join(allowed)}." if allowed else "It has no settings."
            raise InputError(
                f"the population {name!r} has no setting {setting!r}. {has}",
                hint=did_you_mean(setting, allowed, "remove it."),
            )
    return make(**settings)
