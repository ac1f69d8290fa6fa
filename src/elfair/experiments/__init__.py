"""Populations with known truth, on which every claim of the library can be checked; studies."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elfair.experiments.credit_scores import CreditTable, credit_clusters, read_fico
from elfair.experiments.dosage import Dosage, DosageDraw, LinearPolicy
from elfair.experiments.draw import Draw
from elfair.experiments.foster_care import FosterCare
from elfair.experiments.lending import Lending
from elfair.experiments.nytd import YouthRecords, load_nytd
from elfair.experiments.population import Population, Truth
from elfair.experiments.populations import POPULATIONS, make_population
from elfair.experiments.records import TrialRecord
from elfair.experiments.rules import BehaviorModel, LinearRule, Mixture

if TYPE_CHECKING:
    from elfair.experiments.runner import run
    from elfair.experiments.store import Store
    from elfair.experiments.study import Study
    from elfair.experiments.summary import summarize

__all__ = [
    "POPULATIONS",
    "BehaviorModel",
    "CreditTable",
    "Dosage",
    "DosageDraw",
    "Draw",
    "FosterCare",
    "Lending",
    "LinearPolicy",
    "LinearRule",
    "Mixture",
    "Population",
    "Store",
    "Study",
    "TrialRecord",
    "Truth",
    "YouthRecords",
    "credit_clusters",
    "load_nytd",
    "make_population",
    "read_fico",
    "run",
    "summarize",
]

#: Where names lie that are imported when they are asked for: pydantic and SQLite come with them.
_LAZY = {"Store": "store", "Study": "study", "run": "runner", "summarize": "summary"}


def __getattr__(name: str) -> Any:
    """A name of studies, when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'elfair.experiments' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"elfair.experiments.{_LAZY[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
