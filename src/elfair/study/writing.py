"""Write tables: whole files, and a log of decisions that only grows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from elfair.data.features import read_features
from elfair.errors import DataError, InputError
from elfair.estimators.base import ELFEstimator
from elfair.records.appending import append_whole, appending
from elfair.records.files import write_whole, writing
from elfair.records.json import from_plain
from elfair.records.tables import file_content
from elfair.records.toml import class_text
from elfair.study.batches import Batch, read_batch, require_free
from elfair.study.cleaning import compared
from elfair.study.keys import CleanKeys
from elfair.study.numerals import written

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
    people : Batch, str, Path, pyarrow table, data frame or mapping
        One row for each person: a file, the address of a database or a table in memory, whose rows
        must all be usable; or, from `read_batch`, those rows of a table that are.
    random_state : int, optional
        Give it only to reproduce a draw.

    Returns
    -------
    pyarrow.Table
        The columns of ``people``, the decision, and of a classifier the probability of each class
        (of a regressor the mean and the spread of the decision).
    """
    batch = _batch(model, people, identify=False)
    X, people = read_features(batch.features), batch.people
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
    batch = _batch(model, people, identify=True)
    X, people = read_features(batch.features), batch.people
    drawn = model.decide(X, random_state=random_state)
    n, names = len(drawn.decision), model.encoding_
    columns: dict[str, Any] = {
        names.get("decision") or DECISION: drawn.decision.tolist(),
        names.get("propensity") or PROPENSITY: _as_written(
            drawn.propensity, names.get("propensity_written")
        ),
        TIME: [datetime.now(UTC).isoformat(timespec="seconds")] * n,
        MODEL: [model.certificate_.digests.model] * n,
    }
    if names.get("behavior"):  # the study reads the probability of every class
        every = zip(model.classes_, model.predict_proba(X).T, strict=True)
        for each, values in every:
            if (column := names["behavior"].get(class_text(each))) is not None:  # one has the rest
                keys = names.get("behavior_written", {}).get(column)
                columns[column] = _as_written(values, keys)
    if hasattr(model, "spread_"):  # its propensity is a density, which goes with a spread
        columns[SPREAD] = [model.spread_] * n
        if len(model.fitted_.models) == 1:  # a mixture is not normal, and a mean would not do
            columns[names.get("behavior_mean") or MEAN] = model.predict_distribution(X)[0]
    return _beside(people, columns)


def append_decisions(
    table: Any,
    log: str | Path,
    *,
    row_id: str | None = None,
    rejected: Any = None,
    reject_file: str | Path | None = None,
) -> None:
    """Append decisions to a log, and the rows that were set aside to a file of their own: all of
    them, or none.

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
    rejected : pyarrow.Table, optional
        Rows that were set aside, from ``Batch.rejected``.
    reject_file : str or Path, optional
        The CSV file to append these to; it is made if it does not exist.
    """
    log = _growing(log, table)
    if row_id is not None and row_id not in table.column_names:
        raise DataError(
            f"these decisions have no column {row_id!r}, which identifies people: nobody could "
            "tell whether somebody is decided about twice.",
            hint=f"add the column {row_id!r} to the table of people.",
        )
    aside = None
    if rejected is not None and rejected.num_rows:
        if reject_file is None or Path(reject_file).resolve() == log.resolve():
            raise InputError(
                f"rows that were set aside need a file beside the log '{log}'. Got {reject_file}.",
                hint="name another file.",
            )
        aside = _growing(reject_file, rejected)
    with writing(f"no decision was added: the log '{log}'"), appending(log) as file:
        data = _addition(file, log, table, row_id)
        with _set_aside(aside, rejected):
            append_whole(file, file.seek(0, io.SEEK_END), data)


@contextmanager
def _set_aside(path: Path | None, rejected: Any) -> Iterator[None]:
    """Append rejected rows; take them back if what follows fails.

    A process may be killed before the log has its decisions. Who repeats the command finds these
    rows at the end of the file, and does not add them again.
    """
    if path is None:
        yield
        return
    with writing(f"no decision was added: the file '{path}'"), appending(path) as file:
        data, end = _addition(file, path, rejected, None), file.seek(0, io.SEEK_END)
        file.seek(0)
        if _untimed(file.read())[-rejected.num_rows :] == _untimed(data)[-rejected.num_rows :]:
            yield
            return
        append_whole(file, end, data)
        try:
            yield
        except BaseException:
            file.truncate(end)
            raise


def _untimed(content: bytes) -> list[list[str]]:
    """Rows that were set aside, without when: their first column."""
    lines = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    return [line[1:] for line in lines]


def _growing(path: str | Path, table: Any) -> Path:
    """A file to which rows of a table can be added."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(f"the log '{path}' must be a file.", hint="name another one.")
    if path.suffix != ".csv":
        raise InputError(
            f"a log of decisions must be a .csv file, to which rows can be added. Got '{path}'.",
            hint="read it with any tool, and write Parquet from there.",
        )
    for name in table.column_names:
        if "\n" in name or "\r" in name:
            raise DataError(
                f"the name of the column {name!r} has a line break, and a log has one line for "
                "all names.",
                hint="rename it.",
            )
    return path


def _addition(file: Any, path: Path, table: Any, row_id: str | None) -> bytes:
    """The bytes to add to a file that only grows; raise if these rows do not belong there."""
    header, _, rows = file_content(table, path).partition(b"\n")
    file.seek(0)
    first, ended, content = file.read().partition(b"\n")
    logged = _fields(first)
    if logged and logged != _fields(header):
        raise DataError(
            f"'{path}' logs {', '.join(logged)}; these decisions have "
            f"{', '.join(_fields(header))}.",
            hint="name another log, or give the same columns in the same order.",
        )
    if row_id is not None:
        _check_new(table[row_id].to_pylist(), _fields(header).index(row_id), content, path)
    if first and not (content or ended).endswith(b"\n"):
        raise DataError(
            f"'{path}' ends in the middle of a line.",
            hint="something else wrote to it: repair its last line first.",
        )
    return rows if logged else header + b"\n" + rows


def _check_new(people: list[Any], place: int, logged: bytes, log: Path) -> None:
    """Refuse people who occur twice, or are in the log, of which the lines below the first are
    given.
    """
    lines = csv.reader(io.StringIO(logged.decode("utf-8"), newline=""))
    known = {compared(line[place]) for line in lines if len(line) > place}
    for person in map(compared, people):
        if person in known:
            raise DataError(
                f"'{person}' is in the log '{log}' already, or in the table twice: a decision "
                "about each person is drawn once.",
                hint="remove the people who were decided about (perhaps by a command that was "
                "stopped before it could say so), or name another log.",
            )
        known.add(person)


def _batch(model: ELFEstimator, people: Any, *, identify: bool) -> Batch:
    """The rows of people that a model can decide about: all of them, unless a batch was given."""
    if isinstance(people, Batch):
        people.require_some()
        return people
    batch = read_batch(model, people, identify=identify)
    batch.require_whole()
    return batch


def _as_written(propensity: Any, record: Any) -> Any:
    """Propensities as the study of the next round reads them: in per cent, if that does."""
    if record is None:
        return propensity
    keys = from_plain(record, CleanKeys)
    return [written(each, keys) for each in propensity.tolist()]


def _beside(people: Any, columns: dict[str, Any]) -> Any:
    require_free(columns, people.column_names)
    for name, values in columns.items():
        people = people.append_column(name, [values])
    return people


def _fields(line: bytes) -> list[str]:
    return next(csv.reader(io.StringIO(line.decode("utf-8", "replace"))), [])
