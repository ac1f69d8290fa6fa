"""The rows of a study, as `fit` takes them, and an account of rows that were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elfair.certificate import LeftOut
from elfair.data import ContinuousData, LoggedData
from elfair.data.asking import asked_by_study
from elfair.data.batches import LoggedBatches
from elfair.data.behavior import ESTIMATED
from elfair.data.classes import read_classes
from elfair.data.columns import Columns, as_floats, is_missing
from elfair.data.lottery import BY
from elfair.data.unseen import MISSING_IMPACT
from elfair.errors import DataError, InputError, all_of, listed
from elfair.estimators.base import OF_TABLE
from elfair.language.conditions import columns_used
from elfair.language.parsing import parse_condition
from elfair.records.json import to_plain
from elfair.records.toml import class_text
from elfair.study.derived import closure
from elfair.study.encoding import TableEncoding
from elfair.study.keys import OF_NUMBERS, ColumnKeys
from elfair.study.reading import ReadTable, counted_by
from elfair.study.suspicions import suspicions
from elfair.types import Array, Booleans

if TYPE_CHECKING:
    from elfair.study.file import StudyFile


@dataclass(frozen=True)
class StudyData:
    """The rows of a study.

    Parameters
    ----------
    data : LoggedData or LoggedBatches
        The rows that take part: ``study.estimator().fit(rows.data)``. (For a regressor, a
        ContinuousData.)
    n_read : int
        How many rows were read.
    left_out : tuple of LeftOut
        An account of those whose impact is missing.
    outside : tuple of LeftOut
        An account of those that do not meet the conditions of ``keep``.
    changes : tuple of str
        What was changed as the table was read, and in how many rows.
    without_impact : LoggedData or None
        The same people, with all other columns.
    source : str
        Where they came from, without secrets.
    digest : str or None
        The sha256 of the file's bytes; a query has none.

    Examples
    --------
    >>> from elfair.study import StudyFile
    >>> study = StudyFile.loads('''
    ... title = "Two people"
    ... [data]
    ... source = "duckdb://"
    ... query = "select * from (values (1.0, 'yes'), (2.0, 'no')) t(x, y)"
    ... [columns]
    ... features = ["x"]
    ... label = "y"
    ... ''')
    >>> rows = study.read()
    >>> rows.n_read, rows.data.classes.tolist()
    (2, ['no', 'yes'])
    """

    data: LoggedData | LoggedBatches
    n_read: int
    left_out: tuple[LeftOut, ...]
    outside: tuple[LeftOut, ...]
    changes: tuple[str, ...]
    without_impact: LoggedData | None
    source: str
    digest: str | None

    @property
    def in_memory(self) -> LoggedData:
        """The rows, for what needs all of them at once."""
        if isinstance(self.data, LoggedBatches):
            raise InputError(
                "this needs all rows in memory, and the study reads them in batches.",
                hint="take batches = true out of [data]; or name a file with some of the rows.",
            )
        return self.data


def study_data(table: ReadTable, study: StudyFile) -> StudyData:
    """The rows of a study, from its table.

    Parameters
    ----------
    table : ReadTable
        All columns that are needed.
    study : StudyFile
        Which column is what.
    """
    read, columns = table.rows(table.kept), study.columns
    where = np.flatnonzero(table.kept)
    with asked_by_study(lambda row: table.source.place(int(where[row]))):
        if mistakes := list(mistakes_of_table(table, study)):
            raise all_of(table.source.name, mistakes)
        # Before rows without impact are left out: messages count those of the table.
        features = study.encoding.encode({name: read[name] for name in columns.features})
    keep, left_out = _with_impact(read, columns, study.rows.missing_impact)
    given = {name: value for name, value in study.parameters.items() if name in OF_TABLE}
    declared: dict[str, Any] = {"encoding": encoding_of(study)}
    if columns.lottery is not None:
        declared["propensity"] = _lottery(read, columns, given)
    if columns.estimated:
        declared |= {"propensity": ESTIMATED, "trim": study.rows.trim}

    def part(rows: Booleans, given: Mapping[str, Any], **changes: Any) -> LoggedData:
        some = {name: column[rows] for name, column in read.items()}
        places = where[rows]
        with asked_by_study(lambda row: table.source.place(int(places[row]))):
            return made(rows, some, given, **changes)

    def made(rows: Booleans, some: Columns, given: Mapping[str, Any], **changes: Any) -> LoggedData:
        logged = {**_logged(some, study), **declared, **changes}
        if study.kind == "regressor":
            drawn = {name: getattr(columns, name) for name in OF_NUMBERS}
            drawn = {key: some[of] if isinstance(of, str) else of for key, of in drawn.items()}
            return ContinuousData(features.filter(rows), **logged, **drawn)
        more = {
            "behavior": _behavior(some, columns, given),
            "person_cost": _costs(some, columns, given),
        }
        return LoggedData(features.filter(rows), **logged, **more, **given)

    without = None
    if left_out:
        # The few rows that are left out may not show all classes.
        without = part(~keep, {**given, "classes": _classes(read, columns, given)}, impact=None)
    return StudyData(
        part(keep, given),
        n_read=len(table.kept),
        left_out=left_out,
        outside=table.outside,
        changes=table.changes,
        without_impact=without,
        source=table.source.name,
        digest=table.source.digest,
    )


def mistakes_of_table(table: ReadTable, study: StudyFile) -> Iterator[DataError]:
    """All that is wrong with the columns of a table, each column judged once.

    Parameters
    ----------
    table : ReadTable
        All columns that are needed.
    study : StudyFile
        Which column is what.
    """
    yield from table.mistakes
    odd = set(table.broken)
    for name, error in suspicions(table, study):
        if name is not None:
            odd.add(name)
        yield error
    read, columns = table.rows(table.kept), study.columns
    good = TableEncoding(tuple(each for each in study.encoding.features if each.column not in odd))
    try:
        good.encode({each.column: read[each.column] for each in good.features})
    except DataError as error:
        yield error
    seen = [name for name in columns.impact if name not in odd]
    try:
        _with_impact(read, replace(columns, impact=tuple(seen)), study.rows.missing_impact)
    except DataError as error:
        yield error
        odd |= set(seen)
    logged = _logged(read, study)
    single = {"y": columns.label, "decision": columns.decision, "row_id": columns.row_id}
    single |= {"unit": columns.unit, "sample_weight": columns.sample_weight, "time": columns.time}
    single["propensity"] = columns.drawn_with
    given = {key: None if name in odd else logged[key] for key, name in single.items()}
    if logged["label_seen_for"] and given["decision"] is None:
        given["y"] = None  # which labels are revealed, only decisions tell
    given["impact"] = {name: read[name] for name in seen if name not in odd} or None
    kind = ContinuousData if study.kind == "regressor" else LoggedData
    yield from kind.mistakes_of(
        int(table.kept.sum()), label_seen_for=logged["label_seen_for"], **given
    )


def encoding_of(study: StudyFile) -> dict[str, Any]:
    """What a model must know to decide about new people: how a table becomes features, and the
    names of columns in a log, so the log fits the study that the model came from.
    """
    columns, reading = study.columns, study.reading
    # New people have no label: a condition on it cannot be asked of them.
    keep = [
        text
        for text in reading.keep
        if columns.label
        not in closure(sorted(columns_used(parse_condition(text))), reading.by_name)[0]
    ]
    propensity = study.clean.get(columns.drawn_with or "")
    return {
        **study.encoding.to_dict(),
        "reading": reading.restricted(columns.features, keep).to_dict(),
        "propensity_written": None if propensity is None else to_plain(propensity),
        "behavior_written": {
            name: to_plain(study.clean[name])
            for name in columns.behavior.values()
            if name in study.clean
        },
        "decision": columns.decision,
        # Declared chances were those of the old lottery: the new model logs a column.
        "propensity": columns.drawn_with,
        "behavior": dict(columns.behavior),
        "behavior_mean": columns.behavior_mean,
        "row_id": columns.row_id,
    }


def _logged(read: Columns, study: StudyFile) -> dict[str, Any]:
    """What a table of logged decisions takes, without features and what is declared."""
    columns = study.columns
    single = {"y": columns.label, "decision": columns.decision, "row_id": columns.row_id}
    single |= {"unit": columns.unit, "sample_weight": columns.sample_weight, "time": columns.time}
    single["propensity"] = columns.drawn_with
    # Encoded, categories have other names: those that conditions name join the groups.
    groups = dict.fromkeys([*columns.sensitive, *study.in_conditions])
    return {
        **{key: None if name is None else read[name] for key, name in single.items()},
        "sensitive_features": {name: read[name] for name in groups} or None,
        "impact": {name: read[name] for name in columns.impact} or None,
        **_unseen(read, study),
        "label_seen_for": list(study.rows.label_seen_for) or None,
    }


def _unseen(read: Columns, study: StudyFile) -> dict[str, Any]:
    """What is declared of impacts that are missing."""
    columns, drawn = study.columns, study.columns.follow_up
    return {
        "missing_impact": study.rows.stands_in,
        "early": {name: read[name] for name in columns.early} or None,
        "follow_up": read[drawn] if isinstance(drawn, str) else drawn,
    }


def _named(column: Array) -> dict[str, Any]:
    """The different values of a column, by the text of their keys."""
    return {class_text(each): each for each in column[~is_missing(column)].tolist()}


def _classes(read: Columns, columns: ColumnKeys, given: Mapping[str, Any]) -> Array:
    """The classes of some rows, as `LoggedData` finds them; it refuses missing ones later."""
    seen = [None if name is None else read[name] for name in (columns.label, columns.decision)]
    known = [None if column is None else column[~is_missing(column)] for column in seen]
    return read_classes(given.get("classes"), *known)


def _lottery(read: Columns, columns: ColumnKeys, given: Mapping[str, Any]) -> Any:
    """The declared chances, with values in the place of the text that TOML has for keys."""
    decisions = _named(_classes(read, columns, given))

    def of_one(chances: Any) -> Any:
        if not isinstance(chances, Mapping):
            return chances
        return {decisions.get(key, key): each for key, each in chances.items()}

    by, lottery = columns.strata, columns.lottery
    if by is None:
        return of_one(lottery)
    values = {**_named(read[by]), BY: BY}
    return {values.get(key, key): of_one(chances) for key, chances in lottery.items()}


def _behavior(
    read: Columns, columns: ColumnKeys, given: Mapping[str, Any]
) -> dict[str, Array] | None:
    """The probabilities of all classes, called as `LoggedData` calls them."""
    behavior = columns.behavior
    if not behavior:
        return None
    seen = _named(_classes(read, columns, given))
    names = {str(each): key for key, each in seen.items()}
    unnamed = [name for name, key in names.items() if key not in behavior]
    if not set(behavior) <= set(names.values()) or len(unnamed) > 1:
        raise DataError(
            "[columns.behavior] must name a column for each class "
            f"({listed(sorted(names.values()))}), or for each but one. Got {listed(behavior)} "
            "instead.",
            hint="the classes are the values of decision and label together, unless classes in "
            "[model] names them.",
        )
    known = {name: read[behavior[key]] for name, key in names.items() if key in behavior}
    for name in unnamed:  # it has the rest; rounded, so that 1 - 0.9 is 0.1
        known[name] = np.round(1 - sum(as_floats(each, "behavior") for each in known.values()), 12)
    return {name: known[name] for name in names}


def _costs(read: Columns, columns: ColumnKeys, given: Mapping[str, Any]) -> Any:
    """The costs of each person: of every decision, called as `LoggedData` calls them, or one
    column.
    """
    of = columns.person_cost
    if not isinstance(of, Mapping):
        return None if of is None else read[of]
    names = _named(_classes(read, columns, given))
    return {names.get(key, key): read[column] for key, column in of.items()}


def _with_impact(
    read: Columns, columns: ColumnKeys, missing_impact: str
) -> tuple[Booleans, tuple[LeftOut, ...]]:
    """The rows that have all impacts, and an account of the others."""
    n = len(next(iter(read.values())))
    keep = np.ones(n, dtype=np.bool_)
    left_out = []
    for name in columns.impact:
        missing = is_missing(read[name]) & keep
        if missing_impact in MISSING_IMPACT or not missing.any():
            continue
        counted = counted_by({each: read[each][missing] for each in columns.sensitive})
        if missing_impact == "refuse":
            shown = ", ".join(f"{each.n:,} with {each.group}" for each in counted)
            raise DataError(
                f"impact '{name}' is missing in {missing.sum():,} of {n:,} rows"
                f"{f' ({shown})' if shown else ''}: it was not observed (yet).",
                hint='wait until it is observed; or write missing_impact in [rows]: "at random" '
                '(given features, groups, decision and early in [columns]), "worst case" (within '
                'impact_range in [test]), or "drop" if, in each group, it is missing for reasons '
                "that have nothing to do with decision and impact.",
            )
        left_out.append(LeftOut(f"impact '{name}' is missing", int(missing.sum()), counted))
        keep &= ~missing
    if not keep.any():
        raise DataError(
            f"no row is left: an impact is missing in all {n:,} of them.",
            hint="check which column holds the impact.",
        )
    return keep, tuple(left_out)
