"""Experiments that compare methods: many fits on populations whose truth is known."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elfair.experiments.nytd import YouthRecords, load_nytd
from elfair.experiments.trial import TrialRecord

if TYPE_CHECKING:
    from elfair.experiments.experiment import Experiment
    from elfair.experiments.runner import run
    from elfair.experiments.store import Store
    from elfair.experiments.summary import summarize

__all__ = [
    "Experiment",
    "Store",
    "TrialRecord",
    "YouthRecords",
    "load_nytd",
    "run",
    "summarize",
]

#: The modules of names that are imported when first used: SQLite comes with them.
_LAZY = {"Store": "store", "Experiment": "experiment", "run": "runner", "summarize": "summary"}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'elfair.experiments' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"elfair.experiments.{_LAZY[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
