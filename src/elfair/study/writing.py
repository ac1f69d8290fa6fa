"""Write tables: whole files, and a log of decisions that only grows."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from elfair.errors import DataError, InputError
from elfair.estimators.base import ELFEstimator
from elfair.records.files import append_whole, appending, write_whole, writing
from elfair.records.json import from_plain
from elfair.records.tables import file_content
from elfair.records.text import plural
from elfair.records.toml import class_text
from elfair.study.cleaning import written
from elfair.study.encoding import TableEncoding
from elfair.study.keys import CleanKeys
from elfair.study.reading import TableReading
from elfair.study.sources import SourceTable, open_tables, read_opened

#: The columns that `decide` adds.
DECISION, PROPENSITY, TIME, MODEL = "decision", "propensity", "decided_at", "model"
MEAN, SPREAD = "behavior_mean", "behavior_spread"


def write_table(table: Any, path: str | Path) -> None:
    r"""Write a table, in the format that the name asks for, whole or not at all.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    path : str or Path
        The file, in one of the formats of `elfair.records.tables`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pa.table({"age": [30]}), Path(folder) / "people.csv")
    ...     (Path(folder) / "people.csv").read_text()
    '"age"\n30\n'
    """
    path = Path(path)
    write_whole(path, file_content(table, path))


def predictions(model: ELFEstimator, people: Any, *, random_state: int | None = None) -> Any:
    """A table of people with a decision for each, drawn from the model; nothing is logged.

    Parameters
    ----------
    model : ELFClassifier or ELFRegressor
        With a solution, made from a study (it knows how to read the table).
    people : pyarrow.Table or SourceTable
        One row for each person; from `read_people`, as it was written.
    random_state : int, optional
        Give it only to reproduce a draw.

    Returns
    -------
    pyarrow.Table
        The columns of ``people``, the decision, and of a classifier the probability of each class
        (of a regressor the mean and the spread of the decision).
    """
    X = encoded(model, people)
    people = people.table if isinstance(people, SourceTable) else people
    decision = model.predict(X, random_state=random_state)
    columns: dict[str, Any] = {DECISION: decision.tolist()}
    if hasattr(model, "predict_proba"):
        every = model.predict_proba(X)
        columns |= {f"p({name})": every[:, k] for k, name in enumerate(model.classes_)}
    else:
        mean, spread = model.predict_distribution(X)
        columns |= {"mean": mean, "spread": spread}
    return _beside(people, columns)


def decisions(model: ELFEstimator, people: Any, *, random_state: int | None = None) -> Any:
    """A table of people with what must be logged of each decision: `append_decisions` logs it.

    Parameters
    ----------
    model, people, random_state
        See `predictions`.

    Returns
    -------
    pyarrow.Table
        The columns of ``people``, the decision and its propensity (called as in the study that the
        model came from), the time and the model's digest.
    """
    X = encoded(model, people)
    people = people.table if isinstance(people, SourceTable) else people
    drawn = model.decide(X, random_state=random_state)
    n, names = len(drawn.decision), model.encoding_
    columns: dict[str, Any] = {
        names.get("decision") or DECISION: drawn.decision.tolist(),
        names.get("propensity") or PROPENSITY: _as_logged(drawn.propensity, names),
        TIME: [datetime.now(UTC).isoformat(timespec="seconds")] * n,
        MODEL: [model.certificate_.digests.model] * n,
    }
    if names.get("behavior"):  # the study reads the probability of every class
        every = zip(model.classes_, model.predict_proba(X).T, strict=True)
        columns |= {names["behavior"][class_text(each)]: values for each, values in every}
    if hasattr(model, "spread_"):  # its propensity is a density, which goes with a spread
        columns[SPREAD] = [model.spread_] * n
        if len(model.fitted_.models) == 1:  # a mixture is not normal, and a mean would not do
            columns[names.get("behavior_mean") or MEAN] = model.predict_distribution(X)[0]
    return _beside(people, columns)


def append_decisions(table: Any, log: str | Path, *, row_id: str | None = None) -> None:
    """Append decisions to a log: all of them, or none.

    Parameters
    ----------
    table : pyarrow.Table
        From `decisions`.
    log : str or Path
        A CSV file; it is made if it does not exist. With the impact, once it is measured, it is the
        table of the next round.
    row_id : str, optional
        The column that identifies people. No person is then decided about twice, even if you repeat
        a command by mistake.
    """
    log = Path(log)
    if log.exists() and not log.is_file():
        raise InputError(f"the log '{log}' must be a file.", hint="name another one.")
    if log.suffix != ".csv":
        raise InputError(
            f"a log of decisions must be a .csv file, to which rows can be added. Got '{log}'.",
            hint="read it with any tool, and write Parquet from there.",
        )
    for name in table.column_names:
        if "\n" in name or "\r" in name:
            raise DataError(
                f"the name of the column {name!r} has a line break, and a log has one line for "
                "all names.",
                hint="rename it.",
            )
    header, _, rows = file_content(table, log).partition(b"\n")
    with writing(f"no decision was added: the log '{log}'"), appending(log) as file:
        file.seek(0)
        first, content = file.readline(), file.read()
        logged = _fields(first)
        if logged and logged != _fields(header):
            raise DataError(
                f"'{log}' logs {', '.join(logged)}; these decisions have "
                f"{', '.join(_fields(header))}.",
                hint="name another log, or give the same columns in the same order.",
            )
        if row_id is not None and row_id in table.column_names:
            _check_new(table[row_id].to_pylist(), _fields(header).index(row_id), content, log)
        if first and not (content or first).endswith(b"\n"):
            raise DataError(
                f"'{log}' ends in the middle of a line.",
                hint="something else wrote to it: repair its last line first.",
            )
        append_whole(file, file.tell(), rows if logged else header + b"\n" + rows)


def _check_new(people: list[Any], place: int, logged: bytes, log: Path) -> None:
    """Refuse people who occur twice, or are in the log, of which the lines below the first are
    given.
    """
    lines = csv.reader(io.StringIO(logged.decode("utf-8"), newline=""))
    known = {line[place] for line in lines if len(line) > place}
    for person in map(str, people):
        if person in known:
            raise DataError(
                f"'{person}' is in the log '{log}' already, or in the table twice: a decision "
                "about each person is drawn once.",
                hint="remove the people who were decided about, or name another log.",
            )
        known.add(person)


def read_people(model: ELFEstimator, source: str, *, query: str | None = None) -> SourceTable:
    """The table of people, with what the model's study cleans as it was written.

    Parameters
    ----------
    model : ELFClassifier or ELFRegressor
        Made from a study.
    source : str
        A file, or the address of a database.
    query : str, optional
        The query, if the source is a database.
    """
    opened = open_tables(source, query=query)
    record = (getattr(model, "encoding_", None) or {}).get("reading")
    names = opened[0].names
    as_written = [] if record is None else TableReading.from_dict(record).as_written(names)
    return read_opened(opened, None, as_written)


def _as_logged(propensity: Any, names: dict[str, Any]) -> Any:
    """Propensities as the study of the next round reads them: in per cent, if that does."""
    record = names.get("propensity_written")
    if record is None:
        return propensity
    keys = from_plain(record, CleanKeys)
    return [written(each, keys) for each in propensity.tolist()]


def encoded(model: ELFEstimator, people: Any) -> Any:
    """The features of people, as the model was fitted with them."""
    record = getattr(model, "encoding_", None)
    if record is None:
        raise InputError(
            "this model does not say how a table becomes features: it was not made from a study.",
            hint="load it in Python, and pass the features to its decide().",
        )
    encoding = TableEncoding.from_dict(record)
    if "reading" not in record:
        return encoding.encode(people)
    wanted = [feature.column for feature in encoding.features]
    reading = TableReading.from_dict(record["reading"])
    if not isinstance(people, SourceTable):
        people = SourceTable(people, "the table", None)
    read = reading.read(people, wanted)
    if read.outside:
        said = "; ".join(f"{each.reason}: {plural(each.n, 'row')}" for each in read.outside)
        first = int((~read.kept).argmax())
        raise DataError(
            f"{(~read.kept).sum():,} of {len(read.kept):,} rows are of people whom the model was "
            f"not certified for (the first is {people.place(first)}): {said}.",
            hint="decide about them in another way, and take them out of the table.",
        )
    return encoding.encode({name: read.columns[name] for name in wanted})


def _beside(people: Any, columns: dict[str, Any]) -> Any:
    for name in columns:
        if name in people.column_names:
            raise DataError(
                f"the table has a column '{name}' already, which this would add.",
                hint="rename it.",
            )
    for name, values in columns.items():
        people = people.append_column(name, [values])
    return people


def _fields(line: bytes) -> list[str]:
    return next(csv.reader(io.StringIO(line.decode("utf-8", "replace"))), [])
