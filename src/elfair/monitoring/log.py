"""From a log of decisions to the rows of a monitor: who is due, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from elfair.data import LoggedData
from elfair.data.behavior import behavior_probabilities
from elfair.data.columns import Columns, as_floats, is_missing
from elfair.data.digests import mix
from elfair.data.unseen import Unseen
from elfair.errors import DataError, InputError
from elfair.estimators.classifier import ELFClassifier
from elfair.language.conditions import EVERYONE
from elfair.language.evaluation import holds
from elfair.language.parsing import parse_condition
from elfair.monitoring.known import Keys, column_keys, row_keys
from elfair.monitoring.statements import DROP, NewRows
from elfair.study import StudyFile
from elfair.study.reading import TableReading
from elfair.study.sources import SourceTable
from elfair.study.writing import DECISION, MODEL, PROPENSITY, TIME
from elfair.types import Array, Booleans, Floats

#: How far a logged propensity may be from the model's own.
ROUNDED = 1e-6


class Part(NamedTuple):
    """Some rows of a log.

    Parameters
    ----------
    table : pyarrow.Table
        The columns that are needed, as they are.
    as_written : frozenset of str
        Those that hold texts as they were written.
    ids, decided, later : ndarray of uint64
        Keys of the identifier, of what was known at the decision, and of what was measured later;
        0 if nothing was.
    due : ndarray of bool
        Whether a row is old enough to count.
    """

    table: Any
    as_written: frozenset[str]
    ids: Keys
    decided: Keys
    later: Keys
    due: Booleans

    def take(self, rows: Booleans) -> Part:
        """Some of them."""
        return Part(
            self.table.filter(rows),
            self.as_written,
            self.ids[rows],
            self.decided[rows],
            self.later[rows],
            self.due[rows],
        )


@dataclass(frozen=True)
class Log:
    """How the log of a model is read.

    Parameters
    ----------
    model : ELFClassifier
        Released, and made from a study.
    study : StudyFile
        That study.
    missing : {"at random", "worst case", "drop"} or None
        What a missing impact is taken for.
    follow_up : float, str or None
        The chance with which people are followed up, or its column.
    """

    model: ELFClassifier
    study: StudyFile
    missing: str | None
    follow_up: Any

    @property
    def _names(self) -> Mapping[str, Any]:
        names: Mapping[str, Any] = self.model.encoding_
        return names

    @property
    def row_id(self) -> str:
        """The column that identifies people."""
        return str(self._names["row_id"])

    @property
    def decision(self) -> str:
        """The column of decisions."""
        return self._names.get("decision") or DECISION

    @property
    def propensity(self) -> str:
        """The column of propensities."""
        return self._names.get("propensity") or PROPENSITY

    @property
    def reading(self) -> TableReading:
        """How columns are made of those of the table."""
        return self.study.reading.restricted(self.known + self.measured, [])

    @property
    def known(self) -> list[str]:
        """What is known when a decision is taken."""
        columns = self.study.columns
        drawn = [self.follow_up] if isinstance(self.follow_up, str) else []
        names = [*columns.features, *columns.sensitive, self.decision, self.propensity, *drawn]
        return list(dict.fromkeys(names))

    @property
    def measured(self) -> list[str]:
        """What is measured later."""
        columns = self.study.columns
        label = [columns.label] if columns.label else []
        return list(dict.fromkeys([*columns.impact, *columns.early, *label]))

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are needed."""
        raw = self.reading.raw(self.known + self.measured)
        return list(dict.fromkeys([self.row_id, TIME, MODEL, *raw]))

    @property
    def as_written(self) -> list[str]:
        """Those of a text file that are read as they were written."""
        return [self.row_id, TIME, MODEL, *self.reading.as_written(self.columns)]

    def part(self, source: SourceTable, delay: timedelta, now: datetime) -> tuple[Part, int]:
        """Some rows of the log, those of other models left out, and how many these are."""
        import pyarrow.compute as pc

        table = source.table
        ours = pc.equal(table[MODEL], self.model.certificate_.digests.model)
        ours = np.asarray(pc.fill_null(ours, False))
        table = table.filter(ours)
        later = set(self.reading.raw(self.measured))
        n = table.num_rows
        measured = [table[name] for name in table.column_names if name in later]
        apart = {*later, self.row_id, MODEL}
        decided = [table[name] for name in table.column_names if name not in apart]
        seen = np.zeros(n, dtype=np.bool_)
        for column in measured:
            seen |= ~_empty(column)
        keys = np.where(seen, row_keys(measured, n) | np.uint64(1), np.uint64(0))
        ids = mix(column_keys(table[self.row_id]))
        if _empty(table[self.row_id]).any():
            raise DataError(
                f"column '{self.row_id}', which identifies people, is missing in some rows of "
                f"{source.name}.",
                hint="nobody could tell whether they were counted before: fill it in.",
            )
        due = _times(table[TIME], source.name) <= np.datetime64(
            (now - delay).replace(tzinfo=None), "us"
        )
        return Part(table, source.as_written, ids, row_keys(decided, n), keys, due), int(
            (~ours).sum()
        )

    def read(self, part: Part) -> Columns:
        """The columns of the study, of some rows."""
        source = SourceTable(part.table, "the log", None, as_written=part.as_written)
        read = self.reading.read(source, self.known + self.measured)
        return {name: read.columns[name] for name in self.known + self.measured}

    def seen(self, read: Columns) -> Booleans:
        """The rows of which every impact was seen."""
        names = self.study.columns.impact
        absent = [is_missing(read[name]) for name in names]
        return ~np.any(absent, axis=0) if absent else np.ones(_length(read), dtype=np.bool_)

    def rows(self, read: Columns, learnt: int) -> NewRows:
        """Some rows as statements see them; the first ones are there to learn from."""
        columns, record = self.study.columns, self.model.certificate_
        X = self.study.encoding.encode({name: read[name] for name in columns.features})
        classes = self.model.classes_
        new = self.model.predict_proba(X)
        impacts, unseen = self._impacts(read)
        label, absent = None, np.zeros(_length(read), dtype=np.bool_)
        if columns.label:
            absent = is_missing(read[columns.label])
            label = read[columns.label].copy()
            label[absent] = classes[0]
        groups = dict.fromkeys([*columns.sensitive, *self.study.in_conditions])
        data = LoggedData(
            X,
            label,
            sensitive_features={name: read[name] for name in groups} or None,
            decision=read[self.decision],
            impact=impacts or None,
            classes=classes,
            positive=self._positive(record.terms.positive, classes),
        )
        assert data.decision_index is not None
        own = new[np.arange(data.n), data.decision_index]
        self._check(read, own)
        data = data.changed(behavior=new, propensity=own, unseen=unseen)
        ranges = {each.impact: (each.low, each.high) for each in record.terms.impact_ranges}
        ranges |= {data.impact_key(name): each for name, each in ranges.items()}
        return NewRows(data, learnt, self.old(X, data), ranges, absent)

    def old(self, X: Any, data: LoggedData) -> Floats | None:
        """The old model's probabilities; None if they are not known."""
        behavior, lottery = self.model._behavior_model, self.model.certificate_.terms.lottery
        if behavior is not None:
            return behavior_probabilities(behavior, X, self.model.classes_)
        if not lottery:
            return None
        old = np.zeros((data.n, data.classes.size))
        for chance in lottery:
            inside = np.ones(data.n, dtype=np.bool_)
            if chance.condition != EVERYONE:
                inside = holds(parse_condition(chance.condition), data)
            old[inside, [str(each) for each in data.classes].index(chance.decision)] = (
                chance.probability
            )
        return old

    def _impacts(self, read: Columns) -> tuple[dict[str, Floats], Unseen | None]:
        """The impacts, with a number wherever one is missing, and where that is."""
        columns = self.study.columns
        impacts = {name: as_floats(read[name], f"impact '{name}'") for name in columns.impact}
        self._check_ranges(impacts, read)
        seen = {name: ~np.isnan(each) for name, each in impacts.items()}
        filled = {name: np.nan_to_num(each) for name, each in impacts.items()}
        if self.missing in (None, DROP) or not impacts:
            return filled, None
        early = {
            name: as_floats(read[name], f"early outcome '{name}'")
            for name in (columns.early if self.missing == "at random" else ())
        }
        drawn, share = None, None
        if isinstance(self.follow_up, str):
            drawn = as_floats(read[self.follow_up], "follow_up")
        elif self.follow_up is not None:
            share = float(self.follow_up)
            drawn = np.full(_length(read), share)
        how: Any = self.missing
        return filled, Unseen(how, seen, early, drawn, share)

    def _check_ranges(self, impacts: Mapping[str, Floats], read: Columns) -> None:
        for each in self.model.certificate_.terms.impact_ranges:
            values = impacts.get(each.impact)
            if values is None:
                continue
            outside = (values < each.low) | (values > each.high)
            if outside.any():
                raise DataError(
                    f"impact '{each.impact}' is {values[outside][0]:g} in {int(outside.sum())} "
                    f"rows, outside the range [{each.low:g}, {each.high:g}] that the study "
                    "declares.",
                    hint="the certificate rests on this range: correct the value, or certify "
                    "again with another range.",
                )

    def _check(self, read: Columns, own: Floats) -> None:
        """Raise unless the logged propensities are those of the model."""
        logged = as_floats(read[self.propensity], "propensity")
        wrong = ~(np.abs(logged - own) <= ROUNDED)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"the log says that a decision was taken with probability {logged[k]:.6g}; with "
                f"these features the model takes it with {own[k]:.6g} ({int(wrong.sum())} rows of "
                f"{_length(read)}).",
                hint="a feature was changed after the decision, or another program decided: log "
                "what `elfair decide` appends, and add measured columns alone.",
            )

    @staticmethod
    def _positive(text: str | None, classes: Array) -> Any:
        return next((each for each in classes.tolist() if str(each) == text), None)


def _length(read: Columns) -> int:
    return len(next(iter(read.values())))


def _empty(column: Any) -> Booleans:
    """Where a cell is empty, also if it is a text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    absent = np.asarray(column.is_null())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        absent = absent | np.asarray(pc.fill_null(pc.equal(column, ""), True))
    elif pa.types.is_floating(column.type):
        absent = absent | np.asarray(pc.fill_null(pc.is_nan(column), True))
    return absent


def _times(column: Any, name: str) -> Array:
    """The times of decisions, in UTC."""
    import pyarrow as pa

    for kind in (pa.timestamp("us", tz="UTC"), pa.timestamp("us")):
        try:
            times = column.cast(kind).cast(pa.timestamp("us")).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        if not np.isnat(times).any():
            return np.asarray(times)
    raise DataError(
        f"column '{TIME}' of {name} must hold times such as 2026-01-31T12:00:00+00:00.",
        hint="`elfair decide` writes it; nobody could tell which impacts are still to come.",
    )


def study_of(model: ELFClassifier) -> StudyFile:
    """The study that a model was made from; raise if it cannot be watched."""
    record = model.certificate_
    text = record.provenance.study
    if getattr(model, "encoding_", None) is None or not text:
        raise InputError(
            "this model was not made from a study file, so nothing says what the columns of its "
            "log are.",
            hint="fit it with `elfair fit`, which keeps the study in the certificate.",
        )
    if not isinstance(model, ELFClassifier):
        raise InputError(
            "decisions that are numbers cannot be watched yet.", hint="watch a classifier."
        )
    for what, there in {
        "units or sample weights": record.terms.units is not None,
        "estimated propensities": record.terms.behavior is not None,
        "labels that only some decisions reveal": record.terms.revealed is not None,
    }.items():
        if there:
            raise InputError(
                f"a model that was certified with {what} cannot be watched yet.",
                hint="test it on new rows with a study of its log.",
            )
    study = StudyFile.loads(text)
    if study.columns.row_id is None:
        raise InputError(
            "the study names no identifier, so rows could count twice.",
            hint="name row_id in [columns], and fit again.",
        )
    return study
