"""What a certificate records of estimated propensities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elfair.certificate.behavior import (
    BehaviorRecord,
    CalibrationRecord,
    FormRecord,
    TrimmedRecord,
)
from elfair.data import LoggedData
from elfair.data.digests import columns_digest
from elfair.data.features import MOST_GROUPS
from elfair.data.split import Split
from elfair.language.conditions import EVERYONE, Column, Compare, Literal
from elfair.language.evaluation import is_missing
from elfair.types import Booleans


def behavior_record(split: Split) -> BehaviorRecord | None:
    """How the propensities of a split were estimated; None if they are known."""
    rows = split.everyone
    if rows.unlogged is None or rows.learnt is None:
        return None
    learnt, trim = rows.learnt, rows.unlogged.trim
    return BehaviorRecord(
        asked=rows.unlogged.described,
        form=learnt.form,
        tried=tuple(FormRecord(*each) for each in learnt.tried),
        calibrated=learnt.calibration.is_used,
        groups=len(learnt.without),
        trim=trim,
        trimmed=tuple(_trimmed(split)) if trim else (),
        calibration=tuple(_calibration(rows)),
        digest=_digest(rows),
    )


def groups_in(data: LoggedData) -> Iterator[tuple[str, Booleans]]:
    """Everyone, and each group of each sensitive feature that has few of them."""
    yield EVERYONE, np.ones(data.n, dtype=np.bool_)
    for name, column in data.sensitive.items():
        values = sorted(set(column[~is_missing(column)].tolist()), key=str)
        if len(values) <= MOST_GROUPS:
            for value in values:
                yield str(Compare(Column(name), "==", Literal(value))), column == value


def _calibration(rows: LoggedData) -> Iterator[CalibrationRecord]:
    assert rows.behavior is not None
    assert rows.decision_index is not None
    for condition, inside in groups_in(rows):
        chances = rows.behavior[inside]
        for a, decision in enumerate(rows.classes.tolist()):
            if not len(chances):
                continue
            yield CalibrationRecord(
                condition,
                str(decision),
                len(chances),
                float((rows.decision_index[inside] == a).mean()),
                float(chances[:, a].mean()),
                float(chances[:, a].min()),
                float(np.quantile(chances[:, a], 0.05)),
            )


def _trimmed(split: Split) -> Iterator[TrimmedRecord]:
    """Who was left out: rows of the table that are not among those used."""
    used = np.isin(split.table.position, split.everyone.position)
    candidate = np.isin(split.table.position, split.everyone.learnt.rows)
    for condition, inside in groups_in(split.table):
        yield TrimmedRecord(
            condition,
            int(inside.sum()),
            int((inside & ~used).sum()),
            int((inside & candidate).sum()),
            int((inside & candidate & ~used).sum()),
        )


def _digest(rows: LoggedData) -> str:
    assert rows.behavior is not None
    numbers = np.rint(rows.behavior * 1e6).astype(np.int64)
    return columns_digest([("position", rows.position), ("probabilities", numbers.ravel())])
