"""Read the answers of the NYTD: its codes, and what each of them means."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from elfair.data.columns import Columns, is_missing, table_columns
from elfair.errors import DataError, did_you_mean, listed
from elfair.types import Array, Floats, Integers

WAVES = (1, 2, 3)
DECLINED, BLANK, INVALID = "declined", "blank", "invalid or missing"

#: The meaning of each code: a number, or the reason for having none. An empty cell counts as 79.
_SILENT: Mapping[int, float | str] = {77: BLANK, 78: INVALID, 79: INVALID}
_YES_NO: Mapping[int, float | str] = {0: 0.0, 1: 1.0, 2: DECLINED, **_SILENT}
# 1 high school or GED, 2 vocational certificate, 3 vocational licence, 4 associate, 5 bachelor,
# 6 higher degree, 7 none of these: the only code that is not in order.
_DEGREE: Mapping[int, float | str] = {
    **{k: float(k) for k in range(1, 7)},
    7: 0.0,
    8: DECLINED,
    **_SILENT,
}

#: Attributes related to job and education.
ATTRIBUTES: Mapping[str, Mapping[int, float | str]] = {
    "CURRFTE": _YES_NO,
    "CURRPTE": _YES_NO,
    "EMPLYSKLLS": _YES_NO,
    "EDUCAID": _YES_NO,
    "HIGHEDCERT": _DEGREE,
    "CURRENROLL": _YES_NO,
}
_CODES = {"WHITE": _YES_NO, "BLKAFRAM": _YES_NO, **ATTRIBUTES}
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


@dataclass(frozen=True, eq=False)
class Answers:
    """Coded answers, by person and wave.

    Attributes
    ----------
    codes : dict of str to integer array of shape (rows,)
        The code in each row, by question.
    row : integer array of shape (people, 3)
        The row of a person's interview at each wave; -1 if there is none.
    contradicted : boolean array of shape (people,)
        Whether a person has two different rows of one wave.
    rows, repeated_rows : int
        How many rows there are, and how many repeat another row.
    """

    codes: dict[str, Integers]
    row: Integers
    contradicted: NDArray[np.bool_]
    rows: int
    repeated_rows: int

    silences = (DECLINED, BLANK, INVALID)

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.row)

    def asked(self, wave: int) -> NDArray[np.bool_]:
        """Whether each person has an interview at a wave."""
        there: NDArray[np.bool_] = self.row[:, wave - 1] >= 0
        return there

    def value(self, question: str, wave: int) -> Floats:
        """The answer of each person at a wave; NaN if there is none."""
        numbers = {k: v for k, v in _CODES[question].items() if isinstance(v, float)}
        value = np.full(self.people, np.nan)
        for code, number in numbers.items():
            value[self._has(question, wave, code)] = number
        return value

    def is_silent(self, question: str, wave: int, silence: str) -> NDArray[np.bool_]:
        """Whether each person was asked at a wave and gave no answer, for this reason."""
        silent = np.zeros(self.people, dtype=np.bool_)
        for code, meaning in _CODES[question].items():
            if meaning == silence:
                silent |= self._has(question, wave, code)
        return silent

    def _has(self, question: str, wave: int, code: int) -> NDArray[np.bool_]:
        row = self.row[:, wave - 1]
        found: NDArray[np.bool_] = (self.codes[question][row] == code) & (row >= 0)
        return found


def read_answers(source: Any, questions: Sequence[str]) -> Answers:
    """Read the answers to some questions from a file or a data frame; see `load_nytd`.

    Examples
    --------
    >>> answers = read_answers({"stfcid": [7, 7], "wave": [1, 3], "CURRFTE": [0, 77]}, ["CURRFTE"])
    >>> answers.value("CURRFTE", 1), answers.asked(2)
    (array([0.]), array([False]))
    """
    names = ("STFCID", "WAVE", *dict.fromkeys(questions))
    columns = _named(_columns(source, names), names)
    rows = len(columns["STFCID"])
    missing = is_missing(columns["STFCID"])
    if missing.any() or not rows:
        where = f"row {int(np.flatnonzero(missing)[0])}" if rows else "there are no rows"
        raise DataError(
            f"every row needs the STFCID of a person ({where}).",
            hint="it identifies the rows of one person.",
        )
    wave = _checked(columns["WAVE"], "WAVE", dict.fromkeys(WAVES, 0.0))
    codes = {name: _checked(columns[name], name, _CODES[name]) for name in names[2:]}
    # As text: a column of mixed types then has an order, too.
    _, person = np.unique(columns["STFCID"].astype(str), return_inverse=True)
    row = np.full((int(person.max()) + 1, len(WAVES)), -1, dtype=np.int64)
    row[person[::-1], wave[::-1] - 1] = np.arange(rows)[::-1]  # the first row of several stays
    first = row[person, wave - 1]
    differs = np.any([code != code[first] for code in codes.values()], axis=0)
    contradicted = np.zeros(len(row), dtype=np.bool_)
    contradicted[person[differs]] = True
    repeated = int(((first != np.arange(rows)) & ~differs).sum())
    return Answers(codes, row, contradicted, rows, repeated)


def _columns(source: Any, names: Sequence[str]) -> Columns:
    """The columns of a file or a data frame; of a text file, only those with these names."""
    if not isinstance(source, str | os.PathLike):
        columns = table_columns(source, "source")
        if columns is None:
            raise DataError(
                f"source must be a path or a data frame. Got {type(source).__name__}.",
                hint="a pandas, polars or pyarrow table works.",
            )
        return columns
    path = Path(source)
    if path.is_dir():
        raise DataError(
            f"source must be a file. Got the folder {str(path)!r} instead.",
            hint="name the file of outcomes in it.",
        )
    suffix = path.suffix.lower()
    if suffix not in (*_SEPARATORS, ".parquet"):
        raise DataError(
            f"cannot read {str(path)!r}: names must end with {', '.join(_SEPARATORS)} or .parquet.",
            hint="rename it, or read it yourself and pass the data frame.",
        )
    if not path.is_file():
        raise DataError(f"there is no file {path}.", hint="check the path.")
    if suffix == ".parquet":
        frame = nw.read_parquet(str(path), backend="pyarrow")
        return table_columns(frame.to_native(), "source") or {}
    return _text_columns(path, _SEPARATORS[suffix], names)


def _text_columns(path: Path, separator: str, names: Sequence[str]) -> Columns:
    """The columns with these names, without the hundreds of others that a file may have."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file, delimiter=separator)
        header = next(lines, [])
        _check_separator(path, separator, header)
        places = [k for k, name in enumerate(header) if name.strip().upper() in names]
        cells = []
        for line in filter(None, lines):
            if len(line) != len(header):
                raise DataError(
                    f"line {lines.line_num} of {path.name} has {len(line)} cells, but the header "
                    f"has {len(header)}.",
                    hint=f"separate the columns by {separator!r}.",
                )
            cells.append([line[k] for k in places])
    table = np.array(cells, dtype=object).reshape(len(cells), len(places))
    found = {header[k]: table[:, j] for j, k in enumerate(places)}
    if len(found) < len(places):
        raise DataError(
            f"{path.name} has two columns with the same name.", hint="rename one of them."
        )
    return found


def _check_separator(path: Path, separator: str, header: Sequence[str]) -> None:
    """Refuse a file whose first line is a single cell with another separator in it."""
    others = [each for each in (",", ";", "\t", "|") if each in "".join(header)]
    if len(header) == 1 and others:
        raise DataError(
            f"columns of {path.name} must be separated by {separator!r}. Its first line has "
            f"{others[0]!r} instead.",
            hint=f"read it yourself, for example with pandas.read_csv(path, sep={others[0]!r}), "
            "and pass the data frame.",
        )


def _named(columns: Columns, names: Sequence[str]) -> Columns:
    """The columns with these names, in upper or lower case."""
    found: Columns = {}
    for name, column in columns.items():
        known = name.strip().upper()
        if known in names:
            if known in found:
                raise DataError(
                    f"two columns are called {known}, up to upper and lower case.",
                    hint="rename one of them.",
                )
            found[known] = _trimmed(column)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(
            f"these columns are missing: {', '.join(missing)}.",
            hint=did_you_mean(
                missing[0],
                [name for name in columns if name.strip().upper() not in found],
                "a NYTD file of outcomes has them, with a row for each person and wave.",
            ),
        )
    if len({len(column) for column in found.values()}) > 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in found.items())
        raise DataError(
            f"columns must have the same number of rows. Got {lengths}.",
            hint="each row is one person at one wave.",
        )
    return found


def _trimmed(column: Array) -> Array:
    """Strip spaces around text, and replace empty cells by None."""
    if column.dtype.kind != "O":
        return column
    cells = [cell.strip() or None if isinstance(cell, str) else cell for cell in column]
    return np.fromiter(cells, dtype=object, count=len(cells))


def _checked(column: Array, name: str, allowed: Mapping[int, float | str]) -> Integers:
    """The codes in a column, checked."""
    missing = is_missing(column)
    try:
        numbers = np.where(missing, 79, column).astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(cell) for cell in np.where(missing, 79, column)])
    unknown = ~np.isin(numbers, list(allowed))
    if unknown.any():
        strange = dict.fromkeys(np.where(missing, np.array(None), column)[unknown].tolist())
        raise DataError(
            f"{name} has unknown codes: {listed(strange)} ({int(unknown.sum())} of "
            f"{len(column)} rows). Known codes: {listed(allowed, most=12)}.",
            hint="recode them, or leave these rows out.",
        )
    return numbers.astype(np.int64)


def _number(cell: object) -> float:
    """A code as a number, or NaN."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan
