"""A study file: which table, which column is what, what must hold, and how it is tested."""

from __future__ import annotations

from elfair.study.data import LeftOut, StudyData
from elfair.study.encoding import Feature, TableEncoding
from elfair.study.file import StatedConstraint, StudyFile
from elfair.study.sources import SourceTable, read_table

__all__ = [
    "Feature",
    "LeftOut",
    "SourceTable",
    "StatedConstraint",
    "StudyData",
    "StudyFile",
    "TableEncoding",
    "read_table",
]
