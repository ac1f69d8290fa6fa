"""A study file: which table, which column is what, what must hold, and how it is tested."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elfair.certificate import LeftOut
from elfair.study.encoding import Feature, TableEncoding

if TYPE_CHECKING:
    from elfair.study.data import StudyData
    from elfair.study.drafting import draft_study
    from elfair.study.file import StatedConstraint, StudyFile
    from elfair.study.ledger import Ledger
    from elfair.study.outcome import StudyOutcome, fit_study
    from elfair.study.sources import SourceTable, read_table

__all__ = [
    "Feature",
    "Ledger",
    "LeftOut",
    "SourceTable",
    "StatedConstraint",
    "StudyData",
    "StudyFile",
    "StudyOutcome",
    "TableEncoding",
    "draft_study",
    "fit_study",
    "read_table",
]

#: Where names lie that are imported when they are asked for: a stored model needs its encoding, and
#: not pydantic.
_LAZY = {
    "Ledger": "ledger",
    "SourceTable": "sources",
    "StatedConstraint": "file",
    "StudyData": "data",
    "StudyFile": "file",
    "StudyOutcome": "outcome",
    "draft_study": "drafting",
    "fit_study": "outcome",
    "read_table": "sources",
}


def __getattr__(name: str) -> Any:
    """A name of study files, when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'elfair.study' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"elfair.study.{_LAZY[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
